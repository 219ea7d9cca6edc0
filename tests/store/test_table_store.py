"""A memory in tables of this process alone writes nothing to a disk; one in a file is made by one program at a time."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from moechat.store.database import SqliteSession

TALK = """
import pathlib, sys
from datetime import UTC, datetime
from moechat.clock import SetClock
from moechat.model import Event, Understanding
from moechat.store import erasure
from moechat.store.database import SqliteSession
from moechat.store.search import KINDS
from moechat.store.table_store import MemoryStore, TableStore
from tests.houses import told

def talk(store):
    ids = [told(store, store.clock, f"第{n}句 " + "茶" * 2000, settle=True) for n in range(300)]
    store.findings.merge(ids[:9], Understanding({}, {}, (), (Event("喝茶", tuple(ids[:9])),)), [], {})
    assert len(list(store.exchanges.sides())) == store.search.count(KINDS, ["茶"]) - 1 == 300
    erasure.forget(store, erasure.gone(store, exchanges=ids[:1], episodes=(), facts=()))
    erasure.erase(store, lambda: None)
    # Sorted beside the table, and larger than what SQLite keeps in its own memory.
    twice = "SELECT one.sent || other.row AS said FROM exchanges one, exchanges other WHERE other.row < 10 ORDER BY said"
    assert len(store._session.all(twice)) > 2000
    store.close()

def written():
    return int(dict(line.split(": ") for line in pathlib.Path("/proc/self/io").read_text().splitlines())["wchar"])

clock = SetClock(datetime(2025, 5, 20, tzinfo=UTC))
rows = SqliteSession(pathlib.Path("rows.db"))  if sys.argv[1] == "disk" else None
store = TableStore(rows, clock=clock) if rows else MemoryStore(clock=clock)
before = written()
talk(store)
print(written() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="Linux counts what a process writes")
@pytest.mark.parametrize("kind", ["memory", "disk"])
def test_talk_off_the_record_writes_no_byte(tmp_path: Path, kind: str) -> None:
    """Not to a temporary file either. Over a file the same talk writes much: the count sees it."""
    root = str(Path(__file__).parents[2])
    env = {"PYTHONPATH": root, "SQLITE_TMPDIR": str(tmp_path), "TMPDIR": str(tmp_path), "PYTHONUTF8": "1"}
    talk = subprocess.run(
        [sys.executable, "-c", TALK, kind], capture_output=True, check=True, cwd=tmp_path, env=env, text=True
    )
    assert (int(talk.stdout) == 0) == (kind == "memory"), talk.stdout
    assert [path.name for path in tmp_path.iterdir()] == ([] if kind == "memory" else ["rows.db"])


def test_a_database_is_packed_while_other_threads_read(tmp_path: Path) -> None:
    session = SqliteSession(tmp_path / "cache.db")
    facts = [{"id": f"f{n}", "data": "x" * 200} for n in range(2000)]
    session.many("INSERT INTO facts (owner_id, id, data) VALUES (%(owner)s, %(id)s, %(data)s)", facts)
    over = threading.Event()
    counts: set[int] = set()

    def read() -> None:
        while not over.is_set():
            counts.add(len(session.all("SELECT id, data FROM facts WHERE owner_id = %(owner)s")))

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    try:
        packed = [session.pack() for _ in range(10)]
    finally:
        over.set()
        for reader in readers:
            reader.join()
        session.close()
    assert (all(packed), counts) == (True, {2000})


def test_a_cache_that_another_program_is_just_making_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "rows.db"
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")  # SQLite gives up at once here, whatever patience it was told to have
    ready = threading.Timer(0.2, other.execute, ["COMMIT"])
    ready.start()
    SqliteSession(path).close()
    ready.join()
    other.close()
