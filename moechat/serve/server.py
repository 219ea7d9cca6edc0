"""``moechat serve``: memory over HTTP, on FastAPI and uvicorn. ``access`` says who may come in, the modules beside this one
what is answered."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import Callable, Iterator
from importlib import resources
from typing import Any

import uvicorn
from fastapi import APIRouter, FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from moechat import __version__
from moechat.access.guard import Door, Guard, error_body, is_loopback
from moechat.access.keys import Keyring
from moechat.access.listening import Server, address, announce, in_thread, listen, until_told
from moechat.access.login import Attempts
from moechat.errors import ConfigError, DiskError, FieldError, MoeChatError
from moechat.house import House
from moechat.house.owners import Busy
from moechat.serve import front_ends, memory_routes, questions
from moechat.serve.agents import Agents
from moechat.serve.mcp import OverHttp

HEALTH = frozenset({"/healthz", "/readyz"})
MCP = "/mcp"
NAMED = {"u": "user", "c": "character"}  # What stands in an address before a name.
ERROR = {
    "type": "object", "required": ["error"], "properties": {"error": {
        "type": "object", "required": ["message", "type", "param", "code"],
        "properties": {"message": {"type": "string"}, "type": {"type": "string"}, "remedy": {"type": "string"}},
    }},
}  # fmt: skip
MAX_REQUESTS = 1000  # Under way at once; more are asked to come again.


# ---- the application


class Addresses:
    """Front ends write an address in several ways: with a slash at its end, without ``/v1``, with names in it
    (``/v1/u/USER/c/CHARACTER/chat/completions``). Behind this there is one."""

    ENDS = ("/models", "/chat/completions", "/embeddings")

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            parts = scope["path"].rstrip("/").split("/")[1:]
            parts = parts[1:] if parts[:1] == ["v1"] else parts
            names = {}
            while len(parts) > 2 and parts[0] in NAMED:
                names[NAMED[parts[0]]] = parts[1]
                parts = parts[2:]
            path = "/" + "/".join(parts)
            if path.startswith(self.ENDS):
                scope = {**scope, "path": f"/v1{path}", "raw_path": b"", front_ends.ADDRESS: names}
        await self.app(scope, receive, send)


MakePage = Callable[..., tuple[ASGIApp, Callable[[], None]]]
"""What makes the page for a server that has other addresses, too, and what ends it: ``web.beside``."""


class WithPage:
    """The page at every address that is none of the application's own. Each has its own door, and both count wrong tries
    together."""

    def __init__(self, app: FastAPI, page: ASGIApp) -> None:
        self.app, self.page = app, page
        paths = (
            *app.openapi()["paths"],
            *HEALTH,
            MCP,
            *Addresses.ENDS,
            *(f"/{name}" for name in NAMED),
            "/openapi.json",
        )
        self._first = {path[1:].partition("/")[0] for path in paths}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_own = scope["type"] == "http" and scope["path"][1:].partition("/")[0] in self._first
        await (self.app if is_own else self.page)(scope, receive, send)


def make_app(
    house: House, keyring: Keyring | None = None, *, open_here: bool = True, attempts: Attempts | None = None
) -> FastAPI:
    """The application over a house. ``keyring`` stands in for that of its data folder; ``open_here``: a loopback address needs
    no key."""
    house.warm()
    keyring = keyring or Keyring(house.data, house.clock)
    app = FastAPI(title="MoeChat", version=__version__, docs_url=None, redoc_url=None)
    settings = house.config.serve
    agents = Agents(house, keyring)
    app.state.house = house
    app.include_router(questions.router(agents, in_english=True), prefix="/v1")
    memories = memory_routes.router(agents)
    app.include_router(memories, prefix="/v1")
    app.include_router(questions.router(agents))  # As they were called before, and as seed 004 calls three of them.
    app.include_router(memories, deprecated=True)
    app.include_router(front_ends.router(front_ends.FrontEnds(house, agents, settings.replies)))
    app.router.routes.append(Route(MCP, OverHttp(agents), methods=["POST"], include_in_schema=False))
    app.include_router(_health(house))
    app.openapi = lambda: documented(FastAPI.openapi(app))  # type: ignore[method-assign]
    app.add_exception_handler(RequestValidationError, _unfit)
    app.add_exception_handler(HTTPException, _plain)
    app.add_exception_handler(MoeChatError, _failed)
    app.add_exception_handler(Exception, _broken)
    app.add_middleware(Addresses)
    app.add_middleware(
        Guard,
        door=Door(
            open_here=open_here, keyring=keyring,
            origins=frozenset(settings.origins), open_paths=HEALTH,
            bodies={"/chat/completions": settings.body_kb * 1024, "/embeddings": settings.body_kb * 1024},
        ),
        attempts=attempts,
    )  # fmt: skip
    return app


def documented(document: dict[str, Any]) -> dict[str, Any]:
    """The OpenAPI document with the examples of ``examples.json``, by method and path: what is sent, and what stands in the
    address. Whatever is no answer is an error, in the one form that all of them have."""
    for operation in (one for methods in document["paths"].values() for one in methods.values()):
        operation["responses"].pop("422", None)
        operation["responses"]["default"] = {"$ref": "#/components/responses/Error"}
    parts = document.setdefault("components", {})
    parts["responses"] = {
        "Error": {"description": "What is wrong, and what to do", "content": {"application/json": {"schema": ERROR}}}
    }
    for name in ("HTTPValidationError", "ValidationError"):
        parts["schemas"].pop(name, None)
    for route, example in json.loads(resources.files(__package__).joinpath("examples.json").read_text("utf-8")).items():
        method, path = route.split()
        operation = document["paths"][path][method.lower()]
        if "body" in example:
            operation["requestBody"]["content"]["application/json"]["example"] = example["body"]
        for parameter in operation.get("parameters", ()):
            if parameter["name"] in example.get("address", {}):
                parameter["example"] = example["address"][parameter["name"]]
    return document


def _health(house: House) -> APIRouter:
    """Whether the program lives, and whether it can answer: for whoever runs it. They say nothing of any memory."""
    routes = APIRouter(tags=["health"])

    @routes.get("/healthz")
    def healthz() -> dict[str, str]:
        return {"status": "ok"}

    @routes.get("/readyz")
    def readyz() -> Response:
        if not house.warm().done():
            return _response(503, b'{"status": "starting"}')
        if not house.answers():
            return _response(503, b'{"status": "memories are away"}')
        return _response(200, b'{"status": "ready"}')

    return routes


def _response(status: int, body: bytes, headers: dict[str, str] | None = None) -> Response:
    return Response(body, status, headers, "application/json; charset=utf-8")


async def _unfit(_: Any, error: Any) -> Any:
    """The first fault of a request, by field, value and remedy."""
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return _response(400, error_body("the body is not JSON", remedy="send one JSON object"))
    field = ".".join(str(part) for part in first["loc"][1:]) or "body"
    remedy = first["msg"].removeprefix("Value error, ")
    if first["type"] == "extra_forbidden":
        remedy = "unknown field; leave it out"
    elif first["type"] == "missing":
        remedy = "is missing; send it"
    elif field == "body":
        remedy = "send one JSON object"
    return _response(422, _fault(field, None if first["type"] == "missing" else first.get("input"), remedy))


def _fault(field: str, value: object, remedy: str) -> bytes:
    shown = value if value is None or isinstance(value, int) else str(value)[:60]
    return error_body(f"{field}: {remedy}", field=field, value=shown, remedy=remedy)


async def _plain(_: Any, error: Any) -> Any:
    remedies = {404: "there is no such address; see /openapi.json", 405: "this address does not take that method"}
    body = error_body(remedies.get(error.status_code, str(error.detail)), error.status_code)
    return _response(error.status_code, body, error.headers)


async def _failed(request: Any, error: Any) -> Any:
    """What the house raised, in words, where it knows both in those of the request."""
    language = "zh" if request.headers.get("accept-language", "").startswith("zh") else "en"
    message = error.words(language) if isinstance(error, DiskError) else str(error)
    if isinstance(error, FieldError):
        return _response(error.status, _fault(error.field, error.value, error.remedy))
    headers = {"retry-after": "1"} if isinstance(error, Busy) else None
    return _response(error.status, error_body(message, error.status), headers)


async def _broken(_: Any, __: Any) -> Any:
    return _response(500, error_body("something went wrong in the server; its log tells what", 500))


# ---- serving


@contextlib.contextmanager
def _server(
    house: House, host: str, port: int, key: str, page: MakePage | None
) -> Iterator[tuple[uvicorn.Server, socket.socket, str]]:
    open_here, ending, attempts = is_loopback(host), asyncio.Event(), Attempts()
    keyring = Keyring(house.data, house.clock, whole="" if open_here else key)
    if not (open_here or key or keyring.listed()):
        remedy = (
            "others can reach this address: make a key (`moechat keys add NAME`), put one into the variable "
            f"{house.config.serve.key_env}, or use 127.0.0.1"
        )
        raise ConfigError("serve", "host", host, remedy)
    with contextlib.ExitStack() as last:
        listening = last.enter_context(listen(host, port))
        api = make_app(house, keyring, open_here=open_here, attempts=attempts)
        app: ASGIApp = api
        if page is not None:
            shown, stop = page(house, ending, keyring, open_here=open_here, attempts=attempts)
            last.callback(stop)
            app = WithPage(api, shown)
        yield Server(app, ending, MAX_REQUESTS), listening, address(host, listening)


def serve(
    house: House,
    *,
    host: str = "127.0.0.1",
    port: int,
    key: str = "",
    page: MakePage | None = None,
    ready: Callable[[str], None] = announce,
) -> None:
    """Serve until the program is told to end. For the main thread. ``key`` opens everything, beside those of the key ring.
    ``page`` makes the page, which is then served at ``/``.

    Raises ConfigError for a host that others reach without a key, MoeChatError where the port cannot be had.
    """
    with _server(house, host, port, key, page) as (server, listening, url):
        ready(url)
        until_told(server, [listening])


@contextlib.contextmanager
def running(
    house: House, *, host: str = "127.0.0.1", port: int = 0, key: str = "", page: MakePage | None = None
) -> Iterator[str]:
    """The server in a thread while the block runs; gives its address."""
    with _server(house, host, port, key, page) as (server, listening, url), in_thread(server, [listening], "serve"):
        yield url
