"""The topics and the days of one owner's episodes (seed 002).

An episode is a slice; its topic binds it to the tree. The files are the truth: the indexes follow the cache of them by
generation, are kept in ``.index/topics.npz`` and made anew where that does not fit. The owner's renames stand in the state and
hold for every episode, whenever it was told: a topic that was renamed keeps its new name.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from threading import Event as Signal
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moechat.ai import topic_model
from moechat.ai.topic_model import Cues
from moechat.clock import local
from moechat.cue import Cue
from moechat.errors import DataError, ModelError, NotFound
from moechat.index import topic, topic_file
from moechat.index.dense import Dense, Space
from moechat.index.time import DateIndex
from moechat.index.topic import TopicIndex
from moechat.language.words import count_tokens
from moechat.memory.diary import asked_spans
from moechat.memory.episodes import Episodes, EpisodeView, Official
from moechat.memory.topic_cues import Leads, Led, likeness
from moechat.model import LONG_AGO, ActivationProfile, Episode
from moechat.rules.activation import PRIMARY, parts
from moechat.store.files import FileStore
from moechat.topic_path import ARROW, is_within, moved, parent_of, topic_path

if TYPE_CHECKING:
    from moechat.ai.chat_model import ChatModel
    from moechat.settings.prompts import Prompts

log = logging.getLogger(__name__)
FILE = "topics.npz"
SAVE_AFTER = 500  # The indexes are written after this many episodes came or went.
DEPTH = 30  # So many slices of a topic are also weighed by likeness; one recall gives as many of the asked days.
NEARNESS = 2.0  # A cosine counts this much beside the score (seed 002 has none); tuned on the recall benchmark.
COMMON = 100  # A keyword that more slices have leads to no topic.
CUE_TOKENS = 1200  # A model that is asked for cues is shown this much of the tree.
LONGEST_SPAN = timedelta(days=7)


class RecalledSlice(NamedTuple):
    """A slice that was brought to mind. ``features`` are the summands of seed 002's score, ``cue``, how surely the message led
    there, and ``cosine``, how like the message it is; ``words`` are those that led there."""

    id: str
    score: float
    features: dict[str, float]
    words: tuple[str, ...]


@dataclass(frozen=True)
class Mask:
    """Which slices may be seen, by key; an author's, below 0, stand at the end."""

    view: EpisodeView
    places: NDArray[np.int64]
    """Where in the view each stands, -1 where it may not be seen."""

    def __call__(self, keys: NDArray[np.int64]) -> NDArray[np.bool_]:
        return self.places[keys] >= 0


@dataclass(frozen=True)
class _Only:
    """A mask of a few."""

    keys: set[int]

    def __call__(self, asked: NDArray[np.int64]) -> NDArray[np.bool_]:
        return np.isin(asked, np.fromiter(self.keys, np.int64, len(self.keys)))


@dataclass(frozen=True)
class _Met:
    """A slice on its way to be recalled: ``inside`` the asked days, and which topic led to it, None where only its day did."""

    inside: bool
    score: float
    t: float
    features: dict[str, float]
    led: Led | None = None
    near: float = 0.0

    def rank(self) -> tuple[int, float, float]:
        strength = self.led.strength if self.led else 0.0
        return (self.inside + (self.inside and self.led is not None), self.score + strength + self.near, self.t)

    def recalled(self, id_: str) -> RecalledSlice:
        if self.led is None:
            return RecalledSlice(id_, self.score, self.features, ())
        return RecalledSlice(id_, self.score, {**self.features, "cue": self.led.strength}, self.led.words)


