"""The numbers of new rows. Files may be read in any order, the newest first as a rule: rows that were reserved for them
still follow the files by name, as they do where one was written after the other."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import Literal

Table = Literal["exchanges", "episodes"]


def reserve(db: sqlite3.Connection, table: Table, counts: Iterable[tuple[str, int]]) -> None:
    """Keep rows of a table for each (file, at most so many records), in this order. A file that has some keeps those."""
    free = _free(db, table)
    for file, count in counts:
        added = db.execute("INSERT OR IGNORE INTO meta VALUES (?, ?)", (_reserved(table, file), f"{free} {count}"))
        free += count * added.rowcount
    db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (f"free {table}", free))


def first(db: sqlite3.Connection, table: Table, file: str, count: int) -> int:
    """The first of ``count`` new rows for a file: of those that were reserved for it, if they are enough."""
    if reserved := db.execute("SELECT value FROM meta WHERE key = ?", (_reserved(table, file),)).fetchone():
        db.execute("DELETE FROM meta WHERE key = ?", (_reserved(table, file),))
        row, most = map(int, reserved[0].split())
        if count <= most:
            return row
    return _free(db, table)


def _reserved(table: Table, file: str) -> str:
    return f"{table} of {file}"


def _free(db: sqlite3.Connection, table: Table) -> int:
    """The first row that nothing has had and that is reserved for nothing."""
    free = db.execute("SELECT value FROM meta WHERE key = ?", (f"free {table}",)).fetchone()
    last = db.execute(f"SELECT max(row) FROM {table}").fetchone()
    return max(free[0] if free else 1, (last[0] or 0) + 1)
