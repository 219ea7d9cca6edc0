"""The small files of an owner: what was reflected on, what was refused, copies that were left."""

from __future__ import annotations

import math
from datetime import datetime
from pathlib import Path

import pytest

from moechat.errors import DataError
from moechat.model import Episode, Event, RefusedItem
from moechat.store import disk, plain, records
from moechat.store.files import FileStore
from moechat.store.json_lines import JsonLines
from moechat.store.reflections import REFLECTED, Made, Reflected, ReflectionFile
from tests.houses import Home, moment

AT = moment("2025-05-20T15:00:00")
THOUGHT = Episode("r1", AT, Event("用户爱户外", ("a", "b")), "reflection", evidence=("e1", "e2"), depth=1)

# ---- what was reflected on


def reflected(folder: Path) -> ReflectionFile:
    file = ReflectionFile(JsonLines(folder / disk.REFLECTIONS, REFLECTED.check))
    file.follow()
    return file


WHOLE = Reflected(
    AT.timestamp(),
    ("x",),
    (Made("r1", {"e1": "h1"}, ("a", "b"), 99.0), Made("r2", {"e3": "h3"}, ("c",))),
    ("y",),
    (THOUGHT,),
)


def test_what_was_reflected_on_comes_back_with_all_its_parts(tmp_path: Path) -> None:
    file = reflected(tmp_path)
    assert file.value == Reflected() and file.problems == []
    file.write(WHOLE)
    assert reflected(tmp_path).value == file.value == WHOLE
    file.write(Reflected())
    assert reflected(tmp_path).value == Reflected(-math.inf)


def test_what_another_process_wrote_is_followed_and_a_deleted_file_begins_anew(tmp_path: Path) -> None:
    one, other = reflected(tmp_path), reflected(tmp_path)
    one.write(WHOLE)
    other.follow()
    assert other.value == WHOLE
    (tmp_path / disk.REFLECTIONS).unlink()
    other.follow()
    assert other.value == Reflected()


def test_a_file_that_makes_no_sense_begins_anew(tmp_path: Path) -> None:
    reflected(tmp_path).write(WHOLE)
    (tmp_path / disk.REFLECTIONS).write_bytes(b'{"until": "yesterday"}\n')
    assert reflected(tmp_path).value == Reflected()


@pytest.mark.parametrize(
    ("lost", "made", "unstored"),
    [
        ("r1", ["r2"], 0),
        ("e1", ["r2"], 0),
        ("a", ["r2"], 0),
        ("e3", ["r1"], 1),
        ("c", ["r1"], 1),
        ("zzz", ["r1", "r2"], 1),
    ],
)
def test_a_reflection_goes_with_whatever_it_rests_on(tmp_path: Path, lost: str, made: list[str], unstored: int) -> None:
    file = reflected(tmp_path)
    file.write(WHOLE)
    file.without([lost])
    after = reflected(tmp_path).value
    assert ([one.id for one in after.made], len(after.unstored)) == (made, unstored)
    assert (after.until, after.open, after.again) == (WHOLE.until, WHOLE.open, WHOLE.again)


def test_where_nothing_goes_nothing_is_written(tmp_path: Path) -> None:
    file = reflected(tmp_path)
    file.without(["a"])
    assert not (tmp_path / disk.REFLECTIONS).exists()


# ---- what was refused


def refused(text: str, at: datetime | None = AT) -> RefusedItem:
    return RefusedItem("fact", text, "evidence", ("a", "b"), at)


def test_what_was_refused_comes_back_and_goes_with_what_it_rests_on(home: Home, store: FileStore) -> None:
    rows = [refused("用户怕高"), RefusedItem("event", "搬家", "sources", (), AT)]
    store.findings.refuse(rows)
    assert store.findings.refused() == rows
    store.findings.drop(["b"])
    assert store.findings.refused() == rows[1:] and "用户怕高".encode() not in (home.folder / disk.REFUSED).read_bytes()


@pytest.mark.parametrize("line", ["{", "[]", '{"at": "x"}', "7"])
def test_a_line_of_what_was_refused_that_makes_no_sense_costs_itself_alone(
    home: Home, store: FileStore, line: str
) -> None:
    path = home.folder / disk.REFUSED
    store.findings.refuse([refused("一"), refused("二")])
    first, second = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join([first, line, second, ""]), encoding="utf-8")
    assert [one.text for one in store.findings.refused()] == ["一", "二"]


def test_of_what_was_refused_the_newest_two_hundred_stay_each_with_its_time(home: Home, store: FileStore) -> None:
    store.findings.refuse([refused(f"第{n}", AT) for n in range(199)])
    store.findings.refuse([refused("又一", None), refused("再一", AT)])
    rows = store.findings.refused()
    assert (len(rows), rows[0].text, rows[-1].text) == (200, "第1", "再一")
    assert rows[-2].at == home.clock.now()


def test_copies_that_a_kill_left_are_found_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / disk.DAYS).mkdir()
    left = [
        records.unfinished(tmp_path / disk.CORE, lambda file: file.write(b"x")),
        records.unfinished(tmp_path / disk.DAYS / "2025-05-20.yaml", lambda file: file.write(b"x")),
    ]
    for name in (".git", ".remarks.yaml", "core_mem.yml"):
        (tmp_path / name).touch()
    (tmp_path / ".core_mem.yml.abcdefgh").mkdir()
    assert sorted(disk.unfinished_copies(tmp_path)) == sorted(left)


def test_a_copy_that_cannot_be_finished_is_taken_away(tmp_path: Path) -> None:
    def fails(_: object) -> None:
        raise OSError(5, "failing")

    with pytest.raises(OSError, match="failing"):
        records.unfinished(tmp_path / disk.CORE, fails)
    assert list(tmp_path.iterdir()) == []


# ---- files that people edit too


def test_an_edited_file_has_another_stamp_and_a_missing_one_has_none(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    assert plain.stamp(path) is None
    path.write_text("a: 1\n", encoding="utf-8")
    before = plain.stamp(path)
    assert before is not None and before == plain.stamp(path)
    path.write_text("a: 12\n", encoding="utf-8")
    assert plain.stamp(path) != before


def test_what_a_hand_saves_meanwhile_is_read_first(tmp_path: Path) -> None:
    path, lock = tmp_path / "a.yaml", tmp_path / "a.lock"
    path.write_bytes(b"a: 1\n")
    seen: list[bytes] = []

    def change(data: bytes) -> bytes:
        if not seen:
            path.write_bytes(b"a: 1\nb: by hand\n")
        seen.append(data)
        return data + b"c: 3\n"

    records.rewrite(path, lock, change)
    assert seen == [b"a: 1\n", b"a: 1\nb: by hand\n"]
    assert path.read_bytes() == b"a: 1\nb: by hand\nc: 3\n"


def test_a_file_that_changes_all_the_time_is_left_alone(tmp_path: Path) -> None:
    path, lock = tmp_path / "a.yaml", tmp_path / "a.lock"
    tries: list[bytes] = []

    def change(data: bytes) -> bytes:
        tries.append(data)
        path.write_bytes(b"a: 1\n" * (len(tries) + 1))
        return b"ours"

    with pytest.raises(DataError, match="changes all the time"):
        records.rewrite(path, lock, change)
    assert len(tries) == records.TRIES and b"ours" not in path.read_bytes()
