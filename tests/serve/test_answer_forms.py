"""The forms of an answer to a program: whole, in pieces, as an error, and what of a request is refused by its name."""

from __future__ import annotations

import json
from typing import Any

import pytest

from moechat.access.guard import error_body
from moechat.errors import FieldError
from moechat.serve.completions import End, Form, metadata, usage
from moechat.serve.front_ends import MOST_MESSAGES, _messages
from moechat.serve.server import ERROR

CALL = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
ENDS = [End("tool_calls", [CALL], 9, 2, 4), End("stop", (), 5, 1, memories=[{"id": "m"}])]


def choices_of(text: str) -> list[Any]:
    return [json.loads(line.removeprefix("data: "))["choices"] for line in text.split("\n\n") if line]


def test_a_reply_has_the_form_of_openai_whole_and_in_pieces() -> None:
    form = Form("r", 1, "小满")
    whole = form.whole(["", "好"], ENDS)
    assert {key: whole[key] for key in ("id", "created", "model", "object")} == {
        "id": "r", "created": 1, "model": "小满", "object": "chat.completion",
    }  # fmt: skip
    assert [(one["index"], one["finish_reason"], one["message"].get("tool_calls")) for one in whole["choices"]] == [
        (0, "tool_calls", [CALL]), (1, "stop", None),
    ]  # fmt: skip
    assert whole["metadata"] == {"memories": [{"id": "m"}]} and metadata(ENDS[:1]) == {}
    assert usage(ENDS) == whole["usage"] == {
        "prompt_tokens": 14, "completion_tokens": 3, "total_tokens": 17, "prompt_tokens_details": {"cached_tokens": 4},
    }  # fmt: skip
    deltas = [one[0]["delta"] for one in choices_of(form.begin(0) + form.piece(0, "好") + form.end(0, ENDS[0]))]
    called = {"content": "", "tool_calls": [{"index": 0, **CALL}]}
    assert deltas == [{"role": "assistant", "content": ""}, {"content": "好"}, called, {}]
    assert choices_of(form.end(1, ENDS[1])) == [[{"index": 1, "delta": {}, "finish_reason": "stop"}]]
    assert choices_of(form.cost(ENDS)) == [[]] and '"total_tokens": 17' in form.cost(ENDS)


def test_an_error_has_what_the_document_says_of_it() -> None:
    body = json.loads(error_body("no", 404, field="user", remedy="name one"))
    assert ERROR["required"] == ["error"] == [*body] == [*ERROR["properties"]]
    inner = ERROR["properties"]["error"]
    assert set(inner["required"]) | set(inner["properties"]) <= set(body["error"])
    assert body["error"]["param"] == "user" and body["error"]["type"] == "not_found_error"


@pytest.mark.parametrize("wrong", [None, [], {}, ["x"], [{}] * (MOST_MESSAGES + 1)])
def test_messages_that_are_none_or_too_many_are_refused_by_their_name(wrong: object) -> None:
    with pytest.raises(FieldError) as refused:
        _messages(wrong)
    assert refused.value.field == "messages" and len(_messages([{}] * MOST_MESSAGES)) == MOST_MESSAGES
