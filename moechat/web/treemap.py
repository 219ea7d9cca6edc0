"""Where things go in a picture: a squarified treemap (Bruls, Huizing, van Wijk 2000) and how much text fits. Knows no HTML."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass


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
