"""A plan that is moved: 改到二十二号, pushed to the 22nd, 推迟一周, the week after.

What names no month, week or day of its own is read from the plan's own date on, not from the day of the talk; what is
named from today (下周三, tomorrow) is read from today. A plan that goes by an amount keeps its length.
"""

from __future__ import annotations

from calendar import monthrange
from datetime import datetime, timedelta

from moechat.when import en_times, zh
from moechat.when.periods import UNIT_DAYS, compiled, shifted
from moechat.when.reader import LONGEST_READ, resolve
from moechat.when.shapes import Amount
from moechat.when.span import Span, precision_of
from moechat.when.words import patterns

_ZH, _EN = patterns("zh", "moved"), patterns("en", "moved")
_TO = rf"(?:{_ZH['to']})|(?i:\b(?:{_EN['to']})\b)"
_EARLIER = rf"(?:{_ZH['earlier']})|(?i:\b(?:{_EN['earlier']})\b)"
_BY_ZH = (
    rf"(?:{_ZH['earlier']}|{_ZH['later']})?(?:了|个)*(?P<much>[{zh.NUMERAL}几半]+个?半?多?"
    r"(?:分钟|小时|钟头|天|日|周|星期|礼拜|月|年))(?![以之]?[后前]|号|底|初)"
)
_BY_EN = rf"(?i)(?P<count>{en_times.QUANTITY})(?: more| extra)? (?P<unit>{en_times.UNIT})\b(?! (?:from|ago|on|today|tomorrow))"
_LATER = r"(?i)\b(?:later?|longer|more|extra)\b|[晚多推延后]"
_STARTS, _ENDS, _KEPT = (rf"(?:{_ZH[name]})|(?i:\b(?:{_EN[name]})\b)" for name in ("starts", "ends", "kept"))
_PART_OF_PLAN = r"[，,。.;；!！]|\band\b|\bbut\b| (?=[\u4e00-\u9fff])"
_SAME_DAY = (
    r"(?i)\b(?:still|same) (?:on )?(?:the |that )?\w*day\b|\bthe same (?:day|date)\b|\bsame date\b|"
    r"还?是?(?:同一|那)[天日]|号数[没不]变"
)
# How a time is told that the reader would read from elsewhere, or not at all.
_TOLD = (
    (r"(?i)\b(?:whole|full|good) (?=\w+)", ""),
    (r"过完(?:这个?)?周末", ""), (r"头一个", "第一个"), (r"[开入立]([春夏秋冬])天?", r"\1天"),
    (r"(?i)\b(early|mid|late|end) instead of (?:early|mid|late|the end of) (\w+)", r"\1 \2"),
    (r"(?i)\b(?:the )?end of (?=(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec))", "late "),
    (r"(?i)(?<!in )(?<!this )(?<!next )(?<!last )(?<!the )\b(spring|summer|autumn|winter)(?= now| it is| instead|[,.!]|$)",
     r"in \1"),
)  # fmt: skip
# What is told from the plan's date, as it would be told on that day; after it, where it says so.
_FROM_PLAN = (
    (r"次日|后一天|第二天|隔天|转天", "明天"),
    (r"(?<![提往])前一[天日晚]|头一?[天晚](?!上?[到都])", "昨天"),
    (r"次周|后面?一?周|后一个?(?:星期|礼拜)|隔周", "下周"),
    (r"次月|后一个?月|隔月", "下个月"),
    (r"(?i)\b(?:the )?(?:following|next) day\b|\b(?:the )?day after(?! tomorrow)\b", "tomorrow"),
    (r"(?i)\bthe (?:day|night|evening) before(?! yesterday)\b", "yesterday"),
    (r"(?i)\b(?:the )?following (week|weekend|month|year)\b|\bthe (week|weekend|month|year) after\b(?! next)", r"next \1\2"),
)  # fmt: skip
_DAY_AFTER = r"(?i)\b(?:the )?((?:mon|tues|wednes|thurs|fri|satur|sun)day) after(?: that)?\b(?! \w)"
_OF_A_DAY = r"(?i)\b(?:morning|afternoon|evening|night|noon|breakfast|lunch|dinner|supper)\b|[早中晚]上|[上下]午|中午"


def moves(text: str) -> bool:
    """Whether a text moves something in time, or says that something is moved."""
    text = text[:LONGEST_READ]
    return bool(compiled(_TO).search(text) or compiled(f"{_ZH['by']}|(?i:\\b(?:{_EN['by']})\\b)").search(text))


def moved(text: str, at: datetime, plan: tuple[datetime, datetime]) -> Span | None:
    """When a plan for the span ``plan`` is, after what was said ``at`` then; None where no time is named."""
    for pattern, instead in _TOLD:
        text = compiled(pattern).sub(instead, text)
    if edges := _edges(text, at, plan):
        return edges
    is_same = compiled(_SAME_DAY).search(text) is not None
    text = compiled(_SAME_DAY).sub(" ", text)
    span = _whole(text, at, plan)
    if is_same and (span is None or span.end - span.start > plan[1] - plan[0]):
        return _placed(plan, span)
    if span is None and (part := compiled(_OF_A_DAY).search(text)) is not None:
        return Span(part[0], *plan, precision_of(*plan), part.span())
    return span


