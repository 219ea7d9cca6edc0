"""The wire to an OpenAI-compatible endpoint: server-sent events, whole replies, errors, sockets."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from moechat.ai import failure
from moechat.store.plain import json_value

MOST_STREAMED = 32 * 1024 * 1024  # Bytes of a reply that streams, thoughts and framing included: some 100,000 tokens.
MOST_JSON = 4 * 1024 * 1024  # Bytes of any other answer.
MOST_EVENT = 256 * 1024  # Characters of one event.
MOST_WORDS = 2000  # Characters of an endpoint's own words that are looked at.


def words_of(body: object) -> str:
    """The endpoint's own words in the body of an error, whatever its form."""
    while isinstance(body, dict):
        inner = body.get("error") or body.get("message") or body.get("detail") or ""
        if isinstance(inner, dict):
            code = inner.get("code") or inner.get("type") or ""
            words = str(inner.get("message", ""))[:MOST_WORDS]
            return f"{words} ({str(code)[:MOST_WORDS]})" if code else words
        body = inner
    return str(body or "")[:MOST_WORDS]


class Unfit(Exception):
    """An answer that is no chat reply. ``kind`` is the row of ``failure.SAYINGS`` that says why."""

    def __init__(self, kind: str, detail: str = "") -> None:
        super().__init__(kind)
        self.kind, self.detail = kind, detail


class CallSockets:
    """The sockets of one call, so that another thread can hang up at any moment, even before an answer began."""

    def __init__(self) -> None:
        self._sockets: list[socket.socket] = []
        self._cut = False

    def watch(self, request: Any) -> None:
        """A hook of the HTTP client, called before every attempt."""
        if self._cut:
            raise Unfit("broken_off")
        request.extensions["trace"] = self._note

    def hang_up(self) -> None:
        self._cut = True
        for opened in self._sockets:
            _shut(opened)

    def _note(self, event: str, info: Mapping[str, Any]) -> None:
        if event.endswith(("connect_tcp.complete", "start_tls.complete")):
            opened = info["return_value"].get_extra_info("socket")
            self._sockets.append(opened)
            if self._cut:
                _shut(opened)


def _shut(opened: socket.socket) -> None:
    with suppress(OSError):  # already closed
        socket.socket.shutdown(opened, socket.SHUT_RDWR)  # not TLS's own shutdown, which would wait for the other side


def events(lines: Iterable[str]) -> Iterator[str]:
    """The text of a stream of server-sent events; "" for a thought. Comments are no sign of life and are skipped.

    Raises Unfit, and ValueError where a line is no JSON.
    """
    begun = ended = False
    for line in lines:
        if not line.startswith("data:"):
            continue
        begun, data = True, line[5:].strip()
        if data == "[DONE]":
            return
        if len(data) > MOST_EVENT:
            raise Unfit("too_much")
        chunk = json_value(data)
        if not isinstance(chunk, dict) or chunk.get("error"):
            raise _reported(chunk)
        for choice in _objects(chunk.get("choices")):
            delta = next(iter(_objects([choice.get("delta")])), {})
            text = _plain(delta.get("content"))
            if text or delta.get("reasoning_content") or delta.get("reasoning"):
                yield text
            ended = ended or bool(choice.get("finish_reason"))
    if not ended:
        raise Unfit("broken_off" if begun else "nonsense")


def _objects(values: object) -> list[dict[str, Any]]:
    """The objects of a list; of anything else none."""
    return [one for one in values if isinstance(one, dict)] if isinstance(values, list) else []


def text_of(body: object) -> str:
    """The text of a reply that came whole."""
    if isinstance(body, dict) and body.get("error"):
        raise _reported(body)
    try:
        return _plain(body["choices"][0]["message"]["content"])  # type: ignore[index]
    except (LookupError, TypeError):
        raise Unfit("nonsense") from None


def _reported(chunk: object) -> Unfit:
    """An error that the endpoint reports inside an answer that began well."""
    if not isinstance(chunk, dict):
        return Unfit("nonsense")
    error = chunk["error"]
    code = str(error.get("code") or "") if isinstance(error, dict) else ""
    words = words_of(chunk)
    return Unfit(failure.kind_of(int(code) if code.isdecimal() and len(code) < 5 else 400, words), words)


def _plain(content: object) -> str:
    """Content as text: some endpoints send it in typed parts. "" for what is no text."""
    if isinstance(content, list):
        return "".join(_plain(part.get("text")) for part in _objects(content) if part.get("type") == "text")
    return content if isinstance(content, str) else ""
