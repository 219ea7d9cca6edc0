"""Failures between us and a model, and the words for them.

The sentences for people stand in ``sentences/both.yaml`` under ``model``; one function tells the kind of failure from an
endpoint's answer. No sentence ever holds a key.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal
from urllib.parse import urlsplit

from moechat import sentences
from moechat.errors import DiskError, EmbeddingError, ModelError, MoeChatError, StillLoading, Withheld

Language = Literal["zh", "en"]

NAMES_SHOWN = 5
DETAIL_CHARS = 200

BY_STATUS: Mapping[int, str] = {401: "bad_key", 402: "rate_limit", 403: "bad_key", 408: "timeout", 429: "rate_limit"}
NO_SUCH_MODEL = re.compile(
    r"model_not_found|model.{0,80}?(?:not[ _]exist|not[ _]found|unknown|does not exist|not available)"
    r"|(?:unknown|invalid|no such).{0,20}model|模型.{0,40}(?:不存在|未找到)",
    re.IGNORECASE | re.DOTALL,
)
SYSTEM_ORDER = re.compile(
    r"system\W.{0,40}(?:beginning|first|only|multiple)|(?:only|multiple).{0,20}system\W", re.I | re.S
)
CONTEXT_FULL = re.compile(
    r"context_length_exceeded|exceed_context_size|exceeds? the (?:available )?context|maximum context length"
    r"|(?:prompt|input|request).{0,40}too (?:long|large)|too many (?:input )?tokens|context (?:window|length|size).{0,40}exceed"
    r"|exceed.{0,40}(?:context|max_?model_?len|token limit)|larger than the context"
    r"|context (?:length|window|size) is only|上下文.{0,10}(?:超|过长)",
    re.IGNORECASE | re.DOTALL,
)
KEY_LIKE = re.compile(r"\b(?:sk|pk|key|gsk|xai)-[\w*.-]{4,}|\bBearer\s+\S+", re.IGNORECASE)


def kind_of(status: int, detail: str) -> str:
    """The name of the sentence that an HTTP status and the endpoint's words stand for."""
    if status in BY_STATUS:
        return BY_STATUS[status]
    if status in (400, 413, 422, 500) and CONTEXT_FULL.search(detail):
        return "context_full"
    if status < 500 and NO_SUCH_MODEL.search(detail):
        return "unknown_model"
    if status in (400, 422) and SYSTEM_ORDER.search(detail):
        return "system_order"
    return "no_route" if status in (404, 405) else "other"


def sentence(kind: str, language: Language, *, names: Sequence[str] = (), base_url: str = "", **values: Any) -> str:
    """One plain sentence: what is wrong and what to do. ``names`` are models that exist; ``values`` are the other fields
    of the sentence (``model``, ``detail``, ``timeout_s``, ``latency_ms``, ``chars``)."""
    models = sentences.sentence("known", "models", language, names=", ".join(names[:NAMES_SHOWN])) if names else ""
    fields = {"timeout_s": 0.0, "latency_ms": 0, "chars": 0} | values
    for name in ("model", "detail"):
        fields[name] = fields.get(name) or "?"
    return sentences.sentence("model", kind, language, base_url=shown_url(base_url), known=models, **fields)


def kind_named(saying: str) -> str:
    """The kind of ModelError that a sentence is about."""
    return str(sentences.groups()["model"][saying].get("kind", saying))


class Failure(ModelError):
    """A ModelError that can be told in either language; its text is in the language it was made with.

    ``saying`` is the name of its sentence: a kind of ModelError, or a finer one, which tells its ``kind``.
    """

    def __init__(self, saying: str, language: Language, **values: Any) -> None:
        self.saying, self.values = saying, values
        super().__init__(kind_named(saying), sentence(saying, language, **values))


class EmbeddingFailure(EmbeddingError):
    """An EmbeddingError that can be told in either language; its text is English."""

    def __init__(self, saying: str, **values: Any) -> None:
        self.saying, self.values = saying, values
        super().__init__(sentence(saying, "en", **values))


class FetchingModel(EmbeddingFailure, StillLoading):
    """An embedding model is being fetched."""


def in_words(error: MoeChatError, language: Language) -> str:
    """What an error says, in this language if it knows both."""
    if isinstance(error, (Failure, EmbeddingFailure)):
        return sentence(error.saying, language, **error.values)
    if isinstance(error, DiskError):
        return error.words(language)
    return sentence("withheld", language) if isinstance(error, Withheld) else str(error)


def shown_url(base_url: str) -> str:
    """The address without a name, a password or a query, which may hold a secret."""
    parts = urlsplit(base_url)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path}" if host else base_url.partition("?")[0] or "?"


def cleaned(detail: str, key: str | None) -> str:
    """An endpoint's own words on one line, short, without the key or anything that looks like one."""
    detail = " ".join(detail.split())
    if key:
        detail = detail.replace(key, "***")
    return KEY_LIKE.sub("***", detail)[:DETAIL_CHARS]
