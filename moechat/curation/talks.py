"""The talks of a memory, as faces list them."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from moechat.clock import local
from moechat.store.kinds import Store


@dataclass(frozen=True)
class ImportedBatch:
    """What was imported together, and when (in the owner's zone)."""

    batch: str
    at: datetime


@dataclass(frozen=True)
class TalkSummary:
    """A talk: the first line of it, how many exchanges are on its path, and the time of the last (None: there is none)."""

    name: str
    first: str
    exchanges: int
    last: datetime | None
    imports: Sequence[ImportedBatch]


def talks(store: Store) -> list[TalkSummary]:
    """All talks, by the time of their last exchange. Talks of which all was taken back are left out, except the first."""
    hidden = store.hidden()
    summaries = [_summary(store, name, hidden) for name in list(store.tree.talks)]
    shown = [one for one in summaries if one.exchanges or not one.name]
    return sorted(shown, key=lambda one: (one.last.timestamp() if one.last else -math.inf, one.name))


def _summary(store: Store, name: str, hidden: Collection[str]) -> TalkSummary:
    tree = store.tree
    ids = [id_ for id_ in tree.path(name) if id_ not in hidden]
    ends = list(store.exchanges.of([*ids[-1:], *ids[:1]]).values())
    lines = f"{ends[0].sent}\n{ends[0].char}".split("\n") if ends else []
    taken_out = tree.taken_out()
    batches = [
        ImportedBatch(key, local(datetime.fromisoformat(batch.at), store.zone))
        for key, batch in list(tree.batches.items())
        if batch.talk == name and taken_out.isdisjoint(batch.ids)
    ]
    text = next((line.strip() for line in lines if line.strip()), "")
    return TalkSummary(name, text, len(ids), local(ends[-1].at, store.zone) if ends else None, batches)


def talk_as_json(talk: TalkSummary) -> dict[str, object]:
    """``name`` is "" for the first talk; times are ISO."""
    return {
        "name": talk.name, "first": talk.first, "exchanges": talk.exchanges,
        "last": talk.last.isoformat() if talk.last else None,
        "imports": [{"batch": one.batch, "at": one.at.isoformat()} for one in talk.imports],
    }  # fmt: skip
