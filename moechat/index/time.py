"""Indexes from times to keys: by moment, by span, by local date. A key is whatever the owner of the index counts by."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray


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


class DateIndex:
    """Keys by local date (the calendar of seed 002), each once a day, in the order of recording. Not locked."""

    def __init__(self) -> None:
        self._days: dict[date, array[int]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._days.values()))

    def record(self, key: int, day: date) -> None:
        keys = self._days.setdefault(day, array("q"))
        if key not in keys:
            keys.append(key)

    def remove(self, keys: Collection[int]) -> None:
        """Take keys out of every day."""
        gone = set(keys)
        for day, of_day in list(self._days.items()):
            if not gone.isdisjoint(of_day):
                self._days[day] = array("q", (key for key in of_day if key not in gone))
                if not self._days[day]:
                    del self._days[day]

    def keys(self, day: date) -> NDArray[np.int64]:
        return np.array(self._days.get(day, ()), np.int64)

    def days(self) -> list[date]:
        return sorted(self._days)

    def columns(self) -> dict[str, NDArray[Any]]:
        """The index as one array of (key, proleptic ordinal of the day), for ``np.savez``."""
        pairs = [(key, day.toordinal()) for day, keys in self._days.items() for key in keys]
        return {"days": np.array(pairs, np.int64).reshape(-1, 2)}

    @classmethod
    def of_columns(cls, columns: dict[str, NDArray[Any]]) -> DateIndex:
        index = cls()
        for key, ordinal in columns["days"].tolist():
            index._days.setdefault(date.fromordinal(ordinal), array("q")).append(key)
        return index
