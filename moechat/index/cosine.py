"""Exact cosines of unit vectors: scores, and the best of them."""

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


def nearest(query: NDArray[Any], rows: Vectors, k: int) -> tuple[Ints, Vectors]:
    """The ``k`` best of all ``rows`` (n, dim) for ``query`` (dim,), and their cosines, best first, ties by row."""
    return best(np.arange(len(rows)), inner_products(as_query(query, rows.shape[1]), rows), k)
