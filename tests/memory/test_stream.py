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


def test_values_are_scaled_between_the_least_and_the_greatest():
    assert stream.min_max([0.99, 0.9801, 0.970299]) == pytest.approx([1, 0.49749, 0], abs=5e-6)
    assert stream.min_max([1e-200, 2e-200, 3e-200]) == pytest.approx([0, 0.5, 1])
    for equal in ([3.0], [0.0, 0.0], [-2.5] * 4, [0.1 + 0.2, 0.3], []):
        assert stream.min_max(equal).tolist() == [0.5] * len(equal)


@given(LISTS)
def test_scaled_values_lie_between_0_and_1_and_keep_their_order(values):
    scaled = stream.min_max(values)
    assert ((scaled >= 0) & (scaled <= 1)).all()
    assert (np.diff(scaled[np.argsort(values)]) >= 0).all()
    assert set(scaled[[np.argmin(values), np.argmax(values)]]) in ({0.0, 1.0}, {0.5})


@given(LISTS, st.floats(0.5, 100), st.floats(-100, 100))
def test_scaling_does_not_depend_on_unit_or_zero(values, factor, shift):
    if max(values) - min(values) > 1e-3:
        moved = [value * factor + shift for value in values]
        assert stream.min_max(moved) == pytest.approx(stream.min_max(values), abs=1e-6)


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


@given(st.lists(st.floats(0, 2e9), min_size=1, max_size=20), st.floats(0, 2e9), st.floats(0, 1))
def test_recency_by_age_is_a_share(accessed, now, decay):
    recency = stream.recency_by_age(accessed, now, decay, 3600)
    assert ((recency >= 0) & (recency <= 1)).all()


# --- relevance


def test_cosine_of_rows_and_a_vector():
    assert stream.cosine([[1, 0], [3, 4], [0, 2], [0, 0]], [2, 0]) == pytest.approx([1, 0.6, 0, 0])
    assert stream.cosine([[1.0, 0]], [0, 0]).tolist() == [0]
    assert stream.cosine(np.zeros((0, 2)), [1, 0]).tolist() == []


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


@given(st.lists(st.integers(0, 4), max_size=40), st.integers(-1, 45))
def test_the_best_come_first_and_equals_keep_their_order(values, n):
    plainly = sorted(range(len(values)), key=lambda i: -values[i])[: max(n, 0)]
    assert stream.order(values, n).tolist() == plainly


@given(st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), min_size=1, max_size=30))
def test_scores_are_what_plain_python_says(parts):
    def plain(values):
        low, high = min(values), max(values)
        return [(v - low) / (high - low) if high - low > 1e-12 * max(abs(low), abs(high)) else 0.5 for v in values]

    columns = [list(column) for column in zip(*parts, strict=True)]
    expected = [0.5 * r + 3 * v + 2 * i for r, v, i in zip(*map(plain, columns), strict=True)]
    assert stream.scores(*columns, GENERATIVE_AGENTS).score == pytest.approx(expected)
