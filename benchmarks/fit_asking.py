"""Learns where a question is looked for (moechat/reading/answers.py), with torch, by contrast: of the messages of many people
the one that answers it is to lie nearest."""

# ruff: noqa: T201  (a script that prints)

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy, normalize

from moechat.encoder.builtin import builtin
from moechat.reading import answers
from moechat.reading.answers import AskingMap, Pair

RATE, ROUNDS, DROPPED, PEOPLE = 5e-4, 8, 0.3, 64
SHARP, SHARP_RATE = 15.0, 5e-2
BACK = 0.3  # How far it counts which of many questions a message answers.
RANK = 64
# How far of the way a question is moved. All of it costs questions that share words with what answers them; chosen by hand
# on evenings and talks that had been looked at.
PART = 0.7
FOLDS, AMONG = 4, 3  # Of a fold that was left out, a question is looked for among the messages of so many people.


def fit_asking() -> None:
    """Writes what was learned from all pairs. What is printed was measured on what was left out, fold by fold: how often the
    message that answers is the nearest of those of ``AMONG`` people."""
    pairs = answers.examples()
    folds = np.array([one.person for one in pairs]) // AMONG % FOLDS
    found = []
    for fold in range(FOLDS):
        near = learned([one for one, at in zip(pairs, folds, strict=True) if at != fold])
        found += nearest([one for one, at in zip(pairs, folds, strict=True) if at == fold], near)
    plain, moved = np.mean(found, axis=0)
    print(f"asking: of the questions {plain:.3f} lie nearest to what answers them, moved {moved:.3f}")
    learned(pairs).save()


def learned(pairs: Sequence[Pair]) -> AskingMap:
    """The map that these teach, the same each time."""
    torch.set_num_threads(1)
    torch.manual_seed(1)
    drawn = np.random.default_rng(1)
    messages, questions = (torch.from_numpy(vectors) for vectors in _vectors(pairs))
    dim = messages.shape[1]
    of_person: dict[int, list[int]] = {}
    for at, one in enumerate(pairs):
        of_person.setdefault(one.person, []).append(at)
    added, sharp, drop = nn.Parameter(torch.zeros(dim, dim)), nn.Parameter(torch.tensor(SHARP)), nn.Dropout(DROPPED)
    steps = torch.optim.Adam([{"params": [added], "lr": RATE}, {"params": [sharp], "lr": SHARP_RATE}])
    people = list(of_person)
    for _ in range(ROUNDS):
        drawn.shuffle(people)
        for start in range(0, len(people), PEOPLE):
            batch = [at for person in people[start : start + PEOPLE] for at in of_person[person]]
            moved = normalize(questions[batch] + drop(questions[batch]) @ added.T, dim=-1)
            near, right = sharp * moved @ messages[batch].T, torch.arange(len(batch))
            loss = cross_entropy(near, right) + BACK * cross_entropy(near.T, right)
            steps.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            steps.step()
    left, sizes, right_ways = np.linalg.svd(PART * added.detach().numpy())
    into = (left[:, :RANK] * sizes[:RANK]).T
    return AskingMap(right_ways[:RANK], into, answers.digest(pairs))


def nearest(pairs: Sequence[Pair], near: AskingMap) -> list[tuple[bool, bool]]:
    """Of each question, whether the message that answers it lies nearest, as it is and moved."""
    messages, questions = _vectors(pairs)
    groups = np.array([one.person for one in pairs]) // AMONG
    found = []
    for group in np.unique(groups):
        own = groups == group
        both = (moved @ messages[own].T for moved in (questions[own], near.as_told(questions[own])))
        plain, moved = (cosines.argmax(axis=1) == np.arange(own.sum()) for cosines in both)
        found += list(zip(plain.tolist(), moved.tolist(), strict=True))
    return found


def _vectors(pairs: Sequence[Pair]) -> tuple[np.ndarray, np.ndarray]:
    """(n, dim) of the messages, and of the questions."""
    return builtin().embed([one.message for one in pairs]), builtin().embed([one.question for one in pairs])


if __name__ == "__main__":
    fit_asking()
