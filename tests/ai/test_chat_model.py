"""A chat over HTTP: what streams, what goes wrong and in which words, how it is stopped."""

import socket
import subprocess
import sys
from contextlib import closing
from threading import Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moechat.ai.chat_model import ChatRequest, OpenAIChatModel
from moechat.ai.cleaner import in_whole
from moechat.ai.diagnosis import diagnose
from moechat.ai.failure import in_words, sentence
from moechat.ai.reply_stream import ReplyStream
from moechat.ai.wire import chat_body
from moechat.errors import ModelError
from moechat.model import Message, Usage
from moechat.sentences import groups
from tests.model_server import (
    GARBAGE,
    RATE_LIMIT,
    WEB_PAGE,
    BreakOff,
    Hang,
    ModelServer,
    Raw,
    Refuse,
    Say,
    closed_port,
)  # fmt: skip

PATIENCE_S = 60.0  # So long a busy machine may take; nothing waits for it otherwise.
KEY = "sk-very-secret-0123456789"
ASKED = ChatRequest([Message("system", "你是青禾。"), Message("user", "你好")])
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}


def model_of(server: ModelServer, *, model: str = "tiny", key: str | None = KEY, **options) -> OpenAIChatModel:
    return OpenAIChatModel(server.url, model, key, **{"max_retries": 0, "timeout_s": PATIENCE_S, **options})


def reply(server: ModelServer, **options) -> str:
    return "".join(model_of(server, **options).stream(ASKED))


def failure(server: ModelServer, **options) -> tuple[str, ModelError]:
    """What was streamed before it failed, and how it failed."""
    pieces: list[str] = []
    stream = model_of(server, **options).stream(ASKED)
    with pytest.raises(ModelError) as failed:
        pieces.extend(iter(stream.__next__, None))
    assert KEY not in str(failed.value)
    assert failed.value.__cause__ is None
    return "".join(pieces), failed.value


# a reply


def test_a_reply_streams_in_the_pieces_that_the_endpoint_sends():
    with ModelServer([Say("你好呀，很高兴见到你。", piece_chars=4)]) as server:
        assert list(model_of(server).stream(ASKED)) == ["你好呀，", "很高兴见", "到你。"]


def test_the_request_carries_messages_model_key_and_extra_settings():
    with ModelServer() as server:
        reply(server, temperature=0.5, extra={"top_p": 0.9})
        sent = server.requests[-1]
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    assert sent.body["messages"] == [{"role": "system", "content": "你是青禾。"}, {"role": "user", "content": "你好"}]
    assert (sent.body["model"], sent.body["temperature"], sent.body["top_p"]) == ("tiny", 0.5, 0.9)


def test_a_request_goes_to_the_address_alone_and_takes_nothing_from_the_environment(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-for-someone-else")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-for-someone-else")
    with closed_port() as proxy, ModelServer(["在。"]) as server:
        monkeypatch.setenv("HTTP_PROXY", proxy)
        model = OpenAIChatModel(f" {server.url}/chat/completions/ ", "tiny", None)  # the address of the chat itself
        assert "".join(model.stream(ASKED)) == "在。"
        assert "someone-else" not in str(server.requests[-1].headers)


def test_for_models_that_take_one_system_message_a_later_one_leads_the_next_user_message():
    later = ChatRequest(
        [Message("system", "甲"), Message("user", "一"), Message("system", "乙"), Message("user", "二\n【丙】")]
    )
    with ModelServer() as server:
        list(model_of(server, single_system=True).stream(later))
        sent = [(m["role"], m["content"]) for m in server.chats[-1]["messages"]]
    assert [role for role, _ in sent] == ["system", "user", "user"]
    assert [content for _, content in sent[:2]] == ["甲", "一"]
    assert sent[2][1].startswith("乙\n\n") and sent[2][1].endswith("\n\n二\n｜【丙】")


messages = st.lists(
    st.builds(Message, st.sampled_from(["system", "user", "assistant"]), st.text(min_size=1, max_size=5))
)


