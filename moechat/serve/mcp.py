"""Memory for assistants and editors that speak the Model Context Protocol (extra ``mcp``): ``moechat mcp``, over stdio, and the
address ``/mcp`` of ``moechat serve``."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from moechat import __version__
from moechat.access.keys import EVERYTHING, PASS
from moechat.agent import Agent
from moechat.curation.catalogue import as_json
from moechat.errors import MoeChatError
from moechat.house import House
from moechat.serve.agents import Agents
from moechat.serve.completions import JsonObject
from moechat.serve.identity import Caller, caller
from moechat.serve.questions import MAX_TEXT, recalled
from moechat.verbs import owner, perform
from moechat.worker import lazy

ABOUT = (
    "The long-term memory of a person and a character. Use `recall` before you answer what may rest on earlier talk; "
    "use `remember` for what will matter later. Never forget anything unless the person asks for it."
)
MOST = 50
CALLER: ContextVar[Caller] = ContextVar("CALLER")  # Of the request over HTTP that is answered.


class OverHttp:
    """MCP over HTTP behind the guard: each request is answered by itself, and reaches what its key reaches. Whose memory is
    asked, the same headers say as elsewhere."""

    def __init__(self, agents: Agents) -> None:
        self._agents = agents

    @lazy
    def _server(self) -> Any:
        return _over(self._agents, CALLER.get)._lowlevel_server

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        CALLER.set(caller(Headers(scope=scope), {}, {}))
        server = self._server
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        manager = StreamableHTTPSessionManager(server, json_response=True, stateless=True)
        async with manager.run():
            await manager.handle_request(scope, receive, send)


def make_server(house: House, character: str | None, user: str | None) -> Any:
    """The server over one owner's memory. Raises MoeChatError without the extra."""
    PASS.set(EVERYTHING)
    return _over(Agents(house), lambda: Caller(user=user or "", character=character or ""))


def _over(agents: Agents, who: Callable[[], Caller]) -> Any:
    try:
        from mcp.server import MCPServer
        from mcp.server.mcpserver.exceptions import ToolError
    except ImportError:
        raise MoeChatError('MCP needs a package: pip install "moechat[mcp]"') from None
    server = MCPServer("moechat", version=__version__, instructions=ABOUT)

    def over(work: Callable[[Agent], object]) -> str:
        try:
            with agents.lent(who().character or None, who().user or None, new=True) as agent:
                return json.dumps(work(agent), ensure_ascii=False)
        except MoeChatError as error:
            raise ToolError(str(error)) from None

    @server.tool(name="list")
    def list_(query: str = "", limit: int = 20) -> str:
        """What is remembered, newest first; with `query` only what has all its words."""
        return over(lambda agent: _listed(agent, {"search": query[:MAX_TEXT], "limit": max(1, min(limit, MOST))}))

    @server.tool()
    def recall(message: str) -> str:
        """What comes to mind for a message, each with the reasons why. It changes nothing."""
        return over(lambda agent: recalled(agent, message[:MAX_TEXT]))

    @server.tool()
    def remember(text: str) -> str:
        """Write down a fact about the person, in a whole sentence. It stays until it is corrected or forgotten."""
        return over(lambda agent: _done("add", agent, {"type": "fact", "text": _words(text)})[0])

    @server.tool()
    def correct(id: str, text: str) -> str:
        """Give a memory other words. `id` is as `list` and `recall` show it."""
        return over(lambda agent: _done("edit", agent, {"id": id, "text": _words(text)})[0])

    @server.tool()
    def confirm(id: str) -> str:
        """A memory in doubt is true. Only when the person says so."""
        return over(lambda agent: {"confirmed": _done("confirm", agent, {"ids": [id]})})

    @server.tool()
    def forget(id: str) -> str:
        """Erase a memory for good, with all that was made of it. Only when the person asks for it."""
        return over(lambda agent: {"gone": _done("forget", agent, {"ids": [id]})})

    return server


def _listed(agent: Agent, wish: JsonObject) -> JsonObject:
    page = perform(owner.VERBS["list"], agent, wish)
    return {"memories": [as_json(memory) for memory in page.memories], "total": page.total}


def _done(verb: str, agent: Agent, values: JsonObject) -> list[JsonObject]:
    return [as_json(memory) for memory in perform(owner.VERBS[verb], agent, values)]


def _words(text: str) -> str:
    if not text.strip() or len(text) > MAX_TEXT:
        raise MoeChatError(f"expects a text of 1 to {MAX_TEXT} letters")
    return text
