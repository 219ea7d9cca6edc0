"""Killed between telling and asking, at any moment: nothing is lost, nothing is doubled."""

from __future__ import annotations

import multiprocessing
import os
import random
import shutil
import time
from multiprocessing.connection import Connection
from pathlib import Path

import httpx
import pytest

from moechat.clock import SetClock
from moechat.serve import server
from tests.houses import CHARACTER, START, Home, moment, silent

PETS = (
    "团子", "豆豆", "年糕", "汤圆", "雪球", "旺财", "花卷", "麻薯", "芝麻", "布丁", "可乐", "奶酪", "橘子", "土豆", "糯米",
    "拿铁", "栗子", "核桃", "桂圆", "荔枝",
)  # fmt: skip
PATIENCE_S, LONG_REPLY = 60.0, "我记住了，" * 40
FORK = multiprocessing.get_context("fork") if hasattr(os, "fork") else None  # What is loaded here is loaded there.

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs SIGKILL")


class Killed:
    """A server of its own process over a folder; leaving the block kills it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __enter__(self) -> str:
        assert FORK is not None
        ours, theirs = FORK.Pipe(duplex=False)
        self.process = FORK.Process(target=serving, args=(self.folder, theirs), daemon=True)
        self.process.start()
        theirs.close()
        return str(ours.recv())

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.join(PATIENCE_S)


def at(folder: Path) -> Home:
    return Home(folder / "data", folder / "config.yaml", SetClock(moment(START)))


def serving(folder: Path, told: Connection) -> None:
    with at(folder).open(silent(lambda _: LONG_REPLY)) as house, server.running(house) as url:
        told.send(url)
        time.sleep(3600)


def tell(url: str, text: str, chat: str, lines: int | None = None) -> int:
    """Send a message, and read so many lines of its reply, or all: how many there were."""
    body = {"model": CHARACTER, "stream": True, "messages": [{"role": "user", "content": text}]}
    headers = {"X-MoeChat-Chat": chat, "Idempotency-Key": chat}
    came = 0
    with (
        httpx.Client(timeout=PATIENCE_S) as client,
        client.stream("POST", f"{url}/v1/chat/completions", json=body, headers=headers) as answer,
    ):
        for _ in answer.iter_lines():
            came += 1
            if came == lines:
                break
    return came


@pytest.mark.parametrize("kills", [2, pytest.param(20, marks=pytest.mark.soak)])
def test_what_was_told_stands_once_and_is_known_after_a_kill(tmp_path: Path, kills: int) -> None:
    """What a kill left is looked at in a copy: a child cannot take a lock that this process has had before it."""
    chance, wrong, served = random.Random(int(os.environ.get("SEED", "1"))), [], tmp_path / "served"
    Home.build(served)
    for number, pet in enumerate(PETS[:kills]):
        text, chat = f"我养了一只叫{pet}的猫", f"chat{number}"
        with Killed(served) as url:
            tell(url, text, chat, chance.randint(1, 80))
        if number % 2:  # the program sends it once more, and all of the answer comes
            with Killed(served) as url:
                tell(url, text, chat)
        with at(shutil.copytree(served, tmp_path / f"seen{number}")).open(silent()) as house:
            agent = house.agent()
            agent.conversation.follow(reads=True)
            said = [row["text"] for row in agent.log() if row["mark"] == "*"].count(text)
            facts = " ".join(memory.text for memory in agent.memories.listed(("fact",)).memories)
            recollection = agent.in_talk("asking").recall(f"你还记得{pet}吗")
            is_known = pet in facts and any(pet in hit.text for hit in recollection.hits)
        wrong += [] if (said, facts.count(pet), is_known) == (1, 1, True) else [(pet, said, facts)]
    assert wrong == []
