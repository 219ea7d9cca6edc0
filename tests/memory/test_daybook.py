"""Her daybook: one call after a day with talk, each sentence of the user cited, told where her day is asked after, gone with its
source, and nothing is made from it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pytest

from moechat.agent import Agent
from moechat.ai.scripted import ScriptedModel
from moechat.curation.catalogue import UNDERSTOOD
from moechat.memory.unranked import pages
from moechat.model import Message
from moechat.reading.examples import asked
from tests.houses import Home, say, say_all

PAGE = "\n".join((
    "今天阿明去看了海 [1]。", "他还买了一只贝壳给我看。[7]", "他说要戒烟。", "阿明晚上煮了面，香得很。[2]",
    "我想，海大概是灰蓝色的。", "He will quit. [0]",
))  # fmt: skip
KEPT = "今天阿明去看了海。阿明晚上煮了面，香得很。我想，海大概是灰蓝色的。"


@pytest.fixture
def answers() -> dict[str, str]:
    return {"page": PAGE}


@pytest.fixture
def open_agent(home: Home, prompts: list[str], answers: dict[str, str]) -> Iterator[Callable[[], Agent]]:
    def reply(messages: Sequence[Message]) -> str:
        text = "\n".join(message.content for message in messages)
        prompts.append(text)
        if "日记本上写这一天" in text:
            return answers["page"]
        return '{"facts": [], "events": []}' if "细心的记录员" in text else "嗯，我在听。"

    houses = []

    def opened() -> Agent:
        while houses:
            houses.pop().close()
        houses.append(home.open(ScriptedModel(reply, reply)))
        return houses[0].agent()

    yield opened
    while houses:
        houses.pop().close()


def a_day(home: Home, agent: Agent) -> None:
    home.configure(daybook={"enabled": True})
    for text in ("今天去看了海", "晚上煮了面"):
        say(agent, text)
        home.clock.advance(minutes=5)
    agent.finish()
    home.clock.advance(hours=18)
    agent.jobs.finish()


def writing(prompts: Sequence[str]) -> int:
    return sum("日记本上写这一天" in prompt for prompt in prompts)


def test_one_call_writes_of_a_day_that_is_over(
    home: Home, open_agent: Callable[[], Agent], prompts: list[str], answers: dict[str, str]
) -> None:
    agent = open_agent()
    a_day(home, agent)
    (page,) = pages(agent.store)
    assert page.text == KEPT
    assert page.draft.sources == tuple(one.exchange.id for one in agent.recent(2))
    agent.finish()
    open_agent().finish()
    assert writing(prompts) == 1
    answers["page"] = "\n".join(f"我今天很高兴，第{number}次。" for number in range(60))
    agent = open_agent()
    say_all(agent, "今天上班")
    assert writing(prompts) == 1, "a day that is not over is not written of"
    home.clock.advance(hours=20)
    agent.finish()
    assert writing(prompts) == 2 and len(pages(agent.store)[-1].text) <= 150


def test_only_with_a_page_is_a_memory_of_a_format_that_older_programs_refuse(
    home: Home, open_agent: Callable[[], Agent]
) -> None:
    agent = open_agent()
    say_all(agent, "今天去看了海")
    assert (home.folder / "format").read_text("utf-8") == "3\n"
    a_day(home, agent)
    assert pages(agent.store) and (home.folder / "format").read_text("utf-8") == "4\n"
    assert pages(open_agent().store) and not (home.folder / "backups").exists()


def test_it_is_told_where_her_day_is_asked_after_and_nowhere_else(
    home: Home, open_agent: Callable[[], Agent], prompts: list[str]
) -> None:
    agent = open_agent()
    a_day(home, agent)
    asked = {"你昨天过得怎么样？": True, "你的日记里写了什么": True, "我昨天去哪了": False, "海是什么颜色的": False}
    for text, is_told in (asked | {"你前天过得怎么样": False}).items():
        prompts.clear()
        say(agent, text)
        assert ("灰蓝色" in prompts[0]) is is_told, text
    home.configure(daybook={"enabled": False})
    prompts.clear()
    say(agent, "你昨天过得怎么样？")
    assert "灰蓝色" not in prompts[0] and "【你的日记】" not in prompts[0]


def test_nothing_is_made_from_it(home: Home, open_agent: Callable[[], Agent], prompts: list[str]) -> None:
    agent = open_agent()
    a_day(home, agent)
    assert KEPT not in {fact.text for fact in agent.layers.core.current()}
    for text in ("海", "阿明煮了面吗"):
        agent.settle_indexes()
        assert all(hit.text != KEPT for hit in agent.recall(text).ranked)
    say(agent, "我爱吃面")
    home.clock.advance(hours=30)
    agent.finish()
    assert not any("灰蓝色" in prompt for prompt in prompts if "细心的记录员" in prompt)


@pytest.mark.parametrize("which", [0, 1])
def test_it_goes_with_its_source(home: Home, open_agent: Callable[[], Agent], prompts: list[str], which: int) -> None:
    agent = open_agent()
    a_day(home, agent)
    agent.memories.forget([agent.recent(2)[which].exchange.id])
    assert pages(agent.store) == []
    agent.finish()
    files = b"".join(path.read_bytes() for path in home.data.rglob("*") if path.is_file())
    assert "灰蓝色".encode() not in files and ("看了海", "煮了面")[which].encode() not in files
    open_agent().finish()
    assert writing(prompts) == 1, "what was forgotten is not written again"


def test_it_is_edited_ended_and_forgotten_as_any_fact(home: Home, open_agent: Callable[[], Agent]) -> None:
    agent = open_agent()
    a_day(home, agent)
    (page,) = pages(agent.store)
    assert page.id in {one.id for one in agent.memories.listed(UNDERSTOOD).memories}
    agent.memories.edit(page.id, "今天很好。")
    assert pages(open_agent().store)[0].text == "今天很好。"
    agent = open_agent()
    agent.memories.end([page.id])
    assert pages(agent.store) == []
    agent.memories.restore([page.id])
    agent.memories.forget([page.id])
    assert pages(agent.store) == []


def test_off_or_without_a_model_none_is_written(home: Home, open_agent: Callable[[], Agent], agent: Agent) -> None:
    a_day(home, agent)
    assert pages(agent.store) == [] and agent.store.state.daybook is None


def test_pain_is_not_shown_to_who_writes(home: Home, open_agent: Callable[[], Agent], prompts: list[str]) -> None:
    agent = open_agent()
    say(agent, "我外公去世了")
    home.clock.advance(minutes=5)
    a_day(home, agent)
    assert not any("外公" in prompt for prompt in prompts if "日记本上写这一天" in prompt)
    assert pages(agent.store)


@pytest.mark.parametrize(
    ("text", "is_asked"),
    [
        ("昨天你有没有出去玩", True), ("你礼拜天都忙啥呢", True), ("翻翻你的日记，念给我听", True),
        ("How was your Thursday then", True), ("what's in your diary from Tuesday?", True),
        ("我昨天过得怎么样", False), ("你还记得我昨天说的事吗", False), ("what did I do yesterday?", False),
        ("what did you say my cat was called", False), ("中午吃了面", False), ("", False),
    ],
)  # fmt: skip
def test_whether_her_day_is_asked_after_is_told_by_examples(text: str, is_asked: bool) -> None:
    assert ("her_day" in asked(text)) is is_asked
