"""How well memory is found again: ``moechat bench recall``.

Each haystack of a file becomes a temporary owner. Its messages are written the way a talk is (log, day files, the plain
facts by rules, vectors; no language model), then every question is asked of the agent's own ``recall``, with the clock at
the time of the question. Each question is asked twice: the second time its vectors are at hand, so that the times are those
of recall and embedding stands apart. Zone UTC, no deadlines: the same answer every time.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import yaml

from moechat import when
from moechat.agent import Agent
from moechat.ai.embedding import make_embedder
from moechat.ai.scripted import ScriptedModel
from moechat.bench import dataset
from moechat.bench.dataset import Haystack, Question
from moechat.clock import SetClock
from moechat.curation import upkeep
from moechat.house import EMBEDDING_KEYS, House
from moechat.model import Embedder, Kind, Recollection
from moechat.settings.config import Config, merged
from moechat.settings.schema import RecallSettings
from moechat.store import yaml_file
from moechat.when.names import has_han

Figures = dict[str, Any]
Ids = Mapping[tuple[str, str], str]
"""The message id of each (exchange id, side)."""
DEPTHS = (5, 10, 20)
NO_DEADLINE_MS = 600_000
NAMES_DATE = "names_date"


@dataclass(frozen=True)
class Outcome:
    """What recall gave for one question. ``ranked`` and ``injected`` are message ids: the whole order, best first, and what
    entered the prompt (both sides of an exchange)."""

    question: Question
    ranked: list[str]
    injected: frozenset[str]
    timing_ms: Mapping[str, float]
    embedding_ms: float = 0.0
    stranger: bool = False
    """The question is somebody else's, whose memory is another haystack."""


class KeptVectors:
    """An embedder that keeps the vectors of questions and measures the time that the others take."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.fingerprint, self.dim, self.thresholds = embedder.fingerprint, embedder.dim, embedder.thresholds
        self._kept: dict[str, np.ndarray] = {}
        self.spent_ms = 0.0

    def embed(self, texts: Sequence[str], kind: Kind = "passage") -> np.ndarray:
        if kind == "passage":
            return self._embedder.embed(texts, kind)
        new = [text for text in dict.fromkeys(texts) if text not in self._kept]
        if new:
            begun = time.perf_counter()
            self._kept |= dict(zip(new, self._embedder.embed(new, kind), strict=True))
            self.spent_ms += (time.perf_counter() - begun) * 1000
        return np.stack([self._kept[text] for text in texts]) if texts else np.zeros((0, self.dim), np.float32)


@dataclass
class Bench:
    """One measurement: files, settings (those of config.yaml, with what the bench needs on top) and an embedder."""

    settings: Mapping[str, Any]
    embedder: KeptVectors | None
    folder: Path
    prepare: Callable[[Agent], None] = lambda agent: None
    """Called with the agent of each haystack before it is asked."""
    _written: dict[int, tuple[Path, Ids]] = field(default_factory=dict)
    """By haystack, once it is written: its folder and its message ids."""

    @classmethod
    def of(cls, folder: Path, config: Path | None, provider: str | None = None) -> Bench:
        """``provider`` is another embedding than that of ``config``; its key, as everywhere, is in the environment."""
        settings = (yaml_file.read(config) if config else None) or {}
        embedding = settings.get("embedding") or {}
        if provider:
            embedding = {**embedding, "provider": provider}
        chosen = Config(embedding=embedding).embedding
        embedder_settings = SimpleNamespace(
            **{key: getattr(chosen, key) for key in EMBEDDING_KEYS}, key=os.environ.get(chosen.key_env) or None
        )
        embedder = make_embedder(embedder_settings)
        if embedder is not None:
            embedder.embed(["dim"])  # a model that has to be fetched is waited for
        return cls({**settings, "embedding": embedding}, KeptVectors(embedder) if embedder else None, folder)

    @property
    def target(self) -> float:
        """The share of unanswerable questions that may have anything injected (``recall.false_recall_target``)."""
        settings = self.settings.get("recall") or {}
        return float(settings.get("false_recall_target", RecallSettings().false_recall_target))

    def run(
        self, haystack: Haystack, others: Sequence[Question] = (), changed: Mapping[str, Any] | None = None
    ) -> Iterator[Outcome]:
        """Every question of a haystack, then those of ``others``. It is written once, and read under any settings:
        ``changed`` are on top."""
        home, ids = self._written.get(id(haystack), (self.folder / str(len(self._written)), None))
        user, char = [*haystack.speakers, "", ""][:2]
        who = {"name": char or "bench", "user_name": user or "user"}
        first = haystack.utterances[0].at if haystack.utterances else haystack.questions[0].asked_at
        with self.opened(home, who, first, changed or {}) as (agent, clock):
            if ids is None:
                ids = write(agent, clock, haystack)
                self._written[id(haystack)] = home, ids
            self.prepare(agent)
            for question in haystack.questions:
                yield self._ask(agent, clock, question, ids)
            for question in others:
                question = replace(question, asked_at=haystack.questions[0].asked_at)
                yield replace(self._ask(agent, clock, question, ids), stranger=True)

    @contextmanager
    def opened(
        self, home: Path, who: Mapping[str, str], at: datetime, changed: Mapping[str, Any]
    ) -> Iterator[tuple[Agent, SetClock]]:
        """The one agent of a house in ``home``, and its clock, while the block runs. ``who`` is its character.yaml."""
        character = home / "data" / "agents" / "bench"
        character.mkdir(parents=True, exist_ok=True)
        (character / "character.yaml").write_text(yaml.safe_dump(dict(who), allow_unicode=True), encoding="utf-8")
        config = home / "config.yaml"
        needed = {"time": {"zone": "UTC"}, "recall": {"deadline_ms": NO_DEADLINE_MS}, "Agent": {"char": "bench"}}
        config.write_text(yaml.safe_dump(merged(merged(self.settings, needed), changed), allow_unicode=True), "utf-8")
        off = (changed.get("embedding") or {}).get("provider") == "off"
        clock, embedder = SetClock(at), None if off else self.embedder
        silent = ScriptedModel((), understands=False)
        with House(home / "data", config, clock=clock, model=silent, embedder=embedder) as house:
            house.ready()
            yield house.agent("bench"), clock

    def _ask(self, agent: Agent, clock: SetClock, question: Question, ids: Ids) -> Outcome:
        clock.at = question.asked_at
        before = self.embedder.spent_ms if self.embedder else 0.0
        agent.recall(question.text)
        spent = (self.embedder.spent_ms if self.embedder else 0.0) - before
        recollection = agent.recall(question.text)
        return Outcome(question, ranked(recollection, ids), injected(recollection, ids), recollection.timing_ms, spent)


def write(agent: Agent, clock: SetClock, haystack: Haystack) -> Ids:
    """Write a haystack as the talk it was."""
    ids: dict[tuple[str, str], str] = {}
    for exchange in haystack.exchanges():
        user, char = exchange.user, exchange.char
        clock.at = exchange.at
        id_ = agent.record(user.text if user else "", char.text if char else "", exchange.at)
        ids |= {(id_, side): utterance.id for side, utterance in (("user", user), ("char", char)) if utterance}
    agent.finish()
    upkeep.fill(agent.layers, lambda done, of: None)
    agent.settle_indexes()
    return ids


def ranked(recollection: Recollection, ids: Ids) -> list[str]:
    """The message ids of the diary's hits in the fused order, each once."""
    places = [ids.get((hit.id, hit.side), "") for hit in recollection.ranked if hit.layer == "diary"]
    return list(dict.fromkeys(filter(None, places)))


