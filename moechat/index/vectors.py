"""Vectors of one layer in one folder, searched by FAISS: disposable, rebuildable, and the embedding cache.

``VectorTable`` is positioned: position i, a number that the caller owns (of a document, say), holds the vector of
document i and the key of the text that was embedded. A position whose key is another one counts as missing, so a fill
that was interrupted anywhere goes on from there, and two processes that write one position write the same.

Every cosine is of ``VectorTable.index``, a flat FAISS index over the rows where they lie, in memory or in a mapped file: what
is written there is searched, what is overwritten is gone, and nothing is copied. A search of more than ``FLAT_FLOATS`` asks
``VectorTable.coarse`` first, a binary FAISS index of one bit a dimension, for the rows that are worth comparing.

Beside the files of ``vector_rows`` the folder holds ``append.lock``, taken while vectors are appended or swept out.
"""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import faiss
import numpy as np
from numpy.typing import NDArray

from moechat.index.vector_rows import (
    ROWS_AT_ONCE,
    Ints,
    KeyOrder,
    Keys,
    PackedKeys,
    VectorRows,
    Vectors,
    dim_of,
    pack_keys,
)
from moechat.store import disk

TOLERANCE = 1e-6  # Without it a float32 .38 is not >= .38 (golden of seed 003).
MISSING = -1.0  # This is the score of a position that holds no vector.
FLAT_FLOATS = 16 << 20  # Rows * dim that a flat scan compares in 2 ms.
CANDIDATES = 1200  # Rows among which .98 of the 50 nearest of 200,000 are.
CANDIDATES_PER_ROW = 20  # For each row that is asked for, at least.
MIXED = 64  # Neighbouring dimensions that are mixed before each gives a bit: a vector may be sparse.
MEAN_OF = 4096  # Rows that the mean is taken of.
LEFT_BEHIND = ("lists.npy", "centroids.npy")  # Earlier versions wrote these.


def meets(score: float | NDArray[Any], threshold: float) -> Any:
    """``score >= threshold`` with a tolerance of 1e-6 for scores that were float32: a bool, or an array of them."""
    return score >= threshold - TOLERANCE


def as_query(query: NDArray[Any], dim: int) -> Vectors:
    """``query`` as a contiguous float32 array. Raises ValueError where its shape is not (dim,)."""
    query = np.ascontiguousarray(query, dtype=np.float32)
    if query.shape != (dim,):
        raise ValueError(f"a query of shape {query.shape}, not ({dim},)")
    return query


def best(positions: Ints, scores: Vectors, k: int) -> tuple[Ints, Vectors]:
    """The ``k`` best, best first, ties by position."""
    order = np.lexsort((positions, -scores))[: max(k, 0)]
    return positions[order], scores[order]


