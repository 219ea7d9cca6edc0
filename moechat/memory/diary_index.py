"""The diary's indexes: its words, their vectors, and the times when things were said and happened.

Documents are the sides of exchanges: number 2 * row + side (0 the user's words, 1 the character's). Rows only grow, so the
indexes grow at their ends; a row that died is taken out of them.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import math
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime, time
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np

from moechat import when
from moechat.clock import local
from moechat.containment import NamedText
from moechat.index import ranking
from moechat.index.dense import Dense
from moechat.index.hybrid import Doc, HybridIndex, TimeIndex
from moechat.index.ranking import Ranked
from moechat.store import disk
from moechat.store.exchanges import ExchangeRow, Side
from moechat.store.kinds import Store
from moechat.store.records import Signature
from moechat.when import Span

log = logging.getLogger(__name__)
T = TypeVar("T")
TABLE = "diary"  # The vectors of the documents lie in this table of a space.
ROWS_LOCK = (
    "rows.lock"  # In .index; held while files by row are renamed, written or deleted, never while texts are embedded.
)
ROWS_AT_ONCE = 500
AT_ONCE = 500  # New rows that whoever follows the store indexes; of more he waits for the newest, the rest for the background.
NEWEST = 100
BEHIND = 50  # Rows that are indexed there at a time: a search waits that long.
MANY_ROWS = 5000  # After these, the words' index is written, so that a kill does not cost them again.


class RowFiles:
    """Says which cache the files by row belong to: row numbers mean nothing in another one.

    Without a folder all is in memory, made by and for this process: it is ours.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self.identity = ""
        """That of the cache as it is now."""

    def lock(self) -> AbstractContextManager[object]:
        return disk.lock(self._folder / ROWS_LOCK) if self._folder else contextlib.nullcontext()

    def are_ours(self, folder: Path | None) -> bool:
        """Whether the rows of an index are those of the cache as it is now."""
        if folder is None:
            return True
        with contextlib.suppress(OSError):
            return _mark(folder).read_bytes() == self.identity.encode()
        return False

    def claim(self, folder: Path | None, *, keep_old: bool = False) -> None:
        """Make an index ours. One of an earlier cache is deleted, or with ``keep_old`` renamed: old vectors can be looked up
        by their text."""
        if folder is None:
            return
        if folder.exists() and not self.are_ours(folder):
            if keep_old:
                names = (folder.with_name(f"{folder.name}.old{number}") for number in itertools.count(1))
                folder.rename(next(name for name in names if not name.exists()))
            else:
                disk.clear(folder)
        folder.parent.mkdir(parents=True, exist_ok=True)
        self.sign(folder)

    def sign(self, folder: Path | None) -> None:
        if folder is not None:
            disk.make_way(_mark(folder))
            _mark(folder).write_bytes(self.identity.encode())

    def disown(self, folder: Path | None) -> None:
        """The next start makes this index anew, unless it is signed before."""
        if folder is not None:
            disk.clear(_mark(folder))


def _mark(folder: Path) -> Path:
    """The file that says which cache the rows of an index belong to."""
    return folder.with_name(f"{folder.name}.rows")


