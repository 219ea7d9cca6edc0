"""Recall beside the plain ways of finding, and with one part off at a time: what each part of it is worth.

    python benchmarks/ablate.py FILE… [--embedding PROVIDER] [--config FILE] [--features] [--plain] [--json]

FILEs are those of ``moechat bench recall``. The plain ways are BM25, dense vectors, their fusion, and chromadb and
txtai where they are installed. Each sees the same messages as ``speaker: text``, one a document, and embeds with the same model.
"""

# ruff: noqa: T201

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from moechat.agent import Agent
from moechat.bench.dataset import Haystack, Question
from moechat.bench.figures import Figures, Outcome, found_again, shown, summary, times
from moechat.bench.recall import Bench, Measurement
from moechat.index.lexical import LexicalIndex
from moechat.index.ranking import WEIGHTS
from moechat.language import words
from moechat.model import Embedder
from moechat.recall.pipeline import RRF_K
from moechat.settings.schema import Recipes

DEPTH = 100
WITHOUT: Mapping[str, Mapping[str, Any]] = {
    f"without {name}": {"recall": {"recipes": {name: {"enabled": False}}}} for name in Recipes.model_fields
} | {"without vectors": {"embedding": {"provider": "off"}}}
Find = Callable[[str], list[str]]


def ablate(
    files: Sequence[Path], *, config: Path | None, provider: str | None, features: bool = False, plain: bool = False
) -> Iterator[Figures]:
    """The plain ways, ours, and ours with one part off at a time: a row for each way (``name``) and file.

    ``features``: the features of the diary's index are parts, too. ``plain``: no part is taken off.
    """
    with tempfile.TemporaryDirectory(prefix="moechat-bench-") as folder:
        measurement = Measurement(files, Bench.of(Path(folder), config, provider))
        for name, rows in _plain(measurement).items():
            yield from ({"name": name, **row} for row in rows)
        for name, changed in {"ours": {}, **({} if plain else WITHOUT)}.items():
            yield from _rows(name, measurement, changed)
        for feature in WEIGHTS if features else ():
            measurement.bench.prepare = lambda agent, feature=feature: leave_out(agent, feature)  # type: ignore[misc]
            yield from _rows(f"without {feature}", measurement)


def _rows(name: str, measurement: Measurement, changed: Mapping[str, Any] | None = None) -> Iterator[Figures]:
    for file, outcomes in measurement.outcomes(changed):
        yield {"name": name, "file": file, **summary(outcomes)}


def leave_out(agent: Agent, feature: str) -> None:
    """The diary's index of this agent ranks without one of its features."""
    index = agent.layers.diary.index.words
    index.weights = {name: weight for name, weight in WEIGHTS.items() if name != feature}


def _plain(measurement: Measurement) -> dict[str, list[Figures]]:
    """The plain ways: name → a row for each file."""
    rows: dict[str, list[Figures]] = {}
    for file, haystacks in measurement.files.items():
        ways: dict[str, list[Outcome]] = {}
        for haystack in haystacks:
            for name, find in plain_ways(haystack, measurement.bench.embedder):
                ways.setdefault(name, []).extend(_timed(find, question) for question in haystack.questions)
        for name, outcomes in ways.items():
            counted = [outcome for outcome in outcomes if outcome.question.counts]
            rows.setdefault(name, []).append({"file": file, **found_again(counted), **times(outcomes)})
    return rows


def _timed(find: Find, question: Question) -> Outcome:
    find(question.text)  # Its vector is kept from here on.
    begun = time.perf_counter()
    ids = find(question.text)
    return Outcome(question, ids, frozenset(), {"total": (time.perf_counter() - begun) * 1000})


# ---- the plain ways


def plain_ways(haystack: Haystack, embedder: Embedder | None) -> Iterator[tuple[str, Find]]:
    """(name, how it finds: question → message ids, best first). Those that embed come only with an embedder."""
    ids = [utterance.id for utterance in haystack.utterances]
    texts = [f"{utterance.speaker}: {utterance.text}" for utterance in haystack.utterances]
    by_words = _by_words(ids, texts)
    yield "BM25", by_words
    if embedder is None or not texts:
        return
    vectors = embedder.embed(texts)
    by_meaning = _by_meaning(ids, vectors, embedder)
    yield "dense", by_meaning
    yield "BM25 + dense, RRF", lambda text: reciprocal([by_words(text), by_meaning(text)])
    for name, make in (("chromadb", _by_chromadb), ("txtai", _by_txtai)):
        if importlib.util.find_spec(name):
            yield name, make(ids, texts, vectors, embedder)
        else:
            print(f"{name}: not installed", file=sys.stderr)


