"""Where the author's words stand in a prompt, and what became of a world book's entries in a talk.

Entries of a book of another program may name a place: around the persona, around the examples, around what is recalled, or a
number of messages before the end. All others stand in the block of the world, behind the talk.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from moechat.cue import Scene, SoFar
from moechat.lore import LoreRole
from moechat.memory.firing import STICKY
from moechat.model import Exchange, Hit, Lore, Message
from moechat.settings.character import Character
from moechat.store.kinds import Store
from moechat.store.tree import Tree

AROUND = ("before_char", "after_char", "before_examples", "after_examples")
ABOUT = ("user_persona", "persona", "personality", "note", "scenario", "creator_notes")
AGAIN = ("swipe", "regenerate")  # Another reply is either in the program that books name these for.
ROLES = ("assistant", "user", "system")  # In this order at one depth.
MAX_EXCHANGES = 1000  # Exchanges of a talk that are searched for what fired.


def scene(
    store: Store, character: Character, own: str, talk: str, context: Sequence[Exchange], *, greeting: str = "",
    greets: bool = False, goes_on: bool = False,
) -> Scene:  # fmt: skip
    """What the message of an exchange ("": the next one) of a talk is said in. ``context`` are those before it; where they reach
    to the beginning of the talk, and it ``greets``, they begin with ``greeting``."""
    node, exchange = store.tree.nodes.get(own), store.exchanges.of([own]).get(own) if own else None
    again = bool(node and node.variants)
    before = [
        side for one in reversed(context)
        for side in ((character.name, one.heard), (one.speaker or character.user_name, one.sent)) if side[1]
    ]  # fmt: skip
    return Scene(
        before, (exchange and exchange.speaker) or character.user_name, greeting,
        lambda: so_far(store.tree, own, talk, greets=greets), {key: getattr(character, key) for key in ABOUT},
        character.names, {character.folder.name, character.name},
        ("continue",) if goes_on else AGAIN if again else ("normal",),
    )  # fmt: skip


def so_far(tree: Tree, own: str, talk: str, *, greets: bool = False) -> SoFar:
    """What a talk was before an exchange ("": before its next one)."""
    ids = list(tree.ancestors(tree.parents.get(own) if own else tree.leaf(talk)))
    fired_at: dict[str, int] = {}
    for place, id_ in enumerate(ids[:MAX_EXCHANGES]):
        node = tree.nodes.get(id_)
        for row in node.hits if node else ():
            if row.get("why", STICKY) != STICKY:
                fired_at.setdefault(str(row.get("id", "")), 2 * (len(ids) - place) - 1 + greets)
    return SoFar(2 * len(ids) + 1 + greets, fired_at)


def fires(store: Store) -> list[dict[str, str]]:
    """When entries fired in the talks of a memory, and why, the oldest first; as far back as the log keeps it."""
    rows = []
    for id_ in store.tree.numbered():
        node = store.tree.nodes.get(id_)
        for row in node.hits if node else ():
            if "why" in row:
                rows.append(
                    {"time": node.at if node else "", "exchange": id_, "id": str(row["id"]), "why": str(row["why"])}
                )
    return rows


@dataclass(frozen=True)
class Placed:
    """The words of entries that have a place of their own (``around``, by place; ``deep``, by messages before the end;
    ``outlets``, by name), and the ids of those entries."""

    around: Mapping[str, Sequence[str]] = field(default_factory=dict)
    deep: Sequence[tuple[int, Message]] = ()
    outlets: Mapping[str, str] = field(default_factory=dict)
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
        messages: list[Message] = [one for far, one in self.deep if far > max(1, len(history) + 1)]
        for place, message in enumerate(history):
            messages += [*self.at(len(history) - place + 1), message]
        return messages


def placed(hits: Iterable[Hit], entries: Mapping[str, Lore], character: Character | None = None) -> Placed:
    """The hits that fired by their rules and have a place: lower ``order`` comes first, and of equals what fired last. At one
    depth and in one role stands one message, which begins with the note of the ``character``."""
    there = [(entries[hit.id], hit) for hit in hits if hit.id in entries and hit.why and entries[hit.id].position]
    there.reverse()
    around: dict[str, list[str]] = {}
    deep: dict[tuple[int, LoreRole], list[str]] = {}
    outlets: dict[str, list[str]] = {}
    if character and character.note:
        deep[character.note_depth, character.note_role] = [character.note]
    for entry, hit in sorted(there, key=lambda one: one[0].order):
        if entry.position == "depth":
            deep.setdefault((entry.depth, entry.role), []).append(hit.text)
        elif entry.position == "outlet":
            outlets.setdefault(entry.outlet, []).insert(0, hit.text)
        else:
            around.setdefault(entry.position, []).append(hit.text)
    order = sorted(deep, key=lambda one: (-one[0], ROLES.index(one[1])))
    return Placed(
        around, [(depth, Message(role, "\n".join(deep[depth, role]))) for depth, role in order],
        {name: "\n".join(words) for name, words in outlets.items()}, frozenset(hit.id for _, hit in there),
    )  # fmt: skip
