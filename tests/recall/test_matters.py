"""What moves a life is recalled where the mood is low, or where a question about oneself has no other answer."""

from __future__ import annotations

from datetime import timedelta

import pytest

from moechat.agent import Agent
from moechat.memory.episodes import overview
from moechat.model import Episode, Event, Exchange
from moechat.reading import nearness
from moechat.reading.matter import KINDS, LEAST, LIKELY, matter
from moechat.reading.saying import EVERYDAY, MATTERS
from moechat.recall import profile
from moechat.recall.episodic import MOST_DOUBTED
from moechat.recall.fragments import Names, event_line
from moechat.rules.reading import understand
from tests.houses import Home, moment, say_each

DOUBTED = ("我妈的腰又不行了", "查分那天我没敢看", "货车刚开走 空屋子说话有回音", "他家里不同意")
EVERY_DAY = ("中午吃了面，还行", "下雨了，公园里没人", "那部剧第二季什么时候出", "地铁停了十分钟")


def lives(home: Home, agent: Agent, *texts: str, days: int = 1) -> None:
    say_each(home, agent, *texts)
    home.clock.advance(hours=24 * days)


def overview_lines(agent: Agent) -> list[str]:
    """The lines of the overview in a context that begins now."""
    agent.layers.sync()
    stable = profile.chosen(agent.layers, agent.now(), (), agent.now())
    called = Names(language=agent.layers.character().language)
    times = stable.times
    return [event_line(one, agent.now(), called, aged=False, times=times.get(one.id, 1)) for one in stable.overview]


def recalled(agent: Agent, text: str) -> str:
    return "\n".join(hit.text for hit in agent.recall(text).hits if hit.recipe == "matters")


def test_the_kinds_are_those_of_the_examples() -> None:
    assert {one.kind for one in nearness.examples(MATTERS)} == {*KINDS, EVERYDAY}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("我姥爷上个月没了", "death"), ("they let me go on friday, whole office", "work_lost"),
        ("医生让我开始吃优甲乐", "medicine"), ("we're expecting a baby in july", "birth"),
    ],
)  # fmt: skip
def test_a_matter_is_heard_by_what_it_means(text: str, kind: str) -> None:
    assert matter(text).is_heard and matter(text).kind == kind


@pytest.mark.parametrize(
    ("told", "around"),
    [
        ("我爸上周走了。", "食堂中午的红烧茄子太咸了，喝了三杯水还渴。办公室的饮水机又坏了。"),
        ("my dad died last week. ", "Rained again on the way in. The lift is broken, so I met half the building. "),
    ],
)
def test_a_matter_is_heard_in_one_sentence_among_others(told: str, around: str) -> None:
    assert not matter(around * 2).is_heard
    assert matter(around + told + around).score >= LIKELY


def test_words_that_a_matter_is_told_in_may_tell_of_none() -> None:
    """They lie near to one another, and are told apart word by word."""
    assert matter("my friend died on the 3rd").score >= LIKELY > matter("my phone died on the 3rd").score
    assert matter("我们分了，真的分了").score >= LIKELY > matter("我跟体重秤分手了").score


def test_small_talk_is_no_matter() -> None:
    assert [text for text in EVERY_DAY if matter(text).is_heard] == []


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("老师说我延毕了", True), ("my boss told me not to come back on monday", True), ("single again i guess", True),
        ("被裁了。。。n+1 下周五last day", True), ("my little sister has leukaemia", True), ("didn't pass probation", True),
        ("要是我爸去世了我会疯的", False), ("what if i lose my job", False), ("歌里唱：妈妈走了，再也不回来", False),
        ("i'm allergic to peanuts", False), ("Never mention my ex", False), ("别再提我前夫", False),
    ],
)  # fmt: skip
def test_a_matter_is_an_event_whoever_said_it_and_none_where_nothing_happened(text: str, is_one: bool) -> None:
    found = understand(Exchange("x", moment("2025-05-20T15:00:00"), text, "")).events
    assert any(event.importance >= LEAST for event in found) is is_one


@pytest.mark.parametrize("text", ["The landlord is selling up.", "查分那天我没敢看"])
def test_what_may_be_a_matter_is_an_event_in_doubt_and_no_event_of_the_users_where_it_is_anothers(text: str) -> None:
    found = understand(Exchange("x", moment("2025-05-20T15:00:00"), text, ""))
    assert found.doubtful == {*found.events} and [one.subject for one in found.events] == [
        "" if text.isascii() else "用户"
    ]


