"""The slow oracle of the stores: one owner's memory in plain lists, read from end to end; nothing in it is cached or clever.

It answers every query of rows, and whatever else a caller can see, in its own way: the walks hold the stores against it.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from typing import Generic, TypeVar

from moechat.clock import Clock, local
from moechat.errors import DataError, MoeChatError, NotFound, Withheld
from moechat.model import Episode, Exchange, Fact
from moechat.store.entries import Entry
from moechat.store.exchanges import ExchangeRow, Side
from moechat.store.finding_records import NO_NOTE, ExchangeNote, FactBook, Noted, superseded, visible
from moechat.store.findings import Findings
from moechat.store.formats import text_hash
from moechat.store.imports import Imports
from moechat.store.journal import LOCK_TIMEOUT_S
from moechat.store.json_lines import Part, Place
from moechat.store.kinds import Store
from moechat.store.log import Log
from moechat.store.protocols import Unit
from moechat.store.search import Kind, Sort

T = TypeVar("T")
Ends = tuple[float, float]


class ListLines:
    """Entries of this process alone, in ``entries``; whoever opens these later reads them all."""

    def __init__(self, entries: list[Entry]) -> None:
        self._entries = entries
        self._read = 0

    @property
    def problems(self) -> list[DataError]:
        return []

    def unread(self) -> tuple[bool, list[Entry]]:
        new, self._read = self._entries[self._read :], len(self._entries)
        return False, new

    def is_replaced(self) -> bool:
        return False

    def append(self, entries: Sequence[Entry]) -> None:
        self._entries += entries
        self._read = len(self._entries)

    def rewrite(self, entries: Iterable[Entry]) -> None:
        self._entries[:] = entries
        self._read = len(self._entries)

    def drop(self) -> None:
        self.rewrite(())

    @property
    def place(self) -> Place:
        return Place(0, len(self._entries))

    def prepare(self, entries: Iterable[Entry], place: Place, *, keep_damaged: bool = False) -> tuple[list[Entry], int]:
        return list(entries), place.offset

    def commit(self, rewriting: tuple[list[Entry], int]) -> list[Entry]:
        entries, read = rewriting
        added = self._entries[read:]
        self.rewrite([*entries, *added])
        return added


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


class ListExchanges:
    """What was said: exchanges and days in one."""

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

    def filed(self) -> list[ExchangeRow]:
        return self.rows([row for row, _ in self.times()])

    def sides(self) -> Iterator[Side]:
        yield from self.sides_of([row.number for row in self._table.rows])

    def sides_of(self, rows: Sequence[int]) -> list[Side]:
        live = [(number, exchange) for number, exchange in self._table.live() if number in rows]
        return [Side(number, e.id, e.at.timestamp(), e.sent, e.heard, e.talk) for number, e in live]

    def changed(self, since: int) -> list[tuple[int, float, bool]]:
        return [(row.number, row.t, row.value is not None) for row in self._table.since(since)]

    def _all(self) -> list[ExchangeRow]:
        live = self._table.live()
        notes = self._store.findings.notes_of([exchange.id for _, exchange in live])
        return [ExchangeRow(number, e, notes.get(e.id, NO_NOTE).tag, "", text_hash(e)) for number, e in live]


class ListFindings(Findings):
    """What was understood. The notes of an exchange, with the episodes beside them, have the date of its day as their place.

    Its methods are those that ``Findings`` leaves to a store.
    """

    def __init__(self, owner: Store, revision: Revision) -> None:
        super().__init__(owner, None)  # type: ignore[arg-type] - whatever reads rows is written anew here
        self._store = owner
        self._revision = revision
        self._facts: dict[str, Fact] = {}
        self._notes: dict[str, Noted] = {}
        self._table: NumberedRows[Episode] = NumberedRows(revision)

    def fact_book(self) -> FactBook:
        return FactBook(self._facts.values())

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

    def time_happened(self, word: str, before: float, *, hidden: Collection[str] = ()) -> float | None:
        seen = [e for _, e in self._table.live() if e.id not in hidden and set(hidden).isdisjoint(e.event.sources)]
        named = [e for e in seen if word.casefold() in e.event.text.casefold()]
        starts = [e.event.happened[0].timestamp() for e in named if e.event.happened]
        return max((start for start in starts if start <= before), default=None)

    def superseding(self) -> list[Episode]:
        return [episode for _, episode in self._table.live() if episode.supersedes]

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
            self._facts = after
            self._revision.next()

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


class ListReplies:
    """One part for each reply that streams. Whoever released it before it ended has died. All that writes raises Withheld where
    what the reply rests on was forgotten."""

    def __init__(self) -> None:
        self._alive: set[str] = set()
        self._parts: dict[str, Part] = {}

    def start(self, id_: str) -> None:
        """Raises MoeChatError where somebody is answering this exchange."""
        if id_ in self._alive:
            raise MoeChatError("another process is answering this message right now")
        self._alive.add(id_)

    def rest(self, id_: str, ids: Collection[str], key: str = "") -> None:
        self._parts[id_] = Part(id_, frozenset(ids), "", None, withheld=False, key=key)

    def write(self, id_: str, piece: str, *, instead: bool = False) -> None:
        self.require(id_)
        self._parts[id_] = replace(self._parts[id_], text=piece if instead else self._parts[id_].text + piece)

    def require(self, id_: str) -> None:
        if id_ in self._parts and self._parts[id_].withheld:
            raise Withheld

    def end(self, id_: str, entry: Entry) -> None:
        if id_ not in self._parts:
            self.rest(id_, ())
        self.require(id_)
        self._parts[id_] = replace(self._parts[id_], entry=entry)

    def release(self, id_: str, *, keep: bool = False) -> None:
        self._alive.discard(id_)
        if not keep:
            self.drop(id_)

    def release_all(self) -> None:
        self._alive.clear()

    def is_alive(self, id_: str) -> bool:
        return id_ in self._alive

    def alive(self) -> set[str]:
        return set(self._alive)

    def ended(self) -> list[Part]:
        parts = (self._parts[id_] for id_ in sorted(self._parts))
        return [part for part in parts if part.entry or part.id not in self._alive]

    def withhold(self, lost: frozenset[str]) -> None:
        for part in self._parts.values():
            if part.id in lost or not lost.isdisjoint(part.ids):
                self._parts[part.id] = Part(part.id, frozenset(), "", None, withheld=True, key=part.key)

    def drop(self, id_: str) -> None:
        self._parts.pop(id_, None)


class ListSearch:
    """As ``search.Search`` says."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def listed(
        self,
        kinds: Collection[Kind],
        words: Sequence[str] = (),
        *,
        span: Ends | None = None,
        sort: Sort = "newest",
        limit: int = 0,
        offset: int = 0,
        archived: bool = False,
    ) -> list[str]:
        first, last = span or (float("-inf"), float("inf"))
        places = sorted(
            (t, kind, id_)
            for t, kind, id_, text in self._all()
            if kind in kinds and first <= t <= last and (id_ in self._store.state.archived) == archived
            and all(word in text.casefold() for word in words)
        )  # fmt: skip
        ids = [id_ for _, _, id_ in (places if sort == "oldest" else reversed(places))]
        return ids[offset:][: limit or None]

    def count(self, kinds: Collection[Kind], words: Sequence[str] = (), *, archived: bool = False) -> int:
        return len(self.listed(kinds, words, archived=archived))

    def facts(self) -> list[Fact]:
        return visible(self._store.findings.facts(), self._unseen())

    def replaced(self) -> frozenset[str]:
        findings = self._store.findings
        rulings = [fact for fact in findings.facts() if fact.draft.kind == "ruling"]
        return superseded(findings.superseding(), rulings, self._unseen())

    def _unseen(self) -> set[str]:
        return {*self._store.tree.hidden(), *self._store.state.missing}

    def _all(self) -> Iterator[tuple[float, Kind, str, str]]:
        """When it was told (epoch seconds), kind, id and text of each thing that may be listed, archived or not."""
        unseen, replaced = self._unseen(), self.replaced()
        for fact in self.facts():
            draft = fact.draft
            yield fact.since.timestamp(), "fact", fact.id, f"{fact.text} {draft.entity} {draft.keyword} {draft.target}"
        for _, _, episode in self._store.findings.changed(0):
            if episode and episode.id not in replaced and unseen.isdisjoint(episode.event.sources):
                text = " ".join((episode.event.text, *episode.event.keywords))
                yield episode.since.timestamp(), episode.kind, episode.id, text
        for exchange in self._exchanges():
            if exchange.id not in unseen:
                yield exchange.at.timestamp(), "exchange", exchange.id, f"{exchange.sent} {exchange.char}"

    def _exchanges(self) -> list[Exchange]:
        """Those that are filed, and those that stand in the log alone."""
        exchanges, tree = self._store.exchanges, self._store.tree
        filed = {row.exchange.id: row.exchange for row in exchanges.filed()}
        logged = {node.id: node.exchange() for node in [*tree.open(), *tree.unfiled()]}
        return list((filed | logged).values())


