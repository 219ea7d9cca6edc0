"""What Chinese and English say alike: the pieces of an expression once its words are read as numbers, and distances.

Distances are counted (三天前), trailing (最近一周) or vague (前几天); a change moves to what lies beside a date (国庆前后).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from types import MappingProxyType

from moechat.when import periods as p
from moechat.when.calendar import holiday
from moechat.when.periods import DAY, SECOND, UNIT_DAYS, Match, Period, Piece, Shift, TextContext, shifted

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
    return (ctx.now.replace(tzinfo=ctx.zone).astimezone(UTC) + delta).astimezone(ctx.zone).replace(tzinfo=None)


def stretch_of(ctx: TextContext, key: str, past: bool, word: str = "") -> Period:
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
    begin, end = p.cycle_of(first, whole), p.cycle_of(last, whole)
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


def _since(period: Period, ctx: TextContext) -> Period:
    """From then until now; what begins on a day to come (周一开始上班) is that day."""
    return Period(period.start, ctx.present, "range") if period.start <= ctx.now else period


def _before(period: Period, ctx: TextContext) -> Period:
    """国庆前 is the days before it; before a month or a year, or anything longer than a holiday, nothing bounds it."""
    if period.days > 15 and period.stop > ctx.now:  # 年底前: by then
        return Period(ctx.now, period.start if period.start > ctx.now else period.stop, "range")
    reach = _width(ctx, "前") if period.days <= 15 else timedelta(days=3653)
    return Period(period.start - reach, period.start, "range")


def _after(period: Period, ctx: TextContext) -> Period:
    stop = period.stop + _width(ctx, "后") if period.days <= 15 else ctx.present
    return Period(period.stop, min(stop, ctx.present) if period.stop <= ctx.now else stop, "range")


def beside(start: int, count: int = 1, unit: str = "day") -> Shift:
    """``count`` days that begin ``start`` days from the date: from its first day back, from its last day on."""

    def shift(period: Period, ctx: TextContext) -> Period:
        edge = p.day(period.start) if start < 0 else p.day(period.stop - DAY)
        return p.day(edge.start + start * DAY, count, unit)

    return shift


def nth_day(number: int) -> Shift:
    """国庆第二天: counted from the first day on; -1 is the last."""
    return lambda period, ctx: p.day(period.stop - DAY if number < 0 else period.start + (number - 1) * DAY)


def weekday_beside(weekday: int, sign: int, count: int = 1, unit: str = "day") -> Shift:
    """The nearest such weekday wholly before (-1) or after (1) the date: the Monday before 24 July, 之前的那个周末."""

    def shift(period: Period, ctx: TextContext) -> Period:
        if sign < 0:
            start = p.day(period.start).start - count * DAY
            return p.day(start - (start.weekday() - weekday) % 7 * DAY, count, unit)
        start = p.day(period.stop - DAY).stop
        return p.day(start + (weekday - start.weekday()) % 7 * DAY, count, unit)

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
    return lambda period, ctx: p.months(*p.month_after(period.start.year, period.start.month, ahead))


def year_beside(ahead: int) -> Shift:
    return lambda period, ctx: p.year(period.start.year + ahead)


def stretch_beside(sign: int, unit: str, count: int) -> Shift:
    """The ``count`` units that end before (-1) or begin after (1) the date."""

    def shift(period: Period, ctx: TextContext) -> Period:
        if sign < 0:
            return Period(shifted(period.start, unit, -count), period.start, "range")
        return Period(period.stop, shifted(period.stop, unit, count), "range")

    return shift


def third_of(place: int) -> Shift:
    """The first (0), second or last third of a stretch, in whole days."""

    def shift(period: Period, ctx: TextContext) -> Period:
        length = (period.stop - period.start) / 3
        begin = p.day(period.start + place * length).start
        return Period(begin, period.stop if place == 2 else p.day(period.start + (place + 1) * length).start, "range")

    return shift


SHIFTS: dict[str, Shift] = {
    "around": _around,
    "since": _since,
    "before": _before,
    "after": _after,
    "day before": beside(-1),
    "day after": beside(1),
    "evening before": lambda period, ctx: Period(
        p.day(period.start).start - DAY / 4, p.day(period.start).start, "part"
    ),
    "evening after": lambda period, ctx: Period(p.day(period.stop).start + DAY * 0.75, p.day(period.stop).stop, "part"),
    "its week": lambda period, ctx: p.week(period.start),
    "its weekend": lambda period, ctx: p.day(p.week(period.start).start + 5 * DAY, 2, "weekend"),
    "its year": lambda period, ctx: p.cycle_of(period.start, "year"),
    "its month": lambda period, ctx: p.cycle_of(period.start, "month"),
    "week before": beside(-7, 7, "week"),
    "week after": beside(1, 7, "week"),
    "month before": month_beside(-1),
    "month after": month_beside(1),
}


# A date in digits (2024-11-02, 2024.11.02, 2024-11, 20241102) and a quarter (Q3, 2024Q3).
ISO = (
    r"(?<![\d.])(?P<iy>(?:19|20)\d\d)(?:(?P<isep>[-/.])(?P<im>1[0-2]|0?[1-9])(?:(?P=isep)(?P<id>3[01]|[12]\d|0?[1-9])|"
    r"(?![-/.]?\d))|(?P<im8>1[0-2]|0[1-9])(?P<id8>3[01]|[12]\d|0[1-9]))(?!\.?\d)"
)
QUARTER = r"(?:(?P<qyear>(?:19|20)\d\d)[- 年]?)?[qQ](?P<q>[1-4])(?!\d)"

# A counted distance: the least, the most, and their unit.
Amount = tuple[float, float, str]


def date(match: Match, year: int, month: int, day: int) -> list[Piece]:
    """A day, or a month where ``day`` is 0; nothing where the calendar has no such day."""
    if not 1 <= month <= 12:
        return []
    whole = p.months(year, month)
    if not day:
        return p.piece(match, 6, fixed=whole)
    fixed = p.day(whole.start + (day - 1) * DAY)
    return p.piece(match, 4, fixed=fixed) if fixed.stop <= whole.stop else []


def iso(match: Match, ctx: TextContext) -> list[Piece]:
    month, day = match["im"] or match["im8"], match["id"] or match["id8"]
    return date(match, int(match["iy"]), int(month), int(day or 0)) if day or match["isep"] != "." else []


def month(match: Match, number: int) -> list[Piece]:
    return p.piece(match, 6, within=p.in_years(lambda y: p.months(y, number)), cycle="year")


def day_of_month(match: Match, number: int) -> list[Piece]:
    return p.piece(match, 4, within=p.day_of_month(number), cycle="month")


def part_of_year(match: Match, first: int, count: int) -> list[Piece]:
    """``count`` months of any year from the ``first``: a season, a quarter, a half."""
    unit = "season" if count < 6 else "range"
    return p.piece(match, 7, within=p.in_years(lambda y: p.months(y, first, count, unit)), cycle="year")


def quarter(match: Match, ctx: TextContext) -> list[Piece]:
    first = int(match["q"]) * 3 - 2
    if match["qyear"]:
        return p.piece(match, 7, fixed=p.months(int(match["qyear"]), first, 3, "season"))
    return part_of_year(match, first, 3)


def relative_term(match: Match, ctx: TextContext, ahead: int) -> list[Piece]:
    """A half of the school year: from September to January, and from February to July."""
    y, m = ctx.now.year, ctx.now.month
    number, in_autumn = divmod(2 * (y - (m == 1)) + (m == 1 or m > 8) + ahead, 2)
    fixed = p.months(number, 9, 5, "season") if in_autumn else p.months(number, 2, 6, "season")
    return p.piece(match, 7, fixed=fixed)


def today(ctx: TextContext, first: int, is_plan: bool | None) -> Period:
    """The day of 今天早上 and this morning. Said past midnight, of hours that have not come, it is the day that is not over."""
    is_over = ctx.now.hour < 5 and ctx.use == "recall" and first > ctx.now.hour and not is_plan
    return p.day(ctx.today - DAY * is_over)


def relative_quarter(match: Match, ctx: TextContext, ahead: int) -> list[Piece]:
    y, m = p.month_after(ctx.now.year, (ctx.now.month - 1) // 3 * 3 + 1, 3 * ahead)
    return p.piece(match, 7, fixed=p.months(y, m, 3, "season"))


def weekday(match: Match, number: int) -> list[Piece]:
    return p.piece(match, 3.9, within=p.in_weeks(number), cycle="week")


def weekend(match: Match, ctx: TextContext) -> list[Piece]:
    return p.piece(match, 4.5, within=p.in_weeks(5, 2, "weekend"), cycle="week")


def relative_weekend(match: Match, ctx: TextContext, ahead: int, *, is_past: bool = False) -> list[Piece]:
    """The weekend a number of weeks ahead. This weekend, told as past before Saturday, is the one that is over."""
    period = p.day(p.week(ctx.now, ahead).start + 5 * DAY, 2, "weekend")
    if ahead == 0 and is_past and period.start > ctx.now:
        period = p.day(period.start - 7 * DAY, 2, "weekend")
    return p.piece(match, 4.5, fixed=period)


def festival(match: Match, name: str, *, whole: bool) -> list[Piece]:
    """A festival's day, or its holiday as a ``whole``."""
    days = p.festival(name)

    def holidays(period: Period) -> Iterator[Period]:
        for occurrence in days(period):
            first, last = holiday(name, occurrence.start.date())
            yield Period(p.on(first).start, p.on(last).stop, "range")

    return p.piece(match, 4, within=holidays if whole else days, cycle="year")


