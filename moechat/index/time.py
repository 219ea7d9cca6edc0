"""Indexes from times to keys: by moment, by span, and the order of time with what stands beside each in its talk.

A key is whatever the owner of the index counts by.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.floating[Any]]


class TimeIndex:
    """Keys by moment (epoch seconds). Moments may repeat; equal ones keep the order in which they were added."""

    def __init__(self, items: Iterable[tuple[int, float]] = ()) -> None:
        pairs = np.fromiter(items, np.dtype([("key", np.int64), ("moment", np.float64)]))
        pairs = pairs[np.argsort(pairs["moment"], kind="stable")]
        self._keys = array("q", pairs["key"].tobytes())
        self._times = array("d", pairs["moment"].tobytes())

    def __len__(self) -> int:
        return len(self._keys)

    def add(self, key: int, moment: float) -> None:
        at = bisect_right(self._times, moment)
        self._times.insert(at, moment)
        self._keys.insert(at, key)

    def remove(self, key: int, moment: float) -> None:
        """Take one away; nothing happens where it is not there."""
        for at in range(bisect_left(self._times, moment), bisect_right(self._times, moment)):
            if self._keys[at] == key:
                del self._times[at], self._keys[at]
                return

    def between(self, start: float, end: float) -> NDArray[np.int64]:
        """Keys with start ≤ moment ≤ end, in order of time (seed 003, golden ``range_search``)."""
        keys = self._keys[bisect_left(self._times, start) : bisect_right(self._times, end)]
        return np.frombuffer(keys, dtype=np.int64)

    def keys(self) -> NDArray[np.int64]:
        """(n,) all keys, in order of time."""
        return np.array(self._keys, np.int64)

    def moments(self) -> NDArray[np.float64]:
        """(n,) the moments of ``keys``."""
        return np.array(self._times, np.float64)


class SpanIndex:
    """Keys by span (start, end in epoch seconds), found where they meet an asked span."""

    def __init__(self, items: Iterable[tuple[int, float, float]] = ()) -> None:
        self._items = sorted((start, end, key) for key, start, end in items)
        self._starts = [item[0] for item in self._items]
        self._spans = {key: (start, end) for start, end, key in self._items}
        self._longest = max((end - start for start, end, _ in self._items), default=0.0)  # no span was ever longer

    def put(self, key: int, span: tuple[float, float] | None) -> None:
        """Give a key its span, in place of the one that it had; None: it has none."""
        if (before := self._spans.pop(key, None)) is not None:
            at = bisect_left(self._items, (*before, key))
            del self._items[at], self._starts[at]
        if span is not None:
            start, end = self._spans[key] = span
            at = bisect_left(self._items, (start, end, key))
            self._items.insert(at, (start, end, key))
            self._starts.insert(at, start)
            self._longest = max(self._longest, end - start)

    def meeting(self, start: float, end: float, *, day_s: float = 86_400.0) -> list[int]:
        """Keys whose span meets [start, end] and is not far wider than it, so that a vague 最近 answers no single day."""
        widest = 2 * max(day_s, end - start)
        low = bisect_left(self._starts, start - min(self._longest, widest))
        high = bisect_right(self._starts, end)
        return [key for s, e, key in self._items[low:high] if e >= start and e - s <= widest]


class Order:
    """Documents in the order of time, and what stands beside each in its talk, up to a long pause.

    ``docs`` by time, with their ``times`` (epoch seconds). ``times`` and ``talks`` are given by document."""

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
