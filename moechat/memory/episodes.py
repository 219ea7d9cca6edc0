"""The episodes of one owner in memory: what happened and what was thought about it, as arrays that every recipe reads.

The files are the truth; this follows the cache of them by generation, and the official episodes of the character's author
beside it. An ``EpisodeView`` is what may be recalled at one moment: no episode of another branch, none that rests on words taken
back, none archived or expired.
"""

from __future__ import annotations

import threading
from array import array
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from weakref import WeakKeyDictionary

import numpy as np

from moechat.index.dense import Dense, TextVectors
from moechat.index.hybrid import happened_in
from moechat.index.vector_rows import PackedKeys, pack_keys, text_key
from moechat.index.vectors import VectorTable, meets
from moechat.language import words
from moechat.model import ActivationProfile, Episode
from moechat.store.kinds import Store

TABLE = "episodes"  # This table has their vectors, by text.
MATTERS = 0.4  # The overview holds nothing less important.
FADES = timedelta(days=180)
NO_VECTOR = -1
HIDDEN = -1  # This stands for the place of an episode that is not in view.
NO_ROW = -1  # The author's episodes have no row of the cache, nor have those of an earlier cache.
Told = tuple[str, Sequence[str], ActivationProfile, datetime | None]
"""The topic of an episode, those that it names as related, its profile, and when it was told."""
Official = Callable[[], tuple[int, Sequence[Episode]]]
"""(generation, the author's episodes)"""


@dataclass(frozen=True)
class EpisodeView:
    """The ``n`` episodes that may be recalled, in the order in which they were told, then written. Times in epoch
    seconds, ``accessed`` that of the last use or of birth; ``importance`` 0..1."""

    positions: np.ndarray
    since: np.ndarray
    accessed: np.ndarray
    importance: np.ndarray
    reflection: np.ndarray
    happened: np.ndarray  # (n, 2) first and last moment, nan where nobody knows
    authored: np.ndarray
    _place_of: np.ndarray  # by position, HIDDEN where it is not in view
    _vectors: np.ndarray
    _table: VectorTable | None
    _all: Episodes

    def __len__(self) -> int:
        return len(self.positions)

    @property
    def ids(self) -> list[str]:
        return [self._all.ids[position] for position in self.positions.tolist()]

    def relevance(self, vector: np.ndarray | None) -> np.ndarray:
        """(n,) float64: the cosine of each with ``vector`` (dim,), 0 where either has none."""
        scores = np.zeros(len(self))
        having = np.flatnonzero(self._vectors >= 0)
        if vector is not None and self._table is not None and len(having):
            scores[having] = np.maximum(self._table.dot(self._vectors[having], vector), 0.0)
        return scores

    def each(self, places: Sequence[int]) -> list[tuple[int, Episode]]:
        """(place, episode) of those at these places of the view (0..n-1), in that order; one that has been replaced since
        the last ``sync`` is left out."""
        positions = self.positions[list(places)].tolist()
        episodes = self._all.by_position(positions)
        return [(place, episodes[p]) for place, p in zip(places, positions, strict=True) if p in episodes]

    def episodes(self, places: Sequence[int]) -> list[Episode]:
        """Those at these places, as ``each`` has them."""
        return [episode for _, episode in self.each(places)]

    def having(self, ids: Iterable[str]) -> list[Episode]:
        """Those of these that are in view, in the order of ``ids``."""
        positions = [position for position in map(self._all.place_by_id.get, ids) if position is not None]
        return self._all.at([p for p in positions if p < len(self._place_of) and self._place_of[p] != HIDDEN])

    def during(self, start: datetime, end: datetime) -> list[Episode]:
        """What happened between these, the earliest first; what the author wrote however wide it is."""
        first, last = self.happened.T
        places = np.flatnonzero(happened_in(first, last, (start.timestamp(), end.timestamp()), self.authored))
        return self.episodes(places[np.lexsort((places, last[places], first[places]))].tolist())

    def plans(self, after: datetime, before: datetime, besides: Collection[str] = ()) -> list[Episode]:
        """What is planned, promised or has begun for a time between these (without one: was told then), and nothing in view
        has closed, the earliest told first; ``besides`` are ids of others."""
        positions = [p for p in self._all.planned(after, before) if self._all.ids[p] not in besides]
        return self.episodes(sorted(self._in_view(positions).tolist()))

    def citing(self, exchanges: Iterable[str]) -> np.ndarray:
        """(n,) bool: which rest on one of these exchanges."""
        cited = np.zeros(len(self), dtype=bool)
        cited[self._in_view([position for id_ in exchanges for position in self._all.by_source.get(id_, ())])] = True
        return cited

    def repeats(self, episode: Episode) -> np.ndarray:
        """The places of what happened and is told in the same words as an episode, the earliest told first."""
        return np.flatnonzero(self._all.same_words(episode.event.text)[self.positions])

    def by_keyword(self, words: Collection[str]) -> dict[int, list[str]]:
        """Places of the view whose keywords, subject or object are one of ``words``, and which; case is folded."""
        shared: dict[int, list[str]] = {}
        for word in words:
            for place in self.with_keyword(word).tolist():
                shared.setdefault(place, []).append(word)
        return shared

    def with_keyword(self, word: str) -> np.ndarray:
        """Places of the view that have a word among keywords, subject and object."""
        return self._in_view(self._all.with_keyword(word))

    def places(self, positions: Sequence[int] | np.ndarray) -> np.ndarray:
        """Where each of these stands in the view, HIDDEN where it does not."""
        numbers = np.asarray(positions, dtype=np.int64)
        places = np.full(len(numbers), HIDDEN)
        is_known = numbers < len(self._place_of)
        places[is_known] = self._place_of[numbers[is_known]]
        return places

    def _in_view(self, positions: Sequence[int]) -> np.ndarray:
        """The places of those of ``positions`` that are in view."""
        places = self.places(positions)
        in_view: np.ndarray = places[places != HIDDEN]
        return in_view


