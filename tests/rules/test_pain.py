"""What hurts and what is in danger, told from what only sounds like it; and the marks of what rules find."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from moechat.model import Exchange
from moechat.rules.pain import in_danger, mark
from moechat.rules.reading import understand

BLIND = Path(__file__).parent / "blind"
SENTENCES: list[dict[str, Any]] = [
    one for name in ("pain.zh.yaml", "pain.en.yaml") for one in yaml.safe_load((BLIND / name).read_text("utf-8"))
]


@pytest.mark.parametrize("one", SENTENCES, ids=[one["say"][:20] for one in SENTENCES])
def test_danger_to_life_is_read_and_nothing_that_only_sounds_like_it(one: dict[str, Any]) -> None:
    kinds = {one["kind"], one.get("or")}
    if one["kind"] == "danger" or "danger" not in kinds:
        assert in_danger(one["say"]) is (one["kind"] == "danger")
    if one["kind"] in ("joy", "none"):
        assert mark(one["say"]) != "delicate"


def test_a_question_how_somebody_hurt_themselves_is_no_danger_and_the_wish_to_is() -> None:
    assert not in_danger("How did my daughter hurt herself?")
    assert in_danger("I want to hurt myself")


@pytest.mark.parametrize(
    "text", ["今天和小夏在天台买了一个纸模型", "the cat is on the roof again", "hail on the roof all night"]
)
def test_a_high_place_where_others_are_is_no_danger(text: str) -> None:
    assert not in_danger(text)


def test_most_pain_is_delicate() -> None:
    pain = [one["say"] for one in SENTENCES if one["kind"] in ("grief", "despair", "fear", "sadness")]
    assert sum(mark(text) == "delicate" for text in pain) >= 0.8 * len(pain)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("我对花生过敏", "care"), ("I'm allergic to peanuts", "care"), ("我有抑郁症", "delicate"),
        ("我对花生不过敏", ""), ("我住在杭州", ""), ("I have asthma", "care"),
    ],
)  # fmt: skip
def test_rules_mark_the_facts_that_they_find(text: str, expected: str) -> None:
    (fact,) = understand(Exchange("x1", datetime.fromisoformat("2025-05-20T10:00:00+08:00"), text, "")).facts
    assert fact.mark == expected


def test_rules_mark_the_events_that_they_find() -> None:
    at = datetime.fromisoformat("2025-05-20T10:00:00+08:00")
    marks = [
        event.mark
        for text in ("昨天住院了", "我奶奶昨天去世了", "昨天吃了火锅")
        for event in understand(Exchange("x1", at, text, "")).events
    ]
    assert marks == ["care", "delicate", ""]
