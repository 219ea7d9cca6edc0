"""A reply on its way: pieces made on one worker thread, read by another, stopped by anyone.

Knows nothing of models or HTTP. A model hands in how pieces are made and how to hang up.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from threading import Event, Thread, current_thread
from typing import Any

from moechat.ai.cleaner import Instead
from moechat.errors import ModelError
from moechat.model import Usage

MOST_CALLS = 128  # Calls of tools that one reply may ask for.
JOIN_S = 1.0  # close() waits this long for the worker after hanging up.

Put = Callable[[str], bool]


@dataclass
class ReplyOutcome:
    """How a reply went, complete once it has ended: what was thought before it, whether it was cut at the limit of tokens, what
    it cost as the provider counts (None where it does not say), and the calls of tools that it asks for, in OpenAI's form."""

    thoughts: str = ""
    is_cut: bool = False
    usage: Usage | None = None
    calls: list[dict[str, Any]] = field(default_factory=list)

    def call(self, pieces: Iterable[Mapping[str, Any]]) -> None:
        """Take in pieces of calls: one with a name or an id of its own begins another call, the rest are its arguments."""
        for piece in pieces:
            words = piece.get("function")
            words = words if isinstance(words, dict) else {}
            name, more = str(words.get("name") or ""), str(words.get("arguments") or "")
            at = piece.get("index")
            place = at if isinstance(at, int) and 0 <= at < len(self.calls) else -1
            if self.calls and (place >= 0 or not name):
                self.calls[place]["function"]["arguments"] += more
            elif name and len(self.calls) < MOST_CALLS:
                id_ = str(piece.get("id") or f"call_{len(self.calls)}")
                self.calls.append({"id": id_, "type": "function", "function": {"name": name, "arguments": more}})


class ReplyStream(Iterator[str]):
    """Iterates over the pieces that ``produce`` puts; the worker thread starts with the first ``next``.

    ``produce(put)`` calls ``put(piece)`` for every piece; an empty piece is only a sign of life. ``put`` returns False
    once the reply was closed. What ``produce`` raises is raised to the reader after all pieces before it; ``timeout_s``
    without any sign of life raises ``late``; so does no end ``until`` then (of ``time.monotonic``). ``close`` may be called
    from any thread at any moment: it calls ``hang_up``, ends the worker and the iteration. An ``Instead`` is read like any
    other piece. ``produce`` fills in the ``outcome``.
    """

    def __init__(
        self,
        produce: Callable[[Put], None],
        *,
        late: ModelError,
        timeout_s: float | None = None,
        until: float | None = None,
        hang_up: Callable[[], None] = lambda: None,
        outcome: ReplyOutcome | None = None,
    ) -> None:
        self.outcome = outcome or ReplyOutcome()
        self._produce, self._hang_up = produce, hang_up
        self._timeout_s, self._until, self._late = timeout_s, until, late
        self._pieces: SimpleQueue[str | Exception | None] = SimpleQueue()
        self._closed = Event()
        self._ended = False
        self._worker: Thread | None = None

    def __next__(self) -> str:
        if self._worker is None and not self._closed.is_set():
            worker = Thread(target=_work, args=(self._produce, self._pieces, self._closed), name="reply", daemon=True)
            worker.start()
            self._worker = worker  # only now: a close from another thread may join it at any moment
        while not self._closed.is_set():
            try:
                piece = self._pieces.get(timeout=self._patience_s())
            except Empty:
                self.close()
                raise self._late from None
            if self._closed.is_set():
                break
            if isinstance(piece, Exception):
                self.close()
                raise piece
            if piece is None:
                self._ended = True
                self.close()
            elif piece or isinstance(piece, Instead):
                return piece
        raise StopIteration

    def _patience_s(self) -> float | None:
        if self._until is None:
            return self._timeout_s
        left_s = max(self._until - time.monotonic(), 0.0)
        return left_s if self._timeout_s is None else min(self._timeout_s, left_s)

    @property
    def is_broken_off(self) -> bool:
        """Whether it was closed before its end."""
        return self._closed.is_set() and not self._ended

    def close(self) -> None:
        """Stop now, wherever the reply is. Closing twice does nothing."""
        if self._closed.is_set():
            return
        self._closed.set()
        self._pieces.put(None)  # wakes a reader in another thread
        self._hang_up()
        if self._worker is not None and self._worker is not current_thread():
            self._worker.join(JOIN_S)

    def __del__(self) -> None:
        self.close()


def _work(produce: Callable[[Put], None], pieces: SimpleQueue[str | Exception | None], closed: Event) -> None:
    """The worker: holds no reference to the stream, so that a stream nobody reads any more is closed."""

    def put(piece: str) -> bool:
        pieces.put(piece)
        return not closed.is_set()

    try:
        produce(put)
    except Exception as error:  # noqa: BLE001 - a worker's border: raised again where the reply is read
        pieces.put(error)
    else:
        pieces.put(None)
