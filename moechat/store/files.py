"""One owner's memory as plain files. The files are the truth; everything in ``.index/`` is made anew from them."""

from __future__ import annotations

import shutil
import sys
import time
from collections import deque
from collections.abc import Collection, Sequence
from datetime import date, tzinfo
from pathlib import Path

from filelock import FileLock, Timeout

from moechat.clock import Clock
from moechat.containment import Containment
from moechat.errors import DataError, Locked
from moechat.model import Exchange
from moechat.store import backlog, check, disk, formats, leftovers, paths, records, upgrade, usage
from moechat.store.backlog import Backlog
from moechat.store.days import DayFiles, FileExchanges
from moechat.store.finding_files import FileFindings
from moechat.store.finding_records import Changes
from moechat.store.imports import Imports
from moechat.store.journal import Journal
from moechat.store.json_lines import Entry, JsonLines
from moechat.store.log import Log
from moechat.store.records import Signature
from moechat.store.replies import ReplyFiles
from moechat.store.search import Search
from moechat.store.usage import UsageFile
from moechat.store.watch import FileWatch

SLICE_S = 0.02  # Changed files are read under the owner's lock for so long at a time.
READ_AT_ONCE = 1 << 18  # So many bytes of changed files are read before whoever looked for changes goes on.
READ_BEHIND = 1 << 13  # So many are read at a time in the background.


