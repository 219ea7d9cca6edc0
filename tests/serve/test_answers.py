"""What is read of a front end's messages, and what HTTP answers, in this process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from moechat.ai.scripted import Line, ScriptedModel
from moechat.errors import FieldError, ModelError
from moechat.house import House
from moechat.serve import server
from moechat.serve.completions import Crowded
from moechat.serve.front_ends import MOST_MESSAGES, _messages, status_of
from moechat.serve.history import History, read, spoken_words
from tests.houses import CHARACTER, Home, say


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    model = ScriptedModel(
        [Line("嗯，我记住了。"), Line("说到一半", finish="length"), Line("说完了")], understands=False
    )
    with Home.build(tmp_path).open(model) as opened:
        yield opened


def test_what_a_front_end_adds_to_a_message_is_not_said_by_its_user() -> None:
    cases = {
        "明天放假吗": "明天放假吗",
        "<context>文件</context>明天放假吗": "明天放假吗",
        "<memory_context>a <context>b</context></memory_context><user_query>明天放假吗</user_query>": "明天放假吗",
        "<context>没有关上，明天放假吗": "<context>没有关上，明天放假吗",
        "先</context>关上，<user_context>x</user_context>明天": "先</context>关上，明天",
        "### Task:\nUse it.\n<context>a</context>\n<context>b</context>\n明天放假吗": "明天放假吗",
    }
    assert {text: spoken_words(text) for text in cases} == cases


def test_a_request_without_a_message_of_its_user_has_nothing_new() -> None:
    history = read([{"role": "system", "content": "你是谁"}])
    assert (history.words, history.message.role, history.message.content) == (None, "user", "")
    assert history == History(before=history.before) and [one.content for one in history.before] == ["你是谁"]


def test_what_is_no_text_is_told_by_its_kind_and_name() -> None:
    parts = [
        {"type": "text", "text": "看看这些"},
        {"type": "image_url", "image_url": {"url": "data:,"}},
        {"type": "input_audio", "input_audio": {"data": "AA=="}},
        {"type": "file", "file": {"filename": "账单.pdf"}},
        {"type": "unknown", "unknown": {}},
    ]
    history = read([{"role": "user", "content": parts, "name": " 小王 "}], "zh")
    assert (history.words, history.speaker) == ("看看这些", "小王")
    assert [(one.kind, one.line) for one in history.attachments] == [
        ("image", "[图片]"), ("audio", "[录音]"), ("file", "[文件] 账单.pdf"),
    ]  # fmt: skip
    assert read([{"role": "user", "content": parts}], "en").attachments[0].line == "[image]"


def test_a_recall_over_http_says_what_came_and_why(house: House, client: TestClient) -> None:
    say(house.agent(), "我住在杭州，养了一只叫团子的猫")
    house.agent().finish()
    answer = client.post("/recall", json={"text": "我的猫叫什么"}).json()
    hit = next(one for one in answer["hits"] if "团子" in one["text"])
    assert {"id", "layer", "recipe", "text", "score", "time", "words", "features"} == hit.keys()
    assert 0 < hit["score"] == round(hit["score"], 4)
    [exchange] = client.get("/exchanges").json()["exchanges"]
    assert client.get("/exchanges", params={"before": exchange["id"]}).json()["exchanges"] == []


def test_the_model_alone_says_whether_it_came_to_its_end(house: House, client: TestClient) -> None:
    say(house.agent(), "你好")
    body = {"model": f"{CHARACTER}:raw", "messages": [{"role": "user", "content": "说吧"}]}
    choices = [client.post("/v1/chat/completions", json=body).json()["choices"][0] for _ in range(2)]
    assert [(one["message"]["content"], one["finish_reason"]) for one in choices] == [
        ("说到一半", "length"), ("说完了", "stop"),
    ]  # fmt: skip
    assert len(house.agent().log()) == 1


def test_what_cannot_be_embedded_is_told_by_its_field(client: TestClient) -> None:
    for texts in ([], "", ["x" * 8001], [1], ["a"] * 257, None):
        answer = client.post("/v1/embeddings", json={"input": texts})
        assert (answer.status_code, answer.json()["error"]["field"]) == (422, "input"), texts


@pytest.mark.parametrize("wrong", [None, [], {}, ["x"], [{}] * (MOST_MESSAGES + 1)])
def test_messages_that_are_none_or_too_many_are_refused_by_their_name(wrong: object) -> None:
    with pytest.raises(FieldError) as refused:
        _messages(wrong)
    assert refused.value.field == "messages" and len(_messages([{}] * MOST_MESSAGES)) == MOST_MESSAGES


def test_every_failure_of_a_reply_has_its_status() -> None:
    statuses = {
        "context_full": (400, "context_length_exceeded"), "rate_limit": (429, "rate_limit_exceeded"),
        "timeout": (504, "timeout"), "no_such_name": (404, "model_not_found"), "bad_key": (502, "upstream_key"),
        "unknown_model": (502, "upstream_model"), "broken_off": (502, "upstream_error"),
    }  # fmt: skip
    assert {kind: status_of(ModelError(kind, "")) for kind in statuses} == statuses
    assert status_of(Crowded()) == (503, "overloaded")


def test_a_server_that_others_reach_asks_for_a_key_on_this_machine_too(house: House, client: TestClient) -> None:
    assert client.get("/exchanges").status_code == 200
    closed = TestClient(server.make_app(house, open_here=False), base_url="http://127.0.0.1:8012")
    assert closed.get("/exchanges").status_code == 401 and closed.get("/healthz").status_code == 200
