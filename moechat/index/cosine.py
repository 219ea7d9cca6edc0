"""Exact cosines of unit vectors: scores, the best of them, and a small index over all rows of an array."""

from __future__ import annotations

from typing import Any

import faiss
import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Vectors = NDArray[np.float32]

TOLERANCE = 1e-6  # Without it a float32 .38 is not >= .38 (golden of seed 003).
MISSING = -1.0  # This is the score of a position that holds no vector.
BLOCK_ROWS = 4096  # Rows that lie apart are read in blocks of this size.


def meets(score: float | NDArray[Any], threshold: float) -> Any:
    """``score >= threshold`` with a tolerance of 1e-6 for scores that were float32: a bool, or an array of them."""
    return score >= threshold - TOLERANCE


def as_query(query: NDArray[Any], dim: int) -> Vectors:
    """``query`` as a contiguous float32 array. Raises ValueError where its shape is not (dim,)."""
    query = np.ascontiguousarray(query, dtype=np.float32)
    if query.shape != (dim,):
        raise ValueError(f"a query of shape {query.shape}, not ({dim},)")
    return query


def inner_products(query: Vectors, rows: Vectors) -> Vectors:
    """``(n,)`` float32 of contiguous ``rows`` (n, dim) with ``query`` (dim,), in the calling thread alone.

    Not ``rows @ query``: a second BLAS thread costs up to 8 ms on a busy machine, and here equal rows get equal scores
    wherever they stand. The score of a damaged row is MISSING.
    """
    scores = np.empty(len(rows), dtype=np.float32)
    if len(rows):
        faiss.fvec_inner_products_ny(
            faiss.swig_ptr(scores), faiss.swig_ptr(query), faiss.swig_ptr(rows), rows.shape[1], len(rows)
        )
    damaged = ~np.isfinite(scores)
    if damaged.any():
        scores[damaged] = MISSING
    return scores


def scores_at(positions: Ints, query: Vectors, vectors: Vectors) -> Vectors:
    """Cosines at existing ``positions``: one pass over the whole stretch where they fill half of it, else by blocks."""
    if not len(positions):
        return np.zeros(0, dtype=np.float32)
    first, last = int(positions.min()), int(positions.max())
    if last - first < 2 * len(positions):
        stretch = inner_products(query, vectors[first : last + 1])
        whole = len(stretch) == len(positions) and bool((positions[1:] > positions[:-1]).all())
        return stretch if whole else stretch[positions - first]
    blocks = range(0, len(positions), BLOCK_ROWS)
    return np.concatenate([inner_products(query, vectors[positions[b : b + BLOCK_ROWS]]) for b in blocks])


def best(positions: Ints, scores: Vectors, k: int) -> tuple[Ints, Vectors]:
    """The ``k`` best of ascending ``positions``, best first, ties by position."""
    if 0 < k < len(scores):
        keep = np.flatnonzero(scores >= np.partition(scores, len(scores) - k)[len(scores) - k])
        positions, scores = positions[keep], scores[keep]
    order = np.argsort(-scores, kind="stable")[: max(k, 0)]
    return positions[order], scores[order]


class FlatIndex:
    """A small set of unit vectors (facts, keywords), (n, dim), searched exactly with FAISS. Ids are the row numbers."""

    def __init__(self, vectors: NDArray[Any]) -> None:
        self._index = faiss.IndexFlatIP(vectors.shape[1])
        if len(vectors):
            self._index.add(np.ascontiguousarray(vectors, dtype=np.float32))

    def __len__(self) -> int:
        return int(self._index.ntotal)

    def search(self, query: NDArray[Any], k: int) -> tuple[Ints, Vectors]:
        """``(ids, scores)`` of the at most ``k`` rows nearest to ``query`` (dim,), best first, ties by id."""
        return self.search_many(np.asarray(query)[None], k)[0]

    def search_many(self, queries: NDArray[Any], k: int) -> list[tuple[Ints, Vectors]]:
        """``search`` for each row of ``queries`` (m, dim)."""
        size = min(max(k, 0) + 16, len(self))  # more than asked for, so that equal scores at the end keep their order
        if not size or not len(queries) or k <= 0:
            return [(np.zeros(0, np.int64), np.zeros(0, np.float32)) for _ in queries]
        faiss.omp_set_num_threads(1)
        scores, ids = self._index.search(np.ascontiguousarray(queries, dtype=np.float32), size)
        orders = [np.lexsort((row_ids, -row)) for row_ids, row in zip(ids, scores, strict=True)]
        return [(ids[row][order[:k]], scores[row][order[:k]]) for row, order in enumerate(orders)]
