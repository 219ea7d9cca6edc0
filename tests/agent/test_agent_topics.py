"""Topics in a turn: with the words of the message, or by a model that is asked before the reply."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from moechat.agent import Agent
from moechat.ai.scripted import ScriptedModel
from moechat.errors import ModelError
from moechat.model import Message
from tests.houses import Home, answer, polite, say, say_all, say_each

ON = {"recipes": {"by_topic": {"enabled": True}}}


def told(home: Home, model: ScriptedModel) -> None:
    """Two exchanges, understood as two events of two topics."""
    with home.agent(model) as agent:
        say_each(home, agent, "我在湖边画了一下午水彩", "公司今天发了年终奖")


def scripted(cues: object = None, kept: object = None) -> ScriptedModel:
    """Understands; finds these topic cues, and keeps these slices, where it is asked (an error is raised)."""

    def complete(messages: Sequence[Message]) -> str:
        asked = messages[-1].content
        for marker, said in (("找回忆的线索", cues), ("想起的往事", kept)):
            if marker in asked:
                if isinstance(said, Exception):
                    raise said
                return json.dumps(said, ensure_ascii=False)
        events = [
            {"text": "用户在湖边画水彩", "topic": "爱好->绘画->水彩", "sources": [1]},
            {"text": "公司发了年终奖", "topic": "工作->薪水", "sources": [2]},
        ]
        return answer(2, events=events)

    return ScriptedModel(polite, complete)


def by_topic(agent: Agent, text: str) -> list[str]:
    return [hit.text for hit in agent.recall(text).ranked if "activation" in hit.features]


def test_a_topic_that_the_message_names_brings_what_belongs_to_it(tmp_path: Path) -> None:
    home = Home.build(tmp_path, recall=ON)
    told(home, scripted())
    home.clock.advance(days=40)
    with home.agent(scripted()) as agent:
        assert "水彩" in by_topic(agent, "最近还想画水彩")[0]


def test_a_model_may_be_asked_for_the_topics_and_for_what_helps(tmp_path: Path) -> None:
    home = Home.build(tmp_path, recall={**ON, "topics": {"cues_by_model": True, "evaluator": True}})
    told(home, scripted())
    home.clock.advance(days=40)
    cues = {"topics": ["工作->薪水", "爱好->绘画->水彩"], "dates": ["昨天前后", "2025-13-40"]}
    with home.agent(scripted(cues, {"helpful": [2]})) as agent:
        [kept] = by_topic(agent, "最近手头怎么样")
    with home.agent(scripted(cues, {"helpful": [1]})) as agent:
        [other] = by_topic(agent, "最近手头怎么样")
    assert {"年终奖" in kept, "年终奖" in other} == {True, False}


def test_a_model_that_fails_before_the_reply_leaves_the_words_to_serve(tmp_path: Path) -> None:
    home = Home.build(tmp_path, recall={**ON, "topics": {"cues_by_model": True, "evaluator": True}})
    told(home, scripted())
    home.clock.advance(days=40)
    failing = scripted(ModelError("silent", "no answer"), ModelError("silent", "no answer"))
    with home.agent(failing) as agent:
        assert "水彩" in by_topic(agent, "最近还想画水彩")[0]
        assert not agent.recall("最近还想画水彩").notices


LIGHTHOUSE = "lighthouse:\n  text: 我们一起爬了灯塔\n  time: 2025-04-02T19:30\n  keywords: [灯塔]\n"


def test_what_the_author_wrote_by_hand_is_recalled_at_once(home: Home, agent: Agent) -> None:
    say(agent, "你好")
    (home.folder / "events.yaml").write_text(LIGHTHOUSE, encoding="utf-8")
    assert [hit.id for hit in agent.recall("灯塔好玩吗").ranked] == ["lighthouse"]


def test_a_day_that_only_the_author_tells_of_is_not_said_to_be_empty(home: Home) -> None:
    (home.folder / "events.yaml").write_text(LIGHTHOUSE, encoding="utf-8")
    with home.agent() as agent:
        say(agent, "你好")
        agent.settle_indexes()  # an event without its vector is not near to anything yet
        found = agent.recall("2025年4月2日我们做了什么？")
        assert [hit.id for hit in found.hits] == ["lighthouse"] and not found.empty_spans
        assert agent.recall("2025年4月3日我们做了什么？").empty_spans


def test_a_fact_of_the_author_is_never_copied_into_the_memory_of_a_user(home: Home) -> None:
    told = "home:\n  text: 阿明住在上海\n  keyword: 住址\n  target: 上海\n  single: true\n  time: 2077-04-02\n"
    (home.folder / "facts.yaml").write_text(told, encoding="utf-8")
    with home.agent() as agent:
        say_all(agent, "我住在杭州")
        learned = (home.folder / "core_mem.yml").read_text(encoding="utf-8")
        assert "杭州" in learned and "上海" not in learned


def test_what_the_author_wrote_without_a_time_stands_on_no_day(tmp_path: Path) -> None:
    home = Home.build(tmp_path, recall=ON)
    undated = "lighthouse:\n  text: 我们一起爬了灯塔\n  keywords: [灯塔]\n  topic: 旅行->灯塔\n"
    (home.folder / "events.yaml").write_text(undated, encoding="utf-8")
    with home.agent() as agent:
        assert [hit.time for hit in agent.recall("灯塔好玩吗").ranked] == [None]
        seen = agent.topics.overview(agent.now())
        assert (seen["days"], seen["untold"]) == ({}, 0)
        assert [(topic["total"], topic["newest"]) for topic in seen["topics"]] == [(1, None)]
