"""The way of one message: which modules and which named functions of ours run until its reply has ended, and behind it.

    python -m benchmarks.way [--modules] [--json]

One Chinese and one English message with a fact and two questions in it, each over a small memory of its own and a sample
character with its world book; the offline model, hashed vectors, a clock that stands. Every thread is counted. What happens
behind the reply (what follows a turn, then settling and understanding as at the end of a command) waits until the reply has
ended, so that the two are told apart. Lambdas, comprehensions and what an import runs do not count.
"""

# ruff: noqa: T201  (a script that prints)
from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from types import CodeType, FrameType
from typing import NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import moechat
from moechat.agent import Agent
from moechat.ai.embedding import HashEmbedder
from moechat.clock import SetClock
from moechat.house import House

PACKAGE = Path(moechat.__file__).parent
NO_TICK_S = 3600.0


class Talk(NamedTuple):
    character: str
    before: Sequence[str]
    message: str


TALKS = {
    "zh": Talk(
        "江砚",
        (
            "我叫阿明，住在杭州，在一家书店上班", "我养了一只猫叫团子，它怕打雷", "昨天和妹妹小雨去西湖划船了",
            "我不吃香菜，对花生过敏", "上周三看了一场老电影，看到一半停电了", "下周五要去北京开会",
            "今天下雨，书店里没什么人", "我最近在学吉他，手指有点疼", "我搬到苏州了",
        ),
        "我昨天给团子买了新窝。我妹妹叫什么名字？上周三我做了什么？",
    ),
    "en": Talk(
        "Wren",
        (
            "My name is Ming, I live in Leeds and work in a bookshop", "I have a cat called Dumpling, she is afraid of thunder",
            "Yesterday I went rowing on the lake with my sister Sue", "I don't eat coriander, and I'm allergic to peanuts",
            "Last Wednesday I saw an old film and the power went out halfway", "Next Friday I'm going to London for a meeting",
            "It's raining today and the shop is empty", "I'm learning the guitar, my fingers hurt a little", "I moved to York",
        ),
        "I bought Dumpling a new bed yesterday. What is my sister called? What did I do last Wednesday?",
    ),
}  # fmt: skip


class Steps:
    """The code that runs, while somebody listens. Threads count from their start on, so a house is opened ``everywhere``."""

    def __init__(self) -> None:
        self.codes: set[CodeType] | None = None

    def _called(self, frame: FrameType, event: str, _: object) -> None:
        if event == "call" and self.codes is not None:
            self.codes.add(frame.f_code)

    @contextmanager
    def everywhere(self) -> Iterator[None]:
        threading.setprofile(self._called)
        sys.setprofile(self._called)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)  # type: ignore[arg-type]


def functions(codes: set[CodeType]) -> set[tuple[str, str]]:
    """(module, qualified name) of the named functions of ours among them."""
    named = set()
    for code in codes:
        path = Path(code.co_filename)
        if path.is_relative_to(PACKAGE) and not code.co_name.startswith("<"):
            named.add((path.relative_to(PACKAGE).as_posix(), code.co_qualname))
    return named


def said(agent: Agent, text: str) -> None:
    for _ in agent.talk(text):
        pass


def way(talk: Talk) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    """The functions on the way of the message: until its reply has ended, and with the work behind it."""
    steps, clock = Steps(), SetClock(datetime.fromisoformat("2025-05-20T15:00:00+08:00"))
    with tempfile.TemporaryDirectory(prefix="moechat-way-") as folder, steps.everywhere():
        data, settings = Path(folder) / "data", Path(folder) / "config.yaml"
        settings.write_text("time: {zone: Asia/Shanghai}\nrecall: {deadline_ms: 60000}\n", encoding="utf-8")
        with House(data, settings, clock=clock, embedder=HashEmbedder(64), tick_s=NO_TICK_S) as house:
            house.ready()
            agent = house.agent(talk.character)
            for text in talk.before[:-1]:
                said(agent, text)
                clock.advance(hours=5)
            agent.finish()
            clock.advance(days=1)
            said(agent, talk.before[-1])
            agent.settle_indexes()
            clock.advance(minutes=1)
            go_on = threading.Event()
            agent.jobs.worker.submit(go_on.wait)
            steps.codes = reply = set()
            said(agent, talk.message)
            steps.codes = behind = set()
            go_on.set()
            agent.settle_indexes()
            agent.finish()
            steps.codes = None
    return functions(reply), functions(reply | behind)


def size(named: set[tuple[str, str]]) -> tuple[int, int]:
    """(modules, functions)"""
    return len({module for module, _ in named}), len(named)


def by_room(named: set[tuple[str, str]]) -> dict[str, tuple[int, int]]:
    rooms = {module: module.partition("/")[0] if "/" in module else "(top)" for module, _ in named}
    modules, all_functions = Counter(rooms.values()), Counter(rooms[module] for module, _ in named)
    return {room: (modules[room], all_functions[room]) for room in sorted(modules)}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.way", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--modules", action="store_true", help="every module with its functions")
    parser.add_argument("--json", action="store_true", help="all of it as one object")
    options = parser.parse_args()
    ways = {language: way(talk) for language, talk in TALKS.items()}
    ways["both"] = tuple(set().union(*each) for each in zip(*ways.values(), strict=True))  # type: ignore[assignment]
    if options.json:
        table = {name: [size(one) for one in pair] for name, pair in ways.items()}
        print(json.dumps({"ways": table, "functions": sorted(map("::".join, ways["both"][1]))}, ensure_ascii=False))
        return
    print(f"{'':8} {'reply':>18} {'with work behind':>24}")
    for name, pair in ways.items():
        (modules, named), (all_modules, all_named) = map(size, pair)
        print(f"{name:8} {modules:4} mod. {named:5} func. {all_modules:10} mod. {all_named:5} func.")
    reply, whole = ways["both"]
    print("\nby room, both messages:")
    before = by_room(reply)
    for room, (modules, named) in by_room(whole).items():
        first = before.get(room, (0, 0))
        print(f"{room:14} {first[0]:4} mod. {first[1]:5} func. {modules:10} mod. {named:5} func.")
    print("\nmodules (* behind the reply alone):")
    on_the_way = {module for module, _ in reply}
    for module in sorted({module for module, _ in whole}):
        names = sorted(name for one, name in whole if one == module)
        print(" *"[module not in on_the_way], module, len(names), *(names if options.modules else ()))


if __name__ == "__main__":
    main()
