"""What a session has read and nothing has changed since: it is not read again."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any

import numpy as np

from moechat.store.table_lines import REPLIES

Rows = Sequence[tuple[Any, ...]]
Values = Mapping[str, Any]
Key = tuple[str, tuple[tuple[str, object], ...]]
MAX_ROWS = 64  # A longer answer is given once.
MAX_ANSWERS = 256
ASKED_AGAIN = 8  # So many of the answers that a change made old are asked for again with its end.
_TABLE = re.compile(r"\b(?:FROM|JOIN|INTO|UPDATE)\s+(\w+)")
_COLUMNS = re.compile(r"^SELECT ((?:[^()]|\([^()]*\))*?) FROM", re.DOTALL)
_ELSEWHERE = {"lines", "pieces", "vectors"}  # What is kept of these is kept by others.
_BY_ID = ("exchanges", "notes")  # The rows of these are named by ids, in questions and in changes.


class Known:
    """Answers by statement and values; one that asks for ``ids`` alone is kept for each of them. ``version`` tells a reader
    whether anything changed while it read."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._answers: dict[Key, Rows] = {}
        self._used: dict[Key, int] = {}
        self._old: list[Key] = []
        self.version = 0

    def lacking(self, statement: str, values: Values) -> Values | None:
        """What is to be asked; None where all of it is known."""
        with self._lock:
            if id_column(statement, values) is not None:
                rest = [id_ for id_ in values["ids"] if (statement, (("ids", id_),)) not in self._answers]
                return {"ids": rest} if rest else None
            key = _key(statement, values)
            if _is_kept(statement):
                self._used[key] = 2  # A turn has two changes.
            return None if key in self._answers else values

    def get(self, statement: str, values: Values) -> Rows | None:
        """What ``lacking`` called known, unless it went meanwhile."""
        with self._lock:
            if (column := id_column(statement, values)) is not None:
                ids: list[object] = list(dict.fromkeys(values["ids"]))
                each = [self._answers.get((statement, (("ids", id_),))) for id_ in ids]
                if any(one is None for one in each):
                    return None
                rows = [row for one in each for row in one or ()]
                return (
                    sorted(rows, key=lambda row: row[0]) if column else rows
                )  # those are in the order of their numbers
            key = _key(statement, values)
            rows_or_none = self._answers.get(key)
            if rows_or_none is not None and not _is_kept(statement, rows_or_none):
                del self._answers[key]
            return rows_or_none

    def put(self, statement: str, values: Values, rows: Rows, version: int, *, once: bool = False) -> None:
        """``once``: also what is too long to be kept."""
        column = id_column(statement, values)
        if not (_is_kept(statement, rows) or once or column is not None):
            return
        with self._lock:
            if version != self.version:
                return
            if column is not None:
                for id_ in values["ids"]:
                    self._answers[statement, (("ids", id_),)] = [row for row in rows if row[column] == id_]
            else:
                self._answers[_key(statement, values)] = rows
            for key in list(islice(self._answers, max(0, len(self._answers) - MAX_ANSWERS))):
                del self._answers[key]
            if len(self._used) > MAX_ANSWERS:
                self._used = {}

    def renew(self) -> None:
        """What is being read at this moment is kept by nobody."""
        with self._lock:
            self.version += 1

    def clear(self) -> None:
        with self._lock:
            self.version += 1
            self._answers, self._used, self._old = {}, {}, []

    def forget(self, statement: str, values: Iterable[Values]) -> None:
        """What a change makes old. An answer by ids stays where the change names others."""
        table = tables_of(statement)[0]
        ids: set[object] | None = set() if table in _BY_ID else None
        for one in values if ids is not None else ():
            others = one.get("ids", [one["id"]] if "id" in one else None)
            ids = None if others is None or ids is None else {*ids, *others}
        with self._lock:
            for key in [key for key in self._answers if table in tables_of(key[0])]:
                wish = dict(key[1]).get("ids")
                if ids is None or wish is None or isinstance(wish, tuple) or wish in ids:
                    del self._answers[key]
                    if self._used.get(key) and not any(isinstance(one, tuple) for _, one in key[1]):
                        self._old.append(key)
                        self._used[key] -= 1

    def to_ask_again(self) -> list[tuple[str, Values]]:
        """Questions that were put lately, and whose answers a change has made old since."""
        with self._lock:
            old, self._old = self._old[-ASKED_AGAIN:], []
        return [
            (statement, dict(values))
            for statement, values in old
            if "since" not in dict(values) and statement != REPLIES
        ]


def _is_kept(statement: str, rows: Rows = ()) -> bool:
    """Else an answer is given once."""
    return len(rows) <= MAX_ROWS and "array_agg" not in statement and _ELSEWHERE.isdisjoint(tables_of(statement))


@lru_cache(maxsize=512)
def tables_of(statement: str) -> tuple[str, ...]:
    """The first is the one that is changed, where one is."""
    return tuple(_TABLE.findall(statement))


def id_column(statement: str, values: Values) -> int | None:
    """Which column of the answer is the id that was asked for; None where it is asked by other things as well."""
    return _id_column(statement) if values.keys() == {"ids"} and len(values["ids"]) <= MAX_ROWS else None


@lru_cache(maxsize=512)
def _id_column(statement: str) -> int | None:
    columns = _COLUMNS.match(statement)
    names = [name.strip().removeprefix("e.") for name in re.split(r",(?![^(]*\))", columns[1])] if columns else []
    return names.index("id") if "id" in names else None


def _key(statement: str, values: Values) -> Key:
    return statement, tuple((name, _hashable(one)) for name, one in values.items())


def _hashable(value: Any) -> object:
    if isinstance(value, np.ndarray):
        return value.tobytes()
    return tuple(value) if isinstance(value, list) else value
