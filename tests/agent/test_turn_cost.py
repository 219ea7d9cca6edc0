"""What a turn may cost: it looks up what it needs, and goes through nothing."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from moechat.agent import Agent
from moechat.bench import corpus, speed
from moechat.bench.speed import ApartEmbedder, taken
from moechat.clock import SetClock


@contextmanager
def recorded(db: sqlite3.Connection) -> Iterator[list[str]]:
    """Every statement that runs on a connection meanwhile."""
    statements: list[str] = []
    db.set_trace_callback(statements.append)
    yield statements
    db.set_trace_callback(None)


def scans(db: sqlite3.Connection, statements: list[str]) -> list[str]:
    """Steps of these statements that go through a whole table, with the statement. ``episodes_replaces`` is an index of no more
    than is asked for by it."""
    readable = (
        one.replace("Inf", "9e999") for one in statements
    )  # The trace writes infinity as SQLite cannot read it.
    asked = dict.fromkeys(one for one in readable if one.startswith(("SELECT", "UPDATE", "DELETE")))
    plans = ((row[3], statement) for statement in asked for row in db.execute(f"EXPLAIN QUERY PLAN {statement}"))
    tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")} | {"e", "n", "r"}
    return [
        f"{step}: {statement}"
        for step, statement in plans
        if step.split()[0] == "SCAN" and step.split()[1] in tables and not step.endswith("INDEX episodes_replaces")
    ]


@pytest.fixture(scope="module")
def talker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Agent, SetClock, ApartEmbedder]]:
    """A companion with a small memory of the benchmark's made-up life; all that is read once is read. How a query goes about it
    does not depend on how many rows there are: nothing counts them (``ANALYZE``)."""
    folder, clock, embedder = tmp_path_factory.mktemp("talker"), SetClock(corpus.NOW), ApartEmbedder(speed.DIM)
    speed.write(folder, 60, facts=60)
    with speed.house(folder, clock, embedder) as house:
        agent = house.agent(speed.CHARACTER)
        taken(agent, clock, embedder, 10)
        yield agent, clock, embedder


def test_no_query_of_a_turn_goes_through_a_table(talker: tuple[Agent, SetClock, ApartEmbedder]) -> None:
    agent, clock, embedder = talker
    db = agent.store.cache._db
    with recorded(db) as statements:
        taken(agent, clock, embedder, 25)
        agent.jobs.tick()
    assert len(statements) > 1000
    assert scans(db, statements) == []


def test_a_scan_is_seen(talker: tuple[Agent, SetClock, ApartEmbedder]) -> None:
    agent, *_ = talker
    db = agent.store.cache._db
    with recorded(db) as statements:
        db.execute("SELECT row FROM exchanges WHERE gen > 3 ORDER BY row").fetchall()
        agent.store.findings.births()
    assert len(scans(db, statements)) == 2


def test_a_first_recall_leaves_nothing_out_because_it_has_to_load(tmp_path: Path) -> None:
    speed.write(tmp_path, 60, facts=20)
    (tmp_path / "config.yaml").write_text("time: {zone: UTC}\nrecall: {deadline_ms: 1}\n", encoding="utf-8")
    with speed.house(tmp_path, SetClock(corpus.NOW), ApartEmbedder(speed.DIM)) as house:
        recollection = house.agent(speed.CHARACTER).recall("我们聊过火锅吗")
        assert (recollection.notices, bool(recollection.hits)) == ([], True)
