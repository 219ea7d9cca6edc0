"""What HTTP asks of a memory, each question by its address: those of seed 004 (``/query``, ``/query_simple``, ``/expand_words``),
recall with its reasons, the talks, a turn, and talk from elsewhere. Under ``/v1`` all keys of an answer are English."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal, cast

from fastapi import APIRouter, Body, Path
from fastapi import Query as Parameters
from pydantic import AfterValidator, AliasChoices, BaseModel, ConfigDict, Field

from moechat.access.keys import PASS
from moechat.agent import Agent
from moechat.curation.talks import FoundWords, talk_as_json
from moechat.errors import FieldError, MoeChatError
from moechat.model import Exchange, Hit
from moechat.serve.agents import Agents
from moechat.serve.completions import JsonObject
from moechat.turn import Ended
from moechat.verbs import Verb, groups, owner, perform, whole_talks

MOST_EXCHANGES = 1000
MAX_TEXT = 4000
MAX_NAME = 200
ENGLISH: Mapping[str, str] = {
    "检索耗时": "took", "向量+embedding检索": "vectors", "mysql检索": "entities", "扩词算法": "associating", "分词": "words",
    "重排算法": "ranking", "给联想的基词": "base_words", "扩展后联想词": "associations", "原始关键词列表": "words",
    "输入的单词列表": "base_words", "扩展的联想词列表": "associations", "user": "text", "char": "reply",
}  # fmt: skip


def _not_empty(text: str) -> str:
    if not text.strip():
        raise ValueError("is empty; write what is to be looked for")
    return text


Text = Annotated[str, Field(strict=True, max_length=MAX_TEXT)]
NonEmptyText = Annotated[Text, AfterValidator(_not_empty), Field(json_schema_extra={"pattern": r"\S"})]
Name = Annotated[str, Field(strict=True, max_length=MAX_NAME)]


class Whose(BaseModel):
    """Whose memory is asked: without a character the configured one, without a user the owner of its folder."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    character: Name | None = None
    user: Name | None = None


class Query(Whose):
    """``previous_reply`` is what the character said last (default: as the talk in memory has it; "" for none).

    ``score_threshold`` holds for events; without it the embedding model's own floor does.
    """

    query: NonEmptyText
    limit: Annotated[int, Field(strict=True, ge=1, le=100)] = 5
    score_threshold: Annotated[float, Field(strict=True, ge=0, le=1)] | None = None
    version: Literal["v18", "v22", "v23", "v23_es"] = "v23_es"
    previous_reply: Text | None = None


class Expand(Whose):
    """``logic_type`` is the strategy; ``filter_values`` are levels to leave out, [0] for none."""

    sentence: NonEmptyText
    chinese_rd_count: Annotated[int, Field(strict=True, ge=1, le=500)] = 100
    logic_type: Literal["first", "second"] = "first"
    filter_values: Annotated[list[Annotated[int, Field(strict=True, ge=0, le=12)]], Field(max_length=13)] = [0]


class Recall(Whose):
    """What is said, and in which talk ("": the first)."""

    text: NonEmptyText
    talk: Name = ""


class Said(Whose):
    """An exchange of another program's talk. ``speaker`` is who said the message, where several people share the talk."""

    model_config = ConfigDict(json_schema_extra={
        "anyOf": [{"required": [side], "properties": {side: {"pattern": r"\S"}}} for side in ("text", "reply")],
    })  # fmt: skip

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

    text: Annotated[Text | None, Field(validation_alias=AliasChoices("text", "user_text"))] = None
    reply: Annotated[Text | None, Field(validation_alias=AliasChoices("reply", "reply_text"))] = None
    variant: Annotated[int, Field(strict=True, ge=0)] | None = None
    action: Literal["", "branch", "retract", "restore"] = ""


# ---- what is answered


def _query(agent: Agent, question: Query) -> JsonObject:
    previous = agent.conversation.last_reply() if question.previous_reply is None else question.previous_reply
    return agent.query(
        question.query, limit=question.limit, score_threshold=question.score_threshold, version=question.version,
        previous_reply=previous,
    )  # fmt: skip


def contents(answer: dict[str, Any]) -> dict[str, list[str]]:
    """The answer of ``/query_simple``: what is remembered, without scores and words."""
    return {name: [row["description"] for row in answer[name]] for name in ("memory_events", "memory_entities")}


def _expanded(agent: Agent, question: Expand) -> JsonObject:
    return agent.expand_words(
        question.sentence, count=question.chinese_rd_count, strategy=question.logic_type,
        filter_values=question.filter_values,
    )  # fmt: skip


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


def _turn(agent: Agent, message: Recall) -> JsonObject:
    *_, ended = agent.in_talk(message.talk).talk(message.text)
    assert isinstance(ended, Ended)
    if ended.error and not ended.exchange.char:
        raise MoeChatError(ended.error)
    return _exchange(ended.exchange) | {"error": ended.error, "notice": ended.notice}


def _page(agent: Agent, part: Pages) -> JsonObject:
    rows = agent.in_talk(part.talk).path.recent(part.limit, part.before)
    exchanges = [_exchange(row.exchange) | {"variants": row.variants} for row in rows]
    return {"talks": sorted(agent.store.tree.talks), "exchanges": exchanges}


def _changed(agent: Agent, change: Change, id_: str) -> JsonObject:
    words = {"user": change.text, "char": change.reply}
    if new := {side: text for side, text in words.items() if text is not None}:
        agent.conversation.correct(id_, **new)
    if change.variant is not None or change.action == "branch":
        agent.conversation.select(id_, change.variant)
    if change.action in ("retract", "restore"):
        (agent.conversation.retract if change.action == "retract" else agent.conversation.restore)(id_)
    return {"id": id_}


