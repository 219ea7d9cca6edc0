"""Stretches of the calendar, hours of the day (am or pm) and the pieces of time expressions, in naive local time.

A piece is *fixed* (昨天, last week) or *floats* (三月, 周三, 晚上): then it names an occurrence inside whatever contains it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo
from functools import cache
from typing import Literal

from moechat.when import calendar

# Patterns are compiled at first use, not at import, and kept (the cache of ``re`` is small and shared by all).
compiled = cache(re.compile)

DAY = timedelta(days=1)
HOUR = timedelta(hours=1)
SECOND = timedelta(seconds=1)
# The length of a unit in days, for tolerances only; dates are reckoned on the calendar.
UNIT_DAYS = {
    "second": 1 / 86400,
    "minute": 1 / 1440,
    "hour": 1 / 24,
    "day": 1,
    "week": 7,
    "weekend": 7,
    "month": 30.44,
    "year": 365.24,
}


@dataclass(frozen=True, slots=True)
class Period:
    """From ``start`` up to, not including, ``stop``; ``unit`` is the granularity of ``Span``."""

    start: datetime
    stop: datetime
    unit: str

    @property
    def days(self) -> float:
        return (self.stop - self.start) / DAY


Anchors = Callable[[str], tuple[datetime, datetime] | None]


@dataclass(frozen=True, slots=True)
class TextContext:
    """What an expression is resolved against: the present, to the second, and the widths of vague words in days."""

    now: datetime
    widths: Mapping[str, float]
    use: str = "recall"
    zone: tzinfo | None = None
    anchors: Anchors | None = None
    plan: tuple[datetime, datetime] | None = None
    """Of a plan that is moved: what floats is read from its date on, or back from it where it ``is_earlier``."""
    is_earlier: bool = False

    @property
    def today(self) -> datetime:
        return self.now.replace(hour=0, minute=0, second=0)

    @property
    def present(self) -> datetime:
        """The first second that is not past yet."""
        return self.now + SECOND


Shift = Callable[[Period, TextContext], "Period | None"]
Within = Callable[[Period], Iterator[Period]]
Cycle = Literal["day", "week", "month", "year"]


@dataclass(frozen=True, slots=True)
class Piece:
    """One word of a time expression.

    ``rank`` orders coarse to fine (9 decade, 8 year, 7 season, 6 month, 5 week, 4 day, 3.9 weekday, 3 part, 2 clock).
    ``within`` yields what the piece names inside a period, ``cycle`` is how often it comes round; a floating piece without a
    cycle cannot stand alone. ``shift`` marks a piece that changes the expression before (or, for ``leads``, after) it.
    """

    at: tuple[int, int]
    rank: float
    fixed: Period | None = None
    within: Within | None = None
    cycle: Cycle | None = None
    shift: Shift | None = None
    leads: bool = False


Match = re.Match[str]
Maker = Callable[[Match, TextContext], list[Piece]]


def piece(
    match: Match,
    rank: float,
    *,
    fixed: Period | None = None,
    within: Within | None = None,
    cycle: Cycle | None = None,
    shift: Shift | None = None,
    leads: bool = False,
) -> list[Piece]:
    """A rule's usual result: one piece where its pattern matched."""
    return [Piece(match.span(), rank, fixed, within, cycle, shift, leads)]


def day(moment: datetime, count: int = 1, unit: str = "day") -> Period:
    start = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    return Period(start, start + count * DAY, unit)


def on(at: date) -> Period:
    return day(datetime(at.year, at.month, at.day))


def week(moment: datetime, ahead: int = 0) -> Period:
    """The week, Monday to Sunday, that holds a moment, or one ``ahead`` of it."""
    return day(moment + (7 * ahead - moment.weekday()) * DAY, 7, "week")


def month_after(year: int, month: int, ahead: int) -> tuple[int, int]:
    index = year * 12 + month - 1 + ahead
    return index // 12, index % 12 + 1


def months(year: int, month: int, count: int = 1, unit: str = "month") -> Period:
    """``count`` whole months from the given one."""
    return Period(datetime(year, month, 1), datetime(*month_after(year, month, count), 1), unit)


def month(moment: datetime, ahead: int = 0) -> Period:
    return months(*month_after(moment.year, moment.month, ahead))


def year(number: int, count: int = 1) -> Period:
    return Period(datetime(number, 1, 1), datetime(number + count, 1, 1), "year")


def shifted(moment: datetime, unit: str, count: float) -> datetime:
    """A moment ``count`` units later; a day that the target month lacks becomes its last."""
    if unit in ("month", "year"):
        whole = round(count * (12 if unit == "year" else 1))
        y, m = month_after(moment.year, moment.month, whole)
        last = (months(y, m).stop - DAY).day
        return moment.replace(year=y, month=m, day=min(moment.day, last))
    return moment + timedelta(days=count * UNIT_DAYS[unit])


def cycle_of(moment: datetime, cycle: str, ahead: int = 0) -> Period:
    """The day, week, month or year that holds a moment, ``ahead`` of it."""
    if cycle == "day":
        return day(moment + ahead * DAY)
    if cycle == "week":
        return week(moment, ahead)
    return month(moment, ahead) if cycle == "month" else year(moment.year + ahead)


def _starts(period: Period, inner: Period) -> bool:
    return period.start <= inner.start < period.stop


