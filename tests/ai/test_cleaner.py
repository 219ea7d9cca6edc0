"""What is shown of a reply, whatever a model writes around it and however that is cut into pieces."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moechat.ai.cleaner import Cleaner, Instead, continued, headings, in_whole, without_thoughts

HEADINGS = headings(["【现在】2025-05-20 15:00，周二", "【脑海中回忆起的事件】\n…", "[Now] Tuesday, 2025-05-20"])
LINES = frozenset(["【现在】2025-05-20 15:00，周二", "【脑海中回忆起的事件】", "- 用户养了猫", "- 用户去了青岛"])


def clean(pieces: Sequence[str], *, is_thinking: bool = False) -> tuple[str, str]:
    """What is shown in the end, and what was thought."""
    cleaner = Cleaner(name="青禾", headings=HEADINGS, lines=LINES, is_thinking=is_thinking)
    shown = [out for piece in pieces for out in cleaner.feed(piece)]
    return in_whole([*shown, *cleaner.rest()]), cleaner.thoughts


REPLIES = [
    ("你好呀。", "你好呀。", ""), ("<think>他在问好</think>\n\n你好。", "你好。", "他在问好"),
    ("<thinking>想</thinking>你好<think>再想</think>呀", "你好呀", "想再想"), ("[THINK]hm[/THINK]你好", "你好", "hm"),
    ("先想想该说什么\n</think>\n\n你好。", "你好。", "先想想该说什么"),
    ("<think>想完了</think>青禾：你好。", "你好。", "想完了"), ("想完了</THINK>青禾: 你好。", "你好。", "想完了"),
    ("青禾：你来啦。\n青禾：坐。", "你来啦。\n青禾：坐。", ""), ("**青禾：** *笑* 你来啦。", "*笑* 你来啦。", ""),
    ("[青禾]: 在。", "在。", ""), ("青禾色的裙子真好看。", "青禾色的裙子真好看。", ""),
    ("【现在】2025-05-20 15:00，周二\n你来啦。", "你来啦。", ""),
    ("【脑海中回忆起的事件】\n- 用户养了猫\n- 用户去了青岛\n\n你的猫好吗？", "你的猫好吗？", ""),
    ("好呀。\n\n【脑海中回忆起的事件】\n- 用户养了猫", "好呀。", ""),
    ("【现在】 5月20日晚上\n你来啦。", "你来啦。", ""), ("【害羞】你来啦。", "【害羞】你来啦。", ""),
    ("- 用户养了猫", "- 用户养了猫", ""), ("1 < 2，a[0] = <b>，数组 [1, 2]。", "1 < 2，a[0] = <b>，数组 [1, 2]。", ""),
    ("<think>没有想完", "", "没有想完"), ("没说完的标签 <thi", "没说完的标签 <thi", ""),
]  # fmt: skip


@pytest.mark.parametrize(("text", "shown", "thoughts"), REPLIES)
def test_thoughts_label_and_echoes_are_taken_out_wherever_the_text_is_cut(text: str, shown: str, thoughts: str) -> None:
    assert clean([text]) == (shown, thoughts)
    assert clean(list(text)) == (shown, thoughts)
    for at in range(len(text) + 1):
        assert clean([text[:at], text[at:]]) == (shown, thoughts), at


def test_a_label_is_taken_out_in_every_form_and_nothing_else_of_the_reply() -> None:
    labels = [
        "青禾:", "青禾：", "青禾 :", "**青禾:**", "**青禾：**", "**青禾**:", "**青禾**：", "[青禾]", "[青禾]:",
        "【青禾】", "【青禾】：",
    ]  # fmt: skip
    assert [label for label in labels if clean([f"\n{label} 你来啦。"]) != ("你来啦。", "")] == []
    for text in ("青禾你来啦。", "**青禾** 来了。", "江砚：你来啦。", "你来啦。青禾：坐。"):
        assert clean([text]) == (text, "")
    nameless = Cleaner()
    assert in_whole([*nameless.feed("青禾：在。"), *nameless.rest()]) == "青禾：在。"


PARTS = st.sampled_from([
    "好", " ", "\n", "<", ">", "[", "</", "think", "<think>", "</think>", "<thinking>", "</thinking>", "[THINK]", "青禾",
    "：", "**",
    "【现在】", "【现在】2025-05-20 15:00，周二", "- 用户养了猫", "【", "\r", "\u2028",
])  # fmt: skip


@given(st.data(), st.lists(PARTS, max_size=14), st.booleans())
def test_any_text_gives_the_same_however_it_is_cut(data: st.DataObject, parts: list[str], is_thinking: bool) -> None:
    text = "".join(parts)
    at = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    pieces = [text[i:j] for i, j in zip([0, *at], [*at, len(text)], strict=True)]
    shown, thoughts = clean([text], is_thinking=is_thinking)
    assert clean(pieces, is_thinking=is_thinking) == (shown, thoughts)
    assert "<think>" not in shown.lower()


def test_a_template_that_opens_the_thought_is_learned_and_the_thought_never_shown_again() -> None:
    cleaner = Cleaner()
    assert list(cleaner.feed("想一想")) == ["想一想"]  # nobody could know
    assert in_whole(["想一想", *cleaner.feed("</think>好"), *cleaner.rest()]) == "好"
    assert cleaner.closed_early
    again = Cleaner(is_thinking=True)
    assert list(again.feed("再想一想")) == []
    assert in_whole([*again.feed("</think>好"), *again.rest()]) == "好" and again.closed_early


def test_a_reply_without_the_thought_that_was_expected_is_a_reply() -> None:
    assert clean(["你好", "呀。"], is_thinking=True) == ("你好呀。", "")


def test_a_thought_that_the_template_opened_is_cut_from_a_whole_text() -> None:
    assert without_thoughts('他想要 JSON</think>\n{"a": 1}') == '{"a": 1}'


def test_what_goes_on_says_nothing_twice_and_has_a_space_where_it_needs_one() -> None:
    cases: list[tuple[str, list[str], str]] = [
        ("He walked to the", ["market."], " market."),
        ("He walked to the", ["He wal", "ked to the", " market."], " market."),
        ("He walked to the", ["to the market."], " market."), ("He walked.", ["Then he sat."], " Then he sat."),
        ("He walked ", ["on."], "on."), ("他走到", ["集", "市"], "集市"),
        ("他走到集市口。", ["走到集市口。买了", "瓜"], "买了瓜"), ("他说好", ["好的"], "好的"),
        ("他走到", ["他走到"], ""), ("他走到", [], ""), ("他走到", ["想一想", Instead(""), "集市"], "集市"),
    ]  # fmt: skip
    wrong = []
    for begun, pieces, rest in cases:
        said = list(continued(begun, pieces))
        whole = "".join(said[1 + max((n for n, one in enumerate(said) if isinstance(one, Instead)), default=-1) :])
        wrong += [(begun, pieces, whole)] if whole != rest else []
    assert wrong == []
