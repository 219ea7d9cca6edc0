"""Fitting thresholds and weights to the embedding model in use: ``moechat calibrate``.

From labelled pairs (a file, or made from the owner's own memory) each layer's threshold is the lowest at which at most
``recall.false_recall_target`` of the questions have anything irrelevant above it: a weak floor, since rank comes first.
The weights of recency, relevance and importance (seed 000) are those on a grid over the simplex with the best mean
reciprocal rank; of equals, the nearest to the ones in use. The same pairs give the same numbers every time.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, cast, get_args

import numpy as np

from moechat.agent import Agent
from moechat.bench import dataset
from moechat.errors import DataError, EmbeddingError
from moechat.memory.stream import min_max
from moechat.model import Embedder, Thresholds
from moechat.reading import answers
from moechat.settings import config as settings

Layer = Literal["diary", "core", "lore"]
LAYERS: tuple[Layer, ...] = get_args(Layer)
MIN_QUESTIONS = 10  # Fewer say nothing about a layer.
IRRELEVANT_TEXTS = 20  # A question made from the memory is compared with these.
MAX_EXCHANGES = 400  # Of the diary, that questions are made from.
GRID_STEP = 0.1  # Of weights.
DECAY = 0.99  # Recency falls by this factor per rank (seed 000).
BINS = 20


@dataclass(frozen=True, slots=True)
class LabelledPair:
    """Whether ``text`` answers ``query``. ``age_hours`` and ``importance`` (0..1) serve the weights, where they are known."""

    query: str
    text: str
    relevant: bool
    layer: Layer = "diary"
    age_hours: float | None = None
    importance: float | None = None


@dataclass(frozen=True)
class ThresholdFit:
    """One layer: the threshold, what it keeps, and the scores that it was fitted to."""

    layer: str
    threshold: float
    kept: float
    """Share of the relevant texts at or above it."""
    false: float
    """Share of the questions with something irrelevant at or above it."""
    before: float
    relevant: np.ndarray
    irrelevant: np.ndarray
    worst: np.ndarray
    """The best irrelevant score of each question."""


@dataclass(frozen=True)
class WeightsFit:
    recency: float
    relevance: float
    importance: float
    mrr: float
    mrr_before: float
    questions: int


# ---- pairs


def read(path: Path) -> list[LabelledPair]:
    """Labelled pairs, one JSON object a line: query, text, relevant, and layer, age_hours, importance. Raises DataError."""
    return [_pair(row, path, number) for number, row in dataset.rows_of(path)]


def _pair(row: Mapping[str, Any], path: Path, number: int) -> LabelledPair:
    try:
        layer = row.get("layer", "diary")
        if layer not in LAYERS:
            raise ValueError(f"layer {layer!r} is none of {', '.join(LAYERS)}")
        if not isinstance(row["relevant"], bool):
            raise ValueError("relevant expects true or false")
        more = {name: None if row.get(name) is None else float(row[name]) for name in ("age_hours", "importance")}
        return LabelledPair(str(row["query"]), str(row["text"]), row["relevant"], layer, **more)
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(path, f"not a labelled pair: {error}; needs query, text, relevant", line=number) from error


def own_pairs(agent: Agent) -> list[LabelledPair]:
    """Pairs from what the owner has: a message and its own reply, a message and the fact that was found in it, what an
    entry of the world book says and its keyword; each against others, chosen at random."""
    chance = random.Random(7)
    return [*_diary_pairs(agent, chance), *_core_pairs(agent, chance), *_lore_pairs(agent, chance)]


def _diary_pairs(agent: Agent, chance: random.Random) -> Iterator[LabelledPair]:
    logged = [shown.exchange for shown in agent.recent(MAX_EXCHANGES)]
    both = [
        e for e in (*agent.layers.diary.unlogged(None, MAX_EXCHANGES), *logged) if e.user.strip() and e.char.strip()
    ]
    exchanges = sorted({e.id: e for e in both}.values(), key=lambda e: (e.at, e.id))[-MAX_EXCHANGES:]
    importance = _importance(agent, [e.id for e in exchanges])
    now = agent.now()
    replies = {e.id: e.char for e in exchanges}
    for i, exchange in enumerate(exchanges):
        far = [e for j, e in enumerate(exchanges) if abs(i - j) > 3 and replies[e.id] != exchange.char]
        for other in [exchange, *chance.sample(far, min(IRRELEVANT_TEXTS, len(far)))]:
            age = (now - other.at).total_seconds() / 3600
            yield LabelledPair(exchange.user, other.char, other is exchange, "diary", age, importance.get(other.id))


def _importance(agent: Agent, ids: Sequence[str]) -> dict[str, float]:
    importance: dict[str, float] = {}
    for episode in agent.store.findings.citing(ids):
        for source in episode.event.sources:
            importance[source] = max(importance.get(source, 0.0), episode.event.importance)
    return importance


def _core_pairs(agent: Agent, chance: random.Random) -> Iterator[LabelledPair]:
    facts = agent.layers.core.current()
    sources = agent.store.exchanges.by_ids([source for fact in facts for source in fact.draft.sources[:1]])
    for fact in facts:
        if (row := sources.get(fact.draft.sources[0] if fact.draft.sources else "")) is None:
            continue
        others = [f.text for f in facts if f.id != fact.id and not set(f.draft.sources) & set(fact.draft.sources)]
        yield from _against(row.exchange.user, fact.text, others, "core", chance)


def _lore_pairs(agent: Agent, chance: random.Random) -> Iterator[LabelledPair]:
    entries = agent.layers.book.entries
    for entry in entries:
        query = entry.text.split("\n")[0][:80].replace(entry.keyword, "")
        others = [e.keyword for e in entries if e is not entry]
        yield from _against(query, entry.keyword, others, "lore", chance)


def _against(
    query: str, text: str, others: Sequence[str], layer: Layer, chance: random.Random
) -> Iterator[LabelledPair]:
    """A question with its text, then with some of the others."""
    yield LabelledPair(query, text, True, layer)
    for other in chance.sample(others, min(IRRELEVANT_TEXTS, len(others))):
        yield LabelledPair(query, other, False, layer)


# ---- fitting


def scores(pairs: Sequence[LabelledPair], embedder: Embedder) -> tuple[np.ndarray, np.ndarray]:
    """(n,) cosines of the pairs, and (n,) the same with each question where its answer would lie, as the diary looks for it."""
    query_rows = {query: row for row, query in enumerate(dict.fromkeys(pair.query for pair in pairs))}
    text_rows = {text: row for row, text in enumerate(dict.fromkeys(pair.text for pair in pairs))}
    questions, texts = embedder.embed(list(query_rows), "query"), embedder.embed(list(text_rows))
    moved = answers.as_told(questions, embedder.fingerprint)
    rows = [(query_rows[pair.query], text_rows[pair.text]) for pair in pairs]
    plain, of_diary = (np.array([float(of_query[q] @ texts[t]) for q, t in rows]) for of_query in (questions, moved))
    return plain, of_diary


def threshold(
    pairs: Sequence[LabelledPair], cosines: np.ndarray, *, target: float, before: float
) -> ThresholdFit | None:
    """The threshold of one layer; None where fewer than ``MIN_QUESTIONS`` questions have both kinds."""
    relevant = np.array([pair.relevant for pair in pairs], dtype=bool)
    by_query: dict[str, list[int]] = {}
    for i, pair in enumerate(pairs):
        by_query.setdefault(pair.query, []).append(i)
    worst = [max(wrong) for rows in by_query.values() if (wrong := [cosines[i] for i in rows if not relevant[i]])]
    if len(worst) < MIN_QUESTIONS or relevant.sum() < MIN_QUESTIONS:
        return None
    highest = np.sort(np.array(worst))[::-1]
    allowed = int(target * len(highest) + 1e-9)  # questions that may have something irrelevant above it
    floor = -1.0 if allowed >= len(highest) else float(highest[allowed]) + 1e-3
    value = round(float(np.clip(np.ceil(floor * 1000) / 1000, -1, 1)), 3)
    return ThresholdFit(
        pairs[0].layer, value, float((cosines[relevant] >= value).mean()), float((highest >= value).mean()), before,
        cosines[relevant], cosines[~relevant], highest,
    )  # fmt: skip


def weights(pairs: Sequence[LabelledPair], cosines: np.ndarray, now: Mapping[str, float]) -> WeightsFit | None:
    """The best weights on the grid; None where fewer than ``MIN_QUESTIONS`` questions have texts with age and importance."""
    rows: dict[str, list[int]] = {}
    for i, pair in enumerate(pairs):
        if pair.age_hours is not None and pair.importance is not None:
            rows.setdefault(pair.query, []).append(i)
    questions = [
        (_parts([pairs[i] for i in own], cosines[own]), np.array([pairs[i].relevant for i in own]))
        for own in rows.values()
        if any(pairs[i].relevant for i in own) and not all(pairs[i].relevant for i in own)
    ]
    if len(questions) < MIN_QUESTIONS:
        return None
    steps = round(1 / GRID_STEP)
    grid = [
        np.array([a, b, steps - a - b]) / steps
        for a, b in itertools.product(range(steps + 1), repeat=2)
        if a + b <= steps
    ]
    used = np.array([now[name] for name in ("recency", "relevance", "importance")])
    used = used / used.sum()
    best = max(grid, key=lambda point: (round(_mrr(questions, point), 9), -float(np.abs(point - used).sum())))
    recency, relevance, importance = (round(float(share), 2) for share in best)
    mrr, before = round(_mrr(questions, best), 4), round(_mrr(questions, used), 4)
    return WeightsFit(recency, relevance, importance, mrr, before, len(questions))


def _parts(pairs: Sequence[LabelledPair], cosines: np.ndarray) -> np.ndarray:
    """(n, 3): recency, relevance, importance, each scaled to 0..1 over the candidates (seed 000)."""
    ages = [cast(float, pair.age_hours) for pair in pairs]
    ranks = np.argsort(np.argsort(ages, kind="stable")) + 1
    importance = [cast(float, pair.importance) for pair in pairs]
    return np.stack([min_max(part) for part in (DECAY**ranks, cosines, importance)], axis=1)


def _mrr(questions: Sequence[tuple[np.ndarray, np.ndarray]], weights: np.ndarray) -> float:
    """The mean reciprocal rank. In a tie, the relevant text counts as the later one."""
    total = 0.0
    for parts, relevant in questions:
        values = parts @ weights
        total += 1 / (1 + int((values[~relevant] >= values[relevant].max() - 1e-12).sum()))
    return total / len(questions)


# ---- the command


@dataclass(frozen=True)
class Calibration:
    """The fitted values and their model.

    A layer without enough data is in ``lacking``, with the reason, and not in ``fits``.
    """

    fingerprint: str
    target: float
    fits: Sequence[ThresholdFit]
    weights: WeightsFit | None
    lacking: Sequence[str]


def calibrate(agent: Agent, pairs: Sequence[LabelledPair]) -> Calibration:
    """Fit thresholds and weights, as far as the pairs allow, for the embedding model that serves.

    Raises EmbeddingError where none does.
    """
    embedder = agent.dense.serving
    if embedder is None:
        raise EmbeddingError("no embedding model serves; set embedding.provider, there is nothing to calibrate without")
    target = agent.config.recall.false_recall_target
    plain, of_diary = scores(pairs, embedder)
    fits, lacking = [], []
    for layer in LAYERS:
        own = [i for i, pair in enumerate(pairs) if pair.layer == layer]
        before = agent.layers.recipes.threshold({"diary": "events", "core": "profile", "lore": "lore"}[layer])
        cosines = of_diary if layer == "diary" else plain
        fit = threshold([pairs[i] for i in own], cosines[own], target=target, before=before)
        if fit:
            fits.append(fit)
        else:
            lacking.append(
                f"{layer}: {len(own)} pairs, too few for a threshold (needs {MIN_QUESTIONS} questions with both kinds)"
            )
    diary = [i for i, pair in enumerate(pairs) if pair.layer == "diary"]
    best_weights = weights([pairs[i] for i in diary], plain[diary], agent.config.recall.stream.weights.model_dump())
    if best_weights is None:
        lacking.append(f"weights: too few pairs with age_hours and importance (needs {MIN_QUESTIONS} questions)")
    return Calibration(embedder.fingerprint, target, fits, best_weights, lacking)


def write(config: Path, agent: Agent, calibration: Calibration) -> None:
    """Save what was fitted: thresholds under the model's fingerprint, so that another model never takes them."""
    if calibration.fits:
        fitted = settings.load(config).embedding.fitted
        own = fitted.get(calibration.fingerprint) or agent.dense.thresholds or Thresholds(0.38, 0.5, 0.5)
        values = {layer: getattr(own, layer) for layer in LAYERS} | {
            fit.layer: fit.threshold for fit in calibration.fits
        }
        others = {name: one.model_dump() for name, one in fitted.items()}
        settings.save_setting(config, "embedding", "fitted", others | {calibration.fingerprint: values})
    if calibration.weights:
        for name in ("recency", "relevance", "importance"):
            settings.save_setting(config, "recall", f"stream.weights.{name}", getattr(calibration.weights, name))


