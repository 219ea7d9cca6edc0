"""What is known about memories beyond their words."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moechat.store import state as state_module
from moechat.store.state import State
from tests.houses import Home, moment, told

AT = moment("2025-05-20T15:00:00")


@pytest.fixture
def state(tmp_path: Path) -> State:
    return State(tmp_path / "state.jsonl")


def told_of(state: State) -> tuple[object, ...]:
    return state.access, state.archived, state.pinned, state.missing


def reopened(state: State) -> State:
    fresh = State(state._lines.path)
    fresh.follow()
    return fresh


def test_touches_are_counted_with_the_last_time(state: State) -> None:
    state.touch(["a", "b"], AT)
    state.touch(["a"], moment("2025-05-21T15:00:00"))
    assert state.access == {"a": ("2025-05-21T15:00:00+08:00", 2), "b": ("2025-05-20T15:00:00+08:00", 1)}
    assert reopened(state).access == state.access


def test_touching_nothing_writes_nothing(state: State) -> None:
    state.touch([], AT)
    assert not state._lines.path.exists()


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


@pytest.mark.parametrize(
    "damage",
    [
        b"{}\n",
        b'{"op":"touch"}\n',
        b'{"op":"missing","ids":["a"],"at":"someday"}\n',
        b'{"op":"new","ids":["a"]}\n',
        b"\0\0\n",
        b'{"op":"access","rows":[1]}\n',
    ],
)
def test_an_entry_that_makes_no_sense_costs_itself_alone(state: State, damage: bytes) -> None:
    state.touch(["a"], AT)
    with open(state._lines.path, "ab") as file:
        file.write(damage)
    state.write([{"op": "pin", "ids": ["b"]}])
    fresh = reopened(state)
    assert (fresh.access["a"][1], fresh.pinned) == (1, {"b"})


ids = st.lists(st.sampled_from("abcd"), min_size=1, max_size=3)
entries = st.lists(
    st.tuples(st.sampled_from(["touch", "archive", "restore", "pin", "unpin", "missing", "found"]), ids), max_size=20
)


@given(entries, entries)
@settings(deadline=None)
def test_summing_up_changes_nothing_that_is_known(
    tmp_path_factory: pytest.TempPathFactory, first: list, then: list
) -> None:
    state = State(tmp_path_factory.mktemp("owner") / "state.jsonl")
    reader = reopened(state)
    state.write([{"op": op, "ids": list(of), "at": AT.isoformat()} for op, of in first])
    reader.follow()
    before = [dict(state.access), set(state.archived), set(state.pinned), dict(state.missing)]
    state._read = state_module.COMPACT_OVER + 2 * len(state.access) + 1  # as if it had grown long
    state.compact()
    assert list(told_of(reopened(state))) == before
    state.write([{"op": op, "ids": list(of), "at": AT.isoformat()} for op, of in then])
    reader.follow()
    assert told_of(reader) == told_of(state) == told_of(reopened(state))


def test_a_long_state_is_summed_up_at_a_start(tmp_path: Path) -> None:
    home = Home.build(tmp_path)
    store = home.store()
    told(store, home.clock, "你好", settle=True)
    with store.writing():
        store.state.write([{"op": "touch", "ids": ["a"], "at": AT.isoformat()}] * (state_module.COMPACT_OVER + 1))
    size = (home.folder / "state.jsonl").stat().st_size
    store.compact()
    assert (home.folder / "state.jsonl").stat().st_size < size / 100
    assert store.state.access["a"][1] == state_module.COMPACT_OVER + 1
    store.close()
