"""Whether a memory of the diary is relevant enough to enter a prompt.

Rank says which memory is best, never whether it is good: something is always nearest. So a hit passes where its features
add up to enough, with the words of the question that the diary has never heard counted against it (a question full of
them asks for something that was never said); or where its meaning is near enough by the model's own measure, which is
what finds anything in the first days, when the diary knows few words. docs/recall.md shows what the numbers cost and save.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from moechat.index import traits
from moechat.index.cosine import meets
from moechat.index.hybrid import WEIGHTS, HybridIndex
from moechat.index.lexical import rarity

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


@dataclass(frozen=True, slots=True)
class Floor:
    """The floor of one question. ``threshold`` is the cosine that suffices, ``share`` how far its words count (0..1)."""

    threshold: float
    share: float

    @classmethod
    def of(cls, text: str, index: HybridIndex, threshold: float) -> Floor:
        """``share`` is the weight of the words that the diary has, within that of all.

        A word that it never heard counts as the rarest.
        """
        question_words = list(dict.fromkeys(traits.asked_words(index.without_names(text))))
        worth = index.lexical.idf(question_words)
        rarest = float(rarity(0, index.count)) * index.count / (index.count + YOUNG)
        heard = float(worth.sum())
        unheard = np.count_nonzero(worth == 0) * rarest
        return cls(threshold, heard / max(heard + unheard, SAID_MUCH * rarest, 1e-9))

    def passes(self, features: Mapping[str, float]) -> bool:
        """Whether a hit with these features (weighted, as the index gives them) is relevant."""
        enough = ENOUGH if "cosine" in features else ENOUGH_WORDS
        heard = sum(
            value * (self.share if name in WORDS else 1.0) for name, value in features.items() if name in WEIGHTS
        )
        if (named := features.get("speaker", 0.0)) < WEIGHTS["speaker"]:
            heard -= named  # 我 and 你 rank the sides; half of the diary is told by each
        return bool(heard >= enough) or bool(meets(features.get("cosine", -1.0), self.threshold))

    def near(self, features: Mapping[str, float]) -> bool:
        """Whether a hit is about the same by meaning alone, or has the words (seed 003's filter on a named time)."""
        literal = features.get("lexical", 0.0) / WEIGHTS["lexical"]
        return literal >= LITERAL_SHARE or bool(meets(features.get("cosine", -1.0), self.threshold))
