"""The clock: time is injected, never read inside a mechanism."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from typing import Protocol

from moechat.errors import ConfigError


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


def clock_at(now: str | None, zone: tzinfo | None) -> Clock:
    """A clock that is held at an ISO time (``--now``), or the machine's where none is given. Raises ConfigError."""
    if now is None:
        return SystemClock(zone)
    try:
        return SetClock(local(datetime.fromisoformat(now), zone))
    except ValueError:
        raise ConfigError("command line", "--now", now, "write a time as 2025-05-21T15:00") from None


def local(moment: datetime, zone: tzinfo | None) -> datetime:
    """An aware datetime in ``zone`` (None: the system's); a naive one is taken as being in it."""
    if moment.tzinfo is None and zone is not None:
        return moment.replace(tzinfo=zone)
    return moment.astimezone(zone)
