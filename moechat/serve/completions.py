"""OpenAI's form of a reply: whole, or as server-sent events. And how a reply that a thread makes is waited for."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import json
import threading
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, TypeVar

from moechat.errors import ModelError
from moechat.model import Usage
from moechat.turn import Delta, Ended, TurnEvent

T = TypeVar("T")
JsonObject = dict[str, Any]
DONE = "data: [DONE]\n\n"
# What passes from a request to the model; all else is left out.
WISHES = (
    "temperature", "top_p", "top_k", "min_p", "max_tokens", "max_completion_tokens", "stop", "presence_penalty",
    "frequency_penalty", "repetition_penalty", "seed", "logit_bias", "response_format", "reasoning_effort", "verbosity",
    "tools", "tool_choice", "parallel_tool_calls",
)  # fmt: skip
# HTTP status and OpenAI's code by the kind of what a model raised.
STATUS: Mapping[str, tuple[int, str]] = {
    "context_full": (400, "context_length_exceeded"),
    "rate_limit": (429, "rate_limit_exceeded"),
    "timeout": (504, "timeout"),
    "no_such_name": (404, "model_not_found"),
    "bad_key": (502, "upstream_key"),
    "unknown_model": (502, "upstream_model"),
}
UPSTREAM = (502, "upstream_error")


@dataclass(frozen=True)
class End:
    """How a reply ended, and what it cost in tokens; ``memories`` are those behind it, None where nobody asks for them."""

    reason: str = "stop"
    calls: Sequence[Mapping[str, Any]] = ()
    prompt: int = 0
    reply: int = 0
    cached: int = 0
    memories: Sequence[Mapping[str, Any]] | None = None


def pieces(events: Generator[tuple[int, TurnEvent], None, None]) -> Iterator[tuple[int, Delta | End]]:
    """Turns as a front end sees them. Raises ModelError."""
    with closing(events):
        for index, event in events:
            if isinstance(event, Delta):
                yield index, event
            elif isinstance(event, Ended):
                if event.error and event.exchange.status == "failed":
                    raise ModelError(event.kind, event.error)
                is_short = event.is_cut or event.exchange.status != "done"
                cost = Usage(event.cost.prompt, event.cost.cached, event.cost.reply) if event.cost else None
                yield index, ending(event.calls, cost, is_short=is_short)


def ending(calls: Sequence[Mapping[str, Any]], cost: Usage | None, *, is_short: bool) -> End:
    """How a reply ended. ``is_short``: it was cut off."""
    reason = "tool_calls" if calls else "length" if is_short else "stop"
    return End(reason, calls, cost.prompt, cost.reply, cost.cached or 0) if cost else End(reason, calls)


def usage(ends: Sequence[End]) -> JsonObject:
    prompt, reply = sum(end.prompt for end in ends), sum(end.reply for end in ends)
    return {
        "prompt_tokens": prompt, "completion_tokens": reply, "total_tokens": prompt + reply,
        "prompt_tokens_details": {"cached_tokens": sum(end.cached for end in ends)},
    }  # fmt: skip


def metadata(ends: Sequence[End]) -> JsonObject:
    memories = [one for end in ends for one in end.memories or ()]
    return {} if all(end.memories is None for end in ends) else {"metadata": {"memories": memories}}


class Form:
    """The objects of one answer: all have its id, time and model."""

    def __init__(self, id_: str, created: int, model: str) -> None:
        self._head = {"id": id_, "created": created, "model": model}

    def whole(self, texts: Sequence[str], ends: Sequence[End]) -> JsonObject:
        choices = []
        for index, (text, end) in enumerate(zip(texts, ends, strict=True)):
            message: JsonObject = {"role": "assistant", "content": text}
            if end.calls:
                message["tool_calls"] = list(end.calls)
            choices.append({"index": index, "message": message, "logprobs": None, "finish_reason": end.reason})
        return self._head | {"object": "chat.completion", "choices": choices, "usage": usage(ends)} | metadata(ends)

    def begin(self, index: int) -> str:
        return self._event([_delta(index, {"role": "assistant", "content": ""})])

    def piece(self, index: int, text: str) -> str:
        return self._event([_delta(index, {"content": text})])

    def end(self, index: int, end: End) -> str:
        events = ""
        if end.calls:
            calls = [{"index": at, **call} for at, call in enumerate(end.calls)]
            events = self._event([_delta(index, {"content": "", "tool_calls": calls})])
        return events + self._event([_delta(index, {}) | {"finish_reason": end.reason}], metadata([end]))

    def cost(self, ends: Sequence[End]) -> str:
        return self._event([], {"usage": usage(ends)})

    def _event(self, choices: Sequence[JsonObject], more: Mapping[str, Any] | None = None) -> str:
        return event(self._head | {"object": "chat.completion.chunk", "choices": list(choices)} | dict(more or {}))


def event(body: Mapping[str, Any]) -> str:
    return f"data: {json.dumps(body, ensure_ascii=False)}\n\n".encode("utf-8", "replace").decode()


def _delta(index: int, delta: JsonObject) -> JsonObject:
    return {"index": index, "delta": delta, "finish_reason": None}


# ---- waiting for a thread


class Crowded(Exception):
    """As many replies are under way as there may be."""


class Threads:
    """A thread for each reply that is under way, up to a limit: a model that is slow holds up nobody else."""

    def __init__(self, most: int) -> None:
        self._free = threading.BoundedSemaphore(most)

    async def each(self, make: Callable[[], Iterator[T]], stop: Callable[[], None]) -> AsyncIterator[T]:
        """What an iterator gives, which a thread of its own makes and reads. If nobody reads on, ``stop`` is called and the
        iterator closed. Raises Crowded, and what the iterator raises."""
        if not self._free.acquire(blocking=False):
            raise Crowded("too many replies are under way; come again in a second")
        loop, gone = asyncio.get_running_loop(), threading.Event()
        queue: asyncio.Queue[tuple[T | None, BaseException | None]] = asyncio.Queue()

        def put(value: T | None, error: BaseException | None) -> None:
            with contextlib.suppress(RuntimeError):  # The loop is closed: nobody reads any more.
                loop.call_soon_threadsafe(queue.put_nowait, (value, error))

        def work() -> None:
            try:
                _read(make(), lambda value: put(value, None), gone)
            except BaseException as error:  # noqa: BLE001 - a thread's border: raised again where it is waited for
                put(None, error)
            else:
                put(None, StopAsyncIteration())
            finally:
                self._free.release()

        threading.Thread(target=contextvars.copy_context().run, args=(work,), name="answer", daemon=True).start()
        try:
            while True:
                value, error = await queue.get()
                if isinstance(error, StopAsyncIteration):
                    return
                if error is not None:
                    raise error
                yield value  # type: ignore[misc]
        finally:
            gone.set()
            stop()


def _read(values: Iterator[T], put: Callable[[T], None], gone: threading.Event) -> None:
    try:
        for value in values:
            put(value)
            if gone.is_set():
                return
    finally:
        if isinstance(values, Generator):
            values.close()
