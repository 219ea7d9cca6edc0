"""Recalled facts and events as the prompt and the logs have them (seed 004, section 七)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from moechat.model import Episode, Event, Fact, FactDraft
from moechat.recall.fragments import dated, event_log, fact_log, fragments, remembered

ZONE = ZoneInfo("Asia/Shanghai")
NOW = datetime(2021, 1, 8, 20, 0, tzinfo=ZONE)


def fact(text: str, kind: Any = "attribute", entity: str = "user", *, day: int = 5, **more: Any) -> Fact:
    return Fact(text, datetime(2021, 1, day, 9, tzinfo=ZONE), FactDraft(text, (), kind, entity, **more))


def event(text: str, at: datetime = NOW, **more: Any) -> Episode:
    return Episode("e", at, Event(text, ("x",), **more))


ALL = [
    fact("阿宁的画室在三楼", "attribute", "阿宁"),
    fact("小棠想去听江砚拉琴", "relation", target="character"),
    fact("猫怕水", entity="猫", generic=True),
    fact("江砚欠小棠一顿面", "relation", "character", target="user", day=7),
    fact("小棠喜欢清晨的咖啡"),
    fact("阿宁教过小棠画画", "relation", "阿宁", target="user", day=2),
    fact("江砚左手有茧", entity="character"),
    fact("雨里的站台，小棠撑一把黄伞", "picture"),
    fact("小棠怕黑"),
]


def test_facts_stand_in_the_order_of_the_seed_and_only_relations_carry_a_date() -> None:
    assert fragments(ALL, user_name="小棠", character_name="江砚").splitlines() == [
        "用户-属性", "- 小棠喜欢清晨的咖啡", "- 小棠怕黑",
        "用户-关系-江砚", "- 2021-01-05：小棠想去听江砚拉琴",
        "主体-关系-小棠", "- 2021-01-07：江砚欠小棠一顿面",
        "主体-属性", "- 江砚左手有茧",
        "具体实体-阿宁-属性", "- 阿宁的画室在三楼",
        "具体实体-阿宁-关系", "- 2021-01-02：阿宁教过小棠画画",
        "泛化实体-猫-属性", "- 猫怕水",
        "记忆画面", "- 雨里的站台，小棠撑一把黄伞",
    ]  # fmt: skip


def test_the_english_headings_name_who_it_is() -> None:
    facts = [
        fact("Tang wants to see the sea", "relation", target="the sea"),
        fact("Wen paints", entity="Wen"),
        fact("Cats fear water", entity="cats", generic=True),
        fact("Yan owes Tang noodles", "relation", "character"),
    ]
    assert fragments(facts, "en", user_name="Tang", character_name="Yan").splitlines() == [
        "Tang: relations with the sea", "- 2021-01-05: Tang wants to see the sea",
        "Yan: relations", "- 2021-01-05: Yan owes Tang noodles",
        "Wen: attributes", "- Wen paints",
        "cats (in general): attributes", "- Cats fear water",
    ]  # fmt: skip


def test_a_relation_whose_date_nobody_knows_shows_none() -> None:
    undated = Fact("f", None, FactDraft("小棠想去看海", (), "relation", target="海"))
    assert fragments([undated]) == "用户-关系-海\n- 小棠想去看海"


def test_a_name_in_a_memory_is_no_placeholder_and_no_bracket() -> None:
    odd = fact("好", "relation", target="[{user}]")
    assert fragments([odd], user_name="小棠") == "用户-关系-[{user}]\n- 2021-01-05：好"


def test_no_facts_are_no_text() -> None:
    assert fragments([]) == ""
    assert remembered([], NOW) == ""


@pytest.mark.parametrize(
    ("happened", "zh", "en"),
    [
        (None, "2021-01-08 20:00", "2021-01-08 20:00"),
        (("2021-01-05T18:45:33", "2021-01-05T18:45:33"), "2021-01-05 18点", "2021-01-05 6 pm"),
        (("2021-01-05T00:00:00", "2021-01-05T23:59:59"), "2021-01-05", "2021-01-05"),
        (("2020-12-28T00:00:00", "2021-01-03T23:59:59"), "2020-12-28至2021-01-03", "2020-12-28 to 2021-01-03"),
    ],
)
def test_an_event_is_dated_as_precisely_as_it_is_known(happened: Any, zh: str, en: str) -> None:
    span = tuple(datetime.fromisoformat(one).replace(tzinfo=ZONE) for one in happened) if happened else None
    told = event("吃火锅", happened=span)
    assert dated(told, NOW) == zh
    assert dated(told, NOW, "en") == en


def test_events_are_time_place_and_what_happened() -> None:
    rows = [
        event("小棠还了书", datetime(2021, 1, 5, 18, 45, 33, tzinfo=ZONE), place="图书馆"),
        event("小棠回家了"),
        event("旧事", None),
    ]
    assert remembered(rows, NOW).splitlines() == [
        "2021-01-05 18点图书馆:小棠还了书", "2021-01-08 20:00:小棠回家了", "旧事",
    ]  # fmt: skip
    assert remembered(rows[:1], NOW, "en") == "2021-01-05 6 pm, 图书馆: 小棠还了书"


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


@pytest.mark.parametrize(("hours", "shown"), [(11, "2021-01-05 8点"), (12, "2021-01-05")])
def test_a_span_of_half_a_day_names_the_day_and_a_shorter_one_its_beginning(hours: int, shown: str) -> None:
    start = datetime(2021, 1, 5, 8, tzinfo=ZONE)
    assert dated(event("放风筝", happened=(start, start + timedelta(hours=hours))), NOW) == shown


def test_a_time_is_told_in_the_zone_of_the_one_who_hears_it() -> None:
    start = datetime(2021, 1, 4, 20, tzinfo=UTC)
    assert dated(event("放风筝", happened=(start, start + timedelta(hours=15))), NOW) == "2021-01-05"


def test_an_event_of_which_only_the_place_is_known_is_told_by_the_place() -> None:
    assert remembered([event("旧事", None, place="码头")], NOW) == "码头:旧事"
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
        "用户-属性", "用户-关系", "主体-关系", "主体-属性", "具体实体-属性", "具体实体-关系", "泛化实体-猫-属性",
        "泛化实体-猫-关系", "记忆画面",
    ]  # fmt: skip
    headings = [line for line in fragments(facts, "en").splitlines() if not line.startswith("- ")]
    assert headings == [
        "User: attributes", "User: relations", "Character: relations", "Character: attributes", "attributes",
        "relations", "猫 (in general): attributes", "猫 (in general): relations", "Pictures",
    ]  # fmt: skip


@pytest.mark.parametrize("end", list("。！？.!?…”"))
def test_a_sentence_that_ends_is_not_ended_again(end: str) -> None:
    assert event_log(event(f"小棠走了{end}"), 0.5, 1, "").endswith(f"小棠走了{end}")
