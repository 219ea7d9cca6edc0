"""What a model can read at once, and what becomes of a talk that is longer."""

from __future__ import annotations

from typing import Any

import pytest

from moechat.ai.chat_model import OpenAIChatModel
from moechat.ai.scripted import Line, ScriptedModel
from moechat.ai.window import Window
from moechat.errors import ModelError
from moechat.model import Usage
from moechat.turn import size
from tests.houses import Home, say
from tests.model_server import ModelServer, Refuse, Say

TELLS: list[tuple[dict[str, Any], int]] = [
    ({"/v1/models": {"data": [{"id": "tiny", "max_model_len": 4096}, {"id": "large", "max_model_len": 9000}]}}, 4096),
    ({"/v1/models": {"data": [{"id": "tiny", "context_length": 32_000}]}}, 32_000),
    ({"/v1/models": {"data": [{"id": "other", "meta": {"n_ctx": 512}}]}}, 512),
    ({"/props": {"default_generation_settings": {"n_ctx": 2048}}}, 2048),
    ({"/api/v0/models": {"data": [{"id": "tiny", "loaded_context_length": 1500}]}}, 1500),
    ({"/api/show": {"parameters": 'stop "x"\nnum_ctx   8192', "model_info": {"qwen2.context_length": 32_768}}}, 8192),
    ({"/api/show": {"model_info": {"qwen2.context_length": 32_768}}}, 32_768),
    ({"/v1/models": {"data": "x"}, "/props": [], "/api/show": {"model_info": 5}}, 0),
]


@pytest.mark.parametrize(("tells", "window"), TELLS, ids=str)
def test_a_server_is_asked_how_much_its_model_can_read(tells: dict[str, Any], window: int) -> None:
    with ModelServer(tells=tells) as server:
        model = OpenAIChatModel(server.url, "tiny", None)
        model.learn_window(60)
        assert model.window.tokens == window
        assert model.window.cuts_silently == ("model_info" in tells.get("/api/show", {}))


def test_what_is_set_is_not_asked() -> None:
    with ModelServer() as server:
        model = OpenAIChatModel(server.url, "tiny", None, window_tokens=700)
        model.learn_window(60)
        assert model.window.tokens == 700 and server.requests == []


def test_a_talk_that_is_too_long_for_the_server_loses_its_oldest_rounds_and_is_tried_again(home: Home) -> None:
    def act(body: dict[str, Any]) -> Refuse | Say:
        rounds = sum(message["role"] == "user" for message in body["messages"])
        if rounds > 4:
            return Refuse(400, "the request exceeds the available context size", "exceed_context_size_error")
        return Say("好的。")

    with ModelServer(act) as server:
        home.configure(chat={"base_url": server.url, "model": "tiny"})
        with home.connected() as house:
            ended = [say(house.agent(), f"第{n}句") for n in range(8)]
            assert [(one.exchange.status, one.exchange.char, one.error) for one in ended] == [
                ("done", "好的。", "")
            ] * 8
            [*_, last] = [body["messages"] for body in server.chats]
            said = [message["content"] for message in last if message["role"] == "user"]
            assert said[-2:] == ["第6句", "第7句"] and len(said) <= 4
            assert len(house.agent().recent(20)) == 8


def test_one_message_that_is_too_long_by_itself_is_told(home: Home) -> None:
    with home.agent(ScriptedModel([Line(fails=ModelError("context_full", "too long"))])) as agent:
        assert say(agent, "很长").error == "too long"


def test_a_prompt_keeps_within_a_window_that_is_known(home: Home) -> None:
    model = ScriptedModel(lambda _: "好的，我记住了你说的每一句话。", understands=False, window=Window(2600))
    with home.agent(model) as agent:
        for n in range(40):
            say(agent, f"这是第{n}句话，我想说的是今天天气很好，我们去公园散步吧。")
    assert all(size(request.messages) <= model.window.room for request in model.requests)
    first = [request.messages[1].content for request in model.requests]
    assert 1 < len(set(first)) < 15, "the oldest go in blocks, so that the beginning stays the same for long"


def test_a_prompt_that_was_cut_without_a_word_is_noticed_by_its_count() -> None:
    window = Window(32_768, cuts_silently=True)
    for ours in (500, 1000, 2000, 4000):
        window.counted(ours, Usage(round(ours * 0.9)))
    assert window.tokens == 32_768 and window.ratio == 0.9
    window.counted(5000, Usage(4090))
    assert window.tokens == 32_768, "it may be the words"
    window.counted(8000, Usage(4090))
    assert window.tokens == 4090 and window.room < 4000
    fair = Window(32_768)
    fair.counted(4000, Usage(4000))
    fair.counted(8000, Usage(4000))
    assert fair.tokens == 32_768, "other servers say so when it is too much"


@pytest.mark.parametrize(
    ("words", "tokens"),
    [
        ("This model's maximum context length is 8192 tokens. However", 8192),
        ("request (9000 tokens) exceeds the available context size (4096 tokens)", 4096),
        ("prompt is too long: 210000 tokens > 200000 maximum", 200_000),
    ],
)
def test_a_server_that_names_its_window_is_believed(words: str, tokens: int) -> None:
    window = Window()
    window.overflowed(300_000, words)
    assert window.tokens == tokens
    window.overflowed(window.room, words)
    assert 0 < window.tokens < tokens, "that was still too much"
    silent = Window()
    for _ in range(50):
        silent.overflowed(silent.room or 10_000, "too long")
    assert 0 < silent.room < 1000


def test_a_model_that_reads_slowly_is_given_less_of_what_is_recalled_but_some(home: Home) -> None:
    def most_recalled(usage: Usage) -> int:
        model = ScriptedModel(lambda _: Line("好。", usage=usage), understands=False)
        with home.agent(model) as agent:
            say(agent, "你好")
            recollection = agent.recall("我在江边看见了什么")
            return sum(hit.tokens for hit in recollection.hits)

    with home.agent(ScriptedModel(lambda _: "好。", understands=False)) as agent:
        for n in range(30):
            say(agent, f"第{n}次在江边看见了一只白鹭，它站在石头上等着{n}条鱼，天快黑了，风很大，我没有带伞。")
            home.clock.advance(hours=13)
    fast, slow, slowest = (most_recalled(Usage(1000, 0, 9, read_s=seconds)) for seconds in (1.0, 15.0, 1000.0))
    assert slow < fast and 0 < slowest <= 300 < fast


def test_what_a_turn_cost_is_counted(home: Home) -> None:
    usage = Usage(1200, 1000, 9)
    with home.agent(ScriptedModel([Line("好。", usage=usage), "好。", Line("好。")], understands=False)) as agent:
        first, second = say(agent, "我住在杭州").cost, say(agent, "你好").cost
        assert first and second
        assert (first.prompt, first.cached, first.reply, first.compared) == (1200, 1000, 9, 0)
        assert second.cached is None and second.prompt == second.compared
        assert 0 < second.same < second.compared
        trace = agent.conversation.trace(agent.recent(1)[0].exchange.id)
        assert trace and trace.cost == second
    with home.agent() as agent:
        [spent] = agent.store.usage.days()
        assert (spent.calls, spent.prompt, spent.cached, spent.reported) == (2, 1200 + second.prompt, 1000, 1200)
        assert (spent.same, spent.compared) == (second.same, second.compared)
