"""The weights of the diary's ranking, chosen with one kind of talk left out at a time, and measured on that kind; and the same
with one conversation left out.

    python benchmarks/weights.py FILE… [--embedding PROVIDER] [--keep DIR] [--rounds N] [--json]

FILEs are those of ``moechat bench recall``; a kind of talk is a data set in one language. The features of every message for
every question are read once from the product's own index; a choice of weights is then a sum and a sort. The search goes from
the shipped weights, one weight at a time by ``STEPS``, and keeps what raises the mean over the kinds it sees of recall@5, @10
and MRR by ``GAIN``. Shipped, both ways of leaving out and all together stand side by side, with the worst kind beside the mean.
"""

# ruff: noqa: T201

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from moechat.agent import Agent
from moechat.bench import dataset
from moechat.bench.dataset import Haystack, Question
from moechat.bench.recall import Bench, Ids
from moechat.index.ranking import FIRST, WEIGHTS, repeats

STEPS = (0.0, 0.5, 0.7, 0.85, 1.2, 1.5, 2.0)
"""A weight is tried times each of these."""
GAIN = 0.0005
DEPTHS = (5, 10)
MOST = 1_000_000  # No haystack has so many messages.
Weights = Mapping[str, float]


@dataclass(frozen=True)
class Case:
    """One question: ``features`` (documents, weights) as they are without weights, what lies in an asked time, the run and
    the size of the run of each document, and the places of each unit of evidence."""

    kind: str
    talk: str
    features: np.ndarray
    inside: np.ndarray
    docs: np.ndarray
    runs: np.ndarray
    sizes: np.ndarray
    evidence: Sequence[np.ndarray]

    def figures(self, weights: np.ndarray) -> np.ndarray:
        """recall@5, recall@10 and the reciprocal rank."""
        scores = self.features @ weights + FIRST * self.inside
        scores += repeats(self.runs, self.sizes, np.lexsort((-self.docs, -scores)))
        place = np.empty(len(scores), np.int64)
        place[np.lexsort((-self.docs, -scores))] = np.arange(len(scores))
        best = np.array([place[unit].min() if len(unit) else MOST for unit in self.evidence])
        return np.array([*((best < depth).mean() for depth in DEPTHS), 1 / (1 + best.min())])


def cases(haystacks: Iterable[Haystack], bench: Bench) -> list[Case]:
    """Every question of the haystacks that counts."""
    found = []
    for haystack in haystacks:
        with bench.written(haystack) as (agent, clock, ids):
            index = agent.layers.diary.index.words
            index.weights = dict.fromkeys(WEIGHTS, 1.0)
            places = documents(agent, ids)
            for question in haystack.questions:
                if question.counts:
                    clock.at = question.asked_at
                    found.append(_case(agent, haystack, question, places))
    return found


def documents(agent: Agent, ids: Ids) -> dict[str, int]:
    """The index's document of each message id."""
    rows = agent.store.exchanges.by_ids([exchange for exchange, _ in ids])
    return {id_: 2 * rows[exchange].row + (side == "char") for (exchange, side), id_ in ids.items()}


def _case(agent: Agent, haystack: Haystack, question: Question, places: Mapping[str, int]) -> Case:
    ranked = agent.layers.diary.ranked(agent.layers.cue(question.text, question.asked_at, ""), question.text, MOST)
    runs, sizes = agent.layers.diary.index.words.order().runs(ranked.docs)
    at = {doc: i for i, doc in enumerate(ranked.docs.tolist())}
    units = [[at[places[id_]] for id_ in unit if places.get(id_) in at] for unit in question.evidence]
    features = np.stack([ranked.features[name] for name in WEIGHTS], axis=1)
    evidence = [np.array(unit, np.int64) for unit in units]
    return Case(haystack.kind, haystack.name, features, ranked.features["inside"], ranked.docs, runs, sizes, evidence)


# ---- the choice


