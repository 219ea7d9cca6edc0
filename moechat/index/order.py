"""Documents in the order of time, and the talks that they make: runs without a long pause."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.floating[Any]]


class Order:
    """Documents by time, and the talk that each place in that order belongs to."""

    def __init__(self, docs: Ints, times: Floats, gap_s: float) -> None:
        self._gap_s = gap_s
        order = docs[np.argsort(times[docs], kind="stable")]
        moments = times[order]
        self._docs = _Growing(order)
        self._times = _Growing(moments)
        pauses = np.diff(moments, prepend=moments[:1]) > gap_s
        self._talks = _Growing(np.cumsum(pauses, dtype=np.int64))
        self._places = np.full(int(docs.max()) + 1 if len(docs) else 0, -1, np.int64)
        self._places[order] = np.arange(len(order))

    @property
    def docs(self) -> Ints:
        return self._docs.values

    @property
    def times(self) -> Floats:
        return self._times.values

    @property
    def talks(self) -> Ints:
        return self._talks.values

    def places(self, docs: Ints) -> Ints:
        return self._places[docs]

    def append(self, doc: int, time: float) -> bool:
        """Put a document at the end; False where it belongs elsewhere."""
        last = len(self.docs) - 1
        if last >= 0 and (time, doc) < (self.times[last], self.docs[last]):
            return False
        new_talk = last >= 0 and time - self.times[last] > self._gap_s
        self._talks.append((self.talks[last] if last >= 0 else 0) + int(new_talk))
        self._docs.append(doc)
        self._times.append(time)
        if doc >= len(self._places):
            more = max(doc + 1 - len(self._places), len(self._places) // 4)
            self._places = np.concatenate([self._places, np.full(more, -1, np.int64)])
        self._places[doc] = last + 1
        return True


class _Growing:
    """An array with room at its end."""

    def __init__(self, values: NDArray[Any]) -> None:
        self._room, self._size = values, len(values)

    @property
    def values(self) -> NDArray[Any]:
        return self._room[: self._size]

    def append(self, value: float) -> None:
        if self._size == len(self._room):
            self._room = np.concatenate([self._room, np.zeros(self._size // 4 + 64, self._room.dtype)])
        self._room[self._size] = value
        self._size += 1
