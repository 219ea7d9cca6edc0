"""Facts that were told several times become one, and nothing is lost or invented."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moechat.ai.scripted import ScriptedModel
from moechat.curation import forgetting
from moechat.errors import ModelError
from moechat.index.dense import Dense
from moechat.memory.core import CoreMemory
from moechat.model import Fact, FactDraft, Message
from moechat.settings.prompts import Prompts
from moechat.store.files import FileStore
from moechat.store.finding_records import visible
from moechat.store.formats import derived_id
from moechat.understanding.consolidation import MOST, consolidate, groups, joined, sound
from tests.houses import Home, moment, told

AT = moment("2025-05-20T15:00:00")
DAY = timedelta(days=1)
Summed = Callable[..., list[Fact]]


@pytest.fixture
def core(home: Home, store: FileStore) -> CoreMemory:
    return CoreMemory(store, Dense(home.folder / ".index", None))


@pytest.fixture
def prompts(root: Path) -> Prompts:
    return Prompts([root / "prompts"], "zh")


def known(text: str, source: str, day: int = 0, by: str = "model", **more: object) -> Fact:
    draft = FactDraft(text, (source,), **({"keyword": "兴趣"} | more))  # type: ignore[arg-type]
    return Fact(derived_id(text, (source,)), AT + day * DAY, draft, by=by)  # type: ignore[arg-type]


def texts(core: CoreMemory) -> list[str]:
    return [fact.text for fact in core.current()]


@pytest.fixture
def summed(store: FileStore, core: CoreMemory, prompts: Prompts) -> Summed:
    """Further facts are known, and what may be summed up is."""

    def sum_up(*facts: Fact, model: ScriptedModel | None = None) -> list[Fact]:
        store.findings.put(facts)
        return consolidate(store, core, model=model, prompts=prompts, names=("阿明", "小满"))

    return sum_up


def sums(*answers: str) -> ScriptedModel:
    told_ = {"facts": [{"id": i, "text": text} for i, text in enumerate(answers, 1)]}
    return ScriptedModel((), [json.dumps(told_, ensure_ascii=False)])


# ---- by rules


def test_what_differs_is_joined_and_the_subject_is_named_once(summed: Summed, core: CoreMemory) -> None:
    (one,) = summed(known("用户对星座感兴趣。", "a"), known("用户对绘画有研究", "b", 3))
    assert one.text == "用户对星座感兴趣；对绘画有研究"
    assert (one.consolidated, one.at, one.by, one.draft.sources) == (True, AT + 3 * DAY, "rules", ("a", "b"))
    assert core.current() == [one]
    assert {fact.text for fact in core.history()} == {"用户对星座感兴趣。", "用户对绘画有研究", one.text}


@pytest.mark.parametrize(
    ("parts", "whole"),
    [
        (["用户喜欢爬山", "用户喜欢爬山"], "用户喜欢爬山"),
        (["用户喜欢爬山", "用户喜欢爬山和游泳"], "用户喜欢爬山和游泳"),
        (["The user paints.", "The user reads the stars"], "The user paints; reads the stars"),
        (["妈妈会做饭", "她也会缝纫"], "妈妈会做饭；她也会缝纫"),
    ],
)
def test_texts_are_joined(parts: list[str], whole: str) -> None:
    assert joined(parts, ("用户", "The user", "妈妈")) == whole


@given(
    st.lists(
        st.sampled_from(["用户爱画画", "用户爱星座", "用户爱画画和书法", "书法", "用户看展"]), min_size=1, max_size=6
    )
)
def test_a_join_says_everything_that_its_parts_say(parts: list[str]) -> None:
    whole = joined(parts, ("用户",))
    assert all(part.removeprefix("用户") in whole for part in parts)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"target": "茶"}, {"target": "咖啡"}), ({"entity": "妈妈"}, {}), ({"keyword": "兴趣", "polarity": -1}, {}),
        ({"keyword": "技能"}, {}), ({"kind": "relation"}, {"kind": "relation"}),
        ({"keyword": "住址"}, {"keyword": "住址"}),
        ({"single": True, "keyword": "口头禅"}, {"single": True, "keyword": "口头禅"}),
        ({"keyword": ""}, {"keyword": ""}), ({"by": "owner"}, {}),
    ],
)  # fmt: skip
def test_what_is_about_something_else_stays_apart(one: dict, other: dict) -> None:
    assert groups([known("甲", "a", **one), known("乙", "b", **other)]) == []


def test_the_same_thing_told_in_two_ways_is_one(summed: Summed) -> None:
    plays = known("用户会弹琴", "a", keyword="技能", target="琴")
    (one,) = summed(plays, known("用户的琴弹得很好", "b", keyword="会", target="琴"))
    assert (one.text, one.draft.target) == ("用户会弹琴；的琴弹得很好", "琴")


def test_pinned_facts_are_left_as_they_are(summed: Summed, store: FileStore) -> None:
    parts = [known("用户爱画画", "a"), known("用户爱星座", "b")]
    with store.writing():
        store.state.write([{"op": "pin", "ids": [parts[0].id]}])
    assert summed(*parts) == []


def test_strength_goes_with_the_parts(summed: Summed, store: FileStore) -> None:
    parts = [known("用户爱画画", "a"), known("用户爱星座", "b")]
    store.findings.put(parts)
    with store.writing():
        store.state.touch([parts[0].id, parts[1].id], AT)
        store.state.touch([parts[0].id], AT + DAY)
    (one,) = summed()
    assert (store.state.strength(one.id), store.state.recalled(one.id)) == (1 + 3 * 15 + 1, AT + DAY)


def test_each_telling_after_the_first_strengthens(summed: Summed, store: FileStore) -> None:
    (one,) = summed(known("用户爱画画", "a"), known("用户爱星座", "b", 5), known("用户爱看展", "c", 45))
    assert (store.state.strength(one.id), store.state.updated(one.id)) == (1 + 7 + 100, AT + 45 * DAY)
    (whole,) = summed(known("用户爱书法", "d", 47))
    assert store.state.strength(whole.id) == 1 + 7 + 100 + 3


def test_a_sum_takes_in_what_comes_later(summed: Summed, core: CoreMemory) -> None:
    summed(known("用户爱画画", "a"), known("用户爱星座", "b", 1))
    (whole,) = summed(known("用户爱看展", "c", 2))
    assert whole.text == "用户爱画画；爱星座；爱看展"
    assert texts(core) == [whole.text]
    assert summed() == []


def test_one_part_that_says_it_all_becomes_the_sum(summed: Summed, core: CoreMemory) -> None:
    long = known("用户爱画画和书法", "b", 1)
    (one,) = summed(known("用户爱画画", "a"), long)
    assert (one.id, one.text, one.draft.sources) == (long.id, long.text, ("b", "a"))
    assert core.current() == [one]


def test_a_sum_does_not_grow_without_end() -> None:
    many = [known(f"用户爱好之{i}", f"s{i}", i) for i in range(30)]
    (group,) = groups(many)
    assert len(group) == MOST
    assert groups([known("长" * 190, "a"), known("短句子在这里有十多个字呢", "b")]) == []


def test_where_a_part_is_hidden_or_taken_back_the_others_hold_by_themselves(
    home: Home, store: FileStore, core: CoreMemory, summed: Summed
) -> None:
    a, b = (told(store, home.clock, text, settle=True) for text in ("我爱画画", "我爱星座"))
    assert summed(known("用户爱画画", a), known("用户爱星座", b)) == [], "a model is to read them yet"
    store.mark_understood([a, b], "model")
    (one,) = summed()
    assert texts(core) == [one.text]
    assert [f.text for f in visible(core.history(), {b})] == ["用户爱画画"], "another branch does not know the rest"
    store.log.retract(b)
    assert texts(core) == ["用户爱画画"]


def test_a_fact_that_another_branch_states_as_well_is_left_as_it_is(
    home: Home, store: FileStore, summed: Summed
) -> None:
    a, b = (told(store, home.clock, text, settle=True) for text in ("我爱画画和星座", "我真的爱画画"))
    twice = known("用户爱画画", a)
    store.findings.put([replace(twice, draft=replace(twice.draft, sources=(a, b))), known("用户爱星座", a)])
    store.mark_understood([a, b], "model")
    store.log.select(a)
    assert summed() == []
    store.log.select(b)
    assert len(summed()) == 1


def test_what_is_written_survives_the_files(home: Home, summed: Summed) -> None:
    (one,) = summed(known("用户爱画画", "a"), known("用户爱星座", "b"))
    fresh = home.store()
    assert one in fresh.findings.facts()
    fresh.close()


# ---- by a model


PARTS = ["用户周末常去爬山", "用户喜欢在西湖边爬山"]


def test_a_models_sentence_is_taken_where_it_is_sound(summed: Summed) -> None:
    model = sums("用户喜欢爬山，周末常去西湖边")
    (one,) = summed(known(PARTS[0], "a"), known(PARTS[1], "b", 1), model=model)
    assert (one.text, one.by) == ("用户喜欢爬山，周末常去西湖边", "model")
    ((asked, schema),) = model.questions
    assert "用户周末常去爬山" in asked[0].content
    assert schema is not None
    facts = schema["properties"]["facts"]
    assert facts["type"] == "array" and facts["items"]["type"] == "object"
    assert {key: value["type"] for key, value in facts["items"]["properties"].items()} == {
        "id": "integer",
        "text": "string",
    }


@pytest.mark.parametrize(
    ("text", "parts", "is_sound"),
    [
        ("用户喜欢爬山，周末常去西湖边", PARTS, True), ("用户喜欢爬山，周末常和女友去西湖边", PARTS, False),
        ("用户不喜欢爬山，周末常去西湖边", PARTS, False), ("用户喜欢爬山", ["用户不喜欢爬山", "用户讨厌爬高山"], False),
        ("用户3月爬山", ["用户3月爬过山", "用户在5月也爬山"], False),
        ("用户3月和5月爬山", ["用户3月爬过山", "用户在5月也爬山"], True),
        ("用户喜欢爬山，不去西湖边", ["用户喜欢爬山", "用户不去西湖边"], False),
        ("用户喜欢爬山，5岁就爬", ["用户喜欢爬山", "用户小时候就爬山"], False),
        ("The user goes hiking at weekends and likes lakes", ["The user likes lakes", "User goes hiking at weekends"], True),
        ("The user goes hiking with Anna and likes lakes", ["The user likes lakes", "User goes hiking"], False),
        ("", PARTS, False), ("用户喜欢爬山，周末常去西湖边。" * 5, PARTS, False),
    ],
)  # fmt: skip
def test_a_sentence_is_sound_that_adds_and_loses_nothing(text: str, parts: list[str], is_sound: bool) -> None:
    assert sound(text, parts, ("用户", "小满")) is is_sound


@pytest.mark.parametrize(
    "answer",
    [
        '{"facts": [{"id": 1, "text": "用户在西湖边和女友爬山，周末常去"}]}',
        '{"facts": [{"id": 2, "text": "用户喜欢爬山，周末常去西湖边"}]}',
        '{"facts": [{"id": "1", "text": 5}, 3, null]}',
        '{"facts": "none"}',
        "好的",
        "[]",
        ModelError("timeout", "late"),
    ],
)
def test_where_a_model_fails_or_invents_the_rules_stand_in(summed: Summed, answer: str | ModelError) -> None:
    (one,) = summed(known(PARTS[0], "a"), known(PARTS[1], "b", 1), model=ScriptedModel((), [answer]))
    assert (one.text, one.by) == ("用户周末常去爬山；喜欢在西湖边爬山", "rules")


def test_closing_waits_for_one_call_and_then_stores_nothing(
    store: FileStore, core: CoreMemory, prompts: Prompts
) -> None:
    facts = [known(f"用户{what}{i}", f"{what}{i}", keyword=f"事{i}") for i in range(30) for what in ("爱看", "常去")]
    store.findings.put(facts)
    stopping = threading.Event()

    def closes(_: Sequence[Message]) -> str:
        stopping.set()
        return '{"facts": []}'

    model = ScriptedModel((), closes)
    names = ("阿明", "小满")
    assert consolidate(store, core, model=model, prompts=prompts, names=names, stopping=stopping) == []
    assert len(model.questions) == 1 and len(core.current()) == len(facts)


def test_many_groups_are_asked_for_in_batches(summed: Summed) -> None:
    facts = [
        known(f"用户{verb}第{i}样东西", f"{verb}{i}", keyword=f"方面{i}") for i in range(12) for verb in ("爱", "收集")
    ]

    def answers(messages: Sequence[Message]) -> str:
        numbers = [line.split("]")[0][1:] for line in messages[0].content.splitlines() if line.startswith("[")]
        return json.dumps({"facts": [{"id": int(n), "text": ""} for n in numbers]})

    model = ScriptedModel((), answers)
    assert len(summed(*facts, model=model)) == 12
    assert len(model.questions) == 2


def test_a_fact_that_changed_while_the_model_was_thinking_is_left_for_the_next_time(
    store: FileStore, core: CoreMemory, summed: Summed
) -> None:
    parts = [known(PARTS[0], "a"), known(PARTS[1], "b", 1)]

    def meanwhile(_: object) -> str:
        store.findings.take_out([parts[0].id])
        return '{"facts": [{"id": 1, "text": "用户喜欢爬山，周末常去西湖边"}]}'

    assert summed(*parts, model=ScriptedModel((), meanwhile)) == []
    assert texts(core) == [PARTS[1]]


@settings(max_examples=20)
@given(st.lists(st.tuples(st.sampled_from(["兴趣", "习惯"]), st.sampled_from("甲乙丙丁")), max_size=8))
def test_nothing_that_was_known_is_lost(tmp_path_factory: pytest.TempPathFactory, said: list[tuple[str, str]]) -> None:
    home = Home.build(tmp_path_factory.mktemp("house"))
    store = home.store()
    core = CoreMemory(store, Dense(home.folder / ".index", None))
    facts = {f.id: f for i, (word, what) in enumerate(said) if (f := known(f"用户有{what}", f"s{i}", i, keyword=word))}
    store.findings.put(list(facts.values()))
    before = {(f.draft.keyword, f.text.removeprefix("用户")) for f in core.current()}
    consolidate(store, core, model=None, prompts=Prompts([], "zh"), names=("阿明", "小满"))
    after = core.current()
    assert all(any(word == f.draft.keyword and text in f.text for f in after) for word, text in before)
    assert set(forgetting.with_replaced([f.id for f in after], store.findings.links())) >= facts.keys()
    store.close()
