"""Lorebooks of other programs: a card's own (versions 2 and 3), SillyTavern's world info, and the plain entries of RisuAI,
NovelAI and Agnai.

A book is kept as it came. ``entries_of`` says what its entries mean here; ``changed`` writes one entry's change into it and
leaves every other value. ``WORLD_FIELDS`` has what an entry of world info holds, where that lies in a card, and whether it is
obeyed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import replace
from typing import Any, Literal, NamedTuple

from moechat.cards import decorators
from moechat.errors import MoeChatError
from moechat.lore import LOGICS, LORE_ROLES, POSITIONS, Lore

Book = dict[str, Any]
Entry = dict[str, Any]
Dialect = Literal["world", "card", "risu", "novelai", "agnai"]

SCAN_DEPTH = 2  # Messages that are searched where a book does not say.
_IN = "extensions."


class WorldField(NamedTuple):
    """A field of an entry of world info: its usual value, where it lies in an entry of a card, and whether it is obeyed."""

    usual: Any
    place: str
    obeyed: bool


WORLD_FIELDS: Mapping[str, WorldField] = {
    "key": WorldField([], "keys", True),
    "keysecondary": WorldField([], "secondary_keys", True),
    "comment": WorldField("", "comment", True),
    "content": WorldField("", "content", True),
    "constant": WorldField(False, "constant", True),
    "vectorized": WorldField(False, _IN + "vectorized", False),
    "selective": WorldField(True, "selective", True),
    "selectiveLogic": WorldField(0, _IN + "selectiveLogic", True),
    "addMemo": WorldField(False, "", False),
    "order": WorldField(100, "insertion_order", True),
    "position": WorldField(0, _IN + "position", True),
    "disable": WorldField(False, "enabled", True),
    "ignoreBudget": WorldField(False, _IN + "ignore_budget", True),
    "excludeRecursion": WorldField(False, _IN + "exclude_recursion", True),
    "preventRecursion": WorldField(False, _IN + "prevent_recursion", True),
    "delayUntilRecursion": WorldField(0, _IN + "delay_until_recursion", True),
    "probability": WorldField(100, _IN + "probability", True),
    "useProbability": WorldField(True, _IN + "useProbability", True),
    "depth": WorldField(4, _IN + "depth", True),
    "outletName": WorldField("", _IN + "outlet_name", False),
    "group": WorldField("", _IN + "group", False),
    "groupOverride": WorldField(False, _IN + "group_override", False),
    "groupWeight": WorldField(100, _IN + "group_weight", False),
    "scanDepth": WorldField(None, _IN + "scan_depth", True),
    "caseSensitive": WorldField(None, _IN + "case_sensitive", True),
    "matchWholeWords": WorldField(None, _IN + "match_whole_words", True),
    "useGroupScoring": WorldField(None, _IN + "use_group_scoring", False),
    "automationId": WorldField("", _IN + "automation_id", False),
    "role": WorldField(0, _IN + "role", True),
    "sticky": WorldField(None, _IN + "sticky", True),
    "cooldown": WorldField(None, _IN + "cooldown", True),
    "delay": WorldField(None, _IN + "delay", True),
    "matchPersonaDescription": WorldField(False, _IN + "match_persona_description", False),
    "matchCharacterDescription": WorldField(False, _IN + "match_character_description", False),
    "matchCharacterPersonality": WorldField(False, _IN + "match_character_personality", False),
    "matchCharacterDepthPrompt": WorldField(False, _IN + "match_character_depth_prompt", False),
    "matchScenario": WorldField(False, _IN + "match_scenario", False),
    "matchCreatorNotes": WorldField(False, _IN + "match_creator_notes", False),
    "triggers": WorldField([], _IN + "triggers", False),
    "characterFilter": WorldField({"isExclude": False, "names": [], "tags": []}, _IN + "character_filter", False),
}
_OF_CARD = ("name", "priority", "use_regex", "case_sensitive")  # A card's entry has these besides.
_EDITED: Mapping[str, str] = {  # A key of ``data_base``, and the field of world info that it is.
    "keyword": "comment", "keys": "key", "constant": "constant", "secondary": "keysecondary", "order": "order",
    "depth": "depth", "scan_depth": "scanDepth", "case": "caseSensitive", "whole_words": "matchWholeWords",
    "probability": "probability", "sticky": "sticky", "cooldown": "cooldown", "delay": "delay",
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


def raw_entries(value: Any) -> Iterator[tuple[str, Entry]]:
    """(the id of an entry in its book, the entry as it came). Ids are unique in a book."""
    book = inner(value)
    entries = book.get("data") if dialect_of(value) == "risu" else book.get("entries")
    items = entries.items() if isinstance(entries, dict) else enumerate(entries or ())
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
    speaks_of_recursion = any(
        one.get(key)
        for one in worlds.values()
        for key in ("excludeRecursion", "preventRecursion", "delayUntilRecursion")
    )
    recursive = book.get("recursive_scanning")
    usual = Lore(
        "", "", "", file, scan_depth=_whole(book.get("scan_depth"), SCAN_DEPTH), budget=_whole(book.get("token_budget"), 0),
        recursive=recursive if isinstance(recursive, bool) else speaks_of_recursion,
    )  # fmt: skip
    return [_lore(f"{file}#{id_}", world, usual) for id_, world in worlds.items()]


# ---- what an entry means


def _lore(id_: str, world: Entry, usual: Lore) -> Lore:
    decorated = decorators.read(_text(world.get("content")))
    keys = _texts(world.get("key"))
    name = _text(world.get("comment")) or _text(world.get("name")) or next(iter(keys), "") or id_.partition("#")[2]
    position = "depth" if decorated.depth is not None else _position(world.get("position"))
    level = world.get("delayUntilRecursion")
    secondary = _texts(world.get("keysecondary"))
    regex = bool(world.get("use_regex"))
    return replace(
        usual,
        id=id_,
        keyword=" ".join(name.split())[:200],
        text=decorated.text.strip(),
        keys=keys,
        constant=world.get("constant") is True,
        enabled=world.get("disable") is not True,
        is_bare=True,
        secondary=() if regex or not world.get("selective", True) else secondary,
        logic=LOGICS[_whole(world.get("selectiveLogic"), 0) % len(LOGICS)],
        regex=regex,
        case=world.get("caseSensitive") is True,
        whole_words=world.get("matchWholeWords") is True,
        scan_depth=_whole(world.get("scanDepth"), usual.scan_depth),
        always=decorated.activate,
        never=decorated.dont_activate,
        order=_whole(world.get("order"), 100, least=-1_000_000),
        priority=_whole(world.get("priority"), 0, least=-1_000_000) if world.get("priority") is not None else None,
        ignores_budget=world.get("ignoreBudget") is True,
        position=position,  # type: ignore[arg-type]
        depth=_whole(world.get("depth"), 4) if decorated.depth is None else decorated.depth,
        role=decorated.role or _role(world.get("role")),  # type: ignore[arg-type]
        no_recursion=world.get("excludeRecursion") is True,
        wakes_none=world.get("preventRecursion") is True,
        only_recursion=1 if level is True else _whole(level, 0),
        sticky=_whole(world.get("sticky"), 0),
        cooldown=_whole(world.get("cooldown"), 0),
        delay=_whole(world.get("delay"), 0),
        probability=_percent(world) if world.get("useProbability", True) else 100.0,
    )


def as_world(entry: Entry, dialect: Dialect) -> Entry:
    """An entry of any book with the names of world info; those of a card's that world info lacks keep theirs."""
    if dialect == "world":
        return entry
    if dialect == "risu":
        return {
            "key": entry.get("key"), "keysecondary": entry.get("secondkey"), "comment": entry.get("comment"),
            "content": entry.get("content"), "constant": entry.get("alwaysActive"), "selective": bool(entry.get("selective")),
            "order": entry.get("insertorder"), "use_regex": bool(entry.get("useRegex")),
            "probability": entry.get("activationPercent"), "position": "",
            "disable": entry.get("mode", "normal") not in ("normal", "constant"),
        }  # fmt: skip
    if dialect == "novelai":
        limits = entry.get("contextConfig")
        priority = limits.get("budgetPriority") if isinstance(limits, dict) else None
        return {
            "key": entry.get("keys"), "content": entry.get("text"), "comment": entry.get("displayName"), "position": "",
            "disable": entry.get("enabled") is False, "priority": priority, "constant": entry.get("forceActivation"),
        }  # fmt: skip
    if dialect == "agnai":
        return {
            "key": entry.get("keywords"), "content": entry.get("entry"), "comment": entry.get("name"), "position": "",
            "disable": entry.get("enabled") is False, "priority": entry.get("priority"), "order": entry.get("weight"),
        }  # fmt: skip
    return _from_card(entry)


