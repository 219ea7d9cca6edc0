"""A file that was cut, told from one that a hand shortened: what it lost comes back from whatever still has it."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from moechat.errors import DataError
from moechat.model import Fact, FactDraft
from moechat.store.files import FileStore
from moechat.store.formats import derived_id
from moechat.store.records import segments
from tests.houses import Home, day_files, say, told

LINES = "我住在杭州\n昨天去了西湖"


def days_of(home: Home) -> tuple[Path, bytes, list[str]]:
    """A day file of three exchanges, its bytes, and their ids."""
    store = home.store()
    ids = [told(store, home.clock, text, settle=True) for text in ("第一轮", "第二轮", LINES)]
    store.close()
    (path,) = day_files(home.folder)
    return path, path.read_bytes(), ids


def still(path: Path, data: bytes) -> None:
    """Write a file as it is found after a while."""
    path.write_bytes(data)
    os.utime(path, (path.stat().st_atime, path.stat().st_mtime - 3600))


def held(store: FileStore, ids: list[str]) -> list[str]:
    return [store.exchanges.get(id_).user for id_ in ids if id_ not in store.hidden()]


def last_of(data: bytes, id_: str) -> int:
    return data.index(f"{id_}:".encode())


def test_a_day_file_cut_inside_its_last_record_is_put_back_and_told_once(home: Home) -> None:
    path, whole, ids = days_of(home)
    for cut in range(last_of(whole, ids[-1]) + 1, len(whole) - 1):
        still(path, whole[:cut])
        store = home.store()
        assert held(store, ids) == ["第一轮", "第二轮", LINES], whole[:cut]
        assert path.read_bytes() == whole
        assert [str(path) in str(problem) and ids[-1] in str(problem) for problem in store.problems] == [True]
        assert store.tree.pending() == ids, "nothing was taken for a correction"
        store.close()
        again = home.store()
        assert again.problems == []
        again.close()


def test_a_file_cut_further_up_gets_all_back_that_stood_after_the_cut(home: Home) -> None:
    path, whole, ids = days_of(home)
    still(path, whole[: last_of(whole, ids[1]) + 30])
    store = home.store()
    assert path.read_bytes() == whole
    assert held(store, ids) == ["第一轮", "第二轮", LINES]


@pytest.mark.parametrize("share", [0, 0.3, 0.8, 1])
def test_zeros_at_the_end_of_a_file_are_damage(home: Home, share: float) -> None:
    path, whole, ids = days_of(home)
    kept = int(len(whole) * share)
    still(path, whole[:kept] + bytes(len(whole) - kept + 100))
    store = home.store()
    assert path.read_bytes() == whole
    assert held(store, ids) == ["第一轮", "第二轮", LINES]


def test_a_correction_that_a_damaged_log_lost_comes_from_the_day_file(home: Home, store: FileStore) -> None:
    id_ = told(store, home.clock, "我的猫叫旧名", settle=True)
    store.log.correct(id_, user="我的猫叫新名")
    store.close()
    log = home.folder / "log.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    kept = next(place for place, line in enumerate(lines) if json.loads(line)["op"] == "settle")
    log.write_bytes(b"".join(lines[:kept]) + b"\0" * sum(map(len, lines[kept:])))
    again = home.store()
    again.log.settle()
    assert held(again, [id_]) == ["我的猫叫新名"]
    assert [exchange.user for exchange in again.exchanges.of([id_]).values()] == ["我的猫叫新名"]


def test_words_that_the_log_no_longer_has_come_from_the_cache(home: Home) -> None:
    path, whole, ids = days_of(home)
    store = home.store()
    store.mark_understood(ids, "rules")
    assert store.rewrite_log(home.clock.now() + timedelta(days=1))
    assert LINES[:5].encode() not in (home.folder / "log.jsonl").read_bytes()
    still(path, whole[:-10])
    store.follow()
    assert path.read_bytes() == whole


def without_last_words(data: bytes) -> bytes:
    return data.replace("昨天去了西湖".encode(), "昨天".encode())


def without_last_line(data: bytes) -> bytes:
    return data.replace("\n      昨天去了西湖".encode(), b"")


@pytest.mark.parametrize("change", [without_last_words, without_last_line])
def test_a_hand_that_shortens_words_has_corrected_them(home: Home, change: Callable[[bytes], bytes]) -> None:
    path, whole, ids = days_of(home)
    assert change(whole) != whole
    still(path, change(whole))
    store = home.store()
    assert path.read_bytes() == change(whole)
    assert store.exchanges.get(ids[-1]).user == ("我住在杭州" if change is without_last_line else "我住在杭州\n昨天")
    assert store.problems == []


def test_a_reply_shortened_by_hand_at_the_end_of_the_file_stays_short(home: Home) -> None:
    store = home.store()
    id_ = told(store, home.clock, "问", "第一行\n第二行", settle=True)
    store.close()
    (path,) = day_files(home.folder)
    still(path, path.read_bytes().replace("\n      第二行".encode(), b""))
    store = home.store()
    assert store.exchanges.get(id_).char == "第一行"


# ---- facts, which the cache has as well


def facts_of(home: Home) -> tuple[Path, bytes]:
    """A file of three facts, read by a store, and its bytes."""
    store = home.store()
    texts = ("用户住在杭州", "用户爱喝茶\n也爱喝酒", "用户怕高")
    for text in texts:
        store.findings.put([Fact(derived_id(text, ()), home.clock.now(), FactDraft(text, ()))])
        home.clock.advance(minutes=1)
    store.close()
    path = home.folder / "core_mem.yml"
    return path, path.read_bytes()


def test_facts_that_a_cut_took_come_back_from_the_cache_and_are_told_once(home: Home) -> None:
    path, whole = facts_of(home)
    starts = [start for start, _ in segments(whole)]
    for cut in range(starts[1] + 3, len(whole), 5):
        if whole[:cut].rstrip().endswith(b"by: model"):  # whole records are gone: a hand has taken them out
            continue
        still(path, whole[:cut])
        store = home.store()
        assert path.read_bytes() == whole, whole[:cut]
        assert len(store.findings.facts()) == 3
        assert [str(path) in str(problem) for problem in store.problems] == [True]
        store.close()
        again = home.store()
        assert again.problems == []
        again.close()


def test_facts_that_a_hand_took_out_or_shortened_stay_so(home: Home) -> None:
    path, whole = facts_of(home)
    start = segments(whole)[2][0]
    shorter = whole[:start].replace("\n    也爱喝酒".encode(), b"")
    for left in (whole[:start], shorter):
        still(path, left)
        store = home.store()
        assert (path.read_bytes(), store.problems) == (left, [])
        assert len(store.findings.facts()) == 2
        store.close()


def test_no_fact_is_written_into_a_file_that_may_be_on_its_way_to_the_disk(home: Home) -> None:
    path, whole = facts_of(home)
    path.write_bytes(whole[:-10])
    store = home.store()
    mine = Fact("x", home.clock.now(), FactDraft("用户爱画画", ()), by="owner")
    with pytest.raises(DataError, match="core_mem"):
        store.findings.put([mine])
    still(path, whole[:-10])
    store.findings.put([mine])
    assert path.read_bytes().startswith(whole)
    assert len(store.findings.facts()) == 4


def test_a_file_that_is_being_written_is_not_judged_yet(home: Home) -> None:
    path, whole, ids = days_of(home)
    path.write_bytes(whole[:-10])  # just now: somebody may be saving it
    store = home.store()
    id_ = told(store, home.clock, "第四轮", settle=True)
    assert path.read_bytes() == whole[:-10]
    assert [node.id for node in store.tree.unfiled()] == [id_]
    still(path, whole[:-10])
    store.follow()
    store.log.settle()
    assert path.read_bytes().startswith(whole)
    assert held(store, [*ids, id_]) == ["第一轮", "第二轮", LINES, "第四轮"]
    assert not store.tree.unfiled()


# ---- what is put back when it is asked for


def flipped(data: bytes, id_: str) -> bytes:
    """A byte of the record's words is another one: it is no UTF-8 any more."""
    place = data.index("我住".encode() if "我住".encode() in data[last_of(data, id_) :] else "第".encode())
    return data[:place] + b"\xff" + data[place + 1 :]


