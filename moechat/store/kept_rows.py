"""Rows of the cache that were read lately: a recall goes back to many of those that the one before it read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")
MOST = 2048


class KeptRows(Generic[T]):
    """What stands in rows of one table, by number. A row never changes, it only dies: so what was read stays right until then.

    The caller holds the lock of the database.
    """

    def __init__(self) -> None:
        self._rows: dict[int, T] = {}  # The one that was asked for longest ago first.
        self._generation = -1

    def of(
        self,
        numbers: Sequence[int],
        generation: int,
        *,
        died: Callable[[int], Iterable[int]],
        read: Callable[[Sequence[int]], Mapping[int, T]],
    ) -> dict[int, T]:
        """The live rows of these numbers, in that order. ``died`` gives the rows that died after a generation."""
        if generation != self._generation:
            for number in died(self._generation) if self._rows else ():
                self._rows.pop(number, None)
            self._generation = generation
        there = {number: self._rows.pop(number) for number in numbers if number in self._rows}
        there |= read([number for number in numbers if number not in there])
        self._rows |= there
        for number in list(self._rows)[: max(0, len(self._rows) - MOST)]:
            del self._rows[number]
        return {number: there[number] for number in numbers if number in there}

    def clear(self) -> None:
        self._rows.clear()
        self._generation = -1
