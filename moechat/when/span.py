"""A stretch of time and the phrase that names it; how a moment stands before a memory in the prompt.

Days are calendar days of the clock's own zone, in either direction: what is to come in three days reads like what was
three days ago. The bounds are inclusive.
The longer ago, the coarser (seed 004, section 七).
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta, tzinfo
from typing import Literal

from moechat.when.names import MONTHS, Language
from moechat.when.words import ranges, table

Precision = Literal["moment", "part", "day", "month", "season", "year", "unknown"]
"""How exactly the time of an event is known: the unit that its bounds are in, and that it is told in."""
_BY_UNIT: Mapping[str, Precision] = {
    "second": "moment", "minute": "moment", "hour": "moment", "part": "part", "day": "day", "weekend": "day",
    "week": "day", "month": "month", "season": "season", "year": "year",
}  # fmt: skip
_BY_LENGTH: Sequence[tuple[timedelta, Precision]] = (
    (timedelta(hours=23), "moment"), (timedelta(days=62), "day"), (timedelta(days=730), "month"),
)  # fmt: skip
_BOUNDED = re.compile(r"[\d一二三四五六七八九十到至]|week|month|year|\b(?:to|until|till|through|and)\b|-")


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


WHOLE_DAY = timedelta(hours=12)  # A span as long as this names a day, not an hour of it.
HOURS_DAYS = 7
PARTS_DAYS = 30
# The part of the day by its first hour, half open; before the first and after the last it is night.
PARTS: Mapping[str, tuple[tuple[int, str], ...]] = {
    "zh": ((0, "晚上"), (6, "上午"), (12, "下午"), (18, "晚上")),
    "en": ((0, "night"), (6, "morning"), (12, "afternoon"), (18, "night")),
}

_NEAR: Mapping[str, Mapping[int, str]] = {
    "zh": {-2: "前天", -1: "昨天", 0: "今天", 1: "明天", 2: "后天"},
    "en": {-1: "yesterday", 0: "today", 1: "tomorrow"},
}
_FROM = 2  # Years are spoken of from two on, months and weeks likewise.
_UNITS = ((365, "year"), (30, "month"), (7, "week"), (1, "day"))
_UNIT_ZH = {"year": "年", "month": "个月", "week": "周", "day": "天"}


def shown(moment: datetime, now: datetime, language: Language = "zh") -> str:
    """``moment`` as seen from ``now``, both aware: to the minute today, to the hour within a week, to the part of the day
    within thirty days, and to the day beyond."""
    moment = in_zone(moment, now.tzinfo)
    days = abs((now.date() - moment.date()).days)
    day = f"{moment:%Y-%m-%d}"
    if days == 0:
        return f"{day} {moment:%H:%M}"
    if days <= HOURS_DAYS:
        return f"{day} {_hour(moment.hour, language)}"
    if days <= PARTS_DAYS:
        return f"{day} {_part(moment.hour, language)}"
    return day


def away(moment: datetime, now: datetime, language: Language = "zh") -> str:
    """How far ``moment`` is from ``now`` in words, by calendar days, in either direction: 3天前, in 3 days, about a year ago."""
    days = (in_zone(moment, now.tzinfo).date() - now.date()).days
    if (near := _NEAR[language].get(days)) is not None:
        return near
    count = abs(days)
    size, unit = next((size, unit) for size, unit in _UNITS if count >= size * _FROM or unit == "day")
    number = count // size
    if language == "zh":
        return f"{number}{_UNIT_ZH[unit]}{'后' if days > 0 else '前'}"
    words = f"{number} {unit}{'s' if number > 1 else ''}"
    return f"in {words}" if days > 0 else f"{words} ago"


def told(start: datetime, end: datetime, precision: Precision, now: datetime, language: Language = "zh") -> str:
    """A span as it is told at ``now``, never finer than it is known: 2027年春天, 2021-01-05 晚上, 2021-01-05至2021-01-07."""
    start, end = in_zone(start, now.tzinfo), in_zone(end, now.tzinfo)
    if precision in ("month", "season", "year"):
        return roughly(start, end, precision, language)
    day, length = f"{start:%Y-%m-%d}", end - start
    if length < WHOLE_DAY:
        return (
            f"{day} {_part_of(start, length, language)}"
            if precision in ("day", "part")
            else shown(start, now, language)
        )
    if start.date() == end.date():
        return day
    return f"{day}{'至' if language == 'zh' else ' to '}{end:%Y-%m-%d}"


def roughly(start: datetime, end: datetime, precision: Precision, language: Language = "zh") -> str:
    """A span that is known by the month, the season, the year or less exactly, as people say it: 2025年5月, around 2019."""
    count = (end.year - start.year) * 12 + end.month - start.month + 1
    if precision == "season" and (name := _named("seasons", (start.month, count), language)):
        if language == "en":
            return f"{name} {start.year}"
        return f"{start.year}年{name}{'天' if len(name) == 1 else ''}"
    precision = "month" if precision == "season" else precision
    first, last = _calendar(start, precision, language), _calendar(end, precision, language)
    words = first if first == last else f"{first}到{last}" if language == "zh" else f"{first} to {last}"
    if precision == "month":
        return words
    return f"{words}前后" if language == "zh" else f"around {words}"


def _calendar(moment: datetime, precision: Precision, language: Language) -> str:
    if precision == "month":
        return f"{moment.year}年{moment.month}月" if language == "zh" else f"{MONTHS[moment.month - 1]} {moment.year}"
    if precision == "year":
        return f"{moment.year}年" if language == "zh" else str(moment.year)
    return f"{moment:%Y-%m-%d}"


def in_zone(moment: datetime, zone: tzinfo | None) -> datetime:
    """An aware moment in a zone; at the very ends of the calendar, where that day is none, its clock is left as it is."""
    try:
        return moment.astimezone(zone)
    except OverflowError:
        return moment.replace(tzinfo=zone) if zone else moment


def _hour(hour: int, language: str) -> str:
    if language == "zh":
        return f"{hour}点"
    return f"{hour % 12 or 12} {'am' if hour < 12 else 'pm'}"


def _part_of(start: datetime, length: timedelta, language: str) -> str:
    """The name of a part of the day: 18 to 24 is 晚上, 17 to 21 evening."""
    hours = (start.hour, start.hour + round(length / timedelta(hours=1)))
    return _named("parts", hours, language) or _part(start.hour, language)


def _named(name: str, numbers: tuple[int, int], language: str) -> str:
    """The first word of a table with ranges that means these two numbers, "" where none does."""
    return next((word for word, meant in ranges(table(language)[name]).items() if meant == numbers), "")


def undated(text: str, phrase: str) -> str:
    """A sentence without the words for its time, which stands beside it: 用户昨天吃了火锅 → 用户吃了火锅. It stays as it is where
    it needs them (面试在周五, by Friday)."""
    bare = re.search(
        rf"(?P<leads>\b(?:by|until|till|before|after|since|between|than)\s+|[从自到至过])?(?:\b(?:on|in|at|during|this)\s+)?"
        rf"(?<![A-Za-z\d]){re.escape(phrase)}(?![A-Za-z\d]|\s?前后|\s?左右|[之以]?[前后]|起|开始|[到至])的?,?\s?",
        text, re.IGNORECASE,
    )  # fmt: skip
    if bare is None or bare["leads"] or not phrase:
        return text
    before, after = text[: bare.start()], text[bare.end() :].lstrip("，, ")
    if not after.strip("。.!！?？了啦 ") and re.search(
        r"(?:[在到至是为于成个的]|\b(?:is|are|was|were|be|to|for|from|of|the|a|an)|['’]s)\s*$", before
    ):
        return text
    rest = f"{before}{after}".strip()
    return rest[:1].upper() + rest[1:]


def _part(hour: int, language: str) -> str:
    return [name for start, name in PARTS[language] if start <= hour][-1]
