"""Times that only memory knows: 我生日那天, 我们第一次聊天, 上次吵架那天, on my birthday, the day we met."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

from moechat.when import periods as p
from moechat.when.names import HAN, has_han
from moechat.when.periods import Period, Piece, TextContext, compiled
from moechat.when.zh import CHINESE

_KIN = (
    r"爸爸?|妈妈?|爷爷|奶奶|外公|外婆|姥姥|姥爷|哥哥?|弟弟?|姐姐?|妹妹?|老公|老婆|先生|太太|男朋友|女朋友|对象|"
    r"儿子|女儿|孩子|宝宝|朋友|闺蜜|同学|老师|同事"
)
_WHOSE = (
    rf"我(?:{_KIN})|我们?|你们?|他|她|TA|自己|{_KIN}|[小老阿][{HAN}]|[A-Za-z]{{2,20}}|"
    rf"(?<![{HAN}])[{HAN}]{{2,3}}(?=的)"
)
_BOTH = r"(?:我们?|咱们?|你|我[和跟]你|你[和跟]我)?(?:[和跟][你我])?"
_WHAT = r"(?P<what>[^\s，。！？,.!?；;的]{1,8}?)"
_END = (
    r"的?(?:那天|那一天|那次|那晚|那年|那会儿|那时候?|当天|时候|时)|"
    r"(?=[，。！？,.!?；;\s吗呢是都]|[说聊谈讲]了|为什么|怎么|在哪|$)"
)
_EN_WHAT = r"(?P<what>[a-z]+(?: [a-z]+)?)"

# kind, pattern with a group ``what``; 我 and my, 你 and your are said as 我 and 你.
PATTERNS = (
    ("birthday", rf"(?P<what>{_WHOSE})?的?(?:过)?生日(?!快乐|礼物|蛋糕|派对|会)(?:那天|那一天|当天)?"),
    ("anniversary", r"(?P<what>我们|咱们|恋爱|结婚|相识|认识)?的?纪念日(?:那天|当天)?"),
    ("first", rf"{_BOTH}(?:头一|第一)次{_WHAT}(?:{_END})"),
    ("last", rf"{_BOTH}(?:上一?|最近一|最后一)次{_WHAT}(?:{_END})"),
    ("event", rf"(?:我们?|咱们?|你|我[和跟]你)?(?P<what>[{HAN}]{{2,4}})的?(?:那天|那一天|那晚|当天)"),
    (
        "birthday",
        r"(?i:(?:on |at |for )?(?P<what>my|your|his|her|our|[a-z]{2,20}['’]s) (?:last )?(?:\d+(?:st|nd|rd|th) )?birthday)"
        r"(?! (?:cake|party|gift|present|card))",
    ),
    ("anniversary", r"(?i:(?:on )?(?P<what>our|my|the) (?:wedding )?anniversary)"),
    (
        "first",
        rf"(?i:(?:the )?first time (?:that )?(?:we|i|you) (?:ever )?{_EN_WHAT}|"
        r"when (?:we|i|you) first (?P<what2>[a-z]+)|our first (?P<what3>[a-z]+))",
    ),
    ("last", rf"(?i:(?:the )?last time (?:that )?(?:we|i|you) {_EN_WHAT})"),
    ("event", rf"(?i:(?:on )?the (?:day|night) (?:that )?(?:we|i|you) {_EN_WHAT})"),
)
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

# Words that name no event: 还记得那天, 上次说到哪了, the day I was.
_EMPTY = (
    r"[的得着过是在和跟对但而且就都也还又才吧呢吗啊到了]$|记得|觉得|知道|想起|忘|为什么|什么|谁|哪|怎么|几|吗|^说|^聊(?!天)|次|"
    r"其实|因为|所以|如果|只是|可是|不过|或者|当然|今天|昨天|后来|然后|突然|好像|那天|最后"
)
_EMPTY_WORDS = r"(?:was|were|had|have|did|do|could|can|want(?:ed)?|think|thought|know|knew|ever|ago|after|before)"
_EMPTY_EN = rf"^{_EMPTY_WORDS}\b|\b{_EMPTY_WORDS}$"

# A cheap look before the patterns: most messages name nothing of the kind.
_HINT = r"(?i)生日|纪念日|[一上]次|那[一]?[天晚]|当天|birthday|anniversary|first|last time|the (?:day|night)"


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
            if not compiled(_EMPTY).search(what[-length:]):
                yield f"{kind}:{what[-length:]}"
    else:
        for words in dict.fromkeys((what.lower(), what.split()[0].lower())):
            if not compiled(_EMPTY_EN).search(words):
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
    for kind, pattern in PATTERNS:
        for match in compiled(pattern).finditer(text):
            if any(match.start() < piece.at[1] and match.end() > piece.at[0] for piece in result):
                continue
            if kind == "event" and CHINESE.pieces(match.group(), ctx):
                continue  # 国庆那天: the calendar knows it
            what = next((value for value in match.groupdict().values() if value), "")
            for query in _queries(kind, what):
                if moments := ctx.anchors(query):
                    result.append(_piece(kind, match, moments, ctx))
                    break
    return sorted(result, key=lambda piece: piece.at)
