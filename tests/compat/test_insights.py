"""Seed 001 under its own names: the golden numbers, its usage example and its tests as written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moechat import memory_stream
from moechat.ai.embedding import HashEmbedder
from moechat.ai.scripted import ScriptedModel
from moechat.clock import SetClock
from moechat.compat.insights import (
    Memory,
    MemoryStream,
    Reflection,
    condense_insights,
    configure,
    generate_insight,
    generate_reflection,
    parse_insights,
)
from moechat.errors import FilterError, ModelError
from moechat.model import Message

NOW = datetime(2025, 5, 21, 15, tzinfo=UTC)
RETRIEVED = ["description", "importance", "recency", "relevance", "pointer", "score"]
KEPT = [
    "description", "importance", "creation_timestamp", "most_recent_access_timestamp", "memory_type", "embedding_vector",
]  # fmt: skip


class CountingEmbedder(HashEmbedder):
    """Remembers how many texts each call brought."""

    def __init__(self) -> None:
        super().__init__(64)
        self.calls: list[int] = []

    def embed(self, texts: Sequence[str], kind: Any = "passage") -> np.ndarray:
        self.calls.append(len(texts))
        return super().embed(texts, kind)


def answers(messages: Sequence[Message]) -> str:
    """What a model says to each of the seed's four prompts."""
    system, asked = messages[0].content, messages[-1].content
    if "rates events" in system:
        return "8" if "missing" in asked.lower() else "3"
    if "3 most salient" in asked:
        return (
            "1. What do missing values do to user_dims?\n2. What does bitcoin data lack?\n3. Who is served by the data?"
        )
    numbers = re.findall(r"^(\d+)\. ", asked, re.MULTILINE)
    if "condense" in system:
        return "1. Condensed. [0, 1]\n2. More. [2]"
    return f"1. Values are missing. [{', '.join(numbers)}]\n2. Trends suffer. [{numbers[0]}]"


@pytest.fixture(autouse=True)
def configured() -> Iterator[ScriptedModel]:
    """Everything given once: no weights, no network, no real time."""
    model = ScriptedModel(answers=answers)
    configure(embedder=HashEmbedder(64), chat_model=model, clock=SetClock(NOW))
    yield model
    configure(embedder=None, chat_model=None, clock=None, language="en", timeout_s=60.0)


def memory(text: str = "x", *, importance: float | None = 0.5, vector: Any = None, ago_s: float = 0.0) -> Memory:
    at = NOW - timedelta(seconds=ago_s)
    made = Memory(text, at, at, "observation")
    if importance is not None:
        made.importance = importance
    if vector is not None:
        made.embedding_vector = np.array(vector)
    return made


def stream_of(*memories: Memory, k: int = 5, decay: float = 0.99) -> MemoryStream:
    return MemoryStream(list(memories), 1, 1, 1, decay, k)


# ---- golden numbers (seed001_worked.json, retrieval)


def golden(k: int) -> MemoryStream:
    return stream_of(
        memory("m0", importance=0.2, vector=[1, 0], ago_s=10),
        memory("m1", importance=0.9, vector=[0.6, 0.8], ago_s=100),
        memory("m2", importance=0.5, vector=[0, 1], ago_s=1000),
        memory("m3", importance=0.1, vector=[0.8, 0.6], ago_s=0),
        k=k,
    )


def query(vector: Any = (1, 0)) -> Memory:
    return memory("q", importance=None, vector=vector)


def test_the_golden_filter_acts_on_what_is_shown_before_the_top_is_taken() -> None:
    assert golden(2).retrieve_memories(query(), "relevance > 0.5").pointer.tolist() == [0, 3]
    assert golden(4).retrieve_memories(query(), "relevance > 0.5 and importance >= 0.5").pointer.tolist() == [1]
    assert golden(1).retrieve_memories(query(), "relevance < 0.5 or score == 1.9").pointer.tolist() == [3]


