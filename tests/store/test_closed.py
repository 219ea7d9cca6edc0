"""A folder that may not be written is read as it is; and what kills have left in one that may be is swept at a start."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from filelock import FileLock

from moechat.cli.main import main
from moechat.errors import DiskError
from moechat.store.files import FileStore
from tests.houses import ZONE, Home, day_files, edit, say, told


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def closed(home: Home) -> FileStore:
    return FileStore(home.folder, clock=home.clock, zone=ZONE, is_closed=True)


@pytest.mark.parametrize("indexes", [True, False])
def test_a_closed_folder_is_read_and_nothing_in_it_changes(home: Home, indexes: bool) -> None:
    store = home.store()
    ids = [told(store, home.clock, text, settle=True) for text in ("第一轮", "第二轮")]
    store.close()
    (day,) = day_files(home.folder)
    edit(day, "第二轮", "第二轮，改过")  # not read by anybody before
    if not indexes:
        for path in sorted((home.folder / ".index").rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        (home.folder / ".index").rmdir()
    before = contents(home.folder)
    store = closed(home)
    assert [store.exchanges.get(id_).user for id_ in ids] == ["第一轮", "第二轮，改过"]
    assert store.problems == []
    lent = store.index_folder
    store.close()
    assert not lent.exists()
    assert contents(home.folder) == before


def test_who_would_write_to_a_closed_folder_is_told(home: Home) -> None:
    told(home.store(), home.clock, "第一轮", settle=True)
    store = closed(home)
    with pytest.raises(DiskError, match="it may not be written"):
        store.log.begin("第二轮", home.clock.now())
    store.close()


@pytest.fixture
def read_only(home: Home) -> Iterator[Home]:
    """A home whose data lie on a read-only mount."""
    home.configure(embedding={"provider": "hash"})
    assert main(["say", "我养了一只叫雪球的猫", "--data", str(home.data), "--config", str(home.config)]) == 0
    for options in (["--bind", str(home.data)], ["-o", "remount,bind,ro"]):
        mount = subprocess.run(["mount", *options, str(home.data)], capture_output=True, check=False)
        if mount.returncode:
            subprocess.run(["umount", str(home.data)], capture_output=True, check=False)
            pytest.skip("mounting is not permitted here")
    yield home
    subprocess.run(["umount", str(home.data)], check=True)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["recall", "雪球"], "雪球"),
        (["log", "list"], "雪球"),
        (["memories", "list"], "雪球"),
        (["verify"], "exchanges: 1"),
    ],
)
def test_commands_that_look_work_on_a_read_only_disk(
    read_only: Home, capsys: pytest.CaptureFixture[str], command: list[str], words: str
) -> None:
    places = ["--data", str(read_only.data), "--config", str(read_only.config)]
    assert main([*command, *places]) == 0, capsys.readouterr().err
    assert words in capsys.readouterr().out


def test_saying_something_on_a_read_only_disk_is_refused_in_words(
    read_only: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["say", "你好", "--data", str(read_only.data), "--config", str(read_only.config)]) == 1
    assert "it may not be written" in capsys.readouterr().err


def test_what_kills_have_left_is_swept_at_a_start(home: Home) -> None:
    with home.open() as house:
        say(house.agent(), "你好")
    left = [
        ".log.jsonl.abcd1234", ".state.jsonl.abcd1234", ".format.abcd1234", "memorys/.2025-05-20.yaml.abcd1234",
        "replies/20250520-150000.lock", "imports/abc.lock", "imports/.abc.yaml.abcd1234", ".index/gone-1/docs.npy",
    ]  # fmt: skip
    others = [".character.yaml.abcd1234", "memorys/note.txt"]
    for name in [*left, *others]:
        (home.folder / name).parent.mkdir(exist_ok=True)
        (home.folder / name).write_bytes("残留".encode())
    in_use = home.folder / "replies" / "20250520-160000.lock"
    with FileLock(in_use), home.open() as house:
        house.agent()
        assert in_use.exists()
    assert [name for name in left if (home.folder / name).exists()] == []
    assert [name for name in others if not (home.folder / name).exists()] == []
