"""Weighs the folders of examples (moechat/reading) and stores what came out beside them, after any of their files changed.

    python -m benchmarks.fit_sayings        (or make sayings)

What is printed was measured on examples that were left out, fold by fold.
"""

# ruff: noqa: T201  (a script that prints)

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve
from scipy.optimize import minimize
from scipy.sparse import csr_matrix
from scipy.special import expit

from benchmarks.fit_asking import fit_asking
from benchmarks.fit_frames import fit_frames
from benchmarks.fit_kinds import fit_ended, fit_kinds, fit_matters, no_matter
from moechat.encoder.builtin import builtin
from moechat.reading import bearing, nearness
from moechat.reading.examples import ABOUT, ASKED, EATING, HER_DAY, LIFE, LOW, SAYING, WANTED
from moechat.reading.nearness import LETTERS, SLOTS, Example, Nearness, Scores, along, digest, examples, kernel, letters
from moechat.reading.saying import EVERYDAY, LIMITS, MATTERS, SAYINGS
from moechat.when.names import tongue_of

AXES = 192
RIDGE, POWER, LOW_RIDGE = 0.2, 0.75, 1.0
FOLDS = 3
RARE = 2  # A run of letters counts from this many examples on.
FINDING_RIDGE = 0.5
NO_MATTER_STEP = 2  # Of sayings that tell of nothing that moves a life every second is enough.
NO_LIMIT_STEP = 3  # Of sayings that set no limit one in so many is an example of those.
# Sayings that may ask for what is asked; of all others one in so many is an example of none.
MAY_ASK, ASKED_STEP = frozenset("record hurt quarrel self danger danger_other takeback none".split()), 6
# Sayings of these kinds are about nothing that a remark could take up; one in so many of them is an example of that.
ABOUT_NOTHING = frozenset("joke figure quote suppose question greeting goodnight role record advice none".split())
ABOUT_STEP = 30
# Sayings of all other kinds ask for no plain fact; one in so many of them is an example of that.
ASKS_FACTS, WANTED_STEP = frozenset({"record", "self"}), 60
# A low mood is told by log odds (``of_low``).
ASKED_FLOORS = {HER_DAY: 0.5, LIFE: 0.42, LOW: -0.25}


def by_letters(texts: Sequence[str]) -> tuple[csr_matrix, NDArray[np.float32]]:
    """(n, SLOTS) runs of letters at length 1, and the rarity (SLOTS,) of each: ln((1 + n) / (1 + texts that hold it)) + 1."""
    rows = [letters(text) for text in texts]
    slots = np.concatenate([slots for slots, _ in rows])
    holding = np.bincount(slots, minlength=SLOTS)
    rarity = ((np.log((1 + len(texts)) / (1 + holding)) + 1) * (holding >= RARE)).astype(np.float32)
    values = np.concatenate(
        [counts * rarity[slots] / (np.linalg.norm(counts * rarity[slots]) or 1) for slots, counts in rows]
    )
    starts = np.cumsum([0, *(len(slots) for slots, _ in rows)])
    return csr_matrix((values.astype(np.float32), slots, starts), shape=(len(texts), SLOTS)), rarity


def solved(
    products: NDArray[np.float32], rows: NDArray[np.int64], kinds: int, *, ridge: float = RIDGE, power: float = POWER
) -> Scores:
    """Kernel ridge regression of each kind; a kind counts by ``power`` of one over its number of examples."""
    weights = (1 / np.maximum(np.bincount(rows, minlength=kinds), 1) ** power)[rows]
    inner = products + np.diag(ridge * weights.mean() / weights).astype(np.float32)
    found: Scores = solve(inner, np.eye(kinds, dtype=np.float32)[rows], assume_a="pos", overwrite_a=True)
    return found


