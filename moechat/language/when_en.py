"""English time words, as tables and patterns, read into pieces."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache

from moechat.language import distances as d
from moechat.language import periods as p
from moechat.language.calendar import holiday
from moechat.language.expression import Grammar
from moechat.language.periods import Context, Period, Piece

MONTHS = {
    name: i % 12 + 1
    for i, name in enumerate(
        "january february march april may june july august september october november december "
        "jan feb mar apr may jun jul aug sep oct nov dec".split()
    )
} | {"sept": 9}
WEEKDAYS = {
    name: i % 7
    for i, name in enumerate(
        "monday tuesday wednesday thursday friday saturday sunday mon tue wed thu fri sat sun".split()
    )
} | {"tues": 1, "weds": 2, "thur": 3, "thurs": 3}
NUMBERS = {
    name: i
    for i, name in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
        "eighteen nineteen twenty".split()
    )
} | {"a": 1, "an": 1, "thirty": 30, "forty": 40, "fifty": 50, "hundred": 100}
ORDINALS = {
    name: i + 1
    for i, name in enumerate(
        "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth "
        "sixteenth seventeenth eighteenth nineteenth twentieth".split()
    )
} | {"last": -1, "thirtieth": 30}

# Hours of the parts of the day, from and to; past 24 is the next morning.
PARTS = {
    "morning": (6, 12), "noon": (12, 14), "midday": (12, 14), "lunchtime": (12, 14), "afternoon": (12, 18), "evening": (17, 21),
    "night": (18, 24), "midnight": (23, 25), "dawn": (4, 7), "dusk": (17, 19),
}  # fmt: skip
SEASONS = {"spring": (3, 3), "summer": (6, 3), "autumn": (9, 3), "fall": (9, 3), "winter": (12, 3)}
THIRDS = {"early": (1, 10), "mid": (11, 20), "middle": (11, 20), "late": (21, 31), "beginning": (1, 10), "start": (1, 10), "end": (21, 31)}
YEAR_THIRDS = {"early": (1, 3), "beginning": (1, 3), "start": (1, 3), "mid": (6, 2), "middle": (6, 2), "late": (11, 2), "end": (11, 2)}

# How people call the festivals of ``calendar.FESTIVALS``.
FESTIVAL_NAMES = {
    "new year's eve": "跨年", "new years eve": "跨年", "new year's day": "元旦", "new years day": "元旦", "new year's": "元旦", "new year": "元旦",
    "valentine's day": "情人节", "valentines day": "情人节", "valentine's": "情人节", "women's day": "妇女节", "april fools' day": "愚人节",
    "april fool's day": "愚人节", "april fools": "愚人节", "earth day": "地球日", "easter sunday": "复活节", "easter": "复活节", "may day": "劳动节",
    "mother's day": "母亲节", "mothers day": "母亲节", "father's day": "父亲节", "fathers day": "父亲节", "children's day": "儿童节",
    "memorial day": "阵亡将士纪念日", "independence day": "独立日", "the fourth of july": "独立日", "labor day": "美国劳动节", "labour day": "劳动节",
    "teachers' day": "教师节", "national day": "国庆", "halloween": "万圣夜", "singles' day": "双十一", "thanksgiving day": "感恩节",
    "thanksgiving": "感恩节", "black friday": "黑色星期五", "christmas eve": "平安夜", "christmas day": "圣诞", "christmas": "圣诞", "xmas": "圣诞",
    "chinese new year's eve": "除夕", "lunar new year's eve": "除夕", "chinese new year": "春节", "lunar new year": "春节", "spring festival": "春节",
    "lantern festival": "元宵", "dragon boat festival": "端午", "qixi festival": "七夕", "qixi": "七夕", "mid-autumn festival": "中秋",
    "mid autumn festival": "中秋", "moon festival": "中秋", "double ninth festival": "重阳", "qingming festival": "清明", "qingming": "清明",
    "tomb-sweeping day": "清明", "tomb sweeping day": "清明", "winter solstice": "冬至", "summer solstice": "夏至",
}  # fmt: skip

# Vague words: (key in WIDTHS, 1 where they end with yesterday).
VAGUE = {
    "recently": ("最近", 0), "lately": ("最近", 0), "of late": ("最近", 0), "not long ago": ("最近", 0), "just now": ("刚才", 0), "a moment ago": ("刚才", 0),
    "a minute ago": ("刚才", 0), "moments ago": ("刚才", 0), "a little while ago": ("刚才", 0), "the other day": ("前几天", 1), "the other night": ("前几天", 1),
    "these days": ("这阵子", 0), "these past days": ("这几天", 0), "these past few days": ("这几天", 0), "a while ago": ("前阵子", 1), "a while back": ("前阵子", 1),
    "some time ago": ("前阵子", 1), "sometime ago": ("前阵子", 1), "last time": ("上次", 0), "the last time": ("上次", 0), "previously": ("之前", 0),
    "earlier today": ("今天", 0), "earlier this week": ("这周", 0), "earlier this month": ("这个月", 0), "earlier this year": ("今年", 0),
}  # fmt: skip

# Words that look like times. What they cover is read no further.
NOT_TIMES = "|".join((
    r"(?:every|each|any|some|one|all) (?:(?:single|other) )?(?:day|night|morning|evening|afternoon|week|weekend|month|year|spring|summer|fall|autumn|winter|mon|tues|wednes|thurs|fri|satur|sun)(?:day)?s?(?: (?:morning|afternoon|evening|night)s?)?\b",
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)days\b", r"(?:good|goodnight) ?(?:morning|evening|afternoon|night)\b", r"(?:happy|merry) [a-z']+(?: [a-z']+)?(?: day| year| eve)?\b",
    r"years? old (?:this|last|next) year\b", r"day (?:by|after) day", r"second (?:thought|option|chance|hand|time|one)s?", r"(?:one|a|just a|wait a|in a|for a) (?:second|sec|minute|moment)(?! ago)\b",
    r"(?:for|about|nearly|almost|over|took|takes|lasted|spent) (?:the )?(?:\d+|a|an|one|two|three|four|five|six|seven|eight|nine|ten|several|many|a few|half an?) (?:more )?(?:minutes?|hours?|days?|weeks?|months?|years?)(?! (?:ago|before|earlier|back))\b",
    r"(?:how) (?:long ago|long|old|often)", r"as of (?=now)", r"(?:saturday night live|black friday sale|sunday school|monday blues)",
))  # fmt: skip

_N = r"(?:\d{1,4}(?:\.\d)?|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|a hundred)"
_UNIT = r"(?:seconds?|secs?|minutes?|mins?|hours?|hrs?|days?|nights?|weeks?|fortnights?|weekends?|months?|years?|decades?)"
_MONTH = "(?:" + "|".join(sorted(MONTHS, key=len, reverse=True)) + r")\b(?:\.(?=\s*\d))?"
_WEEKDAY = "(?:" + "|".join(sorted(WEEKDAYS, key=len, reverse=True)) + r")\b"
_DAYNUM = r"(?:3[01]|[12]\d|0?[1-9])"
_ORDINAL = "(?:" + "|".join(ORDINALS) + r"|\d{1,2}(?:st|nd|rd|th))"
_SEASON = "(?:spring|summer|autumn|fall|winter)"
_QUANTITY = rf"(?:(?:{_N})(?: and a half)?(?: (?:or|to) {_N})?|half an?|a couple(?: of)?|couple of|a few|few|several|some)(?: and a half)?"

Match = re.Match[str]
Maker = Callable[[Match, Context], list[Piece]]


def number(text: str) -> float:
    """Value of an English number (two, a, 2.5)."""
    text = text.strip().lower().removeprefix("a ") if text.strip().lower() != "a" else "a"
    return float(text) if text[0].isdigit() else float(NUMBERS.get(text, 0))


def ordinal(text: str) -> int:
    text = text.lower()
    return ORDINALS[text] if text in ORDINALS else int(text[:-2])


def _piece(found: Match, rank: float, **what: object) -> Piece:
    return Piece(found.span(), rank, **what)  # type: ignore[arg-type]


def _weekday_of(text: str) -> int:
    return WEEKDAYS[text.lower().rstrip(".")]


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
        return [_piece(found, 3, fixed=next(p.in_days(*PARTS["night"])(fixed)), forward=ahead > 0)]
    same = p.same_day(ctx.today) if ahead == 0 else None
    return [_piece(found, 4, fixed=fixed, within=same, forward=ahead > 0)]


def _night_before_last(found: Match, ctx: Context) -> list[Piece]:
    return [_piece(found, 3, fixed=next(p.in_days(*PARTS["night"])(p.day(ctx.today - 2 * p.DAY))))]


def _this_part(found: Match, ctx: Context) -> list[Piece]:
    return [_piece(found, 3, fixed=next(p.in_days(*PARTS[found["tpart"].lower()])(p.day(ctx.today))))]


def _relative_unit(found: Match, ctx: Context) -> list[Piece]:
    """last week, this month, next year; the week before last."""
    ahead = _ahead(found["rel"]) if found["rel"] else -2
    unit = (found["runit"] or found["bunit"]).lower()
    if unit == "weekend":
        return [_piece(found, 4.5, fixed=_weekend(ctx, ahead, found), forward=ahead > 0)]
    if unit == "quarter":
        y, m = p.month_after(ctx.now.year, (ctx.now.month - 1) // 3 * 3 + 1, 3 * ahead)
        return [_piece(found, 7, fixed=p.months(y, m, 3, "season"))]
    rank, fixed = {
        "week": (5, lambda: p.week(ctx.now, ahead)),
        "month": (6, lambda: p.month(ctx.now, ahead)),
        "year": (8, lambda: p.year(ctx.now.year + ahead)),
    }[unit]
    return [_piece(found, rank, fixed=fixed(), forward=ahead > 0)]


def _weekend(ctx: Context, ahead: int, found: Match) -> Period:
    """this weekend, looked back on with a past tense before Saturday, is the one that is over."""
    weekend = p.day(p.week(ctx.now, ahead).start + 5 * p.DAY, 2, "weekend")
    if ahead == 0 and weekend.start > ctx.now and _PAST.search(found.string):
        return p.day(weekend.start - 7 * p.DAY, 2, "weekend")
    return weekend


def _relative_weekday(found: Match, ctx: Context) -> list[Piece]:
    """last Tuesday is the latest before today; this Tuesday is in this week, next Tuesday in the next."""
    weekday, ahead = _weekday_of(found["rwday"]), _ahead(found["rwrel"])
    if ahead < 0:
        fixed = p.day(ctx.today - ((ctx.today.weekday() - weekday - 1) % 7 + 1) * p.DAY)
    else:
        fixed = p.day(p.week(ctx.now, ahead).start + weekday * p.DAY)
    if found["rwrel"].lower() == "coming":
        fixed = p.day(ctx.today + ((weekday - ctx.today.weekday() - 1) % 7 + 1) * p.DAY)
    return [_piece(found, 4, fixed=fixed, forward=ahead > 0)]


def _relative_name(found: Match, ctx: Context) -> list[Piece]:
    """last summer, last March, last Christmas: the latest that is over; next summer: the next to begin; this summer: this year's."""
    word, rel = found["nname"].lower().rstrip("."), found["nrel"].lower()
    within = _named(word)
    rank = 7 if word in SEASONS else 6 if word in MONTHS else 4
    if rel == "this":
        return [_piece(found, 8, fixed=p.year(ctx.now.year)), Piece(found.span(), rank, within=within)]
    reach = range(0, -3, -1) if rel in ("last", "past") else range(0, 3)
    for ahead in reach:
        inside = list(within(p.year(ctx.now.year + ahead)))
        for period in reversed(inside) if rel in ("last", "past") else inside:
            if period.stop <= ctx.today if rel in ("last", "past") else period.start > ctx.now:
                return [_piece(found, rank, fixed=period, forward=rel == "next")]
    return []


