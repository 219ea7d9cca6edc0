"""The path of one talk, as faces show it: what was said, where it forks, and what replies rested on. It only reads.

The log keeps ids and reasons (``turn.hit_rows``); words, times and sources are those that stand now. Older logs quote
the words as well: those are passed over.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from moechat.containment import NamedText
from moechat.language.words import fold, keywords, stem
from moechat.memory.world_book import entry_text
from moechat.model import Exchange
from moechat.recall.layers import Layers
from moechat.store.entries import Node
from moechat.store.kinds import Store
from moechat.store.log import stamp_of
from moechat.turn import USUAL_RECIPE, Shown, TurnTrace, exchange_text, span_of
from moechat.worker import lazy

LONGEST = 400  # A face shows this many characters of a memory.
MOST_WORDS = 20  # Words of a message that are looked for in what was recalled.

_MARKS = re.compile(r"[\W_]+")
Row = Mapping[str, object]
Place = tuple[str, str, str]  # layer and id of a memory, and the side of an exchange, "" for all of it


@dataclass(frozen=True)
class _Standing:
    """A memory as it stands now."""

    text: str
    time: datetime | None = None
    sources: Sequence[str] = ()
    kind: str = ""

    @lazy
    def spaced(self) -> str:
        """The text folded, with a space before every Latin word."""
        return " " + _MARKS.sub(" ", fold(self.text))


def shown(layers: Layers, nodes: Mapping[str, Node], exchanges: Sequence[Exchange]) -> list[Shown]:
    """Exchanges with what the log knows of their replies."""
    variants = [node.variant if (node := nodes.get(one.id)) else None for one in exchanges]
    standing = _standing(layers, [row for variant in variants for row in (variant.hits if variant else ())])
    result, contained = [], layers.store.contained
    for exchange, variant in zip(exchanges, variants, strict=True):
        if variant is None:
            result.append(Shown(exchange, ()))
            continue
        spans = [span_of(row) for row in variant.spans]
        text, asked_words = exchange.user, list[str]()
        if variant.hits:
            read = partial(keywords, text, MOST_WORDS)
            asked_words = contained.run("words", NamedText("", text), read, asked_words)
        phrases = [span.phrase for span in spans]
        grounds = [_ground(row, standing.get(_place(row)), phrases, asked_words) for row in variant.hits]
        node = nodes[exchange.id]
        result.append(Shown(exchange, grounds, spans, variant.error, len(node.variants), node.chosen, variant.notice))
    return result


def _place(row: Row) -> Place:
    return str(row.get("layer", "diary")), str(row.get("id", "")), str(row.get("side", ""))


def _standing(layers: Layers, rows: Sequence[Row]) -> dict[Place, _Standing]:
    """The memories that are there and may be seen."""
    ids: dict[str, dict[str, None]] = {"diary": {}, "core": {}, "lore": {}}
    for layer, id_, _ in map(_place, rows):
        ids.setdefault(layer, {})[id_] = None
    there = _in_diary(layers, list(ids["diary"])) if ids["diary"] else {}
    for id_, fact in (layers.core.get(ids["core"]) if ids["core"] else {}).items():
        there["core", id_, ""] = _Standing(fact.text[:LONGEST], fact.at, fact.draft.sources)
    for entry in layers.book.entries if ids["lore"] else ():
        there["lore", entry.id, ""] = _Standing(entry_text(entry)[:LONGEST])
    return there


def _in_diary(layers: Layers, ids: Sequence[str]) -> dict[Place, _Standing]:
    hidden, who = layers.store.hidden(), layers.character()
    episodes = layers.episodes.get(ids)
    sources = (source for episode in episodes.values() for source in episode.event.sources)
    exchanges = layers.store.exchanges.of(list(dict.fromkeys([*ids, *sources])))
    there: dict[Place, _Standing] = {}
    for id_ in ids:
        if id_ in hidden:
            continue
        if (exchange := exchanges.get(id_)) is not None:
            whole = exchange_text(exchange, who.user_name, who.name)
            for side, text in (("", whole), ("user", exchange.sent), ("char", exchange.char)):
                there["diary", id_, side] = _Standing(text[:LONGEST], exchange.at, (id_,))
        elif (episode := episodes.get(id_)) is not None and hidden.isdisjoint(episode.event.sources):
            rests_on = [source for source in episode.event.sources if source in exchanges]  # none where written by hand
            there["diary", id_, ""] = _Standing(episode.event.text[:LONGEST], episode.at, rests_on, episode.kind)
    return there


def _ground(
    row: Row, memory: _Standing | None, phrases: Sequence[str], asked_words: Sequence[str]
) -> dict[str, object]:
    dropped = {"dropped": row["dropped"]} if "dropped" in row else {}
    if memory is None:
        empty: dict[str, object] = {
            "layer": _place(row)[0], "recipe": "", "id": "", "time": "", "text": "", "score": 0.0, "words": [],
            "features": {}, "span": "", "sources": [], "kind": "", "gone": True,
        }  # fmt: skip
        return empty | dropped
    return {
        "layer": _place(row)[0], "recipe": row.get("recipe", USUAL_RECIPE), "id": row.get("id", ""),
        "time": memory.time.isoformat() if memory.time else "", "text": memory.text, "score": row.get("score", 0.0),
        "words": [word for word in asked_words if (f" {stem(word)}" if word.isascii() else word) in memory.spaced],
        "features": row.get("features", {}),
        "span": _phrase(row.get("span"), phrases), "sources": list(memory.sources), "kind": memory.kind,
    } | ({"why": row["why"]} if "why" in row else {}) | dropped  # fmt: skip


def _phrase(span: object, phrases: Sequence[str]) -> str:
    """The phrase of the time asked for; older logs have it in place of its number."""
    if isinstance(span, int):
        return phrases[span] if 0 <= span < len(phrases) else ""
    return str(span or "")


class TalkPath:
    """The talk ``name`` of a store. ``layers`` are the owner's, also where the store is one off the record; ``traces`` know the
    newest turns."""

    def __init__(self, store: Store, layers: Layers, name: str, traces: Collection[TurnTrace]) -> None:
        self.store, self._layers, self._name, self._traces = store, layers, name, traces

    def is_of(self, id_: str, key: str) -> bool:
        """Whether an exchange was begun by a request with this key, in whichever process."""
        node = self.store.tree.nodes.get(id_)
        return bool(node and node.stamp == stamp_of(key, id_))

    def log(self) -> list[dict[str, object]]:
        """Every logged exchange in the order of the log. ``mark``: * on the selected path, - retracted, else another branch."""
        tree, off = self.store.tree, self.store.tree.off_path()
        out = tree.taken_out() | self.store.state.missing.keys()
        texts = self.store.exchanges.of([id_ for id_ in tree.numbered() if id_ not in out])
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
        tree = self.store.tree
        start = tree.leaf(self._name) if before is None else tree.parents.get(before)
        ids = list(itertools.islice((id_ for id_ in tree.ancestors(start) if self._is_there(id_)), count))
        rows = self.shown(ids[::-1])
        # What day files of an older program hold comes before the first talk.
        if len(rows) < count and not self._name and self.store is self._layers.store:
            first = rows[0].exchange.at if rows else (self.store.exchanges.get(before).at if before else None)
            rows = [Shown(e, ()) for e in self._layers.diary.unlogged(first, count - len(rows))] + rows
        return rows

    def stands(self, id_: str) -> bool:
        """Whether an exchange is there and was not taken back."""
        return id_ in self.store.tree and self._is_there(id_)

    def _is_there(self, id_: str) -> bool:
        tree = self.store.tree
        return id_ not in tree.retracted and id_ not in tree.taken_out() and id_ not in self.store.state.missing

    def shown(self, ids: Sequence[str]) -> list[Shown]:
        """These exchanges as faces show them, in this order."""
        exchanges = self.store.exchanges.of(ids)
        rows = shown(self._layers, self.store.tree.nodes, [exchanges[id_] for id_ in ids if id_ in exchanges])
        thoughts = {trace.exchange_id: trace.thoughts for trace in list(self._traces)}
        return [replace(row, thoughts=thoughts.get(row.exchange.id, "")) for row in rows]

    def on_path(self) -> list[str]:
        """The ids of all that stands on the path of this talk, oldest first."""
        return list(filter(self._is_there, self.store.tree.path(self._name)))[::-1]

    def from_here(self, id_: str) -> list[str]:
        """The ids of an exchange and of all that follow it on the path, newest first; none where it is not there."""
        ids = list(itertools.takewhile(lambda one: one != id_, self.store.tree.path(self._name)))
        return [*filter(self._is_there, ids), id_] if id_ in self.store.tree else []

    def forks(self) -> dict[str, list[str]]:
        """The branches of this talk: what follows an exchange, oldest first, where several do, or
        where the path ends before it."""
        tree, after = self.store.tree, dict[str, list[str]]()
        talk = tree.talks.get(self._name)
        for id_, parent in list(tree.parents.items()) if talk and talk.forked else ():
            if parent is not None and tree.talk_of(id_) == self._name and self._is_there(id_):
                after.setdefault(parent, []).append(id_)
        return {id_: ids for id_, ids in after.items() if len(ids) > 1 or id_ == tree.leaf(self._name)}

    def end_of(self, id_: str) -> str:
        """The newest exchange of the branch that begins with this one."""
        tree, branch = self.store.tree, {id_}
        end = id_
        for one in itertools.dropwhile(lambda other: other != id_, list(tree.parents)):
            if tree.parents[one] in branch and self._is_there(one):
                branch.add(one)
                end = one
        return end
