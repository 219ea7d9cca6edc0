"""Which recipes run, with which floors, and the models that may be asked before a reply."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from moechat.agent import Agent
from moechat.ai.embedding import HashEmbedder
from moechat.ai.scripted import ScriptedModel
from moechat.cue import Cue
from moechat.encoder.known import SHIPPED_THRESHOLDS
from moechat.errors import ModelError
from moechat.model import Event, Hit
from moechat.recall import touch
from moechat.recall.episodic import Episodic, TopicHelper
from moechat.recall.recipes import ConfiguredRecipes
from moechat.settings.prompts import Prompts
from moechat.settings.schema import TopicSettings
from tests.houses import DIM, Home, moment, silent
from tests.minds import EMBEDDER, Mind
from tests.owners import NOW

ALL = {name: {"enabled": True} for name in "by_time events stream association by_topic profile entities lore".split()}


def hit(score: float, *shared: str) -> Hit:
    return Hit("core", "profile", "f", "用户怕打雷", score, words=shared)


@contextmanager
def opened(folder: Path, *, understands: bool = False, **sections: Any) -> Iterator[tuple[Agent, ConfiguredRecipes]]:
    home = Home.build(folder, **sections)
    with home.agent(ScriptedModel(understands=understands) if understands else silent()) as agent:
        yield agent, agent.layers.recipes


@pytest.mark.parametrize(
    ("off", "names"),
    [
        ("", "by_time events stream association by_topic matters profile entities lore book understood"),
        ("long_memory", "profile entities lore book"),
        ("is_core_mem", "by_time events stream association by_topic matters lore book understood"),
        ("lore_books", "by_time events stream association by_topic matters profile entities understood"),
    ],
)
def test_a_layer_that_is_off_recalls_nothing(tmp_path: Path, off: str, names: str) -> None:
    switches = dict.fromkeys(("long_memory", "is_core_mem", "lore_books"), True) | ({off: False} if off else {})
    with opened(tmp_path, Agent=switches, recall={"recipes": ALL}) as (_, recipes):
        whatever_ranks = set() if off == "is_core_mem" else {"care", "about_user", "former"}
        assert {recipe.name for recipe in recipes.active()} == set(names.split()) | whatever_ranks


def test_the_floor_of_a_recipe_is_its_own_else_its_layers_else_that_of_the_embedding_model(tmp_path: Path) -> None:
    own = {"events": {"enabled": True, "threshold": 0.61}}
    with opened(tmp_path, Agent={"mem_thresholds": 0.42}, recall={"recipes": own}) as (_, recipes):
        assert (recipes.threshold("events"), recipes.threshold("stream")) == (0.61, 0.42)
        serving = recipes.dense.serving
        assert serving and recipes.threshold("lore") == serving.thresholds.lore


@pytest.mark.parametrize(("floor", "count"), [(-1.0, 1), (0.999, 0)])
def test_the_profile_brings_facts_from_its_own_floor_on(tmp_path: Path, floor: float, count: int) -> None:
    only = {name: {"enabled": False} for name in ALL} | {"profile": {"enabled": True, "threshold": floor}}
    with opened(tmp_path, recall={"recipes": only}) as (agent, _):
        agent.memories.add_fact("用户养了一只叫雪球的猫")
        agent.settle_indexes()
        recollection = agent.recall("外面下雨了")  # no word of the fact
        assert [hit.recipe for hit in recollection.hits] == ["profile"] * count


def test_a_floor_that_was_fitted_to_the_serving_model_goes_before_the_models_own(tmp_path: Path) -> None:
    fitted = {
        HashEmbedder(DIM).fingerprint: {"diary": 0.11, "core": 0.22, "lore": 0.33},
        "another model": {"diary": 0.9, "core": 0.9, "lore": 0.9},
    }
    with opened(tmp_path, embedding={"fitted": fitted}) as (_, recipes):
        assert [recipes.threshold(name) for name in ("events", "profile", "lore")] == [0.11, 0.22, 0.33]


@pytest.mark.parametrize(
    ("options", "understands", "seconds"),
    [
        ({}, True, 0.0),
        ({"cues_by_model": True, "timeout_s": 4}, True, 4.0),
        ({"evaluator": True, "timeout_s": 4}, True, 4.0),
        ({"cues_by_model": True, "evaluator": True, "timeout_s": 4}, True, 8.0),
        ({"cues_by_model": True, "evaluator": True}, False, 0.0),
    ],
)
def test_recall_waits_longer_only_for_a_model_that_is_asked_before_the_reply(
    tmp_path: Path, options: dict[str, Any], understands: bool, seconds: float
) -> None:
    for on, expected in ((True, seconds), (False, 0.0)):
        recipes = {"by_topic": {"enabled": on}}
        folder = tmp_path / str(on)
        with opened(folder, understands=understands, recall={"recipes": recipes, "topics": options}) as (_, configured):
            assert configured.patience_s == expected


# ---- topics


def recipes_of(mind: Mind) -> Episodic:
    recipes = mind.recipes()
    recipes.topics.sync()
    return recipes


def helper(root: Path, *answers: Any, **options: Any) -> TopicHelper:
    return TopicHelper(ScriptedModel(answers=answers), Prompts([root / "prompts"], "zh"), TopicSettings(**options))


def three(mind: Mind) -> list[str]:
    """The exchanges of three events under a topic, the newest first."""
    ids = []
    for text in ("吃了毛肚火锅", "买了火锅底料", "约了小林吃火锅"):
        ids.append(mind.tell(text, topic="饮食->火锅")[0])
        mind.home.clock.advance(days=1)
    return ids[::-1]


def test_a_topic_that_the_message_names_brings_its_events_as_many_as_allowed(mind: Mind) -> None:
    newest, second, oldest = three(mind)
    recipes, cue = recipes_of(mind), Cue("想吃火锅了", NOW)
    assert [(hit.id, why) for hit, why in recipes.by_topic(cue, 0, threshold=0.5)] == [
        (i, "") for i in (newest, second, oldest)
    ]
    [(hit, _)] = recipes.by_topic(cue, 1, threshold=0.5)
    assert (hit.id, hit.recipe, hit.text, hit.shorter) == (newest, "by_topic", "约了小林吃火锅", ("约了小林吃火锅",))
    assert "火锅" in hit.words and hit.score > 0


def test_a_topic_that_is_only_near_in_meaning_needs_to_be_near_enough(mind: Mind) -> None:
    mind.tell("吃了毛肚火锅", topic="饮食->火锅")
    cue = Cue("毛肚和火", NOW, embed=lambda texts: EMBEDDER.embed(texts, "query"))
    for floor, reason in ((-1.0, ""), (2.0, "below_threshold")):
        found = recipes_of(mind).by_topic(cue, 0, threshold=floor)
        assert {why for hit, why in found if not hit.words} <= {reason}


def test_a_model_may_choose_the_topics_and_what_helps(mind: Mind, root: Path) -> None:
    newest, second, oldest = three(mind)
    asked = helper(
        root, '{"topics": ["饮食→火锅"], "dates": []}', '{"helpful": [1, 3]}', cues_by_model=True, evaluator=True
    )
    found = recipes_of(mind).by_topic(Cue("晚上做什么好", NOW), 0, asked, threshold=0.5)
    assert [hit.id for hit, _ in found] == [newest, oldest]
    model = asked.model
    assert isinstance(model, ScriptedModel)
    shown = model.questions[1][0][-1].content
    assert "2025-05-22 约了小林吃火锅" in shown, "a model that weighs events sees when each was"
    assert second not in shown


def test_a_model_is_asked_only_what_it_was_switched_on_for(mind: Mind, root: Path) -> None:
    three(mind)
    cue = Cue("想吃火锅了", NOW)
    for options, answers in (
        ({}, []),
        ({"evaluator": True}, ['{"helpful": [2]}']),
        ({"cues_by_model": True}, ['{"topics": []}']),
    ):
        asked = helper(root, *answers, **options)
        recipes_of(mind).by_topic(cue, 0, asked, threshold=0.5)
        assert isinstance(asked.model, ScriptedModel) and len(asked.model.questions) == len(answers)


def test_a_model_that_fails_leaves_everything_to_the_words(mind: Mind, root: Path) -> None:
    expected = three(mind)
    failing = helper(
        root, ModelError("timeout", "late"), ModelError("timeout", "late"), cues_by_model=True, evaluator=True
    )
    found = recipes_of(mind).by_topic(Cue("想吃火锅了", NOW), 0, failing, threshold=0.5)
    assert [hit.id for hit, _ in found] == expected


def test_without_any_slice_no_model_is_asked_what_helps(mind: Mind, root: Path) -> None:
    asked = helper(root, evaluator=True)
    assert recipes_of(mind).by_topic(Cue("嗯嗯", NOW), 0, asked, threshold=0.5) == []
    assert isinstance(asked.model, ScriptedModel) and asked.model.questions == []


# ---- events and the times that are asked for


@pytest.mark.parametrize(
    ("happened", "why"),
    [
        (("2025-05-19T00:00:00", "2025-05-19T23:59:59"), ""),
        (("2025-05-18T00:00:00", "2025-05-19T00:00:00"), ""),
        (("2025-05-20T00:00:00", "2025-05-20T23:59:59"), "outside_span"),
        (("2025-05-18T00:00:00", "2025-05-18T23:59:59"), "outside_span"),
        (("2025-05-01T00:00:00", "2025-05-31T23:59:59"), "outside_span"),  # Far wider than the day.
    ],
)
def test_an_event_belongs_to_a_day_by_when_it_happened(mind: Mind, happened: tuple[str, str], why: str) -> None:
    mind.tell("放了风筝", keywords=("风筝",), happened=tuple(map(moment, happened)))
    [(hit, reason)] = mind.associated("2025年5月19日放了风筝吗？")
    assert reason == why
    assert (hit.span.phrase if hit.span else "") == ("" if why else "2025年5月19日")


def test_what_the_character_alone_said_is_a_hit_on_that_side(mind: Mind) -> None:
    store = mind.store
    id_ = store.log.begin("", mind.home.clock.now())
    store.log.finish(id_, "我给你折了纸船", "done")
    mind.home.clock.advance(minutes=1)
    store.log.settle()
    mind.understand(Event("角色折了纸船", (id_,), keywords=("纸船",)))
    [(hit, _)] = mind.associated("纸船")
    assert (hit.id, hit.side, hit.text, hit.shorter) == (id_, "char", "我给你折了纸船", ("角色折了纸船",))


@pytest.mark.parametrize(
    ("text", "near", "belong"),
    [
        ("手机快没电了", hit(0.21), False),  # nearer than the floor, as something always is
        ("外面轰隆隆的", hit(0.27), True),
        ("雪球呢", hit(0.1, "雪球"), True),
        ("我老家哪儿的", hit(0.21), True),
    ],
)
def test_facts_that_are_only_a_little_near_belong_to_no_message(text: str, near: Hit, belong: bool) -> None:
    assert touch.touches_facts(Cue(text, NOW), [near], [], 0.2) is belong
    assert touch.touches_facts(Cue(text, NOW), [near], [near], 0.2)


def test_how_readily_the_past_is_brought_up_is_relative_to_the_embedding_model(tmp_path: Path) -> None:
    wrong = []
    with opened(tmp_path) as (agent, recipes):
        embedder = agent.layers.dense.serving
        assert isinstance(embedder, HashEmbedder)
        for model, floors in SHIPPED_THRESHOLDS.items():
            embedder.thresholds = floors
            for recipe, own in (("events", floors.diary), ("profile", floors.core), ("lore", floors.lore)):
                often, usual, rarely = (recipes.threshold(recipe, word) for word in ("often", "sometimes", "rarely"))
                steps = [(usual - often) / (1 - own), (rarely - usual) / (1 - own)]
                if usual != own or not often < own < rarely < 1 or [round(step, 3) for step in steps] != [0.118, 0.147]:
                    wrong.append((model, recipe, often, usual, rarely))
    assert wrong == []


def test_whatever_the_embedding_model_some_fact_is_surely_near() -> None:
    cue = Cue("下雨天在家", NOW)
    floors = {model: floor.core for model, floor in SHIPPED_THRESHOLDS.items()}
    near = {
        model: [touch.touches_facts(cue, [hit(score)], [], floor) for score in (floor, 0.97)]
        for model, floor in floors.items()
    }
    assert {model: found for model, found in near.items() if found != [False, True]} == {}


def test_the_number_of_facts_that_a_search_takes_reaches_every_recipe_over_core_memory(tmp_path: Path) -> None:
    came: dict[int, dict[str, int]] = {}
    for top_k in (1, 5):
        with opened(tmp_path / str(top_k), Agent={"core_top_k": top_k}, recall={"recipes": ALL}) as (agent, recipes):
            for thing in ("爬山", "下棋", "看海", "钓鱼"):
                agent.memories.add_fact(f"用户喜欢{thing}", keyword="喜好", target=thing)
            for town in ("杭州", "上海", "成都", "厦门"):
                agent.memories.add_fact(f"用户住在{town}", keyword="住址", target=town, single=True)
            lived = agent.recall("我以前住在哪里").hits
            cue = agent.layers.cue("爬山、下棋、看海和钓鱼", agent.layers.now(), "")
            runs = {recipe.name: recipe.run for recipe in recipes.active()}
            came[top_k] = {name: len(runs[name](cue)) for name in ("profile", "entities")}
            came[top_k]["former"] = sum(hit.recipe == touch.FORMER for hit in lived)
    assert came == {1: {"profile": 1, "entities": 1, "former": 1}, 5: {"profile": 5, "entities": 4, "former": 3}}
