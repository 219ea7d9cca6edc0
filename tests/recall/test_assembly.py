"""The prompt of one turn."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from moechat.model import Episode, Event, Fact, FactDraft, Hit, Message, Recollection
from moechat.recall.assembly import Background, assemble
from moechat.settings.character import Character
from moechat.settings.defaults import defaults_folder
from moechat.settings.prompts import Prompts
from moechat.when import Span
from tests.houses import moment

NOW = moment("2025-05-21T15:04:00")


def character(language: Any = "zh", **more: Any) -> Character:
    return Character(Path("小满"), "小满", "阿明", language, persona="爱听人说话", **more)


NOTHING = Recollection()


def assembled(
    who: Character, found: Recollection = NOTHING, talk: list[Message] | None = None, **more: Any
) -> list[Message]:
    return assemble(who, Prompts([defaults_folder() / "prompts"], who.language), talk or [], found, "你好", NOW, **more)


def hit(layer: Any, text: str, at: str | None = "2025-05-20T18:30:00") -> Hit:
    return Hit(layer, "", text, text, 1.0, moment(at) if at else None)


def test_without_memory_there_is_a_persona_a_time_and_the_message() -> None:
    messages = assembled(character())
    assert [m.role for m in messages] == ["system", "system", "user"]
    assert messages[1].content == "【现在】2025-05-21 15:04，星期三"
    assert messages[2] == Message("user", "你好")


def test_the_diary_stands_in_order_of_time_each_with_its_day_and_weekday() -> None:
    found = Recollection(hits=[hit("diary", "后来"), hit("diary", "先前", "2025-05-18T08:00:00")])
    block = assembled(character(), found)[1].content
    assert block.index("[2025-05-18 08:00 星期日]\n先前") < block.index("[2025-05-20 18:30 星期二]\n后来")


def test_facts_stand_under_whose_they_are_and_a_relation_with_the_day_it_was_learned() -> None:
    at = moment("2025-05-20T18:30:00")
    facts = {
        "a": Fact("a", at, FactDraft("用户讨厌香菜", ("x",), keyword="喜好")),
        "b": Fact("b", at, FactDraft("用户和小林是室友", ("x",), "relation", target="小林")),
        "c": Fact("c", at, FactDraft("小林喜欢香菜", ("x",), entity="小林")),
    }
    hits = [replace(hit("core", fact.text), id=id_) for id_, fact in facts.items()] + [hit("core", "第一次相遇")]
    block = assembled(character(), Recollection(hits=hits), background=Background(facts))[1].content
    assert "用户-属性\n- 用户讨厌香菜\n" in block
    assert "用户-关系-小林\n- 2025-05-20：用户和小林是室友\n" in block
    assert "具体实体-小林-属性\n- 小林喜欢香菜\n" in block
    assert "- 第一次相遇\n" in block + "\n"


def test_an_event_stands_with_its_time_and_place_and_below_it_what_was_said() -> None:
    happened = (moment("2025-05-18T00:00:00"), moment("2025-05-18T23:59:59"))
    event = Event("用户和室友吃了火锅", ("x", "y"), place="湖滨", happened=happened)
    told = replace(hit("diary", "用户和室友吃了火锅\n你：我们去吃火锅"), id="e", episode="event", sources=("x", "y"))
    background = Background(episodes={"e": Episode("e", moment("2025-05-19T18:30:00"), event)})
    block = assembled(character(), Recollection(hits=[told]), background=background)[1].content
    assert "【脑海中回忆起的事件】\n2025-05-18湖滨:用户和室友吃了火锅\n你：我们去吃火锅" in block


def test_the_overview_stands_before_all_that_was_recalled() -> None:
    event = Episode("e", moment("2025-05-19T18:30:00"), Event("用户搬了家", ("x",)))
    found = Recollection(hits=[hit("diary", "先前")])
    block = assembled(character(), found, background=Background(overview=[event]))[1].content
    assert block.index("【前情提要】") < block.index("用户搬了家") < block.index("先前")


def test_a_time_without_a_record_is_said_as_such() -> None:
    span = Span("昨天", moment("2025-05-20T00:00:00"), moment("2025-05-20T23:59:59"))
    block = assembled(character(), Recollection(spans=[span], empty_spans=[span]))[1].content
    assert "昨天" in block
    assert "没有任何记录" in block


@pytest.mark.parametrize(("position", "roles"), [("after_history", "s u a s u"), ("before_history", "s s u a u")])
def test_recalled_memory_stands_after_the_history_or_before_it(position: Any, roles: str) -> None:
    talk = [Message("user", "在吗"), Message("assistant", "在")]
    messages = assembled(character(), talk=talk, recalled_position=position)
    assert " ".join(m.role[0] for m in messages) == roles
    assert messages[0].content.startswith("你是小满")


def test_english_characters_get_english_prompts_and_weekdays() -> None:
    told = "".join(m.content for m in assembled(character("en"), Recollection(hits=[hit("diary", "hotpot")])))
    assert "Wednesday" in told
    assert "Tuesday" in told
    assert "星期" not in told


def test_what_was_said_is_placed_and_never_rendered() -> None:
    tricky = "{{char}} {{persona}} {{entries}} {now} %s \\1"
    found = Recollection(hits=[hit("diary", tricky), hit("lore", tricky, None), hit("core", tricky)])
    who = character(examples=f"阿明：{tricky}")
    messages = assembled(who, found)
    assert messages[1].content.count(tricky) == 1
    assert messages[2].content.count(tricky) == 3
