"""The guard: it looks at every request to the page and to the memory over HTTP before anything else does.

``Host`` must name this machine and ``Origin`` this server, so that no web page reaches a memory through a name of its own
(DNS rebinding), with a form, or from another port of this machine. What does not come from this machine alone brings a key or
a session. A body is small, of the right kind, and here in time. What is not refused knows whose memory it may
reach: ``keys.PASS``. Pages of the sites that are named as ``origins`` may call, too (CORS).
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import logging
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from moechat.access import login
from moechat.access.keys import BUDGETS, EVERYTHING, PASS, Key, Keyring, Pass, pass_of
from moechat.access.login import Attempts
from moechat.access.register import OWNER, Register
from moechat.errors import DataError
from moechat.sentences import sentence

MAX_BODY = 256 * 1024
MAX_LOGIN = 4096
BODY_S = 20.0
NOSNIFF = (b"x-content-type-options", b"nosniff")
NO_STORE = (b"cache-control", b"no-store")
FORM, JSON, BYTES = "application/x-www-form-urlencoded", "application/json", "application/octet-stream"

log = logging.getLogger(__name__)


def is_loopback(host: str) -> bool:
    """Whether an address to listen on is reached from this machine alone."""
    if host.casefold() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True)
class Door:
    """How one may come in, and with what.

    ``open_here``: what arrives at a loopback address needs neither key nor session, and calls it by one of its own names, until
    ``register`` has a password. Else a key of ``keyring`` or a session of ``register`` opens. ``names`` are those by which others
    may call where there is no password; None: any, since a name alone opens nothing. Paths that begin with one of ``closed``
    are not there, ``open_paths`` are for all. ``headers`` go with every answer. ``origins`` are sites whose pages may call
    (https://chat.example). A body has ``max_body`` bytes at most, on paths that end in one of ``bodies`` as many as that says,
    and ``body_s`` seconds to arrive. It is JSON, on ``files`` the bytes of a file: no page of another site can send either
    unasked.
    """

    open_here: bool = True
    names: frozenset[str] | None = None
    register: Register | None = None
    closed: tuple[str, ...] = ()
    headers: tuple[tuple[bytes, bytes], ...] = (NOSNIFF, NO_STORE)
    keyring: Keyring | None = None
    origins: frozenset[str] = frozenset()
    open_paths: frozenset[str] = frozenset()
    max_body: int = MAX_BODY
    bodies: Mapping[str, int] = field(default_factory=dict)
    body_s: float = BODY_S
    files: frozenset[str] = frozenset()


class Refusal(Exception):
    """A request that goes no further."""

    def __init__(self, status: int, message: str, *, wait_s: int = 0) -> None:
        super().__init__(message)
        self.status, self.message, self.wait_s = status, message, wait_s


TYPES = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error"}
CODES = {401: "invalid_api_key", 413: "request_too_large", 429: "rate_limit_exceeded"}


def error_body(message: str, status: int = 400, **more: Any) -> bytes:
    """An error as OpenAI writes it (``message``, ``type``, ``param``, ``code``), with ``field``, ``value`` and ``remedy``, where
    they are known, for people."""
    kind = TYPES.get(status, "invalid_request_error" if status < 500 else "server_error")
    error = {"message": message, "type": kind, "param": more.get("field"), "code": CODES.get(status)} | more
    return json.dumps({"error": error}, ensure_ascii=False).encode("utf-8", "replace")


class Guard:
    """The guard at a door, before an application."""

    def __init__(self, app: ASGIApp, door: Door, attempts: Attempts | None = None) -> None:
        self.app, self.door, self._attempts = app, door, attempts or Attempts()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] == "http":
            answer = await self._let_in(scope, receive, send)
            if answer is not None:
                await answer(scope, receive, self._with_headers(send, Headers(scope=scope)))
        else:
            await send({"type": "websocket.close", "code": 1008})

    async def _let_in(self, scope: Scope, receive: Receive, send: Send) -> Response | None:
        """Pass a request on, or answer it here."""
        headers = Headers(scope=scope)
        if (early := _answered_early(self.door, scope, headers)) is not None:
            return early
        if scope["path"] in self.door.open_paths:
            await self.app(scope, receive, self._with_headers(send, headers))
            return None
        try:
            has_login = self.door.register is not None and not self._is_open(scope)
            at_login = has_login and scope["path"] in (login.LOGIN, login.LOGOUT)
            self._look_at(scope, headers)
            if not at_login:
                passed = await self._pass(scope, headers)
                if passed is None:
                    return self._turned_away(scope, headers)
                PASS.set(passed)
                if scope["path"].startswith(self.door.closed):
                    raise Refusal(404, "not here")
            _check_kind(scope, headers, FORM if at_login else BYTES if scope["path"] in self.door.files else JSON)
            most = next(
                (n for end, n in self.door.bodies.items() if scope["path"].rstrip("/").endswith(end)),
                self.door.max_body,
            )
            body = await self._body(headers, receive, MAX_LOGIN if at_login else most)
            if at_login:
                return await self._at_login(scope, headers, body)
            if self.door.keyring is not None:
                self.door.keyring.spend(PASS.get().key, sent=len(body))
        except Refusal as refusal:
            return _refused(refusal, headers)
        except (DataError, OSError) as damage:
            log.error("%s", damage)
            return _refused(Refusal(503, "the record of who may come in cannot be read; the log tells why"), headers)
        await self.app(scope, _again(body, receive), self._with_headers(send, headers))
        return None

    def _with_headers(self, send: Send, headers: Headers) -> Send:
        own = (*self.door.headers, *_for_origin(self.door, headers))

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                there = {name for name, _ in message["headers"]}
                more = [(name, value) for name, value in own if name not in there]
                message = {**message, "headers": [*message["headers"], *more]}
            await send(message)

        return send_with_headers

    # ---- whence it comes

    def _look_at(self, scope: Scope, headers: Headers) -> None:
        """Raises Refusal for a call by a name that is not ours, or from a page that is not ours."""
        host = _one(headers, "host")
        here = self._is_open(scope)
        names = None if self._has_password else self.door.names
        if here and not is_loopback(name_of(host)):
            raise Refusal(403, "Host: this server answers to localhost and 127.0.0.1 alone; call it by that name")
        if not here and names is not None and name_of(host) not in names:
            raise Refusal(403, "Host: this server answers to its own address alone; call it by that")
        origin = _one(headers, "origin")
        if origin in self.door.origins:
            return
        if origin and origin.partition("://")[2].casefold() != host.casefold():
            raise Refusal(403, "Origin: pages of other sites may not call this server; call it from a program")
        if _one(headers, "sec-fetch-site") not in ("", "same-origin", "none") and not _opens_a_page(scope, headers):
            raise Refusal(403, "Sec-Fetch-Site: pages of other sites may not call this server; call it from a program")

    def _is_open(self, scope: Scope) -> bool:
        """Whether a request needs neither key nor session. A password that is set meanwhile ends that at once."""
        server = scope.get("server")  # Only this machine reaches a loopback address.
        return self.door.open_here and server is not None and is_loopback(server[0]) and not self._has_password

    @property
    def _has_password(self) -> bool:
        return self.door.register is not None and self.door.register.has_password

    # ---- who it is

    async def _pass(self, scope: Scope, headers: Headers) -> Pass | None:
        """What a request may reach, None for nothing. Raises Refusal for a wrong key."""
        by_key = self._by_key(scope, headers)
        if by_key is not None:
            return by_key
        if self._is_open(scope):
            return EVERYTHING
        return await self._by_session(scope, headers)

    def _turned_away(self, scope: Scope, headers: Headers) -> Response:
        """The answer to one who brings nothing: a person is led to where a session begins."""
        if self.door.register is None:
            return _refused(
                Refusal(401, "a key is needed: send it as `Authorization: Bearer …` or `X-API-Key: …`"), headers
            )
        if scope["method"] == "GET" and _wants_html(headers):
            return RedirectResponse(login.LOGIN, 303)
        return _refused(Refusal(401, "a session is needed: it begins at /login"), headers)

    def _by_key(self, scope: Scope, headers: Headers) -> Pass | None:
        """What a key opens; None without one. Where none is needed, one that is not ours is that of another service: front
        ends send what they have."""
        scheme, _, token = _one(headers, "authorization").partition(" ")
        word = token.strip() if scheme.casefold() == "bearer" else _one(headers, "x-api-key")
        ring = self.door.keyring
        if not word or ring is None or self.door.register is not None:
            return None  # The page is for people: a key opens it at its login alone.
        if self._is_open(scope) and not word.startswith("mk-"):
            return None
        address = self._begin_try(scope)
        key = ring.of(word.encode("latin-1", "replace").decode("utf-8", "replace"))
        if key is None:
            raise Refusal(401, "this key opens nothing here")
        self._attempts.forgive(address)
        return _in_time(ring, key, headers)

    async def _by_session(self, scope: Scope, headers: Headers) -> Pass | None:
        register = self.door.register
        cookie = cookie_parser(headers.get("cookie", "")).get(_cookie_name(scope))
        session = register.session(cookie) if register is not None and cookie else None
        if session is None or register is None:
            return None
        if register.is_due(session):
            await asyncio.to_thread(register.note, session)
        if session.key:
            ring = self.door.keyring
            key = ring.marked(session.key) if ring is not None else None
            if ring is None or key is None:
                return None
            return _in_time(ring, key, headers) if scope["method"] == "POST" else pass_of(key)
        return EVERYTHING if session.principal == OWNER else Pass(users=frozenset({session.principal}))

    async def _at_login(self, scope: Scope, headers: Headers, body: bytes) -> Response:
        register, ring = self.door.register, self.door.keyring
        assert register is not None
        cookie_name = _cookie_name(scope)
        if scope["path"] == login.LOGOUT:
            session = register.session(cookie_parser(headers.get("cookie", "")).get(cookie_name, ""))
            if scope["method"] == "POST" and session is not None:
                await asyncio.to_thread(register.revoke, [session.id])
            return login.left(cookie_name)
        language = login.language_of(headers.get("accept-language"))
        asks: login.Asks = "key" if ring is not None else "password" if register.has_password else "code"
        if scope["method"] != "POST":
            return login.page(language, asks)
        try:
            address = self._begin_try(scope)
        except Refusal as refusal:
            fault = sentence("login", "wait", language, minutes=math.ceil(refusal.wait_s / 60))
            answer = login.page(language, asks, fault=fault, status=429)
            answer.headers["retry-after"] = str(refusal.wait_s)
            return answer
        text = _word_in(body)
        browser = login.browser_name(headers.get("user-agent", ""))
        key = ring.of(text) if ring is not None else None
        if key is not None and (key.many or len(key.users) > 1):
            self._attempts.forgive(address)
            return login.page(language, asks, fault=sentence("login", "several", language), status=403)
        mark = key.mark if key is not None else ""
        cookie = await asyncio.to_thread(register.enter, text, address, browser, mark)
        if cookie is None:
            return login.page(language, asks, fault=sentence("login", "wrong", language), status=403)
        self._attempts.forgive(address)
        return login.entered(cookie_name, cookie, secure=_one(headers, "origin").startswith("https:"))

    def _begin_try(self, scope: Scope) -> str:
        """The address of one who tries a word, which counts as wrong for now. Raises Refusal after too many."""
        address = (scope.get("client") or ("",))[0]
        if wait_s := self._attempts.wait_s(address):
            raise Refusal(429, f"too many wrong tries: try again in {wait_s} s", wait_s=wait_s)
        self._attempts.count(address)
        return str(address)

    # ---- what it brings

    async def _body(self, headers: Headers, receive: Receive, most: int) -> bytes:
        """The whole body, read within bounds of size and time."""
        language = login.language_of(headers.get("accept-language", "en"))
        too_large = Refusal(413, sentence("login", "large", language, most=most))
        length = _one(headers, "content-length")
        if length and not (length.isdecimal() and len(length) < 20 and int(length) <= most):
            raise too_large
        parts, size = [], 0
        try:
            async with asyncio.timeout(self.door.body_s):
                while True:
                    message = await receive()
                    if message["type"] != "http.request":
                        raise Refusal(400, "the request ended before its body did")
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    if size > most:
                        raise too_large
                    if not message.get("more_body", False):
                        return b"".join(parts)
        except TimeoutError:
            raise Refusal(408, f"the body did not arrive within {self.door.body_s:g} s; send it again") from None


def _answered_early(door: Door, scope: Scope, headers: Headers) -> Response | None:
    """What a browser asks before a page of an allowed site calls."""
    if headers.get("origin") not in door.origins or scope["method"] != "OPTIONS":
        return None
    wishes = headers.get("access-control-request-headers", "authorization, content-type")
    return Response(status_code=204, headers={
        "access-control-allow-methods": "GET, POST, PATCH, DELETE",
        "access-control-allow-headers": "".join(c for c in wishes if c.isascii() and c.isprintable())[:1000],
        "access-control-allow-private-network": "true",
        "access-control-max-age": "600",
    })  # fmt: skip


def _for_origin(door: Door, headers: Headers) -> tuple[tuple[bytes, bytes], ...]:
    """The headers by which a browser hands an answer to a page of an allowed site."""
    origin = headers.get("origin", "")
    if origin not in door.origins:
        return ()
    shown = (b"access-control-allow-origin", origin.encode("latin-1")), (b"vary", b"Origin")
    return *shown, (b"access-control-expose-headers", b"retry-after, x-request-id")


def _in_time(ring: Keyring, key: Key, headers: Headers) -> Pass:
    """What a key opens. Raises Refusal where it comes too often, or has sent or cost too much."""
    if wait_s := ring.wait_s(key):
        language = login.language_of(headers.get("accept-language", "en"))
        most = {"rate": key.per_minute, "mb": int(BUDGETS["bytes"]) >> 20, "cpu": int(BUDGETS["cpu_s"])}
        raise Refusal(429, sentence("login", "often", language, wait=wait_s, **most), wait_s=wait_s)
    return pass_of(key)


def _word_in(form: bytes) -> str:
    """What was typed into the login form; "" where it is no such form."""
    try:
        return parse_qs(form.decode("utf-8", "replace"), max_num_fields=8).get("word", [""])[0]
    except ValueError:
        return ""


def name_of(host: str) -> str:
    """The name in a Host header, without its port; "" where it is none."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _one(headers: Headers, name: str) -> str:
    """The value of a header that may be there once."""
    values = headers.getlist(name)
    if len(values) > 1:
        raise Refusal(400, f"{name}: is there more than once; send it once")
    return values[0].strip() if values else ""


def _opens_a_page(scope: Scope, headers: Headers) -> bool:
    """Whether somebody follows a link: the other page sees nothing of what comes, and it changes nothing."""
    kind = headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest")
    return scope["method"] == "GET" and kind == ("navigate", "document")


def _check_kind(scope: Scope, headers: Headers, kind: str) -> None:
    if scope["method"] in ("POST", "PATCH", "PUT"):
        if _one(headers, "content-type").partition(";")[0].strip().casefold() != kind:
            raise Refusal(415, f"Content-Type: send the body as {kind}")


def _cookie_name(scope: Scope) -> str:
    """A browser does not tell the ports of a machine apart: the name does."""
    return f"moechat-{(scope.get('server') or ('', 0))[1]}"


def _wants_html(headers: Headers) -> bool:
    return "text/html" in headers.get("accept", "")


def _refused(refusal: Refusal, headers: Headers) -> Response:
    more = {"connection": "close", "cache-control": "no-store"}  # Its body was not read.
    if refusal.status == 401:
        more["www-authenticate"] = "Bearer"
    if refusal.wait_s:
        more["retry-after"] = str(refusal.wait_s)
    if _wants_html(headers):
        return PlainTextResponse(refusal.message, refusal.status, more)
    return Response(
        error_body(refusal.message, refusal.status), refusal.status, more, "application/json; charset=utf-8"
    )


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
