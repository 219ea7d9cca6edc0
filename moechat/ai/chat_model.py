"""Chat models behind one protocol, and the model that speaks to any OpenAI-compatible endpoint.

Knows nothing of memory or characters: it gets messages and gives text. ``openai`` is imported at the first call only,
it takes half a second.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from moechat.ai import failure, window
from moechat.ai.cleaner import Cleaner, in_whole
from moechat.ai.failure import Failure, Language
from moechat.ai.reply_stream import Put, ReplyOutcome, ReplyStream
from moechat.ai.window import Window
from moechat.ai.wire import MOST_WORDS, CallSockets, Chunk, Unfit, chat_body, events, whole, words_of
from moechat.errors import ModelError
from moechat.model import Episode, Exchange, FactDraft, Hit, Message
from moechat.settings.character import Character
from moechat.store.plain import json_value
from moechat.when import Span

if TYPE_CHECKING:  # half a second: it is imported at the first call
    from openai import OpenAI

CONNECT_S = 10.0
MOST_NAMES, NAME_CHARS = 1000, 200  # The models of an endpoint that are listed, and the characters of a name.
FORMS = ("json_schema", "json_object", "plain")  # Answers are asked for in these forms, best first.
CUT = frozenset({"length", "max_tokens", "model_context_window_exceeded"})
REFUSED = frozenset({"content_filter", "refusal"})
LOOPBACK = ("localhost", "127.0.0.1", "::1")
_FRAME = re.compile(
    r"^(?!我|I\b).{24,}(?<! )$", re.MULTILINE
)  # A long line of the persona that is not told by herself.
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
    headings: Collection[str] = ()
    """How the blocks of the prompt begin that no reply repeats."""
    rests_on: Collection[str] = ()
    """The ids of all memories that ``messages`` hold, with the exchanges behind them."""
    earlier: Sequence[str] = ()
    """The replies that this message got before, where it is answered again."""
    lately: Sequence[str] = ()
    """The replies before this message, whether the context still holds them or not; a few, oldest first."""
    called: str = ""
    """What the user is called in ``messages``."""
    further: Sequence[Hit] = ()  # What of the diary came near, but not near enough for the prompt.
    facts: Sequence[FactDraft] = ()
    """All that is known as facts, with the class of each keyword in its place (``contradiction.keyword_class``)."""
    plans: Sequence[Episode] = ()
    """What is planned from now on."""
    days: Sequence[Hit] = ()  # Those that come round, and what else stands in the prompt whatever was said.
    wishes: Mapping[str, Any] = field(default_factory=dict)
    """What whoever asks wishes of the model, in OpenAI's words: ``temperature``, ``stop``, ``tools`` ..."""
    others: Collection[str] = ()
    """Who else speaks in a talk of several: no line of theirs is the character's to write."""


class ChatModel(Protocol):
    """Anything that replies. ``understands`` says whether it can be asked for extraction, ``has_one_slot`` whether it answers
    one request at a time, ``window`` how much it can read at once."""

    @property
    def name(self) -> str: ...

    @property
    def understands(self) -> bool: ...

    @property
    def has_one_slot(self) -> bool: ...

    @property
    def window(self) -> Window: ...

    def stream(self, request: ChatRequest) -> Iterator[str]:
        """The reply in pieces. Raises ModelError; ``close()``, from any thread, ends it and its connection at once."""
        ...

    def ask(
        self, messages: Sequence[Message], *, schema: dict[str, Any] | None = None, silence_s: float
    ) -> ReplyStream:
        """An answer in pieces, as JSON of that schema as far as the model supports it; a thinking model's thoughts may be among
        them. Raises ModelError, of kind ``timeout`` after that many seconds without a sign of life."""
        ...

    def complete(self, messages: Sequence[Message], *, schema: dict[str, Any] | None = None, timeout_s: float) -> str:
        """The same as a whole, within ``timeout_s``."""
        ...


