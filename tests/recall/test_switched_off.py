"""What may be switched off is gone from the prompt, to the byte, whatever it has left in the memory while it was on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from moechat.ai.scripted import ScriptedModel
from moechat.memory import unranked
from moechat.memory.unranked import pages
from moechat.model import Message
from tests.houses import Home, say

RECALL = ("what_matters", "days", "mood", "ours")
ON, OFF = ({"daybook": {"enabled": on}, "recall": dict.fromkeys(RECALL, on)} for on in (True, False))
# Four messages of each day: a grave matter, days of this time, a word of theirs, low moods, her day, and small talk.
DAYS = (
    ("我爷爷上周去世了", "今天好难过", "下雨了，公园里没人", "晚安"),
    ("我妈妈的生日是5月24日", "以后我们管加班叫打怪吧", "中午吃了面", "今晚要加班吗"),
    ("今天心情不太好", "你昨天过得怎么样？", "我家里出过什么事", "买了苹果"),
    ("我和老公是2019年5月27日结婚的", "我拿到驾照了，好开心", "地铁停了十分钟", "你的日记里写了什么"),
    ("提不起劲", "又要加班", "我养了一只叫年糕的猫", "年糕今天吃得多吗"),
)
PAGE = "今天阿明来说话了 [1]。我想，海大概是灰蓝色的。"


def prompts(folder: Path, days: int, *, leaves: bool) -> list[str]:
    """The prompts of all messages of ``days``, all switched off. Each night everything ``leaves`` what it leaves while it is
    on: a page of the daybook, and what is recalled for a low mood. (A word to who comes back is talk once it is answered.)"""
    requests = list[str]()

    def reply(messages: Sequence[Message]) -> str:
        requests.append("\n".join(f"{one.role}: {one.content}" for one in messages))
        return "嗯，我在听。"

    def answer(messages: Sequence[Message]) -> str:
        return PAGE if "日记本上写这一天" in messages[-1].content else '{"facts": [], "events": []}'

    home = Home.build(folder, **OFF)
    with home.agent(ScriptedModel(reply, answer)) as agent:
        for day in range(days):
            for text in DAYS[day % len(DAYS)]:
                say(agent, text)
                agent.settle_indexes()
                home.clock.advance(minutes=5)
            home.clock.advance(hours=20)
            home.configure(**(ON if leaves else OFF))
            agent.recall("今天心情不太好")
            agent.finish()
            home.configure(**OFF)
            home.clock.advance(hours=3, minutes=40)
        assert bool(pages(agent.store)) is leaves
        assert unranked.ours(agent.layers.core)
    return requests


@pytest.mark.parametrize("days", [5, pytest.param(25, marks=pytest.mark.slow)])
def test_switched_off_prompts_are_equal_byte_for_byte(tmp_path: Path, days: int) -> None:
    plain, after = (prompts(tmp_path / str(leaves), days, leaves=leaves) for leaves in (False, True))
    assert len(plain) == 4 * days
    assert [number for number, (one, other) in enumerate(zip(plain, after, strict=True)) if one != other] == []
    for heading in ("【只有你们俩懂的】", "【上次的心情】", "【你的日记】", "灰蓝色"):
        assert not any(heading in prompt for prompt in plain), heading
