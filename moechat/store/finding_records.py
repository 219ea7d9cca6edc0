"""What findings are made of, and what a store gives for them: reading in every order, and three ways to write."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from typing import NamedTuple, Protocol

from moechat.clock import Clock, local
from moechat.model import Episode, Fact, RefusedItem
from moechat.store.fact_book import FactBook
from moechat.store.standing import superseded
from moechat.store.state import State
from moechat.store.tree import Tree


class ExchangeNote(NamedTuple):
    """What an exchange is about, and who read it ("": nobody)."""

    tag: str = ""
    keywords: tuple[str, ...] = ()
    by: str = ""


NO_NOTE = ExchangeNote()


@dataclass(frozen=True, slots=True)
class Noted:
    """The note of an exchange and the episodes that stand with it. ``key`` is the exchange's id, or that of an event of which
    no exchange tells. ``place`` is where it stands ("": nowhere yet). Without note and episodes it is to be removed."""

    key: str
    note: ExchangeNote = NO_NOTE
    episodes: tuple[Episode, ...] = ()
    place: str = ""

    @property
    def is_empty(self) -> bool:
        return not self.episodes and not any(self.note)


class OwnersLog(Protocol):
    """What findings need of their owner's log."""

    state: State
    tree: Tree
    clock: Clock

    def writing(self, what: str = ...) -> AbstractContextManager[None]: ...

    def requeue(self, ids: Sequence[str]) -> None: ...

    def mark_understood(self, ids: Sequence[str], by: str) -> None: ...


class FindingRecords(ABC):
    """Facts, episodes and notes of one owner, as a store keeps them. Who writes holds the owner's lock.

    It has more than twenty methods because each order in which findings are read is one of its own.
    """

    def __init__(self, owner: OwnersLog) -> None:
        self._owner = owner
        self._superseded: tuple[object, object, frozenset[str]] = (None, None, frozenset())

    # ---- reading

    @abstractmethod
    def fact_book(self) -> FactBook:
        """The facts as they are, to be looked up."""

    def facts(self) -> list[Fact]:
        """All facts, oldest first, then by id."""
        return self.fact_book().all()

    @abstractmethod
    def facts_generation(self) -> int:
        """The generation in which facts last changed."""

    @abstractmethod
    def notes_of(self, ids: Sequence[str]) -> dict[str, ExchangeNote]:
        """By exchange, of those that have a note."""

    @abstractmethod
    def by_row(self, rows: Sequence[int]) -> dict[int, Episode]:
        """Live episodes by row number."""

    @abstractmethod
    def rows_of(self, ids: Sequence[str]) -> dict[str, int]:
        """Episode id → its row, of live ones."""

    @abstractmethod
    def rows_citing(self, ids: Sequence[str]) -> list[int]:
        """Rows of the live episodes that cite one of these exchanges, ascending."""

    @abstractmethod
    def reflections(self) -> list[Episode]:
        """The live episodes that rest on others, in row order."""

    @abstractmethod
    def births(self) -> list[tuple[str, float, str, bool | None]]:
        """(id, epoch seconds, by, confirmed) of every live episode, in row order."""

    @abstractmethod
    def happened(self) -> list[tuple[int, float, float]]:
        """(row, start, end) in epoch seconds of the live episodes whose time is known, by start, then row."""

    @abstractmethod
    def time_happened(self, word: str, before: float, *, hidden: Collection[str] = ()) -> float | None:
        """When the last event happened that a word is part of; epoch seconds."""

    @abstractmethod
    def superseding(self) -> list[Episode]:
        """Live episodes that replace others, in row order."""

    def superseded(self, hidden: Collection[str]) -> frozenset[str]:
        """Ids of the episodes that are replaced by one that may be seen."""
        newer, mask = self.superseding(), frozenset(hidden)
        if self._superseded[0] is not newer or self._superseded[1] is not mask:
            self._superseded = (newer, mask, superseded(newer, mask))
        return self._superseded[2]

    def links_of(self, ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Id → what it replaced, of these facts and episodes."""
        facts, episodes = self.fact_book().of(ids).values(), self.by_ids(ids).values()
        return {fact.id: fact.supersedes for fact in facts} | {one.id: one.supersedes for one in episodes}

    def links(self) -> dict[str, tuple[str, ...]]:
        """Id → what it replaced: of all facts, and of the episodes that replace others or are replaced."""
        newer = self.superseding()
        older = self.by_ids([id_ for episode in newer for id_ in episode.supersedes])
        episodes = {one.id: one.supersedes for one in (*older.values(), *newer)}
        return {fact.id: fact.supersedes for fact in self.facts()} | episodes

    def episodes(self, rows: Sequence[int]) -> list[Episode]:
        """Live episodes by row number, in the order asked for."""
        by_row = self.by_row(rows)
        return [by_row[row] for row in rows if row in by_row]

    def by_ids(self, ids: Sequence[str]) -> dict[str, Episode]:
        """Live episodes by id, in row order."""
        return {episode.id: episode for episode in self.episodes(sorted(self.rows_of(ids).values()))}

    def citing(self, ids: Sequence[str]) -> list[Episode]:
        """Every live episode that cites one of these exchanges, in row order."""
        return self.episodes(self.rows_citing(ids))

    @abstractmethod
    def refused(self) -> list[RefusedItem]:
        """What was not believed of models' answers, oldest first."""

    # ---- for writing

    @abstractmethod
    def _told_at(self, ids: Sequence[str]) -> dict[str, datetime]:
        """When these exchanges were told, of those that are filed."""

    @abstractmethod
    def _noted(self, keys: Collection[str], episodes: Collection[str] = ()) -> list[Noted]:
        """What stands under these keys, and wherever one of these episodes stands."""

    @abstractmethod
    def _write_facts(self, changes: Mapping[str, Fact | None]) -> None:
        """Add or replace facts by id; None removes one that is there. Raises DataError."""

    @abstractmethod
    def _write_refused(self, refused: Sequence[RefusedItem]) -> None:
        """Keep these, and no others."""

    @abstractmethod
    def _write_notes(self, changes: Iterable[Noted]) -> None:
        """Put each in its place; an empty one is removed. Raises DataError once all that can be written is."""


def in_order(
    changes: Iterable[Noted], times: Mapping[str, datetime], zone: tzinfo | None, there: Collection[str]
) -> list[Noted]:
    """By place, what is ``there`` first. What has no place yet stands at the day (of ``zone``) of its exchange, which ``times``
    gives, or of its first episode."""
    placed = []
    for noted in changes:
        at = times.get(noted.key) or (noted.episodes[0].since if noted.episodes else None)
        day = local(at, zone).date().isoformat() if at else ""
        placed.append(replace(noted, place=noted.place or day))
    places = list(dict.fromkeys(noted.place for noted in placed))
    return sorted(placed, key=lambda noted: (places.index(noted.place), noted.key not in there))
