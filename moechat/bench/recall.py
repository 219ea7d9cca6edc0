"""How well memory is found again: ``moechat bench recall``.

Each haystack of a file becomes a temporary owner. Its messages are written the way a talk is (log, day files, the plain
facts by rules, vectors; no language model), then every question is asked of the agent's own ``recall``, with the clock at
the time of the question, and then messages that nothing in it belongs to (``strangers``). Each of its own questions is asked
twice: the second time its vectors are at hand, so that the times are those of recall and embedding stands apart. Zone UTC, no
deadlines: the same answer every time. ``figures`` says what came of it.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from moechat.agent import Agent
from moechat.ai.embedding import make_embedder
from moechat.ai.scripted import ScriptedModel
from moechat.bench import dataset, figures, strangers
from moechat.bench.dataset import Haystack, Question
from moechat.bench.figures import Figures, Outcome, Sort
from moechat.clock import SetClock
from moechat.curation import upkeep
from moechat.house import House
from moechat.model import Embedder, Kind, Recollection
from moechat.settings.config import Config, merged
from moechat.store import plain

Ids = Mapping[tuple[str, str], str]
"""The message id of each (exchange id, side)."""
NO_DEADLINE_MS = 600_000
IDS = "ids.json"
"""The message ids of a haystack, in the folder of its house once all of it is written."""
BY_RULE = ("care", "about_user", "former", "matters")
"""These recipes bring facts whatever the ranking says: of health, or because they are asked for."""


class KeptVectors:
    """An embedder that keeps all vectors and measures the time that those of questions take."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.fingerprint, self.dim, self.thresholds = embedder.fingerprint, embedder.dim, embedder.thresholds
        self._kept: dict[tuple[Kind, str], np.ndarray] = {}
        self.spent_ms = 0.0

    def embed(self, texts: Sequence[str], kind: Kind = "passage") -> np.ndarray:
        new = [text for text in dict.fromkeys(texts) if (kind, text) not in self._kept]
        if new:
            begun = time.perf_counter()
            vectors = self._embedder.embed(new, kind)
            self._kept |= {(kind, text): vector for text, vector in zip(new, vectors, strict=True)}
            if kind == "query":
                self.spent_ms += (time.perf_counter() - begun) * 1000
        return np.stack([self._kept[kind, text] for text in texts]) if texts else np.zeros((0, self.dim), np.float32)


@dataclass
class Bench:
    """One measurement: settings (those of config.yaml, with what the bench needs on top), an embedder, and a folder in which
    haystacks are written and found again."""

    settings: Mapping[str, Any]
    embedder: KeptVectors | None
    folder: Path
    prepare: Callable[[Agent], None] = lambda agent: None
    """Called with the agent of each haystack before it is asked."""

    @classmethod
    def of(cls, folder: Path, config: Path | None, provider: str | None = None) -> Bench:
        """``provider`` is another embedding than that of ``config``; its key, as everywhere, is in the environment."""
        settings = (plain.read_yaml(config) if config else None) or {}
        embedding = settings.get("embedding") or {}
        if provider:
            embedding = {**embedding, "provider": provider}
        chosen = Config(embedding=embedding).embedding
        embedder = make_embedder(chosen.model_dump())
        if embedder is not None:
            embedder.embed(["dim"])  # a model that has to be fetched is waited for
        return cls({**settings, "embedding": embedding}, KeptVectors(embedder) if embedder else None, folder)

    def run(
        self,
        haystack: Haystack,
        others: Mapping[Sort, Sequence[Question]] | None = None,
        changed: Mapping[str, Any] | None = None,
    ) -> Iterator[Outcome]:
        """Every question of a haystack, then ``others``. It is written once, and read under any settings: ``changed`` are on
        top."""
        with self.written(haystack, changed or {}) as (agent, clock, ids):
            self.prepare(agent)
            for question in haystack.questions:
                before = self._spent_ms
                ask(agent, clock, question, ids)
                spent_ms = self._spent_ms - before
                yield replace(ask(agent, clock, question, ids), haystack=haystack, embedding_ms=spent_ms)
            for sort, questions in (others or {}).items():
                for question in questions:
                    yield replace(ask(agent, clock, question, ids), haystack=haystack, sort=sort)

    @contextmanager
    def written(
        self, haystack: Haystack, changed: Mapping[str, Any] | None = None
    ) -> Iterator[tuple[Agent, SetClock, Ids]]:
        """The agent that remembers a haystack, its clock, and the message ids, while the block runs."""
        home, ids = self._home(haystack)
        user, char = [*haystack.speakers, "", ""][:2]
        who = {"name": char or "bench", "user_name": user or "user"}
        first = haystack.utterances[0].at if haystack.utterances else haystack.questions[0].asked_at
        if ids is None:
            shutil.rmtree(home, ignore_errors=True)  # it was begun and not ended
        with self.opened(home, who, first, changed or {}) as (agent, clock):
            if ids is None:
                ids = write(agent, clock, haystack)
                rows = [(exchange, side, id_) for (exchange, side), id_ in ids.items()]
                (home / IDS).write_text(json.dumps(rows), encoding="utf-8")
            yield agent, clock, ids

    @contextmanager
    def opened(
        self, home: Path, who: Mapping[str, str], at: datetime, changed: Mapping[str, Any]
    ) -> Iterator[tuple[Agent, SetClock]]:
        """The one agent of a house in ``home``, and its clock, while the block runs. ``who`` is its character.yaml."""
        needed = {"time": {"zone": "UTC"}, "recall": {"deadline_ms": NO_DEADLINE_MS}, "Agent": {"char": "bench"}}
        config = furnish(home, "bench", who, merged(merged(self.settings, needed), changed))
        off = (changed.get("embedding") or {}).get("provider") == "off"
        clock, embedder = SetClock(at), None if off else self.embedder
        silent = ScriptedModel((), understands=False)
        with House(home / "data", config, clock=clock, model=silent, embedder=embedder) as house:
            house.ready()
            yield house.agent("bench"), clock

    @property
    def _spent_ms(self) -> float:
        return self.embedder.spent_ms if self.embedder else 0.0

    def _home(self, haystack: Haystack) -> tuple[Path, Ids | None]:
        """The folder of a haystack, and its message ids where it is written there."""
        content = repr((haystack.name, haystack.utterances, self.embedder and self.embedder.fingerprint))
        home = self.folder / hashlib.sha256(content.encode()).hexdigest()[:16]
        ids = home / IDS
        rows = json.loads(ids.read_text("utf-8")) if ids.exists() else None
        return home, rows and {(exchange, side): id_ for exchange, side, id_ in rows}


