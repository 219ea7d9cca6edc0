"""Memories that a file brings: each as its row says, each once, and all of them gone again as one."""

from __future__ import annotations

import pytest

from moechat.agent import Agent
from moechat.curation.brought import MARK
from moechat.errors import FieldError, MoeChatError, NotFound


def quietly(done: int, of: int) -> None:
    """Nobody looks how far it is."""


def fields(agent: Agent, row: dict[str, str]) -> dict[str, object]:
    (id_,) = agent.brought.add([row], quietly).ids
    memory = agent.memories.get(id_)
    return {"type": memory.memory.kind, **memory.fields}


def test_a_row_with_a_day_is_an_event_unless_it_says_what_it_is(agent: Agent) -> None:
    event = fields(agent, {
        "text": "阿明放了风筝", "happened": "2019-07-15", "place": "海边", "keywords": "风筝， 海 ,", "importance": "0.9",
    })  # fmt: skip
    assert (event["type"], event["place"], event["keywords"], event["importance"]) == (
        "event",
        "海边",
        ["风筝", "海"],
        0.9,
    )
    assert fields(agent, {"text": "阿明属马"})["type"] == "fact"
    assert fields(agent, {"text": "阿明搬了家", "type": "event"})["type"] == "event"
    assert fields(agent, {"text": "阿明怕高", "type": "fact", "happened": "2019-07-15"})["type"] == "fact"


def test_a_fact_is_for_or_against_and_one_or_many_as_its_row_says(agent: Agent) -> None:
    given = {"keyword": "喜好", "target": "榴莲", "kind": "relation", "entity": "小林"}
    fact = fields(agent, {"text": "小林讨厌榴莲", "polarity": "-1", "single": "Yes", **given})
    assert {key: fact.get(key) for key in given} == given and (fact["polarity"], fact.get("single")) == (-1, True)
    plain = fields(agent, {"text": "小林喜欢榴莲", "polarity": "1", "single": "no", **given})
    assert plain["polarity"] == 1 and not plain.get("single")
    bare = fields(agent, {"text": "阿明会游泳"})
    assert bare["polarity"] == 1 and not bare.get("single")
    with pytest.raises(FieldError, match="from 0 to 1"):
        fields(agent, {"text": "阿明摔了一跤", "type": "event", "importance": "much"})


def test_what_is_there_already_comes_once_and_a_file_that_was_cut_short_goes_on(agent: Agent) -> None:
    agent.memories.add_fact("阿明属马")
    rows = [{"text": text} for text in ("阿明属马", "阿明会游泳", "阿明会游泳", "阿明怕高")]
    steps: list[tuple[int, int]] = []
    brought = agent.brought.add(rows, lambda done, of: steps.append((done, of)))
    assert (len(brought.ids), brought.doubled, steps) == (2, 2, [(2, 2)])
    assert brought.batch.startswith(MARK) and agent.brought.batches() == {brought.batch: 2}
    agent.memories.forget(brought.ids[:1])
    further = agent.brought.add(rows, quietly)
    assert (further.batch, len(further.ids), further.doubled) == (brought.batch, 3, 3)
    with pytest.raises(MoeChatError, match="there already"):
        agent.brought.add([{"text": "阿明属马"}], quietly)


def test_a_batch_goes_as_one_and_is_then_unknown(agent: Agent) -> None:
    kept = agent.memories.add_fact("阿明属马").id
    batch = agent.brought.add([{"text": "阿明会游泳"}, {"text": "阿明怕高"}], quietly).batch
    assert agent.brought.take_back(batch) == 2 and agent.brought.batches() == {}
    assert [fact.id for fact in agent.store.findings.facts()] == [kept]
    for verb in (agent.brought.ids, agent.brought.take_back):
        with pytest.raises(NotFound, match=batch):
            verb(batch)
