"""MoeChat: a chat companion that remembers.

The names below are for programs; docs/python.md shows them at work. Each is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from moechat.agent import Agent
    from moechat.ai.chat_model import ChatModel, ChatRequest, OpenAIChatModel
    from moechat.ai.scripted import ScriptedModel
    from moechat.clock import Clock, SetClock, SystemClock
    from moechat.curation.catalogue import Memory
    from moechat.curation.keeper import Keeper
    from moechat.errors import (
        ConfigError,
        DataError,
        DiskError,
        EmbeddingError,
        FieldError,
        FilterError,
        Locked,
        ModelError,
        MoeChatError,
        NameTaken,
        NotFound,
        PathError,
        StillLoading,
        TextRefused,
        Withheld,
    )
    from moechat.house import House
    from moechat.model import Embedder, Exchange, Hit, Message, Recollection, Thresholds
    from moechat.settings.home import Home, find_home
    from moechat.turn import Delta, Ended, Recalled, TurnEvent
    from moechat.when import Span

__version__ = "0.1.0"

__all__ = [
    "Agent",
    "ChatModel",
    "ChatRequest",
    "Clock",
    "ConfigError",
    "DataError",
    "Delta",
    "DiskError",
    "Embedder",
    "EmbeddingError",
    "Ended",
    "Exchange",
    "FieldError",
    "FilterError",
    "Hit",
    "Home",
    "House",
    "Keeper",
    "Locked",
    "Memory",
    "Message",
    "ModelError",
    "MoeChatError",
    "NameTaken",
    "NotFound",
    "OpenAIChatModel",
    "PathError",
    "Recalled",
    "Recollection",
    "ScriptedModel",
    "SetClock",
    "Span",
    "StillLoading",
    "SystemClock",
    "TextRefused",
    "Thresholds",
    "TurnEvent",
    "Withheld",
    "find_home",
]

_MODULES = {
    "agent": ("Agent",),
    "ai.chat_model": ("ChatModel", "ChatRequest", "OpenAIChatModel"),
    "ai.scripted": ("ScriptedModel",),
    "clock": ("Clock", "SetClock", "SystemClock"),
    "curation.catalogue": ("Memory",),
    "curation.keeper": ("Keeper",),
    "errors": (
        "ConfigError", "DataError", "DiskError", "EmbeddingError", "FieldError", "FilterError", "Locked", "ModelError",
        "MoeChatError", "NameTaken", "NotFound", "PathError", "StillLoading", "TextRefused", "Withheld",
    ),
    "house": ("House",),
    "model": ("Embedder", "Exchange", "Hit", "Message", "Recollection", "Thresholds"),
    "settings.home": ("Home", "find_home"),
    "turn": ("Delta", "Ended", "Recalled", "TurnEvent"),
    "when": ("Span",),
}  # fmt: skip


def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"moechat.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
