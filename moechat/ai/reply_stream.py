"""A reply on its way: pieces made on one worker thread, read by another, stopped by anyone.

Knows nothing of models or HTTP. A model hands in how pieces are made and how to hang up; thoughts between
``<think>`` tags are cut out here, since every model may send them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from queue import Empty, SimpleQueue
from threading import Event, Thread, current_thread

from moechat.errors import ModelError

OPEN, CLOSE = "<think>", "</think>"
JOIN_S = 1.0  # close() waits this long for the worker after hanging up.

Put = Callable[[str], bool]


class ReplyStream(Iterator[str]):
    """Iterates over the pieces that ``produce`` puts; the worker thread starts with the first ``next``.

    ``produce(put)`` calls ``put(piece)`` for every piece; an empty piece is only a sign of life. ``put`` returns False
    once the reply was closed. What ``produce`` raises is raised to the reader after all pieces before it; ``timeout_s``
    without any sign of life raises ``late``. ``close`` may be called from any thread at any moment: it calls
    ``hang_up``, ends the worker and the iteration.
    """

    def __init__(
        self,
        produce: Callable[[Put], None],
        *,
        late: ModelError,
        timeout_s: float | None = None,
        hang_up: Callable[[], None] = lambda: None,
    ) -> None:
        self._produce, self._hang_up = produce, hang_up
        self._timeout_s, self._late = timeout_s, late
        self._pieces: SimpleQueue[str | Exception | None] = SimpleQueue()
        self._closed = Event()
        self._worker: Thread | None = None

    def __next__(self) -> str:
        if self._worker is None and not self._closed.is_set():
            worker = Thread(target=_work, args=(self._produce, self._pieces, self._closed), name="reply", daemon=True)
            worker.start()
            self._worker = worker  # only now: a close from another thread may join it at any moment
        while not self._closed.is_set():
            try:
                piece = self._pieces.get(timeout=self._timeout_s)
            except Empty:
                self.close()
                raise self._late from None
            if self._closed.is_set():
                break
            if isinstance(piece, Exception):
                self.close()
                raise piece
            if piece is None:
                self.close()
            elif piece:
                return piece
        raise StopIteration

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


class ThoughtFilter:
    """Cuts ``<think>…</think>`` out of a text that comes in pieces, whichever way the tags are split."""

    def __init__(self) -> None:
        self._held = ""
        self._thinking = False
        self.shown = False  # whether anything but thoughts came

    def feed(self, piece: str) -> str:
        """The text that may be shown now. The rest is held back until it is clear whether it is a tag."""
        self._held += piece
        text = ""
        while True:
            before, tag, after = self._held.partition(CLOSE if self._thinking else OPEN)
            if not tag:
                break
            text += "" if self._thinking else before
            self._held, self._thinking = after, not self._thinking
        kept = _tag_begun(self._held, CLOSE if self._thinking else OPEN)
        if not self._thinking:
            text += self._held[: len(self._held) - kept]
        self._held = self._held[len(self._held) - kept :]
        return self._show(text)

    def rest(self) -> str:
        """The text that is still held back at the end, unless it is a thought."""
        held, self._held = self._held, ""
        return "" if self._thinking else self._show(held)

    def _show(self, text: str) -> str:
        if not self.shown:  # the blank lines after a thought are not part of the reply
            text = text.lstrip()
            self.shown = bool(text)
        return text


def without_thoughts(text: str) -> str:
    """The whole text without thoughts; some chat templates open the first thought themselves."""
    head, tag, tail = text.partition(CLOSE)
    if tag and OPEN not in head:
        text = tail
    thoughts = ThoughtFilter()
    return (thoughts.feed(text) + thoughts.rest()).strip()


def _tag_begun(text: str, tag: str) -> int:
    """How many characters at the end of the text may be the beginning of the tag."""
    return next((n for n in range(min(len(tag) - 1, len(text)), 0, -1) if tag.startswith(text[-n:])), 0)
