"""The arithmetic of the memory stream: recency, relevance and importance into one score (seeds 000 and 001).

Pure functions over arrays, one entry per memory, in any order. They know no memory, no file and no clock; times are
epoch seconds, scores have no unit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

# Values that differ by less than this share of their size are equal: identical vectors give cosines that differ in the
# last bits, and min-max would blow that noise up to the whole range.
_EQUAL = 1e-12


@dataclass(frozen=True, slots=True)
class ScoreWeights:
    """The weights of the parts of a score. ``a * b`` multiplies part by part."""

    recency: float = 1.0
    relevance: float = 1.0
    importance: float = 1.0

    def __mul__(self, other: ScoreWeights) -> ScoreWeights:
        return ScoreWeights(
            self.recency * other.recency, self.relevance * other.relevance, self.importance * other.importance
        )


# The fixed factors of generative agents (seed 000, 3.4), multiplied by the persona's own weights.
GENERATIVE_AGENTS = ScoreWeights(recency=0.5, relevance=3.0, importance=2.0)


@dataclass(frozen=True, slots=True)
class Scored:
    """Scores and the parts they were made of, as they went in: (n,) float64 each."""

    recency: Array
    relevance: Array
    importance: Array
    score: Array


def min_max(values: ArrayLike) -> Array:
    """Scale to [0, 1]. Where all values are equal (or there is only one), each becomes 0.5; none give an empty array."""
    numbers = np.asarray(values, dtype=np.float64)
    if not numbers.size:
        return np.zeros(0)
    low, high = float(numbers.min()), float(numbers.max())
    if high - low <= _EQUAL * max(abs(low), abs(high)):
        return np.full(numbers.shape, 0.5)
    return (numbers - low) / (high - low)


def access_order(
    accessed: ArrayLike, created: ArrayLike, ids: ArrayLike, *, oldest_first: bool = False
) -> NDArray[np.int64]:
    """Positions, most recently accessed first; ties by creation, then id, newest (greatest) first.

    ``ids`` are numbers that grow with age's end (a node's count, a row) or strings; numbers sort faster.
    ``oldest_first`` is the original's order (seed 000, 3.2, compat): least recently accessed first, ties as given.
    """
    used = np.asarray(accessed, dtype=np.float64)
    order = np.argsort(used, kind="stable")
    if oldest_first:
        return order
    same = np.flatnonzero(np.diff(used[order]) == 0)
    if same.size:  # only those that were accessed together need the costlier keys
        places = np.union1d(same, same + 1)
        tied = order[places]
        keys = (np.asarray(ids)[tied], np.asarray(created, dtype=np.float64)[tied], used[tied])
        order[places] = tied[np.lexsort(keys)]
    return order[::-1]


def recency_by_rank(accessed: ArrayLike, created: ArrayLike, ids: ArrayLike, decay: float) -> Array:
    """decay^i for the i-th memory of ``access_order``, i from 1 (seed 000, 3.3), in the order of the arguments.

    By rank, not by age: two neighbours differ by the same factor whether a minute or a year lies between them.
    """
    order = access_order(accessed, created, ids)
    recency = np.empty(order.size)
    recency[order] = float(decay) ** np.arange(1, order.size + 1)
    return recency


def recency_by_age(accessed: ArrayLike, now: float, decay: float, unit_s: float) -> Array:
    """decay^(age in units of ``unit_s`` seconds); an access in the future counts as one at ``now``.

    Seed 001 counts seconds (``unit_s`` 1), the house hours (3600).
    """
    age = np.maximum(0.0, float(now) - np.asarray(accessed, dtype=np.float64))
    return np.asarray(float(decay) ** (age / unit_s), dtype=np.float64)


def cosine(matrix: ArrayLike, vector: ArrayLike) -> Array:
    """Cosine of each row of ``matrix`` (n, dim) with ``vector`` (dim,); 0 where either has no length."""
    rows, one = np.asarray(matrix), np.asarray(vector)
    if not rows.shape[0]:
        return np.zeros(0)
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64)) * np.linalg.norm(one.astype(np.float64))
    dots = np.asarray(rows @ one.astype(rows.dtype, copy=False), dtype=np.float64)
    cosines: Array = np.divide(dots, lengths, out=np.zeros(rows.shape[0]), where=lengths > 0)
    return cosines


def scores(
    recency: ArrayLike,
    relevance: ArrayLike,
    importance: ArrayLike,
    weights: ScoreWeights,
    normalise_importance: bool = True,
) -> Scored:
    """The weighted sum of the three parts, each min-max to [0, 1] first (seed 000, 3.4).

    Seed 001 leaves importance as it is (0.1 to 1): ``normalise_importance`` False.
    """
    recent, relevant = min_max(recency), min_max(relevance)
    important = min_max(importance) if normalise_importance else np.asarray(importance, dtype=np.float64)
    total = weights.recency * recent + weights.relevance * relevant + weights.importance * important
    return Scored(recent, relevant, important, total)


def order(scores: ArrayLike, n: int) -> NDArray[np.int64]:
    """Positions of the ``n`` best scores, best first; equal scores keep the order they were given in."""
    falling = -np.asarray(scores, dtype=np.float64)
    if n <= 0 or not falling.size:
        return np.zeros(0, dtype=np.int64)
    if n >= falling.size:
        return np.argsort(falling, kind="stable")
    worst = np.partition(falling, n - 1)[n - 1]
    kept = np.flatnonzero(falling <= worst)
    return kept[np.argsort(falling[kept], kind="stable")][:n]
