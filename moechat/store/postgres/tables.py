"""The tables, brought up to date by yoyo: each file in ``migrations`` is applied once, in the order of their names."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict
from yoyo import read_migrations
from yoyo.backends import get_backend_class
from yoyo.connections import DatabaseURI

from moechat.errors import MoeChatError
from moechat.store.postgres.table_vectors import SEARCHED

RETRY_S = 0.1  # Another process that makes the same index is waited for.
MIGRATIONS = Path(__file__).parent / "migrations"
TABLES = (
    "owners", "lines", "replies", "pieces", "exchanges", "notes", "episodes", "episode_sources", "facts", "vectors", "places",
)  # fmt: skip
REMEDY = "bring the tables up to date with `moechat migrate schema`"


def apply(address: str, near_dim: int = 0) -> list[str]:
    """Bring the tables up to date, as the role that is to own them, and make the approximate index over vectors of ``near_dim``
    dimensions. Returns the names of what was applied."""
    backend = _backend(address)
    with backend.lock():
        lacking = backend.to_apply(read_migrations(str(MIGRATIONS)))
        backend.apply_migrations(lacking)
    applied = [migration.id for migration in lacking]
    if near_dim:
        name = f"vectors_near_{near_dim}"
        with psycopg.connect(address, autocommit=True) as connection:
            # Whoever waited within the database would keep the other's index from being finished.
            while connection.execute("SELECT pg_try_advisory_lock(hashtext(%s))", (name,)).fetchone() != (True,):
                time.sleep(RETRY_S)
            there = connection.execute("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)", (name,))
            if (row := there.fetchone()) is None or not row[0]:  # one that was cut short is not valid
                connection.execute(f"DROP INDEX IF EXISTS {name}".encode())
                connection.execute(near_index(near_dim).encode())
                applied.append(name)
    return applied


def require_current(address: str) -> None:
    """Raises MoeChatError where the tables are not those of this program."""
    with psycopg.connect(address) as connection:
        there = connection.execute("SELECT to_regclass('_yoyo_migration')").fetchone()
        rows = connection.execute("SELECT migration_id FROM _yoyo_migration").fetchall() if there and there[0] else []
    applied, ours = {name for (name,) in rows}, {path.stem for path in MIGRATIONS.glob("*.sql")}
    if ours - applied:
        raise MoeChatError(f"the database lacks {', '.join(sorted(ours - applied))}: {REMEDY}")
    if applied - ours:
        raise MoeChatError("the tables of the database are those of a newer MoeChat: install that one")


def _backend(address: str) -> Any:
    parts = dict(conninfo_to_dict(address))
    database = parts.pop("dbname", "")
    uri = DatabaseURI("postgresql+psycopg", None, None, None, None, database, parts)
    backend = get_backend_class(uri.scheme)(uri, "_yoyo_migration")
    backend.init_database()
    return backend


def near_index(dim: int) -> str:
    """What makes the approximate index over vectors of ``dim`` dimensions; readers and writers go on meanwhile."""
    return f"""CREATE INDEX CONCURRENTLY IF NOT EXISTS vectors_near_{dim:d} ON vectors
        USING hnsw ((vector::vector({dim:d})) vector_ip_ops) WHERE layer = '{SEARCHED}' AND vector_dims(vector) = {dim:d}"""
