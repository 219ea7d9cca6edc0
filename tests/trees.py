"""Entries of a log, and the trees that they make."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from moechat.store.tree import Tree
from tests.houses import moment

NOW = moment("2025-05-20T15:00:00")
LIMIT = NOW - timedelta(days=7)
OLD = NOW - timedelta(days=60)
Entry = dict[str, Any]


def begin(id_: str, parent: str | None, at: datetime = NOW) -> Entry:
    return {"op": "exchange", "id": id_, "parent": parent, "at": at.isoformat(), "user": f"说{id_}"}


def reply(id_: str, char: str = "答", status: str = "done") -> Entry:
    return {"op": "variant", "id": id_, "char": char, "status": status, "hits": []}


def chain(*ids: str, after: str | None = None) -> list[Entry]:
    """One settled, filed and understood exchange after another."""
    entries: list[Entry] = []
    for parent, id_ in zip((after, *ids), ids, strict=False):
        entries += [
            begin(id_, parent, OLD),
            reply(id_),
            {"op": "settle", "id": id_},
            {"op": "filed", "id": id_, "sha": f"#{id_}"},
        ]
        entries.append({"op": "understood", "ids": [id_], "by": "model"})
    return entries


def grown(*entries: Entry) -> Tree:
    tree = Tree()
    tree.apply(entries)
    return tree