class DiaryIndex:
    """Follows the exchanges of one owner. ``sync`` takes in what has changed; searches see what the last ``sync`` saw.

    Of very much (a folder without indexes) it takes in the newest; ``unread_until`` says what is left, and ``read_on``
    indexes that. It has more than twenty methods because to follow the store, to read on and to search are several steps each.
    """

    def __init__(self, store: Store, dense: Dense, speakers: tuple[str, str]) -> None:
        self._store, self._dense, self._speakers = store, dense, speakers
        self._lock = threading.RLock()
        folder = store.index_folder
        self._folder = folder and folder / "lexical"
        self.files = RowFiles(folder)
        self.departures = 0
        """Rises whenever a row is no longer there."""
        self._open()

    def _open(self) -> None:
        """Begin with the cache as it is: at the start, and when another process or a hand had it made anew."""
        store = self._store
        self.files.identity, self._generation = store.moment
        self._times = TimeIndex(store.exchanges.moments())
        self._hidden: tuple[frozenset[str], frozenset[int]] = (frozenset(), frozenset())
        self._new_rows: list[int] = []  # They came since hidden documents were looked up.
        self._waiting: list[tuple[float, int]] = []  # (time, row) of what is not indexed yet, ascending.
        self._unwritten = 0
        self.came: list[int] = []
        """The rows that came since the index was opened, in that order."""
        self.departures += 1
        with self.files.lock():
            self.files.claim(self._folder)
            for space in self._dense.spaces:
                self.files.claim(space.folder and space.folder / TABLE, keep_old=True)
                space.table(TABLE).refresh()
            self.words = HybridIndex(self._folder, self._dense.table(TABLE))
            self._written = self._manifest()
        self._catch_up()

    def _manifest(self) -> Signature:
        return Signature.of(self._folder / "words" / "manifest.json") if self._folder else Signature()

    def flush(self) -> None:
        """Write the words' index, unless another process has written it since we read it: a start adds what it lacks."""
        with self.files.lock():
            if self.files.are_ours(self._folder) and self._manifest() == self._written:
                self._write()

    def _write(self) -> None:
        self.words.flush()
        self._written, self._unwritten = self._manifest(), 0

    def close(self) -> None:
        """Write the words' index and let go of its files."""
        self.flush()
        with self._lock:
            self.words = HybridIndex(None, None)

    def erase_dead(self) -> None:
        """Leave nothing in the index of words that are no longer in the record.

        If this is cut short, the index belongs to nobody and the next start makes it anew.
        """
        with self.files.lock():
            self.files.disown(self._folder)
        with self._lock:
            self.sync()
            self.words.compact()
            with self.files.lock():
                self._write()
                self.files.sign(self._folder)

    # ---- following the store

    def sync(self) -> None:
        """Take in rows that came or died since the last call."""
        with self._lock:
            identity, generation = self._store.moment
            if identity != self.files.identity:
                self._open()
                return
            if generation == self._generation:
                return
            dead, new = [], []
            for row, moment, alive in self._store.exchanges.changed(self._generation):
                self._times.remove(row, moment)
                if alive:
                    self._times.add(row, moment)
                    self._new_rows.append(row)
                    self.came.append(row)
                    new.append((moment, row))
                else:
                    dead += [2 * row, 2 * row + 1]
            self.words.remove(dead)
            if dead:
                self.departures += 1
                self._hidden = (self._hidden[0], self._hidden[1].difference(dead))
            self._generation = generation
            self._index_newest(new)

    def _catch_up(self) -> None:
        """Index the rows that the words' index lacks, and take out the dead ones.

        A process that was killed leaves the index as it was last written: rows that died since are still in it.
        """
        rows, docs, unread = self._times.keys(), self.words.documents(), self.words.unread()
        alive, indexed, partly = (
            np.zeros(1 + max(rows.max(initial=0), docs.max(initial=0) // 2), bool) for _ in range(3)
        )
        alive[rows], indexed[docs // 2], partly[unread // 2] = True, True, True
        dead = np.flatnonzero(indexed & ~alive)
        self.words.remove(np.concatenate([2 * dead, 2 * dead + 1]).tolist())
        lacking = (~indexed | partly)[rows]  # In part: by an earlier version, perhaps.
        self._index_newest(list(zip(self._times.moments()[lacking].tolist(), rows[lacking].tolist(), strict=True)))

    def _index_newest(self, new: list[tuple[float, int]]) -> None:
        """Index the newest of what came, (time, row); the rest waits."""
        new.sort()
        if len(new) > AT_ONCE:
            self._waiting = sorted([*self._waiting, *new[:-NEWEST]])
            new = new[-NEWEST:]
        self._index([row for _, row in new])

    @property
    def unread_until(self) -> float | None:
        """Up to when the diary may hold more than can be recalled yet, in epoch seconds; None where it does not."""
        with self._lock:
            files, until = self._store.unread
            ends = [moment for moment, _ in self._waiting[-1:]]
            if until is not None:
                ends.append(datetime.combine(until, time.max, self._store.zone).timestamp())
            return max(ends, default=math.inf if files else None)

    @property
    def waiting(self) -> int:
        """How many exchanges wait to be indexed."""
        return len(self._waiting)

    def read_on(self) -> None:
        """Index some of what waits, the newest first."""
        with self._lock:
            newest, self._waiting = self._waiting[-BEHIND:], self._waiting[:-BEHIND]
            self._index([row for _, row in newest])
            is_read = not self._waiting and not self._store.unread[0]
        if is_read or self._unwritten >= MANY_ROWS:
            self.flush()

    def _index(self, rows: list[int]) -> None:
        for batch in batched(sorted(rows), ROWS_AT_ONCE):
            docs = [named for side in self._store.exchanges.sides_of(batch) for named in self._docs(side)]
            contained = self._store.contained
            contained.each("words", docs, _named_text, lambda part: self.words.add([doc for _, doc in part]))
            unread = [doc for name, doc in docs if contained.failed("words", _named_text((name, doc)))]
            self.words.add([replace(doc, text="", unread=True) for doc in unread])
        self._unwritten += len(rows)

    def _docs(self, side: Side) -> list[tuple[str, Doc]]:
        """The documents of an exchange, each with its name."""
        at = local(datetime.fromtimestamp(side.t, UTC), self._store.zone)
        docs = []
        for i, (name, text) in enumerate(named_sides(side)):
            if text:
                record = NamedText(name, text)
                # The first time that a text names, as it was meant when it was said.
                read = partial(when.resolve, text, at, use="writing")
                spans: list[Span] = self._store.contained.run("times", record, read, [])
                happened = next(iter(_ends(spans)), None)
                unread = self._store.contained.failed("times", record)
                docs.append((name, Doc(2 * side.row + i, side.t, self._speakers[i], text, happened, side.talk, unread)))
        return docs

    # ---- looking

    def rows(self) -> np.ndarray:
        """(n,) int64: the rows of all live exchanges, by time."""
        with self._lock:
            return self._times.keys()

    def rows_during(self, span: Span) -> np.ndarray:
        """(n,) int64: the rows of what was said in a span, by time."""
        with self._lock:
            return self._times.between(span.start.timestamp(), span.end.timestamp())

    def search(
        self, text: str, vector: np.ndarray | None, *, k: int, spans: Sequence[Span], hints: Sequence[Span]
    ) -> Ranked:
        """The ``k`` best documents that may be seen: see :func:`moechat.index.ranking.search`."""
        with self._lock:
            self.words.vectors = self._dense.table(TABLE)  # another embedding model may serve by now
            search = partial(
                ranking.search, text=text, vector=vector, k=k, spans=_ends(spans), hints=_ends(hints),
                hidden=self.hidden_documents(),
            )  # fmt: skip
            try:
                return search(self.words)
            except (ArithmeticError, LookupError, TypeError, ValueError):
                log.warning("the words' index is damaged and is made anew", exc_info=True)
                with self.files.lock():
                    self.files.disown(self._folder)
                self._open()
                return search(self.words)

    def hidden_documents(self) -> frozenset[int]:
        """The documents of exchanges that may not be seen."""
        hidden = self._store.hidden()
        with self._lock:
            before, docs = self._hidden
            if before is not hidden:  # The archive of years is large; what has changed is little.
                came, went = (self._store.exchanges.by_ids(sorted(ids)) for ids in (hidden - before, before - hidden))
                docs = (docs - _documents(went.values())) | _documents(came.values())
            if self._new_rows:
                new = self._store.exchanges.rows(self._new_rows)
                docs |= _documents(row for row in new if row.exchange.id in hidden)
            self._hidden, self._new_rows = (hidden, docs), []
            return docs

    def differences(self) -> list[str]:
        """Where the indexes do not hold what the cache holds, in words."""
        with self._lock:
            sides: Mapping[int, Side] = {side.row: side for side in self._store.exchanges.sides()}
            docs = {2 * row + i for row, side in sides.items() for i, text in enumerate((side.user, side.char)) if text}
            indexed = set(self.words.documents().tolist())
            docs -= {2 * row + side for _, row in self._waiting for side in (0, 1)}
            differences = []
            if indexed != docs:
                lacking, extra = len(docs - indexed), len(indexed - docs)
                differences.append(f"the words' index lacks {lacking} and has {extra} too many; rebuild")
            if sorted(self._times.keys().tolist()) != sorted(sides):
                differences.append("the time index differs from the cache; rebuild")
        return differences


def _named_text(named: tuple[str, Doc]) -> NamedText:
    return NamedText(named[0], named[1].text)


def named_sides(side: Side) -> tuple[tuple[str, str], tuple[str, str]]:
    """Both texts of an exchange, each under its name."""
    return (side.id, side.user), (f"{side.id} (reply)", side.char)


def _documents(rows: Iterable[ExchangeRow]) -> frozenset[int]:
    return frozenset(2 * row.row + side for row in rows for side in (0, 1))


def _ends(spans: Sequence[Span]) -> list[tuple[float, float]]:
    return [(span.start.timestamp(), span.end.timestamp()) for span in spans]


def batched(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Lists of ``size`` items (itertools has it from Python 3.12 on)."""
    batch: list[T] = []
    for item in items:
        batch.append(item)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch
