"""The facts of an owner in memory, by what is asked for in a turn: in order, by id, by source. One change costs that change."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Collection, Iterable
from datetime import datetime

from moechat.model import Fact


class FactBook:
    """Facts in order of time, then of id. Safe for several threads."""

    def __init__(self, facts: Iterable[Fact] = ()) -> None:
        self._lock = threading.Lock()
        self._order = sorted(facts, key=_place)
        self._by_id = {fact.id: fact for fact in self._order}
        self._citing: dict[str, dict[str, None]] = {}
        for fact in self._order:
            self._cite(fact)

    def all(self) -> list[Fact]:
        with self._lock:
            return list(self._order)

    def of(self, ids: Iterable[str]) -> dict[str, Fact]:
        """By id, of those that are there."""
        with self._lock:
            return {id_: self._by_id[id_] for id_ in ids if id_ in self._by_id}

    def citing(self, exchanges: Iterable[str]) -> list[Fact]:
        """The facts that rest on one of these exchanges, in order."""
        with self._lock:
            ids = {id_ for exchange in exchanges for id_ in self._citing.get(exchange, ())}
        return sorted(self.of(ids).values(), key=_place)

    def change(self, gone: Collection[str], new: Iterable[Fact]) -> None:
        """Take facts out by id; put others in, in place of those with their ids."""
        with self._lock:
            for id_ in gone:
                self._remove(id_)
            for fact in new:
                self._remove(fact.id)
                self._order.insert(bisect_left(self._order, _place(fact), key=_place), fact)
                self._by_id[fact.id] = fact
                self._cite(fact)

    def _cite(self, fact: Fact) -> None:
        for source in fact.draft.sources:
            self._citing.setdefault(source, {})[fact.id] = None

    def _remove(self, id_: str) -> None:
        if (fact := self._by_id.pop(id_, None)) is None:
            return
        del self._order[bisect_left(self._order, _place(fact), key=_place)]
        for source in set(fact.draft.sources):
            del self._citing[source][id_]
            if not self._citing[source]:
                del self._citing[source]


def _place(fact: Fact) -> tuple[datetime, str]:
    return fact.since, fact.id
