"""Training pairs for a learned expander, from a scripted model's marks."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from moechat.ai.expansion_pairs import BATCH, export_pairs, read_scores, sentences, write_pairs
from moechat.ai.scripted import ScriptedModel
from moechat.errors import ModelError
from moechat.language.association import Association, base_words, expand, shipped
from moechat.model import Message
from moechat.settings.prompts import Prompts

ROOT = Path(__file__).resolve().parents[2]
PROMPTS = Prompts([ROOT / "prompts"], "zh")
SPOKEN = ["室友失恋了，我们陪她吃了火锅", "明天要面试，好紧张", "嗯嗯", "周末去海边看日出"]


def by_table(sentence: str) -> tuple[Sequence[str], list[Association]]:
    _, base = base_words(sentence)
    return base, expand(base, [shipped()])


def marks(*scores: int) -> str:
    return json.dumps({"scores": [{"id": i, "score": score} for i, score in enumerate(scores, 1)]})


def test_only_well_marked_expansions_are_kept() -> None:
    model = ScriptedModel(answers=[marks(9, 3, 6)])
    pairs = list(export_pairs(SPOKEN, by_table, model, prompts=PROMPTS, mark=6))
    assert [(pair["sentence"], pair["score"]) for pair in pairs] == [(SPOKEN[0], 9), (SPOKEN[3], 6)]
    assert "失恋" in pairs[0]["base"] and ["分手", 11] in [list(one) for one in pairs[0]["expanded"]]


def test_the_model_sees_the_sentence_and_its_words_and_what_brings_nothing_to_mind_is_not_asked() -> None:
    model = ScriptedModel(answers=[marks(9, 9, 9)])
    list(export_pairs(SPOKEN, by_table, model, prompts=PROMPTS))
    ((messages, schema),) = model.asked
    assert (
        "[1] 室友失恋了" in messages[0].content and "分手" in messages[0].content and "嗯嗯" not in messages[0].content
    )
    assert schema is not None


def test_a_sentence_without_a_readable_mark_is_left_out() -> None:
    model = ScriptedModel(
        answers=['好的：{"scores": [{"id": 3, "score": "8/10"}, {"id": "x", "score": 9}, {"id": 2}]}']
    )
    assert [pair["sentence"] for pair in export_pairs(SPOKEN, by_table, model, prompts=PROMPTS)] == [SPOKEN[3]]


def test_a_failed_call_costs_its_own_sentences_only() -> None:
    many = [f"第{i}次失恋" for i in range(2 * BATCH)]
    model = ScriptedModel(answers=[ModelError("timeout", "late"), marks(*[9] * BATCH)])
    assert [pair["sentence"] for pair in export_pairs(many, by_table, model, prompts=PROMPTS)] == many[BATCH:]


def test_a_model_that_cannot_be_reached_is_an_error() -> None:
    model = ScriptedModel(answers=[ModelError("bad_key", "wrong key")])
    with pytest.raises(ModelError, match="wrong key"):
        list(export_pairs(SPOKEN, by_table, model, prompts=PROMPTS))


def test_the_limit_ends_the_calls() -> None:
    asked: list[int] = []

    def rate(messages: Sequence[Message]) -> str:
        asked.append(len(re.findall(r"^\[\d+\]", messages[0].content, re.MULTILINE)))
        return marks(*[9] * BATCH)

    many = (f"第{i}次失恋" for i in range(1000))
    model = ScriptedModel(answers=rate)
    assert len(list(export_pairs(many, by_table, model, prompts=PROMPTS, limit=10))) == 10
    assert asked == [BATCH, BATCH]


def test_pairs_are_written_as_json_lines(tmp_path: Path) -> None:
    model = ScriptedModel(answers=[marks(9, 9, 9)])
    path = tmp_path / "pairs.jsonl"
    assert write_pairs(path, export_pairs(SPOKEN, by_table, model, prompts=PROMPTS)) == 3
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [sorted(line) for line in lines] == [["base", "expanded", "score", "sentence"]] * 3
    assert "失恋" in path.read_text(encoding="utf-8")


def test_talk_is_cut_into_sentences_each_once() -> None:
    told = ["今天失恋了。晚上吃火锅！好", "今天失恋了\n吃完 了 再说", "I lost 3.5 kg. So happy!"]
    assert list(sentences(told)) == ["今天失恋了", "晚上吃火锅", "吃完 了 再说", "I lost 3.5 kg", "So happy"]


@pytest.mark.parametrize("answer", ["", "no", "[]", '{"scores": 7}', '{"scores": [7, null, {"id": -1, "score": 3}]}'])
def test_an_answer_that_says_nothing_gives_no_score(answer: str) -> None:
    assert read_scores(answer) == {}


def test_scores_are_kept_within_one_and_ten() -> None:
    assert read_scores('[{"id": 1, "score": 99}, {"id": 2, "score": 0}, {"id": 3, "score": "70/100"}]') == {
        1: 10,
        2: 1,
        3: 7,
    }


@pytest.mark.parametrize("language", ["zh", "en"])
def test_the_prompt_is_there_in_both_languages(language: str) -> None:
    assert "[1] x" in Prompts([ROOT / "prompts"], language).fill("score_expansion", pairs="[1] x")
