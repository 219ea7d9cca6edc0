"""The topics as a map and the days as a calendar, drawn as SVG for the width at hand. Knows no Gradio.

Every name in it was written by others: it is escaped, and stands in text and titles alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from moechat.topic_path import ARROW
from moechat.web.draw import escape
from moechat.web.treemap import Box, fitted, squarified
from moechat.web.words import MONTHS, WEEKDAYS, Words

TopicNode = Mapping[str, Any]
"""A topic as ``Topics.overview`` gives it: name, path, count, total, newest, children."""

OFFERED = 200  # So many topics are offered.
GAP, HEAD, ROUND = 3, 26, 8
NAME_PX = 14
OLD_DAYS = 365  # A topic of this age is as cold as it gets.
COLDEST = 4  # The coldest topic stands at this percentage of the way to warm.
HOT = 82  # From this warmth on, light text reads better than dark.
CELL, CELL_LARGE, CELL_GAP, LEFT, TOP = 12, 24, 3, 34, 20
WEEKS = 53
YEAR_PX = 68  # The name of a month with its year is so wide.


def crumbs(path: str) -> str:
    return path.replace(ARROW, " › ")


def every(nodes: Iterable[TopicNode]) -> Iterator[TopicNode]:
    """Topics with all below them."""
    for node in nodes:
        yield node
        yield from every(node["children"])


def foremost(nodes: Iterable[TopicNode]) -> list[str]:
    """The paths that a list can offer: those with the most memories, in the order of their names."""
    return sorted(node["path"] for node in sorted(nodes, key=lambda node: -node["total"])[:OFFERED])


# ---- the map


@dataclass(frozen=True)
class Canvas:
    """What the map is drawn with: the words, the moment that "lately" is measured from, and the topic that is chosen."""

    words: Words
    now: datetime
    chosen: str = ""

    def warmth(self, newest: str | None) -> int:
        """How far on the way from cold to warm a topic is, in percent: all of it today, half after some three weeks."""
        if not newest:
            return COLDEST
        days = max(0.0, (self.now - datetime.fromisoformat(newest)) / timedelta(days=1))
        return round(COLDEST + (100 - COLDEST) * max(0.0, 1 - math.log1p(days) / math.log1p(OLD_DAYS)))


def treemap(nodes: Sequence[TopicNode], canvas: Canvas, width: int) -> str:
    """The topics as nested tiles, sized by memories and coloured by recency; two levels, the rest opens with a click."""
    height = round(min(520, max(380, width * 0.55)))
    ranked = _ranked(nodes)
    boxes = squarified([node["total"] for node in ranked], Box(0, 0, width, height))
    tiles = "".join(_group(node, box.inside(0, 0, GAP, GAP), canvas) for node, box in zip(ranked, boxes, strict=True))
    return (
        f'<svg class="treemap" viewBox="0 0 {width - GAP} {height - GAP}" data-grid role="group" '
        f'aria-label="{escape(canvas.words("topic_map"))}">{tiles}</svg>'
    )


def _ranked(nodes: Sequence[TopicNode]) -> list[TopicNode]:
    return sorted(nodes, key=lambda node: (-node["total"], node["path"]))


def _group(node: TopicNode, box: Box, canvas: Canvas) -> str:
    """A topic with the topics below it, where there is room for them."""
    children = _ranked(node["children"])
    if not children or box.w < 90 or box.h < 84:
        return _tile(node, box, canvas, node["total"])
    own = [node["count"]] if node["count"] else []
    parts = squarified([*(child["total"] for child in children), *own], box.inside(GAP, HEAD, 0, 0))
    tiles = [
        _tile(child, part.inside(0, 0, GAP, GAP), canvas, child["total"])
        for child, part in zip(children, parts, strict=False)
    ]
    if own:
        tiles.append(_tile(node, parts[-1].inside(0, 0, GAP, GAP), canvas, node["count"], own=True))
    return _around(node, box, canvas, "".join(tiles))


def _around(node: TopicNode, box: Box, canvas: Canvas, inside: str) -> str:
    count = str(node["total"])
    name = fitted(node["name"], box.w - 30 - 8 * len(count), NAME_PX)
    label = f'<text x="{box.x + 9:.1f}" y="{box.y + 18:.1f}" class="name">{escape(name)}</text>'
    label += f'<text x="{box.x + box.w - 8:.1f}" y="{box.y + 18:.1f}" class="count end">{count}</text>'
    frame = f'<rect x="{box.x:.1f}" y="{box.y:.1f}" width="{box.w:.1f}" height="{box.h:.1f}" rx="{ROUND + 2}"/>'
    return f"<g {_button(node, canvas, 'group')}>{_title(node, canvas)}{frame}{label}</g>{inside}"


def _tile(node: TopicNode, box: Box, canvas: Canvas, count: int, *, own: bool = False) -> str:
    if box.w < 1 or box.h < 1:
        return ""
    warmth = canvas.warmth(node["newest"])
    half, within = divmod(min(warmth, 99), 50)  # from cold to the middle, from the middle to warm
    rect = f'<rect x="{box.x:.1f}" y="{box.y:.1f}" width="{box.w:.1f}" height="{box.h:.1f}" rx="{min(ROUND, box.w / 4):.1f}"/>'
    name = fitted(canvas.words("own") if own else node["name"], box.w - 16, NAME_PX)
    text = f'<text x="{box.x + 9:.1f}" y="{box.y + 20:.1f}" class="name">{escape(name)}</text>' if box.h > 26 else ""
    if box.h > 44 and box.w > 26:
        text += f'<text x="{box.x + 9:.1f}" y="{box.y + 37:.1f}" class="count">{count}</text>'
    kind = "tile" + " warm" * half + " hot" * (warmth >= HOT)
    return (
        f'<g {_button(node, canvas, kind)} style="--warmth:{within * 2}%">{_title(node, canvas, own)}{rect}{text}</g>'
    )


def _button(node: TopicNode, canvas: Canvas, kind: str) -> str:
    pressed = str(node["path"] == canvas.chosen).lower()
    opens = f' data-top="{escape(node["path"])}"' if node["children"] else ""
    data = f'data-do="topic" data-topic="{escape(node["path"])}"{opens}'
    return f'class="{kind}" role="button" {data} aria-pressed="{pressed}"'


def _title(node: TopicNode, canvas: Canvas, own: bool = False) -> str:
    words, path = canvas.words, crumbs(node["path"])
    if own:
        return f"<title>{escape(words('own_told', path=path, n=node['count']))}</title>"
    day = words.day(datetime.fromisoformat(node["newest"])) if node["newest"] else ""
    return f"<title>{escape(words('topic_told', path=path, n=node['total'], day=day))}</title>"


# ---- the calendar


@dataclass(frozen=True)
class Weeks:
    """The weeks that are shown, Monday first: ``first`` is the Monday of the first."""

    first: date
    count: int
    cell: float

    @property
    def last(self) -> date:
        return self.first + timedelta(weeks=self.count, days=-1)

    def days(self) -> Iterator[tuple[int, int, date]]:
        """(week, weekday, date), in order of time."""
        for n in range(self.count * 7):
            yield n // 7, n % 7, self.first + timedelta(days=n)


def weeks(days: Mapping[str, int], today: date, width: int, back: int = 0) -> Weeks:
    """As many weeks as fit, ``back`` screens before the present, and none before memory starts; few are drawn larger."""
    most = min(WEEKS, max(8, (width - LEFT) // (CELL + CELL_GAP)))
    first = date.fromisoformat(min(days)) if days else today
    end = today - timedelta(days=today.weekday()) + timedelta(weeks=1)  # the Monday after
    end -= timedelta(weeks=back * most)
    count = min(most, max(1, -((first - end).days // 7)))
    cell = min(CELL_LARGE, (width - LEFT) / count - CELL_GAP)
    return Weeks(end - timedelta(weeks=count), count, cell)


def calendar(days: Mapping[str, int], shown: Weeks, words: Words, today: date, chosen: str = "") -> str:
    """A heat map of days: a column is a week, a deeper colour more memories."""
    step = shown.cell + CELL_GAP
    parts = [_weekdays(words, step, shown.cell), _months(shown, words, step)]
    most = max(days.values(), default=1)
    for week, weekday, day in shown.days():
        if day <= today:
            x, y = LEFT + week * step, TOP + weekday * step
            parts.append(_day(day, days.get(day.isoformat(), 0), (x, y, shown.cell), most, words, chosen))
    width, height = LEFT + shown.count * step, TOP + 7 * step
    return (
        f'<svg class="calendar" viewBox="0 0 {width:.0f} {height:.0f}" style="max-width:{width:.0f}px" data-grid '
        f'role="group" aria-label="{escape(words("calendar"))}">{"".join(parts)}</svg>'
    )


def _weekdays(words: Words, step: float, cell: float) -> str:
    names = [name[1:] if words.language == "zh" else name for name in WEEKDAYS[words.language]]
    rows = ((row, TOP + row * step + cell / 2 + 4) for row in (0, 2, 4))
    return "".join(f'<text x="0" y="{y:.1f}" class="axis">{names[row]}</text>' for row, y in rows)


def _months(shown: Weeks, words: Words, step: float) -> str:
    """The name of a month over the week in which it begins."""
    parts, free, named = [], -1.0, 0
    sundays = [shown.first + timedelta(weeks=week, days=6) for week in range(shown.count)]
    for week, day in enumerate(sundays):
        x, begins = LEFT + week * step, day.day <= 7
        soon = any(later.day <= 7 for later in sundays[1 : 1 + int(YEAR_PX / step)])
        if (begins or (week == 0 and not soon)) and x >= free:
            name = f"{day.month}月" if words.language == "zh" else MONTHS[day.month - 1]
            if day.year != named:  # the year stands with its first month
                name = f"{day.year}年{name}" if words.language == "zh" else f"{name} {day.year}"
            parts.append(f'<text x="{x:.1f}" y="12" class="axis">{name}</text>')
            free = x + (YEAR_PX if day.year != named else 34)
            named = day.year
    return "".join(parts)


def _day(day: date, count: int, place: tuple[float, float, float], most: int, words: Words, chosen: str) -> str:
    x, y, cell = place
    rect = f'<rect x="{x:.1f}" y="{y:.1f}" width="{cell:.1f}" height="{cell:.1f}" rx="{cell / 4:.1f}"'
    if not count:
        return f'{rect} class="no-day"/>'
    title = words("day_told", day=words.day(datetime(day.year, day.month, day.day)), n=count)
    depth = 30 + round(70 * math.log1p(count) / math.log1p(max(most, 3)))
    pressed = str(day.isoformat() == chosen).lower()
    return (
        f'<g role="button" class="one-day" data-do="day" data-day="{day}" aria-pressed="{pressed}" '
        f'style="--depth:{depth}%"><title>{escape(title)}</title>{rect}/></g>'
    )
