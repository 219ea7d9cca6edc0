"""A deterministic embedder without a model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from moechat.encoder.base import Vectors, clean, unit
from moechat.encoder.known import thresholds_for
from moechat.model import Kind


class HashEmbedder:
    """A deterministic stand-in without a model, for tests, the demo and benchmarks.

    Words, characters and character bigrams are hashed into ``dim`` signed buckets: similar wording is near, equal
    meaning is not. The same vectors on every machine.
    """

    max_chars, batch = 1000, 2048

    def __init__(self, dim: int = 384) -> None:
        self.dim = dim
        self.fingerprint = f"hash-1-{dim}"
        self.thresholds = thresholds_for(self.fingerprint)

    def embed(self, texts: Sequence[str], kind: Kind = "passage") -> Vectors:
        parts = [self._embed(texts[start : start + self.batch]) for start in range(0, len(texts), self.batch)]
        return np.concatenate(parts) if parts else np.zeros((0, self.dim), dtype=np.float32)

    def _embed(self, texts: Sequence[str]) -> Vectors:
        cleaned = [clean(text, self.max_chars).lower() for text in texts]
        lengths = np.array([len(text) + 1 for text in cleaned])
        points = np.frombuffer(("\n".join(cleaned) + "\n").encode("utf-32-le"), dtype="<u4").astype(np.uint64)
        owner = np.repeat(np.arange(len(cleaned)), lengths)
        latin, other = _within(points, _LATIN), _within(points, _CJK)
        pairs = np.flatnonzero(other[:-1] & other[1:])
        words, places = _word_hashes(points, latin)
        features = [
            (owner[other], points[other] * np.uint64(0x9E3779B97F4A7C15), 0.5),
            (owner[pairs], points[pairs] * np.uint64(0xC2B2AE3D27D4EB4F) + points[pairs + 1] + np.uint64(1), 1.0),
            (owner[places], words, 1.0),
        ]
        sums = np.zeros(len(cleaned) * self.dim)
        for rows, hashes, weight in features:
            for salt in (0x165667B19E3779F9, 0x27D4EB2F165667C5):
                mixed = _mix(hashes + np.uint64(salt))
                sign = np.where(mixed >> np.uint64(63), weight, -weight)
                bucket = (mixed & np.uint64(0xFFFFFFFF)) % np.uint64(self.dim)
                sums += np.bincount(rows * self.dim + bucket.astype(np.int64), weights=sign, minlength=len(sums))
        return unit(sums.reshape(len(cleaned), self.dim))


_LATIN = ((0x30, 0x3A), (0x61, 0x7B), (0xC0, 0x250))  # Digits and letters form words.
_CJK = ((0x2E80, 0x3000), (0x3041, 0xFF00), (0xFF66, 0x110000))  # Each of these characters means something by itself.


def _within(points: NDArray[np.uint64], ranges: tuple[tuple[int, int], ...]) -> NDArray[np.bool_]:
    inside: NDArray[np.bool_] = np.logical_or.reduce([(points >= first) & (points < end) for first, end in ranges])
    return inside


def _mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of splitmix64, on uint64 with wrap-around."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def _word_hashes(points: NDArray[np.uint64], latin: NDArray[np.bool_]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """One hash for each run of ``latin`` characters, and where each run begins."""
    edges = np.diff(latin.astype(np.int8), prepend=0)
    starts = np.flatnonzero(edges == 1)
    if not len(starts):
        return np.zeros(0, dtype=np.uint64), starts
    run = np.cumsum(edges == 1)[latin] - 1
    inside = np.flatnonzero(latin) - starts[run]
    terms = _mix(points[latin] + inside.astype(np.uint64) * np.uint64(0x100000001B3))
    return np.add.reduceat(terms, np.flatnonzero(inside == 0)), starts
