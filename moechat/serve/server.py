"""``moechat serve``: memory over HTTP, on FastAPI and uvicorn. ``access`` says who may come in, the modules beside this one
what is answered."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterator
from typing import Any

import uvicorn
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from moechat import __version__
from moechat.access.guard import Door, Guard, error_body, is_loopback
from moechat.access.listening import STOP_S, address, announce, in_thread, listen, until_told
from moechat.access.register import OWNER
from moechat.errors import ConfigError, FieldError, MoeChatError, NotFound, PathError
from moechat.house import House
from moechat.house.owners import Busy
from moechat.serve import memories, queries
from moechat.serve.agents import Agents

PORT = 8012  # It is the seed's own.
KEY_ENV = "MOECHAT_SERVE_KEY"
MOST_REQUESTS = 64  # So many are under way at once; more are asked to come again.


# ---- the application


def make_app(house: House, *, key: str | None = None) -> FastAPI:
    """The application over a house. ``key`` None: for a loopback address."""
    house.warm()
    app = FastAPI(title="MoeChat", version=__version__, docs_url=None, redoc_url=None)
    agents = Agents(house)
    app.state.house = house
    for routes in (queries, memories):
        app.include_router(routes.router(agents))
    app.add_exception_handler(RequestValidationError, _unfit)
    app.add_exception_handler(HTTPException, _plain)
    app.add_exception_handler(MoeChatError, _failed)
    app.add_exception_handler(Exception, _broken)
    app.add_middleware(Guard, door=Door(open_here=key is None, keys={} if key is None else {key: OWNER}))
    return app


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
    return _response(error.status_code, error_body(remedies.get(error.status_code, str(error.detail))))


async def _failed(_: Any, error: Any) -> Any:
    """What the house raised, in words."""
    if isinstance(error, FieldError):
        return _response(422, _fault(error.field, error.value, error.remedy))
    if isinstance(error, PathError):
        return _response(422, error_body(str(error)))
    if isinstance(error, NotFound):
        return _response(404, error_body(str(error)))
    if isinstance(error, Busy):
        return _response(503, error_body(str(error)), {"retry-after": "1"})
    return _response(409, error_body(str(error)))


async def _broken(_: Any, __: Any) -> Any:
    return _response(500, error_body("something went wrong in the server; its log tells what"))


# ---- serving


def _checked(host: str, key: str | None, key_env: str) -> str | None:
    """The key that requests must bring, None for a loopback address. Raises ConfigError."""
    if is_loopback(host):
        return None
    if not key:
        remedy = f"others can reach this address: put a key into the variable {key_env}, or use 127.0.0.1"
        raise ConfigError("serve", "host", host, remedy)
    return key


@contextlib.contextmanager
def _server(
    house: House, host: str, port: int, key: str | None, key_env: str = KEY_ENV
) -> Iterator[tuple[uvicorn.Server, socket.socket, str]]:
    key = _checked(host, key, key_env)
    with listen(host, port) as listening:
        config = uvicorn.Config(
            make_app(house, key=key), log_level="warning", access_log=False, server_header=False, ws="none",
            timeout_graceful_shutdown=STOP_S, limit_concurrency=MOST_REQUESTS, proxy_headers=False,
        )  # fmt: skip
        yield uvicorn.Server(config), listening, address(host, listening)


def serve(
    house: House,
    *,
    host: str = "127.0.0.1",
    port: int = PORT,
    key: str | None = None,
    key_env: str = KEY_ENV,
    ready: Callable[[str], None] = announce,
) -> None:
    """Serve until the program is told to end. For the main thread. ``key_env`` is where the key came from.

    Raises ConfigError for a host that others reach without a key, MoeChatError where the port cannot be had.
    """
    with _server(house, host, port, key, key_env) as (server, listening, url):
        ready(url)
        until_told(server, [listening])


@contextlib.contextmanager
def running(house: House, *, host: str = "127.0.0.1", port: int = 0, key: str | None = None) -> Iterator[str]:
    """The server in a thread while the block runs; gives its address."""
    with _server(house, host, port, key) as (server, listening, url), in_thread(server, [listening], "serve"):
        yield url