def _whole(text: str, at: datetime, plan: tuple[datetime, datetime]) -> Span | None:
    """When a plan is that moves as a whole."""
    if (after := compiled(_DAY_AFTER).search(text)) is not None:
        return next(iter(resolve(after[1], plan[1] + timedelta(seconds=1), use="writing")), None)
    for pattern, instead in _FROM_PLAN:
        if (match := compiled(pattern).search(text)) is not None:
            words = match.expand(instead) + text[match.end() :]
            return next(iter(resolve(words, plan[0], use="writing")), None)
    to = [match.end() for match in compiled(_TO).finditer(text)]
    if compiled(r"(?i)\blater\b").search(text) and (by := _by(text, plan)):
        return by
    spans = resolve(text, at, use="writing", plan=plan, is_earlier=bool(compiled(_EARLIER).search(text)))
    behind = [span for span in spans if to and span.at[1] > to[0]]
    if behind or (spans and not moves(text)):
        return (behind or spans[-1:])[0]
    return _by(text, plan) or (spans[-1] if spans else None)


def _edges(text: str, at: datetime, plan: tuple[datetime, datetime]) -> Span | None:
    """Where the end of a plan of several days is told by itself, and perhaps its beginning; None where it is not."""
    if plan[0].date() == plan[1].date():
        return None
    start, end, waits = plan[0], None, False
    for part in compiled(_PART_OF_PLAN).split(text):
        at_start, at_end = compiled(_STARTS).search(part) is not None, compiled(_ENDS).search(part) is not None
        amount, at_start = _amount(part), at_start or (at_end and waits)
        waits = at_start and amount is None  # "starts and ends a day later"
        sign = -1 if compiled(_EARLIER).search(part) else 1 if compiled(_LATER).search(part) else 0
        if at_end and compiled(_KEPT).search(part):
            end = plan[1]
        elif amount and sign:
            start = _shifted(plan[0], amount, sign, 0) if at_start else start
            end = _shifted(plan[1], amount, sign, 1) if at_end else end
        elif at_end and (spans := resolve(part, at, use="writing", plan=plan)):
            end = plan[1] if spans[-1].start < start else spans[-1].end
    return Span(text.strip(), start, end, "range", (0, len(text))) if end and start < end else None


def _placed(plan: tuple[datetime, datetime], span: Span | None) -> Span:
    """A plan on its own day of another month or another week."""
    if span is None:
        return Span("", *plan, precision_of(*plan))
    if precision_of(span.start, span.end) == "month":
        months = (span.start.year - plan[0].year) * 12 + span.start.month - plan[0].month
        start, end = (_shifted(moment, (months, months, "month"), 1, 0) for moment in plan)
    else:
        monday = plan[0] - timedelta(days=plan[0].weekday())
        start, end = (moment + timedelta(days=(span.start.date() - monday.date()).days) for moment in plan)
    return Span(span.phrase, start, end, precision_of(start, end), span.at)


def _by(text: str, plan: tuple[datetime, datetime]) -> Span | None:
    """Where the plan goes by an amount: 推迟一周, two days earlier."""
    amount = _amount(text)
    if amount is None:
        return None
    sign = -1 if compiled(_EARLIER).search(text) else 1
    start, end = sorted(
        (_shifted(plan[0], amount, sign, 0), _shifted(plan[1], amount, sign, 1, of_months=plan[0].day == 1))
    )
    whole = precision_of(start, end)
    unit = whole if whole in ("month", "year") else "day" if end - start < timedelta(days=1) else "range"
    return Span(text.strip(), start, end, unit, (0, len(text)))


def _amount(text: str) -> Amount | None:
    match = compiled(_BY_ZH).search(text) or compiled(_BY_EN).search(text)
    if match is None:
        return None
    parts = match.groupdict()
    return zh.quantity(parts["much"]) if "much" in parts else en_times.quantity(parts["count"], parts["unit"])


def _shifted(moment: datetime, amount: Amount, sign: int, bound: int, *, of_months: bool = False) -> datetime:
    """A bound of the plan, moved; the end of whole months is the end of whole months."""
    least, most, unit = amount
    count = most if bound == (sign > 0) else least
    if unit in ("month", "year") and count != int(count):
        return moment + sign * timedelta(days=UNIT_DAYS[unit] * count)
    later = shifted(moment, unit, sign * count)
    is_end = of_months and unit in ("month", "year") and moment.day == monthrange(moment.year, moment.month)[1]
    return later.replace(day=monthrange(later.year, later.month)[1]) if is_end else later