def injected(recollection: Recollection, ids: Ids) -> frozenset[str]:
    """The message ids of every exchange of the diary that entered the prompt, or stands there as the talk itself."""
    exchanges = {hit.id for hit in recollection.hits if hit.layer == "diary"}
    exchanges |= {one.memory.id for one in recollection.dropped if one.why == "in_context"}
    return frozenset(id_ for (exchange, _), id_ in ids.items() if exchange in exchanges)


# ---- figures


def summary(file: str, outcomes: Sequence[Outcome]) -> Figures:
    """The figures of one file. Recall is over answerable questions with evidence, false recall over the others."""
    own = [outcome for outcome in outcomes if not outcome.stranger]
    counted = [outcome for outcome in own if outcome.question.counts]
    groups: dict[str, list[Outcome]] = {}
    for outcome in counted:
        groups.setdefault(outcome.question.category, []).append(outcome)
        if outcome.question.names_date:
            groups.setdefault(NAMES_DATE, []).append(outcome)
    by = {name: found_again(group) for name, group in sorted(groups.items())}
    return {"file": file, **found_again(counted), "by": by, **entered(outcomes), **times(own)}


def found_again(outcomes: Sequence[Outcome]) -> Figures:
    """{questions, recall@5, @10, @20, mrr} over message ids."""
    row: Figures = {"questions": len(outcomes)}
    for depth in DEPTHS:
        row[f"recall@{depth}"] = _mean(
            dataset.share_found(outcome.question.evidence, outcome.ranked[:depth]) for outcome in outcomes
        )
    row["mrr"] = _mean(dataset.reciprocal_rank(outcome.question.evidence, outcome.ranked) for outcome in outcomes)
    return row


