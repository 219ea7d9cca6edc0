"""The Chinese and the common calendar: lunar dates, solar terms, festivals and public holidays.

All dates are those of China Standard Time. Lunar dates are known for 1900-2100; outside, a lunar day has no date (None).
The lunar table was computed from new moons and solar terms (GB/T 33661) and agrees with published almanacs for 1990-2060.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from datetime import date, timedelta
from functools import lru_cache, partial
from itertools import product

from moechat.when.words import read

FIRST_LUNAR_YEAR = 1900

_TABLES = read("calendar")
_LUNAR = _TABLES["lunar"]["years"].replace("\n", "")

SOLAR_TERMS = (
    "春分 清明 谷雨 立夏 小满 芒种 夏至 小暑 大暑 立秋 处暑 白露 秋分 寒露 霜降 立冬 小雪 大雪 冬至 小寒 大寒 立春 雨水 惊蛰"
).split()

_TERM_CORRECTION = {(int(one[:4]), one[4:6]): int(one[6:]) for one in _TABLES["terms"]["corrections"].split()}

DayOf = Callable[[int], date | None]


def lunar_year(year: int) -> tuple[date, int, list[int]] | None:
    """New Year's day, the number of the leap month (0: none) and the months' lengths in order; None outside 1900-2100."""
    place = (year - FIRST_LUNAR_YEAR) * 6
    if not 0 <= place < len(_LUNAR):
        return None
    code = int(_LUNAR[place : place + 6], 16)
    leap = code >> 13 & 15
    return (
        date(year, 1, 20) + timedelta(days=code >> 17),
        leap,
        [29 + (code >> i & 1) for i in range(13 if leap else 12)],
    )


def lunar_month(year: int, month: int, *, leap: bool = False) -> tuple[date, int] | None:
    """First day and length of a lunar month; None where there is none."""
    months = lunar_year(year)
    if not months or not 1 <= month <= 12 or (leap and months[1] != month):
        return None
    first, leap_month, lengths = months
    index = month - 1 + (leap or 0 < leap_month < month)
    return first + timedelta(days=sum(lengths[:index])), lengths[index]


def lunar_day(year: int, month: int, day: int, *, leap: bool = False) -> date | None:
    """The date of a lunar day; the thirtieth of the twelfth month is the year's last day, 29th or 30th (除夕)."""
    whole = lunar_month(year, month, leap=leap)
    if not whole or day < 1:
        return None
    first, length = whole
    if day > length:
        return first + timedelta(days=length - 1) if (month, day) == (12, 30) else None
    return first + timedelta(days=day - 1)


def lunar_date(day: date) -> tuple[int, int, bool] | None:
    """(month, day of the month, is it in a leap month) in the lunar calendar; None outside 1900-2100."""
    for year, month, leap in product((day.year, day.year - 1), range(1, 13), (False, True)):
        whole = lunar_month(year, month, leap=leap)
        if whole and 0 <= (passed := (day - whole[0]).days) < whole[1]:
            return month, passed + 1, leap
    return None


def comes_round(first: date, day: date, *, lunar: bool = False) -> bool:
    """Whether ``first`` comes round on a day, by sun or moon. 29 February is kept on the 28th, the thirtieth of a lunar month
    on its last day, where there is none; nothing is kept in a leap month."""
    if not lunar:
        is_leap_day = (first.month, first.day) == (2, 29) and (day + timedelta(days=1)).day == 1
        return (first.month, first.day) == (day.month, day.day) or (is_leap_day and day.month == 2)
    kept = lunar_date(first)
    months = [lunar_month(year, kept[0]) for year in (day.year, day.year - 1)] if kept else []
    return kept is not None and day in [one[0] + timedelta(days=min(kept[1], one[1]) - 1) for one in months if one]


@lru_cache(maxsize=64)
def festivals_on(day: date) -> tuple[str, ...]:
    """The festivals that fall on a day, by their names in ``FESTIVALS``."""
    return tuple(name for name in FESTIVALS if any(festival_days(name, day, day)))


def _sun_longitude(days: float) -> float:
    """Apparent longitude of the sun in degrees, ``days`` after noon of 1 January 2000, dynamical time (Meeus, chapter 25)."""
    t = days / 36525
    anomaly = math.radians(357.52911 + 35999.05029 * t)
    centre = (1.914602 - 0.004817 * t) * math.sin(anomaly) + 0.019993 * math.sin(2 * anomaly)
    centre += 0.000289 * math.sin(3 * anomaly)
    node = math.radians(125.04 - 1934.136 * t)
    return (280.46646 + 36000.76983 * t + centre - 0.00569 - 0.00478 * math.sin(node)) % 360


