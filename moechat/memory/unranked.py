"""What stands in a prompt whatever the ranking says, each in a block of its own: the mood in which the last talk ended, what only
the two of them have, and her daybook.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
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
from moechat.store.kinds import Store
from moechat.when.span import in_zone

# ---- mood: one line, with its day, for three days. Of a model's understanding the feelings that it names; else what the user's
# messages say by their kind. No word of what it was about

MOOD = "mood"
MOOD_LASTS = timedelta(days=3)
MOOD_LOOKED_AT = 8  # The last exchanges outside the context.
FELT: Mapping[str, Mapping[str, str]] = {
    "zh": {"hurt": "低落", "glad": "开心", "line": "{day}，{who}：{feeling}"},
    "en": {"hurt": "low", "glad": "glad", "line": "{day}, {who}: {feeling}"},
}


def last_mood(
    view: EpisodeView, store: Store, names: tuple[str, str], language: str, now: datetime, in_context: Collection[str]
) -> list[Hit]:
    """A line for each of the two whose feeling is known; ``names`` are the user's and the character's."""
    recent = np.flatnonzero(~view.reflection & (view.since >= (now - MOOD_LASTS).timestamp())).tolist()
    felt = [
        one for one in view.episodes(recent)
        if one.event.emotion and one.confirmed is not False and not set(one.event.sources) <= set(in_context)
    ]  # fmt: skip
    hits = list[Hit]()
    for name, called in zip(names, (("user", "用户"), ("character", "角色")), strict=True):
        own = [one for one in felt if one.event.subject.casefold() in (*called, name.casefold())]
        best = max(own, key=lambda one: one.since, default=None)
        # What the last message outside the context that has a feeling says by its kind.
        spoken: tuple[str, Exchange] | None = None
        for one in reversed(latest(store, MOOD_LOOKED_AT, in_context)) if name == names[0] and not best else ():
            if spoken or one.at < now - MOOD_LASTS:
                break
            kinds = () if one.another(name) else saying(one.user).kinds
            spoken = next(((kind, one) for kind in ("hurt", "glad") if kind in kinds), None)
        if best:
            feeling, at, id_, sources = best.event.emotion, best.since, best.id, best.event.sources
        elif spoken:
            feeling, at, id_, sources = FELT[language][spoken[0]], spoken[1].at, spoken[1].id, (spoken[1].id,)
        else:
            continue
        text = FELT[language]["line"].format(day=in_zone(at, now.tzinfo).date(), who=name, feeling=feeling)
        hits.append(Hit("diary", MOOD, id_, text, 1.0, at, sources))
    return hits


def latest(store: Store, count: int, besides: Collection[str] = ()) -> list[Exchange]:
    """The last ``count`` exchanges of all talks ``besides`` these, the newest at the end."""
    hidden = store.hidden()
    ids = (id_ for id_ in reversed(store.tree.nodes) if id_ not in hidden and id_ not in besides)
    return sorted(store.exchanges.of(list(islice(ids, count))).values(), key=lambda exchange: exchange.at)


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
    chosen = named or ([] if _used_lately(store, talk) else [min(shared, key=lambda one: _used(store, one))])
    return [Hit("core", OURS, one.id, one.text, 1.0, one.at, one.draft.sources) for one in chosen[:MOST_OURS]]


def _used(store: Store, fact: Fact) -> datetime:
    return store.state.recalled(fact.id) or fact.since


def _used_lately(store: Store, talk: str) -> bool:
    """Whether one was in a prompt of the last messages, the one that is answered now aside."""
    answered_now = store.tree.leaf(talk)
    lately = [node for node in islice(reversed(store.tree.nodes.values()), APART) if node.id != answered_now]
    return any(hit.get("recipe") == OURS for node in lately for hit in node.hits)


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
        written = [one for one in written if any(span.start <= one.since < span.end for span in cue.spans)][
            -MOST_PAGES:
        ]
    line = "{day:%Y-%m-%d}: {text}"
    return [
        Hit("core", DAYBOOK, one.id, line.format(day=local(one.since, store.zone), text=one.text), 1.0, one.at, one.draft.sources)
        for one in written[-1 if not cue.spans else 0 :]
    ]  # fmt: skip
