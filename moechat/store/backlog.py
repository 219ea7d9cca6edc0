"""The changed files of an owner that are still to be read: of a folder without indexes there are thousands."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date
from pathlib import Path

from moechat.store import paths, records

_LINE_OF_A_KEY = re.compile(rb"\n[^\s#]")


class Backlog:
    """Names of files, in the order in which they are read: core memory, then the days, the newest first, each with the
    notes before the words that they are about. Not locked: its owner is."""

    def __init__(self) -> None:
        self._names: tuple[str, ...] = ()
        self._held: frozenset[str] = frozenset()

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: str) -> bool:
        return name in self._held

    @property
    def names(self) -> tuple[str, ...]:
        return self._names

    def add(self, names: Iterable[str]) -> None:
        self._keep(in_order({*self._names, *names}))

    def remove(self, names: Iterable[str]) -> None:
        gone = set(names)
        self._keep(tuple(name for name in self._names if name not in gone))

    def _keep(self, names: tuple[str, ...]) -> None:
        self._names, self._held = names, frozenset(names)

    @property
    def until(self) -> date | None:
        """The newest date whose words are still to be read."""
        return next((day for name in self._names if (day := paths.day_of(name)) is not None), None)


def in_order(names: Iterable[str]) -> tuple[str, ...]:
    """As they are read."""
    return tuple(sorted(names, key=_place, reverse=True))


def _place(name: str) -> tuple[bool, date, bool, str]:
    return name == paths.CORE, paths.day_of(name) or date.max, paths.is_notes(name), name


def record_counts(folder: Path, names: Iterable[str]) -> tuple[list[tuple[str, int]], list[tuple[str, int]]]:
    """(day file, how many exchanges it holds at most) by name, and (notes file, how many episodes); nothing is parsed."""
    exchanges, episodes = [], []
    for name in sorted(names):
        if paths.is_notes(name):
            episodes.append((name, records.bytes_of(folder / name).count(b"id:")))
        elif paths.is_day_file(name):
            exchanges.append((name, 1 + len(_LINE_OF_A_KEY.findall(records.bytes_of(folder / name)))))
    return exchanges, episodes
