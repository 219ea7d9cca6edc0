"""Words: what is indexed, what is a keyword, where a clause ends, how long a text is for a model."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moechat.language.words import clauses, content_tokens, count_tokens, is_stop_word, keywords, stem, tokens, words


def test_what_is_indexed_of_a_text():
    held = {
        "我从来不吃香菜的。": {"香菜"},  # a word of two characters inside a sentence
        "沈砚今天来了": {"沈砚"},  # a name that no dictionary has
        "后来沈砚走了": {"沈砚"},
        "我和Caroline在2023年看了iPhone15发布会": {stem("caroline"), "2023", "iphone15", "iphon", "15"},
    }
    assert {text: missing for text, words in held.items() if (missing := words - set(tokens(text)))} == {}
    alike = [
        ("ＡＢＣ １２３", "abc 123"),
        ("café", "cafe"),
        ("Melanie's kids", "melanie kids"),
        ("繁體中文", "繁体中文"),
    ]
    assert [pair for pair in alike if tokens(pair[0]) != tokens(pair[1])] == []


def test_forms_of_one_english_word_share_a_stem_and_others_do_not():
    alike = (
        "painting painted stories story happily happy running runs adoption adopt went go bought buys children kids boxes box "
        "creating creation hoped hoping agencies agency studied studies"
    ).split()
    apart = "bus busy need ned this thi sing s".split()
    assert [pair for pair in zip(alike[::2], alike[1::2], strict=True) if stem(pair[0]) != stem(pair[1])] == []
    assert [pair for pair in zip(apart[::2], apart[1::2], strict=True) if stem(pair[0]) == stem(pair[1])] == []


def test_words_of_letters_digits_and_apostrophes_are_cut_into_what_is_searched():
    assert tokens("007 0 000 x1y2 don't Caroline’s café") == [
        "7", "0", "0", "x1y2", "x", "1", "y", "2", "don", "carolin", "cafe",
    ]  # fmt: skip


def test_words_of_content_are_told_from_those_that_only_ask():
    assert all(is_stop_word(word) for word in ("的", "我们", "the", stem("something"), stem("does")))
    assert not is_stop_word("香菜")
    assert set(content_tokens("你喜欢什么颜色？")) == {"喜欢", "颜色"}
    assert content_tokens("What did you do?") == []
    assert "香菜" in content_tokens("我吃不吃香菜呢")


def test_keywords_are_content_words_the_repeated_and_rare_first():
    found = keywords("我昨天和王小明去外滩看日落，王小明说外滩的日落很美", 3)
    assert found[0] == "王小明"
    assert set(found) == {"王小明", "外滩", "日落"}
    assert keywords("Did Caroline go to the pottery workshop?", 3) == ["caroline", "pottery", "workshop"]
    assert keywords("hotpot 火锅 的 q", 3) == ["火锅", "hotpot", "q"], (
        "letters are less rare than a Chinese word of content"
    )
    assert keywords("", 3) == keywords("的了吗", 3) == keywords("香菜", 0) == []
    assert words("我喜欢Painting") == ["我", "喜欢", "painting"]


def test_clauses_end_at_marks_but_not_inside_numbers():
    parts = clauses("你好，我花了3.5元。真的？Is it 1,000? OK.\n好")
    assert parts == ["你好", "我花了3.5元", "真的", "Is it 1,000", "OK", "好"]
    assert clauses("。。，，") == []


def test_token_counts_are_near_what_models_count():
    assert count_tokens("") == 0
    assert 8 <= count_tokens("你好，很高兴认识你。") <= 11
    assert 7 <= count_tokens("Hello, how are you today?") <= 9
    assert count_tokens("a" * 400) == 100
    counts = {
        "你": 1, "你好": 2, "你好呀": 3, "12": 1, "1234": 2, "abcdef": 1, "abcdefg": 2, "abcdefghi": 3, "a_b!": 4,
        "안녕하세요": 3, "  ": 0,
    }  # fmt: skip
    assert {text: count_tokens(text) for text in counts} == counts


def test_of_a_long_text_parts_from_its_whole_length_are_counted():
    half = "好" * 8_000
    assert count_tokens(half) == pytest.approx(6_400, abs=1) and count_tokens(half * 3) == pytest.approx(19_200, abs=30)
    mixed = half + "a " * 4_000
    assert count_tokens(mixed) == pytest.approx(10_400, abs=20), "four of eight parts lie in each half"


@given(st.text())
def test_no_string_raises(text: str):
    for found in (tokens(text), content_tokens(text), words(text), keywords(text), clauses(text)):
        assert all(isinstance(item, str) and item for item in found)
    assert count_tokens(text) >= 0


def test_hostile_strings_do_not_raise():
    for text in ("\ud800孤", "\x00", "a" * 100_000, "好" * 5_000, "İ", "ﷺ", "𠀀𠀁", "👩‍👩‍👧"):
        assert all(token.encode("utf-8") and len(token) <= 64 for token in tokens(text))
    assert "" not in tokens("ArithmeticError'hmeticError'hmeticError'hmeticError'hmeticError'y")
    assert set(words("程序员" * 1300)) <= {"程序员", "程序", "员", "程", "序员"}


def test_threads_get_the_same_tokens():
    texts = ["我昨天去了外滩看日落", "Caroline画了一幅画", "繁體字也可以"] * 20
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(tokens, texts)) == [tokens(text) for text in texts]


def test_english_alone_does_not_load_the_chinese_dictionary_and_nothing_is_printed():
    code = (
        "import sys; from moechat.language.words import tokens; tokens('only English'); print('jieba' in sys.modules); "
        "tokens('中文分词')"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
    assert not done.stderr
