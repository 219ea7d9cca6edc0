"""Topics (seed 002) as a table: a row for each slice in a topic. What a topic brings to mind, the tree and its sizes are asked of
its columns.

A key is whatever the owner of the table counts slices by; moments are epoch seconds. A topic is there as long as a slice stands
in it or names it as related, or there is one below it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from moechat.model import ActivationProfile
from moechat.rules import activation
from moechat.rules.activation import PARENT, PRIMARY, RELATED, SliceSource, parts, profile_of
from moechat.topic_path import ARROW, is_within, moved, parent_of, topic_path

Ints = NDArray[np.int64]
LIMIT = 5
NEWEST = 2  # Slices of the parent, and of each related path, that are candidates.
MANY = 1_000  # Of more candidates, the best are picked out before they are sorted.
GONE = -1  # The topic of a row that was taken out.
ROW = np.dtype([
    ("key", "i8"), ("t", "f8"), ("links", "i4"), ("activation", "f8"), ("diffusion", "f8"), ("independence", "f8"),
])  # fmt: skip

Visible = Callable[[Ints], NDArray[np.bool_]]
"""Which of these keys may be seen."""


@dataclass(frozen=True, slots=True)
class Binding:
    """A slice in a topic, as it was recorded."""

    path: str
    key: int
    t: float
    related: tuple[str, ...]
    profile: ActivationProfile


@dataclass(frozen=True, slots=True)
class TopicHit:
    """A slice that a topic brings to mind. ``path`` is the topic that it stands in, ``features`` are the five summands."""

    key: int
    score: float
    source: str
    path: str
    t: float
    features: dict[str, float]


class TopicTable:
    """Slices by topic path. Not locked: its owner is. It has more than twenty methods because each question has one."""

    def __init__(self) -> None:
        self._rows, self._topics = np.zeros(64, ROW), np.full(64, GONE, np.int32)  # which topic each row stands in
        self._size = 0
        self._related: dict[int, tuple[str, ...]] = {}  # by row
        self._bound: dict[int, dict[str, int]] = {}  # key → path → row
        self._numbers: dict[str, int] = {}  # path → its number in the column
        self._needs: dict[str, int] = {}  # path → the rows and the topics below that need it
        self._by_name: tuple[int, dict[str, list[str]]] = (0, {})
        self.version = 0
        """It rises whenever a topic comes or goes."""

    def __len__(self) -> int:
        """How many bindings there are."""
        return sum(map(len, self._bound.values()))

    def __contains__(self, path: str) -> bool:
        return topic_path(path) in self._needs

    def __iter__(self) -> Iterator[str]:
        return iter(self._needs)

    # ---- writing

    def record(
        self, key: int, path: str, t: float, related: Iterable[str] = (), profile: ActivationProfile | None = None
    ) -> None:
        """Bind a slice to a topic; nothing where the path is empty. Related paths are topics too.

        Bound to it already: time and profile are replaced, related paths united, its place among equals stays.
        """
        if not (path := topic_path(path)):
            return
        row = self._bound.setdefault(key, {}).setdefault(path, self._size)
        before = self._related.get(row, ())
        linked = {*before, *map(topic_path, related)} - {"", path}
        if row == self._size:
            self._size += 1
            self.need(path)
            if row == len(self._rows):
                self._rows = np.concatenate([self._rows, np.zeros(row, ROW)])
                self._topics = np.concatenate([self._topics, np.full(row, GONE, np.int32)])
        for other in linked.difference(before):
            self.need(other)
        self._related[row] = tuple(sorted(linked))
        profile = profile_of(profile)
        shares = (profile.activation, profile.diffusion, profile.context_independence)
        self._rows[row] = (key, t, len(linked), *shares)
        self._topics[row] = self._numbers.setdefault(path, len(self._numbers))

    def remove(self, keys: Collection[int]) -> None:
        """Take slices out of every topic; topics that nothing needs any more go."""
        for key in keys:
            for path, row in self._bound.pop(key, {}).items():
                self._topics[row] = GONE
                for needed in (path, *self._related.pop(row)):
                    self._let_go(needed)

    def move(self, old: str, new: str) -> None:
        """Rename a topic, merge it into another or put it elsewhere: its slices, the topics below it and related paths follow.
        A slice that stands in both keeps what was recorded last."""
        moves, bindings = [(old, new)], self.bindings()
        self.remove(list(self._bound))
        self._size = 0
        for one in bindings:
            related = [moved(path, moves) for path in one.related]
            self.record(one.key, moved(one.path, moves), one.t, related, one.profile)

    def need(self, path: str) -> None:
        """A normalised path is a topic, and so are those above it, as long as somebody needs it."""
        self._needs[path] = self._needs.get(path, 0) + 1
        if self._needs[path] == 1:
            self.version += 1
            if above := parent_of(path):
                self.need(above)

    def _let_go(self, path: str) -> None:
        self._needs[path] -= 1
        if not self._needs[path]:
            del self._needs[path]
            self.version += 1
            if above := parent_of(path):
                self._let_go(above)

    # ---- reading

    def collect(
        self, path: str, now: float, *, limit: int = LIMIT, exact: bool = False, visible: Visible | None = None
    ) -> list[TopicHit]:
        """What a topic brings to mind at ``now`` (epoch seconds), best first, each slice once with its best score.

        All slices of the topic, the two newest of its parent, and the two newest of each related path that a slice of the topic
        with diffusion > 0 names. By score, then the newer, then the first recorded.
        """
        nearest = self.nearest(path, exact=exact)
        if nearest is None or limit < 1:
            return []
        pools = self._pools(nearest, visible)
        rows = np.concatenate([members for *_, members in pools])
        pool = np.repeat(np.arange(len(pools)), [members.size for *_, members in pools])
        scores = self._scores(rows, pool, [source for source, *_ in pools], now)
        hits: dict[int, TopicHit] = {}
        for i in self._best(rows, scores, limit + rows.size - pools[0][2].size):
            row = int(rows[i])
            key, t = int(self._rows["key"][row]), float(self._rows["t"][row])
            if key in hits:
                continue
            source, topic, _ = pools[pool[i]]
            features = parts(source, (now - t) / 3600, self._profile(row))
            hits[key] = TopicHit(key, float(scores[i]), source.name, topic, t, features)
            if len(hits) == limit:
                break
        return list(hits.values())

    def _pools(self, path: str, visible: Visible | None) -> list[tuple[SliceSource, str, Ints]]:
        """Where candidates come from, and the rows of each; those of the topic itself first."""
        own = self._members(path, visible)
        pools = [(PRIMARY, path, own)]
        if above := parent_of(path):
            pools.append((PARENT, above, self._members(above, visible)[-NEWEST:]))
        spread = own[(self._rows["links"][own] > 0) & (self._rows["diffusion"][own] > 0)]
        for related in dict.fromkeys(one for row in spread.tolist() for one in self._related[row]):
            pools.append((RELATED, related, self._members(related, visible)[-NEWEST:]))
        return pools

    def _members(self, path: str, visible: Visible | None = None, *, below: bool = False) -> Ints:
        """The rows of a topic by time, of equal times the first recorded last, so that the end is the newest; with ``below``
        those of the topics under it too."""
        if below:
            numbers = [number for one, number in self._numbers.items() if is_within(one, path)]
            rows = np.flatnonzero(np.isin(self._topics, numbers))
        else:
            rows = np.flatnonzero(self._topics == self._numbers.get(path, len(self._numbers)))
        if visible is not None and rows.size:
            rows = rows[visible(self._rows["key"][rows])]
        return rows[np.lexsort((-rows, self._rows["t"][rows]))]

    def _scores(self, rows: Ints, pool: Ints, sources: list[SliceSource], now: float) -> NDArray[np.float64]:
        base = np.array([source.base for source in sources])[pool]
        relation = np.array([source.relation for source in sources])[pool]
        of = self._rows[rows]
        total = base + activation.recency((now - of["t"]) / 3600) + activation.ACTIVATION * of["activation"]
        total += activation.INDEPENDENCE * of["independence"] + activation.DIFFUSION * relation * of["diffusion"]
        return np.round(total, 9)  # sums of equal parts are equal, whatever their order

    def _best(self, rows: Ints, scores: NDArray[np.float64], enough: int) -> list[int]:
        """Places in the order of the contract; of many, only those that can be among the first ``enough``."""
        among = np.arange(rows.size)
        if rows.size > max(MANY, enough):
            among = np.flatnonzero(scores >= np.partition(scores, -enough)[-enough])
        order: list[int] = among[np.lexsort((rows[among], -self._rows["t"][rows[among]], -scores[among]))].tolist()
        return order

    def keys(self, path: str, *, below: bool = False) -> Ints:
        """The slices of a topic, oldest first; with ``below`` those of the topics under it too, each once."""
        keys: Ints = self._rows["key"][self._members(topic_path(path), below=below)]
        return keys[np.sort(np.unique(keys, return_index=True)[1])]

    def nearest(self, path: str, *, exact: bool = False) -> str | None:
        """The topic that answers for a path: itself, else its nearest ancestor that is there (``exact``: never, *compat*)."""
        path = topic_path(path)
        while path and path not in self._needs:
            path = "" if exact else parent_of(path)
        return path or None

    def names(self) -> Mapping[str, Sequence[str]]:
        """Last segment, case-folded → the paths that end with it."""
        if self._by_name[0] != self.version:
            by_name: dict[str, list[str]] = {}
            for path in self._needs:
                by_name.setdefault(path.rpartition(ARROW)[2].casefold(), []).append(path)
            self._by_name = (self.version, by_name)
        return self._by_name[1]

    def named(self, word: str) -> list[str]:
        """The paths whose last segment is this word, the most used first; case does not count."""
        return sorted(self.names().get(word.casefold(), ()), key=lambda path: (-self._members(path).size, path))

    def sizes(self, visible: Visible | None = None) -> dict[str, tuple[int, float]]:
        """Of each topic that slices stand in which may be seen: how many, and the time of the newest."""
        rows = np.flatnonzero(self._topics != GONE)
        if visible is not None and rows.size:
            rows = rows[visible(self._rows["key"][rows])]
        topics = self._topics[rows]
        counts = np.bincount(topics, minlength=len(self._numbers)).tolist()
        newest = np.full(len(counts), -np.inf)
        np.maximum.at(newest, topics, self._rows["t"][rows])
        return {path: (counts[n], float(newest[n])) for path, n in self._numbers.items() if counts[n]}

    def bindings(self) -> list[Binding]:
        """All of them in the order in which they were recorded: recorded again, they make a table equal to this one."""
        places = sorted((row, path) for paths in self._bound.values() for path, row in paths.items())
        return [
            Binding(path, int(self._rows["key"][row]), float(self._rows["t"][row]), self._related[row], self._profile(row))
            for row, path in places
        ]  # fmt: skip

    def _profile(self, row: int) -> ActivationProfile:
        of = self._rows[row]
        return ActivationProfile(float(of["activation"]), float(of["diffusion"]), float(of["independence"]))

    def paths(self) -> list[str]:
        """All topics, parents before children, in the order in which slices first named them."""
        last = (self._size, 0)  # A topic that nothing has named yet stands last.
        born = dict.fromkeys(sorted(self._needs, key=lambda path: -path.count(ARROW)), last)
        for paths in self._bound.values():
            for path, row in paths.items():
                born[path] = min(born[path], (row, 0))
        for row, related in self._related.items():
            for path in related:
                born[path] = min(born[path], (row, 1))
        children: dict[str, list[str]] = {}
        for path, first in born.items():  # the deepest first
            if above := parent_of(path):
                born[above] = min(born[above], first)
            children.setdefault(above, []).append(path)

        def walked(above: str) -> Iterator[str]:
            for path in sorted(children.get(above, ()), key=lambda path: (born[path], path)):
                yield path
                yield from walked(path)

        return list(walked(""))

    def tree(self) -> list[str]:
        """The tree as a model is shown it (golden ``partner.json`` A, ``tree``)."""
        sizes = self.sizes()
        lines = []
        for path in self.paths():
            count, root = sizes.get(path, (0, 0.0))[0], "" if parent_of(path) else " [root]"
            lines.append(f"{path}{root}" + (f" {{slices: {count}}}" if count or not root else ""))
        return lines
