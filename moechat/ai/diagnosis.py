"""The test of a connection: whether one can talk with a model, and in words for people what is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from moechat.ai import failure
from moechat.ai.chat_model import OpenAIChatModel
from moechat.ai.failure import Failure


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


def diagnose(
    base_url: str,
    model: str | None,
    key: str | None,
    timeout_s: float = 10.0,
    *,
    extra: Mapping[str, Any] | None = None,
) -> Diagnosis:
    """Tries a connection and says what is wrong with it; never raises, takes at most twice ``timeout_s``. ``model`` None: it only
    asks which there are."""
    chat = OpenAIChatModel(base_url, model or "", key, extra=extra, max_retries=0)
    names: list[str] = []
    values: dict[str, Any] = {"base_url": base_url, "model": model}
    latency_ms = 0
    try:
        if model is None:
            names = list(dict.fromkeys(chat.models(timeout_s)))
            kind = "offered" if names else "offers_none"
        else:
            names = _listed(chat, timeout_s)
            latency_ms = chat.first_token_ms(timeout_s)
            kind = "ok" if chat.streams else "no_streaming"
    except Failure as error:
        # an endpoint that lists names, not this one, and refuses it in words of its own
        unlisted = names and model not in names and error.kind in ("other", "no_route")
        kind, values = "unknown_model" if unlisted else error.saying, error.values
    values |= {"names": names, "latency_ms": latency_ms}
    return Diagnosis(
        ok=kind in ("ok", "no_streaming", "offered"),
        kind=failure.kind_named(kind),
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
