"""The small files of an owner: what was reflected on, what was refused, names, copies that were left, YAML by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import date, datetime, timedelta
from pathlib import Path

import pytest

from moechat.errors import DataError, DiskError
from moechat.model import Episode, Event, RefusedItem
from moechat.store import disk, formats, plain, records
from moechat.store.files import FileStore
from moechat.store.json_lines import JsonLines
from moechat.store.reflections import REFLECTED, Made, Reflected, ReflectionFile, digest
from tests.houses import ZONE, Home, moment

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


def test_what_was_made_is_told_by_its_end_and_its_words() -> None:
    made = Made.of(replace(THOUGHT, expires=AT + timedelta(days=1)), {"e1": "h"})
    assert made == Made("r1", {"e1": "h"}, ("a", "b"), (AT + timedelta(days=1)).timestamp())
    assert Made.of(THOUGHT, {}).expires == math.inf
    other_words = replace(THOUGHT, event=replace(THOUGHT.event, text="用户爱读书"))
    assert digest(THOUGHT) == digest(replace(THOUGHT, id="x")) != digest(other_words)


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


# ---- old replies, names, copies


@pytest.mark.parametrize("note", formats.STORED_NOTICES)
def test_the_note_that_no_model_is_connected_is_taken_off_an_old_reply(note: str) -> None:
    assert formats.without_notice(f"我记得。\n\n{note}") == ("我记得。", note)
    for reply in ("我记得 MOECHAT_API_KEY。", "我记得。 "):
        assert formats.without_notice(reply) == (reply, "")


def test_the_files_of_a_memory_are_named_for_their_days(tmp_path: Path) -> None:
    days = {"2025-05-20.yaml": date(2025, 5, 20), "memorys/2025-5-2.2.yaml": date(2025, 5, 2), "2025-13-40.yaml": None}
    assert {name: disk.day_of(name) for name in [*days, "notes.yaml"]} == {**days, "notes.yaml": None}
    late = datetime.fromisoformat("2025-05-20T23:30:00+00:00")
    assert disk.notes_file(disk.day_file(late, ZONE)) == "memorys/2025-05-21.notes.yaml"
    kinds = {name: (disk.is_day_file(name), disk.is_notes(name)) for name in ("a.yaml", "a.notes.yaml", disk.CORE)}
    assert kinds == {"a.yaml": (True, False), "a.notes.yaml": (False, True), disk.CORE: (False, False)}
    (tmp_path / disk.DAYS).mkdir()
    for name in ("2025-05-21.yaml", "2025-05-20.yml", "2025-05-20.notes.yaml", ".2025.yaml", "x.txt", "x.yxml"):
        (tmp_path / disk.DAYS / name).touch()
    there = [f"memorys/{name}" for name in ("2025-05-20.notes.yaml", "2025-05-20.yml", "2025-05-21.yaml")]
    assert list(disk.record_files(tmp_path)) == there


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


def test_what_a_disk_answers_is_told_by_its_reason_or_else_in_its_words() -> None:
    for error, words in ((OSError(5, "bad sector", "log"), "bad sector"), (OSError("odd"), "odd")):
        with pytest.raises(DiskError, match=words), disk.in_words():
            raise error


# ---- files that people edit too


def test_text_stays_text_where_it_is_to_and_what_cannot_be_read_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    with pytest.raises(DataError, match="cannot be read"):
        plain.text(path)
    path.write_bytes(b"\xef\xbb\xbfa: no\r\nb: 12\r\n")
    assert plain.read_yaml(path, as_text=True) == {"a": "no", "b": "12"}
    assert plain.read_yaml(path) == {"a": False, "b": 12} and plain.text(path) == "a: no\nb: 12\n"
    path.write_bytes(b"")
    assert plain.read_yaml(path) is None
    path.write_bytes(b"a: 1\nb: \xff\n")
    with pytest.raises(DataError, match="not UTF-8 text; save the file as UTF-8") as refusal:
        plain.read_yaml(path)
    assert refusal.value.line == 2


def test_where_the_words_of_a_record_stand_is_found_without_reading_the_others() -> None:
    data = "# 头\na: 早\nb:\n  user: 茶\n  char: 茶\nc: 晚\n'd x': 茶\n".encode()
    pieces = [data[start:end].decode() for start, end in records.around(data, "茶".encode())]
    assert pieces == ["b:\n  user: 茶\n  char: 茶\n", "'d x': 茶\n"]
    assert records.around(data, "头".encode()) == [(0, data.index(b"a:"))]
    assert records.under(data, "d x") == (data.index(b"'d x'"), len(data))
    cases = {b"ab: 1\na: 2": (6, 10), b"a:\r\n  x: 1\r\nb: 2\r\n": (0, 12), b"a:b\n": None, b"": None}
    assert {text: records.under(text, "a") for text in cases} == cases


def test_a_list_of_anything_but_text_and_mappings_cannot_be_written() -> None:
    with pytest.raises(TypeError, match="a list holds text or mappings, not int"):
        records.entry("a", {"b": [1]})
    value = {"b": {}, "c": 7, "d": "x: y", "e": "end:"}
    assert records.entry("a", value).decode() == 'a:\n  b: {}\n  c: 7\n  d: "x: y"\n  e: "end:"\n'


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
