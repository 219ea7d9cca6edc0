"""Where things go in a picture: a treemap's boxes, a calendar's weeks, and how much text fits."""

from __future__ import annotations

from datetime import date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moechat.house import House
from moechat.web.topic_charts import CELL, CELL_GAP, COLDEST, LEFT, Box, Canvas, fitted, squarified, weeks
from moechat.web.words import Words
from tests.web.test_web_rooms import MEMORY_ROOM, TOPIC_ROOM, ZH, drawn, seen

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
    cases = [("火锅", 40, "火锅"), ("火锅和咖啡", 45, "火锅…"), ("coffee", 30, "co…"), ("火锅", 10, "")]
    assert [(text, width, rest) for text, width, rest in cases if fitted(text, width, 14) != rest] == []


@pytest.mark.parametrize("width", [260, 360, 900, 1100])
def test_a_calendar_shows_as_many_weeks_as_fit_and_none_before_memory_starts(width: int) -> None:
    today, days = date(2025, 5, 21), {"2024-01-03": 1, "2025-05-20": 4}
    screen = weeks(days, today, width)
    assert screen.first.weekday() == 0 and screen.first <= today < screen.first + timedelta(weeks=screen.count)
    assert screen.cell >= CELL and screen.count * (screen.cell + CELL_GAP) + LEFT <= width + 1e-6
    before = weeks(days, today, width, back=1)
    assert before.first + timedelta(weeks=before.count) == screen.first
    assert weeks({"2025-05-14": 1}, today, width).first == date(2025, 5, 12)


def test_what_has_no_topic_is_none_and_one_alone_is_a_line(house: House) -> None:
    agent = house.agent()
    assert ZH("nothing_yet") in seen(agent, MEMORY_ROOM) and ZH("no_topics") in seen(agent, TOPIC_ROOM)
    event = agent.memories.add_event("和室友吃了火锅", topic="日常").id
    html = drawn(agent, TOPIC_ROOM, ZH)
    assert "treemap" not in html and "日常" not in html and ZH("untold", n=1) in seen(agent, TOPIC_ROOM)
    agent.memories.edit_event(event, topic="饮食")
    html = drawn(agent, TOPIC_ROOM, ZH)
    assert "treemap" not in html and 'data-topic="饮食"' in html
    agent.memories.add_event("和妈妈去了公园", topic="出游")
    html = drawn(agent, TOPIC_ROOM, ZH)
    assert "treemap" in html and ZH("all_topics") not in html, "there is no way back where nothing was gone into"