def _named(word: str) -> p.Within:
    if word in SEASONS:
        first, count = SEASONS[word]
        return p.in_years(lambda y: p.months(y, first, count, "season"))
    if word in MONTHS:
        return p.in_years(lambda y: p.months(y, MONTHS[word]))
    return p.festival(FESTIVAL_NAMES[word])


def _season(found: Match, ctx: Context) -> list[Piece]:
    return [_piece(found, 7, within=_named(found["season"].lower()), cycle="year")]


def _month(found: Match, ctx: Context) -> list[Piece]:
    word = found["month"] or found["lonemonth"]
    before = found.string[: found.start()].rstrip().lower()
    if word in ("may", "march", "mar") and not found["month"] and before.endswith(("to", "and", "of", "from", "by", "for")):
        return []  # the verbs: you and may I, to march
    value = _month_of(word)
    return [_piece(found, 6, within=p.in_years(lambda y: p.months(y, value)), cycle="year")]


def _month_day(found: Match, ctx: Context) -> list[Piece]:
    """March 5th, the 5th of March, 5 March: month and day in one."""
    name = found["mda"] or found["mdb"]
    value, dom = _month_of(name), int(re.sub(r"\D", "", found["dma"] or found["dmb"]))

    def make(y: int) -> Period | None:
        whole = p.months(y, value)
        one = p.day(whole.start + (dom - 1) * p.DAY)
        return one if one.stop <= whole.stop else None

    month = Piece(found.span(), 6, within=p.in_years(lambda y: p.months(y, value)), cycle="year")
    return [month, Piece(found.span(), 4, within=p.day_of_month(dom), cycle="month")] if 1 <= dom <= 31 else []


