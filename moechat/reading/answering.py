"""Which of several texts answers a question, by what it means, by the words that it shares with it, and by whether it states what
is asked for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from moechat.encoder.builtin import builtin
from moechat.errors import EmbeddingError
from moechat.language.words import tokens
from moechat.reading.examples import wanted
from moechat.when.names import has_han

# How near it lies as a whole and by its nearest clause, how much of what is asked stands in it, whether it states something of
# the kind that is asked for, of whom it is asked for, and whether the rest of what is asked stands in the message before.
# Chosen by hand near a logistic regression over the 120 questions of eight evenings (benchmarks/offline_talk.py), looked at then.
NEAR, NEAR_CLAUSE, HELD, STATES, OF_WHOM, HELD_BEFORE, ALWAYS = 2.4, 2.8, 4.0, 2.0, 2.9, 1.4, -5.2


def nearness_of(question: str, texts: Sequence[str]) -> list[float]:
    """The cosine of each text to a question; 0 without the embedding."""
    try:
        vectors = builtin().embed([question, *texts])
    except EmbeddingError:
        return [0.0] * len(texts)
    near: list[float] = (vectors[1:] @ vectors[0]).tolist()
    return near


class Asking:
    """A question beside the texts that may answer it. ``words`` are those of it that say what it is about."""

    def __init__(self, question: str, words: Sequence[str], texts: Sequence[str]) -> None:
        self._question, (_, self._sure) = question, wanted(question)
        rows = [{*tokens(text)} for text in texts]
        holds = [
            [w in row or (has_han(w[0]) and w in text) for w in words] for text, row in zip(texts, rows, strict=True)
        ]
        self._holds = np.array(holds, dtype=float).reshape(len(texts), len(words))
        rarity = np.log((len(texts) + 1) / np.maximum(self._holds.sum(axis=0) + 0.5, 1.5))
        self._rarity = rarity / (rarity.sum() or 1.0)
        self._near, self._held = np.array(nearness_of(question, texts)), self._holds @ self._rarity

    def nearest(self, count: int) -> list[int]:
        """The places of the texts that are most like it."""
        places: list[int] = np.argsort(-(self._near + self._held), kind="stable")[:count].tolist()
        return places

    def log_odds(self, at: int, clauses: Sequence[str], likely: float, own: float, before: int) -> float:
        """How likely the text at a place answers, which states ``likely`` what is asked for, of whom it is asked for ``own``;
        ``before`` is the place of the message before it, or its own."""
        begun = (np.maximum(self._holds[at], self._holds[before]) - self._holds[at]) @ self._rarity
        sure = self._sure * likely
        return float(
            NEAR * self._near[at] + NEAR_CLAUSE * max(nearness_of(self._question, clauses)) + HELD * self._held[at]
            + sure * (STATES + OF_WHOM * own + HELD_BEFORE * begun) + ALWAYS
        )  # fmt: skip
