"""What a model says of delicacy, feelings and promises, from its answer to later prompts."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from moechat.ai.scripted import ScriptedModel
from moechat.model import Message
from tests.houses import Home, fact, quoted, say

PROMISE = "好，下个月我烤一个苹果派给你"


def replies(messages: Sequence[Message]) -> str:
    return PROMISE if "你答应我" in messages[-1].content else "嗯。"


def reading(by_words: Mapping[str, dict[str, Any]]) -> ScriptedModel:
    """A model that finds these things where a message has these words, and keeps all that was found before."""

    def reads(messages: Sequence[Message]) -> str:
        shown = messages[-1].content
        findings: dict[str, list[Any]] = {"facts": [], "events": []}
        for words, finding in by_words.items():
            if words in shown:
                findings["facts" if "kind" in finding else "events"].append(finding)
        numbers = re.findall(r"^\((\d+)\) ", shown, re.MULTILINE)
        verbs = [{"number": int(n), "verb": "keep"} for n in numbers]
        return json.dumps(findings | {"verbs": verbs}, ensure_ascii=False)

    return ScriptedModel(replies, quoted(reads))


def day(home: Home, model: ScriptedModel, *texts: str) -> str:
    """A talk of a day; the prompt of its last message, that message apart."""
    home.configure(recall={"deadline_ms": 20_000})
    with home.open(model) as house:
        agent = house.agent()
        for text in texts:
            say(agent, text)
        agent.finish()
    home.clock.advance(days=2)
    return "\n".join(message.content for message in model.requests[-1].messages[:-1])


def test_a_mark_of_the_models_says_when_something_is_recalled(home: Home) -> None:
    insulin = fact("用户每天打胰岛素", 1, keyword="用药", target="胰岛素", mark="care")
    quarrel = {"text": "用户的爸爸不认用户了", "object": "爸爸", "mark": "delicate", "sources": [1]}
    model = reading({"胰岛素": insulin, "不认我": quarrel})
    day(home, model, "我每天打胰岛素")
    day(home, model, "爸爸不认我了")
    assert "不认" not in (greeting := day(home, model, "早上好")) and "爸爸" not in greeting
    dinner = day(home, model, "晚饭吃点什么甜的")
    assert "胰岛素" in dinner and "不认" not in dinner
    assert "不认" in day(home, model, "我又梦见爸爸了")


def test_a_feeling_is_an_event_with_what_it_was_about(home: Home) -> None:
    fear = {"text": "用户一想到打针就发慌", "subject": "user", "object": "打针", "emotion": "害怕", "sources": [1]}
    model = reading({"发慌": fear})
    day(home, model, "一想到打针我就发慌")
    with home.open(model) as house:
        agent = house.agent()
        (felt,) = [one for one in agent.memories.listed(("event",)).memories if "发慌" in one.text]
        agent.layers.sync()
        (episode,) = agent.layers.episodes.get([felt.id]).values()
        assert (episode.event.emotion, episode.event.object) == ("害怕", "打针")
    assert "发慌" in day(home, model, "明天又要打针了")


def test_a_promise_of_the_characters_stands_in_each_prompt_until_it_is_kept(home: Home) -> None:
    pie = {"text": "角色答应下个月烤苹果派给用户", "subject": "character", "object": "苹果派", "status": "planned"}
    model = reading({PROMISE: pie | {"sources": [1]}})
    day(home, model, "你答应我一件事嘛")
    heading, _, rest = day(home, model, "早").partition("答应过、还没有做到的：")
    assert "苹果派" in rest and "苹果派" not in heading
    baked = {
        "text": "角色烤了苹果派给用户",
        "subject": "character",
        "object": "苹果派",
        "status": "done",
        "sources": [1],
    }
    model = reading({"派真好吃": baked | {"refines": 1}})
    day(home, model, "你烤的苹果派真好吃")
    assert "答应过" not in day(home, model, "早")


@pytest.mark.parametrize(
    ("texts", "question"),
    [
        (("爸爸不认我了", "我昨晚哭了一整晚", "下班去了江边", "买了一本诗集", "煮了面"), "5月20号我们聊了什么？"),
        (
            ("my dad disowned me", "I cried all night", "I went to the river", "I bought poems", "I made noodles"),
            "What did we talk about on May 20th?",
        ),
    ],
)
def test_a_day_that_is_named_hides_nothing_as_delicate(home: Home, texts: Sequence[str], question: str) -> None:
    def marks_all(messages: Sequence[Message]) -> str:
        said = re.findall(r"^\[(\d+)\][^\n]*\n\S+> (.*)$", messages[-1].content, re.MULTILINE)
        return json.dumps({"events": [{"text": text, "mark": "delicate", "sources": [int(n)]} for n, text in said]})

    model = ScriptedModel(replies, quoted(marks_all))
    day(home, model, *texts)
    with home.open(model) as house:
        agent = house.agent()
        found = agent.recall(question)
        assert len(agent.layers.episodes.delicate()) >= len(texts)
    assert sorted(hit.text.split("：")[1].split("\n")[0] for hit in found.hits if hit.is_exchange) == sorted(texts)