def report(calibration: Calibration) -> str:
    """For people: each layer's scores as a histogram, and what each threshold would keep."""
    lines = [f"model {calibration.fingerprint}, target: false recall in at most {calibration.target:.0%} of the turns"]
    for fit in calibration.fits:
        kept = f"keeps {fit.kept:.0%} of the relevant, false in {fit.false:.0%}"
        lines += ["", f"{fit.layer}: threshold {fit.threshold:.3f} (now {fit.before:.3f}), {kept}"]
        lines += [*_histogram(fit), *_trade_off(fit)]
    if one := calibration.weights:
        lines += ["", f"weights: recency {one.recency}, relevance {one.relevance}, importance {one.importance} "
                  f"(mrr {one.mrr:.3f}, now {one.mrr_before:.3f}, {one.questions} questions)"]  # fmt: skip
    return "\n".join([*lines, *(["", *calibration.lacking] if calibration.lacking else [])])


def _histogram(fit: ThresholdFit) -> Iterable[str]:
    """Rows of equal width: # relevant, . irrelevant, each in shares of its kind."""
    both = np.concatenate([fit.relevant, fit.irrelevant])
    edges = np.linspace(both.min(), both.max() + 1e-9, BINS + 1)
    good, bad = (np.histogram(values, edges)[0] / max(len(values), 1) for values in (fit.relevant, fit.irrelevant))
    for low, high, a, b in zip(edges, edges[1:], good, bad, strict=False):
        mark = "<" if low <= fit.threshold < high else " "
        yield f"  {low:6.3f} {mark} {'#' * round(a * 100):40.40} {'.' * round(b * 100):40.40}".rstrip()


def _trade_off(fit: ThresholdFit) -> Iterable[str]:
    yield "  threshold  relevant kept  irrelevant kept  turns with false recall"
    low, high = float(fit.irrelevant.min()), float(fit.relevant.max())
    for value in sorted({*np.linspace(low, high, 9).round(3).tolist(), fit.threshold}):
        kept = [float((values >= value).mean()) for values in (fit.relevant, fit.irrelevant, fit.worst)]
        yield f"  {value:9.3f}  {kept[0]:13.2f}  {kept[1]:15.2f}  {kept[2]:23.2f}"


def as_json(calibration: Calibration) -> dict[str, Any]:
    names = ("threshold", "before", "kept", "false")
    return {
        "fingerprint": calibration.fingerprint, "target": calibration.target,
        "thresholds": {fit.layer: {name: round(getattr(fit, name), 4) for name in names} for fit in calibration.fits},
        "weights": asdict(calibration.weights) if calibration.weights else None, "lacking": list(calibration.lacking),
    }  # fmt: skip
