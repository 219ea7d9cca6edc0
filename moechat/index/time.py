"""The time index: sorted times and bisect. Knows numbers only; a key is whatever the owner of the index counts by."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray


class TimeIndex:
    """Keys by moment (epoch seconds). Moments may repeat; equal ones keep the order in which they were added."""

    def __init__(self, items: Iterable[tuple[int, float]] = ()) -> None:
        ordered = sorted(items, key=lambda item: item[1])
        keys, moments = zip(*ordered, strict=True) if ordered else ((), ())
        self._keys, self._times = array("q", keys), array("d", moments)

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
        found = self._keys[bisect_left(self._times, start) : bisect_right(self._times, end)]
        return np.frombuffer(found, dtype=np.int64)

    def keys(self) -> list[int]:
        """All keys, in order of time."""
        return self._keys.tolist()

    def bounds(self) -> tuple[float, float] | None:
        """The first and the last moment, None where there is none."""
        return (self._times[0], self._times[-1]) if self._times else None


class SpanIndex:
    """Keys by span (start, end in epoch seconds), found where they meet an asked span."""

    def __init__(self, items: Iterable[tuple[int, float, float]] = ()) -> None:
        self._items = sorted((start, end, key) for key, start, end in items)
        self._starts = [item[0] for item in self._items]
        self._longest = max((end - start for start, end, _ in self._items), default=0.0)

    def meeting(self, start: float, end: float, *, day_s: float = 86_400.0) -> list[int]:
        """Keys whose span meets [start, end] and is not far wider than it, so that a vague 最近 answers no single day."""
        widest = 2 * max(day_s, end - start)
        low = bisect_left(self._starts, start - min(self._longest, widest))
        high = bisect_right(self._starts, end)
        return [key for s, e, key in self._items[low:high] if e >= start and e - s <= widest]
