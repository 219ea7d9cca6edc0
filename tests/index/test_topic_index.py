"""The table of topics: goldens of seed 002, and the table against a slow oracle."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moechat.index.topic import TopicTable
from moechat.model import ActivationProfile
from moechat.rules.activation import corrected, profile_of, recency, score
from moechat.topic_path import is_within, moved, topic_path

NOW = 1_000_000_000.0
HOUR = 3600.0


@pytest.fixture(scope="session")
def partner(goldens: Path) -> dict:
    return json.loads((goldens / "partner.json").read_text(encoding="utf-8"))


def built(bindings: list) -> tuple[TopicTable, list[str]]:
    index, names = TopicTable(), []
    for path, slice_, age_h, related, profile in bindings:
        if slice_ not in names:
            names.append(slice_)
        index.record(names.index(slice_), path, NOW - age_h * HOUR, related, ActivationProfile(*profile))
    return index, names


# ---- paths


@pytest.mark.parametrize(
    ("written", "path"),
    [
        ("a->b->c", "a->b->c"), ("  a -> b->  c ", "a->b->c"), ("->a->->b->", "a->b"), ("饮食→火锅", "饮食->火锅"),
        ("饮食＞火锅 － ＞ 毛肚", "饮食->火锅->毛肚"), ("饮食 > 火锅", "饮食->火锅"),
        ("a －＞ b ⇒ c => d --> e", "a->b->c->d->e"), ("TCP/IP->ports\n80", "TCP/IP->ports 80"), (" -> ", ""), ("", ""),
    ],
)  # fmt: skip
def test_a_path_is_written_in_one_way(written: str, path: str) -> None:
    assert topic_path(written) == path
    assert topic_path(path) == path


@given(st.text(alphabet="ab ->→＞-\n", max_size=40))
def test_normalising_twice_changes_nothing(text: str) -> None:
    assert topic_path(topic_path(text)) == topic_path(text)


def test_a_path_has_bounds() -> None:
    assert topic_path("->".join("abcdefghijklmnop")).count("->") == 11
    assert len(topic_path("x" * 1000)) == 60


# ---- scores


def test_all_golden_scores(partner: dict) -> None:
    assert len(partner["scores"]) == 27
    for row in partner["scores"]:
        profile = ActivationProfile(row["activation"], row["diffusion"], row["context_independence"])
        assert score(row["source"], row["age_hours"], profile) == pytest.approx(row["decimal"], abs=1e-6)
        assert score(row["source"], row["age_hours"], profile) == pytest.approx(row["java"], abs=1e-6)


def test_null_is_the_default_and_values_are_held_to_the_unit_interval(partner: dict) -> None:
    default, clamp = partner["default_example"], partner["clamp_example"]
    assert score("PRIMARY", 1, None) == pytest.approx(default["score"])
    assert score("PRIMARY", 1, profile_of(clamp["profile"])) == pytest.approx(clamp["score"])
    assert score("PRIMARY", 1, ActivationProfile(*clamp["profile"])) == pytest.approx(clamp["score"])
    assert profile_of([None, 0.2, float("nan")]) == ActivationProfile(0.55, 0.2, 0.5)


def test_recency_goes_by_whole_days() -> None:
    ages = [-5, 0, 47.99, 48, 95.99, 96, 191.99, 192, 743.99, 744]
    assert recency(ages).tolist() == [0.30, 0.30, 0.30, 0.22, 0.22, 0.15, 0.15, 0.08, 0.08, 0.0]


def test_a_new_slice_is_corrected() -> None:
    alone = corrected((0.6, 0.9, 0.5), related=(), messages=1)
    assert alone == ActivationProfile(0.55, 0.45, 0.5)
    assert corrected((0.03, 0.9, 0.5), related=("x",), messages=0) == ActivationProfile(0.0, 0.9, 0.5)
    assert corrected(None, related=("x",), messages=2) == ActivationProfile()


# ---- scenarios


@pytest.mark.parametrize("name", list("ABCDEF"))
def test_scenarios(partner: dict, name: str) -> None:
    scenario = partner["scenarios"][name]
    index, names = built(scenario["bindings"])
    for path, expected in scenario["queries"].items():
        if expected is None:
            assert index.nearest(path) is None
        assert [names[found.key] for found in index.collect(path, NOW)] == (expected or [])
    if "tree" in scenario:
        assert index.tree() == scenario["tree"]


def test_the_features_of_a_found_slice_sum_to_its_score(partner: dict) -> None:
    index, _ = built(partner["scenarios"]["A"]["bindings"])
    for found in index.collect("proj->partner->memory", NOW):
        assert sum(found.features.values()) == pytest.approx(found.score, abs=1e-8)
        assert set(found.features) == {"source", "recency", "activation", "independence", "relation"}


def test_a_slice_bound_again_keeps_one_binding(partner: dict) -> None:
    index, _ = built(partner["scenarios"]["E"]["bindings"])
    again = next(binding for binding in index.bindings() if binding.path == "a")
    assert (again.t, again.related, again.profile.activation) == (NOW - 2 * HOUR, ("x", "y"), 0.6)


def test_an_unknown_path_is_answered_by_its_nearest_ancestor() -> None:
    index = TopicTable()
    index.record(1, "food->hotpot", NOW)
    assert index.nearest("food->hotpot->tripe->spicy") == "food->hotpot"
    assert [found.key for found in index.collect("food->hotpot->tripe", NOW)] == [1]
    assert index.collect("food->hotpot->tripe", NOW, exact=True) == []
    assert index.collect("sports", NOW) == []


def test_what_may_not_be_seen_takes_no_place() -> None:
    index = TopicTable()
    for key in range(10):
        index.record(key, "a->b", NOW - key * HOUR)
        index.record(100 + key, "a", NOW - key * HOUR)
    found = index.collect("a->b", NOW, limit=20, visible=lambda keys: keys % 2 == 1)
    assert [one.key for one in found] == [1, 3, 5, 7, 9, 101, 103]


def test_of_a_great_many_slices_the_best_are_those_of_a_full_sort() -> None:
    index, chance = TopicTable(), np.random.default_rng(3)
    for key in range(3000):
        index.record(
            key, "a", NOW - int(chance.integers(0, 90)) * 12 * HOUR, (), ActivationProfile(*chance.random(3).round(1))
        )
    every = [found.key for found in index.collect("a", NOW, limit=3000)]
    assert [found.key for found in index.collect("a", NOW)] == every[:5]


# ---- moving topics


def test_a_renamed_topic_takes_everything_with_it() -> None:
    index = TopicTable()
    index.record(1, "food->hotpot", NOW, ["friends"])
    index.record(2, "friends", NOW, ["food->hotpot"])
    index.move("food", "life->meals")
    assert index.paths() == ["life", "life->meals", "life->meals->hotpot", "friends"]
    assert [found.key for found in index.collect("friends", NOW)] == [2, 1]


def test_merging_unites_and_keeps_what_was_recorded_last() -> None:
    index = TopicTable()
    index.record(1, "eating", NOW - HOUR, ["a"], ActivationProfile(0.1, 0.1, 0.1))
    index.record(1, "food", NOW, ["b", "eating"], ActivationProfile(0.9, 0.9, 0.9))
    index.record(2, "eating", NOW)
    index.move("eating", "food")
    assert [(b.key, b.t, b.related, b.profile.activation) for b in index.bindings()] == [
        (1, NOW, ("a", "b"), 0.9), (2, NOW, (), 0.55),
    ]  # fmt: skip
    assert "eating" not in index


def test_a_topic_that_only_its_own_slice_named_takes_that_slice() -> None:
    index = TopicTable()
    index.record(1, "c", NOW, ["a"])
    index.record(2, "c", NOW - HOUR, ["a"])
    index.move("c", "a")
    assert index.tree() == ["a [root] {slices: 2}"]


def test_moves_apply_in_their_order() -> None:
    moves = [("a", "b"), ("b->x", "c"), ("c", "d->c")]
    assert [moved(path, moves) for path in ("a", "a->x", "a->x->y", "ab", "c")] == [
        "b", "d->c", "d->c->y", "ab", "d->c",
    ]  # fmt: skip


# ---- against a slow oracle


class Plain:
    """The same by lists: (path, key) → [place, t, related, profile]."""

    def __init__(self) -> None:
        self.bound: dict[tuple[str, int], list] = {}
        self.place = 0

    def record(self, key: int, path: str, t: float, related: list[str], profile: ActivationProfile) -> None:
        if not path:
            return
        self.place += 1
        known = self.bound.get((path, key), [self.place, 0, set(), None])
        self.bound[path, key] = [known[0], t, known[2] | set(related) - {path}, profile]

    def remove(self, key: int) -> None:
        self.bound = {at: value for at, value in self.bound.items() if at[1] != key}

    def move(self, old: str, new: str) -> None:
        before, self.bound = self.bound, {}
        for (path, key), (place, t, related, profile) in sorted(before.items(), key=lambda item: item[1][0]):
            path = moved(path, [(old, new)])
            value = [place, t, {moved(one, [(old, new)]) for one in related}, profile]
            if known := self.bound.get((path, key)):
                value = [known[0], value[1], known[2] | value[2], value[3]]
            self.bound[path, key] = value
        for (path, _), value in self.bound.items():
            value[2] -= {path}

    def paths(self) -> set[str]:
        named = {path for path, _ in self.bound} | {one for value in self.bound.values() for one in value[2]}
        return {"->".join(path.split("->")[:i]) for path in named for i in range(1, path.count("->") + 2)}

    def collect(self, path: str, now: float) -> list[int]:
        nodes = {node: self._of(node) for node in self.paths()}
        while path and path not in nodes:
            path = path.rpartition("->")[0]
        if not path:
            return []
        pools = [("PRIMARY", nodes[path])]
        parent = path.rpartition("->")[0]
        pools += [("PARENT", self._newest(nodes[parent]))] if parent else []
        named = {one for _, value in nodes[path] if value[3].diffusion > 0 for one in value[2]}
        pools += [("RELATED", self._newest(nodes[one])) for one in sorted(named)]
        scored = [
            (round(score(source, (now - value[1]) / HOUR, value[3]), 9), value[1], -value[0], key)
            for source, pool in pools
            for key, value in pool
        ]
        best: dict[int, tuple] = {}
        for row in sorted(scored, reverse=True):
            best.setdefault(row[3], row)
        return list(best)[:5]

    def _of(self, node: str) -> list[tuple[int, list]]:
        return [(key, value) for (path, key), value in self.bound.items() if path == node]

    def _newest(self, pool: list[tuple[int, list]]) -> list[tuple[int, list]]:
        return sorted(pool, key=lambda item: (-item[1][1], item[1][0]))[:2]


PATHS = st.lists(st.sampled_from("abc"), min_size=1, max_size=3).map("->".join)
TENTHS = st.integers(0, 10).map(lambda n: n / 10)
STEP = st.one_of(
    st.tuples(
        st.just("record"), st.integers(0, 7), PATHS, st.integers(0, 40).map(lambda n: NOW - n * 24 * HOUR),
        st.lists(PATHS, max_size=2), st.builds(ActivationProfile, TENTHS, TENTHS, TENTHS),
    ),
    st.tuples(st.just("remove"), st.integers(0, 7)),
    st.tuples(st.just("move"), PATHS, PATHS),
)  # fmt: skip


def told(steps: list[tuple]) -> tuple[TopicTable, Plain]:
    index, plain = TopicTable(), Plain()
    for op, *values in steps:
        if op == "record":
            index.record(*values)
            plain.record(*values)
        elif op == "remove":
            index.remove(values)
            plain.remove(*values)
        elif values[0] in index and (values[0] == values[1] or not is_within(values[1], values[0])):
            index.move(*values)
            plain.move(*values)
    return index, plain


@settings(max_examples=150)
@given(st.lists(STEP, max_size=25))
def test_rebuilt_and_slow_equal_incremental(steps: list[tuple]) -> None:
    index, plain = told(steps)
    rebuilt = TopicTable()
    for binding in index.bindings():
        rebuilt.record(binding.key, binding.path, binding.t, binding.related, binding.profile)
    assert set(index.paths()) == plain.paths()
    assert len(index) == len(plain.bound)
    assert rebuilt.bindings() == index.bindings()
    assert rebuilt.tree() == index.tree()
    for path in [*sorted(plain.paths()), "a->b->c->d", "x"]:
        expected = plain.collect(path, NOW)
        for one in (index, rebuilt):
            assert [found.key for found in one.collect(path, NOW)] == expected
            assert one.keys(path, below=True).tolist() == index.keys(path, below=True).tolist()