def weighed(sayings: Sequence[Example], numbers: Mapping[str, float], *, folds: int = 0) -> tuple[Nearness, Scores]:
    """What was fitted, and the (examples, kinds) scores of each example by what was weighed without its fold (0 folds: 0)."""
    texts = [one.text for one in sayings]
    kinds = sorted({one.kind for one in sayings})
    rows = np.array([kinds.index(one.kind) for one in sayings])
    vectors = builtin().embed(texts)
    mean = vectors.mean(axis=0)
    axes = np.linalg.svd(vectors - mean, full_matrices=False)[2][:AXES].T
    points = along(vectors, mean, axes)
    runs, rarity = by_letters(texts)
    products = kernel(points, points) + LETTERS * (runs @ runs.T).toarray()
    left_out = np.zeros((len(sayings), len(kinds)), dtype=np.float32)
    fold_of = np.random.default_rng(2).integers(0, max(folds, 1), len(sayings))
    for fold in range(folds):
        kept, out = np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)
        left_out[out] = products[np.ix_(out, kept)] @ solved(products[np.ix_(kept, kept)], rows[kept], len(kinds))
    weights = solved(products, rows, len(kinds))
    of_letters = (LETTERS * (runs.T @ weights)).astype(np.float32)
    near = Nearness(tuple(kinds), mean, axes, points, weights, rarity, of_letters, dict(numbers), digest(sayings))
    return near, left_out


