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
from dataclasses import dataclass, field, replace
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
from moechat.bench.rivals import rivals
from moechat.clock import SetClock
from moechat.curation import upkeep
from moechat.house import EMBEDDING_KEYS, House
from moechat.model import Embedder, Kind, Recollection, Thresholds
from moechat.settings.config import Config, merged
from moechat.settings.schema import RecallSettings, Recipes
from moechat.store import yaml_file
from moechat.when.names import has_han

Row = dict[str, Any]
DEPTHS = (5, 10, 20)
NO_DEADLINE_MS = 600_000
NAMES_DATE = "names_date"


@dataclass(frozen=True)
class Asked:
    """What came back for one question. ``ranked`` and ``injected`` are message ids: the whole order, best first, and what
    entered the prompt (both sides of an exchange)."""

    question: Question
    ranked: list[str]
    injected: frozenset[str]
    timing_ms: Mapping[str, float]
    embedding_ms: float = 0.0
    stranger: bool = False
    """Asked by somebody else, whose memory is another haystack."""


class KeptVectors:
    """An embedder that keeps the vectors of questions and measures the time that the others take."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._kept: dict[str, np.ndarray] = {}
        self.spent_ms = 0.0

    @property
    def fingerprint(self) -> str:
        return self._embedder.fingerprint

    @property
    def dim(self) -> int:
        return self._embedder.dim

    @property
    def thresholds(self) -> Thresholds:
        return self._embedder.thresholds

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
    _homes: dict[int, Path] = field(default_factory=dict)
    _owners: dict[Path, dict[tuple[str, str], str]] = field(default_factory=dict)

    @classmethod
    def of(cls, folder: Path, config: Path | None, provider: str | None = None) -> Bench:
        """``provider`` is another embedding than that of ``config``; its key, as everywhere, is in the environment."""
        given = (yaml_file.read(config) if config else None) or {}
        told = given.get("embedding") or {}
        if provider:
            told = {**told, "provider": provider}
        chosen = Config(embedding=told).embedding
        settings = SimpleNamespace(
            **{key: getattr(chosen, key) for key in EMBEDDING_KEYS}, key=os.environ.get(chosen.key_env) or None
        )
        made = make_embedder(settings)
        return cls({**given, "embedding": told}, KeptVectors(made) if made else None, folder)

    @property
    def target(self) -> float:
        """The share of unanswerable questions that may have anything injected (``recall.false_recall_target``)."""
        given = self.settings.get("recall") or {}
        return float(given.get("false_recall_target", RecallSettings().false_recall_target))

    def run(
        self, haystack: Haystack, others: Sequence[Question] = (), changed: Mapping[str, Any] | None = None
    ) -> Iterator[Asked]:
        """Every question of a haystack, then those of ``others``. It is written once, and read under any settings:
        ``changed`` are on top."""
        if id(haystack) not in self._homes:
            self._homes[id(haystack)] = self.folder / str(len(self._homes))
        home = self._homes[id(haystack)]
        with self._house(home, haystack, changed or {}) as (agent, clock):
            if home not in self._owners:
                self._owners[home] = write(agent, clock, haystack)
            for question in haystack.questions:
                yield self._ask(agent, clock, question, self._owners[home])
            for question in others:
                question = replace(question, asked_at=haystack.questions[0].asked_at)
                yield replace(self._ask(agent, clock, question, self._owners[home]), stranger=True)

    def _house(self, home: Path, haystack: Haystack, changed: Mapping[str, Any]) -> _Opened:
        character = home / "data" / "agents" / "bench"
        character.mkdir(parents=True, exist_ok=True)
        user, char = [*haystack.speakers, "", ""][:2]
        told = {"name": char or "bench", "user_name": user or "user"}
        (character / "character.yaml").write_text(yaml.safe_dump(told, allow_unicode=True), encoding="utf-8")
        config = home / "config.yaml"
        needed = {"time": {"zone": "UTC"}, "recall": {"deadline_ms": NO_DEADLINE_MS}, "Agent": {"char": "bench"}}
        config.write_text(yaml.safe_dump(merged(merged(self.settings, needed), changed), allow_unicode=True), "utf-8")
        first = haystack.said[0].at if haystack.said else haystack.questions[0].asked_at
        off = (changed.get("embedding") or {}).get("provider") == "off"
        return _Opened(home, SetClock(first), None if off else self.embedder)

    def _ask(self, agent: Agent, clock: SetClock, question: Question, ids: Mapping[tuple[str, str], str]) -> Asked:
        clock.at = question.asked_at
        before = self.embedder.spent_ms if self.embedder else 0.0
        agent.recall(question.text)
        spent = (self.embedder.spent_ms if self.embedder else 0.0) - before
        found = agent.recall(question.text)
        return Asked(question, ranked(found, ids), injected(found, ids), found.timing_ms, spent)


class _Opened:
    """A house that is open for the length of a ``with``; it gives its one agent and its clock."""

    def __init__(self, home: Path, clock: SetClock, embedder: KeptVectors | None) -> None:
        silent = ScriptedModel((), understands=False)
        self.clock = clock
        self.house = House(home / "data", home / "config.yaml", clock=clock, model=silent, embedder=embedder)

    def __enter__(self) -> tuple[Agent, SetClock]:
        self.house.ready()
        return self.house.agent("bench"), self.clock

    def __exit__(self, *_: object) -> None:
        self.house.close()


def write(agent: Agent, clock: SetClock, haystack: Haystack) -> dict[tuple[str, str], str]:
    """Write a haystack as the talk it was. Returns the message id of each (exchange id, side)."""
    ids: dict[tuple[str, str], str] = {}
    for pair in haystack.pairs():
        clock.at = pair.at
        id_ = agent.store.begin(pair.user.text if pair.user else "", pair.at)
        agent.store.finish(id_, pair.char.text if pair.char else "", "done")
        ids |= {(id_, side): one.id for side, one in (("user", pair.user), ("char", pair.char)) if one}
    agent.finish()
    upkeep.fill(agent.layers, lambda done, of: None)
    agent.settle_indexes()
    return ids


def ranked(found: Recollection, ids: Mapping[tuple[str, str], str]) -> list[str]:
    """The message ids of the diary's hits in the fused order, each once."""
    places = [ids.get((hit.id, hit.side), "") for hit in found.ranked if hit.layer == "diary"]
    return list(dict.fromkeys(filter(None, places)))


