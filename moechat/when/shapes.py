"""What Chinese and English say alike: the pieces of an expression, once its words are read as numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from moechat.when import distances as d
from moechat.when import periods as p
from moechat.when.calendar import holiday
from moechat.when.periods import Match, Period, Piece, TextContext

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
    fixed = p.day(whole.start + (day - 1) * p.DAY)
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
    return p.piece(match, 7, fixed=fixed, forward=ahead > 0)


def today(ctx: TextContext, first: int, is_plan: bool) -> Period:
    """The day of 今天早上 and this morning. Said past midnight, of hours that have not come, it is the day that is not over."""
    is_over = ctx.now.hour < 5 and ctx.use == "recall" and first > ctx.now.hour and not is_plan
    return p.day(ctx.today - p.DAY * is_over)


def relative_quarter(match: Match, ctx: TextContext, ahead: int) -> list[Piece]:
    y, m = p.month_after(ctx.now.year, (ctx.now.month - 1) // 3 * 3 + 1, 3 * ahead)
    return p.piece(match, 7, fixed=p.months(y, m, 3, "season"))


def weekday(match: Match, number: int) -> list[Piece]:
    return p.piece(match, 3.9, within=p.in_weeks(number), cycle="week")


def weekend(match: Match) -> list[Piece]:
    return p.piece(match, 4.5, within=p.in_weeks(5, 2, "weekend"), cycle="week")


def relative_weekend(match: Match, ctx: TextContext, ahead: int, *, is_past: bool = False) -> list[Piece]:
    """The weekend so many weeks ahead. This weekend, told as past before Saturday, is the one that is over."""
    period = p.day(p.week(ctx.now, ahead).start + 5 * p.DAY, 2, "weekend")
    if ahead == 0 and is_past and period.start > ctx.now:
        period = p.day(period.start - 7 * p.DAY, 2, "weekend")
    return p.piece(match, 4.5, fixed=period, forward=ahead > 0)


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


def vague(match: Match, ctx: TextContext, word: str, till_now: dict[str, str], past: dict[str, str]) -> list[Piece]:
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
    return p.piece(match, 4, fixed=d.vague(ctx, key, word in past, word))


def distance(match: Match, ctx: TextContext, amount: Amount, sign: int, *, names_weekday: bool = False) -> list[Piece]:
    """三天前, two weeks from now. Where a weekday is named beside weeks (三周前的周二), it is looked for in that week."""
    least, most, unit = amount
    ahead = sign > 0
    if unit == "weekend":
        return relative_weekend(match, ctx, sign * round(least))
    if unit == "week" and least == most and names_weekday:
        return p.piece(match, 5, fixed=p.week(ctx.now + sign * least * 7 * p.DAY), forward=ahead)
    rank = {"year": 8, "month": 6, "week": 4, "day": 4}.get(unit, 2)
    return p.piece(match, rank, fixed=d.away(ctx, unit, least, most, sign), forward=ahead)


def in_future(match: Match, ctx: TextContext, amount: Amount | None) -> list[Piece]:
    """再过三天, in three days."""
    if not amount:
        return []
    least, most, unit = amount
    return p.piece(match, 4, fixed=d.away(ctx, unit, least, most, 1), forward=True)


def change(match: Match, shift: p.Shift, *, leads: bool = False) -> list[Piece]:
    """A change to the date before, or for ``leads`` after it."""
    return p.piece(match, 0, shift=shift, leads=leads)
