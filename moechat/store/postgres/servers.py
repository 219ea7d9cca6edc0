"""Several servers, each with all the tables. An owner's memory lies on one of them: on the first, or where a row there says.

Whoever reads or writes asks in the same trip whether the owner is there (``HERE``), so that what a worker believes may be old. A
server keeps for good where an owner went that it once had.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import NamedTuple

import psycopg

from moechat.errors import Locked, MoeChatError
from moechat.store.postgres.connections import Postgres

HOME, EMPTIEST = "home", "emptiest"
HOPS = 8  # Whoever was sent on so often gives up for now.
MOST_KNOWN = 100_000
# It fails where the owner is elsewhere, and with it all of the trip.
HERE = "SELECT 1 / (1 - count(*)) FROM places WHERE owner_id = %(owner)s"
PLACE = "SELECT server, ticket, arrives FROM places WHERE owner_id = %(owner)s"
SEND = """INSERT INTO places (owner_id, server, ticket, arrives) VALUES (%(owner)s, %(server)s, %(ticket)s, %(arrives)s)
    ON CONFLICT (owner_id) DO UPDATE SET server = excluded.server, ticket = excluded.ticket, arrives = excluded.arrives"""
OPEN = "DELETE FROM places WHERE owner_id = %(owner)s AND arrives AND ticket = %(ticket)s"
ELSEWHERE = psycopg.errors.DivisionByZero
SIZE = "SELECT pg_database_size(current_database())"


class PlaceMark(NamedTuple):
    """The row of an owner who is not here, or not yet."""

    server: str
    ticket: str = ""
    arrives: bool = False


class Servers:
    """``by_name`` has the first, which knows where everybody is, as ``HOME``. New owners come to the server ``new``, or to the
    emptiest that answers."""

    def __init__(self, by_name: Mapping[str, Postgres], new: str = HOME) -> None:
        self.by_name, self.home, self._new = by_name, by_name[HOME], new
        self._known: dict[uuid.UUID, Postgres] = {}
        for name, one in by_name.items():
            one.name, one.servers, one.worker = name, self, self.home.worker
            one.place += f" ({name})" if name != HOME else ""

    @classmethod
    def of(cls, database: Postgres) -> Servers:
        """Those that it is one of, or it alone."""
        return database.servers if isinstance(database.servers, cls) else cls({HOME: database})

    def close(self) -> None:
        for one in self.by_name.values():
            one.close()

    def is_there(self) -> bool:
        """Whether any of them answers: the owners of one that is away are told, and the others go on."""
        return any(one.is_there() for one in self.by_name.values())

    def named(self, name: str) -> Postgres:
        if name not in self.by_name:
            raise MoeChatError(f"store.servers has no server {name!r}: add it, then start again")
        return self.by_name[name]

    def owners(self) -> list[tuple[str, str, str]]:
        """(character, user, world) of all owners that the roles may see."""
        return sorted({names for one in self.by_name.values() for names in one.owners()})

    def for_new(self) -> Postgres:
        """Where an owner without a memory begins."""
        if self._new != EMPTIEST or len(self.by_name) == 1:
            return self.named(HOME if self._new == EMPTIEST else self._new)
        there = [one for one in self.by_name.values() if one.is_there()] or [self.home]
        return min(there, key=lambda one: one.patient(lambda connection: connection.execute(SIZE).fetchall()))

    # ---- where an owner is

    def first_guess(self, owner: uuid.UUID) -> Postgres:
        return self._known.get(owner, self.home)

    def find(self, owner: uuid.UUID) -> Postgres:
        here = self.home
        for _ in range(HOPS):
            there = self.after(here, owner)
            if there is here:
                return here
            here = there
        raise Locked(here.place, "the memory is on its way from one server to another; try again")

    def after(self, here: Postgres, owner: uuid.UUID) -> Postgres:
        """``here``, or where it says that the owner is. A copy that has arrived, and was not opened yet, is opened."""
        there, mark = here, self.mark(here, owner)
        if mark is not None:
            there = self.named(mark.server)
            if mark.arrives and self.mark(there, owner) == PlaceMark(here.name, mark.ticket):
                here.asked(owner, [OPEN], {"ticket": mark.ticket})
                there = here
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        self._known[owner] = there
        return there

    @staticmethod
    def mark(server: Postgres, owner: uuid.UUID) -> PlaceMark | None:
        rows = server.asked(owner, [PLACE])
        return PlaceMark(*rows[0]) if rows else None