def test_the_numbers_are_those_of_the_golden_file(goldens: Path) -> None:
    told = json.loads((goldens / "seed001_worked.json").read_text(encoding="utf-8"))
    worked = told["retrieval"]
    memories = [
        memory(m["name"], importance=m["importance"], vector=m["vector"], ago_s=m["seconds_since_access"])
        for m in worked["memories"]
    ]
    stream = MemoryStream(memories, *worked["alphas"], worked["decay"], len(memories))
    frame = stream.retrieve_memories(query(worked["query"])).sort_values("pointer")
    for column in ("recency", "relevance", "score"):
        assert frame[column].tolist() == pytest.approx(worked[column], abs=1e-6)
    assert frame.sort_values("score", ascending=False).pointer.tolist() == worked["order"]
    for row in told["trigger"]:
        made = stream_of(*[memory(f"m{i}", importance=v) for i, v in enumerate(row["importance"])])
        questions, _ = generate_insight(made, row["context_window"], row["threshold"])
        assert bool(questions) is row["reflect"]


# ---- the stream


def test_only_what_is_returned_is_touched() -> None:
    stream = golden(2)
    before = [m.most_recent_access_timestamp for m in stream.memories]
    stream.retrieve_memories(query())
    after = [m.most_recent_access_timestamp for m in stream.memories]
    assert [after[0], after[3]] == [NOW, NOW]
    assert after[1:3] == before[1:3]


def test_a_refused_filter_touches_nothing() -> None:
    stream = golden(4)
    before = [m.most_recent_access_timestamp for m in stream.memories]
    for statement in ("__import__('os')", "description == 1", ""):
        with pytest.raises(FilterError):
            stream.retrieve_memories(query(), statement)
    assert [m.most_recent_access_timestamp for m in stream.memories] == before


@pytest.mark.parametrize("statement", [None, "relevance > 0.5"])
def test_an_empty_stream_gives_empty_frames_with_all_columns(statement: str | None) -> None:
    found = stream_of().retrieve_memories(memory("anything", importance=None), statement)
    assert (found.columns.tolist(), len(found)) == (RETRIEVED, 0)
    assert (
        found.dtypes.drop("description").tolist()
        == golden(4).retrieve_memories(query()).dtypes.drop("description").tolist()
    )
    kept = stream_of().get_memory_df()
    assert (kept.columns.tolist(), len(kept)) == (KEPT, 0)


def test_equal_scores_keep_the_order_in_which_memories_were_added() -> None:
    stream = stream_of(*[memory(f"m{i}", vector=[1, 0]) for i in range(6)], k=3)
    frame = stream.retrieve_memories(query())
    assert frame.pointer.tolist() == [0, 1, 2]
    assert set(frame.recency) == set(frame.relevance) == {0.5}


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(1, 10), st.integers(-3, 3), st.integers(0, 3)), max_size=12),
    st.integers(0, 12),
)
def test_retrieval_is_the_sorted_sum_of_its_parts(rows: list[tuple[int, int, int, int]], k: int) -> None:
    made = [memory(f"m{i}", importance=p / 10, vector=[x, y], ago_s=ago * 60) for i, (ago, p, x, y) in enumerate(rows)]
    frame = MemoryStream(made, 0.5, 2, 3, 0.99, k).retrieve_memories(query())
    assert len(frame) == min(k, len(rows))
    assert (0.5 * frame.recency + 2 * frame.importance + 3 * frame.relevance).tolist() == pytest.approx(
        frame.score.tolist()
    )
    ranked = list(zip(-frame.score, frame.pointer, strict=True))
    assert ranked == sorted(ranked)
    assert all(0 <= value <= 1 for name in ("recency", "relevance") for value in frame[name])


def test_naive_and_aware_times_stand_side_by_side() -> None:
    naive = NOW.astimezone().replace(tzinfo=None)
    stream = stream_of(Memory("naive", naive, naive, "observation"), memory("aware", ago_s=0))
    frame = stream.retrieve_memories(memory("naive", importance=None))
    assert frame.recency.tolist() == [0.5, 0.5]
    assert [m.most_recent_access_timestamp for m in stream.memories] == [naive, NOW]


@pytest.mark.parametrize(
    ("type_", "kind"), [("O", "observation"), ("Plan", "plan"), ("R", "reflection"), ("p", "plan"), ("x", "x")]
)
def test_a_memory_type_is_kept_as_given_and_means_one_kind(type_: str, kind: str) -> None:
    made = Memory("x", NOW, NOW, type_)
    assert (made.memory_type, made.kind) == (type_, kind)


