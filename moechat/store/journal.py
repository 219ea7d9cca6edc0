"""What every file of an owner's rests on: the lock, the log with its tree, the state, and the cache of the files.

Writers hold the owner's lock for one short write, never for the life of the process and never while they wait or compute;
every write first follows what other processes and hands have changed. Readers take no lock: they work from ``Tree`` and
``Cache``.
"""

from __future__ import annotations

import contextlib
import logging
import shutil
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime, tzinfo
from pathlib import Path
from tempfile import TemporaryDirectory

from filelock import FileLock, Timeout

from moechat.clock import Clock
from moechat.containment import Containment
from moechat.errors import DataError, DiskError, Locked
from moechat.store import disk, entries, paths, reflections
from moechat.store.cache import Cache
from moechat.store.json_lines import JsonLines
from moechat.store.log_book import LOCK_TIMEOUT_S, LogBook
from moechat.store.records import Signature
from moechat.store.reflections import ReflectionFile

log = logging.getLogger(__name__)
POLL_S = 0.005
TRIES = 3


class Journal(LogBook):
    """One owner's, opened. ``folder`` is made when something is first written.

    ``is_closed``: it may not be written (by default, where the system says so). Then it is read as it is, over a copy of its
    indexes that goes with the process.

    It has more than twenty methods because lock, log and cache are followed together.
    """

    def __init__(
        self,
        folder: Path,
        *,
        clock: Clock,
        zone: tzinfo | None = None,
        contained: Containment | None = None,
        is_closed: bool | None = None,
    ) -> None:
        self._log: JsonLines
        super().__init__(
            clock,
            JsonLines(folder / paths.LOG, entries.LOG.check),
            JsonLines(folder / paths.STATE, entries.STATE.check),
        )
        self.folder = folder
        self.contained = contained or Containment()
        self.zone = zone
        self._file_lock = FileLock(folder / ".lock", thread_local=False)
        self._held = 0
        self._mended: list[DataError] = []
        self.reflected = ReflectionFile(JsonLines(folder / paths.REFLECTIONS, reflections.check))
        self.is_closed = not paths.is_writable(folder) if is_closed is None else is_closed
        self._lent = TemporaryDirectory(prefix="moechat-", ignore_cleanup_errors=True) if self.is_closed else None
        if self._lent and paths.index_folder(folder).is_dir():
            shutil.copytree(paths.index_folder(folder), self.index_folder, dirs_exist_ok=True)
        self.cache = Cache(self.index_folder / "cache.db")

    def close(self) -> None:
        self.cache.close()
        if self._lent:
            self._lent.cleanup()

    @property
    def index_folder(self) -> Path:
        """What is made anew from the files and may be deleted."""
        return Path(self._lent.name) if self._lent else paths.index_folder(self.folder)

    @property
    def problems(self) -> list[DataError]:
        """Everything that could not be read, by file and line."""
        of_lines = [*self._log.problems, *self.state.problems, *self.reflected.problems]
        return [*self._mended, *self.cache.problems(self.folder), *of_lines]

    def tell_mended(self, path: Path, ids: Sequence[str]) -> None:
        """Tell, once, that records were put back into a file that had been cut."""
        shown = ", ".join(ids[:3]) + (f" and {len(ids) - 3} more" if len(ids) > 3 else "")
        self._mended.append(DataError(path, f"its end was cut off; put back as it was written: {shown}"))
        log.warning("%s", self._mended[-1])

    def problems_of(self, name: str) -> list[DataError]:
        """What could not be read in one of the files that people edit."""
        return self.cache.problems(self.folder, name)

    # ---- the lock

    @contextlib.contextmanager
    def writing(self, what: str = "", *, patience_s: float = LOCK_TIMEOUT_S) -> Iterator[None]:
        """The owner's lock, with everything that others wrote read first, and ended replies stored. Reentrant.

        Raises Locked where another thread or process holds it for longer than ``patience_s``, DiskError where the disk is full or
        fails.
        """
        if self.is_closed:
            raise DiskError("closed", self.folder, "read-only")
        with disk.in_words(self.folder), self._locking(what, patience_s):
            yield

    @contextlib.contextmanager
    def taking_in(self) -> Iterator[None]:
        """To take in what hands and other processes wrote: under the owner's lock, where anything can be written."""
        with self._threads if self.is_closed else self.writing("take in"):
            yield

    @contextlib.contextmanager
    def _locking(self, what: str, patience_s: float) -> Iterator[None]:
        if not self._threads.acquire(timeout=patience_s):
            raise self._locked(patience_s, "this program itself is busy with it; try again")
        try:
            if not self._held:
                self._take_lock(patience_s)
                begun = time.monotonic()
            self._held += 1
            try:
                if self._held == 1:
                    self.follow_log()
                    self._fold()
                yield
            finally:
                self._held -= 1
                if not self._held:
                    self._file_lock.release()
                    held_ms = 1000 * (time.monotonic() - begun)
                    log.debug("the owner's lock was held for %.1f ms (%s)", held_ms, what)
        finally:
            self._threads.release()

    def _take_lock(self, patience_s: float) -> None:
        """Take the file lock, with a log that is read already: one that somebody replaced is read before, not under the lock."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for tries_left in reversed(range(TRIES)):
            self.follow_log()
            try:
                self._file_lock.acquire(timeout=patience_s, poll_interval=POLL_S)
            except Timeout:
                raise self._locked(patience_s, "another process holds it; close that one or try again") from None
            try:
                is_replaced = bool(tries_left) and (self._log.is_replaced() or self.state.is_replaced())
            except OSError:
                self._file_lock.release()
                raise
            if not is_replaced:
                return
            self._file_lock.release()

    def _locked(self, patience_s: float, remedy: str) -> Locked:
        return Locked(self.folder / ".lock", f"no lock within {patience_s:g} s: {remedy}")

    def _fold(self) -> None:
        """Store replies that ended while somebody else held the lock."""

    # ---- the log

    def rewrite_log(self, before: datetime, without: Collection[str] = ()) -> bool:
        with disk.in_words(self.folder):
            return super().rewrite_log(before, without)

    # ---- which files are known

    def _follow_cache(self) -> bool:
        """Take in what other processes have read; True where the cache is another one."""
        return self.cache.follow()

    @property
    def signatures(self) -> Mapping[str, Signature]:
        """The files as they are known, by name relative to the folder."""
        return self.cache.signatures()

    def sign(self, name: str, signature: Signature, problems: Sequence[DataError] = ()) -> None:
        """Remember that the file, as it is now, is known."""
        for problem in problems:
            log.warning("%s", problem)
        self.cache.sign(name, signature, problems)

    def signature(self, name: str) -> Signature:
        """The file as we know it."""
        return self.signatures.get(name, Signature())
