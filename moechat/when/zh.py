"""Chinese time expressions, read into pieces: what each pattern of ``zh_times`` means."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from moechat.when import periods as p
from moechat.when import zh_counts as counts
from moechat.when.calendar import holiday, lunar_day, lunar_month
from moechat.when.expression import Grammar
from moechat.when.periods import Context, Maker, Match, Period, Piece, compiled, read
from moechat.when.tense import PAST_ZH, forward_zh
from moechat.when.zh_times import (
    FESTIVAL_NAMES,
    MONTH_PARTS,
    PARTS,
    PATTERNS,
    PLAIN,
    REL_DAYS,
    REL_YEARS,
    SEASONS,
    WEEKDAYS,
    YEAR_PARTS,
)


def _relative_day(found: Match, ctx: Context) -> list[Piece]:
    word = found["rday"]
    ahead = REL_DAYS[word]
    today = ctx.today
    if word == "今" and found["rpart"] in ("晚", "夜") and ctx.now.hour < 5 and ctx.use == "recall":
        ahead = -1  # 今晚, said after midnight, is the evening that is not over
    fixed = p.day(today + ahead * p.DAY)
    same = p.same_day(today) if ahead == 0 else None
    return p.piece(found, 4, fixed=fixed, within=same, forward=ahead > 0)


def _relative_week(found: Match, ctx: Context) -> list[Piece]:
    return p.piece(found, 5, fixed=p.week(ctx.now, counts.ups(found["rweek"])))


def _weekday(found: Match, ctx: Context) -> list[Piece]:
    return p.piece(found, 3.9, within=p.in_weeks(WEEKDAYS[found.group()[-1]]), cycle="week")


def _weekend(found: Match, ctx: Context) -> list[Piece]:
    return p.piece(found, 4.5, within=p.in_weeks(5, 2, "weekend"), cycle="week")


def _relative_weekend(found: Match, ctx: Context) -> list[Piece]:
    """这周末, told as past before Saturday, is the weekend that is over."""
    ahead = counts.ups(found["rwend"])
    weekend = p.day(p.week(ctx.now, ahead).start + 5 * p.DAY, 2, "weekend")
    told = compiled(PAST_ZH).search(found.string) or found.string[: found.start()].endswith("刚过去的")
    if ahead == 0 and weekend.start > ctx.now and told:
        weekend = p.day(weekend.start - 7 * p.DAY, 2, "weekend")
    return p.piece(found, 4.5, fixed=weekend)


def _relative_month(found: Match, ctx: Context) -> list[Piece]:
    ahead = counts.ups(found["rmonth"])
    same = p.in_years(lambda y: p.months(y, ctx.now.month)) if ahead == 0 else None  # 去年这个月
    return p.piece(found, 6, fixed=p.month(ctx.now, ahead), within=same)


def _relative_year(found: Match, ctx: Context) -> list[Piece]:
    return p.piece(found, 8, fixed=p.year(ctx.now.year + REL_YEARS[found["ryear"]]))


def _year(found: Match, ctx: Context) -> list[Piece]:
    value = int(counts.number(re.sub(r"[年\s]", "", found.group())))
    if value < 100:
        value += 2000 if value <= ctx.now.year % 100 + 10 else 1900
    return p.piece(found, 8, fixed=p.year(value))


def _decade(found: Match, ctx: Context) -> list[Piece]:
    tens = int(counts.number(found["decade"]))
    start = (
        2000 + tens if tens in (0, 10, 20) and not found.group().startswith(("上", "二十世", "20世")) else 1900 + tens
    )
    return p.piece(found, 9, fixed=p.year(start, 10))


def _year_part(found: Match, ctx: Context) -> list[Piece]:
    first, count = YEAR_PARTS[found.group().strip("年")]
    unit = "season" if count < 6 else "range"
    return p.piece(found, 7, within=p.in_years(lambda y: p.months(y, first, count, unit)), cycle="year")


def _quarter(found: Match, ctx: Context) -> list[Piece]:
    first = int(counts.number(found["quarter"] or found["q"])) * 3 - 2
    return p.piece(found, 7, within=p.in_years(lambda y: p.months(y, first, 3, "season")), cycle="year")


def _relative_quarter(found: Match, ctx: Context) -> list[Piece]:
    y, m = p.month_after(ctx.now.year, (ctx.now.month - 1) // 3 * 3 + 1, 3 * counts.ups(found["rquarter"]))
    return p.piece(found, 7, fixed=p.months(y, m, 3, "season"))


def _season(found: Match, ctx: Context) -> list[Piece]:
    first, count = SEASONS[found.group() if found.group() == "暑假" else found.group()[0]]
    return p.piece(found, 7, within=p.in_years(lambda y: p.months(y, first, count, "season")), cycle="year")


def _new_year_side(found: Match, ctx: Context) -> list[Piece]:
    """年前 and 年后: the month before 春节, and the month after its first week."""
    after = found.group().endswith("后")

    def make(y: int) -> Period | None:
        new_year = lunar_day(y, 1, 1)
        return p.day(p.on(new_year).start + (7 if after else -30) * p.DAY, 30, "range") if new_year else None

    return p.piece(found, 4, within=p.in_years(make), cycle="year")


def _winter_break(found: Match, ctx: Context) -> list[Piece]:
    """寒假: from two weeks and a half before 春节 to two weeks and a half after it."""

    def make(y: int) -> Period | None:
        new_year = lunar_day(y, 1, 1)
        start = p.on(new_year).start if new_year else None
        return Period(start - 18 * p.DAY, start + 18 * p.DAY, "season") if start else None

    return p.piece(found, 7, within=p.in_years(make), cycle="year")


def _month(found: Match, ctx: Context) -> list[Piece]:
    value = int(counts.number(found["month"]))
    return p.piece(found, 6, within=p.in_years(lambda y: p.months(y, value)), cycle="year")


def _month_part(found: Match, ctx: Context) -> list[Piece]:
    first, last = MONTH_PARTS[found.group().strip("的月")]
    return p.piece(found, 5.5, within=p.part_of_month(first, last), cycle="month")


def _month_day(found: Match, ctx: Context) -> list[Piece]:
    return p.piece(found, 4, within=p.day_of_month(int(counts.number(found["dom"]))), cycle="month")


def _month_date(found: Match, ctx: Context) -> list[Piece]:
    return p.piece(found, 4, within=p.day_of_month(int(counts.number(found["mdom"] or found["mbare"]))), cycle="month")


def _before_dash(found: Match, ctx: Context) -> list[Piece]:
    return p.piece(found, 4, within=p.day_of_month(int(counts.number(found["dash"]))), cycle="month")


def _date(found: Match, ctx: Context) -> list[Piece]:
    y, m, d = (int(found[name] or 0) for name in ("iy", "im", "id"))
    if not 1 <= m <= 12 or d > 31:
        return []
    if not d:
        return p.piece(found, 6, fixed=p.months(y, m))
    first = p.months(y, m)
    fixed = p.day(first.start + (d - 1) * p.DAY)
    return p.piece(found, 4, fixed=fixed) if fixed.stop <= first.stop else []


def _short_date(found: Match, ctx: Context) -> list[Piece]:
    m, d = int(found["sm"]), int(found["sd"])
    if not 1 <= m <= 12 or not 1 <= d <= 31:
        return []

    def make(y: int) -> Period | None:
        whole = p.months(y, m)
        day = p.day(whole.start + (d - 1) * p.DAY)
        return day if day.stop <= whole.stop else None

    return p.piece(found, 4, within=p.in_years(make), cycle="year")


def _lunar(found: Match, month: int, word: str | None, leap: bool = False) -> list[Piece]:
    day = int(counts.number(word.lstrip("初"))) if word else 0

    def make(y: int) -> Period | None:
        if day:
            at = lunar_day(y, month, day, leap=leap)
            return p.on(at) if at else None
        whole = lunar_month(y, month, leap=leap)
        return p.day(p.on(whole[0]).start, whole[1], "month") if whole else None

    return p.piece(found, 4 if day else 6, within=p.in_lunar_years(make), cycle="year")


_LUNAR_MONTHS = {"正": 1, "冬": 11, "腊": 12}


def _lunar_date(found: Match, ctx: Context) -> list[Piece]:
    word = found["lmonth"]
    return _lunar(found, _LUNAR_MONTHS.get(word) or int(counts.number(word)), found["lday"], bool(found["leap"]))


def _lunar_short(found: Match, ctx: Context) -> list[Piece]:
    if found["newday"] or found["newday2"]:
        return _lunar(found, 1, found["newday"] or found["newday2"])
    if found["nmonth"]:
        return _lunar(found, int(counts.number(found["nmonth"])), found["nday"])
    return _lunar(found, _LUNAR_MONTHS[found["smonth"]], found["sday"])


def _festival(found: Match, ctx: Context) -> list[Piece]:
    name = FESTIVAL_NAMES[found["fname"]]
    days = p.festival(name)
    whole = bool(found["fwhole"]) or found["fname"] == "过年"
    if not whole:
        return p.piece(found, 4, within=days, cycle="year")

    def within(period: Period) -> Iterator[Period]:
        for day in days(period):
            first, last = holiday(name, day.start.date())
            yield Period(p.on(first).start, p.on(last).stop, "range")

    return p.piece(found, 4, within=within, cycle="year")


def _part(found: Match, ctx: Context) -> list[Piece]:
    festive = found["part"] == "夜" and found.string[found.start() - 1] in "夕秋节宵"
    first, last = PARTS["晚" if festive else found["part"]]
    return p.piece(found, 3, within=p.in_days(first, last), cycle="day")


def _clock(found: Match, ctx: Context) -> list[Piece]:
    text = found.group()
    prefix = "b" if found["bhour"] else "c"
    hour = int(counts.number(found[prefix + "hour"]))
    minute: int | None = None
    if found[prefix + "half"]:
        minute = 30
    elif found[prefix + "quarter"]:
        minute = 15 * int(counts.number(found[prefix + "quarter"]))
    elif found[prefix + "minute"]:
        minute = int(counts.number(found[prefix + "minute"]))
    if hour > 24 or (minute or 0) > 59:
        return []
    if (
        text.strip() == "一点"
        and found.start()
        and found.string[found.start() - 1] not in "，。！？；,.!? 在到从约前后上午夜里晨晚"
    ):
        return []  # 一点 is a little, unless something makes it an hour
    return p.piece(found, 2, within=p.clock(hour, minute, exact=hour > 12 or text[0] == "0"), cycle="day")


def _digital(found: Match, ctx: Context) -> list[Piece]:
    hour, minute = int(found["dhour"]), int(found["dminute"])
    if hour > 23 or minute > 59:
        return []
    return p.piece(found, 2, within=p.clock(hour, minute, exact=hour > 12 or hour < 7), cycle="day")


# Patterns without a maker only cover what is no time.
MAKERS: dict[str, Maker] = {
    "bound_clock": _clock,
    "beside_week": counts.beside_week,
    "beside": counts.beside,
    "before_now": counts.before_now,
    "new_year_side": _new_year_side,
    "vague": counts.vague,
    "trailing": counts.trailing,
    "distance": counts.distance,
    "lead": counts.lead,
    "soon": counts.soon,
    "passing": counts.passing,
    "relative_weekend": _relative_weekend,
    "relative_week": _relative_week,
    "weekday": _weekday,
    "weekend": _weekend,
    "relative_day": _relative_day,
    "relative_month": _relative_month,
    "decade": _decade,
    "relative_year": _relative_year,
    "date": _date,
    "year": _year,
    "year_part": _year_part,
    "relative_quarter": _relative_quarter,
    "quarter": _quarter,
    "winter_break": _winter_break,
    "festival": _festival,
    "season": _season,
    "lunar_date": _lunar_date,
    "lunar_short": _lunar_short,
    "month": _month,
    "month_part": _month_part,
    "before_dash": _before_dash,
    "month_day": _month_day,
    "month_date": _month_date,
    "short_date": _short_date,
    "nth": counts.nth,
    "this_time": counts.this_time,
    "digital": _digital,
    "part": _part,
    "clock": _clock,
    "near": counts.near,
}


@lru_cache(maxsize=1)
def _master() -> re.Pattern[str]:
    """All rules as one pattern, the first that fits wins; compiled at first use, since it takes longer than an import may."""
    return re.compile("|".join(f"(?P<r_{name}>{pattern})" for name, pattern in PATTERNS.items()))


@lru_cache(maxsize=1)
def grammar() -> Grammar:
    return Grammar(
        gap=re.compile(r"\s*(?:的|之)?(?:那天|那一天|当天|这天|那晚的?|那年|那个|这个|那|的时候)?(?:的|，)?\s*"),
        to=re.compile(r"\s*(?:的)?(?:一直)?(?:到了?|至|~+|-+|—+|–)\s*"),
        also=re.compile(r"\s*(?:和|跟|与|及|以及|、|，|还有|或者?|还是)\s*"),
        between=None,
        refers=re.compile(r"(?:那[天年晚个]|当[天年]|同一天|第二天|有一天)的?$"),
        coarse_first=True,
        forward=forward_zh,
    )


def pieces(text: str, ctx: Context) -> list[Piece]:
    """The time words of a text in order; offsets are those of the text as given."""
    return read(text.translate(PLAIN), _master(), MAKERS, ctx)
