"""How well memory is found again: ``moechat bench recall``.

Each haystack of a file becomes a temporary owner. Its messages are written the way a talk is (log, day files, the plain
facts by rules, vectors; no language model), then every question is asked of the agent's own ``recall``, with the clock at
the time of the question. Each question is asked twice: the second time its vectors are at hand, so that the times are those
of recall and embedding stands apart. Zone UTC, no deadlines: the same answer every time.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import yaml

from moechat import upkeep, yaml_file
from moechat.agent import Agent
from moechat.ai.embedding import Embedder, Kind, Thresholds, make_embedder
from moechat.ai.scripted import ScriptedModel
from moechat.bench import dataset
from moechat.bench.dataset import Haystack, Question
from moechat.clock import SetClock
from moechat.config import Config
from moechat.house import EMBEDDING_KEYS, House
from moechat.model import Recollection

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
    _owners: dict[tuple[str, int], dict[tuple[str, str], str]] = field(default_factory=dict)

    @classmethod
    def of(cls, folder: Path, config: Path | None, provider: str | None = None) -> Bench:
        """``provider`` is another embedding than that of ``config``; its key, as everywhere, is in the environment."""
        given = (yaml_file.read(config) if config else None) or {}
        told = given.get("embedding") or {}
        if provider:
            told = {**told, "provider": provider}
        chosen = Config(embedding=told).embedding
        settings = SimpleNamespace(**{key: getattr(chosen, key) for key in EMBEDDING_KEYS}, key=_key(chosen.key_env))
        made = make_embedder(settings)
        return cls({**given, "embedding": told}, KeptVectors(made) if made else None, folder)

    def run(self, path: Path, number: int, changed: Mapping[str, Any] | None = None) -> Iterator[Asked]:
        """Every question of a file. ``number`` keeps the owners of several files apart; ``changed`` are settings on top:
        an owner is written once, and read under any settings."""
        for i, haystack in enumerate(dataset.read(path)):
            home = self.folder / f"{number}-{i}"
            with self._house(home, haystack, changed or {}) as (agent, clock):
                if (key := (str(path), i)) not in self._owners:
                    self._owners[key] = write(agent, clock, haystack)
                for question in haystack.questions:
                    yield self._ask(agent, clock, question, self._owners[key])

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
        return _Opened(House, home, SetClock(first), self.embedder)

    def _ask(self, agent: Agent, clock: SetClock, question: Question, ids: Mapping[tuple[str, str], str]) -> Asked:
        clock.at = question.asked_at
        before = self.embedder.spent_ms if self.embedder else 0.0
        agent.recall(question.text)
        spent = (self.embedder.spent_ms if self.embedder else 0.0) - before
        found = agent.recall(question.text)
        return Asked(question, ranked(found, ids), injected(found, ids), found.timing_ms, spent)


class _Opened:
    """A house that is open for the length of a ``with``; it gives its one agent and its clock."""

    def __init__(self, make: Callable[..., House], home: Path, clock: SetClock, embedder: KeptVectors | None) -> None:
        silent = ScriptedModel((), understands=False)
        self.clock = clock
        self.house = make(home / "data", home / "config.yaml", clock=clock, model=silent, embedder=embedder)

    def __enter__(self) -> tuple[Agent, SetClock]:
        self.house.ready()
        return self.house.agent("bench"), self.clock

    def __exit__(self, *_: object) -> None:
        self.house.close()


def _key(name: str) -> str | None:
    import os

    return os.environ.get(name) or None


def write(agent: Agent, clock: SetClock, haystack: Haystack) -> dict[tuple[str, str], str]:
    """Write a haystack as the talk it was. Returns the message id of each (exchange id, side)."""
    ids: dict[tuple[str, str], str] = {}
    for pair in haystack.pairs():
        clock.at = pair.at
        id_ = agent.store.begin(pair.user.text if pair.user else "", pair.at)
        agent.store.finish(id_, pair.char.text if pair.char else "", "done")
        ids |= {(id_, side): one.id for side, one in (("user", pair.user), ("char", pair.char)) if one}
    agent.finish()
    upkeep.fill(agent, lambda done, of: None)
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


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Settings with others on top, section by section."""
    both = dict(base)
    for key, value in over.items():
        below = both.get(key)
        both[key] = merged(below, value) if isinstance(below, Mapping) and isinstance(value, Mapping) else value
    return both


# ---- figures


def summary(file: str, asked: Sequence[Asked]) -> Row:
    """The figures of one file. Recall is over answerable questions with evidence, false recall over unanswerable ones."""
    counted = [one for one in asked if one.question.counts]
    groups: dict[str, list[Asked]] = {}
    for one in counted:
        groups.setdefault(one.question.category, []).append(one)
        if one.question.names_date:
            groups.setdefault(NAMES_DATE, []).append(one)
    by = {name: found(group) for name, group in sorted(groups.items())}
    return {"file": file, **found(counted), "by": by, **entered(asked), **times(asked)}


def found(asked: Sequence[Asked]) -> Row:
    """{questions, recall@5, @10, @20, mrr} over message ids."""
    row: Row = {"questions": len(asked)}
    for depth in DEPTHS:
        row[f"recall@{depth}"] = _mean(dataset.share_found(one.question.evidence, one.ranked[:depth]) for one in asked)
    row["mrr"] = _mean(dataset.reciprocal_rank(one.question.evidence, one.ranked) for one in asked)
    return row


def entered(asked: Sequence[Asked]) -> Row:
    """What entered the prompt: the share of the evidence, the share of unanswerable questions with anything of the diary."""
    counted = [one for one in asked if one.question.counts]
    wrong = [one for one in asked if not one.question.answerable]
    return {
        "evidence_injected": _mean(dataset.share_found(one.question.evidence, one.injected) for one in counted),
        "messages_injected": _mean(len(one.injected) for one in counted),
        "unanswerable": len(wrong),
        "false_recall": _mean(bool(one.injected) for one in wrong),
        "false_messages": _mean(len(one.injected) for one in wrong),
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


def measure(
    files: Sequence[Path], *, config: Path | None, provider: str | None, each: Callable[[Row], None]
) -> list[Row]:
    """Run every file; ``each`` gets a row a question and then one a file. Returns the rows of the files."""
    rows = []
    with tempfile.TemporaryDirectory(prefix="moechat-bench-") as folder:
        bench = Bench.of(Path(folder), config, provider)
        for number, path in enumerate(files):
            asked = []
            for one in bench.run(path, number):
                asked.append(one)
                each({"file": str(path), "id": one.question.id, "ranked": one.ranked})
            rows.append(summary(str(path), asked))
            each(rows[-1])
    return rows
