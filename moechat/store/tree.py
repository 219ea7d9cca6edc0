"""The conversation as a tree, built from the entries of the log: replies, branches, and what waits to be understood.

This module knows no file.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta

from moechat.model import Exchange, Status
from moechat.store import notice
from moechat.store.log import Entry

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Variant:
    char: str
    status: Status
    error: str = ""
    hits: list[dict[str, object]] = field(default_factory=list)
    spans: list[list[str]] = field(default_factory=list)
    notice: str = ""


@dataclass(slots=True)
class Node:
    """One exchange. ``filed`` is the text hash that stands in the day file, "" as long as it stands in the log alone."""

    id: str
    parent: str | None
    at: str
    user: str = ""
    variants: list[Variant] = field(default_factory=list)
    chosen: int = -1
    settled: bool = False
    filed: str = ""
    understood: str = ""
    folded: bool = False

    @property
    def variant(self) -> Variant | None:
        return self.variants[self.chosen] if self.variants else None

    @property
    def status(self) -> Status:
        if self.folded:
            return "done"
        return self.variant.status if self.variant else "streaming"

    def exchange(self) -> Exchange:
        variant = self.variant
        return Exchange(
            self.id, datetime.fromisoformat(self.at), self.user, variant.char if variant else "", self.status
        )


class Tree:
    """All exchanges of an owner and the selected leaf. Fed by ``apply``, entry by entry, in log order.

    It has more than twenty methods because each kind of entry is applied by one of its own.
    """

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.parents: dict[str, str | None] = {}
        self.leaf: str | None = None
        self.cuts: set[str] = set()
        self.retracted: set[str] = set()
        self.past_sha: dict[str, str] = {}
        self._newest: str | None = None
        self._forked = False
        self._off_path: set[str] | None = set()

    def apply(self, entries: Iterable[Entry]) -> None:
        """Apply one entry.

        Unknown operations of a newer version are ignored, and so are entries about an exchange whose line was lost.
        """
        for entry in entries:
            try:
                if (step := _STEPS.get(entry["op"])) is not None:
                    step(self, entry)
            except (KeyError, TypeError, ValueError) as error:
                log.warning("an entry of the log was passed over (%s: %s)", type(error).__name__, error)

    def _exchange(self, entry: Entry) -> None:
        id_, parent = entry["id"], entry["parent"]
        if parent is not None and parent not in self.parents:
            parent = self._newest  # its line was lost: what came before stays on the path
        self.nodes[id_] = Node(id_, parent, entry["at"], entry["user"])
        self.parents[id_] = parent
        if parent != self._newest or self.leaf != self._newest:
            self._forked, self._off_path = True, None
        self.leaf = self._newest = id_

    def _variant(self, entry: Entry) -> None:
        node = self.nodes[entry["id"]]
        node.variants.append(_variant(entry))
        if entry["char"] or len(node.variants) == 1:  # a reply that never came takes no other's place
            node.chosen = len(node.variants) - 1

    def _select(self, entry: Entry) -> None:
        if "variant" in entry and entry["id"] in self.nodes:
            self.nodes[entry["id"]].chosen = entry["variant"]
        if entry["id"] != self.leaf:
            self.leaf, self._forked, self._off_path = entry["id"], True, None

    def _settle(self, entry: Entry) -> None:
        self.nodes[entry["id"]].settled = True

    def _filed(self, entry: Entry) -> None:
        if entry["id"] in self.nodes:
            self.nodes[entry["id"]].filed = entry["sha"]
        else:
            self.past_sha[entry["id"]] = entry["sha"]

    def _edit(self, entry: Entry) -> None:
        node = self.node(entry["id"])
        node.filed = node.understood = ""
        node.folded = False
        node.at, node.user = entry["at"], entry["user"]
        node.variants, node.chosen = [_variant({"status": "done", **entry})], 0

    def _restore(self, entry: Entry) -> None:
        self.retracted.discard(entry["id"])
        self.node(entry["id"]).understood = ""

    def _understood(self, entry: Entry) -> None:
        for id_ in entry["ids"]:
            if id_ in self.nodes:
                self.nodes[id_].understood = entry["by"]

    def _requeue(self, entry: Entry) -> None:
        for id_ in entry["ids"]:
            if id_ in self.parents:
                self.node(id_).understood = ""

    def _past(self, entry: Entry) -> None:
        for id_, parent, sha in entry["rows"]:
            self.parents[id_] = parent
            self.past_sha[id_] = sha
            if parent != self._newest:
                self._forked, self._off_path = True, None
            self._newest = id_
        self.leaf = self._newest

    def node(self, id_: str) -> Node:
        """The exchange's node. A folded node is unfolded without its text, which stands in the day file."""
        if id_ not in self.nodes:
            self.nodes[id_] = Node(
                id_,
                self.parents[id_],
                "",
                settled=True,
                filed=self.past_sha.get(id_, ""),
                understood="model",
                folded=True,
            )
        return self.nodes[id_]

    def __contains__(self, id_: str) -> bool:
        return id_ in self.parents

    def ancestors(self, id_: str | None) -> Iterator[str]:
        """The exchange itself, its parent and so on to the root."""
        while id_ in self.parents:
            yield id_
            id_ = self.parents.get(id_)

    def context(self) -> list[str]:
        """Ids on the path after its last cut, oldest first, without what was retracted."""
        ids: list[str] = []
        for id_ in self.ancestors(self.leaf):
            if id_ in self.cuts:
                break
            if id_ not in self.retracted:
                ids.append(id_)
        return ids[::-1]

    def off_path(self) -> set[str]:
        """Exchanges of other branches than the selected one."""
        if self._off_path is None:
            self._off_path = set(self.parents).difference(self.ancestors(self.leaf)) if self._forked else set()
        return self._off_path

    def hidden(self) -> set[str]:
        """What no recipe may see: other branches, and what was retracted."""
        off = self.off_path()
        return off | self.retracted if self.retracted else off

    def open(self) -> list[Node]:
        """Exchanges that have not settled, oldest first."""
        return [node for node in list(self.nodes.values()) if not node.settled]

    def unfiled(self) -> list[Node]:
        """Settled exchanges that stand in the log alone."""
        return [n for n in list(self.nodes.values()) if n.settled and not n.filed and n.id not in self.retracted]

    def pending(self) -> list[str]:
        """Settled exchanges that nobody has understood yet, oldest first."""
        nodes = list(self.nodes.values())
        return [n.id for n in nodes if n.settled and not n.understood and n.id not in self.retracted]

    def folded(self, before: datetime, keep: timedelta = timedelta(days=7)) -> list[Entry] | None:
        """The log in short: what settled, was filed and understood over ``keep`` ago loses its text and variants.

        None where that would save little. Everything else is written as it stands.
        """
        limit = before - keep
        shortened = {node.id for node in self.nodes.values() if node.folded or self._foldable(node, limit)}
        if len(shortened) < 500:
            return None
        # The links of all come first: a text that was unfolded later than one below it stands behind that in the log.
        rows = [[id_, parent, self.filed_hash(id_)] for id_, parent in self.parents.items()]
        entries: list[Entry] = [{"op": "past", "rows": rows[i : i + 1000]} for i in range(0, len(rows), 1000)]
        for node in self.nodes.values():
            if node.id not in shortened:
                entries += _written(node)
        entries += [{"op": "cut", "id": id_, "at": before.isoformat()} for id_ in sorted(self.cuts)]
        entries += [{"op": "retract", "id": id_} for id_ in sorted(self.retracted)]
        if again := [node.id for node in self.nodes.values() if node.id in shortened and not node.understood]:
            entries.append({"op": "requeue", "ids": again})
        if self.leaf is not None:
            entries.append({"op": "select", "id": self.leaf})
        return entries

    def filed_hash(self, id_: str) -> str:
        """The text hash of what was filed, "" where nothing was."""
        return self.nodes[id_].filed if id_ in self.nodes else self.past_sha.get(id_, "")

    def _foldable(self, node: Node, limit: datetime) -> bool:
        """A folded node has no text to write; it stays folded, and queued where it is."""
        if not (node.settled and node.filed and node.understood) or node.id in self.retracted:
            return False
        return datetime.fromisoformat(node.at) < limit