def _from_card(entry: Entry) -> Entry:
    extensions = entry["extensions"] if isinstance(entry.get("extensions"), dict) else {}
    world = {key: entry[key] for key in _OF_CARD if key in entry}
    for name, (_, place, _) in WORLD_FIELDS.items():
        source, key = (extensions, place.removeprefix(_IN)) if place.startswith(_IN) else (entry, place)
        if key in source:
            world[name] = source[key]
    world["disable"] = entry.get("enabled") is False
    world.setdefault("selective", False)
    world.setdefault("caseSensitive", entry.get("case_sensitive"))
    if not isinstance(world.get("position"), int):
        world["position"] = entry.get("position")
    by_sillytavern = (
        "position" in extensions or "selectiveLogic" in extensions
    )  # It writes use_regex whatever the keys are.
    world["use_regex"] = entry.get("use_regex") is True and not by_sillytavern
    return world


# ---- writing


def changed(entry: Entry, dialect: Dialect, changes: Mapping[str, Any]) -> Entry:
    """An entry with some of what ``data_base`` would say of it changed (None: as usual); every other value stays."""
    entry = deepcopy(entry)
    for key, value in changes.items():
        if key == "text":
            name = {"novelai": "text", "agnai": "entry"}.get(dialect, "content")
            before = _text(entry.get(name))
            head = before[: len(before) - len(decorators.read(before).text)]
            entry[name] = head + str(value)
        elif key == "enabled":
            entry.update({"disable": not value} if dialect == "world" else {"enabled": bool(value)})
        elif key in ("logic", "position", "role"):
            names: tuple[str, ...] = {"logic": LOGICS, "position": POSITIONS, "role": LORE_ROLES}[key]
            field = {"logic": "selectiveLogic"}.get(key, key)
            _put(entry, dialect, field, WORLD_FIELDS[field].usual if value is None else names.index(value))
        elif key == "regex" or key == "priority":
            entry["use_regex" if key == "regex" else key] = value
        else:
            field = _EDITED[key]
            _put(entry, dialect, field, WORLD_FIELDS[field].usual if value is None else value)
            if key == "secondary" and value:
                entry["selective"] = True
    return entry


