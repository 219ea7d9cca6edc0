"""A character's folder: a card becomes one, it becomes a card again, and its character.yaml is written one key at a time.

An export starts from the ``card.json`` that came, and puts in what ``character.yaml`` says otherwise and what lies in
``data_base`` beside it. All else stays equal. In character.yaml every other byte stays, comments too.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Any

from moechat.author.fields import written_as
from moechat.author.official import LOCK
from moechat.author.splice import rewritten, under_keys
from moechat.author.world_files import FOLDER, is_json, json_bytes, parsed_json, paths, read
from moechat.cards import book, card, container, macros
from moechat.cards.card import Card
from moechat.cards.container import CARD, CardFile, Kind
from moechat.errors import DataError, FieldError
from moechat.model import Message
from moechat.settings.character import FILE, KEYS, PICTURE, card_in, keys_in, read_keys
from moechat.store import plain, records

CHARX = "card.charx"
MAX_GREETING = 300  # Characters of a greeting in a preview.
MAX_TITLES = 8  # Titles of entries there.
_UNHEEDED_FIELDS = ("group_only_greetings", "creator_notes_multilingual")
_HEEDED_EXTENSIONS = ("depth_prompt", "talkativeness", "fav")  # The last says something of a list of characters alone.
_FIXED = ("overrides",)  # Keys of character.yaml that only a hand writes.
_FORBIDDEN = re.compile(r'[<>:"/\\|?*\x00-\x1f\x7f]+')


@dataclass(frozen=True)
class CardPreview:
    """What a card holds, before anything is written. ``titles`` are those of its first entries, ``world`` is the name of a
    lorebook that belongs to it. ``unheeded`` says what is kept and not obeyed: {what: how often}."""

    name: str
    form: str
    kind: str
    greeting: str
    greetings: int
    entries: int
    titles: Sequence[str]
    world: str
    has_picture: bool
    tags: Sequence[str]
    creator_notes: str
    unheeded: Mapping[str, int]


def preview(file: CardFile) -> CardPreview:
    keys, own_book = card.keys_of(file.card), card.book_of(file.card)
    entries = book.entries_of(own_book, CARD) if own_book else []
    return CardPreview(
        keys.get("name", ""), card.form_of(file.card), file.kind, keys.get("greeting", "")[:MAX_GREETING],
        len(keys.get("greetings", ())), len(entries), [one.keyword for one in entries[:MAX_TITLES]],
        book.only(card.extensions_of(file.card).get("world"), str), bool(file.picture),
        keys.get("tags", ()), keys.get("creator_notes", ""), unheeded(file.card),
    )  # fmt: skip


def unheeded(value: Card) -> dict[str, int]:
    """What is kept of a card and not obeyed: macros, fields, and what its book has."""
    data, own_book = card.data_of(value), card.book_of(value)
    keys, extensions = card.keys_of(value), card.extensions_of(value)
    counts = {name: 1 for name in _UNHEEDED_FIELDS if data.get(name)}
    counts |= {
        f"extensions.{name}"[:60]: 1 for name, one in extensions.items() if one and name not in _HEEDED_EXTENSIONS
    }
    if book.only(extensions.get("depth_prompt"), dict).get("prompt") and "note" not in keys:
        counts["extensions.depth_prompt"] = 1
    others = [one for one in book.only(data.get("assets"), list) if book.only(one, dict).get("type") != "icon"]
    counts |= {"assets": len(others)} if others else {}
    counts |= book.unheeded(own_book) if own_book else {}
    texts = chain.from_iterable([item] if isinstance(item, str) else item for item in keys.values())
    for text in (*texts, *(one.text for one in book.entries_of(own_book, CARD))):
        for name in macros.unknown(text):
            counts[f"{{{{{name}}}}}"] = counts.get(f"{{{{{name}}}}}", 0) + 1
    return counts


def folder_name(name: str) -> str:
    """A name that a folder may have, made of a card's."""
    plain_name = _FORBIDDEN.sub("_", plain.storable(name)).strip(" ._")
    return plain_name.encode()[:120].decode(errors="ignore").strip(" ._") or "character"


def write(folder: Path, file: CardFile) -> None:
    """Make the folder of a card. Raises OSError."""
    folder.mkdir(parents=True)
    try:
        if file.picture:
            records.replace(folder / PICTURE, file.picture)
        if file.charx:
            records.replace(folder / CHARX, file.charx)
        records.replace(folder / CARD, json_bytes(file.card))
    except BaseException:  # a full disk leaves no half of a character
        shutil.rmtree(folder, ignore_errors=True)
        raise


# ---- the way back


