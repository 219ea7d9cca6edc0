"""What a model claims of the user must rest on words that the user said."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from moechat.model import Exchange, FactDraft
from moechat.understanding import evidence, sense
from tests.understanding.evidence_table import MUST_NOT_STAND, MUST_STAND, Row

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


def stands(row: Row) -> bool:
    """Whether a claim is kept in its own words."""
    words, claimed, target, polarity, *entity = row
    exchanges = [Exchange("1", AT, words, "")]
    draft = FactDraft(claimed, ("1",), target=target, polarity=polarity, entity=entity[0] if entity else "user")
    kept = evidence.borne_out(draft, exchanges, evidence.read(exchanges))
    return kept is not None and kept.text == claimed


@pytest.mark.parametrize("row", MUST_NOT_STAND, ids=str)
def test_a_claim_whose_sense_or_owner_is_another_does_not_stand(row: Row) -> None:
    assert not stands(row)


@pytest.mark.parametrize("row", MUST_STAND, ids=str)
def test_a_claim_that_follows_from_the_words_stands(row: Row) -> None:
    assert stands(row)


def test_an_event_of_what_the_user_says_did_not_happen_is_denied() -> None:
    user = evidence.read(
        [Exchange("1", AT, "我没有参加小雨的婚礼。", ""), Exchange("2", AT, "I went to the concert.", "")]
    )
    assert evidence.denies(user, ("1",), "用户参加了婚礼", "婚礼")
    assert not evidence.denies(user, ("1",), "用户没有参加婚礼", "婚礼")
    assert not evidence.denies(user, ("2",), "The user went to the concert", "concert")


@pytest.mark.parametrize(
    ("text", "target", "expected"),
    [
        ("我不是不喜欢辣", "辣", 1),
        ("我家没有人不喜欢火锅", "火锅", 1),
        ("我不吃肉不喝酒", "酒", -1),
        ("我不喜欢茶喜欢咖啡", "茶", -1),
        ("我不喜欢茶喜欢咖啡", "咖啡", 1),
        ("香菜我不吃", "香菜", -1),
        ("I don't like tea and coffee", "coffee", -1),
        ("I don't eat meat and hate tea", "tea", -1),
        ("I like tea not coffee", "tea", 1),
        ("I like tea not coffee", "coffee", -1),
        ("I don't hate spinach", "spinach", 1),
    ],
)
def test_the_sense_of_a_word_is_that_of_the_words_around_it(text: str, target: str, expected: int) -> None:
    assert sense.of(text, target) == expected
