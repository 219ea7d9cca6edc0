"""Folders of earlier formats: they open, answer as before, are copied byte for byte, and lose nothing.

``tests/formats`` holds what earlier versions wrote. Nothing there is ever changed; a new format adds a folder.
"""

from __future__ import annotations

import json
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from moechat.agent import Agent
from moechat.errors import DataError
from moechat.store import upgrade
from moechat.store.unknown import is_memory
from tests.houses import CHARACTER, Home, moment, say

FORMATS = Path(__file__).parents[1] / "formats"
ONES = ["format-1-zh", "format-1-en"]
OLDER = [*ONES, "format-2-zh"]
NOW = "2025-05-25T10:00:00"


def placed(tmp_path: Path, name: str) -> Home:
    """A home with a copy of an earlier folder as its character."""
    home = Home.build(tmp_path, now=NOW, embedding={"provider": "hash"})
    shutil.copytree(FORMATS / name / "owner", home.folder, dirs_exist_ok=True)
    return home


def expected(name: str) -> dict[str, Any]:
    rows: dict[str, Any] = json.loads((FORMATS / name / "expected.json").read_text(encoding="utf-8"))
    return rows


def files(folder: Path) -> dict[str, bytes]:
    """All of a memory, without what is made anew from it."""
    paths = {path.relative_to(folder): path for path in folder.rglob("*") if path.is_file() and path.name != ".lock"}
    return {str(name): path.read_bytes() for name, path in paths.items() if name.parts[0] not in (".index", "backups")}


def memory_of(folder: Path) -> dict[str, bytes]:
    return {name: data for name, data in files(folder).items() if name.split("/")[0] in upgrade.MEMORY}


def texts(agent: Agent, question: str) -> list[str]:
    return [hit.text for hit in agent.recall(question).hits]


def shown(agent: Agent) -> list[tuple[object, ...]]:
    return [
        (one.exchange.user, one.exchange.char, one.variants, one.chosen, [ground["id"] for ground in one.grounds])
        for one in agent.recent(50)
    ]


@pytest.mark.parametrize("name", OLDER)
def test_an_earlier_folder_is_what_it_was(tmp_path: Path, name: str) -> None:
    home, before = placed(tmp_path, name), expected(name)
    with home.open(looks=True) as house:
        for question, word in before["recall"].items():
            assert any(word in text for text in texts(house.agent(), question)), question
        looked_at = shown(house.agent())
    with home.open() as house:
        agent = house.agent()
        agent.settle_indexes()
        for question, word in before["recall"].items():
            assert any(word in text for text in texts(agent, question)), question
        assert [{key: row[key] for key in before["log"][0]} for row in agent.log()] == before["log"]
        assert shown(agent) == looked_at
        assert [list(one[:4]) for one in shown(agent)] == before["recent"]
        assert sorted(fact.text for fact in agent.layers.core.current()) == before["facts"]
        assert agent.verify()["problems"] == []
        assert agent.problems() == []


@pytest.mark.parametrize("name", [*OLDER, "original"])
def test_it_is_copied_byte_for_byte_before_it_is_brought_up_to_date(tmp_path: Path, name: str) -> None:
    home = placed(tmp_path, name)
    before = memory_of(home.folder)
    with home.open() as house:
        agent = house.agent()
        say(agent, "你好")
        agent.finish()
    number = 0 if name == "original" else name.split("-")[1]
    ours = {file: data for file, data in before.items() if is_memory(file)}
    assert files(home.folder / "backups" / f"format-{number}") == ours
    assert (home.folder / "format").read_bytes() == b"3\n"
    with home.open() as house:
        house.agent()
    assert [path.name for path in (home.folder / "backups").iterdir()] == [f"format-{number}"], "once"


@pytest.mark.parametrize("name", ONES)
def test_its_log_quotes_no_memory_afterwards_and_says_the_same(tmp_path: Path, name: str) -> None:
    home = placed(tmp_path, name)
    quoted = [
        hit["text"]
        for line in (home.folder / "log.jsonl").read_text(encoding="utf-8").splitlines()
        for hit in json.loads(line).get("hits", ())
    ]
    assert any(quoted)
    store = home.store()
    variants = {id_: node.variants for id_, node in store.tree.nodes.items()}
    size = (home.folder / "log.jsonl").stat().st_size
    store.upgrade()
    log = (home.folder / "log.jsonl").read_text(encoding="utf-8")
    assert '"text"' not in log
    assert len(log.encode()) < size
    for id_, before in variants.items():
        after = store.tree.nodes[id_].variants
        assert [(one.char, one.status, one.spans) for one in after] == [
            (one.char, one.status, one.spans) for one in before
        ]
        assert [[hit["id"] for hit in one.hits] for one in after] == [[hit["id"] for hit in one.hits] for one in before]
    store.close()


