"""Chinese time expressions, read into pieces: the patterns that are made of ``zh.toml``, what each means, and Chinese numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from moechat.when import periods as p
from moechat.when import shapes
from moechat.when.calendar import SOLAR_TERMS, lunar_day, lunar_month
from moechat.when.expression import Language
from moechat.when.names import PLAIN, chinese_number
from moechat.when.periods import Maker, Match, Period, Piece, TextContext, compiled
from moechat.when.shapes import Amount
from moechat.when.tense import HABITS, PAST_ZH, forward_zh
from moechat.when.words import alternatives, numbered, patterns, ranges, table

WORDS = table("zh")
REL_DAYS, REL_YEARS = numbered(WORDS["relative_days"]), numbered(WORDS["relative_years"])
WEEKDAYS = {c: i for i, c in enumerate("一二三四五六日")} | {"天": 6} | {str(i + 1): i for i in range(7)}
PARTS, SEASONS = ranges(WORDS["parts"]), ranges(WORDS["seasons"])
YEAR_PARTS, MONTH_PARTS = ranges(WORDS["year_parts"]), ranges(WORDS["month_parts"])
FESTIVAL_NAMES = {**WORDS["festivals"], **{term: term for term in SOLAR_TERMS}}
VAGUE_TILL_NOW, VAGUE_PAST = WORDS["vague_till_now"], WORDS["vague_past"]
UNITS, SHIFT_NAMES = WORDS["units"], WORDS["shifts"]
# These are other things too, unless it is plain that a day is meant.
_ALSO_WORDS = ("小雪", "大雪", "雨水", "小满", "白露", "大寒", "十一", "高考")

# Numerals; a rule that begins with one begins at its first.
NUMERAL = "0-9零〇一二两俩三四五六七八九十百千万廿"
# The first of two neighbouring numbers (三四点, 周四五, 二三月).
_PAIR = "(?:" + "|".join(f"{a}(?={b})" for a, b in zip("一二三四五六七八九", "二三四五六七八九十", strict=True)) + ")"
_BITS = {
    "numeral": NUMERAL,
    "pair": _PAIR,
    "festivals": alternatives(set(FESTIVAL_NAMES) - set(_ALSO_WORDS)),
    "also_words": alternatives(_ALSO_WORDS),
    "terms": alternatives(_ALSO_WORDS[:6]),
    "vague": alternatives([*VAGUE_TILL_NOW, *VAGUE_PAST]),
    "long_parts": alternatives(word for word in PARTS if len(word) > 1),
    "shifts": alternatives(SHIFT_NAMES),
    "iso": shapes.ISO,
    "latin_quarter": shapes.QUARTER,
}
_BITS |= patterns("zh", "bits", _BITS)
_BITS |= {f"{prefix}_oclock": _BITS["oclock"].replace("(?P<", f"(?P<{prefix}") for prefix in "bc"}
PATTERNS = patterns("zh", "times", {**_BITS, "not_times": patterns("zh", "not_times", _BITS)["rows"]})

_SCALE = {"quarter": ("minute", 15), "season": ("month", 3), "century": ("year", 100)}


def number(text: str) -> int:
    """The value of a numeral, 元 of 元月 among them; what is none is 0."""
    return int(chinese_number(text.replace("元", "一")) or 0)


def ups(text: str) -> int:
    """上 -1, 上上 and 大上 -2, 这 0, 下 1."""
    return text.count("下") - sum(text.count(word) for word in "上前大")


def quantity(text: str) -> Amount | None:
    """A counted distance: 两个半小时, 两三天, 十几天, 一个多月, 半年."""
    unit = next((name for name in UNITS if text.rstrip("多半").endswith(name)), None)
    if not unit:
        return None
    head, _, tail = text.rpartition(unit)
    kind, scale = _SCALE.get(UNITS[unit], (UNITS[unit], 1))
    count = head.strip("个大半多好上来")
    if "几" in count:
        least, most = _several(count, kind)
        return least * scale, most * scale, kind
    if len(count) == 2 and all(char in "一二两三四五六七八九" for char in count):
        return number(count[0]) * scale, number(count[1]) * scale, kind
    half = 0.5 if head.rstrip("个多").endswith("半") or tail.startswith("半") else 0
    value = (chinese_number(count) or 0) + half
    if not value:
        return None
    if not ("多" in head or "多" in tail or head.startswith("大半")):
        return value * scale, value * scale, kind
    if value == 0.5:
        return 0.5 * scale, scale, kind
    return value * scale, (value + (10 if value >= 20 and value % 10 == 0 else 1)) * scale, kind


def _several(count: str, kind: str) -> tuple[int, int]:
    """几 2 to 6 (days to 7), 十几 11 to 19, 二十几 21 to 29, 几十 20 to 90."""
    if count == "几":
        return 2, 7 if kind == "day" else 6
    if count == "几十":
        return 20, 90
    tens = number(count.removesuffix("几")) if count.endswith("几") else 0
    return (tens + 1, tens + 9) if tens else (2, 6)


def distance(match: Match, ctx: TextContext) -> list[Piece]:
    """三天前, 半个月后, 一小时二十分钟前."""
    amount = quantity(match["dist"])
    if not amount:
        return []
    least, most, unit = amount
    larger = (chinese_number(match["dlarge"] or "") or 0) * {"minute": 60, "month": 12}.get(unit, 0)
    least, most = least + larger, most + larger
    sign = 1 if match["side"].endswith("后") else -1
    weekday = compiled(r"的?那?个?(?:周|星期|礼拜)[一二三四五六日天末]").match(match.string, match.end())
    return shapes.distance(match, ctx, (least, most, unit), sign, names_weekday=weekday is not None)


def trailing(match: Match, ctx: TextContext) -> list[Piece]:
    """最近三天, 过去两周, 前三天; 三天内."""
    amount = quantity(match["span"] or match["span2"])
    if not amount:
        return []
    _, most, unit = amount
    if match["span2"] and "内" in match.group() and forward_zh(match.string, ctx.use):
        return p.piece(match, 4, fixed=shapes.trailing(ctx, unit, most, ahead=True))
    fixed = shapes.trailing(ctx, unit, most)
    if match.group()[0] in "前上" and fixed.days > 1:
        fixed = Period(fixed.start, ctx.today, fixed.unit)  # 前三天, as 前几天, ends before today
    return p.piece(match, 4, fixed=fixed)


def nth(match: Match, ctx: TextContext) -> list[Piece]:
    """第二天, 第二个周末, 最后一个周五."""
    value = -1 if match["nth"].startswith("最后") else number(match["nth"].strip("第"))
    what = UNITS.get(match["what"], "")
    return shapes.nth(match, value, what or WEEKDAYS[match["what"][-1]])


def third(match: Match, ctx: TextContext) -> list[Piece]:
    """寒假快结束的时候, 暑假开头: a third of what stands before."""
    word = match["third"]
    return shapes.change(
        match, shapes.third_of(0 if "始" in word or "头" in word else 1 if word in ("中间", "过半") else 2)
    )


def beside(match: Match, ctx: TextContext) -> list[Piece]:
    """国庆前三天, 生日前一晚, 春节后一周: counted days, weeks or months on one side of a date."""
    if match["bnth"]:
        return shapes.change(match, shapes.nth_day(number(match["bnth"])))
    if not match["bside"]:
        return shapes.change(match, shapes.nth_day(-1))
    ahead = match["bside"] == "后"
    if match["bunit"] == "晚":
        return shapes.change(match, shapes.SHIFTS["evening after" if ahead else "evening before"])
    count = 7 if match["bcount"] == "几" else number(match["bcount"])
    days = count * {"天": 1, "月": 30}.get(match["bunit"], 7)
    return shapes.change(match, shapes.beside(1 if ahead else -days, days, "day" if days == 1 else "range"))


def beside_week(match: Match, ctx: TextContext) -> list[Piece]:
    """8月14日前的那个星期五, 国庆后的周末: the nearest one on that side; 两个周末 are both."""
    sign = -1 if "前" in match["wside"] else 1
    what = match["wwhat"]
    if what.endswith("末"):
        return shapes.change(match, shapes.weekends_beside(sign, number(match["wcount"] or "一")))
    if what[-1] in WEEKDAYS:
        return shapes.change(match, shapes.weekday_beside(WEEKDAYS[what[-1]], sign))
    side = "before" if sign < 0 else "after"
    return shapes.change(match, shapes.SHIFTS[f"{'month' if what == '月' else 'week'} {side}"])


def soon(match: Match, ctx: TextContext) -> list[Piece]:
    """过几天, and 待会儿 where plans are remembered."""
    if match.group() == "过两天":
        return p.piece(match, 4, fixed=p.day(ctx.today + 2 * p.DAY))
    if match.group().endswith(("天", "阵子")):
        return p.piece(match, 4, fixed=p.day(ctx.today + p.DAY, 7, "range"))
    fixed = Period(ctx.now, ctx.now + p.SECOND * 10800, "hour")
    return p.piece(match, 4, fixed=fixed) if ctx.use == "writing" else []


_PART = "|".join(sorted(PARTS, key=len, reverse=True))
# Who was awake until two was so at night.
_AWAKE = r"(?:熬夜|通宵|失眠|睡不着|没睡)[^，。！？]{0,5}$"


def relative_day(match: Match, ctx: TextContext) -> list[Piece]:
    ahead = REL_DAYS[match["rday"]]
    if ahead:
        return p.piece(match, 4, fixed=p.day(ctx.today + ahead * p.DAY))
    part = compiled(_PART).match(match.string, match.end())
    fixed = shapes.today(ctx, PARTS[part.group()][0] if part else 0, forward_zh(match.string, ctx.use))
    return p.piece(match, 4, fixed=fixed, within=p.same_day(ctx.today))


def weekday(match: Match, ctx: TextContext) -> list[Piece]:
    return shapes.weekday(match, WEEKDAYS[match.group()[-1]])


def relative_weekend(match: Match, ctx: TextContext) -> list[Piece]:
    before = match.string[: match.start()]
    is_past = compiled(PAST_ZH).search(match.string) is not None or before.endswith("刚过去的")
    return shapes.relative_weekend(match, ctx, ups(match["rwend"]), is_past=is_past)


def relative_month(match: Match, ctx: TextContext) -> list[Piece]:
    ahead = ups(match["rmonth"])
    same = p.in_years(lambda y: p.months(y, ctx.now.month)) if ahead == 0 else None  # 去年这个月
    return p.piece(match, 6, fixed=p.month(ctx.now, ahead), within=same)


def year(match: Match, ctx: TextContext) -> list[Piece]:
    value = number(re.sub(r"[年\s]", "", match.group()))
    if value < 100:
        value += 2000 if value <= ctx.now.year % 100 + 10 else 1900
    return p.piece(match, 8, fixed=p.year(value))


def decade(match: Match, ctx: TextContext) -> list[Piece]:
    tens = number(match["decade"] or match["few"]) * (10 if match["few"] else 1)
    is_new = tens in (0, 10, 20) and not match.group().startswith(("上", "二十世", "20世"))
    return p.piece(match, 9, fixed=p.year((2000 if is_new else 1900) + tens, 10))


def relative_quarter(match: Match, ctx: TextContext) -> list[Piece]:
    relative = shapes.relative_term if match.group().endswith("期") else shapes.relative_quarter
    return relative(match, ctx, ups(match["rquarter"]))


def _around_new_year(match: Match, rank: float, start: int, days: int, unit: str) -> list[Piece]:
    """``days`` days that begin ``start`` days from 春节."""

    def make(y: int) -> Period | None:
        new_year = lunar_day(y, 1, 1)
        return p.day(p.on(new_year).start + start * p.DAY, days, unit) if new_year else None

    return p.piece(match, rank, within=p.in_years(make), cycle="year")


def month(match: Match, ctx: TextContext) -> list[Piece]:
    if not match["mpair"]:
        return shapes.month(match, number(match["month"]))
    first = number(match["mpair"])
    return p.piece(match, 6, within=p.in_years(lambda y: p.months(y, first, 2, "range")), cycle="year")


def month_part(match: Match, ctx: TextContext) -> list[Piece]:
    first, last = MONTH_PARTS[match.group().strip("的月")]
    return p.piece(match, 5.5, within=p.part_of_month(first, last), cycle="month")


def short_date(match: Match, ctx: TextContext) -> list[Piece]:
    month, day = int(match["sm"]), int(match["sd"])

    def make(y: int) -> Period | None:
        whole = p.months(y, month)
        period = p.day(whole.start + (day - 1) * p.DAY)
        return period if period.stop <= whole.stop else None

    return p.piece(match, 4, within=p.in_years(make), cycle="year")


def _lunar(match: Match, month: int, word: str | None, leap: bool = False) -> list[Piece]:
    """A lunar day, or the whole lunar month where ``word`` names no day."""
    day = number(word.lstrip("初")) if word else 0

    def make(y: int) -> Period | None:
        if day:
            date = lunar_day(y, month, day, leap=leap)
            return p.on(date) if date else None
        whole = lunar_month(y, month, leap=leap)
        return p.day(p.on(whole[0]).start, whole[1], "month") if whole else None

    return p.piece(match, 4 if day else 6, within=p.in_lunar_years(make), cycle="year")


_LUNAR_MONTHS = {"正": 1, "冬": 11, "腊": 12}


def lunar_date(match: Match, ctx: TextContext) -> list[Piece]:
    word = match["lmonth"]
    return _lunar(match, _LUNAR_MONTHS.get(word) or number(word), match["lday"], bool(match["leap"]))


def lunar_short(match: Match, ctx: TextContext) -> list[Piece]:
    if match["newday"] or match["newday2"]:
        return _lunar(match, 1, match["newday"] or match["newday2"])
    if match["nmonth"]:
        return _lunar(match, number(match["nmonth"]), match["nday"])
    return _lunar(match, _LUNAR_MONTHS[match["smonth"]], match["sday"])


def festival(match: Match, ctx: TextContext) -> list[Piece]:
    whole = match["fwhole"] is not None or match["fname"] == "过年"
    return shapes.festival(match, FESTIVAL_NAMES[match["fname"]], whole=whole)


def part(match: Match, ctx: TextContext) -> list[Piece]:
    festive = match["part"] == "夜" and match.string[match.start() - 1] in "夕秋节宵"
    first, last = PARTS["晚" if festive else match["part"]]
    return p.piece(match, 3, within=p.in_days(first, last), cycle="day")


def clock(match: Match, ctx: TextContext) -> list[Piece]:
    text = match.group()
    prefix = "b" if match["bhour"] else "c"
    hour = number(match[prefix + "hour"])
    minute: int | None = None
    if match[prefix + "half"]:
        minute = 30
    elif match[prefix + "quarter"]:
        minute = 15 * number(match[prefix + "quarter"])
    elif match[prefix + "minute"]:
        minute = number(match[prefix + "minute"])
    before = match.string[: match.start()][-1:]
    if text.strip() == "一点" and before not in "，。！？；,.!? 在到从约前后上午夜里晨晚":
        return []  # 一点 is a little, unless something makes it an hour
    is_night = compiled(_AWAKE).search(match.string[: match.start()]) is not None
    within = p.clock(hour, minute, exact=hour > 12 or text[0] == "0" or is_night)
    if not match[prefix + "two"]:
        return p.piece(match, 2, within=within, cycle="day")

    def two(period: Period) -> Iterator[Period]:
        earlier = p.clock(number(match[prefix + "two"]), None)
        return (Period(hour.start, hour.stop + p.HOUR, "range") for hour in earlier(period))

    return p.piece(match, 2, within=two, cycle="day")


def digital(match: Match, ctx: TextContext) -> list[Piece]:
    hour, minute = int(match["dhour"]), int(match["dminute"])
    return p.piece(match, 2, within=p.clock(hour, minute, exact=hour > 12 or hour < 7), cycle="day")


date, latin_quarter, weekend, bound_clock = shapes.iso, shapes.quarter, shapes.weekend, clock
# What the patterns mean; else the function that has a pattern's name says it.
MAKERS: dict[str, Maker] = {
    "vague": lambda match, ctx: shapes.vague(match, ctx, match.group(), VAGUE_TILL_NOW, VAGUE_PAST),
    # 之前 by itself (你之前说过), not 吃饭之前.
    "before_now": lambda match, ctx: p.piece(match, 4, fixed=shapes.stretch_of(ctx, "之前", False)),
    # 再过三天, 过一个月.
    "passing": lambda match, ctx: shapes.in_future(match, ctx, quantity(match["pass"])),
    "this_time": lambda match, ctx: shapes.this_time(match, ctx, is_day="天" in match.group()),
    # A change to what stands before: 前后, 以来, 之前, 之后, 前一天, 那几天.
    "near": lambda match, ctx: shapes.change(match, shapes.SHIFTS[SHIFT_NAMES[match.group()]]),
    # 自从 before a date.
    "lead": lambda match, ctx: shapes.change(match, shapes.SHIFTS["since"], leads=True),
    "relative_week": lambda match, ctx: p.piece(match, 5, fixed=p.week(ctx.now, ups(match["rweek"]))),
    # 上周四五: two days that follow each other.
    "weekdays": lambda match, ctx: p.piece(
        match, 3.9, within=p.in_weeks(WEEKDAYS[match["wpair"]], 2, "range"), cycle="week"
    ),
    "relative_year": lambda match, ctx: p.piece(match, 8, fixed=p.year(ctx.now.year + REL_YEARS[match["ryear"]])),
    "year_part": lambda match, ctx: shapes.part_of_year(match, *YEAR_PARTS[match.group().strip("年")]),
    "quarter": lambda match, ctx: shapes.part_of_year(match, number(match["quarter"]) * 3 - 2, 3),
    "season": lambda match, ctx: shapes.part_of_year(
        match, *SEASONS[match.group() if match.group() == "暑假" else match.group()[0]]
    ),
    # 年前 and 年后: the month before 春节, and the month after its first week.
    "new_year_side": lambda match, ctx: _around_new_year(
        match, 4, 7 if match.group().endswith("后") else -30, 30, "range"
    ),
    # 寒假: from two weeks and a half before 春节 to two weeks and a half after it.
    "winter_break": lambda match, ctx: _around_new_year(match, 7, -18, 36, "season"),
    "month_day": lambda match, ctx: shapes.day_of_month(match, number(match["dom"])),
    "month_date": lambda match, ctx: shapes.day_of_month(match, number(match["mdom"] or match["mbare"])),
    "before_dash": lambda match, ctx: shapes.day_of_month(match, number(match["dash"])),
}
MAKERS |= {name: globals()[name] for name in PATTERNS if name in globals() and name not in MAKERS}

CHINESE = Language(
    patterns=PATTERNS,
    makers=MAKERS,
    plain=PLAIN,
    gap=r"\s*(?:的|之)?(?:那天|那一天|当天|这天|那晚的?|那年|那个|这个|那|的时候)?(?:的|，)?\s*",
    to=r"\s*(?:的)?(?:一直)?(?:到了?|至|~+|-+|—+|–)\s*",
    also=r"\s*(?:和|跟|与|及|以及|、|，|还有|或者?|还是|[^，。！？\s]{1,4}到)\s*",
    opening=rf"(?:(?<![第{NUMERAL}])|(?<=[周期拜][一二三四五六])|(?![{NUMERAL}]))(?=[《\s]|(?![A-Za-z]\D)\w)",
    habit=HABITS["zh"],
    moved=r"[改推挪延换调](?:到|成|为|至)",
    refers=r"(?:那[天年晚个]|当[天年]|同一天|第二天|有一天)的?$",
    coarse_first=True,
    forward=forward_zh,
)
