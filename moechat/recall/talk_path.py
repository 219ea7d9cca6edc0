"""The path of one talk, as faces show it: what was said, where it forks, and where something stands in it. It only reads."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from dataclasses import replace

from moechat.recall.grounds import shown
from moechat.recall.layers import Layers
from moechat.store.protocols import Store
from moechat.turn import Shown, TurnTrace


class TalkPath:
    """The talk ``name`` of a store. ``layers`` are the owner's, also where the store is one off the record; ``traces`` know the
    newest turns."""

    def __init__(self, store: Store, layers: Layers, name: str, traces: Collection[TurnTrace]) -> None:
        self._store, self._layers, self._name, self._traces = store, layers, name, traces

    def log(self) -> list[dict[str, object]]:
        """Every logged exchange in the order of the log. ``mark``: * on the selected path, - retracted, else another branch."""
        tree, off = self._store.tree, self._store.tree.off_path()
        out = tree.taken_out() | self._store.state.missing.keys()
        texts = self._store.exchanges.of([id_ for id_ in tree.numbered() if id_ not in out])
        rows: list[dict[str, object]] = []
        for id_, exchange in texts.items():
            node = tree.nodes.get(id_)
            mark = "-" if id_ in tree.retracted else " " if id_ in off else "*"
            status = "retracted" if id_ in tree.retracted else exchange.status
            rows.append({
                "id": id_, "parent": tree.parents[id_], "status": status, "text": exchange.user, "reply": exchange.char,
                "mark": mark, "settled": node is None or node.settled,
                "variants": 1 if node is None or node.folded else len(node.variants), "talk": exchange.talk,
            })  # fmt: skip
        return rows

    def recent(self, count: int, before: str | None = None) -> list[Shown]:
        """The newest ``count`` exchanges on the path, or those before an exchange, oldest first; cuts hide nothing here."""
        tree = self._store.tree
        start = tree.leaf(self._name) if before is None else tree.parents.get(before)
        ids = list(itertools.islice((id_ for id_ in tree.ancestors(start) if self._is_there(id_)), count))
        rows = self.shown(ids[::-1])
        if len(rows) < count and self._has_older_talk:
            first = rows[0].exchange.at if rows else (self._store.exchanges.get(before).at if before else None)
            rows = [Shown(e, ()) for e in self._layers.diary.unlogged(first, count - len(rows))] + rows
        return rows

    @property
    def _has_older_talk(self) -> bool:
        """Whether what day files of an older program hold comes before this talk."""
        return not self._name and self._store is self._layers.store

    def _is_there(self, id_: str) -> bool:
        tree = self._store.tree
        return id_ not in tree.retracted and id_ not in tree.taken_out() and id_ not in self._store.state.missing

    def shown(self, ids: Sequence[str]) -> list[Shown]:
        """These exchanges as faces show them, in this order."""
        exchanges = self._store.exchanges.of(ids)
        rows = shown(self._layers, self._store.tree.nodes, [exchanges[id_] for id_ in ids if id_ in exchanges])
        thoughts = {trace.exchange_id: trace.thoughts for trace in list(self._traces)}
        return [replace(row, thoughts=thoughts.get(row.exchange.id, "")) for row in rows]

    def from_here(self, id_: str) -> list[str]:
        """The ids of an exchange and of all that follow it on the path, newest first; none where it is not there."""
        ids = list(itertools.takewhile(lambda one: one != id_, self._store.tree.path(self._name)))
        return [*filter(self._is_there, ids), id_] if id_ in self._store.tree else []

    def search(self, text: str) -> list[str]:
        """The ids of what was said in this talk with all these words (case aside), newest first."""
        tree, words = self._store.tree, text.casefold().split()
        path = set(tree.path(self._name))
        ids = self._store.search.listed(["exchange"], words) if words else []
        return [id_ for id_ in ids if id_ in path or (self._has_older_talk and id_ not in tree)]

    def forks(self) -> dict[str, list[str]]:
        """The branches of this talk: what follows an exchange, oldest first, where several do, or
        where the path ends before it."""
        tree, after = self._store.tree, dict[str, list[str]]()
        talk = tree.talks.get(self._name)
        for id_, parent in list(tree.parents.items()) if talk and talk.forked else ():
            if parent is not None and tree.talk_of(id_) == self._name and self._is_there(id_):
                after.setdefault(parent, []).append(id_)
        return {id_: ids for id_, ids in after.items() if len(ids) > 1 or id_ == tree.leaf(self._name)}

    def end_of(self, id_: str) -> str:
        """The newest exchange of the branch that begins with this one."""
        tree, branch = self._store.tree, {id_}
        end = id_
        for one in itertools.dropwhile(lambda other: other != id_, list(tree.parents)):
            if tree.parents[one] in branch and self._is_there(one):
                branch.add(one)
                end = one
        return end