def test_replies_on_their_way_and_what_was_refused_are_copied_too(tmp_path: Path) -> None:
    home = placed(tmp_path, "format-1-zh")
    (home.folder / "replies").mkdir()
    (home.folder / "replies" / "x.jsonl").write_text('"嗯"\n', encoding="utf-8")
    (home.folder / "refused.jsonl").write_text("{}\n", encoding="utf-8")
    home.store().upgrade()
    copied = files(home.folder / "backups" / "format-1")
    assert {"replies/x.jsonl", "refused.jsonl"} <= copied.keys()


@pytest.mark.parametrize("name", [*OLDER, "original"])
def test_whoever_only_looks_changes_nothing(tmp_path: Path, name: str) -> None:
    home = placed(tmp_path, name)
    before = files(home.folder)
    with home.open(looks=True) as house:
        house.agent().recall("我吃了什么")
        assert house.agent().verify()["problems"] == []
    assert files(home.folder) == before
    assert not (home.folder / "backups").exists()


def test_a_folder_of_the_original_answers_and_keeps_its_files(tmp_path: Path) -> None:
    home = placed(tmp_path, "original")
    home.clock.at = moment("2025-05-20T10:00:00")
    before = files(home.folder)
    with home.open() as house:
        agent = house.agent()
        agent.settle_indexes()
        assert any("小笼包" in text for text in texts(agent, "前天我吃了什么"))
        assert any("香菜" in text for text in texts(agent, "我讨厌香菜吗"))
        assert any("常去" in text for text in texts(agent, "断桥在哪"))
        assert agent.verify()["problems"] == []
    after = files(home.folder)
    assert {name: after[name] for name in before if name != "history.yaml"} == {
        name: data for name, data in before.items() if name != "history.yaml"
    }


# ---- the number


def test_a_new_memory_says_its_format_with_its_first_word(home: Home) -> None:
    with home.open(looks=True) as house:
        house.agent().recall("你好")
    assert not (home.folder / "format").exists()
    with home.open() as house:
        say(house.agent(), "你好")
    assert (home.folder / "format").read_bytes() == b"3\n"
    assert not (home.folder / "backups").exists()


def test_a_newer_folder_is_refused_in_words_and_left_alone(home: Home) -> None:
    (home.folder / "format").write_text("5\n", encoding="utf-8")
    before = files(home.folder)
    for looks in (False, True):
        with (
            home.open(looks=looks) as house,
            pytest.raises(DataError, match=r"format: a newer MoeChat .*update MoeChat"),
        ):
            house.agent()
    assert files(home.folder) == before


def test_a_format_that_is_no_number_is_named(home: Home) -> None:
    (home.folder / "format").write_text("zwei\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"'zwei': expects the number"):
        home.store()


def test_each_user_and_world_has_its_own_number(tmp_path: Path) -> None:
    home = placed(tmp_path, "format-1-zh")
    shutil.copytree(FORMATS / "format-1-zh" / "owner", home.folder / "worlds" / "海上")
    with home.open() as house:
        house.agent(CHARACTER, None, "海上")
    assert (home.folder / "worlds" / "海上" / "format").exists()
    assert not (home.folder / "format").exists()


# ---- kills, and two processes


def test_a_copy_that_was_cut_short_is_made_anew(tmp_path: Path) -> None:
    home = placed(tmp_path, "format-1-zh")
    before = memory_of(home.folder)
    half = home.folder / "backups" / ".format-1.abcdefgh"
    half.mkdir(parents=True)
    (half / "log.jsonl").write_text("{", encoding="utf-8")
    home.store().upgrade()
    assert files(home.folder / "backups" / "format-1") == before
    assert not half.exists()


def test_a_kill_after_the_copy_or_after_the_log_leaves_the_first_copy(tmp_path: Path) -> None:
    home = placed(tmp_path, "format-1-zh")
    before = memory_of(home.folder)
    for _ in range(2):
        home.store().upgrade()
        (home.folder / "format").unlink()  # as if the kill came before the number was written
    home.store().upgrade()
    assert files(home.folder / "backups" / "format-1") == before
    assert (home.folder / "format").exists()


def test_of_two_processes_one_does_it_and_the_other_waits(tmp_path: Path) -> None:
    home = placed(tmp_path, "format-1-zh")
    first, second = home.store(), home.store()
    lock = FileLock(first.index_folder / upgrade.LOCK)
    done: list[bool] = []
    with lock:
        other = threading.Thread(target=lambda: done.append(upgrade.upgrade(second)))
        other.start()
        upgrade.sign(home.folder)  # the first has ended meanwhile
    other.join()
    assert done == [False]
    assert not (home.folder / "backups").exists()


def test_forgetting_takes_the_copy_away(tmp_path: Path) -> None:
    home = placed(tmp_path, "format-1-zh")
    with home.open() as house:
        agent = house.agent()
        assert (home.folder / "backups" / "format-1").exists()
        agent.memories.forget([agent.log()[0]["id"]])  # type: ignore[list-item]
        agent.settle_indexes()
        assert not (home.folder / "backups").exists()
        held = [path for path in home.folder.rglob("*") if path.is_file() and "团子".encode() in path.read_bytes()]
        assert held == []
