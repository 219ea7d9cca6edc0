"""What belongs together (seed 002): recall by the topics and days that a message leads to, and the owner's order of topics."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from moechat.ai.topic_model import Cues
from moechat.clock import local
from moechat.cue import Cue
from moechat.errors import NotFound
from moechat.index import topic
from moechat.index.dense import Dense, TextVectors
from moechat.index.vector_rows import Keys, text_key
from moechat.index.vectors import VectorTable
from moechat.language.words import count_tokens
from moechat.memory.diary import asked_spans
from moechat.memory.episodes import Episodes, Official
from moechat.memory.topic_cues import TABLE, Leads, Led, likeness, spoken
from moechat.memory.topic_slices import SliceMask, TopicSlices
from moechat.model import Episode
from moechat.rules.activation import PRIMARY, parts
from moechat.store.kinds import Store
from moechat.topic_path import ARROW, moved, parent_of, topic_path

DEPTH = 30  # Slices of a topic that are weighed by likeness too, and of the asked days that one recall gives.
NEARNESS = 2.0  # What a cosine counts beside the score (seed 002 knows none): measured on the recall benchmark.
LONGEST_SPAN = timedelta(days=7)  # A longer span is not asked for day by day.


class RecalledSlice(NamedTuple):
    """A slice that was brought to mind, and the ``words`` that led there.

    ``features`` are the summands of seed 002's score, ``cue`` (how surely the message led there) and ``cosine`` (how like the
    message it is).
    """

    id: str
    score: float
    features: dict[str, float]
    words: tuple[str, ...]


@dataclass(frozen=True)
class _Candidate:
    """A slice that may be recalled. ``inside`` the asked days; ``led`` is the topic that led to it, None where its day did."""

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
    """Recalls by topic and by day, shows the tree and changes it. Searches see what the last ``index.sync`` saw."""

    def __init__(self, store: Store, episodes: Episodes, dense: Dense, official: Official = lambda: (0, ())) -> None:
        self._store, self._episodes, self._dense = store, episodes, dense
        self.index = TopicSlices(store, episodes, official)
        self._leads = Leads(dense)
        self._held: WeakKeyDictionary[VectorTable, tuple[int, set[str]]] = WeakKeyDictionary()
        """By table: its losses, and the names that it had a vector of."""
        self.vectors = TextVectors(dense, TABLE, self._lacking, lambda names: names, store.contained)

    def ready(self) -> None:
        """Cut the names of all topics into words, so that no message waits for it (a fifth of a second for 5,000)."""
        with self.index.lock:
            self._leads.names.follow(self.index.tree)

    # ---- recall

    def recall(
        self,
        cue: Cue,
        now: datetime,
        limit: int = topic.LIMIT,
        *,
        model_cues: Cues | None = None,
    ) -> list[RecalledSlice]:
        """The slices of the topics and days that a message leads to, best first; scores are those of seed 002.

        Every slice of an asked day counts as PRIMARY (``DEPTH`` at most), after those of that day that a topic
        brings. ``model_cues`` are cues that a model found; they replace our own.
        """
        days = _days(cue) if model_cues is None else model_cues.dates
        vector = cue.vector  # before the lock: a model may take its time
        with self.index.lock:
            mask, moment = self.index.mask(now), now.timestamp()
            inside = self._of_days(days, mask)
            relevance = likeness(cue, mask.view) if vector is not None else None
            depth = limit if relevance is None else max(limit, DEPTH)
            best: dict[int, _Candidate] = {}
            for led in self.led(cue, now) if model_cues is None else self._existing(model_cues.topics):
                hits = self.index.tree.collect(led.path, moment, limit=depth, visible=mask)
                if inside:
                    hits += self.index.tree.collect(
                        led.path, moment, limit=depth, visible=lambda keys: np.isin(keys, list(inside))
                    )
                for hit in hits:
                    features, near = hit.features, 0.0
                    if relevance is not None:
                        features = {**features, "cosine": float(relevance[mask.places[hit.key]])}
                        near = NEARNESS * features["cosine"]
                    candidate = _Candidate(hit.key in inside, hit.score, hit.t, features, led, near)
                    best[hit.key] = max(candidate, best.get(hit.key, candidate), key=_Candidate.rank)
            ranked = sorted(best, key=lambda key: best[key].rank(), reverse=True)[:limit]
            by_day = [self.index.ids[key] for key in sorted(inside - set(ranked))][: max(0, DEPTH - len(ranked))]
            for episode in self._episodes.get(by_day).values():
                t = episode.since.timestamp()
                features = parts(PRIMARY, (moment - t) / 3600, episode.event.profile)
                best[self.index.keys[episode.id]] = _Candidate(True, sum(features.values()), t, features)
            recalled = {*ranked, *(self.index.keys[id_] for id_ in by_day)} & best.keys()
            order = sorted(recalled, key=lambda key: best[key].rank(), reverse=True)
            return [best[key].recalled(self.index.ids[key]) for key in order]

    def led(self, cue: Cue, now: datetime) -> list[Led]:
        """The topics that a message leads to, the surest first."""
        with self.index.lock:
            return self._leads.of(self.index.tree, self.index.moves, cue, self.index.mask(now).view)

    def _existing(self, paths: Iterable[str]) -> list[Led]:
        nearest = (self.index.tree.topics.nearest(moved(path, self.index.moves)) for path in paths)
        return [Led(path, 1.0) for path in dict.fromkeys(nearest) if path]

    def _of_days(self, days: Collection[date], mask: SliceMask) -> set[int]:
        keys_by_day = (self.index.dates.keys(day) for day in sorted(days))
        return {int(key) for keys in keys_by_day for key in keys[mask(keys)]}

    def keys(self) -> Keys:
        """Those of the vectors of all topics."""
        return [text_key(name) for name in self._names()]

    def _lacking(self, table: VectorTable) -> list[str]:
        """The names of topics that have no vector in a table. Only what had none before, or may have lost it, is looked up."""
        losses, held = self._held.get(table, (table.losses, set[str]()))
        if losses != table.losses:
            losses, held = table.losses, set()
        names = [name for name in self._names() if name not in held]
        places = table.lookup([text_key(name) for name in names]) if names else ()
        held.update(name for name, place in zip(names, places, strict=True) if place >= 0)
        self._held[table] = (losses, held)
        return [name for name in names if name not in held]

    def _names(self) -> list[str]:
        self.index.sync()
        with self.index.lock:
            return list(dict.fromkeys(map(spoken, self.index.tree.topics)))

    # ---- looking

    def named(self, word: str) -> Sequence[str]:
        """The topics whose last segment is this word, the most used first (for ``topic_rules.path_for``)."""
        with self.index.lock:
            return self.index.tree.topics.named(word)

    def tree_text(self, limit: int) -> str:
        """The topics for an extraction prompt, one path a line, within ``limit`` tokens.

        Those that are used most, and most lately, are chosen. A topic stands before those below it.
        """
        with self.index.lock:
            paths = self.index.tree.paths()
            used = {path: self.index.tree.used(path) for path in paths}
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
        with self.index.lock:
            mask = self.index.mask(now)
            nodes: dict[str, dict[str, Any]] = {}
            roots: list[dict[str, Any]] = []
            for path in self.index.tree.paths():
                keys, newest = self.index.tree.seen(path, mask)
                node = nodes[path] = {
                    "name": path.rpartition(ARROW)[2], "path": path, "count": keys, "total": keys, "newest": newest,
                    "children": [],
                }  # fmt: skip
                above = nodes.get(parent_of(path))
                (above["children"] if above else roots).append(node)
            days = {day.isoformat(): int(mask(self.index.dates.keys(day)).sum()) for day in self.index.dates.days()}
            seen = int(mask(np.fromiter(self.index.ids, np.int64, len(self.index.ids))).sum())
        for node in reversed(nodes.values()):
            for child in node["children"]:
                node["total"] += child["total"]
                node["newest"] = max(filter(None, (node["newest"], child["newest"])), default=None)
        for node in nodes.values():
            node["children"] = [child for child in node["children"] if child["total"]]
            newest_at = node["newest"] and datetime.fromtimestamp(node["newest"], UTC)
            node["newest"] = local(newest_at, self._store.zone).isoformat() if newest_at else None
        roots = [node for node in roots if node["total"]]
        days = {day: count for day, count in days.items() if count}
        return {"topics": roots, "days": days, "untold": seen - sum(node["total"] for node in roots)}

    def slices(self, where: str | date, now: datetime, *, below: bool = True) -> list[Episode]:
        """The slices of a topic (with those of the topics under it), or of a local date, newest first; [] for an unknown one."""
        with self.index.lock:
            mask = self.index.mask(now)
            keys = self.index.dates.keys(where) if isinstance(where, date) else self.index.tree.keys(where, below=below)
            ids = [self.index.ids[key] for key in keys[mask(keys)].tolist()]
        return sorted(self._episodes.get(ids).values(), key=lambda e: (e.since, e.id), reverse=True)

    # ---- the owner's order

    def rename(self, path: str, name: str) -> str:
        """Give a topic another name in its place; returns the new path. Errors as ``move``."""
        above = parent_of(topic_path(path))
        return self.move(path, f"{above}{ARROW}{name}" if above and name.strip() else name)

    def merge(self, path: str, into: str) -> str:
        """Put all slices and topics of one topic into another that is there. Errors as ``move``."""
        self.index.sync()
        if self.index.tree.topics.nearest(into, exact=True) is None:
            raise NotFound(f"there is no topic {topic_path(into)!r}")
        return self.move(path, into)

    def move(self, path: str, to: str) -> str:
        """Put a topic elsewhere, with its slices and the topics below; later slices of the old path follow.

        Returns the new path. Raises NotFound, and ValueError where ``to`` is empty or below ``path``.
        """
        with self._store.writing("rename a topic"):
            self.index.sync()
            with self.index.lock:
                old, new = self.index.tree.movable(path, to)
            if old != new:
                self._store.state.rename_topic(old, new)
        self.index.sync()
        return new


def _days(cue: Cue) -> set[date]:
    """The days that are asked for; none where no time is asked for, or only one longer than ``LONGEST_SPAN``."""
    spans = [span for span in asked_spans(cue) if span.end - span.start <= LONGEST_SPAN]
    return {
        span.start.date() + timedelta(days=i)
        for span in spans
        for i in range((span.end.date() - span.start.date()).days + 1)
    }
