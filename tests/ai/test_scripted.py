"""The scripted model does as told: it is what other tests stand on."""

from threading import Event
from typing import Any

import pytest

from moechat.ai.chat_model import ChatRequest
from moechat.ai.scripted import Line, ScriptedModel
from moechat.errors import ModelError
from moechat.model import Message

ASKED = ChatRequest([Message("user", "你好")])


def test_a_reply_breaks_off_midway_where_the_script_says_so():
    stream = ScriptedModel([Line("说到一", fails=ModelError("broken_off", "gone"))]).stream(ASKED)
    assert next(stream) == "说到一"
    with pytest.raises(ModelError, match="gone"):
        next(stream)


def test_a_line_hangs_until_its_event_is_set():
    go = Event()
    stream = ScriptedModel([Line("等", hold=go, then="到了")]).stream(ASKED)
    assert next(stream) == "等"
    go.set()
    assert list(stream) == ["到了"]


def test_a_line_that_hangs_can_be_stopped_or_runs_out_of_time():
    model = ScriptedModel([Line("等", hold=Event()), Line(hold=Event())], timeout_s=0.1)
    stream = model.stream(ASKED)
    next(stream)
    stream.close()
    assert list(stream) == []
    assert model.closed == 1
    with pytest.raises(ModelError) as failed:
        next(model.stream(ASKED))
    assert failed.value.kind == "timeout"


def test_calls_of_tools_are_put_together_and_are_an_answer() -> None:
    def call(index: int, **words: str) -> dict[str, Any]:
        return {"index": index, "function": words} | ({"id": f"c{index}"} if "name" in words else {})

    pieces = [call(0, name="look", arguments='{"at'), call(1, name="go", arguments="{}"), call(0, arguments='":1}')]
    model = ScriptedModel([Line("", calls=pieces)])
    reply = model.stream(ChatRequest([]))
    assert list(reply) == []
    assert [(one["id"], one["function"]) for one in reply.outcome.calls] == [
        ("c0", {"name": "look", "arguments": '{"at":1}'}), ("c1", {"name": "go", "arguments": "{}"}),
    ]  # fmt: skip
