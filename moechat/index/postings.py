"""Numbers by what they have: by keys, which a record joins and leaves by itself, and texts by the words in them.

A Chinese word is found as a substring, another by its stem (cat is not in education). Every character and every pair of
neighbours with a Chinese character in it has the list of its texts, so that most words are one look-up. Compatibility forms,
case and Traditional characters are folded.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Generic, TypeVar

from moechat.language import words

K = TypeVar("K", bound=Hashable)

_FIRST = "\u3040"  # from here on: kana, Chinese, Korean, emoji - scripts that are read by the character
_OTHER = re.compile(r"[^\W_\u3040-\U0010ffff々〇]+")


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


@dataclass(frozen=True, slots=True)
class _Read:
    """A text, folded, with the stems of its words and everything that it is listed under."""

    folded: str
    stems: tuple[str, ...]
    parts: tuple[str, ...]


class Substrings:
    """The numbers of the texts that a word is in. A word of one or two Chinese characters is a single look-up; longer ones
    and phrases are checked where their rarest part is. One thread changes it at a time; readers need no lock."""

    def __init__(self) -> None:
        self._texts: dict[int, _Read] = {}
        self._parts: Postings[str] = Postings()

    def add(self, number: int, text: str) -> None:
        """A text under a number above all before it."""
        folded = words.fold(text)
        stems = _stems(folded)
        self._texts[number] = read = _Read(folded, stems, tuple(map(sys.intern, _grams(folded).union(stems))))
        self._parts.add(number, read.parts)

    def remove(self, number: int) -> None:
        self._parts.remove(number, self._texts.pop(number).parts)

    def numbers(self, word: str) -> Sequence[int]:
        """Those of the texts with a folded word, ascending."""
        if max(word) >= _FIRST:
            if len(word) <= 2:
                return self._parts.of(word)
            near = self._rarest(_grams(word))
            return [number for number in near if (text := self._texts.get(number)) and word in text.folded]
        stems = _stems(word)
        near = self._rarest(stems)
        if len(stems) < 2:
            return near
        return [number for number in near if (text := self._texts.get(number)) and _within(stems, text.stems)]

    def _rarest(self, parts: Iterable[str]) -> Sequence[int]:
        return min((self._parts.of(part) for part in parts), key=len, default=())


def _grams(text: str) -> set[str]:
    grams = {char for char in text if char >= _FIRST}
    if grams:
        grams |= {first + second for first, second in pairwise(text) if first >= _FIRST or second >= _FIRST}
    return grams


def _stems(text: str) -> tuple[str, ...]:
    return tuple(words.stem(word) for word in _OTHER.findall(text))


def _within(part: tuple[str, ...], whole: tuple[str, ...]) -> bool:
    return any(whole[i : i + len(part)] == part for i in range(len(whole) - len(part) + 1))
