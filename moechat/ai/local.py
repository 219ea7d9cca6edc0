"""A GGUF file run in process with llama.cpp, for people without a model server (extra ``local``).

The native library opens a port of its own on loopback, which we do not use: it is closed off with a random key.
"""

from __future__ import annotations

import secrets
import time
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Event, Lock
from typing import TYPE_CHECKING, Any

from moechat.ai.chat_model import ChatRequest, chat_body
from moechat.ai.failure import Failure, Language, cleaned, kind_of
from moechat.ai.reply_stream import Put, ReplyStream, ThoughtFilter, without_thoughts
from moechat.model import Message

if TYPE_CHECKING:  # an extra, imported at the first use
    from xllamacpp import Server


LOOK_S = 0.05  # A reply that waits for its turn checks this often whether it was stopped.
EXIT_S = 30.0  # At its end, the program waits this long for a token, because a thread in llama.cpp cannot outlive it.


class LocalChatModel:
    """Replies from the GGUF file at ``path``, loaded at the first use and kept.

    ``context_tokens`` is the room for prompt and reply together (0: what the model was trained with); ``threads`` 0
    leaves their number to llama.cpp. ``timeout_s`` is the longest silence; a long prompt is read in silence, so it is
    generous. ``extra`` goes into every request; ``language`` is that of error messages.
    """

    understands = True

    def __init__(
        self,
        path: str | Path,
        *,
        context_tokens: int = 8192,
        threads: int = 0,
        timeout_s: float = 300.0,
        temperature: float | None = None,
        single_system: bool = False,
        extra: Mapping[str, Any] | None = None,
        language: Language = "en",
    ) -> None:
        self._path = Path(path).expanduser()
        self.name = self._path.stem
        self._context_tokens = context_tokens
        self._threads = threads
        self._timeout_s = timeout_s
        self._temperature = temperature
        self._single_system = single_system
        self._extra = dict(extra or {})
        self._language: Language = language
        self._server: Server | None = None
        self._turn, self._leaving = Lock(), Event()
        weakref.finalize(self, _leave, self._turn, self._leaving)

    def stream(self, request: ChatRequest) -> ReplyStream:
        """See ChatModel. Stopping takes effect with the next token; a reply to come waits for the one before it."""
        return self._reply(self._body(request.messages), self._timeout_s)

    def complete(self, messages: Sequence[Message], *, schema: dict[str, Any] | None = None, timeout_s: float) -> str:
        """See ChatModel. llama.cpp holds the answer to the schema while it is written."""
        body = self._body(messages)
        if schema is not None:
            body["response_format"] = {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}
        deadline = time.monotonic() + timeout_s
        pieces = []
        reply = self._reply(body, timeout_s)
        for piece in reply:
            pieces.append(piece)
            if time.monotonic() > deadline:
                reply.close()
                raise self._error("timeout", timeout_s=timeout_s)
        return without_thoughts("".join(pieces))

    def _reply(self, body: dict[str, Any], timeout_s: float) -> ReplyStream:
        stopped = Event()

        def produce(put: Put) -> None:
            self._generate(body, put, stopped)

        late = self._error("timeout", timeout_s=timeout_s)
        return ReplyStream(produce, late=late, timeout_s=timeout_s, hang_up=stopped.set)

    def _generate(self, body: dict[str, Any], put: Put, stopped: Event) -> None:
        """Writes one reply, on the worker thread of a ReplyStream."""
        thoughts = ThoughtFilter()
        problems: list[str] = []

        def take(chunk: dict[str, Any]) -> bool:
            """Called for every token; True stops the model. Must not raise: the library would swallow it."""
            if chunk.get("error"):
                problems.append(str(chunk["error"].get("message", "")))
                return True
            delta = chunk["choices"][0]["delta"] if chunk.get("choices") else {}
            return not put(thoughts.feed(delta.get("content") or "")) or stopped.is_set() or self._leaving.is_set()

        while not self._turn.acquire(timeout=LOOK_S):
            if stopped.is_set():
                return
        try:
            self._server = self._server or self._load()
            if not stopped.is_set():
                self._server.handle_chat_completions(body | {"stream": True}, take)
        except (ValueError, RuntimeError) as error:
            problems.append(str(error))
        finally:
            self._turn.release()
        if problems:
            detail = cleaned(problems[0], None)
            raise self._error(kind_of(400, detail), detail=detail)
        put(thoughts.rest())
        if not (thoughts.shown or stopped.is_set()):
            raise self._error("empty")

    def _load(self) -> Server:
        """The model in memory, which takes as long as reading the file. Raises ModelError."""
        try:
            import xllamacpp
        except ImportError:
            raise self._error("no_package") from None
        if not self._path.is_file():
            raise self._error("no_file", detail=str(self._path))
        params = xllamacpp.CommonParams()
        params.model.path = str(self._path)
        params.n_ctx, params.n_parallel = self._context_tokens, 1
        params.cpuparams.n_threads = self._threads or -1
        params.verbosity, params.ui, params.api_keys = 0, False, [secrets.token_hex()]
        try:
            return xllamacpp.Server(params)
        except RuntimeError:
            raise self._error("no_file", detail=str(self._path)) from None

    def _body(self, messages: Sequence[Message]) -> dict[str, Any]:
        return self._extra | chat_body(messages, self._single_system, self._temperature)

    def _error(self, kind: str, **values: Any) -> Failure:
        return Failure(kind, self._language, base_url=str(self._path), model=self.name, **values)


def _leave(turn: Lock, leaving: Event) -> None:
    """Ends a reply in progress when the model, or the program, goes."""
    leaving.set()
    if turn.acquire(timeout=EXIT_S):
        turn.release()
