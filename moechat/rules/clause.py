"""A clause of what the user said: whose it is, and how it is meant.

Rules take facts from clauses that are said in earnest (``mood`` "said") and events also from plans and from the past.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

Mood = Literal["said", "question", "hypothetical", "joke", "uncertain", "role", "wish", "plan", "past", "hearsay"]

USER, OTHER, UNKNOWN = "user", "", "?"


@dataclass(frozen=True, slots=True)
class Clause:
    """One clause. ``body`` is what follows the subject and the adverbs that do not change a fact; ``whose`` is ``user``,
    the noun of a person of the user's (妈妈, friend), OTHER for anyone else and UNKNOWN where the rules cannot tell; ``at``
    is its offset in the message, ``lead`` what stands before the subject."""

    text: str
    body: str
    whose: str
    mood: Mood
    at: int = 0
    lead: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """A fact as a pattern found it, before it has an owner and a source. ``text`` lacks the subject (住在杭州)."""

    text: str
    keyword: str
    target: str
    polarity: int = 1
    single: bool = False
    relation: bool = False


def meant(clause: Clause, mood: Mood) -> Clause:
    """The same words, meant in another way."""
    return replace(clause, mood=mood)


def jokes_taken_back(clauses: Sequence[Clause], announced: re.Pattern[str]) -> list[Clause]:
    """A joke takes back what was said before it; one that is announced (开个玩笑, yeah right) covers what follows."""
    result: list[Clause] = []
    opening = False
    for number, clause in enumerate(clauses):
        if clause.mood == "joke":
            opening = opening or (number == 0 and bool(announced.match(clause.text)))
            result = [meant(earlier, "joke") for earlier in result]
        elif opening:
            clause = meant(clause, "joke")
        result.append(clause)
    return result
