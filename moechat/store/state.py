"""What the program knows about memories beyond their words: pins, archive, accesses. One file of JSON lines per owner.

touch     ids at       these entered a prompt whose answer stood
archive   ids          hidden, kept          restore  ids    brought back
pin       ids          never archived        unpin    ids
missing   ids at       deleted by hand       found    ids    ... and there again
access    rows         touches summed up: id → [last ISO, count]
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from moechat.errors import DataError
from moechat.store.log import Entry, JsonLines

log = logging.getLogger(__name__)
COMPACT_OVER = 20_000


class State:
    """Fed from its file by ``follow``; ids are those of exchanges, episodes, facts and lore alike."""

    def __init__(self, path: Path) -> None:
        self._lines = JsonLines(path)
        self._clear()

    def _clear(self) -> None:
        self.access: dict[str, tuple[str, int]] = {}
        self.archived: set[str] = set()
        self.pinned: set[str] = set()
        self.missing: dict[str, datetime] = {}
        self._read = 0

    @property
    def problems(self) -> list[DataError]:
        return self._lines.problems

    def follow(self) -> None:
        anew, entries = self._lines.unread()
        if anew:
            self._clear()
        self._apply(entries)

    def _apply(self, entries: Sequence[Entry]) -> None:
        self._read += len(entries)
        for entry in entries:
            try:
                self._step(entry)
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                log.warning("an entry of the state was passed over (%s: %s)", type(error).__name__, error)

    def _step(self, entry: Entry) -> None:
        ids = entry.get("ids", ())
        match entry["op"]:
            case "touch":
                for id_ in ids:
                    self.access[id_] = (entry["at"], self.access.get(id_, ("", 0))[1] + 1)
            case "access":
                self.access.update({id_: (at, count) for id_, (at, count) in entry["rows"].items()})
            case "archive":
                self.archived.update(ids)
            case "restore":
                self.archived.difference_update(ids)
            case "pin":
                self.pinned.update(ids)
            case "unpin":
                self.pinned.difference_update(ids)
            case "missing":
                self.missing.update(dict.fromkeys(ids, datetime.fromisoformat(entry["at"])))
            case "found":
                for id_ in ids:
                    self.missing.pop(id_, None)

    def write(self, entries: Sequence[Entry]) -> None:
        """Append, under the owner's lock."""
        if entries:
            self.follow()
            self._lines.append(entries)
            self._apply(entries)

    def touch(self, ids: Sequence[str], at: datetime) -> None:
        self.write([{"op": "touch", "ids": list(ids), "at": at.isoformat()}] if ids else [])

    def compact(self) -> None:
        """Sum up what is there, under the owner's lock, once the file has grown long."""
        if self._read < COMPACT_OVER or self._read < 2 * len(self.access):
            return
        entries: list[Entry] = [
            {"op": "access", "rows": {id_: list(row) for id_, row in self.access.items()}},
            {"op": "archive", "ids": sorted(self.archived)},
            {"op": "pin", "ids": sorted(self.pinned)},
        ]
        entries += [{"op": "missing", "ids": [id_], "at": at.isoformat()} for id_, at in self.missing.items()]
        self._lines.rewrite(entries)
        self._read = len(entries)