def entered(outcomes: Sequence[Outcome]) -> Figures:
    """Figures of what entered the prompt: the share of the evidence, and the share of unanswerable questions with
    anything from the diary. Unanswerable are questions marked so, and those of strangers.
    """
    counted = [outcome for outcome in outcomes if outcome.question.counts and not outcome.stranger]
    wrong = [outcome for outcome in outcomes if not outcome.question.answerable]
    strange = [outcome for outcome in outcomes if outcome.stranger]
    return {
        "evidence_injected": _mean(
            dataset.share_found(outcome.question.evidence, outcome.injected) for outcome in counted
        ),
        "messages_injected": _mean(len(outcome.injected) for outcome in counted),
        "unanswerable": len(wrong),
        "false_recall": _mean(bool(outcome.injected) for outcome in wrong),
        "false_messages": _mean(len(outcome.injected) for outcome in wrong),
        "strangers": len(strange),
        "false_recall_strangers": _mean(bool(outcome.injected) for outcome in strange),
        "false_messages_strangers": _mean(len(outcome.injected) for outcome in strange),
    }


def times(outcomes: Sequence[Outcome]) -> Figures:
    """Milliseconds, embedding apart: in all, and [p50, p95] of each stage and recipe."""
    stages: dict[str, list[float]] = {}
    for outcome in outcomes:
        for name, value in outcome.timing_ms.items():
            stages.setdefault(name, []).append(value)
    stages["embedding"] = [outcome.embedding_ms for outcome in outcomes]
    spread = {name: [_quantile(values, 0.5), _quantile(values, 0.95)] for name, values in stages.items() if values}
    p50, p95 = spread.pop("total", [0.0, 0.0])
    return {"p50_ms": p50, "p95_ms": p95, "stages_ms": spread}


def _mean(values: Iterable[float]) -> float | None:
    values = list(values)
    return round(statistics.fmean(values), 4) if values else None


def _quantile(values: Sequence[float], share: float) -> float:
    return round(float(np.quantile(values, share)), 3) if values else 0.0


# ---- a whole measurement

STRANGERS = 40  # Each haystack is asked so many questions of others in the same language.


class Measurement:
    """Files, read once, and one bench; ``each`` gets a row a question and a row a file as they come."""

    def __init__(self, files: Sequence[Path], bench: Bench) -> None:
        self.bench = bench
        self.files = {str(path): dataset.read(path) for path in files}

    def strangers(self, haystack: Haystack) -> list[Question]:
        """Questions that others can answer from their memory, evenly chosen whatever the order of the files."""
        theirs = [
            question
            for haystacks in self.files.values()
            for other in haystacks
            if other.name != haystack.name and _chinese(other) == _chinese(haystack)
            for question in other.questions
            if question.counts
            and not when.resolve(question.text, question.asked_at)  # a named day has an answer here, too
        ]
        theirs.sort(key=lambda question: question.text)
        return theirs[:: max(1, -(-len(theirs) // STRANGERS))]

    def rows(
        self, each: Callable[[Figures], None] = lambda _: None, changed: Mapping[str, Any] | None = None
    ) -> list[Figures]:
        """The figures of every file, under the settings or with some changed."""
        rows = []
        for file, haystacks in self.files.items():
            outcomes = []
            for haystack in haystacks:
                for outcome in self.bench.run(haystack, self.strangers(haystack), changed):
                    outcomes.append(outcome)
                    if not outcome.stranger:
                        each({"file": file, "id": outcome.question.id, "ranked": outcome.ranked})
            rows.append(summary(file, outcomes) | {"false_recall_target": self.bench.target})
            each(rows[-1])
        return rows


def _chinese(haystack: Haystack) -> bool:
    return any(has_han(utterance.text) for utterance in haystack.utterances)


def measure(
    files: Sequence[Path], *, config: Path | None, provider: str | None, each: Callable[[Figures], None]
) -> list[Figures]:
    """Run every file; ``each`` gets a row a question and then one a file. Returns the rows of the files."""
    with tempfile.TemporaryDirectory(prefix="moechat-bench-") as folder:
        return Measurement(files, Bench.of(Path(folder), config, provider)).rows(each)


# ---- for people


ENTERED = ("evidence_injected", "false_recall", "false_recall_strangers")


def report(row: Figures) -> str:
    """The figures of a file over several lines."""
    lines = [row["file"], "  " + _figures(row)]
    lines += [f"  {name:14} {_figures(group)}" for name, group in row["by"].items()]
    prompt = ", ".join(f"{name} {shown(row[name])}" for name in ENTERED)
    lines.append(f"  in the prompt: {prompt} (target of false recall: {shown(row['false_recall_target'])})")
    lines.append(f"  ms, p50 / p95: all {row['p50_ms']} / {row['p95_ms']}")
    lines += [f"    {name:12} {p50} / {p95}" for name, (p50, p95) in row["stages_ms"].items()]
    return "\n".join(lines)


def _figures(row: Figures) -> str:
    names = ["questions", *(f"recall@{depth}" for depth in DEPTHS), "mrr"]
    return ", ".join(f"{name} {shown(row[name])}" for name in names)


def shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)
