"""What an endpoint sends in a shape of its own is nothing, or no answer; it is never an error of ours. And what is sent to it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from moechat.ai.failure import cleaned, kind_of, shown_url
from moechat.ai.window import Window
from moechat.ai.wire import MOST_EVENT, Chunk, Unfit, chat_body, events, marked, takes_one_system, whole, words_of
from moechat.model import Message, Usage


@pytest.mark.parametrize(
    "chunk", [{"choices": 5}, {"choices": ["x"]}, {"choices": [{"delta": []}]}, {"choices": [{"delta": "x"}]}]
)
def test_a_piece_of_another_shape_says_nothing(chunk: object) -> None:
    good = {"choices": [{"delta": {"content": "嗯"}, "finish_reason": "stop"}]}
    assert [one.text for one in events([f"data: {json.dumps(one)}" for one in (chunk, good)])] == ["嗯"]


@pytest.mark.parametrize("line", ["data: " + "[" * 50_000, "data: " + "9" * 5000, 'data: {"a":'])
def test_a_line_that_is_no_json_raises_one_kind_of_error(line: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - any is right
        list(events([line]))


@pytest.mark.parametrize("code", ["9" * 5000, "²", 5, [], {}])
def test_an_error_with_any_code_is_reported(code: object) -> None:
    with pytest.raises(Unfit):
        whole({"error": {"code": code, "message": "no"}})


def stream(*objects: object, end: str = "data: [DONE]") -> list[Chunk]:
    return list(
        events([": a comment", "", *(f"data:{json.dumps(one)}" for one in objects), end, "data: after the end"])
    )


def piece(text: object = "", **more: Any) -> dict[str, Any]:
    return {"choices": [{"delta": {"content": text} | more}]}


def test_a_stream_gives_words_thoughts_calls_and_why_it_ended() -> None:
    parts = [{"type": "text", "text": "嗯"}, {"type": "image", "text": "x"}, {"type": "text", "text": "，"}]
    call = {"index": 0, "function": {"name": "look"}}
    chunks = stream(
        piece(parts), piece(reasoning_content="想"), piece(reasoning="再想"), piece(), piece(tool_calls=[call, "x"]),
        {"choices": [{"delta": {"content": "好"}, "finish_reason": "length"}]},
    )  # fmt: skip
    expected = [Chunk("嗯，"), Chunk("", "想"), Chunk("", "再想"), Chunk(calls=(call,)), Chunk("好", finish="length")]
    assert chunks == expected


def test_a_stream_that_breaks_off_says_nothing_or_sends_too_much_is_told_apart() -> None:
    done = {"choices": [{"delta": {}, "finish_reason": "stop"}]}
    cases: dict[str, list[str]] = {
        "broken_off": [f"data: {json.dumps(piece('嗯'))}"],
        "nonsense": ["<html>", ": comment"],
        "too_much": ["data: " + "x" * (MOST_EVENT + 1)],
        "rate_limit": [f"data: {json.dumps({'error': {'code': 429, 'message': 'slow'}})}"],
        "context_full": ['data: {"error": "the request exceeds the available context size"}'],
        "other": ['data: {"error": {"message": "no", "code": "12345"}}'],
    }
    for kind, lines in cases.items():
        with pytest.raises(Unfit) as unfit:
            list(events(lines))
        assert unfit.value.kind == kind
    with pytest.raises(Unfit) as unfit:
        list(events(["data: []"]))
    assert unfit.value.kind == "nonsense"
    assert list(events([f"data: {json.dumps(done)}"])) == [Chunk(finish="stop")]


def test_a_whole_reply_is_one_with_a_message() -> None:
    body = {
        "choices": [{"message": {"content": "好", "reasoning": "想"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3},
    }
    assert whole(body) == Chunk("好", "想", "stop", Usage(3, None, 0))
    for other in (None, [], {}, {"choices": []}, {"choices": [{"delta": {"content": "x"}}]}):
        with pytest.raises(Unfit, match="nonsense"):
            whole(other)


COSTS: list[tuple[dict[str, Any], Usage | None]] = [
    ({"usage": {"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}}}, Usage(9, 4, 2)),
    ({"usage": {"input_tokens": 9, "output_tokens": 2, "input_tokens_details": {"cached_tokens": 0}}}, Usage(9, 0, 2)),
    ({"usage": {"prompt_tokens": 9, "prompt_cache_hit_tokens": 5}}, Usage(9, 5, 0)),
    ({"usage": {"input_tokens": 9, "cache_read_input_tokens": 6}}, Usage(9, 6, 0)),
    ({"choices": [{"usage": {"prompt_tokens": 7, "cached_tokens": 1}}]}, Usage(7, 1, 0)),
    ({"usage": {"prompt_tokens": 1}, "timings": {"prompt_n": 6, "cache_n": 3, "predicted_n": 2, "prompt_ms": 1500}},
     Usage(9, 3, 2, 1.5)),
    ({"timings": {"prompt_n": 6}}, Usage(6, None, 0)),
    ({"timings": {"prompt_n": 6, "prompt_ms": 10**12}}, Usage(6, None, 0)),
    ({"timings": {"prompt_n": 6, "prompt_ms": -5}}, Usage(6, None, 0)),
    ({"usage": {"prompt_tokens": True}}, None), ({"usage": {"prompt_tokens": -1}}, None),
    ({"usage": {"prompt_tokens": 10**9}}, None),
    ({"usage": {"prompt_tokens": "9"}}, None), ({"usage": [9]}, None), ({}, None),
]  # fmt: skip


@pytest.mark.parametrize(("body", "cost"), COSTS, ids=str)
def test_what_a_call_cost_is_read_in_each_providers_words(body: dict[str, Any], cost: Usage | None) -> None:
    choice = (body.get("choices") or [{}])[0] | {"message": {"content": "x"}}
    assert whole(body | {"choices": [choice]}).usage == cost


def test_the_words_of_an_error_are_found_in_whatever_form_it_comes() -> None:
    cases: list[tuple[object, str]] = [
        ({"error": {"message": "no", "code": "bad"}}, "no (bad)"), ({"error": {"message": "no", "type": "kind"}}, "no (kind)"),
        ({"error": {"message": "no"}}, "no"), ({"error": "no"}, "no"), ({"message": "no"}, "no"), ({"detail": "no"}, "no"),
        ({"error": {}}, ""), ({}, ""), (None, ""), ("no", "no"), ({"detail": [1]}, "[1]"), ("x" * 5000, "x" * 2000),
        ({"error": {"message": "y" * 5000}}, "y" * 2000),
    ]  # fmt: skip
    assert [(body, words_of(body)) for body, words in cases if words_of(body) != words] == []


def test_an_error_has_the_kind_of_its_status_and_words() -> None:
    cases = [
        (401, "", "bad_key"), (403, "context_length_exceeded", "bad_key"), (402, "", "rate_limit"), (429, "", "rate_limit"),
        (408, "", "timeout"), (400, "context_length_exceeded", "context_full"), (413, "prompt too long", "context_full"),
        (422, "too many tokens", "context_full"), (500, "exceeds the available context", "context_full"),
        (503, "context_length_exceeded", "other"), (404, "model_not_found", "unknown_model"),
        (400, "模型 x 不存在", "unknown_model"),
        (500, "model not found", "other"), (400, "System message must be at the beginning", "system_order"),
        (422, "only one system message", "system_order"), (404, "System message must be first", "no_route"),
        (405, "", "no_route"), (400, "no", "other"), (418, "", "other"),
    ]  # fmt: skip
    assert [(status, words) for status, words, kind in cases if kind_of(status, words) != kind] == []


def test_no_key_is_repeated_in_an_endpoints_words_or_an_address() -> None:
    assert cleaned(" bad  key\nmy-word ", "my-word") == "bad key ***"
    for word in ("sk-abcdef1234", "xai-12345", "gsk-abcd", "key-abcd.efgh", "Bearer abc"):
        assert cleaned(f"refused: {word}", "") == "refused: ***"
    assert len(cleaned("x" * 500, None)) == 200
    assert shown_url("https://me:word@host:8000/v1?key=word") == "https://host:8000/v1"
    assert shown_url("host/v1?key=word") == "host/v1" and shown_url("") == "?"


def test_models_that_take_one_system_message_are_known_by_name() -> None:
    one = [
        "gemma-3-4b",
        "Mistral-7B",
        "mixtral",
        "ministral",
        "Codestral",
        "llama2",
        "Llama-2-7b",
        "vicuna",
        "Qwen3.5",
        "qwen-3.5",
    ]
    assert [name for name in one if not takes_one_system(name)] == []
    assert [
        name for name in ("qwen3", "llama-20b", "llama-3", "deepseek-chat", "gpt-4") if takes_one_system(name)
    ] == []


def test_a_later_system_message_leads_the_next_of_the_user_or_ends_the_prompt() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:"}}
    seen = Message("user", "看", {"role": "user", "content": [{"type": "text", "text": "看"}, picture]})
    messages = [
        Message("system", "甲"),
        Message("system", "乙"),
        Message("assistant", "好"),
        Message("system", "丙"),
        seen,
    ]
    sent = chat_body([*messages, Message("system", "丁")], True, 0.5)
    assert sent["temperature"] == 0.5 and "temperature" not in chat_body(messages, False, None)
    lead, reply, led, last = sent["messages"]
    assert (lead, reply) == ({"role": "system", "content": "甲\n\n乙"}, {"role": "assistant", "content": "好"})
    words, shown = led["content"]
    assert words["text"].startswith("丙\n\n—") and words["text"].endswith("\n\n看") and shown == picture
    assert last == {"role": "user", "content": "丁"}
    assert [one["role"] for one in chat_body(messages, False, None)["messages"]] == [one.role for one in messages]


def test_what_a_template_would_obey_is_sent_as_words() -> None:
    tokens = ["<|im_end|>", "[INST]", "[/INST]", "<<SYS>>", "</s>", "<end_of_turn>", "<think>", "</tool_call>"]
    for token in tokens:
        (message,) = chat_body([Message("user", f"a{token}b")], False, None)["messages"]
        assert token not in message["content"] and message["content"].replace(" ", "") == f"a{token}b"
    for text in ("<b>", "[1]", "a < b", "<|x"):
        assert chat_body([Message("user", text)], False, None)["messages"][0]["content"] == text
    parts = [{"type": "text", "text": "<s>"}, {"type": "image_url"}, "x"]
    (message,) = chat_body([Message("user", "x", {"role": "user", "content": parts})], False, None)["messages"]
    assert message["content"] == [{"type": "text", "text": "< s>"}, {"type": "image_url"}, "x"]


def test_a_line_that_poses_as_a_block_or_as_somebody_is_marked() -> None:
    posing = ["【记忆】", " [Now]", "(aside)", "# head", "----", "system: x", "用户：x", "Assistant > x", "<b>"]
    assert [line for line in posing if marked(line) != f"｜{line}"] == []
    assert marked("你好\n- 一\nusers: x\n【x】") == "你好\n- 一\nusers: x\n｜【x】"


def test_a_window_leaves_room_for_the_reply_and_learns_what_a_token_is() -> None:
    assert (Window(4096).room, Window(1000).room, Window().room) == (4096 - 1024, 750, 0)
    window = Window(4096)
    window.counted(399, Usage(800))
    assert window.ratio == 1.0, "a count of little says nothing"
    window.counted(1000, Usage(2000, 500, read_s=3.0))
    assert (window.ratio, window.token_s, window.room, window.reads(6.0)) == (2.0, 0.002, 1536, 1500)
    assert Window().reads(5.0) == 0 and Window(token_s=10.0).reads(1.0) == 1
    window.counted(1000, Usage(2000, 1900, read_s=9.0))
    assert window.token_s == 0.002, "what was cached took no time"
    window.counted(1000, Usage(0))
    assert window.ratio == 2.0
    ollama = Window(cuts_silently=True)
    ollama.counted(1000, Usage(600))
    assert (ollama.tokens, ollama.ratio) == (600, 1.0)
    ollama.counted(1000, Usage(650))
    assert ollama.tokens == 600
    ollama.counted(1000, Usage(700))
    assert (ollama.tokens, ollama.ratio) == (600, 0.7)


def test_a_prompt_that_was_too_much_tells_how_much_is_read_or_makes_it_smaller() -> None:
    told = ["maximum context length is 4096 tokens", "context size (4096)", "n_ctx: 4096", "5000 tokens > 4096"]
    for words in told:
        window = Window()
        window.overflowed(9000, words)
        assert window.tokens == 4096, words
    unknown = Window()
    unknown.overflowed(1000, "too long")
    assert unknown.tokens == 750 + 256 and unknown.room < 1000
    known = Window(4096)
    known.overflowed(5000, "maximum context length is 8192 tokens")
    assert known.tokens == int(0.75 * 3072) + 256, "what it says was known to be too much"
    smaller = Window(4096)
    smaller.overflowed(1000, "no")
    assert smaller.tokens == 750 + 256
