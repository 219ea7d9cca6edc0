"""Times that only memory knows: 我生日那天, 我们第一次聊天, 上次吵架那天, on my birthday, the day we met."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

from moechat.when import periods as p
from moechat.when.names import HAN, has_han
from moechat.when.periods import Period, Piece, TextContext, compiled
from moechat.when.words import patterns
from moechat.when.zh import CHINESE

MOST_ASKED = 40  # What memory is asked for one text: who names more times has pasted them.
KINDS = ("birthday", "anniversary", "first", "last", "event")
_ZH, _EN = patterns("zh", "anchors", {"han": HAN}), patterns("en", "anchors")
# kind, pattern with a group ``what``; 我 and my, 你 and your are said as 我 and 你.
PATTERNS = tuple((kind, table[kind]) for table in (_ZH, _EN) for kind in KINDS)
_HINT = f"(?i){_ZH['hint']}|{_EN['hint']}"
YEARLY = {"birthday", "anniversary"}
_SPEAKERS = {
    "": "我",
    "自己": "我",
    "我们": "我",
    "my": "我",
    "your": "你",
    "你们": "你",
    "his": "他",
    "her": "她",
} | dict.fromkeys(("our", "the", "咱们"), "我们")
_PRONOUNS = r"^(?:我们|咱们|我|你|[和跟]你|[和跟]我|一起)+"


def _queries(kind: str, what: str) -> Iterator[str]:
    """What to ask memory for, longest first: of 说的毕业那天 the end may be what it knows."""
    if kind == "birthday":
        what = re.sub(r"['’]s$", "", what).removeprefix("我") if len(what) > 1 and what != "我们" else what
        yield f"{kind}:{_SPEAKERS.get(what.lower(), what)}"
    elif kind == "anniversary":
        yield f"{kind}:{_SPEAKERS.get(what.lower(), what)}"
    elif has_han(what[0]):
        what = compiled(_PRONOUNS).sub("", what)
        shortest = 2 if kind == "event" else max(len(what), 2)
        for length in range(len(what), shortest - 1, -1):
            if not compiled(_ZH["empty"]).search(what[-length:]):
                yield f"{kind}:{what[-length:]}"
    else:
        for words in dict.fromkeys((what.lower(), what.split()[0].lower())):
            if not compiled(_EN["empty"]).search(words):
                yield f"{kind}:{words}"


def _period(moments: tuple[datetime, datetime], ctx: TextContext, whole_day: bool) -> Period:
    start, end = (moment.astimezone(ctx.zone).replace(tzinfo=None) if moment.tzinfo else moment for moment in moments)
    start, end = start.replace(microsecond=0, fold=0), end.replace(microsecond=0, fold=0)
    if whole_day:
        return Period(p.day(start).start, p.day(end).stop, "day" if start.date() == end.date() else "range")
    unit = "day" if start.date() == end.date() else "range"
    return Period(start, end + p.SECOND, unit)


def _piece(kind: str, match: re.Match[str], moments: tuple[datetime, datetime], ctx: TextContext) -> Piece:
    period = _period(moments, ctx, kind == "event" or bool(re.search(r"[天日]$|day$", match.group())))
    if kind not in YEARLY:
        return Piece(match.span(), 4, fixed=period)
    month, day = period.start.month, period.start.day

    def make(year: int) -> Period:
        whole = p.months(year, month)
        return p.day(min(whole.start + (day - 1) * p.DAY, whole.stop - p.DAY))

    return Piece(match.span(), 4, within=p.in_years(make), cycle="year")


def pieces(text: str, ctx: TextContext) -> list[Piece]:
    """The anchors of a text that memory knows, in order, as pieces of time expressions."""
    if ctx.anchors is None or not compiled(_HINT).search(text):
        return []
    result: list[Piece] = []
    days: dict[str, tuple[datetime, datetime] | None] = {}
    for kind, pattern in PATTERNS:
        for match in compiled(pattern).finditer(text):
            if any(match.start() < piece.at[1] and match.end() > piece.at[0] for piece in result):
                continue
            if kind == "event" and CHINESE.pieces(match.group(), ctx):
                continue  # 国庆那天: the calendar knows it
            what = next((value for value in match.groupdict().values() if value), "")
            for query in _queries(kind, what):
                if query not in days and len(days) < MOST_ASKED:
                    days[query] = ctx.anchors(query)
                if moments := days.get(query):
                    result.append(_piece(kind, match, moments, ctx))
                    break
    return sorted(result, key=lambda piece: piece.at)
