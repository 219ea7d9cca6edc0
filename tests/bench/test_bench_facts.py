"""benchmarks/facts.py: a handful of facts and messages are measured the way the probe is."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "facts.py"
HANDFUL = """
en:
  user_name: Nora
  character_name: Luna
  facts:
    - {id: a, keyword: birthday, target: 14 February, single: true, text: The user's birthday is 14 February}
    - {id: b, kind: relation, keyword: pet, target: Pepper, text: The user has a greyhound called Pepper}
    - {id: c, entity: Pepper, keyword: fear, target: fireworks, text: Pepper is scared of fireworks}
  replies: [Pepper says hello.]
  messages:
    - {kind: direct, text: when is my birthday, facts: [a]}
    - {kind: direct, text: what is Pepper scared of, facts: [c], also: [b]}
    - {kind: none, text: how do magnets work}
"""


@pytest.fixture(scope="module")
def facts() -> ModuleType:
    spec = importlib.util.spec_from_file_location("facts_benchmark", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_entities_bring_what_a_message_names_and_nothing_to_small_talk(facts: ModuleType, tmp_path: Path) -> None:
    file = tmp_path / "handful.yaml"
    file.write_text(HANDFUL, encoding="utf-8")
    [room] = facts.rooms(facts.read(file), tmp_path / "home", "hash")
    came = room.ask(facts.only("entities"))
    assert "a" in came[0].facts and "c" in came[1].facts and came[2].facts == []
    row = facts.figures(came)
    assert (row["recall"], row["false"], row["profile_ms"]) == (1.0, 0.0, None)
    assert row["entities_ms"] is not None


def test_what_the_character_said_is_asked_too(facts: ModuleType, tmp_path: Path) -> None:
    file = tmp_path / "handful.yaml"
    file.write_text(HANDFUL, encoding="utf-8")
    [room] = facts.rooms(facts.read(file), tmp_path / "home", "hash")
    assert len(room.ask(facts.only("both"), "dev", replying=True)) == 2


def test_figures_count_what_may_come_neither_way(facts: ModuleType) -> None:
    asked = facts.Said(1, "direct", "", frozenset({"a", "b"}), frozenset({"c"}))
    chat = facts.Said(2, "none", "")
    row = facts.figures(
        [facts.Came(asked, ["a", "c", "d"], {"profile": 2.0}), facts.Came(chat, ["d"], {"profile": 4.0})]
    )
    assert (row["recall"], row["direct"], row["indirect"]) == (0.5, 0.5, None)
    assert (row["precision"], row["false"], row["facts"], row["profile_ms"]) == (0.333, 1.0, 2.0, 3.0)


def test_the_probe_is_whole_and_half_of_it_is_held_out(facts: ModuleType) -> None:
    for probe in facts.read():
        ids = {fact.id for fact in probe.facts}
        assert len(ids) == 40 and {fact.draft.kind for fact in probe.facts} == {"attribute", "relation", "picture"}
        assert all(said.facts | said.also <= ids for said in probe.messages)
        assert [said.of("dev") for said in probe.messages] == [not said.of("held") for said in probe.messages]
        kinds = [said.kind for said in probe.messages]
        assert (kinds.count("direct"), kinds.count("indirect"), kinds.count("none")) == (30, 15, 15)
