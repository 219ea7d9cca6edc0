"""What was forgotten and comes back, by whatever way, is hidden and told, and let in or erased again."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from moechat.agent import Agent
from moechat.curation.brought import MemoryBatches, came_back
from moechat.store import archive
from tests.attack.checks import remains
from tests.houses import Home, day_files, moment, say

SECRET, WORD = "我养了一只叫月亮石的猫", "月亮石"


def forget_one(home: Home) -> Path:
    """A secret and a remark are said, all files are copied aside, then the secret is forgotten. Returns the copy."""
    before = home.data.parent / "before"
    with home.open() as house:
        agent = house.agent()
        id_ = say(agent, SECRET).exchange.id
        home.clock.advance(minutes=5)
        say(agent, "今天很热")
        agent.finish()
        shutil.copytree(home.folder, before)
        agent.memories.forget([id_])
        assert remains(home.folder, [WORD]) == []
    return before


def back(home: Home, before: Path, *names: str) -> None:
    for name in names:
        shutil.copy(before / name, home.folder / name)


def is_hidden(agent: Agent) -> bool:
    listed = agent.memories.listed(("fact", "event", "exchange"), limit=0).memories
    shown = f"{[row['text'] for row in agent.log()]}{listed}{agent.recall('我养了什么猫')}"
    return WORD not in shown


WAYS = {
    "an older day": lambda before: [f"memorys/{day_files(before)[0].name}"],
    "an older log": lambda before: ["log.jsonl"],
    "a day and its log": lambda before: ["log.jsonl", f"memorys/{day_files(before)[0].name}"],
    "older facts": lambda before: ["core_mem.yml"],
    "older notes": lambda before: [f"memorys/{path.name}" for path in (before / "memorys").glob("*.notes.yaml")],
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("decision", [MemoryBatches.let_in, MemoryBatches.erase_again])
@pytest.mark.parametrize("running", [True, False])
def test_it_is_hidden_told_and_let_in_or_erased_again(home: Home, way: str, decision: object, running: bool) -> None:
    before = forget_one(home)
    names = WAYS[way](before)
    if not running:
        back(home, before, *names)
    with home.open() as house:
        agent = house.agent()
        if running:
            back(home, before, *names)
        agent.look()
        assert is_hidden(agent)
        told = list(came_back(agent.store, "zh"))
        assert told and all("你在 2025-05-20 忘掉的" in text and any(name in text for name in names) for text in told)
        assert set(told) <= {text.removesuffix(" (moechat memories let-in / erase-again)") for text in agent.problems()}
        assert decision(agent.brought)  # type: ignore[operator]
        assert list(came_back(agent.store, "zh")) == []
        agent.look()
        if decision is MemoryBatches.erase_again:
            assert remains(home.folder, [WORD]) == [] and agent.verify()["problems"] == []
        elif "notes" not in way:
            assert not is_hidden(agent)
    with home.open() as house:
        assert list(came_back(house.agent().store, "zh")) == []


def test_a_memory_that_is_restored_whole_is_looked_through_too(home: Home, tmp_path: Path) -> None:
    before = forget_one(home)
    with (tmp_path / "older.zip").open("wb") as target:
        archive.pack(target, before, "memory", "小满", home.clock.now(), memory=True)
    for path in home.folder.iterdir():
        if path.name != "character.yaml":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    archive.unpack(tmp_path / "older.zip", home.folder)
    with home.open() as house:
        agent = house.agent()
        agent.look()
        assert is_hidden(agent) and list(came_back(agent.store, "en"))
        agent.brought.erase_again()
        assert remains(home.folder, [WORD]) == [] and "今天很热" in str(agent.log())


@pytest.mark.parametrize("stamped", [True, False])
def test_on_a_machine_without_the_key_the_random_id_alone_counts(
    home: Home, monkeypatch: pytest.MonkeyPatch, stamped: bool
) -> None:
    before = forget_one(home)
    monkeypatch.setenv("MOECHAT_ACCOUNT", str(home.data.parent / "another machine"))
    (day,) = day_files(before)
    lines = [line for line in day.read_text("utf-8").splitlines(True) if stamped or "stamp:" not in line]
    (home.folder / "memorys" / day.name).write_text("".join(lines), "utf-8")
    with home.open() as house:
        house.agent().look()
        assert bool(list(came_back(house.agent().store, "zh"))) == stamped


def test_what_another_memory_forgot_under_the_same_time_and_id_stays_here(home: Home, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = Home.build(tmp_path / "other", now=home.clock.now().isoformat())
    for place in (home, other):  # at the same second, in the same words
        with place.open() as house:
            say(house.agent(), SECRET)
            house.agent().finish()
    with home.open() as house:
        house.agent().memories.forget([row["id"] for row in house.agent().log()])
    (day,) = day_files(other.folder)
    day.write_text("".join(line for line in day.read_text("utf-8").splitlines(True) if "stamp:" not in line), "utf-8")
    (other.folder / "core_mem.yml").touch()
    with other.open() as house:
        house.agent().look()
        assert list(came_back(house.agent().store, "zh")) == [] and WORD in str(house.agent().log())


def test_no_tombstone_holds_a_word_and_whoever_writes_it_anew_is_not_asked(home: Home) -> None:
    forget_one(home)
    stone = (home.folder / "forgotten.jsonl").read_text("utf-8")
    assert stone.count('"op":"forgotten"') == 1 and "20250520" not in stone
    with home.open() as house:
        agent = house.agent()
        say(agent, SECRET)
        agent.finish()
        fact = agent.memories.add_fact("我喜欢桂花")
        agent.memories.forget([fact.id])
        agent.memories.add_fact("我喜欢桂花")
        path = home.folder / "core_mem.yml"
        path.write_text(path.read_text("utf-8") + "x: 我住在杭州\n", "utf-8")
        agent.look()
        assert list(came_back(agent.store, "zh")) == []
    with home.open() as house:
        assert list(came_back(house.agent().store, "zh")) == []


# ---- what is older than the rest


def three(home: Home) -> None:
    """Three exchanges, an hour apart; all files are copied aside after the second."""
    with home.open() as house:
        for number, text in enumerate(("第一句话", "第二句话", "第三句话")):
            say(house.agent(), text)
            house.agent().finish()
            if number == 1:
                shutil.copytree(home.folder, home.data.parent / "before")
            home.clock.advance(hours=1)


def test_a_log_that_is_older_than_its_days_is_told_and_takes_them_in_again_or_they_are_forgotten(home: Home) -> None:
    three(home)
    for decision in ("repair", "forget"):
        shutil.copy(home.data.parent / "before" / "log.jsonl", home.folder / "log.jsonl")
        with home.open() as house:
            agent = house.agent()
            assert [row["text"] for row in agent.log()] == ["第一句话", "第二句话"]
            assert any("log.jsonl" in text and "verify --repair" in text for text in agent.problems())
            assert any("no part of the talk" in text for text in agent.verify()["problems"])
            if decision == "repair":
                agent.store.repair()
            else:
                (lost,) = {
                    row.exchange.id for row in agent.store.exchanges.before(2e12, 9)
                } - agent.store.tree.parents.keys()
                agent.memories.forget([lost])
                assert remains(home.folder, ["第三句话"]) == []
            assert not any("log.jsonl" in text for text in [*agent.problems(), *agent.verify()["problems"]])
            assert len(agent.log()) == (3 if decision == "repair" else 2)


@pytest.mark.parametrize("running", [True, False])
def test_a_day_that_is_older_than_its_log_loses_nothing_that_was_said_after_it(home: Home, running: bool) -> None:
    three(home)
    (old,) = day_files(home.data.parent / "before")
    path = home.folder / "memorys" / old.name
    at = moment("2025-05-20T16:30:00").timestamp()
    with home.open() as house:
        agent = house.agent()
        if running:
            shutil.copy(old, path)
            os.utime(path, (at, at))
            agent.look()
    if not running:
        shutil.copy(old, path)
        os.utime(path, (at, at))
    with home.open() as house:
        agent = house.agent()
        assert [row["text"] for row in agent.log()] == ["第一句话", "第二句话", "第三句话"]
        assert "第三句话" in path.read_text("utf-8") and agent.store.state.missing == {}
        assert running or any("older than its log" in text for text in agent.problems())


def test_what_a_hand_takes_out_of_a_day_stays_in_the_log_until_its_owner_decides(home: Home) -> None:
    three(home)
    (path,) = day_files(home.folder)
    (old,) = day_files(home.data.parent / "before")
    path.write_bytes(old.read_bytes())
    home.clock.advance(days=30)
    store = home.store()
    store.rewrite_log(home.clock.now())
    (lost,) = store.state.missing
    assert store.exchanges.of([lost])[lost].user == "第三句话"
    assert store.repair() and "第三句话" in path.read_text("utf-8")
