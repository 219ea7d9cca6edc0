"""An owner's memory that lives in this process alone, and ends with it: plain lists, read from end to end.

It serves talk that is held off the record, and it is what other stores are compared with: nothing in it is cached or clever.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from datetime import tzinfo

from moechat.clock import Clock
from moechat.containment import Containment
from moechat.errors import DataError, MoeChatError, Withheld
from moechat.model import Exchange, Fact
from moechat.store.cache import Changes
from moechat.store.imports import Imports
from moechat.store.json_lines import Entry, MemoryLines
from moechat.store.log import Log
from moechat.store.log_book import LOCK_TIMEOUT_S
from moechat.store.memory_records import MemoryExchanges, MemoryFindings, Revision
from moechat.store.no_files import BookWithoutFiles
from moechat.store.protocols import Store
from moechat.store.reflections import ReflectionFile
from moechat.store.replies import Part
from moechat.store.search import Kind, Sort
from moechat.store.standing import superseded, visible
from moechat.store.usage import UsageFile

Ends = tuple[float, float]


class MemoryReplies:
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


class MemorySearch:
    """As ``protocols.Search`` says."""

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

    def count(
        self, kinds: Collection[Kind], words: Sequence[str] = (), *, span: Ends | None = None, archived: bool = False
    ) -> int:
        return len(self.listed(kinds, words, span=span, archived=archived))

    def facts(self) -> list[Fact]:
        return visible(self._store.findings.facts(), self._unseen())

    def replaced(self) -> frozenset[str]:
        return superseded(self._store.findings.superseding(), self._unseen())

    def _unseen(self) -> set[str]:
        return {*self._store.tree.hidden(), *self._store.state.missing}

    def _all(self) -> Iterator[tuple[float, Kind, str, str]]:
        """When it was told (epoch seconds), kind, id and text of each thing that may be listed, archived or not."""
        unseen, replaced = self._unseen(), self.replaced()
        for fact in self.facts():
            draft = fact.draft
            yield fact.since.timestamp(), "fact", fact.id, f"{fact.text} {draft.entity} {draft.keyword} {draft.target}"
        for _, _, episode in self._store.changes(0).episodes:
            if episode and episode.id not in replaced and unseen.isdisjoint(episode.event.sources):
                text = " ".join((episode.event.text, *episode.event.keywords))
                yield episode.since.timestamp(), episode.kind, episode.id, text
        for exchange in self._exchanges():
            if exchange.id not in unseen:
                yield exchange.at.timestamp(), "exchange", exchange.id, f"{exchange.sent} {exchange.char}"

    def _exchanges(self) -> list[Exchange]:
        """Those that are filed, and those that stand in the log alone."""
        exchanges, tree = self._store.exchanges, self._store.tree
        filed = {row.exchange.id: row.exchange for row in exchanges.rows([row for row, _ in exchanges.times()])}
        logged = {node.id: node.exchange() for node in [*tree.open(), *tree.unfiled()]}
        return list((filed | logged).values())


class MemoryStore(BookWithoutFiles):
    """The store of one owner without a folder (``protocols.Store``)."""

    vectors = None

    def __init__(self, *, clock: Clock, zone: tzinfo | None = None, most: int = 0) -> None:
        """``most`` bounds how many exchanges it takes; 0: any number."""
        super().__init__(clock, MemoryLines(), MemoryLines())
        self._most = most
        self.contained = Containment()
        self.zone = zone
        self.identity = uuid.uuid4().hex
        self.problems: list[DataError] = []
        self.reflected = ReflectionFile(MemoryLines())
        self._revision = Revision()
        self.exchanges = self.days = MemoryExchanges(self, self._revision)
        self.findings = MemoryFindings(self, self._revision)
        self.replies = MemoryReplies()
        self.search = MemorySearch(self)
        self.usage = UsageFile(MemoryLines(), self.writing)
        self.log = Log(self)
        self.imports = Imports(self)
        self._staged: dict[str, list[Exchange]] = {}
        self._held = 0

    @property
    def generation(self) -> int:
        return self._revision.number

    def changes(self, since: int) -> Changes:
        return Changes(self.generation, self.exchanges.changed(since), self.findings.changed(since))

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

    def record(self, entries: Sequence[Entry]) -> None:
        """Raises MoeChatError where it is full."""
        if 0 < self._most <= len(self.tree.parents) and any(entry["op"] == "exchange" for entry in entries):
            raise MoeChatError(f"this talk is not recorded and holds {self._most} messages at the most: begin another")
        super().record(entries)

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
