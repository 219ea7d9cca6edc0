"""The tables, brought up to date by yoyo: each file in ``migrations`` is applied once, in the order of their names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict
from yoyo import read_migrations
from yoyo.backends import get_backend_class
from yoyo.connections import DatabaseURI

from moechat.errors import MoeChatError

MIGRATIONS = Path(__file__).parent / "migrations"
REMEDY = "bring the tables up to date with `moechat migrate schema`"


def apply(address: str) -> list[str]:
    """Bring the tables up to date, as the role that is to own them. Returns the names of what was applied."""
    backend = _backend(address)
    with backend.lock():
        lacking = backend.to_apply(read_migrations(str(MIGRATIONS)))
        backend.apply_migrations(lacking)
    return [migration.id for migration in lacking]


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
