"""The wire to an OpenAI-compatible endpoint: server-sent events, whole replies, errors, sockets."""

from __future__ import annotations

import itertools
import re
import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from moechat.ai import failure
from moechat.model import Message, Usage
from moechat.store.plain import json_value

MOST_STREAMED = 32 * 1024 * 1024  # Bytes of a reply that streams, thoughts and framing included: some 100,000 tokens.
MOST_JSON = 4 * 1024 * 1024  # Bytes of any other answer.
MOST_EVENT = 256 * 1024  # Characters of one event.
MOST_TOKENS = 1_000_000_000  # No call costs more: a greater number is no count.
MOST_MS = 86_400_000.0  # Nothing is read for more than a day.
MOST_WORDS = 2000  # Characters of an endpoint's own words that are looked at.

# Models whose chat template takes no system message but the first, or wants user and assistant in turn.
_ONE_SYSTEM = re.compile(
    r"gemma|mi[sx]tral|ministral|magistral|codestral|devstral|pixtral|llama-?2\b|vicuna|qwen-?3\.5", re.IGNORECASE
)
# Tokens by which chat templates part speakers, turns, thoughts and tools; in a message they are words.
_CONTROL = re.compile(
    r"[<\[](?=[|｜][^<>\s]{1,40}[|｜]>|/?(?:s|bos|eos|sop|(?:start|end)_of_turn|think|tool_(?:call|response)s?)>|"
    r"</?SYS>>|/?(?:INST|gMASK|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_(?:CALLS|RESULTS))\])",
    re.IGNORECASE,
)
_POSES = re.compile(r"[ \t]*(?:[【\[(（<#]|[—-]{3,}|(?:system|assistant|user|角色|用户|系统)[ \t]*[:：>])", re.I)
_BETWEEN = "————————"  # It stands between our words and the user's, where a template takes both as one message.


def marked(text: str) -> str:
    """The text with a bar before each line that begins as a block of a prompt does, or as somebody's words."""
    return "\n".join(f"｜{line}" if _POSES.match(line) else line for line in text.splitlines())


def takes_one_system(model: str) -> bool:
    """Whether a model is known, by its name, to take one leading system message alone."""
    return bool(_ONE_SYSTEM.search(model))


def chat_body(messages: Sequence[Message], single_system: bool, temperature: float | None) -> dict[str, Any]:
    """The part of a request that every model takes. ``single_system``: the system messages that lead are merged into one, and
    a later one leads the user message that follows it, so that what stands before it stays as it was."""
    if single_system:
        messages = list(_with_one_system(messages))
    body: dict[str, Any] = {"messages": [_on_wire(message) for message in messages]}
    return body if temperature is None else body | {"temperature": temperature}


def _on_wire(message: Message) -> dict[str, Any]:
    wire = dict(message.wire) if message.wire else {"role": message.role, "content": message.content}
    return wire | {"content": _uncontrolled(wire["content"])} if "content" in wire else wire


def _uncontrolled(content: object) -> object:
    """The content of a message without tokens of control: a space parts each of them."""
    if isinstance(content, str):
        return _CONTROL.sub(r"\g<0> ", content)
    if isinstance(content, list):
        return [
            part | {"text": _uncontrolled(part["text"])} if isinstance(part, dict) and "text" in part else part
            for part in content
        ]
    return content


def _with_one_system(messages: Sequence[Message]) -> Iterator[Message]:
    lead = list(itertools.takewhile(lambda message: message.role == "system", messages))
    if lead:
        yield Message("system", "\n\n".join(message.content for message in lead))
    waiting: list[str] = []
    for message in messages[len(lead) :]:
        if message.role == "system":
            waiting.append(message.content)
        elif waiting and message.role == "user":
            yield _led(waiting, message)
            waiting = []
        else:
            yield message
    if waiting:
        yield Message("user", "\n\n".join(waiting))


