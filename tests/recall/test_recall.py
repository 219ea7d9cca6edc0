"""The pipeline: recipes side by side, fused, merged, within the budget, and nothing lost without a reason."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moechat.cue import Cue
from moechat.language.words import count_tokens
from moechat.model import Candidates, Exchange, Hit, Recollection
from moechat.recall.pipeline import RRF_K, Budget, Recipe, fused, recall
from moechat.turn import exchange_text
from tests.houses import moment

NOW = moment("2025-05-21T15:00:00")


@pytest.fixture(scope="module")
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as pool:
        yield pool


def hit(id_: str, *, layer: str = "diary", text: str = "", side: str = "user", **more: Any) -> Hit:
    return Hit(layer, "", id_, text or f"记忆{id_}", 0.0, side=side if layer == "diary" else "", **more)  # type: ignore[arg-type]


def recipe(name: str, *found: Hit | tuple[Hit, str], **more: Any) -> Recipe:
    candidates: Candidates = [one if isinstance(one, tuple) else (one, "") for one in found]
    return Recipe(name, more.pop("layer", "diary"), lambda _: candidates, **more)


def run(pool: ThreadPoolExecutor, *recipes: Recipe, **more: Any) -> Recollection:
    options: dict[str, Any] = {"deadline_s": 20.0, "budget": Budget(10_000), "widen": lambda hits: hits} | more
    return recall(Cue("你好", NOW), recipes, pool=pool, **options)


def ids(found: Recollection) -> list[str]:
    return [one.id for one in found.hits]


def why(found: Recollection) -> dict[str, str]:
    return {d.hit.id + d.hit.side[:1]: d.why for d in found.dropped}


def test_lists_are_fused_by_reciprocal_rank_with_a_weight_each(pool: ThreadPoolExecutor) -> None:
    found = run(pool, recipe("one", hit("a"), hit("b"), hit("c")), recipe("two", hit("c"), hit("b"), weight=2.0))
    scores = {
        "a": 1 / (RRF_K + 1),
        "b": 1 / (RRF_K + 2) + 2 / (RRF_K + 2),
        "c": 1 / (RRF_K + 3) + 2 / (RRF_K + 1),
    }
    assert ids(found) == sorted(scores, key=lambda key: -scores[key])


def test_a_memory_that_two_recipes_found_is_one_hit_with_the_features_of_both(pool: ThreadPoolExecutor) -> None:
    a = hit("a", features={"time": 1.0}), hit("a", features={"cosine": 0.5}, words=("火锅",))
    (found,) = run(pool, recipe("by_time", a[0]), recipe("events", a[1])).hits
    assert (found.features, found.words) == ({"time": 1.0, "cosine": 0.5}, ("火锅",))


def test_both_sides_of_an_exchange_are_one_hit(pool: ThreadPoolExecutor) -> None:
    found = run(pool, recipe("events", hit("a", side="char"), hit("b"), hit("a", side="user")))
    assert ids(found) == ["a", "b"]
    assert why(found) == {"au": "merged"}


def test_an_exchange_in_the_context_is_dropped_facts_and_lore_are_not(pool: ThreadPoolExecutor) -> None:
    found = run(
        pool,
        recipe("events", hit("a"), hit("b")),
        recipe("profile", hit("f", layer="core", sources=("a",)), layer="core"),
        recipe("lore", hit("l", layer="lore"), layer="lore"),
        in_context={"a"},
    )
    assert ids(found) == ["f", "l", "b"]
    assert why(found) == {"au": "in_context"}


def test_a_recipe_that_fails_is_reported_and_costs_nothing_else(pool: ThreadPoolExecutor) -> None:
    def fail(_: Cue) -> Candidates:
        raise ValueError("it broke")

    found = run(pool, Recipe("broken", "diary", fail), recipe("events", hit("a")))
    assert ids(found) == ["a"]
    (notice,) = found.notices
    assert "broken" in notice
    assert "it broke" in notice


def test_a_recipe_that_is_late_is_reported_and_left_out(pool: ThreadPoolExecutor) -> None:
    gate = threading.Event()

    def wait(_: Cue) -> Candidates:
        gate.wait(20)
        return [(hit("late"), "")]

    found = run(pool, Recipe("slow", "diary", wait), recipe("events", hit("a")), deadline_s=0.2)
    gate.set()
    assert ids(found) == ["a"]
    assert ["slow" in notice for notice in found.notices] == [True]


def test_all_recipes_share_one_cue_and_each_of_its_parts_is_computed_once(pool: ThreadPoolExecutor) -> None:
    made: list[str] = []
    together = threading.Barrier(3, timeout=20)

    def make() -> str:
        made.append("x")
        return "x"

    def ask(cue: Cue) -> Candidates:
        together.wait()
        cue.once("part", make)
        return []

    run(pool, *(Recipe(str(i), "diary", ask) for i in range(3)))
    assert made == ["x"]


def test_a_part_that_failed_once_is_tried_again() -> None:
    cue, tries = Cue("你好", NOW), [ValueError("no"), None]

    def make() -> str:
        if error := tries.pop(0):
            raise error
        return "made"

    with pytest.raises(ValueError, match="no"):
        cue.once("part", make)
    assert cue.once("part", make) == "made"


def test_a_recipe_hands_over_its_limit_and_the_rest_is_told(pool: ThreadPoolExecutor) -> None:
    found = run(pool, recipe("events", hit("a"), hit("a", side="char"), hit("b"), hit("c"), limit=2))
    assert ids(found) == ["a", "b"]
    assert why(found) == {"ac": "merged", "cu": "limit"}


def test_what_one_recipe_refuses_another_may_hand_over(pool: ThreadPoolExecutor) -> None:
    found = run(
        pool, recipe("events", (hit("a"), "below_threshold"), (hit("b"), "outside_span")), recipe("by_time", hit("a"))
    )
    assert ids(found) == ["a"]
    assert why(found) == {"bu": "outside_span"}


def test_the_budget_is_kept_and_each_layer_can_count_on_its_share(pool: ThreadPoolExecutor) -> None:
    long = "很长的一段话" * 10
    size = count_tokens(long)
    lore = [hit(f"l{i}", layer="lore", text=long) for i in range(10)]
    found = run(
        pool,
        recipe("lore", *lore, layer="lore", weight=9.0),
        recipe("events", hit("d", text=long)),
        recipe("profile", hit("f", layer="core", text=long), layer="core"),
        budget=Budget(5 * size + 2, {"diary": 0.3, "core": 0.25, "lore": 0.2}),
    )
    assert sorted(ids(found)) == ["d", "f", "l0", "l1", "l2"]
    assert set(why(found).values()) == {"budget"}
    assert sum(one.tokens for one in found.hits) <= 5 * size + 2


def test_a_memory_that_would_fill_the_budget_alone_is_shortened(pool: ThreadPoolExecutor) -> None:
    found = run(pool, recipe("events", hit("a", text="很长" * 5000), hit("b")), budget=Budget(1000))
    assert ids(found) == ["a", "b"]
    assert found.hits[0].text.endswith("…")
    assert sum(one.tokens for one in found.hits) <= 1000


layers = st.sampled_from(["diary", "core", "lore"])
hits = st.lists(
    st.tuples(layers, st.integers(0, 9), st.integers(1, 60), st.sampled_from(["user", "char"])), max_size=25
)


@given(st.lists(hits, max_size=3), st.integers(0, 200), st.sets(st.integers(0, 9)))
def test_nothing_is_lost_without_a_reason_and_the_budget_always_holds(
    found: list[list[tuple[str, int, int, str]]], tokens: int, context: set[int]
) -> None:
    recipes = [
        recipe(
            str(n),
            *(hit(str(i), layer=layer, text="字" * size, side=side) for layer, i, size, side in dict.fromkeys(one)),
            limit=n,
        )
        for n, one in enumerate(found)
    ]
    with ThreadPoolExecutor(2) as workers:
        out = run(
            workers,
            *recipes,
            budget=Budget(tokens, {"diary": 0.3, "core": 0.15, "lore": 0.15}),
            in_context={str(i) for i in context},
        )
    assert sum(one.tokens for one in out.hits) <= tokens
    shown = [(one.layer, one.id) for one in out.hits if one.layer == "diary"]
    assert len(shown) == len(set(shown)), "one hit per exchange"
    everything = {(one.layer, one.id, one.side) for r in recipes for one, _ in r.run(Cue("", NOW))}
    told = {(one.layer, one.id, one.side) for one in [*out.hits, *(d.hit for d in out.dropped)]}
    assert told == everything == {(one.layer, one.id, one.side) for one in out.ranked}


def test_diary_hits_are_widened_to_their_whole_exchange(pool: ThreadPoolExecutor) -> None:
    told = Exchange("a", NOW, "我讨厌香菜", "记住了")
    assert exchange_text(told, "阿明", "小满") == "阿明：我讨厌香菜\n小满：记住了"
    assert exchange_text(Exchange("b", NOW, "在吗", ""), "阿明", "小满") == "阿明：在吗"


def test_the_fused_order_of_nothing_is_nothing(pool: ThreadPoolExecutor) -> None:
    assert fused([], {}) == []
    assert run(pool).hits == []
