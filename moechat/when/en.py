"""English time expressions, read into pieces: what each pattern of ``en_times`` means."""

from __future__ import annotations

import re

from moechat.when import periods as p
from moechat.when import shapes
from moechat.when.en_times import (
    BEFORE_YEAR,
    DECADES,
    FESTIVAL_NAMES,
    MONTHS,
    PARTS,
    PATTERNS,
    PLAIN,
    RELATIVE_DAYS,
    SEASONS,
    THIRDS,
    VAGUE_PAST,
    VAGUE_TILL_NOW,
    WEEKDAYS,
    YEAR_THIRDS,
    day_number,
    number,
    ordinal,
    quantity,
    weekday_of,
)
from moechat.when.expression import Language
from moechat.when.periods import Maker, Match, Period, Piece, TextContext, compiled
from moechat.when.tense import HABITS, PAST_EN, forward_en


def third(match: Match, ctx: TextContext) -> list[Piece]:
    """early March, the end of last month, late 2023: a third of what follows."""
    word = match["third"].lower()

    def shift(period: Period, ctx: TextContext) -> Period | None:
        if period.unit == "month":
            return next(p.part_of_month(*THIRDS[word])(period))
        if period.unit == "year" and period.days < 367:
            first, count = YEAR_THIRDS[word]
            return p.months(period.start.year, first, count, "season")
        return shapes.third_of({1: 0, 11: 1, 21: 2}[THIRDS[word][0]])(period, ctx)

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
    word = (match["lead"] or "before").lower()  # the run-up to Christmas
    return shapes.change(match, shapes.SHIFTS["before" if word == "prior to" else word], leads=True)


def vague(match: Match, ctx: TextContext) -> list[Piece]:
    word = re.sub(r"\s+", " ", match.group().lower())
    return shapes.vague(match, ctx, word, VAGUE_TILL_NOW, VAGUE_PAST)


_BY_WEEKDAY = (
    r"(?i)(?:mon|tues|wednes|thurs|fri|satur|sun)day\s*\0|\0\s*,?\s*on (?:mon|tues|wednes|thurs|fri|satur|sun)day"
)


