"""English time expressions, read into pieces: what each pattern of ``en_times`` means, and English numbers."""

from __future__ import annotations

import re
from datetime import datetime

from moechat.when import periods as p
from moechat.when import shapes
from moechat.when.en_times import (
    FESTIVAL_NAMES,
    MONTHS,
    ORDINALS,
    PARTS,
    PATTERNS,
    PLAIN,
    SEASONS,
    THIRDS,
    VAGUE_PAST,
    VAGUE_TILL_NOW,
    WEEKDAYS,
    YEAR_THIRDS,
)
from moechat.when.expression import Language
from moechat.when.names import english_number
from moechat.when.periods import Maker, Match, Period, Piece, TextContext, compiled
from moechat.when.shapes import Amount
from moechat.when.tense import HABITS, PAST_EN, forward_en


def number(text: str) -> float:
    """The value of a number (two, thirty-one, a, 2.5); what is none is 0."""
    return 1.0 if text.strip().lower() in ("a", "an") else english_number(text) or 0.0


def ordinal(text: str) -> int:
    text = text.lower()
    return ORDINALS[text] if text in ORDINALS else int(text[:-2])


def day_number(text: str) -> int:
    """5, 5th and fifth."""
    digits = "".join(c for c in text if c.isdigit())
    return int(digits) if digits else ORDINALS[text.lower()]


def weekday_of(text: str) -> int:
    return WEEKDAYS[text.lower().rstrip(".")]


def third(match: Match, ctx: TextContext) -> list[Piece]:
    """early March, the end of last month, late 2023: a third of what follows."""
    word = match["third"].lower()

    def shift(period: Period, ctx: TextContext) -> Period | None:
        if period.unit == "month":
            return next(p.part_of_month(*THIRDS[word])(period))
        if period.unit == "year" and period.days < 367:
            first, count = YEAR_THIRDS[word]
            return p.months(period.start.year, first, count, "season")
        length = (period.stop - period.start) / 3
        place = {1: 0, 11: 1, 21: 2}[THIRDS[word][0]]
        begin = p.day(period.start + place * length).start
        return Period(begin, period.stop if place == 2 else p.day(period.start + (place + 1) * length).start, "range")

    return shapes.change(match, shift, leads=True)


def nth(match: Match, ctx: TextContext) -> list[Piece]:
    """the second week of, the first weekend of, the last Friday of."""
    what = match["what"].lower()
    return shapes.nth(match, ordinal(match["nth"]), WEEKDAYS.get(what, what))


def beside(match: Match, ctx: TextContext) -> list[Piece]:
    """the Monday before, the week after, two days before: a change to the date that follows."""
    sign = -1 if match["side"].lower() in ("before", "prior to", "preceding") else 1
    unit = match["bwhat"].lower()
    count = int(number(match["bcount"])) if match["bcount"] else 1
    if unit in WEEKDAYS:
        shift = shapes.weekday_beside(WEEKDAYS[unit], sign)
    elif unit.startswith("weekend"):
        shift = shapes.weekends_beside(sign)
    elif unit.startswith(("night", "evening")):
        shift = shapes.SHIFTS["evening before" if sign < 0 else "evening after"]
    elif unit.endswith("s") and not match["bcount"]:  # months before the wedding: some of them, up to it
        shift = shapes.stretch_beside(sign, unit[:-1], 7 if unit == "days" else 6)
    elif unit.startswith("month"):
        shift = shapes.month_beside(sign * count)
    elif unit.startswith("year"):
        shift = shapes.year_beside(sign * count)
    else:
        days = count * (7 if unit.startswith("week") else 1)
        # The week before is seven days, two days before is that one day.
        length = days if unit.startswith("week") and count == 1 else 1
        shift = shapes.beside(sign * days if sign < 0 else days - length + 1, length, "week" if length == 7 else "day")
    return shapes.change(match, shift, leads=True)


