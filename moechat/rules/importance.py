"""How much something matters, 0.1 … 1: read from a model's words, or rated by rules where no model is asked.

A plain remark has .3. Each row of this table that the text meets adds its value once, and the sum is held to .1 … 1. The
scale is the one of the prompt for a model (seed 001, first prompt), divided by ten: brushing one's teeth .1, a break-up .9.

    row          adds   the text tells of
    farewell     +.6    a death, a break-up, a grave illness
    turn         +.5    wedding, birth, graduation, a job won or lost, an operation
    first        +.3    a first time, a beginning
    loss         +.3    lost, stolen, broken, failed, missed, a quarrel, an injury
    change       +.2    a move, a new pet, a prize, an exam passed, at last
    promise      +.2    promised, agreed, sworn
    feeling      +.2    a strong feeling, good or bad
    secret       +.2    told to nobody else, asked to be remembered
    planned      +.1    a plan with a day (the caller says so)
    everyday     −.2    meals, sleep, chores, commuting, weather: only if no row above is met
    novelty      ±.1    matters that are all new to this memory, or all known (only with ``known``)

A word after a negation counts for nothing (没分手, "never cried"). A text may mix Chinese and English.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container, Iterator
from configparser import ConfigParser
from dataclasses import dataclass
from pathlib import Path

from moechat.model import Event
from moechat.when.names import has_han

LOWEST, HIGHEST = 0.1, 1.0
BASE = 0.3
PLANNED = 0.1
NOVELTY = 0.1

_RATING = re.compile(r"(\d+(?:\.\d+)?)(?:\s*(?:/|out\s+of)\s*(\d+(?:\.\d+)?))?", re.I)


def read_rating(text: str) -> float | None:
    """The importance (.1 … 1) that a model's answer states, None if it states no number.

    The first number counts, of ten: ``8``, ``Rating: 8``, ``8/10``, ``4 out of 5``, full-width digits; held to 1 … 10, a
    sign ignored (golden ``seed001_worked.json``, column ``sane``).
    """
    match = _RATING.search(unicodedata.normalize("NFKC", text))
    if match is None:
        return None
    rating, of = float(match[1]), float(match[2] or 0)
    if of > 0:
        rating *= 10 / of
    return min(10.0, max(1.0, rating)) / 10


@dataclass(frozen=True, slots=True)
class Mark:
    """A row of the table: what it adds, and its words (Chinese as written, English as whole words in lower case)."""

    name: str
    adds: float
    zh: tuple[str, ...]
    en: tuple[str, ...]


def _marks() -> Iterator[Mark]:
    table = ConfigParser(interpolation=None, delimiters=["="])
    table.read(Path(__file__).with_suffix(".ini"), "utf-8")
    for name in table.sections():
        row = table[name]
        phrases = (" ".join(phrase.split()) for phrase in row["en"].split(","))
        yield Mark(name, float(row["adds"]), tuple(row["zh"].split()), tuple(f" {phrase} " for phrase in phrases))


*MARKS, ROUTINE = _marks()  # What is of every day counts only where no other row is met.

_WORDS = re.compile(r"[a-z]+(?:'[a-z]+)?|[.,;:!?]")
_STOPS = re.compile(r"[.,;:!?]")
_NOT_ZH = re.compile(r"(?:没有?|未|无|(?<![特分个区])别|不(?:再|是|会|太|用)?)$")
_NOT_EN = frozenset(
    "not no never without hardly don't didn't doesn't isn't wasn't aren't weren't won't can't couldn't".split()
)
_EITHER_WAY = frozenset({"first", "secret"})  # never before, 没告诉过: the negation is part of the phrase
_SELF = frozenset({"", "user", "用户", "我", "i", "me", "the user", "character", "角色"})


def rate(what: Event | str, *, known_matters: Container[str] | None = None, planned: bool = False) -> float:
    """The importance (.1 … 1) of an event or a text, by the table above. Deterministic; it takes some microseconds.

    ``known_matters`` are those that this memory knows (see ``matters``). None leaves novelty out, as a mere text does.
    """
    text = what if isinstance(what, str) else what.text
    chinese, english = _readings(text)
    adds = [mark.adds for mark in MARKS if _meets(mark, chinese, english)]
    if not adds and _meets(ROUTINE, chinese, english):
        adds = [ROUTINE.adds]
    total = BASE + sum(adds) + (PLANNED if planned else 0)
    if known_matters is not None and not isinstance(what, str):
        total += novelty(what, known_matters)
    return round(min(HIGHEST, max(LOWEST, total)), 2)


def marks(text: str) -> tuple[str, ...]:
    """The names of the rows that the text meets, in the order of the table."""
    chinese, english = _readings(text)
    return tuple(mark.name for mark in (*MARKS, ROUTINE) if _meets(mark, chinese, english))


def matters(event: Event) -> frozenset[str]:
    """What the event is about, case-folded: its keywords, its subject and its object, without user and character."""
    names = (*event.keywords, event.subject, event.object)
    return frozenset(name.strip().casefold() for name in names) - _SELF


def novelty(event: Event, known_matters: Container[str]) -> float:
    """+.1 if all matters of the event are new, −.1 if all are known, else 0 (also for an event without any)."""
    are_known = {matter in known_matters for matter in matters(event)}
    if are_known == {True}:
        return -NOVELTY
    return NOVELTY if are_known == {False} else 0


def _readings(text: str) -> tuple[str, str]:
    """The text to look for Chinese words in, and its Latin words and stops in lower case between single blanks."""
    chinese = text if has_han(text) else ""
    words = _WORDS.findall(text.lower().replace("’", "'"))
    return chinese, f" {' '.join(words)} " if words else ""


def _meets(mark: Mark, chinese: str, english: str) -> bool:
    either_way = mark.name in _EITHER_WAY
    for word in mark.zh if chinese else ():
        if word in chinese and (either_way or not _NOT_ZH.search(chinese[: chinese.index(word)])):
            return True
    for phrase in mark.en if english else ():
        # One of the three words before it, in the same clause, may be a negation.
        before = _STOPS.split(english[: english.index(phrase)])[-1].split() if phrase in english else []
        if phrase in english and (either_way or _NOT_EN.isdisjoint(before[-3:])):
            return True
    return False
