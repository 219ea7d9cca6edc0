"""The topics as a map and the days as a calendar: what stands where, for the width at hand. Knows no HTML."""

from __future__ import annotations

import math
import unicodedata
from calendar import monthrange
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from moechat.topic_path import ARROW
from moechat.web.words import WEEKDAYS, Words

TopicNode = Mapping[str, Any]
"""A topic as ``Topics.overview`` gives it: name, path, count, total, newest, children."""

MAX_TOPICS_OFFERED = 200
GAP, HEAD, ROUND = 3, 26, 8
NAME_PX = 14
OLD_DAYS = 365  # A topic of this age is as cold as it gets.
COLDEST = 4  # The coldest topic stands at this percentage of the way to warm.
HOT = 82  # From this warmth on, light text reads better than dark.
CELL, CELL_LARGE, CELL_GAP, LEFT, TOP = 12, 24, 3, 34, 20
WEEKS = 53
NARROW_MONTH, MONTH_GAP = 115, 16
YEAR_PX = 68  # The name of a month with its year is this wide.


def crumbs(path: str) -> str:
    return path.replace(ARROW, " › ")


def every(nodes: Iterable[TopicNode]) -> Iterator[TopicNode]:
    """Topics with all below them."""
    for node in nodes:
        yield node
        yield from every(node["children"])


def foremost(nodes: Iterable[TopicNode]) -> list[str]:
    """The paths that a list can offer: those with the most memories, in the order of their names."""
    return sorted(node["path"] for node in sorted(nodes, key=lambda node: -node["total"])[:MAX_TOPICS_OFFERED])


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


@dataclass(frozen=True)
class Tile:
    """A topic on the map; ``texts`` are (x, y, class, text). Pixels. ``warmth`` is None for the frame around others."""

    path: str
    title: str
    box: Box
    kind: str
    round: str
    texts: Sequence[tuple[float, float, str, str]]
    opens: bool
    pressed: bool
    warmth: int | None = None


def treemap(nodes: Sequence[TopicNode], canvas: Canvas, width: int) -> tuple[list[Tile], tuple[int, int]]:
    """(the topics as nested tiles, sized by memories and coloured by recency, width and height); two levels, the rest opens
    with a click."""
    height = round(min(520, max(380, width * 0.55)))
    ranked = _ranked(nodes)
    boxes = squarified([node["total"] for node in ranked], Box(0, 0, width, height))
    groups = (_group(node, box.inside(0, 0, GAP, GAP), canvas) for node, box in zip(ranked, boxes, strict=True))
    return [tile for group in groups for tile in group], (width - GAP, height - GAP)


def _ranked(nodes: Sequence[TopicNode]) -> list[TopicNode]:
    return sorted(nodes, key=lambda node: (-node["total"], node["path"]))


def _group(node: TopicNode, box: Box, canvas: Canvas) -> list[Tile]:
    """A topic with the topics below it, where there is room for them."""
    children = _ranked(node["children"])
    if not children or box.w < 90 or box.h < 84:
        return _tile(node, box, canvas, node["total"])
    own = [node["count"]] if node["count"] else []
    parts = squarified([*(child["total"] for child in children), *own], box.inside(GAP, HEAD, 0, 0))
    tiles = [_around(node, box, canvas)]
    for child, part in zip(children, parts, strict=False):
        tiles += _tile(child, part.inside(0, 0, GAP, GAP), canvas, child["total"])
    if own:
        tiles += _tile(node, parts[-1].inside(0, 0, GAP, GAP), canvas, node["count"], own=True)
    return tiles


def _around(node: TopicNode, box: Box, canvas: Canvas) -> Tile:
    count = str(node["total"])
    name = fitted(node["name"], box.w - 30 - 8 * len(count), NAME_PX)
    texts = [(box.x + 9, box.y + 18, "name", name), (box.x + box.w - 8, box.y + 18, "count end", count)]
    return Tile(
        node["path"], _title(node, canvas), box, "group", f"{ROUND + 2}", texts, True, canvas.chosen == node["path"]
    )


