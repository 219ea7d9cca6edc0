"""The program that the soak tests kill: it talks, changes its mind, rolls and rebuilds at random until it dies.

``python tests/talker.py`` loads everything once and then forks a talker for each line of JSON that it reads: ``start``
with the fields of ``Run`` answers with the process id; ``reap`` with a process id waits for its end. What a talker has
done stands in its own file, one line of JSON at a time, each written before the next step begins.
"""

from __future__ import annotations

import json
import os
import random
import re
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from moechat.agent import Agent
from moechat.ai.embedding import HashEmbedder
from moechat.ai.scripted import Line, ScriptedModel
from moechat.clock import SetClock
from moechat.errors import ModelError, MoeChatError
from moechat.house import House
from moechat.language import words
from moechat.model import Message
from moechat.turn import Delta, Ended, Recalled
from tests.houses import CHARACTER, answer, fact, quoted

ASKED = re.compile(r"^\[(\d+)\] 20.*\n用户> (.*)$", re.MULTILINE)
CAT = re.compile(r"叫雪球(\w+)的猫")
LAST = 30  # exchanges back that a change of mind may reach


@dataclass(frozen=True)
class Run:
    """``name`` starts every serial number, so that no two talkers ever say the same; ``now`` is when the talk begins."""

    data: str
    config: str
    lines: str
    name: str
    seed: int
    now: str
    dim: int = 64
    failing: float = 0.15  # share of the calls to understand that fail
    steps: int = 100_000
    only: str = ""  # one kind of step, beside talking


def understand(messages: Sequence[Message]) -> str:
    """What the model makes of a batch: one fact for every cat that the user told of."""
    told = ASKED.findall(messages[-1].content)
    cats = [(int(number), found[1]) for number, text in told if (found := CAT.search(text))]
    return answer(len(told), facts=[cat(number, name) for number, name in cats])


def cat(number: int, name: str) -> dict[str, Any]:
    return fact(f"用户养了一只叫雪球{name}的猫", number, keyword="宠物", target=f"雪球{name}")


