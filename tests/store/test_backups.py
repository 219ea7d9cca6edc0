"""A memory is backed up by itself, a day each; what is forgotten is in no backup, and an export that may hold it is named."""

from __future__ import annotations

import contextlib
import io
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from moechat.store import archive, backups
from moechat.store.files import FileStore
from tests.houses import Home, say
from tests.shell import Shell


def held(path: Path) -> str:
    archive = zipfile.ZipFile(path)
    return "".join(archive.read(name).decode("utf-8", "replace") for name in archive.namelist())


def test_one_a_day_is_made_and_the_newest_stay(home: Home) -> None:
    with home.open() as house:
        agent = house.agent()
        say(agent, "我住在杭州")
        for _ in range(5):
            backups.back_up(agent.store, home.clock.now(), 3)
            assert not backups.back_up(agent.store, home.clock.now(), 3)
            home.clock.advance(days=1)
    names = [path.name for path in backups.listed(home.folder)]
    assert names == ["auto-2025-05-22.zip", "auto-2025-05-23.zip", "auto-2025-05-24.zip"]
    assert "杭州" in held(backups.listed(home.folder)[-1])


def test_a_large_memory_is_backed_up_more_rarely_and_comes_back_from_it(tmp_path: Path) -> None:
    home = Home.build(tmp_path)
    large = home.folder / "memorys" / "1999-01-01.yaml"
    with home.open() as house:
        agent = house.agent()
        say(agent, "我住在杭州")
        agent.finish()
        with large.open("wb") as file:
            file.truncate(70 << 20)  # More than is ever read at once.
        made = []
        for _ in range(7):
            made.append(backups.back_up(agent.store, home.clock.now(), 3))
            home.clock.advance(days=1)
        large.unlink()
    assert made == [True, False, False, True, False, False, True]
    copy = backups.listed(home.folder)[-1]
    assert archive.described(copy) is not None
    archive.unpack(copy, tmp_path / "back")
    assert (tmp_path / "back" / "memorys" / large.name).stat().st_size == 70 << 20
    assert (tmp_path / "back" / "log.jsonl").read_bytes() == (home.folder / "log.jsonl").read_bytes()


class Restless(io.BytesIO):
    """Whenever the log goes into an archive, the memory is used, unless somebody holds its lock."""

    def __init__(self, store: FileStore) -> None:
        super().__init__()
        self.store, self.is_held, self.seen = store, False, b""

    def write(self, data: Any) -> int:
        if b"log.jsonl" in data and not self.is_held:
            with self.store.writing():
                self.store.state.touch(["a fact"], self.store.clock.now())
        return super().write(data)

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        with self.store.writing():
            self.is_held = True
            yield
            self.is_held, self.seen = False, (self.store.folder / "state.jsonl").read_bytes()


def test_a_memory_that_is_used_meanwhile_is_packed_as_it_is_at_the_end(home: Home) -> None:
    with home.open() as house:
        say(house.agent(), "我住在杭州")
    store = home.store()
    target = Restless(store)
    archive.pack(target, home.folder, "memory", "小满", home.clock.now(), memory=True, alone=target.alone)
    packed = zipfile.ZipFile(target)
    assert packed.testzip() is None and len(set(packed.namelist())) == len(packed.namelist())
    assert packed.read("state.jsonl") == target.seen
    assert packed.read("log.jsonl") == (home.folder / "log.jsonl").read_bytes()


def test_a_quiet_program_makes_one_by_itself(home: Home) -> None:
    with home.open() as house:
        agent = house.agent()
        say(agent, "我住在杭州")
        agent.jobs.tick()
        assert [path.name for path in backups.listed(home.folder)] == ["auto-2025-05-20.zip"]
    home.configure(backups={"keep": 0})
    with home.open() as house:
        house.agent().jobs.tick()
    assert backups.listed(home.folder) == []


def test_forgetting_drops_them_and_makes_one_anew(home: Home) -> None:
    with home.open() as house:
        agent = house.agent()
        id_ = say(agent, "我的暗号是月亮石").exchange.id
        say(agent, "今天很热")
        agent.finish()
        agent.jobs.tick()
        home.clock.advance(days=1)
        agent.jobs.tick()
        assert ["月亮石" in held(path) for path in backups.listed(home.folder)] == [True, True]
        agent.memories.forget([id_])
        assert [("月亮石" in held(path), "很热" in held(path)) for path in backups.listed(home.folder)] == [
            (False, True)
        ]


def test_an_export_that_may_still_hold_it_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home = Home.build(tmp_path)
    home.configure(embedding={"provider": "hash"})
    moechat = Shell(home, capsys)
    id_ = moechat.json("memories", "add", "fact", "用户住在杭州")["id"]
    out = tmp_path / "out.zip"
    moechat.json("export", "memory", str(out))
    _, _, errors = moechat("memories", "forget", id_, "--yes")
    assert any(str(out) in error for error in errors)
    out.unlink()
    id_ = moechat.json("memories", "add", "fact", "用户住在成都")["id"]
    assert not any("out.zip" in error for error in moechat("memories", "forget", id_, "--yes")[2])
