"""What the files of an owner hold, parsed: a disposable SQLite database in ``.index/``.

It only saves time. Deleted or damaged, it is made anew from the files. Rows are append-only: a changed record becomes a
new row and the old one dies, so that the indexes over them (document number = row) grow at their ends. ``gen`` is the
generation in which a row was written or died; a process asks for what came after the generation it knows.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import threading
import uuid
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass
from datetime import datetime
from pathlib import Path

from moechat.errors import DataError
from moechat.model import ActivationProfile, Episode, Event, Exchange, Fact, FactDraft
from moechat.store.formats import known
from moechat.store.records import Signature

SCHEMA_VERSION = 2
_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE files (name TEXT PRIMARY KEY, size INTEGER, mtime_ns INTEGER, inode INTEGER, problems TEXT) WITHOUT ROWID;
CREATE TABLE exchanges (row INTEGER PRIMARY KEY, id TEXT, file TEXT, t REAL, at TEXT, user TEXT, char TEXT, status TEXT,
    tag TEXT, sha TEXT, gen INTEGER, alive INTEGER);
CREATE INDEX exchanges_id ON exchanges (id);
CREATE INDEX exchanges_file ON exchanges (file);
CREATE INDEX exchanges_gen ON exchanges (gen);
CREATE INDEX exchanges_t ON exchanges (t);
CREATE TABLE notes (id TEXT PRIMARY KEY, file TEXT, tag TEXT, keywords TEXT, by TEXT) WITHOUT ROWID;
CREATE INDEX notes_file ON notes (file);
CREATE TABLE episodes (row INTEGER PRIMARY KEY, id TEXT, file TEXT, t REAL, start REAL, end REAL, kind TEXT, data TEXT,
    gen INTEGER, alive INTEGER);
CREATE INDEX episodes_id ON episodes (id);
CREATE INDEX episodes_file ON episodes (file);
CREATE INDEX episodes_gen ON episodes (gen);
CREATE TABLE episode_sources (source TEXT, row INTEGER, PRIMARY KEY (source, row)) WITHOUT ROWID;
CREATE TABLE facts (id TEXT PRIMARY KEY, file TEXT, data TEXT) WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True)
class Row:
    """A recorded exchange with its row number and its tag."""

    row: int
    exchange: Exchange
    tag: str
    file: str
    sha: str


@dataclass(frozen=True, slots=True)
class Side:
    """Both sides of an exchange as the indexes take them; ``t`` in epoch seconds."""

    row: int
    t: float
    user: str
    char: str


class Cache:
    """One connection behind one lock; every method is atomic."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.RLock()
        self._gen: int | None = None
        self._facts: tuple[int, list[Fact]] | None = None
        try:
            self._db = self._open()
        except sqlite3.DatabaseError:
            self.delete()
            self._db = self._open()
        self._inode = path.stat().st_ino

    def follow(self) -> bool:
        """Open it again where another process, or a hand, deleted it or had it made anew. Whether that was so."""
        with self._lock:
            with contextlib.suppress(FileNotFoundError):
                if self.path.stat().st_ino == self._inode:
                    return False
            if self._db.in_transaction:
                return False
            self._db.close()
            self._db, self._facts = self._open(), None
            self._inode = self.path.stat().st_ino
            return True

    def _open(self) -> sqlite3.Connection:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        db = sqlite3.connect(self.path, check_same_thread=False, isolation_level=None, timeout=30)
        try:
            db.execute("PRAGMA journal_mode=WAL")
            db.execute("PRAGMA synchronous=OFF")
            version = db.execute("PRAGMA user_version").fetchone()[0]
            if version not in (0, SCHEMA_VERSION):
                raise sqlite3.DatabaseError("another version's cache")
            if version == 0:
                self._make(db)
        except BaseException:
            db.close()
            raise
        return db

    @staticmethod
    def _make(db: sqlite3.Connection) -> None:
        """Make the tables, unless another process that opened it at the same moment was quicker."""
        db.execute("BEGIN IMMEDIATE")
        if db.execute("PRAGMA user_version").fetchone()[0] == 0:
            for statement in filter(str.strip, _SCHEMA.split(";")):
                db.execute(statement)
            db.execute("INSERT INTO meta VALUES ('identity', ?)", (uuid.uuid4().hex,))
            db.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
        db.execute("COMMIT")

    def delete(self) -> None:
        for suffix in ("", "-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                Path(f"{self.path}{suffix}").unlink()

    def close(self) -> None:
        with self._lock:
            self._db.close()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All or nothing; what is written in it carries a new generation."""
        with self._lock:
            if self._db.in_transaction:
                yield self._db
                return
            self._db.execute("BEGIN IMMEDIATE")
            try:
                self._gen = None
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            finally:
                self._gen = None

    def all(self, sql: str, values: Sequence[object] = ()) -> list[tuple]:
        with self._lock:
            return self._db.execute(sql, values).fetchall()

    def identity(self) -> str:
        """Changes when the cache is made anew, and with it all row numbers: indexes by row belong to one identity."""
        return str(self.all("SELECT value FROM meta WHERE key = 'identity'")[0][0])

    def generation(self) -> int:
        rows = self.all("SELECT value FROM meta WHERE key = 'gen'")
        return rows[0][0] if rows else 0

    def next_generation(self, db: sqlite3.Connection) -> int:
        """The generation of the running transaction."""
        if self._gen is None:
            self._gen = self.generation() + 1
            db.execute("INSERT OR REPLACE INTO meta VALUES ('gen', ?)", (self._gen,))
        return self._gen

    # files

    def signatures(self) -> dict[str, Signature]:
        return {name: Signature(*rest) for name, *rest in self.all("SELECT name, size, mtime_ns, inode FROM files")}

    def sign(self, name: str, signature: Signature, problems: Sequence[DataError] = ()) -> None:
        told = json.dumps([[p.reason, p.line] for p in problems]) if problems else ""
        with self.transaction() as db:
            if signature == Signature():
                db.execute("DELETE FROM files WHERE name = ?", (name,))
            else:
                values = (name, signature.size, signature.mtime_ns, signature.inode, told)
                db.execute("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?)", values)

    def problems(self, folder: Path) -> list[DataError]:
        rows = self.all("SELECT name, problems FROM files WHERE problems != '' ORDER BY name")
        return [DataError(folder / name, reason, line=line) for name, told in rows for reason, line in json.loads(told)]

    def problems_of(self, name: str) -> bool:
        return bool(self.all("SELECT 1 FROM files WHERE name = ? AND problems != ''", (name,)))

    # exchanges

    def add_exchanges(self, file: str, records: Iterable[tuple[Exchange, str, str]]) -> None:
        """``records`` are (exchange, inline tag, text hash)."""
        with self.transaction() as db:
            gen = self.next_generation(db)
            db.executemany(
                "INSERT INTO exchanges (id, file, t, at, user, char, status, tag, sha, gen, alive)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1)",
                [
                    (e.id, file, e.at.timestamp(), e.at.isoformat(), e.user, e.char, e.status, tag, sha, gen)
                    for e, tag, sha in records
                ],
            )

    def kill_exchanges(self, file: str, ids: Iterable[str]) -> None:
        with self.transaction() as db:
            gen = self.next_generation(db)
            db.executemany(
                "UPDATE exchanges SET alive = 0, gen = ? WHERE file = ? AND id = ? AND alive = 1",
                [(gen, file, id_) for id_ in ids],
            )

    def times(self) -> list[tuple[int, float]]:
        """(row, epoch seconds) of all live exchanges in order of time."""
        return self.all("SELECT row, t FROM exchanges WHERE alive = 1 ORDER BY t, row")

    def changed_exchanges(self, after: int) -> list[tuple[int, float, int]]:
        """(row, epoch seconds, alive) of what came or died after a generation."""
        return self.all("SELECT row, t, alive FROM exchanges WHERE gen > ? ORDER BY row", (after,))

    _COLUMNS = "e.row, e.id, e.at, e.user, e.char, e.status, coalesce(nullif(e.tag, ''), n.tag, ''), e.file, e.sha"
    _FROM = "FROM exchanges e LEFT JOIN notes n ON n.id = e.id WHERE e.alive = 1"

    def rows(self, rows: Sequence[int]) -> list[Row]:
        """Live exchanges by row number, in the order asked for."""
        found = {r[0]: _row(r) for part in _parts(rows) for r in self._select("e.row", part)}
        return [found[row] for row in rows if row in found]

    def by_ids(self, ids: Sequence[str]) -> dict[str, Row]:
        return {r[1]: _row(r) for part in _parts(ids) for r in self._select("e.id", part)}

    def of_file(self, file: str) -> dict[str, Row]:
        return {r[1]: _row(r) for r in self._select("e.file", [file])}

    def _select(self, column: str, values: Sequence[object]) -> list[tuple]:
        marks = ",".join("?" * len(values))
        return self.all(f"SELECT {self._COLUMNS} {self._FROM} AND {column} IN ({marks})", values)

    def sides(self, after: int = -1) -> Iterator[Side]:
        """Live exchanges written after a generation, in row order, read in batches."""
        last = -1
        while batch := self.all(
            "SELECT row, t, user, char FROM exchanges WHERE alive = 1 AND gen > ? AND row > ? ORDER BY row LIMIT 2000",
            (after, last),
        ):
            yield from (Side(*values) for values in batch)
            last = batch[-1][0]

    def sides_of(self, rows: Sequence[int]) -> list[Side]:
        marks = ",".join("?" * len(rows))
        sql = f"SELECT row, t, user, char FROM exchanges WHERE alive = 1 AND row IN ({marks}) ORDER BY row"
        return [Side(*values) for values in self.all(sql, rows)]

    def told(self, word: str, before: float, *, last: bool, hidden: Collection[str] = ()) -> float | None:
        """When the user first or last said a word ("": anything), in epoch seconds. Reads until it is found."""
        order = "DESC" if last else "ASC"
        sql = f"SELECT id, t FROM exchanges WHERE alive = 1 AND t <= ? AND instr(lower(user), ?) ORDER BY t {order}"
        with self._lock:
            return next((t for id_, t in self._db.execute(sql, (before, word.lower())) if id_ not in hidden), None)

    def happened_with(self, word: str, before: float, *, hidden: Collection[str] = ()) -> float | None:
        """When the last event happened that a word is part of."""
        sql = (
            "SELECT id, start, data FROM episodes WHERE alive = 1 AND start <= ?"
            " AND instr(lower(json_extract(data, '$.text')), ?) ORDER BY start DESC"
        )
        with self._lock:
            for id_, start, data in self._db.execute(sql, (before, word.lower())):
                if id_ not in hidden and not any(source in hidden for source in json.loads(data)["sources"]):
                    return start
        return None

    def before(self, moment: float, count: int) -> list[Row]:
        """The last ``count`` exchanges before a moment, oldest first."""
        found = self.all(
            f"SELECT {self._COLUMNS} {self._FROM} AND e.t < ? ORDER BY e.t DESC, e.row DESC LIMIT ?", (moment, count)
        )
        return [_row(r) for r in reversed(found)]

    # notes, episodes, facts

    def set_notes(
        self, file: str, notes: Iterable[tuple[str, str, Sequence[str], str]], episodes: Iterable[Episode]
    ) -> None:
        """Replace all that a notes file told: (exchange id, tag, keywords, by) and its episodes."""
        with self.transaction() as db:
            gen = self.next_generation(db)
            db.execute("DELETE FROM notes WHERE file = ?", (file,))
            db.executemany(
                "INSERT OR REPLACE INTO notes VALUES (?, ?, ?, ?, ?)",
                [(id_, file, tag, json.dumps(words, ensure_ascii=False), by) for id_, tag, words, by in notes],
            )
            live = self.all("SELECT row, id, data FROM episodes WHERE file = ? AND alive = 1", (file,))
            known = {(id_, data): row for row, id_, data in live}
            told: dict[str, Episode] = {}
            for episode in episodes:
                told.setdefault(episode.id, episode)  # a hand may have copied one: the first counts
            kept: set[int] = set()
            for episode in told.values():
                data = json.dumps(episode_data(episode), ensure_ascii=False)
                if (row := known.get((episode.id, data))) is not None:
                    kept.add(row)
                else:
                    self._insert_episode(db, file, episode, data, gen)
            gone = [row for row, _, _ in live if row not in kept]
            db.executemany("UPDATE episodes SET alive = 0, gen = ? WHERE row = ?", [(gen, row) for row in gone])
            db.executemany("DELETE FROM episode_sources WHERE row = ?", [(row,) for row in gone])

    def _insert_episode(self, db: sqlite3.Connection, file: str, episode: Episode, data: str, gen: int) -> None:
        start, end = episode.event.happened or (None, None)
        row = db.execute(
            "INSERT INTO episodes (id, file, t, start, end, kind, data, gen, alive) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1)",
            (
                episode.id,
                file,
                episode.since.timestamp(),
                start and start.timestamp(),
                end and end.timestamp(),
                episode.kind,
                data,
                gen,
            ),
        ).lastrowid
        sources = [(source, row) for source in episode.event.sources]
        db.executemany("INSERT OR IGNORE INTO episode_sources VALUES (?, ?)", sources)

    def notes_of(self, ids: Sequence[str]) -> dict[str, tuple[str, tuple[str, ...], str]]:
        """Exchange id → (tag, keywords, by)."""
        found = {}
        for part in _parts(ids):
            marks = ",".join("?" * len(part))
            for id_, tag, words, by in self.all(f"SELECT id, tag, keywords, by FROM notes WHERE id IN ({marks})", part):
                found[id_] = (tag, tuple(json.loads(words)), by)
        return found

    def notes_files(self, ids: Sequence[str]) -> dict[str, str]:
        """Exchange id → the file that its notes stand in."""
        found: dict[str, str] = {}
        for part in _parts(ids):
            marks = ",".join("?" * len(part))
            found.update(self.all(f"SELECT id, file FROM notes WHERE id IN ({marks})", part))
        return found

    def happened(self) -> list[tuple[int, float, float]]:
        """(episode row, start, end) of live episodes whose time is known, by start."""
        return self.all(
            "SELECT row, start, end FROM episodes WHERE alive = 1 AND start IS NOT NULL ORDER BY start, row"
        )

    def episodes(self, rows: Sequence[int]) -> list[Episode]:
        """Live episodes by row number, in the order asked for."""
        found = self.episodes_by_row(rows)
        return [found[row] for row in rows if row in found]

    def episodes_by_row(self, rows: Sequence[int]) -> dict[int, Episode]:
        found = {}
        for part in _parts(rows):
            marks = ",".join("?" * len(part))
            sql = f"SELECT row, id, data FROM episodes WHERE alive = 1 AND row IN ({marks})"
            for row, id_, data in self.all(sql, part):
                found[row] = episode_from(id_, json.loads(data))
        return found

    def changed_episodes(self, after: int) -> list[tuple[int, str, dict | None]]:
        """(row, id, ``episode_data``) of what came after a generation, in row order; None for what died."""
        found = self.all("SELECT row, id, data, alive FROM episodes WHERE gen > ? ORDER BY row", (after,))
        return [(row, id_, json.loads(data) if alive else None) for row, id_, data, alive in found]

    def told_since(self, generation: int) -> bool:
        """Whether an episode came or went after a generation."""
        return bool(self.all("SELECT 1 FROM episodes WHERE gen > ? LIMIT 1", (generation,)))

    def rows_of_episodes(self, ids: Sequence[str]) -> dict[str, int]:
        """Episode id → its row, of live ones."""
        found: dict[str, int] = {}
        for part in _parts(ids):
            marks = ",".join("?" * len(part))
            found.update(self.all(f"SELECT id, row FROM episodes WHERE alive = 1 AND id IN ({marks})", part))
        return found

    def rows_citing(self, ids: Sequence[str]) -> list[int]:
        """Rows of the live episodes that cite one of these exchanges."""
        found: list[int] = []
        for part in _parts(ids):
            marks = ",".join("?" * len(part))
            found += [row for (row,) in self.all(f"SELECT row FROM episode_sources WHERE source IN ({marks})", part)]
        return found

    def files_of_episodes(self, ids: Sequence[str]) -> dict[str, str]:
        """Episode id → the notes file that it stands in."""
        found: dict[str, str] = {}
        for part in _parts(ids):
            marks = ",".join("?" * len(part))
            found.update(self.all(f"SELECT id, file FROM episodes WHERE alive = 1 AND id IN ({marks})", part))
        return found

    def episodes_citing(self, ids: Sequence[str]) -> list[tuple[str, Episode]]:
        """(notes file, episode) of every live episode that cites one of these exchanges."""
        found = {}
        for part in _parts(ids):
            marks = ",".join("?" * len(part))
            sql = (
                f"SELECT DISTINCT e.row, e.file, e.id, e.data FROM episode_sources s JOIN episodes e ON e.row = s.row"
                f" WHERE e.alive = 1 AND s.source IN ({marks})"
            )
            for row, file, id_, data in self.all(sql, part):
                found[row] = (file, episode_from(id_, json.loads(data)))
        return [found[row] for row in sorted(found)]

    def set_facts(self, file: str, facts: Iterable[Fact]) -> None:
        """Replace all that a facts file told."""
        with self.transaction() as db:
            db.execute("DELETE FROM facts WHERE file = ?", (file,))
            self._facts = None
            self.add_facts(file, facts)
            self._facts = None

    def add_facts(self, file: str, facts: Iterable[Fact]) -> None:
        facts = list(facts)
        with self.transaction() as db:
            known = self._facts if self._facts and self._facts[0] == self.facts_generation() else None
            generation = self.next_generation(db)
            db.execute("INSERT OR REPLACE INTO meta VALUES ('facts', ?)", (generation,))
            self._facts = (generation, _in_order([*known[1], *facts])) if known and facts else None
            rows = [(f.id, file, json.dumps(fact_data(f), ensure_ascii=False)) for f in facts]
            db.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?, ?)", rows)

    def facts(self) -> list[Fact]:
        """All facts, oldest first; read again only when some have changed."""
        with self._lock:
            generation = self.facts_generation()
            if self._facts is None or self._facts[0] != generation:
                self._facts = (generation, self._read_facts())
            return list(self._facts[1])

    def facts_generation(self) -> int:
        """The generation in which facts last changed."""
        rows = self.all("SELECT value FROM meta WHERE key = 'facts'")
        return rows[0][0] if rows else 0

    def _read_facts(self) -> list[Fact]:
        facts = [fact_from(id_, json.loads(data)) for id_, data in self.all("SELECT id, data FROM facts")]
        return _in_order(facts)


def _parts(values: Sequence) -> Iterator[Sequence]:
    """SQLite takes a bounded number of parameters."""
    for i in range(0, len(values), 500):
        yield [int(v) if hasattr(v, "item") else v for v in values[i : i + 500]]


def _in_order(facts: Iterable[Fact]) -> list[Fact]:
    return sorted(facts, key=lambda fact: (fact.since, fact.id))


def _row(r: tuple) -> Row:
    return Row(r[0], Exchange(r[1], datetime.fromisoformat(r[2]), r[3], r[4], r[5]), r[6], r[7], r[8])


def episode_data(episode: Episode) -> dict[str, object]:
    event = episode.event
    return {
        "at": episode.at and episode.at.isoformat(), "kind": episode.kind, "by": episode.by, "text": event.text,
        "spo": [event.subject, event.predicate, event.object], "importance": event.importance,
        "keywords": list(event.keywords), "place": event.place, "topic": event.topic, "sources": list(event.sources),
        "happened": [moment.isoformat() for moment in event.happened] if event.happened else None,
        "insight": event.insight, "scene": event.scene, "related": list(event.related),
        "profile": list(astuple(event.profile)), "evidence": list(episode.evidence), "depth": episode.depth,
        "expires": episode.expires.isoformat() if episode.expires else None,
    }  # fmt: skip


def episode_from(id_: str, data: dict) -> Episode:
    happened = data["happened"]
    subject, predicate, object_ = data["spo"]
    event = Event(
        data["text"], tuple(data["sources"]), subject, predicate, object_, importance=data["importance"],
        keywords=tuple(data["keywords"]), place=data["place"], topic=data["topic"],
        happened=(datetime.fromisoformat(happened[0]), datetime.fromisoformat(happened[1])) if happened else None,
        insight=data["insight"], scene=data["scene"], related=tuple(data["related"]),
        profile=ActivationProfile(*data["profile"]),
    )  # fmt: skip
    return Episode(
        id_, _moment(data["at"]), event, data["kind"], data["by"], tuple(data["evidence"]),
        data["depth"], _moment(data["expires"]),
    )  # fmt: skip


def _moment(text: str | None) -> datetime | None:
    return known(datetime.fromisoformat(text)) if text else None


def fact_data(fact: Fact) -> dict[str, object]:
    d = fact.draft
    return {
        "at": fact.at and fact.at.isoformat(), "by": fact.by, "supersedes": list(fact.supersedes), "text": d.text,
        "sources": list(d.sources), "kind": d.kind, "entity": d.entity, "keyword": d.keyword, "target": d.target,
        "polarity": d.polarity, "single": d.single, "generic": d.generic, "consolidated": fact.consolidated,
    }  # fmt: skip


def fact_from(id_: str, data: dict) -> Fact:
    draft = FactDraft(
        data["text"], tuple(data["sources"]), data["kind"], data["entity"], data["keyword"], data["target"],
        data["polarity"], data["single"], data["generic"],
    )  # fmt: skip
    return Fact(id_, _moment(data["at"]), draft, tuple(data["supersedes"]), data["by"], data["consolidated"])
