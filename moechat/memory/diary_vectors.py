"""The vectors of the diary's documents, made a batch at a time and kept by row."""

from __future__ import annotations

import contextlib
import shutil
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Event as Signal
from weakref import WeakKeyDictionary

import numpy as np
from filelock import Timeout

from moechat.containment import NamedText
from moechat.index.dense import Dense, Space, vectors_of
from moechat.index.vector_rows import Ints, text_key
from moechat.index.vectors import VectorTable
from moechat.memory.diary_index import TABLE, DiaryIndex, batched, named_sides
from moechat.store import disk
from moechat.store.kinds import Store

BATCH = 32  # Exchanges that are embedded at once.


@dataclass(frozen=True)
class _Looked:
    """The rows that lacked a vector at a look, newest first, and how many had come by then."""

    stamp: tuple[int, int]
    came: int
    rows: Ints


class DiaryVectors:
    """Embeds the exchanges that the index holds, in every space that needs them."""

    def __init__(self, store: Store, dense: Dense, index: DiaryIndex) -> None:
        self._store, self._dense, self._index = store, dense, index
        self._left_out: dict[str, set[int]] = {}
        """By model, the documents that it raised over; it is not asked for them again before the next start."""
        self._before: WeakKeyDictionary[VectorTable, _Looked] = WeakKeyDictionary()
        self._filling = threading.Lock()

    def embed_missing(self, stop: Signal, limit: int = 0, progress: Callable[[int], None] = lambda _: None) -> int:
        """Embed exchanges that have no vector yet, the newest first.

        ``limit`` bounds the exchanges that are looked at (0: all). Returns how many were. Raises EmbeddingError.
        """
        return sum(self._fill(space, stop, limit, progress) for space in list(self._dense.spaces))

    def missing(self, space: Space) -> int:
        """How many exchanges have no vector in this space and may get one."""
        return len(self._lacking(space))

    def _fill(self, space: Space, stop: Signal, limit: int, progress: Callable[[int], None]) -> int:
        """One process at a time makes the vectors of a space; in the background (``limit``) it waits for no other. Threads of
        one process wait for each other."""
        with contextlib.ExitStack() as alone:
            alone.enter_context(self._filling)
            if space.folder is not None:
                try:
                    alone.enter_context(disk.lock(space.folder / "fill.lock").acquire(0 if limit else -1))
                except Timeout:
                    return 0
            table, done = space.table(TABLE), 0
            with self._index.files.lock():
                if not self._index.files.are_ours(table.folder):
                    return 0  # Another process made it anew; the next turn follows.
                table.refresh()
            lacking = self._lacking(space)
            old_folders = sorted(space.folder.glob(f"{TABLE}.old*")) if space.folder else []
            tables = [table, *(VectorTable(folder, table.dim) for folder in old_folders)]
            for batch in batched(lacking[: limit or None], BATCH):
                if stop.is_set() or not self._embed(space, tables, batch):
                    break
                done += len(batch)
                progress(done)
            for old, folder in zip(tables[1:], old_folders, strict=True):
                old.close()
                if done == len(lacking):
                    shutil.rmtree(folder, ignore_errors=True)
            return done

    def _lacking(self, space: Space) -> list[int]:
        """Rows of exchanges that have no vector, newest first."""
        table = space.table(TABLE)
        rows = self._without_vector(table)
        left_out = np.array(sorted(self._left_out.get(space.embedder.fingerprint, ())), dtype=np.int64)
        done = [table.held(docs) | np.isin(docs, left_out) for docs in (2 * rows, 2 * rows + 1)]
        lacking: list[int] = rows[~(done[0] & done[1])].tolist()
        return lacking

    def _without_vector(self, table: VectorTable) -> Ints:
        """Rows that lack a vector, newest first. Where none has gone, only those that lacked one before and new ones are
        looked at."""
        stamp, came = (self._index.departures, table.losses), self._index.came
        before, looked = self._before.get(table), len(came)
        if before is None or before.stamp != stamp:
            rows = self._index.rows()[::-1]
        else:
            rows = np.concatenate([np.array(came[before.came : looked][::-1], dtype=np.int64), before.rows])
        rows = rows[~(table.held(2 * rows) & table.held(2 * rows + 1))]
        self._before[table] = _Looked(stamp, looked, rows)
        return rows

    def _embed(self, space: Space, tables: Sequence[VectorTable], rows: Sequence[int]) -> bool:
        """Store the vectors of these rows in the first of the tables; the others hold old ones. A sweep meanwhile may be about
        words of theirs: then they are read again.

        False where the table's rows are no longer ours.
        """
        stored = False
        while not stored:
            unswept = self._dense.unswept()
            docs = [
                (2 * side.row + i, NamedText(name, text))
                for side in self._store.exchanges.sides_of(rows)
                for i, (name, text) in enumerate(named_sides(side))
            ]
            made = self._store.contained.each("vectors", docs, lambda doc: doc[1], lambda part: (
                [position for position, _ in part],
                *vectors_of(space.embedder, tables, [record.text for _, record in part])[:2],
            ))  # fmt: skip
            if refused := {position for position, _ in docs}.difference(*(positions for positions, *_ in made)):
                self._left_out.setdefault(space.embedder.fingerprint, set()).update(refused)
            with self._index.files.lock():
                if not self._index.files.are_ours(tables[0].folder):
                    return False
                with tables[0].alone():
                    if stored := unswept():
                        for positions, keys, vectors in made:
                            tables[0].put(np.array(positions, dtype=np.int64), keys, vectors)
        return True

    def alive(self, table: VectorTable) -> Ints:
        """The positions in a table that belong to exchanges as they are now: by row, and by text in one of an earlier cache."""
        if self._index.files.are_ours(table.folder):
            rows = self._index.rows()
            return np.concatenate([2 * rows, 2 * rows + 1])
        texts = {text for side in self._store.exchanges.sides() for text in (side.user, side.char)}
        return table.having([text_key(text) for text in texts])
