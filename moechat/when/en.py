"""English time expressions, read into pieces: what each pattern of ``en_times`` means."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from moechat.when import en_counts as counts
from moechat.when import periods as p
from moechat.when.calendar import holiday
from moechat.when.en_times import FESTIVAL_NAMES, MONTHS, PARTS, PATTERNS, PLAIN, SEASONS
from moechat.when.expression import Grammar
from moechat.when.periods import Context, Maker, Match, Period, Piece, compiled, read
from moechat.when.tense import PAST_EN, forward_en


def _month_of(text: str) -> int:
    return MONTHS[text.lower().rstrip(".")]


def _ahead(word: str) -> int:
    return {"last": -1, "past": -1, "previous": -1, "this": 0, "the current": 0, "current": 0}.get(word.lower(), 1)


def _relative_day(found: Match, ctx: Context) -> list[Piece]:
    word = found.group().lower()
    ahead = -2 if "before yesterday" in word else 2 if "after tomorrow" in word else {"y": -1, "l": -1}.get(word[0], 0)
    if word.startswith(("tomorrow", "tmr")):
        ahead = 1
    if ahead == 0 and "night" in word and ctx.now.hour < 5 and ctx.use == "recall":
        ahead = -1
    fixed = p.day(ctx.today + ahead * p.DAY)
    if "night" in word:
        return p.piece(found, 3, fixed=next(p.in_days(*PARTS["night"])(fixed)), forward=ahead > 0)
    same = p.same_day(ctx.today) if ahead == 0 else None
    return p.piece(found, 4, fixed=fixed, within=same, forward=ahead > 0)


def _night_before_last(found: Match, ctx: Context) -> list[Piece]:
    return p.piece(found, 3, fixed=next(p.in_days(*PARTS["night"])(p.day(ctx.today - 2 * p.DAY))))


def _this_part(found: Match, ctx: Context) -> list[Piece]:
    return p.piece(found, 3, fixed=next(p.in_days(*PARTS[found["tpart"].lower()])(p.day(ctx.today))))


def _relative_unit(found: Match, ctx: Context) -> list[Piece]:
    """last week, this month, next year; the week before last."""
    ahead = _ahead(found["rel"]) if found["rel"] else -2
    unit = (found["runit"] or found["bunit"]).lower()
    if unit == "weekend":
        return p.piece(found, 4.5, fixed=_weekend(ctx, ahead, found), forward=ahead > 0)
    if unit == "quarter":
        y, m = p.month_after(ctx.now.year, (ctx.now.month - 1) // 3 * 3 + 1, 3 * ahead)
        return p.piece(found, 7, fixed=p.months(y, m, 3, "season"))
    rank, fixed = {
        "week": (5, lambda: p.week(ctx.now, ahead)),
        "month": (6, lambda: p.month(ctx.now, ahead)),
        "year": (8, lambda: p.year(ctx.now.year + ahead)),
    }[unit]
    return p.piece(found, rank, fixed=fixed(), forward=ahead > 0)


def _weekend(ctx: Context, ahead: int, found: Match) -> Period:
    """this weekend, looked back on with a past tense before Saturday, is the one that is over."""
    weekend = p.day(p.week(ctx.now, ahead).start + 5 * p.DAY, 2, "weekend")
    if ahead == 0 and weekend.start > ctx.now and compiled(PAST_EN).search(found.string):
        return p.day(weekend.start - 7 * p.DAY, 2, "weekend")
    return weekend


def _relative_weekday(found: Match, ctx: Context) -> list[Piece]:
    """last Tuesday is the latest before today; this Tuesday is in this week, next Tuesday in the next."""
    weekday, ahead = counts.weekday_of(found["rwday"]), _ahead(found["rwrel"])
    if ahead < 0:
        fixed = p.day(ctx.today - ((ctx.today.weekday() - weekday - 1) % 7 + 1) * p.DAY)
    else:
        fixed = p.day(p.week(ctx.now, ahead).start + weekday * p.DAY)
    if found["rwrel"].lower() == "coming":
        fixed = p.day(ctx.today + ((weekday - ctx.today.weekday() - 1) % 7 + 1) * p.DAY)
    return p.piece(found, 4, fixed=fixed, forward=ahead > 0)


def _weekday_before_last(found: Match, ctx: Context) -> list[Piece]:
    latest = ctx.today - ((ctx.today.weekday() - counts.weekday_of(found["wbl"]) - 1) % 7 + 1) * p.DAY
    return p.piece(found, 4, fixed=p.day(latest - 7 * p.DAY))


def _this_unit(found: Match, ctx: Context) -> list[Piece]:
    """the end of the month, with nothing said of which."""
    unit = found["thunit"].lower()
    return p.piece(found, {"year": 8, "month": 6, "week": 5}[unit], fixed=p.around(ctx.now, unit))


def _relative_name(found: Match, ctx: Context) -> list[Piece]:
    """last summer, last March, last Christmas: the latest that is over; next summer: the next to begin."""
    word, rel = found["nname"].lower().rstrip("."), found["nrel"].lower()
    within = _named(word)
    rank = 7 if word in SEASONS else 6 if word in MONTHS else 4
    if rel == "this":
        return [*p.piece(found, 8, fixed=p.year(ctx.now.year)), Piece(found.span(), rank, within=within)]
    reach = range(0, -3, -1) if rel in ("last", "past") else range(0, 3)
    for ahead in reach:
        inside = list(within(p.year(ctx.now.year + ahead)))
        for period in reversed(inside) if rel in ("last", "past") else inside:
            if period.stop <= ctx.today if rel in ("last", "past") else period.start > ctx.now:
                return p.piece(found, rank, fixed=period, forward=rel == "next")
    return []


def _named(word: str) -> p.Within:
    if word in SEASONS:
        first, count = SEASONS[word]
        return p.in_years(lambda y: p.months(y, first, count, "season"))
    if word in MONTHS:
        return p.in_years(lambda y: p.months(y, MONTHS[word]))
    return p.festival(FESTIVAL_NAMES[word])


def _season(found: Match, ctx: Context) -> list[Piece]:
    return p.piece(found, 7, within=_named(found["season"].lower()), cycle="year")


def _month(found: Match, ctx: Context) -> list[Piece]:
    word = found["month"] or found["lonemonth"]
    before = found.string[: found.start()].rstrip().lower()
    if (
        word in ("may", "march", "mar")
        and not found["month"]
        and before.endswith(("to", "and", "of", "from", "by", "for"))
    ):
        return []  # the verbs: you and may I, to march
    value = _month_of(word)
    return p.piece(found, 6, within=p.in_years(lambda y: p.months(y, value)), cycle="year")


def _month_day(found: Match, ctx: Context) -> list[Piece]:
    """March 5th, the 5th of March, 5 March: month and day in one."""
    name = found["mda"] or found["mdb"]
    value, dom = _month_of(name), counts.day_number(found["dma"] or found["dmb"])

    def make(y: int) -> Period | None:
        whole = p.months(y, value)
        one = p.day(whole.start + (dom - 1) * p.DAY)
        return one if one.stop <= whole.stop else None

    month = Piece(found.span(), 6, within=p.in_years(lambda y: p.months(y, value)), cycle="year")
    return [month, Piece(found.span(), 4, within=p.day_of_month(dom), cycle="month")] if 1 <= dom <= 31 else []


def _bare_day(found: Match, ctx: Context) -> list[Piece]:
    """on the 15th; and a number that ends a range (May 20-22, August 11 to 15)."""
    dom = counts.day_number(found["bday"] or found["rday"])
    return p.piece(found, 4, within=p.day_of_month(dom), cycle="month") if 1 <= dom <= 31 else []


_BEFORE_YEAR = (
    {word for name in FESTIVAL_NAMES for word in name.split()[-1:]}
    | {*MONTHS, *SEASONS}
    | {*"in of since during before after until from to late early mid between and year half quarter".split()}
)


def _year(found: Match, ctx: Context) -> list[Piece]:
    """A year; behind a word that is neither a preposition nor a time it is a number (Room 2023)."""
    word = compiled(r"([a-z']+)\.?[ -]$").search(
        found.string[max(found.start("year") - 20, 0) : found.start("year")].lower()
    )
    if word and word.group(1) not in _BEFORE_YEAR:
        return []
    return p.piece(found, 8, fixed=p.year(int(found["year"])))


def _decade(found: Match, ctx: Context) -> list[Piece]:
    value = int(found["decade"] or found["decade2"])
    return p.piece(found, 9, fixed=p.year(value if value > 99 else 1900 + value, 10))


def _iso(found: Match, ctx: Context) -> list[Piece]:
    y, m, dom = int(found["iy"]), int(found["im"]), int(found["id"] or 0)
    if not 1 <= m <= 12:
        return []
    whole = p.months(y, m)
    if not dom:
        return p.piece(found, 6, fixed=whole)
    fixed = p.day(whole.start + (dom - 1) * p.DAY)
    return p.piece(found, 4, fixed=fixed) if fixed.stop <= whole.stop else []


def _slashed(found: Match, ctx: Context) -> list[Piece]:
    """5/20/2023: month first, unless only the other way gives a month."""
    m, dom, y = int(found["sm"]), int(found["sd"]), int(found["sy"])
    if m > 12:
        m, dom = dom, m
    y += 2000 if y < 100 else 0
    whole = p.months(y, m)
    fixed = p.day(whole.start + (dom - 1) * p.DAY)
    return p.piece(found, 4, fixed=fixed) if fixed.stop <= whole.stop else []


def _weekday(found: Match, ctx: Context) -> list[Piece]:
    return p.piece(found, 3.9, within=p.in_weeks(counts.weekday_of(found["weekday"] or found["wshort"])), cycle="week")


def _bare_weekend(found: Match, ctx: Context) -> list[Piece]:
    return p.piece(found, 4.5, within=p.in_weeks(5, 2, "weekend"), cycle="week")


def _part(found: Match, ctx: Context) -> list[Piece]:
    first, last = PARTS[(found["part"] or found["inpart"]).lower()]
    return p.piece(
        found, 3, within=p.in_days(first, last), cycle="day" if found["inpart"] or first in (12, 23) else None
    )


def _clock(found: Match, ctx: Context) -> list[Piece]:
    """3pm, 10:30, 5 o'clock."""
    hour, minute = int(found["hour"] or found["chour"] or found["ohour"]), found["minute"] or found["cminute"]
    half = (found["half"] or "").lower().replace(".", "")
    if hour > 24 or (half and not 1 <= hour <= 12) or int(minute or 0) > 59:
        return []
    if half:
        hour = hour % 12 + (12 if half == "pm" else 0)
    exact = bool(half) or (bool(found["chour"]) and (hour < 1 or hour > 6))
    return p.piece(found, 2, within=p.clock(hour, int(minute) if minute else None, exact=exact), cycle="day")


