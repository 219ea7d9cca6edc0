"""Learns where a question is looked for (moechat/reading/answers.py), with torch, by contrast: of the messages of many people
the one that answers it is to lie nearest."""

# ruff: noqa: T201  (a script that prints)

from __future__ import annotations

import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy, normalize

from moechat.encoder.builtin import builtin
from moechat.reading import answers
from moechat.reading.answers import AskingMap

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
    both = builtin().embed([one.message for one in pairs]), builtin().embed([one.question for one in pairs])
    people = np.array([one.person for one in pairs])
    found = []
    for fold in range(FOLDS):
        own = people // AMONG % FOLDS == fold
        near = AskingMap(*learned(people[~own], *(vectors[~own] for vectors in both)), "")
        found += nearest(people[own], *(vectors[own] for vectors in both), near)
    plain, moved = np.mean(found, axis=0)
    print(f"asking: of the questions {plain:.3f} lie nearest to what answers them, moved {moved:.3f}")
    AskingMap(*learned(people, *both), answers.digest(pairs)).save()


def learned(people: np.ndarray, told: np.ndarray, asked: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``out`` and ``into`` of the map that pairs teach, the same each time: of (n,) people (n, dim) messages and questions."""
    torch.set_num_threads(1)
    torch.manual_seed(1)
    drawn = np.random.default_rng(1)
    messages, questions = torch.from_numpy(told), torch.from_numpy(asked)
    dim = messages.shape[1]
    of_person: dict[int, list[int]] = {}
    for at, person in enumerate(people.tolist()):
        of_person.setdefault(person, []).append(at)
    added, sharp, drop = nn.Parameter(torch.zeros(dim, dim)), nn.Parameter(torch.tensor(SHARP)), nn.Dropout(DROPPED)
    steps = torch.optim.Adam([{"params": [added], "lr": RATE}, {"params": [sharp], "lr": SHARP_RATE}])
    order = list(of_person)
    for _ in range(ROUNDS):
        drawn.shuffle(order)
        for start in range(0, len(order), PEOPLE):
            batch = [at for person in order[start : start + PEOPLE] for at in of_person[person]]
            moved = normalize(questions[batch] + drop(questions[batch]) @ added.T, dim=-1)
            near, right = sharp * moved @ messages[batch].T, torch.arange(len(batch))
            loss = cross_entropy(near, right) + BACK * cross_entropy(near.T, right)
            steps.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            steps.step()
    left, sizes, right_ways = np.linalg.svd(PART * added.detach().numpy())
    return right_ways[:RANK], (left[:, :RANK] * sizes[:RANK]).T


def nearest(
    people: np.ndarray, messages: np.ndarray, questions: np.ndarray, near: AskingMap
) -> list[tuple[bool, bool]]:
    """Of each question, whether the message that answers it lies nearest, as it is and moved."""
    groups = people // AMONG
    found = []
    for group in np.unique(groups):
        own = groups == group
        both = (moved @ messages[own].T for moved in (questions[own], near.as_told(questions[own])))
        plain, moved = (cosines.argmax(axis=1) == np.arange(own.sum()) for cosines in both)
        found += list(zip(plain.tolist(), moved.tolist(), strict=True))
    return found


if __name__ == "__main__":
    fit_asking()
