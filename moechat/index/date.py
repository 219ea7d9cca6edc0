"""The calendar of slices (seed 002): a disposable index from local dates to slices."""

from __future__ import annotations

from array import array
from collections.abc import Collection
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray


class DateIndex:
    """Slices by local date, each once a day, in the order of recording. Keys as in the topic index. Not locked."""

    def __init__(self) -> None:
        self._days: dict[date, array[int]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._days.values()))

    def record(self, key: int, day: date) -> None:
        keys = self._days.setdefault(day, array("q"))
        if key not in keys:
            keys.append(key)

    def remove(self, keys: Collection[int]) -> None:
        """Take slices out of every day."""
        gone = set(keys)
        for day, known in list(self._days.items()):
            if not gone.isdisjoint(known):
                self._days[day] = array("q", (key for key in known if key not in gone))
                if not self._days[day]:
                    del self._days[day]

    def find(self, day: date) -> list[int]:
        return list(self._days.get(day, ()))

    def keys(self, day: date) -> NDArray[np.int64]:
        """The same as an array."""
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
