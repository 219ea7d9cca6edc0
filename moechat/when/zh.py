"""Chinese time expressions, read into pieces: what each pattern of ``zh_times`` means."""

from __future__ import annotations

import re
from collections.abc import Iterator

from moechat.when import periods as p
from moechat.when import shapes
from moechat.when import zh_counts as counts
from moechat.when.calendar import lunar_day, lunar_month
from moechat.when.expression import Language
from moechat.when.periods import Maker, Match, Period, Piece, TextContext, compiled
from moechat.when.tense import HABITS, PAST_ZH, forward_zh
from moechat.when.zh_times import (
    FESTIVAL_NAMES,
    MONTH_PARTS,
    NUMERAL,
    PARTS,
    PATTERNS,
    PLAIN,
    REL_DAYS,
    REL_YEARS,
    SEASONS,
    WEEKDAYS,
    YEAR_PARTS,
)

_PART = "|".join(sorted(PARTS, key=len, reverse=True))
# Who was awake until two was so at night.
_AWAKE = r"(?:熬夜|通宵|失眠|睡不着|没睡)[^，。！？]{0,5}$"


def _relative_day(match: Match, ctx: TextContext) -> list[Piece]:
    ahead = REL_DAYS[match["rday"]]
    if ahead:
        return p.piece(match, 4, fixed=p.day(ctx.today + ahead * p.DAY), forward=ahead > 0)
    part = compiled(_PART).match(match.string, match.end())
    fixed = shapes.today(ctx, PARTS[part.group()][0] if part else 0, forward_zh(match.string, ctx.use))
    return p.piece(match, 4, fixed=fixed, within=p.same_day(ctx.today))


def _relative_week(match: Match, ctx: TextContext) -> list[Piece]:
    return p.piece(match, 5, fixed=p.week(ctx.now, counts.ups(match["rweek"])))


def _weekday(match: Match, ctx: TextContext) -> list[Piece]:
    return shapes.weekday(match, WEEKDAYS[match.group()[-1]])


def _weekdays(match: Match, ctx: TextContext) -> list[Piece]:
    """上周四五: two days that follow each other."""
    return p.piece(match, 3.9, within=p.in_weeks(WEEKDAYS[match["wpair"]], 2, "range"), cycle="week")


def _weekend(match: Match, ctx: TextContext) -> list[Piece]:
    return shapes.weekend(match)


def _relative_weekend(match: Match, ctx: TextContext) -> list[Piece]:
    before = match.string[: match.start()]
    is_past = compiled(PAST_ZH).search(match.string) is not None or before.endswith("刚过去的")
    return shapes.relative_weekend(match, ctx, counts.ups(match["rwend"]), is_past=is_past)


def _relative_month(match: Match, ctx: TextContext) -> list[Piece]:
    ahead = counts.ups(match["rmonth"])
    same = p.in_years(lambda y: p.months(y, ctx.now.month)) if ahead == 0 else None  # 去年这个月
    return p.piece(match, 6, fixed=p.month(ctx.now, ahead), within=same)


def _relative_year(match: Match, ctx: TextContext) -> list[Piece]:
    return p.piece(match, 8, fixed=p.year(ctx.now.year + REL_YEARS[match["ryear"]]))


def _year(match: Match, ctx: TextContext) -> list[Piece]:
    value = counts.number(re.sub(r"[年\s]", "", match.group()))
    if value < 100:
        value += 2000 if value <= ctx.now.year % 100 + 10 else 1900
    return p.piece(match, 8, fixed=p.year(value))


def _decade(match: Match, ctx: TextContext) -> list[Piece]:
    tens = counts.number(match["decade"])
    is_new = tens in (0, 10, 20) and not match.group().startswith(("上", "二十世", "20世"))
    return p.piece(match, 9, fixed=p.year((2000 if is_new else 1900) + tens, 10))


def _year_part(match: Match, ctx: TextContext) -> list[Piece]:
    return shapes.part_of_year(match, *YEAR_PARTS[match.group().strip("年")])


def _quarter(match: Match, ctx: TextContext) -> list[Piece]:
    return shapes.part_of_year(match, counts.number(match["quarter"]) * 3 - 2, 3)


def _relative_quarter(match: Match, ctx: TextContext) -> list[Piece]:
    relative = shapes.relative_term if match.group().endswith("期") else shapes.relative_quarter
    return relative(match, ctx, counts.ups(match["rquarter"]))


def _season(match: Match, ctx: TextContext) -> list[Piece]:
    return shapes.part_of_year(match, *SEASONS[match.group() if match.group() == "暑假" else match.group()[0]])


def _around_new_year(match: Match, rank: float, start: int, days: int, unit: str) -> list[Piece]:
    """``days`` days that begin ``start`` days from 春节."""

    def make(y: int) -> Period | None:
        new_year = lunar_day(y, 1, 1)
        return p.day(p.on(new_year).start + start * p.DAY, days, unit) if new_year else None

    return p.piece(match, rank, within=p.in_years(make), cycle="year")


def _new_year_side(match: Match, ctx: TextContext) -> list[Piece]:
    """年前 and 年后: the month before 春节, and the month after its first week."""
    return _around_new_year(match, 4, 7 if match.group().endswith("后") else -30, 30, "range")


def _winter_break(match: Match, ctx: TextContext) -> list[Piece]:
    """寒假: from two weeks and a half before 春节 to two weeks and a half after it."""
    return _around_new_year(match, 7, -18, 36, "season")


def _month(match: Match, ctx: TextContext) -> list[Piece]:
    if not match["mpair"]:
        return shapes.month(match, counts.number(match["month"]))
    first = counts.number(match["mpair"])
    return p.piece(match, 6, within=p.in_years(lambda y: p.months(y, first, 2, "range")), cycle="year")