class ListStore(Unit):
    """The store of one owner without a folder (``kinds.Store``)."""

    folder = index_folder = vectors = None

    def __init__(self, *, clock: Clock, zone: tzinfo | None = None) -> None:
        self._kept: dict[str, list[Entry]] = {}
        super().__init__("", clock=clock, zone=zone)
        self._identity = uuid.uuid4().hex
        self.problems: list[DataError] = []
        self._revision = Revision()
        self.exchanges = self.days = ListExchanges(self, self._revision)
        self.findings = ListFindings(self, self._revision)
        self.replies = ListReplies()
        self.search = ListSearch(self)
        self.log = Log(self)
        self.imports = Imports(self)
        self._staged: dict[str, list[Exchange]] = {}
        self._held = 0

    def lines(self, name: str) -> ListLines:
        return ListLines(self._kept.setdefault(name, []))

    @property
    def moment(self) -> tuple[str, int]:
        return self._identity, self._revision.number

    def follow(self, *, all_files: bool = False) -> None:
        """Nobody else changes anything."""

    @contextlib.contextmanager
    def writing(self, what: str = "", *, patience_s: float = LOCK_TIMEOUT_S) -> Iterator[None]:
        """Only threads of this process wait for each other, and as long as it takes."""
        with self._threads:
            self._held += 1
            try:
                if self._held == 1:
                    self.log.fold()
                yield
            finally:
                self._held -= 1

    def close(self) -> None:
        self.replies.release_all()

    def stage(self, batch: str, exchanges: Sequence[Exchange]) -> None:
        self._staged[batch] = list(exchanges)

    def staged(self, batch: str) -> list[Exchange]:
        return self._staged.get(batch, [])

    def unstage(self, batch: str) -> None:
        self._staged.pop(batch, None)

    def verify(self) -> tuple[int, list[str]]:
        """(how many exchanges there are, nothing: there is nothing else that could differ)."""
        return len(self.exchanges.times()), []

    def resume(self) -> None:
        """Nothing is cut short here but replies that nobody writes any more."""
        with self.writing("resume"):
            self.log.drop_retracted()
