"""A scripted OpenAI-compatible server on loopback, with every failure that a chat model meets in life.

    with ModelServer([Say("你好呀"), Hang(), "第三句"]) as server:
        OpenAIChatModel(server.url, "tiny", key=None) ...

What an endpoint is like is set in the constructor (models, key, formats, streams); what happens to one chat request is
an act of the script. Listing models and rejected requests use up no act. ``requests`` records everything that came in.
"""

from __future__ import annotations

import json
import select
import socket
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any, Self

LOOK_S = 0.02


@dataclass(frozen=True)
class Say:
    """A reply, streamed in pieces where streaming was asked for; ``thoughts`` go before it as reasoning_content."""

    text: str
    piece_chars: int = 3
    thoughts: str = ""
    finish: bool = True  # whether the end is announced; False: the connection just closes
    reason: str = "stop"  # why it ends
    more: Mapping[str, Any] = field(default_factory=dict)  # what the last object holds besides, such as usage


@dataclass(frozen=True)
class BreakOff:
    """Says the beginning and then drops the connection in the middle of the body."""

    text: str = "说到一"


@dataclass(frozen=True)
class Hang:
    """Says the beginning, then nothing more until the client hangs up; ``headers`` False: not even headers.

    ``comments`` True sends keep-alive comments all the while, as some gateways do.
    """

    text: str = ""
    headers: bool = True
    comments: bool = False


@dataclass(frozen=True)
class Raw:
    """Any body at all, of any type."""

    body: str
    content_type: str = "text/event-stream"


@dataclass(frozen=True)
class Refuse:
    """An error status with the usual body (or ``body`` as it is)."""

    status: int
    message: str = "no"
    code: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str = ""


Act = Say | BreakOff | Hang | Raw | Refuse | str
RATE_LIMIT = Refuse(429, "Rate limit reached", "rate_limit_exceeded")
GARBAGE = Raw("data: {not json\n\n")
WEB_PAGE = Raw("<!doctype html><title>Hello</title>", "text/html")


class LocalServer(ThreadingHTTPServer):
    """A server whose client may go away at any moment: only other errors are printed."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


@dataclass(frozen=True)
class Recorded:
    """One request as it came in; ``body`` is the parsed JSON, {} for a GET."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]


