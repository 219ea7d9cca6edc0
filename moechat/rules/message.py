"""One reading of a message, made once: its clauses, whose each is and how it is meant, and whether all of it is play.

Whoever asks whether something was meant asks here. Role-play that was announced goes on through the messages behind it until
it ends, words that were announced as another's are another's, and a message may take back the one before it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from moechat.reading.saying import Saying, saying
from moechat.rules.clause import IN_DOUBT, Clause, Mood, letters_of, meant, read_clauses
from moechat.rules.table import Language, table
from moechat.when import LONGEST_READ
from moechat.when.names import HAN_CHARACTER
from moechat.worker import lazy

Play = Literal["", "role", "quotation", "joke"]
MAX_BEFORE = 12  # messages back that announced play is looked for
_LETTERS = re.compile(r"[A-Za-z]+")
_AS_PLAY: dict[Play, Mood] = {"role": "role", "quotation": "hearsay", "joke": "joke"}


@dataclass(frozen=True)
class Reading:
    """``play`` says that the whole message is role-play, another's words or a joke: then nothing in it is a fact, and every
    clause has that mood. ``takes_back``: it says that the message before it was not meant."""

    text: str
    language: Language
    clauses: tuple[Clause, ...]
    play: Play
    takes_back: bool

    @lazy
    def saying(self) -> Saying:
        """What kind of saying the whole message is, weighed when it is first asked for."""
        return saying(self.text)

    @property
    def kind(self) -> str:
        """The kind of saying that it is, which may follow from what stands before it."""
        return "takeback" if self.takes_back else "role" if self.play == "role" else self.saying.kind

    @property
    def in_earnest(self) -> tuple[Clause, ...]:
        """The clauses that are said as true, plans and the past among them."""
        return tuple(clause for clause in self.clauses if clause.mood not in IN_DOUBT)

    def holding(self, quote: str) -> tuple[Clause, ...]:
        """The clauses that hold these words, or stand in them; letters and digits alone count."""
        words = letters_of(quote)
        return tuple(clause for clause, own in self._letters if own and words and (own in words or words in own))

    @lazy
    def _letters(self) -> tuple[tuple[Clause, str], ...]:
        """Each clause with its letters and digits."""
        return tuple((clause, letters_of(clause.text)) for clause in self.clauses)


def read(text: str, before: Sequence[str] = (), after: str = "", language: Language | None = None) -> Reading:
    """The reading of a message of the user's. ``before`` are the messages before it in the same talk, oldest first, and
    ``after`` is the next one, where there is one: it may take this one back. ``language`` None: by the message's letters."""
    text, after = text[:LONGEST_READ], after[:LONGEST_READ]
    tongue = language_of(text, language)
    play: Play = "role" if table(tongue)["plays"].search(text) else goes_on(before)
    return _read(text, tongue, "" if ends_play(text) else "joke" if after and takes_back(after) else play)


@lru_cache(maxsize=512)
def _read(text: str, language: Language, play: Play) -> Reading:
    clauses = read_clauses(text, language)
    if not play and clauses and len({clause.mood for clause in clauses}) == 1:
        play = next((name for name, mood in _AS_PLAY.items() if mood == clauses[0].mood), "")
    elif play:
        clauses = [meant(clause, _AS_PLAY[play]) for clause in clauses]
    return Reading(text, language, tuple(clauses), play, takes_back(text))


def goes_on(before: Sequence[str]) -> Play:
    """What play the messages ``before``, oldest first, have announced and not ended."""
    for place, text in enumerate(reversed(before[-MAX_BEFORE:])):
        announced = _announced(text[:LONGEST_READ])
        if announced == "quotation" and place:
            continue
        if announced is not None:
            return announced
    return ""


@lru_cache(maxsize=1024)
def _announced(text: str) -> Play | None:
    """The play that a message begins, "" where it ends one. A message is read for that once, though many follow it."""
    words = table(language_of(text))
    if ends_play(text):
        return ""
    if words["plays"].search(text):
        return "role"
    return "quotation" if words["quotes"].search(text.strip()) else None


def ends_play(text: str) -> bool:
    """Whether a message ends the role-play that went before it."""
    return table(language_of(text))["ends_play"].search(text) is not None


def takes_back(text: str) -> bool:
    """Whether a message says no more than that the one before it was not meant: 骗你的, "just kidding"."""
    return table(language_of(text))["takes_back"].fullmatch(text.strip()) is not None


def language_of(text: str, language: Language | None = None) -> Language:
    """The language of a message by its letters (a Chinese character counts as half a word).

    ``language`` is returned for a text without letters, "zh" where that is None.
    """
    chinese, latin = len(HAN_CHARACTER.findall(text)), len(_LETTERS.findall(text))
    if not chinese and not latin:
        return language or "zh"
    return "zh" if chinese >= latin else "en"
