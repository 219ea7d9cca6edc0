"""What a reading gives: a stretch of time and the phrase that names it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


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

    def covers(self, moment: datetime) -> bool:
        return self.start <= moment <= self.end