def injected(found: Recollection, ids: Mapping[tuple[str, str], str]) -> frozenset[str]:
    """The message ids of every exchange of the diary that entered the prompt."""
    there = {hit.id for hit in found.hits if hit.layer == "diary"}
    return frozenset(id_ for (exchange, _), id_ in ids.items() if exchange in there)


# ---- figures


def summary(file: str, asked: Sequence[Asked]) -> Row:
    """The figures of one file. Recall is over answerable questions with evidence, false recall over the others."""
    own = [one for one in asked if not one.stranger]
    counted = [one for one in own if one.question.counts]
    groups: dict[str, list[Asked]] = {}
    for one in counted:
        groups.setdefault(one.question.category, []).append(one)
        if one.question.names_date:
            groups.setdefault(NAMES_DATE, []).append(one)
    by = {name: found(group) for name, group in sorted(groups.items())}
    return {"file": file, **found(counted), "by": by, **entered(asked), **times(own)}


def found(asked: Sequence[Asked]) -> Row:
    """{questions, recall@5, @10, @20, mrr} over message ids."""
    row: Row = {"questions": len(asked)}
    for depth in DEPTHS:
        row[f"recall@{depth}"] = _mean(dataset.share_found(one.question.evidence, one.ranked[:depth]) for one in asked)
    row["mrr"] = _mean(dataset.reciprocal_rank(one.question.evidence, one.ranked) for one in asked)
    return row


def entered(asked: Sequence[Asked]) -> Row:
    """What entered the prompt: the share of the evidence, and the share of turns with anything of the diary where it has
    no answer: questions marked so, and those of strangers."""
    counted = [one for one in asked if one.question.counts and not one.stranger]
    wrong = [one for one in asked if not one.question.answerable]
    strange = [one for one in asked if one.stranger]
    return {
        "evidence_injected": _mean(dataset.share_found(one.question.evidence, one.injected) for one in counted),
        "messages_injected": _mean(len(one.injected) for one in counted),
        "unanswerable": len(wrong),
        "false_recall": _mean(bool(one.injected) for one in wrong),
        "false_messages": _mean(len(one.injected) for one in wrong),
        "strangers": len(strange),
        "false_recall_strangers": _mean(bool(one.injected) for one in strange),
        "false_messages_strangers": _mean(len(one.injected) for one in strange),
    }


def times(asked: Sequence[Asked]) -> Row:
    """Milliseconds, embedding apart: in all, and [p50, p95] of each stage and recipe."""
    stages: dict[str, list[float]] = {}
    for one in asked:
        for name, value in one.timing_ms.items():
            stages.setdefault(name, []).append(value)
    stages["embedding"] = [one.embedding_ms for one in asked]
    spread = {name: [_quantile(values, 0.5), _quantile(values, 0.95)] for name, values in stages.items() if values}
    p50, p95 = spread.pop("total", [0.0, 0.0])
    return {"p50_ms": p50, "p95_ms": p95, "stages_ms": spread}


