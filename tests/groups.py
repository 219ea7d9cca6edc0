"""Talks of several for tests: a house with three characters, and what each of them remembers of a talk."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from moechat.agent import Agent
from moechat.clock import SetClock
from moechat.house import House
from moechat.house.group import GroupTalk
from moechat.model import Message
from tests.houses import CHARACTER, Home, silent

NAMES = (CHARACTER, "青禾", "阿澈")
Lines = list[tuple[str, str]]


def build(folder: Path, **sections: object) -> Home:
    """Three characters who call their user 阿明."""
    home = Home.build(folder, **sections)
    for name in NAMES[1:]:
        own = home.data / "agents" / name
        own.mkdir(parents=True)
        keys = {"name": name, "user_name": "阿明", "language": "zh", "persona": f"你是{name}。"}
        (own / "character.yaml").write_text(yaml.safe_dump(keys, allow_unicode=True), encoding="utf-8")
    return home


def nth(messages: Sequence[Message]) -> str:
    """A reply that is said only once: whose turn it is, and how many messages she has seen."""
    who = next(name for name in NAMES if f"你是{name}，" in messages[0].content)
    return f"{who}第{sum(message.role != 'system' for message in messages)}句"


def lines_of(agent: Agent, talk: str, user: str = "阿明") -> Lines:
    """Who said what, as this character remembers it with a user."""
    tree = agent.store.tree
    ids = [id_ for id_ in tree.path(talk) if id_ not in tree.hidden()][::-1]
    lines = Lines()
    for one in agent.store.exchanges.of(ids).values():
        lines.append((one.speaker or user, one.user))
        lines += [(agent.character.name, one.heard)] if one.heard else []
    return lines


def agreed(house: House, group: GroupTalk) -> Lines:
    """What all of them remember, which is the same, and what the page shows; nothing waits."""
    memories = [lines_of(house.agent(name), group.name) for name in NAMES]
    assert memories[0] == memories[1] == memories[2]
    shown = [(row.exchange.speaker or "阿明", row.exchange.user or row.exchange.char) for row in group.recent(10_000)]
    assert shown == memories[0]
    assert [house.agent(name).store.tree.talks[group.name].waiting for name in NAMES] == [{}, {}, {}]
    return memories[0]


def facts(agent: Agent) -> list[tuple[str, str]]:
    """(whose, what) of all that is known."""
    agent.look()
    return [(fact.draft.entity, fact.text) for fact in agent.layers.core.current()]


@dataclass
class DyingClock(SetClock):
    """Whoever asks it the time once too often dies there."""

    left: int = 0

    def now(self) -> object:  # type: ignore[override]
        self.left -= 1
        if self.left == 0:
            os._exit(9)
        return self.at


def _work(home: Home, left: int, doing: Callable[[House], None], replies: Any) -> None:
    with home.connected(model=silent(replies), clock=DyingClock(home.clock.at, left)) as house:
        doing(house)
    os._exit(0)


def killed(home: Home, left: int, doing: Callable[[House], None], replies: Any = nth) -> bool:
    """Do something in another process that dies on the way. Whether it did."""
    child = multiprocessing.get_context("fork").Process(target=_work, args=(home, left, doing, replies))
    child.start()
    child.join(60)
    return child.exitcode == 9
