"""The routes that look after memories, the owner's (``user``) and the author's (``official``).

``GET /memories`` lists and searches. ``GET /memories/{store}/{id}`` gives everything of one memory, ``POST /memories`` writes
one, ``PATCH`` changes one, ``DELETE`` erases one for good (``PATCH {"archived": true}`` only hides it). An official memory has
the fields of ``events.yaml``, ``facts.yaml`` or the world book (``lore``); ``curation.by_hand`` says which the owner's have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from fastapi import APIRouter, Body
from fastapi import Query as Parameters
from pydantic import Field

from moechat.access.keys import PASS
from moechat.agent import Agent
from moechat.curation import by_hand
from moechat.curation.catalogue import KINDS, UNDERSTOOD, Details, Memory, as_json, details_as_json
from moechat.errors import FieldError
from moechat.model import OfficialMemory
from moechat.serve.agents import Agents
from moechat.serve.completions import JsonObject
from moechat.serve.questions import MAX_TEXT, Whose
from moechat.verbs import author, owner, perform

StoreName = Literal["user", "official"]
MemoryType = Literal["fact", "event", "reflection", "exchange", "lore"]
MOST = 10_000_000  # An offset beyond this is a mistake.
MAX_LIST = 64
MARKS = {"archived": ("archive", "restore"), "pinned": ("pin", "unpin"), "confirmed": ("confirm", "")}


WhoseParameters = Annotated[Whose, Parameters()]


class Listing(Whose):
    """Which memories. Without ``store`` the author's come first; without ``type`` all but exchanges."""

    store: StoreName | None = None
    type: MemoryType | None = None
    q: Annotated[str, Field(max_length=MAX_TEXT)] = ""
    archived: bool = False
    limit: Annotated[int, Field(ge=1, le=200)] = 50
    offset: Annotated[int, Field(ge=0, le=MOST)] = 0


def router(agents: Agents) -> APIRouter:
    """The routes over the agents."""
    routes = APIRouter(prefix="/memories")

    @routes.get("")
    def list_memories(listing: Annotated[Listing, Parameters()]) -> JsonObject:
        with agents.lent(listing.character, listing.user) as agent:
            return _listed(agent, listing)

    @routes.get("/{store}/{id_:path}")
    def show_memory(store: StoreName, id_: str, whose: WhoseParameters) -> JsonObject:
        with agents.lent(whose.character, whose.user) as agent:
            return _done(store, "show", agent, {"ids": [id_]})[0]

    @routes.post("", status_code=201)
    def add_memory(values: Annotated[JsonObject, Body()], whose: WhoseParameters) -> JsonObject:
        store, kind, id_ = (values.pop(key, None) for key in ("store", "type", "id"))
        _check_new(store, kind, id_, values)
        if store == "user":  # Refuse it before a user's folder is made.
            by_hand.arguments(kind, values, agents.now())
        else:
            PASS.get().require_all_users()
        new = {"type": kind, "fields": values} | ({"id": id_} if store == "official" else {})
        with agents.lent(whose.character, whose.user, new=store == "user") as agent:
            return _done(store, "add", agent, new)[0]

    @routes.patch("/{store}/{id_:path}")
    def change_memory(
        store: StoreName, id_: str, values: Annotated[JsonObject, Body()], whose: WhoseParameters
    ) -> JsonObject:
        with agents.lent(whose.character, whose.user) as agent:
            _check_changes(store, values)
            if store == "official":
                return _done(store, "edit", agent, {"id": id_, "fields": values})[0]
            agent.memories.get(id_)
            for verb in _changes(values):
                _done(store, verb, agent, {"id": id_, "text": values["text"]} if verb == "edit" else {"ids": [id_]})
            return _done(store, "show", agent, {"ids": [id_]})[0]

    @routes.delete("/{store}/{id_:path}")
    def delete_memory(store: StoreName, id_: str, whose: WhoseParameters) -> JsonObject:
        with agents.lent(whose.character, whose.user) as agent:
            return {"gone": _done(store, "forget" if store == "user" else "delete", agent, {"ids": [id_]})}

    return routes


