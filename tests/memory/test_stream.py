"""The arithmetic of the memory stream, against numbers worked by hand, goldens and slow plain Python."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moechat.memory import stream
from moechat.memory.stream import GENERATIVE_AGENTS, ScoreWeights

NUMBERS = st.floats(-1e6, 1e6, allow_nan=False)
LISTS = st.lists(NUMBERS, min_size=1, max_size=40)
# Few different values, so that ties are common.
MEMORIES = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 3), st.integers(0, 99)), max_size=30, unique_by=lambda m: m[2]
)


@pytest.fixture
def worked(goldens: Path) -> dict:
    return json.loads((goldens / "seed001_worked.json").read_text("utf-8"))["retrieval"]


# --- min-max


@given(LISTS)
def test_scaled_values_lie_between_0_and_1_and_keep_their_order(values):
    scaled = stream.min_max(values)
    assert ((scaled >= 0) & (scaled <= 1)).all()
    assert (np.diff(scaled[np.argsort(values)]) >= 0).all()
    assert set(scaled[[np.argmin(values), np.argmax(values)]]) in ({0.0, 1.0}, {0.5})


# --- recency


def test_the_most_recently_accessed_is_the_most_recent():
    assert stream.recency_by_rank([10, 30, 20], [0, 0, 0], [1, 2, 3], 0.5).tolist() == [0.125, 0.5, 0.25]
    assert stream.access_order([7, 7, 7], [1, 2, 2], [9, 4, 5]).tolist() == [2, 1, 0], (
        "then the later created, the greater id"
    )
    assert stream.access_order([7, 7], [1, 1], ["a1", "b0"]).tolist() == [1, 0]
    originals = stream.access_order([10, 30, 20, 10], [0] * 4, [1, 2, 3, 4], oldest_first=True)
    assert originals.tolist() == [0, 3, 2, 1]
    assert stream.recency_by_age([7200, 3600, 0], 7200, 0.5, 3600).tolist() == [1, 0.5, 0.25]
    assert stream.recency_by_age([200.0], 100.0, 0.99, 1).tolist() == [1], "an access in the future is no more than now"


@given(MEMORIES)
def test_recency_by_rank_is_what_plain_python_says(memories):
    newest_first = sorted(memories, reverse=True)
    expected = [0.9 ** (newest_first.index(memory) + 1) for memory in memories]
    columns = np.array(memories).reshape(-1, 3).T
    assert stream.recency_by_rank(*columns, 0.9).tolist() == pytest.approx(expected)


# --- relevance


@given(st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), min_size=1, max_size=8), st.tuples(NUMBERS, NUMBERS, NUMBERS))
def test_cosine_is_what_plain_python_says(rows, vector):
    def plain(a, b):
        lengths = math.hypot(*a) * math.hypot(*b)
        return sum(x * y for x, y in zip(a, b, strict=True)) / lengths if lengths else 0.0

    if all(not any(row) or math.hypot(*row) > 1e-3 for row in (*rows, vector)):
        assert stream.cosine(rows, vector) == pytest.approx([plain(row, vector) for row in rows], abs=1e-9)


# --- score and order


def test_the_worked_example_of_seed_001(worked):
    memories = worked["memories"]
    recency = stream.recency_by_age([-m["seconds_since_access"] for m in memories], 0, worked["decay"], 1)
    relevance = stream.cosine([m["vector"] for m in memories], worked["query"])
    assert recency == pytest.approx(worked["recency_raw"], abs=1e-9)
    assert relevance == pytest.approx(worked["relevance_raw"])
    importance = [m["importance"] for m in memories]
    scored = stream.scores(recency, relevance, importance, ScoreWeights(*worked["alphas"]), normalise_importance=False)
    assert scored.recency == pytest.approx(worked["recency"], abs=1e-9)
    assert scored.relevance == pytest.approx(worked["relevance"])
    assert scored.importance.tolist() == importance
    assert scored.score == pytest.approx(worked["score"], abs=1e-9)
    assert stream.order(scored.score, 4).tolist() == worked["order"]


def test_with_equal_parts_each_counts_half_of_its_weight_and_no_candidate_has_no_score():
    assert ScoreWeights(2, 1, 0.5) * GENERATIVE_AGENTS == ScoreWeights(1, 3, 1)
    scored = stream.scores([0.9] * 3, [0.2] * 3, [5] * 3, GENERATIVE_AGENTS)
    assert scored.score.tolist() == [2.75] * 3
    assert stream.scores([1, 1, 1], [1, 1, 1], [2, 4, 6], GENERATIVE_AGENTS).importance.tolist() == [0, 0.5, 1]
    assert stream.order(scored.score, 2).tolist() == [0, 1]
    assert stream.scores([], [], [], GENERATIVE_AGENTS).score.tolist() == []
    assert stream.order([], 30).tolist() == []


@given(st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), min_size=1, max_size=30))
def test_scores_are_what_plain_python_says(parts):
    def plain(values):
        low, high = min(values), max(values)
        return [(v - low) / (high - low) if high - low > 1e-12 * max(abs(low), abs(high)) else 0.5 for v in values]

    columns = [list(column) for column in zip(*parts, strict=True)]
    expected = [0.5 * r + 3 * v + 2 * i for r, v, i in zip(*map(plain, columns), strict=True)]
    assert stream.scores(*columns, GENERATIVE_AGENTS).score == pytest.approx(expected)
