"""In what mood the last talk ended, hers and the user's: one line of the prompt's tail, with its day, for three days. Of a
model's understanding the feelings that it names; else what the user's messages say by their kind. No word of what it was about.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from itertools import islice

import numpy as np

from moechat.memory.episodes import EpisodeView
from moechat.model import Exchange, Hit
from moechat.reading.saying import saying
from moechat.store.kinds import Store
from moechat.when.span import in_zone

RECIPE = "mood"
LASTS = timedelta(days=3)
LOOKED_AT = 8  # The last exchanges outside the context.
FELT: Mapping[str, Mapping[str, str]] = {
    "zh": {"hurt": "低落", "glad": "开心", "line": "{day}，{who}：{feeling}"},
    "en": {"hurt": "low", "glad": "glad", "line": "{day}, {who}: {feeling}"},
}


def last(
    view: EpisodeView, store: Store, names: tuple[str, str], language: str, now: datetime, in_context: Collection[str]
) -> list[Hit]:
    """A line for each of the two whose feeling is known; ``names`` are the user's and the character's."""
    recent = np.flatnonzero(~view.reflection & (view.since >= (now - LASTS).timestamp())).tolist()
    felt = [
        one for one in view.episodes(recent)
        if one.event.emotion and one.confirmed is not False and not set(one.event.sources) <= set(in_context)
    ]  # fmt: skip
    hits = list[Hit]()
    for name, called in zip(names, (("user", "用户"), ("character", "角色")), strict=True):
        own = [one for one in felt if one.event.subject.casefold() in (*called, name.casefold())]
        best = max(own, key=lambda one: one.since, default=None)
        spoken: tuple[str, Exchange] | None = (
            None  # What the last message outside the context that has a feeling says by its kind.
        )
        for one in reversed(latest(store, LOOKED_AT, in_context)) if name == names[0] and not best else ():
            if spoken or one.at < now - LASTS:
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
        hits.append(Hit("diary", RECIPE, id_, text, 1.0, at, sources))
    return hits


def latest(store: Store, count: int, besides: Collection[str] = ()) -> list[Exchange]:
    """The last ``count`` exchanges of all talks ``besides`` these, the newest at the end."""
    hidden = store.hidden()
    ids = (id_ for id_ in reversed(store.tree.nodes) if id_ not in hidden and id_ not in besides)
    return sorted(store.exchanges.of(list(islice(ids, count))).values(), key=lambda exchange: exchange.at)
