"""A talk of several over tables goes as one over files does."""

from __future__ import annotations

from pathlib import Path

from tests.groups import NAMES, agreed, build, facts, nth
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
