"""The guard of the memory over HTTP. It looks at every request before anything else does.

On a loopback address no key is asked for, but ``Host`` and ``Origin`` must name this machine, so that no web page reaches
the memory through a name of its own (DNS rebinding) or with a form. Anywhere else every request brings the key. A body must
be JSON, small, and here in time.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import json
from typing import Any
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_BODY = 256 * 1024
BODY_S = 20.0
HEADERS = [
    (b"content-type", b"application/json; charset=utf-8"),
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
]


def is_loopback(host: str) -> bool:
    """Whether an address to listen on is reached from this machine alone."""
    if host.casefold() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def names_this_machine(scope: Scope) -> bool:
    """Whether a request calls this machine by one of its own names: no other page's name leads here (DNS rebinding)."""
    hosts = [value for name, value in scope["headers"] if name == b"host"]
    return len(hosts) == 1 and is_loopback(name_of(hosts[0].decode("latin-1").strip()))


class Refusal(Exception):
    """A request that goes no further."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message


def error_body(message: str, **more: Any) -> bytes:
    """``{"error": {"message": …, "field": …, "value": …, "remedy": …}}``; what is not known is left out."""
    return json.dumps({"error": {"message": message, **more}}, ensure_ascii=False).encode("utf-8", "replace")


class Guard:
    """Looks at every request before anything else does: host, origin, key, form and size. ``key`` None: loopback.

    A body must have arrived within ``body_s`` seconds.
    """

    def __init__(self, app: ASGIApp, key: str | None, body_s: float = BODY_S) -> None:
        self.app, self._key, self._body_s = app, key, body_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] == "http":
            try:
                self._look_at(scope)
                body = await self._body(scope, receive)
            except Refusal as refusal:
                await _answer(send, refusal.status, error_body(refusal.message))
                return
            await self.app(scope, _again(body, receive), send)

    def _look_at(self, scope: Scope) -> None:
        headers: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name, []).append(value)
        host = _one(headers, b"host")
        if self._key is None and not is_loopback(name_of(host)):
            raise Refusal(403, "Host: this server answers to localhost and 127.0.0.1 alone; call it by that name")
        origin = _one(headers, b"origin")
        if origin and urlsplit(origin).netloc.casefold() != host.casefold():
            raise Refusal(403, "Origin: pages of other sites may not call this server; call it from a program")
        if self._key is not None and not _opens(headers, self._key):
            raise Refusal(401, "a key is needed: send it as `Authorization: Bearer …` or `X-API-Key: …`")
        if scope["method"] in ("POST", "PATCH", "PUT"):
            kind = _one(headers, b"content-type").partition(";")[0].strip().casefold()
            if kind != "application/json":
                raise Refusal(415, "Content-Type: send the body as application/json")
        length = _one(headers, b"content-length")
        if length and not (length.isdecimal() and int(length) <= MAX_BODY):
            raise Refusal(413, f"the body is larger than {MAX_BODY} bytes; send less at once")

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        """The whole body, read within bounds of size and time."""
        parts: list[bytes] = []
        try:
            async with asyncio.timeout(self._body_s):
                while True:
                    message = await receive()
                    if message["type"] != "http.request":
                        raise Refusal(400, "the request ended before its body did")
                    parts.append(message.get("body", b""))
                    if sum(map(len, parts)) > MAX_BODY:
                        raise Refusal(413, f"the body is larger than {MAX_BODY} bytes; send less at once")
                    if not message.get("more_body", False):
                        return b"".join(parts)
        except TimeoutError:
            raise Refusal(408, f"the body did not arrive within {self._body_s:g} s; send it again") from None


def _one(headers: dict[bytes, list[bytes]], name: bytes) -> str:
    """The value of a header that may be there once."""
    values = headers.get(name, [b""])
    if len(values) > 1:
        raise Refusal(400, f"{name.decode()}: is there more than once; send it once")
    return values[0].decode("latin-1").strip()


def name_of(host: str) -> str:
    """The name in a Host header, without its port; "" where it is none."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _opens(headers: dict[bytes, list[bytes]], key: str) -> bool:
    scheme, _, token = _one(headers, b"authorization").partition(" ")
    key_sent = token.strip() if scheme.casefold() == "bearer" else _one(headers, b"x-api-key")
    return hmac.compare_digest(key_sent.encode("latin-1"), key.encode())


async def _answer(send: Send, status: int, body: bytes) -> None:
    headers = [*HEADERS, (b"content-length", str(len(body)).encode()), (b"connection", b"close")]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _again(body: bytes, receive: Receive) -> Receive:
    """A ``receive`` that gives the body that was read, once."""
    is_given = False

    async def receive_body() -> Message:
        nonlocal is_given
        if is_given:
            return await receive()
        is_given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive_body