class FileStore(Journal):
    """The store of one owner over a folder: its log, its exchanges, and what was found in them (``protocols.Store``).

    It has more than twenty methods because the protocol has.
    """

    vectors = None

    def __init__(
        self,
        folder: Path,
        *,
        clock: Clock,
        zone: tzinfo | None = None,
        contained: Containment | None = None,
        is_closed: bool | None = None,
    ) -> None:
        upgrade.require_readable(folder)
        super().__init__(folder, clock=clock, zone=zone, contained=contained, is_closed=is_closed)
        self._watch = FileWatch(folder)
        self._is_reading = False
        self._backlog = Backlog()
        self.replies = ReplyFiles(folder / paths.REPLIES)
        self.exchanges = FileExchanges(self, self.cache)
        self.findings = FileFindings(self)
        self.search = Search(self, self.exchanges, self.findings)
        self.days = DayFiles(self, self.exchanges, self.findings)
        self.usage = UsageFile(JsonLines(folder / paths.USAGE, usage.check), self.writing)
        self.log = Log(self)
        self.imports = Imports(self)
        self._staging: dict[str, FileLock] = {}
        self.follow(all_files=True)

    def close(self) -> None:
        self.replies.release_all()
        super().close()

    def record(self, entries: Sequence[Entry]) -> None:
        """Into the log, durably, and into the tree; under the lock. A first entry makes it a folder of today's format."""
        if not self._log.place.offset:
            upgrade.sign(self.folder)
        super().record(entries)

    # ---- following

    def _fold(self) -> None:
        """Not before all files are read: what stands in them must be known."""
        if not self._is_reading:
            self.log.fold()

    def follow(self, *, all_files: bool = False) -> None:
        """Take in what other processes and hands have changed since the last call.

        ``all_files`` (at the start, and now and then) looks at every file; else some may wait for a later call. Of many
        changed files the newest are read; ``unread`` says what is left, and ``read_on`` reads that.
        """
        with self._threads:
            self.follow_log()
            anew = self._follow_cache()
            changed = self._watch.changed(self.signatures, all_files=all_files or anew)
            changed = [name for name in changed if name not in self._backlog]
            self._backlog.add(changed)
        if len(changed) > 1:  # The newest are read first, and yet rows follow the days.
            new = [name for name in changed if name not in self.signatures]
            self.cache.reserve_rows(*backlog.record_counts(self.folder, new))
        self._read(backlog.in_order(changed), READ_AT_ONCE)

    @property
    def unread(self) -> tuple[int, date | None]:
        return len(self._backlog), self._backlog.until

    def read_on(self) -> None:
        self._read(self._backlog.names, READ_BEHIND)

    def read_all(self) -> None:
        self.follow()
        self._read(self._backlog.names, sys.maxsize)

    def _read(self, names: Sequence[str], most: int) -> None:
        """Read changed files up to ``most`` bytes, some at a time, so that nobody waits long for the lock."""
        left = deque(names)
        while left and most > 0:
            with self._threads:
                self._is_reading, read = True, list[str]()
                try:
                    with self.taking_in():
                        begun = time.monotonic()
                        while left and most > 0 and time.monotonic() - begun < SLICE_S:
                            read.append(left.popleft())
                            most -= self._reread(read[-1])
                finally:
                    self._is_reading = False
                    self._backlog.remove(read)

    def _reread(self, name: str) -> int:
        """Read a file if it is not as it is known. Returns its size in bytes."""
        signature = Signature.of(self.folder / name)
        if signature != self.signature(name):
            (self.days if paths.is_day_file(name) else self.findings).reread(name)
        return max(signature.size, 0)

    @property
    def identity(self) -> str:
        """A text that changes when every row gets another number: an index by row belongs to one identity."""
        return self.cache.pulse.identity

    @property
    def generation(self) -> int:
        """It rises with every change of what is filed and understood."""
        return self.cache.pulse.generation

    def changes(self, since: int) -> Changes:
        """All that came or went after a generation."""
        generation = self.generation
        return Changes(generation, self.exchanges.changed(since), self.findings.changed(since))

    def verify(self) -> tuple[int, list[str]]:
        """(how many exchanges the day files hold, every difference in words). Reads all files, changes nothing."""
        self.read_all()
        return check.differences(self)

    def repair(self) -> list[str]:
        """Put back what day files have lost, also by a hand, where the log or the cache still has it. Returns what was done."""
        self.read_all()
        self.follow(all_files=True)
        logged = [node.exchange().at for node in list(self.tree.nodes.values()) if node.filed and not node.folded]
        expected = {paths.day_file(at, self.zone) for at in logged}
        done = []
        for name in sorted(expected.union(self.days.names())):
            with self.writing("repair"):
                if back := self.days.repair(name):
                    done.append(f"{self.folder / name}: put back {', '.join(back)}")
        return done

    # ---- after a crash

    def upgrade(self) -> None:
        """Bring an older folder up to date."""
        upgrade.upgrade(self)

    def resume(self) -> None:
        """Finish what a kill cut short, so that nothing rests on words that were taken back.

        An import is finished by ``imports``, a forgetting by ``erasure``, which also needs the indexes.
        """
        with self.writing("resume"):
            self.log.drop_outdated()
        leftovers.sweep(self, self.replies)

    # ---- imports

    @disk.in_words()
    def stage(self, batch: str, exchanges: Sequence[Exchange]) -> None:
        """Keep what is to be imported until it is filed. Raises Locked where another process imports the same."""
        path = self._stage(batch)
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path.with_suffix(".lock"), thread_local=False)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            raise Locked(path, "another process is importing the same") from None
        self._staging[batch] = lock
        try:
            records.replace(path, b"".join(map(formats.exchange_entry, exchanges)))
        except OSError:
            self.unstage(batch)
            raise

    def staged(self, batch: str) -> list[Exchange]:
        """Raises DataError where it is gone, or cannot be read."""
        path = self._stage(batch)
        if not path.exists():
            raise DataError(
                path, f"is gone, so the import cannot go on: `moechat import take-back {batch}`, then import again"
            )
        tagged, problems = formats.each(records.read(path)[1], path, self.zone, formats.exchange_from)
        for problem in problems:
            raise problem
        return [exchange for exchange, _ in tagged]

    @disk.in_words()
    def unstage(self, batch: str) -> None:
        lock = self._staging.pop(batch, None)
        try:
            self._stage(batch).unlink(missing_ok=True)
        finally:  # a stage that stays is swept once nobody holds it
            if lock:
                lock.release()
                Path(lock.lock_file).unlink(missing_ok=True)

    def _stage(self, batch: str) -> Path:
        return paths.stage(self.folder, batch)

    # ---- forgetting

    def check_writable(self, exchanges: Collection[str], episodes: Collection[str], *, has_facts: bool) -> None:
        """Raises DataError where a file that holds one of these is broken, or is none of ours."""
        self.read_all()
        self.days.check_writable(exchanges)
        names = self.findings.files_of(exchanges, episodes) | ({paths.CORE} if has_facts else set())
        files = {str(self.folder / name) for name in names}
        for problem in self.problems:
            if problem.file in files:
                raise problem

    def scrub(self) -> None:
        """Remove what lies beside the records: history.yaml where it is ours, staged imports of what is gone, backups, copies
        that a crash left, and the words of dead rows in the cache."""
        with self.writing("scrub"):
            if self.tree.parents:
                (self.folder / paths.HISTORY).unlink(missing_ok=True)
            leftovers.sweep_stages(self)
            for path in paths.unfinished_copies(self.folder):
                path.unlink(missing_ok=True)
        shutil.rmtree(self.folder / paths.BACKUPS, ignore_errors=True)
        if not self.cache.pack():
            raise DataError(
                self.cache.place, "another process reads it all the time: close that one, then forget again"
            )
