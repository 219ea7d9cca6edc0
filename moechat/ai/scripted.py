"""A chat model that follows a script: for tests, demonstrations and benchmarks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from threading import Event
from typing import Any

from moechat.ai.chat_model import ChatRequest
from moechat.ai.reply_stream import Put, ReplyStream
from moechat.errors import ModelError
from moechat.model import Message

LOOK_S = 0.01  # A line that hangs checks this often whether it was closed.


@dataclass(frozen=True)
class Line:
    """One scripted reply: its text, then, if given, waiting for ``hold`` to be set, then ``fails``."""

    text: str = ""
    hold: Event | None = None
    fails: ModelError | None = None
    then: str = ""  # said after the wait


Script = Iterable[str | Line | ModelError] | Callable[[Sequence[Message]], str | Line | ModelError]


@dataclass
class ScriptedModel:
    """Streams ``replies`` in order, or what the function makes of the messages; ``complete`` likewise ``answers``.

    A ModelError in a script is raised. When a list has run out, ModelError says so. ``requests`` records what was asked
    for a reply, ``questions`` the messages and schemas of ``complete``, ``closed`` how many replies were closed unfinished.
    ``timeout_s`` without a piece (a line that hangs) raises ModelError, kind ``timeout``.
    """

    replies: Script = ()
    answers: Script = ()
    understands: bool = True
    name: str = "scripted"
    piece_chars: int = 4
    timeout_s: float | None = None
    requests: list[ChatRequest] = field(default_factory=list, init=False)
    questions: list[tuple[Sequence[Message], dict[str, Any] | None]] = field(default_factory=list, init=False)
    closed: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._next_reply, self._next_answer = _play(self.replies, "replies"), _play(self.answers, "answers")

    def stream(self, request: ChatRequest) -> ReplyStream:
        self.requests.append(request)
        line = _line(self._next_reply(request.messages))
        hung_up, ended = Event(), Event()

        def produce(put: Put) -> None:
            try:
                self._say(line, put, hung_up)
            finally:
                ended.set()

        def hang_up() -> None:
            hung_up.set()
            self.closed += not ended.is_set()

        late = ModelError("timeout", f"{self.name} sent nothing for {self.timeout_s} seconds.")
        return ReplyStream(produce, late=late, timeout_s=self.timeout_s, hang_up=hang_up)

    def complete(self, messages: Sequence[Message], *, schema: dict[str, Any] | None = None, timeout_s: float) -> str:
        self.questions.append((messages, schema))
        line = _line(self._next_answer(messages))
        if line.hold is not None and not line.hold.wait(timeout_s):
            raise ModelError("timeout", f"{self.name} sent nothing for {timeout_s} seconds.")
        if line.fails is not None:
            raise line.fails
        return line.text + line.then

    def _say(self, line: Line, put: Put, hung_up: Event) -> None:
        for text in (line.text, line.then):
            for at in range(0, len(text), self.piece_chars):
                if not put(text[at : at + self.piece_chars]):
                    return
            while line.hold is not None and not line.hold.wait(LOOK_S):
                if hung_up.is_set():
                    return
        if line.fails is not None:
            raise line.fails


def _play(script: Script, what: str) -> Callable[[Sequence[Message]], str | Line | ModelError]:
    if callable(script):
        return script
    lines = iter(script)

    def following(_: Sequence[Message]) -> str | Line | ModelError:
        return next(lines, ModelError("other", f"The script has no more {what}."))

    return following


def _line(entry: str | Line | ModelError) -> Line:
    if isinstance(entry, Line):
        return entry
    return Line(entry) if isinstance(entry, str) else Line(fails=entry)
