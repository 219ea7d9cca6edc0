"""Training pairs for a learned word expander, from a scripted model's marks and a user's own sentences."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.expansion_pairs import BATCH, export_pairs, pairs, read_scores, sentences, write_pairs
from moechat.ai.scripted import ScriptedModel
from moechat.errors import ModelError
from moechat.settings.prompts import Prompts
from tests.houses import Home, polite, say

PROMPTS = Prompts([Path(__file__).resolve().parents[2] / "prompts"], "zh")
SPOKEN = ["室友失恋了，我们陪她吃了火锅", "明天要面试，好紧张", "嗯嗯", "周末去海边看日出"]


def rows_of(model: ScriptedModel, spoken: list[str], **more: float) -> list[tuple[str, float]]:
    """What is kept, where 嗯嗯 alone brings nothing to mind."""
    rows = export_pairs(spoken, lambda one: ([one], [("分手", 11)] * (one != "嗯嗯")), model, prompts=PROMPTS, **more)  # type: ignore[arg-type]
    return [(row["sentence"], row["score"]) for row in rows]


def marks(*scores: int) -> str:
    return json.dumps({"scores": [{"id": number, "score": score} for number, score in enumerate(scores, 1)]})


def test_sentences_are_rated_together_and_those_above_the_mark_are_kept() -> None:
    model = ScriptedModel(answers=[marks(9, 3, 6)])
    assert rows_of(model, SPOKEN) == [(SPOKEN[0], 9), (SPOKEN[3], 6)]
    ((messages, schema),) = model.questions
    assert f"[1] {SPOKEN[0]}\n→ 分手" in messages[0].content and "嗯嗯" not in messages[0].content and schema
    model = ScriptedModel(answers=lambda _: marks(*[9] * BATCH))
    assert len(rows_of(model, [f"第{i}次失恋" for i in range(1000)], limit=10)) == 10 and len(model.questions) == 2


def test_marks_that_cannot_be_read_and_calls_that_fail_cost_their_own_sentences() -> None:
    some = ScriptedModel(answers=['好的：{"scores": [{"id": 3, "score": "8/10"}, {"id": "x", "score": 9}, {"id": 2}]}'])
    assert rows_of(some, SPOKEN) == [(SPOKEN[3], 8)]
    many = [f"第{i}次失恋" for i in range(2 * BATCH)]
    late = ScriptedModel(answers=[ModelError("timeout", "late"), marks(*[9] * BATCH)])
    assert rows_of(late, many) == [(one, 9) for one in many[BATCH:]]
    with pytest.raises(ModelError, match="wrong key"):
        rows_of(ScriptedModel(answers=[ModelError("bad_key", "wrong key")]), SPOKEN)
    for answer in ("", "no", "[]", '{"scores": 7}', '{"scores": [7, null, {"id": -1, "score": 3}]}'):
        assert read_scores(answer) == {}
    beyond = '[{"id": 1, "score": 99}, {"id": 2, "score": 0}, {"id": 3, "score": "70/100"}]'
    assert read_scores(beyond) == {1: 10, 2: 1, 3: 7}


def test_an_owners_sentences_are_those_that_stand_each_once(tmp_path: Path) -> None:
    texts = ["今天失恋了。晚上吃火锅！好", "今天失恋了\n吃完 了 再说", "I lost 3.5 kg. So happy!"]
    assert list(sentences(texts)) == ["今天失恋了", "晚上吃火锅", "吃完 了 再说", "I lost 3.5 kg", "So happy"]
    home = Home.build(tmp_path)
    with home.open(ScriptedModel(polite, answers=lambda _: marks(9, 3))) as house:
        agent = house.agent()
        say(agent, "室友失恋了，我们陪她吃了一晚上火锅。医院的药好苦。")
        agent.conversation.retract(say(agent, "我下周要去医院做手术。").exchange.id)
        assert write_pairs(tmp_path / "pairs.jsonl", pairs(agent)) == 1
    [pair] = map(json.loads, (tmp_path / "pairs.jsonl").read_text(encoding="utf-8").splitlines())
    assert pair["sentence"] == "室友失恋了，我们陪她吃了一晚上火锅" and pair["score"] == 9 and pair["expanded"]
    with (
        home.open(ScriptedModel(polite, understands=False)) as house,
        pytest.raises(ModelError, match="needs a language model"),
    ):
        next(pairs(house.agent()))
