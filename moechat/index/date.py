"""The calendar of slices (seed 002): a disposable index from local dates to slices."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray


class DateIndex:
    """Slices by local date, each once a day, in the order of recording."""

    def __init__(self) -> None:
        self._days: dict[date, dict[int, None]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._days.values()))

    def record(self, key: int, day: date) -> None:
        self._days.setdefault(day, {})[key] = None

    def remove(self, key: int, day: date) -> None:
        """Take one away; nothing happens where it is not there."""
        if (keys := self._days.get(day)) is not None:
            keys.pop(key, None)
            if not keys:
                del self._days[day]

    def find(self, day: date) -> list[int]:
        return list(self._days.get(day, ()))

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
            index.record(key, date.fromordinal(ordinal))
        return index
