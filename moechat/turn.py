"""The events of a running turn, an exchange in the form that faces show, and what the log keeps of a recall."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import takewhile
from os.path import commonprefix
from typing import Any

from moechat.language.words import count_tokens
from moechat.model import Attachment, Exchange, Message, Recollection, Usage
from moechat.store.usage import TurnCost
from moechat.when import Span

USUAL_RECIPE = "events"  # A hit is of this one where the log names none.
MAX_FEATURES = 2  # Parts of a hit's score that the log keeps.
TOKENS_AROUND_MESSAGE = 4
MAX_GROUNDS_IN_VIEW = 3  # Memories that the context held anyway, shown as grounds.


@dataclass(frozen=True)
class Sent:
    """A message as a front end sent it, with its own history, which is the context of the reply.

    ``before`` and ``after`` are what it has around the message, in its order; ``ids`` are the exchanges of ours that ``before``
    holds. ``keeps_card``: who the character is stands in ``before``; else it is ours that says so. ``begun`` is the beginning
    of a reply that is to go on. ``spoken``: the reply is heard, not read. ``begins``: the message follows nothing of the talk.
    ``wishes`` are the front end's of the model. With one ``key`` it is one message sent again.
    """

    message: Message
    before: Sequence[Message] = ()
    after: Sequence[Message] = ()
    ids: Sequence[str] = ()
    keeps_card: bool = False
    begun: str = ""
    spoken: bool = False
    speaker: str = ""
    attachments: tuple[Attachment, ...] = ()
    wishes: Mapping[str, Any] = field(default_factory=dict)
    begins: bool = False
    key: str = ""

    @property
    def greeting(self) -> str:
        """What the front end shows before the first message of all, "" where that is the user's."""
        first = next((one for one in self.before if one.role != "system"), None)
        return first.content if first and first.role == "assistant" else ""


@dataclass(frozen=True)
class Recalled:
    """The reply is about to begin. ``recollection`` is what was recalled for it."""

    exchange_id: str
    recollection: Recollection


@dataclass(frozen=True)
class Delta:
    """A piece of the reply, as it streams. ``instead``: it takes the place of all pieces before it, which were a thought."""

    text: str
    instead: bool = False


@dataclass(frozen=True)
class Ended:
    """The reply is stored, durably. ``error`` says in words what went wrong, "" where nothing did. ``notice`` is to be shown
    beside the reply and is no part of it. ``is_cut``: the model stopped at its limit of tokens. ``kind`` is that of the error
    (``errors.ModelError``); ``calls`` are the calls of tools that the reply asks for, in OpenAI's form."""

    exchange: Exchange
    error: str = ""
    notice: str = ""
    is_cut: bool = False
    cost: TurnCost | None = None
    kind: str = ""
    calls: Sequence[Mapping[str, Any]] = ()


TurnEvent = Recalled | Delta | Ended


@dataclass(frozen=True)
class Shown:
    """An exchange as a face shows it: ``grounds`` is what its reply rested on, ``spans`` the times understood.

    A ground has ``layer``, ``recipe``, ``id``, ``time`` (ISO), ``text``, ``score``, ``words`` (those of the message that the
    memory has), ``features``, ``span`` (the phrase), ``sources`` and ``kind``, in the words of now. ``dropped`` says that the
    context held it anyway, ``gone`` that it is no longer there: then all else is empty but ``layer``. ``thoughts`` are those of
    the reply, as long as its trace is kept. ``by``: the folder of the character who says it in a talk of several, "" a person.
    """

    exchange: Exchange
    grounds: Sequence[dict[str, object]]
    spans: Sequence[Span] = ()
    error: str = ""
    variants: int = 1
    chosen: int = 0
    notice: str = ""
    thoughts: str = ""
    by: str = ""


@dataclass(frozen=True)
class TurnTrace:
    """A turn as it went: ``messages`` is the exact prompt, empty where the turn ended before there was one; ``thoughts`` is what
    the model thought before its reply."""

    exchange_id: str
    messages: Sequence[Message]
    recollection: Recollection
    thoughts: str = ""
    cost: TurnCost | None = None


# ---- what it costs


def size(messages: Sequence[Message]) -> int:
    """About how many tokens a prompt has."""
    return sum(count_tokens(message.content) + TOKENS_AROUND_MESSAGE for message in messages)


def cost_of(messages: Sequence[Message], before: Sequence[Message], reply: str, usage: Usage | None) -> TurnCost:
    """The cost of a turn; ``before`` is the prompt of the last one."""
    ours = size(messages)
    alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(messages, before, strict=False)))
    same = size(messages[:alike])
    if alike < min(len(messages), len(before)) and messages[alike].role == before[alike].role:
        same += count_tokens(commonprefix([messages[alike].content, before[alike].content]))  # noqa: RUF071  no paths
    compared = ours if before else 0
    if usage is None:
        return TurnCost(ours, count_tokens(reply), None, same, compared)
    return TurnCost(usage.prompt, usage.reply, usage.cached, same, compared)


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
    spans, rows = list(recollection.spans), list[dict[str, object]]()
    in_view = [one for one in recollection.dropped if one.why == "in_context"][:MAX_GROUNDS_IN_VIEW]
    shown = [(hit, "") for hit in (*recollection.hits, *recollection.plans)]
    for hit, why_dropped in [*shown, *((one.hit, one.why) for one in in_view)]:
        # The greatest parts of a score; one that says the same as the score is left out.
        parts = {name: float(f"{value:.3g}") for name, value in hit.features.items() if value}
        telling = [name for name, value in parts.items() if value != float(f"{hit.score:.3g}")]
        greatest = sorted(telling, key=lambda name: -abs(parts[name]))[:MAX_FEATURES]
        row = {
            "id": hit.id,
            "layer": hit.layer if hit.layer != "diary" else None,
            "recipe": hit.recipe if hit.recipe != USUAL_RECIPE else None,
            "score": float(f"{hit.score:.4g}"),
            "features": {name: parts[name] for name in greatest} or None,
            "kind": hit.episode,
            "why": hit.why or None,
            "span": spans.index(hit.span) if hit.span in spans else None,
            "side": (why_dropped and hit.side) or None,
            "dropped": why_dropped or None,
        }
        rows.append({key: value for key, value in row.items() if value is not None})
    return rows


# ---- in words


def named(name: str, text: str) -> str:
    """What somebody says in a talk of several, as a model is shown it."""
    return f"{name}{': ' if name.isascii() else '：'}{text}" if name else text


def exchange_text(exchange: Exchange, user_name: str, character_name: str) -> str:
    """An exchange as a block shows it: before each line who spoke it, so that no line passes for another's, and a line for each
    attachment."""
    user_name = exchange.speaker or user_name
    mark = ": " if f"{user_name}{character_name}".isascii() else "："
    sides = ((user_name, exchange.sent), (character_name, exchange.heard))
    return "\n".join(f"{name}{mark}{line}" for name, words in sides for line in words.splitlines() if line.strip())
