"""Memories as the page shows them, the owner's and the author's alike: a row of the list, and the values of one in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from moechat.agent import Agent
from moechat.curation.catalogue import Details, Memory
from moechat.curation.forgetting import Forecast
from moechat.settings.character import USER_NAMES
from moechat.topic_path import EVERYDAY
from moechat.web.topic_charts import crumbs
from moechat.web.words import Words

NAMED = (
    "kind", "status", "polarity", "single", "generic", "entity", "consolidated", "doubtful", "constant", "enabled", "regex",
    "case", "whole_words", "logic", "position", "role",
)  # fmt: skip

UNSHOWN = ("by", "keywords")  # These fields of an exchange are the understanding's own and not shown.
PLAIN_VALUES = (
    ("polarity", 1),
    ("kind", "attribute"),
    *(("topic", name) for name in EVERYDAY.values()),
)  # They say nothing.


@dataclass(frozen=True)
class Speakers:
    """The names of the two who talk."""

    user: str
    character: str


@dataclass(frozen=True)
class MemoryRow:
    """A memory of the list. ``forecast`` is None where it does not fade; ``fades`` is the forecast in words. ``file`` takes the
    place of a date; ``user`` is the name that it may call the person by."""

    memory: Memory
    forecast: Forecast | None = None
    fades: str = ""
    file: str = ""
    user: str = ""


def speakers_of(agent: Agent, words: Words) -> Speakers:
    character = agent.character
    is_named = character.user_name and character.user_name not in USER_NAMES.values()
    return Speakers(character.user_name if is_named else words("value_user"), character.name)


def value_in_words(name: str, value: object, speakers: Speakers, words: Words) -> str:
    """A part of a memory in words."""
    if name == "happened" and isinstance(value, Sequence) and len(value) == 2:
        return words.stretch(datetime.fromisoformat(str(value[0])), datetime.fromisoformat(str(value[1])))
    if name == "expires":
        return words.moment(datetime.fromisoformat(str(value)))
    if name in NAMED and f"value_{str(value).lower()}" in words:
        return words(f"value_{str(value).lower()}", name=speakers.character)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return words.row(crumbs(str(one)) for one in value)
    if isinstance(value, float):
        return f"{value:.2f}"
    if name in ("subject", "object") and value in (*USER_NAMES.values(), "user"):
        return speakers.user
    return crumbs(str(value)) if name == "topic" else str(value)


def parts_of(details: Details, speakers: Speakers, words: Words) -> list[tuple[str, str]]:
    """(name, value) in words of what is known of a memory."""
    memory = details.memory
    parts = [(words("by"), words(f"by_{memory.by}"))] if memory.by else []
    for name, value in details.fields.items():
        if memory.kind == "exchange" and (name in UNSHOWN or (name, value) == ("status", "done")):
            continue
        if f"field_{name}" in words and (name, value) not in PLAIN_VALUES:
            parts.append((words(f"field_{name}"), value_in_words(name, value, speakers, words)))
    return [(name, value) for name, value in parts if value]


def ending(details: Details) -> str:
    """How it is said that something is over: of what holds, what is to come, what was asked for and what weighs on the user."""
    memory, fields = details.memory, details.fields
    if memory.archived or not memory.current or fields.get("kind") == "daybook":
        return ""
    if memory.kind == "fact":
        return "end_boundary" if fields.get("kind") == "boundary" else "end_fact"
    if fields.get("status") in ("planned", "open"):
        return "end_plan"
    return "end_matter" if details.weighs else ""
