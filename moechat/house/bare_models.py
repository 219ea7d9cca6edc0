"""The models of a house by themselves: neither a character nor a memory has to do with what they answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from moechat.ai.chat_model import ChatRequest
from moechat.ai.reply_stream import ReplyStream
from moechat.errors import EmbeddingError
from moechat.house import House
from moechat.model import Message


def ask(house: House, messages: Sequence[Message], wishes: Mapping[str, Any]) -> ReplyStream | None:
    """The answer of the language model, in pieces; None where none is connected. Raises ModelError."""
    stream = house.model_for("chat").stream(ChatRequest(messages, wishes=wishes)) if house.connected else None
    return stream if isinstance(stream, ReplyStream) else None


def embed(house: House, texts: Sequence[str]) -> np.ndarray:
    """(n, dim) float32, unit length, of the configured embedding model. Raises EmbeddingError."""
    if house.embedder is None:
        raise EmbeddingError("there is no embedding model; set embedding.provider")
    return house.embedder.embed(texts)