def _bare_day(found: Match, ctx: Context) -> list[Piece]:
    """on the 15th; and a number that ends a range (May 20-22, August 11 to 15)."""
    dom = int(re.sub(r"\D", "", found["bday"] or found["rday"]))
    return [_piece(found, 4, within=p.day_of_month(dom), cycle="month")] if 1 <= dom <= 31 else []


def _year(found: Match, ctx: Context) -> list[Piece]:
    return [_piece(found, 8, fixed=p.year(int(found["year"])))]


def _decade(found: Match, ctx: Context) -> list[Piece]:
    value = int(found["decade"] or found["decade2"])
    return [_piece(found, 9, fixed=p.year(value if value > 99 else 1900 + value, 10))]


def _iso(found: Match, ctx: Context) -> list[Piece]:
    y, m, dom = int(found["iy"]), int(found["im"]), int(found["id"] or 0)
    if not 1 <= m <= 12:
        return []
    whole = p.months(y, m)
    if not dom:
        return [_piece(found, 6, fixed=whole)]
    fixed = p.day(whole.start + (dom - 1) * p.DAY)
    return [_piece(found, 4, fixed=fixed)] if fixed.stop <= whole.stop else []


def _slashed(found: Match, ctx: Context) -> list[Piece]:
    """5/20/2023: month first, unless only the other way gives a month."""
    m, dom, y = int(found["sm"]), int(found["sd"]), int(found["sy"])
    if m > 12:
        m, dom = dom, m
    y += 2000 if y < 100 else 0
    whole = p.months(y, m)
    fixed = p.day(whole.start + (dom - 1) * p.DAY)
    return [_piece(found, 4, fixed=fixed)] if fixed.stop <= whole.stop else []


