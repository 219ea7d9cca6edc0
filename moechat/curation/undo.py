"""The last changes that were made by hand, and how they are taken back.

Before a change the memories that it touches are noted as they stand; taking it back brings just that about again. What was
forgotten cannot be had back, and is not noted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from moechat.curation import forgetting
from moechat.model import Episode, Fact
from moechat.store.kinds import Store

MOST = 20


@dataclass(frozen=True)
class Before:
    """Findings as they stood, of those with these ``ids``; ``words`` are the user's in an exchange."""

    findings: Sequence[Fact | Episode]
    ids: Sequence[str]
    words: Mapping[str, str]
    pinned: set[str]
    archived: set[str]


class Undo:
    """The last ``MOST`` changes of an owner's memory in this run, newest last."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._changes: deque[Before] = deque(maxlen=MOST)

    def __len__(self) -> int:
        return len(self._changes)

    def note(self, ids: Collection[str]) -> None:
        """A change of these is about to be made."""
        store = self._store
        ids = forgetting.with_replaced(ids, store.findings.links())
        there = store.findings.with_ids(ids)
        exchanges = store.exchanges.of([id_ for id_ in ids if all(one.id != id_ for one in there)])
        self._changes.append(
            Before(
                there,
                [id_ for id_ in ids if id_ not in exchanges],
                {id_: one.user for id_, one in exchanges.items()},
                {id_ for id_ in ids if id_ in store.state.pinned},
                {id_ for id_ in ids if id_ in store.state.archived},
            )
        )

    def clear(self) -> None:
        """Something was forgotten: what is noted may hold words of it."""
        self._changes.clear()

    def take_back(self) -> list[str]:
        """Undo the last change, where there is one. Returns the ids that it touched. Runs as a change of the owner's files."""
        if not self._changes:
            return []
        before, store = self._changes.pop(), self._store
        ids = [*before.ids, *before.words]
        for kind in (Fact, Episode):
            stood = {one.id for one in before.findings if isinstance(one, kind)}
            store.findings.take_out([id_ for id_ in before.ids if id_ not in stood], kind)
        store.findings.put(before.findings)
        for id_, exchange in store.exchanges.of(list(before.words)).items():
            if exchange.user != before.words[id_]:
                store.log.correct(id_, user=before.words[id_])
        state = store.state
        marks = {
            "pin": before.pinned - state.pinned, "unpin": (state.pinned & set(ids)) - before.pinned,
            "archive": before.archived - state.archived,
            "restore": {id_ for id_ in ids if id_ in state.archived} - before.archived,
        }  # fmt: skip
        with store.writing("undo"):
            state.write([{"op": op, "ids": sorted(marked)} for op, marked in marks.items() if marked])
        return ids