def side(match: Match, ctx: TextContext) -> list[Piece]:
    """since, around, before and after a date."""
    word = match["lead"].lower()
    return shapes.change(match, shapes.SHIFTS["before" if word == "prior to" else word], leads=True)


def vague(match: Match, ctx: TextContext) -> list[Piece]:
    word = re.sub(r"\s+", " ", match.group().lower())
    return shapes.vague(match, ctx, word, VAGUE_TILL_NOW, VAGUE_PAST)


def quantity(text: str, unit: str) -> Amount | None:
    """A counted distance: half an hour, two and a half years, a couple of days, three or four weeks."""
    text, unit = text.lower().strip(), unit.lower().rstrip("s")
    kind, scale = {
        "sec": ("second", 1), "min": ("minute", 1), "hr": ("hour", 1),
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


_BY_WEEKDAY = (
    r"(?i)(?:mon|tues|wednes|thurs|fri|satur|sun)day\s*\0|\0\s*,?\s*on (?:mon|tues|wednes|thurs|fri|satur|sun)day"
)


def weekdays_ago(match: Match, ctx: TextContext) -> list[Piece]:
    """two Fridays ago: the second Friday back from today."""
    back = 7 * (int(number(match["wcount"])) - 1) * p.DAY
    return p.piece(match, 4, fixed=p.day(latest_weekday(ctx, weekday_of(match["wplural"][:-1])) - back))


def latest_weekday(ctx: TextContext, weekday: int) -> datetime:
    """The latest such weekday before today."""
    return ctx.today - ((ctx.today.weekday() - weekday - 1) % 7 + 1) * p.DAY


def week_of(match: Match, ctx: TextContext) -> list[Piece]:
    return shapes.change(match, shapes.SHIFTS[f"its {match['cunit'].lower()}"], leads=True)


def distance(match: Match, ctx: TextContext) -> list[Piece]:
    """two weeks ago, over a year ago, three days from now."""
    amount = quantity(match["dist"] + (match["dhalf"] or ""), match["dunit"])
    if not amount:
        return []
    least, most, unit = amount
    if (match["more"] or "").lower().startswith(("over", "more")):
        most = least + 1
    ahead = match["dside"].lower() in ("from now", "later", "from today")
    if match["dunit"].lower().startswith("night") and not ahead:
        evening = p.day(ctx.today - least * p.DAY).start + 0.75 * p.DAY
        return p.piece(match, 3, fixed=Period(evening, evening + 0.25 * p.DAY, "part"))
    if match["dunit"].lower().startswith("weekend"):
        unit = "weekend"
    around = match.string[: match.start()] + "\0" + match.string[match.end() :]
    names_weekday = unit == "week" and compiled(_BY_WEEKDAY).search(around) is not None
    return shapes.distance(match, ctx, (least, most, unit), 1 if ahead else -1, names_weekday=names_weekday)


def in_future(match: Match, ctx: TextContext) -> list[Piece]:
    return shapes.in_future(match, ctx, quantity(match["fdist"], match["funit"]))


def trailing(match: Match, ctx: TextContext) -> list[Piece]:
    """the last three days, the coming week."""
    count = match["tcount"] or "one"
    amount = quantity(count, match["tunit"])
    if not amount:
        return []
    least, most, unit = amount
    ahead = match["tword"].lower() in ("next", "coming")
    length = least if "couple" in count.lower() else most
    return p.piece(match, 4, fixed=shapes.trailing(ctx, unit, length, ahead=ahead), forward=ahead)


def this_time(match: Match, ctx: TextContext) -> list[Piece]:
    return shapes.this_time(match, ctx, is_day="day" in match.group().lower())


def past_counted(match: Match, ctx: TextContext) -> list[Piece]:
    """last three days, past two weeks (without the article)."""
    amount = quantity(match["pcount"], match["punit"])
    return p.piece(match, 4, fixed=shapes.trailing(ctx, amount[2], amount[1])) if amount else []


def _month_of(text: str) -> int:
    return MONTHS[text.lower().rstrip(".")]


def _ahead(word: str) -> int:
    return {"last": -1, "past": -1, "previous": -1, "this": 0, "current": 0}.get(word.lower(), 1)


def _relative_day(match: Match, ctx: TextContext) -> list[Piece]:
    word, night = match.group().lower(), PARTS["night"]
    ahead = -2 if "before yesterday" in word else 2 if "after tomorrow" in word else {"y": -1, "l": -1}.get(word[0], 0)
    if word.startswith(("tomorrow", "tmr")):
        ahead = 1
    fixed = p.day(ctx.today + ahead * p.DAY)
    if "night" in word:
        fixed = fixed if ahead else shapes.today(ctx, night[0], forward_en(match.string, ctx.use))
        return p.piece(match, 3, fixed=next(p.in_days(*night)(fixed)), forward=ahead > 0)
    same = p.same_day(ctx.today) if ahead == 0 else None
    return p.piece(match, 4, fixed=fixed, within=same, forward=ahead > 0)


def _night_before_last(match: Match, ctx: TextContext) -> list[Piece]:
    return p.piece(match, 3, fixed=next(p.in_days(*PARTS["night"])(p.day(ctx.today - 2 * p.DAY))))


def _this_part(match: Match, ctx: TextContext) -> list[Piece]:
    hours = PARTS[match["tpart"].lower()]
    fixed = shapes.today(ctx, hours[0], forward_en(match.string, ctx.use))
    return p.piece(match, 3, fixed=next(p.in_days(*hours)(fixed)))


def _relative_unit(match: Match, ctx: TextContext) -> list[Piece]:
    """last week, this month, next year; the week before last."""
    ahead = _ahead(match["rel"]) if match["rel"] else -2
    unit = (match["runit"] or match["bunit"]).lower()
    if unit == "weekend":
        is_past = compiled(PAST_EN).search(match.string) is not None
        return shapes.relative_weekend(match, ctx, ahead, is_past=is_past)
    if unit in ("quarter", "semester"):
        return (shapes.relative_quarter if unit == "quarter" else shapes.relative_term)(match, ctx, ahead)
    rank, cycle = _UNITS[unit]
    return p.piece(match, rank, fixed=p.cycle_of(ctx.now, cycle, ahead), forward=ahead > 0)


_UNITS: dict[str, tuple[float, p.Cycle]] = {"week": (5, "week"), "month": (6, "month"), "year": (8, "year")}


def _relative_weekday(match: Match, ctx: TextContext) -> list[Piece]:
    """last Tuesday is the latest before today; this Tuesday is in this week, next Tuesday in the next."""
    weekday, ahead = weekday_of(match["rwday"]), _ahead(match["rwrel"])
    if ahead < 0:
        day = latest_weekday(ctx, weekday)
    elif match["rwrel"].lower() == "coming":
        day = ctx.today + ((weekday - ctx.today.weekday() - 1) % 7 + 1) * p.DAY
    else:
        day = p.week(ctx.now, ahead).start + weekday * p.DAY
    return p.piece(match, 4, fixed=p.day(day), forward=ahead > 0)


def _weekday_before_last(match: Match, ctx: TextContext) -> list[Piece]:
    latest = latest_weekday(ctx, weekday_of(match["wbl"]))
    return p.piece(match, 4, fixed=p.day(latest - 7 * p.DAY))


def _this_unit(match: Match, ctx: TextContext) -> list[Piece]:
    """the end of the month, with nothing said of which."""
    rank, cycle = _UNITS[match["thunit"].lower()]
    return p.piece(match, rank, fixed=p.cycle_of(ctx.now, cycle))


def _relative_name(match: Match, ctx: TextContext) -> list[Piece]:
    """last summer, last March, last Christmas: the latest that is over; next summer: the next to begin."""
    word, relation = match["nname"].lower().rstrip("."), match["nrel"].lower()
    within = _named(word)
    rank = 7 if word in SEASONS else 6 if word in MONTHS else 4
    if relation == "this":
        return [*p.piece(match, 8, fixed=p.year(ctx.now.year)), *p.piece(match, rank, within=within)]
    is_past = relation in ("last", "past")
    for ahead in range(0, -3, -1) if is_past else range(3):
        inside = list(within(p.year(ctx.now.year + ahead)))
        for period in reversed(inside) if is_past else inside:
            if period.stop <= ctx.today if is_past else period.start > ctx.now:
                return p.piece(match, rank, fixed=period, forward=not is_past)
    return []


def _named(word: str) -> p.Within:
    """A season, a month or a festival, once a year."""
    if word in SEASONS:
        first, count = SEASONS[word]
        return p.in_years(lambda y: p.months(y, first, count, "season"))
    if word in MONTHS:
        return p.in_years(lambda y: p.months(y, MONTHS[word]))
    return p.festival(FESTIVAL_NAMES[word])


def _names_ago(match: Match, ctx: TextContext) -> list[Piece]:
    """two Christmases ago, three summers ago: the nth back of those that are over."""
    word = match["nplural"].lower()
    word = word[:-2] if word.endswith("ses") else word[:-1]
    count, year = int(number(match["ncount"])), ctx.now.year
    over = [one for y in range(year - count - 1, year + 1) for one in _named(word)(p.year(y)) if one.stop <= ctx.today]
    return p.piece(match, 7 if word in SEASONS else 4, fixed=over[-count])


def _season(match: Match, ctx: TextContext) -> list[Piece]:
    return shapes.part_of_year(match, *SEASONS[(match["season"] or match["season2"] or match["season3"]).lower()])


def _month(match: Match, ctx: TextContext) -> list[Piece]:
    word = match["month"] or match["lonemonth"]
    before = match.string[: match.start()].rstrip().lower()
    is_verb = word in ("may", "march", "mar") and before.endswith(("to", "and", "of", "from", "by", "for"))
    if is_verb and not match["month"]:
        return []  # you and may I, to march
    return shapes.month(match, _month_of(word))


def _month_day(match: Match, ctx: TextContext) -> list[Piece]:
    """March 5th, the 5th of March, 5 March: month and day in one."""
    month = shapes.month(match, _month_of(match["mda"] or match["mdb"]))
    return [*month, *shapes.day_of_month(match, day_number(match["dma"] or match["dmb"]))]


def _bare_day(match: Match, ctx: TextContext) -> list[Piece]:
    """on the 15th; and a number that ends a range (May 20-22, August 11 to 15)."""
    return shapes.day_of_month(match, day_number(match["bday"] or match["rday"]))


_BEFORE_YEAR = (
    {word for name in FESTIVAL_NAMES for word in name.split()[-1:]}
    | {*MONTHS, *SEASONS}
    | {*"in of since during before after until from to late early mid between and year half quarter".split()}
)


def _year(match: Match, ctx: TextContext) -> list[Piece]:
    """A year; behind a word that is neither a preposition nor a time it is a number (Room 2023)."""
    if match["yshort"]:
        value = int(match["yshort"])
        return p.piece(match, 8, fixed=p.year(value + (2000 if value <= ctx.now.year % 100 + 10 else 1900)))
    start = match.start("year")
    word = compiled(r"([a-z']+)\.?[ -]$").search(match.string[max(start - 20, 0) : start].lower())
    if word and word.group(1) not in _BEFORE_YEAR:
        return []
    return p.piece(match, 8, fixed=p.year(int(match["year"])))


def _decade(match: Match, ctx: TextContext) -> list[Piece]:
    value = int(match["decade"] or match["decade2"])
    return p.piece(match, 9, fixed=p.year(value if value > 99 else 1900 + value, 10))


def _slashed(match: Match, ctx: TextContext) -> list[Piece]:
    """5/20/2023: month first, unless only the other way gives a month; 5/18 in any year."""
    if match["bm"]:
        return [*shapes.month(match, int(match["bm"])), *shapes.day_of_month(match, int(match["bd"]))]
    month, day, year = int(match["sm"]), int(match["sd"]), int(match["sy"])
    if month > 12:
        month, day = day, month
    return shapes.date(match, year + 2000 if year < 100 else year, month, day) if day else []


def _weekday(match: Match, ctx: TextContext) -> list[Piece]:
    return shapes.weekday(match, weekday_of(f"{match['weekday']}day" if match["weekday"] else match["wshort"]))


def _weekend(match: Match, ctx: TextContext) -> list[Piece]:
    return shapes.weekend(match)


def _part(match: Match, ctx: TextContext) -> list[Piece]:
    first, last = PARTS[(match["part"] or match["inpart"]).lower()]
    stands_alone = match["inpart"] or first in (12, 23)
    return p.piece(match, 3, within=p.in_days(first, last), cycle="day" if stands_alone else None)


def _clock(match: Match, ctx: TextContext) -> list[Piece]:
    """3pm, 10:30, 5 o'clock."""
    hour, minute = (
        int(match["hour"] or match["chour"] or match["ohour"] or match["nhour"]),
        match["minute"] or match["cminute"],
    )
    half = (match["half"] or "").lower().replace(".", "")
    if half and not 1 <= hour <= 12:
        return []
    if half:
        hour = hour % 12 + (12 if half == "pm" else 0)
    exact = bool(half) or (bool(match["chour"]) and (hour < 1 or hour > 6))
    return p.piece(match, 2, within=p.clock(hour, int(minute) if minute else None, exact=exact), cycle="day")


def _festival(match: Match, ctx: TextContext) -> list[Piece]:
    return shapes.festival(match, FESTIVAL_NAMES[match["fname"].lower()], whole=bool(match["fwhole"]))


def _half_of(match: Match, ctx: TextContext) -> list[Piece]:
    return shapes.part_of_year(match, 1 if match["halfno"].lower() == "first" else 7, 6)


MAKERS: dict[str, Maker] = {
    "trailing": trailing,
    "past_counted": past_counted,
    "vague": vague,
    "distance": distance,
    "fridays_ago": weekdays_ago,
    "week_of": week_of,
    "in_future": in_future,
    "beside": beside,
    "relative_day": _relative_day,
    "night_before_last": _night_before_last,
    "this_time": this_time,
    "this_part": _this_part,
    "relative_unit": _relative_unit,
    "weekday_before_last": _weekday_before_last,
    "this_unit": _this_unit,
    "relative_weekday": _relative_weekday,
    "relative_name": _relative_name,
    "names_ago": _names_ago,
    "third": third,
    "half_of": _half_of,
    "nth": nth,
    "side": side,
    "festival": _festival,
    "iso": shapes.iso,
    "quarter": shapes.quarter,
    "slashed": _slashed,
    "month_day": _month_day,
    "month": _month,
    "bare_day": _bare_day,
    "decade": _decade,
    "year": _year,
    "season": _season,
    "weekday": _weekday,
    "weekend": _weekend,
    "part": _part,
    "clock": _clock,
}

ENGLISH = Language(
    patterns=PATTERNS,
    makers=MAKERS,
    opening=r"(?i)(?<![A-Za-z])",  # A rule begins at the beginning of a word or number.
    plain=PLAIN,
    gap=r"\s*,?\s*(?:(?:of|in|on|at|around|the|from|during|back|between)\s*)*",
    to=r"\s*(?:to|until|till|through|thru|-+|–|—|~)\s*(?:the\s*)?",
    also=r"\s*(?:,|and|or|&)\s*(?:(?:on|in)\s*)?",
    between=r"(?i)\bbetween\b",
    habit=HABITS["en"],
    refers=r"(?i)\b(?:that|same) (?:day|year|week) (?:in )?$",
    coarse_first=False,
    forward=forward_en,
)
