"""Lorebooks of other programs: a card's own (versions 2 and 3), SillyTavern's world info, and the plain entries of RisuAI,
NovelAI and Agnai.

A book is kept as it came. ``entries_of`` says what its entries mean here; ``changed`` writes one entry's change into it and
leaves every other value. ``WORLD_FIELDS`` has what an entry of world info holds, where that lies in a card, and which field of
``Lore`` it is; ``_ELSEWHERE`` has the names of the other programs.

Content may begin with decorators of cards of version 3: lines such as ``@@depth 2``. Four are obeyed. A line ``@@@name`` is the
second choice where the line before it is not obeyed. All of them are cut from what enters the prompt, and kept in the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any, Literal, NamedTuple, TypeVar

from moechat.errors import MoeChatError
from moechat.lore import CHOICES, LORE_ROLES, USUAL, Lore, LoreRole

Entry = dict[str, Any]
T = TypeVar("T")
Dialect = Literal["world", "card", "risu", "novelai", "agnai"]

SCAN_DEPTH = 2  # Messages that are searched where a book does not say.
MAX_NUMBER = 1_000_000
MAX_DEPTH = 10_000
_DECORATOR = re.compile(r"(@@@?)([a-z_]+)[ \t]*(.*)", re.IGNORECASE)


class WorldField(NamedTuple):
    """A field of an entry of world info: its usual value, where it lies in an entry of a card (``!``: as its opposite), and the
    field of ``Lore`` that it is: "" where it decides about another one, None where it is kept and not obeyed."""

    usual: Any
    place: str
    field: str | None = None


WORLD_FIELDS: Mapping[str, WorldField] = {
    "key": WorldField([], "keys", "keys"),
    "keysecondary": WorldField([], "secondary_keys", "secondary"),
    "comment": WorldField("", "comment", "keyword"),
    "content": WorldField("", "content", "text"),
    "constant": WorldField(False, "constant", "constant"),
    "vectorized": WorldField(False, "extensions.vectorized"),
    "selective": WorldField(True, "selective", ""),
    "selectiveLogic": WorldField(0, "extensions.selectiveLogic", "logic"),
    "addMemo": WorldField(False, ""),
    "order": WorldField(100, "insertion_order", "order"),
    "position": WorldField(0, "extensions.position", "position"),
    "disable": WorldField(False, "!enabled", "enabled"),
    "ignoreBudget": WorldField(False, "extensions.ignore_budget", "ignores_budget"),
    "excludeRecursion": WorldField(False, "extensions.exclude_recursion", "no_recursion"),
    "preventRecursion": WorldField(False, "extensions.prevent_recursion", "wakes_none"),
    "delayUntilRecursion": WorldField(0, "extensions.delay_until_recursion", "only_recursion"),
    "probability": WorldField(100, "extensions.probability", "probability"),
    "useProbability": WorldField(True, "extensions.useProbability", ""),
    "depth": WorldField(4, "extensions.depth", "depth"),
    "outletName": WorldField("", "extensions.outlet_name", "outlet"),
    "group": WorldField("", "extensions.group", "group"),
    "groupOverride": WorldField(False, "extensions.group_override", "goes_first"),
    "groupWeight": WorldField(100, "extensions.group_weight", "weight"),
    "scanDepth": WorldField(None, "extensions.scan_depth", "scan_depth"),
    "caseSensitive": WorldField(None, "extensions.case_sensitive", "case"),
    "matchWholeWords": WorldField(None, "extensions.match_whole_words", "whole_words"),
    "useGroupScoring": WorldField(None, "extensions.use_group_scoring", "by_score"),
    "automationId": WorldField("", "extensions.automation_id"),
    "role": WorldField(0, "extensions.role", "role"),
    "sticky": WorldField(None, "extensions.sticky", "sticky"),
    "cooldown": WorldField(None, "extensions.cooldown", "cooldown"),
    "delay": WorldField(None, "extensions.delay", "delay"),
    "matchPersonaDescription": WorldField(False, "extensions.match_persona_description", ""),
    "matchCharacterDescription": WorldField(False, "extensions.match_character_description", ""),
    "matchCharacterPersonality": WorldField(False, "extensions.match_character_personality", ""),
    "matchCharacterDepthPrompt": WorldField(False, "extensions.match_character_depth_prompt", ""),
    "matchScenario": WorldField(False, "extensions.match_scenario", ""),
    "matchCreatorNotes": WorldField(False, "extensions.match_creator_notes", ""),
    "triggers": WorldField([], "extensions.triggers", "triggers"),
    "characterFilter": WorldField({"isExclude": False, "names": [], "tags": []}, "extensions.character_filter", ""),
}
_FIELDS: Mapping[str, WorldField] = {
    **WORLD_FIELDS,  # An entry of a card has these besides:
    "name": WorldField("", "name", ""),
    "priority": WorldField(None, "priority", "priority"),
    "use_regex": WorldField(False, "use_regex", "regex"),
}
_ALSO_IN: Mapping[str, str] = {
    "matchPersonaDescription": "user_persona", "matchCharacterDescription": "persona",
    "matchCharacterPersonality": "personality", "matchCharacterDepthPrompt": "note", "matchScenario": "scenario",
    "matchCreatorNotes": "creator_notes",
}  # fmt: skip
"""Where else an entry of world info is searched for, as keys of ``character.yaml``."""
_WORLD_NAMES: Mapping[str, str] = {one.field: name for name, one in _FIELDS.items() if one.field}
_ELSEWHERE: Mapping[Dialect, Mapping[str, str]] = {  # What has no name of its own there has that of world info.
    "risu": {
        "keysecondary": "secondkey", "constant": "alwaysActive", "order": "insertorder", "disable": "!enabled",
        "probability": "activationPercent", "use_regex": "useRegex",
    },
    "novelai": {
        "key": "keys", "content": "text", "comment": "displayName", "constant": "forceActivation", "disable": "!enabled",
        "priority": "contextConfig.budgetPriority",
    },
    "agnai": {"key": "keywords", "content": "entry", "comment": "name", "order": "weight", "disable": "!enabled"},
}  # fmt: skip


# ---- finding the entries


def dialect_of(value: Any) -> Dialect | None:
    """Whose book a value is; None where it is none."""
    book = inner(value)
    if not isinstance(book, dict):
        return None
    entries = book.get("entries")
    if book.get("type") == "risu" and isinstance(book.get("data"), list):
        return "risu"
    if isinstance(entries, list) and "lorebookVersion" in book:
        return "novelai"
    if isinstance(entries, list) and book.get("kind") == "memory":
        return "agnai"
    if isinstance(entries, dict) or (
        isinstance(entries, list) and any(isinstance(e, dict) and "key" in e for e in entries)
    ):
        return "world"
    return "card" if isinstance(entries, list) else None


def inner(value: Any) -> Any:
    """The book itself, without its wrapping as a file of version 3."""
    return value.get("data") if isinstance(value, dict) and value.get("spec") == "lorebook_v3" else value


def _held(value: Any) -> Any:
    """Where the entries of a book lie: a list, or an object."""
    dialect = dialect_of(value)
    return inner(value)["data" if dialect == "risu" else "entries"] if dialect else []


def raw_entries(value: Any) -> Iterator[tuple[str, Entry]]:
    """(the id of an entry in its book, the entry as it came). Ids are unique in a book."""
    entries = _held(value)
    items = entries.items() if isinstance(entries, dict) else enumerate(entries)
    taken: set[str] = set()
    for place, entry in items:
        if not isinstance(entry, dict):
            continue
        id_ = str(place) if isinstance(entries, dict) else next(
            (str(entry[key]) for key in ("id", "uid") if isinstance(entry.get(key), int | str)), str(place)
        )  # fmt: skip
        if id_ in taken or not id_ or len(id_) > 100:
            id_ = f"n{place}"
        taken.add(id_)
        yield id_, entry


def entries_of(value: Any, file: str) -> list[Lore]:
    """What the entries of a book mean; those without words, or without anything that could wake them, are there too."""
    dialect = dialect_of(value)
    if dialect is None:
        return []
    book = inner(value)
    worlds = {id_: as_world(entry, dialect) for id_, entry in raw_entries(value)}
    recursive, is_tavern = book.get("recursive_scanning"), dialect in ("world", "card")
    usual = replace(
        USUAL, file=file, scan_depth=_whole(book.get("scan_depth"), SCAN_DEPTH), budget=_whole(book.get("token_budget"), 0),
        recursive=recursive if isinstance(recursive, bool) else is_tavern, whole_words=is_tavern, is_bare=True,
    )  # fmt: skip
    return [_lore(f"{file}#{id_}", world, usual) for id_, world in worlds.items()]


# ---- what an entry means


def _lore(id_: str, world: Entry, usual: Lore) -> Lore:
    there = ((name, field) for field, name in _WORLD_NAMES.items() if world.get(name) is not None)
    values = {field: _read(field, world[name], usual) for name, field in there}
    titles = (values.get("keyword"), only(world.get("name"), str), *values.get("keys", ()), id_.partition("#")[2])
    decoration = decorated(values.get("text", ""))
    values |= {
        "id": id_,
        "keyword": " ".join(next(filter(None, titles), "").split())[:200],
        "text": decoration.text.strip(),
        "enabled": world.get("disable") is not True,
        "always": decoration.activate,
        "never": decoration.dont_activate,
        "also_in": tuple(place for name, place in _ALSO_IN.items() if world.get(name) is True),
        "characters": _texts(only(world.get("characterFilter"), dict).get("names")),
        "spares": only(world.get("characterFilter"), dict).get("isExclude") is True,
    }
    if values.get("regex") or not world.get("selective", True):
        values["secondary"] = ()
    if not world.get("useProbability", True):
        values["probability"] = 100.0
    if decoration.depth is not None:
        values |= {"position": "depth", "depth": decoration.depth}
    if decoration.role:
        values["role"] = decoration.role
    return replace(usual, **values)


def as_world(entry: Entry, dialect: Dialect) -> Entry:
    """An entry of any book with the names of world info; those of a card's that world info lacks keep theirs."""
    if dialect == "world":
        return entry
    world: Entry = {}
    for name in _FIELDS:
        parent, key, is_opposite = _lies(entry, _place(name, dialect))
        if isinstance(parent, dict) and key in parent:
            world[name] = parent[key] is False if is_opposite else parent[key]
    world.setdefault("selective", False)
    if dialect == "risu":
        world["disable"] = world.get("disable") or entry.get("mode", "normal") not in ("normal", "constant")
    if dialect == "card":
        world.setdefault("caseSensitive", entry.get("case_sensitive"))
        if not isinstance(world.get("position"), int):
            world["position"] = entry.get("position")
        # SillyTavern writes use_regex whatever the keys are.
        written_there = {"position", "selectiveLogic"} & only(entry.get("extensions"), dict).keys()
        world["use_regex"] = entry.get("use_regex") is True and not written_there
    return world


