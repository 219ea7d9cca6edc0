"""What is known about memories beyond their words."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moechat.store import state as state_module
from moechat.store.entries import STATE
from moechat.store.json_lines import JsonLines
from moechat.store.state import State, restatement
from tests.houses import Home, moment, told

AT = moment("2025-05-20T15:00:00")


@pytest.fixture
def state(tmp_path: Path) -> State:
    return State(JsonLines(tmp_path / "state.jsonl", STATE.check))


def told_of(state: State) -> tuple[object, ...]:
    """All that is known, as it would be by now: a copy."""
    marks = (set(state.archived), set(state.pinned), dict(state.missing))
    return (
        dict(state.access), dict(state.gains), *marks, list(state.topics), state.cleaned, set(state.forgotten),
    )  # fmt: skip


def reopened(state: State) -> State:
    fresh = State(JsonLines(state.lines.path, STATE.check))
    fresh.follow()
    return fresh


def alone(_what: str) -> AbstractContextManager[None]:
    """Nobody else writes."""
    return nullcontext()


def test_touches_are_counted_with_the_last_time(state: State) -> None:
    state.touch(["a", "b"], AT)
    state.touch(["a"], moment("2025-05-21T15:00:00"))
    assert state.access == {"a": ("2025-05-21T15:00:00+08:00", 2), "b": ("2025-05-20T15:00:00+08:00", 1)}
    assert reopened(state).access == state.access


def test_touching_nothing_writes_nothing(state: State) -> None:
    state.touch([], AT)
    assert not state.lines.path.exists()


def test_archive_pin_and_missing_are_undone_by_their_opposites(state: State) -> None:
    state.write(
        [
            {"op": "archive", "ids": ["a", "b"]},
            {"op": "pin", "ids": ["a"]},
            {"op": "missing", "ids": ["c"], "at": AT.isoformat()},
        ]
    )
    assert (state.archived, state.pinned, state.missing) == ({"a", "b"}, {"a"}, {"c": AT})
    state.write(
        [{"op": "restore", "ids": ["a"]}, {"op": "unpin", "ids": ["a"]}, {"op": "found", "ids": ["c", "never"]}]
    )
    assert (state.archived, state.pinned, state.missing) == ({"b"}, set(), {})
    assert told_of(reopened(state)) == told_of(state)


def test_two_processes_see_each_others_entries(state: State) -> None:
    other = reopened(state)
    state.touch(["a"], AT)
    other.write([{"op": "pin", "ids": ["a"]}])
    state.follow()
    assert told_of(state) == told_of(other)
    assert state.access["a"][1] == 1


BONUS = [
    (0, 1), (0.5, 1), (1, 1), (1.01, 3), (3, 3), (4, 7), (7, 7), (8, 30), (30, 30), (31, 100), (183, 100), (184, 100),
    (400, 100),
]  # golden seed004_worked.json: strength_bonus_by_days_since_update  # fmt: skip


@pytest.mark.parametrize(("days", "gain"), BONUS)
def test_a_memory_told_again_gains_by_the_days_since_it_was_told(state: State, days: float, gain: int) -> None:
    state.write(restatement({"a": AT}, AT + timedelta(days=days)))
    assert state.strength("a") == 1 + gain
    assert state.updated("a") == AT + timedelta(days=days)


def test_the_last_restatement_counts_not_the_birth(state: State) -> None:
    state.write(restatement({"a": AT}, AT + timedelta(days=40)))
    state.write(restatement({"a": AT}, AT + timedelta(days=42)))
    assert state.strength("a") == 1 + 100 + 3


def test_an_older_telling_that_is_understood_late_does_not_turn_time_back(state: State) -> None:
    state.write(restatement({"a": AT}, AT + timedelta(days=40)))
    state.write(restatement({"a": AT}, AT + timedelta(days=2)))
    assert (state.strength("a"), state.updated("a")) == (1 + 100 + 1, AT + timedelta(days=40))


def test_strength_is_one_at_birth_and_fifteen_more_with_each_recall(state: State) -> None:
    assert (state.strength("new"), state.recalls("new"), state.recalled("new")) == (1, 0, None)
    for day in range(2):
        state.touch(["a"], AT + timedelta(days=day))
    assert (state.strength("a"), state.recalls("a"), state.recalled("a")) == (31, 2, AT + timedelta(days=1))


def test_what_is_known_of_a_record_goes_with_it_when_it_is_understood_anew(state: State) -> None:
    state.touch(["old", "new"], AT)
    state.touch(["old"], AT + timedelta(days=1))
    state.write(restatement({"old": AT}, AT + timedelta(days=5)))
    state.write([{"op": "pin", "ids": ["old"]}, {"op": "archive", "ids": ["old"]}])
    state.write(state.carried("old", "new"))
    assert (state.strength("new"), state.strength("old")) == (1 + 3 * 15 + 7, 1)
    assert (state.recalled("new"), state.updated("new")) == (AT + timedelta(days=1), AT + timedelta(days=5))
    assert (state.pinned, state.archived) == ({"new"}, {"new"})
    assert told_of(reopened(state)) == told_of(state)


def test_carrying_twice_or_to_itself_changes_nothing(state: State) -> None:
    state.touch(["a"], AT)
    state.write(state.carried("a", "a"))
    state.write(state.carried("a", "b"))
    before = told_of(state)
    state.write(state.carried("a", "b"))
    assert told_of(state) == before


def test_forgetting_where_nothing_is_known_writes_nothing(state: State) -> None:
    state.forget(["a"], alone)
    assert not state.lines.path.exists()


ids = st.lists(st.sampled_from("abcd"), min_size=1, max_size=3)
marked = st.sampled_from(["touch", "archive", "restore", "pin", "unpin", "missing", "found", "forgotten"])
entry = st.one_of(
    st.builds(lambda op, of: {"op": op, "ids": of, "at": AT.isoformat()}, marked, ids),
    st.builds(
        lambda of, days: {
            "op": "restate", "born": dict.fromkeys(of, AT.isoformat()), "at": (AT + timedelta(days=days)).isoformat()
        },
        ids, st.integers(0, 50),
    ),
    st.builds(lambda of: {"op": "carry", "from": of[0], "to": of[-1]}, ids),
    st.builds(lambda of: {"op": "topic", "from": of[0], "to": of[-1]}, ids),
    st.just({"op": "cleaned", "at": AT.isoformat()}),
)  # fmt: skip
entries = st.lists(entry, max_size=20)


@given(entries, entries)
def test_summing_up_changes_nothing_that_is_known(
    tmp_path_factory: pytest.TempPathFactory, first: list, then: list
) -> None:
    state = State(JsonLines(tmp_path_factory.mktemp("owner") / "state.jsonl", STATE.check))
    reader = reopened(state)
    state.write(first)
    reader.follow()
    before = told_of(state)
    state._listed = state_module.MIN_IDS_SUMMED + 3 * len(state.access | state.gains) + 1  # as if it had grown long
    state.compact(alone)
    assert told_of(reopened(state)) == before
    state.write(then)
    reader.follow()
    assert told_of(reader) == told_of(state) == told_of(reopened(state))


def test_a_long_state_is_summed_up(home: Home) -> None:
    store = home.store()
    told(store, home.clock, "你好", settle=True)
    with store.writing():
        store.state.write([{"op": "touch", "ids": ["a"] * 100, "at": AT.isoformat()}] * 1_001)
    size = (home.folder / "state.jsonl").stat().st_size
    store.compact()
    assert (home.folder / "state.jsonl").stat().st_size < size / 100
    assert store.state.access["a"][1] == 100_100
    assert store.state.uses == ["a"]  # what follows the uses keeps no more than there is


def test_what_is_hidden_is_one_object_until_it_changes(home: Home) -> None:
    store = home.store()
    a, b = (told(store, home.clock, text, settle=True) for text in "一二")
    nothing = store.hidden()
    with store.writing():
        store.state.touch([a], AT)
    assert (store.hidden(), store.hidden() is nothing) == (frozenset(), True)
    other = home.store()
    with other.writing():
        other.state.write([{"op": "archive", "ids": ["f"]}])
    other.log.retract(b)
    other.log.select(a)
    store.follow()
    for one in (store, other):
        assert one.hidden() == {"f", b}
    store.log.restore(b)
    assert store.hidden() == {"f", b}, "it is on another branch"
    store.log.select(b)
    assert store.hidden() == {"f"}
    with store.writing():
        store.state.forget(["f"], store.writing)
    assert store.hidden() == frozenset()
