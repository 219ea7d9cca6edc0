"""What a tab looks at in the memory room, and how a click changes that. Knows no Gradio."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from moechat.curation.catalogue import Sort
from moechat.web import author_room
from moechat.web.notes import Action

MINE, AUTHOR = "mine", "author"
KINDS: Mapping[str, Sequence[str]] = {
    MINE: ("letter", "", "fact", "event", "reflection", "exchange"),
    AUTHOR: ("", "fact", "event", "lore"),
}
NEW: Mapping[str, Sequence[str]] = {MINE: ("new_event", "new_fact"), AUTHOR: ("new_event", "new_fact", "new_lore")}
PAGE = 30
SORTS = ("newest", "oldest", "near")


@dataclass(frozen=True)
class MemoryLook:
    """What a tab shows of the memories. ``kind`` "" is everything that was understood, "letter" what one
    would write of it.

    ``when`` is a time in words, ``topic`` a path; a search that is sorted by "near" is one by meaning. ``doing`` is what is
    being done with the memory that is ``opened``: "", edit, forget or surely. With none opened it is the kind of a new one
    (fact, event or lore), or merge: of those that are ``chosen``.
    """

    store: str = MINE
    kind: str = "letter"
    search: str = ""
    archived: bool = False
    sort: Sort | Literal["near"] = "newest"
    when: str = ""
    topic: str = ""
    ticks: bool = False
    count: int = PAGE
    opened: str = ""
    doing: str = ""
    chosen: Sequence[str] = ()


def listing(look: MemoryLook, **changes: object) -> MemoryLook:
    """Another list: from its beginning, nothing opened."""
    return replace(look, **({"count": PAGE, "opened": "", "doing": ""} | changes))  # type: ignore[arg-type]


def _filtered(look: MemoryLook, **changes: object) -> MemoryLook:
    """A list that is filtered in another way; a letter is none, and becomes one."""
    return listing(look, **({"kind": "" if look.kind == "letter" else look.kind} | changes))


def _stored(look: MemoryLook, action: Action) -> MemoryLook:
    store = AUTHOR if action.get("value") == AUTHOR else MINE
    kind = look.kind if look.kind in KINDS[store] else KINDS[store][0]
    return listing(look, store=store, kind=kind, archived=False)


def _of_kind(look: MemoryLook, action: Action) -> MemoryLook:
    return listing(look, kind=action["value"]) if action.get("value") in KINDS[look.store] else look


def _toggled(look: MemoryLook, action: Action) -> MemoryLook:
    id_ = action.get("id", "")
    again = id_ == look.opened and not look.doing
    return replace(look, opened="" if again else id_, doing="")


def _kind_of_new(action: Action) -> str:
    return author_room.kind_named(action.get("value", "").removeprefix("new_")) or "fact"


LOOKS: Mapping[str, Callable[[MemoryLook, Action], MemoryLook]] = {
    "store": _stored,
    "kind": _of_kind,
    "search": lambda look, action: _filtered(look, search=action.get("q", "")[:200]),
    "when": lambda look, action: _filtered(look, when=action.get("q", "")[:100]),
    "of-topic": lambda look, action: _filtered(look, topic=action.get("q", "")),
    "archived": lambda look, action: _filtered(look, archived=not look.archived),
    "ticks": lambda look, action: listing(look, ticks=not look.ticks),
    "sort": lambda look, action: _filtered(look, sort=action["q"]) if action.get("q") in SORTS else look,
    "more": lambda look, action: replace(look, count=look.count + PAGE),
    "open": _toggled,
    "edit": lambda look, action: replace(look, opened=action.get("id", ""), doing="edit"),
    "forget": lambda look, action: replace(look, opened=action.get("id", ""), doing="forget"),
    "surely": lambda look, action: replace(look, opened=action.get("id", ""), doing="surely"),
    "cancel": lambda look, action: replace(look, doing=""),
    "new": lambda look, action: replace(look, opened="", doing=_kind_of_new(action)),
}
