"""A folder without indexes answers from its newest days at once; the rest is read behind, and said to be on its way."""

from __future__ import annotations

import gc
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from moechat.agent import Agent
from moechat.ai.offline.model import OfflineModel
from moechat.clock import SetClock
from moechat.model import Exchange
from tests.attack.checks import remains
from tests.houses import START, Home, moment, say, shown, waiting

DAYS = 600
BEGIN = moment("2025-05-19T09:00:00") - timedelta(days=DAYS - 1)
EARLY = f"{BEGIN + timedelta(days=2):%Y年%m月%d日}"
LONG = "x" * 1000  # The newest months are read at once, not all.


def exchanges() -> list[Exchange]:
    days = [BEGIN + timedelta(days=day) for day in range(DAYS)]
    return [Exchange(f"d{i:04d}", at, f"第{i}天我买了{i}号唱片", LONG) for i, at in enumerate(days)]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a house with a memory of six hundred days."""
    folder = tmp_path_factory.mktemp("written")
    home = Home.build(folder)
    with home.agent() as agent:
        agent.store.imports.add(exchanges(), talk="past", by="rules")
        agent.memories.add_fact("我住在杭州")
        agent.settle_indexes()
    return folder


@pytest.fixture
def bare(written: Path, tmp_path: Path) -> Home:
    """As it is after an update that threw the indexes away."""
    shutil.copytree(written, tmp_path / "house")
    home = Home(tmp_path / "house" / "data", tmp_path / "house" / "config.yaml", SetClock(moment(START)))
    shutil.rmtree(home.folder / ".index")
    return home


@contextmanager
def opened(home: Home) -> Iterator[Agent]:
    """The agent, before the background has read more than a little."""
    with home.agent(OfflineModel()) as agent, waiting(agent):
        assert agent.layers.unread_until is not None, "all of it was read before the first answer"
        yield agent


def test_the_newest_days_and_the_facts_answer_at_once(bare: Home) -> None:
    with opened(bare) as agent:
        assert f"{DAYS - 1}号唱片" in shown(agent.recall("昨天我买了什么唱片"))
        assert [fact.text for fact in agent.layers.core.current()] == ["用户住在杭州"]


def test_a_time_that_is_not_read_yet_is_no_time_without_a_record(bare: Home) -> None:
    with opened(bare) as agent:
        recollection = agent.recall(f"{EARLY}我买了什么")
        assert recollection.spans
        assert not recollection.empty_spans
        assert recollection.unread_until is not None
        assert "正在读取较早的记忆" in agent.problems()[0]
        before = agent.recall("2021年1月1日我买了什么")
        assert not before.empty_spans, "what is older than everything is not known to be empty either"


def test_the_reply_meanwhile_says_so(bare: Home) -> None:
    with opened(bare) as agent:
        ended = say(agent, f"我{EARLY}买了什么？")
        assert "没有" not in ended.exchange.char
        assert "等一会儿" in ended.exchange.char


def test_afterwards_all_is_there_as_if_the_indexes_had_been_kept(bare: Home) -> None:
    with bare.agent() as agent:
        agent.settle_indexes()
        assert agent.layers.unread_until is None
        assert agent.problems() == []
        recollection = agent.recall(f"{EARLY}我买了什么")
        assert "2号唱片" in shown(recollection)
        assert recollection.unread_until is None
        assert agent.recall("2021年1月1日我买了什么").empty_spans
        rows = [row for row, _ in agent.store.exchanges.times()]
        assert rows == sorted(rows), "rows follow the days, though the newest were read first"
        assert agent.verify()["problems"] == []


def test_what_is_forgotten_meanwhile_is_gone_from_the_files_that_were_not_read_yet(bare: Home) -> None:
    with opened(bare) as agent:
        agent.memories.forget(["d0002"])
    assert remains(bare.folder, ["我买了2号唱片"]) == []


def test_a_kill_in_the_middle_costs_nothing_but_the_rest(bare: Home) -> None:
    with opened(bare) as agent:
        agent.layers.read_on()
    with bare.agent() as agent:
        agent.settle_indexes()
        assert agent.verify()["problems"] == []


def test_opening_is_not_held_up_by_garbage_collection(home: Home) -> None:
    rows = [[f"d{i}", f"d{i - 1}" if i else None, "#"] for i in range(20_000)]
    home.folder.joinpath("log.jsonl").write_text(json.dumps({"op": "past", "rows": rows}) + "\n", encoding="utf-8")
    collections: list[str] = []

    def note(phase: str, _: dict[str, int]) -> None:
        collections.append(phase)

    with home.open() as house:
        house.ready()
        gc.callbacks.append(note)
        try:
            house.agent()
            assert collections.count("start") < 10  # Each 700 lists began one.
        finally:
            gc.callbacks.remove(note)
    assert gc.isenabled()


def test_what_the_first_opening_leaves_is_not_walked_over_again(tmp_path: Path) -> None:
    gc.unfreeze()
    gc.set_threshold(700, 10, 10)  # as in a process that has opened nothing
    with Home.build(tmp_path).open() as house:
        house.agent()
        after_one = gc.get_freeze_count()
        house.agent(user="another")
        after_two = gc.get_freeze_count()
    assert 0 < after_two <= after_one  # What goes of the many after it is found.