@lru_cache(maxsize=512)
def solar_term(year: int, name: str) -> date:
    """The day on which the sun reaches a solar term."""
    index = SOLAR_TERMS.index(name)
    days = (date(year, 3, 20) - date(2000, 1, 1)).days + index * 15.2184
    if index >= 19:
        days -= 365.2422
    for _ in range(6):
        away = (index * 15 - _sun_longitude(days) + 180) % 360 - 180
        days += away * 365.2422 / 360
    # 69 s is the present difference of dynamical from universal time; noon is half a day, China is eight hours ahead.
    whole = math.floor(days - 69 / 86400 + 0.5 + 8 / 24) + _TERM_CORRECTION.get((year, name), 0)
    return date(2000, 1, 1) + timedelta(days=whole)


def easter(year: int) -> date:
    """Western Easter Sunday (the anonymous Gregorian algorithm)."""
    a, b, c = year % 19, year // 100, year % 100
    d = (19 * a + b - b // 4 - (b - (b + 8) // 25 + 1) // 3 + 15) % 30
    e = (32 + 2 * (b % 4) + 2 * (c // 4) - d - c % 4) % 7
    f = d + e - 7 * ((a + 11 * d + 22 * e) // 451) + 114
    return date(year, f // 31, f % 31 + 1)


def nth_weekday(year: int, month: int, weekday: int, nth: int) -> date:
    """The nth (from 1) Monday (0) to Sunday (6) of a month; -1 is the last."""
    if nth < 0:
        last = date(year + month // 12, month % 12 + 1, 1) - timedelta(days=1)
        return last - timedelta(days=(last.weekday() - weekday) % 7)
    first = date(year, month, 1)
    return first + timedelta(days=(weekday - first.weekday()) % 7 + 7 * (nth - 1))


_KINDS: Mapping[str, Callable[..., date | None]] = {
    "day": date, "lunar": lunar_day, "weekday": nth_weekday, "easter": easter,
}  # fmt: skip


def _day_of(rule: str) -> DayOf:
    """The day of a festival by (lunar) year, as ``calendar.toml`` says it."""
    words, _, later = rule.partition(",")
    kind, *numbers = words.split()

    def day(year: int) -> date | None:
        base = _KINDS[kind](year, *map(int, numbers))
        return base + timedelta(days=int(later or 0)) if base else None

    return day


FESTIVALS: dict[str, DayOf] = {name: _day_of(rule) for name, rule in _TABLES["festivals"].items()}
FESTIVALS |= {name: partial(solar_term, name=name) for name in SOLAR_TERMS}


def festival_days(name: str, first: date, last: date) -> Iterator[date]:
    """Every day from ``first`` to ``last`` (inclusive) on which the festival falls, in order."""
    day_of = FESTIVALS[name]
    for year in range(max(first.year - 1, 1), min(last.year, 9998) + 1):
        day = day_of(year)
        if day and first <= day <= last:
            yield day


def _official(table: str) -> dict[int, tuple[date, date]]:
    spans = {}
    for entry in table.split():
        year, _, days = entry.partition(":")
        first, last = (date(int(year), int(day[:2]), int(day[2:])) for day in days.split("-"))
        spans[int(year)] = (first, last)
    return spans


_OFFICIAL = {name: _official(days) for name, days in _TABLES["holidays"].items()}

# Days off around a one-day holiday, by its weekday: joined with the weekend, as the yearly notices do.
_BRIDGE = {0: (-2, 0), 1: (-2, 0), 2: (0, 0), 3: (0, 2), 4: (0, 2), 5: (0, 2), 6: (-1, 1)}
_BRIDGED = {"元旦", "清明", "端午", "中秋"}
_BESIDE = {"高考": (0, 2), "复活节": (-2, 1), "圣诞": (-1, 7)}


def holiday(name: str, day: date) -> tuple[date, date]:
    """First and last day off around the festival that falls on ``day`` (春节, 国庆, 五一 by the official notice if known).

    A festival that is no public holiday in China has its own day and the days beside it; 圣诞 lasts until New Year.
    """
    official = _OFFICIAL.get("春节" if name == "除夕" else name, {}).get(day.year)
    if official:
        return official
    national = _OFFICIAL["国庆"].get(day.year)
    if name == "中秋" and national and national[0] <= day <= national[1]:
        return national
    if name in ("春节", "除夕"):
        new_year = day + timedelta(days=name == "除夕")
        return new_year - timedelta(days=1), new_year + timedelta(days=6 if day.year > 2024 else 5)
    if name == "劳动节":
        return day, day + timedelta(days=2 if day.year < 1999 else 6 if day.year < 2008 else 4)
    if name == "国庆":
        return day, day + timedelta(days=6 if day.year >= 1999 else 1)
    before, after = _BRIDGE[day.weekday()] if name in _BRIDGED else _BESIDE.get(name, (-1, 1))
    return day + timedelta(days=before), day + timedelta(days=after)
