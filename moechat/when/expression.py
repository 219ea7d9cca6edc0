"""Which occurrence a time expression means (the last or the next 19 May), and how its pieces join: refinement, ranges.

Pieces come from a language's scanner (``zh``, ``en``) in the order of the text. Neighbours join into one
expression, coarse to fine; 到 makes a range, 和 lets the second expression share what contains the first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property
from itertools import islice

from moechat.when.periods import DAY, Maker, Period, Piece, TextContext, compiled, cycle_of

Trail = list[tuple[float, Period]]
"""The periods that an expression was narrowed through, each with the rank of its piece."""
Chosen = tuple[Period, Trail] | None
"""What an expression means by itself, before the changes on either side of it."""
# How many cycles (days, weeks, months, years) an expression is looked for: 29 February may be eight years away.
REACH = 12
MOST = 100  # Time words of a text that are read: who names more has pasted them.


@dataclass(frozen=True)
class Language:
    """How a language says times.

    ``patterns`` are tried in their order, and the first that fits wins. ``makers`` say what they mean; a pattern without a maker
    only covers what is no time. Each begins at an ``opening``. Characters of ``plain`` are read as others.

    The rest is glue. ``gap`` may stand inside an expression, ``to`` between the ends of a range, ``also`` between two
    expressions that share what contains the first; after ``between`` it makes a range too. What ``refers`` to a day that is
    named elsewhere (那天晚上) has no time of its own. ``forward`` tells from clause, use and the place of the time in the clause
    whether it speaks of the future, None where nothing tells. Where a clause tells of a ``habit``, what floats has no time.
    """

    patterns: Mapping[str, str]
    makers: Mapping[str, Maker]
    plain: Mapping[int, int]
    gap: str
    to: str
    also: str
    refers: str
    coarse_first: bool
    forward: Callable[[str, str, tuple[int, int]], bool | None]
    habit: str
    moved: str
    between: str | None = None
    opening: str = ""

    def pieces(self, text: str, ctx: TextContext) -> list[Piece]:
        """The first ``MOST`` time words of a text in order; offsets are those of the text as given."""
        pieces: list[Piece] = []
        for match in islice(self._matches(text.translate(self.plain)), MOST):
            if make := self.makers.get((match.lastgroup or "")[2:]):
                try:
                    pieces += make(match, ctx)
                except (ValueError, OverflowError):
                    continue  # a date beyond the calendar
        return pieces

    def unread(self, text: str) -> str:
        """The text with spaces for what some pattern covers: a time, or what only looks like one."""
        rest = text.translate(self.plain)
        for match in self._matches(rest):
            rest = rest[: match.start()] + " " * len(match.group()) + rest[match.end() :]
        return rest

    def _matches(self, text: str) -> Iterator[re.Match[str]]:
        """What one search after another would find, asked place by place: a search through a long text keeps the interpreter
        to itself until it ends."""
        at = 0
        for place in compiled(self.opening).finditer(text):
            if place.start() >= at and (match := self._any_pattern.match(text, place.start())):
                at = max(match.end(), match.start() + 1)
                yield match

    @cached_property
    def _any_pattern(self) -> re.Pattern[str]:
        """All patterns as one; compiled at first use, since it takes longer than an import may."""
        rules = "|".join(f"(?P<r_{name}>{pattern})" for name, pattern in self.patterns.items())
        return re.compile(f"{self.opening}(?:{rules})")


@dataclass
class Group:
    """Neighbouring pieces: ``lead`` and ``tails`` change the period, ``steps`` refine it in order."""

    steps: list[Piece] = field(default_factory=list)
    leads: list[Piece] = field(default_factory=list)
    start: int = 0
    end: int = 0
    period: Period | None = None
    trail: Trail = field(default_factory=list)

    @property
    def core(self) -> list[Piece]:
        """The pieces before the first change, coarse to fine."""
        count = next((i for i, piece in enumerate(self.steps) if piece.shift), len(self.steps))
        return sorted(self.steps[:count], key=lambda piece: -piece.rank)

    @property
    def rest(self) -> list[Piece]:
        return self.steps[len(self.core) :]


def _joins(group: Group, piece: Piece, language: Language) -> bool:
    last = group.steps[-1]
    if piece.shift or last.shift:
        return bool(piece.shift) or piece.rank < 4
    if piece.fixed and not piece.within and any(other.fixed for other in group.steps):
        return False
    if any(round(other.rank, 1) == round(piece.rank, 1) for other in group.steps):
        return False
    if language.coarse_first:
        # 周三 after 5月20日 only repeats it; otherwise a coarser piece opens a new expression.
        return piece.rank < last.rank and not (piece.fixed and not piece.within)
    return True


def groups(text: str, pieces: Sequence[Piece], language: Language) -> list[Group]:
    joined: list[Group] = []
    leads: list[Piece] = []
    for piece in pieces:
        if piece.leads:
            leads.append(piece)
            continue
        last = joined[-1] if joined else None
        beside = last and (piece.at[0] < last.end or compiled(language.gap).fullmatch(text, last.end, piece.at[0]))
        if last and not leads and beside and _joins(last, piece, language):
            last.steps.append(piece)
            last.end = piece.at[1]
        elif not piece.shift:
            near: list[Piece] = []
            for lead in reversed(leads):  # since the beginning of January: each leads the next
                if compiled(language.gap).fullmatch(text, lead.at[1], near[0].at[0] if near else piece.at[0]):
                    near.insert(0, lead)
            joined.append(Group([piece], near, near[0].at[0] if near else piece.at[0], piece.at[1]))
            leads = []
    return joined


def _refined(period: Period, pieces: Sequence[Piece], trail: Trail) -> Period | None:
    """Narrow a period piece by piece. What it holds many times (晚上 of a week) says nothing more; what it lacks is an error."""
    for piece in pieces:
        if not piece.within:
            return None
        inside = piece.within(period)
        first, second = next(inside, None), next(inside, None)
        if first and not second:
            period = first
            trail.append((piece.rank, period))
        elif not first and not (piece.rank == 3.9 and period.days <= 1):
            return None
    return period


def _candidates(head: Piece, moment: datetime, ascending: bool) -> Iterator[Period]:
    assert head.within and head.cycle
    order = range(-1, REACH) if ascending else range(1, -REACH, -1)
    for ahead in order:
        inside = list(head.within(cycle_of(moment, head.cycle, ahead)))
        yield from inside if ascending else reversed(inside)


def _choose(core: Sequence[Piece], moment: datetime, right: Callable[[Period], bool], ascending: bool) -> Chosen:
    head, rest = core[0], core[1:]
    if head.fixed:
        trail = [(head.rank, head.fixed)]
        period = _refined(head.fixed, rest, trail)
        return (period, trail) if period else None
    if not head.cycle or not head.within:
        return None
    for candidate in _candidates(head, moment, ascending):
        trail = [(head.rank, candidate)]
        period = _refined(candidate, rest, trail)
        if period and right(period):
            return period, trail
    return None


def _settle(group: Group, chosen: Chosen, ctx: TextContext) -> None:
    """Take the chosen period through the changes before and after it."""
    if not chosen:
        return
    period: Period | None
    period, group.trail = chosen
    for piece in group.rest:
        if period is None:
            return
        period = piece.shift(period, ctx) if piece.shift else _refined(period, [piece], group.trail)
    for lead in reversed(group.leads):
        period = lead.shift(period, ctx) if period and lead.shift else period
    group.period = period


def place(group: Group, ctx: TextContext, forward: bool | None) -> None:
    """Resolve by itself: the latest occurrence that has begun, or the next one that has not ended; where nothing tells, the next
    one if it is not more than twice as far as the latest, or within ten days."""
    core = group.core
    if not core:
        return
    if ctx.plan and not core[0].fixed:
        _settle(group, _from_plan(group, ctx, ctx.plan), ctx)
        return
    coming = None if forward is False else _choose(core, ctx.now, lambda period: period.stop > ctx.now, True)
    latest = None if forward else _choose(core, ctx.now, lambda period: period.start <= ctx.now, False)
    if forward is None and coming:
        ahead = coming[0].start - ctx.now
        forward = latest is None or ahead < 10 * DAY or ahead < 2 * (ctx.now - latest[0].stop)
    _settle(group, coming if forward else _winter(core, latest, ctx), ctx)


def _from_plan(group: Group, ctx: TextContext, plan: tuple[datetime, datetime]) -> Chosen:
    """The first occurrence after a plan that is moved, or the last one before it; an hour is one of its day."""
    core, start, day = group.core, plan[0], plan[0].replace(hour=0, minute=0, second=0)
    is_part = bool(group.leads or group.rest)  # the end of May, of which the plan was in the middle
    if ctx.is_earlier:
        before = _choose(core, start, lambda period: period.start < start and period.stop > ctx.now, False)
        if before:
            return before
    since = day if core[0].rank < 3.5 else max(start + timedelta(seconds=1), ctx.today)
    return _choose(
        core,
        since,
        lambda period: period.start >= since or ((is_part or period.days > 45) and period.stop > plan[1]),
        True,
    )


def _winter(core: Sequence[Piece], chosen: Chosen, ctx: TextContext) -> Chosen:
    """今年冬天, before December, is the winter that ended this year; 明年冬天 is not."""
    if not chosen or chosen[0].unit != "season" or chosen[0].start <= ctx.now or len(core) < 2:
        return chosen
    if not core[0].fixed or core[0].fixed.start > ctx.now:
        return chosen
    before = replace(core[0].fixed, start=core[0].fixed.start - timedelta(days=366), stop=core[0].fixed.start)
    trail = [(core[0].rank, core[0].fixed)]
    earlier = _refined(before, core[1:], trail)
    return (earlier, trail) if earlier and earlier.stop > core[0].fixed.start else chosen


def _within_trail(group: Group, other: Group, ctx: TextContext) -> bool:
    """Resolve ``group`` inside the finest period of ``other`` that can contain it."""
    core = group.core
    if not core or core[0].fixed:
        return False
    container = next((period for rank, period in reversed(other.trail) if rank > core[0].rank), None)
    if not container:
        return False
    trail = [(99.0, container)]
    period = _refined(container, core, trail)
    if not period or period is container:
        return False
    _settle(group, (period, trail), ctx)
    return group.period is not None


def _range(first: Group, last: Group, ctx: TextContext, forward: bool | None) -> Period | None:
    """The ends lend each other what they lack: 5月20日到22日, August 11 to August 15 2023."""
    if not first.core or not last.core:
        return None
    lends = last.core[0].fixed or last.core[0].rank > first.core[0].rank  # the 3rd to the 9th of October
    if lends and not first.core[0].fixed:
        place(last, ctx, forward)
        if last.period:
            latest = last.period.start
            _settle(first, _choose(first.core, latest, lambda period: period.start <= latest, False), ctx)
    else:
        place(first, ctx, forward)
        if first.period and last.core[0].fixed:
            place(last, ctx, forward)
        elif first.period:
            earliest = first.period.start
            if not (_within_trail(last, first, ctx) and last.period and last.period.start >= earliest):
                last.period = None
                _settle(last, _choose(last.core, earliest, lambda period: period.start >= earliest, True), ctx)
    begin, end = first.period, last.period
    if not begin or not end or end.start < begin.start:
        return None
    stop = end.start + timedelta(minutes=1) if end.unit == "hour" else end.stop
    return Period(begin.start, max(stop, begin.stop), "range")


_LEADS_TO = r"(?i)(?:[到成为至]|\b(?:to|for|until|till))\s*(?:the\s*)?$"
_CLAUSE = re.compile(r"[，。！？；,!?;\n]|\.(?=\s|$)")


def _clause(text: str, start: int, end: int) -> tuple[str, tuple[int, int]]:
    """The clause around an expression, as far as two hundred characters on either side, and the place of the expression in it."""
    left = max(start - 200, 0)
    for sign in _CLAUSE.finditer(text, left, start):
        left = sign.end()
    right = _CLAUSE.search(text, end, end + 200)
    return text[left : right.start() if right else end + 200], (start - left, end - left)


def _linked(text: str, group: Group, follower: Group, language: Language) -> bool:
    before, between = text[max(group.start - 40, 0) : group.start], text[group.end : follower.start]
    from_here = compiled(language.moved).search(before) and not compiled(_LEADS_TO).search(before)
    if from_here or compiled(language.moved).search(between):
        return False  # moved from Thursday to Monday: it is on one of them; moved to March to May is a range
    if compiled(language.to).fullmatch(text, group.end, follower.start):
        return True
    opened = language.between and compiled(language.between).search(text, max(group.start - 16, 0), group.end)
    return bool(opened and compiled(language.also).fullmatch(text, group.end, follower.start))


def spans(text: str, pieces: Sequence[Piece], language: Language, ctx: TextContext) -> list[tuple[int, int, Period]]:
    """Every expression of the text as (from, to, period), in the order of the text."""
    result: list[tuple[int, int, Period]] = []
    queue = groups(text, pieces, language)
    previous: Group | None = None
    index = 0
    while index < len(queue):
        group = queue[index]
        index += 1
        try:
            clause, at = _clause(text, group.start, group.end)
            if group.core and not group.core[0].fixed and compiled(language.habit).search(clause):
                continue
            forward = language.forward(clause, ctx.use, at)
            follower = queue[index] if index < len(queue) else None
            if follower and _linked(text, group, follower, language):
                whole = _range(group, follower, ctx, forward)
                if whole:
                    result.append((group.start, follower.end, whole))
                    previous, index = follower, index + 1
                    continue
                group.period = follower.period = None
            shares = previous is not None and compiled(language.also).fullmatch(text, previous.end, group.start)
            if not (shares and previous and _within_trail(group, previous, ctx)):
                refers = compiled(language.refers).search(text, max(group.start - 8, 0), group.start)
                if not (refers and group.core and not group.core[0].fixed):
                    place(group, ctx, forward)
        except (ValueError, OverflowError):
            # A year or a distance beyond the calendar (九千九百年前) names no time that anyone remembers.
            group.period = None
        if group.period and group.period.start < group.period.stop:
            result.append((group.start, group.end, group.period))
        previous = group
    return result
