"""A plan that is moved: 改到二十二号, pushed to the 22nd, 推迟一周, the week after.

What names no month, week or day of its own is read from the plan's own date on, not from the day of the talk; what is
named from today (下周三, tomorrow) is read from today. A plan that goes by an amount keeps its length.
"""

from __future__ import annotations

from calendar import monthrange
from datetime import datetime, timedelta

from moechat.when import en_times, zh
from moechat.when.periods import UNIT_DAYS, compiled
from moechat.when.reader import resolve
from moechat.when.shapes import Amount
from moechat.when.span import Span, precision_of
from moechat.when.words import patterns
from moechat.when.zh_times import NUMERAL

_ZH, _EN = patterns("zh", "moved"), patterns("en", "moved")
_TO = rf"(?:{_ZH['to']})|(?i:\b(?:{_EN['to']})\b)"
_EARLIER = rf"(?:{_ZH['earlier']})|(?i:\b(?:{_EN['earlier']})\b)"
_BY_ZH = (
    rf"(?:{_ZH['earlier']}|{_ZH['later']})?(?:了|个)*(?P<much>[{NUMERAL}几半]+个?半?多?"
    r"(?:分钟|小时|钟头|天|日|周|星期|礼拜|月|年))(?![以之]?[后前]|号|底|初)"
)
_BY_EN = rf"(?i)(?P<count>{en_times.QUANTITY})(?: more)? (?P<unit>{en_times.UNIT})\b(?! (?:from|ago|on|today|tomorrow))"
# What is told from the plan's date, as it would be told on that day.
_SAME_DAY = r"(?i)\b(?:still|same) (?:on )?(?:the |that )?\w*day\b|\bthe same day\b|还?是?(?:同一|那)天"
_SAME_END = r"(?i)(?:回来|回程|结束)[^，。]{0,6}(?:不变|照旧|一样)|\bsame end\b|\b(?:end|return|coming back)\b[^.,]{0,12}\bsame\b"
_FROM_PLAN = (
    (r"次日|后一天|第二天|隔天|转天", "明天"),
    (r"次周|后面?一?周|后一个?(?:星期|礼拜)|隔周", "下周"),
    (r"次月|后一个?月|隔月", "下个月"),
    (r"(?i)\b(?:the )?(?:following|next) day\b|\b(?:the )?day after(?! tomorrow)\b", "tomorrow"),
    (r"(?i)\b(?:the )?((?:mon|tues|wednes|thurs|fri|satur|sun)day) after(?: that)?\b(?! \w)", r"\1"),
    (r"(?i)\b(?:the )?following (week|weekend|month|year)\b|\bthe (week|weekend|month|year) after\b(?! next)", r"next \1\2"),
)  # fmt: skip


def moves(text: str) -> bool:
    """Whether a text moves something in time, or says that something is moved."""
    return bool(compiled(_TO).search(text) or compiled(f"{_ZH['by']}|(?i:\\b(?:{_EN['by']})\\b)").search(text))


def moved(text: str, at: datetime, plan: tuple[datetime, datetime]) -> Span | None:
    """When a plan for the span ``plan`` is, after what was said ``at`` then; None where no time is named."""
    text = compiled(_SAME_DAY).sub(" ", compiled(r"(?i)\b(?:whole|full|good) (?=\w+)").sub("", text))
    to = [match.end() for match in compiled(_TO).finditer(text)]
    for pattern, instead in _FROM_PLAN:
        if compiled(pattern).search(text):
            spans = resolve(compiled(pattern).sub(instead, text), plan[0], use="writing")
            return spans[-1] if spans else None
    if compiled(r"(?i)\blater\b").search(text) and (by := _by(text, plan)):
        return by
    spans = resolve(text, at, use="writing", plan=plan, is_earlier=bool(compiled(_EARLIER).search(text)))
    behind = [span for span in spans if to and span.at[1] > to[0]]
    if behind or (spans and not moves(text)):
        return (behind or spans[-1:])[0]
    return _by(text, plan) or (spans[-1] if spans else None)


def _by(text: str, plan: tuple[datetime, datetime]) -> Span | None:
    """Where the plan goes by an amount: 推迟一周, two days earlier."""
    match = compiled(_BY_ZH).search(text) or compiled(_BY_EN).search(text)
    if match is None:
        return None
    parts = match.groupdict()
    amount = zh.quantity(parts["much"]) if "much" in parts else en_times.quantity(parts["count"], parts["unit"])
    if amount is None:
        return None
    sign = -1 if compiled(_EARLIER).search(text) else 1
    start, end = sorted(
        (_shifted(plan[0], amount, sign, 0), _shifted(plan[1], amount, sign, 1, of_months=plan[0].day == 1))
    )
    if compiled(_SAME_END).search(text) and start < plan[1]:
        end = plan[1]
    whole = precision_of(start, end)
    unit = whole if whole in ("month", "year") else "day" if end - start < timedelta(days=1) else "range"
    return Span(match.group().strip(), start, end, unit, match.span())


def _shifted(moment: datetime, amount: Amount, sign: int, bound: int, *, of_months: bool = False) -> datetime:
    """A bound of the plan, moved; the end of whole months is the end of whole months."""
    least, most, unit = amount
    count = most if bound == (sign > 0) else least
    months = {"month": 1, "year": 12}.get(unit)
    if months is None or count != int(count):
        return moment + sign * timedelta(days=UNIT_DAYS[unit] * count)
    year, month = divmod(moment.year * 12 + moment.month - 1 + sign * int(count) * months, 12)
    last, was_last = monthrange(year, month + 1)[1], moment.day == monthrange(moment.year, moment.month)[1]
    day = last if of_months and was_last else min(moment.day, last)
    return moment.replace(year=year, month=month + 1, day=day)