def _place(name: str, dialect: Dialect) -> str:
    """Where an entry of a book has a field of world info."""
    if dialect == "world":
        return name
    return _FIELDS[name].place if dialect == "card" else _ELSEWHERE[dialect].get(name, name)


def _lies(entry: Entry, place: str) -> tuple[Any, str, bool]:
    """(the object in which a place lies, its key there, whether it says the opposite)."""
    outer, _, key = place.removeprefix("!").rpartition(".")
    return entry.get(outer) if outer else entry, key, place.startswith("!")


# ---- writing


def changed(entry: Entry, dialect: Dialect, changes: Mapping[str, Any]) -> Entry:
    """An entry with some of what ``data_base`` would say of it changed (None: as usual); every other value stays."""
    entry = deepcopy(entry)
    for field, value in changes.items():
        name = _WORLD_NAMES[field]
        new = deepcopy(_FIELDS[name].usual) if value is None else _written(field, value)
        if field == "text":
            parent, key, _ = _lies(entry, _place(name, dialect))
            before = only(parent.get(key), str)
            new = before[: len(before) - len(decorated(before).text)] + new
        if field == "position" and value is None and dialect in _ELSEWHERE:
            new = ""
        _put(entry, _place(name, dialect), ", ".join(new) if dialect == "risu" and isinstance(new, list) else new)
        if field == "secondary" and new:
            entry["selective"] = True
        if dialect == "card" and field == "position":
            entry["position"] = _of_card(new)
        if dialect == "card" and field == "case":
            entry["case_sensitive"] = new
    return entry


