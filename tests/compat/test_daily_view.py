"""The daily view of a persona: what it asks its memory by name, and the status that it writes; over a memory of ours, too."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

from moechat import associative
from moechat.ai.embedding import HashEmbedder
from moechat.ai.scripted import ScriptedModel
from moechat.associative import AssociativeMemory, Persona, Scratch
from moechat.settings.home import defaults_folder
from moechat.settings.prompts import Prompts
from moechat.understanding.consultation import Consultation
from tests.houses import Home, say_each, silent

GOLDEN = json.loads(Path("tests/golden/ga_isabella_up_reduced.json").read_text("utf-8"))


def consultation(*answers: str, language: str = "en") -> tuple[Consultation, ScriptedModel]:
    model = ScriptedModel([], list(answers))
    return Consultation(model, Prompts([defaults_folder() / "prompts"], language)), model


def isabella() -> Persona:
    """The golden's nodes, each called by its id; the vectors of the two daily focal points are those of its first two."""
    memory = AssociativeMemory()
    scratch = Scratch("Isabella", curr_time=datetime.fromisoformat(GOLDEN["curr_time"]))
    persona = Persona("Isabella", memory, scratch)
    for row in GOLDEN["nodes"]:
        key = f"idle {row['id']}" if row["idle"] else row["id"]
        created, vector = datetime.fromisoformat(row["created"]), GOLDEN["embeddings"][row["emb"]]
        memory.add_event(created, None, "Isabella", "does", "", row["id"], [], row["poignancy"], (key, vector))
    focal = GOLDEN["sequential_three_focal_points"]["focal"]
    for point, at in zip(associative.daily_focal_points(persona), focal, strict=False):
        memory.embeddings[point] = GOLDEN["embeddings"][at]
    return persona


def test_the_status_rests_on_what_the_golden_persona_retrieves() -> None:
    persona, (asked, model) = isabella(), consultation("Status: Isabella opens the cafe at eight.")
    persona.scratch.currently = "She plans a party."
    assert associative.revise_identity(persona, consultation=asked) == "Isabella opens the cafe at eight."
    assert persona.scratch.currently == "Isabella opens the cafe at eight."
    ((messages, _),) = model.questions
    text = messages[-1].content
    best = GOLDEN["sequential_three_focal_points"]["result"][0]
    assert [line.rpartition(": ")[2] for line in text.splitlines() if line.startswith("2023-")] == best
    assert "She plans a party." in text and "2023-02-13" in text


def test_without_an_answer_the_status_stays() -> None:
    persona, (asked, _) = isabella(), consultation("Status: ")
    persona.scratch.currently = "She plans a party."
    assert associative.revise_identity(persona, consultation=asked) == "She plans a party."


def test_a_persona_without_memories_asks_nothing() -> None:
    (asked, model), empty = (
        consultation(),
        Persona("Ann", AssociativeMemory(), Scratch("Ann", curr_time=datetime(2023, 2, 13))),
    )
    assert associative.revise_identity(empty, consultation=asked) == ""
    assert associative.generate_focal_points(empty, consultation=asked) == []
    assert model.questions == []


def test_focal_points_are_questions_a_day_and_somebody() -> None:
    persona, (asked, _) = isabella(), consultation("1. Who comes?\n2. What is cooked?\n3. When?")
    assert associative.generate_focal_points(persona, 2, consultation=asked) == ["Who comes?", "What is cooked?"]
    assert associative.daily_focal_points(persona) == [
        "Isabella's plans of 2023-02-13",
        "Isabella's recent important events",
    ]
    assert associative.talk_focal_points(persona, "Klaus", "Coffee?") == [
        "Klaus", "the relationship of Isabella and Klaus", "Coffee?",
    ]  # fmt: skip
    assert associative.talk_focal_points(persona, "Klaus", language="zh")[1] == "Isabella和Klaus的关系"


def test_a_character_with_its_memory_is_a_persona(home: Home) -> None:
    with home.open(silent()) as house:
        agent = house.agent()
        say_each(home, agent, "我昨天被公司裁员了", "我今天终于把论文交了")
        persona = associative.persona_of(agent.layers)
        asked, model = consultation("近况：小满惦记着阿明。", language="zh")
        before = agent.layers.episodes.view(agent.now()).accessed.tolist()
        home.clock.advance(hours=10)
        status = associative.revise_identity(persona, consultation=asked, embedder=HashEmbedder(64), language="zh")
        assert status == "小满惦记着阿明。"
        assert "裁员" in model.questions[0][0][-1].content
        assert agent.layers.episodes.view(agent.now()).accessed.tolist() == before
        assert persona.a_mem.seq_event[0].poignancy >= 1