def torn_up(data: bytes, id_: str) -> bytes:
    start = last_of(data, id_)
    return data[:start] + data[start:].replace(b"  msg:\n", b"  msg: [\n", 1)


def taken_out(data: bytes, id_: str) -> bytes:
    return data[: last_of(data, id_)]


@pytest.mark.parametrize("damage", [flipped, torn_up, taken_out])
def test_repair_puts_back_what_the_log_still_has(home: Home, damage: Callable[[bytes, str], bytes]) -> None:
    path, whole, ids = days_of(home)
    hand = "# 我的日记\n".encode()
    damaged = damage(hand + whole, ids[-1])
    still(path, damaged)
    store = home.store()
    assert held(store, ids[:2]) == ["第一轮", "第二轮"], "the others serve as before"
    assert path.read_bytes() == damaged, "nothing happens to it unless it is asked for"
    assert store.verify()[1] != []
    assert [ids[-1] in line for line in store.repair()] == [True]
    assert path.read_bytes() == hand + whole
    assert held(store, ids) == ["第一轮", "第二轮", LINES]
    assert store.verify() == (3, [])
    assert store.repair() == []
    assert (home.folder / "backups" / "damaged" / path.name).read_bytes() == damaged


def test_repair_writes_a_deleted_day_anew_but_nothing_that_was_taken_back(home: Home) -> None:
    path, whole, ids = days_of(home)
    store = home.store()
    store.log.retract(ids[0])
    path.unlink()
    store.repair()
    assert held(store, ids) == ["第二轮", LINES]
    assert path.read_bytes() == whole[last_of(whole, ids[1]) :]


