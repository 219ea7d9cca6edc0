"""Rows of a table that were read lately, by their numbers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Generic, TypeVar

from moechat.store.database import StoreSession

T = TypeVar("T")
MAX_KEPT_ROWS = 2048


class KeptRows(Generic[T]):
    """Rows of one table that were read lately: a recall goes back to many of those that the one before it read. A row never
    changes, it only dies: so what was read stays right until then."""

    def __init__(self, session: StoreSession, died: str, read: Callable[[Sequence[int]], Mapping[int, T]]) -> None:
        """``died`` is the statement that gives the rows that died after a generation, ``read`` gives live rows by number."""
        self._session, self._died, self._read = session, died, read
        self._lock = threading.Lock()  # Nothing is read under it: whoever writes holds the database.
        self._rows: dict[int, T] = {}  # The one that was asked for longest ago comes first.
        self._moment = (-1, -1)

    def of(self, rows: Iterable[int], read: Mapping[int, T] = {}) -> dict[int, T]:
        """The live rows of these numbers, in that order; some that were ``read`` a moment ago."""
        if not (numbers := [int(number) for number in rows]):
            return {}
        before = self._moment
        moment = self._session.epoch, self._session.pulse.generation
        if moment != before:
            is_known = bool(self._rows) and moment[0] == before[0]
            dead = self._session.all(self._died, {"since": before[1]}) if is_known else None
            with self._lock:
                if self._moment == before:
                    self._moment = moment
                    self._rows = {} if dead is None else self._rows
                    for (number,) in dead or ():
                        self._rows.pop(number, None)
        with self._lock:
            there = {**read} | {number: self._rows[number] for number in numbers if number in self._rows}
        if lacking := [number for number in numbers if number not in there]:
            there |= self._read(lacking)
        with self._lock:
            if self._moment == moment:
                for number, row in there.items():
                    self._rows.pop(number, None)
                    self._rows[number] = row
                for number in list(islice(self._rows, max(0, len(self._rows) - MAX_KEPT_ROWS))):
                    del self._rows[number]
        return {number: there[number] for number in numbers if number in there}
