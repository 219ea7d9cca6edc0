"""Whom a front end speaks for: the user, the character and the chat, from what it sends beside the talk, never from the talk.

Each is taken from the first of these that says it: a header of ours or a field of the body with the same name, the headers of
Open WebUI, OpenAI's own ``user``, the address (``/v1/u/NAME/c/NAME/…``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from starlette.datastructures import Headers

from moechat.errors import FieldError

PREFIX = "x-moechat-"
FIELD = "moechat_"
OPEN_WEBUI = {"user": "x-openwebui-user-id", "chat": "x-openwebui-chat-id", "task": "x-openwebui-task"}
IDEMPOTENCY = "idempotency-key"
MOST_LETTERS = 200


@dataclass(frozen=True)
class Caller:
    """What a request says of itself, "" where it says nothing. ``key`` is its Idempotency-Key: the same one, the same request."""

    user: str = ""
    character: str = ""
    chat: str = ""
    task: str = ""
    style: str = ""
    why: str = ""
    key: str = ""

    @property
    def is_temporary(self) -> bool:
        """Whether Open WebUI itself does not keep the chat."""
        return self.chat.startswith(("temporary:", "local:"))


def caller(headers: Headers, body: Mapping[str, Any], address: Mapping[str, str]) -> Caller:
    """Who calls. Raises FieldError for a name that is none."""

    def value(name: str) -> str:
        texts = [_header(headers, PREFIX + name), _text(body.get(FIELD + name), FIELD + name)]
        texts.append(_header(headers, OPEN_WEBUI.get(name, "")))
        texts.append(_of_body(body) if name == "user" else "")
        return next(filter(None, [*texts, address.get(name, "")]), "")

    names = {name: value(name) for name in ("user", "character", "chat", "task", "style", "why")}
    if names["why"] not in ("", "fold", "metadata"):
        raise FieldError(FIELD + "why", names["why"], "expects fold or metadata")
    return Caller(**names, key=_header(headers, IDEMPOTENCY))


def _header(headers: Headers, name: str) -> str:
    """A header's text. Front ends send other letters than ASCII as UTF-8, or as ``%xx``."""
    if not name or name not in headers:
        return ""
    raw = headers[name].encode("latin-1", "replace").decode("utf-8", "replace")
    return _text(unquote(raw), name)


def _of_body(body: Mapping[str, Any]) -> str:
    user = body.get("user")
    if isinstance(user, dict):
        user = user.get("id") or user.get("email") or user.get("name")
    return _text(user, "user")


def _text(value: object, name: str) -> str:
    """A name as it was sent; a placeholder that nobody has filled in is none."""
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > MOST_LETTERS or not value.isprintable():
        raise FieldError(name, value, f"expects a name of at most {MOST_LETTERS} letters")
    value = value.strip()
    return "" if value.startswith("{{") and value.endswith("}}") else value