def furnish(home: Path, name: str, who: Mapping[str, str], settings: Mapping[str, Any]) -> Path:
    """A house with one character, in the folder ``name``; returns where its settings lie. ``who`` is its character.yaml."""
    own, config = home / "data" / "agents" / name, home / "config.yaml"
    own.mkdir(parents=True, exist_ok=True)
    (own / "character.yaml").write_text(yaml.safe_dump(dict(who), allow_unicode=True), encoding="utf-8")
    config.write_text(yaml.safe_dump(dict(settings), allow_unicode=True), encoding="utf-8")
    return config


def ask(agent: Agent, clock: SetClock, question: Question, ids: Ids) -> Outcome:
    clock.at = question.asked_at
    recollection = agent.recall(question.text)
    return Outcome(
        question,
        ranked(recollection, ids),
        injected(recollection, ids),
        recollection.timing_ms,
        sum(hit.layer == "diary" and hit.recipe not in BY_RULE for hit in recollection.hits),
        sum(hit.layer == "core" and hit.recipe not in BY_RULE for hit in recollection.hits),
        sum(hit.tokens for hit in recollection.hits),
    )


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


# ---- a whole measurement


class Measurement:
    """Files, read once, and one bench."""

    def __init__(self, files: Sequence[Path], bench: Bench) -> None:
        self.bench = bench
        self.files = {str(path): dataset.read(path) for path in files}

    def outcomes(self, changed: Mapping[str, Any] | None = None) -> Iterator[tuple[str, list[Outcome]]]:
        """(file, outcomes) under the settings or with some changed."""
        everybody = [haystack for haystacks in self.files.values() for haystack in haystacks]
        for file, haystacks in self.files.items():
            pairs = ((haystack, further(haystack, everybody)) for haystack in haystacks)
            yield file, [one for haystack, others in pairs for one in self.bench.run(haystack, others, changed)]

    def rows(
        self, each: Callable[[Figures], None] = lambda _: None, changed: Mapping[str, Any] | None = None
    ) -> list[Figures]:
        """A row a file, then a row a kind of talk, and one over all kinds; ``each`` gets these and a row a question as they
        come."""
        rows, kinds = [], dict[str, list[Outcome]]()
        for file, outcomes in self.outcomes(changed):
            for outcome in outcomes:
                each({"file": file} | figures.of_question(outcome))
                kinds.setdefault(outcome.haystack.kind, []).append(outcome)
            rows.append({"file": file} | figures.summary(outcomes))
            each(rows[-1])
        for row in figures.by_kind(kinds):
            each(row)
            rows.append(row)
        return rows


def further(haystack: Haystack, everybody: Sequence[Haystack]) -> dict[Sort, list[Question]]:
    """What is asked beside a haystack's own questions. Of one life up to several days, the longest alone is asked."""
    if any(
        other.opening == haystack.opening and len(other.utterances) > len(haystack.utterances) for other in everybody
    ):
        return {}
    theirs = strangers.of_others(haystack, everybody)
    return {
        "pairs": strangers.pairs(haystack),
        "strangers": strangers.strangers(haystack, theirs),
        "renamed": strangers.renamed(haystack, theirs),
        "small_talk": strangers.small_talk(haystack),
    }


def measure(
    files: Sequence[Path],
    *,
    config: Path | None,
    provider: str | None,
    each: Callable[[Figures], None],
    keep: Path | None = None,
) -> list[Figures]:
    """Run every file; ``each`` gets the rows of ``Measurement.rows`` as they come, and they are returned but those of questions.
    ``keep`` is a folder where what is written stays, for the next run."""
    with tempfile.TemporaryDirectory(prefix="moechat-bench-") as folder:
        return Measurement(files, Bench.of(keep or Path(folder), config, provider)).rows(each)
