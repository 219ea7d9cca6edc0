"""Chinese numbers, and what is counted or vague: 三天前, 最近一周, 前几天, 国庆前三天, 第二个周末."""

from __future__ import annotations

from moechat.when import distances as d
from moechat.when import periods as p
from moechat.when import shapes
from moechat.when.names import chinese_number
from moechat.when.periods import Match, Period, Piece, TextContext, compiled
from moechat.when.shapes import Amount
from moechat.when.tense import forward_zh
from moechat.when.zh_times import SHIFT_NAMES, UNITS, VAGUE_PAST, VAGUE_TILL_NOW, WEEKDAYS

_SCALE = {"quarter": ("minute", 15), "season": ("month", 3), "century": ("year", 100)}


def number(text: str) -> int:
    """The value of a numeral, 元 of 元月 among them; what is none is 0."""
    return int(chinese_number(text.replace("元", "一")) or 0)


def ups(text: str) -> int:
    """上 -1, 上上 and 大上 -2, 这 0, 下 1."""
    return text.count("下") - sum(text.count(word) for word in "上前大")


def vague(match: Match, ctx: TextContext) -> list[Piece]:
    return shapes.vague(match, ctx, match.group(), VAGUE_TILL_NOW, VAGUE_PAST)


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
    tens = number(count.replace("几", ""))
    if count.startswith("十"):
        return tens + 1, tens + 9
    return (tens * 10 + 1, tens * 10 + 9) if count.endswith("十") else (2, 6)


def before_now(match: Match, ctx: TextContext) -> list[Piece]:
    """之前 by itself (你之前说过), not 吃饭之前."""
    return p.piece(match, 4, fixed=d.vague(ctx, "之前", False))


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


def passing(match: Match, ctx: TextContext) -> list[Piece]:
    """再过三天, 过一个月."""
    return shapes.in_future(match, ctx, quantity(match["pass"]))


def trailing(match: Match, ctx: TextContext) -> list[Piece]:
    """最近三天, 过去两周, 前三天; 三天内."""
    amount = quantity(match["span"] or match["span2"])
    if not amount:
        return []
    _, most, unit = amount
    if match["span2"] and "内" in match.group() and forward_zh(match.string, ctx.use):
        return p.piece(match, 4, fixed=d.trailing(ctx, unit, most, ahead=True), forward=True)
    fixed = d.trailing(ctx, unit, most)
    if match.group()[0] in "前上" and fixed.days > 1:
        fixed = Period(fixed.start, ctx.today, fixed.unit)  # 前三天, as 前几天, ends before today
    return p.piece(match, 4, fixed=fixed)


def nth(match: Match, ctx: TextContext) -> list[Piece]:
    """第二天, 第二个周末, 最后一个周五."""
    value = -1 if match["nth"].startswith("最后") else number(match["nth"].strip("第"))
    what = UNITS.get(match["what"], "")
    return shapes.nth(match, value, what or WEEKDAYS[match["what"][-1]])


def this_time(match: Match, ctx: TextContext) -> list[Piece]:
    return shapes.this_time(match, ctx, is_day="天" in match.group())


def near(match: Match, ctx: TextContext) -> list[Piece]:
    """A change to what stands before: 前后, 以来, 之前, 之后, 前一天, 那几天."""
    return shapes.change(match, d.SHIFTS[SHIFT_NAMES[match.group()]])


def beside(match: Match, ctx: TextContext) -> list[Piece]:
    """国庆前三天, 生日前一晚, 春节后一周: counted days, weeks or months on one side of a date."""
    if match["bnth"]:
        return shapes.change(match, d.nth_day(number(match["bnth"])))
    if not match["bside"]:
        return shapes.change(match, d.nth_day(-1))
    ahead = match["bside"] == "后"
    if match["bunit"] == "晚":
        return shapes.change(match, d.SHIFTS["evening after" if ahead else "evening before"])
    count = 7 if match["bcount"] == "几" else number(match["bcount"])
    days = count * {"天": 1, "月": 30}.get(match["bunit"], 7)
    return shapes.change(match, d.beside(1 if ahead else -days, days, "day" if days == 1 else "range"))


def beside_week(match: Match, ctx: TextContext) -> list[Piece]:
    """8月14日前的那个星期五, 国庆后的周末: the nearest one on that side; 两个周末 are both."""
    sign = -1 if "前" in match["wside"] else 1
    what = match["wwhat"]
    if what.endswith("末"):
        return shapes.change(match, d.weekends_beside(sign, number(match["wcount"] or "一")))
    if what[-1] in WEEKDAYS:
        return shapes.change(match, d.weekday_beside(WEEKDAYS[what[-1]], sign))
    side = "before" if sign < 0 else "after"
    return shapes.change(match, d.SHIFTS[f"{'month' if what == '月' else 'week'} {side}"])


def lead(match: Match, ctx: TextContext) -> list[Piece]:
    """自从 before a date."""
    return shapes.change(match, d.SHIFTS["since"], leads=True)


def soon(match: Match, ctx: TextContext) -> list[Piece]:
    """过几天, and 待会儿 where plans are remembered."""
    if match.group().endswith(("天", "阵子")):
        return p.piece(match, 4, fixed=p.day(ctx.today + p.DAY, 7, "range"), forward=True)
    fixed = Period(ctx.now, ctx.now + p.SECOND * 10800, "hour")
    return p.piece(match, 4, fixed=fixed, forward=True) if ctx.use == "writing" else []
