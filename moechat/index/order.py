"""Documents in the order of time, and what stands beside each in its talk, up to a long pause."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.floating[Any]]


class Order:
    """``docs`` by time, with their ``times`` (epoch seconds). ``times`` and ``talks`` are given by document."""

    def __init__(self, docs: Ints, times: Floats, talks: NDArray[np.int32], gap_s: float) -> None:
        self._gap_s = gap_s
        order = docs[np.argsort(times[docs], kind="stable")]
        self._docs, self._times = _Growing(order), _Growing(times[order])
        self._before = np.full(int(docs.max()) + 1 if len(docs) else 0, -1, np.int64)
        self._after = self._before.copy()
        by_talk = order[np.argsort(talks[order], kind="stable")]
        same_talk = talks[by_talk[1:]] == talks[by_talk[:-1]]
        follows = same_talk & (np.diff(times[by_talk]) <= gap_s)
        self._join(by_talk[:-1][follows], by_talk[1:][follows])
        self._run = np.full(len(self._before), -1, np.int64)
        self._run[by_talk] = np.cumsum(~np.append(False, follows)) - 1 if len(by_talk) else 0
        self._sizes = _Growing(np.bincount(self._run[by_talk]))
        ends = by_talk[np.append(~same_talk, True)] if len(by_talk) else by_talk
        self._last = {int(talks[doc]): (int(doc), float(times[doc])) for doc in ends}
        """The last document of each talk, and its time."""

    @property
    def docs(self) -> Ints:
        return self._docs.values

    @property
    def times(self) -> Floats:
        return self._times.values

    def beside(self, docs: Ints, distance: int) -> Ints:
        """What stands so far away in the same talk, -1 where that has ended."""
        neighbours = self._after if distance > 0 else self._before
        for _ in range(abs(distance)):
            docs = np.where(docs >= 0, neighbours[docs], -1)
        return docs

    def runs(self, docs: Ints) -> tuple[Ints, Ints]:
        """The number of the run without a long pause that each document stands in, and how many documents that run has."""
        numbers = self._run[docs]
        return numbers, self._sizes.values[numbers]

    def append(self, doc: int, time: float, talk: int) -> bool:
        """Put a document at the end; False where it belongs elsewhere."""
        if len(self.docs) and (time, doc) < (self.times[-1], self.docs[-1]):
            return False
        if doc >= len(self._before):
            more = np.full(max(doc + 1 - len(self._before), len(self._before) // 4), -1, np.int64)
            self._before, self._after, self._run = (
                np.concatenate([column, more]) for column in (self._before, self._after, self._run)
            )
        last, last_time = self._last.get(talk, (-1, 0.0))
        if last >= 0 and time - last_time <= self._gap_s:
            self._join(np.array([last]), np.array([doc]))
            self._run[doc] = self._run[last]
            self._sizes.values[self._run[doc]] += 1
        else:
            self._run[doc] = len(self._sizes.values)
            self._sizes.append(1)
        self._last[talk] = (doc, time)
        self._docs.append(doc)
        self._times.append(time)
        return True

    def _join(self, before: Ints, after: Ints) -> None:
        self._before[after] = before
        self._after[before] = after


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