class _Concealed:
    """By position, how many of what is hidden conceal an episode: itself, or exchanges that it rests on. What is hidden is
    followed by what has changed of it, since the archive of years is large."""

    def __init__(self) -> None:
        self.counts = array("i")
        self._hidden: frozenset[str] = frozenset()

    def add(self, ids: Collection[str]) -> None:
        """Another episode, which each of these conceals where it is hidden."""
        self.counts.append(sum(id_ in self._hidden for id_ in ids))

    def follow(self, hidden: frozenset[str], concealed_by: Callable[[str], Collection[int]]) -> None:
        before, self._hidden = self._hidden, hidden
        for ids, step in ((hidden - before, 1), (before - hidden, -1)):
            for position in (position for id_ in ids for position in concealed_by(id_) if position != HIDDEN):
                self.counts[position] += step


class Episodes:
    """``sync`` follows the store and the author's files; a view shows what the last ``sync`` saw.

    It has more than twenty methods because each column of the episodes is kept up to date by one of its own.
    """

    def __init__(self, store: Store, dense: Dense, official: Official = lambda: (0, ())) -> None:
        self._store, self._dense, self._official = store, dense, official
        self.vectors = TextVectors(dense, TABLE, self._lacking, self._texts, store.contained)
        self._lock = threading.RLock()
        self._identity, self._generation, self._authored_at = "", -1, -1
        self.ids: list[str] = []  # by position, as are the next
        self.rows: list[int] = []
        self.told: list[Told] = []
        self._keys = bytearray()  # of their texts, packed
        # By seven: since, expires, importance, is a reflection, happened from and to, is the author's.
        self._times = array("d")
        self._alive = bytearray()
        self._concealed = _Concealed()
        self.place_by_id: dict[str, int] = {}
        self._of_row: dict[int, int] = {}
        self._authored: dict[int, Episode] = {}
        self.by_source: dict[str, list[int]] = {}
        self._keywords: dict[str, array[int]] = {}
        self._planned: dict[int, tuple[datetime, datetime]] = {}
        self._delicate: dict[int, tuple[str, Sequence[str], str]] = {}  # id, sources, text
        self._columns: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None
        self._vectors: WeakKeyDictionary[VectorTable, tuple[int, np.ndarray]] = WeakKeyDictionary()
        """By table: its losses, and where the vector of each episode stood then."""
        self._view: tuple[object, float, float, EpisodeView] | None = None
        self._uses: tuple[list[str], int] = ([], 0)  # the state's list of uses, and how far it was read
        self._used = array("d")  # when last, -inf where never
        self._used_since = False  # the view was made
        self.changes = 0
        """Grows with every episode that comes or goes."""

    # ---- following

    def sync(self) -> None:
        """Take in episodes that came or went since the last call."""
        with self._lock:
            identity, generation = self._store.moment
            if identity != self._identity:  # made anew: every row has another number
                for row in list(self._of_row):
                    self.rows[self._of_row[row]] = NO_ROW
                    self._drop(self._of_row.pop(row))
                self._identity, self._generation = identity, -1
            if generation != self._generation:
                for row, _, episode in self._store.findings.changed(self._generation):
                    self._drop(self._of_row.pop(row, None))
                    if episode is not None:
                        self._of_row[row] = self._add(episode, row)
                self._generation = generation
            authored_at, episodes = self._official()
            if authored_at != self._authored_at:
                for position in list(self._authored):
                    self._drop(position)
                self._authored.clear()
                for episode in episodes:
                    self._authored[self._add(episode, NO_ROW)] = episode
                self._authored_at = authored_at

    def _add(self, episode: Episode, row: int) -> int:
        position, event = len(self.ids), episode.event
        used = self._store.state.recalled(episode.id)
        self._used.append(used.timestamp() if used else -np.inf)
        expires = episode.expires.timestamp() if episode.expires else np.inf
        born = episode.at.timestamp() if episode.at else 0.0
        self.ids.append(episode.id)
        self.rows.append(row)
        self._keys += text_key(event.text)
        # What the author wrote of a time happened then, where nothing else is said.
        at = event.happened or ((episode.at, episode.at) if row == NO_ROW and episode.at else None)
        ends = (at[0].timestamp(), at[1].timestamp()) if at else (np.nan, np.nan)
        is_reflection = episode.kind == "reflection"
        self._times.extend((born, expires, event.importance, is_reflection, *ends, row == NO_ROW))
        self._alive.append((event.predicate, event.object) != ("is", "idle"))  # generative agents: idle is no event
        self._concealed.add({episode.id, *event.sources})
        self.place_by_id[episode.id] = position
        for source in event.sources:
            self.by_source.setdefault(source, []).append(position)
        for word in {word.casefold() for word in [*event.keywords, event.subject, event.object] if word}:
            self._keywords.setdefault(word, array("q")).append(position)
        if event.is_ahead:
            self._planned[position] = event.happened or (episode.since, episode.since)
        if event.mark == "delicate":
            self._delicate[position] = (episode.id, event.sources, event.text)
        self.told.append((event.topic, event.related, event.profile, episode.at))
        self._changed()
        return position

    def _drop(self, position: int | None) -> None:
        if position is not None:
            self._alive[position] = False
            self._planned.pop(position, None)
            self._delicate.pop(position, None)
            if self.place_by_id.get(self.ids[position]) == position:
                del self.place_by_id[self.ids[position]]
            self._changed()

    def _changed(self) -> None:
        self._columns, self._view = None, None
        self.changes += 1

    def keys(self) -> PackedKeys:
        """Those of the vectors of all episodes."""
        self.sync()
        with self._lock:
            living: PackedKeys = self._arrays()[2][self.living()]
            return living

    def same_words(self, text: str) -> np.ndarray:
        """(n,) bool by position: which are told in just these words, plans aside."""
        with self._lock:
            same: np.ndarray = np.all(self._arrays()[2] == pack_keys([text_key(text)]), axis=1)
            return same & ~np.isin(np.arange(len(same)), [*self._planned])

    def _lacking(self, table: VectorTable) -> list[int]:
        """The positions of live episodes whose text has no vector, the newest first."""
        with self._lock:
            places = self._vector_places(table)
            lacking: list[int] = np.flatnonzero(self.living() & (places == NO_VECTOR))[::-1].tolist()
            return lacking

    def _texts(self, positions: Sequence[int]) -> list[str]:
        there = self.by_position(positions)
        return [there[position].event.text if position in there else "" for position in positions]

    # ---- reading

    def view(self, now: datetime) -> EpisodeView:
        """What may be recalled at ``now``."""
        hidden = frozenset(self._store.hidden())
        table = self._dense.table(TABLE)
        moment = now.timestamp()
        with self._lock:
            self._follow_uses()
            key = (self.changes, hidden, self._store.findings.superseded(hidden), table, table and len(table))
            if self._view is None or self._view[0] != key or not self._view[1] <= moment < self._view[2]:
                self._view = (key, *self._seen(hidden, moment))
            elif self._used_since:
                since, until, view = self._view[1:]
                self._view = (key, since, until, replace(view, accessed=self._accessed(view.positions, view.since)))
            self._used_since = False
            return self._view[3]

    def _seen(self, hidden: frozenset[str], moment: float) -> tuple[float, float, EpisodeView]:
        """The view at a moment, and from when until when it holds (the expiries around the moment)."""
        columns, order, _ = self._arrays()
        spoken_at, expires, importance, reflection, _, _, authored = columns.T
        self._concealed.follow(hidden, lambda id_: {*self.by_source.get(id_, ()), self.place_by_id.get(id_, HIDDEN)})
        keep = self.living() & (np.array(self._concealed.counts) == 0)
        for id_ in self._store.findings.superseded(hidden):
            if id_ in self.place_by_id:
                keep[self.place_by_id[id_]] = False
        since = float(expires[keep & (expires <= moment)].max(initial=-np.inf))
        keep &= expires > moment
        until = float(expires[keep].min(initial=np.inf))
        positions = order[keep[order]]
        place_of = np.full(len(keep), HIDDEN)
        place_of[positions] = np.arange(len(positions))
        born = spoken_at[positions]
        table = self._dense.table(TABLE)
        view = EpisodeView(
            positions, born, self._accessed(positions, born), importance[positions], reflection[positions] > 0,
            columns[positions, 4:6], authored[positions] > 0, place_of, self._vector_places(table)[positions], table, self,
        )  # fmt: skip
        return since, until, view

    def _accessed(self, positions: np.ndarray, born: np.ndarray) -> np.ndarray:
        accessed: np.ndarray = np.maximum(born, np.array(self._used)[positions])
        return accessed

    def _follow_uses(self) -> None:
        """Take in which episodes were used since the last call."""
        uses = self._store.state.uses
        if uses is not self._uses[0]:
            self._uses, self._used, self._used_since = (uses, 0), array("d", [-np.inf] * len(self.ids)), True
        start, self._uses = self._uses[1], (uses, len(uses))
        for id_ in uses[start:]:
            if (position := self.place_by_id.get(id_)) is not None and (at := self._store.state.recalled(id_)):
                self._used[position] = at.timestamp()
                self._used_since = True

    def _arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(n, 7) float64 of ``_times``; the positions in the order of telling (a cache that is made anew, or an exchange that
        is understood anew, writes in another); the packed keys of the texts."""
        if self._columns is None:
            columns = np.array(self._times).reshape(-1, 7)
            self._columns = (columns, np.argsort(columns[:, 0], kind="stable"), pack_keys([bytes(self._keys)]))
        return self._columns

    def living(self) -> np.ndarray:
        """(n,) bool by position: which are there."""
        return np.array(self._alive, dtype=bool)

    def _vector_places(self, table: VectorTable | None) -> np.ndarray:
        """Where in ``table`` the vector of each episode stands, NO_VECTOR where it has none. Only what had none before, or
        has lost it, is looked up."""
        places = np.full(len(self.ids), NO_VECTOR)
        if table is None or not self.ids:
            return places
        keys = self._arrays()[2]
        losses, before = self._vectors.get(table, (table.losses, places[:0]))
        places[: len(before)] = before
        if losses != table.losses:
            losses, held = table.losses, np.flatnonzero(places != NO_VECTOR)
            lost = table.missing(places[held], keys[held])
            places[np.isin(places, lost)] = NO_VECTOR
        lacking = np.flatnonzero(self.living() & (places == NO_VECTOR))
        places[lacking] = table.lookup(keys[lacking])
        self._vectors[table] = (losses, places)
        return places

    def with_keyword(self, word: str) -> Sequence[int]:
        having = self._keywords.get(word.casefold())
        return having[:] if having else ()  # An array cannot grow while numpy reads it: the background may add to it.

    def by_position(self, positions: Sequence[int]) -> dict[int, Episode]:
        """Episodes by position; those that have been replaced since the last ``sync`` are left out."""
        rows = {position: self.rows[position] for position in positions}
        cached = self._store.findings.by_row([row for row in rows.values() if row != NO_ROW])
        episodes = {p: self._authored.get(p) if row == NO_ROW else cached.get(row) for p, row in rows.items()}
        return {position: episode for position, episode in episodes.items() if episode is not None}

    def told_of(self, matter: str, besides: Iterable[str] = ()) -> bool:
        """Whether this memory tells of something, by keyword, subject or object, in other exchanges than ``besides``."""
        own = {position for exchange in besides for position in self.by_source.get(exchange, ())}
        return any(self._alive[position] and position not in own for position in self.with_keyword(matter))

    def planned(self, after: datetime, before: datetime) -> list[int]:
        """Positions of what is planned, promised or has begun, for a time between these."""
        with self._lock:
            return [p for p, (start, end) in self._planned.items() if start <= before and end >= after]

    def delicate(self) -> list[tuple[str, Sequence[str], str]]:
        """(id, sources, text) of what is delicate."""
        with self._lock:
            return list(self._delicate.values())

    def at(self, positions: Sequence[int]) -> list[Episode]:
        """Episodes by their positions, in that order."""
        return list(self.by_position(positions).values())

    def get(self, ids: Iterable[str]) -> dict[str, Episode]:
        """Live episodes by id, whether or not they may be recalled now."""
        with self._lock:
            positions = [self.place_by_id[id_] for id_ in ids if id_ in self.place_by_id]
        return {episode.id: episode for episode in self.at(positions)}


def is_held_back(episode: Episode) -> bool:
    """Whether it is raised by nothing of every day: what is delicate, and what is in doubt (care excepted)."""
    event = episode.event
    return event.mark == "delicate" or (episode.confirmed is False and event.mark != "care")


def overview(
    episodes: Episodes, now: datetime, in_context: Collection[str], capacity: int, moving: Sequence[str] = ()
) -> list[Episode]:
    """The overview (前情提要; seed 004, 1.2 and 四 a): the ``capacity`` events that matter most by now and have left the context,
    oldest first. What an event matters halves in ``FADES``; of equal ones the newest stand there, the same words once, last.
    ``moving`` are ids of what moves the user's life, the weightiest first: they stand there before all others.

    No exchange of theirs is ``in_context``, and but for what is ``moving`` none is held back, nor what rules made of an exchange
    that told of something delicate. It follows from the episodes and the context, on every branch.
    """
    view = episodes.view(now)
    if not capacity or not len(view):
        return []
    is_outside = ~view.citing(in_context)
    first = view.places([episodes.place_by_id[id_] for id_ in moving if id_ in episodes.place_by_id])
    first = first[(first != HIDDEN) & is_outside[first]]
    places = np.flatnonzero(~view.reflection & is_outside & meets(view.importance, MATTERS))[::-1]
    ages = np.maximum(now.timestamp() - view.since[places], 0) / FADES.total_seconds()
    places = places[np.argsort(-view.importance[places] * 0.5**ages, kind="stable")]
    places = np.concatenate([first, places[~np.isin(places, first)]])
    told_pain = {source for _, sources, _ in episodes.delicate() for source in sources}

    def fits(episode: Episode) -> bool:
        repeats_pain = episode.by == "rules" and not told_pain.isdisjoint(episode.event.sources)
        return episode.id in moving or not (episode.by == "author" or is_held_back(episode) or repeats_pain)

    queue: dict[str, tuple[int, Episode]] = {}
    for start in range(0, len(places), capacity):  # as a rule the first batch is enough
        for place, episode in view.each(places[start : start + capacity].tolist()):
            if fits(episode):
                queue.setdefault(words.fold(episode.event.text), (place, episode))
        if len(queue) >= capacity:
            break
    latest: dict[int, Episode] = {}
    for place, episode in list(queue.values())[:capacity]:
        same = view.repeats(episode)
        again = [one for one in view.each(same[(same > place) & is_outside[same]][-1:].tolist()) if fits(one[1])]
        latest |= again or [(place, episode)]
    return [latest[place] for place in sorted(latest)]