def weekdays_ago(match: Match, ctx: TextContext) -> list[Piece]:
    """two Fridays ago, a couple of weekends back: the second one back from today."""
    back = 7 * (int(number(match["wcount"])) - 1) * p.DAY
    if match["wplural"].lower() == "weekends":
        return shapes.relative_weekend(match, ctx, -1 - back.days // 7)
    return p.piece(match, 4, fixed=p.day(shapes.latest_weekday(ctx, weekday_of(match["wplural"][:-1])) - back))


def _length(text: str) -> int:
    """The weeks of ``a week``, ``two weeks``, ``a fortnight``."""
    words = text.lower().split()
    return 2 if "fortnight" in text.lower() else int(number(words[0])) if len(words) > 1 else 1


def weeks_on(match: Match, ctx: TextContext) -> list[Piece]:
    """Tuesday week, a week on Friday, a fortnight today: a number of weeks after today, tomorrow or the coming weekday."""
    word, weeks = (match["wday"] or match["wday2"]).lower(), _length(match["wlong"] or match["wlong2"])
    if word in RELATIVE_DAYS:
        start = ctx.today + RELATIVE_DAYS[word] * p.DAY
    else:
        start = shapes.coming_weekday(ctx, weekday_of(word))
        start -= 7 * p.DAY * (start == ctx.today + 7 * p.DAY)  # said on a Tuesday, Tuesday week is a week today
    return p.piece(match, 4, fixed=p.day(start + 7 * weeks * p.DAY))


def weeks_back(match: Match, ctx: TextContext) -> list[Piece]:
    """a week last Friday, a week ago yesterday."""
    word = match["wday3"].lower()
    start = ctx.today - p.DAY if word == "yesterday" else shapes.latest_weekday(ctx, weekday_of(word))
    return p.piece(match, 4, fixed=p.day(start - 7 * _length(match["wlong3"]) * p.DAY))


def day_gone(match: Match, ctx: TextContext) -> list[Piece]:
    """Friday gone, this Monday just gone, Sunday last: the latest before today."""
    if match["gone"].lower() == "weekend":
        return shapes.relative_weekend(match, ctx, 0 if ctx.today.weekday() == 6 else -1, is_past=True)
    return p.piece(match, 4, fixed=p.day(shapes.latest_weekday(ctx, weekday_of(match["gone"]))))


def second_one(match: Match, ctx: TextContext) -> list[Piece]:
    """the week after next, last Friday but one: two away from the present one; weekdays count from today."""
    what, ahead = (match["afternext"].lower(), 2) if match["afternext"] else (match["lbo"].lower(), -2)
    if what == "weekend":
        return shapes.relative_weekend(match, ctx, ahead)
    if what in _UNITS:
        return _unit(match, ctx, what, ahead)
    nearest = shapes.coming_weekday if ahead > 0 else shapes.latest_weekday
    day = nearest(ctx, weekday_of(what)) + (7 if ahead > 0 else -7) * p.DAY
    return p.piece(match, 4, fixed=p.day(day))


def later(match: Match, ctx: TextContext) -> list[Piece]:
    """later this week, the rest of the day: from now to the end of it."""
    word = (match["later"] or match["restof"]).lower().removeprefix("this ")
    if word in PARTS:
        whole = next(p.in_days(*PARTS[word])(p.day(ctx.today)))
    else:
        whole = p.cycle_of(ctx.now, "day" if word in ("today", "day") else word)
    return p.piece(match, 4, fixed=Period(max(ctx.now, whole.start), whole.stop, "range"))


def part_of_year(match: Match, ctx: TextContext) -> list[Piece]:
    """the second quarter, the first half of last year."""
    if match["halfno"]:
        return shapes.part_of_year(match, 1 if match["halfno"].lower() == "first" else 7, 6)
    place = 4 if match["qname"].lower() in ("last", "final") else ordinal(match["qname"])
    return shapes.part_of_year(match, place * 3 - 2, 3)


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


def trailing(match: Match, ctx: TextContext) -> list[Piece]:
    """the last three days, the coming week."""
    count = match["tcount"] or "one"
    amount = quantity(count, match["tunit"])
    if not amount:
        return []
    least, most, unit = amount
    ahead = match["tword"].lower() in ("next", "coming")
    length = least if "couple" in count.lower() else most
    return p.piece(match, 4, fixed=shapes.trailing(ctx, unit, length, ahead=ahead))


def past_counted(match: Match, ctx: TextContext) -> list[Piece]:
    """last three days, past two weeks (without the article)."""
    amount = quantity(match["pcount"] or "two", match["punit"] or "week")
    return p.piece(match, 4, fixed=shapes.trailing(ctx, amount[2], amount[1])) if amount else []


def _ahead(word: str) -> int:
    return {"last": -1, "past": -1, "previous": -1, "this": 0, "current": 0}.get(word.lower(), 1)


def relative_day(match: Match, ctx: TextContext) -> list[Piece]:
    word, night = match["relday"].lower(), PARTS["night"]
    ahead = RELATIVE_DAYS[word]
    fixed = p.day(ctx.today + ahead * p.DAY)
    if compiled("ni(?:ght|te)|evening").search(word):
        fixed = fixed if ahead else shapes.today(ctx, night[0], forward_en(match.string, ctx.use))
        return p.piece(match, 3, fixed=next(p.in_days(*night)(fixed)))
    same = p.same_day(ctx.today) if ahead == 0 else None
    return p.piece(match, 4, fixed=fixed, within=same)


def this_part(match: Match, ctx: TextContext) -> list[Piece]:
    hours = PARTS[match["tpart"].lower()]
    fixed = shapes.today(ctx, hours[0], forward_en(match.string, ctx.use))
    return p.piece(match, 3, fixed=next(p.in_days(*hours)(fixed)))


def relative_unit(match: Match, ctx: TextContext) -> list[Piece]:
    """last week, this month, next year; the week before last."""
    ahead = _ahead(match["rel"]) if match["rel"] else -2
    unit = (match["runit"] or match["bunit"]).lower()
    if unit == "weekend":
        is_past = bool(compiled(PAST_EN).search(match.string)) and not forward_en(match.string, ctx.use, match.span())
        return shapes.relative_weekend(match, ctx, ahead, is_past=is_past)
    if unit in ("quarter", "semester"):
        return (shapes.relative_quarter if unit == "quarter" else shapes.relative_term)(match, ctx, ahead)
    return _unit(match, ctx, unit, ahead)


_UNITS = {"week": 5, "month": 6, "year": 8}


def _unit(match: Match, ctx: TextContext, unit: str, ahead: int = 0) -> list[Piece]:
    """A whole week, month or year, ``ahead`` of the present one."""
    return p.piece(match, _UNITS[unit], fixed=p.cycle_of(ctx.now, unit, ahead))


def relative_weekday(match: Match, ctx: TextContext) -> list[Piece]:
    """last Tuesday is the latest before today; this Tuesday is in this week, next Tuesday in the next."""
    weekday, ahead = weekday_of(match["rwday"]), _ahead(match["rwrel"])
    if ahead < 0:
        day = shapes.latest_weekday(ctx, weekday)
    elif match["rwrel"].lower().endswith("coming"):
        day = shapes.coming_weekday(ctx, weekday)
    else:
        day = p.week(ctx.now, ahead).start + weekday * p.DAY
    return p.piece(match, 4, fixed=p.day(day))


def weekday_before_last(match: Match, ctx: TextContext) -> list[Piece]:
    """the Friday before last, the summer before last."""
    word = match["wbl"].lower()
    if word in WEEKDAYS:
        return p.piece(match, 4, fixed=p.day(shapes.latest_weekday(ctx, WEEKDAYS[word]) - 7 * p.DAY))
    return _back(match, ctx, word, 2)


def relative_name(match: Match, ctx: TextContext) -> list[Piece]:
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
                return p.piece(match, rank, fixed=period)
    return []


def _named(word: str) -> p.Within:
    """A season, a month or a festival, once a year."""
    if word in SEASONS:
        first, count = SEASONS[word]
        return p.in_years(lambda y: p.months(y, first, count, "season"))
    if word in MONTHS:
        return p.in_years(lambda y: p.months(y, MONTHS[word]))
    return p.festival(FESTIVAL_NAMES[word])


def names_ago(match: Match, ctx: TextContext) -> list[Piece]:
    """two Christmases ago, three summers ago."""
    word = match["nplural"].lower()
    return _back(match, ctx, word[:-2] if word.endswith("ses") else word[:-1], int(number(match["ncount"])))


def _back(match: Match, ctx: TextContext, word: str, count: int) -> list[Piece]:
    """The nth back of the seasons, months or festivals that are over."""
    year = ctx.now.year
    over = [one for y in range(year - count - 1, year + 1) for one in _named(word)(p.year(y)) if one.stop <= ctx.today]
    return p.piece(match, 7 if word in SEASONS else 6 if word in MONTHS else 4, fixed=over[-count])


def month(match: Match, ctx: TextContext) -> list[Piece]:
    word = match["month"] or match["lonemonth"]
    before = match.string[: match.start()].rstrip().lower()
    is_verb = word in ("may", "march", "mar") and before.endswith(("to", "and", "of", "from", "by", "for"))
    if is_verb and not match["month"]:
        return []  # you and may I, to march
    return shapes.month(match, MONTHS[word.lower().rstrip(".")])


def month_day(match: Match, ctx: TextContext) -> list[Piece]:
    """March 5th, the 5th of March, 5 March: month and day in one."""
    month = shapes.month(match, MONTHS[(match["mda"] or match["mdb"]).lower().rstrip(".")])
    return [*month, *shapes.day_of_month(match, day_number(match["dma"] or match["dmb"]))]


def bare_day(match: Match, ctx: TextContext) -> list[Piece]:
    """on the 15th; and a number that ends a range (May 20-22, August 11 to 15)."""
    number = day_number(match["bday"] or match["fromday"] or match["rday"])
    # We won 3-2: behind a dash it is a day only where a range begins before it.
    return p.piece(match, 4, within=p.day_of_month(number), cycle=None if match["rday"] else "month")


def year(match: Match, ctx: TextContext) -> list[Piece]:
    """A year; behind a word that is neither a preposition nor a time it is a number (Room 2023)."""
    if match["yshort"]:
        value = int(match["yshort"])
        return p.piece(match, 8, fixed=p.year(value + (2000 if value <= ctx.now.year % 100 + 10 else 1900)))
    start = match.start("year")
    word = compiled(r"([a-z']+)\.?[ -]$").search(match.string[max(start - 20, 0) : start].lower())
    if word and word.group(1) not in BEFORE_YEAR:
        return []
    return p.piece(match, 8, fixed=p.year(int(match["year"])))


def decade(match: Match, ctx: TextContext) -> list[Piece]:
    value = DECADES[match["decade3"].lower()] if match["decade3"] else int(match["decade"] or match["decade2"])
    return p.piece(match, 9, fixed=p.year(value if value > 100 else 1900 + value, 10))


# Where a date in digits has its day first (5/3 is in March): zones whose English is not America's.
_DAY_FIRST = (
    "Europe/",
    "Africa/",
    "Atlantic/",
    "Australia/",
    "Pacific/Auckland",
    "Asia/Kolkata",
    "Asia/Singapore",
    "Asia/Dubai",
)


def slashed(match: Match, ctx: TextContext) -> list[Piece]:
    """5/20/2023, 18/5, on 10/12: by the zone's custom, unless only one way gives a month."""
    pairs = (("sm", "sd"), ("bm", "bd"), ("dmth", "dd"), ("one", "two"))
    name, (first, second) = next((a, (int(match[a]), int(match[b]))) for a, b in pairs if match[a])
    day_first = str(ctx.zone).startswith(_DAY_FIRST) and name in ("sm", "one")
    month, day = (second, first) if (day_first and second <= 12) or first > 12 else (first, second)
    if name == "sm":
        year = int(match["sy"])
        return shapes.date(match, year + 2000 if year < 100 else year, month, day) if day else []
    return [*shapes.month(match, month), *shapes.day_of_month(match, day)]


def weekday(match: Match, ctx: TextContext) -> list[Piece]:
    return shapes.weekday(match, weekday_of(match["weekday"] or match["wshort"]))


def part(match: Match, ctx: TextContext) -> list[Piece]:
    first, last = PARTS[(match["part"] or match["inpart"]).lower()]
    stands_alone = match["inpart"] or first in (12, 23)
    return p.piece(match, 3, within=p.in_days(first, last), cycle="day" if stands_alone else None)


def clock(match: Match, ctx: TextContext) -> list[Piece]:
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


def clock_words(match: Match, ctx: TextContext) -> list[Piece]:
    """half past six, ten to nine, half six, 7ish, six o'clock."""
    word = match["cwhour"] or match["chalf"] or match["ish"] or match["wordhour"] or match["wordhour2"]
    hour, minute = int(number(word)), 30 if match["chalf"] else None
    if match["cpast"]:
        name = match["cpast"].lower()
        minute = 30 if name == "half" else 15 if name.endswith("quarter") else int(number(name.replace("-", " ")))
        if match["cside"].lower() == "to":
            hour, minute = (hour - 1) or 12, 60 - minute
    return p.piece(match, 2, within=p.clock(hour, minute), cycle="day")


iso, quarter, weekend = shapes.iso, shapes.quarter, shapes.weekend
# What the patterns mean; else the function that has a pattern's name says it.
MAKERS: dict[str, Maker] = {
    "week_of": lambda match, ctx: shapes.change(match, shapes.SHIFTS[f"its {match['cunit'].lower()}"], leads=True),
    "in_future": lambda match, ctx: shapes.in_future(match, ctx, quantity(match["fdist"], match["funit"])),
    # the end of the month, with nothing said of which
    "this_unit": lambda match, ctx: _unit(match, ctx, match["thunit"].lower()),
    "this_time": lambda match, ctx: shapes.this_time(match, ctx, is_day="day" in match.group().lower()),
    "season": lambda match, ctx: shapes.part_of_year(
        match, *SEASONS[next(match[f"season{n}"] for n in ("", *range(2, 6)) if match[f"season{n}"]).lower()]
    ),
    "festival": lambda match, ctx: shapes.festival(
        match, FESTIVAL_NAMES[match["fname"].lower()], whole=bool(match["fwhole"])
    ),
}
MAKERS |= {name: globals()[name] for name in PATTERNS if name in globals() and name not in MAKERS}

ENGLISH = Language(
    patterns=PATTERNS,
    makers=MAKERS,
    opening=r"(?i)(?<![a-z])(?=[a-z]|'\d|(?<!\d)\d)",  # A rule begins at the beginning of a word or number.
    plain=PLAIN,
    gap=r"\s*,?\s*(?:(?:of|in|on|at|around|the|from|during|back|between)\s*)*",
    to=r"\s*(?:to|until|till|through|thru|-+|–|—|~)\s*(?:the\s*)?",
    also=r"\s*(?:,|and|or|&)\s*(?:(?:on|in)\s*)?",
    between=r"(?i)\bbetween\b",
    habit=HABITS["en"],
    moved=r"(?i)\b(?:moved|pushed|changed|rescheduled|postponed|brought forward|shifted|switched)\b",
    refers=r"(?i)\b(?:that|same) (?:day|year|week) (?:in )?$",
    coarse_first=False,
    forward=forward_en,
)
