"""How a moment is shown: the golden table of seed 004, and what holds for any moment."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moechat.when import shown
from moechat.when.span import away, roughly

ZONE = ZoneInfo("Asia/Shanghai")
NOW = datetime(2018, 10, 8, 20, 0, tzinfo=ZONE)

# (moment, zh, en): the fourteen rows of the golden, with their English.
TABLE = (
    ("2018-10-08 00:05:59", "2018-10-08 00:05", "2018-10-08 00:05"),
    ("2018-10-08 15:30:45", "2018-10-08 15:30", "2018-10-08 15:30"),
    ("2018-10-07 23:59:00", "2018-10-07 23点", "2018-10-07 11 pm"),
    ("2018-10-01 08:00:00", "2018-10-01 8点", "2018-10-01 8 am"),
    ("2018-09-30 15:30:45", "2018-09-30 下午", "2018-09-30 afternoon"),
    ("2018-09-30 06:00:00", "2018-09-30 上午", "2018-09-30 morning"),
    ("2018-09-30 11:59:59", "2018-09-30 上午", "2018-09-30 morning"),
    ("2018-09-30 12:00:00", "2018-09-30 下午", "2018-09-30 afternoon"),
    ("2018-09-30 17:59:59", "2018-09-30 下午", "2018-09-30 afternoon"),
    ("2018-09-30 18:00:00", "2018-09-30 晚上", "2018-09-30 night"),
    ("2018-09-30 03:00:00", "2018-09-30 晚上", "2018-09-30 night"),
    ("2018-09-08 09:00:00", "2018-09-08 上午", "2018-09-08 morning"),
    ("2018-09-07 09:00:00", "2018-09-07", "2018-09-07"),
    ("2017-01-01 00:00:00", "2017-01-01", "2017-01-01"),
)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=ZONE)


@pytest.mark.parametrize(("moment", "zh", "en"), TABLE)
def test_a_moment_is_shown_by_calendar_days(moment: str, zh: str, en: str) -> None:
    assert shown(at(moment), NOW) == zh
    assert shown(at(moment), NOW, "en") == en


def test_how_far_a_day_is_away_is_told_in_words() -> None:
    words = {
        -2: ("前天", "2 days ago"), -1: ("昨天", "yesterday"), 0: ("今天", "today"), 1: ("明天", "tomorrow"),
        2: ("后天", "in 2 days"), -13: ("13天前", "13 days ago"), 14: ("2周后", "in 2 weeks"), -61: ("2个月前", "2 months ago"),
        730: ("2年后", "in 2 years"),
    }  # fmt: skip
    told = {
        days: (away(moment, NOW), away(moment, NOW, "en")) for days in words if (moment := NOW + timedelta(days=days))
    }
    assert told == words


def test_the_table_is_the_golden_one(goldens: Path) -> None:
    golden = json.loads((goldens / "seed004_worked.json").read_text(encoding="utf-8"))
    now = at(golden["now"].replace("T", " ").split("+")[0])
    assert [shown(at(moment), now) for moment, _ in golden["time_display"]] == [
        row[1] for row in golden["time_display"]
    ]
    assert [[moment, zh] for moment, zh, _ in TABLE] == golden["time_display"]


def test_the_day_is_that_of_the_clock_whatever_zone_the_moment_came_with() -> None:
    assert shown(datetime(2018, 10, 7, 16, 5, tzinfo=UTC), NOW) == "2018-10-08 00:05"


def test_midnight_and_noon_in_english() -> None:
    assert shown(at("2018-10-07 00:10:00"), NOW, "en") == "2018-10-07 12 am"
    assert shown(at("2018-10-07 12:10:00"), NOW, "en") == "2018-10-07 12 pm"


def test_what_is_to_come_reads_like_what_has_been() -> None:
    assert shown(at("2018-10-11 09:00:00"), NOW) == "2018-10-11 9点"


@given(st.integers(-(10**8), 10**8))
def test_the_day_always_stands_first(seconds: int) -> None:
    moment = NOW + timedelta(seconds=seconds)
    for language in ("zh", "en"):
        assert shown(moment, NOW, language).startswith(f"{moment:%Y-%m-%d}")


@pytest.mark.parametrize("moment", [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, tzinfo=UTC)])
@pytest.mark.parametrize("hours", [-12, 14])
def test_a_moment_at_the_end_of_the_calendar_is_shown_in_any_zone(moment: datetime, hours: int) -> None:
    now = datetime(2025, 5, 21, 15, tzinfo=timezone(timedelta(hours=hours)))
    assert shown(moment, now).endswith(("-01-01", "-01-02", "-12-31"))


def test_a_part_of_a_season_is_told_by_its_months() -> None:
    cases = {
        ("2025-03-01", "2025-05-31"): ("2025年春天", "spring 2025"),
        ("2025-04-01", "2025-05-31"): ("2025年4月到2025年5月", "April 2025 to May 2025"),
        ("2025-04-01", "2025-04-30"): ("2025年4月", "April 2025"),
    }
    assert {
        (first, last): tuple(
            roughly(datetime.fromisoformat(first), datetime.fromisoformat(last), "season", language)
            for language in ("zh", "en")
        )
        for first, last in cases
    } == cases
