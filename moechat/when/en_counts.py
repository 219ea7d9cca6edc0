"""English numbers, and what is counted or vague: two weeks ago, the last three days, the other day, the Monday before."""

from __future__ import annotations

import re

from moechat.when import distances as d
from moechat.when import periods as p
from moechat.when.en_times import ORDINALS, THIRDS, VAGUE_PAST, VAGUE_TILL_NOW, WEEKDAYS, YEAR_THIRDS
from moechat.when.names import english_number
from moechat.when.periods import Context, Match, Period, Piece, compiled


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


def third(found: Match, ctx: Context) -> list[Piece]:
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

    return p.piece(found, 0, shift=shift, leads=True)


def nth(found: Match, ctx: Context) -> list[Piece]:
    """the second week of, the first weekend of, the last Friday of."""
    value, what = ordinal(found["nth"]), found["what"].lower()
    if what == "day":
        return p.piece(found, 4, within=p.nth(p.blocks(1, "day"), value))
    if what == "week":
        return p.piece(found, 5, within=p.last_days(7, "week") if value < 0 else p.nth(p.blocks(7, "week"), value))
    if what == "weekend":
        return p.piece(found, 4.5, within=p.nth(p.in_weeks(5, 2, "weekend"), value))
    return p.piece(found, 4, within=p.nth(p.in_weeks(weekday_of(what)), value))


def beside(found: Match, ctx: Context) -> list[Piece]:
    """the Monday before, the week after, two days before: a change to the date that follows."""
    sign = -1 if found["side"].lower() in ("before", "prior to", "preceding") else 1
    unit = found["bwhat"].lower()
    count = int(number(found["bcount"])) if found["bcount"] else 1
    several = unit.endswith("s") and not found["bcount"]
    if unit in WEEKDAYS:
        shift = d.weekday_beside(WEEKDAYS[unit], sign)
    elif unit.startswith("weekend"):
        shift = d.weekday_beside(5, sign, 2, "weekend")
    elif unit.startswith("night") or unit.startswith("evening"):
        shift = d.SHIFTS["evening before" if sign < 0 else "evening after"]
    elif several:  # months before the wedding: some of them, up to it
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
    return p.piece(found, 0, shift=shift, leads=True)


def side(found: Match, ctx: Context) -> list[Piece]:
    word = found["lead"].lower()
    kind = (
        "since"
        if word.startswith("since")
        else "around"
        if word in ("around", "about")
        else "before"
        if word in ("before", "until", "till", "prior to")
        else "after"
    )
    return p.piece(found, 0, shift=d.SHIFTS[kind], leads=True)


def vague(found: Match, ctx: Context) -> list[Piece]:
    word = re.sub(r"\s+", " ", found.group().lower())
    past = word in VAGUE_PAST
    key = VAGUE_PAST[word] if past else VAGUE_TILL_NOW[word]
    whole = {
        "今天": p.day(ctx.today),
        "这周": p.week(ctx.now),
        "这个月": p.month(ctx.now),
        "今年": p.year(ctx.now.year),
    }.get(key)
    fixed = Period(whole.start, ctx.present, "range") if whole else d.vague(ctx, key, past, word)
    return p.piece(found, 4, fixed=fixed)


def quantity(text: str, unit: str) -> tuple[float, float, str] | None:
    """A counted distance as (least, most, unit)."""
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


def weekends(found: Match, ctx: Context, count: int) -> list[Piece]:
    weekend = p.day(p.week(ctx.now, count).start + 5 * p.DAY, 2, "weekend")
    return p.piece(found, 4.5, fixed=weekend, forward=count > 0)


_BY_WEEKDAY = (
    r"(?i)(?:mon|tues|wednes|thurs|fri|satur|sun)day\s*\0|\0\s*,?\s*on (?:mon|tues|wednes|thurs|fri|satur|sun)day"
)


def weekdays_ago(found: Match, ctx: Context) -> list[Piece]:
    """two Fridays ago: the second Friday back from today."""
    weekday = weekday_of(found["wplural"][:-1])
    latest = ctx.today - ((ctx.today.weekday() - weekday - 1) % 7 + 1) * p.DAY
    return p.piece(found, 4, fixed=p.day(latest - 7 * (int(number(found["wcount"])) - 1) * p.DAY))


def week_of(found: Match, ctx: Context) -> list[Piece]:
    shift = d.SHIFTS["its week" if found["cunit"].lower() == "week" else "its weekend"]
    return p.piece(found, 0, shift=shift, leads=True)


def distance(found: Match, ctx: Context) -> list[Piece]:
    amount = quantity(found["dist"] + (found["dhalf"] or ""), found["dunit"])
    if not amount:
        return []
    low, high, unit = amount
    if (found["more"] or "").lower().startswith(("over", "more")):
        high = low + 1
    ahead = found["dside"].lower() in ("from now", "later", "from today")
    if found["dunit"].lower().startswith("weekend"):
        return weekends(found, ctx, round(low) if ahead else -round(low))
    if (
        unit == "week"
        and low == high
        and compiled(_BY_WEEKDAY).search(found.string[: found.start()] + "\0" + found.string[found.end() :])
    ):
        return p.piece(found, 5, fixed=p.week(ctx.now, round(low) if ahead else -round(low)), forward=ahead)
    if found["dunit"].lower().startswith("night") and not ahead:
        evening = p.day(ctx.today - low * p.DAY).start + 0.75 * p.DAY
        return p.piece(found, 3, fixed=Period(evening, evening + 0.25 * p.DAY, "part"))
    rank = {"year": 8, "month": 6, "week": 4, "day": 4}.get(unit, 2)
    return p.piece(found, rank, fixed=d.away(ctx, unit, low, high, 1 if ahead else -1), forward=ahead)


def in_future(found: Match, ctx: Context) -> list[Piece]:
    amount = quantity(found["fdist"], found["funit"])
    return p.piece(found, 4, fixed=d.away(ctx, amount[2], amount[0], amount[1], 1), forward=True) if amount else []


def trailing(found: Match, ctx: Context) -> list[Piece]:
    unit = found["tunit"]
    amount = quantity(found["tcount"] or "one", unit)
    if not amount:
        return []
    ahead = found["tword"].lower() in ("next", "coming")
    count = amount[0] if "couple" in (found["tcount"] or "").lower() else amount[1]
    return p.piece(found, 4, fixed=d.trailing(ctx, amount[2], count, ahead=ahead), forward=ahead)


def this_time(found: Match, ctx: Context) -> list[Piece]:
    return p.piece(found, 4, within=p.same_day(ctx.today, 0 if "day" in found.group().lower() else 3))


def counted(found: Match, ctx: Context) -> list[Piece]:
    """last three days, past two weeks (without the article)."""
    amount = quantity(found["pcount"], found["punit"])
    return p.piece(found, 4, fixed=d.trailing(ctx, amount[2], amount[1])) if amount else []
