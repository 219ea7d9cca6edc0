"""The topic tree (seed 002): a disposable index from topic paths to slices, and the file that keeps it and the calendar.

A key is whatever the owner of the index counts slices by (a row number); moments are epoch seconds. Slices stand in columns,
each node knows its own in order of time, so that a query reads what it may return and not the tree.
"""

from __future__ import annotations

import io
import json
import math
import zipfile
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moechat.errors import NotFound
from moechat.index.date import DateIndex
from moechat.model import ActivationProfile
from moechat.rules import activation
from moechat.rules.activation import (
    ARROW,
    PARENT,
    PRIMARY,
    RELATED,
    is_within,
    parent_of,
    parts,
    profile_of,
    topic_path,
)
from moechat.store.records import replace

FORMAT = 1
LIMIT = 5
NEWEST = 2  # of the parent, and of each related path
MANY = 1_000  # candidates from which on the best are picked out before they are sorted

Ints = NDArray[np.int64]
Visible = Callable[[Ints], NDArray[np.bool_]]
"""Which of these keys may be seen."""

_ROW = np.dtype(
    [("key", "i8"), ("t", "f8"), ("order", "i8"), ("links", "i4"),
     ("activation", "f8"), ("diffusion", "f8"), ("independence", "f8")]
)  # fmt: skip
_NONE = np.empty(0, np.int64)


@dataclass(eq=False, slots=True)
class Node:
    """A topic. ``members`` are its bindings (row numbers) by time, of equal times the first recorded last, so that the end is
    the newest. ``mentions`` counts the bindings that name it as related: a node lives as long as anything needs it."""

    path: str
    parent: Node | None
    children: dict[str, Node] = field(default_factory=dict)
    members: Ints = field(default_factory=lambda: _NONE)
    mentions: int = 0

    @property
    def name(self) -> str:
        return self.path.rpartition(ARROW)[2]


@dataclass(frozen=True, slots=True)
class Binding:
    """A slice in a topic, as it was recorded."""

    path: str
    key: int
    t: float
    related: tuple[str, ...]
    profile: ActivationProfile


@dataclass(frozen=True, slots=True)
class Found:
    """A slice that a topic brings to mind: ``path`` is the node that it was met in, ``features`` are the five summands."""

    key: int
    score: float
    source: str
    path: str
    t: float
    features: dict[str, float]


