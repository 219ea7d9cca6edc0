"""A model reads anew what the rules (or a model) read before: what it keeps, refines, calls wrong or passes over."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from moechat.agent import Agent
from moechat.ai.scripted import ScriptedModel
from moechat.curation import forgetting
from moechat.model import Message, RefusedItem
from tests.houses import Home, House, answer, edit, fact, polite, quoted, say, silent


def verdicts(*rows: tuple[int, str, str], facts: Sequence[Mapping[str, Any]] = (), count: int = 1) -> str:
    whole = json.loads(answer(count, facts=list(facts)))
    return json.dumps(whole | {"verbs": [{"number": n, "verb": v, "quote": w} for n, v, w in rows]}, ensure_ascii=False)


def tea(target: str = "茶", text: str = "用户喜欢茶", **more: Any) -> dict[str, Any]:
    return fact(text, 1, keyword="喜好", target=target) | more


def standing(agent: Agent) -> dict[str, tuple[str, bool | None]]:
    return {fact.text: (fact.by, fact.confirmed) for fact in agent.layers.core.current()}


@pytest.fixture
def house(home: Home) -> Iterator[House]:
    with home.open(silent()) as house:
        yield house


def after(house: House, *answers: str, words: str = "我喜欢茶") -> tuple[dict[str, tuple[str, bool | None]], Agent]:
    """The facts that hold once the rules have read the words and a model gave these answers, one after the other."""
    agent = house.agent()
    exchange = say(agent, words).exchange.id
    agent.jobs.settle()
    for text in answers:
        house.model = ScriptedModel(polite, quoted([text]))
        agent.store.requeue([exchange])
        agent.jobs.roll(closing=True)
        assert agent.store.tree.pending() == []
    return standing(agent), agent


def test_the_rules_reading_stands_until_a_model_has_judged_it(house: House) -> None:
    assert after(house)[0] == {"用户喜欢茶": ("rules", None)}


def test_a_model_keeps_what_the_rules_read(house: House) -> None:
    assert after(house, verdicts((1, "keep", "")))[0] == {"用户喜欢茶": ("rules", True)}


def test_what_a_trusted_model_passes_over_stays_unconfirmed_and_goes_first_when_memory_is_full(house: House) -> None:
    facts, agent = after(house, answer(1, facts=[tea("音乐", "用户喜欢音乐")]), words="我喜欢茶。我喜欢音乐")
    assert facts["用户喜欢茶"] == ("rules", False)
    (trace,) = [t for t in forgetting.traces(agent.store) if not t.confirmed]
    strong = forgetting.Trace("strong", 1, 0.0)
    assert forgetting.weakest([strong, trace]) == [trace, strong]


def test_the_same_words_confirm_and_become_the_models(house: House) -> None:
    assert after(house, answer(1, facts=[tea(text="用户喜欢茶")]))[0] == {"用户喜欢茶": ("model", True)}


def test_the_same_words_end_several_things_and_are_told_with_them(house: House) -> None:
    pill = tea("药", "用户每天吃降压药", mark="care", quote="每天吃降压药")
    facts, agent = after(
        house, answer(1, facts=[pill, tea("腿", "用户每天泡脚", quote="每天泡脚")]), words="我每天吃降压药，每天泡脚"
    )
    assert {"用户每天吃降压药", "用户每天泡脚"} <= facts.keys()
    facts, agent = after(house, verdicts(*((number, "ended", "都停了") for number in range(1, 5))), words="都停了")
    assert not {"用户每天吃降压药", "用户每天泡脚"} & facts.keys()
    told = {hit.text for hit in agent.recall("我还吃降压药没，还泡脚没").hits if hit.recipe == "former"}
    assert {"降压药" in text for text in told} == {True, False} and all(
        "现在不是了" in text and "“都停了”" in text for text in told
    )
    assert not [hit for hit in agent.recall("下雨了").hits if hit.recipe == "former"]


def test_a_refined_fact_takes_the_place_of_the_old_one_by_a_link(house: House) -> None:
    green = tea("绿茶", "用户喜欢喝绿茶", refines=1)
    facts, agent = after(house, verdicts((1, "refine", ""), facts=[green]), words="我喜欢茶，绿茶")
    assert facts["用户喜欢喝绿茶"] == ("model", None) and "用户喜欢茶" not in facts
    old, new = (
        next(f for f in agent.store.findings.facts() if f.text == text) for text in ("用户喜欢茶", "用户喜欢喝绿茶")
    )
    assert old.id in new.supersedes, "it stays, and comes up again where the new one goes"


def test_what_was_never_true_is_hidden_with_the_reason_and_comes_back_with_the_words_that_said_so(house: House) -> None:
    _, agent = after(house, answer(1, facts=[tea(text="用户喜欢茶")]))
    house.clock.advance(hours=1)
    taken_back = say(agent, "骗你的，茶我一口都不喝").exchange.id
    agent.jobs.settle()
    unsaid = {"number": 0, "verb": "never_true", "reason": "说着玩的", "quote": "骗你的"}

    def reads(messages: Sequence[Message]) -> str:
        number = re.search(r"^\((\d+)\) 用户喜欢茶$", messages[-1].content, re.MULTILINE)
        assert number
        return json.dumps(
            {"facts": [], "events": [], "verbs": [unsaid | {"number": int(number[1])}]}, ensure_ascii=False
        )

    house.model = ScriptedModel(polite, reads)
    agent.jobs.roll(closing=True)
    assert "用户喜欢茶" not in standing(agent)
    (hidden,) = [fact for fact in agent.store.findings.facts() if fact.text == "用户喜欢茶"]
    (ruling,) = agent.memories.get(hidden.id).replaced_by
    assert ruling.text == "并非真事（说着玩的）：“骗你的”"
    agent.conversation.retract(taken_back)
    assert "用户喜欢茶" in standing(agent)


def test_a_ruling_needs_words_of_the_users_and_a_model_that_is_trusted(house: House) -> None:
    music = tea("音乐", "用户喜欢音乐")
    facts, agent = after(house, verdicts((1, "never_true", "没说过的话"), facts=[music]), words="我喜欢茶。我喜欢音乐")
    assert facts["用户喜欢茶"] == ("rules", False), "it is passed over"
    (refused,) = agent.store.findings.refused()
    assert (refused.kind, refused.why) == ("verdict", "verdict")
    assert agent.store.state.trust == {"scripted": (1, 1)}


def test_between_models_only_a_verdict_replaces(house: House) -> None:
    music = tea("音乐", "用户喜欢音乐")
    both = [answer(1, facts=[tea(text="用户喜欢茶"), music]), answer(1, facts=[music])]
    facts, _ = after(house, *both, words="我喜欢茶。我喜欢音乐")
    assert facts["用户喜欢茶"] == ("model", True)


def test_what_the_owner_edited_is_never_touched_by_a_model(home: Home) -> None:
    with home.open(silent()) as house:
        agent = house.agent()
        exchange = say(agent, "我住在杭州").exchange.id
        agent.jobs.settle()
        edit(agent.store.folder / "core_mem.yml", "text: 用户住在杭州", "text: 用户住在苏州")
        agent.store.follow()
        lives = fact("用户如今住在杭州", 1, keyword="住址", target="杭州", single=True, refines=1)
        house.model = ScriptedModel(polite, [verdicts((1, "wrong", "我住在杭州"), facts=[lives])])
        agent.jobs.roll(closing=True)
        assert {fact.text: fact.by for fact in agent.layers.core.current()} == {"用户住在苏州": "owner"}
        agent.conversation.correct(exchange, user="今天下雨")
        (mine,) = agent.store.findings.facts()
        assert (mine.text, mine.draft.sources, mine.by) == ("用户住在苏州", (), "owner")


def test_an_owners_fact_can_get_another_id_with_its_use_when_it_loses_its_source(home: Home) -> None:
    with home.open(silent()) as house:
        agent = house.agent()
        exchange = say(agent, "我住在杭州").exchange.id
        agent.jobs.settle()
        (before,) = agent.store.findings.facts()
        mine = agent.memories.edit(before.id, "用户住在西湖边")
        agent.memories.pin([mine.id])
        agent.store.findings.uncite([exchange], anew=True)
        (after_,) = agent.store.findings.facts()
        assert (after_.text, after_.draft.sources, after_.id == before.id) == ("用户住在西湖边", (), False)
        assert agent.store.state.pinned == {after_.id}


def test_a_plan_of_an_earlier_day_is_given_up_by_later_talk(home: Home) -> None:
    planned = {"text": "用户打算去云南", "object": "云南", "status": "planned", "sources": [1]}
    given_up = {"text": "用户不去云南了", "object": "云南", "status": "cancelled", "sources": [1]}

    def reads(messages: Sequence[Message]) -> str:
        plan = re.search(r"^\((\d+)\) 用户打算去云南 \[计划\]$", messages[-1].content, re.MULTILINE)
        event = given_up | {"refines": int(plan[1])} if plan and "不去云南了" in messages[-1].content else planned
        return json.dumps({"facts": [], "events": [event]}, ensure_ascii=False)

    with home.open(ScriptedModel(polite, quoted(reads))) as house:
        agent = house.agent()
        for words in ("五一我想去云南", "云南我不去了，不去云南了"):
            say(agent, words)
            agent.finish()
            home.clock.advance(days=20)
        last, *_ = agent.memories.listed(("event",)).memories
        assert last.text == "用户不去云南了"
        assert "用户打算去云南" not in {one.text for one in agent.memories.listed(("event",)).memories}
        assert "用户打算去云南" in {one.text for one in agent.memories.get(last.id).replaced}


def test_the_newest_refusals_are_kept_and_go_with_the_exchange_that_they_cite(home: Home) -> None:
    with home.open(silent()) as house:
        agent = house.agent()
        first, second = (say(agent, words).exchange.id for words in ("我喜欢茶", "今天下雨"))
        agent.jobs.settle()
        findings = agent.store.findings
        findings.refuse([RefusedItem("fact", f"第{n}条", "evidence", (first, second)[n % 2 :][:1]) for n in range(250)])
        assert [one.text for one in findings.refused()] == [f"第{n}条" for n in range(50, 250)]
        agent.conversation.correct(first, user="别的")
        assert {one.sources for one in findings.refused()} == {(second,)}
        assert {one.at for one in findings.refused()} == {home.clock.now()}
        agent.conversation.retract(second)
        assert findings.refused() == []
        assert not (agent.store.folder / "refused.jsonl").exists()
