"""Chat models behind one protocol, and the model that speaks to any OpenAI-compatible endpoint.

Knows nothing of memory or characters: it gets messages and gives text. ``openai`` is imported at the first call only,
it takes half a second.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from moechat.ai import failure
from moechat.ai.failure import Failure, Language
from moechat.ai.reply_stream import Put, ReplyStream, ThoughtFilter, without_thoughts
from moechat.ai.wire import MOST_WORDS, CallSockets, Unfit, events, text_of, words_of
from moechat.model import Exchange, Hit, Message
from moechat.settings.character import Character
from moechat.store.plain import json_value
from moechat.when import Span

if TYPE_CHECKING:  # half a second: it is imported at the first call
    from openai import OpenAI

CONNECT_S = 10.0
MOST_NAMES, NAME_CHARS = 1000, 200  # So many models of an endpoint are listed, and so much of a name.
FORMS = ("json_schema", "json_object", "plain")  # complete() asks for these forms, best first.
LOOPBACK = ("localhost", "127.0.0.1", "::1")
KEYLESS = "none"  # Without a key, the client library would take one from its own environment variable.


@dataclass(frozen=True)
class ChatRequest:
    """The request for a reply. ``messages`` is all that a language model sees.

    The other fields are what the offline model works from; language models ignore them. ``hits`` are best first,
    ``context`` is the talk still in the context, oldest first, without the exchange that is being answered.
    """

    messages: Sequence[Message]
    character: Character | None = None
    text: str = ""
    now: datetime | None = None
    spans: Sequence[Span] = ()
    empty_spans: Sequence[Span] = ()
    unread_until: datetime | None = None
    hits: Sequence[Hit] = ()
    context: Sequence[Exchange] = ()
    rests_on: Collection[str] = ()
    """The ids of all memories that ``messages`` hold, with the exchanges behind them."""


class ChatModel(Protocol):
    """Anything that replies. ``understands`` says whether it can be asked for extraction."""

    name: str
    understands: bool

    def stream(self, request: ChatRequest) -> Iterator[str]:
        """The reply in pieces. Raises ModelError; ``close()``, from any thread, ends it and its connection at once."""
        ...

    def complete(self, messages: Sequence[Message], *, schema: dict[str, Any] | None = None, timeout_s: float) -> str:
        """The raw text of an answer, as JSON of that schema as far as the model supports it. Raises ModelError."""
        ...


@dataclass(frozen=True)
class Diagnosis:
    """The outcome of a connection test, in words for people.

    ``ok`` says that one can talk with it. ``kind`` is ``ok`` or a kind of ModelError; ``no_streaming`` comes with
    ``ok``. ``models`` is what the endpoint lists, best match first, empty where it lists none;
    ``latency_ms`` is the time to the first token.
    """

    ok: bool
    kind: str
    message_zh: str
    message_en: str
    models: list[str] = field(default_factory=list)
    latency_ms: int = 0
    streams: bool = False


def chat_body(messages: Sequence[Message], single_system: bool, temperature: float | None) -> dict[str, Any]:
    """The part of a request that every model takes. ``single_system``: all system messages, in their order, are merged
    into one that leads."""
    if single_system and (system := "\n\n".join(m.content for m in messages if m.role == "system")):
        messages = [Message("system", system), *(m for m in messages if m.role != "system")]
    body: dict[str, Any] = {"messages": [{"role": m.role, "content": m.content} for m in messages]}
    return body if temperature is None else body | {"temperature": temperature}


class OpenAIChatModel:
    """Any OpenAI-compatible endpoint.

    ``timeout_s`` is the longest silence while a reply streams; ``extra`` is merged into the body of every request
    (``{"top_p": 0.9}``); ``language`` is that of error messages. No error contains the key.
    """

    understands = True

    def __init__(
        self,
        base_url: str,
        model: str,
        key: str | None,
        *,
        timeout_s: float = 60.0,
        extra: Mapping[str, Any] | None = None,
        single_system: bool = False,
        temperature: float | None = None,
        max_retries: int = 1,
        language: Language = "en",
    ) -> None:
        self.name = model
        self._base_url = base_url.strip().rstrip("/").removesuffix("/chat/completions")  # people paste all of it
        self._key = (key or "").strip()
        self._timeout_s = timeout_s
        self._extra = dict(extra or {})
        self._single_system = single_system
        self._temperature = temperature
        self._max_retries = max_retries
        self._language: Language = language
        self._form = 0  # index into FORMS: the best that the endpoint is not known to refuse
        self.streams = True  # False once the endpoint has answered in one piece

    def stream(self, request: ChatRequest) -> ReplyStream:
        """See ChatModel. Thoughts are never part of the reply; a model that only thinks is not silent."""
        return self._reply(request.messages, self._timeout_s)

    def complete(self, messages: Sequence[Message], *, schema: dict[str, Any] | None = None, timeout_s: float) -> str:
        """See ChatModel. ``timeout_s`` holds for the whole call, whatever has to be tried."""
        import openai

        deadline = time.monotonic() + timeout_s
        form = self._form if schema is not None else FORMS.index("plain")
        with self._failures(timeout_s):
            while True:
                left_s = max(deadline - time.monotonic(), 0.01)
                try:
                    text = self._whole(self._body(messages) | _response_format(form, schema), left_s)
                    break
                except (openai.BadRequestError, openai.UnprocessableEntityError):
                    if FORMS[form] == "plain":
                        raise
                    form += 1
        if schema is not None:
            self._form = form  # Not before: a failure in every form is not about the form.
        return text

    def models(self, timeout_s: float = CONNECT_S) -> list[str]:
        """The names that the endpoint lists. Raises ModelError."""
        with self._failures(timeout_s), self._client(CallSockets(), timeout_s) as client:
            body = client.get("/models", cast_to=object)
        listed = body.get("data") if isinstance(body, dict) else None
        if not isinstance(listed, list):
            raise self._error("nonsense")
        names = (m["id"] for m in listed if isinstance(m, dict) and isinstance(m.get("id"), str))
        return [name[:NAME_CHARS] for name in names if name][:MOST_NAMES]

    def first_token_ms(self, timeout_s: float) -> int:
        """How long a reply to a greeting takes to begin, thoughts included. Raises ModelError."""
        begun = time.monotonic()
        with closing(self._reply((Message("user", "Hi"),), timeout_s, whole=False)) as reply:
            next(reply, None)
        return round((time.monotonic() - begun) * 1000)

    def _reply(self, messages: Sequence[Message], timeout_s: float, *, whole: bool = True) -> ReplyStream:
        import openai  # noqa: F401 - half a second the first time, which is no silence of the model's

        sockets = CallSockets()

        def produce(put: Put) -> None:
            retries = self._max_retries if whole else 0
            with self._failures(timeout_s), self._client(sockets, timeout_s, retries) as client:
                pieces = self._pieces(client, self._body(messages))
                if whole:
                    self._put_reply(pieces, put)
                else:
                    put("…" if next(pieces, None) is not None else "")

        late = self._error("timeout", timeout_s=timeout_s)
        return ReplyStream(produce, late=late, timeout_s=timeout_s, hang_up=sockets.hang_up)

    def _put_reply(self, pieces: Iterator[str], put: Put) -> None:
        thoughts = ThoughtFilter()
        for piece in pieces:
            if not put(thoughts.feed(piece)):
                return
        put(thoughts.rest())
        if not thoughts.shown:
            raise Unfit("empty")

    def _pieces(self, client: OpenAI, body: dict[str, Any]) -> Iterator[str]:
        """Streams where the endpoint can; where it does not, one whole piece, remembered for the next reply."""
        import openai

        if self.streams:
            try:
                with client.chat.completions.with_streaming_response.create(**body, stream=True) as response:
                    if "json" not in response.headers.get("content-type", ""):
                        yield from events(response.iter_lines())
                        return
                    self.streams = False
                    yield text_of(json_value(response.read()))
                    return
            except openai.BadRequestError as error:
                if "stream" not in str(error.body):
                    raise
                self.streams = False
        yield text_of(client.post("/chat/completions", cast_to=object, body=_wire(body)))

    def _whole(self, body: dict[str, Any], timeout_s: float) -> str:
        with self._client(CallSockets(), timeout_s, until=time.monotonic() + timeout_s) as client:
            text = without_thoughts(text_of(client.post("/chat/completions", cast_to=object, body=_wire(body))))
        if not text:
            raise Unfit("empty")
        return text

    def _body(self, messages: Sequence[Message]) -> dict[str, Any]:
        """The arguments of the client library's ``create``."""
        body = chat_body(messages, self._single_system, self._temperature)
        return {"model": self.name, "extra_body": self._extra, **body}

    @contextmanager
    def _client(
        self, sockets: CallSockets, timeout_s: float, max_retries: int = 0, *, until: float | None = None
    ) -> Iterator[OpenAI]:
        """A client for one call: it costs 20 ms, and hanging up one reply cannot touch another."""
        import openai

        from moechat.ai import bounds

        if not self._key.isascii() or len(self._key.split()) > 1:
            raise Unfit("bad_key")
        address = urlsplit(self._base_url)
        if address.scheme not in ("http", "https") or not address.hostname:
            raise Unfit("no_route")
        http = openai.DefaultHttpxClient(
            trust_env=address.hostname not in LOOPBACK,  # a proxy from the environment cannot reach this machine
            event_hooks={
                "request": [bounds.stays_at(self._base_url), sockets.watch],
                "response": [bounds.bounded(until=until)],
            },
        )
        with openai.OpenAI(
            base_url=self._base_url,
            api_key=self._key or KEYLESS,
            timeout=openai.Timeout(timeout_s, connect=min(timeout_s, CONNECT_S)),
            max_retries=max_retries,
            http_client=http,
            default_headers={"Accept-Encoding": "identity"},
        ) as client:
            client.organization = client.project = None  # never tell one endpoint the environment's account at another
            yield client

    @contextmanager
    def _failures(self, timeout_s: float) -> Iterator[None]:
        """Turns whatever the client library raises into a ModelError; the cause is cut off, it may quote the key."""
        import httpx2
        import openai

        detail = ""
        try:
            yield
            return
        except Unfit as unfit:
            kind, detail = unfit.kind, unfit.detail
        except (openai.APIConnectionError, httpx2.RequestError) as lost:
            cause = lost.__cause__ if isinstance(lost, openai.APIConnectionError) else lost
            if isinstance(cause, (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ProxyError)):
                kind = "no_route"
            else:
                kind = "timeout" if isinstance(cause, httpx2.TimeoutException) else "broken_off"
        except openai.APIStatusError as refused:
            detail = words_of(refused.body) or refused.message[:MOST_WORDS]
            kind = failure.kind_of(refused.status_code, detail)
        except (httpx2.InvalidURL, UnicodeError):
            kind = "no_route"
        except (ValueError, RecursionError, openai.APIResponseValidationError):
            kind = "nonsense"
        raise self._error(kind, detail=failure.cleaned(detail, self._key), timeout_s=timeout_s) from None

    def _error(self, kind: str, **values: Any) -> Failure:
        return Failure(kind, self._language, base_url=self._base_url, model=self.name, **values)


