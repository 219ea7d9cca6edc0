"""A disposable SQLite database: one connection behind one lock, and the generation of what is written.

Rows are append-only: a changed record becomes a new row and the old one dies, so that the indexes over them (document
number = row) grow at their ends. ``gen`` is the generation in which a row was written or died; a process asks for what came
after the generation it knows.
"""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from moechat.errors import DataError, Locked
from moechat.store import disk

PATIENCE_S = 30.0  # What another process holds is waited for so long.
POLL_S = 0.01
SCHEMA_VERSION = 3
_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE files (name TEXT PRIMARY KEY, size INTEGER, mtime_ns INTEGER, inode INTEGER, problems TEXT) WITHOUT ROWID;
CREATE TABLE exchanges (row INTEGER PRIMARY KEY, id TEXT, file TEXT, t REAL, at TEXT, user TEXT, char TEXT, status TEXT,
    tag TEXT, sha TEXT, extra TEXT, gen INTEGER, alive INTEGER);
CREATE INDEX exchanges_id ON exchanges (id);
CREATE INDEX exchanges_file ON exchanges (file);
CREATE INDEX exchanges_gen ON exchanges (gen);
CREATE INDEX exchanges_t ON exchanges (t);
CREATE TABLE notes (id TEXT PRIMARY KEY, file TEXT, tag TEXT, keywords TEXT, by TEXT) WITHOUT ROWID;
CREATE INDEX notes_file ON notes (file);
CREATE TABLE episodes (row INTEGER PRIMARY KEY, id TEXT, file TEXT, t REAL, start REAL, end REAL, kind TEXT, data TEXT,
    gen INTEGER, alive INTEGER);
