"""How the pieces of a time expression become spans: refinement, looking back or forward, ranges, and what is shared.

Pieces come from a language's scanner (``when_zh``, ``when_en``) in the order of the text. Neighbours join into one
expression, coarse to fine; 到 makes a range, 和 lets the second expression share what contains the first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from moechat.when.periods import Context, Period, Piece, cycle_of

# How many cycles (days, weeks, months, years) an expression is looked for: 29 February may be eight years away.
REACH = 12


@dataclass(frozen=True)
class Grammar:
    """A language's glue. ``gap`` may stand inside an expression, ``to`` between the ends of a range, ``also`` between two
    expressions that share what contains the first; after ``between`` it makes a range too. What ``refers`` to a day named
    elsewhere (那天晚上) has no time of its own. ``forward`` tells from clause and use whether it speaks of the future."""

    gap: re.Pattern[str]
    to: re.Pattern[str]
    also: re.Pattern[str]
    between: re.Pattern[str] | None
    refers: re.Pattern[str]
    coarse_first: bool
    forward: Callable[[str, str], bool]


@dataclass
class Group:
    """Neighbouring pieces: ``lead`` and ``tails`` change the period, ``steps`` refine it in order."""

    steps: list[Piece] = field(default_factory=list)
    leads: list[Piece] = field(default_factory=list)
    start: int = 0
    end: int = 0
    period: Period | None = None
    trail: list[tuple[float, Period]] = field(default_factory=list)

    @property
    def core(self) -> list[Piece]:
        """The pieces before the first change, coarse to fine."""
        count = next((i for i, piece in enumerate(self.steps) if piece.shift), len(self.steps))
        return sorted(self.steps[:count], key=lambda piece: -piece.rank)

    @property
    def rest(self) -> list[Piece]:
        return self.steps[len(self.core) :]


def _joins(group: Group, piece: Piece, grammar: Grammar) -> bool:
    last = group.steps[-1]
    if piece.shift or last.shift:
        return bool(piece.shift) or piece.rank < 4
    if piece.fixed and not piece.within and any(other.fixed for other in group.steps):
        return False
    if any(round(other.rank, 1) == round(piece.rank, 1) for other in group.steps):
        return False
    if grammar.coarse_first:
        # 周三 after 5月20日 only repeats it; otherwise a coarser piece opens a new expression.
        return piece.rank < last.rank and not (piece.fixed and not piece.within)
    return True


def groups(text: str, pieces: Sequence[Piece], grammar: Grammar) -> list[Group]:
    found: list[Group] = []
    leads: list[Piece] = []
    for piece in pieces:
        if piece.leads:
            leads.append(piece)
            continue
        last = found[-1] if found else None
        beside = last and (piece.at[0] < last.end or grammar.gap.fullmatch(text, last.end, piece.at[0]))
        if last and not leads and beside and _joins(last, piece, grammar):
            last.steps.append(piece)
            last.end = piece.at[1]
        elif not piece.shift:
            near: list[Piece] = []
            for lead in reversed(leads):  # since the beginning of January: each leads the next
                if grammar.gap.fullmatch(text, lead.at[1], near[0].at[0] if near else piece.at[0]):
                    near.insert(0, lead)
            found.append(Group([piece], near, near[0].at[0] if near else piece.at[0], piece.at[1]))
            leads = []
    return found


def _refined(period: Period, pieces: Sequence[Piece], trail: list[tuple[float, Period]]) -> Period | None:
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


def _choose(
    core: Sequence[Piece], moment: datetime, right: Callable[[Period], bool], ascending: bool
) -> tuple[Period, list[tuple[float, Period]]] | None:
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


def _settle(group: Group, chosen: tuple[Period, list[tuple[float, Period]]] | None, ctx: Context) -> None:
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


def place(group: Group, ctx: Context, forward: bool) -> None:
    """Resolve by itself: the latest occurrence that has begun, or the next one that has not ended."""
    forward = forward or any(piece.forward for piece in group.steps)
    core = group.core
    if not core:
        return
    if forward:
        chosen = _choose(core, ctx.now, lambda period: period.stop > ctx.now, True)
    else:
        chosen = _choose(core, ctx.now, lambda period: period.start <= ctx.now, False)
        chosen = _winter(core, chosen, ctx)
    _settle(group, chosen, ctx)


def _winter(
    core: Sequence[Piece], chosen: tuple[Period, list[tuple[float, Period]]] | None, ctx: Context
) -> tuple[Period, list[tuple[float, Period]]] | None:
    """今年冬天, before December, is the winter that ended this year."""
    if not chosen or chosen[0].unit != "season" or chosen[0].start <= ctx.now or not core[0].fixed or len(core) < 2:
        return chosen
    before = replace(core[0].fixed, start=core[0].fixed.start - timedelta(days=366), stop=core[0].fixed.start)
    trail = [(core[0].rank, core[0].fixed)]
    earlier = _refined(before, core[1:], trail)
    return (earlier, trail) if earlier and earlier.stop > core[0].fixed.start else chosen


def _within_trail(group: Group, other: Group, ctx: Context) -> bool:
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


def _range(first: Group, last: Group, ctx: Context, forward: bool) -> Period | None:
    """The ends lend each other what they lack: 5月20日到22日, August 11 to August 15 2023."""
    if not first.core or not last.core:
        return None
    if last.core[0].fixed and not first.core[0].fixed:
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


_CLAUSE = re.compile(r"[，。！？；,!?;\n]|\.(?=\s|$)")


def _clause(text: str, start: int, end: int) -> str:
    """The clause around an expression, as far as two hundred characters on either side."""
    left = max(start - 200, 0)
    for found in _CLAUSE.finditer(text, left, start):
        left = found.end()
    right = _CLAUSE.search(text, end, end + 200)
    return text[left : right.start() if right else end + 200]


def _linked(text: str, group: Group, follower: Group, grammar: Grammar) -> bool:
    if grammar.to.fullmatch(text, group.end, follower.start):
        return True
    opened = grammar.between and grammar.between.search(text, max(group.start - 16, 0), group.end)
    return bool(opened and grammar.also.fullmatch(text, group.end, follower.start))


def spans(text: str, pieces: Sequence[Piece], grammar: Grammar, ctx: Context) -> list[tuple[int, int, Period]]:
    """Every expression of the text as (from, to, period), in the order of the text."""
    result: list[tuple[int, int, Period]] = []
    queue = groups(text, pieces, grammar)
    previous: Group | None = None
    index = 0
    while index < len(queue):
        group = queue[index]
        index += 1
        try:
            forward = grammar.forward(_clause(text, group.start, group.end), ctx.use)
            follower = queue[index] if index < len(queue) else None
            if follower and _linked(text, group, follower, grammar):
                whole = _range(group, follower, ctx, forward)
                if whole:
                    result.append((group.start, follower.end, whole))
                    previous, index = follower, index + 1
                    continue
                group.period = follower.period = None
            shares = previous is not None and grammar.also.fullmatch(text, previous.end, group.start)
            if not (shares and previous and _within_trail(group, previous, ctx)):
                refers = grammar.refers.search(text, max(group.start - 8, 0), group.start)
                if not (refers and group.core and not group.core[0].fixed):
                    place(group, ctx, forward)
        except (ValueError, OverflowError):
            # A year or a distance beyond the calendar (九千九百年前) names no time that anyone remembers.
            group.period = None
        if group.period and group.period.start < group.period.stop:
            result.append((group.start, group.end, group.period))
        previous = group
    return result
