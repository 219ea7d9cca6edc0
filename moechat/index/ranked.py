"""The outcome of a search in the diary, and of several that are taken in turns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Ranked:
    """The outcome of a search, best first. ``features`` are the weighted parts of the score; ``inside`` is 1 where the
    document was told or happened in an asked span; ``cosine`` is not weighted (nan where there is no vector). ``present``
    (documents, names) says which words of the question each has."""

    docs: Ints
    scores: Floats
    features: Mapping[str, Floats]
    names: list[str]
    present: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.docs)

    def words(self, i: int) -> list[str]:
        """The words (stems, character pairs) of the question that the i-th document has."""
        return [self.names[j] for j in self.present[i].nonzero()[0].tolist()]

    def reasons(self, i: int) -> tuple[float, dict[str, float], list[str]]:
        """(score, features that count, words) of the i-th document."""
        values = {name: float(column[i]) for name, column in self.features.items()}
        features = {name: value for name, value in values.items() if value and value == value}
        return float(self.scores[i]), features, self.words(i)


def in_turns(rankings: Sequence[Ranked], count: int) -> tuple[Ranked, Ints]:
    """The first of each, then the second of each, and so on, a document once, ``count`` at most; and where each of them stands
    in the rankings laid end to end."""
    docs = np.concatenate([ranked.docs for ranked in rankings])
    turns = np.concatenate([np.arange(len(ranked)) for ranked in rankings])
    order = np.argsort(turns, kind="stable")
    _, first = np.unique(docs[order], return_index=True)
    places = order[np.sort(first)][:count]
    names = [name for ranked in rankings for name in ranked.names]
    present = np.zeros((len(docs), len(names)), np.bool_)
    row = column = 0
    for ranked in rankings:
        present[row : row + len(ranked), column : column + len(ranked.names)] = ranked.present
        row, column = row + len(ranked), column + len(ranked.names)
    features = {
        name: np.concatenate([ranked.features[name] for ranked in rankings])[places]
        for name in rankings[0].features
        if all(name in ranked.features for ranked in rankings)
    }
    scores = np.concatenate([ranked.scores for ranked in rankings])[places]
    return Ranked(docs[places], scores, features, names, present[places]), places
