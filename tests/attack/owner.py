"""An owner whose folder is attacked: days of talk with marker words, understood by a scripted model, and how it is opened.

Every exchange has words of its own, so that one that is there twice is seen. What may be forgotten has marker words
(``MARKERS``) that occur nowhere else: in its words, in earlier ones, in its replies, and in what was made of it.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Any

from moechat.agent import Agent
from moechat.ai.embedding import HashEmbedder
from moechat.ai.scripted import ScriptedModel
from moechat.clock import SetClock
from moechat.house import House
from moechat.model import Message
from moechat.store.tombstones import ACCOUNT
from tests.houses import SELDOM_S, Home, answer, moment, quoted, say

SECRET, NAME, TOWN = "彽彾", "圞龘", "泇鼗"  # in one exchange each, and in an import
DIM = 64
ASKED = re.compile(r"^\[(\d+)\] 20.*\n用户> (.*)$", re.MULTILINE)
CAT = re.compile(r"叫(\S+?)的猫")
WALK = re.compile(r"我和(\S+?)去了(\S+?桥)")
NUMBER = re.compile(r"第(\d+)句")


class Replies:
    """The model's words: they name the number of the message and how often it was answered, nothing else of it. ``mark``
    differs from process to process."""

    def __init__(self, mark: str = "r") -> None:
        self._mark = mark
        self._counts: Counter[str] = Counter()

    def __call__(self, messages: Sequence[Message]) -> str:
        match = NUMBER.search(messages[-1].content)
        number = match[1] if match else "某"
        self._counts[number] += 1
        return f"听到了{self._mark}{number}x{self._counts[number]}，我会记得这件事的。"


def understand(messages: Sequence[Message]) -> str:
    """What the model makes of a batch: a fact for every cat, an event for every walk, a tag for all."""
    lines = ASKED.findall(messages[-1].content)
    facts: list[dict[str, Any]] = []
    events: list[dict[str, Any]] = []
    tags = []
    for number, text in lines:
        tags.append({"id": int(number), "tag": f"用户说了tag{NUMBER.search(text)[1]}x", "keywords": []})  # type: ignore[index]
        if cat := CAT.search(text):
            facts.append({
                "text": f"用户养了一只叫{cat[1]}的猫", "kind": "attribute", "entity": "user", "keyword": "宠物", "target": cat[1],
                "sources": [int(number)],
            })  # fmt: skip
        if walk := WALK.search(text):
            who, where = walk[1], walk[2]
            events.append({
                "text": f"用户和{who}去了{where}散心", "subject": "用户", "predicate": "去", "object": where, "importance": 5,
                "keywords": [who, where], "place": where, "insight": f"用户喜欢{where}", "topic": f"生活->散步->{where}",
                "related": [f"人->{who}"], "sources": [int(number)],
            })  # fmt: skip
    made = json.loads(answer(len(lines), facts=facts, events=events)) | {"exchanges": tags}
    return json.dumps(made, ensure_ascii=False)


@dataclass(frozen=True)
class Place:
    """Where an owner lies, and what time it is there."""

    folder: Path
    now: str

    @property
    def owner(self) -> Path:
        return Home(self.folder / "data", self.folder / "config.yaml", SetClock(moment(self.now))).folder

    def open(self, mark: str) -> House:
        """In a process of its own: what one copy forgets is not forgotten in the next."""
        os.environ[ACCOUNT] = str(self.folder / "account")
        return House(
            self.folder / "data", self.folder / "config.yaml", clock=SetClock(datetime.fromisoformat(self.now)),
            model=ScriptedModel(Replies(mark), quoted(understand)), embedder=HashEmbedder(DIM), tick_s=SELDOM_S,
        )  # fmt: skip


TALK = [  # (when, what is said); the last day is what the context holds
    ("2025-05-15T09:00:00", "第1句，昨天我和小夏去了十里桥"),
    ("2025-05-15T09:05:00", "第2句，我养了一只叫雪球的猫"),
    ("2025-05-15T09:10:00", f"第3句，昨天我和{SECRET}zqa去了{SECRET}桥"),
    ("2025-05-15T09:15:00", "第4句，外面下雨了"),
    ("2025-05-17T20:00:00", "第5句，还记得前几天我去的那座桥吗"),
    ("2025-05-17T20:05:00", "第6句，我养了一只叫煤球的猫"),
    ("2025-05-17T20:10:00", "第7句，昨天我和师兄去了石板桥"),
    ("2025-05-20T10:00:00", "第8句，今天有点累"),
    ("2025-05-20T10:05:00", "第9句，昨天我和阿澈去了彩虹桥"),
    ("2025-05-20T10:10:00", "第10句，我养了一只叫旧名zqold的猫"),
    ("2025-05-20T10:15:00", "第11句，昨天我和教练去了月牙桥"),
]
ENDS = "2025-05-20T10:20:00+08:00"
OLD, CORRECTED, LATEST = "20250515-091000", "20250520-101000", "20250520-101500"
WORDS_LATER = f"第10句，我养了一只叫{NAME}zqcat的猫"
MARKERS = {
    OLD: (SECRET, "zqa", "r3x1", "tag3x"),
    CORRECTED: (NAME, "zqold", "zqcat", "r10x1", "r10x2", "zqreply", "tag10x"),
}
"""What stands in the exchange, in its earlier wordings and in what was made of it, and nowhere else."""


def build(folder: Path) -> Place:
    """Days of talk: every exchange settled, understood and embedded; one was corrected, one was answered twice."""
    home = Home.build(
        folder, reflection={"enabled": False}, embedding={"provider": "hash"}, recall={"deadline_ms": 60_000}
    )
    home.embedder = HashEmbedder(DIM)
    for _, lines in groupby(TALK, key=lambda line: line[0][:10]):  # the program is opened anew each day
        day = list(lines)
        home.clock.at = moment(day[0][0])
        with home.open(ScriptedModel(Replies(), quoted(understand))) as house:
            agent = house.agent()
            for at, text in day:
                home.clock.at = moment(at)
                say(agent, text)
                if text.startswith("第10句"):
                    list(agent.conversation.regenerate())
                    agent.finish()
                    agent.conversation.correct(CORRECTED, user=WORDS_LATER, char="听到了zqreply，我会记得的。")
            agent.finish()
    return Place(folder, ENDS)


def by_text(agent: Agent, kind: str, words: str) -> str:
    """The id of the one memory of a kind that has these words."""
    (memory,) = agent.memories.listed([kind], search=words, limit=0).memories  # type: ignore[list-item]
    return memory.id