def is_near(url: str) -> bool:
    """Whether an address is of this machine or of the same house: then it is a llama.cpp, an Ollama or the like."""
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_private
    except ValueError:
        return "." not in host or host.endswith((".local", ".lan"))


def cleaner_for(request: ChatRequest, *, is_thinking: bool = False) -> Cleaner:
    """What cleans a reply to this request."""
    prompt = [line.strip() for m in request.messages if m.role == "system" for line in m.content.splitlines()]
    name = request.character.name if request.character else ""
    first = request.messages[0] if request.messages else Message("user", "")
    frame = _FRAME.findall(first.content) if first.role == "system" else []
    return Cleaner(
        name=name,
        headings=request.headings,
        lines=frozenset(filter(None, prompt)),
        frame=frame,
        is_thinking=is_thinking,
    )


class Delivery:
    """The way of one reply from the chunks of a model to ``put``, made clean; the ``outcome`` is filled in."""

    def __init__(self, cleaner: Cleaner, outcome: ReplyOutcome, put: Put) -> None:
        self._cleaner, self._outcome, self._put = cleaner, outcome, put
        self._refused = False

    def take(self, chunk: Chunk) -> bool:
        """Put what the chunk says. Returns whether more is wanted; never raises."""
        self._cleaner.think(chunk.thought)
        pieces = list(self._cleaner.feed(chunk.text))
        outcome = self._outcome
        outcome.usage, outcome.thoughts = chunk.usage or outcome.usage, self._cleaner.thoughts
        outcome.is_cut = outcome.is_cut or chunk.finish in CUT
        outcome.call(chunk.calls)
        self._refused = self._refused or chunk.finish in REFUSED
        return all(map(self._put, pieces or [""]))

    def end(self) -> None:
        """Put what was held back. Raises Unfit where the reply says nothing, or where the provider holds it back."""
        if self._refused:
            raise Unfit("refused")
        for piece in self._cleaner.rest():
            self._put(piece)
        self._outcome.thoughts = self._cleaner.thoughts
        if not self._cleaner.shown and not self._outcome.calls:
            raise Unfit("cut_thinking" if self._outcome.is_cut else "empty")


def deliver(chunks: Iterable[Chunk], cleaner: Cleaner, outcome: ReplyOutcome, put: Put) -> None:
    """All chunks of a reply. Raises Unfit."""
    delivery = Delivery(cleaner, outcome, put)
    if all(map(delivery.take, chunks)):
        delivery.end()


