"""The common parts of all embedders: clean input, unit vectors, one load, and names for files."""

from __future__ import annotations

import hashlib
import importlib.metadata
import re
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moechat.errors import EmbeddingError

Vectors = NDArray[np.float32]
Encode = Callable[[list[str]], Vectors]

_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u200b\u2060\ufeff\ud800-\udfff]+")
_BLANKS = re.compile(r"\s{2,}")


def clean(text: str, max_chars: int) -> str:
    """Text that no tokenizer chokes on.

    Controls, NUL, byte order marks and lone surrogates become a blank, runs of blanks one, and of a longer text the
    first ``max_chars`` characters stay.
    """
    text = _UNPRINTABLE.sub(" ", text[: max_chars * 2])
    return _BLANKS.sub(" ", text).strip()[:max_chars].rstrip()


def unit(vectors: NDArray[Any]) -> Vectors:
    """Rows at length 1, float32; rows of zeros stay so."""
    rows = np.asarray(vectors, dtype=np.float32)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    lengths[lengths == 0] = 1
    unit_rows: Vectors = (rows / lengths).astype(np.float32, copy=False)
    return unit_rows


def slug(name: str) -> str:
    """The last part of a name or path, as a part of a file name."""
    last = re.split(r"[/\\]", name.rstrip("/\\"))[-1].lower()
    return re.sub(r"[^a-z0-9._]+", "-", last).strip("-.") or "model"


def digest(*parts: str) -> str:
    return hashlib.blake2b("\0".join(parts).encode("utf-8", "replace"), digest_size=4).hexdigest()


class LazyModel:
    """A model that is loaded once, by whoever needs it first. A load that failed is not tried again."""

    def __init__(self, load: Callable[[], Any]) -> None:
        self._load = load
        self._lock = threading.Lock()
        self._model: Any = None
        self._failure: EmbeddingError | None = None

    def __call__(self) -> Any:
        """The model. Raises EmbeddingError, the same at each call."""
        if self._model is None:
            with self._lock:
                if self._failure is not None:
                    raise self._failure
                if self._model is None:
                    try:
                        self._model = self._load()
                    except EmbeddingError as failure:
                        self._failure = failure
                        raise
        return self._model


def embed_filled(texts: Sequence[str], dim: int, max_chars: int, encode: Encode) -> Vectors:
    """Clean, leave out what is empty, ``encode`` the rest and put zero vectors in between."""
    cleaned = [clean(text, max_chars) for text in texts]
    filled = [row for row, text in enumerate(cleaned) if text]
    vectors = np.zeros((len(cleaned), dim), dtype=np.float32)
    if filled:
        vectors[filled] = unit(encode([cleaned[row] for row in filled]))
    return vectors


def in_turns(entry: threading.Lock, texts: list[str], size: int, encode: Encode) -> Vectors:
    """One thread at a time, ``size`` texts at a time, so that a query does not wait for a long fill."""
    parts = []
    for start in range(0, len(texts), size):
        with entry:
            parts.append(encode(texts[start : start + size]))
    return np.concatenate(parts)


def installed_version(package: str, purpose: str) -> str:
    """The version of a package. Raises EmbeddingError with what to install where it is missing."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        raise EmbeddingError(f"{purpose} needs the package {package}: pip install {package}") from None
