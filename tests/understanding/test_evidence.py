"""What a model claims of the user must rest on words that the user said."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from moechat.model import Exchange, FactDraft
from moechat.understanding import evidence

AT = datetime(2025, 5, 21, 15, tzinfo=UTC)


@pytest.mark.parametrize(
    ("said", "claimed", "target"),
    [
        ("我住在苏州", "用户住在杭州", "杭州"),
        ("我喜欢猫", "用户喜欢狗", "狗"),
        ("我叫小明", "用户叫小红", "小红"),
        ("I live in Boston", "The user lives in Paris", "Paris"),
    ],
)
def test_a_fact_about_something_that_was_never_said_is_invented(said: str, claimed: str, target: str) -> None:
    heard = evidence.read([Exchange("1", AT, said, "")])
    assert not evidence.supports(heard, FactDraft(claimed, ("1",), target=target))


@pytest.mark.parametrize(
    ("said", "claimed", "target"),
    [("我住在苏州", "用户住在苏州", "苏州"), ("I live in Boston", "The user lives in Boston", "Boston")],
)
def test_a_fact_in_the_user_s_own_words_is_borne_out(said: str, claimed: str, target: str) -> None:
    heard = evidence.read([Exchange("1", AT, said, "")])
    assert evidence.supports(heard, FactDraft(claimed, ("1",), target=target))
