"""A long memory in fewer words."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from moechat.language.words import count_tokens
from moechat.recall.fragments import LEAST_TOKENS, fair_length, passage
from tests.fuzz.growth import calls

TALK = (
    "阿明：周末去了哪里？\n"
    "小满：上午先去了花市。花市人很多，挤了半天。后来在湖边吃了片儿川，汤有点咸。晚上回家看书，十点就睡了。\n"
    "阿明：好的。"
)


def test_the_sentences_with_the_words_asked_for_stay_with_the_name_of_who_said_them() -> None:
    short = passage(TALK, 25, ["片儿川"])
    assert "小满：…后来在湖边吃了片儿川，汤有点咸。…" in short
    assert "花市人很多" not in short


def test_where_nothing_is_asked_for_the_beginning_stays() -> None:
    assert passage(TALK, 25, []).startswith("阿明：周末去了哪里？\n小满：上午先去了花市。…")


def test_what_fits_stays_word_for_word() -> None:
    assert passage(TALK, 500, ["花市"]) == TALK


def test_one_sentence_without_end_is_cut() -> None:
    short = passage("很长" * 300, 30, [])
    assert short.endswith("…") and count_tokens(short) <= 30


@given(st.text(alphabet="ab我们。.!？\n：: ", max_size=200), st.integers(1, 60), st.sampled_from([["a"], ["我们"], []]))
def test_a_passage_never_takes_more_room_than_there_is(text: str, tokens: int, words: list[str]) -> None:
    short = passage(text, tokens, words)
    assert count_tokens(short) <= max(tokens, 2)
    assert all(letter in text or letter == "…" for letter in short)


def test_all_find_room_when_the_longest_are_cut_alike() -> None:
    cases = [
        ([10, 20, 30], 60, 30), ([300, 300, 300], 600, 200), ([50, 500, 500], 850, 400),
        ([500] * 20, 1500, LEAST_TOKENS), ([], 100, LEAST_TOKENS),
    ]  # fmt: skip
    assert [(tokens, room, length) for tokens, room, length in cases if fair_length(tokens, room) != length] == []


def test_a_sentence_is_read_once_whatever_number_of_words_is_looked_for() -> None:
    text = "".join(f"第{number}天去跑步。" for number in range(100))
    _, one, many = (calls(lambda text, count=count: passage(text, 100, ["跑步"] * count), text) for count in (1, 1, 50))
    assert many < 5 * one