def _done(store: StoreName, verb: str, agent: Agent, values: JsonObject) -> list[JsonObject]:
    """What a verb gives, as HTTP gives it."""
    memories = perform((owner.VERBS if store == "user" else author.VERBS)[verb], agent, values, PASS.get())
    return [agent.official.as_row(one) if store == "official" else _of_user(one) for one in memories]


# ---- reading


def _listed(agent: Agent, listing: Listing) -> JsonObject:
    """A page of both stores, the author's before the owner's."""
    authored: Sequence[OfficialMemory] = ()
    kind = listing.type
    if listing.store != "user" and not listing.archived and kind != "reflection" and kind != "exchange":
        authored = agent.official.search(listing.q, kind, MOST) if listing.q.strip() else agent.official.listed(kind)
    rows = [agent.official.as_row(memory) for memory in authored[listing.offset : listing.offset + listing.limit]]
    total = len(authored)
    if listing.store != "official" and kind != "lore":
        page = agent.memories.listed(
            [kind] if kind else UNDERSTOOD, search=listing.q, archived=listing.archived,
            limit=max(listing.limit - len(rows), 1), offset=max(listing.offset - len(authored), 0),
        )  # fmt: skip
        rows += [_of_user(memory) for memory in page.memories][: listing.limit - len(rows)]
        total += page.total
    return {"memories": rows, "total": total}


def _of_user(memory: Memory | Details) -> JsonObject:
    """A memory as HTTP gives it. ``type`` says what it is; ``kind`` belongs to facts, as in facts.yaml."""
    row = as_json(memory) if isinstance(memory, Memory) else details_as_json(memory)
    rest = {key: value for key, value in row.items() if key != "kind" or value not in KINDS}
    return {"store": "user", "type": row["kind"] if row["kind"] in KINDS else "fact"} | rest


# ---- writing


def _check_new(store: object, kind: object, id_: object, values: JsonObject) -> None:
    """Raises FieldError where this cannot be written."""
    if store not in ("user", "official"):
        raise FieldError("store", store, "expects user or official")
    if kind not in ("event", "fact", "lore"):
        raise FieldError("type", kind, "expects event, fact or lore")
    _bounded(values)
    if store == "official":
        if not isinstance(id_, str | None):
            raise FieldError("id", id_, "expects text; leave it out to have one made")
        return
    if kind == "lore":
        raise FieldError("type", kind, "is for the official store alone; write it there")
    if id_ is not None:
        raise FieldError("id", id_, "is for the official store alone; leave it out")


def _check_changes(store: StoreName, values: JsonObject) -> None:
    """Raises FieldError where this cannot be changed."""
    if not values:
        raise FieldError("body", None, "holds nothing to change; send the keys that are to change")
    _bounded(values)
    if store == "official":
        return
    for key, value in values.items():
        if key not in ("text", *MARKS):
            raise FieldError(key, None, "cannot be changed here; known: text, archived, pinned, confirmed")
        if not isinstance(value, str if key == "text" else bool):
            raise FieldError(key, value, "expects words" if key == "text" else "expects true or false")
    if values.get("confirmed") is False:
        raise FieldError("confirmed", False, "expects true; to be rid of a memory, archive or delete it")
    if "text" in values and not values["text"].strip():
        raise FieldError("text", values["text"], "write it in words; to be rid of a memory, delete it")


def _changes(values: JsonObject) -> list[str]:
    """The verbs that a change comes to, in their order."""
    marks = (MARKS[key][not values[key]] for key in MARKS if key in values)
    return [*(["edit"] if "text" in values else []), *marks]


def _bounded(values: Mapping[str, object]) -> None:
    """Raises FieldError for a value that is too large to be one memory."""
    for key, value in values.items():
        parts = value if isinstance(value, list) else [value]
        if len(parts) > MAX_LIST:
            raise FieldError(key, None, f"has more than {MAX_LIST} entries; send fewer")
        if any(isinstance(part, str) and len(part) > MAX_TEXT for part in parts):
            raise FieldError(key, None, f"is longer than {MAX_TEXT} characters; shorten it")
