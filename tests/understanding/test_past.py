"""The past read anew: talk that the rules alone have read, when a model comes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from moechat.agent import Agent
from moechat.ai.scripted import Line, ScriptedModel
from moechat.errors import ModelError
from moechat.model import Exchange, Message, Usage
from tests.houses import Home, answer, edit, fact, moment, polite, say, silent, understanding

DAYS = ("我住在苏州", "我养了一只猫，叫团子", "我对花生过敏", "我喜欢爬山", "我搬到杭州了，我住在杭州")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return talked(Home.build(tmp_path, understanding={"batch_size": 1}))


def talked(home: Home) -> Home:
    """So many days, a message each, with no model."""
    with home.open(silent()) as house:
        for words in DAYS:
            say(house.agent(), words)
            house.agent().finish()
            home.clock.advance(days=1)
    return home


def keeping(usage: Usage | None = None, dies_after: int = 99) -> ScriptedModel:
    """A model that finds nothing new and keeps all that was found before; it answers so many times."""
    model = understanding()
    complete = model.answers
    assert callable(complete)
    kept = ScriptedModel(polite, lambda messages: reply(messages))

    def reply(messages: Sequence[Message]) -> Line | ModelError:
        if len(kept.questions) > dies_after:
            return ModelError("unreachable", "gone")
        return Line(str(complete(messages)), usage=usage)

    return kept


def read(model: ScriptedModel) -> list[str]:
    """What the user said in the talk that the model was shown, question by question."""
    lines = [messages[-1].content.splitlines() for messages, _ in model.questions]
    return [" ".join(line[4:] for line in shown if line.startswith("用户> ")) for shown in lines]


def read_on(agent: Agent) -> int:
    count = 0
    while agent.jobs.read_past():
        count += 1
    return count


def facts(agent: Agent) -> set[str]:
    return {one.text for one in agent.layers.core.current()}


def test_nothing_is_read_anew_before_it_is_wished_for(home: Home) -> None:
    with home.open(model := keeping()) as house:
        agent = house.agent()
        agent.jobs.tick()
        agent.settle_indexes()
        work = agent.past.work()
        assert (work.standing, work.exchanges, work.days, work.calls) == ("offered", 5, 5, 5)
        assert work.tokens > 5 * 500, "each call has the instructions in it"
        assert not agent.jobs.read_past() and model.questions == []
    with home.open(silent()) as house:
        assert house.agent().past.work().standing == "no_model"


def test_the_past_is_read_newest_first_once_and_nothing_is_lost(home: Home) -> None:
    with home.open(model := keeping()) as house:
        agent = house.agent()
        before = facts(agent)
        agent.past.begin()
        agent.jobs.tick()
        agent.jobs.tick()
        assert read(model) == [*DAYS[:-3:-1]], "the background takes one call at a time"
        read_on(agent)
        assert read(model) == [*DAYS[::-1]]
        assert facts(agent) == before and any("花生" in text for text in before)
        assert agent.past.work().standing == "nothing" and agent.store.tree.reread is None
        agent.past.begin()
        assert read_on(agent) == 0, "what a model has read is not read again"


def test_what_a_model_finds_is_merged_and_what_is_newer_holds(home: Home) -> None:
    suzhou = fact("用户住在苏州", 1, keyword="住址", target="苏州", single=True)
    cat = fact("用户的猫叫团子", 1, keyword="宠物", target="团子")

    def reads(messages: Sequence[Message]) -> str:
        shown = messages[-1].content
        return answer(
            1, facts=[one for one in (suzhou, cat) if f"用户> 我{'住在苏州' if one is suzhou else '养了'}" in shown]
        )

    with home.open(ScriptedModel(polite, reads)) as house:
        agent = house.agent()
        held = {one.id for one in agent.layers.core.current()}
        edit(agent.store.folder / "core_mem.yml", "花生", "花生和芝麻")
        agent.store.follow()
        agent.past.begin()
        agent.jobs.read_past()
        read_on(agent)
        now = facts(agent)
        assert "用户的猫叫团子" in now
        assert any("杭州" in text for text in now) and not any("苏州" in text for text in now)
        (mine,) = (one for one in agent.layers.core.current() if "花生" in one.text)
        assert ("芝麻" in mine.text, mine.by) == (True, "owner")
        assert {one.id for one in agent.store.findings.facts()} >= held - {mine.id}, "without a verdict nothing goes"


def test_it_goes_on_where_it_was_cut_short(home: Home) -> None:
    with home.open(keeping(dies_after=1)) as house:
        house.agent().past.begin()
        assert read_on(house.agent()) == 1
        assert house.agent().past.work().standing == "failing"
        assert len(house.agent().store.tree.pending()) == 1, "what had begun is queued"
    home.clock.advance(days=1)
    with home.open(model := keeping()) as house:
        agent = house.agent()
        agent.finish()
        read_on(agent)
        assert sorted(read(model)) == sorted(DAYS[:-1]), "neither the one that was read nor any twice"
        assert agent.past.work().exchanges == 0 and agent.store.tree.pending() == []


def test_the_wish_outlives_a_restart_and_a_log_in_short(home: Home) -> None:
    with home.open(keeping()) as house:
        house.agent().past.begin(days=3)
        house.agent().jobs.read_past()
        home.clock.advance(days=30)
        assert house.agent().store.rewrite_log(home.clock.now())
    with home.open(model := keeping()) as house:
        read_on(house.agent())
        assert read(model) == [DAYS[3]], "of the last three days, today is empty and one was read"
        house.agent().past.begin()
        read_on(house.agent())
        assert read(model) == [DAYS[3], DAYS[2], DAYS[1], DAYS[0]]


def test_a_better_model_reads_again_what_another_has_read(home: Home) -> None:
    for again in (False, True):
        with home.open(model := keeping()) as house:
            house.agent().past.begin(again=again)
            read_on(house.agent())
            assert read(model) == [*DAYS[::-1]] and house.agent().store.tree.reread is None


def test_a_model_that_has_nothing_to_say_is_not_asked_for_ever(home: Home) -> None:
    with home.open(model := understanding(lambda _: '{"verbs": []}')) as house:
        agent = house.agent()
        before = facts(agent)
        agent.past.begin()
        read_on(agent)
        assert set(read(model)) == set(DAYS) and max(Counter(read(model)).values()) == 2, "it has two tries"
        assert facts(agent) == before and agent.store.tree.reread is None


def test_a_day_has_a_budget(home: Home) -> None:
    home.configure(understanding={"batch_size": 1, "past_tokens_a_day": 2000})
    with home.open(model := keeping(Usage(900, reply=200))) as house:
        agent = house.agent()
        agent.past.begin()
        assert read_on(agent) == 2, "the second call spends the rest"
        assert (agent.past.work().standing, agent.past.work().spent) == ("budget", 2200)
    with home.open(model := keeping(Usage(900, reply=200))) as house:
        assert read_on(house.agent()) == 0, "a restart gives no other budget"
        home.clock.advance(days=1)
        assert read_on(house.agent()) == 2 and len(model.questions) == 2


def test_it_stops(home: Home) -> None:
    with home.open(model := keeping()) as house:
        house.agent().past.begin()
        house.agent().jobs.read_past()
        house.agent().past.stop()
        assert not house.agent().jobs.read_past()
        house.agent().jobs.tick()
    with home.open(again := keeping()) as house:
        house.agent().jobs.tick()
        assert (len(model.questions), again.questions) == (1, [])
        assert house.agent().past.work().standing == "offered"


def test_it_gives_way_to_who_writes(home: Home) -> None:
    with home.open(model := keeping()) as house:
        model.has_one_slot = True
        agent = house.agent()
        agent.past.begin()
        turn = agent.talk("今天下雨了")
        next(turn)
        assert not agent.jobs.read_past()
        list(turn)
        agent.settle_indexes()
        agent.jobs.tick()
        assert "今天下雨了" not in read(model) and len(read(model)) == 0, "more may come at once"
        home.clock.advance(minutes=1)
        agent.jobs.tick()
        agent.jobs.tick()
        assert DAYS[-1] in read(model)


def test_what_is_taken_back_or_in_another_branch_is_not_read(home: Home) -> None:
    with home.open(model := keeping()) as house:
        agent = house.agent()
        ids = list(agent.store.tree.parents)
        agent.conversation.retract(ids[1])
        agent.past.begin()
        read_on(agent)
        assert read(model) == [words for words in DAYS[::-1] if words != DAYS[1]]


def test_an_import_is_past_too(tmp_path: Path) -> None:
    home = Home.build(tmp_path)
    with home.open(model := keeping()) as house:
        agent = house.agent()
        rows = [
            Exchange("", moment(f"2024-05-0{n}T12:00:00"), text, "好。")
            for n, text in enumerate(("我住在杭州", "我养了一只猫"), 1)
        ]
        agent.store.imports.add(rows, talk="从前")
        agent.jobs.read_imports(lambda done, of: None)
        agent.settle_indexes()  # What the background still writes would have the model asked once more.
        assert model.questions == [] and agent.past.work().calls == 1
        agent.past.begin()
        assert read_on(agent) == 1 and read(model) == ["我住在杭州 我养了一只猫"]
