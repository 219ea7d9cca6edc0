"""A reply that is heard: what is left out, and that it does not matter how the reply is cut."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moechat.ai.cleaner import Instead
from moechat.ai.spoken import MOST_ASIDE, spoken

TEXTS = st.text(alphabet="好你ab *（）()`#->\n.，", max_size=60)


@pytest.mark.parametrize(
    ("text", "heard"),
    [
        ("*笑了笑* 你回来啦！", " 你回来啦！"),
        ("（放下书）今天怎么样？", "今天怎么样？"),
        ("This is **very** good.", "This is very good."),
        ("# 清单\n- 牛奶\n- 面包\n", "清单\n牛奶\n面包\n"),
        ("`code` and 3 * 4", "code and 3  4"),
        ("没有（说完", "没有（说完"),
        ("（" + "长" * MOST_ASIDE + "）", "（" + "长" * MOST_ASIDE + "）"),
        ("-5 度", "-5 度"),
    ],
)
def test_marks_and_actions_are_left_out(text: str, heard: str) -> None:
    assert "".join(spoken([text])) == heard


def test_the_first_sentence_comes_at_once() -> None:
    pieces = iter(["你回来啦！", "（笑", "）", "坐。"])
    reply = spoken(pieces)
    assert next(reply) == "你回来啦！"
    assert list(pieces) == ["（笑", "）", "坐。"]


def test_a_thought_that_is_replaced_takes_what_was_held_with_it() -> None:
    assert list(spoken(["先想想（", Instead("好"), "的"])) == ["先想想", Instead("好"), "的"]


@given(TEXTS, st.lists(st.integers(0, 60), max_size=6))
def test_it_does_not_matter_how_a_reply_is_cut(text: str, cuts: list[int]) -> None:
    edges = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    pieces = [text[a:b] for a, b in itertools.pairwise(edges)]
    assert "".join(spoken(pieces)) == "".join(spoken([text]))
