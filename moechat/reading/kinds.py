"""How likely a message is of each kind of saying: two readings of the examples in ``sayings``, of which each hears what the other
does not: by nearness, and word by word (``kinds.npz``, read by ``network``).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path

import numpy as np

from moechat.encoder.builtin import builtin
from moechat.reading import nearness
from moechat.reading.nearness import Scores
from moechat.reading.network import Network

SAYINGS, FITTED = (Path(__file__).with_name(name) for name in ("sayings", "kinds.npz"))
LONGEST = 300  # Of a longer text so many characters are read, the first and the last.
# How much each reading counts, chosen on a hand that was left out; no chance counts as less than ``LEAST``.
READ, NEAR, LEAST = 0.5, 7.0, 1e-4


class Kinds(Network):
    """``arrays`` has these layers too: ``looks`` (networks, 2 h, looks), how much each look at the words takes of each, and
    ``kinds`` (networks, (looks + 1) 2 h, kinds) of the most of every word and of all looks."""

    def chances(self, text: str) -> Scores:
        """(kinds,) float32, one in sum. Raises EmbeddingError."""
        words = self.read(text)
        looks = _shares(self.scores(words, "looks"), 1).transpose(0, 2, 1) @ words
        seen = np.concatenate([words.max(axis=1, keepdims=True), looks], axis=1).reshape(len(words), 1, -1)
        chances: Scores = _shares(self.scores(seen, "kinds"), 2).mean(axis=(0, 1))
        return chances


def _shares(scores: Scores, axis: int) -> Scores:
    powers = np.exp(scores - scores.max(axis=axis, keepdims=True))
    shares: Scores = powers / powers.sum(axis=axis, keepdims=True)
    return shares


@cache
def load() -> Kinds:
    return Kinds.load(FITTED)


@lru_cache(maxsize=512)
def near(text: str) -> Mapping[str, float]:
    """How near a text lies to the examples of each kind, and to ``everyday`` ones; nothing where nothing can be weighed."""
    fitted = nearness.fitted(SAYINGS) if text.strip() else None
    return fitted.by_kind([text])[0] if fitted else {}


@lru_cache(maxsize=512)
def chances(text: str) -> Mapping[str, float]:
    """The chance of each kind, one in sum; nothing where nothing can be weighed."""
    if not (scores := near(text)):
        return {}
    with builtin().one_thread():
        read = load().chances(text if len(text) <= LONGEST else f"{text[: LONGEST // 2]}\n{text[-LONGEST // 2 :]}")
    of = np.array([scores[kind] for kind in load().kinds], np.float32)
    both = _shares(READ * np.log(read + LEAST) + NEAR * of, 0)
    return dict(zip(load().kinds, both.tolist(), strict=True))