def test_what_is_in_doubt_comes_in_a_low_mood_and_stands_in_the_overview_as_that(home: Home, agent: Agent) -> None:
    lives(home, agent, "我妈的腰又不行了")
    lives(home, agent, *EVERY_DAY, days=5)
    assert "腰" in recalled(agent, "今天心情不太好")
    (line,) = (line for line in overview_lines(agent) if "腰" in line)
    assert line.endswith("（拿不准）")


def test_the_overview_tells_grief_softly_and_not_at_all_where_that_is_switched_off(home: Home, agent: Agent) -> None:
    lives(home, agent, "我爷爷上周去世了")
    for _ in range(4):
        lives(home, agent, "我今天终于把论文交了", "昨天我们去西湖划船了", *EVERY_DAY)
    lines = overview_lines(agent)
    assert [line.endswith("去世了（轻声，不主动提）") for line in lines if "爷爷" in line] == [True]
    assert len(lines) == len(set(lines)) and any("论文" in line for line in lines)
    home.configure(recall={"what_matters": False})
    agent.look()
    assert not any("爷爷" in line for line in overview_lines(agent))


def test_of_what_only_may_move_a_life_few_stand_in_the_overview_and_behind_what_does(home: Home, agent: Agent) -> None:
    lives(home, agent, *DOUBTED)
    lives(home, agent, "我昨天被公司裁员了")
    lives(home, agent, *EVERY_DAY)
    moving = agent.layers.episodes.get(agent.layers.episodic.moving(agent.now()))
    in_doubt = [one.confirmed is False for one in moving.values()]
    assert in_doubt == sorted(in_doubt) and sum(in_doubt) == MOST_DOUBTED < len(DOUBTED)


def test_a_low_mood_brings_to_mind_what_moves_a_life(home: Home, agent: Agent) -> None:
    lives(home, agent, "我爷爷上周去世了")
    for _ in range(3):
        lives(home, agent, *EVERY_DAY, days=5)
    assert "爷爷" in recalled(agent, "今天心情不太好")
    assert "爷爷" not in recalled(agent, "奶茶涨价了")


def test_a_question_about_a_thing_or_about_another_brings_no_grief_up(home: Home, agent: Agent) -> None:
    lives(home, agent, "我二叔上周去世了", "李叔在桐汀公馆买了房")
    for _ in range(2):
        lives(home, agent, *EVERY_DAY, days=5)
    assert recalled(agent, "李叔家在哪个小区") == recalled(agent, "我的书法课还上着吗") == ""
    assert "二叔" in recalled(agent, "我家里最近出了什么事")


def test_what_is_over_or_long_ago_is_not_open(home: Home, agent: Agent) -> None:
    lives(home, agent, "我被公司裁员了", days=20)
    assert "裁员" in recalled(agent, "今天心情不太好")
    lives(home, agent, "我拿到offer了，下周入职新公司")
    assert "裁员" not in recalled(agent, "今天心情不太好")
    lives(home, agent, "我爷爷上周去世了", days=800)
    assert "爷爷" not in recalled(agent, "今天心情不太好")


def test_the_overview_holds_what_matters_before_what_is_new_and_the_same_words_once(home: Home, agent: Agent) -> None:
    lives(home, agent, "我昨天被公司裁员了", days=30)
    for _ in range(6):
        lives(home, agent, "我今天终于把论文交了", days=1)
    told = [e.event.text for e in overview(agent.layers.episodes, agent.now(), (), 2)]
    assert any("裁员" in text for text in told)
    assert len(told) == len(set(told))


def test_what_was_told_again_is_one_line_of_the_overview_with_its_count_and_last_day(home: Home, agent: Agent) -> None:
    for _ in range(3):
        lives(home, agent, "我昨天在公司加班到很晚", days=2)
    lives(home, agent, "我今天终于把论文交了")
    overtime, thesis = sorted(overview_lines(agent), key=lambda line: "论文" in line)
    assert overtime.endswith("（说过3次，这是最近一次）")
    assert overtime.startswith(f"{home.clock.now() - timedelta(days=4):%Y-%m-%d}")
    assert "次" not in thesis


def test_in_english_a_line_says_as_well_how_often_it_was_told() -> None:
    told = Episode("e1", moment("2025-10-03T20:00"), Event("The user worked late", ("x1",)))
    assert event_line(told, moment("2025-10-05"), Names(language="en"), aged=False, times=3).endswith(
        "The user worked late (told 3 times, this the latest)"
    )
