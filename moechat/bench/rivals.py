"""The plain ways of finding, beside which the product is measured: BM25, dense vectors, their fusion, chromadb.

Each sees the same messages as ``speaker: text``, one a document, and embeds with the same model.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from moechat.bench.dataset import Haystack
from moechat.index.lexical import LexicalIndex
from moechat.language import words
from moechat.model import Embedder
from moechat.recall.pipeline import RRF_K

DEPTH = 100
Find = Callable[[str], list[str]]


def rivals(haystack: Haystack, embedder: Embedder | None) -> Iterator[tuple[str, Find]]:
    """(name, how it finds: question → message ids, best first). Those that embed come only with an embedder."""
    ids = [one.id for one in haystack.said]
    texts = [f"{one.speaker}: {one.text}" for one in haystack.said]
    by_words = _by_words(ids, texts)
    yield "BM25", by_words
    if embedder is None or not texts:
        return
    vectors = embedder.embed(texts)
    by_meaning = _by_meaning(ids, vectors, embedder)
    yield "dense", by_meaning
    yield "BM25 + dense, RRF", lambda text: reciprocal([by_words(text), by_meaning(text)])
    if importlib.util.find_spec("chromadb"):
        yield "chromadb", _by_chromadb(ids, vectors, embedder)


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


def reciprocal(lists: Sequence[Sequence[str]]) -> list[str]:
    """One order by reciprocal rank (Cormack et al. 2009)."""
    scores: dict[str, float] = {}
    for one in lists:
        for rank, id_ in enumerate(one, 1):
            scores[id_] = scores.get(id_, 0.0) + 1 / (RRF_K + rank)
    return sorted(scores, key=lambda id_: -scores[id_])


def _by_chromadb(ids: Sequence[str], vectors: np.ndarray, embedder: Embedder) -> Find:
    chromadb = importlib.import_module("chromadb")
    client = chromadb.EphemeralClient(chromadb.config.Settings(anonymized_telemetry=False))
    with_name = {one.name for one in client.list_collections()}
    if "bench" in with_name:
        client.delete_collection("bench")
    made = client.create_collection("bench", embedding_function=None, metadata={"hnsw:space": "cosine"})
    for start in range(0, len(ids), 1000):
        made.add(ids=list(ids[start : start + 1000]), embeddings=vectors[start : start + 1000])

    def find(text: str) -> list[str]:
        wanted = min(DEPTH, len(ids))
        return made.query(query_embeddings=embedder.embed([text], "query"), n_results=wanted, include=[])["ids"][0]

    return find
