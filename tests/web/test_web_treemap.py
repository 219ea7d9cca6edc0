"""Where things go in a picture: a treemap's boxes, and how much text fits."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moechat.web.topic_charts import COLDEST, Box, Canvas, squarified
from moechat.web.words import Words

SIZES = st.lists(st.integers(1, 500), min_size=1, max_size=40).map(lambda sizes: sorted(sizes, reverse=True))


@given(SIZES, st.integers(40, 1200), st.integers(40, 900))
def test_boxes_fill_the_picture_in_proportion_and_never_overlap(sizes: list[int], width: int, height: int) -> None:
    boxes = squarified(sizes, Box(0, 0, width, height))
    unit = width * height / sum(sizes)
    for size, box in zip(sizes, boxes, strict=True):
        assert box.w * box.h == pytest.approx(size * unit, rel=1e-6)
        assert box.x >= -1e-6
        assert box.y >= -1e-6
        assert box.x + box.w <= width + 1e-6
        assert box.y + box.h <= height + 1e-6
    for at, one in enumerate(boxes):
        for other in boxes[at + 1 :]:
            apart_x = one.x + one.w <= other.x + 1e-6 or other.x + other.w <= one.x + 1e-6
            apart_y = one.y + one.h <= other.y + 1e-6 or other.y + other.h <= one.y + 1e-6
            assert apart_x or apart_y


def test_the_published_example_is_met() -> None:
    boxes = squarified([6, 6, 4, 3, 2, 2, 1], Box(0, 0, 6, 4))  # Bruls, Huizing, van Wijk 2000, figure 5
    assert [(round(b.w, 2), round(b.h, 2)) for b in boxes[:4]] == [(3, 2), (3, 2), (1.71, 2.33), (1.29, 2.33)]
    tiny = squarified([6, 6, 4, 3, 2, 2, 1], Box(0, 0, 0.06, 0.04))  # The same picture, whatever its size.
    assert [(round(100 * b.w, 2), round(100 * b.h, 2)) for b in tiny] == [(round(b.w, 2), round(b.h, 2)) for b in boxes]


def test_a_topic_cools_with_the_days_since_it_was_last_spoken_of() -> None:
    canvas = Canvas(Words("en"), datetime(2025, 5, 20, 15))
    ages = {0: 100, 1: 89, 20: 50, 100: 25, 365: COLDEST, 2000: COLDEST}
    warmth = {days: canvas.warmth((canvas.now - timedelta(days=days)).isoformat()) for days in ages}
    assert warmth == ages and canvas.warmth(None) == COLDEST


def test_no_room_gives_boxes_without_extent() -> None:
    assert [box.w * box.h for box in squarified([3, 1], Box(0, 0, 0, 50))] == [0, 0]
    assert squarified([], Box(0, 0, 10, 10)) == []