def nth(match: Match, number: int, what: int | str) -> list[Piece]:
    """The nth day, week, weekend, month or weekday (by its number) of what contains it; -1 is the last."""
    if what == "day":
        return p.piece(match, 4, within=p.nth(p.blocks(1, "day"), number))
    if what == "week":
        return p.piece(match, 5, within=p.last_days(7, "week") if number < 0 else p.nth(p.blocks(7, "week"), number))
    if what == "weekend":
        return p.piece(match, 4.5, within=p.nth(p.in_weeks(5, 2, "weekend"), number))
    if isinstance(what, int):
        return p.piece(match, 4, within=p.nth(p.in_weeks(what), number))
    return p.piece(match, 6, within=p.nth(p.in_months(p.months), number))


def this_time(match: Match, ctx: TextContext, *, is_day: bool) -> list[Piece]:
    """去年今天, at this time last year: the same day, or the week around it."""
    return p.piece(match, 4, within=p.same_day(ctx.today, 0 if is_day else 3))


def vague(
    match: Match, ctx: TextContext, word: str, till_now: Mapping[str, str], past: Mapping[str, str]
) -> list[Piece]:
    """A vague word by its key in ``WIDTHS``, or by the unit that it covers so far (今天: earlier today)."""
    key = past.get(word) or till_now[word]
    units: dict[str, Callable[[], Period]] = {
        "今天": lambda: p.day(ctx.today),
        "这周": lambda: p.week(ctx.now),
        "这个月": lambda: p.month(ctx.now),
        "今年": lambda: p.year(ctx.now.year),
    }
    if key in units:
        return p.piece(match, 4, fixed=Period(units[key]().start, ctx.present, "range"))
    return p.piece(match, 4, fixed=stretch_of(ctx, key, word in past, word))


