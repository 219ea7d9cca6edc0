"""A line of a shared log that is JSON and yet no entry costs itself alone: it is named, kept, and the rest is read."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from moechat.store import entries, short_log
from moechat.store.files import FileStore
from moechat.store.json_lines import JsonLines, ReplyFiles, encode
from moechat.store.reflections import Reflected
from moechat.store.state import State
from moechat.store.tree import Tree
from tests.houses import Home, say, told

AT = "2025-05-20T15:00:00+08:00"
EXCHANGE = {"op": "exchange", "id": "x", "parent": None, "at": AT, "user": "你好"}
VARIANT = {"op": "variant", "id": "x", "char": "嗯", "status": "done"}
SHAPELESS: list[Any] = [
    EXCHANGE | {"at": "yesterday"}, EXCHANGE | {"at": "2025-05-20T15:00:00"},
    EXCHANGE | {"at": "0001-01-01T00:00:00+08:00"}, EXCHANGE | {"at": 5}, EXCHANGE | {"id": 7}, EXCHANGE | {"id": None},
    EXCHANGE | {"id": ["x"]}, EXCHANGE | {"parent": {}}, EXCHANGE | {"user": 1}, EXCHANGE | {"talk": []},
    EXCHANGE | {"attachments": "x"}, VARIANT | {"status": "streaming"}, VARIANT | {"hits": [{"id": []}]},
    VARIANT | {"hits": [1]}, VARIANT | {"spans": [["昨天", "x", AT, "day"]]},
    {"op": "choose", "id": "x", "variant": -1}, {"op": "choose", "id": "x", "variant": True}, {"op": "settle", "id": 1},
    {"op": "understood", "ids": "abc", "by": "model"}, {"op": "understood", "ids": [1], "by": "model"},
    {"op": "past", "rows": [["a", "b"]]}, {"op": "past", "rows": [[None, "b", "c"]]}, {"op": "past", "rows": ["abc"]},
    {"op": "past", "rows": {"a": 1}},
    {"op": "import", "batch": "../../../elsewhere", "talk": "", "at": AT, "rows": [["a", ""]]},
    {"op": "import", "batch": "b", "talk": "", "at": AT, "rows": []}, {"op": "forget", "n": 10**400, "ids": []},
    {"op": "forget", "n": 1.5, "ids": []}, [], "text", 5,
]  # fmt: skip


def opened_with(home: Home, *lines: Any) -> FileStore:
    """A memory of one exchange whose log ends with these lines."""
    store = home.store()
    told(store, home.clock, "我叫阿明")
    store.close()
    path = home.folder / "log.jsonl"
    path.write_bytes(path.read_bytes() + b"".join(json.dumps(one).encode() + b"\n" for one in lines))
    return home.store()


@pytest.mark.parametrize("line", SHAPELESS, ids=lambda line: json.dumps(line)[:60])
def test_a_line_of_the_wrong_shape_is_named_and_the_rest_is_read(home: Home, line: Any) -> None:
    store = opened_with(home, line, {"op": "settle", "id": "20250520-150000"})
    assert [problem.line for problem in store.problems] == [3]
    assert "log.jsonl, line 3" in str(store.problems[0])
    assert store.tree.nodes["20250520-150000"].settled
    store.resume()
    told(store, home.clock, "后来", settle=True)
    assert len(store.tree.context()) == 2


def test_a_character_with_such_a_log_can_be_talked_to(home: Home) -> None:
    opened_with(home, *SHAPELESS).close()
    with home.open() as house:
        agent = house.agent()
        say(agent, "你好")
        assert sum("log.jsonl" in problem for problem in agent.problems()) == len(SHAPELESS)
        assert [row["text"] for row in agent.log()] == ["我叫阿明", "你好"]


@pytest.mark.parametrize(
    "lines",
    [
        [EXCHANGE | {"parent": "x"}],
        [{"op": "past", "rows": [["a", "b", "s"], ["b", "a", "s"]]}, {"op": "select", "id": "b"}],
        [{"op": "past", "rows": [["a", None, "s"], ["b", "a", "s"], ["a", "b", "s"]]}, {"op": "select", "id": "a"}],
        [EXCHANGE, EXCHANGE | {"id": "y", "parent": "x"}, EXCHANGE | {"parent": "y"}],
        [{"op": "import", "batch": "b", "talk": "", "at": AT, "rows": [["a", ""], ["b", ""], ["a", ""]]}],
    ],
    ids=["itself", "each other", "later on", "said anew", "imported"],
)
def test_a_circle_of_parents_is_none(home: Home, lines: list[Any]) -> None:
    store = opened_with(home, *lines)
    for id_ in store.tree.parents:
        path = [one for one, _ in zip(store.tree.ancestors(id_), range(20), strict=False)]
        assert len(path) == len(set(path)) < 20


def test_a_rewritten_log_keeps_what_cannot_be_read_and_what_a_newer_version_wrote(home: Home) -> None:
    newer = {"op": "dream", "of": "sheep"}
    store = opened_with(home, SHAPELESS[0], newer)
    store.log.settle()
    assert store.rewrite_log(home.clock.now())
    first, second, *_ = (home.folder / "log.jsonl").read_bytes().splitlines()
    assert [json.loads(first), json.loads(second)] == [SHAPELESS[0], newer]
    assert [problem.line for problem in store.problems] == [1]  # a newer version's is no damage
    told(store, home.clock, "后来")
    fresh = home.store()
    assert [str(problem) for problem in fresh.problems] == [str(problem) for problem in store.problems]


def test_a_batch_that_is_named_twice_or_takes_in_what_is_there_stands_as_it_was_first_named(home: Home) -> None:
    batch = {"op": "import", "batch": "b", "talk": "t", "at": AT, "rows": [["i", ""], ["j", ""]]}
    store = opened_with(home, batch, batch | {"rows": [["i", ""], ["k", ""]]}, batch | {"batch": "c"})
    assert {name: one.ids for name, one in store.tree.batches.items()} == {"b": ["i", "j"]}
    again = Tree()
    again.apply(short_log.written(store.tree, home.clock.now()))
    assert again.parents == store.tree.parents


# ---- the other files of lines


BAD_STATES: list[Any] = [
    {}, {"op": "touch"}, {"op": "touch", "ids": ["a"], "at": "2025-05-20T15:00:00"}, {"op": "touch", "ids": "a", "at": AT},
    {"op": "touch", "ids": ["a"], "at": "yesterday"}, {"op": "touch", "ids": ["b", {}], "at": AT},
    {"op": ["touch"], "ids": ["a"], "at": AT}, {"op": "pin", "ids": "a"}, {"op": "cleaned"},
    {"op": "access", "rows": [1]}, {"op": "access", "rows": {"a": [AT]}}, {"op": "access", "rows": {"a": [AT, "many"]}},
    {"op": "access", "rows": {"a": [AT, 10**300]}}, {"op": "gain", "rows": {"a": [-1, AT]}},
    {"op": "gain", "rows": {"a": ["much", AT]}}, {"op": "restate", "born": {"a": "once"}, "at": AT},
    {"op": "restate", "born": {"a": AT, "b": 7}, "at": AT}, {"op": "missing", "ids": [1], "at": AT},
    {"op": "missing", "ids": ["a"], "at": "someday"}, {"op": "carry", "from": "a"}, {"op": "carry", "from": ["a"], "to": "b"},
    {"op": "topic", "from": None, "to": "x"}, {"op": "topic", "from": "a", "to": None},
]  # fmt: skip


@pytest.mark.parametrize("line", BAD_STATES, ids=lambda line: json.dumps(line)[:60])
def test_a_state_of_the_wrong_shape_is_named_and_the_rest_is_read(tmp_path: Path, line: Any) -> None:
    path = tmp_path / "state.jsonl"
    path.write_bytes(encode([{"op": "pin", "ids": ["a"]}, line, {"op": "touch", "ids": ["a"], "at": AT}]))
    state = State(JsonLines(path, entries.STATE.check))
    state.follow()
    assert (state.pinned, state.recalls("a")) == ({"a"}, 1)
    assert [problem.line for problem in state.lines.problems] == [2]


def test_a_summed_up_state_keeps_what_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "state.jsonl"
    path.write_bytes(encode([BAD_STATES[1], {"op": "pin", "ids": ["a"]}]))
    state = State(JsonLines(path, entries.STATE.check))
    state.follow()
    assert state._rewrite(lambda _: nullcontext(), keep_damaged=True)
    assert json.loads(path.read_bytes().splitlines()[0]) == BAD_STATES[1]
    assert [problem.line for problem in state.lines.problems] == [1]


@pytest.mark.parametrize("unstored", [[{"id": "e", "text": "x", "at": None}], []])
def test_what_was_reflected_on_begins_anew_where_its_line_is_none(home: Home, unstored: list[Any]) -> None:
    until = 5 if unstored else "yesterday"
    bad = {"until": until, "open": ["x"], "made": [], "again": [], "unstored": unstored}
    (home.folder / "reflection.jsonl").write_bytes(encode([bad]))
    store = home.store()
    store.reflected.follow()
    assert store.reflected.value == Reflected()
    assert "reflection.jsonl, line 1" in str(store.problems[0])


@pytest.mark.parametrize(
    "lines",
    [
        [[], 5, None, {"ids": 5}, {"ids": [5]}],
        [{"op": "variant", "id": "another", "char": "x", "status": "done"}],
        [{"op": "forget", "id": "x", "ids": [], "n": 1}],
        [VARIANT | {"status": 5}],
    ],
    ids=["shapeless", "of another", "no reply", "bad"],
)
def test_a_part_file_of_the_wrong_shape_holds_no_reply(tmp_path: Path, lines: list[Any]) -> None:
    (tmp_path / "x.jsonl").write_bytes(b"".join(json.dumps(one).encode() + b"\n" for one in ["嗯", *lines]))
    (part,) = ReplyFiles(tmp_path).parts()
    assert (part.text, part.entry, part.ids) == ("嗯", None, frozenset())


def test_what_this_version_writes_fits_the_forms(home: Home) -> None:
    """Every line that a talk with all its changes of mind leaves is an entry."""
    with home.open() as house:
        agent = house.agent()
        for text in ("我叫阿明", "昨天去了西湖", "昨天去了哪里？"):
            say(agent, text)
        list(agent.conversation.regenerate())
        newest = agent.log()[-1]["id"]
        agent.conversation.select(newest, 0)
        agent.conversation.correct(newest, user="昨天去了哪？")
        agent.conversation.retract(agent.log()[0]["id"])
        agent.settle_indexes()
        assert agent.problems() == []
    for name, check in (("log", entries.LOG.check), ("state", entries.STATE.check)):
        lines = [json.loads(line) for line in (home.folder / f"{name}.jsonl").read_bytes().splitlines()]
        assert lines
        for line in lines:
            check(line)
