"""Boundaries: what the user asks to be kept to stands in every prompt, word for word, until it is lifted."""

from __future__ import annotations

from pathlib import Path

import pytest

from moechat.agent import Agent
from moechat.ai.scripted import ScriptedModel
from moechat.model import Fact
from moechat.rules import message
from moechat.rules.boundaries import lifted, stated
from tests.houses import Home, say, say_all

# What is said, what lifts it.
ZH = {
    "以后别跟我提李强了": "李强可以提了，我放下了", "工作的事别催我": "你可以催我工作了，我太拖了",
    "叫我小露，别叫露露": "以后叫我露露吧", "别给我出主意，听我说就好": "想听听你的主意，你给我出出主意吧",
    "不要跟我开减肥的玩笑": "减肥的玩笑可以开了，我瘦了十斤", "我不想再聊考研了": "考研的事可以聊了，我考上了",
    "请别用波浪号": "波浪号随便用，我看习惯了", "跟我说话短一点，我眼睛疼": "话可以说长一点了，眼睛好了",
    "不许剧透三体": "三体看完了，随便剧透吧", "别总夸我懂事": "懂事这种话你夸吧，我不在意了，可以的",
}  # fmt: skip
EN = {
    "please don't mention my ex": "you can mention my ex again, we're friends now",
    "call me Lu, not Lulu": "call me Lulu, it grew on me",
    "no advice please, just listen": "advice is fine now, i need some",
    "don't rush me about the thesis": "you can rush me about the thesis again",
    "stop asking about the wedding": "ask about the wedding any time, it's back on",
    "no spoilers for the dune books": "finished the dune books, spoilers are fine",
    "don't make jokes about my cooking": "cooking jokes are okay again",
    "never bring up the accident": "you can bring up the accident, i'm over it",
    "i don't want to talk about the hospital": "we can talk about the hospital again",
    "keep your replies short please": "write as long as you like now",
}


@pytest.mark.parametrize(("language", "table"), [("zh", ZH), ("en", EN)])
def test_each_stands_in_every_prompt_until_it_is_lifted(tmp_path: Path, language: str, table: dict[str, str]) -> None:
    home = Home.build(tmp_path, character={"language": language, "user_name": "何露" if language == "zh" else "Helu"})
    model = ScriptedModel(lambda messages: "嗯。" if language == "zh" else "Okay.", understands=False)
    greeting = "早呀" if language == "zh" else "good morning"

    def prompt_of_a_day(agent: Agent) -> str:
        agent.finish()
        home.clock.advance(days=1)
        say(agent, greeting)
        return "\n".join(one.content for one in model.requests[-1].messages if one.role == "system")

    with home.agent(model) as agent:
        for said in table:
            say(agent, said)
            say(agent, greeting)
        first = "\n".join(one.content for one in model.requests[-1].messages if one.role == "system")
        after = [prompt_of_a_day(agent) for _ in range(3)]
        assert [said for said in table if not all(f"- {said}" in prompt for prompt in (first, *after))] == []
        left = list(table)
        for said, lifting in table.items():
            say(agent, lifting)
            prompt, left = prompt_of_a_day(agent), left[1:]
            assert f"- {said}\n" not in f"{prompt}\n", lifting
            assert [one for one in left if f"- {one}" not in prompt] == [], lifting


def test_what_is_no_boundary_is_none() -> None:
    table = [
        "别担心，我没事", "别提了，今天倒霉透了", "妈妈叫我别熬夜", "别走嘛", "我别迟到就好", "他让我别问",
        "今天别说这个了", "叫我起床好吗",
        "别说，还真挺好吃", "不用谢", "don't worry about me", "he told me not to call", "don't mention it",
        "never mind", "call me later",
        "I never ask for help", "don't go yet", "don't tell me you forgot",
    ]  # fmt: skip
    assert [text for text in table if stated(message.read(text), "x")] == []


