"""Distances in time: counted (三天前), trailing (最近一周) and vague ones (前几天), and what lies beside a date (国庆前后)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from types import MappingProxyType

from moechat.when.periods import (
    DAY,
    SECOND,
    UNIT_DAYS,
    Period,
    Shift,
    TextContext,
    around,
    day,
    month_after,
    months,
    shifted,
    week,
    year,
)

# Widths of vague words in days. Those that end before today (前两天, 前几天, 前阵子 …) count back from yesterday, the others
# from now. English words share them: recently and lately are 最近, just now 刚才, the other day and a few days back 前几天,
# these days 这阵子, a while ago and a while back 前阵子, last time 上次, previously and earlier on 之前.
WIDTHS: Mapping[str, float] = MappingProxyType(
    {
        "刚才": 1 / 24,
        "最近": 14,
        "前两天": 3,
        "这两天": 1,
        "前几天": 7,
        "这几天": 3,
        "这阵子": 30,
        "前阵子": 45,
        "上次": 30,
        "之前": 180,
        "前两周": 14,
        "前几周": 35,
        "前两个月": 60,
        "前几个月": 180,
        "前两年": 730,
        "前几年": 1825,
        # Reach of 国庆前 and 国庆后, and half the width of 前后 and 左右.
        "前": 14,
        "后": 14,
        "前后": 3,
    }
)


def _moved(ctx: TextContext, delta: timedelta) -> datetime:
    """Now plus a stretch of hours that really pass, over a change of the clocks too."""
    if ctx.zone is None:
        return ctx.now + delta
    return (ctx.now.replace(tzinfo=ctx.zone).astimezone(UTC) + delta).astimezone(ctx.zone).replace(tzinfo=None)


def vague(ctx: TextContext, key: str, past: bool, word: str = "") -> Period:
    """The stretch of a vague word, up to now, or up to yesterday if it is ``past``. A word's own width goes before its key's."""
    width = ctx.widths.get(word, ctx.widths.get(key, WIDTHS[key]))
    if past:
        return Period(ctx.today - timedelta(days=width), ctx.today, "range")
    if width < 1:
        return Period(_moved(ctx, -timedelta(days=width)), ctx.present, "range")
    start = ctx.today - timedelta(days=width)
    return Period(start, ctx.present, "range")


def away(ctx: TextContext, unit: str, least: float, most: float, sign: int) -> Period:
    """N units before (-1) or after (1) now: days and weeks to the day, months to the month, years to the year, hours about.

    Half a year is six months, and a half counts in the next smaller unit; 一个多月 lies between one and two months.
    """
    if unit in ("second", "minute", "hour"):
        moments = sorted(_moved(ctx, sign * timedelta(days=UNIT_DAYS[unit] * n)) for n in (least, most))
        slack = timedelta(minutes=30) if unit == "hour" and least >= 1 else timedelta(days=UNIT_DAYS[unit] * least / 2)
        if unit != "hour":
            slack = timedelta(minutes=min(max(UNIT_DAYS[unit] * least * 1440 // 4, 1), 30))
        stop = moments[1] + slack
        return Period(moments[0] - slack, min(stop, ctx.present) if sign < 0 else stop, unit)
    if unit == "day" and least == 0.5:
        # 半天前 is said of some hours, rarely of twelve
        first, last = sorted(_moved(ctx, sign * timedelta(hours=hours)) for hours in (3, 12))
        return Period(first, last, "hour")
    if unit == "year" and least % 1:
        unit, least, most = "month", least * 12, most * 12
    if unit == "month" and least % 1:
        # Nobody means the day by 半个月前: three days of play, a week for more than a month.
        play = 0 if least != most else 3 if least < 1 else 7
        unit, least, most = "day", round(least * 30.44) - play, round(most * 30.44) + play
    if unit == "week" and least % 1:
        unit, least, most = "day", round(least * 7), round(most * 7)
    if least != most and most - least <= 1 and unit in ("month", "year"):
        edges = sorted(shifted(ctx.today, unit, sign * n) for n in (least, most))
        return Period(edges[0] + DAY, edges[1] + DAY, "range")
    first, last = sorted(shifted(ctx.today, unit, sign * n) for n in (least, most))
    whole = "day" if unit in ("day", "week") else unit
    begin, end = around(first, whole), around(last, whole)
    return begin if begin == end else Period(begin.start, end.stop, "range")


def trailing(ctx: TextContext, unit: str, count: float, *, ahead: bool = False) -> Period:
    """The last N units up to now; from days on they begin at midnight. ``ahead`` gives the next N units."""
    if unit in ("second", "minute", "hour"):
        delta = max(timedelta(days=UNIT_DAYS[unit] * count), SECOND)
        return (
            Period(ctx.now, _moved(ctx, delta), "range") if ahead else Period(_moved(ctx, -delta), ctx.present, "range")
        )
    if (unit == "year" and count % 1) or (unit == "month" and count % 1):
        unit, count = ("month", count * 12) if unit == "year" else ("day", round(count * 30.44))
    if ahead:
        return Period(ctx.now, shifted(ctx.today, unit, count) + DAY, "range")
    return Period(shifted(ctx.today, unit, -count), ctx.present, "range")


def _width(ctx: TextContext, key: str) -> timedelta:
    return timedelta(days=ctx.widths.get(key, WIDTHS[key]))


def _around(period: Period, ctx: TextContext) -> Period:
    if period.days > 3:
        return period
    slack = _width(ctx, "前后") if period.days >= 1 else timedelta(minutes=30)
    return Period(period.start - slack, period.stop + slack, "range")


def _since(period: Period, ctx: TextContext) -> Period | None:
    return Period(period.start, ctx.present, "range") if period.start <= ctx.now else None


def _before(period: Period, ctx: TextContext) -> Period:
    """国庆前 is the days before it; before a month or a year, or anything longer than a holiday, nothing bounds it."""
    reach = _width(ctx, "前") if period.days <= 15 else timedelta(days=3653)
    return Period(period.start - reach, period.start, "range")


def _after(period: Period, ctx: TextContext) -> Period:
    stop = period.stop + _width(ctx, "后") if period.days <= 15 else ctx.present
    return Period(period.stop, min(stop, ctx.present) if period.stop <= ctx.now else stop, "range")


def beside(start: int, count: int = 1, unit: str = "day") -> Shift:
    """``count`` days that begin ``start`` days from the date: from its first day back, from its last day on."""

    def shift(period: Period, ctx: TextContext) -> Period:
        edge = day(period.start) if start < 0 else day(period.stop - DAY)
        return day(edge.start + start * DAY, count, unit)

    return shift


def nth_day(number: int) -> Shift:
    """国庆第二天: counted from the first day on; -1 is the last."""
    return lambda period, ctx: day(period.stop - DAY if number < 0 else period.start + (number - 1) * DAY)


def weekday_beside(weekday: int, sign: int, count: int = 1, unit: str = "day") -> Shift:
    """The nearest such weekday wholly before (-1) or after (1) the date: the Monday before 24 July, 之前的那个周末."""

    def shift(period: Period, ctx: TextContext) -> Period:
        if sign < 0:
            start = day(period.start).start - count * DAY
            return day(start - (start.weekday() - weekday) % 7 * DAY, count, unit)
        start = day(period.stop - DAY).stop
        return day(start + (weekday - start.weekday()) % 7 * DAY, count, unit)

    return shift


def weekends_beside(sign: int, count: int = 1) -> Shift:
    """The weekend, or the ``count`` weekends with all between them, next to a date."""
    nearest = weekday_beside(5, sign, 2, "weekend")

    def shift(period: Period, ctx: TextContext) -> Period | None:
        weekend = nearest(period, ctx)
        if not weekend or count == 1:
            return weekend
        distance = sign * 7 * (count - 1) * DAY
        return Period(min(weekend.start, weekend.start + distance), max(weekend.stop, weekend.stop + distance), "range")

    return shift


def month_beside(ahead: int) -> Shift:
    return lambda period, ctx: months(*month_after(period.start.year, period.start.month, ahead))


def year_beside(ahead: int) -> Shift:
    return lambda period, ctx: year(period.start.year + ahead)


def stretch_beside(sign: int, unit: str, count: int) -> Shift:
    """The ``count`` units that end before (-1) or begin after (1) the date."""

    def shift(period: Period, ctx: TextContext) -> Period:
        if sign < 0:
            return Period(shifted(period.start, unit, -count), period.start, "range")
        return Period(period.stop, shifted(period.stop, unit, count), "range")

    return shift


SHIFTS: dict[str, Shift] = {
    "around": _around,
    "since": _since,
    "before": _before,
    "after": _after,
    "day before": beside(-1),
    "day after": beside(1),
    "evening before": lambda period, ctx: Period(day(period.start).start - DAY / 4, day(period.start).start, "part"),
    "evening after": lambda period, ctx: Period(day(period.stop).start + DAY * 0.75, day(period.stop).stop, "part"),
    "its week": lambda period, ctx: week(period.start),
    "its weekend": lambda period, ctx: day(week(period.start).start + 5 * DAY, 2, "weekend"),
    "its month": lambda period, ctx: around(period.start, "month"),
    "week before": beside(-7, 7, "week"),
    "week after": beside(1, 7, "week"),
    "month before": month_beside(-1),
    "month after": month_beside(1),
}
