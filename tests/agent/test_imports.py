"""Imported talk behind an agent: the rules read it in the background, no model is asked about it, no turn waits for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from moechat.agent import Agent
from moechat.errors import NotFound
from moechat.model import Exchange
from tests.houses import Home, answer, moment, recalled, say, shown, understanding, waiting

WORDS = ("我养了一只叫年糕的猫", "我讨厌香菜", "昨天去了灵隐寺")


def old_talk(count: int = 3) -> list[Exchange]:
    at = moment("2021-03-04T20:00:00")
    return [Exchange("", at.replace(day=1 + n % 28), WORDS[n % 3] + "。" * (n // 3), "嗯嗯") for n in range(count)]


@contextmanager
def idle(agent: Agent) -> Iterator[Agent]:
    """The background has done what follows an opening, and does nothing more meanwhile."""
    agent.jobs.worker.wait()
    with waiting(agent):
        yield agent


def test_a_model_is_not_asked_about_what_was_imported(home: Home) -> None:
    model = understanding(lambda count: answer(count))
    with home.open(model) as house:
        with idle(house.agent()) as agent:
            agent.store.imports.add(old_talk(), talk="从前")
            assert (len(agent.store.tree.unread()), agent.store.tree.pending()) == (3, [])
        agent.jobs.read_imports(lambda done, of: None)
        agent.finish()
        assert model.questions == []
        assert agent.store.tree.unread() == []
        assert {fact.text for fact in agent.store.findings.facts()} >= {"用户不喜欢香菜"}
        assert {fact.by for fact in agent.store.findings.facts()} == {"rules"}


def test_what_another_process_imported_is_read_in_the_background(home: Home) -> None:
    with home.open() as house, home.open() as other:
        agent = house.agent()
        other.agent().store.imports.add(old_talk(90), talk="从前")
        agent.jobs.tick()
        agent.settle_indexes()
        assert agent.store.tree.unread() == []
        assert any("香菜" in fact.text for fact in agent.store.findings.facts())


def test_a_start_reads_what_was_left(home: Home) -> None:
    with home.agent() as agent:
        agent.store.imports.add(old_talk(), talk="从前")
    with home.agent() as agent:
        agent.settle_indexes()
        assert agent.store.tree.unread() == []


def test_an_imported_exchange_that_is_corrected_is_understood_like_any_other(home: Home) -> None:
    model = understanding(lambda count: answer(count))
    with home.agent(model) as agent:
        with idle(agent):
            agent.store.imports.add(old_talk(), talk="从前")
            agent.conversation.correct(agent.store.tree.numbered()[0], user="我养了一只叫汤圆的猫")
            assert (len(agent.store.tree.unread()), len(agent.store.tree.pending())) == (2, 1)
        agent.jobs.read_imports(lambda done, of: None)
        agent.finish()
        ((messages, _),) = model.questions
        assert "汤圆" in messages[-1].content and "去了灵隐寺" not in messages[-1].content


def test_reading_survives_that_the_log_is_shortened(home: Home) -> None:
    with home.open() as house, idle(house.agent()) as agent:
        store = agent.store
        store.imports.add(old_talk(), talk="从前")
        first, *others = store.tree.unread()
        store.mark_understood([first], "rules")
        store.rewrite_log(home.clock.now())
        assert (store.tree.unread(), store.tree.pending()) == (others, [])


def test_imported_talk_is_no_context_and_is_recalled(agent: Agent) -> None:
    agent.store.imports.add(old_talk(), talk="从前")
    agent.conversation.follow()
    assert agent.in_talk("从前").last_reply() == ""
    assert "年糕" in shown(recalled(agent, "我的猫叫什么"))


def test_taking_back_tells_what_goes_and_keeps_what_the_owner_wrote(agent: Agent) -> None:
    batch = agent.store.imports.add(old_talk(), talk="从前")
    agent.jobs.read_imports(lambda done, of: None)
    (fact,) = [fact for fact in agent.store.findings.facts() if "香菜" in fact.text]
    agent.memories.edit(fact.id, "用户吃香菜会不舒服")
    say(agent, "你好")
    lost = agent.memories.takes_back(batch)
    assert (len(lost.exchanges), lost.kept) == (3, [fact.id])
    assert agent.memories.take_back(batch) == lost
    assert [one.text for one in agent.store.findings.facts()] == ["用户吃香菜会不舒服"]
    for verb in (agent.memories.takes_back, agent.memories.take_back):
        with pytest.raises(NotFound, match="talks list"):
            verb(batch)


def test_what_a_kill_left_of_an_import_that_never_began_is_named(agent: Agent) -> None:
    agent.store.stage("ab12cd34", [replace(one, id=f"x{n}") for n, one in enumerate(old_talk())])
    (problem,) = agent.verify()["problems"]
    assert "ab12cd34.yaml: it belongs to no import" in problem
    agent.store.unstage("ab12cd34")
    assert agent.verify()["problems"] == []
