"""One reading of a message: whether it is play, goes on with play or is taken back; nothing of that is a fact."""

from __future__ import annotations

from pathlib import Path

from moechat.rules.message import goes_on, read, takes_back
from tests.houses import Home, say

PLAYS = (
    ("let's roleplay. you're the captain and i'm your first mate", "i'm allergic to salt water"),
    ("咱们来演一段：你是侦探，我是富商", "我对花生过敏，住在上海"),
    ("你当店长，我当客人", "老板，我最喜欢芒果"),
    ("we're playing hospitals, you're the nurse", "i'm a heart surgeon"),
    ("i'll be the pirate and you be my parrot", "i'm 90 and i live on a ship"),
    ("陪我演一段吧", "我是皇上，今年六岁"),
    ("假装我是个厨师", "我在东京住了十年"),
)
ENDS = ("ok back to real life", "end of roleplay", "好了不演了", "说正经的")
TAKES_BACK = ("just kidding", "haha jk", "i was joking lol", "骗你的哈哈", "开玩笑的啦", "当我没说")
STANDS = (
    "you're the best, i'm so glad", "你是个好人，我是认真的", "i'm not joking", "我没开玩笑", "actually no", "真的",
    "we play football on sundays", "我昨天演了一场戏",
)  # fmt: skip


def test_announced_play_goes_on_until_it_ends() -> None:
    wrong = [(opening, text) for opening, text in PLAYS if read(text, [opening]).play != "role"]
    wrong += [(opening, end) for opening, text in PLAYS for end in ENDS if goes_on([opening, text, end])]
    wrong += [(opening, "") for opening, _ in PLAYS if read(opening).play != "role"]
    assert wrong == []
    assert read("i live in a yellow submarine", ["here are the lyrics:"]).play == "quotation"
    assert read("i live in leeds", ["here are the lyrics:", "we all live here"]).play == ""


def test_what_is_taken_back_was_a_joke() -> None:
    assert [text for text in TAKES_BACK if not takes_back(text)] == []
    assert [text for text in STANDS if takes_back(text) or read(text).play or goes_on([text])] == []
    assert read("i have twelve cats", after="just kidding").play == "joke"


def test_nothing_of_play_or_of_what_was_taken_back_is_kept(tmp_path: Path) -> None:
    with Home.build(tmp_path).open() as house:
        agent = house.agent()
        for text in (
            "咱们来演一段：你是侦探，我是富商", "我对花生过敏", "好了不演了", "我住在月球", "骗你的哈哈", "我住在杭州",
            "嗯",
        ):  # fmt: skip
            say(agent, text)
        assert [fact.text for fact in agent.layers.core.current()] == ["用户住在杭州"]


def test_play_that_nobody_ended_is_over_after_two_hours(tmp_path: Path) -> None:
    home = Home.build(tmp_path)
    with home.open() as house:
        agent = house.agent()
        say(agent, "咱们来演一段：你是侦探，我是富商")
        for minutes, text in ((115, "我住在月球"), (125, "我住在杭州")):
            home.clock.advance(minutes=minutes)
            say(agent, text)
        agent.finish()
        assert [fact.text for fact in agent.layers.core.current()] == ["用户住在杭州"]


def test_a_denial_without_a_subject_asks_nothing() -> None:
    assert [read(text).clauses[0].mood for text in ("dont like mushrooms", "don't eat pork")] == ["said", "said"]
    assert [read(text).clauses[0].mood for text in ("don't you like tea", "does he like tea")] == [
        "question",
        "question",
    ]
