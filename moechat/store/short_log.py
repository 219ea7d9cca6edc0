"""The log in short: entries that say what a tree says, without the words that the log need not keep."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from moechat.store.entries import Entry, Node, exchange_entry, reread_entry, variant_entry
from moechat.store.tree import Tree

KEEP_WORDS = timedelta(days=7)  # The log keeps the words of exchanges that are no older.
_KEPT = ("id", "layer", "recipe", "score", "features", "kind", "side", "span", "dropped", "why")


def shortened(tree: Tree, before: datetime, kept: Collection[str] = ()) -> set[str]:
    """The exchanges whose words the log need not keep: settled, filed and understood before a moment.

    One with several replies keeps them all; ``kept`` are those that are gone from their day files.
    """
    nodes, kept = list(tree.nodes.values()), tree.retracted.union(kept)
    return {node.id for node in nodes if node.folded or (node.id not in kept and _may_fold(node, before))}


def _may_fold(node: Node, before: datetime) -> bool:
    if not (node.settled and node.filed and node.understood):
        return False
    return len(node.variants) < 2 and datetime.fromisoformat(node.at) < before


def written(tree: Tree, before: datetime, without: Collection[str] = (), kept: Collection[str] = ()) -> list[Entry]:
    """A log that says the same, shortened up to a moment but for those ``kept``, and without some exchanges.

    What followed one of those follows what was before it.
    """
    return list(_Writing(tree, before, frozenset(without), kept).entries())


class _Writing:
    def __init__(self, tree: Tree, before: datetime, without: frozenset[str], kept: Collection[str]) -> None:
        self._tree, self._without = tree, without
        self._short = shortened(tree, before, kept)
        self._old = {n.id for n in list(tree.nodes.values()) if n.at and datetime.fromisoformat(n.at) < before}
        self._ids = [id_ for id_ in tree.numbered() if id_ not in without]

    def entries(self) -> Iterator[Entry]:
        """The links of all exchanges come first: one may be unfolded later than another that follows it."""
        yield from self._links()
        for id_ in self._ids:
            if (node := self._tree.nodes.get(id_)) and id_ not in self._short:
                yield from self._node(node)
        tree = self._tree
        heirs = {heir for id_ in tree.cuts if (heir := self._heir(id_))}
        yield from ({"op": "cut", "id": id_} for id_ in sorted(heirs))
        yield from self._frozen()
        for id_ in sorted(tree.retracted - self._without):
            yield {"op": "retract", "id": id_} | ({"unshown": True} if id_ in tree.unshown else {})
        if dropped := sorted(tree.retracted - tree.undropped - self._without):
            yield {"op": "dropped", "ids": dropped}
        if again := [id_ for id_ in tree.pending() if id_ in self._short and id_ not in self._without]:
            yield {"op": "requeue", "ids": again}
        if tree.reread is not None:
            yield reread_entry(tree.reread)
        if tree.forgettings:
            yield {"op": "forgotten", "n": tree.forgettings}
        for number, ids in tree.forgets.items():
            if not ids <= self._without:
                yield {"op": "forget", "n": number, "ids": sorted(ids)}
        for talk in sorted(tree.talks.values(), key=lambda talk: talk.name == tree.spoken):
            if leaf := self._heir(talk.leaf):
                yield {"op": "select", "id": leaf}
            if entry := talk.entry():
                yield entry

    def _frozen(self) -> Iterator[Entry]:
        """The stable parts of the contexts that go on, without what is gone."""
        frozen = self._tree.frozen
        going_on = [id_ for talk in self._tree.talks for id_ in self._tree.context(talk) if id_ in frozen]
        for id_ in dict.fromkeys(going_on):
            if id_ not in self._without:
                yield {"op": "freeze", "id": id_, "ids": [one for one in frozen[id_] if one not in self._without]}

    def _heir(self, id_: str | None) -> str | None:
        while id_ in self._without:
            id_ = self._tree.parents.get(id_)
        return id_

    def _links(self) -> Iterator[Entry]:
        batch_of = {id_: name for name, batch in self._tree.batches.items() for id_ in batch.ids}
        for name, ids in itertools.groupby(self._ids, key=lambda id_: batch_of.get(id_, "")):
            if name:
                yield from self._batch(name, list(ids))
                continue
            rows = [self._row(id_) for id_ in ids]
            yield from ({"op": "past", "rows": rows[i : i + 1000]} for i in range(0, len(rows), 1000))

    def _row(self, id_: str) -> list[str | None]:
        talk = self._tree.talk_of(id_)
        row = [id_, self._heir(self._tree.parents[id_]), self._tree.filed_hash(id_)]
        return [*row, talk] if talk else row

    def _batch(self, name: str, ids: Sequence[str]) -> Iterator[Entry]:
        batch = self._tree.batches[name]
        waiting = {*self._tree.pending(), *self._tree.unread()}.intersection(ids)
        by = batch.by or ("" if waiting or not batch.done else "rules")
        rows = [
            [*self._row(id_)[:3], self._tree.talk_of(id_)] if batch.goes_on else [id_, self._tree.filed_hash(id_)]
            for id_ in ids
        ]
        yield {"op": "import", "batch": name, "talk": batch.talk, "at": batch.at, "by": by, "rows": rows}
        if batch.done:
            yield {"op": "imported", "batch": name}
        if waiting and (understood := [id_ for id_ in ids if id_ not in waiting]):
            yield {"op": "understood", "ids": understood, "by": "rules"}

    def _node(self, node: Node) -> Iterator[Entry]:
        parent = self._heir(node.parent)
        yield exchange_entry(replace(node, parent=parent))
        for variant in node.variants:
            kept = [lean(hit) for hit in variant.hits if hit.get("id") not in self._without]
            old = node.id in self._old
            yield variant_entry(node.id, replace(variant, hits=() if old else kept, spans=() if old else variant.spans))
        if 0 <= node.chosen < len(node.variants) - 1:
            yield {"op": "choose", "id": node.id, "variant": node.chosen}
        if node.settled:
            yield {"op": "settle", "id": node.id}
        if node.filed:
            yield {"op": "filed", "id": node.id, "sha": node.filed}
        if node.understood:
            yield {"op": "understood", "ids": [node.id], "by": node.understood}


def lean(hit: dict[str, Any]) -> dict[str, Any]:
    """A hit as the log keeps it: by id and features. Logs of format 1 quoted the memory."""
    return {key: value for key, value in hit.items() if key in _KEPT}
