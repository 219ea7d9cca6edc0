"""Which words of a sentence state a plain fact: a name, an age, a town, what somebody does, by examples.

The examples stand in ``frames/KIND.LANGUAGE.txt``, one a line, with what they state in brackets: "i'm [name mara], [age 34]". A
line without brackets states nothing, though its words look like it; ``none`` has most of these. ``make sayings`` weighs them
and writes ``frames.npz``: how likely a word belongs to a value follows from the words around it, its letters and its kind
(multinomial logistic regression over hashed features); and ``values.npz``: how near a value lies to those of its sort in what
it means, as ``nearness`` has it.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from moechat.language import words
from moechat.reading.nearness import SCALE, Scores, fitted
from moechat.when.names import HAN_CHARACTER, has_han

FOLDER, FITTED, VALUES = (Path(__file__).with_name(name) for name in ("frames", "frames.npz", "values"))
SLOTS = 1 << 16
NONE = "none"
LIKELY = 0.5  # From this chance on a word belongs to a value; beside one half of it is enough.
BY_FORM = 0.65  # A number or a day lies as near to its sort as this.
LONGEST = 300  # characters of a sentence that are read
SORTS = {
    "name": "person", "kname": "person", "pname": "beast", "home": "place", "origin": "place", "job": "job", "trade": "doing",
    "employer": "firm", "study": "subject", "school": "school", "kin": "kin", "status": "status", "pet": "pet",
    "like": "thing", "dislike": "thing", "cannot": "food", "diet": "diet", "ill": "illness", "illadj": "illness",
    "language": "tongue", "learns": "tongue",
}  # fmt: skip
"""The sorts of values that meaning tells apart, by kind; numbers and days are told by their form."""
_TOKEN = re.compile(r"[a-z]+(?:['’-][a-z]+)*|\d+(?:st|nd|rd|th)?|[^\W\d_a-z]+|\S", re.IGNORECASE)
_MARKED = re.compile(r"\[(\w+) ([^\]]+)\]")
_PLACES = (  # Where the words stand that tell of a word, beside it.
    *((at,) for at in (-5, -4, -3, -2, -1, 1, 2, 3, 4)), (-2, -1), (1, 2), (-1, 1), (-3, -2), (2, 3), (-3, -1), (-4, -3),
    (-3, -2, -1), (1, 2, 3), (-2, -1, 1), (-1, 1, 2), (-4, -3, -2), (-4, -3, -2, -1),
)  # fmt: skip
_BEFORE, _BEHIND = 14, 12  # So many words before and behind one tell of it wherever they stand.


@dataclass(frozen=True)
class Value:
    """The characters ``start`` … ``end`` of a text state something of a kind; ``score`` is how likely, 0 … 1."""

    kind: str
    start: int
    end: int
    score: float = 1.0


@dataclass(frozen=True)
class Frame:
    """An example, its brackets taken off."""

    text: str
    values: tuple[Value, ...]


def examples() -> list[Frame]:
    """All examples, in the order of the files' names."""
    lines = (line.strip() for path in sorted(FOLDER.glob("*.txt")) for line in path.read_text("utf-8").splitlines())
    return [_frame(line) for line in lines if line and not line.startswith("# ")]


def digest(frames: Sequence[Frame]) -> str:
    """It changes with every example."""
    return blake2b("\n".join(map(repr, frames)).encode(), digest_size=8).hexdigest()


def _frame(line: str) -> Frame:
    text, values, last = "", [], 0
    for mark in _MARKED.finditer(line):
        text += line[last : mark.start()]
        values.append(Value(mark[1], len(text), len(text) + len(mark[2])))
        text, last = text + mark[2], mark.end()
    return Frame(text + line[last:], tuple(values))


@dataclass(frozen=True, slots=True)
class Token:
    """A Latin word, a number, a mark or a Chinese character. ``whole`` is the Chinese word that it is part of, ``sort`` that
    word's kind in a dictionary; ``begins`` and ``ends`` say whether the word does so with it."""

    start: int
    end: int
    text: str
    whole: str
    sort: str = ""
    begins: bool = True
    ends: bool = True


@lru_cache(maxsize=256)
def tokens(text: str) -> tuple[Token, ...]:
    spans: list[tuple[int, int, str]] = []
    folded, at = text.lower(), 0
    for word, sort in words.kinds(text) if has_han(text) else ():
        if (place := folded.find(word.lower(), at)) >= 0:
            at = place + len(word)
            spans.append((place, at, sort))
    row: list[Token] = []
    place = 0
    for match in _TOKEN.finditer(text):
        is_han = HAN_CHARACTER.match(match[0]) is not None
        for start in range(match.start(), match.end()) if is_han else (match.start(),):
            end = start + 1 if is_han else match.end()
            while place < len(spans) and spans[place][1] <= start:
                place += 1
            own = folded[start:end].replace("’", "'").replace("'", "") or "'"
            if is_han and place < len(spans) and spans[place][0] <= start:
                first, last, sort = spans[place]
                row.append(Token(start, end, own, folded[first:last], sort, start == first, end == last))
            else:
                row.append(Token(start, end, own, own))
    return tuple(row)


def features(text: str, *, bare: bool = False) -> list[NDArray[np.int64]]:
    """For each token the slots of what tells of it; ``bare`` without its own letters, as a word that nobody has seen."""
    row = tokens(text)
    forms = [_form(one.text) for one in row]
    wholes = [_form(one.whole) for one in row]
    return [
        np.fromiter({zlib.crc32(name.encode()) % SLOTS for name in names}, np.int64)
        for names in (
            [
                *_around(forms, at),
                *(_of_word(row, wholes, at, bare=bare) if has_han(one.text) else _of_latin(text, one, at)),
                *(f"< {other}" for other in wholes[max(0, at - _BEFORE) : at]),
                *(f"> {other}" for other in wholes[at + 1 : at + 1 + _BEHIND]),
                *(() if bare else _of_letters(row, forms, at)),
            ]
            for at, one in enumerate(row)
        )
    ]


