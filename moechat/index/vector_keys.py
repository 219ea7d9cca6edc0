"""The keys of vectors: they tell whether a stored vector belongs to a text, and where the vector of a key stands."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from moechat.model import Kind

KEY_BYTES = 16

Ints = NDArray[np.int64]
PackedKeys = NDArray[np.uint64]
Keys = Sequence[bytes] | PackedKeys


def text_key(text: str, kind: Kind = "passage") -> bytes:
    """16 bytes that stand for this text embedded as this kind (some models read a query differently)."""
    person = b"" if kind == "passage" else kind.encode()
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=KEY_BYTES, person=person).digest()


def pack_keys(keys: Keys) -> PackedKeys:
    """``(n, 2)`` uint64 from keys as bytes; what is packed already is passed through."""
    if isinstance(keys, np.ndarray):
        return keys
    return np.frombuffer(b"".join(keys), dtype="<u8").reshape(-1, 2)


def filled_rows(keys: PackedKeys) -> NDArray[np.bool_]:
    """Which rows of packed keys hold a key."""
    filled: NDArray[np.bool_] = (keys[:, 0] | keys[:, 1]) != 0
    return filled


class KeyOrder:
    """Positions by key: a sorted array of first halves, and a dict of what was added since."""

    def __init__(self, keys: PackedKeys) -> None:
        self._order = np.argsort(keys[:, 0], kind="stable")
        self._sorted = keys[self._order, 0]
        self._since: dict[bytes, int] = {}

    def add(self, keys: PackedKeys, positions: Ints) -> None:
        self._since.update((key.tobytes(), int(position)) for key, position in zip(keys, positions, strict=True))

    def find(self, queries: PackedKeys, keys: PackedKeys) -> Ints:
        """``(n,)`` a position of each key of ``queries``, or -1. A hit counts only if the row of ``keys`` still has the key."""
        places = np.full(len(queries), -1, dtype=np.int64)
        starts = np.searchsorted(self._sorted, queries[:, 0])
        rows = np.flatnonzero((starts < len(self._sorted)) & (len(keys) > 0))
        rows = rows[self._sorted[starts[rows]] == queries[rows, 0]]
        while len(rows):  # as a rule once: two keys seldom share their first half, nor does one stand in many rows
            positions = self._order[starts[rows]]
            inside = positions < len(keys)
            same = inside & (keys[np.where(inside, positions, 0)] == queries[rows]).all(axis=1)
            places[rows[same]] = positions[same]
            rows = rows[~same]
            starts[rows] += 1
            rows = rows[starts[rows] < len(self._sorted)]
            rows = rows[self._sorted[starts[rows]] == queries[rows, 0]]
        if self._since:
            for row, key in enumerate(_each(queries)):
                recent = self._since.get(key, -1)
                if 0 <= recent < len(keys) and (keys[recent] == queries[row]).all():
                    places[row] = recent
        return places


def _each(keys: PackedKeys) -> Iterator[bytes]:
    """Packed keys as bytes again."""
    packed = np.ascontiguousarray(keys).tobytes()
    return (packed[start : start + KEY_BYTES] for start in range(0, len(packed), KEY_BYTES))
