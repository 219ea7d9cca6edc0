"""A clause of what the user said: whose it is, and how it is meant.

The rules take facts from clauses that are said in earnest (``mood`` "said"). They take events also from plans and from
the past.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

Language = Literal["zh", "en"]
Mood = Literal["said", "question", "hypothetical", "joke", "uncertain", "role", "wish", "plan", "past", "hearsay"]

LONGEST = 10_000  # What lies further on in a pasted text is not looked at.
_RUN = re.compile(r"([^\w\n])\1{3,}")
USER, OTHER, UNKNOWN = "user", "", "?"


@dataclass(frozen=True, slots=True)
class Clause:
    """One clause.

    ``body`` is what follows the subject and the adverbs that do not change a fact. ``whose`` is USER, the noun of a person of
    the user's (妈妈, friend), OTHER for anyone else or UNKNOWN where the rules cannot tell. ``at`` is the clause's offset in
    the message, ``lead`` is what stands before its subject.
    """

    text: str
    body: str
    whose: str
    mood: Mood
    at: int = 0
    lead: str = ""

    @property
    def states_facts(self) -> bool:
        """Whether it is said in earnest, of the user or of a person of the user's."""
        return self.mood == "said" and self.whose not in (OTHER, UNKNOWN)


def readable(message: str) -> str:
    """The part of a message that is read, without its outer blanks. Of a mark or a blank that stands more than three times in a
    row three stay: patterns that look ahead from each take the square of their number in time."""
    return _RUN.sub(r"\1\1\1", message[:LONGEST]).strip()


def meant(clause: Clause, mood: Mood) -> Clause:
    """The same words, meant in another way."""
    return replace(clause, mood=mood)


def without_speech(is_speech: Callable[[str], bool]) -> Callable[[re.Match[str]], str]:
    """A replacement for quotations: quoted speech is somebody's words and becomes ``○``, a quoted name is only a name."""

    def unquoted(match: re.Match[str]) -> str:
        text = next(group for group in match.groups() if group is not None)
        return " ○ " if is_speech(text) else text

    return unquoted


def jokes_taken_back(clauses: Sequence[Clause], announced: re.Pattern[str]) -> list[Clause]:
    """The clauses, with those that a joke takes back meant as jokes.

    A joke takes back what was said before it. One that is announced (开个玩笑, yeah right) covers what follows, too.
    """
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
