"""A long conversation: context, overview and details never overlap, and nothing leaves the context before it is understood."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from pathlib import Path

import pytest

from benchmarks import year_talk
from benchmarks.year_talk import Said, Talk
from moechat.agent import Agent
from moechat.ai.scripted import ScriptedModel
from moechat.errors import ModelError
from moechat.language import words
from moechat.memory import context
from moechat.model import Message
from tests.houses import ZONE, Home, answer, polite, quoted, say, say_all, understanding


def told_apart(days: int) -> Iterator[Said]:
    """The scripted talk, every message with a number of its own."""
    number = 0
    for day in range(days):
        for said in Talk(seed=7, zone=ZONE).day(date(2025, 5, 21) + timedelta(days=day)):
            number += 1
            yield replace(said, text=f"{said.text}（第{number}句）")


def entangled(messages: Sequence[Message]) -> str:
    """Beside each event one of the exchanges around it, and one of its last exchange alone."""
    told = year_talk.understood(messages)
    if '"exchanges"' not in told:
        return told
    said = json.loads(told)
    for event in list(said["events"]):
        around = range(event["sources"][0], min(event["sources"][0] + 3, len(said["exchanges"])) + 1)
        said["events"] += [
            event | {"text": f"用户那几天都在说{event['object']}", "sources": list(around)},
            event | {"text": f"用户又想起{event['object']}", "sources": event["sources"][-1:]},
        ]
    return json.dumps(said, ensure_ascii=False)


@dataclass
class Prompts:
    """What stood in the assembled prompts of a talk, and where they overlap."""

    overlaps: list[str] = field(default_factory=list)
    overviews: list[int] = field(default_factory=list)
    recalled: int = 0
    of_several: int = 0

    def look(self, agent: Agent, said: Sequence[Said], messages: Sequence[Message]) -> None:
        """``said``: all that was said before this prompt."""
        *before, asked = messages
        talk = [message.content for message in before if message.role == "user"]
        system = "\n".join(message.content for message in before if message.role == "system")
        seen: set[str] = set()
        for one in said:
            times = talk.count(one.text) + system.count(f"阿明：{one.text}")
            seen.update([one.text] if times else [])
            self.recalled += f"阿明：{one.text}" in system
            if times > 1:
                self.overlaps.append(f"{asked.content}: {one.text} stands there {times} times")
        overview = system.partition("【前情提要】")[2].partition("【")[0]
        self.overviews.append(max(0, len(overview.splitlines()) - 3))
        for episode in agent.layers.episodes.get(id_ for _, id_, _ in agent.store.findings.changed(-1)).values():
            text, sources = (
                episode.event.text.replace("用户", "阿明", 1),
                agent.store.exchanges.of(episode.event.sources),
            )
            inside, elsewhere = text in overview, system.count(text) - overview.count(text)
            self.of_several += elsewhere > 0 and len(sources) > 1
            if episode.kind == "event" and inside + elsewhere > 1:
                self.overlaps.append(f"{asked.content}: {text} is told twice")
            for also in seen.intersection(one.user for one in sources.values()) if inside else ():
                if any(word not in text for word in words.keywords(also, 50)):
                    continue  # It says more than the event.
                self.overlaps.append(f"{asked.content}: {text} is in the overview, and {also} word for word")


@pytest.mark.parametrize(
    ("days", "agent_settings"),
    [(4, {}), (4, {"mem_thresholds": 0.9}), (2, {"context_length": 6})],
    ids=["by meaning and words", "by words", "with a short context"],
)
def test_context_overview_and_details_never_overlap(
    tmp_path: Path, days: int, agent_settings: dict[str, float]
) -> None:
    stream = {"enabled": True, "weight": 1.0, "limit": 6}
    recall = {"token_budget": 900, "recipes": {"stream": stream, "association": stream | {"all_events": True}}}
    home = Home.build(tmp_path, recall=recall, Agent=agent_settings)
    model, found, said = ScriptedModel(year_talk.reply, quoted(entangled)), Prompts(), list[Said]()
    with home.agent(model) as agent:
        for one in told_apart(days):
            home.clock.at = one.at
            say(agent, one.text)
            agent.settle_indexes()
            found.look(agent, said, model.requests[-1].messages)
            said.append(one)
            if one.ends:
                home.clock.advance(minutes=70)
                agent.jobs.tick()
                agent.settle_indexes()
    assert len(said) == 20 * days
    assert found.overlaps == []
    assert 5 < max(found.overviews) <= 10 and found.overviews[:6] == [0] * 6
    assert found.recalled > 80  # else nothing could overlap
    assert found.of_several > 1, "events of several exchanges were recalled as such"


# ---- nothing leaves before it is understood


def talk(home: Home, agent: Agent, numbers: Sequence[int]) -> None:
    for number in numbers:
        say(agent, f"第{number}句话")
        home.clock.advance(seconds=30)
        agent.jobs.settle()
        agent.settle_indexes()
        agent.jobs.tick()


def left(agent: Agent) -> list[int]:
    return [int(one.user[1:].partition("句")[0]) for one in context.path(agent.store)]


def together(model: ScriptedModel) -> list[list[int]]:
    """The exchanges of each extraction call."""
    return [[int(n) for n in re.findall(r"用户> 第(\d+)句话", asked[-1].content)] for asked, _ in model.questions]


def ends(count: int) -> str:
    return answer(count, scene_changed=True)


def test_a_scene_that_the_model_sees_ending_after_a_pause_sends_all(home: Home) -> None:
    model = understanding(ends)
    with home.agent(model) as agent:
        talk(home, agent, range(1, 16))
        assert (together(model), left(agent)) == ([], list(range(1, 16)))
        home.clock.advance(hours=1)
        agent.jobs.tick()
        assert (together(model), left(agent)) == ([list(range(1, 16))], [])
        talk(home, agent, [16])
        assert left(agent) == [16]


def test_where_every_exchange_is_understood_the_one_that_ends_the_scene_sends_all(home: Home) -> None:
    home.configure(understanding={"batch_size": 1})
    model = understanding()
    model._next_answer = lambda asked: answer(1, scene_changed="第15句话" in asked[-1].content)
    with home.agent(model) as agent:
        talk(home, agent, range(1, 15))
        assert left(agent) == list(range(1, 15))
        talk(home, agent, [15])
        assert left(agent) == []
    assert together(model) == [[number] for number in range(1, 16)]


def test_a_scene_that_ended_before_the_newest_exchange_cuts_nothing_more(home: Home) -> None:
    """The oldest ten of twenty: that their last one ended a scene says nothing about the other ten."""
    model = understanding(ends)
    with home.agent(model) as agent:
        talk(home, agent, range(1, 21))
        assert (together(model), left(agent)) == ([list(range(1, 11))], list(range(11, 21)))


def test_a_scene_that_ends_while_the_model_is_away_stays_until_it_is_understood(home: Home) -> None:
    away = [True]

    def make(count: int) -> str | ModelError:
        return ModelError("no_route", "nobody there") if away else answer(count)

    model = understanding(make)  # type: ignore[arg-type]
    with home.agent(model) as agent:
        talk(home, agent, range(1, 15))
        say(agent, "第15句话，晚安")
        agent.jobs.settle()
        agent.jobs.tick()
        assert left(agent) == list(range(1, 16)), "nothing leaves before it is understood"
        assert not len(agent.layers.episodes.view(home.clock.now()))
        away.clear()
        home.clock.advance(minutes=5)
        agent.jobs.tick()
        assert left(agent) == []
        assert agent.store.tree.pending() == []


def test_a_talk_that_waits_to_be_understood_is_told_by_nothing_else(home: Home) -> None:
    """At thirty rounds the talk leaves even so: no event tells of it yet, and it can be recalled word for word."""
    model = understanding(lambda _: ModelError("no_route", "nobody there"), polite)  # type: ignore[arg-type, return-value]
    with home.agent(model) as agent:
        talk(home, agent, range(1, 32))
        assert left(agent)[0] == 11
        prompt = "".join(message.content for message in model.requests[-1].messages)
        assert "【前情提要】" not in prompt
        assert "第3句话" in "".join(hit.text for hit in agent.recall("我的第3句话是什么").hits)


def test_what_a_talk_recalls_grows_stronger_with_the_events_that_tell_of_it(home: Home) -> None:
    with home.agent(ScriptedModel(year_talk.reply, year_talk.understood)) as agent:
        exchange = say(agent, "今天和小林在码头送走了一个纸风筝").exchange.id
        say_all(agent, "今天和老周在钟楼修好了一个木头拼图")
        state, ids = agent.store.state, agent.layers.episodes.view(home.clock.now()).ids
        home.clock.advance(days=1)
        say(agent, "还记得纸风筝吗")
        assert state.recalls(exchange) == 0, "not before the answer stands"
        agent.finish()
        citing = [episode.id for episode in agent.store.findings.citing([exchange])]
        assert citing and {id_ for id_ in ids if state.recalls(id_) == 1} >= set(citing)
        assert {state.strength(id_) for id_ in [exchange, *citing]} == {16}