def diagnose(
    base_url: str, model: str, key: str | None, timeout_s: float = 10.0, *, extra: Mapping[str, Any] | None = None
) -> Diagnosis:
    """Tries a connection and says what is wrong with it; never raises, takes at most twice ``timeout_s``."""
    chat = OpenAIChatModel(base_url, model, key, extra=extra, max_retries=0)
    names: list[str] = []
    values: dict[str, Any] = {"base_url": base_url, "model": model}
    latency_ms = 0
    try:
        names = _listed(chat, timeout_s)
        latency_ms = chat.first_token_ms(timeout_s)
        kind = "ok" if chat.streams else "no_streaming"
    except Failure as error:
        # an endpoint that lists names, not this one, and refuses it in words of its own
        unlisted = names and model not in names and error.kind in ("other", "no_route")
        kind, values = "unknown_model" if unlisted else error.saying, error.values
    values |= {"names": names, "latency_ms": latency_ms}
    return Diagnosis(
        ok=kind in ("ok", "no_streaming"),
        kind=failure.KINDS.get(kind, kind),
        message_zh=failure.sentence(kind, "zh", **values),
        message_en=failure.sentence(kind, "en", **values),
        models=names,
        latency_ms=latency_ms,
        streams=kind == "ok",
    )


def _listed(chat: OpenAIChatModel, timeout_s: float) -> list[str]:
    """The endpoint's models, the nearest names first; many endpoints list none, so that a reply has to decide."""
    try:
        names = chat.models(timeout_s)
    except Failure as error:
        if error.kind == "bad_key":
            raise
        return []
    return list(dict.fromkeys([*get_close_matches(chat.name, names, n=3), *names]))


def _wire(body: dict[str, Any]) -> dict[str, Any]:
    """The JSON body of ``create``'s arguments."""
    return {k: v for k, v in body.items() if k != "extra_body"} | dict(body["extra_body"])


def _response_format(form: int, schema: dict[str, Any] | None) -> dict[str, Any]:
    if schema is None or FORMS[form] == "plain":
        return {}
    if FORMS[form] == "json_object":
        return {"response_format": {"type": "json_object"}}
    strict = schema.get("additionalProperties") is False
    answer = {"name": "answer", "schema": schema, "strict": strict}
    return {"response_format": {"type": "json_schema", "json_schema": answer}}
