"""One owner's memory as plain files. The files are the truth; everything in ``.index/`` is made anew from them."""

from __future__ import annotations

import contextlib
import math
import os
import re
import shutil
import sys
import time
from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Unpack

from filelock import FileLock, Timeout

from moechat.errors import DataError, Locked
from moechat.model import Exchange
from moechat.store import check, disk, formats, records, unknown, upgrade
from moechat.store.days import DayFiles, FileExchanges
from moechat.store.entries import Entry
from moechat.store.finding_files import FileFindings
from moechat.store.imports import Imports
from moechat.store.journal import Journal, Opening
from moechat.store.json_lines import ReplyFiles
from moechat.store.log import Log
from moechat.store.protocols import Unit
from moechat.store.records import Signature
from moechat.store.search import Search

FEW_FILES = 400  # A turn looks at every one of that many: a millisecond.
NEWEST_SEEN = OTHERS_SEEN = 50  # Of more, it looks at the newest, and at as many others in turn.
SLICE_S = 0.02  # How long changed files are read under the owner's lock at a time.
BYTES_AT_ONCE = 1 << 18  # Changed files are read up to this size before whoever looked for changes goes on.
BYTES_BEHIND = 1 << 13  # Read at a time in the background.
_LINE_OF_A_KEY = re.compile(rb"\n[^\s#]")