@given(messages)
def test_merging_system_messages_loses_nothing_and_keeps_the_prefix(given_messages):
    merged = [Message(**message) for message in chat_body(given_messages, True, None)["messages"]]
    replies = [m.content for m in given_messages if m.role == "assistant"]
    assert [m.content for m in merged if m.role == "assistant"] == replies
    assert all(m.role != "system" for m in merged[1:])
    whole = "".join(m.content for m in merged)
    assert all(m.content in whole for m in given_messages if m.role == "system")
    more = chat_body([*given_messages, Message("system", "后")], True, None)["messages"]
    roles = "".join(m.role[0] for m in given_messages)
    waits_for_a_user = "s" in roles[roles.rfind("u") + 1 :] or not roles  # what is added joins the one that waits
    assert waits_for_a_user or [Message(**message) for message in more][: len(merged)] == merged


# thoughts


def test_thoughts_are_never_part_of_the_reply():
    with ModelServer([Say("<think>他在问好\n</think>\n\n你好。", thoughts="先想一想"), "<think>想不完"]) as server:
        assert reply(server) == "你好。"
        assert failure(server)[1].kind == "nonsense"


@pytest.mark.parametrize("stream", [True, False])
def test_what_a_provider_says_of_the_end_and_of_the_cost_is_read(stream):
    ends = [
        ("stop", {}, None),
        ("length", {"usage": {"prompt_tokens": 90, "completion_tokens": 7}}, Usage(90, None, 7)),
        ("stop", {"usage": {"prompt_tokens": 90, "prompt_tokens_details": {"cached_tokens": 64}}}, Usage(90, 64)),
        (
            "stop",
            {"usage": {"prompt_tokens": 90, "prompt_cache_hit_tokens": 32, "completion_tokens": 1}},
            Usage(90, 32, 1),
        ),
        ("stop", {"timings": {"prompt_n": 10, "cache_n": 80, "predicted_n": 5}}, Usage(90, 80, 5)),
        ("stop", {"timings": {"prompt_n": 90, "prompt_ms": 1500.5}}, Usage(90, None, 0, 1.5005)),
        ("stop", {"usage": {"prompt_tokens": -1, "completion_tokens": "x"}}, None),
    ]
    with ModelServer([Say("好。", reason=reason, more=more) for reason, more, _ in ends], streams=stream) as server:
        model = model_of(server)
        for reason, _, usage in ends:
            answer = model.stream(ASKED)
            assert "".join(answer) == "好。"
            assert (answer.outcome.is_cut, answer.outcome.usage) == (reason == "length", usage)


def test_a_thought_that_the_template_opens_is_shown_once_at_most():
    with ModelServer(otherwise="他在问好</think>你好。") as server:
        model = model_of(server)
        assert in_whole(model.stream(ASKED)) == "你好。"
        assert "".join(model.stream(ASKED)) == "你好。"


def test_what_an_endpoint_refuses_is_left_out_from_then_on():
    def act(body):
        for name in ("stream_options", "temperature", "max_tokens"):
            if name in body:
                return Refuse(400, f"Unsupported parameter: {name}. Use max_completion_tokens instead.")
        return Say("好。")

    with ModelServer(act) as server:
        model = model_of(server, wishes={"temperature": 0, "max_tokens": 50})
        answers = [model.complete(ASKED.messages, timeout_s=PATIENCE_S) for _ in range(2)]
        assert answers == ["好。"] * 2
        assert len(server.chats) == 5 and server.chats[-1]["max_completion_tokens"] == 50


# failures


