"""Which words of a message state a plain fact, what kind of fact, and whether of the user: a name, an age, a town, what somebody
does, by examples.

The examples stand in ``frames/KIND.LANGUAGE.txt``, one a line, with what they state in brackets: "i'm [name mara], [age 34]". A
line without brackets states nothing, though its words look like it. Those of ``heard.LANGUAGE.txt`` are whole messages, and a
star behind a kind says that it is somebody else's: "my sister is [job* a vet]"; ``heard_plain`` has those of a first evening,
``heard_before`` those of the tables and of the sets of tests/rules that were looked at, ``heard_change`` those in which something
begins, changes or ends: there what is over stands without brackets, and so does what is not of the kinds ``CHANGES``;
``heard_said`` is of everyday talk, most of which states nothing, and into which facts slip.
``make sayings`` learns from them and writes ``frames.npz``, read by ``network``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from moechat.encoder.builtin import builtin
from moechat.reading.nearness import Scores, can_weigh, digest_of
from moechat.reading.network import Network, Token, tokens

FOLDER, FITTED = (Path(__file__).with_name(name) for name in ("frames", "frames.npz"))
MESSAGES = "heard"  # The files of this name hold whole messages.
NONE = "none"
IN_PART = "heard_change"  # In the files of this name only ``CHANGES`` stand in brackets.
CHANGES = frozenset("home employer job trade school study like learns kname pname".split())
LIKELY = 0.5  # From this chance on a word belongs to a value, if nothing else says so.
POSSIBLE = 0.35  # From this chance on it may; beside one that does ``BESIDE`` is enough.
BESIDE = 0.25
PART = 0.05  # The rest of a Chinese word is taken along from this chance on.
LONGEST = 300  # characters that are read at a time
_SENTENCE_END = re.compile(r"[.!?。！？\n…;；]")
_MARKED = re.compile(r"\[(\w+)(\*?) ([^\]]+)\]")


@dataclass(frozen=True)
class Value:
    """The characters ``start`` … ``end`` of a text state something of a kind; ``score`` is how likely, and ``own`` how likely it
    is the user's, 0 … 1."""

    kind: str
    start: int
    end: int
    score: float = 1.0
    own: float = 1.0


@dataclass(frozen=True)
class Frame:
    """An example, its brackets taken off. ``is_message``: it says of each value whose it is. ``is_in_part``: it may state more,
    but for ``CHANGES``."""

    text: str
    values: tuple[Value, ...]
    is_message: bool = False
    is_in_part: bool = False


def examples() -> list[Frame]:
    """All examples, in the order of the files' names."""
    return [
        _frame(line.strip(), is_message=path.name.startswith(MESSAGES), is_in_part=path.name.startswith(IN_PART))
        for path in sorted(FOLDER.glob("*.txt"))
        for line in path.read_text("utf-8").splitlines()
        if line.strip() and not line.startswith("# ")
    ]


def digest(frames: Sequence[Frame]) -> str:
    """It changes with every example."""
    return digest_of(map(repr, frames))


def _frame(line: str, *, is_message: bool, is_in_part: bool) -> Frame:
    text, values, last = "", [], 0
    for mark in _MARKED.finditer(line):
        text += line[last : mark.start()]
        values.append(Value(mark[1], len(text), len(text) + len(mark[3]), own=float(not mark[2])))
        text, last = text + mark[3], mark.end()
    return Frame(text + line[last:], tuple(values), is_message, is_in_part)


class Frames(Network):
    """Of ``kinds`` the first is ``none``; ``arrays`` has their layer too: ``kinds`` (networks, 2 h, kinds + 1), the last of which
    is whether it is the user's."""

    def chances(self, text: str) -> tuple[Scores, Scores]:
        """(tokens, kinds) float32: how likely each token is of a kind, and (tokens,): how likely what it states is the user's."""
        with builtin().one_thread():
            scores = self.scores(self.read(text), "kinds")
        powers = np.exp(scores[..., :-1] - scores[..., :-1].max(axis=2, keepdims=True))
        chances: Scores = (powers / powers.sum(axis=2, keepdims=True)).mean(axis=0)
        own: Scores = (1 / (1 + np.exp(-scores[..., -1]))).mean(axis=0)
        return chances, own


def passages(text: str) -> Iterator[str]:
    """A text in parts that are read at a time, each of whole sentences where these are short enough."""
    while text:
        ends = [match.end() for match in _SENTENCE_END.finditer(text[:LONGEST])] if len(text) > LONGEST else []
        cut = ends[-1] if ends else LONGEST
        yield text[:cut]
        text = text[cut:]


@lru_cache(maxsize=128)
def weighed(text: str) -> tuple[Scores, Scores]:
    """As ``Frames.chances`` has it; a passage is asked for more than once a turn."""
    return Frames.load(FITTED).chances(text)


@lru_cache(maxsize=512)
def values(text: str) -> tuple[Value, ...]:
    """The values in a passage: runs of words of one kind, Chinese words whole."""
    row = tokens(text)
    return tuple(runs(row, Frames.load(FITTED).kinds, *weighed(text))) if row and can_weigh() else ()


def runs(row: Sequence[Token], names: Sequence[str], chances: Scores, own: Scores) -> Iterator[Value]:
    """Values of the kinds ``names``, as (tokens, kinds) ``chances`` and (tokens,) ``own`` tell them."""
    kinds, likely = chances[:, 1:].argmax(axis=1) + 1, 1 - chances[:, 0]
    at = free = 0
    while at < len(row):
        if likely[at] < POSSIBLE:
            at += 1
            continue
        first, last = at, at
        while first > free and likely[first - 1] >= BESIDE and kinds[first - 1] == kinds[at]:
            first -= 1
        while last < len(row) - 1 and likely[last + 1] >= BESIDE and kinds[last + 1] == kinds[at]:
            last += 1
        score = float(chances[first : last + 1, kinds[at]].max())
        is_own = float(own[first : last + 1].mean())
        of_kind = chances[:, kinds[at]]
        while first > free and not row[first].begins and of_kind[first - 1] >= PART:
            first -= 1
        while last < len(row) - 1 and not row[last].ends and of_kind[last + 1] >= PART:
            last += 1
        while last < len(row) - 1 and not row[first].text.isdecimal() and _are_one_word(row[last], row[last + 1]):
            last += 1
        yield Value(names[kinds[at]], row[first].start, row[last].end, score, is_own)
        at = free = last + 1


def _are_one_word(one: Token, other: Token) -> bool:
    """Whether they are letters and digits with nothing between: R2D2."""
    return one.end == other.start and all(token.text.isascii() and token.text.isalnum() for token in (one, other))


@lru_cache(maxsize=128)
def chance(text: str, words: str, kinds: tuple[str, ...] = ()) -> tuple[float, float] | None:
    """How likely ``words`` of a text state something of some kinds, or of any, and how likely what they state is the user's.

    None where they do not stand there, or nothing can be weighed.
    """
    columns = [at for at, kind in enumerate(Frames.load(FITTED).kinds) if kind in kinds or (not kinds and kind != NONE)]
    every: list[tuple[float, float]] = []
    for part in passages(text):
        if (start := part.casefold().find(words.casefold())) >= 0 and can_weigh():
            end, (chances, own) = start + len(words), weighed(part)
            places = [at for at, one in enumerate(tokens(part)) if one.start < end and one.end > start]
            likely = chances[places][:, columns].sum(axis=1)
            every += zip(likely.tolist(), own[places].tolist(), strict=True)
    return max(every, default=None)
