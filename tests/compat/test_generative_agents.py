"""The associative memory of generative agents: goldens of the original, its traps, and a slow plain-Python oracle."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moechat.compat.concept_nodes import ConceptNode
from moechat.compat.generative_agents import (
    AssociativeMemory,
    candidates,
    extract_importance,
    extract_recency,
    extract_relevance,
    new_retrieve,
    ranked,
    retrieve,
)
from moechat.errors import DataError, EmbeddingError
from moechat.model import Thresholds

BORN = datetime(2023, 2, 13, 8)
GOLDENS = ("ga_isabella_up_reduced", "ga_maria_en_reduced", "ga_ayesha_zh_reduced")
COMPAT = {"recency": "rank_oldest_first", "sequential_touch": True}


@dataclass
class Scratch:
    curr_time: datetime = BORN + timedelta(days=1)
    recency_decay: float = 0.99
    recency_w: float = 1
    relevance_w: float = 1
    importance_w: float = 1


@dataclass
class Persona:
    a_mem: AssociativeMemory = field(default_factory=AssociativeMemory)
    scratch: Scratch = field(default_factory=Scratch)


class TwoNumbers:
    """An embedder of two numbers: how many a's and how many b's."""

    fingerprint, dim, thresholds = "two", 2, Thresholds(0.5, 0.5, 0.5)

    def embed(self, texts: Sequence[str], kind: str = "passage") -> np.ndarray:
        return np.array([[text.count("a"), text.count("b")] for text in texts], dtype=np.float32)


def event(memory: AssociativeMemory, text: str = "a", spo=("Ann", "drinks", "tea"), **given) -> ConceptNode:
    minute = given.pop("minute", memory_size(memory))
    told = {"keywords": [spo[0], spo[2]], "poignancy": 5, "filling": [], "vector": [1.0, 0.0]} | given
    created, pair = BORN + timedelta(minutes=minute), (text, told["vector"])
    return memory.add_event(created, None, *spo, text, told["keywords"], told["poignancy"], pair, told["filling"])


def thought(
    memory: AssociativeMemory, evidence, text="b", expiration=None, keywords=("ann",), vector=None
) -> ConceptNode:
    created = BORN + timedelta(minutes=memory_size(memory))
    pair = (text, vector)
    return memory.add_thought(created, expiration, "Ann", "likes", "tea", text, list(keywords), 6, pair, evidence)


def memory_size(memory: AssociativeMemory) -> int:
    return len(memory.id_to_node)


# --- nodes


def test_ids_and_counts_grow_and_the_newest_is_first():
    memory = AssociativeMemory()
    first, second = event(memory), event(memory)
    believed = thought(memory, [second.node_id])
    assert [node.node_id for node in memory.seq_event] == ["node_2", "node_1"]
    assert (believed.node_id, believed.node_count, believed.type_count) == ("node_3", 3, 1)
    assert memory.kw_to_event["ann"] == [second, first]
    assert first.last_accessed == first.created


def test_a_thought_is_one_deeper_than_its_deepest_evidence():
    memory = AssociativeMemory()
    seen = event(memory)
    shallow = thought(memory, [seen.node_id])
    assert [seen.depth, shallow.depth] == [0, 1]
    assert thought(memory, [seen.node_id, shallow.node_id, "node_99"]).depth == 2
    assert thought(memory, None).depth == 1


def test_what_is_idle_adds_no_keyword_strength_and_a_keyword_counts_once_a_node():
    memory = AssociativeMemory()
    event(memory, keywords=["Tea", "tea"])
    event(memory, spo=("bed", "is", "idle"), keywords=["bed"])
    thought(memory, [])
    assert memory.kw_strength_event == {"tea": 1}
    assert memory.kw_strength_thought == {"ann": 1}


def test_a_chat_keeps_its_lines_and_is_found_by_keyword_alone():
    memory = AssociativeMemory()
    chat = memory.add_chat(BORN, None, "Ann", "chats with", "Bo", "tea", ["Bo"], 4, ("tea", [1, 0]), [["Bo", "Hi"]])
    assert memory.seq_chat == [chat] == memory.kw_to_chat["bo"]
    assert candidates(memory, None) == []


# --- association


def test_association_ignores_case_and_the_path_of_an_address_on_both_sides():
    persona = Persona()
    tea = event(persona.a_mem, "t", keywords=["The Ville:Cafe:Counter"])
    believed = thought(persona.a_mem, [], keywords=["COUNTER"])
    seen = event(persona.a_mem, "now", spo=("Town:counter", "is", "clean"), keywords=["counter"])
    found = retrieve(persona, [seen])["now"]
    assert found == {"curr_event": seen, "events": [tea], "thoughts": [believed]}


def test_the_original_compares_words_as_they_are_and_finds_the_event_itself():
    persona = Persona()
    lower = event(persona.a_mem, "x", spo=("ann", "eats", "cake"), keywords=["ann"])
    upper = event(persona.a_mem, "y", spo=("Ann", "eats", "cake"), keywords=["Ann"])
    found = retrieve(persona, [lower, upper], casefold=False)
    assert found["x"]["events"] == [upper, lower]
    assert found["y"]["events"] == []


def test_an_event_without_predicate_or_object_finds_by_its_subject():
    persona = Persona()
    old = event(persona.a_mem)
    bare = event(persona.a_mem, "bare", spo=("Ann", None, None), keywords=["Ann"])
    assert retrieve(persona, [bare])["bare"]["events"] == [old]


# --- recency, relevance, importance


@pytest.fixture(params=GOLDENS)
def golden(request: pytest.FixtureRequest, goldens: Path) -> dict:
    return json.loads((goldens / f"{request.param}.json").read_text("utf-8"))


def persona_of(golden: dict) -> Persona:
    memory = AssociativeMemory()
    add = {"event": memory.add_event, "thought": memory.add_thought, "chat": memory.add_chat}
    for told in golden["nodes"]:
        key = f"{'idle' if told['idle'] else 'text'} {told['emb']}"
        pair = (key, golden["embeddings"][told["emb"]])
        created = datetime.fromisoformat(told["created"])
        node = add[told["type"]](created, None, "", "", "", key, [], told["poignancy"], pair, None)
        node.last_accessed = datetime.fromisoformat(told["last_accessed"])
        assert node.node_id == told["id"]
    for i, vector in enumerate(golden["embeddings"]):
        memory.embeddings[f"focal {i}"] = vector
    return Persona(memory, Scratch(datetime.fromisoformat(golden["curr_time"]), golden["recency_decay"]))


def test_the_original_is_met_with_its_options(golden):
    for case in golden["isolated"]:
        persona = persona_of(golden)
        found = ranked(persona, f"focal {case['focal_emb']}", case["n_count"], recency="rank_oldest_first")
        assert [node.node_id for node, _ in found] == [told["id"] for told in case["original"]]
        assert [score for _, score in found] == pytest.approx([told["score"] for told in case["original"]], abs=1e-6)


def test_the_newest_first_is_met_without_options(golden):
    for case in golden["isolated"]:
        found = ranked(persona_of(golden), f"focal {case['focal_emb']}", case["n_count"])
        assert [node.node_id for node, _ in found] == [id_ for id_, _ in case["newest_first"]]
        assert [score for _, score in found] == pytest.approx([score for _, score in case["newest_first"]], abs=1e-6)


def test_the_original_touches_between_the_focal_points_of_one_call(golden):
    case, persona = golden["sequential_three_focal_points"], persona_of(golden)
    found = new_retrieve(persona, [f"focal {i}" for i in case["focal"]], case["n_count"], **COMPAT)
    assert [[node.node_id for node in nodes] for nodes in found.values()] == case["result"]


def test_ours_scores_all_focal_points_against_one_snapshot(golden):
    focal = [f"focal {i}" for i in golden["sequential_three_focal_points"]["focal"]]
    together = new_retrieve(persona_of(golden), focal, 5)
    for point in focal:
        alone = new_retrieve(persona_of(golden), [point], 5)
        assert [n.node_id for n in together[point]] == [n.node_id for n in alone[point]]


def test_only_what_is_returned_counts_as_accessed_now():
    persona = Persona()
    nodes = [event(persona.a_mem, "aaa"[: i + 1]) for i in range(3)]
    best = new_retrieve(persona, ["a"], 1)["a"]
    assert [node.last_accessed == persona.scratch.curr_time for node in nodes] == [node in best for node in nodes]
    assert [node.last_accessed for node in nodes if node not in best] == [n.created for n in nodes if n not in best]


def test_without_candidates_nothing_is_found_and_no_vector_is_needed():
    persona = Persona()
    event(persona.a_mem, "bed is idle")
    assert new_retrieve(persona, ["anything", "else"]) == {"anything": [], "else": []}


def test_an_expired_thought_is_no_candidate():
    persona = Persona()
    believed = thought(persona.a_mem, [], expiration=BORN + timedelta(days=30))
    assert candidates(persona.a_mem, BORN + timedelta(days=30, seconds=-1)) == [believed]
    assert candidates(persona.a_mem, BORN + timedelta(days=30)) == []


def test_among_equals_the_most_recently_accessed_is_first():
    persona = Persona(scratch=Scratch(recency_w=0))
    nodes = [event(persona.a_mem) for _ in range(4)]
    nodes[0].last_accessed = BORN + timedelta(hours=1)
    assert new_retrieve(persona, ["a"], 3)["a"] == [nodes[0], nodes[3], nodes[2]]


def test_a_focal_point_that_is_no_key_needs_an_embedder_of_the_same_model():
    persona = Persona()
    event(persona.a_mem, "aab", vector=None)
    assert persona.a_mem.lacking() == ["aab"] and persona.a_mem.embed(TwoNumbers()) == 1
    assert len(new_retrieve(persona, ["ab"], embedder=TwoNumbers())["ab"]) == 1
    with pytest.raises(EmbeddingError, match="pass new_retrieve the embedder"):
        new_retrieve(persona, ["ab"])
    persona.a_mem.embeddings["aab"] = [1.0, 2.0, 3.0]
    with pytest.raises(EmbeddingError, match=r"3 numbers where 2 are expected.*anew=True"):
        new_retrieve(persona, ["ab"], embedder=TwoNumbers())
    persona.a_mem.embed(TwoNumbers(), anew=True)
    assert persona.a_mem.embeddings == {"aab": [2.0, 1.0]}


def test_a_vector_of_another_model_is_refused():
    memory = AssociativeMemory()
    event(memory)
    with pytest.raises(EmbeddingError, match="'long' has 3 numbers where 2 are expected"):
        event(memory, "long", vector=[1.0, 2.0, 3.0])
    assert memory_size(memory) == 1


def test_a_node_without_a_vector_is_merely_not_relevant():
    persona = Persona(scratch=Scratch(recency_w=0, importance_w=0))
    event(persona.a_mem, "unseen", vector=None)
    event(persona.a_mem, "seen", vector=[1.0, 0.0])
    assert [(node.description, score) for node, score in ranked(persona, "seen")] == [("seen", 3), ("unseen", 0)]


def test_a_persona_without_a_present_is_told_to_set_one():
    with pytest.raises(ValueError, match="curr_time"):
        new_retrieve(Persona(scratch=Scratch(curr_time=None)), ["a"])


def test_the_three_parts_are_raw_and_by_node_id():
    persona = Persona()
    nodes = [event(persona.a_mem, "a", poignancy=3), event(persona.a_mem, "b", vector=[0.0, 1.0])]
    assert extract_recency(persona, nodes) == pytest.approx({"node_1": 0.99, "node_2": 0.9801})
    assert extract_importance(persona, nodes) == {"node_1": 3, "node_2": 5}
    assert extract_relevance(persona, nodes, "b") == {"node_1": 0.0, "node_2": 1.0}
    assert extract_relevance(persona, nodes, "aa", embedder=TwoNumbers()) == {"node_1": 1.0, "node_2": 0.0}
    assert extract_relevance(persona, [], "b") == {}


STREAMS = st.lists(
    st.tuples(st.sampled_from("ETC"), st.integers(0, 3), st.integers(1, 10), st.integers(0, 3)), max_size=14
)


@given(STREAMS, st.booleans(), st.integers(0, 5), st.tuples(*[st.sampled_from([0, 1, 2.5])] * 3))
def test_retrieval_is_what_plain_python_says(told, original, n, weights):
    vectors = [[1.0, 0.0], [0.6, 0.8], [0.0, 0.0], [-1.0, 0.5]]
    memory = AssociativeMemory()
    for type_, accessed, poignancy, vector in told:
        add = {"E": memory.add_event, "T": memory.add_thought, "C": memory.add_chat}[type_]
        key = "idle" if poignancy == 10 else f"text {vector}"
        node = add(BORN, None, "", "", "", key, [], poignancy, (key, vectors[vector]), None)
        node.last_accessed = BORN + timedelta(hours=accessed)
    memory.embeddings["focus"] = [0.8, 0.6]
    persona = Persona(memory, Scratch(BORN + timedelta(days=1), 0.9, *weights))
    expected = plainly(persona, "focus", original)
    found = ranked(persona, "focus", n, recency="rank_oldest_first" if original else "newest_first")
    assert [score for _, score in found] == pytest.approx([score for _, score in expected[:n]], abs=1e-9)
    if all(abs(a[1] - b[1]) > 1e-9 for i, a in enumerate(expected) for b in expected[:i]):
        assert [node for node, _ in found] == [node for node, _ in expected[:n]]


def plainly(persona: Persona, focal_point: str, original: bool) -> list[tuple[ConceptNode, float]]:
    """The seed's own steps, one node at a time."""

    def spread(values: dict[str, float]) -> dict[str, float]:
        low, high = min(values.values()), max(values.values())
        return {key: (v - low) / (high - low) if high - low > 1e-12 else 0.5 for key, v in values.items()}

    def cosine(a: Sequence[float], b: Sequence[float]) -> float:
        lengths = sum(x * x for x in a) ** 0.5 * sum(x * x for x in b) ** 0.5
        return sum(x * y for x, y in zip(a, b, strict=True)) / lengths if lengths else 0.0

    memory, scratch = persona.a_mem, persona.scratch
    nodes = [node for node in memory.seq_event + memory.seq_thought if "idle" not in node.embedding_key]
    if original:
        nodes.sort(key=lambda node: node.last_accessed)
    else:
        nodes.sort(key=lambda node: (node.last_accessed, node.created, node.node_count), reverse=True)
    if not nodes:
        return []
    recency = spread({node.node_id: scratch.recency_decay**i for i, node in enumerate(nodes, start=1)})
    importance = spread({node.node_id: node.poignancy for node in nodes})
    focus = memory.embeddings[focal_point]
    relevance = spread({node.node_id: cosine(memory.embeddings[node.embedding_key], focus) for node in nodes})
    scored = [
        (
            node,
            scratch.recency_w * recency[node.node_id] * 0.5
            + scratch.relevance_w * relevance[node.node_id] * 3
            + scratch.importance_w * importance[node.node_id] * 2,
        )
        for node in nodes
    ]
    return sorted(scored, key=lambda pair: pair[1], reverse=True)


