"""What a model is asked when there is something to reflect on, and what is made of its answers."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moechat.ai.scripted import ScriptedModel
from moechat.errors import ModelError
from moechat.settings.prompts import Prompts
from moechat.understanding.consultation import Consultation, parse_insights, parse_questions, parse_ratings

# Golden `parse` of seed 001, column `sane`.
PARSED = [
    ("1. A b c. [7, 52, 47]\n2. D. [22]", [("A b c.", [7, 52, 47]), ("D.", [22])]),
    ("1. Has [1] note and 2.5 value [3, 4]", [("Has [1] note and 2.5 value", [3, 4])]), ("1. no evidence", []),
    ("1) paren style [2]", [("paren style", [2])]), ("- bullet [`5`, `6`]", [("bullet", [5, 6])]),
    ("1. ticks [`1`]", [("ticks", [1])]), ("1. range [3-5]", [("range", [3, 4, 5])]),
    ("1. dup [3, 3, 4].", [("dup", [3, 4])]), ("1、中文结论【1，2】", [("中文结论", [1, 2])]), ("1. empty []", []),
    ("", []), ("10. ten [0]", [("ten", [0])]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "sane"), PARSED)
def test_insights_are_read_as_they_are_meant(text: str, sane: list[tuple[str, list[int]]]) -> None:
    assert parse_insights(text) == sane


def test_the_table_is_that_of_the_golden_file(goldens: Path) -> None:
    told = json.loads((goldens / "seed001_worked.json").read_text(encoding="utf-8"))["parse"]
    assert [(row["text"], [tuple(one) for one in row["sane"]]) for row in told] == PARSED


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Here is what I see:\n* 小满常来 [2至4]\nThat is all.", [("小满常来", [2, 3, 4])]),
        ("1. It rains (evidence: [3, 4]).", [("It rains", [3, 4])]),
        ("  (2) Inside brackets [１，２]", [("Inside brackets", [1, 2])]),
        ("2.5 million people came [3]", []),
        ("1. both ways [5-3, 6]", [("both ways", [6])]),
        ("1. everything [1-999999999]", []),
        ("1. a number of many digits [" + "1" * 5000 + "]", []),
        ("[3]\n1. [3]", []),
        ("1. first [1] \r\n2. second [2]", [("first", [1]), ("second", [2])]),
    ],
)
def test_what_models_also_write(text: str, found: list[tuple[str, list[int]]]) -> None:
    assert parse_insights(text) == found


@given(st.text(alphabet=st.sampled_from("1234. )、-*[]【】,，`a我\n")))
def test_whatever_a_model_writes_each_insight_has_words_and_evidence(text: str) -> None:
    for insight, evidence in parse_insights(text):
        assert insight.strip()
        assert evidence
        assert len(set(evidence)) == len(evidence)


def test_a_hundred_thousand_odd_characters_are_read_at_once() -> None:
    begun = time.process_time()
    for odd in ("[", "1", " ", "(", "-", "【1"):
        parse_insights("1. " + odd * 100_000 + "[3]")
        parse_questions("1. " + odd * 100_000)
        parse_ratings("1. " + odd * 100_000)
    assert time.process_time() - begun < 10


@pytest.mark.parametrize(
    ("text", "questions"),
    [
        ("Here are 3 questions:\n1. What is A?\n2. **Why B?**\n3. How C?\n4. D?", ["What is A?", "Why B?", "How C?"]),
        ("小林为什么难过？\n\n她想要什么？", ["小林为什么难过？", "她想要什么？"]),
        ("1. The theme of loss\n2. The theme of tea", ["The theme of loss", "The theme of tea"]),
        ("- 为什么？\n- 为什么？", ["为什么？"]),
        ("", []),
    ],
)
def test_questions_are_read_without_what_stands_around_them(text: str, questions: list[str]) -> None:
    assert parse_questions(text) == questions


def test_ratings_of_several_texts() -> None:
    assert parse_ratings("1. 5\n２: 7/10\n4) none\n3、 12\n1. 9") == {1: 0.5, 2: 0.7, 3: 1.0}


# ---- asking

STATEMENTS = [(4, "小林去看了\n爷爷"), (7, "怀表修好了")]


def consultation(root: Path, *answers: str | ModelError, language: str = "zh") -> tuple[Consultation, ScriptedModel]:
    model = ScriptedModel(answers=answers)
    return Consultation(model, Prompts([root / "prompts"], language)), model


@pytest.mark.parametrize("language", ["zh", "en"])
def test_a_model_is_asked_with_the_seeds_prompts_as_system_and_user(root: Path, language: str) -> None:
    asking, model = consultation(
        root, "1. 为什么？", "1. 想念 [4]", "1. 想念 [4]", "8", "1. 6\n2. ?", language=language
    )
    assert asking.questions(STATEMENTS) == ["为什么？"]
    assert asking.insights(STATEMENTS, "为什么是怀表？") == "1. 想念 [4]"
    assert asking.condensed("1. 想念 [4]") == "1. 想念 [4]"
    assert asking.rating("爷爷\n去世了") == pytest.approx(0.8)
    assert asking.ratings(["想念", "别的"]) == [pytest.approx(0.6), None]
    shown = [messages for messages, _ in model.questions]
    assert all([m.role for m in messages] == ["system", "user"] for messages in shown)
    assert all("---" not in m.content and "{{" not in m.content for messages in shown for m in messages)
    for messages, value in zip(
        shown, ("4. 小林去看了 爷爷", "为什么是怀表？", "1. 想念 [4]", "爷爷 去世了", "2. 别的"), strict=True
    ):
        assert value in messages[1].content
        assert value not in messages[0].content


def test_the_english_prompts_are_the_seeds_word_for_word(root: Path, shared: Path) -> None:
    seed = next((shared / "seeds").glob("001*.txt")).read_text(encoding="utf-8")
    told = "".join(seed.split("## 核心Prompt模板")[1].split("## 核心算法实现")[0].split())
    names = {"recent_memory_prompt", "input_text", "insight_list", "question"}
    for name in ("rate_importance", "reflect_questions", "reflect_insights", "reflect_condense"):
        text = (root / "prompts" / "en" / f"{name}.txt").read_text(encoding="utf-8")
        text = text.replace("{{relevant_memories}}", "{relevant_memories_for_question.description}")
        for placeholder in names:
            text = text.replace(f"{{{{{placeholder}}}}}", f"{{{placeholder}}}")
        for part in text.split("\n---\n"):
            assert "".join(part.split()) in told, name


def test_a_prompt_of_the_owners_without_a_system_part_is_asked_as_one_message(tmp_path: Path) -> None:
    (tmp_path / "zh").mkdir()
    (tmp_path / "zh" / "rate_importance.txt").write_text("打分：{{input_text}}", encoding="utf-8")
    model = ScriptedModel(answers=["7"])
    assert Consultation(model, Prompts([tmp_path], "zh")).rating("x\n---\ny") == pytest.approx(0.7)
    assert [(m.role, m.content) for m in model.questions[0][0]] == [("user", "打分：x --- y")]


def test_what_the_model_refuses_is_raised_and_counted(root: Path) -> None:
    asking, _ = consultation(root, ModelError("timeout", "late"))
    with pytest.raises(ModelError, match="late"):
        asking.questions(STATEMENTS)
    assert asking.cost.calls == 1


@pytest.mark.parametrize("language", ["zh", "en"])
def test_who_the_two_are_stands_before_what_is_asked_about_them(root: Path, language: str) -> None:
    prompts = Prompts([root / "prompts"], language)
    people = prompts.fill("people", char="青禾", user="阿袁", persona="开茶馆，补旧书")
    model = ScriptedModel(answers=["1. 为什么？", "1. 阿袁念旧 [1]", "7"])
    asking = Consultation(model, prompts, people=people)
    asking.questions([(1, "用户寄出了字典")])
    asking.insights([(1, "用户寄出了字典")], "阿袁在乎什么？")
    asking.rating("x")
    firsts = [messages[0].content for messages, _ in model.questions]
    assert all("青禾" in text and "阿袁" in text and "开茶馆" in text for text in firsts[:2])
    assert "开茶馆" not in firsts[2]
