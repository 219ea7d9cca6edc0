"""The topic model: what is asked for, and what is made of the answers of models that do as they like."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path

import pytest

from moechat.ai import topic_model
from moechat.ai.scripted import ScriptedModel
from moechat.ai.topic_model import Cues
from moechat.errors import ModelError
from moechat.settings.prompts import Prompts

PROMPTS = Prompts([Path(__file__).resolve().parents[2] / "prompts"], "en")
NOW = datetime.fromisoformat("2025-05-20T15:00:00+08:00")


def cues_of(answer: str) -> Cues:
    model = ScriptedModel(answers=[answer])
    return topic_model.cues(model, PROMPTS, tree="food", text="hotpot?", now=NOW, timeout_s=10)


def helpful_of(answer: str, slices: int = 3) -> list[int]:
    model = ScriptedModel(answers=[answer])
    texts = [f"slice {number}" for number in range(slices)]
    return topic_model.helpful(model, PROMPTS, text="hotpot?", slices=texts, timeout_s=10)


def test_cues_are_read_from_whatever_form_a_model_gives_them() -> None:
    days = (date(2025, 5, 19), date(2025, 5, 20))
    cases = {
        '{"topics": ["food->hotpot"], "dates": ["2025-05-19", "2025年5月20日"]}': Cues(("food->hotpot",), days),
        '{"topics": "food", "dates": null}': Cues(("food",)),
        '{"topics": ["a", "b", "a", "c", "d"], "dates": ["never", "2025-02-30"]}': Cues(("a", "b", "c")),
        'Here: {"topics": [""], "dates": [" 2025/5/19 "]}': Cues((), days[:1]),
        '{"topics": []}': Cues(),
    }
    assert {answer: cues_of(answer) for answer in cases} == cases


def test_what_helps_is_told_by_number_in_the_order_of_the_slices() -> None:
    cases = {
        '{"helpful": [3, 1]}': [0, 2],
        '{"helpful": ["[2]", 2, 9]}': [1],
        '{"helpful": "1 and 3"}': [0, 2],
        '{"helpful": []}': [],
        '{"helpful": ""}': [],
    }
    assert {answer: helpful_of(answer) for answer in cases} == cases


def test_an_answer_in_another_form_is_refused_by_the_name_of_the_model() -> None:
    for ask in (cues_of, helpful_of):
        for answer in ("I cannot say", '{"other": []}', "[]"):
            with pytest.raises(ModelError, match=r"^scripted did not answer in the form") as refusal:
                ask(answer)
            assert refusal.value.kind == "nonsense"
