"""English numbers, and what is counted or vague: two weeks ago, the last three days, the other day, the Monday before."""

from __future__ import annotations

import re
from datetime import datetime

from moechat.when import distances as d
from moechat.when import periods as p
from moechat.when import shapes
from moechat.when.en_times import ORDINALS, THIRDS, VAGUE_PAST, VAGUE_TILL_NOW, WEEKDAYS, YEAR_THIRDS
from moechat.when.names import english_number
from moechat.when.periods import Match, Period, Piece, TextContext, compiled
from moechat.when.shapes import Amount


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
        shift = d.weekday_beside(WEEKDAYS[unit], sign)
    elif unit.startswith("weekend"):
        shift = d.weekends_beside(sign)
    elif unit.startswith(("night", "evening")):
        shift = d.SHIFTS["evening before" if sign < 0 else "evening after"]
    elif unit.endswith("s") and not match["bcount"]:  # months before the wedding: some of them, up to it
        shift = d.stretch_beside(sign, unit[:-1], 7 if unit == "days" else 6)
    elif unit.startswith("month"):
        shift = d.month_beside(sign * count)
    elif unit.startswith("year"):
        shift = d.year_beside(sign * count)
    else:
        days = count * (7 if unit.startswith("week") else 1)
        # The week before is seven days, two days before is that one day.
        length = days if unit.startswith("week") and count == 1 else 1
        shift = d.beside(sign * days if sign < 0 else days - length + 1, length, "week" if length == 7 else "day")
    return shapes.change(match, shift, leads=True)


def side(match: Match, ctx: TextContext) -> list[Piece]:
    """since, around, before and after a date."""
    word = match["lead"].lower()
    return shapes.change(match, d.SHIFTS["before" if word == "prior to" else word], leads=True)


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
    return shapes.change(match, d.SHIFTS[f"its {match['cunit'].lower()}"], leads=True)


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
    return p.piece(match, 4, fixed=d.trailing(ctx, unit, length, ahead=ahead), forward=ahead)


def this_time(match: Match, ctx: TextContext) -> list[Piece]:
    return shapes.this_time(match, ctx, is_day="day" in match.group().lower())


def past_counted(match: Match, ctx: TextContext) -> list[Piece]:
    """last three days, past two weeks (without the article)."""
    amount = quantity(match["pcount"], match["punit"])
    return p.piece(match, 4, fixed=d.trailing(ctx, amount[2], amount[1])) if amount else []