# ---- importance and vectors are lazy


def test_a_query_costs_no_rating_and_a_memory_one(configured: ScriptedModel) -> None:
    stream = stream_of(memory("missing values", importance=None), memory("a walk", importance=None))
    assert not configured.questions
    asked = memory("values", importance=None)
    assert stream.retrieve_memories(asked).importance.tolist() == [0.8, 0.3]
    stream.retrieve_memories(asked)
    assert len(configured.questions) == 2
    assert all("Memory: values\n" not in messages[-1].content for messages, _ in configured.questions)


def test_memories_are_embedded_together_and_once() -> None:
    embedder = CountingEmbedder()
    configure(embedder=embedder)
    stream = stream_of(*[memory(f"m{i}") for i in range(20)])
    stream.retrieve_memories(memory("m3"))
    stream.retrieve_memories(memory("m4"))
    assert embedder.calls == [20, 1, 1]


def test_a_subclass_may_embed_by_itself() -> None:
    class Own(Memory):
        def generate_embedding_vector(self, input_text: str) -> np.ndarray:
            return np.array([1.0, 0.0])

    stream = stream_of(Own("a", NOW, NOW, "O"), Own("b", NOW, NOW, "O"))
    assert stream.retrieve_memories(query()).relevance.tolist() == [0.5, 0.5]


def test_a_rating_without_a_number_is_a_half_and_said_so(caplog: pytest.LogCaptureFixture) -> None:
    configure(chat_model=ScriptedModel(answers=["no idea"]))
    assert Memory("x", NOW, NOW, "O").importance == 0.5 and "no number" in caplog.text


def test_without_a_chat_model_importance_is_by_rules_and_reflection_says_what_it_needs() -> None:
    configure(chat_model=None)
    stream = stream_of(*[memory(text, importance=None) for text in ("吃了面", "爷爷去世了", "We broke up")])
    assert [m.importance for m in stream.memories] == [0.1, 0.9, 0.9]
    assert generate_insight(stream, 3, threshold=2) == ([], [])
    with pytest.raises(ModelError, match="configure"):
        generate_insight(stream, 3, threshold=1)


# ---- reflection


def notes(count: int = 6) -> MemoryStream:
    texts = ("missing values in user_dims", "bitcoin prices are missing", "lunch", "user_dims has duplicates")
    return stream_of(*[memory(f"{texts[i % 4]} {i}") for i in range(count)])


def test_questions_then_insights_for_each_condensed() -> None:
    questions, insights = generate_insight(notes(), context_window=6, threshold=3)
    assert questions == [
        "What do missing values do to user_dims?", "What does bitcoin data lack?", "Who is served by the data?",
    ]  # fmt: skip
    assert insights == [[("Condensed.", [0, 1]), ("More.", [2])]] * 3


def test_the_model_sees_the_last_memories_numbered_by_their_places(configured: ScriptedModel) -> None:
    generate_insight(notes(), context_window=2, threshold=1)
    first, second = configured.questions[0][0][-1].content, configured.questions[1][0][-1].content
    assert re.findall(r"^(\d+)\. ", first, re.MULTILINE) == ["4", "5"]
    assert "4. missing values in user_dims 4" in first
    assert "0. missing values in user_dims 0" in second


def test_below_the_threshold_nothing_is_asked(configured: ScriptedModel) -> None:
    stream = stream_of(*[memory(importance=value) for value in (0.5, 0.6, 0.9, 0.9)])
    assert generate_insight(stream, 15, 3) == ([], [])
    assert generate_insight(stream, 0, 0) == ([], [])
    assert generate_insight(stream_of(), 15, 0) == ([], [])
    assert not configured.questions


def test_the_threshold_itself_is_enough_whatever_the_last_bit_says() -> None:
    stream = stream_of(*[memory(f"note {i}", importance=0.1) for i in range(10)])  # .9999999999999999
    assert generate_insight(stream, 10, 1)[0]


def test_a_question_for_which_nothing_is_relevant_has_no_insights() -> None:
    stream = stream_of(memory("one thing alone", importance=1.0))  # min-max of one is .5, which is not more than .5
    questions, insights = generate_insight(stream, 15, 1)
    assert (len(questions), insights) == (3, [[], [], []])


