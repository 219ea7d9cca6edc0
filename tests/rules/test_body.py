"""What the user's own body does not take, by nearness to examples."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from moechat.model import Exchange
from moechat.rules import foods
from moechat.rules.reading import understand

AT = datetime(2026, 5, 4, 20, tzinfo=UTC)


def kept(text: str) -> list[str]:
    return [fact.text for fact in understand(Exchange("x1", AT, text, "")).facts]


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("mustard sets my chest off proper, blue light job last time", "The user cannot have mustard"),
        ("kiwi, man. lips like two balloons and i cant swallow", "The user cannot have kiwi"),
        ("simvastatin, started monday", "The user takes simvastatin"),
        ("我一沾奶肚子就造反", "用户不能碰奶"), ("查了半天 原来是芝麻闹的 嗓子都肿了", "用户不能碰芝麻"),
        ("我系蚕豆病", "用户有蚕豆病"), ("我每天吃降压药", "用户在吃降压药"),
    ],
)  # fmt: skip
def test_what_a_body_does_not_take_is_heard_in_words_that_no_pattern_has(text: str, fact: str) -> None:
    assert fact in kept(text)


@pytest.mark.parametrize(
    "text",
    [
        "its my boss that cant have cream, he goes on about it", "cant stand beetroot, tastes of soil", "mum's coeliac",
        "俺婆娘是不能吃羊肉 一吃就流鼻血", "茄子讨厌 但吃了没事", "我爹牙口差 糯米的他吃不了", "我妈胃切了一半 辣的医生不让",
    ],
)  # fmt: skip
def test_what_another_does_not_take_and_what_is_a_taste_is_not_the_users(text: str) -> None:
    assert not [fact for fact in kept(text) if "cannot have" in fact or "不能碰" in fact or "user is" in fact]


def test_what_a_body_does_not_take_in_play_in_jest_or_in_a_question_is_no_fact() -> None:
    assert kept("昨天聚餐，吃了芒果嘴就肿") == ["用户不能碰芒果"]
    for text in (
        "昨天聚餐，我装作吃了芒果嘴就肿",
        "昨天聚餐，吃了芒果嘴就肿，开玩笑的",
        "昨天聚餐，我吃了芒果嘴会肿吗？",
    ):
        assert kept(text) == [], text


def test_a_food_is_masked_and_what_only_looks_like_one_is_not() -> None:
    assert (
        foods.besides("Kiwi makes my coeliac gut swell like a melon", "○", "●") == "○ makes my ● gut swell like a melon"
    )
    assert foods.states("查出来乳糜泻 在吃华法林") == {"乳糜泻": "has", "华法林": "takes"}
