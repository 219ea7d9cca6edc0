"""Inverted lists: which vectors may be near, without looking at all of them. Trained with k-means, searched with FAISS.

They give candidates, never scores. What they keep on disk are two plain arrays (see ``moechat.index.vector``).
"""

from __future__ import annotations

import os
import threading
import zlib
from pathlib import Path

import faiss
import numpy as np

PROBED = 1 / 8  # share of the lists that a search looks at: .98 of the ten best of real sentences, .94 of 200
PROBED_ROWS = 1 << 15  # but about so many rows at most
BLOCK_ROWS = 4096


class InvertedLists:
    """Inverted lists over a FAISS index with 8-bit codes; they give candidates, never scores.

    A row whose text changed is simply added again: its old code can only bring up a candidate, which is then scored by
    what the table holds.
    """

    def __init__(self, centroids: np.ndarray, sample: np.ndarray, trained_on: int) -> None:
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
    def train(cls, vectors: np.ndarray, filled: np.ndarray, stop: threading.Event) -> InvertedLists | None:
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
        cls, folder: Path | None, keys: np.ndarray, vectors: np.ndarray, stop: threading.Event
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
            (centroids.dtype, places.dtype) == (np.float32, np.uint32)
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

    def absent(self, keys: np.ndarray) -> np.ndarray:
        """Filled positions that are not in the lists as what they are now."""
        known = np.zeros(len(keys), dtype=bool)
        rows = min(len(keys), len(self._places))
        known[:rows] = (self._places[:rows, 0] > 0) & (self._places[:rows, 1] == _marks(keys[:rows]))
        return np.flatnonzero(filled_rows(keys) & ~known)

    def absorb(self, vectors: np.ndarray, keys: np.ndarray, stop: threading.Event) -> None:
        """Put all that is absent into the lists."""
        absent = self.absent(keys)
        for start in range(0, len(absent), BLOCK_ROWS):
            block = absent[start : start + BLOCK_ROWS]
            rows = np.nan_to_num(vectors[block], posinf=0, neginf=0)
            nearest = _nearest(rows, self.centroids, stop)
            if nearest is None:
                return
            self._add(block, rows, nearest, keys[block])

    def _add(self, positions: np.ndarray, rows: np.ndarray, lists: np.ndarray, keys: np.ndarray) -> None:
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

    def candidates(self, query: np.ndarray, k: int, mask: np.ndarray | None) -> np.ndarray:
        """About ``k`` positions near ``query``, of those allowed by ``mask``; unordered, -1 among them where few."""
        faiss.omp_set_num_threads(1)
        bits = np.packbits(mask, bitorder="little") if mask is not None else None
        selector = faiss.IDSelectorBitmap(bits) if bits is not None else None
        share = min(PROBED, PROBED_ROWS / max(1, len(self._places)))
        probe = max(8, int(len(self.centroids) * share))
        with self._lock:
            _, found = self._index.search(query[None], k, params=faiss.SearchParametersIVF(nprobe=probe, sel=selector))
        return found[0]


def _marks(keys: np.ndarray) -> np.ndarray:
    return (keys[:, 0] & np.uint64(0xFFFFFFFF)).astype(np.uint32)


def _nearest(rows: np.ndarray, centroids: np.ndarray, stop: threading.Event) -> np.ndarray | None:
    """``(n,)`` int64: the nearest centroid of each row; None when stopped."""
    parts = []
    for start in range(0, len(rows), BLOCK_ROWS):
        if stop.is_set():
            return None
        _, found = faiss.knn(rows[start : start + BLOCK_ROWS], centroids, 1, faiss.METRIC_INNER_PRODUCT)
        parts.append(found[:, 0])
    return np.concatenate(parts)


def filled_rows(keys: np.ndarray) -> np.ndarray:
    return (keys[:, 0] | keys[:, 1]) != 0
