"""Files of an owner's folder that are none of MoeChat's: named, in no backup and no export, looked through when something is
forgotten, and erased where that is wished for."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest

from moechat.access.keys import EVERYTHING, PASS
from moechat.errors import NotFound
from moechat.store import archive, backups, unknown
from moechat.store.files import FileStore
from moechat.store.zips import zipped
from moechat.web import memory_room
from moechat.web.clicks import Visit, Whereabouts
from moechat.web.desk import Desk
from moechat.web.memory_room import MemoryLook
from moechat.web.words import Words
from tests.houses import Home, day_files, say
from tests.shell import Shell

SECRET = "我的暗号是月亮石"
LEFTOVERS = (
    "memorys/2025-05-20.yaml~", "memorys/2025-05-20.yaml.bak", "memorys/2025-05-20.yaml.orig", "memorys/#2025-05-20.yaml#",
    "memorys/.2025-05-20.yaml.swp", "log (1).jsonl", "core_mem.yml~", ".history.yaml.swo", "replies/x.jsonl.bak",
    "imports/y.yaml~", "backups/mine.zip", "data_base/人物.yaml~", "character.yaml.bak", "notes.txt",
)  # fmt: skip
FORMS: dict[str, Callable[[str], bytes]] = {
    "UTF-8": str.encode, "UTF-16": lambda text: text.encode("utf-16"), "JSON": lambda text: json.dumps([text]).encode(),
    "percent": lambda text: quote(text).encode(),
    "zip": lambda text: zipped({"day.yaml": text.encode()}),
}  # fmt: skip


@pytest.fixture
def moechat(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(Home.build(tmp_path), capsys)


def leave(home: Home, name: str, data: bytes) -> None:
    path = home.folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def test_what_the_program_writes_is_known_and_what_an_editor_leaves_is_not(home: Home) -> None:
    with home.open() as house:
        agent = house.agent()
        say(agent, SECRET)
        agent.finish()
        agent.jobs.tick()
        agent.memories.add_fact("我喜欢桂花")
        say(house.agent(user="小林"), "你好")
        assert agent.unknown_files() == [], "in the middle of it"
    assert unknown.unknown(home.folder) == []
    (home.folder / ".git").mkdir()
    for name in LEFTOVERS:
        leave(home, name, SECRET.encode())
    assert unknown.unknown(home.folder) == sorted([".git/", *LEFTOVERS])


def test_they_are_in_no_backup_no_export_and_no_copy(home: Home) -> None:
    for name in LEFTOVERS:
        leave(home, name, SECRET.encode())
    with home.open() as house:
        agent = house.agent()
        say(agent, "今天很热")
        agent.finish()
        backups.back_up(agent.store, home.clock.now(), 3)
        (copy,) = backups.listed(home.folder)
        assert not set(LEFTOVERS) & set(zipfile.ZipFile(copy).namelist())
        for memory in (False, True):
            target = io.BytesIO()
            house.studio.export_archive("小满", target, memory=memory)
            names = zipfile.ZipFile(target).namelist()
            assert "character.yaml" in names and ("log.jsonl" in names) == memory and not set(LEFTOVERS) & set(names)
        house.studio.duplicate("小满", "小满二号")
    assert unknown.unknown(home.data / "agents" / "小满二号") == []


@pytest.mark.parametrize("form", FORMS)
def test_those_that_hold_forgotten_words_are_named_and_erased_where_ticked(home: Home, form: str) -> None:
    with home.open() as house:
        agent = house.agent()
        id_ = say(agent, SECRET).exchange.id
        agent.finish()
        leave(home, "memorys/2025-05-20.yaml~", FORMS[form](SECRET))
        leave(home, "log (1).jsonl", FORMS[form]("今天很热，明天也很热"))
        leave(home, "core_mem.yml~", FORMS[form](f"x:\n  source: [{id_}]\n"))
        files = agent.memories.forgets([id_]).files
        assert files == ["core_mem.yml~", "memorys/2025-05-20.yaml~"]
        with pytest.raises(NotFound):
            agent.memories.forget([id_], ["character.yaml"])
        assert agent.memories.get(id_), "nothing was forgotten then"
        agent.memories.forget([id_], files)
        assert agent.unknown_files() == ["log (1).jsonl"]


def test_what_cannot_be_looked_through_counts_as_holding_them(home: Home) -> None:
    with home.open() as house:
        agent = house.agent()
        id_ = say(agent, SECRET).exchange.id
        agent.finish()
        (home.folder / "log.lnk").symlink_to("log.jsonl")
        with (home.folder / "big.bin").open("wb") as file:
            file.truncate(unknown.MOST_BYTES + 1)
        leave(home, "torn.zip", zipped({"day.yaml": b"other words"})[:-30] + b"PK\5\6" + bytes(18))
        assert {"big.bin", "log.lnk"} <= set(agent.memories.forgets([id_]).files)


def test_the_commands_and_the_page_name_them(moechat: Shell) -> None:
    moechat("say", SECRET)
    folder = moechat.home.folder
    (day,) = day_files(folder)
    left = day.with_name(day.name + "~")
    left.write_bytes(day.read_bytes())
    name = f"memorys/{left.name}"
    status, _, errors = moechat("verify")
    assert status == 0 and any(name in line for line in errors)
    with moechat.home.open() as house:
        PASS.set(EVERYTHING)
        agent, desk = house.agent(), Desk(house)
        (id_,) = agent.store.tree.parents
        assert name in desk.frame(Whereabouts("小满"), Words("zh"))["problems"]
        look = MemoryLook(kind="exchange", opened=id_, doing="surely")
        assert quote(name) in memory_room.drawn(Visit(house, agent, Words("zh")), look)
    assert any(name in line for line in moechat("memories", "forget", id_, "--dry-run")[2])
    assert moechat("memories", "forget", id_, "--yes", "--files", name)[0] == 0
    assert not left.exists()


def test_backups_go_with_a_forgetting_and_strangers_beside_them_do_not(home: Home) -> None:
    for name in ("auto-2025-05-19.zip", "damaged/2025-05-19.yaml", "mine.zip", "format-1/log.jsonl"):
        leave(home, f"backups/{name}", b"x")
    store: FileStore = home.store()
    store.scrub()
    assert [path.name for path in (home.folder / "backups").iterdir()] == ["mine.zip"]
    store.close()


def test_a_copy_of_another_character_kind_packs_the_memory_of_every_user_and_world(home: Home) -> None:
    for place in ("", "users/a/", "users/a/worlds/b/", "worlds/c/"):
        leave(home, f"{place}log.jsonl", b"")
        leave(home, f"{place}memorys/2025-05-20.yaml~", b"x")
    target = io.BytesIO()
    archive.pack(target, home.folder, "character", "小满", home.clock.now(), memory=True)
    assert sorted(zipfile.ZipFile(target).namelist()) == sorted(
        [
            "character.yaml",
            "moechat.json",
            *(f"{place}log.jsonl" for place in ("", "users/a/", "users/a/worlds/b/", "worlds/c/")),
        ]
    )
