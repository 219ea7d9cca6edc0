"""What every store of an owner's rests on: the log with its tree, and the state. Over files also the owner's lock, and the cache
of what was read from them.

Writers hold the owner's lock for one short write, never for the life of the process and never while they wait or compute;
every write first follows what other processes and hands have changed. Readers take no lock: they work from ``Tree`` and
``Cache``.
"""

from __future__ import annotations

import contextlib
import json
import logging
import shutil
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime, tzinfo
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, Required, TypedDict, Unpack

from filelock import FileLock, Timeout

from moechat.clock import Clock
from moechat.containment import Containment
from moechat.errors import DataError, DiskError, Locked
from moechat.model import Exchange
from moechat.store import disk, entries
from moechat.store.database import SqliteSession, StoreSession
from moechat.store.entries import Entry
from moechat.store.json_lines import JsonLines, Lines
from moechat.store.records import Signature
from moechat.store.reflections import REFLECTED, ReflectionFile
from moechat.store.short_log import KEEP_WORDS, shortened, written
from moechat.store.state import State
from moechat.store.tombstones import TOMBSTONES, Tombstones
from moechat.store.tree import Tree
from moechat.store.usage import USAGE, UsageFile

log = logging.getLogger(__name__)
LOCK_TIMEOUT_S = 30.0
POLL_S = 0.005
TRIES = 3
CALLS = entries.Entries(
    {"call": {"cites": entries.list_of(entries.is_text), "shown": entries.list_of(entries.is_text)}}
)
FOLLOWED = (
    "log",
    "state",
    "reflections",
    "usage",
    "forgotten",
)  # These are held open; the other lines are read when asked for.
FILE_OF: Mapping[str, tuple[str, Callable[[Any], None]]] = {
    "log": (disk.LOG, entries.LOG.check),
    "state": (disk.STATE, entries.STATE.check),
    "reflections": (disk.REFLECTIONS, REFLECTED.check),
    "usage": (disk.USAGE, USAGE.check),
    "forgotten": (disk.FORGOTTEN, TOMBSTONES.check),
    "calls": (disk.CALLS, CALLS.check),
    "refused": (disk.REFUSED, entries.REFUSED.check),
}
"""Where lines of a name lie, and what raises ValueError for one that is none."""
MIN_SHORTENED = 500  # It pays to shorten the log when that many exchanges become shorter.
FILES = "SELECT name, size, mtime_ns, inode FROM files"
PROBLEMS = "SELECT name, problems FROM files WHERE problems != ''"
SIGN = "INSERT OR REPLACE INTO files VALUES (%(name)s, %(size)s, %(mtime_ns)s, %(inode)s, %(problems)s)"
RESERVE = "INSERT OR IGNORE INTO reserved VALUES (%(file)s, %(first)s, %(count)s)"
EXCHANGES_IN = "SELECT id, file FROM exchanges WHERE owner_id = %(owner)s AND alive AND id = ANY(%(ids)s)"
EPISODES_IN = "SELECT id, note FROM episodes WHERE owner_id = %(owner)s AND alive AND id = ANY(%(ids)s)"
NOTES_IN = "SELECT id, place FROM notes WHERE owner_id = %(owner)s AND id = ANY(%(ids)s)"


class Opening(TypedDict, total=False):
    """What a store of any kind is opened with, as ``LogBook`` takes it."""

    clock: Required[Clock]
    zone: tzinfo | None
    contained: Containment | None


