"""Chinese numbers, and what is counted or vague: 三天前, 最近一周, 前几天, 国庆前三天, 第二个周末."""

from __future__ import annotations

import re

from moechat.when import distances as d
from moechat.when import periods as p
from moechat.when.names import chinese_number
from moechat.when.periods import Context, Match, Period, Piece
from moechat.when.tense import forward_zh
from moechat.when.zh_times import SHIFT_NAMES, UNITS, VAGUE_PAST, VAGUE_TILL_NOW, WEEKDAYS

_SCALE = {"quarter": ("minute", 15), "season": ("month", 3), "century": ("year", 100)}


def number(text: str) -> float:
    """The value of a numeral, 元 of 元月 among them; what is none is 0."""
    return chinese_number(text.replace("元", "一")) or 0.0


def ups(text: str, *, base: int = 0) -> int:
    """上 -1, 上上 -2, 这 0, 下 1."""
    return text.count("下") - text.count("上") - text.count("前") + base


def vague(found: Match, ctx: Context) -> list[Piece]:
    word = found.group()
    past = word in VAGUE_PAST
    key = VAGUE_PAST[word] if past else VAGUE_TILL_NOW[word]
    return p.piece(found, 4, fixed=d.vague(ctx, key, past, word))


def quantity(text: str) -> tuple[float, float, str] | None:
    """A counted distance as (least, most, unit): 两个半小时, 两三天, 十几天, 一个多月, 半年."""
    unit = next((name for name in UNITS if text.rstrip("多半").endswith(name)), None)
    if not unit:
        return None
    head, tail = text[: text.rindex(unit)], text[text.rindex(unit) + len(unit) :]
    kind, scale = _SCALE.get(UNITS[unit], (UNITS[unit], 1))
    half = 0.5 if head.rstrip("个多").endswith("半") or tail.startswith("半") else 0
    more = "多" in head or "多" in tail or head.startswith("大半")
    count = head.strip("个大半多好上来")
    if "几" in count:
        tens = number(count.replace("几", "")) if count != "几" else 0
        low, high = (
            (tens + 1, tens + 9)
            if count.startswith("十")
            else (tens * 10 + 1, tens * 10 + 9)
            if count.endswith("十")
            else (2, 6)
        )
        if count == "几十":
            low, high = 20, 90
        elif count == "几":
            low, high = (2, 7) if kind == "day" else (2, 6)
        return low * scale, high * scale, kind
    pair = len(count) == 2 and all(c in "一二两三四五六七八九" for c in count)
    if pair:
        return number(count[0]) * scale, number(count[1]) * scale, kind
    value = (number(count) if count else 0) + half
    if value == 0.5 and more:
        return 0.5 * scale, scale, kind
    if not value:
        return None
    return value * scale, (value + (10 if value >= 20 and value % 10 == 0 else 1) if more else value) * scale, kind


def before_now(found: Match, ctx: Context) -> list[Piece]:
    """之前 by itself (你之前说过), not 吃饭之前."""
    return p.piece(found, 4, fixed=d.vague(ctx, "之前", False))


def distance(found: Match, ctx: Context) -> list[Piece]:
    amount = quantity(found["dist"])
    if not amount:
        return []
    low, high, unit = amount
    ahead = found["side"] in ("后", "之后", "以后")
    if (
        unit == "week"
        and low == high
        and re.match(r"的?那?个?(?:周|星期|礼拜)[一二三四五六日天末]", found.string[found.end() :])
    ):
        # 三周前的周二: the weekday is looked for in that week
        return p.piece(found, 5, fixed=p.week(ctx.now + (1 if ahead else -1) * low * 7 * p.DAY), forward=ahead)
    if found["dhours"] and unit == "minute":
        low, high = (count + 60 * number(found["dhours"]) for count in (low, high))
    if unit == "weekend":
        week = p.week(ctx.now, round(low) if ahead else -round(low))
        return p.piece(found, 4.5, fixed=p.day(week.start + 5 * p.DAY, 2, "weekend"), forward=ahead)
    rank = {"year": 8, "month": 6, "week": 4, "day": 4}.get(unit, 2)
    return p.piece(found, rank, fixed=d.away(ctx, unit, low, high, 1 if ahead else -1), forward=ahead)


