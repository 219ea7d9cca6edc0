"""The parsed content of an owner's files, in a disposable SQLite database in ``.index/``.

It only saves time. Deleted or damaged, it is made anew from the files.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from moechat.errors import DataError
from moechat.model import Episode, Fact
from moechat.store import row_numbers
from moechat.store.database import MOST_VALUES
from moechat.store.episode_rows import EpisodeRows
from moechat.store.exchange_rows import ExchangeRows
from moechat.store.fact_book import FactBook
from moechat.store.json_forms import episode_from, fact_data, fact_from
from moechat.store.records import Signature

CHANGED = "SELECT row, id, data, alive FROM episodes WHERE row IN"


@dataclass(frozen=True, slots=True)
class Changes:
    """What came or went after a generation, complete up to ``generation`` (it may hold some of what came later), in row
    order. ``exchanges`` are (row, epoch seconds, whether it lives), ``episodes`` (row, id, the episode or None for a dead one).
    """

    generation: int
    exchanges: Sequence[tuple[int, float, bool]]
    episodes: Collection[tuple[int, str, Episode | None]]

    @property
    def episode_rows(self) -> Sequence[int]:
        """The rows of ``episodes``, without reading these."""
        return self.episodes.rows if isinstance(self.episodes, ChangedEpisodes) else [row for row, *_ in self.episodes]


@dataclass(frozen=True, slots=True)
class ChangedEpisodes(Collection[tuple[int, str, Episode | None]]):
    """Episodes that came or went. Each pass reads them, some at a time: those of years need not all be in memory at once."""

    cache: Cache
    rows: Sequence[int]

    def __len__(self) -> int:
        return len(self.rows)

    def __contains__(self, one: object) -> bool:
        return any(one == other for other in self)

    def __iter__(self) -> Iterator[tuple[int, str, Episode | None]]:
        for start in range(0, len(self.rows), MOST_VALUES):
            part = self.rows[start : start + MOST_VALUES]
            read = {row: rest for row, *rest in self.cache.among(CHANGED, part)}
            for row in filter(read.__contains__, part):  # all are there, unless the cache was made anew meanwhile
                id_, data, alive = read[row]
                yield row, id_, episode_from(id_, json.loads(data)) if alive else None


class Cache(ExchangeRows, EpisodeRows):
    """Exchanges, notes, episodes and facts, and the files that they were read from."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._facts: tuple[int, FactBook] | None = None
        self._signatures: tuple[int, dict[str, Signature]] | None = None

    def follow(self) -> bool:
        with self._lock:
            if anew := super().follow():
                self._rolled_back()
            return anew

    def _rolled_back(self) -> None:
        super()._rolled_back()
        self._facts = self._signatures = None

    # ---- files

    def signatures(self) -> dict[str, Signature]:
        """The files as they are known, by name; read again only when another process has signed some."""
        with self._lock:
            generation = self.generation_of("files")
            if self._signatures is None or self._signatures[0] != generation:
                rows = self.all("SELECT name, size, mtime_ns, inode FROM files")
                self._signatures = (generation, {name: Signature(*rest) for name, *rest in rows})
            return self._signatures[1]

    def sign(self, name: str, signature: Signature, problems: Sequence[DataError] = ()) -> None:
        reasons = json.dumps([[p.reason, p.line] for p in problems]) if problems else ""
        with self.transaction() as db:
            if signature == Signature():
                db.execute("DELETE FROM files WHERE name = ?", (name,))
            else:
                values = (name, signature.size, signature.mtime_ns, signature.inode, reasons)
                db.execute("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?)", values)
            signatures = self.signatures()
            signatures.pop(name, None)
            if signature != Signature():
                signatures[name] = signature
            self._signatures = (self.change(db, "files"), signatures)

    def problems(self, folder: Path, only: str = "") -> list[DataError]:
        """What could not be read in the files of a folder, or in one of them."""
        condition, values = ("name = ?", (only,)) if only else ("1", ())
        rows = self.all(f"SELECT name, problems FROM files WHERE problems != '' AND {condition} ORDER BY name", values)
        return [DataError(folder / name, reason, line=line) for name, each in rows for reason, line in json.loads(each)]

    def reserve_rows(self, exchanges: Sequence[tuple[str, int]], episodes: Sequence[tuple[str, int]]) -> None:
        """Keep rows for files that are read later, in whatever order: (day file, at most so many exchanges), by name, and
        (notes file, at most so many episodes)."""
        with self.transaction() as db:
            row_numbers.reserve(db, "exchanges", exchanges)
            row_numbers.reserve(db, "episodes", episodes)

    # ---- facts

    def set_facts(self, file: str, facts: Iterable[Fact]) -> None:
        """Replace all facts that came from a facts file."""
        with self.transaction() as db:
            db.execute("DELETE FROM facts WHERE file = ?", (file,))
            self._facts = None
            self.change_facts(file, dead=(), new=facts)

    def change_facts(self, file: str, *, dead: Collection[str], new: Iterable[Fact]) -> None:
        """``dead`` are ids of facts that the file no longer holds so."""
        new = list(new)
        with self.transaction() as db:
            book = self._facts[1] if self._facts and self._facts[0] == self.facts_generation() else None
            generation = self.change(db, "facts")
            if book is not None:
                book.change(dead, new)
                self._facts = (generation, book)
            db.executemany("DELETE FROM facts WHERE id = ? AND file = ?", [(id_, file) for id_ in dead])
            rows = [(f.id, file, json.dumps(fact_data(f), ensure_ascii=False)) for f in new]
            db.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?, ?)", rows)

    def facts(self) -> FactBook:
        """Read again only when another process has changed some."""
        with self._lock:
            generation = self.facts_generation()
            if self._facts is None or self._facts[0] != generation:
                rows = self.all("SELECT id, data FROM facts")
                self._facts = (generation, FactBook(fact_from(id_, json.loads(data)) for id_, data in rows))
            return self._facts[1]

    def facts_generation(self) -> int:
        """The generation in which facts last changed."""
        return self.generation_of("facts")

    # ---- what changed

    def changes(self, since: int) -> Changes:
        generation = self.generation()
        exchanges = self.all("SELECT row, t, alive FROM exchanges WHERE gen > ? ORDER BY +row", (since,))
        episodes = [row for (row,) in self.all("SELECT row FROM episodes WHERE gen > ? ORDER BY +row", (since,))]
        return Changes(
            generation, [(row, t, bool(alive)) for row, t, alive in exchanges], ChangedEpisodes(self, episodes)
        )

    # ---- erasing

    def erase_dead(self) -> bool:
        """Erase the bytes of dead rows. False if another process uses the database all the time."""
        with self.transaction() as db:
            self.next_generation(db)
            db.execute("UPDATE exchanges SET user = '', char = '', tag = '', sha = '', extra = '' WHERE alive = 0")
            db.execute("UPDATE episodes SET data = '{}' WHERE alive = 0")
        return self.pack() and self.empty_log()
