"""A past that was brought: each of its conversations is a talk that is opened, gone on with, and taken back with every byte."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from moechat.agent import Agent
from moechat.curation.talks import talks
from moechat.errors import MoeChatError
from moechat.house import House
from moechat.house.arrivals import Coming, Row, Wishes
from moechat.house.studio import look
from moechat.model import Message
from tests.houses import CHARACTER, Home, moment, polite, recalled, say, shown, silent

SECRET = "Qwertz"  # stands in every message, reply and title


def conversation(title: str, day: str, turns: int) -> dict[str, Any]:
    """A conversation of ChatGPT's export; its second message was written twice."""
    nodes: dict[str, Any] = {}
    at = moment(f"{day}T20:00:00").timestamp()

    def node(id_: str, parent: str | None, role: str, text: str) -> None:
        message = {"author": {"role": role}, "create_time": at + len(nodes) * 60, "content": {"parts": [text]}}
        nodes[id_] = {"id": id_, "parent": parent, "message": message}

    before = None
    for n in range(turns):
        node(f"u{n}", before, "user", f"{title} 问 {n} {SECRET}")
        node(f"a{n}", f"u{n}", "assistant", f"{title} 答 {n} {SECRET}")
        before = f"a{n}"
    node("u1'", "a0", "user", f"{title} 改写 {SECRET}")
    node("a1'", "u1'", "assistant", f"{title} 另答 {SECRET}")
    return {"title": f"{title}{SECRET}", "create_time": at, "current_node": before, "mapping": nodes}


def saved(home: Home, *conversations: dict[str, Any]) -> Path:
    path = home.data.parent / "conversations.json"
    path.write_text(json.dumps(conversations), encoding="utf-8")
    return path


def taken(house: House, path: Path) -> Row:
    return Coming(house, look(path), Wishes(CHARACTER)).take(lambda done, of: None)


def path_of(agent: Agent, talk: str) -> list[tuple[str, str, str]]:
    rows = agent.in_talk(talk).path.recent(1000)
    return [(f"{row.exchange.at:%m-%d %H:%M}", row.exchange.user, row.exchange.char) for row in rows]


def test_each_conversation_is_a_talk_in_its_dates_and_its_branches_stand(home: Home) -> None:
    path = saved(home, conversation("猫", "2023-05-01", 3), conversation("狗", "2023-06-01", 3))
    with home.open() as house:
        row = Coming(house, look(path), Wishes(CHARACTER)).preview()
        assert (row["talks"], row["exchanges"], row["messages"], row["first"][:10]) == (2, 8, 16, "2023-05-01")
        assert not house.agent().store.tree.parents, "nothing is written by looking"
        assert taken(house, path)["talks"] == 2
    for _ in ("after a start", "after the log is shortened"):
        with home.open() as house:
            agent = house.agent()
            summaries = {one.name: one for one in talks(agent.store)}
            assert [len(summaries[f"{name}{SECRET}"].imports) for name in "猫狗"] == [1, 1]
            assert path_of(agent, f"猫{SECRET}") == [
                (f"05-01 20:0{2 * n}", f"猫 问 {n} {SECRET}", f"猫 答 {n} {SECRET}") for n in range(3)
            ]
            (fork,) = agent.in_talk(f"狗{SECRET}").path.forks().values()
            assert len(fork) == 2
            agent.store.rewrite_log(home.clock.now())


def test_a_talk_goes_on_where_it_ended_and_is_remembered_once(home: Home) -> None:
    prompts: list[list[str]] = []

    def replies(messages: Sequence[Message]) -> str:
        prompts.append([one.content for one in messages])
        return polite(messages)

    with home.open(silent(replies)) as house:
        taken(house, saved(home, conversation("猫", "2023-05-01", 14), conversation("狗", "2023-06-01", 2)))
        agent = house.agent()
        before = len(agent.store.tree.parents)
        say(agent.in_talk(f"猫{SECRET}"), "我们说到哪了")
        words = prompts[-1]
        assert [words.count(f"猫 问 {n} {SECRET}") for n in (13, 4, 3)] == [1, 1, 0], "the end of it is shown"
        say(agent.in_talk(f"猫{SECRET}"), "好的")
        assert [one[1] for one in path_of(agent, f"猫{SECRET}")[-3:]] == [f"猫 问 13 {SECRET}", "我们说到哪了", "好的"]
        assert len(agent.store.tree.parents) == before + 2
        assert shown(recalled(agent, "猫 问 2")).count(f"猫 问 2 {SECRET}") == 1


def test_an_export_that_grew_goes_on_in_the_same_talks(home: Home, house: House) -> None:
    taken(house, saved(home, conversation("猫", "2023-05-01", 2)))
    agent = house.agent()
    say(agent.in_talk(f"猫{SECRET}"), "在这里说的")
    grown = conversation("猫", "2023-05-01", 2)
    at = moment("2023-07-01T20:00:00").timestamp()
    grown["mapping"]["u9"] = {
        "id": "u9", "parent": "a1",
        "message": {"author": {"role": "user"}, "create_time": at, "content": {"parts": [f"后来 {SECRET}"]}},
    }  # fmt: skip
    grown["current_node"] = "u9"
    row = taken(house, saved(home, grown, conversation("猫", "2023-08-01", 2)))
    assert (row["doubled"], row["exchanges"], row["talks"]) == (3, 4, 2)
    assert [one[1] for one in path_of(agent, f"猫{SECRET}")][-2:] == ["在这里说的", f"后来 {SECRET}"]
    assert len(path_of(agent, f"猫{SECRET} 2")) == 2, "another talk of that title has a number"
    with pytest.raises(MoeChatError, match="all of it is there already"):
        taken(house, saved(home, grown))


def test_taken_back_no_byte_is_left_of_it_and_what_was_said_here_stays(home: Home) -> None:
    with home.open() as house:
        batch = taken(house, saved(home, conversation("猫", "2023-05-01", 3), conversation("狗", "2023-06-01", 2)))[
            "batch"
        ]
        agent = house.agent()
        say(agent.in_talk(f"狗{SECRET}"), "在这里说的")
        agent.memories.take_back(batch)
        agent.finish()
        assert [one[1] for one in path_of(agent, f"狗{SECRET}")] == ["在这里说的"]
        assert [one.name for one in talks(agent.store) if one.exchanges] == [f"狗{SECRET}"]
        agent.memories.forget([path[0] for path in [list(agent.store.tree.path(f"狗{SECRET}"))]])
        agent.finish()
    (home.data.parent / "conversations.json").unlink()
    left = [path for path in home.data.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]
    assert left == []
