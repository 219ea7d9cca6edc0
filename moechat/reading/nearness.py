"""What kind of saying a text is, by how near it lies to examples.

The examples stand in ``sayings/KIND.LANGUAGE.txt``, one a line, for people to read and extend; ``make sayings`` weighs
them and writes ``sayings.npz``. Those of ``everyday`` are of no kind: other kinds are not heard near them. A text is as near
to a kind as a kernel regression says: k(x, y) = exp(WIDTH (x·y − 1)) over vectors of the built-in embedding, along their AXES
main axes. What sets or lifts a limit is told apart in the same way, by the examples in ``limits`` and ``limits.npz``.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from moechat.encoder.base import Vectors, unit
from moechat.encoder.builtin import builtin
from moechat.errors import EmbeddingError

log = logging.getLogger(__name__)
FOLDER = Path(__file__).with_name("sayings")
FITTED = Path(__file__).with_name("sayings.npz")
LIMITS, FITTED_LIMITS = Path(__file__).with_name("limits"), Path(__file__).with_name("limits.npz")
WIDTH = 2.0
SCALE = 127  # Points are stored as bytes.
Scores = NDArray[np.float32]


@dataclass(frozen=True)
class Example:
    text: str
    kind: str


def examples(folder: Path = FOLDER) -> list[Example]:
    """All examples, in the order of the files' names."""
    return [
        Example(line.strip(), path.name.partition(".")[0])
        for path in sorted(folder.glob("*.txt"))
        for line in path.read_text("utf-8").splitlines()
        if line.strip() and not line.startswith("# ")
    ]


def digest(sayings: Sequence[Example]) -> str:
    """It changes with every example."""
    return blake2b("\n".join(f"{one.kind}\t{one.text}" for one in sayings).encode(), digest_size=8).hexdigest()


def kernel(left: Vectors, right: Vectors) -> NDArray[np.float32]:
    """(len(left), len(right)) float32."""
    products: NDArray[np.float32] = np.exp(WIDTH * (left @ right.T - 1))
    return products


@dataclass(frozen=True)
class Nearness:
    """The fitted examples. ``mean`` is (dim,) and ``axes`` (dim, d) float32: vectors are seen along these alone; ``points`` is
    (examples, d) float32, unit length, and ``weights`` (examples, 2 kinds) float32: the first half tells danger from everything,
    the second tells the kinds from each other, everyday talk left aside. The user's own danger is heard from ``floor`` on where
    it leads all other kinds by ``lead``, another's from ``other_floor`` on; the nearest kind is one from ``kind_floor`` on.
    ``examples`` is their digest."""

    kinds: tuple[str, ...]
    mean: Vectors
    axes: Vectors
    points: Vectors
    weights: Scores
    lead: float
    floor: float
    other_floor: float
    kind_floor: float
    examples: str

    def scores(self, vectors: Vectors) -> Scores:
        """(n, 2 kinds) float32, about 0 … 1, by the order of ``weights``; 0 for an empty text."""
        near: Scores = kernel(along(vectors, self.mean, self.axes), self.points) @ self.weights
        near[~np.any(vectors, axis=1)] = 0
        return near

    def is_danger(self, scores: Scores) -> bool:
        """Whether the user's own danger is near enough, by the (2 kinds,) scores of one text."""
        at, of_danger = self.kinds.index("danger"), scores[: len(self.kinds)]
        return bool(of_danger[at] >= self.floor and of_danger[at] - np.delete(of_danger, at).max() >= self.lead)

    def of_danger(self, scores: Scores) -> float:
        """How near one text lies to danger, anybody's."""
        return float(max(scores[self.kinds.index(kind)] for kind in ("danger", "danger_other")))

    def kind(self, scores: Scores) -> str:
        """The nearest kind but the user's own danger, which ``is_danger`` decides; "none" where none is near."""
        at = self.kinds.index("danger_other")
        own = scores[self.kinds.index("danger")]
        if scores[at] >= self.other_floor and scores[at] >= max(own, np.delete(scores[: len(self.kinds)], at).max()):
            return "danger_other"
        both = 2 * scores[: len(self.kinds)] + scores[len(self.kinds) :]
        near, kind = max(
            (near, kind) for near, kind in zip(both, self.kinds, strict=True) if not kind.startswith("danger")
        )
        return kind if near >= self.kind_floor else "none"

    def save(self, path: Path = FITTED) -> None:
        np.savez_compressed(
            path,
            kinds=np.array(self.kinds),
            mean=self.mean.astype(np.float16),
            axes=self.axes.astype(np.float16),
            points=np.round(self.points * SCALE).astype(np.int8),
            weights=self.weights.astype(np.float16),
            numbers=np.array([self.lead, self.floor, self.other_floor, self.kind_floor]),
            examples=np.array(self.examples),
        )


def along(vectors: Vectors, mean: Vectors, axes: Vectors) -> Vectors:
    """(n, d) float32: unit vectors along the axes that tell examples apart most."""
    return unit((vectors - mean) @ axes)


def load(path: Path = FITTED) -> Nearness:
    """What ``save`` stored."""
    with np.load(path) as stored:
        arrays = {name: stored[name] for name in stored.files}
    mean, axes, weights = (arrays[name].astype(np.float32) for name in ("mean", "axes", "weights"))
    kinds = tuple(arrays["kinds"].tolist())
    points = arrays["points"].astype(np.float32) / SCALE
    lead, floor, other_floor, kind_floor = arrays["numbers"].tolist()
    digest_ = str(arrays["examples"])
    return Nearness(kinds, mean, axes, points, weights, lead, floor, other_floor, kind_floor, digest_)


@cache
def fitted(path: Path = FITTED) -> Nearness | None:
    """What is stored there; None where the built-in embedding cannot be loaded, which the log says once."""
    try:
        builtin().embed(["我们"])
    except EmbeddingError as failure:
        log.warning("what is said is judged by its words alone: %s", failure)
        return None
    return load(path)


def scores(texts: Sequence[str], path: Path = FITTED) -> Scores | None:
    """(n, 2 kinds) float32 for texts; None without the embedding."""
    near = fitted(path)
    return near.scores(builtin().embed(texts)) if near else None


def of_limits(texts: Sequence[str]) -> Scores | None:
    """(n, 2) float32 for texts: how near each is to what lifts a limit, and to what sets one, about 0 … 1."""
    near = scores(texts, FITTED_LIMITS)
    return None if near is None else near[:, :2]