class LogBook(ABC):
    """What is done with the log, and with whatever else is kept as lines. A kind of store gives ``lines``, and ``writing``, the
    owner's lock."""

    tree: Tree
    state: State
    _session: StoreSession

    def __init__(
        self, place: str, *, clock: Clock, zone: tzinfo | None = None, contained: Containment | None = None
    ) -> None:
        """``place`` is where the memory lies; "" for one that ends with the process."""
        self.clock, self.zone = clock, zone
        self.contained = contained or Containment()
        self._threads = threading.RLock()
        self._journals: Sequence[Lines] = [self.lines(name) for name in FOLLOWED]
        self._log, state, reflections, usage, forgotten = self._journals
        self.tree = Tree()
        self.state = State(state)
        self.reflected = ReflectionFile(reflections)
        self.usage = UsageFile(usage, self.writing)
        self.tombstones = Tombstones(forgotten, place)
        self._calls = self.lines("calls")
        self._last_calls: Sequence[Entry] = ()
        self._hidden: tuple[object, int, frozenset[str]] = (None, -1, frozenset())

    @abstractmethod
    def lines(self, name: str) -> Lines:
        """Those of a name, none of them read."""

    @abstractmethod
    def writing(self, what: str = "", *, patience_s: float = LOCK_TIMEOUT_S) -> AbstractContextManager[None]:
        """The owner's lock, with everything that others wrote read first. Reentrant. Raises Locked."""

    def read_all(self) -> None:
        """Read whatever is still to be read: whoever changes or erases what is past must know it."""
        return

    @property
    def moment(self) -> tuple[str, int]:
        """(identity, generation). The identity changes when every row gets another number: an index by row belongs to one. The
        generation rises with every change of what is filed and understood; what is read after it may be newer."""
        pulse = self._session.pulse
        return pulse.identity, pulse.generation

    def claimed(self) -> AbstractContextManager[bool]:
        """Whether no other worker has claimed this owner's work, while the block runs. Over files there is no other, as a rule;
        where there is, the work may be done twice, and the second time comes to nothing."""
        return contextlib.nullcontext(True)

    def follow_log(self) -> None:
        """Take in what other processes have written to log and state."""
        with self._threads:
            anew, entries = self._log.unread()
            if anew:
                self.tree = Tree()
            self.tree.apply(entries)
            self.state.follow()

    def hidden(self) -> frozenset[str]:
        """What no recipe may see: other branches, retracted, archived, deleted by hand, being imported or forgotten.

        The same object as long as it is the same: the archive of years is large, and a recall asks several times.
        """
        masked, state = self.tree.hidden(), self.state.masked
        if self._hidden[0] is not masked or self._hidden[1] != state:
            self._hidden = (masked, state, masked.union(self.state.archived, self.state.missing))
        return self._hidden[2]

    def foresee(self, id_: str) -> None:
        """An exchange, there or not, will be looked up. Files are at hand."""
        return

    def recognise(self, exchanges: Iterable[Exchange], ids: Iterable[str] = (), file: str = "") -> None:
        """Hide what was forgotten and has come back, with a file, until its owner decides; under the lock."""
        if self.tombstones.follow():
            out = frozenset(self.state.returned).union(*self.tree.forgets.values())
            back = {one.id: self.tombstones.of(one) for one in exchanges if one.id not in out}
            back |= {id_: self.tombstones.of_id(id_) for id_ in ids if id_ not in out}
            self.state.write(
                [{"op": "returned", "ids": [id_], "at": at, "file": file} for id_, at in back.items() if at]
            )

    def bury(self, exchanges: Iterable[Exchange], ids: Collection[str]) -> None:
        """Put up tombstones for what is being forgotten."""
        with self.writing("bury"):
            self.tombstones.put(exchanges, sorted(ids), self.clock.now())

    def written_anew(self, ids: Iterable[str]) -> None:
        """These findings are no longer forgotten, but for those that came back and wait for their owner."""
        if self.tombstones.follow():
            self.tombstones.lift((), set(ids).difference(self.state.returned), self.clock.now())

    def calls(self) -> list[Entry]:
        """The calls of models whose answers stand: which records each was shown, and which rest on it. None is held in memory."""
        return self.lines("calls").unread()[1]

    def note_calls(self, calls: Iterable[tuple[Sequence[str], Collection[str]]]) -> None:
        """Keep (what an answer cites, what its call was shown), by id, once."""
        entries = [{"op": "call", "cites": list(cites), "shown": sorted(shown)} for cites, shown in calls]
        if entries and entries != self._last_calls:
            with self.writing("note calls"):
                self._calls.unread()
                self._calls.append(entries)
            self._last_calls = entries

    def forget_calls(self, ids: Collection[str]) -> None:
        """They no longer name these."""
        with self.writing("forget calls"):
            lines = self.lines("calls")
            if calls := lines.unread()[1]:
                left = [
                    {key: [id_ for id_ in call[key] if id_ not in ids] for key in ("cites", "shown")} for call in calls
                ]
                lines.rewrite({"op": "call", **call} for call in left if call["cites"])

    def record(self, entries: Sequence[Entry]) -> None:
        """Into the log, durably, and into the tree; under the lock."""
        self._log.append(entries)
        self.tree.apply(entries)

    def mark_understood(self, ids: Sequence[str], by: str) -> None:
        with self.writing("understood"):
            self.record([{"op": "understood", "ids": list(ids), "by": by}])

    def requeue(self, ids: Sequence[str]) -> None:
        with self.writing("requeue"):
            if logged := [id_ for id_ in ids if id_ in self.tree]:
                self.record([{"op": "requeue", "ids": logged}])

    def compact(self) -> bool:
        """Drop from the log what it need not keep, and sum up the state (once in a while, at a start)."""
        self.state.compact(self.writing)
        before = self.clock.now() - KEEP_WORDS
        if len(shortened(self.tree, before, self.state.missing)) < MIN_SHORTENED:
            return False
        return self.rewrite_log(before)

    def rewrite_log(self, before: datetime, without: Collection[str] = ()) -> bool:
        """Replace the log by a shorter one that says the same, without some exchanges. False where another did so meanwhile.

        It is written before the lock is taken; what is added meanwhile stays.
        """
        with self._threads:
            self.follow_log()
            entries, place = written(self.tree, before, without, self.state.missing), self._log.place
        rewriting = self._log.prepare(entries, place, keep_damaged=not without)
        tree = Tree()
        tree.apply(entries)
        with self.writing("rewrite the log"):
            added = self._log.commit(rewriting)
            if added is None:
                return False
            tree.apply(added)
            self.tree = tree
        return True


