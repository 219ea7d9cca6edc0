"""Who sends pages waits for who sends a line. All threads share one interpreter: long messages are prepared one at a time, and
between two readings such a one gives way to the short ones that are being prepared."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

LONG = 1000  # Characters of a message.
PATIENCE_S = 0.25  # One reading of a long message waits no longer for short ones, however many come.


class Courtesy:
    """The messages that are being prepared in this process."""

    def __init__(self, patience_s: float = PATIENCE_S) -> None:
        self._patience_s = patience_s
        self._long, self._here = threading.Lock(), threading.local()
        self._short, self._changed = 0, threading.Condition()

    @contextmanager
    def preparing(self, text: str) -> Iterator[None]:
        """The block works for a message whose author waits: two long ones never do at once."""
        if len(text) > LONG:
            with self._long:
                self._here.is_long = True
                try:
                    yield
                finally:
                    self._here.is_long = False
            return
        with self._changed:
            self._short += 1
        try:
            yield
        finally:
            with self._changed:
                self._short -= 1
                self._changed.notify_all()

    def give_way(self) -> None:
        """In a thread that prepares a long message: wait until no short one is being prepared."""
        if getattr(self._here, "is_long", False):
            with self._changed:
                self._changed.wait_for(lambda: not self._short, self._patience_s)


COURTESY = Courtesy()
