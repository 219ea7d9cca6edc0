"""A chat model that follows a script: for tests, demonstrations and benchmarks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from threading import Event
from typing import Any

from moechat.ai.chat_model import ChatRequest, cleaner_for, deliver
from moechat.ai.cleaner import Cleaner, in_whole
from moechat.ai.failure import Failure
from moechat.ai.reply_stream import Put, ReplyOutcome, ReplyStream
from moechat.ai.window import Window
from moechat.ai.wire import Chunk, Unfit
from moechat.errors import ModelError
from moechat.model import Message, Usage

LOOK_S = 0.01  # A line that hangs checks this often whether it was closed.


@dataclass(frozen=True)
class Line:
    """One scripted reply: its text after its ``thoughts``, then, if given, waiting for ``hold`` to be set, then ``fails``.

    ``finish`` is why it ends, in a provider's words (``length``: it was cut), ``usage`` what it cost, ``calls`` which calls of
    tools it asks for.
    """

    text: str = ""
    hold: Event | None = None
    fails: ModelError | None = None
    then: str = ""  # said after the wait
    thoughts: str = ""
    finish: str = "stop"
    usage: Usage | None = None
    calls: Sequence[dict[str, Any]] = ()


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
    has_one_slot: bool = False
    window: Window = field(default_factory=Window)
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
        return self._reply(_line(self._next_reply(request.messages)), cleaner_for(request), self.timeout_s)

    def ask(
        self, messages: Sequence[Message], *, schema: dict[str, Any] | None = None, silence_s: float
    ) -> ReplyStream:
        self.questions.append((messages, schema))
        return self._reply(_line(self._next_answer(messages)), Cleaner(), silence_s)

    def complete(self, messages: Sequence[Message], *, schema: dict[str, Any] | None = None, timeout_s: float) -> str:
        with closing(self.ask(messages, schema=schema, silence_s=timeout_s)) as answer:
            return in_whole(answer)

    def _reply(self, line: Line, cleaner: Cleaner, timeout_s: float | None) -> ReplyStream:
        outcome, hung_up, ended = ReplyOutcome(), Event(), Event()

        def produce(put: Put) -> None:
            try:
                deliver(self._chunks(line, hung_up), cleaner, outcome, put)
            except Unfit as unfit:
                raise Failure(unfit.kind, "en", model=self.name) from None
            finally:
                ended.set()

        def hang_up() -> None:
            hung_up.set()
            self.closed += not ended.is_set()

        late = ModelError("timeout", f"{self.name} sent nothing for {timeout_s} seconds.")
        return ReplyStream(produce, late=late, timeout_s=timeout_s, hang_up=hang_up, outcome=outcome)

    def _chunks(self, line: Line, hung_up: Event) -> Iterator[Chunk]:
        if line.thoughts:
            yield Chunk(thought=line.thoughts)
        for text in (line.text, line.then):
            yield from (Chunk(text[at : at + self.piece_chars]) for at in range(0, len(text), self.piece_chars))
            while line.hold is not None and not line.hold.wait(LOOK_S):
                if hung_up.is_set():
                    return
        if line.fails is not None:
            raise line.fails
        yield Chunk(finish=line.finish, usage=line.usage, calls=line.calls)


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
