"""What an endpoint sends in a shape of its own is nothing, or no answer; it is never an error of ours."""

from __future__ import annotations

import json

import pytest

from moechat.ai.wire import Unfit, events, whole


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
