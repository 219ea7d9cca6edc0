"""Training pairs for a learned word expander, from a user's own sentences."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from moechat.ai.expansion_pairs import write_pairs
from moechat.ai.scripted import ScriptedModel
from moechat.cli.exporting import pairs
from moechat.cli.main import main
from moechat.model import Message
from tests.houses import Home, polite, say


def rater(messages: Sequence[Message]) -> str:
    """Rates the first sentence of a batch 9, the others 3."""
    numbers = re.findall(r"^\[(\d+)\] ", messages[-1].content, re.MULTILINE)
    return json.dumps({"scores": [{"id": int(n), "score": 9 if n == "1" else 3} for n in numbers]})


def test_what_was_said_is_expanded_rated_and_kept_above_the_mark(tmp_path: Path) -> None:
    home = Home.build(tmp_path)
    with home.open(ScriptedModel(polite, understands=False)) as house:
        agent = house.agent()
        say(agent, "室友失恋了，我们陪她吃了一晚上火锅。")
        gone = say(agent, "我下周要去医院做手术。").exchange.id
        say(agent, "医院的药好苦。")
        agent.retract(gone)
        agent.finish()
    with home.open(ScriptedModel(polite, rater)) as house:
        count = write_pairs(tmp_path / "pairs.jsonl", pairs(house.agent()))
    told = [json.loads(line) for line in (tmp_path / "pairs.jsonl").read_text(encoding="utf-8").splitlines()]
    assert count == len(told) == 1
    assert "火锅" in told[0]["sentence"]
    assert told[0]["score"] == 9
    assert told[0]["expanded"]


def test_without_a_model_the_command_says_what_it_needs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "config.yaml").write_text("embedding: {provider: hash}\n", encoding="utf-8")
    where = ["--data", str(tmp_path / "data"), "--config", str(tmp_path / "config.yaml")]
    assert main(["say", "我喜欢喝茶", *where]) == 0
    assert main(["export", "pairs", str(tmp_path / "pairs.jsonl"), *where]) == 1
    assert "needs a language model" in capsys.readouterr().err
    assert not (tmp_path / "pairs.jsonl").exists()
