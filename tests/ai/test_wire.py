"""What an endpoint sends in a shape of its own is nothing, or no answer; it is never an error of ours. And what is sent to it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from moechat.ai.failure import cleaned, shown_url
from moechat.ai.wire import MOST_EVENT, Chunk, Unfit, chat_body, events, marked, whole
from moechat.model import Message


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


def piece(text: object = "", **more: Any) -> dict[str, Any]:
    return {"choices": [{"delta": {"content": text} | more}]}


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


def test_no_key_is_repeated_in_an_endpoints_words_or_an_address() -> None:
    assert cleaned(" bad  key\nmy-word ", "my-word") == "bad key ***"
    for word in ("sk-abcdef1234", "xai-12345", "gsk-abcd", "key-abcd.efgh", "Bearer abc"):
        assert cleaned(f"refused: {word}", "") == "refused: ***"
    assert len(cleaned("x" * 500, None)) == 200
    assert shown_url("https://me:word@host:8000/v1?key=word") == "https://host:8000/v1"
    assert shown_url("host/v1?key=word") == "host/v1" and shown_url("") == "?"


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
