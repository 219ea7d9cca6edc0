"""Which files of an owner are seen to have changed: all where there are few, every one in turn where there are many."""

from __future__ import annotations

from pathlib import Path

import pytest

from moechat.store import disk
from moechat.store.files import FEW_FILES, FileWatch
from moechat.store.records import Signature

MANY = FEW_FILES + 50


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / disk.DAYS).mkdir()
    return tmp_path


def files(folder: Path, count: int) -> dict[str, Signature]:
    """That many day files, and how they stand."""
    names = [f"{disk.DAYS}/{n:04}-01-01.yaml" for n in range(1, count + 1)]
    for name in names:
        (folder / name).write_text("a: 1\n", encoding="utf-8")
    return {name: Signature.of(folder / name) for name in names}


def edited(folder: Path, name: str) -> None:
    (folder / name).write_text("a: other words\n", encoding="utf-8")


def test_changed_new_and_gone_files_are_named_in_order(folder: Path) -> None:
    known = files(folder, 3)
    watch = FileWatch(folder)
    assert watch.changed(known, all_files=False) == []
    first, second, third = known
    edited(folder, second)
    (folder / third).unlink()
    (folder / disk.CORE).write_text("f: x\n", encoding="utf-8")
    (folder / disk.DAYS / "0009-01-01.yml").touch()
    for name in (".hidden.yaml", "remarks.txt"):
        (folder / disk.DAYS / name).touch()
    new = f"{disk.DAYS}/0009-01-01.yml"
    assert watch.changed(known, all_files=False) == [disk.CORE, second, third, new]
    assert first not in watch.changed(known, all_files=True)


def test_where_nothing_was_written_nothing_has_changed(tmp_path: Path) -> None:
    assert FileWatch(tmp_path).changed({}, all_files=True) == []


def test_of_many_files_the_newest_and_core_memory_are_looked_at_each_time(folder: Path) -> None:
    known = files(folder, MANY)
    watch = FileWatch(folder)
    assert watch.changed(known, all_files=False) == []
    newest = max(known)
    edited(folder, newest)
    (folder / disk.CORE).write_text("f: x\n", encoding="utf-8")
    assert watch.changed(known, all_files=False) == [disk.CORE, newest]


@pytest.mark.parametrize("number", [0, 7, MANY // 2, MANY - 1])
def test_of_many_files_each_is_looked_at_within_a_few_turns(folder: Path, number: int) -> None:
    known = files(folder, MANY)
    watch = FileWatch(folder)
    watch.changed(known, all_files=False)
    name = sorted(known)[number]
    edited(folder, name)
    assert [name] in [watch.changed(known, all_files=False) for _ in range(MANY)]
    assert watch.changed(known, all_files=True) == [name]


def test_a_new_file_among_many_is_seen_at_once(folder: Path) -> None:
    known = files(folder, MANY)
    watch = FileWatch(folder)
    watch.changed(known, all_files=False)
    (folder / disk.DAYS / "2025-05-20.yaml").touch()
    assert watch.changed(known, all_files=False) == [f"{disk.DAYS}/2025-05-20.yaml"]
