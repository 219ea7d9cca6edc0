"""Entries of a world book fire by their author's rules, and say why."""

from __future__ import annotations

import time
from typing import Any

import pytest

from moechat.cards import book
from moechat.cue import SoFar
from moechat.memory import firing
from moechat.memory.firing import Judgement, Patterns, judged, over_budget
from tests.cards.cards import world


def fire(
    *entries: dict[str, Any], talk: tuple[str, ...] = (), so_far: SoFar | None = None, **more: Any
) -> list[Judgement]:
    made = [{"content": f"words {number}"} | entry for number, entry in enumerate(entries)]
    return judged(book.entries_of(world(*made, **more), "w"), talk, lambda: so_far or SoFar())


def whys(*entries: dict[str, Any], talk: tuple[str, ...] = (), **more: Any) -> list[str]:
    return [one.why if one.fires else "" for one in fire(*entries, talk=talk, **more)]


@pytest.mark.parametrize(
    ("logic", "text", "fires"),
    [
        (0, "lamp rain", True),
        (0, "lamp", False),
        (1, "lamp rain", True),
        (1, "lamp rain fog", False),
        (2, "lamp", True),
        (2, "lamp fog", False),
        (3, "lamp rain fog", True),
        (3, "lamp rain", False),
        (3, "rain fog", False),
    ],
)
def test_secondary_keys_have_four_logics(logic: int, text: str, fires: bool) -> None:
    entry = {"key": ["lamp"], "keysecondary": ["rain", "fog"], "selectiveLogic": logic}
    assert fire(entry, talk=(text,))[0].fires is fires
    assert fire(entry | {"selective": False}, talk=(text,))[0].fires is ("lamp" in text)


@pytest.mark.parametrize(
    ("entry", "text", "fires"),
    [
        ({"key": ["Lamp"]}, "the LAMPS", True),
        ({"key": ["Lamp"], "caseSensitive": True}, "the lamp", False),
        ({"key": ["lamp"], "matchWholeWords": True}, "lamps", False),
        ({"key": ["lamp"], "matchWholeWords": True}, "a lamp.", True),
        ({"key": ["/la(m|n)p/"]}, "a lanp", True),
        ({"key": ["/LAMP/"]}, "lamp", False),
        ({"key": ["/LAMP/i"]}, "lamp", True),
        ({"key": ["灯塔"]}, "去灯塔吧", True),
        ({"key": ["/[/"]}, "[", False),
        ({"key": ["lamp"], "disable": True}, "lamp", False),
        ({"key": [], "constant": True}, "", True),
        ({"key": [], "content": "@@activate\nw"}, "", True),
        ({"key": ["lamp"], "content": "@@dont_activate\nw"}, "lamp", False),
        ({"key": ["lamp"], "content": ""}, "lamp", False),
        ({"key": ["lamp"], "probability": 0}, "lamp", False),
        ({"key": ["lamp"], "probability": 0, "useProbability": False}, "lamp", True),
        ({"key": ["lamp"], "position": 7}, "lamp", False),
    ],
)
def test_keys_fire_as_they_are_written(entry: dict[str, Any], text: str, fires: bool) -> None:
    assert fire(entry, talk=(text,))[0].fires is fires


def test_the_last_messages_are_searched_as_deep_as_an_entry_says() -> None:
    talk = ("now", "lamp before", "bell long ago")
    assert whys({"key": ["lamp"]}, {"key": ["bell"]}, {"key": ["bell"], "scanDepth": 3}, talk=talk) == [
        "key: lamp",
        "",
        "key: bell",
    ]
    assert whys({"key": ["lamp"], "scanDepth": 1}, talk=talk) == [""]
    assert whys({"key": ["bell"]}, talk=talk, scan_depth=3) == ["key: bell"]


def test_entries_wake_each_other_within_bounds() -> None:
    chain = [{"key": [f"k{n}"], "content": f"k{n + 1}"} for n in range(20)]
    fires = whys(*chain, talk=("k0",), recursive_scanning=True)
    assert fires[:3] == ["key: k0", "recursion: k1", "recursion: k2"] and fires[11:] == [""] * 9
    assert whys(*chain, talk=("k0",)) == ["key: k0"] + [""] * 19
    stop = [chain[0] | {"preventRecursion": True}, chain[1]]
    assert whys(*stop, talk=("k0",)) == ["key: k0", ""]
    assert whys(chain[0], chain[1] | {"excludeRecursion": True}, talk=("k0",)) == ["key: k0", ""]
    late = {"key": ["k1"], "delayUntilRecursion": True}
    assert whys(chain[0], late, talk=("k0 k1",)) == ["key: k0", "recursion: k1"]
    assert whys(late, talk=("k1",)) == [""]


@pytest.mark.parametrize(("ago", "why"), [(2, "sticky"), (4, "sticky"), (6, ""), (8, ""), (10, "key: lamp")])
def test_an_entry_stays_then_rests(ago: int, why: str) -> None:
    entry = {"key": ["lamp"], "sticky": 4, "cooldown": 4}
    talk = ("nothing",) if why == "sticky" else ("lamp",)
    assert whys(entry, talk=talk, so_far=SoFar(21, {"w#0": 21 - ago})) == [why]


def test_a_delay_counts_the_messages_of_the_talk() -> None:
    entry = {"key": ["lamp"], "delay": 4}
    assert whys(entry, talk=("lamp",), so_far=SoFar(3)) == [""]
    assert whys(entry, talk=("lamp",), so_far=SoFar(5)) == ["key: lamp"]


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
    assert over_budget(fires) == {"w#0"}


def test_a_pattern_that_does_not_end_is_stopped_and_named() -> None:
    patterns = Patterns()
    entries = book.entries_of(world(*({"key": [f"/(a+)+{n}$/"], "content": "w"} for n in range(40))), "w")
    begun = time.process_time()
    assert not any(one.fires for one in judged(entries, ("a" * 5000 + "b",), SoFar, patterns))
    assert time.process_time() - begun < 5
    assert 0 < len(patterns.problems) < 40 and "too long" in patterns.problems["(a+)+0$"]


def test_patterns_are_compiled_within_the_time_that_all_have() -> None:
    entries = book.entries_of(world(*({"key": [f"/rain{n}|snow/"], "content": f"w{n}"} for n in range(9))), "w")
    compiled = []
    for _ in entries:
        patterns = Patterns(left_s=1e-9)  # It is over with the first pattern that has to be compiled or run.
        before = firing._compiled.cache_info().misses
        assert len([one for one in judged(entries, ("snow",), SoFar, patterns) if one.fires]) == 1
        compiled.append(firing._compiled.cache_info().misses - before)
    assert compiled == [1] + [0] * 8 and not patterns.problems
    assert all(one.fires for one in judged(entries, ("snow",), SoFar))


def test_by_meaning_comes_only_what_needs_no_key() -> None:
    plain, second, pattern, resting = fire(
        {"key": ["x"]},
        {"key": ["x"], "keysecondary": ["y"]},
        {"key": ["x"], "use_regex": True},
        {"key": ["x"], "delay": 9},
        talk=("z",),
    )
    assert [one.may_be_near for one in (plain, second, pattern, resting)] == [True, False, False, False]
