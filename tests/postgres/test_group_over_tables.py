"""A talk of several over tables goes as one over files does."""

from __future__ import annotations

from pathlib import Path

import pytest

from moechat.errors import NotFound
from tests.groups import NAMES, agreed, build, facts, lines_of, nth
from tests.houses import silent


def test_a_talk_of_several_over_tables(tmp_path: Path, address: str) -> None:
    home = build(tmp_path, store={"kind": "postgres", "address": address})
    with home.open(silent(nth)) as house:
        group = house.groups.begin(NAMES, people=["安妮"], order="list")
        list(group.talk("我住在杭州"))
        list(group.talk("我住在上海", "安妮"))
        first, *_, last = (row.exchange.id for row in group.recent(20))
        group.correct(first, user="我住在苏州")
        group.retract(last)
        name, whole = group.name, agreed(house, group)
    with home.open(silent(nth)) as house:
        group = house.groups.of(name, NAMES[1])
        assert agreed(house, group) == whole and whole[0] == ("阿明", "我住在苏州") and len(whole) == 7
        assert {*facts(house.agent(NAMES[2]))} == {("user", "用户住在苏州"), ("安妮", "安妮住在上海")}
        group.forget(first)
        assert [words for _, words in agreed(house, group)][:1] == ["我住在上海"]
        assert facts(house.agent(NAMES[0])) == [("安妮", "安妮住在上海")]


def test_people_with_memories_of_their_own_over_tables(tmp_path: Path, address: str) -> None:
    home = build(tmp_path, store={"kind": "postgres", "address": address})
    with home.open(silent(nth)) as house:
        list(house.agent(NAMES[1], "安妮").conversation.talk("只告诉你：我把夜明珠埋在院子里"))
        mine = house.groups.begin(NAMES, order="list")
        list(mine.talk("安妮来之前的话"))
        mine.add_user("安妮")
        name = mine.name
        list(mine.talk("我住在杭州"))
        list(house.groups.of(name, NAMES[1], "安妮").talk("我住在上海"))
    with home.open(silent(nth)) as house:
        mine, hers = (house.groups.of(name, NAMES[1], user) for user in ("", "安妮"))
        lines = agreed(house, mine)
        assert lines[4:] == lines_of(house.agent(NAMES[2], "安妮"), name, "安妮") and len(lines) == 12
        known = [{*facts(house.agent(NAMES[2], user))} for user in ("", "安妮")]
        assert known == [
            {("user", "用户住在杭州"), ("安妮", "安妮住在上海")}, {("阿明", "阿明住在杭州"), ("user", "用户住在上海")},
        ]  # fmt: skip
        assert "夜明珠" not in "".join(words for _, words in lines)
        hers.correct(hers.recent(99)[4].exchange.id, user="我住在苏州")
        assert ("安妮", "安妮住在苏州") in facts(house.agent(NAMES[0])) and agreed(house, mine)[8] == (
            "安妮",
            "我住在苏州",
        )
        mine.remove("安妮")
        with pytest.raises(NotFound):
            house.groups.of(name, NAMES[1], "安妮")
