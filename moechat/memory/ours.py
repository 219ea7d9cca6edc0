"""What only the two of them have: nicknames, shared jokes, rituals, words. It comes by itself at most once in ``APART`` messages,
at once where a message names it, and never in pain.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import islice

from moechat.language import words
from moechat.memory.core import CoreMemory
from moechat.model import Fact, Hit
from moechat.store.kinds import Store

RECIPE = "ours"
MOST, MOST_KEPT, APART = 2, 200, 8


def all_of(core: CoreMemory) -> list[Fact]:
    """What the two share, the newest first."""
    (facts,) = core.of_classes([RECIPE], MOST_KEPT)
    return [fact for fact in facts if fact.confirmed is not False and fact.draft.polarity > 0 and not fact.draft.until]


def for_message(shared: Sequence[Fact], store: Store, text: str, talk: str) -> list[Hit]:
    """Those of what the two share that a message names; else the one that was longest not used, if none was lately."""
    if not shared:
        return []
    folded, content = words.fold(text), set(words.keywords(text, 20))
    named = [
        fact for fact in shared
        if words.fold(fact.draft.target) in folded or not content.isdisjoint(words.keywords(fact.text, 12))
    ]  # fmt: skip
    chosen = named or ([] if _used_lately(store, talk) else [min(shared, key=lambda one: _used(store, one))])
    return [Hit("core", RECIPE, one.id, one.text, 1.0, one.at, one.draft.sources) for one in chosen[:MOST]]


def _used(store: Store, fact: Fact) -> datetime:
    return store.state.recalled(fact.id) or fact.since


def _used_lately(store: Store, talk: str) -> bool:
    """Whether one was in a prompt of the last messages, the one that is answered now aside."""
    answered_now = store.tree.leaf(talk)
    lately = [node for node in islice(reversed(store.tree.nodes.values()), APART) if node.id != answered_now]
    return any(hit.get("recipe") == RECIPE for node in lately if node.variant for hit in node.variant.hits)
