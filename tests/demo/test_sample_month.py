"""The month of sample memory."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from moechat import demo

DAY = "2025-05-20T15:00:00"
NOW = datetime(2026, 3, 1, 0, 30, tzinfo=ZoneInfo("Asia/Shanghai"))


@pytest.mark.parametrize("language", ["zh", "en"])
def test_the_sample_month_is_in_order_and_ends_yesterday(language: str) -> None:
    times = [exchange.at for exchange in demo.month(language, NOW)]
    assert times == sorted(times) and len(times) > 20
    assert times[-1].date() == NOW.date() - timedelta(days=1)
    assert NOW - times[0] < timedelta(days=45)


def test_the_house_of_the_demo_holds_each_characters_month_and_goes_when_it_closes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    month = demo.month
    monkeypatch.setattr(demo, "month", lambda language, now: month(language, now)[-2:])
    config = tmp_path / "config.yaml"
    config.write_text("embedding: {provider: hash}\n", encoding="utf-8")
    with demo.house(config, DAY) as house:
        assert house.clock.now().isoformat().startswith(DAY) and sorted(demo.CHARACTERS) == ["Wren", "青禾"]
        folder = house.data.parent
        assert folder.name.startswith("moechat-demo-")
        for name, language in demo.CHARACTERS.items():
            agent = house.agent(name)
            exchanges = [(shown.exchange.at, shown.exchange.user, shown.exchange.char) for shown in agent.recent(9)]
            assert exchanges == [(one.at, one.user, one.char) for one in month(language, house.clock.now())[-2:]]
            assert not agent.store.tree.pending()
    assert not folder.exists()
