"""Two questions about topics that a model may answer before the reply: to which topics and days a message leads, and which
slices found there help. Both are off by default, since each call stands between the message and its answer.

Each question is one call. Raises ModelError as the model does, or of kind ``nonsense``; the caller decides what follows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from moechat.ai.chat_model import ChatModel
from moechat.ai.cleaner import json_object
from moechat.errors import ModelError
from moechat.model import Message
from moechat.settings.prompts import Prompts
from moechat.topic_path import topic_path

MOST_TOPICS = 3
SLICE_CHARS = 400
_DATE = re.compile(r"\s*(\d{4})\s*[-/.年]\s*(\d{1,2})\s*[-/.月]\s*(\d{1,2})\s*[日号]?\s*")
_STRINGS = {"type": "array", "items": {"type": "string"}}
CUES_SCHEMA = {
    "type": "object",
    "properties": {"topics": _STRINGS, "dates": _STRINGS},
    "required": ["topics", "dates"],
    "additionalProperties": False,
}
HELPFUL_SCHEMA = {
    "type": "object",
    "properties": {"helpful": {"type": "array", "items": {"type": "integer"}}},
    "required": ["helpful"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Cues:
    """The cues of a message: normalised topic paths, and local days."""

    topics: tuple[str, ...] = ()
    dates: tuple[date, ...] = ()


def cues(model: ChatModel, prompts: Prompts, *, tree: str, text: str, now: datetime, timeout_s: float) -> Cues:
    """The cues of a message; ``tree`` is the topics as text. A date that is none is left out, the others stay."""
    prompt = prompts.fill("topic_cues", now=f"{now:%Y-%m-%d %H:%M}", topics=tree, message=text.strip())
    answer = _answer(model, prompt, CUES_SCHEMA, timeout_s)
    topics = [path for one in _listed(answer, "topics") if (path := topic_path(str(one)))]
    days = [day for one in _listed(answer, "dates") if (day := day_from(str(one)))]
    return Cues(tuple(dict.fromkeys(topics))[:MOST_TOPICS], tuple(dict.fromkeys(days)))


def helpful(model: ChatModel, prompts: Prompts, *, text: str, slices: Sequence[str], timeout_s: float) -> list[int]:
    """The places (from 0) of the slices that help to answer ``text``, in their order."""
    shown = "\n\n".join(f"[{i}] {one.strip()[:SLICE_CHARS]}" for i, one in enumerate(slices, 1))
    prompt = prompts.fill("topic_evaluate", message=text.strip(), slices=shown)
    answer = _answer(model, prompt, HELPFUL_SCHEMA, timeout_s)
    chosen = {int(number) for one in _listed(answer, "helpful") for number in re.findall(r"\d{1,6}", str(one))}
    return [i for i in range(len(slices)) if i + 1 in chosen]


def day_from(text: str) -> date | None:
    """A day as a model or a person writes it (2025-05-20, 2025年5月20日), None where it is none."""
    match = _DATE.fullmatch(text)
    try:
        return date(*map(int, match.groups())) if match else None
    except ValueError:
        return None


def _answer(model: ChatModel, prompt: str, schema: dict[str, Any], timeout_s: float) -> dict[str, Any]:
    text = model.complete([Message("user", prompt)], schema=schema, timeout_s=timeout_s)
    try:
        answer = json_object(text)
    except ValueError:
        answer = {}
    if schema["required"][0] not in answer:
        raise ModelError("nonsense", f"{model.name} did not answer in the form that was asked for")
    return answer


def _listed(answer: dict[str, Any], key: str) -> list[Any]:
    value = answer.get(key)
    return value if isinstance(value, list) else [] if value in (None, "") else [value]
