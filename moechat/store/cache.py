"""The parsed content of an owner's files, in a disposable SQLite database in ``.index/``.

It only saves time. Deleted or damaged, it is made anew from the files. Beside the rows it knows which files they were read from.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from moechat.errors import DataError
from moechat.store.database import SqliteSession
from moechat.store.records import Signature

FILES = "SELECT name, size, mtime_ns, inode FROM files"
PROBLEMS = "SELECT name, problems FROM files WHERE problems != ''"
SIGN = "INSERT OR REPLACE INTO files VALUES (%(name)s, %(size)s, %(mtime_ns)s, %(inode)s, %(problems)s)"
RESERVE = "INSERT OR IGNORE INTO reserved VALUES (%(file)s, %(first)s, %(count)s)"
EXCHANGES_IN = "SELECT id, file FROM exchanges WHERE owner_id = %(owner)s AND alive AND id = ANY(%(ids)s)"
EPISODES_IN = "SELECT id, note FROM episodes WHERE owner_id = %(owner)s AND alive AND id = ANY(%(ids)s)"
NOTES_IN = "SELECT id, place FROM notes WHERE owner_id = %(owner)s AND id = ANY(%(ids)s)"


class Cache(SqliteSession):
    """The rows of an owner's files. An exchange and a note stand in a ``file`` and a ``place``, an episode in the file that is
    called ``note``."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._signatures: tuple[tuple[int, int], dict[str, Signature]] | None = None

    # ---- files

    def signatures(self) -> dict[str, Signature]:
        """The files as they are known, by name; read again only when another process has written."""
        with self._lock:
            if self._signatures is None or self._signatures[0] != self.version:
                self._signatures = (self.version, {name: Signature(*rest) for name, *rest in self.all(FILES)})
            return self._signatures[1]

    def sign(self, name: str, signature: Signature, problems: Sequence[DataError] = ()) -> None:
        reasons = json.dumps([[p.reason, p.line] for p in problems]) if problems else ""
        with self.transaction():
            signatures = self.signatures()
            if signature == Signature():
                self.do("DELETE FROM files WHERE name = %(name)s", {"name": name})
                signatures.pop(name, None)
            else:
                self.do(SIGN, {"name": name, **signature._asdict(), "problems": reasons})
                signatures[name] = signature

    def problems(self, folder: Path, only: str = "") -> list[DataError]:
        """What could not be read in the files of a folder, or in one of them."""
        rows = self.all(f"{PROBLEMS}{' AND name = %(name)s' if only else ''} ORDER BY name", {"name": only})
        return [DataError(folder / name, reason, line=line) for name, each in rows for reason, line in json.loads(each)]

    # ---- the numbers of new rows: files may be read in any order, the newest first as a rule, and yet rows follow the days

    def reserve_rows(self, exchanges: Sequence[tuple[str, int]], episodes: Sequence[tuple[str, int]]) -> None:
        """Keep rows for files that are read later, in whatever order: (day file, at most so many exchanges), by name, and
        (notes file, at most so many episodes). A file that has some keeps those."""
        with self.transaction():
            for file, count in exchanges:
                new = self.do(RESERVE, {"file": file, "first": self.pulse.exchange_rows + 1, "count": count})
                self.pulse.exchange_rows += count * new
            for file, count in episodes:
                new = self.do(RESERVE, {"file": file, "first": self.pulse.episode_rows + 1, "count": count})
                self.pulse.episode_rows += count * new

    def reserved_row(self, file: str, count: int) -> int:
        """The first of ``count`` rows that were reserved for a file; 0 where none were, or too few."""
        if not count or not (
            reserved := self.all("SELECT first, count FROM reserved WHERE file = %(file)s", {"file": file})
        ):
            return 0
        self.do("DELETE FROM reserved WHERE file = %(file)s", {"file": file})
        return reserved[0][0] if count <= reserved[0][1] else 0

    # ---- where records stand

    def files_of(self, what: Literal["exchanges", "episodes", "notes"], ids: Sequence[str]) -> list[tuple[str, str]]:
        """(id, a file that it stands in); a hand may have copied an exchange or an episode."""
        statement = {"exchanges": EXCHANGES_IN, "episodes": EPISODES_IN, "notes": NOTES_IN}[what]
        return self.all(statement, {"ids": list(ids)}) if ids else []
