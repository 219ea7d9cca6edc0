"""What a reading gives: a stretch of time and the phrase that names it."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import Literal

Precision = Literal["moment", "day", "month", "year", "unknown"]
"""How exactly the time of an event is known: the unit that its bounds are in."""
_BY_UNIT: Mapping[str, Precision] = {
    "second": "moment", "minute": "moment", "hour": "moment", "part": "day", "day": "day", "weekend": "day",
    "week": "day", "month": "month", "season": "month", "year": "year",
}  # fmt: skip
_BY_LENGTH: Sequence[tuple[timedelta, Precision]] = (
    (timedelta(hours=23), "moment"), (timedelta(days=62), "day"), (timedelta(days=730), "month"),
)  # fmt: skip
_BOUNDED = re.compile(r"[\d一二三四五六七八九十到至]|week|month|year")


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of time that a phrase names.

    ``start`` and ``end`` are aware, local and both inclusive (``end`` is the last second). ``at`` is the phrase's place
    in the text as character offsets [from, to). ``granularity`` is the unit that the phrase speaks in: ``second``,
    ``minute``, ``hour``, ``part`` (of a day), ``day``, ``weekend``, ``week``, ``month``, ``season``, ``year`` or ``range``.
    """

    phrase: str
    start: datetime
    end: datetime
    granularity: str = "day"
    at: tuple[int, int] = (0, 0)

    @property
    def is_vague(self) -> bool:
        """Whether the phrase names no bounds (最近, lately)."""
        return self.granularity == "range" and not _BOUNDED.search(self.phrase)

    @property
    def precision(self) -> Precision:
        """How exactly the time is known."""
        if self.granularity == "range" and not self.is_vague:
            length = self.end - self.start
            return next((name for most, name in _BY_LENGTH if length < most), "year")
        return _BY_UNIT.get(self.granularity, "unknown")

    def covers(self, moment: datetime) -> bool:
        return self.start <= moment <= self.end


def precision_of(start: datetime, end: datetime) -> Precision:
    """The largest unit that both bounds (inclusive) stand at the edge of."""
    if (start.time(), end.time()) != (time(), time(23, 59, 59)):
        return "moment"
    if start.day == 1 and end.day == monthrange(end.year, end.month)[1]:
        return "year" if (start.month, end.month) == (1, 12) else "month"
    return "day"
