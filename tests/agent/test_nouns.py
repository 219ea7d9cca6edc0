"""What every room shares: the clock, and paths of topics."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from moechat.clock import SetClock, SystemClock, clock_at, local, moment_at, moment_of
from moechat.errors import ConfigError
from moechat.model import LONG_AGO
from moechat.topic_path import MAX_SEGMENT_CHARS, MAX_SEGMENTS, is_within, moved, parent_of, topic_path

ZONE = ZoneInfo("Asia/Shanghai")
NOON = datetime(2025, 5, 20, 12, tzinfo=ZONE)


# ---- the clock


def test_a_clock_is_held_where_it_is_put_or_tells_the_machines_time() -> None:
    held = clock_at("2025-05-20T15:00", ZONE)
    assert isinstance(held, SetClock) and held.now() == datetime(2025, 5, 20, 15, tzinfo=ZONE)
    assert held.advance(hours=1) == held.now() == datetime(2025, 5, 20, 16, tzinfo=ZONE)
    for clock in (clock_at(None, ZONE), SystemClock(None)):
        assert abs(clock.now() - datetime.now(UTC)) < timedelta(minutes=1)
    assert clock_at(None, ZONE).now().tzinfo is ZONE and SystemClock().now().tzinfo is not None
    with pytest.raises(ConfigError, match="--now = 'soon': write a time as 2025-05-21T15:00"):
        clock_at("soon", ZONE)


def test_a_moment_is_in_its_zone_and_within_the_calendar() -> None:
    assert moment_of(" 2025-05-20T12:00 ", ZONE) == NOON == moment_of("2025-05-20T04:00Z", ZONE)
    assert moment_of("2025-05-20T04:00+00:00", ZONE).tzinfo is ZONE and moment_of("2025-05-20", None).tzinfo is not None
    assert moment_at(0, ZONE) == LONG_AGO == datetime(1970, 1, 1, tzinfo=UTC) and moment_at(0, ZONE).hour == 8
    assert local(datetime(2025, 5, 20, 12), ZONE) == NOON and local(NOON, UTC).hour == 4
    assert moment_of("0002-01-01", ZONE).year == 2 and moment_of("9998-12-31", ZONE).year == 9998
    for text in ("0001-06-01", "9999-06-01", "soon", ""):
        with pytest.raises(ValueError, match=r"out of range|isoformat"):
            moment_of(text, ZONE)
    for seconds in (1e20, -1e20, float("inf"), 253_402_300_000.0):
        with pytest.raises(ValueError, match="out of range"):
            moment_at(seconds, ZONE)


# ---- topics


def test_a_topic_path_is_the_same_however_its_arrows_are_written() -> None:
    cases = [
        ("旅行->杭州->西湖", "旅行→杭州→西湖", "旅行 > 杭州 >> 西湖", "旅行－＞杭州--->西湖"),
        ("旅行->杭州->西湖", "->旅行-> ->杭州=>西湖->", " 旅行⇒杭州 ➔ 西湖 "),
        ("a b->c/d", "a \t b -> c/d", "a b–>c/d", "a b - → c/d="), ("", "->", " > ", "—"),
    ]  # fmt: skip
    assert [text for path, *texts in cases for text in texts if topic_path(text) != path] == []
    assert topic_path("x" * 99) == "x" * MAX_SEGMENT_CHARS
    assert topic_path("->".join("abcdefghijklmnop")) == "->".join("abcdefghijklmnop"[:MAX_SEGMENTS])


def test_a_path_lies_within_those_above_it_and_moves_with_them() -> None:
    assert (parent_of("a->b->c"), parent_of("a")) == ("a->b", "")
    assert is_within("a->b", "a") and is_within("a", "a") and not is_within("ab", "a") and not is_within("a", "a->b")
    assert moved("a->b->c", [("a->b", "x"), ("x->c", "y->z")]) == "y->z" and moved("ab->c", [("a", "x")]) == "ab->c"