class VectorTable:
    """The vectors of one layer. ``folder`` None keeps all in memory, or wherever ``rows`` keep them.

    Vectors are expected at unit length, so that an inner product is a cosine. Safe to use from several threads and
    processes. Raises OSError where the disk is full or not writable. Its methods are many since the rows and the indexes that
    lie over them change together.
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
        self.index = faiss.IndexFlatIP(dim)
        self._indexed = np.zeros((0, dim), dtype=np.float32)
        self.coarse: CoarseIndex | None = None
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
        self._index_rows()

    def _index_rows(self) -> None:
        """Let the indexes search the rows as they are now."""
        if self._indexed is not self._rows.vectors:
            self.index, self._indexed = faiss.IndexFlatIP(self.dim), self._rows.vectors
            _lay_over(self.index, "codes", self._indexed)
        self.index.ntotal = self._rows.count if self._rows.vectors.size else 0
        if self.coarse is not None:
            self.coarse.is_behind = True

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
            self._index_rows()
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
        """``(n,)`` float32: the exact cosine of each position with ``query`` (dim,), MISSING where there is no vector."""
        positions, query = np.asarray(positions, dtype=np.int64), as_query(query, self.dim)
        with self._lock:
            index, held = self.index, self.held(positions)
        if held.all():
            return _cosines(index, positions, query)
        scores = np.full(len(positions), MISSING, dtype=np.float32)
        scores[held] = _cosines(index, positions[held], query)
        return scores

    def top(self, query: NDArray[Any], k: int, allowed: NDArray[np.bool_] | None = None) -> tuple[Ints, Vectors]:
        """The ``k`` positions nearest to ``query`` (dim,) and their cosines, best first, ties by position.

        ``allowed`` is a mask by position; positions beyond its end are not allowed. Exact while the allowed rows are
        few; beyond ``flat_floats`` those are compared that the coarse index brings up.
        """
        return best(*self._nearest(query, k, allowed), k)

    def nearest(self, query: NDArray[Any], positions: Ints, k: int) -> tuple[Ints, Vectors]:
        """As ``top`` among these positions (-1 for none; several may be the same), but gives their places in the list, ties by
        place."""
        allowed = np.zeros(int(positions.max(initial=-1)) + 1, np.bool_)
        allowed[positions[positions >= 0]] = True
        near, scores = self._nearest(query, k, allowed)
        score_at = np.full(len(allowed) + 1, -np.inf, np.float32)  # The last is that of -1.
        score_at[near] = scores
        places = np.flatnonzero(np.isfinite(score_at[positions]))
        return best(places, score_at[positions[places]], k)

    def _nearest(self, query: NDArray[Any], k: int, allowed: NDArray[np.bool_] | None) -> tuple[Ints, Vectors]:
        """The ``k`` nearest, and those that are exactly as near as the last of them, in any order."""
        query = as_query(query, self.dim)
        with self._lock:
            index, count, vectors = self.index, self._rows.count, self._rows.vectors
            keys, mask = self._rows.keys[:count], self._rows.filled[:count]
        if allowed is not None:
            mask = mask[: len(allowed)] & np.asarray(allowed[:count], dtype=bool)
        number = int(np.count_nonzero(mask))
        if not number or k <= 0:
            return np.zeros(0, np.int64), np.zeros(0, np.float32)
        if number * self.dim <= self.flat_floats:
            return _flat_search(index, query, k, mask, number)
        positions = self._coarse(keys, vectors).near(query, min(number, max(CANDIDATES, CANDIDATES_PER_ROW * k)), mask)
        return positions, _cosines(index, positions, query)

    def _coarse(self, keys: PackedKeys, vectors: Vectors) -> CoarseIndex:
        with self._lock:
            coarse = self.coarse = self.coarse or CoarseIndex(self.dim)
        coarse.follow(keys, vectors)
        return coarse

    def prepare(self) -> None:
        """Make the coarse index that a search would wait for, if the table is large."""
        with self._lock:
            vectors, keys, coarse = self._rows.vectors, self._rows.keys[: self._rows.count], self.coarse
        if len(keys) * self.dim > self.flat_floats:
            self._coarse(keys, vectors)
            if coarse is None:
                self._rows.release_pages()


def _lay_over(index: Any, name: str, rows: NDArray[Any]) -> None:
    """Let a FAISS index search rows where they lie, which live as long as it does."""
    index.referenced_objects = [rows]
    if rows.size:
        flat = rows.reshape(-1).view(np.uint8)
        # Its owner is a pointer into it, so that it must live until that was copied.
        unowned = faiss.MaybeOwnedVectorUInt8()
        view = faiss.MaybeOwnedVectorUInt8.create_view(faiss.swig_ptr(flat), flat.size, unowned.owner)
        setattr(index, name, view)


def _one_thread() -> None:
    """One thread is fastest for a single query (a second costs up to 8 ms on a busy machine); FAISS asks it of each caller."""
    faiss.omp_set_num_threads(1)


def _among(mask: NDArray[np.bool_], index: faiss.Index | faiss.IndexBinary) -> faiss.SearchParameters | None:
    """Only rows of the mask are found; None where these are all."""
    if np.count_nonzero(mask) == index.ntotal:
        return None
    return faiss.SearchParameters(sel=faiss.IDSelectorBitmap(np.packbits(mask, bitorder="little")))


def _cosines(index: faiss.IndexFlatIP, positions: Ints, query: Vectors) -> Vectors:
    """``(n,)`` float32, MISSING for a damaged row. Equal rows get equal scores, wherever they stand."""
    scores = np.empty(len(positions), dtype=np.float32)
    if len(positions):
        _one_thread()
        positions = np.ascontiguousarray(positions)
        index.compute_distance_subset(
            1, faiss.swig_ptr(query), len(positions), faiss.swig_ptr(scores), faiss.swig_ptr(positions)
        )
        scores[~np.isfinite(scores)] = MISSING
    return scores


def _flat_search(
    index: faiss.IndexFlatIP, query: Vectors, k: int, mask: NDArray[np.bool_], number: int
) -> tuple[Ints, Vectors]:
    """The ``k`` best of the ``number`` rows of a mask, and all that tie with the last of them."""
    _one_thread()
    params = _among(mask, index)
    products, labels = index.search(query[None], min(k + 1, number), params=params)
    scores, positions = products[0], labels[0]
    if k < number and scores[k] == scores[k - 1]:  # FAISS leaves open which of them come
        below = float(np.nextafter(scores[k], np.float32(-np.inf)))
        _, scores, positions = index.range_search(query[None], below, params=params)
    right = (positions >= 0) & (positions < len(mask)) & np.isfinite(scores)
    return positions[right], scores[right]


class CoarseIndex:
    """One bit a dimension of each row, in a ``faiss.IndexBinaryFlat``. It gives candidates, never scores.

    A bit says on which side of the mean a dimension lies, so that two vectors that are near each other differ in few bits
    (Charikar 2002). Nothing is trained and nothing is kept in a file: 200,000 rows take .2 s (``faiss.IndexLSH``, which
    mixes all dimensions with each other, .8 s, and finds as much). Safe to use from several threads.
    """

    def __init__(self, dim: int) -> None:
        size = math.gcd(dim, MIXED)
        rotation, _ = np.linalg.qr(np.random.default_rng(20).standard_normal((size, size)))
        self._rotation = rotation.astype(np.float32)
        self._mean = np.zeros(0, dtype=np.float32)  # of some rows, mixed
        self._codes = np.zeros((0, -(-dim // 64) * 8), dtype=np.uint8)
        self._made_for = np.zeros(0, dtype=np.uint64)  # by position: the first half of the key
        self._lock = threading.Lock()
        self.index = self._empty()
        self.is_behind = True

    def _empty(self) -> faiss.IndexBinaryFlat:
        index = faiss.IndexBinaryFlat(8 * self._codes.shape[1])
        index.use_heap = False  # To count how many differ in each number of bits is quicker than a heap of a thousand.
        return index

    def follow(self, keys: PackedKeys, vectors: Vectors) -> None:
        """Index what is not indexed as what it is now."""
        with self._lock:
            if not self.is_behind and len(keys) == self.index.ntotal:
                return
            self.is_behind = False
            if len(keys) > len(self._codes):
                more = max(len(keys) - len(self._codes), len(self._codes) // 4)
                self._codes = np.concatenate([self._codes, np.zeros((more, self._codes.shape[1]), np.uint8)])
                self._made_for = np.concatenate([self._made_for, np.zeros(more, np.uint64)])
                self.index = self._empty()
                _lay_over(self.index, "xb", self._codes)
            changed = np.flatnonzero(keys[:, 0] != self._made_for[: len(keys)])
            marks = keys[changed, 0]
            if not len(self._mean) and len(changed):
                sample = vectors[changed[:: len(changed) // MEAN_OF + 1]]
                self._mean = self._mixed(np.nan_to_num(sample, posinf=0, neginf=0)).mean(axis=0)
            for start in range(0, len(changed), ROWS_AT_ONCE):
                rows = changed[start : start + ROWS_AT_ONCE]
                self._codes[rows] = self._code(vectors[rows])
            self._made_for[changed] = marks
            self.index.ntotal = len(keys)

    def near(self, query: Vectors, count: int, mask: NDArray[np.bool_]) -> Ints:
        """``count`` of the positions of ``mask``, those that differ in the fewest bits from ``query``."""
        _one_thread()
        with self._lock:
            index = self.index
        _, labels = index.search(self._code(query[None]), count, params=_among(mask, index))
        near: Ints = labels[0][labels[0] >= 0]
        return near

    def _code(self, rows: Vectors) -> NDArray[np.uint8]:
        codes = np.zeros((len(rows), self._codes.shape[1]), dtype=np.uint8)
        bits = np.packbits(self._mixed(rows) > self._mean, axis=1)
        codes[:, : bits.shape[1]] = bits
        return codes

    def _mixed(self, rows: Vectors) -> Vectors:
        with np.errstate(all="ignore"):  # a damaged row gets some code
            return (rows.reshape(-1, len(self._rotation)) @ self._rotation).reshape(rows.shape)


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
        disk.clear(path)
    return [VectorTable(parent, dim) for parent, dim in dims.items() if dim is not None]
