"""The routes of what the commands do with talk: recall with its reasons, the talks, a turn, and talk from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path
from fastapi import Query as Parameters
from pydantic import Field

from moechat.agent import Agent
from moechat.errors import FieldError, MoeChatError
from moechat.model import Exchange, Hit
from moechat.serve.agents import Agents
from moechat.serve.queries import Name, NonEmptyText, Text, Whose
from moechat.turn import Ended

JsonObject = dict[str, Any]
MOST_EXCHANGES = 1000


class Recall(Whose):
    """What is said, and in which talk ("": the first)."""

    text: NonEmptyText
    talk: Name = ""


class Say(Recall):
    """One whole turn."""


class Said(Whose):
    """An exchange of another program's talk. ``speaker`` is who said the message, where several people share the talk."""

    at: datetime
    text: Text = ""
    reply: Text = ""
    speaker: Name = ""


class Ingest(Whose):
    """Exchanges from elsewhere, which become a talk of that name."""

    talk: NonEmptyText
    exchanges: Annotated[list[Said], Field(min_length=1, max_length=MOST_EXCHANGES)]


class Pages(Whose):
    """The newest exchanges of a talk, or those before one of them."""

    talk: Name = ""
    limit: Annotated[int, Field(ge=1, le=200)] = 50
    before: Name | None = None


class Change(Whose):
    """A change of mind about an exchange: other words, another reply, taken back, or brought back."""

    user_text: Text | None = None
    reply_text: Text | None = None
    variant: Annotated[int, Field(strict=True, ge=0)] | None = None
    action: Literal["", "branch", "retract", "restore"] = ""


def recalled(agent: Agent, text: str, talk: str = "") -> JsonObject:
    """What would be recalled for a message, and why. It touches nothing."""
    recollection = agent.in_talk(talk).recall(text)
    spans = [
        {"phrase": one.phrase, "start": one.start.isoformat(), "end": one.end.isoformat()} for one in recollection.spans
    ]
    dropped = [{"id": one.hit.id, "text": one.hit.text, "why": one.why} for one in recollection.dropped]
    return {"spans": spans, "hits": [_hit(hit) for hit in recollection.hits], "dropped": dropped}


def _hit(hit: Hit) -> JsonObject:
    return {
        "id": hit.id, "layer": hit.layer, "recipe": hit.recipe, "text": hit.text, "score": round(hit.score, 4),
        "time": hit.time.isoformat() if hit.time else None, "words": list(hit.words),
        "features": {name: round(value, 4) for name, value in hit.features.items()},
    }  # fmt: skip


def router(agents: Agents) -> APIRouter:
    """The routes over the agents."""
    routes = APIRouter(tags=["talk"])

    @routes.post("/recall")
    def recall(question: Recall) -> JsonObject:
        with agents.lent(question.character, question.user) as agent:
            return recalled(agent, question.text, question.talk)

    @routes.post("/say")
    def say(message: Say) -> JsonObject:
        with agents.lent(message.character, message.user, new=True) as agent:
            *_, ended = agent.in_talk(message.talk).talk(message.text)
            assert isinstance(ended, Ended)
            if ended.error and not ended.exchange.char:
                raise MoeChatError(ended.error)
            return _exchange(ended.exchange) | {"error": ended.error, "notice": ended.notice}

    @routes.get("/exchanges")
    def list_exchanges(part: Annotated[Pages, Parameters()]) -> JsonObject:
        with agents.lent(part.character, part.user) as agent:
            rows = agent.in_talk(part.talk).recent(part.limit, part.before)
            exchanges = [_exchange(row.exchange) | {"variants": row.variants} for row in rows]
            return {"talks": sorted(agent.store.tree.talks), "exchanges": exchanges}

    @routes.patch("/exchanges/{id_}")
    def change_exchange(id_: Annotated[str, Path(max_length=100)], change: Change) -> JsonObject:
        with agents.lent(change.character, change.user) as agent:
            words = {"user": change.user_text, "char": change.reply_text}
            if new := {side: text for side, text in words.items() if text is not None}:
                agent.correct(id_, **new)
            if change.variant is not None or change.action == "branch":
                agent.select(id_, change.variant)
            if change.action in ("retract", "restore"):
                (agent.retract if change.action == "retract" else agent.restore)(id_)
            return {"id": id_}

    @routes.post("/ingest", status_code=201)
    def ingest(batch: Ingest) -> JsonObject:
        with agents.lent(batch.character, batch.user, new=True) as agent:
            exchanges = _imported(agent, batch.exchanges)
            name = agent.store.imports.add(exchanges, talk=batch.talk)
            agent.jobs.read_imports(lambda _done, _of: None)
            return {"batch": name, "talk": batch.talk, "exchanges": len(exchanges)}

    @routes.delete("/ingest/{batch}")
    def take_back(batch: Annotated[str, Path(max_length=100)], whose: Annotated[Whose, Parameters()]) -> JsonObject:
        with agents.lent(whose.character, whose.user) as agent:
            gone = agent.memories.take_back(batch)
            return {
                "batch": batch,
                "exchanges": len(gone.exchanges),
                "facts": len(gone.facts),
                "episodes": len(gone.episodes),
            }

    @routes.get("/export")
    def export(whose: Annotated[Whose, Parameters()]) -> JsonObject:
        """Everything that was said, on every path, as plain rows."""
        with agents.lent(whose.character, whose.user) as agent:
            return {"exchanges": agent.log()}

    return routes


def _imported(agent: Agent, rows: Sequence[Said]) -> list[Exchange]:
    zone = agent.config.time.tzinfo
    exchanges = []
    for row in rows:
        if not (row.text.strip() or row.reply.strip()):
            raise FieldError("exchanges", None, "holds one without words; leave it out")
        at = row.at if row.at.tzinfo else row.at.replace(tzinfo=zone)
        if not 1 < at.year < 9999:
            raise FieldError("at", str(row.at), "is beyond the calendar")
        exchanges.append(Exchange("", at, row.text, row.reply, speaker=row.speaker))
    return exchanges


def _exchange(exchange: Exchange) -> JsonObject:
    return {
        "id": exchange.id, "at": exchange.at.isoformat(), "user": exchange.user, "char": exchange.char,
        "status": exchange.status, "talk": exchange.talk, "speaker": exchange.speaker,
    }  # fmt: skip