class Talker:
    """One process on one owner. Every step says what it will do where that is no addition, does it, and says so."""

    def __init__(self, run: Run) -> None:
        self.run, self.random = run, random.Random(run.seed)
        self.clock = SetClock(datetime.fromisoformat(run.now))
        self.count, self.reply = 0, Line("好。")
        self.out = os.open(run.lines, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self.house = self.open()

    def open(self) -> House:
        model = ScriptedModel(lambda _: self.reply, quoted(self.complete), piece_chars=9)
        embedder = HashEmbedder(self.run.dim)
        return House(Path(self.run.data), Path(self.run.config), clock=self.clock, model=model, embedder=embedder)

    def complete(self, messages: Sequence[Message]) -> str | ModelError:
        if self.random.random() < self.run.failing:
            return ModelError("timeout", "it was slow")
        return understand(messages)

    @property
    def agent(self) -> Agent:
        return self.house.agent(CHARACTER)

    def tell(self, **line: object) -> None:
        told = {"t": time.monotonic(), "who": self.run.name, **line}  # one clock for all processes
        os.write(self.out, json.dumps(told, ensure_ascii=False).encode() + b"\n")

    def serial(self) -> str:
        self.count += 1
        return f"{self.run.name}x{self.count}"

    def said(self) -> str:
        number = self.serial()
        return self.random.choice([
            f"我养了一只叫雪球{number}的猫", f"我喜欢吃饼干{number}", f"昨天我去了{number}号桥", f"第{number}句，今天有点累",
            f"第{number}句话很长：\n" + "\n  说来话长。" * self.random.randrange(60),
        ])  # fmt: skip

    def next_reply(self) -> str:
        """What the model is about to say; one time in ten it breaks off after that."""
        text = f"听到了{self.serial()}，真的。"
        fails = ModelError("broken_off", "the line broke") if self.random.random() < 0.1 else None
        self.reply = Line(text, fails=fails)
        return text

    # ---- steps

    def talk(self) -> None:
        text, reply = self.said(), self.next_reply()
        self.tell(will="talk", user=text, char=reply)
        for event in self.agent.talk(text):
            match event:
                case Recalled(id_, _):
                    self.tell(did="begin", id=id_, user=text)
                case Ended(exchange, _):
                    self.tell(did="end", id=exchange.id, user=exchange.user, char=exchange.char)

    def stop_midway(self) -> None:
        text, reply, shown = self.said(), self.next_reply(), ""
        self.tell(will="talk", user=text, char=reply)
        turn = self.agent.talk(text)
        for event in turn:
            if isinstance(event, Recalled):
                id_ = event.exchange_id
                self.tell(did="begin", id=id_, user=text)
            if isinstance(event, Delta):
                shown += event.text
                break
        turn.close()  # type: ignore[attr-defined]
        self.tell(did="end", id=id_, user=text, char=shown)

    def regenerate(self) -> None:
        leaf = self.agent.store.tree.leaf()
        if leaf is None or leaf in self.agent.store.tree.retracted or self.agent.store.replies.is_alive(leaf):
            return
        self.tell(will="regenerate", char=self.next_reply())  # another process may add a message before that
        for event in self.agent.conversation.regenerate():
            if isinstance(event, Ended):
                self.tell(did="end", id=event.exchange.id, user=event.exchange.user, char=event.exchange.char)

    def some(self) -> str | None:
        """An exchange of the last ones."""
        tree = self.agent.store.tree
        ids = [
            id_
            for id_ in list(tree.parents)
            if id_ not in tree.retracted and not self.agent.store.replies.is_alive(id_)
        ]
        return self.random.choice(ids[-LAST:]) if ids else None

    def correct(self) -> None:
        if id_ := self.some():
            side, text = self.random.choice([("user", self.said()), ("char", self.next_reply())])
            self.tell(will="correct", id=id_, **{side: text})
            self.agent.conversation.correct(id_, **{side: text})
            self.tell(did="correct", id=id_, **{side: text})

    def retract(self) -> None:
        if id_ := self.some():
            self.tell(will="retract", id=id_)
            self.agent.conversation.retract(id_)
            self.tell(did="retract", id=id_)

    def branch(self) -> None:
        if id_ := self.some():
            self.agent.conversation.select(id_)
            self.tell(did="branch", id=id_)

    def recall(self) -> None:
        found = self.agent.recall(self.random.choice(["我养了什么猫", "昨天我去了哪里", "我喜欢吃什么"]))
        self.tell(did="recall", hits=len(found.hits))

    def finish(self) -> None:
        self.tell(will="finish")
        self.agent.finish()
        self.tell(did="finish")

    def tick(self) -> None:
        self.clock.advance(minutes=self.random.choice([1, 5, 70]))
        self.agent.jobs.tick()

    def rebuild(self) -> None:
        self.tell(will="rebuild")
        self.house.rebuild(CHARACTER, None, vectors=self.random.random() < 0.5, progress=lambda *_: None)
        self.tell(did="rebuild")

    def reopen(self) -> None:
        self.tell(will="close")
        self.house.close()
        self.house = self.open()
        self.tell(did="open", known=len(self.agent.store.tree.parents))

    def go(self) -> None:
        steps: dict[str, tuple[Callable[[], None], float]] = {
            "talk": (self.talk, 50), "stop_midway": (self.stop_midway, 4), "regenerate": (self.regenerate, 10),
            "correct": (self.correct, 6), "retract": (self.retract, 3), "branch": (self.branch, 2),
            "recall": (self.recall, 4), "finish": (self.finish, 5), "tick": (self.tick, 5),
            "rebuild": (self.rebuild, 3), "reopen": (self.reopen, 3),
        }  # fmt: skip
        if self.run.only:
            steps = {name: (step, 1) for name, (step, _) in steps.items() if name in ("talk", self.run.only)}
        self.tell(did="open", known=len(self.agent.store.tree.parents))
        for _ in range(self.run.steps):
            (step,) = self.random.choices(
                [step for step, _ in steps.values()], [weight for _, weight in steps.values()]
            )
            try:
                step()
            except MoeChatError as refused:  # another process answers this message, or took it back
                self.tell(did="refused", why=str(refused))
            self.clock.advance(seconds=self.random.choice([2, 40, 200, 200, 3000]))
        self.house.close()
        self.tell(did="leave")


def live(run: Run) -> int:
    """The exit status."""
    try:
        Talker(run).go()
    except Exception:  # noqa: BLE001 - the border of the process
        traceback.print_exc()
        return 1
    return 0


def serve() -> None:
    """Fork a talker for each ``start``. No thread runs and nothing is open here, so that a fork is a clean beginning."""
    words.tokens("先把词典读进来")
    for line in sys.stdin:
        asked = json.loads(line)
        if "start" in asked:
            pid = os.fork()
            if not pid:
                sys.stdin.close()
                os._exit(live(Run(**asked["start"])))
            told = pid
        else:
            told = os.waitstatus_to_exitcode(os.waitpid(asked["reap"], 0)[1])
        sys.stdout.write(f"{told}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    serve()
