"""News for the tabs: whoever listens learns that something has changed, never what."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import Iterator

MAX_CHANGES_KEPT = 64  # Changes that are known by their exchange.


class News:
    """``edition`` grows with everything that changes but a reply that grows. Rung from any thread; heard in any event loop."""

    def __init__(self) -> None:
        self.edition = 0
        self._touched: deque[tuple[int, str]] = deque(maxlen=MAX_CHANGES_KEPT)
        self._bells: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = set()
        self._lock = threading.Lock()

    def changed(self, id_: str = "") -> None:
        """Something changed for good; with an ``id_``, an exchange."""
        with self._lock:
            self.edition += 1
            if id_:
                self._touched.append((self.edition, id_))
        self.grown()

    def touched(self, since: int) -> list[str]:
        """The exchanges that changed after an edition, -1 for none."""
        with self._lock:
            return list(dict.fromkeys(id_ for edition, id_ in self._touched if 0 <= since < edition))

    def grown(self) -> None:
        """A reply has grown, or a turn has begun or ended."""
        with self._lock:
            bells = list(self._bells)
        for loop, bell in bells:
            with contextlib.suppress(RuntimeError):  # The loop has been closed: nobody listens there any more.
                loop.call_soon_threadsafe(bell.set)

    @contextlib.contextmanager
    def listening(self) -> Iterator[asyncio.Event]:
        """An event that is set by every ring, for the loop that runs."""
        bell = (asyncio.get_running_loop(), asyncio.Event())
        with self._lock:
            self._bells.add(bell)
        try:
            yield bell[1]
        finally:
            with self._lock:
                self._bells.discard(bell)