def _weekday(found: Match, ctx: Context) -> list[Piece]:
    return [_piece(found, 3.9, within=p.in_weeks(_weekday_of(found["weekday"] or found["wshort"])), cycle="week")]


def _bare_weekend(found: Match, ctx: Context) -> list[Piece]:
    return [_piece(found, 4.5, within=p.in_weeks(5, 2, "weekend"), cycle="week")]


def _part(found: Match, ctx: Context) -> list[Piece]:
    first, last = PARTS[(found["part"] or found["inpart"]).lower()]
    return [_piece(found, 3, within=p.in_days(first, last), cycle="day" if found["inpart"] or first in (12, 23) else None)]


def _clock(found: Match, ctx: Context) -> list[Piece]:
    """3pm, 10:30, 5 o'clock."""
    hour, minute = int(found["hour"] or found["chour"] or found["ohour"]), found["minute"] or found["cminute"]
    half = (found["half"] or "").lower().replace(".", "")
    if hour > 24 or half and not 1 <= hour <= 12 or int(minute or 0) > 59:
        return []
    if half:
        hour = hour % 12 + (12 if half == "pm" else 0)
    exact = bool(half) or bool(found["chour"]) and (hour < 1 or hour > 6)
    return [_piece(found, 2, within=p.clock(hour, int(minute) if minute else None, exact=exact), cycle="day")]


def _festival(found: Match, ctx: Context) -> list[Piece]:
    name = FESTIVAL_NAMES[found["fname"].lower().replace("’", "'")]
    days = p.festival(name)
    if not found["fwhole"]:
        return [_piece(found, 4, within=days, cycle="year", holiday=name)]

    def within(period: Period) -> Iterator[Period]:
        for one in days(period):
            first, last = holiday(name, one.start.date())
            yield Period(p.on(first).start, p.on(last).stop, "range")

    return [_piece(found, 4, within=within, cycle="year", holiday=name)]


def _third(found: Match, ctx: Context) -> list[Piece]:
    """early March, the end of last month, late 2023: a third of what follows."""
    word = found["third"].lower()

    def shift(period: Period, ctx: Context) -> Period | None:
        if period.unit == "month":
            return next(p.part_of_month(*THIRDS[word])(period))
        if period.unit == "year" and period.days < 367:
            first, count = YEAR_THIRDS[word]
            return p.months(period.start.year, first, count, "season")
        length = (period.stop - period.start) / 3
        place = 0 if THIRDS[word][0] == 1 else 1 if THIRDS[word][0] == 11 else 2
        begin = p.day(period.start + place * length).start
        return Period(begin, period.stop if place == 2 else p.day(period.start + (place + 1) * length).start, "range")

    return [_piece(found, 0, shift=shift, leads=True)]


def _half_of(found: Match, ctx: Context) -> list[Piece]:
    first = 1 if found["halfno"].lower() == "first" else 7
    return [_piece(found, 7, within=p.in_years(lambda y: p.months(y, first, 6, "range")), cycle="year")]