def _mean(values: Iterable[float]) -> float | None:
    values = list(values)
    return round(statistics.fmean(values), 4) if values else None


def _quantile(values: Sequence[float], share: float) -> float:
    return round(float(np.quantile(values, share)), 3) if values else 0.0


# ---- a whole measurement

STRANGERS = 40  # questions of other haystacks in the same language that each haystack is asked
WITHOUT: Mapping[str, Mapping[str, Any]] = {
    f"without {name}": {"recall": {"recipes": {name: {"enabled": False}}}} for name in Recipes.model_fields
} | {"without vectors": {"embedding": {"provider": "off"}}}


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

    def ours(self, each: Callable[[Row], None] = lambda _: None, changed: Mapping[str, Any] | None = None) -> list[Row]:
        """The product itself, under its settings or with some changed."""
        rows = []
        for file, haystacks in self.files.items():
            asked = []
            for haystack in haystacks:
                for one in self.bench.run(haystack, self.strangers(haystack), changed):
                    asked.append(one)
                    if not one.stranger:
                        each({"file": file, "id": one.question.id, "ranked": one.ranked})
            rows.append(summary(file, asked) | {"false_recall_target": self.bench.target})
            each(rows[-1])
        return rows

    def theirs(self) -> dict[str, list[Row]]:
        """The plain ways: name → a row a file."""
        rows: dict[str, list[Row]] = {}
        for file, haystacks in self.files.items():
            asked: dict[str, list[Asked]] = {}
            for haystack in haystacks:
                for name, find in rivals(haystack, self.bench.embedder):
                    asked.setdefault(name, []).extend(_timed(find, question) for question in haystack.questions)
            for name, answers in asked.items():
                counted = [one for one in answers if one.question.counts]
                rows.setdefault(name, []).append({"file": file, **found(counted), **times(answers)})
        return rows


def _timed(find: Callable[[str], list[str]], question: Question) -> Asked:
    find(question.text)  # its vector is kept from here on
    begun = time.perf_counter()
    ids = find(question.text)
    return Asked(question, ids, frozenset(), {"total": (time.perf_counter() - begun) * 1000})


def _chinese(haystack: Haystack) -> bool:
    return any(has_han(one.text) for one in haystack.said)


def measure(
    files: Sequence[Path], *, config: Path | None, provider: str | None, each: Callable[[Row], None]
) -> list[Row]:
    """Run every file; ``each`` gets a row a question and then one a file. Returns the rows of the files."""
    with tempfile.TemporaryDirectory(prefix="moechat-bench-") as folder:
        return Measurement(files, Bench.of(Path(folder), config, provider)).ours(each)


def ablate(files: Sequence[Path], *, config: Path | None, provider: str | None) -> Iterator[Row]:
    """Side by side: the plain ways, ours, and ours with one part off at a time; a row a file and way (``name``)."""
    with tempfile.TemporaryDirectory(prefix="moechat-bench-") as folder:
        measurement = Measurement(files, Bench.of(Path(folder), config, provider))
        for name, rows in measurement.theirs().items():
            yield from ({"name": name, **row} for row in rows)
        for name, changed in {"ours": {}, **WITHOUT}.items():
            yield from ({"name": name, **row} for row in measurement.ours(changed=changed))


# ---- for people


def line(row: Row) -> str:
    """One row of a comparison."""
    told = " ".join(f"{name} {_shown(row[name])}" for name in ("recall@5", "recall@10", "recall@20", "mrr", "p50_ms"))
    more = [f"{name} {_shown(row[name])}" for name in ENTERED if row.get(name) is not None]
    return "  ".join([f"{row['name']:20}", f"{Path(row['file']).parent.name}/{Path(row['file']).stem:20}", told, *more])


ENTERED = ("evidence_injected", "false_recall", "false_recall_strangers")


def told(row: Row) -> str:
    """The figures of a file over several lines."""
    lines = [row["file"], "  " + _figures(row)]
    lines += [f"  {name:14} {_figures(group)}" for name, group in row["by"].items()]
    told = ", ".join(f"{name} {_shown(row[name])}" for name in ENTERED)
    lines.append(f"  in the prompt: {told} (target of false recall: {_shown(row['false_recall_target'])})")
    lines.append(f"  ms, p50 / p95: all {row['p50_ms']} / {row['p95_ms']}")
    lines += [f"    {name:12} {p50} / {p95}" for name, (p50, p95) in row["stages_ms"].items()]
    return "\n".join(lines)


def _figures(row: Row) -> str:
    names = ["questions", *(f"recall@{depth}" for depth in DEPTHS), "mrr"]
    return ", ".join(f"{name} {_shown(row[name])}" for name in names)


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)
