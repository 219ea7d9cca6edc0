"""Embeddings from an OpenAI-compatible endpoint."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from moechat.ai.wire import Unfit
from moechat.encoder.base import LazyModel, Vectors, digest, embed_filled, slug
from moechat.encoder.known import Prefixes, prefixes_for, thresholds_for
from moechat.errors import EmbeddingError
from moechat.model import Kind

MOST_BYTES = 32 * 1024 * 1024  # of an answer: 64 vectors of 4096 numbers are some 6 MiB


class EndpointEmbedder:
    """An OpenAI-compatible ``/embeddings`` endpoint.

    ``dim`` None is asked of the endpoint at the first need. ``key`` is sent as given and appears in no message. Texts
    count with their first 2,000 characters, 64 go in one request.
    """

    max_chars, batch = 2000, 64

    def __init__(
        self, base_url: str, model: str, key: str = "", dim: int | None = None, *, timeout_s: float = 30.0
    ) -> None:
        if not base_url or not model:
            raise EmbeddingError("the embedding endpoint needs base_url and model; set both under embedding:")
        if not key.strip().isascii():
            raise EmbeddingError(f"{base_url}: the key of the embedding endpoint holds characters that no key has")
        self.base_url = base_url
        self.model = model
        self._key = key.strip()
        self._dim = dim
        self._timeout_s = timeout_s
        self._prefixes = prefixes_for(model) or Prefixes()
        marks = digest(base_url.rstrip("/"), model, self._prefixes.query, self._prefixes.passage, str(dim or ""))
        self.fingerprint = f"api-{slug(model)}-{marks}"
        self.thresholds = thresholds_for(self.fingerprint)
        self._client = LazyModel(self._connect)

    def _connect(self) -> Any:
        # Without an explicit key the client would take another service's key from the environment.
        library, bounds = importlib.import_module("openai"), importlib.import_module("moechat.ai.bounds")
        hooks = {"request": [bounds.stays_at(self.base_url)], "response": [bounds.bounded(most=MOST_BYTES)]}
        http = library.DefaultHttpxClient(event_hooks=hooks, verify=bounds.trusted())
        return library.OpenAI(
            base_url=self.base_url, api_key=self._key or "none", timeout=self._timeout_s, max_retries=1,
            http_client=http, default_headers={"Accept-Encoding": "identity"},
        )  # fmt: skip

    @property
    def dim(self) -> int:
        if self._dim is None:
            self._dim = int(self._request(["dim"]).shape[1])
        return self._dim

    def embed(self, texts: Sequence[str], kind: Kind = "passage") -> Vectors:
        prefix = getattr(self._prefixes, kind)
        return embed_filled(texts, self.dim, self.max_chars, lambda filled: self._encode([prefix + t for t in filled]))

    def _encode(self, texts: list[str]) -> Vectors:
        parts = [self._request(texts[start : start + self.batch]) for start in range(0, len(texts), self.batch)]
        if any(part.shape[1] != self.dim for part in parts):
            dims = ", ".join(sorted({str(part.shape[1]) for part in parts}))
            raise EmbeddingError(f"{self.base_url}: {self.model} gives {dims} numbers for a text, not {self.dim}")
        return np.concatenate(parts)

    def _request(self, texts: list[str]) -> Vectors:
        """``(n, dim)`` as the endpoint gave it. ``float`` is asked for since not every server knows base64."""
        errors = importlib.import_module("openai")
        try:
            answer = self._client().embeddings.create(model=self.model, input=texts, encoding_format="float")
            rows = [item.embedding for item in sorted(answer.data or [], key=lambda item: item.index or 0)]
            vectors = np.array(rows, dtype=np.float32)
        except (errors.OpenAIError, Unfit) as error:
            raise EmbeddingError(self._in_words(error, errors)) from error
        except (AttributeError, TypeError, ValueError) as error:
            raise EmbeddingError(f"{self.base_url}: an answer without embeddings; is base_url right?") from error
        if vectors.ndim != 2 or len(vectors) != len(texts) or not np.isfinite(vectors).all():
            raise EmbeddingError(f"{self.base_url}: {len(texts)} texts sent, but not as many sound vectors came back")
        return vectors

    def _in_words(self, error: Exception, errors: Any) -> str:
        place = f"{self.base_url}: "
        if isinstance(error, Unfit):
            return place + f"the embedding endpoint leads elsewhere, or sends what it should not ({error})"
        if isinstance(error, errors.APIConnectionError):
            return place + "no answer from the embedding endpoint; is the server running and base_url right?"
        if isinstance(error, (errors.AuthenticationError, errors.PermissionDeniedError)):
            return place + "the embedding endpoint refuses the key"
        if isinstance(error, errors.NotFoundError):
            return place + f"unknown embedding model {self.model!r}, or base_url lacks its /v1"
        if isinstance(error, errors.RateLimitError):
            return place + "the embedding endpoint asks to wait (rate limit or quota)"
        if isinstance(error, errors.APIStatusError):
            return place + f"the embedding endpoint answered {error.status_code} for model {self.model!r}"
        return place + f"the embedding endpoint cannot be used ({type(error).__name__})"