def _led(lead: Sequence[str], message: Message) -> Message:
    """A user message with words of ours before it; what it holds besides words stays."""
    words = "\n\n".join([*lead, _BETWEEN, marked(message.content)])
    if message.wire is None:
        return Message("user", words)
    others = [part for part in _objects(message.wire.get("content")) if part.get("type") != "text"]
    return Message("user", words, {**message.wire, "content": [{"type": "text", "text": words}, *others]})


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
    """An answer that is no chat reply. ``kind`` is the name of the sentence that says why."""

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


@dataclass(frozen=True)
class Chunk:
    """A piece of an answer: what it says, what it thinks, why it ends ("" where it goes on), what it cost, and the pieces of
    calls of tools, as they came."""

    text: str = ""
    thought: str = ""
    finish: str = ""
    usage: Usage | None = None
    calls: Sequence[Mapping[str, Any]] = ()


def events(lines: Iterable[str]) -> Iterator[Chunk]:
    """The chunks of a stream of server-sent events that hold anything. Comments are no sign of life and are skipped.

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
        body = json_value(data)
        if not isinstance(body, dict) or body.get("error"):
            raise _reported(body)
        chunk = chunk_of(body, "delta")
        if chunk != Chunk():
            yield chunk
        ended = ended or bool(chunk.finish)
    if not ended:
        raise Unfit("broken_off" if begun else "nonsense")


def whole(body: object) -> Chunk:
    """A reply that came whole."""
    if isinstance(body, dict) and body.get("error"):
        raise _reported(body)
    choices = body.get("choices") if isinstance(body, dict) else None
    if not isinstance(body, dict) or not any(isinstance(one.get("message"), dict) for one in _objects(choices)):
        raise Unfit("nonsense")
    return chunk_of(body, "message")


def chunk_of(body: Mapping[str, Any], part: str) -> Chunk:
    """What the object of a stream (part ``delta``) or of a whole answer (``message``) holds."""
    choice = next(iter(_objects(body.get("choices"))), {})
    words = next(iter(_objects([choice.get(part)])), {})
    thought = _plain(words.get("reasoning_content")) or _plain(words.get("reasoning"))
    finish = choice.get("finish_reason")
    usage = _usage(body.get("usage") or choice.get("usage"), body.get("timings"))
    text, ends, calls = _plain(words.get("content")), finish if isinstance(finish, str) else "", words.get("tool_calls")
    return Chunk(text, thought, ends, usage, tuple(_objects(calls)))


def _usage(usage: object, timings: object) -> Usage | None:
    """What the call cost, in the words of OpenAI, DeepSeek, Anthropic or llama.cpp; None where none of them says."""
    read_s = 0.0
    if isinstance(timings, dict) and (counted := _count(timings.get("prompt_n"))) is not None:
        cached = _count(timings.get("cache_n"))
        prompt, reply = counted + (cached or 0), _count(timings.get("predicted_n"))
        took_ms = timings.get("prompt_ms")
        read_s = took_ms / 1000 if isinstance(took_ms, (int, float)) and 0 < took_ms < MOST_MS else 0.0
    elif isinstance(usage, dict) and (counted := _first(usage, "prompt_tokens", "input_tokens")) is not None:
        details = usage.get("prompt_tokens_details") or usage.get("input_tokens_details")
        cached = _count(details.get("cached_tokens")) if isinstance(details, dict) else None
        if cached is None:
            cached = _first(usage, "prompt_cache_hit_tokens", "cache_read_input_tokens", "cached_tokens")
        prompt, reply = counted, _first(usage, "completion_tokens", "output_tokens")
    else:
        return None
    return Usage(prompt, cached, reply or 0, read_s)


def _first(counts: Mapping[str, Any], *names: str) -> int | None:
    return next((count for name in names if (count := _count(counts.get(name))) is not None), None)


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MOST_TOKENS else None


def _objects(values: object) -> list[dict[str, Any]]:
    """The objects of a list; of anything else none."""
    return [one for one in values if isinstance(one, dict)] if isinstance(values, list) else []


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
