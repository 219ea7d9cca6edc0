"""What a message asks the character to keep to: its words, what it is about, and whether a text touches it."""

from __future__ import annotations

import pytest

from moechat.rules import message
from moechat.rules.boundaries import LONGEST, concerns, sentence_of, stated

SET: list[tuple[str, list[tuple[str, str]]]] = [
    ("以后别提李强", [("以后别提李强", "李强")]), ("叫我小林", [("叫我小林", "")]),
    ("以后叫我阿明，我喜欢猫", [("以后叫我阿明", "")]), ("回我短一点", [("回我短一点", "")]),
    ("听我说就好", [("听我说就好", "")]), ("别劝我了", [("别劝我了", "")]),
    ("别老催我交房租", [("别老催我交房租", "")]), ("别提他，我前男友", [("别提他，我前男友", "前男友")]),
    ("别再用感叹号了。别提李强！", [("别再用感叹号了", ""), ("别提李强", "李强")]),
    ("please don't mention my ex", [("please don't mention my ex", "ex")]), ("call me Kit", [("call me Kit", "")]),
    ("please keep it short", [("please keep it short", "")]),
    ("Could you stop calling me honey", [("Could you stop calling me honey", "")]),
    ("Please don’t mention my ex", [("Please don’t mention my ex", "ex")]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "limits"), SET)
def test_a_limit_is_the_whole_sentence_and_what_is_not_to_be_spoken_of(
    text: str, limits: list[tuple[str, str]]
) -> None:
    drafts = stated(message.read(text), "x")
    assert [(one.text, one.target) for one in drafts] == limits
    assert {(one.kind, one.sources) for one in drafts} == {("boundary", ("x",))}


def test_what_is_reported_passing_introduced_or_for_a_while_sets_none() -> None:
    texts = [
        "我叫小林，叫我小林", "hi, I'm Kit, call me Kit", "今晚别提他", "don't bring him up today", "别问，问就是没有",
        "他跟我说：别提李强", "他说别提李强", "别提了", "never mind",
    ]  # fmt: skip
    assert [text for text in texts if stated(message.read(text), "x")] == []


def test_a_pronoun_means_whom_the_messages_before_named_last() -> None:
    def target(text: str, *before: str) -> str:
        (limit,) = stated(message.read(text), "x", before)
        return limit.target

    assert target("don't bring him up", "My ex left", "I met Tom yesterday") == "Tom"
    assert target("don't bring him up", "I met Tom yesterday", "my ex left") == "ex"
    assert target("以后别提他", "我室友又没洗碗") == "室友" and target("以后别提他") == ""


def test_a_text_touches_a_limit_where_it_names_what_it_is_about_in_any_case() -> None:
    assert concerns(["李强"], "李强来了") and not concerns(["李强"], "李四来了") and not concerns([], "李强来了")
    assert concerns(["Tom"], "TOM came") and concerns(["x", "tom"], "Tom came")
    assert concerns(["妈妈"], "妈妈来了"), "where nothing else is named, a kinship tells"
    assert concerns(["李强 妈妈"], "李强来了") and not concerns(["李强 妈妈"], "妈妈来了")


def test_a_quote_is_kept_with_its_sentence_and_no_longer_than_a_limit_may_be() -> None:
    assert sentence_of("你好。 以后别提李强，行吗？再见", "别提李强") == "以后别提李强，行吗"
    assert sentence_of("你好", "别提李强") == "别提李强"
    assert sentence_of("别提" + "好" * 300, "别提") == "别提" + "好" * (LONGEST - 2)
    (limit,) = stated(message.read("别提李强，" + "好" * 300), "x")
    assert len(limit.text) == LONGEST
