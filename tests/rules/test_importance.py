"""How much something matters: a model's rating read, and the rules that stand in for it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moechat.model import Event
from moechat.rules.importance import marks, matters, rate, read_rating

# Golden `importance` of seed 001, column `sane`.
RATINGS = {
    "5": 0.5, "10": 1.0, "Rating: 8": 0.8, "8/10": 0.8, "7.5": 0.75, "7 out of 10": 0.7, "9.": 0.9, "100": 1.0, "0": 0.1,
    "-3": 0.3, "": None, "unsure": None, "1-2": 0.1, "１０": 1.0, "８分": 0.8, "Rating: 8\nReason: 2 people": 0.8, "11": 1.0,
}  # fmt: skip


@pytest.mark.parametrize(("text", "sane"), RATINGS.items())
def test_a_rating_is_read_as_it_is_meant(text: str, sane: float | None) -> None:
    assert read_rating(text) == (sane if sane is None else pytest.approx(sane))


def test_the_table_is_that_of_the_golden_file(goldens: Path) -> None:
    told = json.loads((goldens / "seed001_worked.json").read_text(encoding="utf-8"))["importance"]
    assert {row["text"]: row["sane"] for row in told} == RATINGS


def test_a_rating_of_another_scale_is_brought_to_ten() -> None:
    assert read_rating("4 out of 5") == pytest.approx(0.8)
    assert read_rating("80／100") == pytest.approx(0.8)
    assert read_rating("6/0") == pytest.approx(0.6)


@given(st.text())
def test_whatever_a_model_says_is_a_rating_or_none(text: str) -> None:
    found = read_rating(text)
    assert found is None or 0.1 <= found <= 1


def test_a_rating_of_a_thousand_digits_is_the_highest() -> None:
    assert read_rating("9" * 5000) == 1.0
    assert read_rating("9" * 5000 + "/" + "9" * 5000) is not None


# What the table of the module's docstring says of plain sentences, row by row.
ROWS = [
    ("farewell", "爷爷昨天去世了", 0.9), ("farewell", "我和他分手了", 0.9),
    ("farewell", "My grandfather passed away last week.", 0.9), ("farewell", "We broke up.", 0.9),
    ("turn", "我考上研究生了", 0.8), ("turn", "姐姐要结婚了", 0.8), ("turn", "I got the job!", 0.8),
    ("turn", "She's pregnant", 0.8), ("first", "这是我第一次坐飞机", 0.6),
    ("first", "It was the first time I saw snow", 0.6), ("loss", "我把钱包弄丢了", 0.6), ("loss", "和室友吵架了", 0.6),
    ("loss", "I lost my keys", 0.6), ("loss", "We argued about the ending", 0.6), ("change", "我们领养了一只小狗", 0.5),
    ("change", "The interview is on Friday", 0.5), ("promise", "我答应妈妈每周打电话", 0.5),
    ("promise", "I promised Ines to call", 0.5), ("feeling", "我今天特别开心", 0.5), ("feeling", "我不开心", 0.5),
    ("feeling", "I feel so lonely", 0.5), ("secret", "我没告诉过别人", 0.5),
    ("secret", "I never told anyone about it", 0.5), ("everyday", "中午吃了面条", 0.1),
    ("everyday", "刷牙洗脸就上班", 0.1), ("everyday", "I had coffee and toast", 0.1),
    ("everyday", "It rained all day", 0.1),
]  # fmt: skip


@pytest.mark.parametrize(("row", "text", "importance"), ROWS)
def test_each_row_of_the_table_in_both_languages(row: str, text: str, importance: float) -> None:
    assert marks(text) == (row,)
    assert rate(text) == importance


def test_a_plain_remark_is_in_between_and_rows_add_up_to_one_at_most() -> None:
    assert rate("我买了一本书") == rate("I bought a book") == rate("") == 0.3
    assert rate("第一次约会，特别开心") == 0.8
    assert rate("爷爷去世了，我哭了一晚上，答应他的事还没做") == 1.0


def test_what_happens_over_a_meal_is_no_everyday_thing() -> None:
    assert rate("晚饭的时候他求婚了") == 0.8
    assert rate("We broke up over dinner") == 0.9


@pytest.mark.parametrize("text", ["我们没有分手", "他没哭", "I never cried", "They aren't really married", "我不后悔"])
def test_what_is_denied_counts_for_nothing(text: str) -> None:
    assert marks(text) == ()


def test_a_denial_ends_with_its_clause() -> None:
    assert marks("I'm not joking, he died") == ("farewell",)


def test_words_are_whole_words() -> None:
    assert marks("The studied diet of a lostling") == ()
    assert marks("He’s DEAD.") == ("farewell",)


def test_both_languages_in_one_text_count() -> None:
    assert marks("我today有点sad，弄丢了耳机") == ("loss", "feeling")


# ---- novelty


def event(text: str = "用户买了尤克里里", **more: object) -> Event:
    return Event(text, ("x",), **more)  # type: ignore[arg-type]


def test_new_matters_add_and_known_ones_take() -> None:
    told = event(keywords=("尤克里里", "乐器"), object="尤克里里")
    assert rate(told) == 0.3
    assert rate(told, known_matters=set()) == 0.4
    assert rate(told, known_matters={"乐器"}) == 0.3
    assert rate(told, known_matters={"乐器", "尤克里里"}) == 0.2


def test_what_an_event_is_about_is_folded_and_leaves_out_who_talks() -> None:
    assert matters(event(subject="用户", object="Ukulele", keywords=("ukulele", " 乐器 ", ""))) == {"ukulele", "乐器"}
    assert rate(event(subject="用户"), known_matters=set()) == 0.3


def test_a_plan_with_a_day_weighs_a_little_more() -> None:
    assert rate("去看牙医", planned=True) == 0.4
    assert rate(event("分手"), planned=True) == 1.0


@given(st.text(), st.booleans())
def test_every_text_has_an_importance_and_always_the_same(text: str, planned: bool) -> None:
    found = rate(event(text, keywords=(text[:3],)), known_matters=set(), planned=planned)
    assert 0.1 <= found <= 1
    assert found == rate(event(text, keywords=(text[:3],)), known_matters=set(), planned=planned)
