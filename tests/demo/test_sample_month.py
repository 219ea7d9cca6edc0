"""The month of sample memory."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from moechat import demo

NOW = datetime(2026, 3, 1, 0, 30, tzinfo=ZoneInfo("Asia/Shanghai"))


@pytest.mark.parametrize("language", ["zh", "en"])
def test_the_sample_month_is_in_order_and_ends_yesterday(language: str) -> None:
    times = [exchange.at for exchange in demo.month(language, NOW)]
    assert times == sorted(times) and len(times) > 20
    assert times[-1].date() == NOW.date() - timedelta(days=1)
    assert NOW - times[0] < timedelta(days=45)
