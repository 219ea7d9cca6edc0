"""Which dates of a model's answer may stand."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from moechat.model import Event, Exchange
from moechat.understanding.gate import dates_stand

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
