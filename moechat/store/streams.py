"""Which replies are on the way: a lock for each, that the system releases when its process dies."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from filelock import FileLock, Timeout

from moechat.errors import MoeChatError


class Streams:
    """``folder`` holds the locks. Other processes see by them whether a reply is still on the way."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._locks: dict[str, FileLock] = {}

    def start(self, id_: str) -> None:
        """Raises MoeChatError where another process is answering this exchange."""
        lock = FileLock(self._path(id_), thread_local=False)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            raise MoeChatError("another process is answering this message right now") from None
        self._locks[id_] = lock

    def end(self, id_: str) -> None:
        if lock := self._locks.pop(id_, None):
            lock.release()
            with contextlib.suppress(OSError):
                os.unlink(lock.lock_file)

    def end_all(self) -> None:
        for id_ in list(self._locks):
            self.end(id_)

    def is_alive(self, id_: str) -> bool:
        """Whether some living process is writing the reply to this exchange."""
        if id_ in self._locks:
            return True
        path = self._path(id_)
        if not path.exists():
            return False
        lock = FileLock(path)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            return True
        lock.release()
        with contextlib.suppress(OSError):
            path.unlink()
        return False

    def _path(self, id_: str) -> Path:
        return self._folder / f"stream-{id_}.lock"