def exported(folder: Path, kind: Kind, now: Callable[[], datetime]) -> bytes:
    """The character of a folder as a card file. Raises DataError."""
    before = card_in(folder)
    value = whole(folder, before)
    if before is not None and value != before and card.form_of(value) == "v3":
        value["data"]["modification_date"] = int(now().timestamp())
    picture, charx = _bytes(folder / str(read_keys(folder / FILE).get("picture") or PICTURE)), _bytes(folder / CHARX)
    if kind == "charx" and charx and (came := container.read(charx, folder / CHARX)) and came.card == value:
        return charx
    return container.written(kind, value, picture=picture if picture.startswith(b"\x89PNG") else b"", charx=charx)


def whole(folder: Path, before: Card | None) -> Card:
    """The card of a folder, with what was changed and added here. Raises DataError."""
    keys = {key: as_text(key, value) for key, value in read_keys(folder / FILE).items()}
    if before is None:
        value = card.fresh({"name": folder.name} | keys)
    else:
        value = card.with_keys(before, keys)
    worlds = [one for path in paths(folder / FOLDER) if path.name != CARD for one in _worlds(path)]
    if not worlds:
        return value
    if card.form_of(value) == "v1":
        value = card.upgraded(value, "v2")
    own_book = card.data_of(value).setdefault("character_book", {"extensions": {}, "entries": []})
    if not isinstance(own_book, dict) or not isinstance(own_book.setdefault("entries", []), list):
        raise DataError(
            folder / CARD, "its lorebook has no list of entries; mend `character_book`, then export it again"
        )
    first = len(own_book["entries"])
    own_book["entries"] += [book.card_entry(one, first + number) for number, one in enumerate(worlds)]
    return value


def exported_book(folder: Path) -> Any:
    """All entries of a folder as one file of world info; one of that kind that is alone goes out as it is."""
    files = paths(folder / FOLDER)
    with_entries = [path for path in files if read(path)[0]]
    if len(with_entries) == 1 and is_json(with_entries[0]) and with_entries[0].name != CARD:
        return parsed_json(with_entries[0])
    entries: list[dict[str, Any]] = [one for path in with_entries for one in _worlds(path)]
    numbered = {str(number): one | {"uid": number} for number, one in enumerate(entries)}
    value: dict[str, Any] = {"entries": numbered}
    own = card.book_of(card_in(folder) or {})
    return value | ({"originalData": own} if own and with_entries == [folder / CARD] else {})


def _worlds(path: Path) -> list[dict[str, Any]]:
    """The entries of a file as world info."""
    if not is_json(path):
        return [book.world_entry(entry, number) for number, entry in enumerate(read(path)[0])]
    value = parsed_json(path)
    own = card.book_of(value) if card.is_card(value) else value
    if own is None:
        return []
    return book.worlds_of(own)


def _bytes(path: Path) -> bytes:
    return plain.data_of(path) if path.is_file() else b""


def as_text(key: str, value: Any) -> Any:
    """A value of character.yaml as a card has it: examples as lines of talk."""
    if key != "examples" or isinstance(value, str):
        return value
    names = {"user": "{{user}}", "assistant": "{{char}}"}
    lines = [f"{names[one.role]}: {one.content}" for one in value if isinstance(one, Message)]
    return "\n".join(["<START>", *lines]) if lines else ""


# ---- character.yaml


def change(folder: Path, changes: Mapping[str, Any]) -> None:
    """Write some keys; None takes one out. Raises FieldError, DataError."""
    for key, value in changes.items():
        _check(key, value)
    path = folder / FILE
    records.rewrite(path, folder / LOCK, lambda data: _changed(data, path, changes))


def _check(key: str, value: Any) -> None:
    if key not in KEYS or key in _FIXED:
        raise FieldError(
            key, None, f"cannot be written here; known: {', '.join(one for one in KEYS if one not in _FIXED)}"
        )
    if key in card.LISTS:
        if not (value is None or (isinstance(value, list) and all(isinstance(one, str) for one in value))):
            raise FieldError(key, value, "expects a list of texts")
    elif not (value is None or isinstance(value, str)):
        raise FieldError(key, value, "expects text")


def _changed(data: bytes, path: Path, changes: Mapping[str, Any]) -> bytes:
    remedy = "mend the file by hand, then try again"
    for key, value in changes.items():
        clean = written_as(value.strip() if isinstance(value, str) else value)
        data = rewritten(data, path, key, clean, lambda after: _held(after, path), remedy)
    if data.strip():
        keys_in(plain.decoded(data, path), path)
    return data


def _held(data: bytes, path: Path) -> dict[str, Any]:
    keys = under_keys(plain.decoded(data, path), path, "expects `key: value` lines such as `name:` and `persona:`")
    return {key: one.strip() if isinstance(one, str) else one for key, one in keys.items()}
