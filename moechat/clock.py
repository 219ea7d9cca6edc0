"""The clock: time is injected, never read inside a mechanism."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Protocol

from moechat.errors import ConfigError
from moechat.when.span import in_zone


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


SYSTEM_NOW = SystemClock().now


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
        return SetClock(moment_of(now, zone))
    except ValueError:
        raise ConfigError("command line", "--now", now, "write a time as 2025-05-21T15:00") from None


def moment_of(text: str, zone: tzinfo | None) -> datetime:
    """The time that an ISO text means, in ``zone`` where it has no offset, aware.

    Raises ValueError where it is none, or too near to an end of the calendar (the years 1 and 9999) for every zone.
    """
    return _placed(datetime.fromisoformat(text.strip()), zone)


def moment_at(seconds: float, zone: tzinfo | None) -> datetime:
    """The time ``seconds`` after the beginning of 1970, in ``zone``. Raises ValueError as ``moment_of`` does."""
    try:
        return _placed(datetime.fromtimestamp(seconds, UTC), zone)
    except (OverflowError, OSError):
        raise ValueError(f"{seconds} is out of range") from None


def _placed(moment: datetime, zone: tzinfo | None) -> datetime:
    if not 1 < moment.year < 9999:
        raise ValueError(f"the year {moment.year} is out of range")
    try:
        return local(moment, zone)
    except (OverflowError, OSError):
        raise ValueError(f"{moment} is out of range") from None


def local(moment: datetime, zone: tzinfo | None) -> datetime:
    """An aware datetime in ``zone`` (None: the system's); a naive one is taken as being in it."""
    if moment.tzinfo is None and zone is not None:
        return moment.replace(tzinfo=zone)
    return in_zone(moment, zone)
