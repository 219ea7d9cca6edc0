"""What becomes of memory when a model misbehaves: nothing that the rules read is lost, and nothing false is told as so."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from moechat.agent import Agent
from moechat.ai.scripted import ScriptedModel
from moechat.model import Message
from tests.houses import Home, House, polite, say, silent

TALKS: Mapping[str, Sequence[str]] = {
    "zh": ("我叫林晓，住在杭州", "我对花生过敏", "我朋友小雨喜欢香菜", "我昨天去西湖划船了", "我明天要去体检"),
    "en": (
        "My name is Nora and I live in Leeds",
        "I'm allergic to peanuts",
        "My friend Rose likes cilantro",
        "I went to the theatre yesterday",
        "I have a dentist appointment tomorrow",
    ),
}
TRUE: Mapping[str, Mapping[str, Any]] = {
    "zh": {"text": "用户住在杭州", "keyword": "住址", "target": "杭州", "sources": [1]},
    "en": {"text": "The user lives in Leeds", "keyword": "home", "target": "Leeds", "sources": [1]},
}
FALSE: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "zh": (
        {"text": "用户喜欢香菜", "keyword": "喜好", "target": "香菜", "sources": [3]},
        {"text": "我们喜欢香菜", "entity": "我们", "keyword": "喜好", "target": "香菜", "sources": [3]},
        {"text": "小雨住在杭州", "entity": "小雨", "keyword": "住址", "target": "杭州", "sources": [1]},
        {"text": "小雨是小雨", "entity": "小雨", "keyword": "关系", "sources": [3]},
        {"text": "用户养了一只猫", "keyword": "宠物", "target": "猫", "sources": [2]},
        {"text": "用户对花生不过敏", "keyword": "过敏", "target": "花生", "polarity": -1, "sources": [2]},
        {"text": "用户住在苏州", "keyword": "住址", "target": "苏州", "sources": [1], "refines": 1},
    ),
    "en": (
        {"text": "The user likes cilantro", "keyword": "likes", "target": "cilantro", "sources": [3]},
        {"text": "They like cilantro", "entity": "they", "keyword": "likes", "target": "cilantro", "sources": [3]},
        {"text": "Rose lives in Leeds", "entity": "Rose", "keyword": "home", "target": "Leeds", "sources": [1]},
        {"text": "Rose is Rose", "entity": "Rose", "keyword": "relation", "sources": [3]},
        {"text": "The user has a cat", "keyword": "pet", "target": "cat", "sources": [2]},
        {"text": "The user is not allergic to peanuts", "keyword": "allergy", "target": "peanuts", "sources": [2]},
        {"text": "The user lives in Paris", "keyword": "home", "target": "Paris", "sources": [1], "refines": 1},
    ),
}
FALSE_EVENTS: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "zh": (
        {"text": "用户2019年8月3日去西湖划船", "object": "西湖", "happened": "2019-08-03", "sources": [4]},
        {"text": "用户中了彩票", "object": "彩票", "sources": [4]},
    ),
    "en": (
        {"text": "The user went to the theatre on 3 August 2019", "object": "theatre", "happened": "2019-08-03",
         "sources": [4]},
        {"text": "The user won a lottery", "object": "lottery", "sources": [4]},
    ),
}  # fmt: skip
OTHER = {"zh": "en", "en": "zh"}
Answering = Callable[[str, str], str]
"""An answer, of the language and the prompt."""


def whole(facts: Sequence[Any] = (), events: Sequence[Any] = (), **more: Any) -> str:
    return json.dumps({"facts": list(facts), "events": list(events), **more}, ensure_ascii=False)


def right(language: str, _: str = "") -> str:
    return whole([TRUE[language]])


def wrong(language: str, _: str = "") -> str:
    return whole(FALSE[language], FALSE_EVENTS[language])


def example(language: str, prompt: str) -> str:
    """The first example of the prompt, its tags and sources as they stand there."""
    return next(
        line[line.index("{") :] for line in prompt.splitlines() if re.match(r"有事可记|Something to note", line)
    )


def everything_wrong(language: str, prompt: str) -> str:
    """Calls all that was found wrong, in words that the user said of it, or never said."""
    numbers = [int(number) for number in re.findall(r"^\((\d+)\) ", prompt, re.MULTILINE)]
    words = ("不是", *TALKS["zh"]) if language == "zh" else ("no", *TALKS["en"])
    return whole(
        [TRUE[language]], verdicts=[{"finding": n, "verdict": "wrong", "words": words[n % len(words)]} for n in numbers]
    )


MISBEHAVIOUR: Mapping[str, Answering] = {
    "empty lists": lambda language, _: whole(),
    "an empty object": lambda language, _: "{}",
    "the example copied": example,
    "half a JSON": lambda language, _: right(language)[: len(right(language)) // 2],
    "half a JSON of false things": lambda language, _: wrong(language)[: len(wrong(language)) // 2],
    "a thought": lambda language, _: f"<think>{wrong(language)}</think>{right(language)}",
    "a thought in another form": lambda language, _: f"<thinking>{wrong(language)}</thinking>\n{right(language)}",
    "a thought that the template opened": lambda language, _: f"{wrong(language)}</think>\n{right(language)}",
    "a thought without an end": lambda language, _: f"<think>{right(language)}",
    "its own label": lambda language, _: f"小满：{right(language)}",
    "the prompt echoed": lambda language, prompt: f"{prompt}\n{right(language)}",
    "headings echoed": lambda language, prompt: f"【facts】\n[facts]\n{right(language)}\n【对话】[The talk]",
    "a refusal": lambda language, _: "I am sorry, I cannot help with that.",
    "the wrong language": lambda language, _: whole([TRUE[OTHER[language]]]),
    "other people's facts, invented ones, the opposite": wrong,
    "a hundred facts": lambda language, _: whole([*FALSE[language]] * 25 + [TRUE[language]] * 25),
    "everything called wrong": everything_wrong,
    "everything kept and refined": lambda language, prompt: whole(
        [fact | {"refines": 1} for fact in FALSE[language]],
        verdicts=[{"finding": n, "verdict": verdict} for n in range(1, 9) for verdict in ("refine", "keep")],
    ),
    "no sources": lambda language, _: whole([fact | {"sources": []} for fact in (*FALSE[language], TRUE[language])]),
    "sources that are none": lambda language, _: whole([fact | {"sources": [77]} for fact in FALSE[language]]),
    "lists in lists": lambda language, _: whole([[[TRUE[language]]], 7, None], ["?"]),
}


@pytest.fixture
def home(tmp_path: Path, language: str) -> Home:
    names = {"zh": {}, "en": {"name": "Wren", "user_name": "Sam", "language": "en"}}[language]
    return Home.build(tmp_path, character={**names, "language": language})


@pytest.fixture
def house(home: Home) -> Iterator[House]:
    with home.open(silent()) as house:
        yield house


def texts(agent: Agent) -> tuple[set[str], set[str]]:
    """Of the facts that are told as what is so, and of such events."""
    events = agent.store.findings.citing(list(agent.store.tree.parents))
    facts = {fact.text for fact in agent.layers.core.current() if fact.confirmed is not False}
    return facts, {one.event.text for one in events if one.confirmed is not False}


@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize("name", MISBEHAVIOUR)
def test_nothing_is_lost_and_nothing_false_is_learned(house: House, home: Home, name: str, language: str) -> None:
    agent = house.agent()
    for words in TALKS[language]:
        say(agent, words)
        home.clock.advance(minutes=1)
    agent.jobs.settle()
    facts, events = texts(agent)
    assert len(facts) >= 2 and events, "the rules read something"

    def misbehave(messages: Sequence[Message]) -> str:
        return MISBEHAVIOUR[name](language, messages[-1].content)

    house.model = ScriptedModel(polite, misbehave)
    agent.jobs.roll(closing=True)

    facts_after, events_after = texts(agent)
    assert facts <= facts_after and events <= events_after
    assert facts_after - facts <= {TRUE[language]["text"]}
    assert events_after == events
    learned = "\n".join(note.tag for note in agent.store.findings.notes_of(list(agent.store.tree.parents)).values())
    assert not any(one["text"] in learned for one in (*FALSE[language], *FALSE_EVENTS[language]))


@pytest.mark.parametrize("language", ["zh"])
def test_what_was_refused_can_be_looked_at_with_its_reason(house: House, language: str) -> None:
    agent = house.agent()
    for words in TALKS["zh"]:
        say(agent, words)
    agent.jobs.settle()
    house.model = ScriptedModel(polite, lambda messages: example("zh", messages[-1].content))
    agent.jobs.roll(closing=True)
    assert {one.why for one in agent.store.findings.refused()} == {"example", "verdict"}
