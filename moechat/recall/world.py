"""Where the author's words stand in a prompt, and what became of a world book's entries in a talk.

Entries of a book of another program may name a place: around the persona, around the examples, around what is recalled, or a
number of messages before the end. All others stand in the block of the world, behind the talk.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from moechat.cards.macros import Macros
from moechat.cue import SoFar
from moechat.model import Exchange, Hit, Lore, Message, Recollection
from moechat.store.kinds import Store
from moechat.store.tree import Tree

AROUND = ("before_char", "after_char", "before_examples", "after_examples")
STICKS = "sticky"
MAX_EXCHANGES = 1000  # Exchanges of a talk that are searched for what fired.


def messages(context: Sequence[Exchange]) -> list[str]:
    """The messages of a context, the newest first."""
    return [side for one in reversed(context) for side in (one.heard, one.sent) if side]


def so_far(tree: Tree, own: str, talk: str) -> SoFar:
    """What a talk was before an exchange ("": before its next one)."""
    ids = list(tree.ancestors(tree.parents.get(own) if own else tree.leaf(talk)))
    fired_at: dict[str, int] = {}
    for place, id_ in enumerate(ids[:MAX_EXCHANGES]):
        node = tree.nodes.get(id_)
        for row in node.variant.hits if node and node.variant else ():
            if row.get("why", STICKS) != STICKS:
                fired_at.setdefault(str(row.get("id", "")), 2 * (len(ids) - place) - 1)
    return SoFar(2 * len(ids) + 1, fired_at)


def fires(store: Store) -> list[dict[str, str]]:
    """When entries fired in the talks of a memory, and why, the oldest first; as far back as the log keeps it."""
    rows = []
    for id_ in store.tree.numbered():
        node = store.tree.nodes.get(id_)
        for row in node.variant.hits if node and node.variant else ():
            if "why" in row:
                rows.append(
                    {"time": node.at if node else "", "exchange": id_, "id": str(row["id"]), "why": str(row["why"])}
                )
    return rows


def filled(recollection: Recollection, macros: Macros) -> Recollection:
    """The recollection with the macros of the author's words replaced."""
    hits = [replace(hit, text=macros.fill(hit.text)) if hit.layer == "lore" else hit for hit in recollection.hits]
    return replace(recollection, hits=hits)


@dataclass(frozen=True)
class Placed:
    """The words of entries that have a place of their own (``around``, by place; ``deep``, by messages before the end),
    and the ids of those entries."""

    around: Mapping[str, Sequence[str]] = field(default_factory=dict)
    deep: Sequence[tuple[int, Message]] = ()
    ids: frozenset[str] = frozenset()

    def system(self, place: str) -> list[Message]:
        """The words at a place, as a message."""
        words = self.around.get(place)
        return [Message("system", "\n\n".join(words))] if words else []

    def all_around(self) -> list[Message]:
        """What stands around persona and examples, where neither is told."""
        return [message for place in AROUND for message in self.system(place)]

    def at(self, depth: int) -> list[Message]:
        """What stands this number of messages before the end."""
        return [message for one, message in self.deep if one == depth]

    def within(self, history: Sequence[Message]) -> list[Message]:
        """The talk up to the message, with what stands in it; deeper entries go at the start."""
        messages: list[Message] = []
        for place, message in enumerate(history):
            depth = len(history) - place + 1
            deeper = [one for far, one in self.deep if far > depth] if place == 0 else []
            messages += [*deeper, *self.at(depth), message]
        if not history:
            messages += [one for far, one in self.deep if far > 1]
        return messages


def placed(hits: Iterable[Hit], entries: Mapping[str, Lore]) -> Placed:
    """The hits that fired by their rules and have a place; lower ``order`` comes first."""
    there = [(entries[hit.id], hit) for hit in hits if hit.id in entries and hit.why]
    there = sorted((one for one in there if one[0].position), key=lambda one: one[0].order)
    around: dict[str, list[str]] = {}
    deep: list[tuple[int, Message]] = []
    for entry, hit in there:
        if entry.position == "depth":
            deep.append((entry.depth, Message(entry.role, hit.text)))
        else:
            around.setdefault(entry.position, []).append(hit.text)
    return Placed(around, deep, frozenset(hit.id for _, hit in there))
