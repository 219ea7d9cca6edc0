"""A store over tables and one in memory that live through the same; another session, and another process, read the tables."""

from __future__ import annotations

import pickle
import random
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from moechat.clock import SetClock
from moechat.store.postgres.connections import OwnerName, Postgres
from moechat.store.postgres.store import PostgresStore
from tests.houses import ZONE
from tests.twins import STEPS, Twins
from tests.views import view

BY_HAND = (Twins.edit_day, Twins.edit_facts, Twins.edit_notes)
TABLE_STEPS = {step: weight for step, weight in STEPS.items() if step not in BY_HAND}


class TableTwins(Twins):
    """``files`` and ``other`` are two sessions of one owner. The other one is compared now and then."""

    def __init__(self, address: str, owner: str, seed: int, *, compared_every: int, skip: Collection[int] = ()) -> None:
        self.address, self.owner, self.compared_every = address, owner, compared_every
        self.database = Postgres(address, size=4)
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
        return TABLE_STEPS

    def close(self) -> None:
        super().close()
        self.database.close()


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
    database = Postgres(address, size=1)
    clock = SetClock(datetime.fromisoformat(now))
    store = PostgresStore(database, OwnerName("twins", owner), clock=clock, zone=ZONE)
    sys.stdout.buffer.write(pickle.dumps(view(store)))
    store.close()
    database.close()


if __name__ == "__main__":
    tell(*sys.argv[1:])
