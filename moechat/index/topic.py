"""The topic index (seed 002): from topic paths to the slices that they bring to mind. Derived, and can be deleted.

A key is whatever the owner of the index counts slices by (a row number); moments are epoch seconds. Slices stand in columns,
and each node knows its own in order of time, so that a query reads what it may return and not the tree.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from moechat.errors import NotFound
from moechat.index.topic_rows import Binding, BindingRows
from moechat.index.topic_tree import NO_MEMBERS, Ints, TopicNode, TopicTree
from moechat.model import ActivationProfile
from moechat.rules import activation
from moechat.rules.activation import PARENT, PRIMARY, RELATED, SliceSource, parts, profile_of
from moechat.topic_path import ARROW, is_within, moved, parent_of, topic_path

LIMIT = 5
NEWEST = 2  # Slices of the parent, and of each related path, that are candidates.
MANY = 1_000  # Of more candidates, the best are picked out before they are sorted.

Visible = Callable[[Ints], NDArray[np.bool_]]
"""Which of these keys may be seen."""


@dataclass(frozen=True, slots=True)
class TopicHit:
    """A slice that a topic brings to mind. ``path`` is the node that it stands in, ``features`` are the five summands."""

    key: int
    score: float
    source: str
    path: str
    t: float
    features: dict[str, float]


class TopicIndex:
    """Slices by topic path. Not locked: its owner is.

    Its methods are many since the tree and the rows, which are two collaborators, must change together.
    """

    def __init__(self) -> None:
        self.topics = TopicTree()
        self.rows = BindingRows()
        self.order = 0  # of the binding recorded last

    def __len__(self) -> int:
        """How many bindings there are."""
        return len(self.rows)

    def __contains__(self, path: str) -> bool:
        return topic_path(path) in self.topics

    # ---- writing

    def record(
        self, key: int, path: str, t: float, related: Iterable[str] = (), profile: ActivationProfile | None = None
    ) -> None:
        """Bind a slice to a topic; nothing where the path is empty. Related paths get nodes.

        Bound to that node already: time and profile are replaced, related paths united, its place among equals stays.
        """
        if not (path := topic_path(path)):
            return
        linked = {topic_path(one) for one in related} - {"", path}
        node = self.topics.make(path)
        row = self.rows.row_of(node, key)
        if row < 0:
            self.order += 1
            row = self.rows.new(node, key, self.order)
        else:
            linked.update(self.rows.related.get(row, ()))
            node.members = node.members[node.members != row]
        self.rows.fill(row, t, profile_of(profile))
        self._insert(node, row)
        self._link(row, linked)

    def remove(self, keys: Collection[int]) -> None:
        """Take slices out of every topic; nodes that nothing needs any more go."""
        for row in self.rows.rows_of(keys):
            self._drop(row)

    def move(self, old: str, new: str) -> None:
        """Rename a topic, merge it into another or put it elsewhere: its slices, the topics below it and related paths follow.

        A slice that stands in both keeps the newer time with its profile. Raises NotFound, and ValueError where the new path
        is empty or lies below the old one.
        """
        old, new = self.movable(old, new)
        if new == old:
            return
        top, rows = self.topics[old], self.rows
        for row, linked in list(rows.related.items()):
            if any(is_within(one, old) for one in linked):
                self._link(row, {moved(one, [(old, new)]) for one in linked} - {rows.home(row).path})
        members = [row for node in top.below() for row in node.members.tolist()]
        for row in sorted(members, key=lambda row: int(rows.values["order"][row])):
            self._rehome(row, self.topics.make(moved(rows.home(row).path, [(old, new)])))

    def movable(self, old: str, new: str) -> tuple[str, str]:
        """Both paths normalised. Raises as ``move`` does."""
        old, new = topic_path(old), topic_path(new)
        if old not in self.topics:
            raise NotFound(f"there is no topic {old!r}")
        if not new or (is_within(new, old) and new != old):
            raise ValueError(f"a topic cannot move to {new!r}: choose a path that is not empty and not below {old!r}")
        return old, new

    def _rehome(self, row: int, node: TopicNode) -> None:
        rows, values = self.rows, self.rows.values
        before, twin = rows.home(row), rows.row_of(node, int(values["key"][row]))
        before.members = before.members[before.members != row]
        linked = set(rows.related.get(row, ()))
        if twin >= 0:
            newer = max((row, twin), key=lambda one: (values["t"][one], values["order"][one]))
            order = min(values["order"][row], values["order"][twin])
            linked.update(rows.related.get(twin, ()))
            rows.fill(row, float(values["t"][newer]), rows.profile(newer))
            self._drop(twin)
            node = self.topics.make(node.path)
            values["order"][row] = order
        rows.homes[row] = node
        self._insert(node, row)  # before links change: nothing else may keep the node
        self._link(row, linked - {node.path})
        self.topics.prune(before)

    def _insert(self, node: TopicNode, row: int) -> None:
        members, times = node.members, self.rows.values["t"]
        node.members = np.append(members, np.int64(row))
        if members.size and times[row] <= times[members[-1]]:
            node.members = node.members[self.rows.by_time(node.members)]

    def _link(self, row: int, paths: Collection[str]) -> None:
        """Make these the related paths of a binding."""
        before = self.rows.related.pop(row, ())
        if paths:
            nodes = [self.topics.make(path) for path in sorted(paths)]
            for node in nodes:
                node.mentions += 1
            self.rows.related[row] = tuple(node.path for node in nodes)
        self.rows.values["links"][row] = len(paths)
        for path in before:
            self.topics[path].mentions -= 1
            self.topics.prune(self.topics[path])

    def _drop(self, row: int) -> None:
        node = self.rows.home(row)
        node.members = node.members[node.members != row]
        self._link(row, ())
        self.rows.free(row)
        self.topics.prune(node)

    # ---- reading

    def collect(
        self, path: str, now: float, *, limit: int = LIMIT, exact: bool = False, visible: Visible | None = None
    ) -> list[TopicHit]:
        """What a topic brings to mind at ``now`` (epoch seconds), best first, each slice once with its best score.

        All slices of the node, the two newest of its parent, and the two newest of each related path that a slice of the node
        with diffusion > 0 names. By score, then the newer, then the first recorded.
        """
        nearest = self.topics.nearest(path, exact=exact)
        if nearest is None or limit < 1:
            return []
        pools = self._pools(self.topics[nearest], visible)
        rows = np.concatenate([members for _, _, members in pools])
        pool = np.repeat(np.arange(len(pools)), [members.size for _, _, members in pools])
        scores = self._scores(rows, pool, [source for source, _, _ in pools], now)
        hits: dict[int, TopicHit] = {}
        own = pools[0][2]
        for i in self._best(rows, scores, limit + rows.size - own.size):
            row = int(rows[i])
            key, t = int(self.rows.values["key"][row]), float(self.rows.values["t"][row])
            if key in hits:
                continue
            source, node, _ = pools[pool[i]]
            features = parts(source, (now - t) / 3600, self.rows.profile(row))
            hits[key] = TopicHit(key, float(scores[i]), source.name, node.path, t, features)
            if len(hits) == limit:
                break
        return list(hits.values())

    def _pools(self, node: TopicNode, visible: Visible | None) -> list[tuple[SliceSource, TopicNode, Ints]]:
        """Where candidates come from, and the rows of each; those of the node itself first."""
        own = self._visible(node, visible)
        pools = [(PRIMARY, node, own)]
        if node.parent is not None:
            pools.append((PARENT, node.parent, self._visible(node.parent, visible)[-NEWEST:]))
        values = self.rows.values
        spread = own[(values["links"][own] > 0) & (values["diffusion"][own] > 0)]
        for related in dict.fromkeys(one for row in spread.tolist() for one in self.rows.related[row]):
            other = self.topics[related]
            pools.append((RELATED, other, self._visible(other, visible)[-NEWEST:]))
        return pools

    def _visible(self, node: TopicNode, visible: Visible | None) -> Ints:
        if visible is None or not node.members.size:
            return node.members
        return node.members[visible(self.rows.values["key"][node.members])]

    def _scores(self, rows: Ints, pool: Ints, sources: list[SliceSource], now: float) -> NDArray[np.float64]:
        base = np.array([source.base for source in sources])[pool]
        relation = np.array([source.relation for source in sources])[pool]
        of = self.rows.values[rows]
        total = base + activation.recency((now - of["t"]) / 3600) + activation.ACTIVATION * of["activation"]
        total += activation.INDEPENDENCE * of["independence"] + activation.DIFFUSION * relation * of["diffusion"]
        return np.round(total, 9)  # sums of equal parts are equal, whatever their order

    def _best(self, rows: Ints, scores: NDArray[np.float64], enough: int) -> list[int]:
        """Places in the order of the contract; of many, only those that can be among the first ``enough``."""
        among = np.arange(rows.size)
        if rows.size > max(MANY, enough):
            among = np.flatnonzero(scores >= np.partition(scores, -enough)[-enough])
        of = self.rows.values[rows[among]]
        order: list[int] = among[np.lexsort((of["order"], -of["t"], -scores[among]))].tolist()
        return order

    def keys(self, path: str, *, below: bool = False) -> Ints:
        """The slices of a topic, oldest first; with ``below`` those of the topics under it too, each once."""
        node = self.topics.get(topic_path(path))
        if node is None:
            return NO_MEMBERS
        if not below:
            own: Ints = self.rows.values["key"][node.members]
            return own
        rows = np.concatenate([one.members for one in node.below()])
        keys: Ints = self.rows.values["key"][rows[self.rows.by_time(rows)]]
        return keys[np.sort(np.unique(keys, return_index=True)[1])]

    def bindings(self) -> list[Binding]:
        """All of them in the order in which they were recorded: recorded again, they make an index equal to this one."""
        return [self.rows.binding(row) for row in self.rows.in_order()]

    def paths(self) -> list[str]:
        """All topics, parents before children, in the order in which slices first named them."""
        order = self.rows.values["order"]
        born: dict[str, tuple[int, int]] = {}
        for path, node in self.topics.items():
            if node.members.size:
                born[path] = (int(order[node.members].min()), 0)
        for row, related in self.rows.related.items():
            for path in related:
                mark = (int(order[row]), 1)
                born[path] = min(born.get(path, mark), mark)
        for path in sorted(self.topics, key=lambda path: -path.count(ARROW)):
            first = born.setdefault(path, (self.order + 1, 0))  # a topic that nothing has named yet stands last
            if above := parent_of(path):
                born[above] = min(born.get(above, first), first)
        return list(_walk(self.topics.roots, born))

    def seen(self, path: str, visible: Visible) -> tuple[int, float | None]:
        """How many slices of a topic may be seen, and the time of the newest."""
        rows = self._visible(self.topics[path], visible)
        return rows.size, float(self.rows.values["t"][rows[-1]]) if rows.size else None

    def used(self, path: str) -> tuple[int, float]:
        """How many slices a topic has, and the time of the newest (-inf for none)."""
        members = self.topics[path].members
        return members.size, float(self.rows.values["t"][members[-1]]) if members.size else -math.inf

    def tree(self) -> list[str]:
        """The tree as a model is shown it (golden ``partner.json`` A, ``tree``)."""
        return [self._shown(path) for path in self.paths()]

    def _shown(self, path: str) -> str:
        count = self.topics[path].members.size
        root = "" if parent_of(path) else " [root]"
        return f"{path}{root}" + (f" {{slices: {count}}}" if count or not root else "")


def _walk(nodes: dict[str, TopicNode], born: dict[str, tuple[int, int]]) -> Iterator[str]:
    for node in sorted(nodes.values(), key=lambda node: (born[node.path], node.path)):
        yield node.path
        yield from _walk(node.children, born)
