"""Inverted lists: candidates for the nearest vectors, without looking at all of them. Trained with k-means, searched
with FAISS.

They give candidates, never scores. ``ListTrainer`` is the thread that keeps those of one table. Two arrays are kept in
the folder of the table:

    centroids.npy    (lists, dim) float32: the trained centres
    lists.npy        (1 + n, 2) uint32: a check of the centres, then of each position its list + 1 (0: none) and the
                     first 4 bytes of the key that it was put there for
"""

from __future__ import annotations

import logging
import os
import threading
import zlib
from pathlib import Path

import faiss
import numpy as np
from numpy.typing import NDArray

from moechat.index.cosine import BLOCK_ROWS, Ints, Vectors
from moechat.index.vector_keys import PackedKeys, filled_rows
from moechat.index.vector_rows import VectorRows

PROBED = 1 / 8  # A search looks at this share of the lists: .98 of the ten best of real sentences, .94 of 200.
PROBED_ROWS = 1 << 15  # A search looks at about so many rows at most.
PENDING_ROWS = 2048  # So many rows beside the lists are scanned before they are put in.

log = logging.getLogger(__name__)


class InvertedLists:
    """Inverted lists over a FAISS index with 8-bit codes.

    A row whose text changed is simply added again: its old code can only bring up a candidate, which is then scored by
    what the table holds.
    """

    def __init__(self, centroids: Vectors, sample: Vectors, trained_on: int) -> None:
        self.centroids, self.trained_on = np.ascontiguousarray(centroids, dtype=np.float32), trained_on
        self._places = np.zeros((0, 2), dtype=np.uint32)  # by position: list + 1, first bytes of the key
        self._lock = threading.Lock()
        dim = centroids.shape[1]
        self._quantizer = faiss.IndexFlatIP(dim)
        self._quantizer.add(self.centroids)
        self._index = faiss.IndexIVFScalarQuantizer(
            self._quantizer, dim, len(centroids), faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT, False
        )
        self._index.train(sample)

    @classmethod
    def train(cls, vectors: Vectors, filled: Ints, stop: threading.Event) -> InvertedLists | None:
        """Spherical k-means over a seeded sample, in blocks so that it stops at once; None when stopped."""
        number = 1 << round(np.log2(2 * np.sqrt(len(filled))))
        rng = np.random.default_rng(20)
        sample = vectors[np.sort(rng.choice(filled, min(len(filled), 48 * number), replace=False))]
        sample = np.nan_to_num(sample, posinf=0, neginf=0)
        centroids = sample[rng.choice(len(sample), number, replace=False)]
        for _ in range(8):
            nearest = _nearest(sample, centroids, stop)
            if nearest is None:
                return None
            order = np.argsort(nearest, kind="stable")
            present, starts = np.unique(nearest[order], return_index=True)
            means = sample[rng.choice(len(sample), number, replace=False)]  # for lists that nobody is nearest to
            means[present] = np.add.reduceat(sample[order], starts, axis=0)
            lengths = np.linalg.norm(means, axis=1, keepdims=True)
            centroids = means / np.where(lengths > 0, lengths, 1)
        return cls(centroids, sample[:16384], len(filled))

    @classmethod
    def load(
        cls, folder: Path | None, keys: PackedKeys, vectors: Vectors, stop: threading.Event
    ) -> InvertedLists | None:
        """What an earlier run trained; None where it is absent, damaged or outgrown. Its rows are added again."""
        if folder is None:
            return None
        try:
            # Mapped first, since a header may promise more than the file holds.
            centroids = np.array(np.load(folder / "centroids.npy", mmap_mode="r", allow_pickle=False))
            places = np.array(np.load(folder / "lists.npy", mmap_mode="r", allow_pickle=False))
        except (OSError, ValueError, EOFError):
            return None
        filled = np.flatnonzero(filled_rows(keys))
        shapes = (centroids.ndim, places.ndim, centroids.shape[1:], places.shape[1:])
        sound = (
            centroids.dtype == np.float32
            and places.dtype == np.uint32
            and shapes == (2, 2, vectors.shape[1:], (2,))
            and min(len(centroids), len(places) - 1) > 0
            and bool(np.isfinite(centroids).all())
            and places[0, 0] == zlib.crc32(centroids.tobytes())
            and places[1:, 0].max() <= len(centroids)
            and len(keys) <= 4 * int(places[0, 1])
        )
        if not sound:
            return None
        step = max(1, len(filled) // 16384)
        lists = cls(centroids, np.nan_to_num(vectors[filled[::step]], posinf=0, neginf=0), int(places[0, 1]))
        places = places[1 : 1 + len(keys)]
        good = np.flatnonzero((places[:, 0] > 0) & (places[:, 1] == _marks(keys[: len(places)])))
        for start in range(0, len(good), BLOCK_ROWS):
            if stop.is_set():
                return None
            block = good[start : start + BLOCK_ROWS]
            lists._add(block, vectors[block], places[block, 0].astype(np.int64) - 1, keys[block])
        return lists

    def save(self, folder: Path | None) -> None:
        if folder is None:
            return
        check = np.array([[zlib.crc32(self.centroids.tobytes()), self.trained_on]], dtype=np.uint32)
        for name, array in (("centroids", self.centroids), ("lists", np.concatenate([check, self._places]))):
            fresh = folder / f"{name}.{os.getpid()}.tmp"
            with fresh.open("wb") as file:
                np.save(file, array, allow_pickle=False)
            fresh.replace(folder / f"{name}.npy")

    def absent(self, keys: PackedKeys) -> Ints:
        """Filled positions that are not in the lists as what they are now."""
        present = np.zeros(len(keys), dtype=bool)
        rows = min(len(keys), len(self._places))
        present[:rows] = (self._places[:rows, 0] > 0) & (self._places[:rows, 1] == _marks(keys[:rows]))
        return np.flatnonzero(filled_rows(keys) & ~present)

    def absorb(self, vectors: Vectors, keys: PackedKeys, stop: threading.Event) -> None:
        """Add all absent positions to the lists."""
        absent = self.absent(keys)
        for start in range(0, len(absent), BLOCK_ROWS):
            block = absent[start : start + BLOCK_ROWS]
            rows = np.nan_to_num(vectors[block], posinf=0, neginf=0)
            nearest = _nearest(rows, self.centroids, stop)
            if nearest is None:
                return
            self._add(block, rows, nearest, keys[block])

    def _add(self, positions: Ints, rows: Vectors, lists: Ints, keys: PackedKeys) -> None:
        rows, lists = np.ascontiguousarray(rows), np.ascontiguousarray(lists, dtype=np.int64)
        with self._lock:
            self._index.add_core(
                len(rows), faiss.swig_ptr(rows), faiss.swig_ptr(np.ascontiguousarray(positions)), faiss.swig_ptr(lists)
            )
        more = int(positions.max()) + 1 - len(self._places)
        if more > 0:
            self._places = np.concatenate([self._places, np.zeros((more, 2), dtype=np.uint32)])
        self._places[positions, 0] = lists + 1
        self._places[positions, 1] = _marks(keys)

    def candidates(self, query: Vectors, k: int, mask: NDArray[np.bool_] | None) -> Ints:
        """About ``k`` positions near ``query``, of those allowed by ``mask``; unordered, -1 among them where few."""
        faiss.omp_set_num_threads(1)
        bits = np.packbits(mask, bitorder="little") if mask is not None else None
        selector = faiss.IDSelectorBitmap(bits) if bits is not None else None
        share = min(PROBED, PROBED_ROWS / max(1, len(self._places)))
        probe = max(8, int(len(self.centroids) * share))
        with self._lock:
            _, ids = self._index.search(query[None], k, params=faiss.SearchParametersIVF(nprobe=probe, sel=selector))
        positions: Ints = ids[0]
        return positions


def _marks(keys: PackedKeys) -> NDArray[np.uint32]:
    return (keys[:, 0] & np.uint64(0xFFFFFFFF)).astype(np.uint32)


def _nearest(rows: Vectors, centroids: Vectors, stop: threading.Event) -> Ints | None:
    """``(n,)`` int64: the nearest centroid of each row; None when stopped."""
    parts = []
    for start in range(0, len(rows), BLOCK_ROWS):
        if stop.is_set():
            return None
        _, ids = faiss.knn(rows[start : start + BLOCK_ROWS], centroids, 1, faiss.METRIC_INNER_PRODUCT)
        parts.append(ids[:, 0])
    return np.concatenate(parts)


class ListTrainer:
    """The inverted lists of one table, trained and filled by a background thread.

    ``lock`` is the table's and guards what is kept here too.
    """

    def __init__(self, rows: VectorRows, lock: threading.RLock) -> None:
        self._rows = rows
        self._lock = lock
        self._lists: InvertedLists | None = None
        self._pending: set[int] = set()  # positions beside the lists
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()

    def _keys(self) -> PackedKeys:
        return self._rows.keys[: self._rows.count]

    def snapshot(self) -> tuple[InvertedLists | None, Ints]:
        """The lists, None before they are trained, and the positions that stand beside them."""
        if self._lists is None:
            return None, np.zeros(0, np.int64)
        return self._lists, np.fromiter(self._pending, dtype=np.int64)

    def note(self, positions: Ints) -> None:
        """These rows were written."""
        if self._lists is not None:
            self._pending.update(positions.tolist())

    def compare(self) -> None:
        """Look through all rows for those that are not in the lists as what they are now."""
        if self._lists is not None:
            self._pending = set(self._lists.absent(self._keys()).tolist())

    def forget(self) -> None:
        """Drop the lists, because the rows have been replaced."""
        self._lists, self._pending = None, set()

    def tend(self) -> None:
        """Start the thread, one at a time, if there is something to train or to add."""
        with self._lock:
            lists = self._lists
            due = lists is None or len(self._pending) >= PENDING_ROWS or self._rows.count > 4 * lists.trained_on
            if due and self._thread is None and not self._stop.is_set():
                self._thread = threading.Thread(target=self._work, name="moechat-vectors", daemon=True)
                self._thread.start()

    def wait(self) -> None:
        """Wait until the thread has done what there is to do."""
        thread = self._thread
        if thread is not None:
            thread.join()

    def stop(self) -> None:
        """End the thread for good and wait for it."""
        self._stop.set()
        self.wait()

    def _work(self) -> None:
        faiss.omp_set_num_threads(1)
        try:
            self._update()
        except Exception:  # the border of the thread: recall goes on without lists, and does not try for ever
            log.exception("vectors in %s: no index beyond the flat one", self._rows.folder or "memory")
            self._stop.set()
        finally:
            with self._lock:
                self._thread = None

    def _update(self) -> None:
        folder = self._rows.folder
        with self._lock:
            vectors, lists, keys = self._rows.vectors, self._lists, self._keys().copy()
        if lists is None:
            lists = InvertedLists.load(folder, keys, vectors, self._stop)
        if lists is None or len(keys) > 4 * lists.trained_on:
            lists = InvertedLists.train(vectors, np.flatnonzero(filled_rows(keys)), self._stop)
        if lists is None:
            return
        lists.absorb(vectors, keys, self._stop)
        with self._lock:
            if self._stop.is_set():
                return
            self._lists = lists
            self.compare()
            self._rows.release_pages()
        lists.save(folder)
