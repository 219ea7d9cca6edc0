"""The prompt of one turn."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from moechat.ai.chat_model import ChatRequest
from moechat.model import Episode, Event, Fact, FactDraft, Hit, Message, Recollection
from moechat.recall.assembly import assemble
from moechat.recall.profile import Stable
from moechat.recall.tail import Background
from moechat.settings.character import Character
from moechat.settings.home import defaults_folder
from moechat.settings.prompts import Prompts
from moechat.when import Span
from tests.houses import Home, moment, say_all, silent

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
    assert block.index("[2025-05-18 星期日，3天前]\n先前") < block.index("[2025-05-20 星期二，昨天]\n后来")


def test_each_day_is_named_once() -> None:
    found = Recollection(hits=[hit("diary", "一"), hit("diary", "二", "2025-05-20T20:00:00")])
    assert "[2025-05-20 星期二，昨天]\n一\n二\n" in assembled(character(), found)[1].content


def test_facts_stand_under_whose_they_are_and_a_relation_with_the_day_it_was_learned() -> None:
    at = moment("2025-05-20T18:30:00")
    facts = {
        "a": Fact("a", at, FactDraft("用户讨厌香菜", ("x",), keyword="喜好")),
        "b": Fact("b", at, FactDraft("用户和小林是室友", ("x",), "relation", target="小林")),
        "c": Fact("c", at, FactDraft("小林喜欢香菜", ("x",), entity="小林")),
    }
    hits = [replace(hit("core", fact.text), id=id_) for id_, fact in facts.items()] + [hit("core", "第一次相遇")]
    block = assembled(character(), Recollection(hits=hits), background=Background(facts))[1].content
    assert "关于阿明\n- 阿明讨厌香菜\n" in block
    assert "阿明的人和事：小林\n- 2025-05-20：阿明和小林是室友\n" in block
    assert "关于小林\n- 小林喜欢香菜\n" in block
    assert "- 第一次相遇\n" in block + "\n"


def test_an_event_stands_with_its_time_and_place_and_below_it_what_was_said() -> None:
    happened = (moment("2025-05-18T00:00:00"), moment("2025-05-18T23:59:59"))
    event = Event("用户和室友吃了火锅", ("x", "y"), place="湖滨", happened=happened)
    told = replace(hit("diary", "用户和室友吃了火锅\n你：我们去吃火锅"), id="e", episode="event", sources=("x", "y"))
    background = Background(episodes={"e": Episode("e", moment("2025-05-19T18:30:00"), event)})
    block = assembled(character(), Recollection(hits=[told]), background=background)[1].content
    assert "【脑海中回忆起的事件】\n2025-05-18（3天前）湖滨:阿明和室友吃了火锅\n你：我们去吃火锅" in block


def test_the_overview_stands_before_all_that_was_recalled() -> None:
    event = Episode("e", moment("2025-05-19T18:30:00"), Event("用户搬了家", ("x",)))
    found = Recollection(hits=[hit("diary", "先前")])
    _, stable, tail, _ = assembled(character(), found, background=Background(stable=Stable(NOW, overview=[event])))
    assert stable.content.index("【前情提要】") < stable.content.index("阿明搬了家") and "先前" in tail.content


def test_a_time_without_a_record_is_said_as_such() -> None:
    span = Span("昨天", moment("2025-05-20T00:00:00"), moment("2025-05-20T23:59:59"))
    block = assembled(character(), Recollection(spans=[span], empty_spans=[span]))[1].content
    assert "昨天" in block
    assert "没有任何记录" in block


@pytest.mark.parametrize(
    ("language", "truth", "order"),
    [("zh", "没有关于这件事的记录", "不记得"), ("en", "Nothing about this", "do not remember")],
)
def test_a_day_without_the_answer_is_named_beside_the_other_days(language: str, truth: str, order: str) -> None:
    span = Span("昨天", moment("2025-05-20T00:00:00"), moment("2025-05-20T23:59:59"))
    found = Recollection(spans=[span], hits=[hit("diary", "那天的话")], empty_spans=[span], elsewhere_spans=[span])
    block = assembled(character(language), found)[1].content
    assert truth in block and "2025-05-20" in block
    assert order not in block


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
    messages = assembled(character(examples="阿明：{now} %s \\1"), found)
    assert messages[1].content.count("阿明：{now} %s \\1") == 1
    assert messages[2].content.count(tricky) == 3


def test_a_persona_is_all_that_its_author_wrote_in_the_order_of_the_template() -> None:
    who = character(personality="慢热", scenario="雨天的书店", user_persona="阿明是邮差", prompt="少用感叹号")
    persona = assembled(who)[0].content
    places = [persona.index(text) for text in ("爱听人说话", "慢热", "雨天的书店", "阿明是邮差", "少用感叹号")]
    assert places == sorted(places)
    assert "{{" not in persona


def test_examples_name_who_speaks_and_stand_after_the_persona() -> None:
    examples = [Message("user", "下雨了"), Message("assistant", "我去收衣服")]
    persona, shown, *_ = assembled(character(examples=examples))
    assert "爱听人说话" in persona.content
    assert "阿明：下雨了\n小满：我去收衣服" in shown.content
    assert "小满" in shown.content.splitlines()[0]


def test_a_time_without_a_record_is_named_from_its_first_to_its_last_minute() -> None:
    span = Span("yesterday", moment("2025-05-20T00:00:00"), moment("2025-05-20T23:59:59"))
    block = assembled(character("en"), Recollection(spans=[span], empty_spans=[span]))[1].content
    assert '"yesterday", 2025-05-20 00:00 to 2025-05-20 23:59' in block


def test_an_event_whose_record_is_gone_is_told_by_its_text() -> None:
    lone = replace(hit("diary", "用户搬了家"), id="e", episode="event")
    assert "】\n用户搬了家\n" in assembled(character(), Recollection(hits=[lone]))[1].content


def test_reflections_and_lore_are_lists_and_what_has_no_time_shows_none() -> None:
    thought = replace(hit("diary", "阿明怕黑"), episode="reflection")
    found = Recollection(
        hits=[thought, hit("lore", "半舟：茶馆"), hit("diary", "很久以前", None), hit("diary", "昨天")]
    )
    block = assembled(character(), found)[1].content
    assert "- 阿明怕黑\n" in block and "- 半舟：茶馆\n" in block
    assert "\n很久以前\n[2025-05-20 星期二，昨天]\n昨天\n" in block
    assert block.index("半舟") < block.index("怕黑") < block.index("很久以前")


# ---- the request of a turn


def asked(home: Home, *texts: str, days: float = 1, **sections: Any) -> ChatRequest:
    """The request for the last of the messages, each said and understood some days after the one before."""
    home.configure(**sections)
    model = silent()
    with home.agent(model) as agent:
        for text in texts:
            say_all(agent, text)
            home.clock.advance(days=days)
            agent.jobs.tick()
    return model.requests[-1]


def test_a_request_names_all_that_its_reply_rests_on(home: Home) -> None:
    request = asked(
        home, "昨天和小林在码头放了风筝", "今天吃了面", "早", "还记得在码头放风筝的事吗", Agent={"context_length": 2}
    )
    kite = next(one for one in request.hits if "风筝" in one.text)
    assert kite.id in request.rests_on and set(kite.sources) <= request.rests_on
    assert request.text == "还记得在码头放风筝的事吗" and request.now == home.clock.now() - timedelta(days=1)


def test_what_the_user_said_in_the_context_counts_among_the_hits_and_the_characters_words_do_not(home: Home) -> None:
    request = asked(home, "我讨厌香菜", "我讨厌吃什么", days=0.01)
    (exchange,) = request.context
    in_context = [one for one in request.hits if one.id == exchange.id]
    assert exchange.id in request.rests_on
    assert {one.side for one in in_context} == {"user"}


def test_events_of_the_overview_count_among_what_a_reply_rests_on(home: Home) -> None:
    texts = ["昨天我和小林在码头放了风筝", *(f"第{n}句闲话" for n in range(12))]
    request = asked(home, *texts, roll={"overview": 10}, Agent={"context_length": 2}, recall={"token_budget": 0})
    overview = next(message.content for message in request.messages if "【前情提要】" in message.content)
    assert "风筝" in overview
    assert not request.context and not request.hits and request.rests_on
