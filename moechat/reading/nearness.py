"""How near texts lie to examples of kinds: what they mean, and how they are put.

Examples stand in files ``KIND.LANGUAGE.txt`` of a folder, one a line, for people to read and extend; ``make sayings`` weighs
them and writes what comes out beside the folder. A text is as near to a kind as kernel ridge regression over the examples says:
k(x, y) = exp(WIDTH (v(x)·v(y) − 1)) + LETTERS l(x)·l(y). v is the built-in embedding along its main axes; l counts runs of
one to LONGEST_RUN letters within words, weighed by how rare they are (tf-idf), at length 1.
"""

from __future__ import annotations

import logging
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from hashlib import blake2b
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from moechat.encoder.base import Vectors, unit
from moechat.encoder.builtin import builtin
from moechat.errors import EmbeddingError

log = logging.getLogger(__name__)
WIDTH, LETTERS = 2.0, 0.7
LONGEST_RUN, SLOTS, MOST_LETTERS = 4, 1 << 15, 400
SCALE = 127  # Points and the weights of letters are stored as bytes.
Scores = NDArray[np.float32]


@dataclass(frozen=True)
class Example:
    text: str
    kind: str


def examples(folder: Path) -> list[Example]:
    """All examples of a folder, in the order of the files' names."""
    return [
        Example(line.strip(), path.name.partition(".")[0])
        for path in sorted(folder.glob("*.txt"))
        for line in path.read_text("utf-8").splitlines()
        if line.strip() and not line.startswith("# ")
    ]


def digest(sayings: Sequence[Example]) -> str:
    """It changes with every example."""
    return digest_of(f"{one.kind}\t{one.text}" for one in sayings)


def digest_of(rows: Iterable[str]) -> str:
    return blake2b("\n".join(rows).encode(), digest_size=8).hexdigest()


def kernel(left: Vectors, right: Vectors, width: float = WIDTH) -> NDArray[np.float32]:
    """(len(left), len(right)) float32, the part of what texts mean."""
    products: NDArray[np.float32] = np.exp(width * (left @ right.T - 1))
    return products


def along(vectors: Vectors, mean: Vectors, axes: Vectors) -> Vectors:
    """(n, d) float32: unit vectors along the axes that tell examples apart most."""
    return unit((vectors - mean) @ axes)


def letters(text: str) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The slots of the runs of letters in a text, and how much each counts before its rarity: 1 + ln(how often)."""
    counts: Counter[int] = Counter()
    for word in text[:MOST_LETTERS].lower().split():
        padded = f" {word} "
        for length in range(1, LONGEST_RUN + 1):
            counts.update(
                zlib.crc32(padded[at : at + length].encode()) % SLOTS for at in range(len(padded) - length + 1)
            )
    slots, times = np.fromiter(counts, np.int64, len(counts)), np.fromiter(counts.values(), np.float32, len(counts))
    return slots, (1 + np.log(times)).astype(np.float32)


@dataclass(frozen=True)
class Nearness:
    """Fitted examples. ``mean`` is (dim,) and ``axes`` (dim, d) float32: vectors are seen along these alone; ``points`` is
    (examples, d) float32, unit length, and ``weights`` (examples, kinds) float32. ``rarity`` is (SLOTS,) and ``of_letters``
    (SLOTS, kinds) float32. ``numbers`` are thresholds by name, ``examples`` the digest of all that was weighed."""

    kinds: tuple[str, ...]
    mean: Vectors
    axes: Vectors
    points: Vectors
    weights: Scores
    rarity: NDArray[np.float32]
    of_letters: Scores
    numbers: Mapping[str, float]
    examples: str

    def scores(self, *groups: Sequence[str]) -> Scores:
        """(n, kinds) float32 of the texts of all groups, about 0 … 1 each; 0 for an empty text. Raises EmbeddingError. A group is
        embedded at once, and once for all that ask for the same one."""
        vectors = np.vstack([builtin().embed(texts) for texts in groups])
        near: Scores = kernel(along(vectors, self.mean, self.axes), self.points) @ self.weights
        for row, text in enumerate(chain(*groups)):
            slots, counts = letters(text)
            counts = counts * self.rarity[slots]
            if length := float(np.linalg.norm(counts)):
                near[row] += counts @ self.of_letters[slots] / length
        near[~np.any(vectors, axis=1)] = 0
        return near

    def save(self, path: Path) -> None:
        most = np.abs(self.of_letters).max(axis=0)
        np.savez_compressed(
            path,
            kinds=np.array(self.kinds),
            mean=self.mean.astype(np.float16),
            axes=self.axes.astype(np.float16),
            points=np.round(self.points * SCALE).astype(np.int8),
            weights=self.weights.astype(np.float16),
            rarity=self.rarity.astype(np.float16),
            of_letters=np.round(self.of_letters / most * SCALE).astype(np.int8),
            most=most,
            names=np.array(list(self.numbers)),
            numbers=np.array(list(self.numbers.values())),
            examples=np.array(self.examples),
        )


def load(path: Path) -> Nearness:
    """What ``save`` stored."""
    with np.load(path) as stored:
        arrays = {name: stored[name] for name in stored.files}
    mean, axes, weights, rarity, letters_, points = (
        arrays[name].astype(np.float32) for name in ("mean", "axes", "weights", "rarity", "of_letters", "points")
    )
    numbers = dict(zip(arrays["names"].tolist(), arrays["numbers"].tolist(), strict=True))
    return Nearness(
        tuple(arrays["kinds"].tolist()), mean, axes, points / SCALE, weights, rarity,
        (letters_ * arrays["most"] / SCALE).astype(np.float32), numbers, str(arrays["examples"]),
    )  # fmt: skip


@cache
def can_weigh() -> bool:
    """Whether the built-in embedding can be loaded; where it cannot, the log says so once."""
    try:
        builtin().embed(["我们"])
    except EmbeddingError as failure:
        log.warning("what is said is judged by its words alone: %s", failure)
        return False
    return True


@lru_cache(maxsize=512)
def is_word(word: str) -> bool:
    """Whether an English word is one of those that the built-in embedding knows whole; False where it cannot be loaded."""
    return can_weigh() and any(builtin().is_word(one) for one in {word, word.removesuffix("s")})


@cache
def fitted(folder: Path) -> Nearness | None:
    """What was weighed of the examples in a folder; None where nothing can be weighed."""
    return load(folder.with_suffix(".npz")) if can_weigh() else None


@lru_cache(maxsize=8192)
def near(folder: Path, text: str) -> Mapping[str, float]:
    """How near a text lies to the examples of each kind in a folder; nothing where it is blank or nothing can be weighed."""
    rows = each(folder, [text]) if text.strip() else []
    return rows[0] if rows else {}


def each(folder: Path, *groups: Sequence[str]) -> list[dict[str, float]]:
    """The same of many texts, none of them blank, in a quarter of the time; no rows where nothing can be weighed."""
    examples_of = fitted(folder)
    if examples_of is None:
        return []
    return [dict(zip(examples_of.kinds, row, strict=True)) for row in examples_of.scores(*groups).tolist()]
