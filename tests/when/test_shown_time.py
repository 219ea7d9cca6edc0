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
from moechat.when.span import Precision, away, roughly, told, undated

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
    ("2018-09-07 09:00:00", "2018-09-07", "2018-09-07"), ("2017-01-01 00:00:00", "2017-01-01", "2017-01-01"),
)  # fmt: skip


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


TELLINGS: list[tuple[str, str, Precision, str, str]] = [
    ("2017-01-01", "2017-12-31 23:59:59", "year", "2017年前后", "around 2017"),
    ("2016-01-01", "2017-12-31 23:59:59", "year", "2016年到2017年前后", "around 2016 to 2017"),
    ("2017-06-01", "2017-07-31 23:59:59", "month", "2017年6月到2017年7月", "June 2017 to July 2017"),
    ("2017-12-01", "2018-02-28 23:59:59", "season", "2017年冬天", "winter 2017"),
    ("2018-10-07 18:00:00", "2018-10-07 23:59:59", "part", "2018-10-07 晚上", "2018-10-07 night"),
    ("2018-10-07 17:00:00", "2018-10-07 20:59:59", "part", "2018-10-07 下午", "2018-10-07 evening"),
    ("2018-10-07 06:00:00", "2018-10-07 11:59:59", "day", "2018-10-07 上午", "2018-10-07 morning"),
    ("2018-10-07 06:00:00", "2018-10-07 07:00:00", "moment", "2018-10-07 6点", "2018-10-07 6 am"),
    ("2018-10-07 06:00:00", "2018-10-07 18:00:00", "moment", "2018-10-07", "2018-10-07"),
    ("2018-10-07", "2018-10-07 23:59:59", "day", "2018-10-07", "2018-10-07"),
    ("2018-10-06", "2018-10-08 23:59:59", "day", "2018-10-06至2018-10-08", "2018-10-06 to 2018-10-08"),
]


@pytest.mark.parametrize(("first", "last", "precision", "zh", "en"), TELLINGS)
def test_a_span_is_told_no_finer_than_it_is_known(
    first: str, last: str, precision: Precision, zh: str, en: str
) -> None:
    assert told(at(first), at(last), precision, NOW) == zh
    assert told(at(first), at(last), precision, NOW, "en") == en
    assert told(at(first).astimezone(UTC), at(last).astimezone(UTC), precision, NOW) == zh


def test_a_sentence_goes_without_the_words_for_its_time_unless_it_needs_them() -> None:
    cases = [
        ("用户昨天吃了火锅", "昨天", "用户吃了火锅"), ("昨天，用户吃了火锅", "昨天", "用户吃了火锅"),
        ("昨天的面试", "昨天", "面试"),
        ("yesterday the user ate", "yesterday", "The user ate"), ("Ann went home on Friday", "Friday", "Ann went home"),
        ("Ann went on Friday, then slept", "Friday", "Ann went then slept"), ("in May the user moved", "may", "The user moved"),
        ("during this May she slept", "this May", "She slept"), ("用户上周末的考试没过", "上周末", "用户考试没过"),
        ("用户昨天夜班送走了一位老人", "昨天", "用户夜班送走了一位老人"),
        ("Yesterday the user went home", "Yesterday", "The user went home"),
        ("The user flies to Rome on Friday", "Friday", "The user flies to Rome"),
    ]  # fmt: skip
    assert [(text, phrase) for text, phrase, bare in cases if undated(text, phrase) != bare] == []
    kept = [
        ("面试在周五", "周五"), ("考试是明天", "明天"), ("她从昨天起不吃肉", "昨天"), ("2025年前后的事", "2025年"),
        ("到周五为止", "周五"),
        ("by Friday she is done", "Friday"), ("since May she slept", "May"), ("the exam is tomorrow", "tomorrow"),
        ("Maybe", "May"), ("用户的面试在周五", "周五"), ("用户从周一开始上班", "周一"),
        ("The user's exam is on Friday", "on Friday"), ("The user hands it in by Friday", "Friday"),
        ("It was last Friday.", "last Friday"), ("the day of Friday!", "Friday"), ("no time", "Friday"), ("no time", ""),
    ]  # fmt: skip
    assert [(text, phrase) for text, phrase in kept if undated(text, phrase) != text] == []