# ---- indexes


def without_times(home: Home) -> None:
    with contextlib.closing(sqlite3.connect(home.folder / ".index" / "cache.db")) as db:
        db.execute("UPDATE exchanges SET t = 'x'")
        db.commit()


def a_folder(home: Home) -> None:
    path = home.folder / ".index" / "cache.db"
    path.unlink()
    path.mkdir()


def zeros_inside(home: Home) -> None:
    path = home.folder / ".index" / "cache.db"
    data = path.read_bytes()
    path.write_bytes(data[:4096] + bytes(len(data) - 4096))


@pytest.mark.parametrize("damage", [without_times, a_folder, zeros_inside])
def test_a_cache_that_makes_no_sense_is_made_anew(home: Home, damage: Callable[[Home], None]) -> None:
    with home.open() as house:
        say(house.agent(), "我养了一只叫雪球的猫")
        house.agent().finish()
    damage(home)
    with home.open() as house:
        agent = house.agent()
        agent.settle_indexes()
        assert [row["text"] for row in agent.log()] == ["我养了一只叫雪球的猫"]
        assert agent.verify()["problems"] == []
        say(agent, "它今天很乖")


def cut_log(home: Home, id_: str, op: str) -> None:
    """The log ends before the first entry of this kind about an exchange."""
    path = home.folder / "log.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    entries = [json.loads(line) for line in lines]
    first = next(place for place, entry in enumerate(entries) if (entry.get("op"), entry.get("id")) == (op, id_))
    path.write_bytes(b"".join(lines[:first]))


def test_a_reply_that_the_log_has_lost_stays_as_the_day_file_has_it(home: Home) -> None:
    path, whole, ids = days_of(home)
    cut_log(home, ids[-1], "variant")
    store = home.store()
    store.log.settle()
    assert path.read_bytes() == whole
    last = store.exchanges.get(ids[-1])
    assert (last.char, last.status) == ("好。", "done")


def test_verify_tells_that_the_log_ends_before_what_was_filed(home: Home) -> None:
    path, whole, ids = days_of(home)
    store = home.store()
    assert store.verify() == (3, [])
    store.close()
    cut_log(home, ids[1], "exchange")
    again = home.store()
    count, (problem,) = again.verify()
    assert (count, path.read_bytes()) == (3, whole)
    assert "log.jsonl ends before" in problem and ids[1] in problem and "2 exchanges" in problem
