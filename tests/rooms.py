"""A memory with something of everything, for tests of the rooms."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from moechat.agent import Agent
from moechat.model import Episode, Event
from moechat.store.formats import derived_id
from tests.houses import say

TALK = ("我住在杭州，昨天和室友吃了火锅，我讨厌香菜", "我养了一只橘猫，叫团子")
TOPICS: Sequence[tuple[str, str, int]] = (  # text, topic, days ago
    ("第一次一起吃番茄锅", "饮食->火锅", 0), ("毛肚涮老了", "饮食->火锅", 3), ("改喝茶了", "饮食->咖啡", 12),
    ("画完了第二十页", "工作->绘本", 1), ("编辑催稿", "工作->编辑", 40), ("去莫干山住了两天", "旅行", 80),
)  # fmt: skip
INSIGHT = "阿明难过的时候喜欢吃点热的"


def lived(agent: Agent) -> list[str]:
    """Talk that the rules have understood, slices of several topics, and a reflection on two of them. Gives the slices' ids."""
    for text in TALK:
        say(agent, text)
    agent.finish()
    sources = tuple(one.exchange.id for one in agent.recent(2))
    now, slices = agent.now(), list[Episode]()
    for text, topic, days in TOPICS:
        event = Event(text, sources[:1], topic=topic, importance=0.6, keywords=("火锅",) if "火锅" in topic else ())
        slices.append(Episode(derived_id(text, sources), now - timedelta(days=days), event))
    rests_on = slices[:2]
    insight = Event(INSIGHT, sources[:1], importance=0.8)
    thought = Episode(
        derived_id(INSIGHT, sources), now, insight, "reflection", evidence=tuple(one.id for one in rests_on), depth=1,
        expires=now + timedelta(days=30),
    )  # fmt: skip
    with agent.store.writing():
        agent.store.findings.put([*slices, thought])
    return [one.id for one in slices]
