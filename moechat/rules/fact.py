"""A fact as a pattern states it, and how a table of patterns is asked for the facts of a clause."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class BareFact:
    """A fact without its owner and its sources. ``text`` lacks the subject (住在杭州)."""

    text: str
    keyword: str
    target: str
    polarity: int = 1
    single: bool = False
    relation: bool = False


Handler = Callable[[re.Match[str], datetime], Iterator[BareFact]]
Patterns = Sequence[tuple[re.Pattern[str], Handler]]


def first_stated(patterns: Patterns, bodies: Iterable[str], now: datetime) -> list[BareFact]:
    """The facts of the first pattern that fits a whole body and states any."""
    for body in bodies:
        for pattern, handler in patterns:
            match = pattern.fullmatch(body)
            if match and (facts := list(handler(match, now))):
                return facts
    return []


def stating(text: str, keyword: str, target: str, *, single: bool = False) -> Handler:
    """A handler that states one fact; every text may name groups of the pattern (``{place}``)."""

    def handler(match: re.Match[str], _now: datetime) -> Iterator[BareFact]:
        groups = match.groupdict("")
        yield BareFact(text.format(**groups), keyword.format(**groups), target.format(**groups), single=single)

    return handler


def group(match: re.Match[str], name: str) -> str:
    """The text of a group, "" where the pattern has no such group or it did not take part."""
    return match.groupdict().get(name) or ""


def negated(match: re.Match[str]) -> bool:
    """Whether the pattern's group ``no`` took part."""
    return bool(group(match, "no"))


def polarity(match: re.Match[str]) -> int:
    return -1 if negated(match) else 1
