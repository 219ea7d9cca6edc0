"""One owner's memory in PostgreSQL (``protocols.Store``)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import tzinfo

from moechat.clock import Clock
from moechat.containment import Containment
from moechat.errors import DataError, Locked
from moechat.model import Exchange
from moechat.store.cache import Changes
from moechat.store.exchanges import RowExchanges
from moechat.store.imports import Imports
from moechat.store.json_forms import exchange_data, exchange_from
from moechat.store.log import Log
from moechat.store.log_book import LOCK_TIMEOUT_S
from moechat.store.no_files import BookWithoutFiles
from moechat.store.postgres import sql
from moechat.store.postgres.database import OwnerName, OwnerSession, Postgres
from moechat.store.postgres.lines import TableLines
from moechat.store.postgres.replies import TableReplies
from moechat.store.postgres.rows import TableRows
from moechat.store.postgres.vectors import TableVectors
from moechat.store.postgres.writing import TableDays, TableFindings
from moechat.store.reflections import ReflectionFile
from moechat.store.search import RowSearch
from moechat.store.usage import UsageFile

IMPORT = "import "  # The journal of a staged import begins so.
WORLDS = "worlds"  # The journal that names the other worlds of a user.


class PostgresStore(BookWithoutFiles):
    """The store of one owner over tables. Whatever a verb writes is one transaction. Dead rows keep no words; what the server
    keeps of them until it is vacuumed is the administrator's to bound."""

    def __init__(
        self,
        database: Postgres,
        owner: OwnerName,
        *,
        clock: Clock,
        zone: tzinfo | None = None,
        contained: Containment | None = None,
    ) -> None:
        self._session = OwnerSession(database, owner)
        self._journals = [TableLines(self._session, name) for name in ("log", "state", "reflections", "usage")]
        log, state, reflections, usage = self._journals
        super().__init__(clock, log, state)
        self.contained = contained or Containment()
        self.zone = zone
        self.problems: list[DataError] = []
        self._held = 0
        self.rows = TableRows(self._session)
        self.reflected = ReflectionFile(reflections)
        self.exchanges = RowExchanges(self, self.rows)
        self.days = TableDays(self._session, self.rows)
        self.findings = TableFindings(self, self._session, self.rows)
        self.replies = TableReplies(self._session)
        self.search = RowSearch(self, self.rows)
        self.usage = UsageFile(usage, self.writing)
        self.vectors = TableVectors(self._session, self.writing)
        self.log = Log(self)
        self.imports = Imports(self)
        self.follow()

    def claimed(self) -> AbstractContextManager[bool]:
        return self._session.database.claimed(self._session.owner)

    # ---- following

    def follow(self, *, all_files: bool = False) -> None:
        with self._threads:
            self._session.look()
            self.follow_log()

    @property
    def identity(self) -> str:
        """Rows keep their numbers for ever; they begin anew where an owner is brought here once more."""
        return self._session.pulse.identity

    @property
    def generation(self) -> int:
        return self._session.pulse.generation

    def changes(self, since: int) -> Changes:
        return self.rows.changes(since)

    # ---- writing

    @contextlib.contextmanager
    def writing(self, what: str = "", *, patience_s: float = LOCK_TIMEOUT_S) -> Iterator[None]:
        """The owner's row, in a transaction. Where the database fails, nothing of it happened, and all is read anew.

        Raises Locked where another worker holds the row for longer than ``patience_s``, DiskError where the database is away.
        """
        if not self._threads.acquire(timeout=patience_s):
            raise Locked(self._session.database.place, "this program itself is busy with it; try again")
        try:
            if self._held:
                yield
                return
            if self._session.name.world and not self.identity:
                self._name_world(patience_s)
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
                if not self._held and self._session.came_to_nothing():
                    for journal in self._journals:
                        journal.forget()
                    self.findings.forget()
            finally:
                self._threads.release()

    def _name_world(self, patience_s: float) -> None:
        """The first world of a user knows the others: who has not named an owner sees none."""
        session = OwnerSession(self._session.database, replace(self._session.name, world=""))
        with session.writing(patience_s):
            TableLines(session, WORLDS).append([{"name": self._session.name.world}])

    # ---- imports

    def stage(self, batch: str, exchanges: Sequence[Exchange]) -> None:
        with self.writing("stage"):
            self._stage(batch).rewrite([exchange_data(exchange) for exchange in exchanges])

    def staged(self, batch: str) -> list[Exchange]:
        self.follow()
        _, entries = self._stage(batch).unread()
        if not entries:
            raise DataError(
                self._session.database.place, f"the import {batch} is gone: take it back, then import again"
            )
        return [exchange_from(entry) for entry in entries]

    def unstage(self, batch: str) -> None:
        with self.writing("unstage"):
            self._stage(batch).drop()

    def _stage(self, batch: str) -> TableLines:
        return TableLines(self._session, IMPORT + batch)

    # ---- at a start

    def verify(self) -> tuple[int, list[str]]:
        """(how many exchanges are filed, every difference between them and the log, in words)."""
        self.follow()
        hashes = dict(self._session.all(sql.HASHES, {}))
        problems = []
        for id_ in list(self.tree.parents):
            filed = self.tree.filed_hash(id_)
            if filed and id_ not in self.tree.retracted | self.tree.taken_out():
                if id_ not in hashes:
                    problems.append(f"exchange {id_} was filed and is not there")
                elif hashes[id_] != filed:
                    problems.append(f"exchange {id_} has other words than the log says were filed")
        return len(hashes), problems

    def resume(self) -> None:
        with self.writing("resume"):
            self.log.drop_outdated()
            waiting = {IMPORT + name for name, batch in self.tree.batches.items() if not batch.done}
            for journal in [name for name in self._session.pulse.heads if name.startswith(IMPORT)]:
                if journal not in waiting:
                    TableLines(self._session, journal).drop()


def worlds(database: Postgres, character: str, user: str) -> list[str]:
    """The worlds that a user has with a character beside the first, by name."""
    session = OwnerSession(database, OwnerName(character, user))
    session.look()
    _, entries = TableLines(session, WORLDS).unread()
    return sorted({entry["name"] for entry in entries})
