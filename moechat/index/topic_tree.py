"""The nodes of the topic tree: paths, their parents and children, and the members that stand in each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from moechat.topic_path import ARROW, parent_of, topic_path

Ints = NDArray[np.int64]

NO_MEMBERS = np.empty(0, np.int64)


@dataclass(eq=False, slots=True)
class TopicNode:
    """A topic. ``members`` are the row numbers of its bindings by time, of equal times the first recorded last, so that
    the end is the newest. ``mentions`` counts the bindings that name it as related."""

    path: str
    parent: TopicNode | None
    children: dict[str, TopicNode] = field(default_factory=dict)
    members: Ints = field(default_factory=lambda: NO_MEMBERS)
    mentions: int = 0

    @property
    def name(self) -> str:
        return self.path.rpartition(ARROW)[2]

    def below(self) -> Iterator[TopicNode]:
        """This node, then all under it."""
        yield self
        for child in self.children.values():
            yield from child.below()


class TopicTree(dict[str, TopicNode]):
    """The nodes by path. A node lives as long as anything needs it: a member, a child or a mention."""

    def __init__(self) -> None:
        super().__init__()
        self.roots: dict[str, TopicNode] = {}
        self.version = 0  # grows whenever a node comes or goes
        self._paths_by_name: dict[str, dict[str, None]] = {}  # folded last segment → paths

    def make(self, path: str) -> TopicNode:
        """The node of a normalised path, with its ancestors; new ones are made."""
        if node := self.get(path):
            return node
        above = parent_of(path)
        parent = self.make(above) if above else None
        node = self[path] = TopicNode(path, parent)
        (parent.children if parent else self.roots)[node.name] = node
        self._paths_by_name.setdefault(node.name.casefold(), {})[path] = None
        self.version += 1
        return node

    def prune(self, node: TopicNode | None) -> None:
        """Take the node out if nothing needs it, then those above it."""
        while node and not node.members.size and not node.children and not node.mentions:
            if self.get(node.path) is node:
                del self[node.path]
                del (node.parent.children if node.parent else self.roots)[node.name]
                del self._paths_by_name[node.name.casefold()][node.path]
                self.version += 1
            node = node.parent

    def nearest(self, path: str, *, exact: bool = False) -> str | None:
        """The topic that answers for a path: itself, else its nearest ancestor that is there (``exact``: never, *compat*)."""
        path = topic_path(path)
        while path and path not in self:
            path = "" if exact else parent_of(path)
        return path or None

    def named(self, word: str) -> list[str]:
        """The paths whose last segment is this word, the most used first; case does not count."""
        paths = self._paths_by_name.get(word.casefold(), ())
        return sorted(paths, key=lambda path: (-self[path].members.size, path))

    def names(self) -> list[str]:
        """Every last segment that some topic has, case-folded."""
        return [name for name, paths in self._paths_by_name.items() if paths]
