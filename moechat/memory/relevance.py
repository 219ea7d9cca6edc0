"""Whether a memory of the diary is relevant enough to enter a prompt, and whether anything of the diary belongs to a question.

Rank says which memory is best, never whether it is good: something is always nearest. So a hit passes where its features
add up to enough, with the words of the question that the diary has never heard counted against it (a question full of
them asks for something that was never said); or where its meaning is near enough by the model's own measure, which is
what finds anything in the first days, when the diary knows few words. docs/recall.md shows what the numbers cost and save.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from moechat.index import traits
from moechat.index.hybrid import WEIGHTS, HybridIndex
from moechat.index.lexical import rarity
from moechat.index.vectors import meets
from moechat.language import words
from moechat.when.names import has_han

ENOUGH = 3.5
"""Sum of a hit's features, of which the words' count as far as the question's are known."""
ENOUGH_WORDS = 2.0
"""The same where a hit has no vector."""
SAID_MUCH = 1.8
"""How many words as rare as can be a question must be worth to count in full: 谢谢 alone says little."""
YOUNG = 50
"""Documents at which both count half: a diary of the first days has heard few words, which says nothing about a question."""
LITERAL_SHARE = 0.5
"""Of the question's words, by rarity: what has them was meant, however far its vector lies."""
WORDS = ("lexical", "window", "answers")
BELONGS = {"relevance": 0.11, "share": 0.43, "meaning": 0.59}
"""What counts for a question that something of the diary belongs to it, 1 being enough: the relevance of the best hit, the share
of its words that the diary knows, and the mean cosine of the three nearest over the threshold of the model. Fitted on five kinds
of talk against questions of other diaries and small talk (docs/recall.md)."""
TELLS = 0.3  # Added to the threshold of a message that asks nothing.
LATIN = 0.12  # So does one without Chinese: of a Latin text, whose words are few and common, more is known by chance.
UNHEARD_NAME = 0.1  # And so does one that names somebody or something that the diary never heard of.
LOOKED_AT = 30  # Top hits inspected.
NEAREST = 3


@dataclass(frozen=True, slots=True)
class Floor:
    """The floor of one question. ``threshold`` is the cosine that suffices, ``share`` how far its words count (0..1), ``bar``
    what its signs must add up to; a ``young`` diary has too little in it to say that nothing belongs to a question."""

    threshold: float
    share: float
    young: bool = False
    bar: float = 1.0

    @classmethod
    def of(cls, text: str, index: HybridIndex, threshold: float) -> Floor:
        """``share`` is the weight of the words that the diary has, within that of all.

        A word that it never heard counts as the rarest.
        """
        bare = index.without_names(text)
        question_words = list(dict.fromkeys(traits.asked_words(bare)))
        worth = index.lexical.idf(question_words)
        rarest = float(rarity(0, index.count)) * index.count / (index.count + YOUNG)
        heard = float(worth.sum())
        unheard = np.count_nonzero(worth == 0) * rarest
        share = heard / max(heard + unheard, SAID_MUCH * rarest, 1e-9)
        bar = 1.0 if traits.asks(text) else 1.0 + TELLS
        if not has_han(text):
            named = [words.tokens(name) for name in traits.names_told(bare)]
            bar += LATIN + UNHEARD_NAME * any(not index.lexical.idf(tokens).any() for tokens in named)
        return cls(threshold, share, index.count < YOUNG, bar)

    def belongs(self, features: Mapping[str, Any]) -> bool:
        """Whether anything of the diary belongs to the question, by its hits (arrays, the best hit first)."""
        cosine = np.nan_to_num(np.asarray(features.get("cosine", ()), np.float64))[:LOOKED_AT]
        if self.young or not cosine.any():
            return True
        signs = {
            "relevance": float(np.max(self._relevance(features)[:LOOKED_AT])),
            "share": self.share,
            "meaning": float(np.sort(cosine)[-NEAREST:].mean()) / self.threshold if self.threshold > 0 else 1.0,
        }
        return sum(weight * signs[name] for name, weight in BELONGS.items()) >= self.bar

    def passes(self, features: Mapping[str, Any]) -> Any:
        """Whether a hit with these features (weighted, as the index gives them) is relevant; of arrays of them, which are."""
        cosine = np.nan_to_num(features.get("cosine", 0.0))
        enough = np.where(cosine == 0.0, ENOUGH_WORDS, ENOUGH)
        return (self._relevance(features) >= enough) | self._has_meaning(features)

    def _relevance(self, features: Mapping[str, Any]) -> Any:
        """The sum of a hit's features, its words counting as far as the question's are known."""
        heard = sum(
            value * (self.share if name in WORDS else 1.0) for name, value in features.items() if name in WEIGHTS
        )
        named = np.asarray(features.get("speaker", 0.0))
        # 我 and 你 rank the sides; half of the diary is told by each.
        return heard - np.where(named < WEIGHTS["speaker"], named, 0.0)

    def near(self, features: Mapping[str, Any]) -> Any:
        """Whether a hit is about the same by meaning alone, or has the words (seed 003's filter on a named time); of arrays,
        which are."""
        return (features.get("lexical", 0.0) / WEIGHTS["lexical"] >= LITERAL_SHARE) | self._has_meaning(features)

    def _has_meaning(self, features: Mapping[str, Any]) -> Any:
        return meets(features.get("cosine", -1.0), self.threshold)
