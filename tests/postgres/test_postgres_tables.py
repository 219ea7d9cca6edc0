"""A store over tables: the second wall, a database that goes away, and what is kept of words that are gone."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from moechat.clock import SetClock
from moechat.errors import DiskError, MoeChatError
from moechat.model import Episode, Event, Understanding
from moechat.store import erasure
from moechat.store.postgres import tables
from moechat.store.postgres.connections import OwnerName, Postgres, work_key
from moechat.store.postgres.store import PostgresStore, worlds
from tests.houses import START, ZONE, moment, told
from tests.pg_server import Door, Wire, fresh_name


@pytest.fixture(params=["once", "each time"])
def database(address: str, request: pytest.FixtureRequest) -> Iterator[Postgres]:
    database = Postgres(address, size=4, timeout_s=30.0, each_time=request.param == "each time")
    yield database
    database.close()


def opened(database: Postgres, name: OwnerName, clock: SetClock) -> PostgresStore:
    return PostgresStore(database, name, clock=clock, zone=ZONE)


def closed(dying: Postgres, address: str, *lock: int) -> None:
    """The worker dies. The server hears of it a moment later: until it does, this waits for a lock that the worker held."""
    dying.close()
    places = ", ".join(["%s"] * len(lock))
    with psycopg.connect(address, options="-c lock_timeout=20s") as connection:
        connection.execute(f"SELECT pg_advisory_xact_lock({places})".encode(), lock)


def rows(connection: psycopg.Connection[Any], table: str) -> int:
    (count,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone() or (0,)
    return int(count)


def test_a_connection_that_has_not_named_its_owner_sees_nothing(
    address: str, database: Postgres, name: OwnerName, clock: SetClock
) -> None:
    store = opened(database, name, clock)
    id_ = told(store, clock, "我住在杭州", settle=True)
    store.findings.merge([id_], Understanding({id_: "住"}, {}, (), (Event("用户住在杭州", (id_,)),)), [], {})
    filled = ("owners", "lines", "exchanges", "notes", "episodes", "episode_sources")
    with psycopg.connect(address, autocommit=True) as connection:
        assert {table: rows(connection, table) for table in tables.TABLES} == dict.fromkeys(tables.TABLES, 0)
        connection.execute(f"SET moechat.owner = '{OwnerName('tables', 'another').id}'".encode())
        assert {table: rows(connection, table) for table in tables.TABLES} == dict.fromkeys(tables.TABLES, 0)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("INSERT INTO facts VALUES (%s, 'x', '{}')", (name.id,))
        connection.execute(f"SET moechat.owner = '{name.id}'".encode())
        assert all(rows(connection, table) for table in filled)
    store.close()


def test_each_table_has_its_wall(address: str) -> None:
    with psycopg.connect(address, autocommit=True) as connection:
        walled = connection.execute("SELECT relname FROM pg_class WHERE relrowsecurity AND relkind = 'r'").fetchall()
        policies = connection.execute("SELECT tablename, qual FROM pg_policies").fetchall()
    assert {name for (name,) in walled} == {name for name, _ in policies} == set(tables.TABLES)
    assert len({condition for _, condition in policies}) == 1 and "owner_id" in policies[0][1]


def test_words_that_were_forgotten_are_in_no_row(
    address: str, database: Postgres, name: OwnerName, clock: SetClock
) -> None:
    store = opened(database, name, clock)
    id_ = told(store, clock, "我的密语是蓝鲸", "蓝鲸，记住了。", settle=True)
    told(store, clock, "今天下雨", settle=True)
    store.findings.merge([id_], Understanding({id_: "说蓝鲸"}, {}, (), (Event("密语是蓝鲸", (id_,)),)), [], {})
    erasure.forget(store, erasure.gone(store, exchanges=[id_], episodes=(), facts=()))
    assert erasure.erase(store, lambda: None)
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"SET moechat.owner = '{name.id}'".encode())
        kept = [repr(connection.execute(f"SELECT * FROM {table}").fetchall()) for table in tables.TABLES]
    assert "下雨" in "".join(kept)
    assert "蓝鲸" not in "".join(kept)
    store.close()


def test_a_verb_that_fails_in_the_middle_has_done_nothing(database: Postgres, name: OwnerName, clock: SetClock) -> None:
    store, other = opened(database, name, clock), opened(database, name, clock)
    first = told(store, clock, "第一句", settle=True)
    with contextlib.suppress(ZeroDivisionError), store.writing():
        store.log.correct(first, user="改了")
        raise ZeroDivisionError
    for one in (store, other):
        one.follow()
        assert [node.user for node in one.tree.nodes.values()] == ["第一句"]
        assert one.exchanges.get(first).user == "第一句"
        assert one.verify() == (1, [])
    assert told(store, clock, "第二句", settle=True) in store.tree
    store.close()
    other.close()


def event_of(id_: str, text: str, *replaced: str) -> Episode:
    return Episode(text, moment(START), Event(text, (id_,)), supersedes=replaced)


def test_what_replaces_others_is_read_anew_after_each_change_of_a_transaction(
    database: Postgres, name: OwnerName, clock: SetClock
) -> None:
    store, other = opened(database, name, clock), opened(database, name, clock)
    id_ = told(store, clock, "去了杭州", settle=True)
    with store.writing():
        store.findings.put([event_of(id_, "a"), event_of(id_, "b", "a")])
        assert [one.id for one in store.findings.superseding()] == ["b"]
        store.findings.put([event_of(id_, "c", "b")])
    other.follow()
    for one in (store, other):
        assert [episode.id for episode in one.findings.superseding()] == ["b", "c"]
        one.close()


def test_what_replaces_others_is_forgotten_with_a_transaction_that_fails(
    database: Postgres, name: OwnerName, clock: SetClock
) -> None:
    store, other = opened(database, name, clock), opened(database, name, clock)
    id_ = told(store, clock, "去了杭州", settle=True)
    with contextlib.suppress(ZeroDivisionError), store.writing():
        store.findings.put([event_of(id_, "a"), event_of(id_, "b", "a")])
        assert [one.id for one in store.findings.superseding()] == ["b"]
        raise ZeroDivisionError
    other.findings.put([event_of(id_, "a"), event_of(id_, "c", "a")])
    store.follow()
    assert [one.id for one in store.findings.superseding()] == ["c"]
    store.close()
    other.close()


def test_an_owners_work_is_claimed_by_one_worker_at_a_time(
    address: str, database: Postgres, name: OwnerName, clock: SetClock
) -> None:
    another = Postgres(address, size=2)
    store, rival, neighbour = (
        opened(database, name, clock),
        opened(another, name, clock),
        opened(another, OwnerName("tables", fresh_name()), clock),
    )
    with store.claimed() as is_ours, rival.claimed() as is_theirs, neighbour.claimed() as is_its_own:
        assert (is_ours, is_theirs, is_its_own) == (True, False, True)
    with rival.claimed() as is_theirs:
        assert is_theirs
        closed(another, address, *work_key(name.id))
    with store.claimed() as is_ours:
        assert is_ours
    store.close()


def test_the_worlds_of_a_user_are_known_to_the_first(database: Postgres, name: OwnerName, clock: SetClock) -> None:
    for world in ("古代", "太空", ""):
        store = opened(database, OwnerName(name.character, name.user, world), clock)
        for text in ("你好", "再见"):
            told(store, clock, text)
        store.close()
    assert worlds(database, name.character, name.user) == ["古代", "太空"]
    assert worlds(database, name.character, "somebody else") == []


def test_a_reply_whose_worker_died_is_kept_as_far_as_it_was_shown(
    address: str, database: Postgres, name: OwnerName, clock: SetClock
) -> None:
    another = Postgres(address, size=2)
    dying = opened(another, name, clock)
    id_ = dying.log.begin("你在吗", clock.now())
    dying.log.rest(id_, [])
    dying.replies.write(id_, "我在")
    store = opened(database, name, clock)
    assert store.replies.is_alive(id_)
    assert store.log.settle() == []
    with pytest.raises(MoeChatError):
        store.log.answer_again(id_)
    closed(another, address, another.worker)
    assert store.log.settle() == [id_]
    assert (store.exchanges.get(id_).char, store.exchanges.get(id_).status) == ("我在", "stopped")
    store.close()


def test_nul_is_stored_as_a_mark_of_its_own(database: Postgres, name: OwnerName, clock: SetClock) -> None:
    store = opened(database, name, clock)
    id_ = told(store, clock, "a\0b", settle=True)
    assert store.exchanges.by_ids([id_])[id_].exchange.user == "a\ufffdb"
    assert store.verify() == (1, [])
    store.close()


def test_a_database_that_is_not_there_is_told_in_words(address: str) -> None:
    database = Postgres(address.replace("/data", "/nowhere"), timeout_s=0.2)
    with pytest.raises(DiskError, match="the database does not answer"):
        PostgresStore(database, OwnerName("a"), clock=SetClock(moment(START)))
    assert not database.is_there()
    database.close()


@pytest.mark.parametrize("step", ["begin", "finish"])
def test_a_reply_that_ended_while_the_database_was_away_is_not_on_its_way_for_ever(
    door: Door, name: OwnerName, clock: SetClock, step: str
) -> None:
    database = Postgres(door.address, size=2, timeout_s=0.3)
    store = opened(database, name, clock)
    told(store, clock, "你好", settle=True)
    if step == "finish":
        id_ = store.log.begin("在吗", clock.now())
        store.log.rest(id_, [])
        store.replies.write(id_, "我在")
        door.shut()
        with pytest.raises(DiskError):
            store.log.finish(id_, "我在。", "done")
    else:
        with contextlib.suppress(DiskError), store.writing("test"):
            id_ = store.log.begin("在吗", clock.now())
            door.shut()
    door.open()
    store.follow()
    assert not store.replies.is_alive(id_)
    told(store, clock, "还在吗", settle=True)
    kept = [node.user for node in store.tree.nodes.values()]
    assert kept == ["你好", *(["在吗"] if step == "finish" else []), "还在吗"]
    database.close()


@pytest.mark.skipif(sys.platform != "linux", reason="the wire is cut by a filter of Linux")
def test_a_server_that_falls_silent_is_told_as_one_that_is_gone(
    address: str, tmp_path: Path, name: OwnerName, clock: SetClock
) -> None:
    wire = Wire(address, tmp_path)
    database = Postgres(wire.address, size=2, timeout_s=1.0)
    store = opened(database, name, clock)
    told(store, clock, "你好", settle=True)
    wire.cut()
    for do in (store.follow, lambda: told(store, clock, "在吗"), database.claimed(name.id).__enter__):
        with pytest.raises(DiskError, match="the database does not answer"):
            do()
    database.close()
    wire.server_close()