def _nth(found: Match, ctx: Context) -> list[Piece]:
    """the second week of, the first weekend of, the last Friday of."""
    value, what = ordinal(found["nth"]), found["what"].lower()
    if what == "day":
        return [_piece(found, 4, within=p.nth(p.blocks(1, "day"), value))]
    if what == "week":
        return [_piece(found, 5, within=p.nth(p.blocks(7, "week"), value))]
    if what == "weekend":
        return [_piece(found, 4.5, within=p.nth(p.in_weeks(5, 2, "weekend"), value))]
    return [_piece(found, 4, within=p.nth(p.in_weeks(_weekday_of(what)), value))]


def _beside(found: Match, ctx: Context) -> list[Piece]:
    """the Monday before, the week after, two days before: a change to the date that follows."""
    sign = -1 if found["side"].lower() in ("before", "prior to", "preceding") else 1
    unit = found["bwhat"].lower().rstrip(".")
    count = int(number(found["bcount"])) if found["bcount"] else 1
    if unit in WEEKDAYS:
        shift = d.weekday_beside(WEEKDAYS[unit], sign)
    elif unit.startswith("weekend"):
        shift = d.weekday_beside(5, sign, 2, "weekend")
    elif unit.startswith("night") or unit.startswith("evening"):
        shift = d.SHIFTS["evening before" if sign < 0 else "evening after"]
    elif unit.startswith(("month", "year")) and count == 1:
        shift = d.SHIFTS[f"{unit} {'before' if sign < 0 else 'after'}"]
    else:
        days = count * (7 if unit.startswith("week") else 1)
        # the week before is seven days, two days before is that one day, the few days before are all of them
        length = days if unit.startswith("week") and count == 1 else 1
        shift = d.beside(sign * days if sign < 0 else days - length + 1, length, "week" if length == 7 else "day")
    return [_piece(found, 0, shift=shift, leads=True)]


def _side(found: Match, ctx: Context) -> list[Piece]:
    word = found["lead"].lower()
    kind = "since" if word.startswith("since") else "around" if word in ("around", "about") else "before" if word in ("before", "until", "till", "prior to") else "after"
    return [_piece(found, 0, shift=d.SHIFTS[kind], leads=True)]


def _vague(found: Match, ctx: Context) -> list[Piece]:
    word = re.sub(r"\s+", " ", found.group().lower())
    key, left_out = VAGUE[word]
    whole = {"今天": p.day(ctx.today), "这周": p.week(ctx.now), "这个月": p.month(ctx.now), "今年": p.year(ctx.now.year)}.get(key)
    fixed = Period(whole.start, ctx.present, "range") if whole else d.vague(ctx, key, left_out, word)
    return [_piece(found, 4, fixed=fixed)]


def _amount(text: str, unit: str) -> tuple[float, float, str] | None:
    """A counted distance as (least, most, unit)."""
    text, unit = text.lower().strip(), unit.lower().rstrip("s")
    kind, scale = {
        "sec": ("second", 1), "second": ("second", 1), "min": ("minute", 1), "minute": ("minute", 1), "hr": ("hour", 1), "hour": ("hour", 1),
        "fortnight": ("week", 2), "night": ("day", 1), "weekend": ("week", 1), "decade": ("year", 10),
    }.get(unit, (unit, 1))  # fmt: skip
    half = 0.5 if "and a half" in text else 0
    text = text.replace(" and a half", "")
    if text.startswith("half"):
        return 0.5 * scale, 0.5 * scale, kind
    if "couple" in text:
        return 2 * scale, 3 * scale, kind
    if text in ("few", "a few", "several", "some"):
        return 2 * scale, (7 if kind == "day" else 6) * scale, kind
    first, _, last = text.partition(" or ") if " or " in text else text.partition(" to ")
    low = number(first) + half
    return (low * scale, (number(last) or low) * scale if last else low * scale, kind) if low else None


def _weekends(found: Match, ctx: Context, count: int) -> list[Piece]:
    weekend = p.day(p.week(ctx.now, count).start + 5 * p.DAY, 2, "weekend")
    return [_piece(found, 4.5, fixed=weekend, forward=count > 0)]


_BY_WEEKDAY = re.compile(r"(?:mon|tues|wednes|thurs|fri|satur|sun)day\s*\0|\0\s*,?\s*on (?:mon|tues|wednes|thurs|fri|satur|sun)day", re.IGNORECASE)


def _weekdays_ago(found: Match, ctx: Context) -> list[Piece]:
    """two Fridays ago: the second Friday back from today."""
    weekday = _weekday_of(found["wplural"][:-1])
    latest = ctx.today - ((ctx.today.weekday() - weekday - 1) % 7 + 1) * p.DAY
    return [_piece(found, 4, fixed=p.day(latest - 7 * (int(number(found["wcount"])) - 1) * p.DAY))]


def _week_of(found: Match, ctx: Context) -> list[Piece]:
    shift = d.SHIFTS["its week" if found["cunit"].lower() == "week" else "its weekend"]
    return [_piece(found, 0, shift=shift, leads=True)]


