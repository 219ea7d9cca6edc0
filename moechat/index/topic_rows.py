"""The bindings of the topic index, in columns: one row for each slice in each topic that it stands in."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from moechat.index.topic_tree import Ints, TopicNode
from moechat.model import ActivationProfile

ROW = np.dtype(
    [
        ("key", "i8"),
        ("t", "f8"),
        ("order", "i8"),
        ("links", "i4"),
        ("activation", "f8"),
        ("diffusion", "f8"),
        ("independence", "f8"),
    ]
)


@dataclass(frozen=True, slots=True)
class Binding:
    """A slice in a topic, as it was recorded."""

    path: str
    key: int
    t: float
    related: tuple[str, ...]
    profile: ActivationProfile


class BindingRows:
    """``values`` is an array of ``ROW`` with room at its end; ``homes`` has the node of each row, None where it is free.

    ``related`` has the related paths of the rows that name any.
    """

    def __init__(self) -> None:
        self.values = np.zeros(64, ROW)
        self.homes: list[TopicNode | None] = []
        self.related: dict[int, tuple[str, ...]] = {}
        self._free: list[int] = []

    def __len__(self) -> int:
        return len(self.homes) - len(self._free)

    def home(self, row: int) -> TopicNode:
        """The topic of a row that is not free."""
        node = self.homes[row]
        assert node is not None, "a free row has no topic"
        return node

    def row_of(self, node: TopicNode, key: int) -> int:
        """The row of a slice in a node, -1 where it is not there."""
        matches = node.members[self.values["key"][node.members] == key]
        return int(matches[0]) if matches.size else -1

    def rows_of(self, keys: Collection[int]) -> list[int]:
        """The rows of slices, in all topics."""
        matches = np.isin(self.values["key"][: len(self.homes)], np.fromiter(keys, np.int64, len(keys)))
        return [row for row in np.flatnonzero(matches).tolist() if self.homes[row] is not None]

    def new(self, node: TopicNode, key: int, order: int) -> int:
        """A row for a slice in a node, not filled yet."""
        if self._free:
            row = self._free.pop()
            self.homes[row] = node
        else:
            row = len(self.homes)
            self.homes.append(node)
            if row == len(self.values):
                self.values = np.concatenate([self.values, np.zeros(len(self.values), ROW)])
        self.values[row] = (key, 0.0, order, 0, 0.0, 0.0, 0.0)
        return row

    def fill(self, row: int, t: float, profile: ActivationProfile) -> None:
        values = self.values[row]
        values["t"] = t
        values["activation"] = profile.activation
        values["diffusion"] = profile.diffusion
        values["independence"] = profile.context_independence

    def free(self, row: int) -> None:
        self.homes[row] = None
        self._free.append(row)

    def by_time(self, members: Ints) -> Ints:
        """The rows in the order in which nodes keep them."""
        return np.lexsort((-self.values["order"][members], self.values["t"][members]))

    def profile(self, row: int) -> ActivationProfile:
        values = self.values[row]
        return ActivationProfile(float(values["activation"]), float(values["diffusion"]), float(values["independence"]))

    def binding(self, row: int) -> Binding:
        key, t = int(self.values["key"][row]), float(self.values["t"][row])
        return Binding(self.home(row).path, key, t, self.related.get(row, ()), self.profile(row))

    def in_order(self) -> list[int]:
        """All rows that are not free, in the order of recording."""
        rows = [row for row, node in enumerate(self.homes) if node is not None]
        return sorted(rows, key=lambda row: int(self.values["order"][row]))
