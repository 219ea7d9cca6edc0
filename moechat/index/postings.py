"""Lists of numbers by what they have, which a record joins and leaves by itself."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class Postings(Generic[K]):
    """Key → the numbers that have it, in the order in which they joined. One thread changes it at a time; readers need no
    lock: a list only grows at its end, and one that loses a number is replaced."""

    def __init__(self) -> None:
        self._numbers: dict[K, list[int]] = {}

    def add(self, number: int, keys: Iterable[K]) -> None:
        """A number that has these keys, each named once."""
        for key in keys:
            numbers = self._numbers.get(key)
            if numbers is None:
                self._numbers[key] = [number]
            else:
                numbers.append(number)

    def remove(self, number: int, keys: Iterable[K]) -> None:
        """Take out a number that has these keys. Nothing is left of a key that no number has."""
        for key in keys:
            if left := [one for one in self._numbers[key] if one != number]:
                self._numbers[key] = left
            else:
                del self._numbers[key]

    def of(self, key: K) -> Sequence[int]:
        return self._numbers.get(key, ())

    def __contains__(self, key: object) -> bool:
        return key in self._numbers

    def __len__(self) -> int:
        return len(self._numbers)
