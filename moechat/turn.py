"""The events of a running turn, and an exchange in the form that faces show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from moechat.model import Exchange, Hit, Recollection
from moechat.store.tree import Node
from moechat.when import Span

SHOWN_TEXT = 400  # The log keeps this many characters of a memory beside a reply.


@dataclass(frozen=True)
class Recalled:
    """The reply is about to begin. ``recollection`` is what was recalled for it."""

    exchange_id: str
    recollection: Recollection


@dataclass(frozen=True)
class Delta:
    """A piece of the reply, as it streams."""

    text: str


@dataclass(frozen=True)
class Ended:
    """The reply is stored, durably. ``error`` says in words what went wrong, "" where nothing did. ``notice`` is to be shown
    beside the reply and is no part of it."""

    exchange: Exchange
    error: str = ""
    notice: str = ""


TurnEvent = Recalled | Delta | Ended


@dataclass(frozen=True)
class Shown:
    """An exchange as a face shows it: ``grounds`` is what its reply rested on, ``spans`` the times understood."""

    exchange: Exchange
    grounds: Sequence[dict[str, object]]
    spans: Sequence[Span] = ()
    error: str = ""
    variants: int = 1
    chosen: int = 0
    notice: str = ""


def shown(exchange: Exchange, node: Node | None) -> Shown:
    """An exchange with what its log entry knows of its reply."""
    if node is None or node.variant is None:
        return Shown(exchange, ())
    variant = node.variant
    spans = [
        Span(phrase, datetime.fromisoformat(start), datetime.fromisoformat(end), unit)
        for phrase, start, end, unit in variant.spans
    ]
    return Shown(exchange, variant.hits, spans, variant.error, len(node.variants), node.chosen, variant.notice)


def span_row(span: Span) -> list[str]:
    """A span as the log keeps it."""
    return [span.phrase, span.start.isoformat(), span.end.isoformat(), span.granularity]


def ground(hit: Hit) -> dict[str, object]:
    """A hit as the log and the faces keep it."""
    return {
        "layer": hit.layer, "recipe": hit.recipe, "id": hit.id, "time": hit.time.isoformat() if hit.time else "",
        "text": hit.text[:SHOWN_TEXT], "score": round(hit.score, 4), "words": list(hit.words),
        "features": {name: round(float(value), 4) for name, value in hit.features.items()},
        "span": hit.span.phrase if hit.span else "", "sources": list(hit.sources), "kind": hit.episode or "",
    }  # fmt: skip


def exchange_text(exchange: Exchange, user_name: str, character_name: str) -> str:
    """An exchange as a block shows it."""
    mark = ": " if f"{user_name}{character_name}".isascii() else "："
    lines = [f"{user_name}{mark}{exchange.user}"] if exchange.user else []
    return "\n".join([*lines, f"{character_name}{mark}{exchange.char}"] if exchange.char else lines)
