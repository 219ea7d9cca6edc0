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
from moechat.reading.nearness import Example, Nearness, Scores, along, digest, examples, kernel

AXES = 192
RIDGE = 0.1
FOLDS = 5
# This share of the examples of no danger, which are harder than everyday talk, may be taken for it.
FALSE_ALARMS = 0.11
EVERYDAY = "everyday"
NO_KIND = 0.1  # This share of examples may lie so far from all others that they count as "none".


def weighed(vectors: Vectors, sayings: Sequence[Example], kinds: Sequence[str]) -> Nearness:
    """Kernel ridge regression of each kind; a kind counts by the root of its number of examples. Everyday talk is of no kind."""
    names = [*kinds, EVERYDAY]
    rows = np.array([names.index(one.kind) for one in sayings])
    counts = np.bincount(rows, minlength=len(names))
    weights = (1 / np.sqrt(np.maximum(counts, 1)))[rows]
    weights /= weights.mean()
    mean = vectors.mean(axis=0)
    axes = np.linalg.svd(vectors - mean, full_matrices=False)[2][:AXES].T
    points = along(vectors, mean, axes)
    inner = kernel(points, points) + RIDGE * np.diag(1 / weights)
    solved = np.linalg.solve(inner, np.eye(len(names))[rows][:, :-1]).astype(np.float32)
    return Nearness(tuple(kinds), mean, axes, points, solved, 0.0, 0.0, digest(sayings))


def left_out(vectors: Vectors, sayings: Sequence[Example], kinds: Sequence[str]) -> Scores:
    """The scores of each example by what was weighed without its fold."""
    folds = np.random.default_rng(2).integers(0, FOLDS, len(sayings))
    result = np.zeros((len(sayings), len(kinds)), dtype=np.float32)
    for fold in range(FOLDS):
        kept = np.flatnonzero(folds != fold)
        near = weighed(vectors[kept], [sayings[row] for row in kept], kinds)
        result[folds == fold] = near.scores(vectors[folds == fold])
    return result


def main() -> None:
    sayings = examples()
    kinds = sorted({one.kind for one in sayings} - {EVERYDAY})
    vectors = builtin().embed([one.text for one in sayings])
    scores = left_out(vectors, sayings, kinds)
    truth = np.array([one.kind for one in sayings])
    at = kinds.index("danger")
    lead = scores[:, at] - np.delete(scores, at, axis=1).max(axis=1)
    is_danger = truth == "danger"
    least = float(np.quantile(lead[~is_danger], 1 - FALSE_ALARMS))
    floor = float(np.quantile(scores[truth != EVERYDAY].max(axis=1), NO_KIND))
    nearest = np.array(kinds)[scores.argmax(axis=1)]
    heard = lead >= least
    of_a_kind = truth != EVERYDAY
    print(
        f"{len(sayings)} examples, {(nearest == truth)[of_a_kind].mean():.3f} of those left out are nearest to their own kind"
    )
    print(f"danger: {heard[is_danger].mean():.3f} heard, {heard[~is_danger].mean():.3f} false (lead ≥ {least:.3f})")
    for kind in kinds:
        own = truth == kind
        took = nearest == kind
        shares = (nearest[own] == kind).mean(), (truth[took] == kind).mean(), heard[own].mean()
        print("{:14}{:5}  found {:.2f}  right {:.2f}  as danger {:.2f}".format(kind, own.sum(), *shares))
    replace(weighed(vectors, sayings, kinds), lead=least, floor=floor).save()


if __name__ == "__main__":
    main()
