"""What calls of language models cost, by day: one file of JSON lines per owner, summed up as it grows.

It holds numbers and days, no words and no ids: nothing in it tells of one exchange.

    day use calls prompt reply      tokens of these calls, as the provider counts them (else as we do); ``use`` is reply or
                                    understanding
    cached reported                    how many of ``reported`` prompt tokens the provider had cached
    same compared                   how many of ``compared`` tokens of ours equal the prompt before, from its start
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import date
from typing import Any, Literal, get_args

from moechat.store.entries import Entry, Shape, is_count, one_of
from moechat.store.json_lines import Lines
from moechat.store.state import Writing

MIN_LINES_SUMMED = 200  # More lines are summed up into one for each day and use.
Use = Literal["reply", "understanding"]


def _is_day(value: Any) -> bool:
    try:
        return bool(date.fromisoformat(value))
    except (TypeError, ValueError):
        return False


@dataclass(frozen=True)
class TurnCost:
    """What a turn cost in tokens: the prompt and the reply as the provider counts them (as we do, where it does not), ``cached``
    what it says that it had of the prompt. ``same`` of ``compared`` tokens of ours equal the prompt before it, from the start;
    both are 0 where there was none."""

    prompt: int
    reply: int
    cached: int | None = None
    same: int = 0
    compared: int = 0


@dataclass(frozen=True)
class Spent:
    """The cost of the calls of one day for one use."""

    day: str
    use: Use
    calls: int = 0
    prompt: int = 0
    reply: int = 0
    cached: int = 0
    reported: int = 0
    same: int = 0
    compared: int = 0

    def __add__(self, other: Spent) -> Spent:
        sums = {name: getattr(self, name) + getattr(other, name) for name in _COUNTS}
        return Spent(self.day, self.use, **sums)


_COUNTS = [field.name for field in fields(Spent) if field.type == "int"]
USAGE = Shape({"day": _is_day, "use": one_of(*get_args(Use))} | {f"{name}?": is_count for name in _COUNTS})
Sums = dict[tuple[str, Use], Spent]


class UsageFile:
    """Of one owner. ``add`` costs nothing; ``write`` needs the owner's lock for a moment and is for the background."""

    def __init__(self, lines: Lines, writing: Writing) -> None:
        self._lines, self._writing = lines, writing
        self._threads = threading.Lock()
        self._waiting: list[Spent] = []
        self._sums: Sums = {}
        self._read = 0

    def add(self, spent: Spent) -> None:
        self._waiting.append(spent)

    def count(self, day: date, use: Use, cost: TurnCost) -> None:
        """One call."""
        reported = cost.prompt if cost.cached is not None else 0
        self.add(Spent(
            day.isoformat(), use, 1, cost.prompt, cost.reply, cost.cached or 0, reported, cost.same, cost.compared
        ))  # fmt: skip

    def write(self) -> None:
        """Write what was added. Raises DiskError and the like; it waits for the next time then."""
        if not self._waiting:
            return
        with self._writing("usage"), self._threads:
            waiting = list(self._waiting)
            self._follow()
            self._lines.append(_rows(waiting))
            self._take(_rows(waiting))
            del self._waiting[: len(waiting)]
            if self._read > MIN_LINES_SUMMED + len(self._sums):
                self._lines.rewrite(_rows(self._sums.values()))
                self._read = len(self._sums)

    def days(self) -> list[Spent]:
        """What was spent, day by day, replies first; what waits to be written, too."""
        with self._threads:
            self._follow()
            sums, waiting = dict(self._sums), list(self._waiting)
        for spent in waiting:
            _count_in(sums, spent)
        return [sums[key] for key in sorted(sums)]

    def _follow(self) -> None:
        anew, entries = self._lines.unread()
        if anew:
            self._sums, self._read = {}, 0
        self._take(entries)

    def _take(self, entries: Sequence[Entry]) -> None:
        for entry in entries:
            _count_in(self._sums, Spent(entry["day"], entry["use"], *(entry.get(name, 0) for name in _COUNTS)))
        self._read += len(entries)


def _count_in(sums: Sums, spent: Spent) -> None:
    key = spent.day, spent.use
    sums[key] = sums[key] + spent if key in sums else spent


def _rows(spent: Iterable[Spent]) -> list[Mapping[str, Any]]:
    return [{key: value for key, value in asdict(one).items() if value} for one in spent]