CREATE INDEX episodes_id ON episodes (id);
CREATE INDEX episodes_file ON episodes (file);
CREATE INDEX episodes_gen ON episodes (gen);
CREATE TABLE episode_sources (source TEXT, row INTEGER, PRIMARY KEY (source, row)) WITHOUT ROWID;
CREATE TABLE episode_replaces (row INTEGER PRIMARY KEY);
CREATE TABLE facts (id TEXT PRIMARY KEY, file TEXT, data TEXT) WITHOUT ROWID;
"""
MOST_VALUES = 500  # SQLite takes a bounded number of parameters.


class _AnotherVersion(sqlite3.DatabaseError):
    """The tables are those of another version."""


class CacheDamaged(DataError):
    """The database turned out to be damaged; it is gone, and made anew when it is opened or followed."""


class Database:
    """Every method is atomic. A damaged file, or another version's, is made anew."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.RLock()
        self._gen: int | None = None
        with disk.in_words(path):
            try:
                self._db = self._open()
            except sqlite3.DatabaseError as error:
                is_folder = any(path.is_dir() for path in self._files())
                if not (is_folder or disk.is_damaged(error) or isinstance(error, _AnotherVersion)):
                    raise
                self.delete()
                self._db = self._open()
            self._inode = path.stat().st_ino

    def follow(self) -> bool:
        """Open the database again if another process or a person deleted it or had it made anew.

        Returns whether that was so.
        """
        with self._lock:
            with contextlib.suppress(FileNotFoundError):
                if self.path.stat().st_ino == self._inode:
                    return False
            if self._db.in_transaction:
                return False
            self._db.close()
            self._db = self._open()
            self._inode = self.path.stat().st_ino
            return True

    def _open(self) -> sqlite3.Connection:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        db = sqlite3.connect(self.path, check_same_thread=False, isolation_level=None, timeout=PATIENCE_S)
        try:
            db.create_function("casefold", 1, str.casefold, deterministic=True)
            db.execute("PRAGMA journal_mode=WAL")
            db.execute("PRAGMA synchronous=OFF")
            db.execute("PRAGMA secure_delete=ON")  # what is overwritten leaves no bytes in free pages
            db.execute("PRAGMA temp_store=MEMORY")  # what is packed is nowhere else meanwhile
            version = db.execute("PRAGMA user_version").fetchone()[0]
            if version not in (0, SCHEMA_VERSION):
                raise _AnotherVersion
            if version == 0:
                self._make(db)
        except BaseException:
            db.close()
            raise
        return db

    @staticmethod
    def _make(db: sqlite3.Connection) -> None:
        """Make the tables, unless another process that opened it at the same moment was quicker."""
        db.execute("BEGIN IMMEDIATE")
        if db.execute("PRAGMA user_version").fetchone()[0] == 0:
            for statement in filter(str.strip, _SCHEMA.split(";")):
                db.execute(statement)
            db.execute("INSERT INTO meta VALUES ('identity', ?)", (uuid.uuid4().hex,))
            db.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
        db.execute("COMMIT")

    def delete(self) -> None:
        for path in self._files():
            if path.is_dir():
                shutil.rmtree(path)
            path.unlink(missing_ok=True)

    def _files(self) -> list[Path]:
        return [Path(f"{self.path}{suffix}") for suffix in ("", "-wal", "-shm")]

    def close(self) -> None:
        with self._lock:
            self._db.close()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All or nothing; what is written in it carries a new generation."""
        with self._lock:
            if self._db.in_transaction:
                yield self._db
                return
            with self._in_words():
                self._db.execute("BEGIN IMMEDIATE")
                try:
                    self._gen = None
                    yield self._db
                    self._db.execute("COMMIT")
                except BaseException:
                    if self._db.in_transaction:  # on a full disk SQLite has rolled back by itself
                        self._db.execute("ROLLBACK")
                    self._rolled_back()
                    raise
                finally:
                    self._gen = None

    def _rolled_back(self) -> None:
        """What is kept beside the database of a transaction that came to nothing is forgotten."""

    def all(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        with self._lock:
            try:
                return self._db.execute(sql, values).fetchall()
            except sqlite3.Error as error:  # To prepare for one would cost as much as a small query.
                with self._in_words():
                    raise error

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
                raise CacheDamaged(self.path, "was damaged and is made anew from the other files: try again") from error

    def among(self, sql: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
        """All rows of a query that ends in ``IN``, for any number of values; in order within ``MOST_VALUES`` of them."""
        rows = []
        for i in range(0, len(values), MOST_VALUES):
            part = [int(v) if hasattr(v, "item") else v for v in values[i : i + MOST_VALUES]]  # type: ignore[call-overload]
            places = min(1 << (len(part) - 1).bit_length(), MOST_VALUES)  # Few forms of a query are prepared once.
            part += part[-1:] * (places - len(part))
            rows += self.all(f"{sql} ({','.join('?' * places)})", part)
        return rows

    def identity(self) -> str:
        """A text that changes when the cache is made anew.

        Row numbers change with it, so an index by row belongs to one identity.
        """
        return str(self.all("SELECT value FROM meta WHERE key = 'identity'")[0][0])

    def generation(self) -> int:
        rows = self.all("SELECT value FROM meta WHERE key = 'gen'")
        return rows[0][0] if rows else 0

    def died(self, table: Literal["exchanges", "episodes"], since: int) -> list[int]:
        """The rows of a table that died after a generation."""
        return [row for (row,) in self.all(f"SELECT row FROM {table} WHERE gen > ? AND +alive = 0", (since,))]

    def next_generation(self, db: sqlite3.Connection) -> int:
        """The generation of the running transaction."""
        if self._gen is None:
            self._gen = self.generation() + 1
            db.execute("INSERT OR REPLACE INTO meta VALUES ('gen', ?)", (self._gen,))
        return self._gen

    def change(self, db: sqlite3.Connection, what: str) -> int:
        """Note that something of which not every turn has some (facts, files) changes in the running transaction. Returns its
        generation."""
        generation = self.next_generation(db)
        db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (what, generation))
        return generation

    def generation_of(self, what: str) -> int:
        """The generation in which that last changed."""
        rows = self.all("SELECT value FROM meta WHERE key = ?", (what,))
        return rows[0][0] if rows else 0

    def pack(self) -> bool:
        """Leave nothing in free room: where rows move from page to page, SQLite leaves bytes of them behind, ``secure_delete``
        or not. False if another process writes too long."""
        with contextlib.suppress(Locked):
            self.all("VACUUM")
            return True
        return False

    def empty_log(self) -> bool:
        """Leave nothing in the write-ahead log. False if another process reads too long.

        For its readers SQLite waits by itself; where another process is just emptying the log, it gives up at once.
        """
        limit = time.monotonic() + PATIENCE_S
        while True:
            with contextlib.suppress(Locked):
                if not self.all("PRAGMA wal_checkpoint(TRUNCATE)")[0][0]:
                    return True
            if time.monotonic() > limit:
                return False
            time.sleep(POLL_S)


def has(text: str, word: str) -> str:
    """The SQL condition that a case-folded word, given as ``?``, stands in a text. SQLite itself folds ASCII alone."""
    return f"instr({'lower' if is_plain(word) else 'casefold'}({text}), ?) > 0"


def is_plain(word: str) -> bool:
    """Whether it is enough to fold ASCII to find a case-folded word."""
    return all(char.isascii() or char.upper() == char.lower() for char in word)