def _distance(found: Match, ctx: Context) -> list[Piece]:
    amount = _amount(found["dist"] + (found["dhalf"] or ""), found["dunit"])
    if not amount:
        return []
    low, high, unit = amount
    if (found["more"] or "").lower().startswith(("over", "more")):
        high = low + 1
    ahead = found["dside"].lower() in ("from now", "later", "from today")
    if found["dunit"].lower().startswith("weekend"):
        return _weekends(found, ctx, round(low) if ahead else -round(low))
    if unit == "week" and low == high and _BY_WEEKDAY.search(found.string[: found.start()] + "\0" + found.string[found.end() :]):
        return [_piece(found, 5, fixed=p.week(ctx.now, round(low) if ahead else -round(low)), forward=ahead)]
    rank = {"year": 8, "month": 6, "week": 4, "day": 4}.get(unit, 2)
    return [_piece(found, rank, fixed=d.away(ctx, unit, low, high, 1 if ahead else -1), forward=ahead)]


def _in_future(found: Match, ctx: Context) -> list[Piece]:
    amount = _amount(found["fdist"], found["funit"])
    return [_piece(found, 4, fixed=d.away(ctx, amount[2], amount[0], amount[1], 1), forward=True)] if amount else []


def _trailing(found: Match, ctx: Context) -> list[Piece]:
    unit = found["tunit"]
    amount = _amount(found["tcount"] or "one", unit)
    if not amount:
        return []
    ahead = found["tword"].lower() in ("next", "coming")
    count = amount[0] if "couple" in (found["tcount"] or "").lower() else amount[1]
    return [_piece(found, 4, fixed=d.trailing(ctx, amount[2], count, ahead=ahead), forward=ahead)]


def _this_time(found: Match, ctx: Context) -> list[Piece]:
    return [_piece(found, 4, within=p.same_day(ctx.today, 0 if "day" in found.group().lower() else 3))]


_VAGUE_WORDS = "|".join(sorted(VAGUE, key=len, reverse=True)).replace(" ", r"\s+")
_FESTIVAL_WORDS = "|".join(sorted(FESTIVAL_NAMES, key=len, reverse=True)).replace("'", "['’]")
_PREPOSITION = r"(?:in|last|this|next|since|of|by|during|until|till|before|after|from|to|and|through|early|late|mid|around|for|between)"

