"""What only the two of them have: heard where they agree on it, used sparingly, never in pain, ended as any fact."""

from __future__ import annotations

import pytest

from moechat.agent import Agent
from moechat.memory import unranked
from moechat.model import Exchange
from moechat.rules.reading import understand
from tests.houses import Home, moment, say

SMALL = (
    "中午吃了面", "下雨了", "地铁停了十分钟", "公园里没人", "猫睡了一天", "买了苹果", "楼下在装修", "今天风很大",
    "换了窗帘",
)  # fmt: skip


def agreed(home: Home, agent: Agent) -> None:
    say(agent, "以后我们管加班叫打怪吧")
    home.clock.advance(minutes=5)
    agent.finish()
    home.clock.advance(hours=30)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("以后我们管加班叫打怪吧", "打怪"), ("咱们以后把周一叫沼泽日好不好", "沼泽日"), ("以后我就管你叫小太阳啦", "小太阳"),
        ('let\'s call Mondays "swamp days" from now on', "swamp days"), ("我们管加班叫什么来着？", ""),
        ("Let's call it a day", ""), ("他们管这个叫内卷", ""), ("我们公司管加班叫奋斗", ""), ("把这个叫做机器学习", ""),
        ("let's call the doctor", ""),
    ],
)  # fmt: skip
def test_a_word_is_ours_where_they_agree_on_it(text: str, word: str) -> None:
    found = understand(Exchange("x", moment("2025-05-20T15:00:00"), text, "")).facts
    assert [fact.target for fact in found if fact.keyword in ("我们的叫法", "our word")] == [word] * bool(word)


def test_it_comes_by_itself_once_in_a_while(home: Home, agent: Agent, prompts: list[str]) -> None:
    agreed(home, agent)
    for text in SMALL:
        say(agent, text)
        home.clock.advance(minutes=2)
    assert ["阿明和小满管" in prompt for prompt in prompts[1:]] == [True] + [False] * 7 + [True]


def test_it_comes_where_it_is_named_and_never_in_pain(home: Home, agent: Agent, prompts: list[str]) -> None:
    agreed(home, agent)
    for text, comes in (("今晚又要加班", True), ("还在加班", True), ("我加班到现在，好难过，一直在哭", False)):
        say(agent, text)
        assert ("叫打怪" in prompts[-1]) is comes, text
    assert [hit.recipe for hit in agent.recall("今晚要加班吗").plans] == ["ours"]


def test_it_is_seen_edited_and_ended_as_any_fact(home: Home, agent: Agent, prompts: list[str]) -> None:
    agreed(home, agent)
    (fact,) = unranked.ours(agent.layers.core)
    agent.memories.edit(fact.id, "用户和角色管加班叫打大怪")
    say(agent, "又加班")
    assert "管加班叫打大怪" in prompts[-1]
    (fact,) = unranked.ours(agent.layers.core)
    agent.memories.forget([fact.id])
    say(agent, "又要加班")
    assert "打大怪" not in prompts[-1] and unranked.ours(agent.layers.core) == []


def test_it_can_be_written_by_hand_and_switched_off(home: Home, agent: Agent, prompts: list[str]) -> None:
    agent.memories.add_fact(text="用户和角色每周五互道晚安三次", keyword="我们的仪式", target="三次晚安")
    say(agent, "又到周五了")
    assert "三次晚安" in prompts[-1] or "互道晚安" in prompts[-1]
    home.configure(recall={"ours": False})
    say(agent, "又到周五啦")
    assert "【只有你们俩懂的】" not in prompts[-1]
    assert "互道晚安" in prompts[-1], "then it is a fact as any other"