def _ingested(agent: Agent, batch: Ingest) -> JsonObject:
    exchanges = _imported(agent, batch.exchanges)
    name = agent.store.imports.add(exchanges, talk=batch.talk)
    agent.jobs.read_imports(lambda _done, _of: None)
    return {"batch": name, "talk": batch.talk, "exchanges": len(exchanges)}


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


# ---- the addresses


@dataclass(frozen=True)
class Address:
    """``name`` is the operation's; ``begins``: a user without a memory gets one. ``about`` is told to who reads the document."""

    method: str
    path: str
    name: str
    values: type[Whose]
    does: Callable[[Agent, Any], JsonObject]
    begins: bool = False
    about: str = ""
    status: int = 200


GREETING = Address(
    "POST", "/greeting", "greeting", Whose, lambda agent, _: perform(owner.VERBS["greet"], agent, {}, PASS.get()),
    about=owner.VERBS["greet"].about,
)  # fmt: skip
SEED: Sequence[Address] = (
    Address("POST", "/query", "query", Query, _query),
    Address("POST", "/query_simple", "query_simple", Query, lambda agent, values: contents(_query(agent, values))),
    Address("POST", "/expand_words", "expand_words", Expand, _expanded),
)
TALK: Sequence[Address] = (
    Address("POST", "/recall", "recall", Recall, lambda agent, values: recalled(agent, values.text, values.talk)),
    Address("POST", "/say", "say", Recall, _turn, begins=True),
    Address("GET", "/exchanges", "list_exchanges", Pages, _page),
    Address("POST", "/ingest", "ingest", Ingest, _ingested, begins=True, status=201),
    Address(
        "GET", "/export", "export", Whose, lambda agent, values: {"exchanges": agent.log()},
        about="Everything that was said, on every path, as plain rows.",
    ),
)  # fmt: skip


def router(agents: Agents, *, in_english: bool = False) -> APIRouter:
    """The routes over the agents."""
    routes, is_old = APIRouter(), None if in_english else True

    for address in (*SEED, *TALK, *([GREETING] if in_english else [])):
        routes.add_api_route(
            address.path, _endpoint(agents, address, in_english=in_english), methods=[address.method], name=address.name,
            description=address.about, status_code=address.status, tags=None if address in SEED else ["talk"],
            deprecated=None if address in SEED else is_old,
        )  # fmt: skip

    @routes.patch("/exchanges/{id_}", tags=["talk"], deprecated=is_old)
    def change_exchange(id_: Annotated[str, Path(max_length=100)], change: Change) -> JsonObject:
        with agents.lent(change.character, change.user) as agent:
            return _changed(agent, change, id_)

    for name, of_group in groups.VERBS.items() if in_english else ():
        routes.add_api_route(
            f"/groups/{name}", _group_verb(agents, of_group), methods=["POST"], name=f"groups_{name}",
            description=of_group.about, tags=["groups"],
        )  # fmt: skip

    for verb in whole_talks.VERBS if in_english else ():
        routes.add_api_route(
            f"/talks/{verb}", _talk_verb(agents, verb), methods=["POST"], name=f"talks_{verb}",
            description=whole_talks.VERBS[verb].about, tags=["talk"],
        )  # fmt: skip

    @routes.delete("/ingest/{batch}", tags=["talk"], deprecated=is_old)
    def take_back(batch: Annotated[str, Path(max_length=100)], whose: Annotated[Whose, Parameters()]) -> JsonObject:
        with agents.lent(whose.character, whose.user) as agent:
            return {"batch": batch, **perform(owner.VERBS["take-back"], agent, {"batch": batch}, PASS.get())}

    return routes


def _talk_verb(agents: Agents, name: str) -> Callable[..., JsonObject]:
    """The route of a verb over talks. ``done`` is what it gives."""
    verb = whole_talks.VERBS[name]

    def endpoint(values: Annotated[JsonObject, Body()], whose: Annotated[Whose, Parameters()]) -> JsonObject:
        with agents.lent(whose.character, whose.user) as agent:
            done = perform(verb, agent, values, PASS.get())
            if isinstance(done, FoundWords):
                return {"done": done.as_json()}
            return {"done": list(map(talk_as_json, done)) if name == "list" else done}

    return endpoint


def _group_verb(agents: Agents, verb: Verb) -> Callable[..., JsonObject]:
    """The route of a verb over a talk of several. Of replies it gives ``replies``, when the last has ended."""

    def endpoint(values: Annotated[JsonObject, Body()], whose: Annotated[Whose, Parameters()]) -> JsonObject:
        with agents.company(whose.character, whose.user, str(values.get("talk", ""))) as company:
            done = perform(verb, company, values, PASS.get())
            return {"replies": list(done)} if verb.replies else done

    return endpoint


def _in_english(answer: Any, key: str = "") -> Any:
    if isinstance(answer, list) and key == "associations":
        return [{"word": word, "level": level} for row in answer for word, level in row.items()]
    if isinstance(answer, list):
        return list(map(_in_english, answer))
    is_plain = not isinstance(answer, dict)
    return (
        answer if is_plain else {(new := ENGLISH.get(old, old)): _in_english(one, new) for old, one in answer.items()}
    )


def _endpoint(agents: Agents, address: Address, *, in_english: bool) -> Callable[..., JsonObject]:
    def endpoint(values: Any) -> JsonObject:
        with agents.lent(values.character, values.user, new=address.begins) as agent:
            answer = address.does(agent, values)
            return cast("JsonObject", _in_english(answer)) if in_english else answer

    kind: Any = Annotated[address.values, Parameters()] if address.method == "GET" else address.values
    endpoint.__annotations__["values"] = kind
    endpoint.__name__ = address.name
    return endpoint