class FileWatch:
    """Looks at the day files, the notes and core memory of one owner.

    A diary of years has thousands of files: beyond ``FEW_FILES`` a look takes the newest, new and replaced ones, and a part
    of the others in turn.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._days_seen = Signature()
        self._names: list[str] = []
        self._turn = 0

    def changed(self, signatures: Mapping[str, Signature], *, all_files: bool) -> list[str]:
        """Names of the files that are not as in ``signatures``."""
        days = Signature.of(self._folder / disk.DAYS)
        if all_files or len(signatures) <= FEW_FILES or days != self._days_seen:
            self._days_seen = days
            return self._changed_of_all(signatures)
        if len(self._names) != len(signatures):
            self._names = sorted(signatures)
        self._turn = (self._turn + OTHERS_SEEN) % len(self._names)
        newest, next_ones = self._names[-NEWEST_SEEN:], self._names[self._turn :][:OTHERS_SEEN]
        place = f"{self._folder}{os.sep}"
        names = {*newest, *next_ones, disk.CORE}
        return sorted(name for name in names if Signature.of(place + name) != signatures.get(name, Signature()))

    def _changed_of_all(self, signatures: Mapping[str, Signature]) -> list[str]:
        """Compares every file, those of the folder of days by one look at the folder."""
        current: dict[str, tuple[int, int, int]] = {disk.CORE: Signature.of(self._folder / disk.CORE)}
        with contextlib.suppress(FileNotFoundError), os.scandir(self._folder / disk.DAYS) as entries:
            for item in entries:
                if disk.is_record_file(item.name):
                    stat = item.stat()
                    current[f"{disk.DAYS}/{item.name}"] = (stat.st_size, stat.st_mtime_ns, stat.st_ino)
        gone = Signature()
        names = current.keys() | signatures.keys()
        return sorted(name for name in names if current.get(name, gone) != signatures.get(name, gone))


def in_order(names: Iterable[str]) -> tuple[str, ...]:
    """As they are read: core memory, then the days, the newest first, the notes of each before its words."""
    places = ((name == disk.CORE, disk.day_of(name) or date.max, disk.is_notes(name), name) for name in set(names))
    return tuple(name for *_, name in sorted(places, reverse=True))


def record_counts(folder: Path, names: Iterable[str]) -> tuple[list[tuple[str, int]], list[tuple[str, int]]]:
    """(day file, how many exchanges it holds at most) by name, and (notes file, how many episodes); nothing is parsed."""
    exchanges, episodes = [], []
    for name in sorted(names):
        if disk.is_notes(name):
            episodes.append((name, records.bytes_of(folder / name).count(b"id:")))
        elif disk.is_day_file(name):
            exchanges.append((name, 1 + len(_LINE_OF_A_KEY.findall(records.bytes_of(folder / name)))))
    return exchanges, episodes


class FileStore(Journal, Unit):
    """The store of one owner over a folder: its log, its exchanges, and what was found in them.

    It has more than twenty methods because the protocol has.
    """

    vectors = None
    exchanges: FileExchanges
    findings: FileFindings
    days: DayFiles
    replies: ReplyFiles

    def __init__(self, folder: Path, *, is_closed: bool | None = None, **opening: Unpack[Opening]) -> None:
        upgrade.require_readable(folder)
        super().__init__(folder, is_closed=is_closed, **opening)
        self._watch = FileWatch(folder)
        self._tree_seen: object = None
        self._is_reading = False
        self._backlog: tuple[str, ...] = ()  # The files that are still to be read, in that order.
        self.replies = ReplyFiles(folder / disk.REPLIES)
        self.exchanges = FileExchanges(self, self.cache)
        self.findings = FileFindings(self)
        self.search = Search(self, self.exchanges, self.findings)
        self.days = DayFiles(self, self.exchanges, self.findings)
        self.log = Log(self)
        self.imports = Imports(self)
        self._staging: dict[str, FileLock] = {}
        self.follow(all_files=True)

    def close(self) -> None:
        self.replies.release_all()
        super().close()

    def record(self, entries: Sequence[Entry]) -> None:
        """Into the log, durably, and into the tree; under the lock. A first entry makes it a folder of today's format."""
        if not self._log.place.offset and upgrade.number(self.folder) <= upgrade.NUMBER:
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
            anew = self.cache.follow()
            self._recognise_log()
            changed = self._watch.changed(self.cache.signatures(), all_files=all_files or anew)
            backlog = set(self._backlog)
            changed = [name for name in changed if name not in backlog]
            self._backlog = in_order([*self._backlog, *changed]) if changed else self._backlog
        if len(changed) > 1:  # The newest are read first, and yet rows follow the days.
            new = [name for name in changed if name not in self.cache.signatures()]
            self.cache.reserve_rows(*record_counts(self.folder, new))
        self._read(in_order(changed), BYTES_AT_ONCE)

    def _recognise_log(self) -> None:
        """An older log that was laid in the place of this one may name what was forgotten."""
        if self.is_closed or self.tree is self._tree_seen:
            return
        self._tree_seen = self.tree
        if self.tombstones.follow():
            worded = {node.id: node for node in list(self.tree.nodes.values()) if node.at and not node.folded}
            rest = self.tree.parents.keys() - worded.keys() - self.exchanges.hashes().keys()
            with self.taking_in():
                self.recognise((node.exchange() for node in worded.values()), rest, disk.LOG)

    @property
    def unread(self) -> tuple[int, date | None]:
        return len(self._backlog), next((day for name in self._backlog if (day := disk.day_of(name))), None)

    def read_on(self) -> None:
        self._read(self._backlog, BYTES_BEHIND)

    def read_all(self) -> None:
        self.follow()
        self._read(self._backlog, sys.maxsize)

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
                    self._backlog = tuple(name for name in self._backlog if name not in read)

    def _reread(self, name: str) -> int:
        """Read a file if it is not as it is known. Returns its size in bytes."""
        signature = Signature.of(self.folder / name)
        if signature != self.cache.signature(name):
            (self.days if disk.is_day_file(name) else self.findings).reread(name)
            if not self.is_closed:
                here = (row.exchange for row in self.exchanges.of_file(name).values())
                ids = self.findings.ids_in(name)
                noted = self.exchanges.of(ids)  # Of these the stamp decides.
                self.recognise([*here, *noted.values()], (id_ for id_ in ids if id_ not in noted), name)
        return max(signature.size, 0)

    def verify(self) -> tuple[int, list[str]]:
        """(how many exchanges the day files hold, every difference in words). Reads all files, changes nothing."""
        self.read_all()
        return check.differences(self)

    def repair(self) -> list[str]:
        """Put back what day files have lost, also by a hand, where the log or the cache still has it. Returns what was done."""
        self.read_all()
        self.follow(all_files=True)
        logged = [node.exchange().at for node in list(self.tree.nodes.values()) if node.filed and not node.folded]
        expected = {disk.day_file(at, self.zone) for at in logged}
        done = self._log_again()
        for name in sorted(expected.union(self.days.names())):
            with self.writing("repair"):
                if back := self.days.repair(name):
                    done.append(f"{self.folder / name}: put back {', '.join(back)}")
        return done

    @property
    def problems(self) -> list[DataError]:
        unlogged = self._unlogged(row.exchange for row in self.exchanges.before(math.inf, NEWEST_SEEN))
        older = [f"is older than the days: of {one.id} and after it exchanges are missing" for one in unlogged[:1]]
        return [*super().problems, *(DataError(self.folder / disk.LOG, f"{why}; {check.REMEDY}") for why in older)]

    def _unlogged(self, exchanges: Iterable[Exchange]) -> list[Exchange]:
        """Those that this program filed and the log does not know: it is an older one."""
        return [e for e in exchanges if e.stamp and e.id not in self.tree and e.id not in self.state.missing]

    def _log_again(self) -> list[str]:
        """Take what an older log lacks into it again, each after what was said before it. Returns what was done."""
        with self.writing("log again"):
            lost = self._unlogged(row.exchange for row in self.exchanges.filed())
            leaves = {one.talk: self.tree.leaf(one.talk) for one in lost}
            rows = []
            for one in lost:
                rows.append([one.id, leaves[one.talk], formats.text_hash(one), *([one.talk] if one.talk else [])])
                leaves[one.talk] = one.id
            self.record([{"op": "past", "rows": rows}] if rows else [])
        return [f"{self.folder / disk.LOG}: took in again {len(lost)} exchanges, from {lost[0].id} on"] if lost else []

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
        with self.writing("sweep"):
            disk.drop_unfinished(self.folder)
            self.replies.alive()
        for path in self.index_folder.glob("gone-*"):
            shutil.rmtree(path, ignore_errors=True)
        self._sweep_stages()

    @disk.in_words()
    def _sweep_stages(self) -> None:
        """Remove staged imports that nobody waits for: a process died before the log knew of it, all of it is filed, or it is
        taken back."""
        folder = self.folder / disk.IMPORTS
        for name in {path.stem for path in folder.glob("*") if path.suffix in (".yaml", ".lock")}:
            batch, stage = self.tree.batches.get(name), disk.stage(self.folder, name)
            if batch and not batch.done and not self.tree.is_forgotten(name) and stage.exists():
                continue
            lock = FileLock(stage.with_suffix(".lock"))
            with contextlib.suppress(Timeout), lock.acquire(timeout=0):
                for path in (stage, *folder.glob(f".{name}.yaml.*"), Path(lock.lock_file)):
                    path.unlink(missing_ok=True)

    # ---- imports

    @disk.in_words()
    def stage(self, batch: str, exchanges: Sequence[Exchange]) -> None:
        """Keep what is to be imported until it is filed. Raises Locked where another process imports the same."""
        path = disk.stage(self.folder, batch)
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
        path = disk.stage(self.folder, batch)
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
            disk.stage(self.folder, batch).unlink(missing_ok=True)
        finally:  # a stage that stays is swept once nobody holds it
            if lock:
                lock.release()
                Path(lock.lock_file).unlink(missing_ok=True)

    # ---- forgetting

    def check_writable(self, exchanges: Collection[str], episodes: Collection[str], *, has_facts: bool) -> None:
        """Raises DataError where a file that holds one of these is broken, or is none of ours."""
        self.read_all()
        self.days.check_writable(exchanges)
        names = self.findings.files_of(exchanges, episodes) | ({disk.CORE} if has_facts else set())
        files = {str(self.folder / name) for name in names}
        for problem in self.problems:
            if problem.file in files:
                raise problem

    def scrub(self) -> None:
        """Remove what lies beside the records: history.yaml where it is ours, staged imports of what is gone, backups, copies
        that a crash left, and the words of dead rows in the cache."""
        with self.writing("scrub"):
            if self.tree.parents:
                (self.folder / disk.HISTORY).unlink(missing_ok=True)
            self._sweep_stages()
            disk.drop_unfinished(self.folder)
        unknown.erase_backups(self.folder)
        if not self.cache.pack():
            raise DataError(
                self.cache.place, "another process reads it all the time: close that one, then forget again"
            )
