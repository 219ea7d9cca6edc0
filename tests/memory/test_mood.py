"""The mood in which the last talk ended stands in the prompt for three days, without a word of what it was about."""

from __future__ import annotations

from moechat.agent import Agent
from moechat.model import Episode, Event
from tests.houses import Home, say


def moods(agent: Agent, prompts: list[str]) -> str:
    say(agent, "中午吃了面")
    start = prompts[-1].find("【上次的心情】")
    return prompts[-1][start:].split("\n\n")[0] if start >= 0 else ""


def talked(home: Home, agent: Agent, text: str, hours: float) -> None:
    say(agent, text)
    home.clock.advance(minutes=5)
    agent.finish()
    home.clock.advance(hours=hours)


def test_the_mood_of_the_last_talk_is_known_for_three_days(home: Home, agent: Agent, prompts: list[str]) -> None:
    talked(home, agent, "我被裁员了，今天好难过，一直在哭", 2)
    assert not moods(agent, prompts), "it stands in the talk itself"
    agent.finish()
    home.clock.advance(hours=20)
    assert moods(agent, prompts).endswith("- 2025-05-20，阿明：低落")
    assert "裁员" not in moods(agent, prompts)
    home.clock.advance(days=3)
    assert not moods(agent, prompts)


def test_a_model_names_the_feelings_of_both(home: Home, agent: Agent, prompts: list[str]) -> None:
    talked(home, agent, "今天去看了海", 0)
    (source,) = (one.exchange.id for one in agent.recent(1))
    felt = [
        Episode(
            f"felt{who}", agent.now(), Event(f"{who}：{what}", (source,), subject=who, emotion=what, importance=0.7)
        )
        for who, what in (("user", "轻松"), ("character", "想念"))
    ]
    with agent.store.writing():
        agent.store.findings.put(felt)
    home.clock.advance(hours=20)
    assert moods(agent, prompts).endswith("- 2025-05-20，阿明：轻松\n- 2025-05-20，小满：想念")
    assert "mood" in {hit.recipe for hit in agent.recall("你好").plans}


def test_it_goes_with_its_source_and_can_be_switched_off(home: Home, agent: Agent, prompts: list[str]) -> None:
    talked(home, agent, "今天好难过，一直在哭", 20)
    (source,) = (one.exchange.id for one in agent.recent(1))
    home.configure(recall={"mood": False})
    assert not moods(agent, prompts)
    home.configure(recall={"mood": True})
    assert moods(agent, prompts)
    agent.memories.forget([source])
    assert not moods(agent, prompts)