@pytest.mark.parametrize(
    ("act", "streamed", "kind", "words"),
    [
        (BreakOff("说到一"), "说到一", "broken_off", "regenerate"),
        (Say("没有结尾", finish=False), "没有结尾", "broken_off", "regenerate"),
        (RATE_LIMIT, "", "rate_limit", "wait"),
        (Refuse(402, "Insufficient Balance"), "", "rate_limit", "credit"),
        (GARBAGE, "", "nonsense", "/v1"),
        (WEB_PAGE, "", "nonsense", "/v1"),
        (Raw("[]", "application/json"), "", "nonsense", "/v1"),
        (Raw("{broken", "application/json"), "", "nonsense", "/v1"),
        (Raw('data: {"error": {"message": "overloaded", "code": 503}}\n\n'), "", "other", "overloaded"),
        (Raw('data: {"error": {"message": "slow down", "code": 429}}\n\n'), "", "rate_limit", "wait"),
        (Refuse(400, "Model Not Exist"), "", "unknown_model", "chat.model"),
        (Refuse(400, "System message must be at the beginning."), "", "other", "chat.single_system: true"),
        (Say("榴莲", reason="content_filter"), "榴莲", "other", "content filter"),
        (Say("", thoughts="想", reason="length"), "", "cut", "max_tokens"),
        (Refuse(404, body="404 page not found"), "", "no_route", "/v1"),
        (Refuse(403, "forbidden"), "", "bad_key", "MOECHAT_API_KEY"),
        (Refuse(500, f"worker died, key was {KEY}"), "", "other", "worker died"),
    ],
    ids=lambda value: getattr(value, "message", None) if isinstance(value, Refuse) else None,
)
def test_every_failure_has_a_kind_and_one_sentence_that_says_what_to_do(act, streamed, kind, words):
    with ModelServer([act]) as server:
        said, error = failure(server)
    assert (said, error.kind) == (streamed, kind)
    assert words in str(error)
    assert "\n" not in str(error)


@pytest.mark.parametrize(
    "refusal",
    [
        Refuse(400, "This model's maximum context length is 8192 tokens.", "context_length_exceeded"),
        Refuse(400, "request (9000 tokens) exceeds the available context size (4096 tokens)", "exceed_context_size_error"),
        Refuse(500, "the request exceeds the available context size. try increasing the context size"),
        Refuse(400, "You passed 9000 input tokens and requested 100 output tokens. However, the model's context length is only"
               " 4096 tokens, resulting in a maximum input length of 3996 tokens. Please reduce the length of the input prompt."),
        Refuse(400, "prompt is too long: 210000 tokens > 200000 maximum", "invalid_request_error"),
        Refuse(413, "input is too long for requested model"),
        Raw('data: {"error": {"code": 400, "message": "the request exceeds the available context size"}}\n\n'),
    ],
    ids=str,
)  # fmt: skip
def test_a_prompt_that_is_too_long_is_recognised_in_every_dialect(refusal):
    with ModelServer([refusal]) as server:
        assert failure(server)[1].kind == "context_full"


def test_a_wrong_key_an_unknown_model_and_a_dead_address_are_told_apart():
    with ModelServer(key="right", models=("tiny",)) as server:
        assert failure(server)[1].kind == "bad_key"
        assert failure(server, key="right", model="huge")[1].kind == "unknown_model"
        assert failure(server, key="密钥")[1].kind == "bad_key"
    with closed_port() as url:
        with pytest.raises(ModelError, match="check the address") as failed:
            next(OpenAIChatModel(url, "tiny", None, max_retries=0).stream(ASKED))
        assert failed.value.kind == "no_route"


@pytest.mark.parametrize("address", ["", "localhost:8000/v1", "http://", "http://localhost:port/v1", "ftp://a/v1"])
def test_an_address_that_is_none_is_told_as_such(address):
    with pytest.raises(ModelError) as failed:
        next(OpenAIChatModel(address, "tiny", None, max_retries=0).stream(ASKED))
    assert failed.value.kind == "no_route"


def test_an_address_with_https_is_greeted_in_it():
    heard = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def hear():
            with listening.accept()[0] as caller:
                heard.append(caller.recv(1))

        hearing = Thread(target=hear, daemon=True)
        hearing.start()
        with pytest.raises(ModelError):
            next(
                OpenAIChatModel(
                    f"https://127.0.0.1:{listening.getsockname()[1]}/v1", "tiny", KEY, max_retries=0
                ).stream(ASKED)
            )
        hearing.join(1)
    assert heard == [b"\x16"], "a handshake of TLS, before anything is told"


def test_a_password_in_the_address_is_not_repeated():
    told = sentence("no_route", "zh", base_url="https://me:hush@example.org/v1?token=hush")
    assert "https://example.org/v1" in told
    assert "hush" not in told


