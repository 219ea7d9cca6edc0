"""What was said and what was understood of it, in memory: numbered rows, the words of dead ones gone."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Generic, TypeVar

from moechat.errors import NotFound
from moechat.model import Episode, Exchange, Fact, RefusedItem
from moechat.store.exchange_rows import ExchangeRow, Side
from moechat.store.fact_book import FactBook
from moechat.store.finding_records import NO_NOTE, ExchangeNote, Noted, in_order
from moechat.store.findings import Findings
from moechat.store.formats import text_hash
from moechat.store.protocols import Store

T = TypeVar("T")


class Revision:
    """The generation of one store."""

    number = 0

    def next(self) -> int:
        self.number += 1
        return self.number


@dataclass(frozen=True, slots=True)
class NumberedRow(Generic[T]):
    """``value`` is None in a dead row; ``generation`` is when it was written or died."""

    number: int
    id: str
    t: float
    value: T | None
    generation: int


class NumberedRows(Generic[T]):
    """Rows are numbered from 1. A record that changes becomes a new row."""

    def __init__(self, revision: Revision) -> None:
        self._revision = revision
        self.rows: list[NumberedRow[T]] = []

    def live(self) -> list[tuple[int, T]]:
        return [(row.number, row.value) for row in self.rows if row.value is not None]

    def since(self, generation: int) -> list[NumberedRow[T]]:
        return [row for row in self.rows if row.generation > generation]

    def put(self, id_: str, t: float, value: T) -> None:
        self.drop(id_)
        self.rows.append(NumberedRow(len(self.rows) + 1, id_, t, value, self._revision.next()))

    def drop(self, id_: str) -> None:
        for row in self.rows:
            if row.id == id_ and row.value is not None:
                self.rows[row.number - 1] = replace(row, value=None, generation=self._revision.next())


class MemoryExchanges:
    """What was said: ``unit.Exchanges`` and ``unit.Days`` in one."""

    def __init__(self, owner: Store, revision: Revision) -> None:
        self._store = owner
        self._table: NumberedRows[Exchange] = NumberedRows(revision)

    def write(self, exchange: Exchange) -> bool:
        before = self.by_ids([exchange.id]).get(exchange.id)
        if not before or before.sha != text_hash(exchange) or before.exchange.status != exchange.status:
            self.add([exchange])
        return True

    def add(self, exchanges: Sequence[Exchange]) -> None:
        for exchange in exchanges:
            self._table.put(exchange.id, exchange.at.timestamp(), exchange)

    def remove(self, ids: Sequence[str]) -> None:
        for id_ in ids:
            self._table.drop(id_)

    def get(self, id_: str) -> Exchange:
        if (exchange := self.of([id_]).get(id_)) is None:
            raise NotFound(f"there is no exchange {id_!r}")
        return exchange

    def of(self, ids: Sequence[str]) -> dict[str, Exchange]:
        nodes, filed = self._store.tree.nodes, self.by_ids(ids)
        logged = {id_: nodes[id_] for id_ in ids if id_ in nodes and not nodes[id_].folded}
        by_id = {id_: node.exchange() for id_, node in logged.items()}
        by_id |= {id_: row.exchange for id_, row in filed.items() if id_ not in logged or logged[id_].filed}
        return {id_: by_id[id_] for id_ in ids if id_ in by_id}

    def by_ids(self, ids: Sequence[str]) -> dict[str, ExchangeRow]:
        return {row.exchange.id: row for row in self._all() if row.exchange.id in ids}

    def rows(self, rows: Sequence[int]) -> list[ExchangeRow]:
        by_row = {row.row: row for row in self._all()}
        return [by_row[row] for row in rows if row in by_row]

    def before(self, moment: float, count: int) -> list[ExchangeRow]:
        earlier = [row for row in self._all() if row.exchange.at.timestamp() < moment]
        ordered = sorted(earlier, key=lambda row: (row.exchange.at, len(row.exchange.id), row.exchange.id))
        return ordered[max(0, len(ordered) - count) :]

    def times(self) -> list[tuple[int, float]]:
        times = [(number, exchange.at.timestamp()) for number, exchange in self._table.live()]
        return sorted(times, key=lambda one: (one[1], one[0]))

    def read_by(self, readers: Sequence[str]) -> list[tuple[float, str]]:
        live = {exchange.id: exchange.at.timestamp() for _, exchange in self._table.live()}
        notes = self._store.findings.notes_of(list(live))
        return sorted(((t, id_) for id_, t in live.items() if notes.get(id_, NO_NOTE).by in readers), reverse=True)

    def time_said(self, word: str, before: float, *, last: bool, hidden: Collection[str] = ()) -> float | None:
        seen = [e for _, e in self._table.live() if e.id not in hidden and word.casefold() in e.user.casefold()]
        times = [t for e in seen if (t := e.at.timestamp()) <= before]
        return (max if last else min)(times, default=None)

    def sides(self, after: int = -1) -> Iterator[Side]:
        yield from self.sides_of([row.number for row in self._table.since(after)])

    def sides_of(self, rows: Sequence[int]) -> list[Side]:
        live = [(number, exchange) for number, exchange in self._table.live() if number in rows]
        return [Side(number, e.id, e.at.timestamp(), e.sent, e.heard, e.talk) for number, e in live]

    def changed(self, since: int) -> list[tuple[int, float, bool]]:
        return [(row.number, row.t, row.value is not None) for row in self._table.since(since)]

    def _all(self) -> list[ExchangeRow]:
        live = self._table.live()
        notes = self._store.findings.notes_of([exchange.id for _, exchange in live])
        return [ExchangeRow(number, e, notes.get(e.id, NO_NOTE).tag, "", text_hash(e)) for number, e in live]


class MemoryFindings(Findings):
    """What was understood. The notes of an exchange, with the episodes beside them, have the date of its day as their place.

    Its methods are those that ``Findings`` leaves to a store.
    """

    def __init__(self, owner: Store, revision: Revision) -> None:
        super().__init__(owner)
        self._store = owner
        self._revision = revision
        self._facts: dict[str, Fact] = {}
        self._facts_generation = 0
        self._notes: dict[str, Noted] = {}
        self._table: NumberedRows[Episode] = NumberedRows(revision)
        self._refused: list[RefusedItem] = []

    def fact_book(self) -> FactBook:
        return FactBook(self._facts.values())

    def facts_generation(self) -> int:
        return self._facts_generation

    def notes_of(self, ids: Sequence[str]) -> dict[str, ExchangeNote]:
        return {key: noted.note for key, noted in self._notes.items() if key in ids}

    def by_row(self, rows: Sequence[int]) -> dict[int, Episode]:
        return {number: episode for number, episode in self._table.live() if number in rows}

    def rows_of(self, ids: Sequence[str]) -> dict[str, int]:
        return {episode.id: number for number, episode in self._table.live() if episode.id in ids}

    def rows_citing(self, ids: Sequence[str]) -> list[int]:
        return [number for number, one in self._table.live() if not set(ids).isdisjoint(one.event.sources)]

    def reflections(self) -> list[Episode]:
        return [episode for _, episode in self._table.live() if episode.evidence]

    def births(self) -> list[tuple[str, float, str, bool | None]]:
        return [(one.id, one.since.timestamp(), one.by, one.confirmed) for _, one in self._table.live()]

    def happened(self) -> list[tuple[int, float, float]]:
        spans = [(number, one.event.happened) for number, one in self._table.live() if one.event.happened]
        rows = [(number, start.timestamp(), end.timestamp()) for number, (start, end) in spans]
        return sorted(rows, key=lambda row: (row[1], row[0]))

    def time_happened(self, word: str, before: float, *, hidden: Collection[str] = ()) -> float | None:
        seen = [e for _, e in self._table.live() if e.id not in hidden and set(hidden).isdisjoint(e.event.sources)]
        named = [e for e in seen if word.casefold() in e.event.text.casefold()]
        starts = [e.event.happened[0].timestamp() for e in named if e.event.happened]
        return max((start for start in starts if start <= before), default=None)

    def superseding(self) -> list[Episode]:
        return [episode for _, episode in self._table.live() if episode.supersedes]

    def refused(self) -> list[RefusedItem]:
        return list(self._refused)

    def changed(self, since: int) -> list[tuple[int, str, Episode | None]]:
        return [(row.number, row.id, row.value) for row in self._table.since(since)]

    def _told_at(self, ids: Sequence[str]) -> dict[str, datetime]:
        return {id_: row.exchange.at for id_, row in self._store.exchanges.by_ids(ids).items()}

    def _noted(self, keys: Collection[str], episodes: Collection[str] = ()) -> list[Noted]:
        by_day = sorted(self._notes.values(), key=lambda noted: noted.place)
        return [n for n in by_day if n.key in keys or any(episode.id in episodes for episode in n.episodes)]

    def _write_facts(self, changes: Mapping[str, Fact | None]) -> None:
        after = {id_: fact for id_, fact in (self._facts | dict(changes)).items() if fact}
        if after != self._facts:
            self._facts, self._facts_generation = after, self._revision.next()

    def _write_refused(self, refused: Sequence[RefusedItem]) -> None:
        self._refused = list(refused)

    def _write_notes(self, changes: Iterable[Noted]) -> None:
        self._revision.next()
        changes = list(changes)
        times = self._told_at([noted.key for noted in changes])
        changes = in_order(changes, times, self._store.zone, self._notes)
        self._notes |= {noted.key: noted for noted in changes}
        self._notes = {key: noted for key, noted in self._notes.items() if not noted.is_empty}
        standing = {episode.id for noted in self._notes.values() for episode in noted.episodes}
        live = {episode.id: episode for _, episode in self._table.live()}
        for id_ in live.keys() - standing:
            self._table.drop(id_)
        for episode in [episode for noted in changes for episode in noted.episodes]:
            if live.get(episode.id) != episode:
                self._table.put(episode.id, episode.since.timestamp(), episode)