def _form(word: str) -> str:
    return word if not word[0].isdigit() else f"0{len(word)}" if word.isdecimal() else "0th"


def _around(forms: Sequence[str], at: int) -> Iterator[str]:
    yield "bias"
    for places in _PLACES:
        beside = (at + place for place in places)
        yield f"{places} {' '.join('^' if i < 0 else '$' if i >= len(forms) else forms[i] for i in beside)}"


def _of_latin(text: str, one: Token, at: int) -> Iterator[str]:
    yield f"latin {one.text[0].isalpha()} {text[one.start].isupper()} {at == 0}"
    yield f"long {min(len(one.text), 6)} {one.text[0].isdigit()}"
    if one.text.isdecimal():
        yield f"tens {min(int(one.text[:4]) // 10, 13)}"


def _of_word(row: Sequence[Token], wholes: Sequence[str], at: int, *, bare: bool) -> Iterator[str]:
    """What tells of a Chinese character by the word that it is part of, and the words beside that."""
    one, left, right = row[at], at, at
    while left and not row[left].begins:
        left -= 1
    while right < len(row) - 1 and not row[right].ends:
        right += 1
    before, behind = wholes[left - 1] if left else "^", wholes[right + 1] if right < len(row) - 1 else "$"
    second = left - max(len(before), 1) - 1
    sorts = [row[i].sort if 0 <= i < len(row) else "^" for i in (left - 1, right + 1)]
    part = f"{one.begins}{one.ends}"
    yield f"before {before}"
    yield f"two before {wholes[second] if second >= 0 else '^'} {before}"
    yield f"behind {behind}"
    yield f"between {before} {behind}"
    yield f"sort {one.sort} {part}"
    yield f"sorts {sorts[0]} {one.sort}"
    yield f"sorts behind {one.sort} {sorts[1]}"
    yield f"sorts between {sorts[0]} {one.sort} {sorts[1]}"
    yield f"before {before} {one.sort}"
    yield f"behind {behind} {one.sort}"
    yield f"long {right - left} {part}"
    if not bare:
        yield f"whole {one.whole} {part}"
        yield f"last {one.whole[-1]}"
        yield f"before {before} whole {one.whole}"


def _of_letters(row: Sequence[Token], forms: Sequence[str], at: int) -> Iterator[str]:
    own = row[at].text
    yield f"own {own}"
    yield f"own behind {forms[at - 1] if at else '^'} {own}"
    yield f"own before {own} {forms[at + 1] if at < len(forms) - 1 else '$'}"
    if not has_han(own):
        yield from (f"ends {own[-length:]}" for length in (1, 2, 3, 4) if len(own) > length)
        yield f"begins {own[:3]}"


@dataclass(frozen=True)
class Frames:
    """``weights`` is (SLOTS, kinds) float32; the first kind is ``none``. ``examples`` is their digest."""

    kinds: tuple[str, ...]
    weights: Scores
    examples: str

    def chances(self, text: str) -> Scores:
        """(tokens, kinds) float32: how likely each token of a text is of a kind."""
        scores = np.stack([self.weights[slots].sum(axis=0) for slots in features(text)])
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        chances: Scores = powers / powers.sum(axis=1, keepdims=True)
        return chances

    def values(self, text: str) -> Iterator[Value]:
        """The values in a text: runs of words of one kind, Chinese words whole."""
        row = tokens(text)
        if not row:
            return
        chances = self.chances(text)
        kinds, likely = chances[:, 1:].argmax(axis=1) + 1, 1 - chances[:, 0]
        at = free = 0
        while at < len(row):
            if likely[at] < LIKELY:
                at += 1
                continue
            first, last = at, at
            while first > free and likely[first - 1] >= LIKELY / 2 and kinds[first - 1] == kinds[at]:
                first -= 1
            while last < len(row) - 1 and likely[last + 1] >= LIKELY / 2 and kinds[last + 1] == kinds[at]:
                last += 1
            score = float(chances[first : last + 1, kinds[at]].mean())
            while first > free and not row[first].begins:
                first -= 1
            while last < len(row) - 1 and not row[last].ends:
                last += 1
            yield Value(self.kinds[kinds[at]], row[first].start, row[last].end, score)
            at = free = last + 1

    def save(self) -> None:
        most = np.abs(self.weights).max(axis=0)
        np.savez_compressed(
            FITTED, kinds=np.array(self.kinds), weights=np.round(self.weights / most * SCALE).astype(np.int8), most=most,
            examples=np.array(self.examples),
        )  # fmt: skip


@cache
def load() -> Frames:
    """What ``save`` stored."""
    with np.load(FITTED) as stored:
        weights = stored["weights"] * (stored["most"] / SCALE).astype(np.float32)
        return Frames(tuple(stored["kinds"].tolist()), weights, str(stored["examples"]))


@lru_cache(maxsize=512)
def values(sentence: str) -> tuple[Value, ...]:
    """The values in a sentence, which is read more than once a turn."""
    return tuple(load().values(sentence))


@lru_cache(maxsize=512)
def likeness(value: str, kind: str) -> float:
    """How near a value lies to those of its sort, about 0 … 1; ``BY_FORM`` where its form tells or nothing can be weighed."""
    near = fitted(VALUES) if kind in SORTS else None
    return BY_FORM if near is None else float(near.scores([value.lower()])[0, near.kinds.index(SORTS[kind])])