@pytest.mark.parametrize("act", [Hang(), Hang("开头"), Hang(headers=False), Hang(comments=True)])
def test_silence_ends_after_the_time_allowed_and_hangs_up(act):
    with ModelServer([act]) as server:
        said, error = failure(server, timeout_s=3.0)
        assert server.hung_up.wait(PATIENCE_S)
    assert (said, error.kind) == (act.text, "timeout")


def test_a_passing_refusal_is_tried_once_more():
    with ModelServer([Refuse(429, "slow", headers={"retry-after-ms": "1"}), "好了。"]) as server:
        assert reply(server, max_retries=1) == "好了。"


def test_sentences_exist_in_both_languages_and_speak_the_models_language():
    assert all({"zh", "en"} <= row.keys() for group in groups().values() for row in group.values())
    with ModelServer([RATE_LIMIT]) as server:
        error = failure(server, language="zh")[1]
    assert "请稍等" in str(error)
    assert "wait" in in_words(error, "en")


# stopping


@pytest.mark.parametrize("act", [Hang("开头"), Hang("开头", comments=True)])
def test_closing_a_reply_hangs_up_at_once(act):
    with ModelServer([act]) as server:
        stream = model_of(server).stream(ASKED)
        assert next(stream) == "开头"
        stream.close()
        assert server.hung_up.wait(PATIENCE_S)
        assert list(stream) == []


@pytest.mark.parametrize("act", [Hang(), Hang(headers=False)])
def test_a_reply_is_stopped_from_another_thread_before_its_first_word(act):
    with ModelServer([act]) as server:
        stream = model_of(server, timeout_s=3 * PATIENCE_S).stream(ASKED)
        said: list[str] = []
        reader = Thread(target=lambda: said.extend(stream))
        reader.start()
        assert server.arrived.wait(PATIENCE_S)
        stream.close()
        reader.join(PATIENCE_S)
        assert server.hung_up.wait(PATIENCE_S)
    assert not reader.is_alive()
    assert said == []


def test_a_reply_that_nobody_reads_any_more_is_hung_up():
    with ModelServer([Hang("开头")]) as server:
        stream = model_of(server).stream(ASKED)
        next(stream)
        del stream
        assert server.hung_up.wait(PATIENCE_S)


def test_a_reply_that_was_never_read_asks_nothing():
    with ModelServer() as server:
        with closing(model_of(server).stream(ASKED)) as stream:
            pass
        assert list(stream) == []
        assert server.requests == []


def test_pieces_before_a_failure_are_read_before_it_is_raised():
    def produce(put):
        put("一")
        put("二")
        raise ZeroDivisionError

    stream, said = ReplyStream(produce, late=ModelError("timeout", "late")), []
    with pytest.raises(ZeroDivisionError):
        said.extend(iter(stream.__next__, None))
    assert list(stream) == []


# endpoints without streaming


@pytest.mark.parametrize("endpoint", [{"streams": False}, {"refuses_streams": True}])
def test_an_endpoint_without_streaming_gives_the_reply_whole_and_that_is_remembered(endpoint):
    with ModelServer(["第一句。", "第二句。"], **endpoint) as server:
        model = model_of(server)
        assert list(model.stream(ASKED)) == ["第一句。"]
        assert list(model.stream(ASKED)) == ["第二句。"]
        assert not server.chats[-1].get("stream")


# answers in a form


def test_a_request_that_fails_in_every_form_teaches_nothing_about_forms():
    refused = Refuse(400, "no such luck")
    with ModelServer([refused, refused, refused, '{"a": "b"}']) as server:
        model = model_of(server)
        with pytest.raises(ModelError, match="no such luck"):
            model.complete(ASKED.messages, schema=SCHEMA, timeout_s=PATIENCE_S)
        model.complete(ASKED.messages, schema=SCHEMA, timeout_s=PATIENCE_S)
        assert server.chats[-1]["response_format"]["type"] == "json_schema"


def test_a_prompt_that_is_too_long_is_not_asked_again_in_a_simpler_form():
    with ModelServer([Refuse(400, "This model's maximum context length is 8192 tokens."), '{"a": "b"}']) as server:
        with pytest.raises(ModelError) as failed:
            model_of(server).complete(ASKED.messages, schema=SCHEMA, timeout_s=PATIENCE_S)
        assert failed.value.kind == "context_full" and len(server.chats) == 1