def replace_entry(value: Any, entry: Entry, changes: Mapping[str, Any] | None) -> None:
    """Change an entry of a book in its place, or (None) take it out."""
    entries, dialect = _held(value), dialect_of(value)
    place = next(
        key for key in (entries if isinstance(entries, dict) else range(len(entries))) if entries[key] is entry
    )
    if changes is None or dialect is None:
        del entries[place]
    else:
        entries[place] = changed(entry, dialect, changes)


def _put(entry: Entry, place: str, value: Any) -> None:
    outer = place.rpartition(".")[0]
    if outer and not isinstance(entry.setdefault(outer, {}), dict):
        raise MoeChatError(f"the `{outer}` of this entry are no object; mend the file by hand, then try again")
    parent, key, is_opposite = _lies(entry, place)
    parent[key] = value is not True if is_opposite else value


def _written(field: str, value: Any) -> Any:
    """A value of ``Lore`` as world info has it."""
    if field in CHOICES:
        return CHOICES[field].index(value) if value else 0
    if field == "enabled":
        return not value
    return list(value) if isinstance(value, tuple) else value


def _of_card(position: Any) -> str:
    return "before_char" if position == 0 else "after_char"


def _usual_world() -> Entry:
    return {name: deepcopy(field.usual) for name, field in WORLD_FIELDS.items()}