def in_years(make: Callable[[int], Period | None]) -> Within:
    """An occurrence a year, made from the year's number."""

    def within(period: Period) -> Iterator[Period]:
        for number in range(max(period.start.year - 1, 1), min(period.stop.year, 9998) + 1):
            occurrence = make(number)
            if occurrence and _starts(period, occurrence):
                yield occurrence

    return within


def in_lunar_years(make: Callable[[int], Period | None]) -> Within:
    """As ``in_years``, but 去年腊月 is the twelfth month of last year's lunar year, which may begin in January."""
    common = in_years(make)

    def within(period: Period) -> Iterator[Period]:
        if period.unit != "year" or period.days > 366:
            yield from common(period)
        elif occurrence := make(period.start.year):
            yield occurrence

    return within


def in_months(make: Callable[[int, int], Period | None]) -> Within:
    """An occurrence a month, made from year and month."""

    def within(period: Period) -> Iterator[Period]:
        y, m = period.start.year, period.start.month
        while datetime(y, m, 1) < period.stop:
            occurrence = make(y, m)
            if occurrence and _starts(period, occurrence):
                yield occurrence
            y, m = month_after(y, m, 1)

    return within


def _every(days: int, start: datetime, stop: datetime) -> Iterator[datetime]:
    """Moments that many days apart, from ``start`` up to, not including, ``stop``."""
    while start < stop:
        yield start
        start += days * DAY


def in_weeks(weekday: int, count: int = 1, unit: str = "day") -> Within:
    """``count`` days from a weekday (Monday 0) of every week."""

    def within(period: Period) -> Iterator[Period]:
        start = period.start + (weekday - period.start.weekday()) % 7 * DAY
        return (day(at, count, unit) for at in _every(7, start, period.stop))

    return within


def in_days(first: float, last: float, unit: str = "part") -> Within:
    """Hours ``first`` to ``last`` (exclusive, may pass midnight) of every day."""

    def within(period: Period) -> Iterator[Period]:
        midnights = _every(1, period.start.replace(hour=0, minute=0, second=0), period.stop)
        return (Period(at + timedelta(hours=first), at + timedelta(hours=last), unit) for at in midnights)

    return within


def day_of_month(number: int) -> Within:
    def make(y: int, m: int) -> Period | None:
        whole = months(y, m)
        start = whole.start + (number - 1) * DAY
        return day(start) if start < whole.stop else None

    return in_months(make)


def part_of_month(first: int, last: int) -> Within:
    """Days ``first`` to ``last`` of every month; 31 is its last day."""

    def make(y: int, m: int) -> Period:
        whole = months(y, m)
        return Period(whole.start + (first - 1) * DAY, min(whole.start + last * DAY, whole.stop), "week")

    return in_months(make)


def festival(name: str) -> Within:
    def within(period: Period) -> Iterator[Period]:
        last = (period.stop - SECOND).date()
        return map(on, calendar.festival_days(name, period.start.date(), last))

    return within


def nth(within: Within, number: int) -> Within:
    """The nth (from 1; -1 the last) of what is inside."""

    def pick(period: Period) -> Iterator[Period]:
        inside = list(within(period))
        if -len(inside) <= number <= len(inside) and number:
            yield inside[number - 1 if number > 0 else number]

    return pick


def blocks(length: int, unit: str) -> Within:
    """The period cut into blocks of a number of days (第二周: days 8 to 14)."""

    return lambda period: (
        Period(at, min(at + length * DAY, period.stop), unit) for at in _every(length, period.start, period.stop)
    )


def last_days(count: int, unit: str) -> Within:
    """The last ``count`` days of a period (the last week of November)."""

    return lambda period: iter([Period(period.stop - count * DAY, period.stop, unit)])


def same_day(moment: datetime, slack: int = 0) -> Within:
    """The same day of a month or a year as ``moment``, with ``slack`` days on either side (去年今天, 去年这个时候)."""

    def within(period: Period) -> Iterator[Period]:
        if period.unit == "week":  # this time last week
            yield day(period.start + moment.weekday() * DAY)
            return
        y = period.start.year
        m = moment.month if period.days > 31 else period.start.month
        whole = months(y, m)
        if period.days >= 28 and whole.start + (moment.day - 1) * DAY < whole.stop:
            whole_day = day(whole.start + (moment.day - 1) * DAY)
            yield Period(whole_day.start - slack * DAY, whole_day.stop + slack * DAY, "day" if not slack else "week")

    return within


def clock(hour: int, minute: int | None, *, exact: bool = False) -> Within:
    """An o'clock. Below twelve both halves of the day are tried; a whole day takes the waking one unless ``exact``."""
    length, unit = (timedelta(hours=1), "hour") if minute is None else (timedelta(minutes=1), "minute")

    def at(start: datetime, value: int) -> Period:
        begin = start + timedelta(hours=value, minutes=minute or 0)
        return Period(begin, begin + length, unit)

    def within(period: Period) -> Iterator[Period]:
        midnight = period.start.replace(hour=0, minute=0, second=0)
        if period.days >= 1:
            waking = hour + 12 if not exact and 1 <= hour <= 6 else hour
            yield from (at(start, waking) for start in _every(1, midnight, period.stop))
            return
        # A part of the day settles the half; 昨晚一点 and 昨晚十二点 lie past midnight.
        for value in (hour,) if exact else (hour, hour + 12, hour + 24):
            hour_of_day = at(midnight, value)
            if period.start <= hour_of_day.start < period.stop:
                yield hour_of_day
                return
        if period.start.hour >= 17:
            yield at(midnight, 24 if hour in (12, 24) else hour + 24 if hour < 5 else hour)

    return within