def _by_words(ids: Sequence[str], texts: Sequence[str]) -> Find:
    index = LexicalIndex()
    for i, text in enumerate(texts):
        index.add(i, words.tokens(text))
    return lambda text: [ids[i] for i in index.candidates(words.tokens(text), DEPTH)[0]]


def _by_meaning(ids: Sequence[str], vectors: np.ndarray, embedder: Embedder) -> Find:
    def find(text: str) -> list[str]:
        scores = vectors @ embedder.embed([text], "query")[0]
        return [ids[i] for i in np.argsort(-scores, kind="stable")[:DEPTH]]

    return find


def reciprocal(rankings: Sequence[Sequence[str]]) -> list[str]:
    """One order by reciprocal rank (Cormack et al. 2009)."""
    scores: dict[str, float] = {}
    for ranking in rankings:
        for rank, id_ in enumerate(ranking, 1):
            scores[id_] = scores.get(id_, 0.0) + 1 / (RRF_K + rank)
    return sorted(scores, key=lambda id_: -scores[id_])


def _by_chromadb(ids: Sequence[str], texts: Sequence[str], vectors: np.ndarray, embedder: Embedder) -> Find:
    chromadb = importlib.import_module("chromadb")
    client = chromadb.EphemeralClient(chromadb.config.Settings(anonymized_telemetry=False))
    if "bench" in {collection.name for collection in client.list_collections()}:
        client.delete_collection("bench")
    collection = client.create_collection("bench", embedding_function=None, metadata={"hnsw:space": "cosine"})
    for start in range(0, len(ids), 1000):
        collection.add(ids=list(ids[start : start + 1000]), embeddings=vectors[start : start + 1000])

    def find(text: str) -> list[str]:
        count = min(DEPTH, len(ids))
        vector = embedder.embed([text], "query")
        return collection.query(query_embeddings=vector, n_results=count, include=[])["ids"][0]

    return find


def _by_txtai(ids: Sequence[str], texts: Sequence[str], vectors: np.ndarray, embedder: Embedder) -> Find:
    """Its hybrid index: its own BM25 and the vectors of the same model, in its default proportions."""
    txtai = importlib.import_module("txtai")
    known = dict(zip(texts, vectors, strict=True))

    def transform(inputs: Sequence[str]) -> np.ndarray:
        return np.stack([known[text] if text in known else embedder.embed([text], "query")[0] for text in inputs])

    index = txtai.Embeddings(method="external", transform=transform, hybrid=True, content=False)
    index.index(list(zip(ids, texts, strict=True)))
    return lambda text: [id_ for id_, _ in index.search(text, DEPTH)]


# ---- for people


def line(row: Figures) -> str:
    """One row of the comparison."""
    figures = " ".join(f"{name} {shown(row[name])}" for name in ("recall@5", "recall@10", "recall@20", "mrr", "p50_ms"))
    prompt = [f"evidence_injected {shown(row['evidence_injected'])}"] if "strangers" in row else []
    prompt += [f"strangers {shown(row['strangers']['diary'])}"] if "strangers" in row else []
    place = f"{Path(row['file']).parent.name}/{Path(row['file']).stem:20}"
    return "  ".join([f"{row['name']:20}", place, figures, *prompt])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--embedding", metavar="PROVIDER", help="another embedding than the configured one")
    parser.add_argument("--config", type=Path, metavar="FILE", help="the settings (default: the defaults)")
    parser.add_argument(
        "--features", action="store_true", help="leave out each feature of the diary's index in turn, too"
    )
    parser.add_argument("--plain", action="store_true", help="only ours as it is beside the plain ways")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    options = parser.parse_args()
    rows = ablate(
        options.files,
        config=options.config,
        provider=options.embedding,
        features=options.features,
        plain=options.plain,
    )
    for row in rows:
        print(json.dumps(row, ensure_ascii=False) if options.json else line(row), flush=True)


if __name__ == "__main__":
    main()
