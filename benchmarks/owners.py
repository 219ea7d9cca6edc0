# ruff: noqa: T201
"""What an owner costs in PostgreSQL: a whole turn and a recall, an opening, memory, and bytes on the disk, with more owners and
with more talk.

    python benchmarks/owners.py --owners 1 100 1000 --exchanges 100 1000 10000

Each line is measured in a process of its own, with a scripted model and hash vectors. ``--minutes`` bounds how long one talk
may take to be written: a longer one is told as far as it came, and none after it is begun. ``--nearest exact hnsw`` measures
each talk both ways (``store.nearest``), over the same vectors, of ``--dimensions``.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg

from moechat.ai.embedding import HashEmbedder
from moechat.bench.speed import rss_mb
from moechat.clock import SetClock
from moechat.model import Exchange
from moechat.store.postgres import tables
from moechat.store.postgres.connections import OwnerName, Postgres
from moechat.store.postgres.store import PostgresStore
from tests.houses import CHARACTER, START, ZONE, Home, moment, say
from tests.pg_server import served

EACH = 20  # So many exchanges has each of many owners.
PATTERN = "pattern"  # Many owners are copies of this one.
TURNS = 30
VECTORS_S = 200.0  # So long the background may make vectors; what is measured then has those that are there.
AT_ONCE = 1000  # A talk is written so many exchanges at a time.
ALL_OF_THEM = 20  # So many of many owners are opened, to see what memory one takes.
THINGS = ("绿茶", "西湖", "团子", "吉他", "火锅", "雨", "爵士乐", "考试", "北京", "妹妹")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--owners", type=int, nargs="*", default=[1, 100, 1000, 10_000])
    parser.add_argument("--exchanges", type=int, nargs="*", default=[100, 1000, 10_000, 100_000])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--nearest", nargs="+", choices=("exact", "hnsw"), default=["exact"])
    parser.add_argument("--dimensions", type=int, default=64)
    parser.add_argument("--measure", nargs="*", help="what the program starts itself with")
    args = parser.parse_args()
    if args.measure:
        address, nearest, dimensions, *users = args.measure
        print(json.dumps(measured(address, nearest, int(dimensions), users)))
        return
    with served(Path(tempfile.mkdtemp(prefix="moechat-pg-"))) as (address, server):
        database, there = Postgres(address), 0
        if "hnsw" in args.nearest:
            tables.apply(server.get_uri(), args.dimensions)
        filled(database, PATTERN, EACH)
        for count in args.owners:
            multiplied(server.get_uri(), [f"o{number}" for number in range(there, count)])
            there = count
            disk = bytes_there(server.get_uri())
            users = [f"o{number}" for number in range(min(count, ALL_OF_THEM))]
            report = {"owners": count, "bytes_an_exchange": round(disk / ((count + 1) * EACH))}
            print(json.dumps(report | apart(address, args.nearest[0], args.dimensions, *users)), flush=True)
        for count in args.exchanges:
            before, begun = bytes_there(server.get_uri()), time.perf_counter()
            written = filled(database, f"talk {count}", count, most_s=60 * args.minutes)
            report = {"exchanges": written, "written_s": round(time.perf_counter() - begun, 1)}
            for nearest in args.nearest:
                report |= {"nearest": nearest} | apart(address, nearest, args.dimensions, f"talk {count}")
                disk = bytes_there(server.get_uri()) - before
                print(json.dumps(report | {"bytes_an_exchange_with_vectors": round(disk / written)}), flush=True)
            if written < count:
                break
        database.close()


def filled(database: Postgres, user: str, count: int, *, most_s: float = 1e9) -> int:
    """Write a talk. Returns how many exchanges were written within ``most_s``."""
    name = OwnerName(CHARACTER, user)
    store = PostgresStore(database, name, clock=SetClock(moment(START)), zone=ZONE)
    start, begun, written = moment(START) - timedelta(days=4000), time.perf_counter(), 0
    while written < count and time.perf_counter() - begun < most_s:
        numbers = range(written, min(written + AT_ONCE, count))
        rows = [_exchange(start + timedelta(minutes=30 * number), number) for number in numbers]
        store.imports.add(rows, talk="", by="rules")
        written += len(rows)
    store.close()
    return written


def multiplied(address: str, users: list[str]) -> None:
    """Give these users the rows of ``PATTERN``, straight in the database: ten thousand talks by themselves take hours."""
    ids = [OwnerName(CHARACTER, user).id for user in users]
    columns_of = "SELECT column_name FROM information_schema.columns WHERE table_name = %s AND table_schema = 'public'"
    with psycopg.connect(address, autocommit=True) as connection:
        for table in tables.TABLES:
            names = [name for (name,) in connection.execute(columns_of, (table,)).fetchall()]
            values = [{"owner_id": "other.id", "user": "other.name"}.get(name, f'pattern."{name}"') for name in names]
            quoted = ", ".join(f'"{name}"' for name in names)
            source = f"{table} pattern, unnest(%s::uuid[], %s::text[]) other(id, name)"
            copy = (
                f"INSERT INTO {table} ({quoted}) SELECT {', '.join(values)} FROM {source} WHERE pattern.owner_id = %s"
            )
            connection.execute(copy.encode(), (ids, users, OwnerName(CHARACTER, PATTERN).id))


def _exchange(at: datetime, number: int) -> Exchange:
    return Exchange("", at, f"第{number}件事：{_thing(number)}和{_thing(number // 10)}", f"嗯，{_thing(number)}。")


def _thing(number: int) -> str:
    return THINGS[number % len(THINGS)]


def apart(address: str, nearest: str, dimensions: int, *users: str) -> dict[str, Any]:
    """``measured`` in a process of its own, which holds nothing else."""
    program = [sys.executable, __file__, "--measure", address, nearest, str(dimensions), *users]
    done = subprocess.run(program, stdout=subprocess.PIPE, check=True, text=True)
    report: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return report


def measured(address: str, nearest: str, dimensions: int, users: Sequence[str]) -> dict[str, float]:
    """Of the first user: medians of wall-clock ms, and this process's own CPU ms. Memory, in MB, is the mean of the others where
    there are some."""
    with tempfile.TemporaryDirectory() as folder:
        store = {"kind": "postgres", "address": address, "nearest": nearest}
        home = replace(Home.build(Path(folder), store=store, owners={"open": 1000}), embedder=HashEmbedder(dimensions))
        with home.open() as house:
            house.ready()
            agent = house.agent(user="nobody")
            say(agent, "你好")  # What all owners share is loaded by now.
            agent.settle_indexes()
            empty = rss_mb()
            begun = time.perf_counter()
            agent = house.agent(user=users[0])
            agent.recall("团子怎么样了？")
            opened_s = time.perf_counter() - begun
            agent.jobs.worker.wait(VECTORS_S)
            has_all = not agent.jobs.problems()
            ready_s = time.perf_counter() - begun
            taken_mb = rss_mb() - empty

            def turn(number: int) -> None:
                home.clock.advance(minutes=1)
                say(agent, f"再说{number}：{_thing(number)}")

            figures = timed("recall", lambda number: agent.recall(f"{_thing(number)}怎么样了？"))
            figures |= timed("turn", turn)
            empty = rss_mb()
            for user in users[1:]:
                house.agent(user=user).settle_indexes()
            if users[1:]:
                taken_mb = (rss_mb() - empty) / len(users[1:])
    return figures | {
        "open_and_recall_ms": round(1000 * opened_s, 1), "all_vectors_s": round(ready_s, 1) if has_all else None,
        "mb_an_owner": round(taken_mb, 1),
    }  # fmt: skip


def timed(name: str, do: Callable[[int], object]) -> dict[str, float]:
    walls, cpu = [], time.process_time()
    for number in range(TURNS):
        begun = time.perf_counter()
        do(number)
        walls.append(time.perf_counter() - begun)
    cpu = (time.process_time() - cpu) / TURNS
    return {f"{name}_ms": round(1000 * statistics.median(walls), 1), f"{name}_cpu_ms": round(1000 * cpu, 2)}


def bytes_there(address: str) -> int:
    """Of all tables with their indexes."""
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("ANALYZE")
        sizes = "SELECT sum(pg_total_relation_size(name::regclass)) FROM unnest(%s::text[]) name"
        (total,) = connection.execute(sizes, (list(tables.TABLES),)).fetchone() or (0,)
    return int(total)


if __name__ == "__main__":
    main()