class ModelServer:
    """Serves while the ``with`` block lasts. ``script`` is a sequence of acts, or a function of the request's body.

    A script that has run out repeats ``otherwise``. ``key`` None accepts any key; ``formats`` are the types of
    response_format that are known, others get a 400; ``streams`` False answers streaming requests in one piece, and
    ``refuses_streams`` True rejects them; ``lists_models`` False has no /models.
    """

    def __init__(
        self,
        script: Iterable[Act] | Callable[[dict[str, Any]], Act] = (),
        *,
        models: Sequence[str] = ("tiny",),
        key: str | None = None,
        formats: Sequence[str] = ("json_schema", "json_object"),
        streams: bool = True,
        refuses_streams: bool = False,
        lists_models: bool = True,
        otherwise: Act = "好的。",
        tells: Mapping[str, Any] | None = None,
    ) -> None:
        self.script = script if callable(script) else iter(script)
        self.models, self.key, self.formats = tuple(models), key, tuple(formats)
        self.streams, self.refuses_streams, self.lists_models = streams, refuses_streams, lists_models
        self.otherwise = otherwise
        self.tells = tells or {}  # path -> what is answered there, whatever the method
        self.requests: list[Recorded] = []
        self.arrived = Event()  # set by the first chat request
        self.hung_up = Event()  # set when a client closed the connection in the middle of a reply
        self.leaving = Event()
        self._http = LocalServer(("127.0.0.1", 0), _Handler)
        self._http.owner = self  # type: ignore[attr-defined]
        self.url = f"http://127.0.0.1:{self._http.server_port}/v1"

    def __enter__(self) -> Self:
        self._thread = Thread(target=self._http.serve_forever, kwargs={"poll_interval": LOOK_S}, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.leaving.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    @property
    def chats(self) -> list[dict[str, Any]]:
        """The bodies of all chat requests."""
        return [r.body for r in self.requests if r.path.endswith("/chat/completions")]

    def act(self, body: dict[str, Any]) -> Act:
        act = self.script(body) if callable(self.script) else next(self.script, self.otherwise)
        return Say(act) if isinstance(act, str) else act


class closed_port:
    """The URL of a port that is taken but that nobody listens on: a connection is refused, without a race."""

    def __enter__(self) -> str:
        self._socket = socket.socket()
        self._socket.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}/v1"

    def __exit__(self, *_: object) -> None:
        self._socket.close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def owner(self) -> ModelServer:
        return self.server.owner  # type: ignore[attr-defined]

    def log_message(self, format: str, *args: object) -> None:  # quiet
        pass

    def do_GET(self) -> None:
        self._record({})
        if self._wrong_key():
            return
        if self.path in self.owner.tells:
            self._json(200, self.owner.tells[self.path])
        elif self.path == "/v1/models" and self.owner.lists_models:
            self._json(200, {"object": "list", "data": [{"id": m, "object": "model"} for m in self.owner.models]})
        else:
            self._refuse(Refuse(404, "Not Found"))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self._record(body)
        if self._wrong_key():
            return
        wanted = body.get("response_format", {}).get("type")
        if self.path in self.owner.tells:
            self._json(200, self.owner.tells[self.path])
        elif self.path != "/v1/chat/completions":
            self._refuse(Refuse(404, "Not Found"))
        elif body.get("model") not in self.owner.models:
            self._refuse(Refuse(404, f"The model `{body.get('model')}` does not exist", "model_not_found"))
        elif wanted and wanted not in self.owner.formats:
            self._refuse(Refuse(400, f"response_format type {wanted} is not supported"))
        elif body.get("stream") and self.owner.refuses_streams:
            self._refuse(Refuse(400, "stream is not supported by this endpoint"))
        else:
            self._play(self.owner.act(body), bool(body.get("stream")) and self.owner.streams)

    def _play(self, act: Act, stream: bool) -> None:
        match act:
            case Say() if stream:
                self._stream(act)
            case Say():
                self._json(200, _whole(act))
            case BreakOff():
                self._begin("text/event-stream")
                self._chunk(_event({"content": act.text}))
                self.connection.shutdown(socket.SHUT_RDWR)
                self.close_connection = True
            case Hang():
                self._hang(act)
            case Raw():
                self._send(200, act.body.encode(), act.content_type)
            case Refuse():
                self._refuse(act)

    def _stream(self, act: Say) -> None:
        self._begin("text/event-stream")
        self._chunk(_event({"role": "assistant", "content": ""}))
        for name, text in (("reasoning_content", act.thoughts), ("content", act.text)):
            for at in range(0, len(text), act.piece_chars):
                if not self._chunk(_event({name: text[at : at + act.piece_chars]})):
                    return
        if act.finish:
            last = {"object": "chat.completion.chunk", "choices": [], **act.more}
            self._chunk(_event({}, act.reason) + f"data: {json.dumps(last)}\n\ndata: [DONE]\n\n")
        self._chunk("")

    def _hang(self, act: Hang) -> None:
        if act.headers:
            self._begin("text/event-stream")
            if act.text:
                self._chunk(_event({"content": act.text}))
        while not self.owner.leaving.is_set():
            readable, _, _ = select.select([self.connection], [], [], LOOK_S)
            if readable or (act.comments and not self._chunk(": still here\n\n")):
                self.owner.hung_up.set()
                break
        self.close_connection = True

    def _begin(self, content_type: str) -> None:
        self.send_response(200)
        self.send_header("content-type", content_type)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()

    def _chunk(self, text: str) -> bool:
        """One chunk of the body, "" ends it; False when the client is gone."""
        data = text.encode()
        try:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            return True
        except OSError:
            self.owner.hung_up.set()
            self.close_connection = True
            return False

    def _wrong_key(self) -> bool:
        given = (self.headers.get("authorization") or "").removeprefix("Bearer ")
        if self.owner.key is None or given == self.owner.key:
            return False
        self._refuse(Refuse(401, f"Incorrect API key provided: {given}", "invalid_api_key"))  # as real ones do
        return True

    def _refuse(self, act: Refuse) -> None:
        body = act.body or json.dumps({"error": {"message": act.message, "code": act.code or None, "type": "error"}})
        self._send(act.status, body.encode(), "application/json", act.headers)

    def _json(self, status: int, value: object) -> None:
        self._send(status, json.dumps(value).encode(), "application/json")

    def _send(self, status: int, body: bytes, content_type: str, headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"content-type": content_type, "content-length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _record(self, body: dict[str, Any]) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.owner.requests.append(Recorded(self.path, headers, body))
        if body:
            self.owner.arrived.set()


def _event(delta: dict[str, str], finish: str | None = None) -> str:
    chunk = {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
    return f"data: {json.dumps(chunk)}\n\n"


def _whole(act: Say) -> dict[str, Any]:
    message = {"role": "assistant", "content": act.text, "reasoning_content": act.thoughts}
    choice = {"index": 0, "message": message, "finish_reason": act.reason}
    return {"object": "chat.completion", "choices": [choice], **act.more}
