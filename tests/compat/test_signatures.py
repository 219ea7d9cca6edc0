"""The names of the seeds can be called as the seeds write them: by place and by keyword."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from moechat import associative, memory_stream, topics

ADDED = "self created expiration s p o description keywords poignancy embedding_pair filling"
# (what is called, its parameters as the seed has them; a default stands where the seed has one)
SEED_000 = {
    associative.AssociativeMemory: "f_saved",
    associative.AssociativeMemory.add_event: ADDED,
    associative.AssociativeMemory.add_thought: ADDED,
    associative.AssociativeMemory.add_chat: ADDED,
    associative.AssociativeMemory.retrieve_relevant_events: "self s_content p_content o_content",
    associative.AssociativeMemory.retrieve_relevant_thoughts: "self s_content p_content o_content",
    associative.retrieve: "persona perceived",
    associative.new_retrieve: "persona focal_points n_count=30",
    associative.generate_focal_points: "persona n=3",
    associative.revise_identity: "persona",
    associative.extract_recency: "persona nodes",
    associative.extract_importance: "persona nodes",
    associative.extract_relevance: "persona nodes focal_pt",
}
SEED_001 = {
    memory_stream.Memory: "description creation_timestamp most_recent_access_timestamp memory_type",
    memory_stream.Memory.generate_embedding_vector: "self input_text",
    memory_stream.Memory.generate_importance_score: "self input_text",
    memory_stream.MemoryStream: (
        "memories alpha_recency alpha_importance alpha_relevance decay_factor context_window_size"
    ),
    memory_stream.MemoryStream.add_memory: "self memory",
    memory_stream.MemoryStream.retrieve_memories: "self query_memory filter_statement=None",
    memory_stream.MemoryStream.get_memory_df: "self",
    memory_stream.Reflection: "description creation_timestamp most_recent_access_timestamp pointers",
    memory_stream.parse_insights: "insight_responses",
    memory_stream.condense_insights: "insight_list",
    memory_stream.generate_insight: "memory_stream context_window threshold",
    memory_stream.generate_reflection: "memory_stream insights_list",
}
SEED_002 = {
    topics.SliceRef: "unit_id slice_id",
    topics.TopicMemoryIndex.ensure_topic_paths: "self paths",
    topics.TopicRecallScorer.score: "self source age_hours profile",
    topics.MemoryRuntime.get_topic_tree: "self",
    topics.ActivationProfile: "activation=0.55 diffusion=0.35 context_independence=0.5",
}


@pytest.mark.parametrize(
    ("called", "parameters"),
    [pytest.param(*row, id=row[0].__qualname__) for row in (*SEED_000.items(), *SEED_001.items(), *SEED_002.items())],
)
def test_parameters_are_those_of_the_seed_and_further_ones_may_be_left_out(
    called: Callable[..., Any], parameters: str
) -> None:
    ours = list(inspect.signature(called).parameters.values())
    seeds = parameters.split()
    assert [one.name for one in ours[: len(seeds)]] == [one.partition("=")[0] for one in seeds]
    for parameter, seed in zip(ours, seeds, strict=False):
        assert parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
        if "=" in seed:
            assert str(parameter.default) == seed.partition("=")[2]
    assert all(parameter.default is not inspect.Parameter.empty for parameter in ours[len(seeds) :])


def test_the_table_is_what_the_seed_writes(shared: Path) -> None:
    seed = next((shared / "seeds").glob("001*.txt")).read_text(encoding="utf-8")
    written = {
        (name, tuple(re.split(r",\s*", parameters)))
        for name, parameters in re.findall(r"(?:def |\*\*`)(\w+)\((.*?)\)(?: ->|$)", seed, re.MULTILINE)
        if not name.startswith("test_")
    }
    methods = {called.__name__: parameters for called, parameters in SEED_001.items()}
    inits = {parameters for name, parameters in written if name == "__init__"}
    assert inits == {("self", *SEED_001[one].split()) for one in SEED_001 if isinstance(one, type)}
    functions = {(name, parameters) for name, parameters in written if name != "__init__"}
    assert len(functions) == 9
    assert functions == {(name, tuple(methods[name].split())) for name, _ in functions}


def test_the_seeds_names_are_importable_and_listed() -> None:
    for module in (associative, memory_stream, topics):
        assert all(hasattr(module, name) for name in module.__all__)