def _tile(node: TopicNode, box: Box, canvas: Canvas, count: int, *, own: bool = False) -> list[Tile]:
    if box.w < 1 or box.h < 1:
        return []
    warmth = canvas.warmth(node["newest"])
    half, within = divmod(min(warmth, 99), 50)  # from cold to the middle, from the middle to warm
    name = fitted(canvas.words("own") if own else node["name"], box.w - 16, NAME_PX)
    texts = [(box.x + 9, box.y + 20, "name", name)] if box.h > 26 else []
    texts += [(box.x + 9, box.y + 37, "count", str(count))] if box.h > 44 and box.w > 26 else []
    kind, is_chosen = "tile" + " warm" * half + " hot" * (warmth >= HOT), canvas.chosen == node["path"]
    title, corner = _title(node, canvas, own), f"{min(ROUND, box.w / 4):.1f}"
    return [Tile(node["path"], title, box, kind, corner, texts, bool(node["children"]), is_chosen, within * 2)]


def _title(node: TopicNode, canvas: Canvas, own: bool = False) -> str:
    words, path = canvas.words, crumbs(node["path"])
    if own:
        return words("own_told", path=path, n=node["count"])
    day = words.day(datetime.fromisoformat(node["newest"])) if node["newest"] else ""
    return words("topic_told", path=path, n=node["total"], day=day)


# ---- the calendar


def busy(talks: Mapping[str, int], slices: Mapping[str, int]) -> dict[str, int]:
    """How much there is of each day, in order: what was said on it, or what is told of it."""
    return {day: max(talks.get(day, 0), slices.get(day, 0)) for day in sorted(talks.keys() | slices.keys())}


