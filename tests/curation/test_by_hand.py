"""Facts and events from the keys and values of a form, and how the times in them are read."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import pytest

from moechat.curation import by_hand
from moechat.errors import FieldError
from moechat.model import Event
from moechat.rules.topics import Named
from tests.houses import moment

NOW = moment("2025-05-20T15:00:00")


class NoTopics(Named):
    """A memory without any topic yet."""

    def named(self, word: str) -> list[str]:
        return []


def made(text: str, happened: Any = None, **details: Any) -> Event:
    return by_hand.event(text, "own-1", NOW, happened, NoTopics(), **details)


# ---- the keys of a form


def test_a_fact_is_taken_as_it_is_written() -> None:
    values = {"text": "阿明穿 42 码的鞋", "keyword": "鞋码", "target": "42", "polarity": "-1", "single": "true"}
    assert by_hand.arguments("fact", values, NOW) == values | {"polarity": -1, "single": True}
    assert by_hand.arguments("fact", {"text": "x", "single": "false"}, NOW)["single"] is False


def test_an_event_is_taken_with_its_time_its_weight_and_its_words() -> None:
    values = {"text": "放风筝", "happened": "2019-07-15", "importance": "0.4", "keywords": "风筝", "place": "青岛"}
    day = (moment("2019-07-15T00:00:00"), moment("2019-07-15T23:59:59"))
    assert by_hand.arguments("event", values, NOW) == {
        "text": "放风筝", "happened": day, "importance": 0.4, "keywords": ["风筝"], "place": "青岛",
    }  # fmt: skip
    assert by_hand.arguments("event", {"text": "x", "keywords": ["a", "b"]}, NOW)["keywords"] == ["a", "b"]
    assert by_hand.arguments("event", {"text": "x", "happened": ""}, NOW)["happened"] is None
    assert "happened" not in by_hand.arguments("event", {"text": "x", "happened": None}, NOW)


@pytest.mark.parametrize(
    ("kind", "values", "field", "remedy"),
    [
        ("fact", {"text": "x", "id": "f1"}, "id", "is for the official store alone"),
        ("fact", {"text": "x", "generic": "true"}, "generic", "is for the official store alone"),
        ("fact", {"text": "x", "keywrod": "y"}, "keywrod", "did you mean keyword"),
        ("event", {"text": "x", "zzz": "y"}, "zzz", "known: text, happened, place, keywords, topic, importance"),
        ("event", {"text": "x", "happened": 2019}, "happened", "write it as 2025-05-20"),
        ("event", {"text": "x", "happened": "很红"}, "happened", "write it as 2025-05-20"),
        ("event", {"text": "x", "importance": "7"}, "importance", "from 0 to 1"),
        ("fact", {"text": "x", "polarity": "2"}, "polarity", "1 or -1"),
    ],
)
def test_what_cannot_be_is_refused_by_its_name_with_a_remedy(
    kind: by_hand.Kind, values: dict[str, object], field: str, remedy: str
) -> None:
    with pytest.raises(FieldError, match=remedy) as refused:
        by_hand.arguments(kind, values, NOW)
    assert refused.value.field == field


# ---- an event


def test_what_is_not_given_is_read_from_the_words() -> None:
    event = made("昨天和小林在海边放风筝")
    assert event.happened == (moment("2025-05-19T00:00:00"), moment("2025-05-19T23:59:59"))
    assert (event.status, event.precision, event.sources) == ("done", "day", ("own-1",))
    assert {"小林", "海边"} <= set(event.keywords)
    assert event.place == "" and event.topic
    assert (made("爷爷去世了").importance, made("吃了一碗面").importance) == (0.9, 0.1)


def test_six_keywords_at_most_are_found_in_the_words() -> None:
    assert len(made("小林在海边放风筝、捡贝壳、吃西瓜、画灯塔、看渔船、听吉他").keywords) == 6


def test_words_that_name_two_times_name_none_for_sure() -> None:
    event = made("昨天和前天都在放风筝")
    assert (event.happened, event.precision) == (None, "unknown")


def test_what_is_given_stands() -> None:
    details = {"keywords": ["风筝", "风筝", "海"], "place": "青岛", "topic": "生活->风筝", "importance": 0.0}
    event = made("放风筝", (moment("2019-07-15T10:00:00"), moment("2019-07-15T11:00:00")), **details)
    assert (event.keywords, event.place, event.topic, event.importance) == (("风筝", "海"), "青岛", "生活->风筝", 0.0)
    assert event.happened == (moment("2019-07-15T10:00:00"), moment("2019-07-15T11:00:00"))


def test_what_is_still_to_come_is_a_plan_and_weighs_as_one() -> None:
    tomorrow = (moment("2025-05-21T00:00:00"), moment("2025-05-21T23:59:59"))
    assert made("搬家", tomorrow).status == "planned"
    assert made("搬家", (NOW, NOW)).status == "done"
    assert made("搬家", tomorrow).importance != made("搬家", (NOW, NOW)).importance


# ---- when it happened


@pytest.mark.parametrize(
    ("time", "start", "end"),
    [
        ("2019-07-15", "2019-07-15T00:00:00", "2019-07-15T23:59:59"),
        (" 2019-07-15 / 2019-07-17 ", "2019-07-15T00:00:00", "2019-07-17T23:59:59"),
        ("2019-07-15T10:30", "2019-07-15T10:30:00", "2019-07-15T10:30:00"),
        ("2019-07-15T10:30/2019-07-16", "2019-07-15T10:30:00", "2019-07-16T23:59:59"),
        ("2019-07-15T10:30+00:00", "2019-07-15T18:30:00", "2019-07-15T18:30:00"),
        (date(2019, 7, 15), "2019-07-15T00:00:00", "2019-07-15T23:59:59"),
        (datetime(2019, 7, 15, 9), "2019-07-15T09:00:00", "2019-07-15T09:00:00"),
        ("last Friday", "2025-05-16T00:00:00", "2025-05-16T23:59:59"),
        ("0002-01-01/9998-12-31", "0002-01-01T00:00:00", "9998-12-31T23:59:59"),
    ],
)
def test_a_time_is_a_day_a_moment_a_span_or_words_in_the_zone_of_the_owner(time: Any, start: str, end: str) -> None:
    span = by_hand.span_of(time, NOW)
    assert span == (moment(start), moment(end))
    assert span[0].tzinfo is NOW.tzinfo
    assert by_hand.span_of("  ", NOW) is None


@pytest.mark.parametrize(
    ("time", "remedy"),
    [
        ("2019-07-15/2019-07-16/2019-07-17", "write it as"),
        ("2019-07-15/2019-07-14", "ends before it begins"),
        ("0001-01-01", "write it as"),
        ("2019-07-15/9999-01-01", "write it as"),
        ("2019-13-45", "write it as"),
    ],
)
def test_a_time_that_cannot_be_is_refused(time: str, remedy: str) -> None:
    with pytest.raises(FieldError, match=remedy) as refused:
        by_hand.span_of(time, NOW)
    assert refused.value.field == "happened"


@pytest.mark.parametrize(
    ("happened", "at"),
    [
        (None, "2025-05-20T15:00:00"),
        ("2025-05-21", "2025-05-20T15:00:00"),  # Still to come.
        ("2019-07-15", "2019-07-15T12:00:00"),
        ("2019-07-15/2019-07-17", "2019-07-15T12:00:00"),
        ("2019-07-15T00:00/2019-07-15T08:00", "2019-07-15T00:00:00"),
        ("2019-07-15T10:30", "2019-07-15T10:30:00"),
        ("2025-05-20", "2025-05-20T12:00:00"),
    ],
)
def test_an_event_is_filed_when_it_happened_at_noon_where_only_the_day_is_known(happened: str | None, at: str) -> None:
    assert by_hand.dated(by_hand.span_of(happened or "", NOW), NOW) == moment(at)


def test_nothing_is_filed_later_than_now() -> None:
    morning = moment("2025-05-20T08:00:00")
    assert by_hand.dated(by_hand.span_of("2025-05-20", morning), morning) == morning
