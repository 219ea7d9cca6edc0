"""Her word to somebody who comes back: at most one an absence, resting on one memory, kept only where it is answered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from moechat.agent import Agent
from moechat.recall.greeting import Greeting
from moechat.verbs import owner, perform
from tests.houses import Home, moment, say, say_each, silent

ON: dict[str, Any] = {"greeting": {"enabled": True}}
DRIVING = "我今天终于拿到驾照了"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home.build(tmp_path, **ON)


def greeted(home: Home, agent: Agent, at: str) -> Greeting | None:
    home.clock.at = moment(at)
    row = perform(owner.VERBS["greet"], agent, {})["greeting"]
    return row and Greeting(**row)


def everything(home: Home) -> bytes:
    return b"\n".join(path.read_bytes() for path in home.folder.rglob("*") if path.is_file())


def test_she_mentions_what_was_told_once_an_absence(home: Home, agent: Agent) -> None:
    say_each(home, agent, DRIVING)
    word = greeted(home, agent, "2025-05-23T12:00:00")
    assert word and word.kind == "memory" and f"「{DRIVING}」" in word.text and "3天前" in word.text
    assert word.sources == tuple(one.exchange.id for one in agent.recent(1))
    assert greeted(home, agent, "2025-05-25T12:00:00") is None
    say_each(home, agent, "我回来了")
    assert greeted(home, agent, "2025-05-29T12:00:00") is None, "there is nothing else to say"


def test_a_plan_that_came_due_is_asked_after_and_counts_as_asked(home: Home, agent: Agent) -> None:
    say_each(home, agent, "我5月22号有面试")
    word = greeted(home, agent, "2025-05-23T12:00:00")
    assert word and word.kind == "plan" and "「我5月22号有面试」" in word.text
    assert word.id in agent.store.state.spent


def test_not_on_the_same_day_nor_too_soon_nor_in_quiet_hours(home: Home, agent: Agent) -> None:
    say_each(home, agent, DRIVING)
    for at in ("2025-05-20T22:00:00", "2025-05-21T09:00:00", "2025-05-21T23:30:00", "2025-05-22T07:59:00"):
        assert greeted(home, agent, at) is None, at
    assert greeted(home, agent, "2025-05-22T08:00:00")


def test_off_by_default(home: Home, agent: Agent) -> None:
    say_each(home, agent, DRIVING)
    home.configure(greeting={"enabled": False})
    agent.look()
    assert greeted(home, agent, "2025-05-23T12:00:00") is None


@pytest.mark.parametrize("last", ["我爷爷今天去世了", "我今天好难过，一直在哭", "我不想活了"])
def test_after_pain_she_says_nothing(home: Home, agent: Agent, last: str) -> None:
    say_each(home, agent, DRIVING, last)
    assert greeted(home, agent, "2025-05-23T12:00:00") is None


def test_what_is_delicate_or_off_limits_is_not_mentioned(home: Home, agent: Agent) -> None:
    say_each(home, agent, "我昨天被确诊了抑郁症", "中午吃了面", "下雨了", "地铁停了十分钟")
    assert greeted(home, agent, "2025-05-23T12:00:00") is None


def test_it_enters_the_record_only_where_it_is_answered(home: Home, agent: Agent) -> None:
    say_each(home, agent, DRIVING)
    word = greeted(home, agent, "2025-05-23T12:00:00")
    assert word and len(agent.recent(5)) == 1
    say(agent, "是啊，开心")
    before, answer = (one.exchange for one in agent.recent(2))
    assert (before.user, before.char) == ("", word.text) and answer.user == "是啊，开心"
    messages = agent.conversation.trace(answer.id).messages  # type: ignore[union-attr]
    assert word.text in [one.content for one in messages if one.role == "assistant"]
    assert all(one.content for one in messages)
    say(agent, "明天去练车")
    assert [one.exchange.user for one in agent.recent(9)].count("") == 1


def test_an_answer_after_another_absence_is_none(home: Home, agent: Agent) -> None:
    say_each(home, agent, DRIVING)
    word = greeted(home, agent, "2025-05-23T12:00:00")
    assert word
    say_each(home, agent, "你好")
    assert greeted(home, agent, "2025-05-28T12:00:00") is None
    assert [one.exchange.user for one in agent.recent(9)] == [DRIVING, "", "你好"]


@pytest.mark.parametrize("is_answered", [True, False])
def test_it_goes_with_what_it_rests_on(home: Home, agent: Agent, is_answered: bool) -> None:
    say_each(home, agent, DRIVING, "中午吃了面")
    word = greeted(home, agent, "2025-05-23T12:00:00")
    assert word and "驾照".encode() in everything(home)
    if is_answered:
        say_each(home, agent, "是啊")
    agent.memories.forget(word.sources)
    agent.finish()
    assert "驾照".encode() not in everything(home)
    assert greeted(home, agent, "2025-05-27T12:00:00") is None


def test_it_is_remembered_over_a_restart(home: Home) -> None:
    with home.agent(silent()) as agent:
        say_each(home, agent, DRIVING)
        word = greeted(home, agent, "2025-05-23T12:00:00")
    with home.agent(silent()) as agent:
        assert greeted(home, agent, "2025-05-24T12:00:00") is None
        say_each(home, agent, "嗯嗯")
        assert word and word.text in [one.exchange.char for one in agent.recent(2)]
