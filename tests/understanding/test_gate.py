"""What of a model's answer may stand: its dates, whom it trusts, and the forms that its values are read from."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from moechat.model import Event, Exchange
from moechat.understanding.answer import ExtractedEvent, ExtractedFact, ExtractedVerb
from moechat.understanding.gate import TRUSTED_SHARE, dates_stand, folded, is_trusted

ZONE = ZoneInfo("Asia/Shanghai")
NOON = datetime(2025, 5, 20, 12, tzinfo=ZONE)  # a Tuesday


def stands(text: str, first: str, last: str = "", *others: Event, reply: str = "好") -> bool:
    days = (
        datetime.fromisoformat(first).replace(tzinfo=ZONE),
        datetime.fromisoformat(last or first).replace(tzinfo=ZONE),
    )
    return dates_stand((days[0], days[1] + timedelta(hours=23)), [Exchange("e", NOON, text, reply)], others)


def test_days_follow_from_a_time_that_is_named_or_are_near_the_day_of_telling() -> None:
    assert stands("我昨天搬家了", "2025-05-19") and not stands("我昨天搬家了", "2025-05-17")
    assert stands("我搬家了", "2025-05-20") and stands("我搬家了", "2025-05-19") and stands("我搬家了", "2025-05-21")
    assert not stands("我搬家了", "2025-04-20") and not stands("我搬家了", "2025-06-20")
    assert stands("我搬家了", "2025-05-18", reply="前天搬的吧"), "the reply may name it"
    assert [year for year in range(2023, 2029) if stands("5月1日搬家", f"{year}-05-01")] == [2025, 2026, 2027]
    assert stands("周五搬家", "2025-05-23") and stands("周五搬家", "2025-05-30") and stands("周五搬家", "2025-05-16")
    assert not stands("周五搬家", "2025-06-13")
    other = Event("t", ("e",), happened=(NOON - timedelta(days=90), NOON - timedelta(days=89)))
    assert stands("我搬家了", "2025-02-19", "", other) and not stands("我搬家了", "2025-02-19", "", Event("t", ("e",)))


@pytest.mark.parametrize("at", [datetime(1, 1, 2, tzinfo=ZONE), datetime(9999, 12, 30, tzinfo=ZONE)])
def test_at_an_end_of_the_calendar_no_day_is_moved_over_it(at: datetime) -> None:
    assert dates_stand((at, at), [Exchange("e", at, "我搬家了", "")], [])


def test_a_model_is_trusted_whose_quotes_are_true_as_a_rule() -> None:
    assert not is_trusted(0, 0) and not is_trusted(0, 10) and is_trusted(1, 1)
    assert is_trusted(round(100 * TRUSTED_SHARE), 100) and not is_trusted(round(100 * TRUSTED_SHARE) - 1, 100)


def test_words_are_compared_without_marks_in_one_width_and_case() -> None:
    assert folded(" Ｈello，世界！ １２ ") == "hello世界12"


def test_how_exactly_a_state_began_is_read_in_whatever_form_a_model_writes_it() -> None:
    cases = {"2022": "2022", "2022-5": "2022-05", "2022-05-24": "2022-05-24", "去年": "past"}
    cases |= dict.fromkeys(("null", "None", "", "无"), "")
    assert {text: ExtractedFact(text="t", start=text).start for text in cases} == cases
    assert ExtractedFact(text="t", until=None).until == "" == ExtractedVerb(number=1, verb="ended").until  # type: ignore[arg-type]


def test_what_a_model_writes_in_a_form_of_its_own_is_read_or_left_at_what_is_usual() -> None:
    def of(name: str, *values: object) -> list[object]:
        return [getattr(ExtractedEvent.model_validate({"text": "t", name: value}), name) for value in values]

    assert of("mark", "care", " Delicate ", "secret", None) == ["care", "delicate", "", ""]
    assert of("precision", "day", "unknown", "exact", None) == ["day", "unknown", None, None]
    assert of("status", "planned", "whatever") == ["planned", "done"]
    assert ExtractedVerb.model_validate({"finding": 3, "verdict": "ended", "words": "q"}).model_dump()["number"] == 3
    bare = ExtractedEvent(text="t")
    assert (bare.importance, bare.manner, bare.sources, bare.happened, bare.replaces) == (5, "", [], None, 0)
    assert ExtractedFact(text="t").model_dump()["polarity"] == 1 and ExtractedFact(text="t").entity == "user"


def test_a_model_is_told_how_something_may_be_meant() -> None:
    for kind in (ExtractedEvent, ExtractedFact):
        manners = kind.model_json_schema()["properties"]["manner"]["enum"]
        assert manners == ["earnest", "play", "irony", "quoted", "supposed", "guessed"]