RULES: tuple[tuple[str, str, Maker | None], ...] = (
    ("trailing", rf"(?:in|over|during|within|for|throughout)?\s*the (?P<tword>last|past|next|coming) (?:(?P<tcount>{_QUANTITY}) )?(?P<tunit>{_UNIT})\b(?<!weekend)(?! of\b)", _trailing),
    ("past_counted", rf"(?P<pword>last|past) (?P<pcount>{_QUANTITY}) (?P<punit>{_UNIT})\b", lambda found, ctx: _counted(found, ctx)),
    ("vague", rf"(?:{_VAGUE_WORDS})\b", _vague),
    ("distance", rf"(?:(?P<more>over|more than|about|around|nearly|almost|roughly|some) )?(?P<dist>{_QUANTITY}) (?P<dunit>{_UNIT})(?P<dhalf> and a half)? (?P<dside>ago|back\b(?! to)|earlier|from now|from today|later)\b", _distance),
    ("fridays_ago", rf"(?P<wcount>{_N}) (?P<wplural>(?:mon|tues|wednes|thurs|fri|satur|sun)days) ago", _weekdays_ago),
    ("week_of", r"(?:in |on |over |during )?the (?P<cunit>week|weekend) of(?=\s)", _week_of),
    ("in_future", rf"in (?:about )?(?P<fdist>{_QUANTITY}) (?P<funit>{_UNIT})\b(?! of)", _in_future),
    ("beside", rf"(?:the |on the )?(?:(?P<bcount>{_N}) )?(?P<bwhat>{_WEEKDAY}|days?|weeks?|weekends?|nights?|evening|months?|years?) (?P<side>before|after|prior to|following|preceding)\s(?!last\b|yesterday|tomorrow)", _beside),
    ("relative_day", r"(?:the )?day before yesterday|(?:the )?day after tomorrow|yesterday|tomorrow|tmrw?\b|today\b|tonight\b|last night\b", _relative_day),
    ("night_before_last", r"(?:the )?night before last", _night_before_last),
    ("this_time", r"(?:at |on |around )?this (?:time|day|same day|date)(?= (?:last|in|of|two|three)\b)|the same (?:day|time)(?= last)", _this_time),
    ("nots", NOT_TIMES, None),
    ("this_part", r"(?:earlier )?this (?P<tpart>morning|afternoon|evening|noon)", _this_part),
    ("relative_unit", r"(?:the )?(?P<bunit>week|weekend|month|year) before last|(?:the )?(?P<rel>last|previous|past(?= weekend)|this|next|following|coming|upcoming|current) (?P<runit>week|weekend|month|year|quarter)(?!\w)", _relative_unit),
    ("relative_weekday", rf"(?:on )?(?P<rwrel>last|past|this|next|coming) (?P<rwday>{_WEEKDAY})", _relative_weekday),
    ("relative_name", rf"(?P<nrel>last|past|this|next) (?P<nname>{_SEASON}|{_MONTH}|{_FESTIVAL_WORDS})(?!\s+\d)\b", _relative_name),
    ("third", r"(?:in |at |by )?(?:the )?(?P<third>early|mid|late|beginning|start|middle|end)(?:[ -]of| in|-|\s)(?=\s*(?:the |this |last |next )?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|month|year|week|spring|summer|autumn|fall|winter|(?:19|20)\d\d))", _third),
    ("half_of", r"(?:the )?(?P<halfno>first|second) half(?= of (?:the |this |last |next )?(?:year|(?:19|20)\d\d))", _half_of),
    ("nth", rf"(?:the |on the )?(?P<nth>{_ORDINAL}) (?P<what>{_WEEKDAY}|day|week|weekend)(?= (?:of|in)\b)", _nth),
    ("side", r"(?P<lead>since|around|before|after|until|till|prior to)\b(?=\s)", _side),
    ("festival", rf"(?:on |over |during |at |around )?(?P<fname>{_FESTIVAL_WORDS})\b(?!\s+(?:tree|card|song|party|movie|cake|costume|gift|present|resolution)s?)(?P<fwhole> (?:holidays?|break|vacation|period|season))?", _festival),
    ("iso", r"(?<![\d.])(?P<iy>(?:19|20)\d\d)[-/](?P<im>1[0-2]|0?[1-9])(?:[-/](?P<id>3[01]|[12]\d|0?[1-9]))?(?!\d|[-/.]\d)", _iso),
    ("slashed", r"(?<![\d./])(?P<sm>[0-3]?\d)[/](?P<sd>[0-3]?\d)[/](?P<sy>(?:20|19)?\d\d)(?![\d/])", _slashed),
    ("month_day", rf"(?:on )?(?P<mda>{_MONTH})\s*(?:the )?(?P<dma>{_DAYNUM})(?:st|nd|rd|th)?(?![\d:%]|\s*(?:am|pm|%|people|times|days|years))|(?:on )?(?:the )?(?P<dmb>{_DAYNUM})(?:st|nd|rd|th)?(?: day)?(?: of)? (?P<mdb>{_MONTH})", _month_day),
    ("month", rf"(?P<month>{_MONTH})(?=,? ?(?:of )?(?:19|20)\d\d\b|,?(?: of)? (?:last|this|next) year)|(?:(?<=\bin )|(?<=\blast )|(?<=\bthis )|(?<=\bnext )|(?<=\bsince )|(?<=\bof )|(?<=\bby )|(?<=\bduring )|(?<=\buntil )|(?<=\bbefore )|(?<=\bafter )|(?<=\bfrom )|(?<=\bto )|(?<=\bthrough )|(?<=\bearly )|(?<=\blate )|(?<=\bmid-)|(?<=\bbetween )|(?<=\baround )|(?<=\band )|(?<=\bback in ))(?P<lonemonth>{_MONTH})(?!\s+(?:i|you|we|he|she|they|it)\b)", _month),
    ("bare_day", rf"(?:on |since |by )?the (?P<bday>{_DAYNUM}(?:st|nd|rd|th))(?!\s+(?:time|one|century|floor|place|birthday|grade|option|quarter|person|book|chapter|episode|anniversary|street|avenue))\b|(?<=[-–—~])\s*(?P<rday>{_DAYNUM})(?:st|nd|rd|th)?(?![\d-])", _bare_day),
    ("decade", r"(?:(?:the )?(?P<decade>(?:19|20)\d0)|(?:the |(?<=early )|(?<=late ))(?P<decade2>[2-9]0))['’]?s\b", _decade),
    ("year", r"(?:\b(?:in|of|since|during|before|after|until|from|to|late|early|mid|between|and|back in|year)[ -]|(?<=, )|(?<=,)|(?<=\d )|(?<=[a-z] ))(?P<year>(?:19|20)\d\d)\b(?![-/:.]\d|\s*(?:people|dollars|words|times|points|steps|calories|km|miles|meters|yuan|%))", _year),
    ("season", rf"(?:in |during |over )?the (?P<season>{_SEASON})\b(?!\s+(?:palace|camp|school|olympics|job|of\s+[a-z]))|(?<=\bin )(?P<season2>spring|summer|autumn|winter)\b", lambda found, ctx: _any_season(found)),
    ("weekday", rf"(?:on )?(?P<weekday>mon|tues|wednes|thurs|fri|satur|sun)day\b|\bon (?P<wshort>mon|tues?|wed|thu|thurs?|fri|sat|sun)\b", lambda found, ctx: _any_weekday(found)),
    ("weekend", r"(?:over |on |at |during )?the weekend\b(?! (?:of|before|after))", _bare_weekend),
    ("part", r"in the (?P<inpart>morning|afternoon|evening|night)\b|(?:at |around )?(?P<part>morning|noon|midday|lunchtime|afternoon|evening|night|midnight|dawn|dusk)\b", _part),
    ("clock", r"(?:at |around |by )?\b(?P<hour>1[0-2]|0?\d)(?::(?P<minute>[0-5]\d))?\s?(?P<half>[ap]\.?m\b\.?)|(?:at |around |by )?(?<![\d:.])(?P<chour>[01]?\d|2[0-3]):(?P<cminute>[0-5]\d)(?![\d:])|(?:at |around |by )?\b(?P<ohour>1[0-2]|0?[1-9])(?: o['’]?clock|(?= (?:in the (?:morning|afternoon|evening)|at night)\b))", _clock),
)  # fmt: skip