def _festival(found: Match, ctx: Context) -> list[Piece]:
    name = FESTIVAL_NAMES[found["fname"].lower()]
    days = p.festival(name)
    if not found["fwhole"]:
        return p.piece(found, 4, within=days, cycle="year")

    def within(period: Period) -> Iterator[Period]:
        for one in days(period):
            first, last = holiday(name, one.start.date())
            yield Period(p.on(first).start, p.on(last).stop, "range")

    return p.piece(found, 4, within=within, cycle="year")


def _half_of(found: Match, ctx: Context) -> list[Piece]:
    first = 1 if found["halfno"].lower() == "first" else 7
    return p.piece(found, 7, within=p.in_years(lambda y: p.months(y, first, 6, "range")), cycle="year")


def _any_season(found: Match, ctx: Context) -> list[Piece]:
    return p.piece(
        found, 7, within=_named((found["season"] or found["season2"] or found["season3"]).lower()), cycle="year"
    )


def _any_weekday(found: Match, ctx: Context) -> list[Piece]:
    word = (found["weekday"] + "day") if found["weekday"] else found["wshort"]
    return p.piece(found, 3.9, within=p.in_weeks(counts.weekday_of(word)), cycle="week")


# Patterns without a maker only cover what is no time.
MAKERS: dict[str, Maker] = {
    "trailing": counts.trailing,
    "past_counted": counts.counted,
    "vague": counts.vague,
    "distance": counts.distance,
    "fridays_ago": counts.weekdays_ago,
    "week_of": counts.week_of,
    "in_future": counts.in_future,
    "beside": counts.beside,
    "relative_day": _relative_day,
    "night_before_last": _night_before_last,
    "this_time": counts.this_time,
    "this_part": _this_part,
    "relative_unit": _relative_unit,
    "weekday_before_last": _weekday_before_last,
    "this_unit": _this_unit,
    "relative_weekday": _relative_weekday,
    "relative_name": _relative_name,
    "third": counts.third,
    "half_of": _half_of,
    "nth": counts.nth,
    "side": counts.side,
    "festival": _festival,
    "iso": _iso,
    "slashed": _slashed,
    "month_day": _month_day,
    "month": _month,
    "bare_day": _bare_day,
    "decade": _decade,
    "year": _year,
    "season": _any_season,
    "weekday": _any_weekday,
    "weekend": _bare_weekend,
    "part": _part,
    "clock": _clock,
}


