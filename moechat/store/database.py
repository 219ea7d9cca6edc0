"""The rows of an owner's memory: how they are read and written, whatever database they lie in.

A statement is written once, in words that PostgreSQL and SQLite share: values by name (``%(name)s``), lists of them as
``= ANY(%(names)s)``. Each names its owner. ``in_sqlite`` gives what SQLite calls otherwise.

Rows are append-only: a changed record becomes a new row and the old one dies without its words, so that the indexes over them
(document number = row) grow at their ends. ``gen`` is the generation in which a row was written or died.
"""

from __future__ import annotations

import contextlib
import json
import re
import sqlite3
import threading
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from moechat.errors import DataError, DiskError, Locked, MoeChatError
from moechat.store import disk

T = TypeVar("T")
Values = Mapping[str, object]
PAIR = np.dtype([("key", np.int64), ("moment", np.float64)])
FIRST_ROWS = 50  # ``each`` reads these, and the others only where they are asked for.
PATIENCE_S = 30.0  # How long to wait for what another process holds.
SCHEMA_VERSION = 5
_SCHEMA = """
CREATE TABLE owners (owner_id INTEGER PRIMARY KEY, identity TEXT, generation INTEGER DEFAULT 0, facts INTEGER DEFAULT 0,
    replaces INTEGER DEFAULT 0, vectors INTEGER DEFAULT 0, exchange_rows INTEGER DEFAULT 0, episode_rows INTEGER DEFAULT 0,
    note_rows INTEGER DEFAULT 0, heads TEXT DEFAULT '{}');
CREATE TABLE lines (owner_id INTEGER, journal TEXT, epoch INTEGER, n INTEGER, entry TEXT,
    PRIMARY KEY (owner_id, journal, epoch, n)) WITHOUT ROWID;
CREATE TABLE replies (owner_id INTEGER, id TEXT, worker INTEGER, ids TEXT DEFAULT '[]', key TEXT DEFAULT '', entry TEXT,
    withheld INTEGER DEFAULT 0, PRIMARY KEY (owner_id, id)) WITHOUT ROWID;
CREATE TABLE pieces (owner_id INTEGER, id TEXT, n INTEGER, piece TEXT, PRIMARY KEY (owner_id, id, n)) WITHOUT ROWID;
CREATE TABLE exchanges (owner_id INTEGER, row INTEGER PRIMARY KEY, id TEXT, t REAL, at TEXT, sent TEXT, heard TEXT,
    lines TEXT, status TEXT, extra TEXT, sha TEXT, gen INTEGER, alive INTEGER DEFAULT 1, file TEXT DEFAULT '',
    tag TEXT DEFAULT '');
CREATE INDEX exchanges_id ON exchanges (id);
CREATE INDEX exchanges_file ON exchanges (file);
CREATE INDEX exchanges_gen ON exchanges (gen);
CREATE INDEX exchanges_t ON exchanges (t);
CREATE TABLE notes (owner_id INTEGER, id TEXT, nr INTEGER DEFAULT 0, place TEXT, tag TEXT, keywords TEXT, by TEXT,
    episodes TEXT DEFAULT '[]', PRIMARY KEY (owner_id, id)) WITHOUT ROWID;
CREATE INDEX notes_place ON notes (place);
CREATE TABLE episodes (owner_id INTEGER, row INTEGER PRIMARY KEY, id TEXT, note TEXT, t REAL, starts REAL, ends REAL, kind TEXT,
    by TEXT, confirmed INTEGER, data TEXT, words TEXT, keywords TEXT, replaces INTEGER, evidence INTEGER, gen INTEGER,
    alive INTEGER DEFAULT 1);
CREATE INDEX episodes_id ON episodes (id);
CREATE INDEX episodes_note ON episodes (note);
CREATE INDEX episodes_gen ON episodes (gen);
CREATE INDEX episodes_starts ON episodes (starts) WHERE alive;
CREATE INDEX episodes_replaces ON episodes (row) WHERE alive AND replaces;
CREATE TABLE episode_sources (owner_id INTEGER, source TEXT, row INTEGER, PRIMARY KEY (owner_id, source, row)) WITHOUT ROWID;
CREATE INDEX episode_sources_row ON episode_sources (row);
CREATE TABLE facts (owner_id INTEGER, id TEXT, data TEXT, PRIMARY KEY (owner_id, id)) WITHOUT ROWID;
CREATE TABLE files (name TEXT PRIMARY KEY, size INTEGER, mtime_ns INTEGER, inode INTEGER, problems TEXT) WITHOUT ROWID;
CREATE TABLE reserved (file TEXT PRIMARY KEY, first INTEGER, count INTEGER) WITHOUT ROWID;
"""
OWNER = 0  # A database of SQLite has one owner.
_IN_SQLITE = (
    (re.compile(r"= ANY\(%\((\w+)\)s\)"), r"IN (SELECT value FROM json_each(:\1))"),
    (re.compile(r"%\((\w+)\)s"), r":\1"),
    (re.compile(r'\s+COLLATE "C"'), ""),  # It compares bytes in any case.
    (re.compile(r"\bstrpos\("), "instr("),
)


