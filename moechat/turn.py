"""The events of a running turn, an exchange in the form that faces show, and what the log keeps of a recall."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from moechat.model import Exchange, Hit, Message, Recollection
from moechat.when import Span

USUAL_RECIPE = "events"  # A hit is of this one where the log names none.
FEATURES = 2  # The log keeps this many parts of a hit's score.
IN_VIEW = 3  # So many memories that the context held anyway are shown as grounds.


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
    """An exchange as a face shows it: ``grounds`` is what its reply rested on, ``spans`` the times understood.

    A ground has ``layer``, ``recipe``, ``id``, ``time`` (ISO), ``text``, ``score``, ``words`` (those of the message that the
    memory has), ``features``, ``span`` (the phrase), ``sources`` and ``kind``, in the words of now. ``dropped`` says that the
    context held it anyway, ``gone`` that it is no longer there: then all else is empty but ``layer``.
    """

    exchange: Exchange
    grounds: Sequence[dict[str, object]]
    spans: Sequence[Span] = ()
    error: str = ""
    variants: int = 1
    chosen: int = 0
    notice: str = ""


@dataclass(frozen=True)
class TurnTrace:
    """A turn as it went: ``messages`` is the exact prompt, empty where the turn ended before there was one."""

    exchange_id: str
    messages: Sequence[Message]
    recollection: Recollection


# ---- what the log keeps


def span_row(span: Span) -> list[str]:
    """A span as the log keeps it."""
    return [span.phrase, span.start.isoformat(), span.end.isoformat(), span.granularity]


def span_of(row: Sequence[str]) -> Span:
    """A span from the log."""
    phrase, start, end, unit = row
    return Span(phrase, datetime.fromisoformat(start), datetime.fromisoformat(end), unit)


def hit_rows(recollection: Recollection) -> list[dict[str, object]]:
    """What a reply rests on as the log keeps it: the hits, and at most three memories that the context held anyway. By id
    and reason, never by their words; ``recall.grounds`` finds the words of now.

    ``layer`` is left out in the diary, ``recipe`` where it is ``USUAL_RECIPE``, ``side`` where the whole exchange was meant.
    ``span`` is the place of the time asked for among the spans of the message.
    """
    spans = list(recollection.spans)
    in_view = [one for one in recollection.dropped if one.why == "in_context"][:IN_VIEW]
    sides = [{"side": one.hit.side} if one.hit.side else {} for one in in_view]
    return [
        *(_hit_row(hit, spans) for hit in recollection.hits),
        *(_hit_row(one.hit, spans) | side | {"dropped": one.why} for one, side in zip(in_view, sides, strict=True)),
    ]


def _hit_row(hit: Hit, spans: Sequence[Span]) -> dict[str, object]:
    row: dict[str, object] = {"id": hit.id}
    if hit.layer != "diary":
        row["layer"] = hit.layer
    if hit.recipe != USUAL_RECIPE:
        row["recipe"] = hit.recipe
    row["score"] = float(f"{hit.score:.4g}")
    if features := _features(hit):
        row["features"] = features
    if hit.episode:
        row["kind"] = hit.episode
    if hit.span in spans:
        row["span"] = spans.index(hit.span)
    return row


def _features(hit: Hit) -> dict[str, float]:
    """The greatest parts of a score. One that says the same as the score is left out."""
    parts = {name: float(f"{value:.3g}") for name, value in hit.features.items() if value}
    telling = [name for name, value in parts.items() if value != float(f"{hit.score:.3g}")]
    greatest = sorted(telling, key=lambda name: -abs(parts[name]))[:FEATURES]
    return {name: parts[name] for name in greatest}


# ---- in words


def exchange_text(exchange: Exchange, user_name: str, character_name: str) -> str:
    """An exchange as a block shows it: who spoke, the words, and a line for each attachment."""
    user_name = exchange.speaker or user_name
    mark = ": " if f"{user_name}{character_name}".isascii() else "："
    lines = [f"{user_name}{mark}{exchange.sent}"] if exchange.sent else []
    return "\n".join([*lines, f"{character_name}{mark}{exchange.char}"] if exchange.char else lines)
