"""Whether what was said bears a finding out, by how near both lie to examples of right and mistaken ones: irony, play, a dream,
another's words or doings, a supposition and a guess are examples of what bears nothing out.

The examples stand in ``findings/LANGUAGE.txt`` for people to read and extend; ``make sayings`` weighs them and writes
``findings.npz``. A telling (message, words quoted, finding, reply, what was said before) is as near to an example as
k(message) k(quote) (1 + k(finding)) + (k(reply) + k(before)) / 2 says, with k as in ``nearness``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from moechat.encoder.base import Vectors
from moechat.encoder.builtin import builtin
from moechat.reading.nearness import SCALE, Scores, along, can_weigh, digest_of, kernel
from moechat.when.names import tongue_of

FOLDER, FITTED = Path(__file__).with_name("findings"), Path(__file__).with_name("findings.npz")
WIDTH = 1.0
# From here on a finding is borne out, by its language; chosen by hand on sets of unseen hands that had been looked at by then.
FLOORS: Mapping[str, float] = {"zh": -0.45, "en": -0.5}


@dataclass(frozen=True)
class Telling:
    """A finding and what it was found in; ``before`` is what the user said last before the message."""

    message: str
    quote: str
    finding: str
    reply: str = ""
    before: str = ""


def examples() -> list[tuple[Telling, bool]]:
    """All examples and whether each is right, in the order of the files. Blocks are parted by an empty line: a message, and the
    findings below it, which may quote other words of it than it marks."""
    tellings = []
    text = "\n\n".join(path.read_text("utf-8") for path in sorted(FOLDER.glob("*.txt")))
    for block in re.split(r"\n\s*\n", text):
        lines = block.splitlines()
        reply, before = (" ".join(line[2:] for line in lines if line.startswith(mark)) for mark in ("< ", "> "))
        message = "".join(line for line in lines if line[:2] not in ("# ", "> ", "< ", "+ ", "- "))
        plain = re.sub(r"[\[\]]", "", message)
        brackets = re.search(r"\[(.*?)\]", message)
        for line in lines:
            if line[:2] in ("+ ", "- "):
                finding, _, quote = line[2:].partition(" « ")
                quote = quote or (brackets[1] if brackets else plain)
                tellings.append((Telling(plain, quote, finding, reply, before), line[0] == "+"))
    return tellings


def digest(of: Sequence[tuple[Telling, bool]]) -> str:
    """It changes with every example."""
    return digest_of("\t".join(map(str, (*astuple(one), is_right))) for one, is_right in of)


@dataclass(frozen=True)
class Bearing:
    """The fitted examples: ``points`` (texts, d) float32, unit length or nothing, along ``axes`` (dim, d) from ``mean`` (dim,);
    ``places`` (examples, 5) which texts an example has; ``weights`` (examples,) float32, by which a
    telling's products sum up to about -1 (mistaken) … 1 (right). ``examples`` is their digest."""

    mean: Vectors
    axes: Vectors
    points: Vectors
    places: NDArray[np.int16]
    weights: Scores
    examples: str

    def products(self, vectors: Vectors) -> NDArray[np.float32]:
        """(n, examples) float32 for tellings as (n, 5, dim) vectors, those of empty texts nothing."""
        message, quote, finding, reply, before = (
            kernel(placed(vectors[:, part], self.mean, self.axes), self.points, WIDTH)[:, self.places[:, part]]
            for part in range(vectors.shape[1])
        )
        near: NDArray[np.float32] = message * quote * (1 + finding) + (reply + before) / np.float32(2)
        return near

    def save(self) -> None:
        np.savez_compressed(
            FITTED, mean=self.mean.astype(np.float16), axes=self.axes.astype(np.float16),
            points=np.round(self.points * SCALE).astype(np.int8), places=self.places,
            weights=self.weights.astype(np.float16), examples=np.array(self.examples),
        )  # fmt: skip


def placed(vectors: Vectors, mean: Vectors, axes: Vectors) -> Vectors:
    """(n, d) float32: where texts lie, an empty one in the middle."""
    points: Vectors = along(vectors, mean, axes) * np.any(vectors, axis=1)[:, None]
    return points


@cache
def load() -> Bearing:
    """What ``save`` stored."""
    with np.load(FITTED) as stored:
        mean, axes, weights = (stored[name].astype(np.float32) for name in ("mean", "axes", "weights"))
        points = stored["points"].astype(np.float32) / SCALE
        return Bearing(mean, axes, points, stored["places"], weights, str(stored["examples"]))


def vectors_of(tellings: Sequence[Telling]) -> Vectors:
    """(n, 5, dim) float32."""
    texts = [text for one in tellings for text in astuple(one)]
    vectors = builtin().embed(texts)
    vectors[[not text.strip() for text in texts]] = 0
    return vectors.reshape(len(tellings), 5, -1)


def is_borne_out(telling: Telling) -> bool:
    """Whether a finding follows from what was said; True where nothing can be weighed."""
    if not can_weigh():
        return True
    near = load()
    score = near.products(vectors_of([telling]))[0] @ near.weights
    return bool(score >= FLOORS[tongue_of(telling.finding)])
