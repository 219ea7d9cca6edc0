"""What programs that speak OpenAI's language ask: models, chat completions, embeddings.

A character has three names: its own (our persona, our memory), ``NAME:memory`` (the front end's card, our memory) and
``NAME:raw`` (the language model alone). With ``:why`` behind the first two, a reply ends in a fold of the memories behind it.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import time
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal
from urllib.parse import unquote

from fastapi import APIRouter, Body, Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from moechat.access.guard import error_body
from moechat.access.keys import PASS, Nameless
from moechat.errors import DiskError, FieldError, ModelError, MoeChatError, NotFound
from moechat.house import House, bare_models
from moechat.serve import chats
from moechat.serve.agents import Agents
from moechat.serve.completions import (
    DONE,
    STATUS,
    UPSTREAM,
    WISHES,
    Crowded,
    End,
    Form,
    JsonObject,
    Threads,
    ending,
    event,
    pieces,
)
from moechat.serve.history import NOTICE, History, TalkRequest, fold, read
from moechat.serve.identity import Caller, caller
from moechat.turn import Delta
from moechat.when.names import tongue_of
from moechat.worker import COURTESY

Mode = Literal["", "memory", "raw"]
WHY = ":why"
MODES: tuple[Mode, ...] = ("", "memory", "raw")
MOST_MESSAGES, MOST_REPLIES, MOST_INPUTS, MOST_INPUT = 5000, 8, 256, 8000
ADDRESS = "moechat.address"  # The key of the scope that has the names of the address, by what they name.
UNBUFFERED = {"cache-control": "no-store", "x-accel-buffering": "no"}
PASTE: Mapping[str, str] = {
    "zh": NOTICE
    + "还不知道这是谁和谁在说话，所以没有回忆，也没有记下任何内容。请让前端带上名字：请求头 `X-MoeChat-User: 名字` "
    "和 `X-MoeChat-Character: 角色名`，或请求体里的 `moechat_user`、`moechat_character`。SillyTavern：在 API 连接 → 附加参数 → "
    '包含主体参数 里粘贴\nmoechat_user: "{{user}}"\nmoechat_character: "{{char}}"',
    "en": NOTICE
    + "It is not clear who is talking with whom, so nothing was recalled and nothing was kept. Let the front end say "
    "it: the headers `X-MoeChat-User: NAME` and `X-MoeChat-Character: NAME`, or `moechat_user` and `moechat_character` in the "
    'body. SillyTavern: API Connections, Additional Parameters, Include Body Parameters:\nmoechat_user: "{{user}}"\n'
    'moechat_character: "{{char}}"',
}


class FrontEnds:
    """Front ends before one house."""

    def __init__(self, house: House, agents: Agents, most: int) -> None:
        self._house, self._agents, self._chats, self._threads = house, agents, chats.Chats(), Threads(most)

    # ---- models

    def models(self) -> list[str]:
        names = PASS.get().among(self._house.characters())
        return [f"{unquote(name)}:{mode}".rstrip(":") for name in names for mode in MODES]

    def character(self, model: object) -> tuple[str, Mode]:
        """(the character's folder, how it is meant) by the name of a model. Raises NotFound."""
        if model is None or model == "":
            return self._agents.character(None), ""
        if not isinstance(model, str):
            raise FieldError("model", model, "expects a name; /v1/models lists them")
        model = model.removesuffix(WHY)
        name, _, suffix = model.rpartition(":")
        mode: Mode = suffix if name and suffix in ("memory", "raw") else ""  # type: ignore[assignment]
        return self._agents.character(self._agents.folder_of(name if mode else model)), mode

    # ---- chat

    def replies(
        self, body: Mapping[str, Any], who: Caller, messages: Sequence[JsonObject], reply: chats.Reply
    ) -> Iterator[tuple[int, Delta | End]]:
        """The replies to a request, in a thread of its own. What is no talk, the model answers by itself."""
        text = str(messages[-1].get("content", ""))
        me = who.character or str(body.get("model") or "").partition(":")[0]
        with COURTESY.preparing(text):
            history = read(messages, tongue_of(text), me)
        wishes = {name: body[name] for name in WISHES if body.get(name) is not None}
        try:
            character, mode = self.character(body.get("model"))
        except NotFound as error:
            raise ModelError("no_such_name", str(error)) from None
        PASS.get().require_character(character)
        if mode == "raw" or history.is_task(who.task, body):
            yield from self._plain(history, wishes)
            return
        try:
            user, character = PASS.get().user(who.user), self._whose_card(character, mode, who)
        except Nameless:
            yield 0, Delta(PASTE[tongue_of(history.words or "")])
            yield 0, End()
            return
        request = TalkRequest(
            history.to(user or ""),
            who.chat, _count(body.get("n")), body.get("store") is not False and not who.is_temporary, mode == "memory",
            who.style == "spoken", wishes, who.key, user or "",
        )  # fmt: skip
        talk = chats.named(who.chat) if history.cue and who.chat and request.stores else ""
        with self._agents.joined(character, user or "", talk, history.text) as (agent, group):
            try:
                for index, one in pieces(self._chats.replies(agent, request, reply, group)):
                    if isinstance(one, End) and (memories := reply.grounds.get(index)) is not None:
                        if who.why == "metadata":
                            one = replace(one, memories=memories)
                        elif not one.calls and (text := fold(memories, agent.character.language)):
                            yield index, Delta(text)
                    yield index, one
                return
            except chats.NoTalk:
                pass
        yield from self._plain(history, wishes)

    def _whose_card(self, character: str, mode: Mode, who: Caller) -> str:
        """The character whose memory is meant: of a front end's card, the one that it names. Raises Nameless."""
        if mode != "memory":
            return character
        if not who.character:
            raise Nameless
        return self._agents.begin_character(who.character)

    def _plain(self, history: History, wishes: Mapping[str, Any]) -> Iterator[tuple[int, Delta | End]]:
        """The model alone. Without one there is nothing to say."""
        messages = [*history.before, *([history.message] if history.words is not None else []), *history.after]
        stream = bare_models.ask(self._house, messages, wishes)
        if stream is None:
            yield 0, End()
            return
        for piece in stream:
            yield 0, Delta(piece, type(piece) is not str)  # another kind of text takes the place of those before
        yield 0, ending(stream.outcome.calls, stream.outcome.usage, is_short=stream.outcome.is_cut)

    async def answer(self, http: Request, body: Mapping[str, Any]) -> Response:
        who = caller(http.headers, body, http.scope.get(ADDRESS, {}))
        messages = _messages(body.get("messages"))
        reply = chats.Reply(tells_why=bool(who.why) or str(body.get("model")).endswith(WHY))
        events = self._threads.each(lambda: self.replies(body, who, messages, reply), reply.stop)
        form = Form(f"chatcmpl-{uuid.uuid4().hex}", int(time.time()), str(body.get("model") or ""))
        try:
            async with _while_there(http, reply):
                if not body.get("stream"):
                    return JSONResponse(await _whole(events, form), headers=UNBUFFERED)
                first = await anext(events, None)  # An error before it still has a status of its own.
        except (ModelError, Crowded) as failure:
            status, code = status_of(failure)
            return Response(error_body(str(failure), status, code=code), status, UNBUFFERED, "application/json")
        options = body.get("stream_options")
        wants_usage = isinstance(options, dict) and bool(options.get("include_usage"))
        return StreamingResponse(
            _stream(first, events, form, reply, wants_usage=wants_usage), 200, UNBUFFERED, "text/event-stream"
        )

    # ---- embeddings

    def embeddings(self, body: Mapping[str, Any]) -> JsonObject:
        texts = body.get("input")
        texts = [texts] if isinstance(texts, str) else texts
        if not isinstance(texts, list) or not texts or len(texts) > MOST_INPUTS:
            raise FieldError("input", None, f"expects one text, or a list of at most {MOST_INPUTS}")
        if not all(isinstance(text, str) and 0 < len(text) <= MOST_INPUT for text in texts):
            raise FieldError("input", None, f"expects texts of 1 to {MOST_INPUT} letters, no tokens")
        in_base64 = body.get("encoding_format") == "base64"
        rows = bare_models.embed(self._house, [text.encode("utf-8", "replace").decode() for text in texts])
        data = [
            {"object": "embedding", "index": at,
             "embedding": base64.b64encode(row.tobytes()).decode() if in_base64 else row.tolist()}
            for at, row in enumerate(rows)
        ]  # fmt: skip
        tokens = sum(len(text) for text in texts)
        cost = {"prompt_tokens": tokens, "total_tokens": tokens}
        return {"object": "list", "data": data, "model": str(body.get("model") or ""), "usage": cost}


def router(front_ends: FrontEnds) -> APIRouter:
    """The routes of OpenAI's language."""
    routes = APIRouter(prefix="/v1", tags=["openai"])

    @routes.get("/models")
    def list_models() -> JsonObject:
        return {"object": "list", "data": [_model(name) for name in front_ends.models()]}

    @routes.get("/models/{name:path}")
    def show_model(name: str) -> JsonObject:
        front_ends.character(name)
        return _model(name)

    @routes.post("/chat/completions")
    async def chat(http: Request, body: Annotated[JsonObject, Body()]) -> Response:
        return await front_ends.answer(http, body)

    @routes.post("/embeddings")
    def embed(body: Annotated[JsonObject, Body()]) -> JsonObject:
        return front_ends.embeddings(body)

    return routes


def _model(name: str) -> JsonObject:
    return {"id": name, "object": "model", "created": 0, "owned_by": "moechat"}


def _messages(value: object) -> list[JsonObject]:
    if not isinstance(value, list) or not value or not all(isinstance(one, dict) for one in value):
        raise FieldError("messages", None, "expects a list of messages with role and content")
    if len(value) > MOST_MESSAGES:
        raise FieldError("messages", None, f"has more than {MOST_MESSAGES} of them; send fewer")
    return value


def _count(n: object) -> int:
    if n is None:
        return 1
    if not isinstance(n, int) or not 1 <= n <= MOST_REPLIES:
        raise FieldError("n", n, f"expects a number from 1 to {MOST_REPLIES}")
    return n


def status_of(failure: Exception) -> tuple[int, str]:
    """(HTTP status, OpenAI's code) of a reply that failed."""
    if isinstance(failure, Crowded):
        return 503, "overloaded"
    if isinstance(failure, DiskError) and failure.fault == "away":
        return failure.status, "memory_away"
    return STATUS.get(getattr(failure, "kind", ""), UPSTREAM)


@contextlib.asynccontextmanager
async def _while_there(http: Request, reply: chats.Reply) -> AsyncIterator[None]:
    """The block runs until it ends; a reply is stopped when whoever asked for it has gone meanwhile."""
    leaving = asyncio.ensure_future(http.receive())  # The body is here: all that may come is that they go.
    leaving.add_done_callback(lambda task: None if task.cancelled() else reply.stop())
    try:
        yield
        reply.is_lost = leaving.done()
    finally:
        leaving.cancel()


async def _whole(events: AsyncIterator[tuple[int, Delta | End]], form: Form) -> JsonObject:
    texts: list[str] = [""]
    ends: list[End] = []
    async for index, one in events:
        texts += [""] * (index + 1 - len(texts))
        if isinstance(one, End):
            ends.append(one)
        else:
            texts[index] = one.text if one.instead else texts[index] + one.text
    return form.whole(texts, ends)


async def _stream(
    first: tuple[int, Delta | End] | None,
    events: AsyncIterator[tuple[int, Delta | End]],
    form: Form,
    reply: chats.Reply,
    *,
    wants_usage: bool,
) -> AsyncIterator[str]:
    ends: list[End] = []
    begun: set[int] = set()
    reply.is_lost = True
    try:
        while first is not None:
            index, one = first
            if index not in begun:
                begun.add(index)
                yield form.begin(index)
            if isinstance(one, End):
                ends.append(one)
                yield form.end(index, one)
            else:
                yield form.piece(index, one.text)
            first = await anext(events, None)
        if wants_usage:
            yield form.cost(ends)
    except MoeChatError as failure:
        status, code = status_of(failure)
        yield event(
            {"error": {"message": str(failure), "type": "server_error", "param": None, "code": code, "status": status}}
        )
    reply.is_lost = False
    yield DONE