def world_entry(lore: Lore, uid: int) -> Entry:
    """An entry of ``data_base`` as one of world info, every field there."""
    own = {name: _written(one.field, getattr(lore, one.field)) for name, one in WORLD_FIELDS.items() if one.field}
    return _usual_world() | own | {
        "uid": uid, "key": list(dict.fromkeys((lore.keyword, *lore.keys))), "addMemo": True, "sticky": lore.sticky or None,
        "cooldown": lore.cooldown or None, "delay": lore.delay or None,
    }  # fmt: skip


def worlds_of(value: Any) -> list[Entry]:
    """The entries of a book as world info, every field there; what world info lacks stays under their extensions. Those of world
    info are as they came."""
    dialect = dialect_of(value)
    raw = [entry for _, entry in raw_entries(value)] if dialect else []
    return [
        _whole_world(one, dialect, uid) if dialect not in (None, "world") else deepcopy(one)
        for uid, one in enumerate(raw)
    ]


def _whole_world(entry: Entry, dialect: Dialect, uid: int) -> Entry:
    read = {n: deepcopy(v) for n, v in as_world(entry, dialect).items() if n in WORLD_FIELDS and v is not None}
    if dialect == "risu":
        read |= {name: list(_texts(read[name])) for name in ("key", "keysecondary") if name in read}
    if not isinstance(read.get("position"), int):
        read["position"] = int(dialect == "card" and entry.get("position") != "before_char")
    own = only(entry.get("extensions"), dict)
    return _usual_world() | read | {"uid": uid, "addMemo": bool(read.get("comment")), "extensions": deepcopy(own)}


def card_entry(world: Entry, id_: int) -> Entry:
    """An entry of world info as one of a card; fields that neither knows are kept among its extensions."""
    own = only(world.get("extensions"), dict)
    entry: Entry = {
        "keys": [], "content": "", "insertion_order": 100, "id": id_, "enabled": True, "use_regex": True,
        "position": _of_card(world.get("position", 0)), "extensions": deepcopy(own),
    }  # fmt: skip
    for name, value in world.items():
        if name not in ("uid", "extensions", "addMemo"):
            place = WORLD_FIELDS[name].place if name in WORLD_FIELDS else f"extensions.{name}"
            _put(entry, place, deepcopy(value))
    return entry


