"""A GGUF file run in process with llama.cpp, for people without a model server (extra ``local``).

The native library opens a port of its own on loopback, which we do not use: it is closed off with a random key.
"""

from __future__ import annotations

import copy
import secrets
import time
import weakref
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from threading import Event, Lock
from typing import TYPE_CHECKING, Any

from moechat.ai.chat_model import ChatRequest, Delivery, cleaner_for
from moechat.ai.cleaner import Cleaner, in_whole
from moechat.ai.failure import Failure, Language, cleaned, kind_of
from moechat.ai.reply_stream import Put, ReplyOutcome, ReplyStream
from moechat.ai.window import Window
from moechat.ai.wire import Unfit, chat_body, chunk_of, words_of
from moechat.model import Message

if TYPE_CHECKING:  # an extra, imported at the first use
    from xllamacpp import Server


LOOK_S = 0.05  # A reply that waits for its turn checks this often whether it was stopped.
PIECE = 64  # Tokens of a prompt that are read at a time; between two pieces, the model can be stopped.
EXIT_S = 30.0  # At its end, the program waits this long for a token, because a thread in llama.cpp cannot outlive it.


class LocalChatModel:
    """Replies from the GGUF file at ``path``, loaded at the first use and kept.

    ``context_tokens`` is the room for prompt and reply together (0: what the model was trained with); ``threads`` 0
    leaves their number to llama.cpp. ``timeout_s`` is the longest silence; a file is loaded in silence, so it is generous.
    ``extra`` goes into every request; ``language`` is that of error messages.
    """

    understands = has_one_slot = True

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
        self._weights = _GgufFile(Path(path).expanduser(), context_tokens, threads)
        self.name, self.window = self._weights.path.stem, Window(context_tokens)
        self._timeout_s = timeout_s
        self._temperature = temperature
        self._single_system = single_system
        self._extra = dict(extra or {})
        self._language: Language = language

    def with_settings(self, *, temperature: float | None, extra: Mapping[str, Any]) -> LocalChatModel:
        """The same model in memory under other settings."""
        other = copy.copy(self)
        other._temperature, other._extra = temperature, dict(extra)
        return other

    def stream(self, request: ChatRequest) -> ReplyStream:
        """See ChatModel. Stopping takes effect with the next token, or the next piece of the prompt; a reply to come waits for
        the one before it."""
        body = self._body(request.messages) | dict(request.wishes)
        return self._reply(body, cleaner_for(request), self._timeout_s)

    def ask(
        self, messages: Sequence[Message], *, schema: dict[str, Any] | None = None, silence_s: float
    ) -> ReplyStream:
        """See ChatModel. llama.cpp holds the answer to the schema while it is written. The silence of loading is allowed for."""
        return self._answer(messages, schema, max(silence_s, self._timeout_s))

    def complete(self, messages: Sequence[Message], *, schema: dict[str, Any] | None = None, timeout_s: float) -> str:
        """See ChatModel."""
        with closing(self._answer(messages, schema, timeout_s, until=time.monotonic() + timeout_s)) as answer:
            return in_whole(answer)

    def _answer(
        self, messages: Sequence[Message], schema: dict[str, Any] | None, silence_s: float, until: float | None = None
    ) -> ReplyStream:
        body = self._body(messages)
        if schema is not None:
            body["response_format"] = {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}
        return self._reply(body, Cleaner(), silence_s, until)

    def _reply(
        self, body: dict[str, Any], cleaner: Cleaner, timeout_s: float, until: float | None = None
    ) -> ReplyStream:
        stopped, outcome = Event(), ReplyOutcome()

        def produce(put: Put) -> None:
            try:
                self._generate(body, Delivery(cleaner, outcome, put), stopped)
            except Unfit as unfit:
                raise self._error(unfit.kind, detail=unfit.detail) from None

        late = self._error("timeout", timeout_s=timeout_s)
        return ReplyStream(produce, late=late, timeout_s=timeout_s, until=until, hang_up=stopped.set, outcome=outcome)

    def _generate(self, body: dict[str, Any], delivery: Delivery, stopped: Event) -> None:
        """Writes one reply, on the worker thread of a ReplyStream."""
        problems: list[str] = []

        def take(event: dict[str, Any]) -> bool:
            """Called for every token and piece of the prompt; True stops the model. Must not raise: the library would swallow
            it."""
            if event.get("error"):
                problems.append(words_of(event))
                return True
            return not delivery.take(chunk_of(event, "delta")) or stopped.is_set() or self._weights.leaving.is_set()

        weights = self._weights
        while not weights.turn.acquire(timeout=LOOK_S):
            if stopped.is_set():
                return
        try:
            server = weights.loaded()
            if not stopped.is_set():
                server.handle_chat_completions(body | {"stream": True, "return_progress": True}, take)
        except (ValueError, RuntimeError) as error:
            problems.append(str(error))
        finally:
            weights.turn.release()
        if problems:
            detail = cleaned(problems[0], None)
            raise Unfit(kind_of(400, detail), detail)
        if not stopped.is_set():
            delivery.end()

    def _body(self, messages: Sequence[Message]) -> dict[str, Any]:
        return self._extra | chat_body(messages, self._single_system, self._temperature)

    def _error(self, kind: str, **values: Any) -> Failure:
        return Failure(kind, self._language, base_url=str(self._weights.path), model=self.name, **values)


class _GgufFile:
    """A GGUF file, in memory once it was used; whoever holds ``turn`` may write with it."""

    def __init__(self, path: Path, context_tokens: int, threads: int) -> None:
        self.path, self._context_tokens, self._threads = path, context_tokens, threads
        self.turn, self.leaving = Lock(), Event()
        self._server: Server | None = None
        weakref.finalize(self, _leave, self.turn, self.leaving)

    def loaded(self) -> Server:
        """The model in memory, which takes as long as reading the file the first time. Raises Unfit."""
        if self._server is not None:
            return self._server
        try:
            import xllamacpp
        except ImportError:
            raise Unfit("no_package") from None
        if not self.path.is_file():
            raise Unfit("no_file", str(self.path))
        params = xllamacpp.CommonParams()
        params.model.path = str(self.path)
        params.n_ctx, params.n_parallel, params.n_batch = self._context_tokens, 1, PIECE
        params.cpuparams.n_threads = self._threads or -1
        params.verbosity, params.ui, params.api_keys = 0, False, [secrets.token_hex()]
        try:
            self._server = xllamacpp.Server(params)
        except RuntimeError:
            raise Unfit("no_file", str(self.path)) from None
        return self._server


def _leave(turn: Lock, leaving: Event) -> None:
    """Ends a reply in progress when the model, or the program, goes."""
    leaving.set()
    if turn.acquire(timeout=EXIT_S):
        turn.release()
