"""Which facts and events hold under a mask. Links decide, when they are read: nothing is rewritten when a branch changes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from collections.abc import Set as AbstractSet

from moechat.model import Episode, Fact


def visible(facts: Sequence[Fact], hidden: AbstractSet[str]) -> list[Fact]:
    """Facts that some visible exchange states (or none is named) and that no visible fact supersedes. One that sums others
    up is visible where all are that it rests on; where not, those others are by themselves."""
    seen = [f for f in facts if f.id not in hidden and (hidden.isdisjoint(f.draft.sources) or _borne_out(f, hidden))]
    replaced = {id_ for fact in seen for id_ in fact.supersedes}
    return [fact for fact in seen if fact.id not in replaced]


def _borne_out(fact: Fact, hidden: Collection[str]) -> bool:
    stated = [source not in hidden for source in fact.draft.sources]
    return not stated or (all(stated) if fact.consolidated else any(stated))


def superseded(newer: Iterable[Episode], hidden: Collection[str]) -> frozenset[str]:
    """Ids of the episodes that are replaced by one of ``newer`` that may be seen: not hidden, nor resting on what is."""
    seen = (e for e in newer if e.id not in hidden and not any(source in hidden for source in e.event.sources))
    return frozenset(id_ for episode in seen for id_ in episode.supersedes)
