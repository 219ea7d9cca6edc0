"""Days that come round: each is named on its day, the day before where something is to be prepared, and goes with its source."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any

import pytest

from moechat.agent import Agent
from moechat.ai.scripted import ScriptedModel
from moechat.when.calendar import comes_round, lunar_date, lunar_day, lunar_year
from tests.houses import Home, moment, say, say_each

HEADS = ("【今天的日子】", "[Days that have come round]")


@pytest.fixture
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return Home.build(tmp_path_factory.mktemp("days"), now="2025-03-01T10:00:00")


def named(home: Home, agent: Agent, prompts: list[str], day: str, text: str = "中午吃了面") -> str:
    """The block of days in the prompt of a message on a day."""
    home.clock.at = moment(f"{day}T12:00:00")
    say(agent, text)
    start = max(prompts[-1].find(head) for head in HEADS)
    return prompts[-1][start:].split("\n\n")[0] if start >= 0 else ""


def test_every_day_of_the_lunar_calendar_is_found_again() -> None:
    day = date(1950, 1, 1)
    while day < date(2050, 1, 1):
        month, number, leap = lunar_date(day) or (0, 0, False)
        year = day.year - (day < (lunar_year(day.year) or (day,))[0])
        assert lunar_day(year, month, number, leap=leap) == day
        day += timedelta(days=1)


@pytest.mark.parametrize(
    ("first", "day", "lunar"),
    [
        ("2000-02-29", "2025-02-28", False), ("2000-02-29", "2024-02-29", False), ("1960-07-02", "2025-07-02", False),
        ("2025-10-06", "2026-09-25", True), ("2023-01-21", "2025-01-28", True),
    ],
)  # fmt: skip
def test_a_day_comes_round_by_sun_or_moon(first: str, day: str, lunar: bool) -> None:
    assert comes_round(date.fromisoformat(first), date.fromisoformat(day), lunar=lunar)


def test_29_february_is_kept_once_a_year() -> None:
    days = [date(2024, 1, 1) + timedelta(days=one) for one in range(730)]
    assert [str(day) for day in days if comes_round(date(2000, 2, 29), day)] == ["2024-02-29", "2025-02-28"]


def test_a_birthday_by_the_moon_is_named_on_its_day_and_the_day_before(
    home: Home, agent: Agent, prompts: list[str]
) -> None:
    say_each(home, agent, "我妈妈的生日是农历三月初八")
    assert not named(home, agent, prompts, "2025-04-03")
    assert "明天——阿明的妈妈的生日" in named(home, agent, prompts, "2025-04-04")
    assert "今天——阿明的妈妈的生日" in named(home, agent, prompts, "2025-04-05")
    assert not named(home, agent, prompts, "2025-04-06")
    assert "今天——" in named(home, agent, prompts, "2026-04-24")


def test_a_wedding_and_the_first_talk_come_round(home: Home, agent: Agent, prompts: list[str]) -> None:
    say_each(home, agent, "我们的结婚纪念日是10月1号")
    assert "结婚纪念日" in named(home, agent, prompts, "2026-10-01")
    assert "第一次说话" in named(home, agent, prompts, "2026-03-01")


def test_a_day_is_named_no_more_once_a_reply_named_it(home: Home, prompts: list[str]) -> None:
    def reply(messages: Sequence[Any]) -> str:
        prompts.append("\n".join(message.content for message in messages))
        return "对了，明天是你妈妈的生日。" if "明天——" in prompts[-1] else "嗯。"

    with home.agent(ScriptedModel(reply, understands=False)) as agent:
        say_each(home, agent, "我妈妈的生日是农历三月初八")
        assert named(home, agent, prompts, "2025-04-04")
        assert not named(home, agent, prompts, "2025-04-04")
        assert named(home, agent, prompts, "2025-04-05")


def test_three_prompts_of_a_day_are_enough(home: Home, agent: Agent, prompts: list[str]) -> None:
    say_each(home, agent, "我姐姐的生日是5月20日")
    blocks = []
    for _ in range(5):
        blocks.append(bool(named(home, agent, prompts, "2025-05-20")))
    assert blocks == [True, True, True, False, False]


def test_a_day_of_grief_is_named_softly_and_nothing_merry_beside_it(
    home: Home, agent: Agent, prompts: list[str]
) -> None:
    say_each(home, agent, "我爷爷2020年3月1号去世了", "我终于拿到驾照了")
    block = named(home, agent, prompts, "2026-03-01")
    assert "（轻声）今天——" in block and "爷爷" in block
    assert "驾照" not in block and "第一次说话" not in block


def test_the_birthday_of_somebody_who_died_is_no_merry_one(home: Home, agent: Agent, prompts: list[str]) -> None:
    say_each(home, agent, "我外婆的生日是6月3日")
    home.clock.at = moment("2025-07-01T12:00:00")
    say_each(home, agent, "我外婆昨天去世了")
    assert "（轻声）今天——" in named(home, agent, prompts, "2026-06-03")
    assert not named(home, agent, prompts, "2026-06-02")


def test_this_day_last_year_and_a_festival_that_was_shared(home: Home, agent: Agent, prompts: list[str]) -> None:
    say_each(home, agent, "我终于拿到驾照了")
    home.clock.at = moment("2025-10-06T20:00:00")
    say_each(home, agent, "今天中秋我们一家去看月亮")
    assert "一年前的今天说起：阿明终于拿到驾照了" in named(home, agent, prompts, "2026-03-01")
    assert "中秋" in named(home, agent, prompts, "2026-09-25")


def test_in_a_low_mood_the_merry_days_wait(home: Home, agent: Agent, prompts: list[str]) -> None:
    say_each(home, agent, "我姐姐的生日是5月20日")
    assert not named(home, agent, prompts, "2025-05-20", "我今天好难过，一直在哭")
    assert named(home, agent, prompts, "2025-05-20")


def test_a_day_goes_with_its_source(home: Home, agent: Agent, prompts: list[str]) -> None:
    say_each(home, agent, "我姐姐的生日是5月20日")
    (fact,) = (one for one in agent.layers.core.current() if one.draft.keyword == "生日")
    assert named(home, agent, prompts, "2025-05-20")
    agent.memories.forget(fact.draft.sources)
    home.clock.advance(days=365)
    assert "姐姐" not in named(home, agent, prompts, "2026-05-20")
    written = [path.read_bytes() for path in home.folder.rglob("*") if path.is_file()]
    assert not any("5月20日".encode() in text for text in written)


def test_switched_off_the_prompt_is_that_of_before(home: Home, agent: Agent, prompts: list[str]) -> None:
    say_each(home, agent, "我姐姐的生日是5月20日")
    with_day = named(home, agent, prompts, "2025-05-20")
    home.configure(recall={"days": False})
    assert with_day and not named(home, agent, prompts, "2025-05-20")


def test_without_a_model_she_greets_with_the_day(home: Home) -> None:
    with home.connected() as house:
        agent = house.agent()
        say_each(home, agent, "我的生日是5月20日")
        home.clock.at = moment("2026-05-20T12:00:00")
        assert "你的生日是5月20日" in say(agent, "你好呀").exchange.char