def _month_part(match: Match, ctx: TextContext) -> list[Piece]:
    first, last = MONTH_PARTS[match.group().strip("的月")]
    return p.piece(match, 5.5, within=p.part_of_month(first, last), cycle="month")


def _month_day(match: Match, ctx: TextContext) -> list[Piece]:
    return shapes.day_of_month(match, counts.number(match["dom"]))


def _month_date(match: Match, ctx: TextContext) -> list[Piece]:
    return shapes.day_of_month(match, counts.number(match["mdom"] or match["mbare"]))


def _before_dash(match: Match, ctx: TextContext) -> list[Piece]:
    return shapes.day_of_month(match, counts.number(match["dash"]))


def _short_date(match: Match, ctx: TextContext) -> list[Piece]:
    month, day = int(match["sm"]), int(match["sd"])

    def make(y: int) -> Period | None:
        whole = p.months(y, month)
        period = p.day(whole.start + (day - 1) * p.DAY)
        return period if period.stop <= whole.stop else None

    return p.piece(match, 4, within=p.in_years(make), cycle="year")


def _lunar(match: Match, month: int, word: str | None, leap: bool = False) -> list[Piece]:
    """A lunar day, or the whole lunar month where ``word`` names no day."""
    day = counts.number(word.lstrip("初")) if word else 0

    def make(y: int) -> Period | None:
        if day:
            date = lunar_day(y, month, day, leap=leap)
            return p.on(date) if date else None
        whole = lunar_month(y, month, leap=leap)
        return p.day(p.on(whole[0]).start, whole[1], "month") if whole else None

    return p.piece(match, 4 if day else 6, within=p.in_lunar_years(make), cycle="year")


_LUNAR_MONTHS = {"正": 1, "冬": 11, "腊": 12}


def _lunar_date(match: Match, ctx: TextContext) -> list[Piece]:
    word = match["lmonth"]
    return _lunar(match, _LUNAR_MONTHS.get(word) or counts.number(word), match["lday"], bool(match["leap"]))


def _lunar_short(match: Match, ctx: TextContext) -> list[Piece]:
    if match["newday"] or match["newday2"]:
        return _lunar(match, 1, match["newday"] or match["newday2"])
    if match["nmonth"]:
        return _lunar(match, counts.number(match["nmonth"]), match["nday"])
    return _lunar(match, _LUNAR_MONTHS[match["smonth"]], match["sday"])


def _festival(match: Match, ctx: TextContext) -> list[Piece]:
    whole = match["fwhole"] is not None or match["fname"] == "过年"
    return shapes.festival(match, FESTIVAL_NAMES[match["fname"]], whole=whole)


def _part(match: Match, ctx: TextContext) -> list[Piece]:
    festive = match["part"] == "夜" and match.string[match.start() - 1] in "夕秋节宵"
    first, last = PARTS["晚" if festive else match["part"]]
    return p.piece(match, 3, within=p.in_days(first, last), cycle="day")


def _clock(match: Match, ctx: TextContext) -> list[Piece]:
    text = match.group()
    prefix = "b" if match["bhour"] else "c"
    hour = counts.number(match[prefix + "hour"])
    minute: int | None = None
    if match[prefix + "half"]:
        minute = 30
    elif match[prefix + "quarter"]:
        minute = 15 * counts.number(match[prefix + "quarter"])
    elif match[prefix + "minute"]:
        minute = counts.number(match[prefix + "minute"])
    before = match.string[: match.start()][-1:]
    if text.strip() == "一点" and before not in "，。！？；,.!? 在到从约前后上午夜里晨晚":
        return []  # 一点 is a little, unless something makes it an hour
    is_night = compiled(_AWAKE).search(match.string[: match.start()]) is not None
    within = p.clock(hour, minute, exact=hour > 12 or text[0] == "0" or is_night)
    if not match[prefix + "two"]:
        return p.piece(match, 2, within=within, cycle="day")

    def two(period: Period) -> Iterator[Period]:
        earlier = p.clock(counts.number(match[prefix + "two"]), None)
        return (Period(hour.start, hour.stop + p.HOUR, "range") for hour in earlier(period))

    return p.piece(match, 2, within=two, cycle="day")


def _digital(match: Match, ctx: TextContext) -> list[Piece]:
    hour, minute = int(match["dhour"]), int(match["dminute"])
    return p.piece(match, 2, within=p.clock(hour, minute, exact=hour > 12 or hour < 7), cycle="day")


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
    "weekdays": _weekdays,
    "weekday": _weekday,
    "weekend": _weekend,
    "relative_day": _relative_day,
    "relative_month": _relative_month,
    "decade": _decade,
    "relative_year": _relative_year,
    "date": shapes.iso,
    "year": _year,
    "year_part": _year_part,
    "relative_quarter": _relative_quarter,
    "quarter": _quarter,
    "latin_quarter": shapes.quarter,
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

CHINESE = Language(
    patterns=PATTERNS,
    makers=MAKERS,
    plain=PLAIN,
    gap=r"\s*(?:的|之)?(?:那天|那一天|当天|这天|那晚的?|那年|那个|这个|那|的时候)?(?:的|，)?\s*",
    to=r"\s*(?:的)?(?:一直)?(?:到了?|至|~+|-+|—+|–)\s*",
    also=r"\s*(?:和|跟|与|及|以及|、|，|还有|或者?|还是|[^，。！？\s]{1,4}到)\s*",
    opening=rf"(?:(?<![第{NUMERAL}])|(?<=[周期拜][一二三四五六])|(?![{NUMERAL}]))",
    habit=HABITS["zh"],
    refers=r"(?:那[天年晚个]|当[天年]|同一天|第二天|有一天)的?$",
    coarse_first=True,
    forward=forward_zh,
)
