"""Expressions and the spans they should give: the tables in ``when_tables``.

One line is ``text => spans``. A span is a day (2025-05-20), month, year, ``DAYThh`` (a whole hour), ``DAYThh:mm`` (a minute),
or ``first..last`` of these (the last one inclusive), ``now`` is the present second. ``-`` is no span at all; several are
joined by ``;``. A heading names the class, the present (one of ``NOWS``) and the use.
"""

from __future__ import annotations

import calendar
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from tests import tables

TABLES = Path(__file__).parent / "when_tables"
JUDGED = ("conventions", "met", "tense")
UNSEEN = Path(__file__).parent / "when_unseen"
NOWS = {
    "wed": datetime(2025, 5, 21, 15, 0), "night": datetime(2025, 5, 21, 0, 10), "sunday": datetime(2025, 5, 25, 15, 0),
    "month_end": datetime(2025, 3, 31, 9, 0), "leap_day": datetime(2024, 2, 29, 20, 0),
    "new_year": datetime(2025, 1, 1, 10, 0), "after_new_year": datetime(2026, 2, 18, 9, 30),
    "december": datetime(2024, 12, 2, 22, 15), "monday": datetime(2025, 7, 7, 18, 0),
    "autumn": datetime(2026, 10, 14, 21, 40), "dawn": datetime(2026, 6, 12, 0, 40),
    "spring": datetime(2026, 4, 6, 11, 20), "november": datetime(2026, 11, 24, 15, 0),
}  # fmt: skip


@dataclass(frozen=True)
class Row:
    kind: str
    now: datetime
    use: str
    text: str
    spans: tuple[tuple[datetime, datetime], ...]


def _edges(cell: str, now: datetime) -> tuple[datetime, datetime]:
    """First and last second of one point of the notation."""
    if cell == "now":
        return now, now
    day, _, clock = cell.partition("T")
    numbers = [int(number) for number in day.split("-")]
    if len(numbers) == 1:
        return datetime(numbers[0], 1, 1), datetime(numbers[0], 12, 31, 23, 59, 59)
    if len(numbers) == 2:
        last = calendar.monthrange(numbers[0], numbers[1])[1]
        return datetime(*numbers, 1), datetime(*numbers, last, 23, 59, 59)
    start = datetime(*numbers)
    if not clock:
        return start, start + timedelta(days=1, seconds=-1)
    hour, _, minute = clock.partition(":")
    start += timedelta(hours=int(hour), minutes=int(minute or 0))
    return start, start + timedelta(seconds=59 if minute else 3599)


def expected(cell: str, now: datetime) -> tuple[tuple[datetime, datetime], ...]:
    if cell.strip() == "-":
        return ()
    spans = []
    for span in cell.split(";"):
        first, _, last = span.strip().partition("..")
        spans.append((_edges(first, now)[0], _edges(last or first, now)[1]))
    return tuple(spans)


def unseen(name: str) -> Iterator[Row]:
    """The cases of a file of ``when_unseen``: one JSON object a line, by a hand that saw neither the rules nor this table."""
    for line in (UNSEEN / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        spans = tuple((datetime.fromisoformat(first), datetime.fromisoformat(last)) for first, last in case["spans"])
        kind = "not" if name.startswith("none") else name[:2]
        yield Row(kind, datetime.fromisoformat(case["now"]), case["use"], case["text"], spans)


def rows(*names: str) -> Iterator[Row]:
    """The cases of some tables, of those that must all be right where none is named."""
    for name in names or JUDGED:
        for (kind, now, use), text, cell in tables.lines(TABLES / f"{name}.txt"):
            yield Row(kind, NOWS[now], use, text, expected(cell, NOWS[now]))