class Cache(SqliteSession):
    """The rows of an owner's files. An exchange and a note stand in a ``file`` and a ``place``, an episode in the file that is
    called ``note``."""

    def __init__(self, path: Path, folder: Path) -> None:
        """``folder`` is where the files lie."""
        super().__init__(path)
        self._folder = folder
        self._signatures: tuple[tuple[int, int], dict[str, Signature]] | None = None

    # ---- files

    def signatures(self) -> dict[str, Signature]:
        """The files as they are known, by name; read again only when another process has written."""
        with self._lock:
            self.look()
            moment = self.epoch, self._version
            if self._signatures is None or self._signatures[0] != moment:
                self._signatures = (moment, {name: Signature(*rest) for name, *rest in self.all(FILES)})
            return self._signatures[1]

    def signature(self, name: str) -> Signature:
        return self.signatures().get(name, Signature())

    def knows(self, name: str) -> bool:
        """Whether a file is as it is known."""
        return self.signature(name) == Signature.of(self._folder / name)

    def sign(self, name: str, signature: Signature | None = None, problems: Sequence[DataError] = ()) -> None:
        """Remember that a file is known as it is now, or as it was."""
        signature = Signature.of(self._folder / name) if signature is None else signature
        for problem in problems:
            log.warning("%s", problem)
        reasons = json.dumps([[p.reason, p.line] for p in problems]) if problems else ""
        with self.transaction():
            signatures = self.signatures()
            if signature == Signature():
                self.do("DELETE FROM files WHERE name = %(name)s", {"name": name})
                signatures.pop(name, None)
            else:
                self.do(SIGN, {"name": name, **signature._asdict(), "problems": reasons})
                signatures[name] = signature

    def problems(self, only: str = "") -> list[DataError]:
        """What could not be read in the files, or in one of them."""
        rows = self.all(f"{PROBLEMS}{' AND name = %(name)s' if only else ''} ORDER BY name", {"name": only})
        return [
            DataError(self._folder / name, reason, line=line)
            for name, each in rows
            for reason, line in json.loads(each)
        ]

    # ---- the numbers of new rows: files may be read in any order, the newest first as a rule, and yet rows follow the days

    def reserve_rows(self, exchanges: Sequence[tuple[str, int]], episodes: Sequence[tuple[str, int]]) -> None:
        """Keep rows for files that are read later, in whatever order: (day file, how many exchanges at most), by name, and
        (notes file, how many episodes at most). A file that has some keeps those."""
        with self.transaction():
            for file, count in exchanges:
                new = self.do(RESERVE, {"file": file, "first": self.pulse.exchange_rows + 1, "count": count})
                self.pulse.exchange_rows += count * new
            for file, count in episodes:
                new = self.do(RESERVE, {"file": file, "first": self.pulse.episode_rows + 1, "count": count})
                self.pulse.episode_rows += count * new

    def reserved_row(self, file: str, count: int) -> int:
        """The first of ``count`` rows that were reserved for a file; 0 where none were, or too few."""
        if not count or not (
            reserved := self.all("SELECT first, count FROM reserved WHERE file = %(file)s", {"file": file})
        ):
            return 0
        self.do("DELETE FROM reserved WHERE file = %(file)s", {"file": file})
        return reserved[0][0] if count <= reserved[0][1] else 0

    # ---- where records stand

    def files_of(self, what: Literal["exchanges", "episodes", "notes"], ids: Sequence[str]) -> list[tuple[str, str]]:
        """(id, a file that it stands in); a hand may have copied an exchange or an episode."""
        statement = {"exchanges": EXCHANGES_IN, "episodes": EPISODES_IN, "notes": NOTES_IN}[what]
        return self.all(statement, {"ids": list(ids)}) if ids else []


