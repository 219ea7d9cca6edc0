"""Books of other programs in a character's folder: that of its card (``card.json``), and JSON files in ``data_base``.

They are read where they lie. Writing one entry leaves every other value of the file as it is, those that nobody here knows too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from copy import deepcopy
from datetime import datetime
from pathlib import Path
from typing import Any

from moechat.cards import book, card
from moechat.cards.container import CARD
from moechat.errors import DataError, NotFound
from moechat.model import Lore
from moechat.store import plain, records


def read(path: Path) -> list[Lore]:
    """The entries of a book; a card may have none. Raises DataError where the file cannot be read."""
    return book.entries_of(_book(parsed(path), path), path.name)


def parsed(path: Path) -> Any:
    """What a JSON file holds. Raises DataError."""
    plain.require_inside(path.parent, path.parent.parent)
    try:
        return card.decoded(plain.data_of(path), path)
    except OSError as error:
        raise DataError(path, f"cannot be read: {error.strerror}") from error


def _book(value: Any, path: Path) -> Any:
    if card.is_card(value):
        return card.book_of(value) or {"entries": []}
    if book.dialect_of(value) is None:
        raise DataError(path, "is no lorebook: expects the JSON of a card or of world info, with `entries`")
    return value


def changed(data: bytes, path: Path, id_: str, changes: Mapping[str, Any] | None, now: Callable[[], datetime]) -> bytes:
    """The file with one entry changed, or (``changes`` None) without it. A card of version 3 says when it was changed.

    Raises NotFound, DataError.
    """
    value = deepcopy(card.decoded(data, path))
    whole = _book(value, path)
    dialect = book.dialect_of(whole)
    entry = dict(book.raw_entries(whole)).get(id_)
    if entry is None or dialect is None:
        raise NotFound(f"{path.name} no longer holds the entry {id_!r}")
    inner = book.inner(whole)
    entries = inner["data"] if dialect == "risu" else inner["entries"]
    keys = entries if isinstance(entries, dict) else range(len(entries))
    place: Any = next(key for key in keys if entries[key] is entry)
    if changes is None:
        del entries[place]
    else:
        entries[place] = book.changed(entry, dialect, changes)
    if card.is_card(value) and card.form_of(value) == "v3":
        value["data"]["modification_date"] = int(now().timestamp())
    return json.dumps(value, ensure_ascii=False, indent=2).encode()


def is_book(path: Path) -> bool:
    return path.suffix.lower() == ".json"


def card_beside(folder: Path) -> list[Path]:
    """The card in whose folder a ``data_base`` lies."""
    path = folder.parent / CARD
    return [path] if path.is_file() else []


def write_json(path: Path, value: Any) -> None:
    """Write a JSON file whole. Raises OSError."""
    records.replace(path, json.dumps(value, ensure_ascii=False, indent=2).encode())
