"""What every file of an owner's rests on: the lock, the log with its tree, the state, and the cache of the files.

Writers hold the owner's lock for one write, not for the life of the process; every write first follows what other processes
and hands have changed. Readers take no lock: they work from ``Tree`` and ``Cache``.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Iterator, Sequence
from datetime import tzinfo
from pathlib import Path

from filelock import FileLock, Timeout

from moechat.clock import Clock
from moechat.errors import DataError
from moechat.store import paths
from moechat.store.cache import Cache
from moechat.store.log import Entry, JsonLines
from moechat.store.records import Signature
from moechat.store.state import State
from moechat.store.tree import Tree

log = logging.getLogger(__name__)
LOCK_TIMEOUT_S = 30


class Journal:
    """One owner's, opened. ``folder`` is made when something is first written."""

    def __init__(self, folder: Path, *, clock: Clock, zone: tzinfo | None = None) -> None:
        self.folder = folder
        self.clock = clock
        self.zone = zone
        self._threads = threading.RLock()
        self._file_lock = FileLock(folder / ".lock", timeout=LOCK_TIMEOUT_S, thread_local=False)
        self._held = 0
        self._log = JsonLines(folder / paths.LOG)
        self.tree = Tree()
        self.state = State(folder / paths.STATE)
        self.cache = Cache(self.index_folder / "cache.db")
        self.signatures = self.cache.signatures()
        self._generation = self.cache.generation()

    def close(self) -> None:
        self.cache.close()

    @property
    def index_folder(self) -> Path:
        """What is made anew from the files and may be deleted."""
        return paths.index_folder(self.folder)

    @property
    def problems(self) -> list[DataError]:
        """Everything that could not be read, by file and line."""
        return [*self.cache.problems(self.folder), *self._log.problems, *self.state.problems]

    def problems_of(self, name: str) -> list[DataError]:
        """What could not be read in one of the files that people edit."""
        return self.cache.problems(self.folder, name)

    # ---- the lock

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """The owner's lock, with everything that others wrote read first. Reentrant."""
        with self._threads:
            if not self._held:
                self.folder.mkdir(parents=True, exist_ok=True)
                try:
                    self._file_lock.acquire()
                except Timeout:
                    remedy = "another process holds it; close that one or try again"
                    raise DataError(self.folder / ".lock", f"no lock within {LOCK_TIMEOUT_S} s: {remedy}") from None
            self._held += 1
            try:
                if self._held == 1:
                    self._follow_log()
                yield
            finally:
                self._held -= 1
                if not self._held:
                    self._file_lock.release()

    # ---- the log

    def _follow_log(self) -> None:
        anew, entries = self._log.unread()
        if anew:
            self.tree = Tree()
        self.tree.apply(entries)
        self.state.follow()

    def record(self, entries: Sequence[Entry]) -> None:
        """Into the log, durably, and into the tree; under the lock."""
        self._log.append(entries)
        self.tree.apply(entries)

    def mark_understood(self, ids: Sequence[str], by: str) -> None:
        with self.writing():
            self.record([{"op": "understood", "ids": list(ids), "by": by}])

    def requeue(self, ids: Sequence[str]) -> None:
        with self.writing():
            if logged := [id_ for id_ in ids if id_ in self.tree]:
                self.record([{"op": "requeue", "ids": logged}])

    def compact(self) -> bool:
        """Drop from the log what it need not keep, and sum up the state (once in a while, at a start)."""
        with self.writing():
            self.state.compact()
            entries = self.tree.folded(self.clock.now())
            if entries is None:
                return False
            self._log.rewrite(entries)
            self.tree = Tree()
            self.tree.apply(entries)
        return True

    # ---- which files are known

    def _follow_cache(self) -> bool:
        """Take in what other processes have read; True where the cache is another one."""
        anew = self.cache.follow()
        generation = self.cache.generation()
        if anew or generation != self._generation:
            self._generation = generation
            self.signatures = self.cache.signatures()
        return anew

    def sign(self, name: str, signature: Signature, problems: Sequence[DataError] = ()) -> None:
        """Remember that the file, as it is now, is known."""
        for problem in problems:
            log.warning("%s", problem)
        self.cache.sign(name, signature, problems)
        if signature == Signature():
            self.signatures.pop(name, None)
        else:
            self.signatures[name] = signature

    def signature(self, name: str) -> Signature:
        """The file as we know it."""
        return self.signatures.get(name, Signature())