def _variant(entry: Entry) -> Variant:
    char, note = notice.split(entry["char"])
    error, hits, spans = entry.get("error", ""), entry.get("hits", []), entry.get("spans", [])
    return Variant(char, entry["status"], error, hits, spans, entry.get("notice", note))


def _written(node: Node) -> Iterator[Entry]:
    yield {"op": "exchange", "id": node.id, "parent": node.parent, "at": node.at, "user": node.user}
    for variant in node.variants:
        yield {"op": "variant", "id": node.id, **asdict(variant)}
    if len(node.variants) > 1:
        yield {"op": "select", "id": node.id, "variant": node.chosen}
    if node.settled:
        yield {"op": "settle", "id": node.id}
    if node.filed:
        yield {"op": "filed", "id": node.id, "sha": node.filed}
    if node.understood:
        yield {"op": "understood", "ids": [node.id], "by": node.understood}


_STEPS: dict[str, Callable[[Tree, Entry], None]] = {
    "exchange": Tree._exchange,
    "variant": Tree._variant,
    "select": Tree._select,
    "settle": Tree._settle,
    "filed": Tree._filed,
    "edit": Tree._edit,
    "retract": lambda tree, entry: tree.retracted.add(entry["id"]),
    "restore": Tree._restore,
    "cut": lambda tree, entry: tree.cuts.add(entry["id"]),
    "understood": Tree._understood,
    "requeue": Tree._requeue,
    "past": Tree._past,
}
