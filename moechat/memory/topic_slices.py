"""The slices of one owner by topic and by day (seed 002): indexes that follow the store, and the file that keeps them.

An episode is a slice; its topic binds it to the tree. The files are the truth: the indexes follow their cache by generation,
are kept in ``.index/topics.npz``, and are made anew where that file does not fit. The owner's renames stand in the state and
hold for earlier and later episodes alike: a topic that was renamed keeps its new name.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from moechat.clock import local
from moechat.containment import NamedText
from moechat.index import topic_file
from moechat.index.time import DateIndex
from moechat.index.topic import TopicIndex
from moechat.memory.episodes import Episodes, EpisodeView, Official
from moechat.model import Episode
from moechat.store.finding_records import Changes
from moechat.store.kinds import Store
from moechat.topic_path import is_within, moved, topic_path

FILE = "topics.npz"
SAVE_AFTER = 500  # The indexes are written when this many episodes have come or gone.


@dataclass(frozen=True)
class SliceMask:
    """Which slices may be seen, by key. The author's have keys below 0 and so stand at the end."""

    view: EpisodeView
    places: NDArray[np.int64]
    """Where in the view each stands, -1 where it may not be seen."""

    def __call__(self, keys: NDArray[np.int64]) -> NDArray[np.bool_]:
        return self.places[keys] >= 0


class TopicSlices:
    """``sync`` follows the store. The key of a slice is its row in the cache; the author's slices have keys below 0.

    ``lock`` guards the indexes; whoever reads more than one of them holds it.
    """

    def __init__(self, store: Store, episodes: Episodes, official: Official) -> None:
        self._store, self._episodes, self._official = store, episodes, official
        self.lock = threading.RLock()
        self._file = store.index_folder and store.index_folder / FILE
        self._begin("")

    def _begin(self, identity: str) -> None:
        self.tree, self.dates = TopicIndex(), DateIndex()
        self.moves: list[tuple[str, str]] = []
        self.ids: dict[int, str] = {}
        self.keys: dict[str, int] = {}
        self._identity, self._generation, self._authored_at = identity, -1, -1
        self._unsaved = 0
        self._mask: tuple[int, SliceMask] | None = None
        self._changes = 0

    def sync(self) -> None:
        """Take in episodes, renames and the author's events that came or went since the last call."""
        with self.lock:
            if (identity := self._store.identity) != self._identity:
                self._begin(identity)
                self._restore()
            self._follow_moves()
            if self._store.generation != self._generation:
                changes = self._store.changes(self._generation)
                self._take(changes)
                self._generation = changes.generation
            self._follow_author()
            if self._unsaved >= SAVE_AFTER:
                self.flush()

    def anew(self) -> None:
        """Make the indexes from all episodes with the next ``sync``."""
        with self.lock:
            self._begin(self._identity)

    def _restore(self) -> None:
        """Begin with the indexes as they were last written, if they belong to this cache and this zone."""
        saved = topic_file.load(self._file) if self._file else None
        if saved is None or (saved[2].get("identity"), saved[2].get("zone")) != (self._identity, str(self._store.zone)):
            return
        self.tree, self.dates, about = saved
        self._generation = int(about["generation"])
        self.moves = [(old, new) for old, new in json.loads(about["moves"])]
        self.ids = dict(json.loads(about["ids"]))
        self.keys = {id_: row for row, id_ in self.ids.items()}

    def flush(self) -> None:
        """Write the indexes, where something has changed; the author's episodes are left to the author's files."""
        with self.lock:
            if not self._unsaved or self._file is None:
                return
            self._forget([key for key in self.ids if key < 0])
            self._authored_at = -1
            about = {
                "identity": self._identity, "generation": str(self._generation), "zone": str(self._store.zone),
                "moves": json.dumps(self.moves), "ids": json.dumps(list(self.ids.items())),
            }  # fmt: skip
            topic_file.save(self._file, self.tree, self.dates, about)
            self._unsaved = 0
            self._follow_author()

    def _follow_moves(self) -> None:
        moves = list(_valid(self._store.state.topics))
        if moves[: len(self.moves)] != self.moves:  # the state is another one: an earlier copy was put back
            self._begin(self._identity)
        for old, new in moves[len(self.moves) :]:
            if old in self.tree:
                self.tree.move(old, new)
            self._unsaved += 1
        self.moves = moves

    def _take(self, changes: Changes) -> None:
        self._forget([row for row in changes.episodes.rows if row in self.ids])
        for row, _, episode in changes.episodes:
            if episode is not None:
                self._add(row, episode)
        self._unsaved += len(changes.episodes)

    def _add(self, key: int, episode: Episode) -> None:
        self.ids[key], self.keys[episode.id] = episode.id, key
        self._changes += 1
        record = NamedText(episode.id, episode.event.topic)
        self._store.contained.run("topics", record, lambda: self._bind(key, episode), None)

    def _bind(self, key: int, episode: Episode) -> None:
        event, since = episode.event, episode.since
        if episode.at:
            self.dates.record(key, local(since, self._store.zone).date())
        related = [moved(topic_path(other), self.moves) for other in event.related]
        self.tree.record(key, moved(topic_path(event.topic), self.moves), since.timestamp(), related, event.profile)

    def _forget(self, keys: Sequence[int]) -> None:
        if keys:
            self.tree.remove(keys)
            self.dates.remove(keys)
            for key in keys:
                id_ = self.ids.pop(key)
                if self.keys.get(id_) == key:
                    del self.keys[id_]
            self._changes += 1

    def _follow_author(self) -> None:
        authored_at, episodes = self._official()
        if authored_at != self._authored_at:
            self._forget([key for key in self.ids if key < 0])
            for i, episode in enumerate(episodes):
                self._add(-1 - i, episode)
            self._authored_at = authored_at

    def mask(self, now: datetime) -> SliceMask:
        """The slices that may be recalled, made once per view of the episodes."""
        view = self._episodes.view(now)
        if self._mask is None or self._mask[0] != self._changes or self._mask[1].view is not view:
            authored = -min(min(self.ids, default=0), 0)
            places = np.full(max(self.ids, default=0) + 1 + authored, -1)
            in_view = [(self.keys[id_], place) for place, id_ in enumerate(view.ids) if id_ in self.keys]
            if in_view:
                keys, at = zip(*in_view, strict=True)
                places[list(keys)] = at
            self._mask = (self._changes, SliceMask(view, places))
        return self._mask[1]


def _valid(moves: Iterable[tuple[str, str]]) -> Iterable[tuple[str, str]]:
    """The moves that can be made; a line that a hand wrote may say anything."""
    for old, new in ((topic_path(old), topic_path(new)) for old, new in moves):
        if old and new and not is_within(new, old):
            yield old, new