def distance(match: Match, ctx: TextContext, amount: Amount, sign: int, *, names_weekday: bool) -> list[Piece]:
    """三天前, two weeks from now. Where a weekday is named beside weeks (三周前的周二), it is looked for in that week."""
    least, most, unit = amount
    if unit == "weekend":
        return relative_weekend(match, ctx, sign * round(least))
    if unit == "week" and least == most and names_weekday:
        return p.piece(match, 5, fixed=p.week(ctx.now + sign * least * 7 * DAY))
    rank = {"year": 8, "month": 6, "week": 4, "day": 4}.get(unit, 2)
    return p.piece(match, rank, fixed=away(ctx, unit, least, most, sign))


def in_future(match: Match, ctx: TextContext, amount: Amount | None) -> list[Piece]:
    """再过三天, in three days."""
    if not amount:
        return []
    least, most, unit = amount
    return p.piece(match, 4, fixed=away(ctx, unit, least, most, 1))


def change(match: Match, shift: p.Shift, *, leads: bool = False) -> list[Piece]:
    """A change to the date before, or for ``leads`` after it."""
    return p.piece(match, 0, shift=shift, leads=leads)


def latest_weekday(ctx: TextContext, weekday: int) -> datetime:
    """The latest such weekday before today."""
    return ctx.today - ((ctx.today.weekday() - weekday - 1) % 7 + 1) * DAY


def coming_weekday(ctx: TextContext, weekday: int) -> datetime:
    """The next such weekday after today."""
    return latest_weekday(ctx, weekday) + (7 if weekday != ctx.today.weekday() else 14) * DAY