def test_an_unreadable_condensation_leaves_the_first_five_insights() -> None:
    lines = "\n".join(f"{i}. Insight {i} [{i}]" for i in range(7))
    said = iter(["1. Why values?", lines, "I cannot do that."])
    configure(chat_model=ScriptedModel(answers=said))
    _, insights = generate_insight(notes(), 6, 3)
    assert insights == [[(f"Insight {i}", [i]) for i in range(5)]]


def test_condensing_asks_the_model_in_the_language_that_is_chosen(configured: ScriptedModel) -> None:
    configure(language="zh")
    condense_insights("1. 想念 [0]")
    prompt = configured.questions[0][0][-1].content
    assert "请浓缩" in prompt and "1. 想念 [0]" in prompt


def test_reflections_point_at_what_is_there() -> None:
    stream = stream_of(memory("a"), memory("b"))
    same = generate_reflection(stream, [[("both", [1, 0, 1, 9, -1])], [], [("nothing", [7])]])
    assert same is stream
    *_, made = stream.memories
    assert len(stream.memories) == 3
    assert isinstance(made, Reflection)
    assert isinstance(made, Memory)
    assert (made.description, made.pointers, made.memory_type) == ("both", [1, 0], "reflection")
    assert made.creation_timestamp == made.most_recent_access_timestamp == NOW


def test_later_reflections_may_rest_on_earlier_ones() -> None:
    stream = generate_reflection(stream_of(memory("a")), [[("first", [0])]])
    stream = generate_reflection(stream, [[("second", [1, 2])]])
    assert [getattr(m, "pointers", None) for m in stream.memories] == [None, [0], [1]]


# ---- the seed as written


def blocks(shared: Path, heading: str) -> list[str]:
    """The pieces of code under a heading of the seed."""
    seed = next((shared / "seeds").glob("001*.txt")).read_text(encoding="utf-8")
    section = re.split(r"^## ", seed, flags=re.MULTILINE)
    text = next(part for part in section if part.startswith(heading))
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


def names() -> dict[str, Any]:
    space = {name: getattr(memory_stream, name) for name in memory_stream.__all__}
    return space | {"datetime": datetime, "pd": pd}


def test_the_usage_example_of_the_seed_runs_as_written(shared: Path) -> None:
    configure(clock=None)  # the example reads the machine's clock, without a zone
    texts = [
        f"{text} {i}"
        for i in range(5)
        for text in ("Missing values in user_dims", "查询内容的记忆", "Missing bitcoin prices")
    ]
    space = names() | {"memory_list": texts}
    exec("\n".join(blocks(shared, "使用流程示例")), space)
    retrieved = space["retrieved_memories"]
    assert retrieved.columns.tolist() == RETRIEVED
    assert len(retrieved) == 5
    assert retrieved.description[0].startswith("查询内容")
    assert len(space["questions"]) == 3
    stream = space["memory_stream"]
    made = stream.memories[15:]
    assert len(made) == sum(map(len, space["insights_list"])) > 0
    assert all(type(one) is Reflection and one.pointers for one in made)
    assert stream.get_memory_df().memory_type.tolist() == ["observation"] * 15 + ["reflection"] * len(made)
    assert len({one.creation_timestamp.tzinfo for one in stream.memories}) == 1


def test_the_tests_of_the_seed_pass_as_written(shared: Path) -> None:
    space = names()
    exec("\n".join(blocks(shared, "测试用例设计")), space)
    tests = [value for name, value in space.items() if name.startswith("test_")]
    assert len(tests) == 3
    for test in tests:
        test()


def test_the_examples_of_the_seed_go_in_and_out(shared: Path) -> None:
    space = names()
    for block in blocks(shared, "反思机制相关函数"):
        if "insight_responses =" in block or "insight_list =" in block:
            exec(block, space)
    assert parse_insights(space["insight_responses"]) == space["result"]
    configure(chat_model=ScriptedModel(answers=[space["condensed_output"]]))
    assert condense_insights(space["insight_list"]) == space["condensed_output"]
    assert [len(evidence) for _, evidence in parse_insights(space["condensed_output"])] == [3, 2, 4, 1, 9]
