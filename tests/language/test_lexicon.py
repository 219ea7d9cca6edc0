"""The dictionary that is read as far as it is needed is jieba's own."""

from __future__ import annotations

import threading

import jieba
from hypothesis import given
from hypothesis import strategies as st

from moechat.language.words import Lexicon

TALK = "昨天和室友去西湖边喝龙井，编辑又催稿了，团子把杯子打翻了"
LEXICON = Lexicon()


WHOLE = jieba.Tokenizer()
WHOLE.FREQ, WHOLE.total = WHOLE.gen_pfdict(WHOLE.get_dict_file())
WHOLE.initialized = True


def test_every_word_and_beginning_has_the_count_that_jieba_reads() -> None:
    lexicon = Lexicon()
    assert lexicon.total == WHOLE.total
    assert [word for word, count in WHOLE.FREQ.items() if lexicon.count(word) != count] == []


def test_only_words_that_begin_with_a_character_of_the_text_are_read() -> None:
    lexicon = Lexicon()
    lexicon.cut(TALK)
    assert {word[0] for word in lexicon._segmenter.FREQ} <= set(TALK)


@given(st.one_of(st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x4FFF), max_size=20), st.text(TALK)))
def test_a_text_is_cut_as_with_the_whole_dictionary(text: str) -> None:
    assert LEXICON.cut(text) == WHOLE.lcut(text)


def test_any_string_is_cut() -> None:
    for text in ("", "\ud800", "𠮷野家", "a\x00b", "ー"):
        assert "".join(Lexicon().cut(text)) == text
        Lexicon().count(text)


def test_the_kind_of_a_word_is_that_of_the_dictionary_and_none_of_half_a_character() -> None:
    assert [LEXICON.kind(word) for word in ("西湖", "喝", "一\ud800")] == ["ns", "vg", ""]


def test_threads_that_read_the_same_words_cut_alike() -> None:
    lexicon, cuts = Lexicon(), list[list[str]]()
    threads = [threading.Thread(target=lambda: cuts.append(lexicon.cut(TALK))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert cuts == [LEXICON.cut(TALK)] * 8