class TopicIndex:
    """Slices by topic path. Not locked: its owner is."""

    def __init__(self) -> None:
        self._rows = np.zeros(64, _ROW)
        self._homes: list[Node | None] = []  # of each row, None where it is free
        self._free: list[int] = []
        self._related: dict[int, tuple[str, ...]] = {}
        self._nodes: dict[str, Node] = {}
        self._roots: dict[str, Node] = {}
        self._named: dict[str, dict[str, None]] = {}  # folded last segment → paths
        self._order = 0
        self.version = 0
        """Grows whenever a node comes or goes."""

    def __len__(self) -> int:
        """How many bindings there are."""
        return len(self._homes) - len(self._free)

    def __contains__(self, path: str) -> bool:
        return topic_path(path) in self._nodes

    def __iter__(self) -> Iterator[str]:
        """All topics, in no order that means anything."""
        return iter(self._nodes)

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
        node = self._node(path)
        row = self._row(node, key)
        if row < 0:
            self._order += 1
            row = self._new_row(node, key, self._order)
        else:
            linked.update(self._related.get(row, ()))
            node.members = node.members[node.members != row]
        self._fill(row, t, profile_of(profile))
        self._insert(node, row)
        self._link(row, linked)

    def remove(self, keys: Collection[int]) -> None:
        """Take slices out of every topic; nodes that nothing needs any more go."""
        gone = np.isin(self._rows["key"][: len(self._homes)], np.fromiter(keys, np.int64, len(keys)))
        for row in np.flatnonzero(gone).tolist():
            if self._homes[row] is not None:
                self._drop(row)

    def move(self, old: str, new: str) -> None:
        """Rename a topic, merge it into another or put it elsewhere: its slices, the topics below it and related paths follow.

        A slice that stands in both keeps the newer time with its profile. Raises NotFound, and ValueError where the new path
        is empty or lies below the old one.
        """
        old, new = self.movable(old, new)
        if new == old:
            return
        top = self._nodes[old]
        for row, linked in list(self._related.items()):
            if any(is_within(one, old) for one in linked):
                self._link(row, {activation.moved(one, [(old, new)]) for one in linked} - {self._home(row).path})
        rows = [row for node in self._below(top) for row in node.members.tolist()]
        for row in sorted(rows, key=lambda row: self._rows["order"][row]):
            self._rehome(row, self._node(activation.moved(self._home(row).path, [(old, new)])))

    def movable(self, old: str, new: str) -> tuple[str, str]:
        """Both paths normalised. Raises as ``move`` does."""
        old, new = topic_path(old), topic_path(new)
        if old not in self._nodes:
            raise NotFound(f"there is no topic {old!r}")
        if not new or (is_within(new, old) and new != old):
            raise ValueError(f"a topic cannot move to {new!r}: choose a path that is not empty and not below {old!r}")
        return old, new

    def _rehome(self, row: int, node: Node) -> None:
        before, known = self._home(row), self._row(node, int(self._rows["key"][row]))
        before.members = before.members[before.members != row]
        linked = set(self._related.get(row, ()))
        if known >= 0:
            newer = max((row, known), key=lambda one: (self._rows["t"][one], self._rows["order"][one]))
            order = min(self._rows["order"][row], self._rows["order"][known])
            linked.update(self._related.get(known, ()))
            self._fill(row, float(self._rows["t"][newer]), self._profile(newer))
            self._drop(known)
            node = self._node(node.path)
            self._rows["order"][row] = order
        self._homes[row] = node
        self._insert(node, row)  # before links change: nothing else may keep the node
        self._link(row, linked - {node.path})
        self._prune(before)

    def _node(self, path: str) -> Node:
        if node := self._nodes.get(path):
            return node
        parent = self._node(above) if (above := parent_of(path)) else None
        node = self._nodes[path] = Node(path, parent)
        (parent.children if parent else self._roots)[node.name] = node
        self._named.setdefault(node.name.casefold(), {})[path] = None
        self.version += 1
        return node

    def _prune(self, node: Node | None) -> None:
        while node and not node.members.size and not node.children and not node.mentions:
            if self._nodes.get(node.path) is node:
                del self._nodes[node.path]
                del (node.parent.children if node.parent else self._roots)[node.name]
                del self._named[node.name.casefold()][node.path]
                self.version += 1
            node = node.parent

    def _home(self, row: int) -> Node:
        node = self._homes[row]
        assert node is not None, "a free row has no topic"
        return node

    def _row(self, node: Node, key: int) -> int:
        """The row of a slice in a node, -1 where it is not there."""
        found = node.members[self._rows["key"][node.members] == key]
        return int(found[0]) if found.size else -1

    def _new_row(self, node: Node, key: int, order: int) -> int:
        if self._free:
            row = self._free.pop()
            self._homes[row] = node
        else:
            row = len(self._homes)
            self._homes.append(node)
            if row == len(self._rows):
                self._rows = np.concatenate([self._rows, np.zeros(len(self._rows), _ROW)])
        self._rows[row] = (key, 0.0, order, 0, 0.0, 0.0, 0.0)
        return row

    def _fill(self, row: int, t: float, profile: ActivationProfile) -> None:
        kept = self._rows[row]
        kept["t"], kept["activation"] = t, profile.activation
        kept["diffusion"], kept["independence"] = profile.diffusion, profile.context_independence

    def _insert(self, node: Node, row: int) -> None:
        members, rows = node.members, self._rows
        node.members = np.append(members, np.int64(row))
        if members.size and rows["t"][row] <= rows["t"][members[-1]]:
            node.members = node.members[self._by_time(node.members)]

    def _by_time(self, members: Ints) -> Ints:
        return np.lexsort((-self._rows["order"][members], self._rows["t"][members]))

    def _link(self, row: int, paths: Collection[str]) -> None:
        """Make these the related paths of a binding."""
        before = self._related.pop(row, ())
        if paths:
            nodes = [self._node(path) for path in sorted(paths)]
            for node in nodes:
                node.mentions += 1
            self._related[row] = tuple(node.path for node in nodes)
        self._rows["links"][row] = len(paths)
        for path in before:
            self._nodes[path].mentions -= 1
            self._prune(self._nodes[path])

    def _drop(self, row: int) -> None:
        node = self._home(row)
        node.members = node.members[node.members != row]
        self._link(row, ())
        self._homes[row] = None
        self._free.append(row)
        self._prune(node)

    # ---- reading

    def nearest(self, path: str, *, exact: bool = False) -> str | None:
        """The topic that answers for a path: itself, else its nearest ancestor that is there (``exact``: never, *compat*)."""
        path = topic_path(path)
        while path and path not in self._nodes:
            path = "" if exact else parent_of(path)
        return path or None

    def collect(
        self, path: str, now: float, *, limit: int = LIMIT, exact: bool = False, visible: Visible | None = None
    ) -> list[Found]:
        """What a topic brings to mind at ``now`` (epoch seconds), best first, each slice once with its best score.

        All slices of the node, the two newest of its parent, and the two newest of each related path that a slice of the node
        with diffusion > 0 names. By score, then the newer, then the first recorded.
        """
        if (there := self.nearest(path, exact=exact)) is None or limit < 1:
            return []
        node = self._nodes[there]
        own = self._seen(node, visible)
        pools = [(PRIMARY, node, own)]
        if node.parent is not None:
            pools.append((PARENT, node.parent, self._seen(node.parent, visible)[-NEWEST:]))
        spread = own[(self._rows["links"][own] > 0) & (self._rows["diffusion"][own] > 0)]
        for related in dict.fromkeys(one for row in spread.tolist() for one in self._related[row]):
            other = self._nodes[related]
            pools.append((RELATED, other, self._seen(other, visible)[-NEWEST:]))
        rows = np.concatenate([members for _, _, members in pools])
        pool = np.repeat(np.arange(len(pools)), [members.size for _, _, members in pools])
        scores = self._scores(rows, pool, [source for source, _, _ in pools], now)
        found: dict[int, Found] = {}
        for i in self._best(rows, scores, limit + rows.size - own.size):
            key, row = int(self._rows["key"][rows[i]]), int(rows[i])
            if key in found:
                continue
            source, met, _ = pools[pool[i]]
            t = float(self._rows["t"][row])
            features = parts(source, (now - t) / 3600, self._profile(row))
            found[key] = Found(key, float(scores[i]), source.name, met.path, t, features)
            if len(found) == limit:
                break
        return list(found.values())

    def _seen(self, node: Node, visible: Visible | None) -> Ints:
        if visible is None or not node.members.size:
            return node.members
        return node.members[visible(self._rows["key"][node.members])]

    def _scores(self, rows: Ints, pool: Ints, sources: Sequence[activation.Source], now: float) -> NDArray[np.float64]:
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
        of = self._rows[rows[among]]
        order: list[int] = among[np.lexsort((of["order"], -of["t"], -scores[among]))].tolist()
        return order

    def _profile(self, row: int) -> ActivationProfile:
        of = self._rows[row]
        return ActivationProfile(float(of["activation"]), float(of["diffusion"]), float(of["independence"]))

    def keys(self, path: str, *, below: bool = False) -> Ints:
        """The slices of a topic, oldest first; with ``below`` those of the topics under it too, each once."""
        node = self._nodes.get(topic_path(path))
        if node is None:
            return _NONE
        if not below:
            return self._rows["key"][node.members]
        rows = np.concatenate([one.members for one in self._below(node)])
        keys = self._rows["key"][rows[self._by_time(rows)]]
        return keys[np.sort(np.unique(keys, return_index=True)[1])]

    def _below(self, node: Node) -> Iterator[Node]:
        yield node
        for child in node.children.values():
            yield from self._below(child)

    def bindings(self) -> list[Binding]:
        """All of them in the order in which they were recorded: recorded again, they make an index equal to this one."""
        rows = [row for row, node in enumerate(self._homes) if node is not None]
        return [
            Binding(
                self._home(row).path, int(self._rows["key"][row]), float(self._rows["t"][row]),
                self._related.get(row, ()), self._profile(row),
            )
            for row in sorted(rows, key=lambda row: self._rows["order"][row])
        ]  # fmt: skip

    def paths(self) -> list[str]:
        """All topics, parents before children, in the order in which slices first named them."""
        born: dict[str, tuple[int, int]] = {}
        for path, node in self._nodes.items():
            if node.members.size:
                born[path] = (int(self._rows["order"][node.members].min()), 0)
        for row, linked in self._related.items():
            for path in linked:
                mark = (int(self._rows["order"][row]), 1)
                born[path] = min(born.get(path, mark), mark)
        for path in sorted(self._nodes, key=lambda path: -path.count(ARROW)):
            if above := parent_of(path):
                born[above] = min(born.get(above, born[path]), born[path])
        found: list[str] = []
        self._walk(self._roots, born, found)
        return found

    def _walk(self, nodes: dict[str, Node], born: dict[str, tuple[int, int]], found: list[str]) -> None:
        for node in sorted(nodes.values(), key=lambda node: (born[node.path], node.path)):
            found.append(node.path)
            self._walk(node.children, born, found)

    def seen(self, path: str, visible: Visible) -> tuple[int, float | None]:
        """How many slices of a topic may be seen, and the time of the newest."""
        rows = self._seen(self._nodes[path], visible)
        return rows.size, float(self._rows["t"][rows[-1]]) if rows.size else None

    def used(self, path: str) -> tuple[int, float]:
        """How many slices a topic has, and the time of the newest (-inf for none)."""
        members = self._nodes[path].members
        return members.size, float(self._rows["t"][members[-1]]) if members.size else -math.inf

    def named(self, word: str) -> list[str]:
        """The paths whose last segment is this word, the most used first; case does not count."""
        paths = self._named.get(word.casefold(), ())
        return sorted(paths, key=lambda path: (-self._nodes[path].members.size, path))

    def names(self) -> list[str]:
        """Every last segment that some topic has, case-folded."""
        return [name for name, paths in self._named.items() if paths]

    def tree(self) -> list[str]:
        """The tree as a model is shown it (golden ``partner.json`` A, ``tree``)."""
        return [self._shown(path) for path in self.paths()]

    def _shown(self, path: str) -> str:
        count = self._nodes[path].members.size
        root = "" if parent_of(path) else " [root]"
        return f"{path}{root}" + (f" {{slices: {count}}}" if count or not root else "")

    # ---- keeping

    def columns(self) -> dict[str, NDArray[Any]]:
        """The index as arrays, for ``np.savez``."""
        alive = np.array([row for row, node in enumerate(self._homes) if node is not None], np.int64)
        number = {path: i for i, path in enumerate(self._nodes)}
        place = {int(row): i for i, row in enumerate(alive)}
        links = [(place[row], number[path]) for row, linked in self._related.items() for path in linked]
        return {
            "rows": self._rows[alive],
            "homes": np.array([number[self._home(row).path] for row in alive.tolist()], np.int32),
            "links": np.array(links, np.int64).reshape(-1, 2),
            "paths": np.frombuffer(json.dumps(list(number), ensure_ascii=False).encode(), np.uint8),
            "order": np.array([self._order]),
        }

    @classmethod
    def of_columns(cls, columns: dict[str, NDArray[Any]]) -> TopicIndex:
        """The index that ``columns`` were taken from. Raises ValueError or KeyError where they do not fit together."""
        index = cls()
        paths = json.loads(columns["paths"].tobytes())
        nodes = [index._node(path) for path in paths]
        rows, homes = columns["rows"], columns["homes"]
        if (
            rows.dtype != _ROW
            or rows.shape != homes.shape
            or (homes.size and not 0 <= homes.min() <= homes.max() < len(nodes))
        ):
            raise ValueError("the columns of the topic index do not fit together")
        index._rows = np.concatenate([rows, np.zeros(max(64, rows.size // 8), _ROW)])
        index._homes = [nodes[i] for i in homes.tolist()]
        order = np.lexsort((-rows["order"], rows["t"], homes))
        cuts = np.searchsorted(homes[order], np.arange(len(nodes) + 1))
        for node, (start, end) in zip(nodes, pairwise(cuts.tolist()), strict=True):
            node.members = order[start:end]
        linked: dict[int, list[str]] = {}
        for row, to in columns["links"].tolist():
            linked.setdefault(row, []).append(paths[to])
            nodes[to].mentions += 1
        index._related = {row: tuple(sorted(found)) for row, found in linked.items()}
        index._order = int(columns["order"][0])
        return index


def save(file: Path, topics: TopicIndex, dates: DateIndex, about: dict[str, str]) -> None:
    """Write both indexes; ``about`` says what they were made from."""
    told = np.frombuffer(json.dumps({"format": FORMAT, **about}).encode(), np.uint8)
    buffer = io.BytesIO()
    columns: dict[str, Any] = {"about": told, **topics.columns(), **dates.columns()}
    np.savez(buffer, **columns)
    replace(file, buffer.getvalue())


def load(file: Path) -> tuple[TopicIndex, DateIndex, dict[str, str]] | None:
    """What ``save`` wrote; None where it is missing, damaged or of another format."""
    try:
        with open(file, "rb") as opened, np.load(opened, allow_pickle=False) as kept:
            columns = dict(kept)
        about = json.loads(columns.pop("about").tobytes())
        if about.pop("format") != FORMAT:
            return None
        return TopicIndex.of_columns(columns), DateIndex.of_columns(columns), about
    except (OSError, EOFError, ValueError, KeyError, IndexError, TypeError, zipfile.BadZipFile):
        return None
