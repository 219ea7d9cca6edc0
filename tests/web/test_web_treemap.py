"""Where things go in a picture: a treemap's boxes, and how much text fits."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moechat.web.topic_charts import COLDEST, Box, Canvas, busy, fitted, squarified, year
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


def test_a_name_is_cut_where_its_tile_ends() -> None:
    cases = [
        ("火锅", 40, "火锅"), ("火锅和咖啡", 45, "火锅…"), ("coffee", 200, "coffee"), ("coffee", 30, "co…"),
        ("火锅", 10, ""),
    ]  # fmt: skip
    assert [(text, width, shown) for text, width, shown in cases if fitted(text, width, 14) != shown] == []


@pytest.mark.parametrize(("width", "columns"), [(200, 2), (344, 2), (345, 3), (460, 4), (690, 6), (2000, 6)])
def test_the_months_of_a_year_stand_in_rows_from_the_left_edge_within_the_width(width: int, columns: int) -> None:
    days = {"2024-02-29": 2, "2024-12-31": 4}
    drawn: Any = year(days, 2024, Words("en"), date(2025, 5, 21), width)
    places = [(float(x), float(y)) for x, y, _ in drawn["axis"]]
    lefts = sorted({x for x, _ in places})
    assert len(places) == 12 and len(lefts) == columns and lefts[0] == 0 and places[columns][0] == 0
    assert [y for _, y in places] == sorted(y for _, y in places) and len({y for _, y in places}) == 12 / columns
    cells, cell = drawn["days"], drawn["cell"]
    assert len(cells) == 366 and len({(x, y) for x, y, *_ in cells}) == 366
    assert min(x for x, *_ in cells) >= 0 and max(x for x, *_ in cells) + cell <= width
    across, down = map(float, drawn["size"])
    assert max(x for x, *_ in cells) + cell <= across and max(y for _, y, *_ in cells) + cell <= down
    assert [day for *_, day, _, _ in cells] == [str(date(2024, 1, 1) + timedelta(days=n)) for n in range(366)]


def test_of_this_year_the_days_up_to_today_are_drawn() -> None:
    drawn: Any = year({"2025-01-01": 1}, 2025, Words("en"), date(2025, 3, 2), 690)
    assert len(drawn["axis"]) == 3 and len(drawn["days"]) == 31 + 28 + 2
    assert busy({"b": 1, "a": 3}, {"b": 2, "c": 1}) == {"a": 3, "b": 2, "c": 1}
