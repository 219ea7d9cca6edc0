"""The card object: its version, its fields, and what they are called in ``character.yaml``.

The decoded object is kept as it came. What is read from it is read leniently: a field of another type than it should have is
as if it were not there, and stays.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

from moechat.cards import book
from moechat.errors import DataError
from moechat.lore import LORE_ROLES
from moechat.store.plain import json_of

Card = dict[str, Any]
Form = str  # ``v1``, ``v2`` or ``v3``

LARGEST = 32 << 20  # Bytes of a decoded card; pictures may lie in it as text.
MAX_VALUES = 1_000_000

TEXTS: Mapping[str, str] = {
    "name": "name", "persona": "description", "personality": "personality", "scenario": "scenario",
    "greeting": "first_mes", "examples": "mes_example", "system_prompt": "system_prompt",
    "after_history": "post_history_instructions", "nickname": "nickname", "creator_notes": "creator_notes",
}  # fmt: skip
"""Keys of ``character.yaml`` that hold text, and the fields of a card that they are."""
LISTS: Mapping[str, str] = {"greetings": "alternate_greetings", "tags": "tags"}
"""Those that hold several texts."""
NOTE: Mapping[str, str] = {"note": "prompt", "note_depth": "depth", "note_role": "role"}
"""Those of the note within the talk, and what they are called in the ``depth_prompt`` of a card's extensions."""
FIELDS: Mapping[str, str] = {**TEXTS, **LISTS}
V1_FIELDS = ("name", "description", "personality", "scenario", "first_mes", "mes_example")
OTHER_NAMES: Mapping[str, str] = {  # Pygmalion's, and those of text-generation-webui
    "char_name": "name", "char_persona": "description", "world_scenario": "scenario", "char_greeting": "first_mes",
    "example_dialogue": "mes_example", "context": "description", "greeting": "first_mes",
}  # fmt: skip
_V2_USUAL: Mapping[str, Any] = {
    "name": "", "description": "", "personality": "", "scenario": "", "first_mes": "", "mes_example": "", "creator_notes": "",
    "system_prompt": "", "post_history_instructions": "", "alternate_greetings": [], "tags": [], "creator": "",
    "character_version": "", "extensions": {},
}  # fmt: skip


def decoded(data: bytes, file: Path | str) -> Any:
    """The value of a card's JSON. Raises DataError where it is none, or larger than any card is."""
    if len(data) > LARGEST:
        raise DataError(file, f"has {len(data) >> 20} MB of JSON; at most {LARGEST >> 20} are read")
    if data.count(b",") + data.count(b"[") + data.count(b"{") > MAX_VALUES:
        raise DataError(file, f"holds more than {MAX_VALUES:,} values; that is no card")
    return json_of(data, file)


def is_card(value: Any) -> bool:
    """Whether a value looks like a card of any version."""
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("data"), dict) and str(value.get("spec", "")).startswith("chara_card"):
        return True
    has_name = any(isinstance(value.get(key), str) for key in ("name", "char_name"))
    return has_name and any(key in value for key in (*V1_FIELDS[1:], *OTHER_NAMES) if key not in ("name", "char_name"))


def form_of(card: Card) -> Form:
    if not isinstance(card.get("data"), dict):
        return "v1"
    return "v3" if card.get("spec") == "chara_card_v3" else "v2"


def data_of(card: Card) -> dict[str, Any]:
    """Where the fields of a card lie."""
    return card["data"] if isinstance(card.get("data"), dict) else card


def field(card: Card, name: str) -> Any:
    """A field under its name, or the one that other programs gave it."""
    data = data_of(card)
    if name in data:
        return data[name]
    return next((data[other] for other, same in OTHER_NAMES.items() if same == name and other in data), None)


