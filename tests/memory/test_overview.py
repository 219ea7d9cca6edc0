"""The overview: the newest events that have left the context, each told once in a prompt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

import pytest

from moechat.agent import Agent
from moechat.ai.scripted import ScriptedModel
from moechat.index.dense import Dense
from moechat.memory.episodes import Episodes, overview
from moechat.model import Episode, Event
from tests.houses import Home, again, answer, polite, quoted, say
from tests.owners import NOW, Owner

STORIES = ["养了一只鹦鹉", "买了滑板", "修好了台灯", "去了码头", "写完论文", "看了月食", "认识了邻居"]


@pytest.fixture
def owner(tmp_path: Path) -> Iterator[Owner]:
    owner = Owner(Home.build(tmp_path), None)
    yield owner
    owner.close()


def shown(owner: Owner, in_context: Sequence[str] = (), capacity: int = 10) -> list[str]:
    owner.episodes.sync()
    return [episode.event.text for episode in overview(owner.episodes, NOW, in_context, capacity)]


def test_it_holds_the_newest_ten_oldest_first(owner: Owner) -> None:
    for number in range(15):
        owner.tell(f"第{number}件事")
    assert shown(owner) == [f"第{number}件事" for number in range(5, 15)]
    assert shown(owner, capacity=2) == ["第13件事", "第14件事"]
    assert shown(owner, capacity=0) == []


def test_it_is_empty_before_anything_happened(owner: Owner) -> None:
    assert shown(owner) == []


def test_an_event_comes_in_when_all_its_exchanges_have_left_the_context(owner: Owner) -> None:
    one, two = owner.say("一"), owner.say("二")
    owner.understand(Event("一和二", (one, two)))
    assert shown(owner, [one, two]) == shown(owner, [two]) == []
    assert shown(owner) == ["一和二"]


def test_events_still_in_the_context_take_no_place_of_others(owner: Owner) -> None:
    for number in range(12):
        owner.tell(f"第{number}件事")
    here = owner.say("很多事")
    owner.understand(*(Event(f"新事{number}", (here,)) for number in range(99)))
    assert shown(owner, [here]) == [f"第{number}件事" for number in range(2, 12)]


def test_reflections_and_what_the_author_wrote_are_no_part_of_it(owner: Owner) -> None:
    exchange, event = owner.tell("吃了火锅")
    owner.reflect("爱吃辣", [event], [exchange], None)
    told = [Episode(f"o{n}", datetime.now(NOW.tzinfo), Event(f"官方{n}", ()), by="author") for n in range(30)]
    owner.episodes = Episodes(owner.store, Dense(owner.store.folder / ".index", None), lambda: (1, told))
    assert shown(owner) == ["吃了火锅"]


def test_each_branch_has_its_own_and_words_taken_back_leave_it(owner: Owner) -> None:
    root, _ = owner.tell("一起的")
    left, _ = owner.tell("左边的")
    owner.store.log.select(root)
    owner.tell("右边的")
    assert shown(owner) == ["一起的", "右边的"]
    owner.store.log.select(left)
    assert shown(owner) == ["一起的", "左边的"]
    owner.store.log.retract(root)
    assert shown(owner) == ["左边的"]


def test_what_was_archived_is_not_told(owner: Owner) -> None:
    _, event = owner.tell("吃了火锅")
    owner.mark("archive", event)
    assert shown(owner) == []


# ---- in the prompt


def understood(messages: Sequence[object]) -> str:
    """Each exchange an event of its own."""
    lines = [line for line in messages[-1].content.splitlines() if line.startswith("用户> ")]  # type: ignore[attr-defined]
    told = [line.removeprefix("用户> ") for line in lines]
    events = [
        {"text": f"用户讲起{text}", "importance": 5, "keywords": [], "sources": [number]}
        for number, text in enumerate(told, 1)
    ]
    return answer(len(told), events=events)


def overview_of(model: ScriptedModel) -> list[str]:
    """The events of the overview in the last prompt."""
    prompt = "\n\n".join(message.content for message in model.requests[-1].messages if message.role == "system")
    _, _, block = prompt.partition("【前情提要】\n以前说过的事，由远到近，还没到的在后：\n")
    return [line.partition("讲起")[2] for line in block.partition("\n\n")[0].splitlines()]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home.build(tmp_path, Agent={"mem_thresholds": 0.9}, roll={"understand_at_rounds": 4, "oldest": 2})


def talked(home: Home, agent: Agent, *texts: str) -> None:
    for text in texts:
        say(agent, text)
        home.clock.advance(minutes=5)
        agent.jobs.settle()
        agent.jobs.tick()


def test_the_prompt_tells_what_left_the_context_in_order_of_time(home: Home) -> None:
    model = ScriptedModel(polite, quoted(understood))
    with home.agent(model) as agent:
        talked(home, agent, *STORIES[:5])
        assert overview_of(model) == STORIES[:2]
        talked(home, agent, *STORIES[5:])
        assert overview_of(model) == STORIES[:4]


def test_the_overview_stays_as_it_is_where_its_events_are_recalled_word_for_word(home: Home) -> None:
    model = ScriptedModel(polite, quoted(understood))
    with home.agent(model) as agent:
        talked(home, agent, *STORIES[:5], "还记得鹦鹉吗")
    prompt = model.requests[-1].messages[-2].content
    assert STORIES[0] in prompt
    assert overview_of(model) == STORIES[:2]


def test_an_answer_that_is_given_again_does_not_find_its_own_question_in_the_overview(home: Home) -> None:
    home.configure(understanding={"batch_size": 1}, Agent={"mem_thresholds": 0.9})
    model = ScriptedModel(polite, quoted(understood))
    with home.agent(model) as agent:
        talked(home, agent, *STORIES[:2])
        assert agent.store.tree.pending() == [], "it is understood already"
        again(agent)
    prompt = "".join(message.content for message in model.requests[-1].messages)
    assert prompt.count(STORIES[1]) == 1
