"""What a tab gets of a house, by what it wants: as the routes of the page answer, without a browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from moechat.access.keys import EVERYTHING, PASS, Denied, Pass
from moechat.house import House
from moechat.web.desk import Desk, View
from moechat.web.routes import Doings, Wish
from tests.houses import CHARACTER, Home, polite, say, silent

PATIENCE_S = 60.0


class Tab:
    """A tab of the page: ``place`` is where it is."""

    def __init__(self, house: House) -> None:
        PASS.set(EVERYTHING)
        self.desk = Desk(house)
        self.doings = Doings(self.desk)
        self.place: dict[str, Any] = {"character": CHARACTER}

    def __call__(self, verb: str, **values: Any) -> View:
        return self.doings.verbs[verb](Wish(**self.place, language="zh", tab="t", **values))

    def says(self, text: str) -> str:
        """The id of the exchange, when it is over."""
        assert self("say", text=text).keys() == {"edition"}
        return self.over()

    def over(self) -> str:
        turn = self.desk.turns.last(self.desk.conversation(Wish(**self.place).place))
        assert turn is not None and turn.over.wait(PATIENCE_S)
        return turn.exchange_id

    def talk(self) -> list[tuple[str, str]]:
        return [(one["user"], one["char"]) for one in self("open")["talk"]["exchanges"]]


@pytest.fixture
def tab(house: House) -> Iterator[Tab]:
    made = Tab(house)
    yield made
    made.desk.close()


def test_the_list_of_talks_has_all_that_one_can_go_to(tab: Tab, house: House) -> None:
    tab.says("你好")
    say(house.agent(CHARACTER, world="古代"), "请坐")
    [*_, _] = house.agent().in_talk("旅行").talk("我们去西湖吧")
    held = tab("hold")["place"]
    assert held["held"] == 1 and held["talk"] == ""
    talks = tab("open")["talks"]
    assert [name for name in ("主对话", "旅行", "古代", 'data-held="1"') if name not in talks] == []
    tab.place |= {"talk": "旅行"}
    assert tab.talk() == [("我们去西湖吧", "嗯，我记住了。")]
    assert tab("one-talk")["html"].count('data-do="talk-do"') >= 6
    assert tab("talk-do", action={"act": "title", "title": "去西湖"})["note"] and "去西湖" in tab("open")["talks"]
    exported = tab("talk-do", action={"act": "export", "form": "text"})
    assert exported["file"] == "去西湖.txt" and "我们去西湖吧" in exported["text"]
    assert tab("talk-do", action={"act": "delete"})["gone"]
    tab.place = {"character": CHARACTER}
    assert "去西湖" not in tab("open")["talks"]
    tab.place = {"character": CHARACTER, "held": 7}
    assert tab("open")["bad"] and tab("open")["place"]["held"] == 0


def test_whoever_is_new_is_led_and_nobody_else(tab: Tab, house: House) -> None:
    PASS.set(Pass(users=frozenset({"anne"})))
    assert not tab("open")["guide"] and tab("guide") == {}
    PASS.set(EVERYTHING)
    assert not tab("open")["guide"]  # A model is there.
    house.model = None
    assert tab("open")["guide"]
    house.model = silent()
    tab.says("你好")
    house.model = None
    assert not tab("open")["guide"]
    PASS.set(Pass(characters=frozenset({"别人"})))
    with pytest.raises(Denied):
        tab("say", text="你好")


def test_a_mind_is_changed_on_the_page(tab: Tab) -> None:
    first, second = tab.says("我住在杭州"), tab.says("今天下雨")
    assert tab("say", text="  ") == {} and tab("stop") == {}
    assert tab("again", id=second).keys() == {"edition"} and tab.over() == second
    assert tab("choose", id=second, variant=0) == {}
    assert tab("correct", id=first, text="我住在苏州")["offers"] == "again"
    assert tab("correct", id=first, side="char", text="苏州好") == {}
    assert tab.talk() == [("我住在苏州", "苏州好"), ("今天下雨", "嗯，我记住了。")]
    gone = tab("delete", id=first)
    assert (set(gone["ids"]), gone["offers"], tab.talk()) == ({first, second}, "restore", [])
    assert tab("restore", ids=gone["ids"])["note"] and len(tab.talk()) == 2
    assert tab("branch", id=first) == {} and tab.talk() == [("我住在苏州", "苏州好")]
    third = tab.says("天晴了")
    assert "天晴了" in tab("trace", id=third)["html"]
    assert tab("branch", id=second, side="user") == {} and [user for user, _ in tab.talk()][-1] == "今天下雨"
    assert tab("branch", id=third, side="user") == {} and [user for user, _ in tab.talk()][-1] == "天晴了"
    assert tab("remember", text=" ")["bad"] and tab("remember", text="我对花生过敏")["note"]
    assert "用户对花生过敏" in [memory.text for memory in tab.desk.house.agent().memories.listed(["fact"]).memories]


def test_a_clock_that_was_put_back_turns_nothing_round_and_loses_nothing(tab: Tab, home: Home) -> None:
    tab.says("我住在杭州")
    home.clock.advance(days=-400)
    tab.says("我讨厌香菜")
    assert [user for user, _ in tab.talk()] == ["我住在杭州", "我讨厌香菜"]
    room = tab("room", action={"do": "room", "room": "memories"})["html"]
    assert "杭州" in room and "香菜" in room
    assert tab("find", text="香菜")["html"].count("data-id") == 1


def test_what_was_said_is_found_again_with_the_words_around_it(tab: Tab) -> None:
    ids = [tab.says(f"第{n}天，{'我们在西湖边走' if n == 3 else '没什么事'}") for n in range(8)]
    found = tab("find", text="西湖")["html"]
    assert f'data-id="{ids[3]}"' in found and found.count("data-id") == 1 and "在西湖边" in found
    assert "data-id" not in tab("find", text="火星")["html"]
    tab.desk.page = 3
    newest = tab("open")["talk"]
    assert [one["id"] for one in newest["exchanges"]] == ids[5:] and newest["more"]
    assert [one["id"] for one in tab("earlier", id=ids[5])["exchanges"]] == ids[2:5]
    around = tab("around", id=ids[3])
    assert ids[3] in [one["id"] for one in around["exchanges"]] and not around["is_newest"]
    assert tab("around", id=ids[7])["is_newest"]


def test_whoever_comes_back_sees_her_word_until_it_is_answered(tmp_path: Path) -> None:
    home = Home.build(tmp_path, greeting={"enabled": True}, now="2025-05-20T15:00:00")
    with home.open() as house:
        tab = Tab(house)
        tab.says("我今天终于拿到驾照了")
        house.agent().finish()
        assert len(tab.talk()) == 1
        home.clock.advance(hours=47)
        word = tab.talk()[-1]
        assert word[0] == "" and "驾照" in word[1] and tab.talk()[-1] == word
        assert len(house.agent().recent(9)) == 1
        tab.says("是啊")
        assert tab.talk() == [("我今天终于拿到驾照了", polite(())), word, ("是啊", polite(()))]
        tab.desk.close()