def passing(found: Match, ctx: Context) -> list[Piece]:
    """再过三天, 过一个月."""
    amount = quantity(found["pass"])
    return p.piece(found, 4, fixed=d.away(ctx, amount[2], amount[0], amount[1], 1), forward=True) if amount else []


def trailing(found: Match, ctx: Context) -> list[Piece]:
    amount = quantity(found["span"] or found["span2"])
    if not amount:
        return []
    _, high, unit = amount
    if found["span2"] and "内" in found.group() and forward_zh(found.string, ctx.use):
        return p.piece(found, 4, fixed=d.trailing(ctx, unit, high, ahead=True), forward=True)
    fixed = d.trailing(ctx, unit, high)
    if found.group()[0] in "前上" and fixed.days > 1:
        fixed = Period(fixed.start, ctx.today, fixed.unit)  # 前三天, as 前几天, ends before today
    return p.piece(found, 4, fixed=fixed)


def nth(found: Match, ctx: Context) -> list[Piece]:
    value = -1 if found["nth"].startswith("最后") else int(number(found["nth"].strip("第")))
    what = found["what"]
    if what in ("天", "日"):
        return p.piece(found, 4, within=p.nth(p.blocks(1, "day"), value))
    if what == "周末":
        return p.piece(found, 4.5, within=p.nth(p.in_weeks(5, 2, "weekend"), value))
    if what in ("周", "星期", "礼拜"):
        return p.piece(found, 5, within=p.last_days(7, "week") if value < 0 else p.nth(p.blocks(7, "week"), value))
    if what == "月":
        return p.piece(found, 6, within=p.nth(p.in_months(p.months), value))
    return p.piece(found, 4, within=p.nth(p.in_weeks(WEEKDAYS[what[-1]]), value))


def this_time(found: Match, ctx: Context) -> list[Piece]:
    return p.piece(found, 4, within=p.same_day(ctx.today, 0 if "天" in found.group() else 3))


def near(found: Match, ctx: Context) -> list[Piece]:
    """A change to what stands before: 前后, 以来, 之前, 之后, 前一天, 那几天."""
    word = found.group()
    return p.piece(found, 0, shift=d.SHIFTS[SHIFT_NAMES[word]])


def beside(found: Match, ctx: Context) -> list[Piece]:
    """国庆前三天, 生日前一晚, 春节后一周: counted days, weeks or months on one side of a date."""
    if found["bnth"]:
        return p.piece(found, 0, shift=d.nth_day(int(number(found["bnth"]))))
    ahead = found["bside"] == "后"
    if found["bunit"] == "晚":
        return p.piece(found, 0, shift=d.SHIFTS["evening after" if ahead else "evening before"])
    count = 7 if found["bcount"] == "几" else int(number(found["bcount"]))
    days = count * {"天": 1, "月": 30}.get(found["bunit"], 7)
    return p.piece(found, 0, shift=d.beside(1 if ahead else -days, days, "day" if days == 1 else "range"))


def beside_week(found: Match, ctx: Context) -> list[Piece]:
    """8月14日前的那个星期五, 国庆后的周末: the nearest one on that side; 两个周末 are both."""
    sign = -1 if "前" in found["wside"] else 1
    what = found["wwhat"]
    if what.endswith("末"):
        count = int(number(found["wcount"])) if found["wcount"] else 1
        return p.piece(found, 0, shift=d.weekends_beside(sign, count))
    if what[-1] in WEEKDAYS:
        return p.piece(found, 0, shift=d.weekday_beside(WEEKDAYS[what[-1]], sign))
    side = "before" if sign < 0 else "after"
    return p.piece(found, 0, shift=d.SHIFTS[f"{'month' if what == '月' else 'week'} {side}"])


def lead(found: Match, ctx: Context) -> list[Piece]:
    return p.piece(found, 0, shift=d.SHIFTS["since"], leads=True)


def soon(found: Match, ctx: Context) -> list[Piece]:
    """过几天, and 待会儿 where plans are remembered."""
    if found.group().endswith(("天", "阵子")):
        return p.piece(found, 4, fixed=p.day(ctx.today + p.DAY, 7, "range"), forward=True)
    fixed = Period(ctx.now, ctx.now + p.SECOND * 10800, "hour")
    return p.piece(found, 4, fixed=fixed, forward=True) if ctx.use == "writing" else []
