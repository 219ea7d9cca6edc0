"""Generated histories of a front end before the real server: its log has each message once, and nothing is taken back."""

from __future__ import annotations

import itertools
import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from front_end import FrontEnd
from served import client_of

from moechat.ai.scripted import ScriptedModel
from moechat.house import House
from tests.houses import CHARACTER, Home


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    numbers = itertools.count(1)
    model = ScriptedModel(lambda _: f"这是第{next(numbers)}个回答", understands=False)
    with Home.build(tmp_path, owners={"open": 8}).open(model) as opened:
        yield opened


@pytest.mark.parametrize("histories", [3, pytest.param(30, marks=pytest.mark.slow)])
@pytest.mark.parametrize("named", [True, False])
def test_each_message_is_in_the_log_once_and_nothing_is_taken_back(house: House, named: bool, histories: int) -> None:
    client = client_of(house)
    messages = doubles = losses = 0
    for seed in range(histories):
        chance, user = random.Random(seed), f"user{seed}"
        front = FrontEnd(chance, window=chance.choice([0, 0, 0, 4, 8]), rewrites=chance.random() < 0.08)
        front.greeting = "" if named else "你来啦。"  # Without either its first message is no one's swipe.

        def ask(sent: Sequence[dict[str, str]], user: str = user) -> str:
            body = {"model": CHARACTER, "user": user, "messages": list(sent)}
            answer = client.post("/v1/chat/completions", json=body, headers={"x-moechat-chat": "chat"} if named else {})
            assert answer.status_code == 200, answer.text
            return str(answer.json()["choices"][0]["message"]["content"])

        for _ in range(chance.randint(4, 12)):
            front.step(ask)
        log = (house.data / "agents" / CHARACTER / "users" / user / "log.jsonl").read_text(encoding="utf-8")
        entries = Counter(json.loads(line)["op"] for line in log.splitlines())
        assert entries["retract"] - entries["restore"] <= (len(front.removed) if named else 0)
        messages += len(front.asks)
        doubles += max(entries["exchange"] - len(front.asks), 0)
        losses += max(len(front.asks) - entries["exchange"], 0)
    assert doubles <= (0 if named else 0.01 * messages)
    assert losses <= 0.01 * messages
