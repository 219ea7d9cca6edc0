"""What belongs together (seed 002): recall by the topics and days that a message leads to, and the owner's order of topics.

An episode is a slice, its key is its position. The table of topics follows ``Episodes`` and is never written. The owner's renames
stand in the state and hold for earlier and later episodes alike: a topic that was renamed keeps its new name.
"""

from __future__ import annotations

import threading
from array import array
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from moechat.ai.topic_model import Cues
from moechat.clock import local
from moechat.containment import NamedText
from moechat.cue import Cue
from moechat.errors import NotFound
from moechat.index import topic
from moechat.index.dense import Dense, TextVectors
from moechat.index.topic import TopicTable
from moechat.index.vector_rows import Keys, text_key
from moechat.index.vectors import VectorTable
from moechat.language.words import count_tokens
from moechat.memory.diary import asked_spans
from moechat.memory.episodes import HIDDEN, NO_ROW, Episodes, EpisodeView
from moechat.memory.topic_cues import TABLE, Leads, Led, likeness, spoken
from moechat.model import LONG_AGO, Episode
from moechat.rules.activation import PRIMARY, parts
from moechat.store import disk
from moechat.store.kinds import Store
from moechat.topic_path import ARROW, is_within, moved, parent_of, topic_path

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
    """Recalls by topic and by day, shows the tree and changes it. Searches see what the last ``sync`` saw."""

    def __init__(self, store: Store, episodes: Episodes, dense: Dense) -> None:
        self._store, self._episodes, self._dense = store, episodes, dense
        self._leads = Leads(dense)
        self.vectors = TextVectors(dense, TABLE, self._lacking, lambda names: names, store.contained)
        self._lock = threading.RLock()
        if store.index_folder is not None:  # Earlier versions kept their topics there.
            disk.clear(store.index_folder / "topics.npz")
        self.anew()

    # ---- following

    def anew(self) -> None:
        """Make the table from all episodes with the next ``sync``."""
        with self._lock:
            self.table, self._moves = TopicTable(), list[tuple[str, str]]()
            self._seen, self._taken = -1, np.zeros(0, dtype=bool)
            self._days = array("q")  # by position, the proleptic ordinal of the local day, 0 without one

    def sync(self) -> None:
        """Take in episodes and renames that came or went since the last call."""
        with self._lock:
            paths = ((topic_path(old), topic_path(new)) for old, new in self._store.state.topics)
            # A line that a hand wrote may say anything.
            moves = [(old, new) for old, new in paths if old and new and not is_within(new, old)]
            if moves[: len(self._moves)] != self._moves:  # the state is another one: an earlier copy was put back
                self.anew()
            for old, new in moves[len(self._moves) :]:
                if old in self.table:
                    self.table.move(old, new)
            self._moves = moves
            if self._episodes.changes != self._seen:
                self._seen = self._episodes.changes
                self._take()

    def _take(self) -> None:
        rows, tellings = self._episodes.rows, self._episodes.told
        alive = self._episodes.living()[: len(tellings)]
        before = len(self._taken)
        self.table.remove(np.flatnonzero(self._taken & ~alive[:before]).tolist())
        self._days.extend([0] * (len(alive) - before))
        new = (np.flatnonzero(alive[before:]) + before).tolist()
        for position in sorted(new, key=lambda position: (rows[position] == NO_ROW, rows[position])):
            record = NamedText(self._episodes.ids[position], tellings[position][0])
            self._store.contained.run("topics", record, partial(self._bind, position), None)
        self._taken = alive

    def _bind(self, position: int) -> None:
        path, related, profile, at = self._episodes.told[position]
        if at:
            self._days[position] = local(at, self._store.zone).toordinal()
        others = [moved(topic_path(other), self._moves) for other in related]
        t = (at or LONG_AGO).timestamp()
        self.table.record(position, moved(topic_path(path), self._moves), t, others, profile)

    def ready(self) -> None:
        """Cut the names of all topics into words, so that no message waits for it (a fifth of a second for 5,000)."""
        with self._lock:
            self._leads.names.follow(self.table)

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
        with self._lock:
            view, moment = self._episodes.view(now), now.timestamp()
            inside = set(self._of_days(days, view))
            relevance = likeness(cue, view) if vector is not None else None
            depth = limit if relevance is None else max(limit, DEPTH)
            best: dict[int, _Candidate] = {}
            for led in self.led(cue, now) if model_cues is None else self._existing(model_cues.topics):
                hits = self.table.collect(
                    led.path, moment, limit=depth, visible=lambda keys: view.places(keys) != HIDDEN
                )
                if inside:
                    hits += self.table.collect(
                        led.path, moment, limit=depth, visible=lambda keys: np.isin(keys, list(inside))
                    )
                for hit in hits:
                    features, near = hit.features, 0.0
                    if relevance is not None:
                        features = {**features, "cosine": float(relevance[view.places([hit.key])[0]])}
                        near = NEARNESS * features["cosine"]
                    candidate = _Candidate(hit.key in inside, hit.score, hit.t, features, led, near)
                    best[hit.key] = max(candidate, best.get(hit.key, candidate), key=_Candidate.rank)
            ranked = sorted(best, key=lambda key: best[key].rank(), reverse=True)[:limit]
            by_day = sorted(inside - set(ranked))[: max(0, DEPTH - len(ranked))]
            for position, episode in self._episodes.by_position(by_day).items():
                t = episode.since.timestamp()
                features = parts(PRIMARY, (moment - t) / 3600, episode.event.profile)
                best[position] = _Candidate(True, sum(features.values()), t, features)
            recalled = {*ranked, *by_day} & best.keys()
            order = sorted(recalled, key=lambda key: best[key].rank(), reverse=True)
            return [best[key].recalled(self._episodes.ids[key]) for key in order]

    def led(self, cue: Cue, now: datetime) -> list[Led]:
        """The topics that a message leads to, the surest first."""
        with self._lock:
            return self._leads.of(self.table, self._moves, cue, self._episodes.view(now))

    def _existing(self, paths: Iterable[str]) -> list[Led]:
        nearest = (self.table.nearest(moved(path, self._moves)) for path in paths)
        return [Led(path, 1.0) for path in dict.fromkeys(nearest) if path]

    def _of_days(self, days: Collection[date], view: EpisodeView) -> list[int]:
        """The positions of what was told on these days and may be recalled."""
        ordinals = np.array(self._days, np.int64)
        positions = view.positions[view.positions < len(ordinals)]
        of_days: list[int] = positions[np.isin(ordinals[positions], [day.toordinal() for day in days])].tolist()
        return of_days

    def keys(self) -> Keys:
        """Those of the vectors of all topics."""
        self.sync()
        with self._lock:
            return [text_key(spoken(path)) for path in self.table]

    def _lacking(self, table: VectorTable) -> list[str]:
        """The names of topics that have no vector in a table."""
        self.sync()
        with self._lock:
            paths, places = self._leads.placed(self.table, table)
        return list(dict.fromkeys(spoken(paths[i]) for i in np.flatnonzero(places < 0).tolist()))

    # ---- looking

    def named(self, word: str) -> Sequence[str]:
        """The topics whose last segment is this word, the most used first (for ``topic_rules.path_for``)."""
        with self._lock:
            return self.table.named(word)

    def tree_text(self, limit: int) -> str:
        """The topics for an extraction prompt, one path a line, within ``limit`` tokens.

        Those that are used most, and most lately, are chosen. A topic stands before those below it.
        """
        with self._lock:
            paths, used = self.table.paths(), self.table.sizes()
        having = [path for path in paths if path in used]
        newest = {path: place for place, path in enumerate(sorted(having, key=lambda path: -used[path][1]))}
        most = {path: place for place, path in enumerate(sorted(having, key=lambda path: -used[path][0]))}
        chosen: set[str] = set()
        left = limit
        for path in sorted(having, key=lambda path: newest[path] + most[path]):
            tokens = count_tokens(path) + 1
            if tokens <= left:
                chosen.add(path)
                left -= tokens
        return "\n".join(path for path in paths if path in chosen)

    def overview(self, now: datetime) -> dict[str, Any]:
        """``topics``: nested nodes {name, path, count (its own slices), total (with those below), newest (ISO or None),
        children}; ``days``: {ISO date: slices}; ``untold``: slices without a topic. Only what may be seen."""
        with self._lock:
            view, ordinals = self._episodes.view(now), np.array(self._days, np.int64)
            paths, used = self.table.paths(), self.table.sizes(lambda keys: view.places(keys) != HIDDEN)
            of_day, counts = np.unique(ordinals[view.positions], return_counts=True)
        nodes: dict[str, dict[str, Any]] = {}
        roots: list[dict[str, Any]] = []
        for path in paths:
            count, newest = used.get(path, (0, None))
            node = nodes[path] = {
                "name": path.rpartition(ARROW)[2], "path": path, "count": count, "total": count, "newest": newest,
                "children": [],
            }  # fmt: skip
            above = nodes.get(parent_of(path))
            (above["children"] if above else roots).append(node)
        for node in reversed(nodes.values()):
            for child in node["children"]:
                node["total"] += child["total"]
                node["newest"] = max(filter(None, (node["newest"], child["newest"])), default=None)
        for node in nodes.values():
            node["children"] = [child for child in node["children"] if child["total"]]
            newest_at = node["newest"] and datetime.fromtimestamp(node["newest"], UTC)
            node["newest"] = local(newest_at, self._store.zone).isoformat() if newest_at else None
        roots = [node for node in roots if node["total"]]
        days = {
            date.fromordinal(day).isoformat(): n for day, n in zip(of_day.tolist(), counts.tolist(), strict=True) if day
        }
        return {"topics": roots, "days": days, "untold": len(view) - sum(node["total"] for node in roots)}

    def slices(self, where: str | date, now: datetime, *, below: bool = True) -> list[Episode]:
        """The slices of a topic (with those of the topics under it), or of a local date, newest first; [] for an unknown one."""
        with self._lock:
            view = self._episodes.view(now)
            if isinstance(where, date):
                positions = self._of_days([where], view)
            else:
                keys = self.table.keys(where, below=below)
                positions = keys[view.places(keys) != HIDDEN].tolist()
        return sorted(self._episodes.at(positions), key=lambda e: (e.since, e.id), reverse=True)

    # ---- the owner's order

    def rename(self, path: str, name: str) -> str:
        """Give a topic another name in its place; returns the new path. Errors as ``move``."""
        above = parent_of(topic_path(path))
        return self.move(path, f"{above}{ARROW}{name}" if above and name.strip() else name)

    def merge(self, path: str, into: str) -> str:
        """Put all slices and topics of one topic into another that is there. Errors as ``move``."""
        self.sync()
        if into not in self.table:
            raise NotFound(f"there is no topic {topic_path(into)!r}")
        return self.move(path, into)

    def move(self, path: str, to: str) -> str:
        """Put a topic elsewhere, with its slices and the topics below; later slices of the old path follow.

        Returns the new path. Raises NotFound, and ValueError where ``to`` is empty or below ``path``.
        """
        old, new = topic_path(path), topic_path(to)
        with self._store.writing("rename a topic"):
            self.sync()
            if old not in self.table:
                raise NotFound(f"there is no topic {old!r}")
            if old != new and (not new or is_within(new, old)):
                raise ValueError(
                    f"a topic cannot move to {new!r}: choose a path that is not empty and not below {old!r}"
                )
            if old != new:
                self._store.state.rename_topic(old, new)
        self.sync()
        return new


def _days(cue: Cue) -> set[date]:
    """The days that are asked for; none where no time is asked for, or only one longer than ``LONGEST_SPAN``."""
    spans = [span for span in asked_spans(cue) if span.end - span.start <= LONGEST_SPAN]
    return {
        span.start.date() + timedelta(days=i)
        for span in spans
        for i in range((span.end.date() - span.start.date()).days + 1)
    }
