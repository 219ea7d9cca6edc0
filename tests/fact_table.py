"""What counts as a fact about the user: the tables in ``fact_tables`` that rules, guards and contradiction are held to.

A line is a message and the user's facts in it, ``keyword class: target``, with ``-`` before a fact of polarity -1 and alone
where nothing about the user may be taken from the message. ``朋友 taste: 香菜`` is a fact of somebody else, which a model may
state. In ``changes.txt`` a line is several messages in order; what is current at the end, and after ``<`` what is superseded.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tests import tables

FOLDER = Path(__file__).parent / "fact_tables"
Expected = tuple[str, str, int]


@dataclass(frozen=True)
class Case:
    kind: str
    language: str
    text: str
    facts: tuple[Expected, ...]
    others: tuple[tuple[str, str, str, int], ...]


@dataclass(frozen=True)
class Sequence:
    texts: tuple[str, ...]
    current: tuple[Expected, ...]
    superseded: tuple[Expected, ...]


def _facts(cell: str) -> list[tuple[str, str, str, int]]:
    """(whose, keyword class, target, polarity) of each fact; whose is "" for the user."""
    pairs = [one.partition(": ") for one in cell.split("; ") if one.strip(" -")]
    told = [(*head.rpartition(" ")[::2], target) for head, _, target in pairs]
    return [
        (whose, name.lstrip("-"), target.strip(), -1 if name.startswith("-") else 1) for whose, name, target in told
    ]


def _users(cell: str) -> tuple[Expected, ...]:
    return tuple((name, target, polarity) for whose, name, target, polarity in _facts(cell) if not whose)


def _cases(name: str) -> list[Case]:
    return [
        Case(kind, language, text, _users(cell), tuple(fact for fact in _facts(cell) if fact[0]))
        for (kind, language), text, cell in tables.lines(FOLDER / name)
    ]


CASES = _cases("table.txt")
BLIND = _cases("blind.txt")
SEQUENCES = [
    Sequence(tuple(texts.split(" / ")), *(_users(cell) for cell in cells.partition("<")[::2]))
    for _, texts, cells in tables.lines(FOLDER / "changes.txt")
]