@lru_cache(maxsize=1)
def _master() -> re.Pattern[str]:
    """All rules as one pattern, the first that fits wins; a rule begins at the beginning of a word or number."""
    rules = "|".join(f"(?P<r_{name}>{pattern})" for name, pattern in PATTERNS.items())
    return re.compile(rf"(?<![A-Za-z])(?:{rules})", re.IGNORECASE)


@lru_cache(maxsize=1)
def grammar() -> Grammar:
    return Grammar(
        gap=re.compile(r"\s*,?\s*(?:(?:of|in|on|at|around|the|from|during|back|between)\s*)*"),
        to=re.compile(r"\s*(?:to|until|till|through|thru|-+|–|—|~)\s*(?:the\s*)?"),
        also=re.compile(r"\s*(?:,|and|or|&)\s*(?:(?:on|in)\s*)?"),
        between=re.compile(r"\bbetween\b", re.IGNORECASE),
        refers=re.compile(r"\b(?:that|same) (?:day|year|week) (?:in )?$", re.IGNORECASE),
        coarse_first=False,
        forward=forward_en,
    )


def pieces(text: str, ctx: Context) -> list[Piece]:
    """The time words of a text in order; offsets are those of the text as given."""
    return read(text.translate(PLAIN), _master(), MAKERS, ctx)
