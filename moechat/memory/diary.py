"""The diary: what was said, word for word, found again by its time and by its meaning.

Documents are the sides of exchanges: number 2 * row + side (0 the user's words, 1 the character's). Rows only grow, so the
indexes grow at their ends; a row that died is taken out of them.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event as Signal
from typing import TypeVar

import numpy as np
from filelock import FileLock, Timeout

from moechat import when
from moechat.clock import local
from moechat.cue import Cue
from moechat.index.cosine import meets
from moechat.index.dense import Dense, Space
from moechat.index.hybrid import Doc, HybridIndex
from moechat.index.time import SpanIndex, TimeIndex
from moechat.index.vector import VectorTable
from moechat.index.vector_keys import text_key
from moechat.language import words
from moechat.memory.relevance import LITERAL_SHARE, Floor
from moechat.model import Candidates, Episode, Exchange, Hit
from moechat.store.exchange_rows import Side
from moechat.store.files import FileStore
from moechat.store.formats import without_notice
from moechat.store.records import Signature
from moechat.turn import exchange_text
from moechat.when import Span

T = TypeVar("T")
MINUTE = timedelta(minutes=1)
SEARCH_DEPTH = 120  # a benchmark reads at least 100 of them
BATCH = 32  # exchanges that are embedded at once
MANY_ROWS = 2000  # so many rows indexed at a start are written at once, so that they are not read again after a kill
ROWS_LOCK = "rows.lock"  # in .index: held while files by row are renamed, written or deleted
SIDES = ("user", "char")
WRITTEN_FIRST = 3  # events of an asked time that no exchange tells of: so many stand before what was said then
IDLE = ("is", "idle")  # generative agents: no event


@dataclass(frozen=True)
class Found:
    """One side of an exchange that a search found. ``inside`` is the asked span that it was told or happened in."""

    hit: Hit
    inside: Span | None
    relevant: bool
    """Whether it passes the floor of what is told unasked."""
    near: bool
    """Whether it is about the same by meaning, or has the words."""


class Diary:
    """The exchanges of one owner. ``sync`` follows the store; searches see what the last ``sync`` saw."""

    def __init__(self, store: FileStore, dense: Dense, *, user_name: str, character_name: str) -> None:
        self._store, self._dense = store, dense
        self._speakers = (user_name, character_name)
        self._lock = threading.RLock()
        self._lexical = store.folder / ".index" / "lexical"
        self._open()

    def _open(self) -> None:
        """Begin with the cache as it is: at the start, and when another process or a hand had it made anew."""
        cache = self._store.cache
        self._identity, self._generation = cache.identity(), cache.generation()
        self._times = TimeIndex(cache.times())
        self._happened = SpanIndex(cache.happened())
        self._hidden: tuple[object, frozenset[int]] = (None, frozenset())
        with self._rows():
            self._own(self._lexical)
            for space in self._dense.spaces:
                self._own(space.folder / "diary", keep_old=True)
                space.table("diary").refresh()
            self._index = HybridIndex(self._lexical, self._dense.table("diary"))
            self._written = self._manifest()
        self._catch_up()

    def _rows(self) -> FileLock:
        """Held while files by row are renamed or written, never while anything is embedded."""
        (self._store.folder / ".index").mkdir(parents=True, exist_ok=True)
        return FileLock(self._store.folder / ".index" / ROWS_LOCK, thread_local=False)

    def _owns(self, folder: Path) -> bool:
        """Whether the rows of an index are those of the cache that we know."""
        with contextlib.suppress(FileNotFoundError):
            return _mark(folder).read_text(encoding="utf-8") == self._identity
        return False

    def _own(self, folder: Path, *, keep_old: bool = False) -> None:
        """Indexes by row belong to one cache. Those of an earlier one go; old vectors stay to be looked up by their text."""
        if folder.exists() and not self._owns(folder):
            if keep_old:
                names = (folder.with_name(f"{folder.name}.old{number}") for number in itertools.count(1))
                folder.rename(next(name for name in names if not name.exists()))
            else:
                shutil.rmtree(folder)
        folder.parent.mkdir(parents=True, exist_ok=True)
        _mark(folder).write_text(self._identity, encoding="utf-8")

    def _manifest(self) -> Signature:
        return Signature.of(self._lexical / "words" / "manifest.json")

    def _write(self) -> None:
        """Write the words' index, unless another process wrote it since we read it: what it lacks is added at a start."""
        with self._rows():
            if self._owns(self._lexical) and self._manifest() == self._written:
                self._index.flush()
                self._written = self._manifest()

    @contextlib.contextmanager
    def erasing(self) -> Iterator[None]:
        """Words go from the record in here; after it nothing of what died is left in their index. Cut short, or failed, the
        index belongs to nobody and is made anew at the next start."""
        with self._rows():
            _mark(self._lexical).unlink(missing_ok=True)
        yield
        with self._lock:
            self.sync()
            self._index.compact()
            with self._rows():
                self._index.flush()
                _mark(self._lexical).write_text(self._identity, encoding="utf-8")
                self._written = self._manifest()

    # ---- following the store

    def sync(self) -> None:
        """Take in rows that came or died since the last call."""
        with self._lock:
            if self._store.cache.identity() != self._identity:
                self._open()
                return
            generation = self._store.cache.generation()
            if generation == self._generation:
                return
            dead = []
            for row, moment, alive in self._store.cache.changed_exchanges(self._generation):
                self._times.remove(row, moment)
                if alive:
                    self._times.add(row, moment)
                else:
                    dead += [2 * row, 2 * row + 1]
            if self._store.cache.episodes_changed(self._generation):  # of 20,000 episodes it takes some 20 ms
                self._happened = SpanIndex(self._store.cache.happened())
            self._index.remove(dead)
            self._catch_up(after=self._generation)
            self._generation = generation

    def _catch_up(self, after: int | None = None) -> None:
        """Index the rows that the words' index does not have: those of newer generations, or all that are missing.

        A process that was killed leaves the index as it was last written: rows that died since are still in it.
        """
        rows: Iterable[Side]
        lacking: set[int] = set()
        if after is None:
            alive, indexed = set(self._times.keys()), set((self._index.documents() // 2).tolist())
            self._index.remove(2 * row + i for row in sorted(indexed - alive) for i in (0, 1))
            lacking = alive - indexed
            rows = itertools.chain.from_iterable(map(self._store.cache.sides_of, batched(sorted(lacking), 500)))
        else:
            rows = self._store.cache.sides(after=after)
        for batch in batched(rows, 500):
            self._index.add([doc for side in batch for doc in self._docs(side)])
        if len(lacking) > MANY_ROWS:
            self._write()

    def _docs(self, side: Side) -> list[Doc]:
        texts = (side.user, without_notice(side.char))
        at = local(datetime.fromtimestamp(side.t, UTC), self._store.zone)
        return [
            Doc(2 * side.row + i, side.t, self._speakers[i], text, _told_of(text, at))
            for i, text in enumerate(texts)
            if text
        ]

    # ---- vectors

    def embed_missing(self, stop: Signal, limit: int = 0, progress: Callable[[int], None] = lambda _: None) -> int:
        """Embed what has no vector yet, the newest first, in every space that needs it.

        ``limit`` bounds the exchanges that are looked at (0: all). Returns how many were. Raises EmbeddingError.
        """
        return sum(self._fill(space, stop, limit, progress) for space in list(self._dense.spaces))

    def _fill(self, space: Space, stop: Signal, limit: int, progress: Callable[[int], None]) -> int:
        """One process at a time makes the vectors of a space; in the background (``limit``) nobody waits for another."""
        space.folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(space.folder / "fill.lock", timeout=0 if limit else -1, thread_local=False)
        with contextlib.suppress(Timeout), lock:
            return self._fill_alone(space, stop, limit, progress)
        return 0

    def _fill_alone(self, space: Space, stop: Signal, limit: int, progress: Callable[[int], None]) -> int:
        table, done = space.table("diary"), 0
        with self._rows():
            if not self._owns(space.folder / "diary"):  # made anew by another process: the next turn follows it
                return 0
            table.refresh()
        lacking = self._lacking(table)
        folders = sorted(space.folder.glob("diary.old*"))
        known = [table, *(VectorTable(folder, table.dim) for folder in folders)]
        for batch in batched(lacking[: limit or None], BATCH):
            if stop.is_set() or not self._embed(space, known, self._store.cache.sides_of(batch)):
                break
            done += len(batch)
            progress(done)
        for old, folder in zip(known[1:], folders, strict=True):
            old.close()
            if done == len(lacking):
                shutil.rmtree(folder, ignore_errors=True)
        return done

    def _lacking(self, table: VectorTable) -> list[int]:
        """Rows of exchanges that have no vector, newest first."""
        with self._lock:
            rows = np.array(self._times.keys()[::-1], dtype=np.int64)
        lacking: list[int] = rows[~(table.held(2 * rows) & table.held(2 * rows + 1))].tolist()
        return lacking

    def _embed(self, space: Space, known: Sequence[VectorTable], batch: Sequence[Side]) -> bool:
        """Store the vectors of a batch in the first of the ``known`` tables; False where its rows are no longer ours."""
        texts = [text for side in batch for text in (side.user, without_notice(side.char))]
        positions = np.array([2 * side.row + i for side in batch for i in (0, 1)])
        keys = [text_key(text) for text in texts]
        vectors = np.zeros((len(texts), known[0].dim), dtype=np.float32)
        unknown = np.ones(len(texts), dtype=bool)
        for table in known:
            places = table.lookup(keys)
            found = unknown & (places >= 0)
            vectors[found] = table.get(places[found])
            unknown &= ~found
        new = np.flatnonzero(unknown)
        if once := {keys[i]: texts[i] for i in new}:  # 好的 is said often
            made = dict(zip(once, space.embedder.embed(list(once.values())), strict=True))
            vectors[new] = [made[keys[i]] for i in new]
        with self._rows():
            if ours := self._owns(space.folder / "diary"):
                known[0].put(positions, keys, vectors)
        return ours

    def missing(self, space: Space) -> int:
        """How many exchanges have no vector in this space."""
        return len(self._lacking(space.table("diary")))

    def reopen_vectors(self) -> None:
        """Another embedding model serves from now on."""
        with self._lock:
            self._index.vectors = self._dense.table("diary")

    # ---- recall

    def by_time(self, cue: Cue, *, threshold: float, check: bool) -> Candidates:
        """What was told in the spans that are asked for, or happened in them; a span that dates a remark recalls nothing.

        Ranked by relevance, so that a long span gives its best; the prompt shows it in order of time. ``check`` filters by
        meaning as well (``is_check_memorys``, ``mem_thresholds``).
        """
        if not asked_spans(cue):
            return []
        found = [one for one in self._found(cue, threshold) if one.inside is not None]
        said: Candidates = [
            (replace(one.hit, recipe="by_time", span=one.inside), "below_threshold" if check and not one.near else "")
            for one in found
        ]
        written = self._untold(cue, check=check)
        return [*written[:WRITTEN_FIRST], *said, *written[WRITTEN_FIRST:]]

    def _untold(self, cue: Cue, *, check: bool) -> Candidates:
        """Events in the asked spans that no exchange tells of (written by hand, imported), what matters most first."""
        events: dict[str, tuple[Episode, Span]] = {}
        for span, happened in self._happening(cue).items():
            seen = [one for one in happened if one.kind == "event" and (one.event.predicate, one.event.object) != IDLE]
            said = self._store.exchanges(list({source for one in seen for source in one.event.sources}))
            for one in seen:
                if said.keys().isdisjoint(one.event.sources):
                    events.setdefault(one.id, (one, span))
        best = sorted(events.values(), key=lambda pair: -pair[0].event.importance)[:SEARCH_DEPTH]
        found: Candidates = []
        for one, span in best:
            shared = sorted(set(cue.words).intersection(words.tokens(one.event.text)))
            hit = Hit(
                "diary", "by_time", one.id, one.event.text, 0.0, one.at, words=tuple(shared), span=span, kind="event"
            )
            found.append((hit, "below_threshold" if check and not shared else ""))
        return found

    def events(self, cue: Cue, *, threshold: float) -> Candidates:
        """The diary by meaning and words. What lies outside an asked span stays in the ranking and enters no prompt."""
        candidates: Candidates = []
        restricted = bool(asked_spans(cue))
        for one in self._found(cue, threshold):
            outside = restricted and one.inside is None
            candidates.append((one.hit, "outside_span" if outside else "" if one.relevant else "below_threshold"))
        return candidates

    def _found(self, cue: Cue, threshold: float) -> list[Found]:
        """One search a cue, shared by the recipes of the diary."""
        return cue.once(f"diary {threshold}", lambda: self._search(cue, threshold))

    def _search(self, cue: Cue, threshold: float) -> list[Found]:
        spans = asked_spans(cue)
        happened = self._tellers(self._happening(cue))
        hints = [span for span in cue.spans if span not in spans]
        with self._lock:
            ranked = self._index.search(
                cue.text, self._vector(cue), k=SEARCH_DEPTH, spans=_ends(spans), hints=_ends(hints),
                hidden=self._hidden_documents(),
            )  # fmt: skip
        ranks = list(ranked.each())
        more = {2 * row for row in happened}.difference(doc for doc, *_ in ranks)
        ranks += [(doc, 0.0, {}, []) for doc in sorted(more)]
        rows = {row.row: row for row in self._store.cache.rows(list(dict.fromkeys(doc // 2 for doc, *_ in ranks)))}
        found: list[Found] = self._unfiled(cue, spans)
        floor = Floor.of(cue.text, self._index, threshold)
        hidden = self._store.hidden()
        corrected = {node.id for node in self._store.tree.unfiled()}  # the day file cannot be written: it has old words
        for doc, score, features, shared in ranks:
            if (row := rows.get(doc // 2)) is None or row.exchange.id in hidden or row.exchange.id in corrected:
                continue
            hit = _hit(row.exchange, doc % 2, score, features, shared)
            inside = next((s for s in spans if s.covers(row.exchange.at)), None) or happened.get(doc // 2)
            if inside is None and features.get("inside"):
                inside = spans[0]  # its words tell of that time
            found.append(Found(hit, inside, floor.passes(features), floor.near(features)))
        return sorted(found, key=lambda one: one.inside is None)

    def _vector(self, cue: Cue) -> np.ndarray | None:
        """The question's vector without the names of those who talk here: a name in a short text drowns its meaning."""
        bare = self._index.without_names(cue.text)
        if bare == cue.text or cue.embed is None:
            return cue.vector
        vectors = cue.once("vector without names", lambda: cue.embed([bare]))  # type: ignore[misc]
        return None if vectors is None else vectors[0]

    def _tellers(self, happening: Mapping[Span, Sequence[Episode]]) -> dict[int, Span]:
        """Rows of exchanges that tell of something that happened in a span."""
        rows: dict[int, Span] = {}
        for span, happened in happening.items():
            ids = list(dict.fromkeys(source for one in happened for source in one.event.sources))
            for row in self._store.cache.by_ids(ids).values():
                rows.setdefault(row.row, span)
        return rows

    def _happening(self, cue: Cue) -> Mapping[Span, Sequence[Episode]]:
        """What happened in the spans that are asked for."""
        return cue.once("happening", lambda: {span: self._happened_during(span) for span in asked_spans(cue)})

    def _happened_during(self, span: Span) -> list[Episode]:
        """What happened in one span and may be recalled."""
        hidden = self._store.hidden()
        episodes = self._store.cache.episodes(self._happened.meeting(span.start.timestamp(), span.end.timestamp()))
        return [one for one in episodes if one.id not in hidden and hidden.isdisjoint(one.event.sources)]

    def _hidden_documents(self) -> frozenset[int]:
        hidden = self._store.hidden()
        key = (self._generation, frozenset(hidden))
        if self._hidden[0] != key:
            rows = [row.row for row in self._store.cache.by_ids(sorted(hidden)).values()]
            self._hidden = (key, frozenset(doc for row in rows for doc in (2 * row, 2 * row + 1)))
        return self._hidden[1]

    def _unfiled(self, cue: Cue, spans: Sequence[Span]) -> list[Found]:
        """What stands in the log alone (not settled yet, or its day file is broken) is recalled word for word as well."""
        tree, hidden = self._store.tree, self._store.hidden()
        asked = set(cue.words)
        found = []
        for node in {node.id: node for node in [*tree.open(), *tree.unfiled()]}.values():
            exchange = node.exchange()
            if node.id in hidden or not node.variants:
                continue
            for side, text in enumerate((exchange.user, exchange.char)):
                shared = sorted(asked.intersection(words.tokens(text)))
                share = len(shared) / len(asked) if asked else 0.0
                inside = next((span for span in spans if span.covers(exchange.at)), None)
                if share or inside:
                    hit = _hit(exchange, side, share, {"share": share}, shared)
                    found.append(Found(hit, inside, share >= LITERAL_SHARE, share >= LITERAL_SHARE))
        return sorted(found, key=lambda one: -one.hit.score)

    def day(self, span: Span) -> list[Exchange]:
        """Everything that was told in a span, in order of time."""
        with self._lock:
            rows = self._times.between(span.start.timestamp(), span.end.timestamp()).tolist()
        hidden = self._hidden_documents()
        return [row.exchange for row in self._store.cache.rows([row for row in rows if 2 * row not in hidden])]

    def filtered(self, span: Span, vector: np.ndarray, threshold: float) -> np.ndarray:
        """Rows of a span whose user's or character's words are near ``vector`` (seed 003's semantic filter), by time."""
        with self._lock:
            rows = self._times.between(span.start.timestamp(), span.end.timestamp())
        table = self._dense.table("diary")
        if table is None or not len(rows):
            return rows
        docs = np.stack([2 * rows, 2 * rows + 1], axis=1).ravel()
        nearest = table.dot(docs, vector).reshape(-1, 2).max(axis=1)
        return rows[meets(nearest, threshold)]

    def empty_spans(self, cue: Cue) -> list[Span]:
        """Spans that are asked for and hold no record."""
        if not cue.asks_time:
            return []
        nodes, hidden = [*self._store.tree.open(), *self._store.tree.unfiled()], self._store.hidden()
        unfiled = [node.exchange().at for node in nodes if node.variants and node.id not in hidden]
        return [span for span in cue.spans if not self._has(span) and not any(map(span.covers, unfiled))]

    def _has(self, span: Span) -> bool:
        with self._lock:
            told = self._times.between(span.start.timestamp(), span.end.timestamp()).tolist()
        hidden = self._hidden_documents()
        return any(2 * row not in hidden for row in told) or bool(self._tellers({span: self._happened_during(span)}))

    def widen(self, hits: Sequence[Hit]) -> list[Hit]:
        """Diary hits with the text of their whole exchange; episodes and others as they are."""
        exchanges = self._store.exchanges([hit.id for hit in hits if hit.layer == "diary" and not hit.kind])
        user, char = self._speakers
        return [
            replace(hit, text=exchange_text(exchanges[hit.id], user, char)) if hit.id in exchanges else hit
            for hit in hits
        ]

    def unlogged(self, before: datetime | None, count: int) -> list[Exchange]:
        """The last exchanges of the day files before a moment (None: of all) that have no log entry, oldest first."""
        moment = before.timestamp() if before else math.inf
        rows = self._store.cache.before(moment, count)
        return [row.exchange for row in rows if row.exchange.id not in self._store.tree]

    def differences(self) -> list[str]:
        """Where the indexes do not hold what the cache holds, in words."""
        with self._lock:
            rows = {side.row: side for side in self._store.cache.sides()}
            docs = {2 * row + i for row, side in rows.items() for i, text in enumerate((side.user, side.char)) if text}
            indexed = set(self._index.documents().tolist())
            found = []
            if indexed != docs:
                found.append(
                    f"the words' index lacks {len(docs - indexed)} and has {len(indexed - docs)} too many; rebuild"
                )
            if sorted(self._times.keys()) != sorted(rows):
                found.append("the time index differs from the cache; rebuild")
        return found

    def close(self) -> None:
        self._write()


def _mark(folder: Path) -> Path:
    """The file that says which cache the rows of an index belong to."""
    return folder.with_name(f"{folder.name}.rows")


def asked_spans(cue: Cue) -> list[Span]:
    """The spans that what is recalled must lie in.

    A time that only dates a remark is none, and neither is a vague stretch up to now (最近, recently) in a question that
    is about something: there it only hints.
    """
    if not cue.asks_time:
        return []
    vague = [span for span in cue.spans if span.granularity == "range" and abs(span.end - cue.now) < MINUTE]
    if not vague or len(cue.spans) > len(vague):
        return [span for span in cue.spans if span not in vague]
    rest = cue.text
    for span in vague:
        rest = rest.replace(span.phrase, " ")
    return [] if len(set(words.keywords(rest))) > 1 else vague


def _ends(spans: Sequence[Span]) -> list[tuple[float, float]]:
    return [(span.start.timestamp(), span.end.timestamp()) for span in spans]


def _told_of(text: str, at: datetime) -> tuple[float, float] | None:
    """The first time that a text names, as it was meant when it was said."""
    spans = when.resolve(text, at, use="writing")
    return _ends(spans[:1])[0] if spans else None


def batched(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Lists of ``size`` items (itertools has it from Python 3.12 on)."""
    batch: list[T] = []
    for item in items:
        batch.append(item)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


def _hit(exchange: Exchange, side: int, score: float, features: dict[str, float], shared: Sequence[str]) -> Hit:
    text = (exchange.user, without_notice(exchange.char))[side]
    return Hit(
        "diary", "events", exchange.id, text, score, exchange.at, (exchange.id,), features, tuple(shared),
        side=SIDES[side],  # type: ignore[arg-type]
    )  # fmt: skip