class Topics:
    """``sync`` follows the store; searches see what the last ``sync`` saw. A key is a cache row, an author's is below 0."""

    def __init__(
        self, store: FileStore, episodes: Episodes, dense: Dense, official: Official = lambda: (0, ())
    ) -> None:
        self._store, self._episodes, self._dense, self._official = store, episodes, dense, official
        self._lock = threading.RLock()
        self._file = store.index_folder / FILE
        self._begin("")

    def _begin(self, identity: str) -> None:
        self._tree, self._dates = TopicIndex(), DateIndex()
        self._identity, self._generation, self._authored_at = identity, -1, -1
        self._moves: list[tuple[str, str]] = []
        self._ids: dict[int, str] = {}
        self._keys: dict[str, int] = {}
        self._unsaved = 0
        self._mask: tuple[int, Mask] | None = None
        self._changes = 0
        self._leads = Leads(self._dense)

    # ---- following

    def sync(self) -> None:
        """Take in episodes, renames and the author's events that came or went since the last call."""
        cache = self._store.cache
        with self._lock:
            if (identity := cache.identity()) != self._identity:
                self._begin(identity)
                self._restore()
            self._follow_moves()
            if (generation := cache.generation()) != self._generation:
                self._take(cache.changed_episodes(self._generation))
                self._generation = generation
            self._follow_author()
            if self._unsaved >= SAVE_AFTER:
                self.flush()

    def _restore(self) -> None:
        """Begin with the indexes as they were last written, if they belong to this cache and this zone."""
        kept = topic_file.load(self._file)
        if kept is None or (kept[2].get("identity"), kept[2].get("zone")) != (self._identity, str(self._store.zone)):
            return
        self._tree, self._dates, about = kept
        self._generation = int(about["generation"])
        self._moves = [(old, new) for old, new in json.loads(about["moves"])]
        self._ids = self._store.cache.episodes_alive_in(self._generation)
        self._keys = {id_: row for row, id_ in self._ids.items()}

    def ready(self) -> None:
        """Cut the names of all topics into words, so that no message waits for it (a fifth of a second for 5,000)."""
        with self._lock:
            self._leads.ready(self._tree)

    def flush(self) -> None:
        """Write the indexes, where something has changed; the author's episodes are left to the author's files."""
        with self._lock:
            if not self._unsaved:
                return
            authored = [key for key in self._ids if key < 0]
            self._forget(authored)
            self._authored_at = -1
            about = {
                "identity": self._identity, "generation": str(self._generation), "zone": str(self._store.zone),
                "moves": json.dumps(self._moves),
            }  # fmt: skip
            topic_file.save(self._file, self._tree, self._dates, about)
            self._unsaved = 0
            self._follow_author()

    def _follow_moves(self) -> None:
        moves = list(_valid(self._store.state.topics))
        known = len(self._moves)
        if moves[:known] != self._moves:  # the state is another one: an earlier copy was put back
            self._begin(self._identity)
            known = 0
        for old, new in moves[known:]:
            if old in self._tree:
                self._tree.move(old, new)
            self._unsaved += 1
        self._moves = moves

    def _take(self, changed: Iterable[tuple[int, str, Mapping[str, Any] | None]]) -> None:
        changed = list(changed)
        self._forget([row for row, _, _ in changed if row in self._ids])
        for row, id_, told in changed:
            if told is not None:
                self._add(row, id_, told["at"], told["topic"], told["related"], ActivationProfile(*told["profile"]))
        self._unsaved += len(changed)

    def _add(
        self, key: int, id_: str, at: str | None, path: str, related: Sequence[str], profile: ActivationProfile
    ) -> None:
        told = datetime.fromisoformat(at) if at else LONG_AGO
        self._ids[key], self._keys[id_] = id_, key
        if at:
            self._dates.record(key, local(told, self._store.zone).date())
        related = [moved(topic_path(one), self._moves) for one in related]
        self._tree.record(key, moved(topic_path(path), self._moves), told.timestamp(), related, profile)
        self._changes += 1

    def _forget(self, keys: Sequence[int]) -> None:
        if keys:
            self._tree.remove(keys)
            self._dates.remove(keys)
            for key in keys:
                id_ = self._ids.pop(key)
                if self._keys.get(id_) == key:
                    del self._keys[id_]
            self._changes += 1

    def _follow_author(self) -> None:
        authored_at, episodes = self._official()
        if authored_at != self._authored_at:
            self._forget([key for key in self._ids if key < 0])
            for i, e in enumerate(episodes):
                self._add(
                    -1 - i, e.id, e.at.isoformat() if e.at else None, e.event.topic, e.event.related, e.event.profile
                )
            self._authored_at = authored_at

    def _seen(self, now: datetime) -> Mask:
        """The mask of what may be recalled, made once per view of the episodes."""
        view = self._episodes.view(now)
        if self._mask is None or self._mask[0] != self._changes or self._mask[1].view is not view:
            authored = -min(min(self._ids, default=0), 0)
            places = np.full(max(self._ids, default=0) + 1 + authored, -1)
            known = [(key, place) for place, id_ in enumerate(view.ids) if (key := self._keys.get(id_)) is not None]
            if known:
                keys, at = zip(*known, strict=True)
                places[list(keys)] = at
            self._mask = (self._changes, Mask(view, places))
        return self._mask[1]

    # ---- recall

    def recall(
        self,
        cue: Cue,
        now: datetime,
        limit: int = topic.LIMIT,
        *,
        nearness: float = NEARNESS,
        given: Cues | None = None,
    ) -> list[RecalledSlice]:
        """The slices of the topics and days that a message leads to, best first; scores are those of seed 002.

        ``nearness`` is what likeness to the message (a cosine) counts in the order beside the score: with 0 the order is the
        seed's. Of a day that is asked for, every slice counts as PRIMARY (``DEPTH`` at most), after what its topics bring of
        that day. ``given`` are cues that a model found, in place of our own (``cues_by_model``).
        """
        days, vector = (
            _days(cue) if given is None else given.dates,
            cue.vector,
        )  # before the lock: a model may take its time
        with self._lock:
            mask, moment = self._seen(now), now.timestamp()
            inside = self._of_days(days, mask)
            relevance = likeness(cue, mask.view) if nearness and vector is not None else None
            depth = limit if relevance is None else max(limit, DEPTH)
            best: dict[int, _Met] = {}
            for led in self.led(cue, now) if given is None else self._given(given):
                found = self._tree.collect(led.path, moment, limit=depth, visible=mask)
                if inside:
                    found += self._tree.collect(led.path, moment, limit=depth, visible=_Only(inside))
                for one in found:
                    features, near = one.features, 0.0
                    if relevance is not None:
                        features = {**features, "cosine": float(relevance[mask.places[one.key]])}
                        near = nearness * features["cosine"]
                    met = _Met(one.key in inside, one.score, one.t, features, led, near)
                    best[one.key] = max(met, best.get(one.key, met), key=_Met.rank)
            ranked = sorted(best, key=lambda key: best[key].rank(), reverse=True)[:limit]
            alone = [self._ids[key] for key in sorted(inside - set(ranked))][: max(0, DEPTH - len(ranked))]
            for episode in self._episodes.get(alone).values():
                told = episode.since.timestamp()
                features = parts(PRIMARY, (moment - told) / 3600, episode.event.profile)
                best[self._keys[episode.id]] = _Met(True, sum(features.values()), told, features)
            shown = {*ranked, *(self._keys[id_] for id_ in alone)} & best.keys()
            return [
                best[key].recalled(self._ids[key])
                for key in sorted(shown, key=lambda key: best[key].rank(), reverse=True)
            ]

    def led(self, cue: Cue, now: datetime) -> list[Led]:
        """The topics that a message leads to, the surest first."""
        with self._lock:
            return self._leads.of(self._tree, self._moves, cue, self._seen(now).view)

    def _given(self, given: Cues) -> list[Led]:
        paths = (self._tree.topics.nearest(moved(path, self._moves)) for path in given.topics)
        return [Led(path, 1.0) for path in dict.fromkeys(paths) if path]

    def _of_days(self, days: Collection[date], mask: Mask) -> set[int]:
        found = [self._dates.keys(day) for day in sorted(days)]
        return {int(key) for keys in found for key in keys[mask(keys)]}

    def cues_by_model(self, model: ChatModel, prompts: Prompts, cue: Cue, *, timeout_s: float) -> Cues | None:
        """An option that stands before the reply: the cues of a message by one call; None, and words serve, where it fails."""
        try:
            tree = self.tree_text(CUE_TOKENS)
            return topic_model.cues(model, prompts, tree=tree, text=cue.text, now=cue.now, timeout_s=timeout_s)
        except (ModelError, DataError) as error:
            log.warning("no topic cues from the model, words serve: %s", error)
            return None

    def helpful(
        self, model: ChatModel, prompts: Prompts, cue: Cue, found: Sequence[RecalledSlice], *, timeout_s: float
    ) -> list[RecalledSlice]:
        """An option that stands before the reply: those that help to answer, by one call for all, in their order; all of them
        where it fails."""
        told = self._episodes.get([one.id for one in found])
        texts = [f"{e.since:%Y-%m-%d} {e.event.text}" if (e := told.get(one.id)) else "" for one in found]
        if not texts:
            return []
        try:
            kept = topic_model.helpful(model, prompts, text=cue.text, slices=texts, timeout_s=timeout_s)
        except (ModelError, DataError) as error:
            log.warning("slices were not evaluated, all are kept: %s", error)
            return list(found)
        return [found[i] for i in kept]

    # ---- vectors of names

    def embed_missing(self, stop: Signal, limit: int = 0) -> int:
        """Embed the names of topics that have no vector yet, in every space that needs it; ``limit`` bounds them (0: all).
        Returns how many were embedded. Raises EmbeddingError."""
        return sum(self._leads.fill(space, self._every(), stop, limit) for space in list(self._dense.spaces))

    def missing(self, space: Space) -> int:
        """How many topic names have no vector in this space."""
        return len(self._leads.lacking(space, self._every()))

    def _every(self) -> list[str]:
        with self._lock:
            return list(self._tree.topics)

    # ---- looking

    def named(self, word: str) -> Sequence[str]:
        """The topics whose last segment is this word, the most used first (for ``topic_rules.path_for``)."""
        with self._lock:
            return self._tree.topics.named(word)

    def tree_text(self, limit: int) -> str:
        """The topics for an extraction prompt, one path a line, within ``limit`` tokens: the most and most lately used, each
        before what lies below it."""
        with self._lock:
            paths = self._tree.paths()
            used = {path: self._tree.used(path) for path in paths}
        newest = {path: place for place, path in enumerate(sorted(paths, key=lambda path: -used[path][1]))}
        most = {path: place for place, path in enumerate(sorted(paths, key=lambda path: -used[path][0]))}
        chosen: set[str] = set()
        left = limit
        for path in sorted((path for path in paths if used[path][0]), key=lambda path: newest[path] + most[path]):
            tokens = count_tokens(path) + 1
            if tokens <= left:
                chosen.add(path)
                left -= tokens
        return "\n".join(path for path in paths if path in chosen)

    def overview(self, now: datetime) -> dict[str, Any]:
        """``topics``: nested nodes {name, path, count (its own slices), total (with those below), newest (ISO or None),
        children}; ``days``: {ISO date: slices}; ``untold``: slices without a topic. Only what may be seen."""
        with self._lock:
            mask = self._seen(now)
            nodes: dict[str, dict[str, Any]] = {}
            roots: list[dict[str, Any]] = []
            for path in self._tree.paths():
                keys, newest = self._tree.seen(path, mask)
                node = nodes[path] = {
                    "name": path.rpartition(ARROW)[2], "path": path, "count": keys, "total": keys, "newest": newest,
                    "children": [],
                }  # fmt: skip
                above = nodes.get(parent_of(path))
                (above["children"] if above else roots).append(node)
            days = {day.isoformat(): int(mask(self._dates.keys(day)).sum()) for day in self._dates.days()}
            seen = int(mask(np.fromiter(self._ids, np.int64, len(self._ids))).sum())
        for node in reversed(nodes.values()):
            for child in node["children"]:
                node["total"] += child["total"]
                node["newest"] = max(filter(None, (node["newest"], child["newest"])), default=None)
        for node in nodes.values():
            node["children"] = [child for child in node["children"] if child["total"]]
            told = node["newest"] and datetime.fromtimestamp(node["newest"], UTC)
            node["newest"] = local(told, self._store.zone).isoformat() if told else None
        roots = [node for node in roots if node["total"]]
        days = {day: count for day, count in days.items() if count}
        return {"topics": roots, "days": days, "untold": seen - sum(node["total"] for node in roots)}

    def slices(self, where: str | date, now: datetime, *, below: bool = True) -> list[Episode]:
        """The slices of a topic (with those of the topics under it), or of a local date, newest first; [] for an unknown one."""
        with self._lock:
            mask = self._seen(now)
            keys = self._dates.keys(where) if isinstance(where, date) else self._tree.keys(where, below=below)
            ids = [self._ids[key] for key in keys[mask(keys)].tolist()]
        return sorted(self._episodes.get(ids).values(), key=lambda e: (e.since, e.id), reverse=True)

    # ---- the owner's order

    def rename(self, path: str, name: str) -> str:
        """Give a topic another name in its place; returns the new path. Errors as ``move``."""
        above = parent_of(topic_path(path))
        return self.move(path, f"{above}{ARROW}{name}" if above and name.strip() else name)

    def merge(self, path: str, into: str) -> str:
        """Put all slices and topics of one topic into another that is there. Errors as ``move``."""
        self.sync()
        if self._tree.topics.nearest(into, exact=True) is None:
            raise NotFound(f"there is no topic {topic_path(into)!r}")
        return self.move(path, into)

    def move(self, path: str, to: str) -> str:
        """Put a topic elsewhere, with its slices and what lies below; what is told later under the old path follows. Returns
        the new path. Raises NotFound, and ValueError where ``to`` is empty or below ``path``."""
        with self._store.writing():
            self.sync()
            with self._lock:
                old, new = self._tree.movable(path, to)
            if old != new:
                self._store.state.rename_topic(old, new)
        self.sync()
        return new


def _days(cue: Cue) -> set[date]:
    """The days that are asked for; none where no time is, or one too long to go by its days."""
    spans = [span for span in asked_spans(cue) if span.end - span.start <= LONGEST_SPAN]
    return {
        span.start.date() + timedelta(days=i)
        for span in spans
        for i in range((span.end.date() - span.start.date()).days + 1)
    }


def _valid(moves: Iterable[tuple[str, str]]) -> Iterable[tuple[str, str]]:
    """The moves that can be made; a line that a hand wrote may say anything."""
    for old, new in ((topic_path(old), topic_path(new)) for old, new in moves):
        if old and new and not is_within(new, old):
            yield old, new