@dataclass
class Pulse:
    """What changes with an owner's records: the generation, that in which facts and replacing episodes last changed, the last
    number of each kind of row, and where each journal ends ([epoch, entries])."""

    identity: str = ""
    generation: int = 0
    facts: int = 0
    replaces: int = 0
    vectors: int = 0
    exchange_rows: int = 0
    episode_rows: int = 0
    note_rows: int = 0
    heads: dict[str, list[int]] = field(default_factory=dict)


_COUNTED = [one.name for one in fields(Pulse)]
PULSE = f"SELECT {', '.join(_COUNTED)} FROM owners WHERE owner_id = %(owner)s"
BEAT = f"UPDATE owners SET {', '.join(f'{name} = %({name})s' for name in _COUNTED[1:])} WHERE owner_id = %(owner)s"


class StoreSession(ABC):
    """A database as one owner sees it. One thread at a time writes; who reads meanwhile may see some of that."""

    place: str
    """Where it is, for errors."""
    home = ""  # Which owner's memory it is, of all; "" for one that ends with the process.
    worker = 0
    """The number under which other workers know that this one lives."""
    epoch = 0
    """It rises when what was read before may never have been: a transaction came to nothing, or the database was made anew."""

    @property
    @abstractmethod
    def pulse(self) -> Pulse:
        """As of the last look; in a transaction, what it has changed, to be changed further."""

    @abstractmethod
    def look(self) -> None:
        """Take in what others have committed."""

    @abstractmethod
    def all(self, statement: str, values: Values = {}) -> list[tuple[Any, ...]]: ...  # noqa: B006 - it is only read

    def pairs(self, statement: str) -> NDArray[np.void]:
        """(n,) of ``PAIR``, of a statement that gives such rows, of which there are very many."""
        return np.array(self.all(statement), PAIR)

    def packing(self, statement: str) -> str:
        """What ``pairs`` asks, for whoever foresees it."""
        return statement

    @abstractmethod
    def do(self, statement: str, values: Values, *, durably: bool = True) -> int:
        """A statement that may be done twice. Returns how many rows it was about; in a transaction that may not be known yet."""

    def do_all(self, statements: Sequence[str], values: Values) -> None:
        """Several of those, with the same values."""
        for statement in statements:
            self.do(statement, values)

    def foresee(self, statement: str, values: Values) -> None:
        """This will be asked soon: where a trip to the database is long, the answer comes with the next one that is made."""
        return

    def gather(self, questions: Sequence[tuple[str, Values]]) -> None:
        """All of these will be asked now, each once: where a trip is long, their answers come together."""
        return

    @abstractmethod
    def many(self, statement: str, values: Sequence[Values]) -> None:
        """In a transaction."""

    @abstractmethod
    def writing(self, patience_s: float) -> contextlib.AbstractContextManager[None]:
        """A transaction; all or nothing, but for errors that were raised on purpose: what was done before one of those stays. Not
        reentrant. Raises Locked, DiskError."""

    def live(self) -> None:
        """Show to other workers that this one lives."""
        return

    def lives(self, worker: int | None) -> bool:
        """Whether a worker lives."""
        return worker == self.worker

    def each(self, statement: str, values: Values) -> Iterator[tuple[Any, ...]]:
        """The rows of a statement that says their order. Who needs few reads few."""
        first = self.all(f"{statement} LIMIT {FIRST_ROWS}", values)
        yield from first
        if len(first) == FIRST_ROWS:
            yield from self.all(f"{statement} LIMIT {2**62} OFFSET {FIRST_ROWS}", values)

    def put(self, table: str, rows: Sequence[Values], key: Sequence[str] = (), keep: Sequence[str] = ()) -> None:
        """Add rows, which all have the same columns. One whose ``key`` is there replaces what is there, but for ``keep``."""
        if rows:
            self.many(putting(table, tuple(rows[0]), tuple(key), tuple(keep)), rows)

    def next_generation(self) -> int:
        """Each change within a transaction has one of its own: what was read between two of them is known to be old."""
        self.pulse.generation += 1
        return self.pulse.generation