class Journal(LogBook):
    """One owner's, opened. ``folder`` is made when something is first written.

    ``is_closed``: it may not be written (by default, where the system says so). Then it is read as it is, over a copy of its
    indexes that goes with the process.

    It has more than twenty methods because lock, log and cache are followed together.
    """

    def __init__(self, folder: Path, *, is_closed: bool | None = None, **opening: Unpack[Opening]) -> None:
        self.folder = folder
        super().__init__(str(folder.absolute()), **opening)
        self._file_lock = FileLock(folder / ".lock", thread_local=False)
        self._held = 0
        self._mended: list[DataError] = []
        self.is_closed = not disk.is_writable(folder) if is_closed is None else is_closed
        self._lent = TemporaryDirectory(prefix="moechat-", ignore_cleanup_errors=True) if self.is_closed else None
        if self._lent and disk.index_folder(folder).is_dir():
            shutil.copytree(disk.index_folder(folder), self.index_folder, dirs_exist_ok=True)
        self.cache = self._session = Cache(self.index_folder / "cache.db", folder)

    def lines(self, name: str) -> JsonLines:
        file, check = FILE_OF[name]
        return JsonLines(self.folder / file, check)

    def close(self) -> None:
        self.cache.close()
        if self._lent:
            self._lent.cleanup()

    @property
    def index_folder(self) -> Path:
        """What is made anew from the files and may be deleted."""
        return Path(self._lent.name) if self._lent else disk.index_folder(self.folder)

    @property
    def problems(self) -> list[DataError]:
        """Everything that could not be read, by file and line."""
        of_lines = [*self._log.problems, *self.state.lines.problems, *self.reflected.problems]
        return [*self._mended, *self.cache.problems(), *of_lines]

    def tell_mended(self, path: Path, ids: Sequence[str], why: str = "its end was cut off") -> None:
        """Tell, once, that records were put back into a file that had been cut, or ``why`` else."""
        shown = ", ".join(ids[:3]) + (f" and {len(ids) - 3} more" if len(ids) > 3 else "")
        self._mended.append(DataError(path, f"{why}; put back as it was written: {shown}"))
        log.warning("%s", self._mended[-1])

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
        for tries_left in reversed(range(TRIES)):
            self.follow_log()
            try:
                self._file_lock.acquire(timeout=patience_s, poll_interval=POLL_S)
            except Timeout:
                raise self._locked(patience_s, "another process holds it; close that one or try again") from None
            try:
                is_replaced = bool(tries_left) and (self._log.is_replaced() or self.state.lines.is_replaced())
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
