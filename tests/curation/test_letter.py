"""The letter: what stands in it, and that each sentence leads to a memory that can be ended or forgotten."""

from __future__ import annotations

from moechat.agent import Agent
from moechat.curation.letter import Letter
from moechat.memory.unranked import DAYBOOK
from moechat.model import Fact, FactDraft
from tests.houses import Home, say, say_all


def texts(letter: Letter, part: str) -> list[str]:
    return [one.text for one in getattr(letter, part)]


def test_days_that_come_round_and_what_only_the_two_have_stand_apart_and_go_when_forgotten(home: Home) -> None:
    with home.agent() as agent:
        say_all(agent, "我的生日是8月3日", "以后我们管加班叫打怪吧", "我住在杭州", "我爷爷2020年3月4日去世了")
        letter = agent.memories.letter()
        assert [any("爷爷" in one for one in texts(letter, part)) for part in ("days", "matters")] == [False, True]
        assert "小满" in letter.ours[0].text and "角色" not in letter.ours[0].text
        assert any("8月3日" in one for one in texts(letter, "days"))
        assert len(letter.ours) == 1 and "打怪" in letter.ours[0].text
        assert not any("打怪" in one for one in texts(letter, "of_you"))
        agent.memories.forget([letter.ours[0].id, letter.days[0].id])
        letter = agent.memories.letter()
        assert (list(letter.ours), any("8月3日" in one for one in texts(letter, "days"))) == ([], False)
    home.configure(recall={"ours": False, "days": False})
    with home.agent() as agent:
        letter = agent.memories.letter()
        assert (list(letter.days), list(letter.ours)) == ([], [])


def test_a_time_is_told_as_long_as_it_was_said(agent: Agent) -> None:
    say_all(agent, "上个月我去了青岛", "昨天我去了西湖")
    lasting = {one.text: one.ends and f"{one.at:%m-%d}/{one.ends:%m-%d}" for one in agent.memories.letter().happened}
    assert sorted(map(str, lasting.values())) == ["04-01/04-30", "None"]


def test_what_happened_last_stands_first_whenever_it_was_told(home: Home, agent: Agent) -> None:
    for text in ("昨天我去了西湖", "上个月我去了青岛"):
        say(agent, text)
        home.clock.advance(days=1)
    agent.finish()
    assert ["西湖" in text for text in texts(agent.memories.letter(), "happened")] == [True, False]


def test_english_is_told_in_english_to_somebody_with_a_chinese_name(agent: Agent) -> None:
    say_all(agent, "I hate cilantro")
    assert texts(agent.memories.letter(), "of_you") == ["You dislike cilantro"]


def test_the_newest_page_of_her_diary_stands_first(home: Home, agent: Agent) -> None:
    for text in ("今天去爬山", "今天去游泳"):
        source = say(agent, text).exchange.id
        draft = FactDraft(f"她{text}了。", (source,), DAYBOOK, "character", DAYBOOK)
        agent.store.findings.put([Fact(text, home.clock.now(), draft)])
        home.clock.advance(days=1)
    assert texts(agent.memories.letter(), "daybook") == ["她今天去游泳了。", "她今天去爬山了。"]