@lru_cache(maxsize=64)
def putting(table: str, columns: tuple[str, ...], key: tuple[str, ...], keep: tuple[str, ...]) -> str:
    """The statement that adds a row or replaces it."""
    statement = (
        f"INSERT INTO {table} (owner_id, {', '.join(columns)})"
        f" VALUES (%(owner)s, {', '.join(f'%({name})s' for name in columns)})"
    )
    if key:
        changed = ", ".join(f"{name} = excluded.{name}" for name in columns if name not in (*key, *keep))
        statement += f" ON CONFLICT (owner_id, {', '.join(key)}) DO UPDATE SET {changed}"
    return statement


@lru_cache(maxsize=256)
def in_sqlite(statement: str) -> str:
    for theirs, ours in _IN_SQLITE:
        statement = theirs.sub(ours, statement)
    return statement


# ---- SQLite


class _AnotherVersion(sqlite3.DatabaseError):
    """The tables are those of another version."""


class CacheDamaged(DataError):
    """The database turned out to be damaged; it is gone, and made anew when it is opened or followed."""


class SqliteSession(StoreSession):
    """One connection behind one lock, over a disposable file, or (``path`` None) over memory alone: then nothing is ever
    written to a disk. A damaged file, or another version's, is made anew."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.place = str(path or "memory")
        self._lock = threading.RLock()
        self._changed: Pulse | None = None
        with disk.in_words(path):
            try:
                self._db = self._open()
            except sqlite3.DatabaseError as error:
                is_folder = any(path.is_dir() for path in self._files())
                if not (is_folder or disk.is_damaged(error) or isinstance(error, _AnotherVersion)):
                    raise
                self.delete()
                self._db = self._open()
            self._inode = path.stat().st_ino if path else 0

    def follow(self) -> bool:
        """Open the file again if another process or a person deleted it or had it made anew.

        Returns whether that was so.
        """
        with self._lock:
            assert self.path
            with contextlib.suppress(FileNotFoundError):
                if self.path.stat().st_ino == self._inode:
                    return False
            if self._db.in_transaction:
                return False
            self._db.close()
            self._db = self._open()
            self._inode = self.path.stat().st_ino
            self.epoch += 1
            return True

    def _open(self) -> sqlite3.Connection:
        if self.path:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        where = self.path or ":memory:"
        db = sqlite3.connect(where, check_same_thread=False, isolation_level=None, timeout=PATIENCE_S)
        try:
            if not disk.patiently(lambda: _logs_ahead(db), PATIENCE_S):
                raise sqlite3.OperationalError("database is locked")
            db.execute("PRAGMA synchronous=OFF")
            db.execute("PRAGMA secure_delete=ON")  # what is overwritten leaves no bytes in free pages
            db.execute("PRAGMA temp_store=MEMORY")  # what is sorted or packed is nowhere else meanwhile
            version = db.execute("PRAGMA user_version").fetchone()[0]
            if version not in (0, SCHEMA_VERSION):
                raise _AnotherVersion
            if version == 0:
                self._make(db)
        except BaseException:
            db.close()
            raise
        self._version = -1
        return db

    @staticmethod
    def _make(db: sqlite3.Connection) -> None:
        """Make the tables, unless another process that opened it at the same moment was quicker."""
        db.execute("BEGIN IMMEDIATE")
        if db.execute("PRAGMA user_version").fetchone()[0] == 0:
            for statement in filter(str.strip, _SCHEMA.split(";")):
                db.execute(statement)
            db.execute("INSERT INTO owners (owner_id, identity) VALUES (?, ?)", (OWNER, uuid.uuid4().hex))
            db.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
        db.execute("COMMIT")

    def delete(self) -> None:
        for path in self._files():
            disk.clear(path)

    def _files(self) -> list[Path]:
        return [Path(f"{self.path}{suffix}") for suffix in ("", "-wal", "-shm") if self.path]

    def close(self) -> None:
        with self._lock:
            self._db.close()

    # ---- reading

    @property
    def pulse(self) -> Pulse:
        with self._lock:
            if self._changed is not None:
                return self._changed
            self.look()
            return self._seen

    def look(self) -> None:
        with self._lock:
            version = self.all("PRAGMA data_version")[0][0]
            if version != self._version:
                row = self.all(PULSE)[0]
                self._seen, self._version = replace(Pulse(*row), heads=json.loads(row[-1])), version

    def all(self, statement: str, values: Values = {}) -> list[tuple[Any, ...]]:  # noqa: B006 - it is only read
        with self._lock:  # a statement that is half read would stand in the way of packing
            return self._run(statement, values).fetchall()

    def do(self, statement: str, values: Values, *, durably: bool = True) -> int:
        return self._run(statement, values).rowcount

    def _run(self, statement: str, values: Values) -> sqlite3.Cursor:
        with self._lock:
            try:
                return self._db.execute(in_sqlite(statement), _bound(values))
            except sqlite3.Error as error:  # To prepare for one would cost as much as a small query.
                with self._in_words():
                    raise error

    # ---- writing

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All or nothing, whatever is raised. Reentrant."""
        with self._lock:
            if self._db.in_transaction:
                yield self._db
                return
            with self._in_words():
                self._db.execute("BEGIN IMMEDIATE")
                try:
                    self.look()
                    self._changed = replace(self._seen, heads=dict(self._seen.heads))
                    yield self._db
                    if self._changed != self._seen:
                        values = {**vars(self._changed), "heads": json.dumps(self._changed.heads)}
                        self._db.execute(in_sqlite(BEAT), _bound(values))
                    self._db.execute("COMMIT")
                    self._seen = self._changed
                except BaseException:
                    if self._db.in_transaction:  # on a full disk SQLite has rolled back by itself
                        self._db.execute("ROLLBACK")
                    self.epoch += 1
                    raise
                finally:
                    self._changed = None

    @contextlib.contextmanager
    def writing(self, patience_s: float) -> Iterator[None]:
        """Only threads of this process wait for each other, and as long as it takes."""
        on_purpose: MoeChatError | None = None
        with self.transaction():
            try:
                yield
            except DiskError:
                raise
            except MoeChatError as error:
                on_purpose = error
        if on_purpose:
            raise on_purpose

    def many(self, statement: str, values: Sequence[Values]) -> None:
        with self.transaction() as db:
            db.executemany(in_sqlite(statement), map(_bound, values))

    @contextlib.contextmanager
    def _in_words(self) -> Iterator[None]:
        """Raises DiskError, and CacheDamaged where the file turns out to be damaged: then ``follow`` makes it anew."""
        with disk.in_words(self.path):
            try:
                yield
            except sqlite3.DatabaseError as error:
                if not disk.is_damaged(error):
                    raise
                self.delete()
                raise CacheDamaged(
                    self.place, "was damaged and is made anew from the other files: try again"
                ) from error

    # ---- erasing

    def pack(self) -> bool:
        """Leave nothing in free room: where rows move from page to page, SQLite leaves bytes of them behind, ``secure_delete``
        or not; nor in the write-ahead log. False if another process writes or reads too long."""
        try:
            self.all("VACUUM")
        except Locked:
            return False

        def is_empty() -> bool:  # SQLite waits for readers by itself; for one who is just emptying the log it does not.
            with contextlib.suppress(Locked):
                return not self.all("PRAGMA wal_checkpoint(TRUNCATE)")[0][0]
            return False

        return disk.patiently(is_empty, PATIENCE_S)


def _logs_ahead(db: sqlite3.Connection) -> bool:
    """Write to a log first (in memory SQLite stays as it is). False where another process is about to write, for which SQLite
    does not wait here: of two programs that make a cache at once the later would fail."""
    try:
        db.execute("PRAGMA journal_mode=WAL")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
            raise
        return False
    return True


def _bound(values: Values) -> dict[str, Any]:
    """The values of a statement as SQLite takes them."""
    bound = {
        name: json.dumps(value, default=int) if isinstance(value, list) else value for name, value in values.items()
    }
    bound["owner"] = OWNER
    return bound
