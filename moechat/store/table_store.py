"""One owner's memory in tables alone: in PostgreSQL, or in the memory of this process."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import tzinfo
from typing import Unpack

from moechat.clock import local
from moechat.errors import DataError, Locked, MoeChatError
from moechat.model import Episode, Exchange, Fact
from moechat.store.database import SqliteSession, StoreSession
from moechat.store.entries import Entry
from moechat.store.exchanges import SIDES, TIMES, TableDays
from moechat.store.finding_records import BY_ID, CITING, FACTS, LIVE, NOTES, SUPERSEDING, ExchangeNote, Noted
from moechat.store.findings import Findings
from moechat.store.formats import (
    EPISODE,
    exchange_data,
    exchange_from_json,
    json_text,
)
from moechat.store.imports import Imports
from moechat.store.journal import LOCK_TIMEOUT_S, LogBook, Opening
from moechat.store.log import Log
from moechat.store.protocols import Unit, Vectors
from moechat.store.search import Search
from moechat.store.table_lines import TableLines, TableReplies

FORESEEN = 4  # Of more exchanges that are filed at once not all are read soon.
IMPORT = "import "  # The journal of a staged import begins so.
NOTED = f"""SELECT id, tag, keywords, by, place, episodes FROM notes
    WHERE owner_id = %(owner)s AND (id = ANY(%(keys)s) OR id IN (SELECT note {LIVE} AND id = ANY(%(episodes)s)))
    ORDER BY place COLLATE "C", nr"""
DROP_NOTES = "DELETE FROM notes WHERE owner_id = %(owner)s AND id = ANY(%(ids)s)"
MOVE_EPISODE = (
    "UPDATE episodes SET note = %(note)s WHERE owner_id = %(owner)s AND id = %(id)s AND alive AND note <> %(note)s"
)


class TableFindings(Findings):
    """What was understood. The notes of an exchange, with the episodes beside them, have the date of its day as their place."""

    def __init__(self, owner: LogBook, session: StoreSession, zone: tzinfo | None) -> None:
        super().__init__(owner, session)
        self._zone = zone

    def foresee(self, exchange: str) -> None:
        """It will be read."""
        self._session.foresee(NOTES, {"ids": [exchange]})
        self._session.foresee(CITING, {"ids": [exchange]})
        self._session.foresee(NOTED, {"keys": [exchange], "episodes": []})

    def _write_facts(self, changes: Mapping[str, Fact | None]) -> None:
        before = self.fact_book().of(changes)
        gone = [id_ for id_, fact in changes.items() if fact is None and id_ in before]
        new = [fact for id_, fact in changes.items() if fact is not None and before.get(id_) != fact]
        if gone or new:
            self._change_facts(gone, new)

    def _noted(self, keys: Collection[str], episodes: Collection[str] = ()) -> list[Noted]:
        rows = self._session.all(NOTED, {"keys": list(keys), "episodes": list(episodes)})
        held = self._live([id_ for *_, ids in rows for id_ in json.loads(ids)])
        return [
            Noted(
                key, ExchangeNote(tag, tuple(json.loads(words)), by), tuple(held[id_][1] for id_ in json.loads(ids)), place
            )
            for key, tag, words, by, place, ids in rows
        ]  # fmt: skip

    def _live(self, ids: Sequence[str]) -> dict[str, tuple[int, Episode]]:
        rows = self._session.all(BY_ID, {"ids": list(ids)}) if ids else []
        return {id_: (row, EPISODE.of_json(id_, data)) for row, id_, data in rows}

    def _write_notes(self, changes: Iterable[Noted]) -> None:
        changes = list(changes)
        before = {noted.key: noted for noted in self._noted([noted.key for noted in changes])}
        changes = self._in_order(changes, before)
        if empty := [noted.key for noted in changes if noted.is_empty]:
            self._session.do(DROP_NOTES, {"ids": empty})
        pulse, notes = self._session.pulse, []
        pulse.note_rows += bool(empty)  # Others see by it that something changed.
        for noted in changes:
            if not noted.is_empty:
                pulse.note_rows += 1
                tag, keywords, by = noted.note
                notes.append({
                    "id": noted.key, "nr": pulse.note_rows, "place": noted.place, "tag": tag, "by": by,
                    "keywords": json_text(keywords), "episodes": json_text([episode.id for episode in noted.episodes]),
                })  # fmt: skip
        self._session.put("notes", notes, ("id",), ("nr",))
        if len(notes) <= FORESEEN:
            self._session.foresee(NOTES, {"ids": [noted.key for noted in changes]})
        self._write_episodes(before.values(), changes)

    def _in_order(self, changes: Sequence[Noted], there: Collection[str]) -> list[Noted]:
        """By place, what is ``there`` first. What has no place yet stands at the day of its exchange, or of its first episode."""
        times = self._told_at([noted.key for noted in changes if not noted.place])
        placed = []
        for noted in changes:
            at = times.get(noted.key) or (noted.episodes[0].since if noted.episodes else None)
            day = local(at, self._zone).date().isoformat() if at else ""
            placed.append(replace(noted, place=noted.place or day))
        places = list(dict.fromkeys(noted.place for noted in placed))
        return sorted(placed, key=lambda noted: (places.index(noted.place), noted.key not in there))

    def _write_episodes(self, before: Iterable[Noted], after: Sequence[Noted]) -> None:
        """The rows of episodes follow their notes. One that moved to other notes keeps its row."""
        homes = {episode.id: noted.key for noted in after for episode in noted.episodes}
        left = {episode.id for noted in before for episode in noted.episodes} - homes.keys()
        live = self._live([*homes, *left])
        new = [(noted.key, e) for noted in after for e in noted.episodes if e.id not in live or live[e.id][1] != e]
        replaced = {episode.id for _, episode in new}
        self._change_episodes([one for id_, one in live.items() if id_ in replaced | left], new)
        moved = [{"id": id_, "note": key} for id_, key in homes.items() if id_ in live and id_ not in replaced]
        self._session.many(MOVE_EPISODE, moved)


class TableStore(Unit):
    """The store of one owner over tables. Whatever a verb writes is one transaction. Dead rows keep no words."""

    folder = index_folder = None
    vectors: Vectors | None = None
    exchanges: TableDays
    findings: TableFindings
    days: TableDays
    replies: TableReplies
    _journals: Sequence[TableLines]

    def __init__(self, session: StoreSession, **opening: Unpack[Opening]) -> None:
        self._session = session
        super().__init__(session.home, **opening)
        self.problems: list[DataError] = []
        self._held, self._epoch = 0, session.epoch
        self.exchanges = self.days = TableDays(self, session)
        self.findings = TableFindings(self, session, self.zone)
        self.replies = TableReplies(session)
        self.search = Search(self, self.exchanges, self.findings)
        self.log = Log(self)
        self.imports = Imports(self)
        for statement in (session.packing(TIMES), FACTS, SUPERSEDING):
            session.foresee(statement, {})
        self.follow()

    def lines(self, name: str) -> TableLines:
        return TableLines(self._session, name)

    def close(self) -> None:
        self.replies.release_all()

    # ---- following

    def follow(self, *, all_files: bool = False) -> None:
        with self._threads:
            self._session.look()
            self._session.gather([question for journal in self._journals for question in journal.behind()])
            self.follow_log()

    # ---- writing

    @contextlib.contextmanager
    def writing(self, what: str = "", *, patience_s: float = LOCK_TIMEOUT_S) -> Iterator[None]:
        """The owner's row, in a transaction. Where the database fails, nothing of it happened, and all is read anew.

        Raises Locked where another worker holds the row for longer than ``patience_s``, DiskError where the database is away.
        """
        if not self._threads.acquire(timeout=patience_s):
            raise Locked(self._session.place, "this program itself is busy with it; try again")
        try:
            if self._held:
                yield
                return
            with self._session.writing(patience_s):
                self._held = 1
                try:
                    self.follow_log()
                    self.log.fold()
                    yield
                finally:
                    self._held = 0
        finally:
            try:
                if not self._held and self._session.epoch != self._epoch:
                    self._epoch = self._session.epoch
                    self.replies.lose()
                    for journal in self._journals:
                        journal.forget()
            finally:
                self._threads.release()

    def record(self, entries: Sequence[Entry]) -> None:
        super().record(entries)
        for id_ in [entry["id"] for entry in entries if entry["op"] == "filed"][:FORESEEN]:
            self.foresee(id_)
            self._session.foresee(SIDES, {"rows": [self._session.pulse.exchange_rows]})

    def foresee(self, id_: str) -> None:
        self.exchanges.foresee(id_)
        self.findings.foresee(id_)

    # ---- imports

    def stage(self, batch: str, exchanges: Sequence[Exchange]) -> None:
        with self.writing("stage"):
            self.lines(IMPORT + batch).rewrite(map(exchange_data, exchanges))

    def staged(self, batch: str) -> list[Exchange]:
        self.follow()
        _, entries = self.lines(IMPORT + batch).unread()
        if not entries:
            raise DataError(self._session.place, f"the import {batch} is gone: take it back, then import again")
        return [exchange_from_json(entry) for entry in entries]

    def unstage(self, batch: str) -> None:
        with self.writing("unstage"):
            self.lines(IMPORT + batch).drop()

    # ---- at a start

    def upgrade(self) -> None:
        """Whatever it holds has the form of this program."""

    def verify(self) -> tuple[int, list[str]]:
        """(how many exchanges are filed, every difference between them and the log, in words)."""
        self.follow()
        hashes = self.exchanges.hashes()
        problems = []
        for id_ in list(self.tree.parents):
            filed = self.tree.filed_hash(id_)
            if filed and id_ not in self.tree.retracted | self.tree.taken_out():
                if id_ not in hashes:
                    problems.append(f"exchange {id_} was filed and is not there")
                elif hashes[id_] != filed:
                    problems.append(f"exchange {id_} has other words than the log says were filed")
        return len(hashes), problems

    def repair(self) -> list[str]:
        """There are no files."""
        return []

    def resume(self) -> None:
        with self.writing("resume"):
            self.log.drop_outdated()
            waiting = {IMPORT + name for name, batch in self.tree.batches.items() if not batch.done}
            for journal in [name for name in self._session.pulse.heads if name.startswith(IMPORT)]:
                if journal not in waiting:
                    self.lines(journal).drop()


class MemoryStore(TableStore):
    """A memory of this process alone, which ends with it and writes nothing to a disk: it serves talk off the record."""

    def __init__(self, *, max_exchanges: int = 0, **opening: Unpack[Opening]) -> None:
        """It takes ``max_exchanges``; 0: any number."""
        super().__init__(SqliteSession(None), **opening)
        self._max_exchanges = max_exchanges

    def bury(self, exchanges: Iterable[Exchange], ids: Collection[str]) -> None:
        """Nothing of it comes back."""

    def written_anew(self, ids: Iterable[str]) -> None:
        """As above."""

    def record(self, entries: Sequence[Entry]) -> None:
        """Raises MoeChatError where it is full."""
        most = self._max_exchanges
        if 0 < most <= len(self.tree.parents) and any(entry["op"] == "exchange" for entry in entries):
            raise MoeChatError(f"this talk is not recorded and holds {most} messages at the most: begin another")
        super().record(entries)
