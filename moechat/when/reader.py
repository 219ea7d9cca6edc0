"""Which stretch of time a text names: 昨天, 上周三, 国庆那几天, 去年夏天, last Tuesday.

Memory looks back: what could be past or future is past, unless the text speaks of plans. Rules only, no model.

Conventions. Weeks run from Monday to Sunday. Seasons are March to May, June to August, September to November, December to
February. A bare festival is its day; with 假期, 那几天 or 期间 it is the holiday. N天前 and N周前 are that day, N个月前
that month, N年前 that year. 前几天 and 前阵子 end before today. A named unit of the calendar is given whole (今天 until
midnight), a stretch that reaches to the present (最近, 刚才, 以来) ends now.

A second reader is asked only for what the rules leave unread, and only where that has digits or a unit. It is
jionlp, an extra (``moechat[jionlp]``): no dependency, since it brings jiojio, which is under the GPL and weighs 148 MB.
"""

from __future__ import annotations

import contextlib
import io
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta, tzinfo
from functools import cache, lru_cache
from importlib.util import find_spec
from typing import Any, Literal

from moechat.when import periods as p
from moechat.when.en import ENGLISH
from moechat.when.expression import spans
from moechat.when.names import HAN, has_han
from moechat.when.periods import SECOND, Anchors, Period, Piece, TextContext, compiled
from moechat.when.shapes import WIDTHS
from moechat.when.span import Span
from moechat.when.words import patterns
from moechat.when.zh import CHINESE

SecondReader = Callable[[str, datetime], Sequence[Span]]
"""(a text without what is read already, an aware moment) -> the times in it."""
Extract = Callable[..., list[dict[str, Any]]]
_LOCK = threading.Lock()


@cache
def second_reader(name: str) -> SecondReader | None:
    """The reader of that name, loaded now; None for "none", and where its package is not installed."""
    if name == "none" or find_spec("jionlp") is None:
        return None
    with _LOCK, contextlib.redirect_stdout(io.StringIO()):
        import jionlp

    return Jionlp(jionlp.ner.extract_time)


class Jionlp:
    """jionlp's reading as spans; one text at a time, since nothing says that it may be more."""

    def __init__(self, extract: Extract) -> None:
        self._extract = extract

    def __call__(self, text: str, now: datetime) -> list[Span]:
        base = {unit: getattr(now, unit) for unit in ("year", "month", "day", "hour", "minute", "second")}
        try:
            with _LOCK:
                rows = self._extract(text, time_base=base, with_parsing=True)
            return [span for row in rows if (span := _span(text, row, now))]
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            return []  # It knows its own errors; a text it cannot read has no time.


def _span(text: str, row: dict[str, Any], now: datetime) -> Span | None:
    phrase = row["text"]
    at = text.find(phrase)
    if row["type"] not in ("time_point", "time_span") or at < 0 or {"-inf", "inf"} & set(row["detail"]["time"]):
        return None
    start, end = (datetime.fromisoformat(moment).replace(tzinfo=now.tzinfo) for moment in row["detail"]["time"])
    whole = timedelta(hours=23) < end - start < timedelta(days=1)
    return Span(phrase, start, end, "day" if whole else "range", (at, at + len(phrase))) if start <= end else None


Use = Literal["recall", "writing"]

_MEASURED = re.compile(r"\d|[年月周天日号时点分秒季]|小时|星期|礼拜|世纪")
LONGEST_READ = 3_000  # Of a longer text all is stored, but no more is read for what it says.

# What is quoted was said from another day: 你说的“明天见”. A message that is all quotation is read.
_QUOTED = (
    r"(?<=[^\s“「『\"])(?:“[^”\n]{1,60}”|「[^」\n]{1,60}」|『[^』\n]{1,60}』|\"[^\"\n]{1,60}\")|"
    r"(?<=\S\s)\"[^\"\n]{1,60}\"|(?:“[^”\n]{1,60}”|「[^」\n]{1,60}」)(?=[^\s。！？])"
)
# Who asks about a work (谁导演的, who sings) names no time but its title, unless the talk itself comes into it.
_WORKS = (
    r"导演|主演|配乐|原唱|演过|编剧|(?i:\b(?:direct(?:s|ed)|sings?|sang|starr(?:s|ed|ing)|soundtrack|plot of|actor|actress|"
    r"(?:who|which) (?:played|plays|wrote|writes)))\b"
)
_TALK = r"[我你咱]|(?i:\b(?:i|we|you|us|my|our|me)\b)"
_LATIN = re.compile(r"[A-Za-z]{2}|\d{4}[-.Qq]\d|\d/\d|\d{8}|[Qq]\d|'\d\d")


