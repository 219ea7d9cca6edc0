"""Training pairs for a learned word expander, from a scripted model's marks and a user's own sentences."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks.expansion_pairs import BATCH, export_pairs, pairs, read_scores, sentences, write_pairs
from benchmarks.expansion_pairs import main as script
from moechat.ai.scripted import ScriptedModel
from moechat.cli.main import main
from moechat.errors import ModelError
from moechat.language.association import Association, base_words, expand, shipped
from moechat.model import Message
from moechat.settings.prompts import Prompts
from tests.houses import Home, polite, say

ROOT = Path(__file__).resolve().parents[2]
PROMPTS = Prompts([ROOT / "prompts"], "zh")
SPOKEN = ["室友失恋了，我们陪她吃了火锅", "明天要面试，好紧张", "嗯嗯", "周末去海边看日出"]


def by_table(sentence: str) -> tuple[Sequence[str], list[Association]]:
    _, base = base_words(sentence)
    return base, expand(base, [shipped()])


def marks(*scores: int) -> str:
    return json.dumps({"scores": [{"id": i, "score": score} for i, score in enumerate(scores, 1)]})


def test_what_is_asked_of_a_model_and_kept_of_its_marks(tmp_path: Path) -> None:
    model = ScriptedModel(answers=[marks(9, 3, 6)])
    path = tmp_path / "pairs.jsonl"
    assert write_pairs(path, export_pairs(SPOKEN, by_table, model, prompts=PROMPTS, mark=6)) == 2
    kept = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [(pair["sentence"], pair["score"]) for pair in kept] == [(SPOKEN[0], 9), (SPOKEN[3], 6)]
    assert (
        "失恋" in kept[0]["base"] and ["分手", 11] in kept[0]["expanded"] and "失恋" in path.read_text(encoding="utf-8")
    )
    ((messages, schema),) = model.questions
    assert "[1] 室友失恋了" in messages[0].content and "分手" in messages[0].content and schema is not None
    assert "嗯嗯" not in messages[0].content, "what brings nothing to mind is not asked about"
    assert "[1] x" in Prompts([ROOT / "prompts"], "en").fill("score_expansion", pairs="[1] x")


def test_marks_that_cannot_be_read_and_calls_that_fail_cost_their_own_sentences() -> None:
    some = ScriptedModel(answers=['好的：{"scores": [{"id": 3, "score": "8/10"}, {"id": "x", "score": 9}, {"id": 2}]}'])
    assert [pair["sentence"] for pair in export_pairs(SPOKEN, by_table, some, prompts=PROMPTS)] == [SPOKEN[3]]
    many = [f"第{i}次失恋" for i in range(2 * BATCH)]
    late = ScriptedModel(answers=[ModelError("timeout", "late"), marks(*[9] * BATCH)])
    assert [pair["sentence"] for pair in export_pairs(many, by_table, late, prompts=PROMPTS)] == many[BATCH:]
    away = ScriptedModel(answers=[ModelError("bad_key", "wrong key")])
    with pytest.raises(ModelError, match="wrong key"):
        list(export_pairs(SPOKEN, by_table, away, prompts=PROMPTS))
    for answer in ("", "no", "[]", '{"scores": 7}', '{"scores": [7, null, {"id": -1, "score": 3}]}'):
        assert read_scores(answer) == {}
    beyond = '[{"id": 1, "score": 99}, {"id": 2, "score": 0}, {"id": 3, "score": "70/100"}]'
    assert read_scores(beyond) == {1: 10, 2: 1, 3: 7}


def test_the_limit_ends_the_calls() -> None:
    model = ScriptedModel(answers=lambda _: marks(*[9] * BATCH))
    many = (f"第{i}次失恋" for i in range(1000))
    assert len(list(export_pairs(many, by_table, model, prompts=PROMPTS, limit=10))) == 10
    sizes = [len(re.findall(r"^\[\d+\]", messages[0].content, re.MULTILINE)) for messages, _ in model.questions]
    assert sizes == [BATCH, BATCH]


def test_talk_is_cut_into_sentences_each_once() -> None:
    told = ["今天失恋了。晚上吃火锅！好", "今天失恋了\n吃完 了 再说", "I lost 3.5 kg. So happy!"]
    assert list(sentences(told)) == ["今天失恋了", "晚上吃火锅", "吃完 了 再说", "I lost 3.5 kg", "So happy"]


# ---- from an owner's talk


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
        agent.conversation.retract(gone)
        agent.finish()
    with home.open(ScriptedModel(polite, rater)) as house:
        count = write_pairs(tmp_path / "pairs.jsonl", pairs(house.agent()))
    told = [json.loads(line) for line in (tmp_path / "pairs.jsonl").read_text(encoding="utf-8").splitlines()]
    assert count == len(told) == 1
    assert "火锅" in told[0]["sentence"]
    assert told[0]["score"] == 9
    assert told[0]["expanded"]


def test_without_a_model_the_script_says_what_it_needs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "config.yaml").write_text("embedding: {provider: hash}\n", encoding="utf-8")
    where = ["--data", str(tmp_path / "data"), "--config", str(tmp_path / "config.yaml")]
    assert main(["say", "我喜欢喝茶", *where]) == 0
    assert script([str(tmp_path / "pairs.jsonl"), *where]) == 1
    assert "needs a language model" in capsys.readouterr().err
    assert not (tmp_path / "pairs.jsonl").exists()