# ---- decorators


@dataclass(frozen=True)
class Decorated:
    """``text`` is what follows the decorators. ``unheeded`` names those that are kept and not obeyed."""

    text: str
    activate: bool = False
    dont_activate: bool = False
    depth: int | None = None
    role: LoreRole | None = None
    unheeded: Sequence[str] = ()


def decorated(content: str) -> Decorated:
    """The decorators of an entry, and its text. Content without any is its own text, unchanged."""
    if not content.lstrip().startswith("@@"):
        return Decorated(content)
    lines = content.lstrip().split("\n")
    values: dict[str, Any] = {}
    unheeded: list[str] = []
    heads = [match.groups() for match in takewhile(bool, (_DECORATOR.match(line.strip()) for line in lines)) if match]
    is_obeyed = False
    for mark, name, argument in heads:
        if mark == "@@@" and is_obeyed:
            continue
        value = _decoration(name.lower(), argument.strip())
        is_obeyed = value is not None
        if is_obeyed:
            values[name.lower()] = value
        else:
            unheeded.append(name.lower())
    return Decorated("\n".join(lines[len(heads) :]), unheeded=unheeded, **values)


def _decoration(name: str, argument: str) -> object:
    """What a decorator says; None where it is not obeyed, or says nothing that can be."""
    if name in ("activate", "dont_activate"):
        return True
    if name == "depth" and argument.isdecimal() and len(argument) < 6:
        return min(int(argument), MAX_DEPTH)
    return argument if name == "role" and argument in LORE_ROLES else None


def unheeded(value: Any) -> dict[str, int]:
    """{what is kept and not obeyed: in how many entries it is used}: fields of world info, and decorators as ``@@name``."""
    counts: dict[str, int] = {}
    dialect = dialect_of(value)
    kept = [name for name, one in WORLD_FIELDS.items() if one.field is None and name not in ("addMemo", "vectorized")]
    for _, entry in raw_entries(value):
        world = as_world(entry, dialect or "world")
        used = [name for name in kept if world.get(name) not in (None, False, "", [], WORLD_FIELDS[name].usual)]
        used += ["characterFilter.tags"] if only(world.get("characterFilter"), dict).get("tags") else []
        for name in (*used, *(f"@@{name}" for name in decorated(only(world.get("content"), str)).unheeded)):
            counts[name] = counts.get(name, 0) + 1
    return counts


# ---- lenient readings


def only(value: Any, kind: type[T]) -> T:
    """A value of a stranger's where it is of this kind; one of another kind is as if it were not there."""
    return value if isinstance(value, kind) else kind()


def _read(field: str, value: Any, usual: Lore) -> Any:
    """A field of ``Lore`` from a stranger's value; one that makes no sense is as usual."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if field in CHOICES:
        if is_number and value in range(len(CHOICES[field])):
            return CHOICES[field][int(value)]
        return value if isinstance(value, str) and value in CHOICES[field] else getattr(usual, field)
    match getattr(usual, field):
        case bool():
            return value is True
        case tuple():
            return _texts(value)
        case str():
            return only(value, str)
        case float():
            return float(max(0.0, min(value, 100.0))) if is_number and value == value else 100.0
        case number:
            if value is True and field == "only_recursion":
                return 1
            return _whole(value, number or 0, least=-MAX_NUMBER if field in ("order", "priority") else 0)


def _texts(value: Any) -> tuple[str, ...]:
    """A list of words, or words with commas between them."""
    items = value.split(",") if isinstance(value, str) else only(value, list)
    return tuple(item.strip() for item in items if isinstance(item, str) and item.strip())


def _whole(value: Any, usual: int, least: int = 0) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        return usual
    return int(max(least, min(value, MAX_NUMBER)))
