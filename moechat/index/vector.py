"""Vectors of one layer in one folder: disposable, rebuildable, and the embedding cache.

``VectorTable`` is positioned: position i, a number that the caller owns (of a document, say), holds the vector of
document i and the key of the text that was embedded. A position whose key is another one counts as missing, so a fill
that was interrupted anywhere goes on from there, and two processes that write one position write the same. Searches are
exact up to ``FLAT_FLOATS``. Beyond, sketches of the vectors bring up candidates, and these are scored exactly.

Beside the files of ``vector_rows`` the folder holds ``append.lock``, taken while vectors are appended or swept out.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moechat.errors import EmbeddingError, StillLoading, TextRefused
from moechat.index import place
from moechat.index.cosine import BLOCK_ROWS, MISSING, Ints, Vectors, as_query, best, nearest, scores_at
from moechat.index.sketch import Sketches
from moechat.index.vector_keys import KeyOrder, Keys, PackedKeys, pack_keys, text_key
from moechat.index.vector_rows import VectorRows, dim_of
from moechat.model import Embedder, Kind

FLAT_FLOATS = 16 << 20  # Up to so many rows * dim a flat scan is quick enough: it takes 2 ms.


PLAIN_WORD = "我们 we"  # Every embedding model has a vector of it.
LEFT_BEHIND = ("lists.npy", "centroids.npy")  # Earlier versions wrote these.


class VectorTable:
    """The vectors of one layer. ``folder`` None keeps all in memory, or wherever ``rows`` keep them.

    Vectors are expected at unit length, so that an inner product is a cosine. Safe to use from several threads and
    processes. Raises OSError where the disk is full or not writable.
    """

    def __init__(
        self, folder: Path | None, dim: int, *, flat_floats: int = FLAT_FLOATS, rows: VectorRows | None = None
    ) -> None:
        self.folder, self.dim, self.flat_floats = folder, dim, flat_floats
        self._lock = threading.RLock()
        self._rows = rows or VectorRows(folder, dim)
        if folder is not None:
            for name in LEFT_BEHIND:
                (folder / name).unlink(missing_ok=True)
        self._by_key: KeyOrder | None = None
        self._sketches = Sketches(dim)
        self.refresh()

    def __len__(self) -> int:
        """One more than the last position that holds a vector."""
        return self._rows.count

    @property
    def losses(self) -> int:
        """It rises whenever a position may have lost its vector; until then what is held stays held."""
        return self._rows.losses

    # ---- files

    def refresh(self) -> None:
        """Notice what another process wrote, or that somebody deleted or cut the files. Cheap when nothing happened."""
        with self._lock:
            self._follow(self._rows.open() if self._rows.changed() else True)

    def _follow(self, same_files: bool) -> None:
        """Bring what is derived from the rows up to date with them."""
        if not same_files:
            self._by_key = None
            self._rows.losses += 1
        if self._rows.recount():
            self._by_key = None

    def flush(self) -> None:
        """Wait until all is on the disk, vectors before keys."""
        self._rows.flush()

    def close(self) -> None:
        """Let go of the files."""
        self.flush()
        with self._lock:
            self._rows.close()
            self._follow(same_files=True)

    # ---- rows

    def put(self, positions: NDArray[Any], keys: Keys, vectors: NDArray[Any]) -> None:
        """Store ``vectors`` (n, dim) of the texts with these ``keys`` at ``positions``, replacing what was there."""
        positions, packed = np.asarray(positions, dtype=np.int64), pack_keys(keys)
        if not len(positions):
            return
        if vectors.shape != (len(positions), self.dim) or len(packed) != len(positions) or positions.min() < 0:
            raise ValueError(f"{len(positions)} positions, {len(packed)} keys, vectors of shape {vectors.shape}")
        with self._lock:
            if positions.max() >= len(self._rows.keys):
                self._follow(self._rows.grow(int(positions.max()) + 1))
            self._rows.write(positions, packed, vectors)
            if self._by_key is not None:
                self._by_key.add(packed, positions)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """No other process appends or sweeps in here, and what they wrote is known."""
        with self._rows.alone(), contextlib.nullcontext() if self.folder else self._lock:
            self.refresh()
            yield

    def sweep(self, lives: Lives) -> int:
        """Overwrite every vector but those at the positions that ``lives`` gives. Returns how many were. Files that cannot be
        read are deleted."""
        with self.alone():
            with self._lock:
                self._rows.require_readable()
                self._follow(same_files=True)
            positions = lives(self)
            with self._lock:
                is_dead = self._rows.filled.copy()
                is_dead[positions[positions < len(is_dead)]] = False
                dead = np.flatnonzero(is_dead)
                self._rows.clear(dead)
                self._follow(same_files=True)
            self.flush()
        return len(dead)

    def missing(self, positions: NDArray[Any], keys: Keys) -> Ints:
        """Those of ``positions`` that do not hold the vector of the text with this key, in the order given."""
        positions, packed = np.asarray(positions, dtype=np.int64), pack_keys(keys)
        with self._lock:
            inside = (positions >= 0) & (positions < len(self._rows.keys))
            same = np.zeros(len(positions), dtype=bool)
            same[inside] = (self._rows.keys[positions[inside]] == packed[inside]).all(axis=1)
        return positions[~same]

    def lookup(self, keys: Keys) -> Ints:
        """``(n,)`` int64: a position that holds the vector of this key, -1 where there is none."""
        with self._lock:
            if self._by_key is None:
                self._by_key = KeyOrder(self._rows.keys[: self._rows.count])
            return self._by_key.find(pack_keys(keys), self._rows.keys)

    def having(self, keys: Keys) -> Ints:
        """Every position that holds the vector of one of these keys, ascending."""
        packed = pack_keys(keys)
        with self._lock:
            mine = self._rows.keys[: self._rows.count]
            return np.flatnonzero(np.isin(mine[:, 0], packed[:, 0]) & np.isin(mine[:, 1], packed[:, 1]))

    def contents(self) -> tuple[Ints, PackedKeys]:
        """Every position that holds a vector, ascending, and their keys, ``(n, 2)``."""
        with self._lock:
            positions = np.flatnonzero(self._rows.filled)
            return positions, self._rows.keys[positions].copy()

    def get(self, positions: NDArray[Any]) -> Vectors:
        """``(n, dim)`` float32, a copy; rows of zeros where there is nothing."""
        positions = np.asarray(positions, dtype=np.int64)
        vectors = np.zeros((len(positions), self.dim), dtype=np.float32)
        with self._lock:
            held = self.held(positions)
            vectors[held] = self._rows.vectors[positions[held]]
        return vectors

    def held(self, positions: NDArray[Any]) -> NDArray[np.bool_]:
        """``(n,)`` bool: which positions hold a vector, of whatever text."""
        positions = np.asarray(positions, dtype=np.int64)
        held: NDArray[np.bool_] = (positions >= 0) & (positions < len(self._rows.filled))
        held[held] = self._rows.filled[positions[held]]
        return held

    # ---- search

    def dot(self, positions: NDArray[Any], query: NDArray[Any]) -> Vectors:
        """``(n,)`` float32: the exact cosine of each position with ``query`` (dim,), MISSING where there is no vector.

        One pass over the mapped rows where ``positions`` are mostly a run (a year of talk), in whatever order.
        """
        positions = np.asarray(positions, dtype=np.int64)
        scores = np.full(len(positions), MISSING, dtype=np.float32)
        with self._lock:
            vectors, held = self._rows.vectors, self.held(positions)
        if held.any():
            held_positions = positions if held.all() else positions[held]
            scores[held] = scores_at(held_positions, as_query(query, self.dim), vectors)
        return scores

    def top(self, query: NDArray[Any], k: int, allowed: NDArray[np.bool_] | None = None) -> tuple[Ints, Vectors]:
        """The ``k`` positions nearest to ``query`` (dim,) and their cosines, best first, ties by position.

        ``allowed`` is a mask by position; positions beyond its end are not allowed. Exact while the allowed rows are
        few; beyond ``flat_floats`` those are compared that sketches bring up.
        """
        query = as_query(query, self.dim)
        with self._lock:
            vectors, count = self._rows.vectors, self._rows.count
            keys, mask = self._rows.keys[:count], self._rows.filled[:count]
        if allowed is not None:
            mask = mask[: len(allowed)] & np.asarray(allowed[:count], dtype=bool)
        number = int(np.count_nonzero(mask))
        if self._is_large(number):
            self._sketches.follow(keys, vectors)
            positions = self._sketches.candidates(query, k, mask)
        elif number == len(mask):
            return nearest(query, vectors[:number], k)
        else:
            positions = np.flatnonzero(mask)
        return best(positions, scores_at(positions, query, vectors), k)

    def prepare(self) -> None:
        """Make the sketches that a search would wait for, if the table is large."""
        with self._lock:
            vectors, keys = self._rows.vectors, self._rows.keys[: self._rows.count]
        if self._is_large(len(keys)) and self._sketches.follow(keys, vectors) > BLOCK_ROWS:
            self._rows.release_pages()

    def _is_large(self, rows: int) -> bool:
        return rows * self.dim > self.flat_floats


Lives = Callable[[VectorTable], Ints]
"""Gives the positions of a table whose vectors belong to something that is still there."""


def having(keys: Callable[[], Keys]) -> Lives:
    """In a table that is kept by text: the positions of texts that have one of these keys now."""
    return lambda table: table.having(keys())


def tables_under(folder: Path) -> list[VectorTable]:
    """Every table in ``folder`` and below it, of whatever model and layer, opened. Vectors without their keys are deleted, and
    keys that are none of ours or have no vectors."""
    files = sorted({*folder.rglob("vectors.f32"), *folder.rglob("keys.bin")})
    dims = {path.parent: dim_of(path.with_name("keys.bin")) for path in files}
    for path in (path for path in files if dims[path.parent] is None):
        place.clear(path)
    return [VectorTable(parent, dim) for parent, dim in dims.items() if dim is not None]


def embed_cached(
    embedder: Embedder,
    table: VectorTable,
    texts: Sequence[str],
    kind: Kind = "passage",
    *,
    may_keep: Callable[[], bool] = lambda: True,
) -> Vectors:
    """``(n, dim)`` vectors of ``texts``; only those that ``table`` does not hold are embedded, and appended to it.

    ``may_keep`` is asked when they are made: whether the texts may still be kept.
    """
    keys, vectors, rows = vectors_of(embedder, [table], texts, kind)
    if rows:
        with table.alone():
            if may_keep():
                table.put(len(table) + np.arange(len(rows)), keys[rows], vectors[rows])
    return vectors


def vectors_of(
    embedder: Embedder, tables: Sequence[VectorTable], texts: Sequence[str], kind: Kind = "passage"
) -> tuple[PackedKeys, Vectors, list[int]]:
    """``(n, 2)`` keys and ``(n, dim)`` vectors of ``texts``, and the rows of those that none of the tables held.

    These are embedded. A text that comes up twice (好的 is said often) is embedded once and has one such row.
    Raises EmbeddingError, and TextRefused where it is the fault of a text.
    """
    keys = pack_keys([text_key(text, kind) for text in texts])
    vectors = np.zeros((len(texts), tables[0].dim), dtype=np.float32)
    unknown = np.ones(len(texts), dtype=bool)
    for table in tables:
        places = table.lookup(keys)
        held = unknown & (places >= 0)
        vectors[held] = table.get(places[held])
        unknown &= ~held
    fresh = np.flatnonzero(unknown).tolist()
    first = {texts[row]: row for row in reversed(fresh)}
    if first:
        made = dict(zip(first, _embedded(embedder, list(first), kind), strict=True))
        for row in fresh:
            vectors[row] = made[texts[row]]
    return keys, vectors, list(first.values())


def _embedded(embedder: Embedder, texts: Sequence[str], kind: Kind) -> Vectors:
    """The vectors of ``texts``. A model that fails over them is asked for a plain word: if it has that, it is a text's fault."""
    try:
        return embedder.embed(texts, kind)
    except StillLoading:
        raise
    except EmbeddingError as error:
        embedder.embed([PLAIN_WORD])
        raise TextRefused(str(error)) from error