def _counted(found: Match, ctx: Context) -> list[Piece]:
    """last three days, past two weeks (without the article)."""
    amount = _amount(found["pcount"], found["punit"])
    return [_piece(found, 4, fixed=d.trailing(ctx, amount[2], amount[1]))] if amount else []


def _any_season(found: Match) -> list[Piece]:
    return [_piece(found, 7, within=_named((found["season"] or found["season2"]).lower()), cycle="year")]


def _any_weekday(found: Match) -> list[Piece]:
    word = (found["weekday"] + "day") if found["weekday"] else found["wshort"]
    return [_piece(found, 3.9, within=p.in_weeks(_weekday_of(word)), cycle="week")]


_MAKERS = {f"r_{name}": make for name, _, make in RULES}


@lru_cache(maxsize=1)
def _master() -> re.Pattern[str]:
    """All rules as one pattern, the first that fits wins; a rule begins at the beginning of a word or number."""
    rules = "|".join(f"(?P<r_{name}>{pattern})" for name, pattern, _ in RULES)
    return re.compile(rf"(?<![A-Za-z])(?:{rules})", re.IGNORECASE)


_FUTURE = re.compile(
    r"\b(?:will|won't|shall|going to|gonna|plan(?:s|ned|ning)? (?:to|for|on)|about to|want to|would like to|need to|have to|let's|hope to|upcoming|due|"
    r"looking forward)\b|['’]ll\b",
    re.IGNORECASE,
)
_PLANS = re.compile(r"\b(?:have|has|got) (?:an?|my|the) \w+|\b(?:am|is|are|['’]m|['’]re) \w+ing\b|\b(?:exam|deadline|meeting|appointment|interview)\b", re.IGNORECASE)
_PAST = re.compile(
    r"\b(?:did|was|were|had|said|told|talked|went|met|remember|mentioned|discussed|made|got|came|saw|ate|bought|took|\w{3,}ed)\b(?<!need)(?<!planned)",
    re.IGNORECASE,
)


def _forward(clause: str, use: str) -> bool:
    """Does a clause speak of what is to come? A past tense outweighs a plan in it."""
    if _PAST.search(clause):
        return False
    return bool(_FUTURE.search(clause) or use == "writing" and _PLANS.search(clause))


GRAMMAR = Grammar(
    gap=re.compile(r"\s*,?\s*(?:(?:of|in|on|at|around|the|from|during|back)\s*)*"),
    to=re.compile(r"\s*(?:to|until|till|through|thru|-+|–|—|~)\s*(?:the\s*)?"),
    also=re.compile(r"\s*(?:,|and|or|&)\s*(?:(?:on|in)\s*)?"),
    between=re.compile(r"\bbetween\s+(?:the\s+)?$", re.IGNORECASE),
    coarse_first=False,
    forward=_forward,
)


def pieces(text: str, ctx: Context) -> list[Piece]:
    """The time words of a text in order."""
    found: list[Piece] = []
    at = 0
    master = _master()
    while match := master.search(text, at):
        make = _MAKERS[match.lastgroup or ""]
        at = max(match.end(), match.start() + 1)
        if make:
            try:
                found += make(match, ctx)
            except (ValueError, OverflowError):
                continue  # a date beyond the calendar
    return found
