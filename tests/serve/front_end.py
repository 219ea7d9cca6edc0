"""A front end as people use it, without its window: it sends its whole history each time, and its user changes it at will."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

Ask = Callable[[Sequence[dict[str, str]]], str]
WORDS = (
    "嗯", "好", "晚安", "今天好累", "周末去爬山吗", "猫又把杯子打翻了", "我换工作了", "What do you think?", "再讲一遍",
)  # fmt: skip


@dataclass
class FrontEnd:
    """``asks`` are the ids of what its user sends: one for each message, however often it is sent again. ``window``: so many of
    the newest turns are sent, 0 for all; ``rewrites``: every text but the newest is changed on the way."""

    chance: random.Random
    window: int = 0
    rewrites: bool = False
    greeting: str = ""  # of its card
    turns: list[list[str]] = field(default_factory=list)  # [id, message, reply] each
    swipes: dict[str, list[str]] = field(default_factory=dict)  # id → its replies
    asks: list[str] = field(default_factory=list)
    removed: set[str] = field(default_factory=set)  # out of the middle
    number: int = 0

    def messages(self, last: int) -> list[dict[str, str]]:
        """The history before a turn, as it is sent."""
        first = max(last - self.window, 0) if self.window else 0
        sent = [{"role": "assistant", "content": self.greeting}] if self.greeting else []
        for _, message, reply in self.turns[first:last]:
            words = [f"〔{text}〕" if self.rewrites else text for text in (message, reply)]
            sent.append({"role": "user", "content": words[0]})
            sent += [{"role": "assistant", "content": words[1]}] if reply else []
        return sent

    def step(self, ask: Ask) -> str:
        """One thing that its user does; returns its name."""
        acts = [self.send] * 6
        if self.turns:
            acts += [self.swipe, self.swipe, self.edit_last, self.edit_earlier, self.delete, self.go_on, self.choose]
        act = self.chance.choice(acts)
        act(ask)
        return act.__name__

    def send(self, ask: Ask) -> None:
        self._turn(ask, self._words())

    def swipe(self, ask: Ask) -> None:
        id_, message, _ = self.turns[-1]
        self._answer(ask, id_, message)

    def edit_last(self, ask: Ask) -> None:
        """Other words for the last message, and another reply: another message."""
        self.turns.pop()
        self._turn(ask, self._words())

    def edit_earlier(self, ask: Ask) -> None:
        """Other words for an earlier message, whose reply stays; then the talk goes on."""
        if len(self.turns) > 2:
            self.chance.choice(self.turns[:-1])[1] += "（改过）"
        self.send(ask)

    def delete(self, ask: Ask) -> None:
        """The last turns go, or one in the middle; then the talk goes on."""
        if self.chance.random() < 0.7:
            del self.turns[-self.chance.randint(1, min(3, len(self.turns))) :]
        elif len(self.turns) > 3:
            self.removed.add(self.turns.pop(self.chance.randrange(1, len(self.turns) - 1))[0])
        self.send(ask)

    def go_on(self, ask: Ask) -> None:
        """The last reply is to go on."""
        id_, message, reply = self.turns[-1]
        sent = [*self.messages(len(self.turns) - 1), {"role": "user", "content": message}]
        self.turns[-1][2] = reply + ask([*sent, {"role": "assistant", "content": reply}])
        self.swipes[id_].append(self.turns[-1][2])

    def choose(self, ask: Ask) -> None:
        """One of the replies that the last message got, and then the talk goes on."""
        self.turns[-1][2] = self.chance.choice(self.swipes[self.turns[-1][0]])
        self.send(ask)

    def _words(self) -> str:
        """What its user says: now and then the same as ever."""
        self.number += 1
        words = self.chance.choice(WORDS)
        return words if self.chance.random() < 0.15 else f"{words}，第{self.number}次说起"

    def _turn(self, ask: Ask, message: str) -> None:
        id_ = f"m{len(self.asks)}"
        self.asks.append(id_)
        self.turns.append([id_, message, ""])
        self._answer(ask, id_, message)

    def _answer(self, ask: Ask, id_: str, message: str) -> None:
        reply = ask([*self.messages(len(self.turns) - 1), {"role": "user", "content": message}])
        self.turns[-1][2] = reply
        self.swipes.setdefault(id_, []).append(reply)