def test_an_answer_without_a_schema_is_plain_text_without_thoughts():
    with ModelServer([Say("<think>想</think> 一句话。")]) as server:
        assert model_of(server).complete(ASKED.messages, timeout_s=PATIENCE_S) == "一句话。"
        assert "response_format" not in server.chats[-1]


def test_an_answer_keeps_its_time():
    with ModelServer([Hang(headers=False)]) as server:
        with pytest.raises(ModelError, match=r"sent nothing for 0\.2 seconds") as failed:
            model_of(server).complete(ASKED.messages, schema=SCHEMA, timeout_s=0.2)
        assert failed.value.kind == "timeout"


# the connection test


def test_a_good_connection_is_told_with_its_latency_and_an_unknown_model_with_the_nearest():
    with ModelServer(models=("tiny-chat", "large"), key=KEY) as server:
        found, unknown = (diagnose(server.url, name, KEY, PATIENCE_S) for name in ("tiny-chat", "tiny-cat"))
    assert (found.ok, found.kind, found.streams, found.models) == (True, "ok", True, ["tiny-chat", "large"])
    assert 0 < found.latency_ms < 1000 * PATIENCE_S
    assert "毫秒" in found.message_zh and "ms" in found.message_en
    assert (unknown.ok, unknown.kind, unknown.models[0]) == (False, "unknown_model", "tiny-chat")
    assert "tiny-chat" in unknown.message_zh and "tiny-chat" in unknown.message_en
    with closed_port() as url:
        dead = diagnose(url, "tiny", None, PATIENCE_S)
    assert (dead.ok, dead.kind, dead.models) == (False, "no_route", []) and "连不上" in dead.message_zh


@pytest.mark.parametrize(
    ("endpoint", "key", "kind", "ok"),
    [
        ({"key": "right"}, KEY, "bad_key", False),
        ({"streams": False}, None, "no_streaming", True),
        ({"refuses_streams": True}, None, "no_streaming", True),
        ({"lists_models": False}, None, "ok", True),
        ({"script": [Say("", thoughts="让我想想")]}, None, "ok", True),
        ({"script": [Hang()]}, None, "timeout", False),
        ({"script": [WEB_PAGE]}, None, "nonsense", False),
        ({"script": [RATE_LIMIT]}, None, "rate_limit", False),
    ],
)
def test_the_connection_test_tells_what_is_wrong(endpoint, key, kind, ok):
    with ModelServer(**endpoint) as server:
        found = diagnose(server.url, "tiny", key, 1.0 if kind == "timeout" else PATIENCE_S)
    assert (found.kind, found.ok) == (kind, ok)
    assert KEY not in found.message_zh + found.message_en


def test_importing_chat_models_does_not_import_the_client_library():
    told = "import sys, moechat.ai.chat_model, moechat.ai.local, moechat.ai.scripted; print('openai' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True).stdout == "False\n"


# ---- what a program sends along


def test_pictures_tools_and_wishes_reach_the_endpoint_as_they_came() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
    sent = Message("user", "看", {"role": "user", "content": [{"type": "text", "text": "看"}, picture]})
    tools = [{"type": "function", "function": {"name": "look", "parameters": {}}}]
    with ModelServer(["好"]) as server:
        model = OpenAIChatModel(server.url, "tiny", None, temperature=0.9)
        wishes = {"temperature": 0.1, "tools": tools}
        assert in_whole(model.stream(ChatRequest([Message("system", "你是"), sent], wishes=wishes))) == "好"
        one_system = OpenAIChatModel(server.url, "tiny", None, single_system=True)
        in_whole(one_system.stream(ChatRequest([Message("user", "你好"), Message("system", "记得"), sent])))
    body, merged = server.chats
    assert body["messages"][-1] == sent.wire and body["temperature"] == 0.1 and body["tools"] == tools
    assert merged["messages"][-1]["content"][1:] == [picture]
    assert merged["messages"][-1]["content"][0]["text"].startswith("记得")