def both_ends(text: str, most: int = LONGEST_READ) -> str:
    """What is read of a text for what it says: of one of more than ``most`` characters the beginning and the end, which tell what
    all of it is about."""
    half = most // 2
    return text if len(text) <= most else f"{text[:half]}\n{text[1 - half :]}"


def resolve(
    text: str,
    now: datetime,
    *,
    use: Use = "recall",
    widths: Mapping[str, float] = WIDTHS,
    anchors: Anchors | None = None,
    second: SecondReader | None = None,
    plan: tuple[datetime, datetime] | None = None,
    is_earlier: bool = False,
) -> list[Span]:
    """The time expressions of a text, in its order, as inclusive spans in the zone of ``now`` (a naive one is the system's).

    ``use="recall"`` looks back from now; ``use="writing"`` gives what a remembered message meant, and takes plans (有考试,
    出差) forward. ``widths`` are the widths of vague words in days; words not named keep theirs (``WIDTHS``).

    ``anchors`` finds what only memory knows. It is called with ``kind:what`` and returns the first and last moment, or
    None: ``birthday:我`` (whose birthday; 我 is the user, 你 the character, in English too; others as written: 妈妈, mom),
    ``anniversary:我们``, ``first:聊天`` and ``last:吵架`` (the first or last time of what follows; English words as
    written: ``first:talked``), ``event:毕业`` (the day of what is named). Several wordings may be tried, longest first. Of
    birthdays and anniversaries only month and day count: the year comes from the text, or is the latest that has begun.
    Unknown anchors are no time, except that 上次 falls back on its width. No text raises; an error of ``anchors`` itself
    passes through. ``second`` reads what is left of a Chinese text. ``plan`` and ``is_earlier``: see ``moving``.
    """
    text = text[:LONGEST_READ]
    if now.tzinfo is None:
        now = now.astimezone()
    zone, present = now.tzinfo, now.replace(tzinfo=None, microsecond=0, fold=0)
    if anchors is None and plan is None:
        own = () if widths is WIDTHS else tuple(sorted(widths.items()))
        spans = list(_remembered(text, present, zone, use, own))
    else:
        days = plan and (plan[0].astimezone(zone).replace(tzinfo=None), plan[1].astimezone(zone).replace(tzinfo=None))
        spans = _resolve(text, TextContext(present, widths, use, zone, anchors, days, is_earlier))
    if second is None or not has_han(text):
        return spans
    rest = CHINESE.unread(text)
    for span in spans:
        rest = rest[: span.at[0]] + " " * (span.at[1] - span.at[0]) + rest[span.at[1] :]
    return sorted([*spans, *second(rest, now)], key=lambda span: span.at) if _MEASURED.search(rest) else spans


@lru_cache(maxsize=2048)
def _remembered(
    text: str, now: datetime, zone: tzinfo | None, use: Use, own: tuple[tuple[str, float], ...]
) -> tuple[Span, ...]:
    """Repeats within one turn; the wall clock and the zone are the key, since equal instants may differ in both."""
    return tuple(_resolve(text, TextContext(now, dict(own), use, zone)))


def _resolve(text: str, ctx: TextContext) -> list[Span]:
    if compiled(_WORKS).search(text) and not compiled(_TALK).search(text):
        return []
    rest = compiled(_QUOTED).sub(lambda quoted: "\0" * len(quoted.group()), text)
    own: dict[bool, list[Piece]] = {True: [], False: []}  # whether in Chinese
    for piece in _anchors(text, ctx):
        start, end = piece.at
        chinese = has_han(text[start:end])
        own[chinese].append(piece)
        # Covered, so that nothing in it is read twice; 日 is what 前一天 and 那天 lean on.
        rest = rest[:start] + "\0" * (end - start - 1) + ("日" if chinese else "\0") + rest[end:]
    readings: list[tuple[int, int, Period]] = []
    for language, is_spoken in ((CHINESE, has_han(text)), (ENGLISH, own[False] or _LATIN.search(rest))):
        if is_spoken:
            pieces = sorted([*own[language is CHINESE], *language.pieces(rest, ctx)], key=lambda piece: piece.at)
            before = list(readings)
            readings += [
                (start, end, period)
                for start, end, period in spans(text, pieces, language, ctx)
                if all(end <= other[0] or start >= other[1] for other in before)
            ]
    return [
        Span(
            text[start:end].strip(), period.start.replace(tzinfo=ctx.zone), (period.stop - SECOND).replace(tzinfo=ctx.zone),
            period.unit, (start, end),
        )
        for start, end, period in sorted(readings, key=lambda reading: reading[0])
    ]  # fmt: skip


# ---- times that only memory knows: 我生日那天, 我们第一次聊天, 上次吵架那天, on my birthday, the day we met

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


def _anchors(text: str, ctx: TextContext) -> list[Piece]:
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