def year(days: Mapping[str, int], of: int, words: Words, today: date, width: int) -> dict[str, object]:
    """As ``calendar``, month by month: a row is a week."""
    columns = next(n for n in (6, 4, 3, 2) if width >= n * NARROW_MONTH or n == 2)
    cell = min(CELL_LARGE, (width - (columns - 1) * MONTH_GAP) / columns / 7 - CELL_GAP)
    step, most = cell + CELL_GAP, max(days.values(), default=1)
    across, down = 7 * step + MONTH_GAP, 6 * step + TOP + MONTH_GAP
    axis, cells, shown = [], [], range(1, 13 if of < today.year else today.month + 1)
    for month in shown:
        first = date(of, month, 1)
        x, y = (month - 1) % columns * across, (month - 1) // columns * down
        # The year stands with its first month.
        name = words.in_year(words.month(month), of) if month == 1 else words.month(month)
        axis.append((f"{x:.1f}", f"{y + 13:.1f}", name))
        for n in range(monthrange(of, month)[1]):
            day, place = first + timedelta(days=n), first.weekday() + n
            if day <= today:
                title, depth = _told(day, days.get(day.isoformat(), 0), most, words)
                cells.append((x + place % 7 * step, y + TOP + place // 7 * step, day.isoformat(), title, depth))
    size = (f"{columns * across - MONTH_GAP:.0f}", f"{-(-len(shown) // columns) * down - MONTH_GAP:.0f}")
    return {"size": size, "axis": axis, "days": cells, "cell": cell}


@dataclass(frozen=True)
class Weeks:
    """The weeks that are shown, Monday first: ``first`` is the Monday of the first."""

    first: date
    count: int
    cell: float

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


def calendar(days: Mapping[str, int], shown: Weeks, words: Words, today: date) -> dict[str, object]:
    """A heat map of days: a column is a week, a deeper colour more memories. ``axis`` has (x, y, text), ``days`` (x, y, ISO
    date, title, depth in percent), where nothing is without a title. Pixels."""
    step, most = shown.cell + CELL_GAP, max(days.values(), default=1)
    names = [name[1:] if words.language == "zh" else name for name in WEEKDAYS[words.language]]
    axis = [("0", f"{TOP + row * step + shown.cell / 2 + 4:.1f}", names[row]) for row in (0, 2, 4)]
    cells = [
        (
            LEFT + week * step,
            TOP + weekday * step,
            day.isoformat(),
            *_told(day, days.get(day.isoformat(), 0), most, words),
        )
        for week, weekday, day in shown.days()
        if day <= today
    ]
    size = (f"{LEFT + shown.count * step:.0f}", f"{TOP + 7 * step:.0f}")
    return {"size": size, "axis": [*axis, *_months(shown, words, step)], "days": cells, "cell": shown.cell}


def _told(day: date, count: int, most: int, words: Words) -> tuple[str, int]:
    if not count:
        return "", 0
    title = words("day_told", day=words.day(datetime(day.year, day.month, day.day)), n=count)
    return title, 30 + round(70 * math.log1p(count) / math.log1p(max(most, 3)))


def _months(shown: Weeks, words: Words, step: float) -> list[tuple[str, str, str]]:
    """The name of a month over the week in which it begins."""
    labels, free, named = [], -1.0, 0
    sundays = [shown.first + timedelta(weeks=week, days=6) for week in range(shown.count)]
    for week, day in enumerate(sundays):
        x, begins = LEFT + week * step, day.day <= 7
        soon = any(later.day <= 7 for later in sundays[1 : 1 + int(YEAR_PX / step)])
        if (begins or (week == 0 and not soon)) and x >= free:
            # The year stands with its first month.
            name = words.month(day.month) if day.year == named else words.in_year(words.month(day.month), day.year)
            labels.append((f"{x:.1f}", "12", name))
            free = x + (YEAR_PX if day.year != named else 34)
            named = day.year
    return labels


# ---- where things go in a picture: a squarified treemap (Bruls, Huizing, van Wijk 2000) and how much text fits


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle in pixels."""

    x: float
    y: float
    w: float
    h: float

    def inside(self, left: float, top: float, right: float, bottom: float) -> Box:
        """What is left of it within these margins, never less than nothing."""
        return Box(self.x + left, self.y + top, max(0.0, self.w - left - right), max(0.0, self.h - top - bottom))


def squarified(sizes: Sequence[float], box: Box) -> list[Box]:
    """A box for each size, largest first, areas in proportion, each as near to a square as goes. Sizes are positive."""
    if not sizes or box.w <= 0 or box.h <= 0:
        return [Box(box.x, box.y, 0, 0) for _ in sizes]
    scale = box.w * box.h / sum(sizes)
    areas, boxes, start = [size * scale for size in sizes], list[Box](), 0
    while start < len(areas):
        side, end = min(box.w, box.h), start + 1
        while end < len(areas) and _worst(areas[start : end + 1], side) <= _worst(areas[start:end], side):
            end += 1
        row, box = _row(areas[start:end], box)
        boxes += row
        start = end
    return boxes


def _worst(areas: Sequence[float], side: float) -> float:
    """The worst aspect ratio of a row along ``side``."""
    total = sum(areas)
    return max(side * side * max(areas) / total**2, total**2 / (side * side * min(areas))) if side else float("inf")


def _row(areas: Sequence[float], box: Box) -> tuple[list[Box], Box]:
    """A row along the shorter side, and what is left of the box."""
    along_height = box.w >= box.h
    side = box.h if along_height else box.w
    thick = sum(areas) / side if side else 0.0
    boxes, at = [], box.y if along_height else box.x
    for area in areas:
        length = area / thick if thick else 0.0
        boxes.append(Box(box.x, at, thick, length) if along_height else Box(at, box.y, length, thick))
        at += length
    return boxes, box.inside(thick, 0, 0, 0) if along_height else box.inside(0, thick, 0, 0)


def fitted(text: str, width: float, size: float) -> str:
    """As much of a text as fits, with "…" where some is left out, "" where not even a character does. ``size`` in pixels."""
    if _width(text, size) <= width:
        return text
    kept = ""
    for sign in text:
        if _width(kept + sign + "…", size) > width:
            break
        kept += sign
    return kept.rstrip() + "…" if kept else ""


def _width(text: str, size: float) -> float:
    """About how wide a text is drawn: a full-width sign is as wide as high, others a good half."""
    return size * sum(1.0 if unicodedata.east_asian_width(sign) in "WF" else 0.58 for sign in text)
