"""Recalled facts and events as the prompt and the logs have them (seed 004, section 七)."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from moechat.compat.query import event_log, fact_log
from moechat.model import Episode, Event, Fact, FactDraft
from moechat.recall.fragments import Names, dated, event_line, fragments

ZONE = ZoneInfo("Asia/Shanghai")
NOW = datetime(2021, 1, 8, 20, 0, tzinfo=ZONE)
ENGLISH = Names(language="en")


def fact(text: str, kind: Any = "attribute", entity: str = "user", *, day: int = 5, **more: Any) -> Fact:
    return Fact(text, datetime(2021, 1, day, 9, tzinfo=ZONE), FactDraft(text, (), kind, entity, **more))


def event(text: str, at: datetime = NOW, **more: Any) -> Episode:
    return Episode("e", at, Event(text, ("x",), **more))


ALL = [
    fact("阿宁的画室在三楼", "attribute", "阿宁"), fact("小棠想去听江砚拉琴", "relation", target="character"),
    fact("猫怕水", entity="猫", generic=True), fact("江砚欠小棠一顿面", "relation", "character", target="user", day=7),
    fact("小棠喜欢清晨的咖啡"), fact("阿宁教过小棠画画", "relation", "阿宁", target="user", day=2),
    fact("江砚左手有茧", entity="character"), fact("雨里的站台，小棠撑一把黄伞", "picture"), fact("小棠怕黑"),
]  # fmt: skip


def test_facts_stand_in_the_order_of_the_seed_and_only_relations_carry_a_date() -> None:
    assert fragments(ALL, Names("小棠", "江砚")).splitlines() == [
        "关于小棠", "- 小棠喜欢清晨的咖啡", "- 小棠怕黑",
        "小棠的人和事：江砚", "- 2021-01-05：小棠想去听江砚拉琴",
        "江砚和小棠", "- 2021-01-07：江砚欠小棠一顿面",
        "关于江砚自己", "- 江砚左手有茧",
        "关于阿宁", "- 阿宁的画室在三楼",
        "阿宁身边的人和事", "- 2021-01-02：阿宁教过小棠画画",
        "说到猫", "- 猫怕水",
        "记得的画面", "- 雨里的站台，小棠撑一把黄伞",
    ]  # fmt: skip


def test_the_english_headings_name_who_it_is() -> None:
    facts = [
        fact("Tang wants to see the sea", "relation", target="the sea"),
        fact("Wen paints", entity="Wen"),
        fact("Cats fear water", entity="cats", generic=True),
        fact("Yan owes Tang noodles", "relation", "character"),
    ]
    assert fragments(facts, Names("Tang", "Yan", "en")).splitlines() == [
        "Tang and the sea", "- 2021-01-05: Tang wants to see the sea",
        "Yan", "- 2021-01-05: Yan owes Tang noodles",
        "About Wen", "- Wen paints",
        "cats, in general", "- Cats fear water",
    ]  # fmt: skip


def test_what_is_not_known_or_odd_in_a_fact_is_left_as_it_is() -> None:
    undated = Fact("f", None, FactDraft("小棠想去看海", (), "relation", target="海"))
    assert fragments([undated], Names("小棠")) == "小棠的人和事：海\n- 小棠想去看海"
    brother = fact("The user had a brother called Joel", "relation", target="joel")
    assert fragments([brother], ENGLISH).splitlines()[0].endswith("Joel"), "as the words have it"
    odd = fact("好", "relation", target="[{user}]")
    assert fragments([odd], Names("小棠")) == "小棠的人和事：[{user}]\n- 2021-01-05：好"
    assert fragments([]) == ""


def test_an_event_is_dated_as_precisely_as_it_is_known() -> None:
    told = [
        ((), "2021-01-08 20:00说起", "told 2021-01-08 20:00"),
        (("2021-01-05T18:45:33", "2021-01-05T18:45:33"), "2021-01-05 18点", "2021-01-05 6 pm"),
        (("2021-01-05T00:00:00", "2021-01-05T23:59:59"), "2021-01-05", "2021-01-05"),
        (("2021-01-05T08:00:00", "2021-01-05T19:00:00"), "2021-01-05 8点", "2021-01-05 8 am"),
        (("2021-01-05T08:00:00", "2021-01-05T20:00:00"), "2021-01-05", "2021-01-05"),
        (("2021-01-04T20:00:00+00:00", "2021-01-05T11:00:00+00:00"), "2021-01-05", "2021-01-05"),
        (("2020-12-28T00:00:00", "2021-01-03T23:59:59"), "2020-12-28至2021-01-03", "2020-12-28 to 2021-01-03"),
    ]
    wrong = []
    for happened, *expected in told:
        times = [datetime.fromisoformat(one) for one in happened]
        span = tuple(time if time.tzinfo else time.replace(tzinfo=ZONE) for time in times) or None
        one = event("吃火锅", happened=span)
        if [dated(one, NOW), dated(one, NOW, "en")] != expected:
            wrong.append((happened, dated(one, NOW), dated(one, NOW, "en")))
    assert wrong == []


def test_the_day_before_an_event_is_not_in_its_words_again() -> None:
    days = [datetime(2021, 1, 7, h, tzinfo=ZONE) for h in (0, 23)]
    lines = [
        event_line(event(text, happened=tuple(days)), NOW, names, aged=False)
        for text, names in (
            ("小棠2021年1月7日早上还了书", Names()),
            ("2021年1月7日的晚饭上小棠哭了", Names()),
            ("On 7 January 2021 Tang gave the book back", Names(language="en")),
            ("By 7 January 2021 Tang had read it", Names(language="en")),
        )
    ]
    assert lines == [
        "2021-01-07:小棠早上还了书", "2021-01-07:晚饭上小棠哭了",
        "2021-01-07: Tang gave the book back", "2021-01-07: By 7 January 2021 Tang had read it",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "first", "last", "precision", "line"),
    [
        ("用户2021年1月2日至3日的周末搬家", (1, 2), (1, 3), "day", "2021-01-02至2021-01-03:用户周末搬家"),
        ("用户2021年1月2日前后搬家", (1, 2), (1, 2), "day", "2021-01-02:用户2021年1月2日前后搬家"),
        ("小棠2021年1月满了十岁", (1, 1), (1, 31), "month", "2021年1月:小棠满了十岁"),
        ("The trip, 27 January to 3 February 2021, is off", (1, 27), (2, 3), "day", "2021-01-27 to 2021-02-03: The trip is off"),
        ("In January 2021 Tang turned ten", (1, 1), (1, 31), "month", "January 2021: Tang turned ten"),
    ],
)  # fmt: skip
def test_no_days_before_an_event_are_in_its_words_again(
    text: str, first: tuple[int, int], last: tuple[int, int], precision: Any, line: str
) -> None:
    days = (datetime(2021, *first, tzinfo=ZONE), datetime(2021, *last, 23, 59, 59, tzinfo=ZONE))
    names = Names(language="en" if text.isascii() else "zh")
    assert event_line(event(text, happened=days, precision=precision), NOW, names, aged=False) == line


def test_what_goes_on_has_no_age() -> None:
    now_on = event("腿上打着石膏", happened=(NOW - timedelta(days=5), NOW + timedelta(days=20)))
    assert "前" not in event_line(now_on, NOW)


def test_events_are_time_place_and_what_happened() -> None:
    rows = [
        event("小棠还了书", datetime(2021, 1, 5, 18, 45, 33, tzinfo=ZONE), place="图书馆"),
        event("小棠回家了"),
        event("旧事", None),
    ]
    assert [event_line(row, NOW) for row in rows] == [
        "2021-01-05 18点说起（3天前）图书馆:小棠还了书", "2021-01-08 20:00说起（今天）:小棠回家了", "旧事",
    ]  # fmt: skip
    assert event_line(rows[0], NOW, ENGLISH) == "told 2021-01-05 6 pm (3 days ago), 图书馆: 小棠还了书"


def test_log_lines_read_as_the_samples_of_the_seed() -> None:
    told = event("小棠想拍红衣模特", place="咖啡馆", insight="小棠在寻找灵感。")
    assert event_log(told, 0.57469, "402", "2021-01-05 18:45:33") == (
        "[记忆事件]--score=0.5747,index=402.在2021-01-05 18:45:33左右, 地点：咖啡馆。详细记忆事件为小棠想拍红衣模特。"
        "这表明了小棠在寻找灵感。"
    )
    assert event_log(event("小棠走了"), 0.5, 1, "") == "[记忆事件]--score=0.5000,index=1.详细记忆事件为小棠走了。"
    assert fact_log("用户属性", 0.0, {"index": 2947}, "小棠喜欢蓝玫瑰", ["玫瑰"], "兴趣") == (
        "用户属性--score=0.0000,index={'index': 2947}, 小棠喜欢蓝玫瑰---命中['玫瑰']，数据库关键词: 兴趣"
    )


def test_an_event_of_which_only_the_place_is_known_is_told_by_the_place() -> None:
    assert event_line(event("旧事", None, place="码头"), NOW) == "码头:旧事"
    assert event_log(event("旧事", None, place="码头"), 0.5, 1, "") == (
        "[记忆事件]--score=0.5000,index=1.地点：码头。详细记忆事件为旧事。"
    )


def test_every_group_has_its_heading_with_and_without_a_name() -> None:
    facts = [
        fact("a", "relation"), fact("b", "relation", "character"), fact("c", entity="character"), fact("d", entity=""),
        fact("e", "relation", ""), fact("f", entity="猫", generic=True), fact("g", "relation", "猫", generic=True),
        fact("h", "picture"), fact("i"),
    ]  # fmt: skip
    headings = [line for line in fragments(facts).splitlines() if not line.startswith("- ")]
    assert headings == [
        "关于User", "User的人和事", "Character", "关于Character自己", "别的事", "别的事", "说到猫", "说到猫，还有", "记得的画面",
    ]  # fmt: skip
    headings = [line for line in fragments(facts, ENGLISH).splitlines() if not line.startswith("- ")]
    assert headings == [
        "About User", "User", "Character", "About Character", "Other things", "Other things", "猫, in general",
        "猫 and others, in general", "Scenes remembered",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("precision", "zh", "en"),
    [("month", "2020年5月（8个月前）:去海边", "May 2020 (8 months ago): 去海边"),
     ("year", "2020年前后（8个月前）:去海边", "around 2020 (8 months ago): 去海边")],
)  # fmt: skip
def test_what_is_known_by_the_month_or_the_year_is_said_so(precision: Any, zh: str, en: str) -> None:
    span = (datetime(2020, 5, 1, tzinfo=ZONE), datetime(2020, 5, 31, 23, 59, 59, tzinfo=ZONE))
    one = event("去海边", happened=span, precision=precision)
    assert (event_line(one, NOW), event_line(one, NOW, ENGLISH)) == (zh, en)


def test_an_event_says_how_far_it_came_and_ends_once() -> None:
    for status, line in {"planned": "（打算）", "cancelled": "（取消了）", "open": "（还没完）", "done": ""}.items():
        told = event("去海边", status=status)
        assert event_line(told, NOW, aged=False) == f"2021-01-08 20:00说起:去海边{line}"
    for end in "。！？.!?…”":
        assert event_log(event(f"小棠走了{end}"), 0.5, 1, "").endswith(f"小棠走了{end}")


def test_a_memory_calls_the_two_by_their_names_and_no_other_user_or_character() -> None:
    zh, en = Names("阿森", "青禾"), Names("Sam", "Wren", "en")
    assert zh.line("用户的妹妹和用户说，用户体验做得好的新用户多") == "阿森的妹妹和阿森说，用户体验做得好的新用户多"
    assert zh.line("角色答应用户一起看电影里的女角色") == "青禾答应阿森一起看电影里的女角色"
    assert en.line("The user's sister told the user about the user interface") == (
        "Sam's sister told Sam about the user interface"
    )
    assert Names().line("用户和角色") == "用户和角色"
    assert Names("阿森", "小满").line("角色扮掌柜，角色扮演很好玩") == "小满扮掌柜，角色扮演很好玩"
    assert event_line(event("去了", None, place="用户的家"), NOW, Names("阿森")) == "阿森的家:去了"


def test_a_date_that_stands_before_an_event_is_not_told_again_with_the_words_that_meant_it() -> None:
    at = datetime(2021, 1, 8, 20, tzinfo=ZONE)
    day = (datetime(2021, 1, 15, tzinfo=ZONE), datetime(2021, 1, 15, 23, 59, 59, tzinfo=ZONE))
    zh = event("用户下周五（2021-01-15）要去面试", at, happened=day)
    en = event("the user has an interview next Friday (2021-01-15)", at, happened=day)
    assert event_line(zh, NOW, Names("阿森"), aged=False) == "2021-01-15:阿森要去面试"
    assert event_line(en, NOW, Names("Sam", language="en"), aged=False) == "2021-01-15: Sam has an interview"
    other = event("用户想起那天（2020-01-15）的事", at, happened=day)
    assert event_line(other, NOW, aged=False) == "2021-01-15:用户想起那天（2020-01-15）的事"


def test_a_plan_is_to_come_until_its_day_and_was_a_plan_after_it() -> None:
    day = (datetime(2021, 1, 5, tzinfo=ZONE), datetime(2021, 1, 5, 23, 59, 59, tzinfo=ZONE))
    past = event("去海边", happened=day, status="planned")
    assert event_line(past, NOW, aged=False) == "2021-01-05:去海边（当时的打算）"
    assert event_line(past, NOW, ENGLISH, aged=False) == "2021-01-05: 去海边 (the plan then)"
    assert event_line(past, day[1], aged=False) == "2021-01-05:去海边（打算）"
    before = day[0] - timedelta(hours=1)
    assert event_line(past, before, aged=False) == "2021-01-05:去海边（还没到）"
    assert event_line(past, before, ENGLISH, aged=False) == "2021-01-05: 去海边 (still to come)"