@pytest.mark.parametrize(
    ("message_", "kept"),
    [
        ("叫我阿禾就行 我在无锡开面包店的", "叫我阿禾就行"),
        ("call me jude, they/them, i run a bike shop in galway", "call me jude, they/them"),
        ("以后叫我小鹿，别叫我大名", "以后叫我小鹿，别叫我大名"),
    ],
)
def test_what_is_told_behind_a_name_to_be_called_by_is_none(message_: str, kept: str) -> None:
    assert [one.text for one in stated(message.read(message_), "x")] == [kept]


def test_who_is_in_danger_and_wants_no_help_sets_none() -> None:
    assert stated(message.read("别劝我了，我不想活了"), "x") == []


def test_a_pronoun_means_whom_they_spoke_of_last() -> None:
    [boundary] = stated(message.read("以后别跟我提他了"), "x", ["我跟男朋友分手了", "昨晚一夜没睡"])
    assert "男朋友" in boundary.target


def test_a_question_lifts_nothing() -> None:
    standing = [Fact("b", None, draft) for draft in stated(message.read("以后别提李强"), "x")]
    assert lifted(message.read("李强可以提了"), standing)
    assert not lifted(message.read("今天可以早点睡了"), standing)
    assert not lifted(message.read("别提李强，我可以自己处理"), standing)


def test_nobody_who_is_off_limits_is_raised_but_a_question_is_answered(tmp_path: Path) -> None:
    home = Home.build(tmp_path, character={"user_name": "何露"})
    model = ScriptedModel(lambda messages: "嗯。", understands=False)
    with home.agent(model) as agent:
        say_all(agent, "我男朋友叫李强", "昨天和李强去海边捡了贝壳", "以后别跟我提李强了")
        for text in ("早呀", "今天去海边走了走", "海边的贝壳真多", "我最近过得怎么样？"):
            home.clock.advance(days=1)
            say(agent, text)
            prompt = [one.content for one in model.requests[-1].messages if one.role == "system"]
            told = "\n".join(prompt).replace("以后别跟我提李强了", "")
            assert "李强" not in told, text
            agent.finish()
        home.clock.advance(days=1)
        say(agent, "我和李强去海边干了什么？")
        assert "贝壳" in "\n".join(one.content for one in model.requests[-1].messages if one.role == "system")


def test_pain_that_was_replied_to_is_not_raised_by_a_word_of_the_reply(tmp_path: Path) -> None:
    home = Home.build(tmp_path, character={"user_name": "何露"})
    comfort = "抱抱你，先去厨房喝口热水吧，把门锁好。"
    model = ScriptedModel(lambda messages: comfort if "割手腕" in messages[-1].content else "嗯。", understands=False)
    with home.agent(model) as agent:
        say_all(agent, "我昨晚又割手腕了", *(f"今天看了第{number}集电视剧" for number in range(60)))
        home.clock.advance(days=9)
        found = agent.recall("厨房的热水怎么烧")
        assert comfort in [hit.text for hit in found.ranked], "it is found"
        assert not any("割手腕" in hit.text or comfort in hit.text for hit in found.hits)


def test_its_owner_edits_it_ends_it_and_brings_it_back(home: Home) -> None:
    model = ScriptedModel(lambda messages: "嗯。", understands=False)

    def prompt(agent: Agent) -> str:
        agent.finish()
        home.clock.advance(days=1)
        say(agent, "早呀")
        return "\n".join(one.content for one in model.requests[-1].messages if one.role == "system")

    with home.agent(model) as agent:
        say_all(agent, "以后别跟我提李强了")
        [boundary] = agent.layers.core.view().boundaries
        changed = agent.memories.edit(boundary.id, text="别提李强，也别提他家里人")
        assert "- 别提李强，也别提他家里人" in prompt(agent) and "以后别跟我提" not in prompt(agent)
        agent.memories.archive([changed.id])
        assert "李强" not in prompt(agent)
        agent.memories.restore([changed.id])
        assert "- 别提李强，也别提他家里人" in prompt(agent)
        agent.memories.add_fact("别给我建议", kind="boundary")
        assert "- 别给我建议" in prompt(agent)