class Asked:
    """The questions, and what they find with any weights: each weights are measured once, however many choices try them."""

    def __init__(self, asked: Sequence[Case]) -> None:
        self.kinds = np.array([case.kind for case in asked])
        self.talks = np.array([f"{case.kind} {case.talk}" for case in asked])
        self._cases = asked
        self._known: dict[tuple[float, ...], np.ndarray] = {}

    def figures(self, weights: Weights) -> np.ndarray:
        """(questions, 3): recall@5, @10 and the reciprocal rank of each."""
        key = tuple(weights[name] for name in WEIGHTS)
        if key not in self._known:
            self._known[key] = np.array([case.figures(np.array(key)) for case in self._cases])
        return self._known[key]

    def worth(self, weights: Weights, among: np.ndarray) -> float:
        """The mean over the kinds: each counts the same, however many questions it has."""
        means = self.figures(weights).mean(axis=1)
        return statistics.fmean(float(means[among & (self.kinds == kind)].mean()) for kind in set(self.kinds[among]))

    def chosen(self, among: np.ndarray, rounds: int) -> dict[str, float]:
        """Weights that are better on these questions, one changed at a time from the shipped ones."""
        weights = dict(WEIGHTS)
        best = self.worth(weights, among)
        for _ in range(rounds):
            before = best
            for name in WEIGHTS:
                tried = {step: weights | {name: round(weights[name] * step, 3)} for step in STEPS}
                values = {step: self.worth(one, among) for step, one in tried.items()}
                step = max(values, key=values.__getitem__)
                if values[step] > best + GAIN:
                    best, weights = values[step], tried[step]
            if best == before:
                break
        return weights


def compared(asked: Asked, rounds: int) -> list[dict[str, Any]]:
    """A row for each kind of talk and way of choosing, then the mean and the worst kind of each way."""
    everything = np.full(len(asked.kinds), True)
    ways: dict[str, Mapping[str, tuple[np.ndarray, Weights]]] = {
        "shipped": {"": (everything, WEIGHTS)},
        "kind out": {kind: (own, asked.chosen(~own, rounds)) for kind, own in _parts(asked.kinds)},
        "talk out": {talk: (own, asked.chosen(~own, rounds)) for talk, own in _parts(asked.talks)},
        "all": {"": (everything, asked.chosen(everything, rounds))},
    }
    rows = []
    for way, choices in ways.items():
        figures = np.zeros((len(asked.kinds), 3))
        for own, weights in choices.values():
            figures[own] = asked.figures(weights)[own]
        told: dict[str, list[float]] = {}
        for kind, own in _parts(asked.kinds):
            told[kind] = figures[own].mean(axis=0).round(4).tolist()
            changes = [_changed(weights) for part, weights in choices.values() if (part & own).any()]
            usual, times = Counter(changes).most_common(1)[0]
            row = {"way": way, "kind": kind, "questions": int(own.sum()), **_named(told[kind])}
            rows.append(row | {"weights": dict(usual), "chosen": f"{times} of {len(changes)}"})
        mean = np.mean(list(told.values()), axis=0).round(4).tolist()
        worst = min(told, key=lambda kind: told[kind][1])
        rows.append({"way": way, "kind": f"mean; worst @10: {worst}", "questions": len(everything), **_named(mean)})
    return rows


def _parts(names: np.ndarray) -> list[tuple[str, np.ndarray]]:
    return [(str(name), names == name) for name in dict.fromkeys(names.tolist())]


def _changed(weights: Weights) -> tuple[tuple[str, float], ...]:
    return tuple((name, value) for name, value in weights.items() if value != WEIGHTS[name])


def _named(values: Sequence[float]) -> dict[str, float]:
    return dict(zip((*(f"recall@{depth}" for depth in DEPTHS), "mrr"), values, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--embedding", metavar="PROVIDER", help="another embedding than the configured one")
    parser.add_argument(
        "--keep", type=Path, metavar="DIR", help="keep what is written there, as `bench recall --keep` does"
    )
    parser.add_argument("--rounds", type=int, default=3, help="how often all weights are tried (default: 3)")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="moechat-bench-") as folder:
        bench = Bench.of(options.keep or Path(folder), None, options.embedding)
        asked = Asked(cases((haystack for path in options.files for haystack in dataset.read(path)), bench))
        for row in compared(asked, options.rounds):
            print(json.dumps(row, ensure_ascii=False) if options.json else line(row), flush=True)


def line(row: Mapping[str, Any]) -> str:
    """One row of the comparison."""
    figures = "  ".join(f"{name} {row[name]:.3f}" for name in ("recall@5", "recall@10", "mrr"))
    return f"{row['way']:10} {row['kind']:40} {row['questions']:4}  {figures}  {row.get('chosen', '')} {row.get('weights') or ''}"


if __name__ == "__main__":
    main()
