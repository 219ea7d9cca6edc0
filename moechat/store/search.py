"""The lists that faces show: memories by kind, words and time, a page at a time."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal

from moechat.model import Fact
from moechat.store.exchanges import Exchanges
from moechat.store.finding_records import FindingRecords, superseded, visible
from moechat.store.journal import LogBook

Kind = Literal["fact", "event", "reflection", "exchange"]
KINDS: tuple[Kind, ...] = ("fact", "event", "reflection", "exchange")
Sort = Literal["newest", "oldest"]
Place = tuple[float, Kind, str]
"""When it was told (epoch seconds), kind, id."""


class Search:
    """What may be listed: facts and events that hold, and whatever else does not lie on another branch, was taken back or
    deleted by hand.

    What is archived is listed apart. Exchanges that stand in the log alone are among the others.
    """

    def __init__(self, owner: LogBook, exchanges: Exchanges, findings: FindingRecords) -> None:
        self._owner, self._exchanges, self._findings = owner, exchanges, findings

    def listed(
        self,
        kinds: Collection[Kind],
        words: Sequence[str] = (),
        *,
        span: tuple[float, float] | None = None,
        sort: Sort = "newest",
        limit: int = 0,
        offset: int = 0,
        archived: bool = False,
    ) -> list[str]:
        """The ids of those that have all ``words`` (case-folded) and were told in ``span`` (epoch seconds, both ends in it),
        newest first, ties by kind, then id, both descending; ``oldest`` turns all that around. ``limit`` 0: all.
        """
        places = sorted(self._places(kinds, words, span, archived), reverse=sort == "newest")
        return [id_ for _, _, id_ in places[offset : offset + limit if limit else None]]

    def said(self, words: Sequence[str]) -> list[str]:
        """The ids of the exchanges, on all branches, that have all ``words`` (case-folded), newest first."""
        tree = self._owner.tree
        gone = tree.retracted | tree.taken_out() | self._owner.state.missing.keys()
        return [id_ for _, _, id_ in sorted(self._exchange_places(words, gone), reverse=True)]

    def count(
        self,
        kinds: Collection[Kind],
        words: Sequence[str] = (),
        *,
        archived: bool = False,
    ) -> int:
        """How many ``listed`` would give."""
        return len(self._places(kinds, words, None, archived))

    def facts(self) -> list[Fact]:
        """The facts that hold, archived ones too, oldest first."""
        return visible(self._findings.facts(), self._unseen())

    def replaced(self) -> frozenset[str]:
        """Ids of the episodes that do not hold, because one that may be listed replaced them."""
        return superseded(self._findings.superseding(), self._findings.fact_book().rulings(), self._unseen())

    def _unseen(self) -> frozenset[str]:
        """Exchanges of other branches, taken back, or deleted by hand."""
        return self._owner.tree.hidden() | self._owner.state.missing.keys()

    def _places(
        self, kinds: Collection[Kind], words: Sequence[str], span: tuple[float, float] | None, archived: bool
    ) -> set[Place]:
        places: set[Place] = set()
        if "fact" in kinds:
            for fact in self.facts():
                texts = fact.text, fact.draft.entity, fact.draft.keyword, fact.draft.target
                if _has(" ".join(texts), words):
                    places.add((fact.since.timestamp(), "fact", fact.id))
        places |= self._episodes([kind for kind in ("event", "reflection") if kind in kinds], words)
        if "exchange" in kinds:
            places |= self._exchange_places(words, self._unseen())
        in_archive = self._owner.state.archived
        first, last = span or (float("-inf"), float("inf"))
        return {place for place in places if (place[2] in in_archive) == archived and first <= place[0] <= last}

    def _episodes(self, kinds: Sequence[Kind], words: Sequence[str]) -> set[Place]:
        if not kinds:
            return set()
        hidden, replaced = set(self._findings.rows_citing(list(self._unseen()))), self.replaced()
        places = self._findings.with_words(kinds, words)
        return {(t, kind, id_) for t, kind, id_, row in places if row not in hidden and id_ not in replaced}

    def _exchange_places(self, words: Sequence[str], unseen: Collection[str]) -> set[Place]:
        tree = self._owner.tree
        times = {id_: t for t, id_ in self._exchanges.with_words(words)}
        for node in {node.id: node for node in [*tree.open(), *tree.unfiled()]}.values():
            exchange = node.exchange()
            times.pop(node.id, None)
            if _has(f"{exchange.sent} {exchange.char}", words):
                times[node.id] = exchange.at.timestamp()
        return {(t, "exchange", id_) for id_, t in times.items() if id_ not in unseen}


def _has(text: str, words: Sequence[str]) -> bool:
    folded = text.casefold()
    return all(word in folded for word in words)
