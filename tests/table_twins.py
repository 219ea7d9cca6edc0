"""A store over tables and one in memory that live through the same; another session, and another process, read the tables."""

from __future__ import annotations

import contextlib
import pickle
import random
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from moechat.clock import SetClock
from moechat.errors import Locked
from moechat.store.postgres.connections import OwnerName, Postgres
from moechat.store.postgres.moving import move
from moechat.store.postgres.servers import EMPTIEST, HOME, Servers
from moechat.store.postgres.store import PostgresStore
from tests.houses import ZONE
from tests.pg_server import owned
from tests.twins import STEPS, Twins
from tests.views import view

BY_HAND = (Twins.edit_day, Twins.edit_facts, Twins.edit_notes)
TABLE_STEPS = {step: weight for step, weight in STEPS.items() if step not in BY_HAND}


def database_at(addresses: str, *, size: int, new: str = EMPTIEST) -> Postgres:
    """The first of the servers; blanks part their addresses."""
    names = [HOME, *"bcdefg"]
    each = {name: Postgres(address, size=size) for name, address in zip(names, addresses.split(), strict=False)}
    return Servers(each, new).home


class TableTwins(Twins):
    """``files`` and ``other`` are two sessions of one owner. The other one is compared now and then."""

    def __init__(self, address: str, owner: str, seed: int, *, compared_every: int, skip: Collection[int] = ()) -> None:
        self.address, self.owner, self.compared_every = address, owner, compared_every
        self.database = database_at(address, size=4)
        super().__init__(Path(), seed, skip=skip)

    def _opened(self) -> PostgresStore:
        return PostgresStore(self.database, OwnerName("twins", self.owner), clock=self.clock, zone=ZONE)

    def compare(self) -> None:
        self.other.follow()
        self._compare("another session", view(self.other))

    def _told_by(self) -> Sequence[str]:
        return ["tests.table_twins", self.address, self.owner]

    def _lose_indexes(self) -> None:
        """Nothing can be lost here but what the other session keeps in memory."""
        self.other.close()
        self.other = self._opened()

    @property
    def steps_by_weight(self) -> Mapping[Callable[[Any], None], float]:
        return {**TABLE_STEPS, TableTwins.move: 6} if " " in self.address else TABLE_STEPS

    def move(self) -> None:
        """By somebody who owns the tables, while both sessions are open."""
        mover = Servers.of(database_at(owned(self.address), size=2))
        with contextlib.suppress(Locked):  # a reply is on its way
            move(mover, OwnerName("twins", self.owner).id, self.random.choice(list(mover.by_name)))
        mover.close()

    def close(self) -> None:
        super().close()
        Servers.of(self.database).close()


def walked(
    address: str, owner: str, seed: int, *, compared_every: int, is_told: bool, skip: Collection[int] = ()
) -> int:
    """One walk from its beginning to its end, ``is_told`` by another process as well. Returns the number of steps."""
    twins = TableTwins(address, owner, seed, compared_every=compared_every, skip=skip)
    try:
        count = twins.walk(8 + random.Random(seed).randrange(33))
        if is_told:
            twins._compare("the writing session", view(twins.files))
            twins.compare_with_another_process()
        return count
    finally:
        twins.close()


def tell(address: str, owner: str, now: str) -> None:
    """What a process of its own sees, as bytes."""
    database = database_at(address, size=1)
    clock = SetClock(datetime.fromisoformat(now))
    store = PostgresStore(database, OwnerName("twins", owner), clock=clock, zone=ZONE)
    sys.stdout.buffer.write(pickle.dumps(view(store)))
    store.close()
    Servers.of(database).close()


if __name__ == "__main__":
    tell(*sys.argv[1:])
