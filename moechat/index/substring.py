"""Finds the texts that have a word: a Chinese word as a substring, another by its stem (cat is not in education).

Every character and every pair of neighbours with a Chinese character in it has the list of its texts, so that most words
are one look-up. Compatibility forms, case and Traditional characters are folded.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

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
    """The rows that a word is in. A word of one or two Chinese characters is a single look-up; longer ones and phrases are
    checked where their rarest part is. ``before`` is an index whose reading of the same texts is used again."""

    def __init__(self, texts: Sequence[str], before: Substrings | None = None) -> None:
        reads: Mapping[str, _Read] = before._read if before else {}
        self._read: Mapping[str, _Read] = {text: reads[text] if text in reads else _Read.of(text) for text in texts}
        self._texts = [self._read[text] for text in texts]
        rows: dict[str, list[int]] = {}
        for row, text in enumerate(self._texts):
            for part in text.parts:
                if part in rows:
                    rows[part].append(row)
                else:
                    rows[part] = [row]
        self._rows = rows

    def rows(self, word: str) -> Sequence[int]:
        """Rows of a folded word, ascending."""
        if max(word) >= _FIRST:
            if len(word) <= 2:
                return self._rows.get(word, ())
            return [row for row in self._rarest(_grams(word)) if word in self._texts[row].folded]
        stems = _stems(word)
        near = self._rarest(stems)
        return near if len(stems) < 2 else [row for row in near if _within(stems, self._texts[row].stems)]

    def _rarest(self, parts: Iterable[str]) -> Sequence[int]:
        return min((self._rows.get(part, ()) for part in parts), key=len, default=())


def _grams(text: str) -> set[str]:
    grams = {char for char in text if char >= _FIRST}
    if grams:
        grams |= {first + second for first, second in pairwise(text) if first >= _FIRST or second >= _FIRST}
    return grams


def _stems(text: str) -> tuple[str, ...]:
    return tuple(words.stem(word) for word in _OTHER.findall(text))


def _within(part: tuple[str, ...], whole: tuple[str, ...]) -> bool:
    return any(whole[i : i + len(part)] == part for i in range(len(whole) - len(part) + 1))
