"""One owner's memory in PostgreSQL."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Unpack

from moechat.store.journal import LOCK_TIMEOUT_S, Opening
from moechat.store.postgres.connections import OwnerName, Postgres
from moechat.store.postgres.session import OwnerSession
from moechat.store.postgres.table_vectors import MANIFEST, TableVectors
from moechat.store.table_lines import TableLines
from moechat.store.table_store import TableStore

WORLDS = "worlds"  # The journal that names the other worlds of a user.


class PostgresStore(TableStore):
    """What the server keeps of dead rows until it is vacuumed is the administrator's to bound."""

    _session: OwnerSession

    def __init__(self, database: Postgres, owner: OwnerName, **opening: Unpack[Opening]) -> None:
        session = OwnerSession(database, owner)
        session.foresee(MANIFEST, {})
        super().__init__(session, **opening)
        self.vectors = TableVectors(self._session, self.writing)

    def claimed(self) -> AbstractContextManager[bool]:
        return self._session.database.claimed(self._session.owner)

    @contextlib.contextmanager
    def writing(self, what: str = "", *, patience_s: float = LOCK_TIMEOUT_S) -> Iterator[None]:
        """The first world of a user knows the others: who has not named an owner sees none."""
        if self._session.name.world and not self.moment[0]:
            first = OwnerSession(self._session.database, replace(self._session.name, world=""))
            with first.writing(patience_s):
                TableLines(first, WORLDS).append([{"name": self._session.name.world}])
        with super().writing(what, patience_s=patience_s):
            yield


def worlds(database: Postgres, character: str, user: str) -> list[str]:
    """The worlds that a user has with a character beside the first, by name."""
    session = OwnerSession(database, OwnerName(character, user))
    session.look()
    _, entries = TableLines(session, WORLDS).unread()
    return sorted({entry["name"] for entry in entries})
