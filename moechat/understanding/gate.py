"""What can be checked exactly of a model's findings: that the words it quotes were said, by whom and how they were meant, and
that its dates follow from what was said. It does not judge what the words mean: that is what the model is asked for.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from moechat import when
from moechat.model import Event, Exchange
from moechat.rules.clause import OTHER, USER, read_clauses
from moechat.rules.message import Reading
from moechat.rules.table import table

LEAST_QUOTED = 2  # Fewer letters than these are no words of anybody's.
TRUSTED_SHARE = 0.6
"""A model is trusted whose findings bear true quotes this often."""
_PLAY = frozenset({"role", "joke"})
_NEAR = timedelta(days=1)
_WEEK, _YEAR = timedelta(days=7), timedelta(days=365)
WEEKDAY = re.compile(
    r"(?:周|星期|礼拜)[一二三四五六日天]|(?:on )?(?:mon|tues|wednes|thurs|fri|satur|sun)day", re.IGNORECASE
)
_GAP = re.compile(r"\.{2,}|…+|[。！？!?；;，,\n]+")


@dataclass(frozen=True)
class Quote:
    """Where quoted words stand, whose line that is, whether they were said ``in_earnest`` (and not asked, supposed or believed by
    somebody else), and whether they are ``play``: role-play, a joke or another's words."""

    exchange: Exchange
    side: Literal["user", "char"]
    in_earnest: bool = True
    play: bool = False


def found(
    quote: str, exchanges: Sequence[Exchange], readings: Mapping[str, Reading], *, users_only: bool = False
) -> Quote | None:
    """The first of these exchanges in which words stand, in the user's line or else the character's. Width, case and punctuation
    do not count, and words between two parts of a quote may be left out. ``readings`` are of the user's messages, by exchange.
    None where nobody said them."""
    parts = [part for part in map(folded, _GAP.split(quote)) if part]
    if sum(map(len, parts)) < LEAST_QUOTED:
        return None
    for exchange in exchanges:
        if _stand(parts, folded(exchange.sent)):
            reading = readings[exchange.id]
            clauses = [clause for part in dict.fromkeys(parts) for clause in reading.holding(part)]
            moods = {clause.mood for clause in clauses}
            play = (
                reading.play != "" or (bool(moods) and moods <= _PLAY) or not _stand(parts, folded(_own_words(reading)))
            )
            alone = read_clauses(quote, reading.language)
            is_open = moods == {"question"} or {clause.mood for clause in alone} == {"hypothetical"}
            is_thought = any(clause.whose == USER for clause in alone) and all(
                clause.whose == OTHER for clause in clauses
            )
            return Quote(exchange, "user", not (play or is_open or (bool(clauses) and is_thought)), play)
    if not users_only:
        for exchange in exchanges:
            if _stand(parts, folded(exchange.heard)):
                return Quote(exchange, "char")
    return None


def folded(text: str) -> str:
    """Letters and digits alone, in one width and case."""
    return "".join(char for char in unicodedata.normalize("NFKC", text).casefold() if char.isalnum())


def _own_words(reading: Reading) -> str:
    """A message without the speech that it quotes; a quoted name stays."""
    words = table(reading.language)

    def unquoted(match: re.Match[str]) -> str:
        return " " if words["speech"].search(match[0]) else match[0]

    return words["quote"].sub(unquoted, reading.text)


def _stand(parts: Sequence[str], text: str) -> bool:
    at = 0
    for part in parts:
        if (place := text.find(part, at)) < 0:
            return False
        at = place + len(part)
    return True


def dates_stand(happened: tuple[datetime, datetime], cited: Sequence[Exchange], others: Sequence[Event]) -> bool:
    """Whether days follow from a time that the exchanges name, are the day of telling, or those of another event that is told of.
    A day without a year may be of this year or the next, a bare weekday of this week or the next."""
    days = [other.happened for other in others if other.happened]
    for exchange in cited:
        named = [
            span for text in (exchange.user, exchange.char) for span in when.resolve(text, exchange.at, use="writing")
        ]
        slack = timedelta() if named else _NEAR
        days.append((_moved(exchange.at, -slack), _moved(exchange.at, slack)))
        for span in named:
            turns = (timedelta(), _WEEK, _YEAR) if WEEKDAY.fullmatch(span.phrase.strip()) else (timedelta(), _YEAR)
            days += [(_moved(span.start, turn), _moved(span.end, turn)) for one in turns for turn in (one, -one)]
    return any(first <= happened[1] and happened[0] <= last for first, last in days)


def _moved(moment: datetime, by: timedelta) -> datetime:
    """A moment so much later or earlier; at an end of the calendar the moment itself."""
    try:
        return moment + by
    except OverflowError:
        return moment


def is_trusted(true: int, count: int) -> bool:
    """Whether a model is trusted of whose ``count`` findings ``true`` bore a true quote."""
    return true > 0 and true >= TRUSTED_SHARE * count
