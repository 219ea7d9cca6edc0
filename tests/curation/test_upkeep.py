"""Upkeep: what verify counts, and indexes that are made anew."""

from __future__ import annotations

from moechat.agent import Agent
from moechat.curation import upkeep
from moechat.model import Fact, FactDraft
from tests.houses import Home, say, say_all, silent, told, waiting


def test_verify_counts_what_is_there_and_what_waits(home: Home) -> None:
    with home.agent(silent()) as agent:
        for text in ("我讨厌香菜", "今天下雨"):
            say(agent, text)
        agent.jobs.settle()
        say(agent, "早")
        agent.store.findings.put([Fact("f", home.clock.now(), FactDraft("用户怕高", ("x",)))])
        report = upkeep.verify(agent.store, agent.layers, ["the file is broken", "the file is broken"])
        counts = ("exchanges", "in_log", "unsettled", "waiting_for_their_day_file", "facts")
        facts = len(agent.store.findings.facts())
        assert {name: report[name] for name in counts} == {
            "exchanges": 2, "in_log": 3, "unsettled": 1, "waiting_for_their_day_file": 0, "facts": facts,
        }  # fmt: skip
        assert facts >= 1 and report["waiting_to_be_understood"] == 2
        assert report["problems"] == ["the file is broken"], "each is told once"
        agent.finish()
        after = upkeep.verify(agent.store, agent.layers)
        assert (after["exchanges"], after["unsettled"], after["waiting_to_be_understood"]) == (3, 0, 0)
        assert after["problems"] == []


def test_vectors_that_are_missing_are_counted_and_made(home: Home, agent: Agent) -> None:
    agent.settle_indexes()
    with waiting(agent):
        for number in range(3):
            told(agent.store, home.clock, f"第{number}句", settle=True)
        agent.layers.sync()
        missing = upkeep.verify(agent.store, agent.layers)["without_vector"]
        seen: list[tuple[int, int]] = []
        assert upkeep.fill(agent.layers, lambda done, total: seen.append((done, total))) == missing > 0
        assert seen[-1] == (missing, missing)
        assert upkeep.verify(agent.store, agent.layers)["without_vector"] == 0
        assert upkeep.fill(agent.layers, lambda done, total: None) == 0


def test_indexes_go_and_vectors_stay_unless_they_are_to_be_made_anew(home: Home) -> None:
    with home.agent() as agent:
        say_all(agent, "今天下雨")
        agent.settle_indexes()
    index = home.folder / ".index"
    names = {path.name for path in index.iterdir()}
    vectors = {name for name in names if name.startswith("vectors-")}
    assert vectors and names - vectors
    (index / "held.lock").touch()
    upkeep.drop_indexes(home.folder, vectors=False)
    assert {path.name for path in index.iterdir() if path.suffix != ".lock"} == vectors
    assert (index / "held.lock").exists(), "somebody may hold it"
    upkeep.drop_indexes(home.folder, vectors=True)
    assert [path.name for path in index.iterdir() if path.suffix != ".lock"] == []
    with home.agent() as agent:
        assert [row["text"] for row in agent.log()] == ["今天下雨"]
