"""Finds the texts that have a word: a Chinese word as a substring, another by its stem (cat is not in education).

Every character and every pair of neighbours with a Chinese character in it has the list of its texts, so that most words
are one look-up. Compatibility forms, case and Traditional characters are folded.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from moechat.index.postings import Postings
from moechat.language import words

_FIRST = "\u3040"  # from here on: kana, Chinese, Korean, emoji - scripts that are read by the character
_OTHER = re.compile(r"[^\W_\u3040-\U0010ffff々〇]+")


@dataclass(frozen=True, slots=True)
class _Read:
    """A text, folded, with the stems of its words and everything that it is listed under."""

    folded: str
    stems: tuple[str, ...]
    parts: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> _Read:
        folded = words.fold(text)
        stems = _stems(folded)
        return cls(folded, stems, tuple(map(sys.intern, _grams(folded).union(stems))))


class Substrings:
    """The numbers of the texts that a word is in. A word of one or two Chinese characters is a single look-up; longer ones
    and phrases are checked where their rarest part is. One thread changes it at a time; readers need no lock."""

    def __init__(self) -> None:
        self._texts: dict[int, _Read] = {}
        self._parts: Postings[str] = Postings()

    def add(self, number: int, text: str) -> None:
        """A text under a number above all before it."""
        self._texts[number] = read = _Read.of(text)
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