def _put(entry: Entry, dialect: Dialect, field: str, value: Any) -> None:
    """Put a value of world info where an entry of this book has it."""
    if dialect == "world":
        entry[field] = value
        return
    others = {
        "risu": {"key": "key", "comment": "comment", "constant": "alwaysActive", "order": "insertorder"},
        "novelai": {"key": "keys", "comment": "displayName", "constant": "forceActivation"},
        "agnai": {"key": "keywords", "comment": "name", "order": "weight"},
    }.get(dialect)
    if others is not None:
        entry[others.get(field, field)] = ", ".join(value) if dialect == "risu" and isinstance(value, list) else value
        return
    place = WORLD_FIELDS[field].place
    if place.startswith(_IN):
        extensions = entry.setdefault("extensions", {})
        if not isinstance(extensions, dict):
            raise MoeChatError("the `extensions` of this entry are no object; mend the file by hand, then try again")
        extensions[place.removeprefix(_IN)] = value
        if field == "position":
            entry["position"] = "before_char" if value == 0 else "after_char"
        if field == "caseSensitive":
            entry["case_sensitive"] = value
    else:
        entry[place] = value


def world_entry(lore: Lore, uid: int) -> Entry:
    """An entry of ``data_base`` as one of world info, every field there."""
    usual = {name: deepcopy(field.usual) for name, field in WORLD_FIELDS.items()}
    position = {} if not lore.position else {"position": POSITIONS.index(lore.position)}
    return usual | position | {
        "uid": uid, "key": list(dict.fromkeys((lore.keyword, *lore.keys))), "keysecondary": list(lore.secondary),
        "comment": lore.keyword, "addMemo": True, "content": lore.text, "constant": lore.constant, "disable": not lore.enabled,
        "selectiveLogic": LOGICS.index(lore.logic), "order": lore.order, "depth": lore.depth, "scanDepth": lore.scan_depth,
        "caseSensitive": lore.case, "matchWholeWords": lore.whole_words, "role": LORE_ROLES.index(lore.role),
        "probability": lore.probability, "sticky": lore.sticky or None, "cooldown": lore.cooldown or None,
        "delay": lore.delay or None,
    }  # fmt: skip