def keys_of(card: Card) -> dict[str, Any]:
    """What a card says of the keys of ``character.yaml``; empty ones are left out."""
    values: dict[str, Any] = {key: field(card, name) for key, name in TEXTS.items()}
    keys: dict[str, Any] = {key: text for key, text in values.items() if isinstance(text, str) and text.strip()}
    for key, name in LISTS.items():
        texts = [text for text in book.only(field(card, name), list) if isinstance(text, str) and text.strip()]
        keys |= {key: texts} if texts else {}
    note = _note(card)
    if isinstance(text := note.get("prompt"), str) and text.strip():
        depth, role = note.get("depth"), note.get("role")
        keys |= {"note": text} | ({"note_role": role} if role in LORE_ROLES else {})
        if isinstance(depth, int) and not isinstance(depth, bool) and depth >= 0:
            keys["note_depth"] = str(min(depth, book.MAX_DEPTH))
    return keys


def _note(card: Card) -> dict[str, Any]:
    return book.only(extensions_of(card).get("depth_prompt"), dict)


def extensions_of(card: Card) -> dict[str, Any]:
    """What programs keep in a card beside its fields."""
    return book.only(data_of(card).get("extensions"), dict)


def book_of(card: Card) -> dict[str, Any] | None:
    """The lorebook of a card."""
    book = data_of(card).get("character_book")
    return book if isinstance(book, dict) else None


def with_keys(card: Card, keys: Mapping[str, Any]) -> Card:
    """A card with some keys of ``character.yaml`` in place; equal to what it was where they say the same.

    A card of version 1 that gets a field which that version lacks becomes one of version 2.
    """
    card = deepcopy(card)
    now = keys_of(card)
    changes = {
        FIELDS[key]: value for key, value in keys.items() if key in FIELDS and value != now.get(key, type(value)())
    }
    note = {NOTE[key]: value for key, value in keys.items() if key in NOTE and value != now.get(key, "")}
    if not isinstance(card.get("data"), dict) and (note or any(name not in V1_FIELDS for name in changes)):
        card = upgraded(card, "v2")
    data = data_of(card)
    if note:
        note |= {"depth": int(note["depth"])} if "depth" in note else {}
        data["extensions"] = extensions_of(card) | {
            "depth_prompt": {"prompt": "", "depth": 4, "role": "system"} | _note(card) | note
        }
    for name, value in changes.items():
        other = next(
            (one for one, same in OTHER_NAMES.items() if same == name and one in data and name not in data), name
        )
        data[other] = value
        if data is not card and isinstance(card.get(name), str):  # doubled at the top, as some programs write it
            card[name] = value
    return card


def fresh(keys: Mapping[str, Any]) -> Card:
    """A new card of version 3."""
    data = deepcopy(dict(_V2_USUAL)) | {"group_only_greetings": []}
    return with_keys({"spec": "chara_card_v3", "spec_version": "3.0", "data": data}, keys)


def upgraded(card: Card, form: Form) -> Card:
    """The same card as one of version 2 or 3; of a lower one the missing fields are as they usually are."""
    spec = {"v2": ("chara_card_v2", "2.0"), "v3": ("chara_card_v3", "3.0")}[form]
    named = {"spec": spec[0], "spec_version": spec[1]}
    if isinstance(card.get("data"), dict):
        card = deepcopy(card) | named
    else:
        own = {name: value for name in V1_FIELDS if isinstance(value := field(card, name), str)}
        card = {**deepcopy(card), **named, "data": deepcopy(dict(_V2_USUAL)) | own}
    if form == "v3":
        card["data"].setdefault("group_only_greetings", [])
        for entry in filter(lambda one: isinstance(one, dict), book.only((book_of(card) or {}).get("entries"), list)):
            entry.setdefault("use_regex", False)  # The third version demands it.
    return card


def for_older_readers(card: Card) -> Card:
    """A card of version 3 as one of version 2: the decorators are taken from its entries."""
    card = upgraded(card, "v2")
    for entry in book.only((book_of(card) or {}).get("entries"), list):
        if isinstance(entry, dict) and isinstance(entry.get("content"), str):
            entry["content"] = book.decorated(entry["content"]).text
    return card
