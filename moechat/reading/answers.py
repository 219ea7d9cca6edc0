"""Where the vector of a question would lie if the same words told what it asks for.

A question lies apart from what answers it by being a question: along one axis, on which it is moved to where messages lie. The
axis goes from the mean of questions to the mean of messages that answer them. These stand in ``answers/LANGUAGE.txt``, a message,
a tab and a question a line, for people to read and extend; ``make sayings`` writes the axis to ``answers.npz``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from moechat.encoder.base import Vectors, unit
from moechat.reading.nearness import digest_of

FOLDER, FITTED = (Path(__file__).with_name(name) for name in ("answers", "answers.npz"))
# A question is moved a little farther than messages lie; chosen by hand on 340 questions of twenty evenings.
BEYOND = 0.1


def examples() -> list[tuple[str, str]]:
    """(message, question that it answers), in the order of the files."""
    rows = [line for path in sorted(FOLDER.glob("*.txt")) for line in path.read_text("utf-8").splitlines()]
    return [(message, question) for message, mark, question in (row.partition("\t") for row in rows) if mark]


def digest(of: Sequence[tuple[str, str]]) -> str:
    """It changes with every example."""
    return digest_of("\t".join(one) for one in of)


@dataclass(frozen=True)
class AskingAxis:
    """``axis`` (dim,) float32, of length 1, from questions to messages; ``place``: how far along it messages lie. ``examples`` is
    the digest of what it was learned from."""

    axis: Vectors
    place: float
    examples: str

    @classmethod
    def between(cls, messages: Vectors, questions: Vectors, examples: str) -> AskingAxis:
        """What two sets of (n, dim) vectors differ by."""
        (axis,) = unit(messages.mean(axis=0, keepdims=True) - questions.mean(axis=0, keepdims=True))
        return cls(axis, float((messages @ axis).mean()), examples)

    def as_told(self, vectors: Vectors) -> Vectors:
        """(n, dim) vectors of questions where they would lie as messages, of length 1; rows of zeros stay so."""
        far = (self.place + BEYOND - vectors @ self.axis) * np.any(vectors, axis=1)
        return unit(vectors + far[:, None] * self.axis)

    def save(self) -> None:
        np.savez_compressed(
            FITTED, axis=self.axis.astype(np.float32), place=self.place, examples=np.array(self.examples)
        )


@cache
def load() -> AskingAxis:
    """What ``save`` stored."""
    with np.load(FITTED) as stored:
        return AskingAxis(stored["axis"], float(stored["place"]), str(stored["examples"]))