def card_entry(world: Entry, id_: int) -> Entry:
    """An entry of world info as one of a card; fields that neither knows are kept among its extensions."""
    own = world["extensions"] if isinstance(world.get("extensions"), dict) else {}
    entry: Entry = {
        "id": id_, "enabled": world.get("disable") is not True, "use_regex": True,
        "position": "before_char" if world.get("position", 0) == 0 else "after_char", "extensions": deepcopy(own),
    }  # fmt: skip
    for name, value in world.items():
        place = WORLD_FIELDS[name].place if name in WORLD_FIELDS else ""
        if name in ("uid", "disable", "extensions", "addMemo"):
            continue
        if place and not place.startswith(_IN):
            entry[place] = deepcopy(value)
        else:
            entry["extensions"][place.removeprefix(_IN) or name] = deepcopy(value)
    return {"keys": [], "content": "", "insertion_order": 100, **entry}


def world_of_card(entry: Entry, uid: int) -> Entry:
    """An entry of a card as one of world info, every field there; what world info lacks stays under its extensions."""
    usual = {name: deepcopy(field.usual) for name, field in WORLD_FIELDS.items()}
    read = {
        name: deepcopy(value) for name, value in _from_card(entry).items() if name in WORLD_FIELDS and value is not None
    }
    if not isinstance(read.get("position"), int):
        read["position"] = 0 if entry.get("position") == "before_char" else 1
    extensions = entry["extensions"] if isinstance(entry.get("extensions"), dict) else {}
    return usual | read | {"uid": uid, "addMemo": bool(read.get("comment")), "extensions": deepcopy(extensions)}


# ---- lenient readings


def unheeded(value: Any) -> dict[str, int]:
    """{what is kept and not obeyed: in how many entries it is used}: fields of world info, and decorators as ``@@name``."""
    counts: dict[str, int] = {}
    dialect = dialect_of(value)
    for _, entry in raw_entries(value) if dialect else ():
        world = as_world(entry, dialect or "world")
        content = _text(world.get("content"))
        names = [
            name for name, field in WORLD_FIELDS.items() if not field.obeyed and name not in ("addMemo", "vectorized")
        ]
        used = [name for name in names if world.get(name) not in (None, False, "", [], WORLD_FIELDS[name].usual)]
        for name in (*used, *(f"@@{name}" for name in decorators.read(content).unheeded)):
            counts[name] = counts.get(name, 0) + 1
    return counts


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _texts(value: Any) -> tuple[str, ...]:
    """A list of words, or words with commas between them."""
    items = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else ()
    return tuple(item.strip() for item in items if isinstance(item, str) and item.strip())


def _whole(value: Any, usual: int, least: int = 0) -> int:
    """A whole number of a stranger's; what is none is as usual."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        return usual
    return int(max(least, min(value, 1_000_000)))


def _percent(world: Entry) -> float:
    value = world.get("probability")
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        return 100.0
    return float(max(0.0, min(value, 100.0)))


def _position(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(POSITIONS):
        return POSITIONS[value]
    return value if value in ("before_char", "after_char") else ""


def _role(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(LORE_ROLES):
        return LORE_ROLES[value]
    return value if value in LORE_ROLES else "system"
