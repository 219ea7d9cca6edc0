"""Episodes and the notes of exchanges, as rows of the cache."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache, partial
from pathlib import Path

from moechat.model import Episode
from moechat.store import row_numbers
from moechat.store.database import Database, has
from moechat.store.json_forms import episode_data, episode_from
from moechat.store.kept_rows import KeptRows
from moechat.store.rows import REPLACES, EpisodeKind

Note = tuple[str, str, Sequence[str], str]
"""Exchange id, tag, keywords, by."""
_TEXT = "json_extract(data, '$.text')"
_WORDS = f"{_TEXT} || ' ' || json_extract(data, '$.keywords')"


class EpisodeRows(Database):
    """What was understood of the exchanges, by row, by id, by source and in order of time."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._kept_episodes: KeptRows[Episode] = KeptRows()

    def _rolled_back(self) -> None:
        super()._rolled_back()
        self._kept_episodes.clear()

    # ---- writing

    def set_notes(self, file: str, notes: Iterable[Note], episodes: Iterable[Episode]) -> None:
        """Replace all notes and episodes of a notes file by these."""
        with self.transaction() as db:
            gen = self.next_generation(db)
            db.execute("DELETE FROM notes WHERE file = ?", (file,))
            self._insert_notes(db, file, notes)
            live = self.all("SELECT row, id, data FROM episodes WHERE file = ? AND alive = 1", (file,))
            self._set_episodes(db, file, live, episodes, gen)

    def change_notes(
        self,
        file: str,
        *,
        dead: Iterable[str],
        notes: Iterable[Note],
        gone: Collection[str],
        episodes: Iterable[Episode],
    ) -> None:
        """Replace the notes of the exchanges ``dead`` and the episodes ``gone`` (ids) by these."""
        with self.transaction() as db:
            gen = self.next_generation(db)
            db.executemany("DELETE FROM notes WHERE file = ? AND id = ?", [(file, id_) for id_ in dead])
            self._insert_notes(db, file, notes)
            live = self.among("SELECT id, row, data, file FROM episodes WHERE alive = 1 AND id IN", list(gone))
            there = [(row, id_, data) for id_, row, data, where in live if where == file]
            self._set_episodes(db, file, there, episodes, gen)

    @staticmethod
    def _insert_notes(db: sqlite3.Connection, file: str, notes: Iterable[Note]) -> None:
        db.executemany(
            "INSERT OR REPLACE INTO notes VALUES (?, ?, ?, ?, ?)",
            [(id_, file, tag, json.dumps(words, ensure_ascii=False), by) for id_, tag, words, by in notes],
        )

    def _set_episodes(
        self,
        db: sqlite3.Connection,
        file: str,
        live: Sequence[tuple[int, str, str]],
        episodes: Iterable[Episode],
        gen: int,
    ) -> None:
        """Replace the rows ``live`` (row, id, data) by those of these episodes."""
        rows = {(id_, data): row for row, id_, data in live}
        unique: dict[str, Episode] = {}
        for episode in episodes:
            unique.setdefault(episode.id, episode)  # a hand may have copied one: the first counts
        kept: set[int] = set()
        new: list[tuple[Episode, str]] = []
        for episode in unique.values():
            data = json.dumps(episode_data(episode), ensure_ascii=False)
            if (row := rows.get((episode.id, data))) is not None:
                kept.add(row)
            else:
                new.append((episode, data))
        first = row_numbers.first(db, "episodes", file, len(new)) if new else 0
        for row, (episode, data) in enumerate(new, first):
            self._insert_episode(db, file, row, episode, data, gen)
        dead = [row for row, _, _ in live if row not in kept]
        db.executemany("UPDATE episodes SET alive = 0, gen = ? WHERE row = ?", [(gen, row) for row in dead])
        db.executemany("DELETE FROM episode_sources WHERE row = ?", [(row,) for row in dead])
        if db.executemany("DELETE FROM episode_replaces WHERE row = ?", [(row,) for row in dead]).rowcount > 0:
            self.change(db, REPLACES)

    def _insert_episode(
        self, db: sqlite3.Connection, file: str, row: int, episode: Episode, data: str, gen: int
    ) -> None:
        start, end = (
            (moment.timestamp() for moment in episode.event.happened) if episode.event.happened else (None, None)
        )
        db.execute(
            "INSERT INTO episodes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 1)",
            (row, episode.id, file, episode.since.timestamp(), start, end, episode.kind, data, gen),
        )
        sources = [(source, row) for source in episode.event.sources]
        db.executemany("INSERT OR IGNORE INTO episode_sources VALUES (?, ?)", sources)
        if episode.supersedes:
            db.execute("INSERT INTO episode_replaces VALUES (?)", (row,))
            self.change(db, REPLACES)

    # ---- notes

    def notes_of(self, ids: Sequence[str]) -> dict[str, tuple[str, tuple[str, ...], str]]:
        """Exchange id → (tag, keywords, by)."""
        rows = self.among("SELECT id, tag, keywords, by FROM notes WHERE id IN", ids)
        return {id_: (tag, tuple(json.loads(words)), by) for id_, tag, words, by in rows}

    def notes_files(self, ids: Sequence[str]) -> dict[str, str]:
        """Exchange id → the file that its notes stand in."""
        return dict(self.among("SELECT id, file FROM notes WHERE id IN", ids))

    # ---- whole episodes

    def episodes_by_row(self, rows: Sequence[int]) -> dict[int, Episode]:
        def read(lacking: Sequence[int]) -> dict[int, Episode]:
            selected = self.among("SELECT row, id, data FROM episodes WHERE alive = 1 AND row IN", lacking)
            return {row: _episode(id_, data) for row, id_, data in selected}

        with self._lock:
            numbers, died = [int(row) for row in rows], partial(self.died, "episodes")
            return self._kept_episodes.of(numbers, self.generation(), died=died, read=read)

    def episodes_of_file(self, file: str) -> list[Episode]:
        """The live episodes of a notes file."""
        rows = self.all("SELECT id, data FROM episodes WHERE file = ? AND alive = 1 ORDER BY row", (file,))
        return [_episode(id_, data) for id_, data in rows]

    # ---- which they are

    def rows_of_episodes(self, ids: Sequence[str]) -> dict[str, int]:
        """Episode id → its row, of live ones."""
        return dict(self.among("SELECT id, row FROM episodes WHERE alive = 1 AND id IN", ids))

    def files_of_episodes(self, ids: Sequence[str]) -> list[tuple[str, str]]:
        """(episode id, a notes file that it stands in)."""
        return self.among("SELECT id, file FROM episodes WHERE alive = 1 AND id IN", ids)

    def rows_citing(self, ids: Sequence[str]) -> list[int]:
        """Rows of the live episodes that cite one of these exchanges, ascending."""
        return sorted({row for (row,) in self.among("SELECT row FROM episode_sources WHERE source IN", ids)})

    def superseding(self) -> list[Episode]:
        """Live episodes that replace others, in row order."""
        sql = "SELECT e.id, e.data FROM episode_replaces r CROSS JOIN episodes e ON e.row = r.row ORDER BY r.row"
        return [_episode(id_, data) for id_, data in self.all(sql)]

    def rows_with_evidence(self) -> list[int]:
        """Rows of the live episodes that rest on other episodes."""
        rows = self.all("SELECT row FROM episodes WHERE alive = 1 AND instr(data, '\"evidence\": []') = 0")
        return [row for (row,) in rows]

    def births(self) -> list[tuple[str, float, str, bool | None]]:
        """(id, epoch seconds, by, confirmed) of every live episode, in row order."""
        by = "json_extract(data, '$.by'), json_extract(data, '$.confirmed')"
        rows = self.all(f"SELECT id, t, {by} FROM episodes WHERE alive = 1 ORDER BY row")
        return [(id_, t, by, None if confirmed is None else bool(confirmed)) for id_, t, by, confirmed in rows]

    def happened(self) -> list[tuple[int, float, float]]:
        """(episode row, start, end) of live episodes whose time is known, by start."""
        return self.all(
            "SELECT row, start, end FROM episodes WHERE alive = 1 AND start IS NOT NULL ORDER BY start, row"
        )

    # ---- by words

    def time_happened(self, word: str, before: float, *, hidden: Collection[str] = ()) -> float | None:
        """When the last event happened that a word is part of."""
        word = word.casefold()
        sql = (
            "SELECT id, start, data FROM episodes WHERE alive = 1 AND start <= ?"
            f" AND {has(_TEXT, word)} ORDER BY start DESC"
        )
        with self._lock:
            for id_, start, data in self._db.execute(sql, (before, word)):
                if id_ not in hidden and not any(source in hidden for source in json.loads(data)["sources"]):
                    return float(start)
        return None

    def episodes_with(self, kinds: Sequence[str], words: Sequence[str]) -> list[tuple[float, EpisodeKind, str, int]]:
        """(epoch seconds, kind, id, row) of live episodes of these kinds that have all these words (case-folded)."""
        conditions = "".join(f" AND {has(_WORDS, word)}" for word in words)
        sql = f"SELECT t, kind, id, row FROM episodes WHERE alive = 1 AND kind IN ({','.join('?' * len(kinds))})"
        return self.all(sql + conditions, [*kinds, *words])


@lru_cache(maxsize=512)  # A recall goes back to most of what the one before it found.
def _episode(id_: str, data: str) -> Episode:
    return episode_from(id_, json.loads(data))
