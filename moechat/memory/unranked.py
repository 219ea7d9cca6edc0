"""What stands in a prompt whatever the ranking says, each in a block of its own: the mood in which the last talk ended, what only
the two of them have, and her daybook.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Final

import numpy as np

from moechat.clock import local
from moechat.cue import Cue
from moechat.language import words
from moechat.memory.core import CoreMemory
from moechat.memory.episodes import EpisodeView
from moechat.model import Exchange, Fact, Hit
from moechat.reading.examples import HER_DAY, asked
from moechat.reading.saying import saying
from moechat.sentences import sentence
from moechat.store.entries import Node
from moechat.store.kinds import Store
from moechat.when.span import in_zone


def latest(store: Store, count: int, besides: Collection[str] = ()) -> list[Exchange]:
    """The last ``count`` exchanges of all talks ``besides`` these, the newest at the end."""
    hidden = store.hidden()
    ids = (id_ for id_ in reversed(store.tree.nodes) if id_ not in hidden and id_ not in besides)
    return sorted(store.exchanges.of(list(islice(ids, count))).values(), key=lambda exchange: exchange.at)


def shown_lately(
    store: Store, recipe: str, talk: str, *, most: int | None = None, since: datetime | None = None
) -> Iterator[tuple[Node, str]]:
    """What a recipe brought into the prompts of the last ``most`` messages, or ``since`` a moment: the message, but for that
    which is answered now, and the id of the memory; the newest first."""
    answered_now = store.tree.leaf(talk)
    for node in islice(reversed(store.tree.nodes.values()), most):
        if since and (not node.at or datetime.fromisoformat(node.at) < since):
            return
        for hit in node.hits if node.id != answered_now else ():
            if hit.get("recipe") == recipe:
                yield node, str(hit["id"])


# ---- mood: one line, with its day, for three days. Of a model's understanding the feelings that it names; else what the user's
# messages say by their kind. No word of what it was about

MOOD = "mood"
MOOD_LASTS = timedelta(days=3)
MOOD_LOOKED_AT = 8  # The last exchanges outside the context.


def last_mood(
    view: EpisodeView, store: Store, names: tuple[str, str], language: str, now: datetime, in_context: Collection[str]
) -> list[Hit]:
    """A line for each of the two whose feeling is known; ``names`` are the user's and the character's."""
    since, hits = now - MOOD_LASTS, list[Hit]()
    recent = np.flatnonzero(~view.reflection & (view.since >= since.timestamp())).tolist()
    felt = [
        (one.event.emotion, one.since, one.id, one.event.sources, one.event.subject.casefold())
        for one in view.episodes(recent)
        if one.event.emotion and one.confirmed is not False and not set(one.event.sources) <= set(in_context)
    ]
    for name, called in zip(names, (("user", "用户"), ("character", "角色")), strict=True):
        own = [of[:4] for of in felt if of[4] in (*called, name.casefold())]
        # What the last message outside the context that has a feeling says by its kind.
        for one in reversed(latest(store, MOOD_LOOKED_AT, in_context)) if name == names[0] and not own else ():
            kinds = () if one.at < since or one.another(name) else saying(one.user).kinds
            said_so = (sentence("mood", kind, language) for kind in ("hurt", "glad") if kind in kinds)
            own += [(feeling, one.at, one.id, (one.id,)) for feeling in islice(said_so, not own)]
        if own:
            feeling, at, id_, sources = max(own, key=lambda of: of[1])
            line = sentence("mood", "line", language, day=in_zone(at, now.tzinfo).date(), who=name, feeling=feeling)
            hits.append(Hit("diary", MOOD, id_, line, 1.0, at, sources))
    return hits


# ---- what only the two of them have: nicknames, shared jokes, rituals, words. It comes by itself at most once in ``APART``
# messages, at once where a message names it, and never in pain

OURS = "ours"
MOST_OURS, MOST_KEPT, APART = 2, 200, 8


def ours(core: CoreMemory) -> list[Fact]:
    """What the two share, the newest first."""
    facts = core.view().newest(OURS, MOST_KEPT)
    return [fact for fact in facts if fact.confirmed is not False and fact.draft.polarity > 0 and not fact.draft.until]


def ours_for(shared: Sequence[Fact], store: Store, text: str, talk: str) -> list[Hit]:
    """Those of what the two share that a message names; else the one that was longest not used, if none was lately."""
    if not shared:
        return []
    folded, content = words.fold(text), set(words.keywords(text, 20))
    named = [
        fact for fact in shared
        if words.fold(fact.draft.target) in folded or not content.isdisjoint(words.keywords(fact.text, 12))
    ]  # fmt: skip
    if not named and not any(shown_lately(store, OURS, talk, most=APART)):
        named = [min(shared, key=lambda one: store.state.recalled(one.id) or one.since)]
    return [Hit("core", OURS, one.id, one.text, 1.0, one.at, one.draft.sources) for one in named[:MOST_OURS]]


# ---- her daybook: what she wrote of each day. It is a record that nothing is made from, and it comes up only where her day is
# asked after, by how near that is to the examples in ``reading/asked``

DAYBOOK: Final = "daybook"
MOST_PAGES = 2


def pages(store: Store) -> list[Fact]:
    """Those whose every source may be seen, the oldest first."""
    hidden = store.hidden()
    return [
        fact for fact in store.findings.facts()
        if fact.draft.kind == DAYBOOK and hidden.isdisjoint((fact.id, *fact.draft.sources))
    ]  # fmt: skip


def daybook_for(store: Store, cue: Cue) -> list[Hit]:
    """The pages of the days that a message names and asks her after, the newest ones; the last page where it names no day."""
    if HER_DAY not in asked(cue.text):
        return []
    written = pages(store)
    if cue.spans:
        written = [one for one in written if any(span.start <= one.since < span.end for span in cue.spans)]
    chosen = ((one, f"{local(one.since, store.zone):%Y-%m-%d}") for one in written[-MOST_PAGES if cue.spans else -1 :])
    return [Hit("core", DAYBOOK, one.id, f"{day}: {one.text}", 1.0, one.at, one.draft.sources) for one, day in chosen]
