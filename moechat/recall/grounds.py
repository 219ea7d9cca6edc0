"""What replies rested on, as faces show it.

The log keeps ids and reasons (``turn.hit_rows``); words, times and sources are those that stand now. Older logs quote the
words as well: those are passed over.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from moechat.containment import NamedText
from moechat.language.words import fold, keywords, stem
from moechat.memory.world_book import entry_text
from moechat.model import Exchange
from moechat.recall.layers import Layers
from moechat.store.entries import Node
from moechat.turn import USUAL_RECIPE, Shown, exchange_text, span_of

LONGEST = 400  # A face shows this many characters of a memory.
MOST_WORDS = 20  # So many words of a message are looked for in what was recalled.

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

    @cached_property
    def spaced(self) -> str:
        """The text folded, with a space before every Latin word."""
        return " " + _MARKS.sub(" ", fold(self.text))


def shown(layers: Layers, nodes: Mapping[str, Node], exchanges: Sequence[Exchange]) -> list[Shown]:
    """Exchanges with what the log knows of their replies."""
    variants = [node.variant if (node := nodes.get(one.id)) else None for one in exchanges]
    standing = _standing(layers, [row for variant in variants for row in (variant.hits if variant else ())])
    result = []
    for exchange, variant in zip(exchanges, variants, strict=True):
        if variant is None:
            result.append(Shown(exchange, ()))
            continue
        spans = [span_of(row) for row in variant.spans]
        asked_words = _asked_words(layers, exchange) if variant.hits else []
        phrases = [span.phrase for span in spans]
        grounds = [_ground(row, standing.get(_place(row)), phrases, asked_words) for row in variant.hits]
        node = nodes[exchange.id]
        result.append(Shown(exchange, grounds, spans, variant.error, len(node.variants), node.chosen, variant.notice))
    return result


def _asked_words(layers: Layers, exchange: Exchange) -> list[str]:
    text = exchange.user
    return layers.store.contained.run("words", NamedText("", text), lambda: keywords(text, MOST_WORDS), [])


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
        "words": _shared(asked_words, memory.spaced), "features": row.get("features", {}),
        "span": _phrase(row.get("span"), phrases), "sources": list(memory.sources), "kind": memory.kind,
    } | ({"why": row["why"]} if "why" in row else {}) | dropped  # fmt: skip


def _phrase(span: object, phrases: Sequence[str]) -> str:
    """The phrase of the time asked for; older logs have it in place of its number."""
    if isinstance(span, int):
        return phrases[span] if 0 <= span < len(phrases) else ""
    return str(span or "")


def _shared(asked_words: Sequence[str], spaced: str) -> list[str]:
    """The words that stand in a text, the Latin ones in any of their forms."""
    return [word for word in asked_words if (f" {stem(word)}" if word.isascii() else word) in spaced]
