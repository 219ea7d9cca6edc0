"""The clock: time is injected, never read inside a mechanism."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from typing import Protocol


class Clock(Protocol):
    """Anything that tells the time."""

    def now(self) -> datetime:
        """The present as an aware datetime in the configured zone."""
        ...


@dataclass(frozen=True)
class SystemClock:
    """The machine's clock; ``zone`` None means the system's own zone."""

    zone: tzinfo | None = None

    def now(self) -> datetime:
        return datetime.now(self.zone).astimezone(self.zone)


@dataclass
class SetClock:
    """A clock that stands where it is put (``--now``, tests, benchmarks)."""

    at: datetime

    def now(self) -> datetime:
        return self.at

    def advance(self, **delta: float) -> datetime:
        """Move on by ``timedelta(**delta)`` and return the new present."""
        self.at += timedelta(**delta)
        return self.at
