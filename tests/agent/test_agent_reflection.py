"""An agent thinks about its days by itself, and anew where words are taken back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from moechat.agent import Agent
from moechat.ai.scripted import ScriptedModel
from moechat.model import Episode, Message
from tests.houses import Home, answer, polite, quoted, say, say_all


def thinker() -> ScriptedModel:
    """Understands every exchange as a leap of great weight, and infers something from whatever it is shown."""

    def complete(messages: Sequence[Message]) -> str:
        asked = messages[-1].content
        numbers = re.findall(r"^(\d+)\. ", asked, re.MULTILINE)
        if "高层次问题" in asked:
            return "1. 用户为什么跳伞？\n2. 用户怕什么？\n3. 用户想要什么？"
        if "编号. 评分" in asked:
            return "\n".join(f"{number}. 7" for number in numbers)
        if "高层次的洞察" in asked:
            return f"1. 用户借跳伞忘掉烦恼：{asked.strip().splitlines()[-1]} [{', '.join(numbers)}]"
        count = len(re.findall(r"^\[\d+\] 20", asked, re.MULTILINE))
        leaps = [
            {"text": f"用户第{i}次跳伞", "importance": 9, "object": "伞", "sources": [i]} for i in range(1, count + 1)
        ]
        return answer(count, events=leaps)

    return ScriptedModel(polite, quoted(complete))


def reflections(agent: Agent) -> list[Episode]:
    view = agent.layers.episodes.view(agent.now())
    return [episode for episode in view.episodes(range(len(view))) if episode.kind == "reflection"]


def test_what_adds_up_is_thought_about_recalled_and_thought_about_anew(tmp_path: Path) -> None:
    home = Home.build(tmp_path, reflection={"counter": 20})
    with home.agent(thinker()) as agent:
        ids = []
        for i in range(4):
            ids.append(say(agent, f"我今天第{i}次去跳伞了").exchange.id)
            home.clock.advance(minutes=5)
        agent.finish()
        assert len(reflections(agent)) == 3
        hits = [hit for hit in agent.recall("用户借跳伞忘掉烦恼").hits if hit.episode == "reflection"]
        assert hits
        assert set(hits[0].sources) <= set(ids)

        agent.conversation.retract(ids[1])
        agent.settle_indexes()
        assert all(ids[1] not in one.event.sources for one in reflections(agent))
        home.clock.advance(hours=2)
        agent.jobs.tick()
        agent.jobs.tick()
        assert reflections(agent)


def test_without_a_model_nothing_is_thought_and_nobody_is_bothered(tmp_path: Path) -> None:
    home = Home.build(tmp_path, reflection={"counter": 1})
    with home.agent(ScriptedModel(polite, understands=False)) as agent:
        say_all(agent, "我昨天第一次跳伞了")
        assert agent.jobs.reflect() is None
        assert "needs a language model" in agent.reflection.problem
        assert not reflections(agent)
        assert not [one for one in agent.problems() if "reflection" in one]


def test_thinking_that_fails_keeps_nothing_else_from_being_done(tmp_path: Path) -> None:
    def broken(messages: Sequence[Message]) -> str:
        if "高层次问题" in messages[-1].content:
            raise RuntimeError("a fault of the program")
        return thinker().complete(messages, timeout_s=1)

    home = Home.build(tmp_path, reflection={"counter": 20})
    with home.agent(ScriptedModel(polite, broken)) as agent:
        for i in range(4):
            say(agent, f"我今天第{i}次去跳伞了")
            home.clock.advance(minutes=5)
        agent.finish()
        assert not reflections(agent)
        assert agent.store.state.cleaned is not None


def test_what_a_program_that_runs_for_years_notes_of_use_is_summed_up(home: Home) -> None:
    with home.agent(ScriptedModel(polite)) as agent:
        say_all(agent, "我今天跳伞了")
        with agent.store.writing("use"):
            agent.store.state.write([{"op": "touch", "ids": ["a"] * 1_000, "at": home.clock.now().isoformat()}] * 200)
        home.clock.advance(minutes=60 * 24 * 8)
        say(agent, "我今天又跳伞了")
        home.clock.advance(minutes=61)
        agent.jobs.tick()
        agent.settle_indexes()
        assert (home.folder / "state.jsonl").stat().st_size < 10_000
        assert agent.store.state.recalls("a") == 200_000
