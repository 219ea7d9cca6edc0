"""What the log says: the path of each talk, what is hidden, and what waits to be done.

The same class serves every kind of store; it is fed with the entries of a log (``log`` lists them) and knows no file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from moechat.store.growth import Growth
from moechat.store.nodes import Node


class Tree(Growth):
    """All exchanges of an owner, in talks. Fed by ``apply``."""

    def __init__(self) -> None:
        super().__init__()
        self._masked: tuple[int, frozenset[str], frozenset[str]] = (0, frozenset(), frozenset())

    # ---- exchanges

    def __contains__(self, id_: object) -> bool:
        return id_ in self.parents

    def filed_hash(self, id_: str) -> str:
        """The text hash of what was filed, "" where nothing was."""
        return self.nodes[id_].filed if id_ in self.nodes else self._past.get(id_, "")

    def leaf(self, talk: str = "") -> str | None:
        """The exchange of a talk that its next message follows, None where nothing was said."""
        return self.talks[talk].leaf if talk in self.talks else None

    def ancestors(self, id_: str | None) -> Iterator[str]:
        """The exchange itself, its parent and so on to the root."""
        while id_ in self.parents:
            yield id_
            id_ = self.parents.get(id_)

    def path(self, talk: str = "") -> Iterator[str]:
        """The ids on the selected path of a talk, newest first."""
        return self.ancestors(self.leaf(talk))

    def context(self, talk: str = "") -> list[str]:
        """Ids on the path of a talk after its last cut, oldest first, without what is hidden."""
        ids: list[str] = []
        hidden = self.hidden()
        for id_ in self.path(talk):
            if id_ in self.cuts:
                break
            if id_ not in hidden:
                ids.append(id_)
        return ids[::-1]

    # ---- what is hidden

    def off_path(self) -> frozenset[str]:
        """Exchanges of other branches than the selected one of their talk."""
        return self._masks()[1]

    def is_forgotten(self, batch: str) -> bool:
        """Whether an import is being taken back."""
        ids = self.batches[batch].ids
        return any(not lost.isdisjoint(ids) for lost in self.forgets.values())

    def hidden(self) -> frozenset[str]:
        """What no recipe may see: other branches, what was retracted, what is being forgotten or imported.

        The same object as long as it is the same.
        """
        return self._masks()[2]

    def _masks(self) -> tuple[int, frozenset[str], frozenset[str]]:
        if self._masked[0] != self.masks:
            masks, off = self.masks, set[str]()
            for talk in [talk for talk in list(self.talks.values()) if talk.forked]:
                off.update(id_ for id_ in list(self.parents) if self.talk_of(id_) == talk.name)
                off.difference_update(self.ancestors(talk.leaf))
            self._masked = (masks, frozenset(off), frozenset(off | self.retracted | self.taken_out()))
        return self._masked

    def taken_out(self) -> frozenset[str]:
        """What nobody may see any more, or not yet: being forgotten, being imported."""
        importing = (batch.ids for batch in list(self.batches.values()) if not batch.done)
        return frozenset().union(*list(self.forgets.values()), *importing)

    # ---- what waits

    def open(self, talk: str | None = None) -> list[Node]:
        """Exchanges (of one talk, or of all) that have not settled, oldest first."""
        nodes = [self.nodes[id_] for id_ in list(self._open)]
        return [node for node in nodes if talk is None or node.talk == talk]

    def unfiled(self) -> list[Node]:
        """Settled exchanges that stand in the log alone."""
        return [self.nodes[id_] for id_ in self._oldest_first(self._unfiled)]

    def pending(self, talk: str | None = None) -> list[str]:
        """Settled exchanges that nobody has understood yet, oldest first."""
        return [id_ for id_ in self._oldest_first(self._pending) if talk is None or self.talk_of(id_) == talk]

    def unread(self) -> list[str]:
        """Imported exchanges that the rules have not read yet, oldest first. No model is asked about them."""
        return self._oldest_first(self._unread)

    def numbered(self) -> list[str]:
        """All exchanges in the order in which the log names them."""
        return list(self._number)

    def _oldest_first(self, ids: Iterable[str]) -> list[str]:
        return sorted(ids, key=self._number.__getitem__)