# --- saved personas


@pytest.fixture(params=["en_klaus_mueller_step-3-20_no_embeddings", "zh_tamara_taylor"])
def saved(request: pytest.FixtureRequest, shared: Path) -> Path:
    return shared / "data" / "generative_agents" / request.param / "associative_memory"


def test_a_saved_persona_is_written_back_as_it_was_read(saved, tmp_path):
    AssociativeMemory(saved).save(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(path.name for path in saved.iterdir())
    for path in saved.iterdir():
        assert (tmp_path / path.name).read_bytes() == path.read_bytes()


def test_nothing_of_a_saved_persona_is_lost(saved):
    memory, nodes = AssociativeMemory(saved), json.loads((saved / "nodes.json").read_text("utf-8"))
    assert memory.id_to_node.keys() == nodes.keys()
    for sequence in (memory.seq_event, memory.seq_thought, memory.seq_chat):
        counts = [node.node_count for node in sequence]
        assert counts == sorted(counts, reverse=True)
        assert [node.type_count for node in sequence] == list(range(len(sequence), 0, -1))
    for id_, told in nodes.items():
        node = memory.id_to_node[id_]
        assert (node.description, node.filling, node.depth) == (told["description"], told["filling"], told["depth"])
    strength = json.loads((saved / "kw_strength.json").read_text("utf-8"))
    assert memory.kw_strength_event == strength["kw_strength_event"]


def test_a_memory_goes_on_where_it_was_saved(saved, tmp_path):
    memory = AssociativeMemory(saved)
    last = max(node.node_count for node in memory.id_to_node.values())
    new = thought(memory, [memory.seq_event[0].node_id])
    assert (new.node_count, new.type_count) == (last + 1, len(memory.seq_thought))
    new.last_accessed += timedelta(hours=1)
    memory.save(tmp_path)
    again = AssociativeMemory(tmp_path)
    assert again.seq_thought[0].node_id == new.node_id
    assert again.seq_thought[0].last_accessed == new.last_accessed
    assert all(n.last_accessed == n.created for n in again.id_to_node.values() if n.node_id != new.node_id)


def write(folder: Path, **changed: object) -> Path:
    node = {
        "node_count": 1, "type_count": 1, "type": "event", "depth": 0, "created": "2023-02-13 00:00:00",
        "expiration": None, "subject": "Ann", "predicate": "drinks", "object": "tea", "description": "Ann (drinks) tea",
        "embedding_key": "tea", "poignancy": 3, "keywords": ["tea"], "filling": None,
    }  # fmt: skip
    (folder / "nodes.json").write_text(json.dumps({"node_1": node | changed}), "utf-8")
    return folder


@pytest.mark.parametrize(
    "given",
    [
        {"filling": None},
        {"filling": "only what was said"},
        {"filling": [["Ann", "hello"], ["Bo", "hi"]], "type": "chat"},
        {"filling": [], "description": "this is blank", "type": "thought", "depth": 1},
        {"expiration": "2023-03-15 00:00:00", "last_accessed": "2023-02-13 00:00:00"},
        {"predicate": None, "object": None, "mood": "a key of a fork"},
    ],
)
def test_what_trips_loaders_is_read_and_written_back(given, tmp_path):
    memory = AssociativeMemory(write(tmp_path, **given))
    before = json.loads((tmp_path / "nodes.json").read_text("utf-8"))
    memory.save(tmp_path)
    assert json.loads((tmp_path / "nodes.json").read_text("utf-8")) == before
    assert memory.id_to_node["node_1"].description == before["node_1"]["description"]


def test_several_nodes_share_one_vector_and_old_ids_may_have_gaps(tmp_path):
    memory = AssociativeMemory()
    for _ in range(3):
        event(memory, "same")
    memory.save(tmp_path)
    nodes = json.loads((tmp_path / "nodes.json").read_text("utf-8"))
    del nodes["node_2"]
    (tmp_path / "nodes.json").write_text(json.dumps(dict(reversed(nodes.items()))), "utf-8")
    again = AssociativeMemory(tmp_path)
    assert again.embeddings == {"same": [1.0, 0.0]}
    assert [node.node_id for node in again.seq_event] == ["node_3", "node_1"]
    (tmp_path / "kw_strength.json").unlink()
    assert AssociativeMemory(tmp_path).kw_strength_event == {"ann": 2, "tea": 2}, "without it they are counted anew"
    assert event(again).node_id == "node_4"


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"type": "dream"}, "type = 'dream': expects one of event, thought, chat"),
        ({"created": "yesterday"}, "created = 'yesterday': expects a time such as"),
        ({"expiration": 5}, "expiration = 5: expects a time such as"),
        ({"poignancy": "high"}, "poignancy = 'high': expects a number from 1 to 10"),
        ({"keywords": "tea"}, "keywords = 'tea': expects a list"),
        ({"description": None}, "description = None: expects text"),
        ({"depth": -1}, "depth = -1: expects a whole number"),
    ],
)
def test_a_broken_node_is_named_with_its_key_and_what_to_write(changed, told, tmp_path):
    with pytest.raises(DataError) as error:
        AssociativeMemory(write(tmp_path, **changed))
    assert f"nodes.json: node_1: {told}" in str(error.value)


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("nodes.json", "{", "line 1: not JSON"),
        ("nodes.json", "[]", "expected a JSON object"),
        ("nodes.json", '{"node_1": 3}', "node_1 = 3: a node is an object"),
        ("nodes.json", '{"node_1": {}}', "node_1 has no type"),
        ("nodes.json", '{"node_1": {}, "node_1": {}}', "'node_1' is there twice"),
        ("kw_strength.json", '{"kw_strength_event": {"tea": "much"}}', "tea = 'much': expects a number"),
        ("kw_strength.json", '{"kw_strength_event": [1]}', "kw_strength_event = [1]"),
        ("embeddings.json", '{"tea": "vector"}', "'tea' = 'vector': expects a list of numbers"),
        ("embeddings.json", '{"tea": [1, 2], "cake": [1]}', "'cake' has 1 numbers: the others have 2"),
    ],
)
def test_a_broken_file_is_named_with_what_is_wrong(name, text, told, tmp_path):
    write(tmp_path)
    (tmp_path / name).write_text(text, "utf-8")
    with pytest.raises(DataError) as error:
        AssociativeMemory(tmp_path)
    assert name in str(error.value) and told in str(error.value)


def test_a_folder_without_nodes_says_what_is_expected(tmp_path):
    with pytest.raises(DataError, match=r"nodes\.json: cannot be read .*expected a saved persona"):
        AssociativeMemory(tmp_path)
