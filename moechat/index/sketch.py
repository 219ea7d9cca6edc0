"""Sketches of vectors, one bit a dimension: they bring up candidates for the nearest, without reading all vectors.

They give candidates, never scores. A bit says on which side of the mean a dimension lies, so that two vectors that are
near each other differ in few bits (Charikar 2002). Neighbouring dimensions are mixed before, since a vector may be sparse.
Nothing is trained and nothing is kept in a file.
"""

from __future__ import annotations

import math
import threading

import faiss
import numpy as np
from numpy.typing import NDArray

from moechat.index.cosine import BLOCK_ROWS, Ints, Vectors
from moechat.index.vector_keys import PackedKeys

CANDIDATES = 1000  # At least so many: .99 of the 50 best of 100,000 sentences are among them.
CANDIDATES_PER_ROW = 20  # So many for each row that is asked for.
MIXED = 64  # Up to so many neighbouring dimensions are mixed with each other.
MEAN_OF = 4096  # About so many rows give the mean.


class Sketches:
    """The sketches of one table's rows. Safe to use from several threads."""

    def __init__(self, dim: int) -> None:
        self._lock = threading.Lock()
        size = math.gcd(dim, MIXED)
        rotation, _ = np.linalg.qr(np.random.default_rng(20).standard_normal((size, size)))
        self._rotation = rotation.astype(np.float32)
        self._mean = np.zeros(0, dtype=np.float32)  # of some rows, mixed
        self._codes = np.zeros((0, -(-dim // 64) * 8), dtype=np.uint8)
        self._made_for = np.zeros(0, dtype=np.uint64)  # by position: the first half of the key

    def follow(self, keys: PackedKeys, vectors: Vectors) -> int:
        """Sketch what is not sketched as what it is now. Returns how many rows that were."""
        with self._lock:
            more = len(keys) - len(self._codes)
            if more > 0:
                self._codes = np.concatenate([self._codes, np.zeros((more, self._codes.shape[1]), np.uint8)])
                self._made_for = np.concatenate([self._made_for, np.zeros(more, np.uint64)])
            changed = np.flatnonzero(keys[:, 0] != self._made_for[: len(keys)])
            marks = keys[changed, 0]
            if not len(self._mean) and len(changed):
                sample = vectors[changed[:: len(changed) // MEAN_OF + 1]]
                self._mean = self._mixed(np.nan_to_num(sample, posinf=0, neginf=0)).mean(axis=0)
            for start in range(0, len(changed), BLOCK_ROWS):
                rows = changed[start : start + BLOCK_ROWS]
                bits = np.packbits(self._mixed(vectors[rows]) > self._mean, axis=1)
                self._codes[rows, : bits.shape[1]] = bits
            self._made_for[changed] = marks
            return len(changed)

    def candidates(self, query: Vectors, k: int, mask: NDArray[np.bool_]) -> Ints:
        """The positions that ``mask`` allows and that may be among the ``k`` nearest to ``query``, ascending."""
        code = np.zeros(self._codes.shape[1], dtype=np.uint8)
        bits = np.packbits(self._mixed(query) > self._mean)
        code[: len(bits)] = bits
        faiss.omp_set_num_threads(1)
        codes, distances = self._codes[: len(mask)], np.empty(len(mask), dtype=np.int32)
        faiss.hammings(
            faiss.swig_ptr(code), faiss.swig_ptr(codes), 1, len(codes), codes.shape[1], faiss.swig_ptr(distances)
        )
        distances[~mask] = 8 * codes.shape[1] + 1
        within = np.cumsum(np.bincount(distances))
        near = np.flatnonzero(distances <= np.searchsorted(within, max(CANDIDATES, CANDIDATES_PER_ROW * k)))
        return near[mask[near]]

    def _mixed(self, rows: Vectors) -> Vectors:
        with np.errstate(all="ignore"):  # a damaged row gets some sketch
            return (rows.reshape(-1, len(self._rotation)) @ self._rotation).reshape(rows.shape)
