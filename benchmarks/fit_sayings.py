"""Weighs the examples of sayings (moechat/reading/sayings) and stores what came out, after any of their files changed.

    python -m benchmarks.fit_sayings        (or make sayings)

The thresholds are fitted on examples that were left out, fold by fold; what is printed was measured on these, too.
"""

# ruff: noqa: T201  (a script that prints)

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from moechat.encoder.base import Vectors
from moechat.encoder.builtin import builtin
from moechat.reading.nearness import FITTED_LIMITS, LIMITS, Example, Nearness, Scores, along, digest, examples, kernel

AXES = 192
RIDGE, KIND_RIDGE = 0.1, 1.0
FOLDS = 5
# From here on danger is heard. They were chosen by hand on sets of unseen hands that had been looked at by then: of 527 sayings
# that mean it 482 are heard (.91), of 53 of songs, jests and work 3, of 120 ordinary messages of four evenings 10. To miss one
# is worse than to ask once too often. What is printed was measured on examples left out.
LEAD, FLOOR, OTHER_FLOOR = 0.025, 0.25, 0.35
EVERYDAY = "everyday"
NO_KIND = 0.05  # This share of examples may lie so far from all others that they count as "none".


def solved(points: Vectors, rows: Sequence[int], kinds: int, ridge: float, power: float) -> Scores:
    """Kernel ridge regression of each of the first ``kinds`` rows; a kind counts by that power of its number of examples."""
    counts = np.bincount(rows)
    weights = (1 / np.maximum(counts, 1) ** power)[rows]
    inner = kernel(points, points) + ridge * np.diag(weights.mean() / weights)
    found: Scores = np.linalg.solve(inner, np.eye(len(counts))[rows][:, :kinds]).astype(np.float32)
    return found


def weighed(vectors: Vectors, sayings: Sequence[Example], kinds: Sequence[str]) -> Nearness:
    """What tells danger from everything, everyday talk included, beside what tells the kinds from each other without that."""
    names = [*kinds, EVERYDAY]
    rows = np.array([names.index(one.kind) for one in sayings])
    mean = vectors.mean(axis=0)
    axes = np.linalg.svd(vectors - mean, full_matrices=False)[2][:AXES].T
    points = along(vectors, mean, axes)
    of_a_kind = rows < len(kinds)
    weights = np.zeros((len(sayings), 2 * len(kinds)), dtype=np.float32)
    weights[:, : len(kinds)] = solved(points, rows, len(kinds), RIDGE, 0.5)
    weights[of_a_kind, len(kinds) :] = solved(points[of_a_kind], rows[of_a_kind], len(kinds), KIND_RIDGE, 1.0)
    return Nearness(tuple(kinds), mean, axes, points, weights, 0.0, 0.0, 0.0, 0.0, digest(sayings))


def left_out(vectors: Vectors, sayings: Sequence[Example], kinds: Sequence[str]) -> Scores:
    """The scores of each example by what was weighed without its fold."""
    folds = np.random.default_rng(2).integers(0, FOLDS, len(sayings))
    result = np.zeros((len(sayings), 2 * len(kinds)), dtype=np.float32)
    for fold in range(FOLDS):
        kept = np.flatnonzero(folds != fold)
        near = weighed(vectors[kept], [sayings[row] for row in kept], kinds)
        result[folds == fold] = near.scores(vectors[folds == fold])
    return result


def fit_limits() -> None:
    """Weigh the examples of what sets and what lifts a limit."""
    sayings, kinds = examples(LIMITS), ("lifts", "sets")
    vectors = builtin().embed([one.text for one in sayings])
    near = left_out(vectors, sayings, kinds)[:, : len(kinds)]
    for at, kind in enumerate(kinds):
        own = np.array([one.kind == kind for one in sayings])
        bar = np.quantile(near[~own, at], 0.9)
        print(
            f"{kind:14}{own.sum():5}  found {(near[own, at] > bar).mean():.2f} where one in ten others is, from {bar:.2f} on"
        )
    weighed(vectors, sayings, kinds).save(FITTED_LIMITS)


def main() -> None:
    fit_limits()
    sayings = examples()
    kinds = sorted({one.kind for one in sayings} - {EVERYDAY})
    vectors = builtin().embed([one.text for one in sayings])
    scores = left_out(vectors, sayings, kinds)
    of_danger, tones = scores[:, : len(kinds)], scores[:, len(kinds) :]
    truth = np.array([one.kind for one in sayings])
    at = kinds.index("danger")
    lead = of_danger[:, at] - np.delete(of_danger, at, axis=1).max(axis=1)
    is_danger, everyday = truth == "danger", truth == EVERYDAY
    leading = np.where(lead >= LEAD, of_danger[:, at], 0.0)
    kind_floor = float(np.quantile(tones[~everyday].max(axis=1), NO_KIND))
    nearest = np.array(kinds)[tones.argmax(axis=1)]
    heard = leading >= FLOOR
    right = (nearest == truth)[~everyday].mean()
    print(f"{len(sayings)} examples, {right:.3f} of those left out are nearest to their own kind")
    print(
        f"danger: {heard[is_danger].mean():.3f} heard, {heard[~is_danger].mean():.3f} false, "
        f"{heard[everyday].mean():.3f} of everyday talk"
    )
    print(f"a kind from {kind_floor:.3f} on")
    for kind in kinds:
        own, took = truth == kind, (nearest == kind) & ~everyday
        shares = (nearest[own] == kind).mean(), (truth[took] == kind).mean(), heard[own].mean()
        print("{:14}{:5}  found {:.2f}  right {:.2f}  as danger {:.2f}".format(kind, own.sum(), *shares))
    fitted = weighed(vectors, sayings, kinds)
    replace(fitted, lead=LEAD, floor=FLOOR, other_floor=OTHER_FLOOR, kind_floor=kind_floor).save()


if __name__ == "__main__":
    main()
