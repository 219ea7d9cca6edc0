"""Who speaks first where a model answers one request at a time (llama.cpp, Ollama, a file in process): the one who writes.

What happens behind a turn asks through a ``BackgroundModel``. It gives way at once: its request is closed, and its work stays
queued. After a failure it asks again when ``Retry`` says so, and about as much at once as ``BatchSize`` says.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from moechat.ai.chat_model import ChatModel, ChatRequest
from moechat.ai.cleaner import in_whole
from moechat.ai.reply_stream import ReplyStream
from moechat.ai.window import Window
from moechat.errors import ModelError
from moechat.model import Message, Usage

MOST_DOUBLINGS = 8  # Of the wait after a failure.


class GaveWay(ModelError):
    """An answer in the background was broken off, because somebody writes or the memory closes."""

    def __init__(self) -> None:
        super().__init__("gave_way", "the model is needed for a reply; what waits is taken up in the next pause")


class Precedence:
    """What all who use the models of one house go by. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._turns = 0
        self._behind: dict[
            ReplyStream, tuple[bool, threading.Event]
        ] = {}  # Whether it gives way, and whose end ends it.

    @contextmanager
    def turn(self) -> Iterator[None]:
        """While this lasts, nothing else asks a model that answers one request at a time."""
        with self._lock:
            self._turns += 1
            answers = [answer for answer, (gives_way, _) in self._behind.items() if gives_way]
        try:
            for answer in answers:
                answer.close()
            yield
        finally:
            with self._lock:
                self._turns -= 1

    @contextmanager
    def behind(
        self, ask: Callable[[], ReplyStream], closed: threading.Event, *, gives_way: bool
    ) -> Iterator[ReplyStream]:
        """An answer in the background, for a memory that is not ``closed``. Raises GaveWay."""
        with self._lock:
            if closed.is_set() or (gives_way and self._turns):
                raise GaveWay
            answer = ask()
            self._behind[answer] = gives_way, closed
        try:
            with closing(answer):
                yield answer
        finally:
            with self._lock:
                del self._behind[answer]

    def leave(self, closed: threading.Event) -> None:
        """Set it, and break off the answers that end with it."""
        with self._lock:
            closed.set()
            answers = [answer for answer, (_, one) in self._behind.items() if one is closed]
        for answer in answers:
            answer.close()


@dataclass
class BackgroundModel:
    """A model as the work behind the turns of one owner asks it: ``timeout_s`` of an answer is the longest silence, not the
    whole.

    ``count`` is called with messages, answer and usage of every call. ``closed`` is set when the memory closes.
    ``takes_cut``: an answer that was cut is better than none.
    """

    model: ChatModel
    precedence: Precedence
    count: Callable[[Sequence[Message], str, Usage | None], None]
    closed: threading.Event
    takes_cut: bool = False

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def understands(self) -> bool:
        return self.model.understands

    @property
    def has_one_slot(self) -> bool:
        return self.model.has_one_slot

    @property
    def window(self) -> Window:
        return self.model.window

    def stream(self, request: ChatRequest) -> Iterator[str]:
        return self.model.stream(request)

    def ask(
        self, messages: Sequence[Message], *, schema: dict[str, Any] | None = None, silence_s: float
    ) -> ReplyStream:
        return self.model.ask(messages, schema=schema, silence_s=silence_s)

    def complete(self, messages: Sequence[Message], *, schema: dict[str, Any] | None = None, timeout_s: float) -> str:
        """The answer. Raises ModelError as the model does, of kind ``cut`` for half an answer, and GaveWay."""
        running = self.precedence.behind(
            lambda: self.ask(messages, schema=schema, silence_s=timeout_s), self.closed, gives_way=self.has_one_slot
        )
        with running as answer:
            text = in_whole(answer)
            if answer.is_broken_off:
                raise GaveWay
        self.count(messages, text, answer.outcome.usage)
        if answer.outcome.is_cut and not self.takes_cut:
            raise ModelError("cut", f"{self.name} stopped at its limit of tokens (understanding.max_tokens)")
        return text


@dataclass
class Retry:
    """The wait after failures in a row. It doubles with each of them, ``MOST_DOUBLINGS`` times at most."""

    failures: int = 0
    not_before: datetime | None = None

    def waits(self, now: datetime) -> bool:
        return self.not_before is not None and now < self.not_before

    def failed(self, now: datetime, wait_s: float) -> datetime:
        """Count a failure; ``wait_s`` is the wait after the first. Returns the time of the next try."""
        self.not_before = now + timedelta(seconds=wait_s * 2 ** min(self.failures, MOST_DOUBLINGS))
        self.failures += 1
        return self.not_before

    def succeeded(self) -> None:
        self.failures, self.not_before = 0, None


@dataclass
class BatchSize:
    """How many exchanges a model is shown at once: as many as it has shown that it can answer, ``most`` at first."""

    most: int
    size: int = 0

    def __post_init__(self) -> None:
        self.size = self.size or self.most

    def failed(self, size: int) -> None:
        """An answer about this many was cut, too slow or of no use."""
        self.size = max(1, min(self.size, size) // 2)

    def succeeded(self, size: int) -> None:
        if size >= self.size:
            self.size = min(self.most, self.size + max(1, self.size // 4))
