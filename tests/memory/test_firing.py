"""Entries of a world book fire by their author's rules, and say why."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from moechat.cards import book
from moechat.cue import Scene
from moechat.memory import firing
from moechat.memory.firing import Judgement, Patterns, judged
from moechat.model import Lore
from tests.cards.cards import world
from tests.cards.firing import ANSWERS, answered, cases


def fire(*entries: dict[str, Any], talk: tuple[str, ...] = ("",), **more: Any) -> list[Judgement]:
    made = [{"content": f"words {number}"} | entry for number, entry in enumerate(entries)]
    return judged(book.entries_of(world(*made, **more), "w"), talk[0], Scene([("", words) for words in talk[1:]]))


TOLD = (
    "a whole Han word beside a Latin letter", "several groups", "at least so many", "at least so many, as deep as may be",
    "for a tag", "a place by decorator",
)  # fmt: skip


@pytest.mark.parametrize("case", cases(), ids=lambda case: case["name"])
def test_entries_fire_as_they_do_in_sillytavern(case: dict[str, Any]) -> None:
    """But for what docs/cards.md tells."""
    theirs = json.loads(ANSWERS.read_text(encoding="utf-8"))[case["name"]]
    assert (answered(case) == theirs) is (case["name"] not in TOLD)


def test_every_difference_is_told_in_the_document(root: Path) -> None:
    text = (root / "docs" / "cards.md").read_text(encoding="utf-8")
    assert [name for name in TOLD if f"`{name}`" not in text] == []


def test_an_author_of_our_own_book_is_not_asked_for_names_or_marks() -> None:
    own = (
        Lore("a", "User", "w", "f"),
        Lore("b", "x", "w", "f", keys=("/^hello/i",)),
        Lore("c", "harbour", "w", "f", scan_depth=2),
    )
    scene = Scene(speaker="User", greeting="The harbour.", names={"char": "Tide"})
    assert [one.fires for one in judged(own, "Hello.", scene)] == [False, True, True]


def test_why_an_entry_gives_way_is_told() -> None:
    group = {"key": ["lamp"], "group": "one"}
    entries = (group | {"groupOverride": True, "comment": "T"}, group, group | {"triggers": ["quiet"]})
    assert [one.why for one in fire(*entries, talk=("lamp",))] == [
        "key: lamp",
        "group: one has fired",
        "only for: quiet",
    ]
    assert not any(one.may_be_near for one in fire(*entries, talk=("lamp",))[1:])


def test_the_weights_of_a_group_are_its_odds() -> None:
    group = [{"key": ["lamp"], "group": "one", "groupWeight": weight} for weight in (300, 100, 0)]
    firsts = [[one.fires for one in fire(*group, talk=(f"lamp {number}",))].index(True) for number in range(400)]
    assert 260 < firsts.count(0) < 340 and firsts.count(0) + firsts.count(1) == 400


def test_entries_that_wake_each_other_end() -> None:
    chain = [{"key": [f"k{n}"], "content": f"k{n + 1}"} for n in range(firing.MAX_ROUNDS + 20)]
    fires = [one.fires for one in fire(*chain, talk=("k0",))]
    assert fires == [True] * firing.MAX_ROUNDS + [False] * 20
    assert sum(one.fires for one in fire(*chain, talk=("k0",), recursive_scanning=False)) == 1


def test_chance_is_fair_and_the_same_for_the_same_message() -> None:
    entry = {"key": ["lamp"], "probability": 30}
    fires = [fire(entry, talk=(f"lamp {number}",))[0].fires for number in range(400)]
    assert 80 < sum(fires) < 160
    assert fires == [fire(entry, talk=(f"lamp {number}",))[0].fires for number in range(400)]


def test_over_its_budget_a_book_loses_the_lowest_priority_first() -> None:
    entries = [
        {"key": ["a"], "content": "word " * 20, "order": 10},
        {"key": ["a"], "content": "word " * 20, "order": 30},
        {"key": ["a"], "content": "word " * 20, "order": 20, "ignoreBudget": True},
    ]
    fires = fire(*entries, talk=("a",), token_budget=30)
    assert [one.why for one in fires] == [firing.BUDGET, "key: a", "key: a"]


def test_a_pattern_that_does_not_end_is_stopped_and_named() -> None:
    patterns = Patterns()
    entries = book.entries_of(world(*({"key": [f"/(a+)+{n}$/"], "content": "w"} for n in range(40))), "w")
    begun = time.process_time()
    assert not any(one.fires for one in judged(entries, "a" * 5000 + "b", None, patterns))
    assert time.process_time() - begun < 5
    assert 0 < len(patterns.problems) < 40 and "too long" in patterns.problems["(a+)+0$"]


def test_patterns_are_compiled_within_the_time_that_all_have() -> None:
    entries = book.entries_of(world(*({"key": [f"/rain{n}|snow/"], "content": f"w{n}"} for n in range(9))), "w")
    compiled = []
    for _ in entries:
        patterns = Patterns(left_s=1e-9)  # It is over with the first pattern that has to be compiled or run.
        before = firing._compiled.cache_info().misses
        assert len([one for one in judged(entries, "snow", None, patterns) if one.fires]) == 1
        compiled.append(firing._compiled.cache_info().misses - before)
    assert compiled == [1] + [0] * 8 and not patterns.problems
    assert all(one.fires for one in judged(entries, "snow"))


def test_by_meaning_comes_only_what_needs_no_key() -> None:
    plain, second, pattern, resting = fire(
        {"key": ["x"]},
        {"key": ["x"], "keysecondary": ["y"]},
        {"key": ["x"], "use_regex": True},
        {"key": ["x"], "delay": 9},
        talk=("z",),
    )
    assert [one.may_be_near for one in (plain, second, pattern, resting)] == [True, False, False, False]
