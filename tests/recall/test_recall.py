"""The pipeline: recipes side by side, fused, merged, within the budget, and nothing lost without a reason."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moechat.cue import Cue
from moechat.language.words import count_tokens
from moechat.model import Candidates, Exchange, Hit, Recollection
from moechat.recall.pipeline import RRF_K, Budget, Recipe, recall
from moechat.turn import exchange_text
from moechat.when import Span
from tests.houses import moment

NOW = moment("2025-05-21T15:00:00")
POOL = ThreadPoolExecutor(4)


def hit(id_: str, *, layer: str = "diary", text: str = "", side: str = "user", **more: Any) -> Hit:
    more = {"recipe": "", "score": 0.0, "side": side if layer == "diary" else ""} | more
    return Hit(layer, id=id_, text=text or f"记忆{id_}", **more)  # type: ignore[arg-type]


def recipe(name: str, *found: Hit | tuple[Hit, str], **more: Any) -> Recipe:
    candidates: Candidates = [one if isinstance(one, tuple) else (one, "") for one in found]
    return Recipe(name, more.pop("layer", "diary"), lambda _: candidates, **more)


def run(*recipes: Recipe, **more: Any) -> Recollection:
    options: dict[str, Any] = {"deadline_s": 20.0, "budget": Budget(10_000), "widen": lambda hits: hits} | more
    return recall(Cue("你好", NOW), recipes, pool=POOL, **options)


def ids(found: Recollection) -> list[str]:
    return [one.id for one in found.hits]


def why(found: Recollection) -> dict[str, str]:
    return {d.hit.id + d.hit.side[:1]: d.why for d in found.dropped}


def test_the_newest_of_the_same_tellings_stands_for_all_with_their_days() -> None:
    days = [moment(f"2025-05-{day:02}T08:00:00") for day in (3, 9, 14)]
    queue = [hit(f"q{day:%d}", text=f"{when}健身房要排队{end}", time=day) for day, when, end in zip(
        days, ("", "今天", "昨天"), ("", "～", "。"), strict=True
    )]  # fmt: skip
    found = run(recipe("events", *queue, hit("pool", text="泳池也要排队"), hit("late", text="器材坏了"), limit=2))
    assert ids(found) == ["q14", "pool"]
    assert found.hits[0].again == (days[0], days[1])
    assert why(found) == {"q03u": "merged", "q09u": "merged", "lateu": "limit"}


def test_lists_are_fused_by_reciprocal_rank_with_a_weight_each() -> None:
    found = run(recipe("one", hit("a"), hit("b"), hit("c")), recipe("two", hit("c"), hit("b"), weight=2.0))
    scores = {"a": 1 / (RRF_K + 1), "b": 1 / (RRF_K + 2) + 2 / (RRF_K + 2), "c": 1 / (RRF_K + 3) + 2 / (RRF_K + 1)}
    assert ids(found) == sorted(scores, key=lambda key: -scores[key])


def test_both_sides_of_an_exchange_are_one_hit() -> None:
    found = run(recipe("events", hit("a", side="char"), hit("b"), hit("a", side="user")))
    assert ids(found) == ["a", "b"]
    assert why(found) == {"au": "merged"}


def test_an_exchange_in_the_context_is_dropped_facts_and_lore_are_not() -> None:
    found = run(
        recipe("events", hit("a"), hit("b")),
        recipe("profile", hit("f", layer="core", sources=("a",)), layer="core"),
        recipe("lore", hit("l", layer="lore"), layer="lore"),
        in_context={"a"},
    )
    assert ids(found) == ["f", "l", "b"]
    assert why(found) == {"au": "in_context"}


def test_recipes_run_side_by_side_on_one_cue_each_of_whose_parts_is_computed_once() -> None:
    made: list[str] = []
    together = threading.Barrier(3, timeout=20)

    def make() -> str:
        made.append("x")
        return "x"

    def ask(cue: Cue) -> Candidates:
        together.wait()
        cue.once("part", make)
        return []

    found = run(*(Recipe(str(i), "diary", ask) for i in range(3)))
    assert (made, found.notices) == (["x"], [])


def test_a_part_that_failed_once_is_tried_again() -> None:
    cue, tries = Cue("你好", NOW), [ValueError("no"), None]

    def make() -> str:
        if error := tries.pop(0):
            raise error
        return "made"

    with pytest.raises(ValueError, match="no"):
        cue.once("part", make)
    assert cue.once("part", make) == "made"


def test_a_recipe_hands_over_its_limit_and_the_rest_is_told() -> None:
    found = run(recipe("events", hit("a"), hit("a", side="char"), hit("b"), hit("c"), limit=2))
    assert ids(found) == ["a", "b"]
    assert why(found) == {"ac": "merged", "cu": "limit"}


def test_what_one_recipe_refuses_another_may_hand_over() -> None:
    found = run(
        recipe("events", (hit("a"), "below_threshold"), (hit("b"), "outside_span")), recipe("by_time", hit("a"))
    )
    assert ids(found) == ["a"]
    assert why(found) == {"bu": "outside_span"}


def test_the_budget_is_kept_and_each_layer_can_count_on_its_share() -> None:
    long = "很长的一段话" * 10
    size = count_tokens(long)
    lore = [hit(f"l{i}", layer="lore", text=long) for i in range(10)]
    found = run(
        recipe("lore", *lore, layer="lore", weight=9.0),
        recipe("events", hit("d", text=long)),
        recipe("profile", hit("f", layer="core", text=long), layer="core"),
        budget=Budget(5 * size + 2, {"diary": 0.3, "core": 0.25, "lore": 0.2}),
    )
    assert sorted(ids(found)) == ["d", "f", "l0", "l1", "l2"]
    assert set(why(found).values()) == {"budget"}
    assert sum(one.tokens for one in found.hits) <= 5 * size + 2


def test_a_memory_that_would_fill_the_budget_alone_is_shortened() -> None:
    found = run(recipe("events", hit("a", text="很长" * 5000), hit("b")), budget=Budget(1000))
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
    out = run(
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


def test_an_exchange_is_told_with_who_spoke_each_side() -> None:
    told = Exchange("a", NOW, "我讨厌香菜", "记住了")
    assert exchange_text(told, "阿明", "小满") == "阿明：我讨厌香菜\n小满：记住了"
    assert exchange_text(Exchange("b", NOW, "在吗", ""), "阿明", "小满") == "阿明：在吗"


def test_a_memory_keeps_the_hit_of_the_first_recipe_with_what_it_lacks_from_the_others() -> None:
    day = Span("昨天", NOW, NOW)
    first = hit("a", features={"cosine": 0.5}, score=3.0, recipe="events")
    other = hit("a", features={"cosine": 0.9, "time": 1.0}, words=("茶",), span=day, shorter=("短",), text="另一种说法")
    (joined,) = run(recipe("events", first), recipe("by_time", other)).hits
    assert (joined.text, joined.features) == ("记忆a", {"cosine": 0.5, "time": 1.0})
    assert (joined.words, joined.span, joined.shorter) == (("茶",), day, ("短",))


def test_equals_keep_the_order_of_the_recipes() -> None:
    assert ids(run(recipe("one", hit("a")), recipe("two", hit("b")), recipe("three", hit("c")))) == [
        "a",
        "b",
        "c",
    ]


def test_a_recollection_has_the_time_of_every_recipe_and_stage() -> None:
    found = run(recipe("events", hit("a")), recipe("stream"))
    assert set(found.timing_ms) == {"events", "stream", "recipes", "fuse", "merge", "total"}
    assert all(0 <= ms <= found.timing_ms["total"] for ms in found.timing_ms.values())


def test_a_late_or_broken_recipe_is_told_with_its_name_and_costs_nothing_else() -> None:
    gate = threading.Event()

    def wait(_: Cue) -> Candidates:
        gate.wait(20)
        return [(hit("late"), "")]

    def fail(_: Cue) -> Candidates:
        raise ValueError("it broke")

    others = Recipe("broken", "diary", fail), recipe("events", hit("a"))
    found = run(Recipe("slow", "diary", wait), *others, deadline_s=0.25)
    gate.set()
    assert ids(found) == ["a"]
    assert found.notices == ["slow: later than 250 ms, left out", "broken: failed (it broke), left out"]


@pytest.mark.parametrize(
    ("found", "empty"),
    [([], True), ([{"episode": "event"}], False), ([{"episode": None}], False), ([{"episode": "reflection"}], True)],
)
def test_a_time_is_empty_unless_something_was_recalled_from_it(found: list[dict[str, Any]], empty: bool) -> None:
    day = Span("昨天", NOW, NOW)
    hits = [hit("a", span=day, **more) for more in found]
    assert list(run(recipe("events", *hits), empty_spans=lambda _: [day]).empty_spans) == ([day] if empty else [])


def test_an_event_whose_exchanges_all_stand_in_the_context_is_not_told_again() -> None:
    whole = hit("e", episode="event", sources=("a", "b"))
    for context, dropped in (({"a", "b", "c"}, {"eu": "in_context"}), ({"a"}, {}), (set(), {})):
        assert why(run(recipe("events", whole), in_context=context)) == dropped
    thought = hit("r", episode="reflection", sources=("a",))
    by_hand = hit("h", episode="event")
    assert why(run(recipe("events", thought, by_hand), in_context={"a"})) == {}


def test_a_limit_counts_memories_and_what_another_recipe_passes_is_not_refused() -> None:
    events = recipe("events", hit("a"), (hit("x"), "below_threshold"), hit("b"), hit("c"), limit=1)
    found = run(events, recipe("by_time", hit("c")))
    assert sorted(ids(found)) == ["a", "c"]
    assert why(found) == {"xu": "below_threshold", "bu": "limit"}


def test_a_memory_too_long_for_its_share_of_the_budget_is_told_in_the_longest_of_its_lengths_that_fits() -> None:
    texts = ["很长" * 300, "较短" * 40, "短"]
    whole = hit("a", text=texts[0], shorter=tuple(texts[1:]))
    room = count_tokens(texts[1])
    for tokens, expected in ((room * 2 + 1, texts[1]), (room * 2 - 1, texts[2])):
        (shown,) = run(recipe("events", whole), budget=Budget(tokens, longest=0.5)).hits
        assert (shown.text, shown.tokens) == (expected, count_tokens(expected))


@pytest.mark.parametrize(
    "text", ["一二三四五六七八九十" * 100, "中文" * 150 + "x" * 5000], ids=["even", "denser first"]
)
def test_a_memory_that_has_no_shorter_form_is_cut_to_its_share(text: str) -> None:
    (shown,) = run(recipe("events", hit("a", text=text)), budget=Budget(500, longest=0.4)).hits
    assert shown.text.endswith("…") and text.startswith(shown.text[:-1])
    assert 199 <= shown.tokens == count_tokens(shown.text) <= 200


def test_a_memory_that_is_cut_still_says_something() -> None:
    (shown,) = run(recipe("events", hit("a", text="x" * 50)), budget=Budget(5, longest=0.2)).hits
    assert shown.text == "x…"


def test_what_has_no_budget_at_all_is_dropped_whole() -> None:
    found = run(recipe("events", hit("a")), budget=Budget(0))
    assert (ids(found), why(found)) == ([], {"au": "budget"})


def test_what_is_left_of_the_budget_goes_to_the_best_in_the_fused_order() -> None:
    texts = {"a": "甲" * 30, "b": "乙" * 30, "c": "丙" * 30}
    hits = [hit(id_, text=text) for id_, text in texts.items()]
    size = count_tokens(texts["a"])
    found = run(recipe("events", *hits), budget=Budget(2 * size, longest=1.0))
    assert ids(found) == ["a", "b"]
    lore = hit("l", layer="lore", text="丁" * 30)
    both = (recipe("events", *hits), recipe("lore", lore, layer="lore", weight=0.1))
    found = run(*both, budget=Budget(2 * size, {"lore": 0.5}, longest=1.0))
    assert ids(found) == ["a", "l"], "lore has half of it, in the place of its rank"


def test_a_reflection_takes_no_part_of_the_diarys_share() -> None:
    size = count_tokens("甲" * 30)
    thoughts = [hit(f"r{n}", text=f"{n}" + "甲" * 29, episode="reflection") for n in range(3)]
    said = hit("a", text="乙" * 30)
    rank = recipe("stream", *thoughts, said)
    assert "a" not in ids(run(rank, budget=Budget(2 * size, longest=1.0)))
    assert ids(run(rank, budget=Budget(2 * size, {"diary": 0.5}, longest=1.0))) == ["r0", "a"]
    only = run(recipe("events", said, *thoughts), budget=Budget(2 * size, {"reflections": 1.0}, longest=1.0))
    assert ids(only) == ["r0", "r1"]
