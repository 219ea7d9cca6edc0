"""A clause of what the user said: whose it is, and how it is meant.

Rules take facts from clauses that are said in earnest (``mood`` "said") and events also from plans and from the past.
"""

from __future__ import annotations

from dataclasses import dataclass
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
