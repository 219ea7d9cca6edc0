"""What a preview of forgetting shows beside what goes: whoever repeats it, and nobody who only talks the same way."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from moechat.agent import Agent
from tests.houses import Home, say, say_all, told

Rows = list[tuple[str, str]]
ZH_THINGS = (
    "火锅 面条 电影 绘本 跑步 加班 会议 论文 房租 地铁 吉他 咖啡 生日 体检 感冒 搬家 室友 妹妹 老板 爬山".split()
)
ZH_SAID = (
    "今天和{a}{b}，有点累", "我喜欢{a}，不过{b}更好", "我讨厌{a}", "其实我一直没跟你说，我觉得{a}很吵",
    "我跟你说一件事，{a}又贵了", "这件事我没有告诉任何人，我怕{a}", "不要告诉别人，我其实喜欢{a}",
)  # fmt: skip
ZH_REPLIES = ("{a}总是让人开心", "谢谢你愿意告诉我这件事", "我不会告诉任何人的", "你其实一直没跟我说过{a}")
EN_THINGS = (
    "ramen movies painting running dogs overtime meetings rent guitar coffee colds sister boss trains hiking".split()
)
EN_SAID = (
    "I was out with my {a} today", "I like {a} but I think {b} is better", "I have never told anyone about {a}",
    "Please do not tell anyone that I like {a}", "There is something I have not told you about {a}",
)  # fmt: skip
EN_REPLIES = ("I think {a} can be nice", "Thank you for telling me about this", "I will not tell anyone about {a}")
SECRETS: dict[str, Rows] = {
    "zh": [
        ("其实我一直没跟你说，我偷偷辞职了，准备去学木工，不要告诉别人", "谢谢你愿意告诉我这件事"),
        ("我最近有点累", "你偷偷辞职了，准备去学木工，当然会累"),
        ("你还记得我的打算吗", "记得，你说准备去学木工，不要告诉别人"),
    ],
    "zh short": [
        ("我跟你说一件事，我怀孕了，还没有告诉任何人", "我不会告诉任何人的"),
        ("今天吐了", "怀孕了会这样，好好休息"),
        ("我该请假吗", "你怀孕了，还没有告诉任何人，先想想怎么和公司说"),
    ],
    "en": [
        ("There is something I have not told you: I secretly quit my job to learn carpentry", "Thank you for telling me"),
        ("I saw my boss today", "You secretly quit your job, so where was that?"),
        ("Do you remember what I want?", "You want to learn carpentry, as you told me"),
    ],
    "en short": [
        ("Please do not tell anyone that I am pregnant", "I will not tell anyone"),
        ("I was sick today", "If you are pregnant that happens"),
        ("What do I say at work?", "Do not tell anyone that you are pregnant before you are ready"),
    ],
}  # fmt: skip


def month(language: str, count: int = 155) -> Rows:
    """Ordinary talk, in which the same turns of phrase come again and again."""
    numbers = random.Random(5)
    zh = language == "zh"
    things, said, replies = (ZH_THINGS, ZH_SAID, ZH_REPLIES) if zh else (EN_THINGS, EN_SAID, EN_REPLIES)

    def filled(patterns: tuple[str, ...]) -> str:
        return numbers.choice(patterns).format(a=numbers.choice(things), b=numbers.choice(things))

    return [(filled(said), filled(replies)) for _ in range(count)]


@pytest.mark.parametrize("name", [pytest.param("zh", marks=pytest.mark.slow), "zh short", "en"])
def test_a_secret_that_two_replies_repeat_shows_these_two(tmp_path: Path, name: str) -> None:
    language = name.split()[0]
    home = Home.build(tmp_path, character={"language": language}, embedding={"provider": "hash"})
    rows = month(language)
    secret, *repeated = SECRETS[name]
    rows[80], rows[100], rows[150] = secret, *repeated
    with home.agent() as agent:
        ids = [told(agent.store, home.clock, user, char) for user, char in rows]
        agent.finish()
        assert [one.id for one in agent.memories.forgets([ids[80]]).repeats] == [ids[100], ids[150]]
        assert agent.memories.forgets([ids[80], ids[100], ids[150]]).repeats == []


def lost_fact(agent: Agent) -> str:
    say_all(agent, "我讨厌香菜")
    (fact,) = agent.store.findings.facts()
    return fact.id


def test_of_a_fact_whatever_names_its_object_is_shown(agent: Agent) -> None:
    fact = lost_fact(agent)
    other = say(agent, "今天的面里又有香菜").exchange.id
    say_all(agent, "今天下雨了")
    shown = [one.id for one in agent.memories.forgets([fact]).repeats]
    assert other in shown and len(shown) == 2


def test_an_object_of_one_character_names_nothing(agent: Agent) -> None:
    say(agent, "猫")
    other = say(agent, "今天看见一只猫在晒太阳").exchange.id
    agent.finish()
    fact = agent.memories.add_fact("阿明养宠物", keyword="宠物", target="猫").id
    assert other not in [one.id for one in agent.memories.forgets([fact]).repeats]
