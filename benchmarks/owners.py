# ruff: noqa: T201
"""What an owner costs in PostgreSQL: a turn's records, an opening, and bytes on the disk, with more owners and with more talk.

python benchmarks/owners.py --owners 1 100 1000 --exchanges 100 1000 10000
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg

from moechat.clock import SetClock
from moechat.model import Exchange
from moechat.store.postgres import sql
from moechat.store.postgres.database import OwnerName, Postgres
from moechat.store.postgres.store import PostgresStore
from tests.houses import START, ZONE, moment, told
from tests.pg_server import served

EACH = 20  # So many exchanges has each of many owners.
TURNS = 40


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--owners", type=int, nargs="*", default=[1, 100, 1000, 10_000])
    parser.add_argument("--exchanges", type=int, nargs="*", default=[100, 1000, 10_000, 100_000])
    args = parser.parse_args()
    with served(Path(tempfile.mkdtemp(prefix="moechat-pg-"))) as (address, server):
        database, there = Postgres(address), 0
        for count in args.owners:
            for number in range(there, count):
                filled(database, f"o{number}", EACH).close()
            there = count
            with psycopg.connect(server.get_uri(), autocommit=True) as connection:
                connection.execute("ANALYZE")
            print(
                json.dumps({"owners": count} | measured(database, "o0") | sizes(server.get_uri(), count * EACH)),
                flush=True,
            )
        for count in args.exchanges:
            filled(database, f"talk {count}", count).close()
            print(json.dumps({"exchanges": count} | measured(database, f"talk {count}")), flush=True)
        database.close()


def filled(database: Postgres, user: str, count: int) -> PostgresStore:
    store = opened(database, user)
    start = moment(START) - timedelta(days=4000)
    words = "今天我们说到了茶，也说到了杭州和猫。"
    rows = [Exchange("", start + timedelta(minutes=9 * n), f"{words}{n}", f"嗯，{words}{n}") for n in range(count)]
    store.imports.add(rows, talk="", by="rules")
    return store


def opened(database: Postgres, user: str) -> PostgresStore:
    return PostgresStore(database, OwnerName("cost", user), clock=SetClock(moment(START)), zone=ZONE)


def measured(database: Postgres, user: str) -> dict[str, float]:
    """Medians of wall-clock time, and the mean of this process's own CPU time, in ms."""
    begun = time.perf_counter()
    store = opened(database, user)
    rows = len(list(store.exchanges.sides()))
    cold = time.perf_counter() - begun
    walls, cpu = [], time.process_time()
    for number in range(TURNS):
        begun = time.perf_counter()
        store.follow()
        told(store, store.clock, f"第{number}句", settle=True)  # type: ignore[arg-type]
        walls.append(time.perf_counter() - begun)
    cpu = (time.process_time() - cpu) / TURNS
    store.close()
    return {"turn_ms": round(1000 * statistics.median(walls), 1), "turn_cpu_ms": round(1000 * cpu, 2),
            "open_and_read_ms": round(1000 * cold, 1), "rows": rows}  # fmt: skip


def sizes(address: str, exchanges: int) -> dict[str, Any]:
    with psycopg.connect(address) as connection:
        total = sum(
            connection.execute("SELECT pg_total_relation_size(%s::regclass)", (table,)).fetchone()[0]  # type: ignore[index]
            for table in sql.TABLES
        )
    return {"mb": round(total / 1e6, 1), "bytes_an_exchange": round(total / exchanges)}


if __name__ == "__main__":
    main()
