"""The log file: appended, read on from where one stopped, safe against torn and damaged lines."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moechat.store.entries import LOG
from moechat.store.json_lines import JsonLines, encode
from moechat.store.tree import Tree

FIRST = {"op": "exchange", "id": "a", "parent": None, "at": "2025-05-20T15:00:00+08:00", "user": "你好\u2028\n\x00"}
SECOND = {"op": "variant", "id": "a", "char": "嗯", "status": "done", "hits": []}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "owner" / "log.jsonl"


def opened(path: Path) -> JsonLines:
    lines = log_of(path)
    lines.unread()
    return lines


def log_of(path: Path) -> JsonLines:
    return JsonLines(path, LOG.check)


def test_a_missing_log_is_an_empty_one(path: Path) -> None:
    assert log_of(path).unread() == (False, [])


def test_what_was_appended_is_read_back_word_for_word(path: Path) -> None:
    opened(path).append([FIRST, SECOND])
    assert log_of(path).unread() == (False, [FIRST, SECOND])


def test_a_reader_sees_what_another_appended_since_and_nothing_twice(path: Path) -> None:
    writer, reader = opened(path), opened(path)
    writer.append([FIRST])
    assert reader.unread() == (False, [FIRST])
    assert reader.unread() == (False, [])
    writer.append([SECOND])
    assert reader.unread() == (False, [SECOND])
    reader.append([{"op": "settle", "id": "a"}])
    assert writer.unread() == (False, [{"op": "settle", "id": "a"}])


@pytest.mark.parametrize("cut", range(len(encode([SECOND]))))
def test_a_torn_last_line_is_not_read_and_makes_way_for_the_next(path: Path, cut: int) -> None:
    opened(path).append([FIRST, SECOND])
    path.write_bytes(encode([FIRST]) + encode([SECOND])[:cut])
    lines = log_of(path)
    assert lines.unread() == (False, [FIRST])
    assert not lines.problems
    lines.append([{"op": "settle", "id": "a"}])
    assert log_of(path).unread() == (False, [FIRST, {"op": "settle", "id": "a"}])


def test_a_line_that_is_half_written_by_another_is_read_once_it_is_whole(path: Path) -> None:
    opened(path).append([FIRST])
    reader = opened(path)
    half = encode([SECOND])
    with open(path, "ab") as file:
        file.write(half[:10])
    assert reader.unread() == (False, [])
    with open(path, "ab") as file:
        file.write(half[10:])
    assert reader.unread() == (False, [SECOND])


@pytest.mark.parametrize(
    "damage", [b"\0\0\0\0\n", b"{\n", b"[]\n", b"\xff\xfe\n", b'{"op":"settle","id":"a"},{"op":"settle"}\n']
)
def test_a_damaged_line_is_told_and_costs_itself_alone(path: Path, damage: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(encode([FIRST]) + damage + encode([SECOND]))
    lines = log_of(path)
    assert lines.unread() == (False, [FIRST, SECOND])
    assert [problem.line for problem in lines.problems] == [2]
    assert str(path) in str(lines.problems[0])


def test_an_empty_line_is_no_damage(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(encode([FIRST]) + b"\n\r\n" + encode([SECOND]))
    lines = log_of(path)
    assert lines.unread() == (False, [FIRST, SECOND])
    assert not lines.problems


def test_a_rewritten_log_is_noticed_and_read_from_its_start(path: Path) -> None:
    writer, reader = opened(path), opened(path)
    writer.append([FIRST, SECOND])
    reader.unread()
    writer.rewrite([FIRST])
    assert reader.unread() == (True, [FIRST])
    writer.append([SECOND])
    assert reader.unread() == (False, [SECOND])


def test_a_log_rewritten_to_more_than_it_was_is_noticed_too(path: Path) -> None:
    writer, reader = opened(path), opened(path)
    writer.append([FIRST])
    reader.unread()
    writer.rewrite([FIRST, SECOND, SECOND, SECOND])
    assert reader.unread() == (True, [FIRST, SECOND, SECOND, SECOND])


def test_a_log_that_went_away_is_noticed(path: Path) -> None:
    lines = opened(path)
    lines.append([FIRST])
    path.unlink()
    assert lines.unread() == (True, [])
    lines.append([SECOND])
    assert log_of(path).unread() == (False, [SECOND])


@given(
    st.lists(
        st.dictionaries(st.text(max_size=5), st.text(st.characters(exclude_categories=["Cs"]), max_size=20)), max_size=6
    )
)
@settings(max_examples=100)
def test_any_text_stays_on_one_line(entries: list[dict[str, str]]) -> None:
    assert encode(entries).count(b"\n") == len(entries)
    assert len(encode(entries).splitlines()) == len(entries)


DAMAGED = [
    {}, {"op": "settle"}, {"op": "variant", "id": "nobody", "char": "x", "status": "done"},
    {"op": "settle", "id": "nobody"},
    {"op": "edit", "id": "nobody", "at": "2025-05-20T15:00:00+08:00", "user": "", "char": ""},
    {"op": "understood", "by": "model"}, {"op": "forked", "id": "a"}, {"op": "from a newer version", "id": "a"},
    {"op": ["settle"], "id": "a"}, {"op": "exchange", "id": "b"}, {"op": "past", "rows": [["x"]]},
]  # fmt: skip


@pytest.mark.parametrize("entry", DAMAGED, ids=repr)
def test_an_entry_that_makes_no_sense_costs_itself_alone(path: Path, entry: dict) -> None:
    """When the line of an exchange was lost, the lines that follow it must not keep its owner from opening."""
    path.parent.mkdir()
    path.write_bytes(encode([FIRST, SECOND, entry, {"op": "settle", "id": "a"}]))
    tree = Tree()
    tree.apply(log_of(path).unread()[1])
    assert tree.context() == ["a"]
    assert tree.nodes["a"].settled
    assert tree.off_path() == set()