def log_odds(seen: NDArray[np.float64], is_kind: NDArray[np.bool_], ridge: float) -> NDArray[np.float64]:
    """How much each of the (examples, n) features says that an example is of a kind: (n,) weights. Logistic regression."""
    signs = np.where(is_kind, 1.0, -1.0)

    def cost(tried: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        missed = signs * (seen @ tried)
        slope = seen.T @ (-signs * expit(-missed)) + ridge * tried
        return float(np.logaddexp(0, -missed).sum() + ridge * tried @ tried / 2), slope

    weights: NDArray[np.float64] = minimize(cost, np.zeros(seen.shape[1]), jac=True, method="L-BFGS-B").x
    return weights


def of_low(
    kinds: Sequence[str], scores: Scores, sayings: Sequence[Example], numbers: Mapping[str, float]
) -> tuple[dict[str, float], NDArray[np.float64]]:
    """How much the (examples, kinds) scores of what was left out, and how near each example lies to the kinds of saying, say that
    a mood is low: ``numbers`` with the weights, by names as ``asked`` asks for them, and with the floor less what is always
    there; and the log odds of each example."""
    sayings_near = nearness.load(SAYINGS.with_suffix(".npz"))
    always = np.ones((len(sayings), 1))
    seen = np.hstack([scores, sayings_near.scores([one.text for one in sayings]), always])
    found = log_odds(seen, np.array([one.kind == LOW for one in sayings]), LOW_RIDGE)
    names = (*kinds, *(f"{SAYING} {kind}" for kind in sayings_near.kinds))
    weights = {f"{LOW} {name}": float(one) for name, one in zip(names, found[:-1], strict=True)}
    return {**numbers, **weights, LOW: numbers[LOW] - float(found[-1])}, seen @ found


def fit(folder: Path, floors: Mapping[str, float], beside: Sequence[Example] = ()) -> None:
    """Weigh a folder and tell how its kinds are told apart; ``floors`` are the scores from which a kind counts, ``beside`` are
    further examples of no kind of the folder's."""
    sayings = [*examples(folder), *beside]
    near, scores = weighed(sayings, {}, folds=FOLDS)
    truth = np.array([one.kind for one in sayings])
    is_kind = truth != EVERYDAY
    tones = [at for at, kind in enumerate(near.kinds) if kind != EVERYDAY]
    nearest = np.array(near.kinds)[tones][scores[:, tones].argmax(axis=1)]
    numbers, told = dict(floors), dict(zip(near.kinds, scores.T, strict=True))
    if LOW in floors:
        numbers, told[LOW] = of_low(near.kinds, scores, sayings, numbers)
    right = (nearest == truth)[is_kind].mean()
    print(f"{folder.name}: {len(sayings)} examples, {right:.3f} of those left out are nearest to their own kind")
    for kind in near.kinds:
        own, took = truth == kind, (nearest == kind) & is_kind
        shares = (nearest[own] == kind).mean(), (truth[took] == kind).mean() if took.any() else 0
        heard = {name: (told[name][own] >= floor).mean().round(3) for name, floor in floors.items()}
        print("{:14}{:5}  found {:.2f}  right {:.2f}  ".format(kind, own.sum(), *shares), heard)
    # The examples from elsewhere are watched where they stand.
    replace(near, numbers=numbers, examples=digest(examples(folder))).save(folder.with_suffix(".npz"))


def fit_findings() -> None:
    """What tells right findings from mistaken ones: both count alike, and the findings of a message are left out together."""
    tellings = bearing.examples()
    is_right = np.array([right for _, right in tellings])
    vectors = bearing.vectors_of([telling for telling, _ in tellings])
    texts, places = np.unique(vectors.reshape(-1, vectors.shape[-1]), axis=0, return_inverse=True)
    mean = texts[np.any(texts, axis=1)].mean(axis=0)
    axes = np.linalg.svd(texts[np.any(texts, axis=1)] - mean, full_matrices=False)[2][:AXES].T
    near = bearing.Bearing(
        mean, axes, bearing.placed(texts, mean, axes), places.reshape(vectors.shape[:2]).astype(np.int16),
        np.zeros(len(tellings), dtype=np.float32), bearing.digest(tellings),
    )  # fmt: skip
    products = near.products(vectors)

    def weights(kept: NDArray[np.int64]) -> Scores:
        both = solved(products[np.ix_(kept, kept)], is_right[kept].astype(np.int64), 2, ridge=FINDING_RIDGE, power=1)
        difference: Scores = both[:, 1] - both[:, 0]
        return difference

    fold_of = np.unique([one.message for one, _ in tellings], return_inverse=True)[1] % FOLDS
    scores = np.zeros(len(tellings), dtype=np.float32)
    for fold in range(FOLDS):
        kept, out = np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)
        scores[out] = products[np.ix_(out, kept)] @ weights(kept)
    languages = np.array([tongue_of(one.finding) for one, _ in tellings])
    for language, floor in bearing.FLOORS.items():
        own, passed = languages == language, scores >= floor
        right, mistaken = passed[own & is_right].mean(), passed[own & ~is_right].mean()
        print(f"{language}: {own.sum()} findings; borne out: {right:.2f} of the right, {mistaken:.2f} of the mistaken")
    replace(near, weights=weights(np.arange(len(tellings)))).save()


if __name__ == "__main__":
    fit_asking()
    fit(SAYINGS, {})
    fit(MATTERS, {}, no_matter(NO_MATTER_STEP))
    others = [Example(one.text, EVERYDAY) for one in examples(SAYINGS) if one.kind not in MAY_ASK]
    fit(ASKED, ASKED_FLOORS, others[::ASKED_STEP])
    chatter = [Example(one.text, EVERYDAY) for one in examples(SAYINGS) if one.kind in ABOUT_NOTHING]
    fit(ABOUT, {}, chatter[::ABOUT_STEP])
    spoken = [Example(one.text, "sets" if one.kind == "limit" else EVERYDAY) for one in examples(SAYINGS)]
    fit(LIMITS, {}, [one for at, one in enumerate(spoken) if one.kind != EVERYDAY or at % NO_LIMIT_STEP == 0])
    fit(EATING, {})
    asks_nothing = [Example(one.text, EVERYDAY) for one in examples(SAYINGS) if one.kind not in ASKS_FACTS]
    fit(WANTED, {}, asks_nothing[::WANTED_STEP])
    fit_ended()
    fit_findings()
    fit_kinds()
    fit_matters()
    fit_frames()