class OpenAIChatModel:
    """Any OpenAI-compatible endpoint.

    ``timeout_s`` is the longest silence while a reply streams; ``extra`` is merged into the body of every request
    (``{"top_p": 0.9}``), and so are ``wishes``, which go where the endpoint refuses them; ``language`` is that of error
    messages. No error contains the key.
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
        wishes: Mapping[str, Any] | None = None,
        single_system: bool = False,
        temperature: float | None = None,
        max_retries: int = 1,
        language: Language = "en",
        window_tokens: int = 0,
    ) -> None:
        self.name, self.window = model, Window(window_tokens)
        self._base_url = base_url.strip().rstrip("/").removesuffix("/chat/completions")  # people paste all of it
        self.has_one_slot = is_near(self._base_url)
        self._key = (key or "").strip()
        self._timeout_s = timeout_s
        self._extra = dict(extra or {})
        self._wishes = {"stream_options": {"include_usage": True}, **(wishes or {})}
        self._single_system = single_system
        self._temperature = temperature
        self._max_retries = max_retries
        self._language: Language = language
        self._form = 0  # index into FORMS: the best that the endpoint is not known to refuse
        self.streams = True  # False once the endpoint has answered in one piece
        self._is_thinking = False  # whether its replies begin in the middle of a thought

    def stream(self, request: ChatRequest) -> ReplyStream:
        """See ChatModel. Thoughts are never part of the reply; a model that only thinks is not silent."""
        outcome = ReplyOutcome()

        def take(chunks: Iterator[Chunk], put: Put) -> None:
            cleaner = cleaner_for(request, is_thinking=self._is_thinking)
            deliver(chunks, cleaner, outcome, put)
            self._is_thinking = cleaner.closed_early

        return self._reply(
            request.messages, take, self._timeout_s, retries=self._max_retries, outcome=outcome, wishes=request.wishes
        )

    def complete(self, messages: Sequence[Message], *, schema: dict[str, Any] | None = None, timeout_s: float) -> str:
        """See ChatModel. ``timeout_s`` holds for the whole call, whatever has to be tried."""
        until = time.monotonic() + timeout_s
        with closing(self.ask(messages, schema=schema, silence_s=timeout_s, until=until)) as answer:
            return in_whole(answer)

    def ask(
        self,
        messages: Sequence[Message],
        *,
        schema: dict[str, Any] | None = None,
        silence_s: float,
        until: float | None = None,
    ) -> ReplyStream:
        """See ChatModel. The whole ends at ``until`` (``time.monotonic``)."""
        outcome = ReplyOutcome()

        def take(chunks: Iterator[Chunk], put: Put) -> None:
            deliver(chunks, Cleaner(), outcome, put)

        return self._reply(messages, take, silence_s, schema=schema, outcome=outcome, until=until)

    def models(self, timeout_s: float = CONNECT_S) -> list[str]:
        """The names that the endpoint lists. Raises ModelError."""
        with self._failures(timeout_s), self._client(CallSockets(), timeout_s) as client:
            body = client.get("/models", cast_to=object)
        listed = body.get("data") if isinstance(body, dict) else None
        if not isinstance(listed, list):
            raise self._error("nonsense")
        names = (m["id"] for m in listed if isinstance(m, dict) and isinstance(m.get("id"), str))
        return [name[:NAME_CHARS] for name in names if name][:MOST_NAMES]

    def learn_window(self, timeout_s: float = CONNECT_S) -> None:
        """Ask the server how much the model can read at once, unless that is set. One that does not say stays as it is."""
        root = self._base_url.removesuffix("/v1")
        ways: list[tuple[str, str, Callable[[object], int]]] = [
            ("get", "/models", partial(window.listed, model=self.name))
        ]
        if self.has_one_slot:  # llama.cpp, LM Studio and Ollama tell in ways of their own
            ways += [
                ("get", f"{root}/props", window.of_props),
                ("get", f"{root}/api/v0/models", partial(window.listed, model=self.name)),
                ("post", f"{root}/api/show", window.of_show),
            ]
        for way, path, read in ways:
            if self.window.tokens:
                return
            with suppress(ModelError), self._failures(timeout_s), self._client(CallSockets(), timeout_s) as client:
                if way == "get":
                    body = client.get(path, cast_to=object)
                else:
                    body = client.post(path, cast_to=object, body={"model": self.name})
                    self.window.cuts_silently = isinstance(body, dict) and "model_info" in body
                self.window.tokens = read(body)

    def first_token_ms(self, timeout_s: float) -> int:
        """How long a reply to a greeting takes to begin, thoughts included. Raises ModelError."""
        begun = time.monotonic()

        def take(chunks: Iterator[Chunk], put: Put) -> None:
            put("…" if next(chunks, None) is not None else "")

        with closing(self._reply((Message("user", "Hi"),), take, timeout_s)) as reply:
            next(reply, None)
        return round((time.monotonic() - begun) * 1000)

    def _reply(
        self,
        messages: Sequence[Message],
        take: Callable[[Iterator[Chunk], Put], None],
        timeout_s: float,
        *,
        schema: dict[str, Any] | None = None,
        retries: int = 0,
        outcome: ReplyOutcome | None = None,
        until: float | None = None,
        wishes: Mapping[str, Any] | None = None,
    ) -> ReplyStream:
        import openai  # noqa: F401 - half a second the first time, which is no silence of the model's

        sockets = CallSockets()

        def produce(put: Put) -> None:
            with self._failures(timeout_s), self._client(sockets, timeout_s, retries) as client:
                take(self._chunks(client, messages, schema, wishes or {}), put)

        late = self._error("timeout", timeout_s=timeout_s)
        return ReplyStream(
            produce, late=late, timeout_s=timeout_s, until=until, hang_up=sockets.hang_up, outcome=outcome
        )

    def _chunks(
        self,
        client: OpenAI,
        messages: Sequence[Message],
        schema: dict[str, Any] | None,
        wishes: Mapping[str, Any],
    ) -> Iterator[Chunk]:
        """Asks in a simpler way as long as the endpoint refuses how it was asked."""
        import openai

        form = self._form if schema is not None else FORMS.index("plain")
        while True:
            try:
                yield from self._asked(client, self._body(messages, wishes) | _response_format(form, schema))
                break
            except (openai.BadRequestError, openai.UnprocessableEntityError) as refused:
                words = f"{refused.body} {refused.message}"
                if failure.kind_of(refused.status_code, words) == "context_full":
                    raise
                if FORMS[form] != "plain" and not self._gives_in(words):
                    form += 1
                elif FORMS[form] == "plain" and not self._gives_in(words):
                    raise
        if schema is not None:
            self._form = form  # Not before: a failure in every form is not about the form.

    def _gives_in(self, words: str) -> bool:
        """Whether there is something that the endpoint refuses in these words and that one can do without, from now on."""
        for wish in self._wishes:
            if wish in words:
                value = self._wishes.pop(wish)
                if wish == "max_tokens" and "max_completion_tokens" in words:
                    self._wishes["max_completion_tokens"] = value
                return True
        if self.streams and "stream" in words:
            self.streams = False
            return True
        return False

    def _asked(self, client: OpenAI, body: dict[str, Any]) -> Iterator[Chunk]:
        """Streams where the endpoint can; where it does not, one whole piece, remembered for the next reply."""
        if self.streams:
            with client.chat.completions.with_streaming_response.create(**body, stream=True) as response:
                if "json" not in response.headers.get("content-type", ""):
                    yield from events(response.iter_lines())
                    return
                self.streams = False
                yield whole(json_value(response.read()))
                return
        plain = {name: value for name, value in body.items() if name != "extra_body"} | dict(body["extra_body"])
        yield whole(client.post("/chat/completions", cast_to=object, body=plain))

    def _body(self, messages: Sequence[Message], theirs: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of the client library's ``create``. ``theirs`` are the wishes of whoever asks."""
        body = chat_body(messages, self._single_system, self._temperature)
        wishes = {name: value for name, value in self._wishes.items() if self.streams or name != "stream_options"}
        return {"model": self.name, "extra_body": wishes | self._extra | dict(theirs), **body}

    @contextmanager
    def _client(self, sockets: CallSockets, timeout_s: float, max_retries: int = 0) -> Iterator[OpenAI]:
        """A client for one call, so that hanging up one reply cannot touch another."""
        import openai

        from moechat.ai import bounds

        if not self._key.isascii() or len(self._key.split()) > 1:
            raise Unfit("bad_key")
        address = urlsplit(self._base_url)
        if address.scheme not in ("http", "https") or not address.hostname:
            raise Unfit("no_route")
        trust_env = address.hostname not in LOOPBACK  # A proxy from the environment cannot reach this machine.
        http = openai.DefaultHttpxClient(
            trust_env=trust_env,
            verify=bounds.trusted(trust_env),
            event_hooks={
                "request": [bounds.stays_at(self._base_url), sockets.watch],
                "response": [bounds.bounded()],
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


def _response_format(form: int, schema: dict[str, Any] | None) -> dict[str, Any]:
    if schema is None or FORMS[form] == "plain":
        return {}
    if FORMS[form] == "json_object":
        return {"response_format": {"type": "json_object"}}
    strict = schema.get("additionalProperties") is False
    answer = {"name": "answer", "schema": schema, "strict": strict}
    return {"response_format": {"type": "json_schema", "json_schema": answer}}
