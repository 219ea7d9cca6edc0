"""What a memory is shown with, in words and as JSON, and how full memory is."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from moechat.agent import Agent
from moechat.curation import forgetting
from moechat.curation.catalogue import Catalogue, as_json, details_as_json
from moechat.curation.forgetting import Forecast, Trace
from moechat.curation.keeper import Keeper
from moechat.errors import MoeChatError
from moechat.model import Episode, Event, Fact, FactDraft
from moechat.settings.schema import ForgettingSettings
from moechat.store.formats import derived_id
from tests.houses import moment, say_all

NOW = moment("2025-05-20T15:00:00")
DAY = timedelta(days=1)


@pytest.fixture
def agent(agent: Agent) -> Agent:
    """One that was told something, and knows nothing but the exchange."""
    say_all(agent, "今天下雨")
    agent.memories.forget([one.id for one in agent.memories.listed(limit=0).memories])
    return agent


def source(agent: Agent) -> str:
    return next(iter(agent.store.tree.parents))


WHOLE = Event(
    "用户和小林放了风筝", ("?",), "用户", "放", "风筝", 0.8, ("风筝", "码头"), "码头", "生活->风筝",
    (moment("2025-05-18T00:00:00"), moment("2025-05-18T23:59:59")), "用户喜欢户外", "傍晚", ("朋友->小林",),
    status="planned", precision="day",
)  # fmt: skip


def put(agent: Agent, event: Event, **more: Any) -> str:
    sources = (source(agent),)
    episode = Episode(derived_id(event.text, sources), NOW, replace(event, sources=sources), **more)
    agent.store.findings.put([episode])
    return episode.id


def test_an_event_is_shown_with_every_part_that_it_has(agent: Agent) -> None:
    id_ = put(agent, replace(WHOLE, mark="care", emotion="开心"), expires=NOW + DAY, depth=1)
    details = agent.memories.get(id_)
    assert details.fields == {
        "subject": "用户", "predicate": "放", "object": "风筝", "place": "码头", "scene": "傍晚", "insight": "用户喜欢户外",
        "topic": "生活->风筝", "related": ["朋友->小林"], "keywords": ["风筝", "码头"], "importance": 0.8, "depth": 1,
        "happened": ["2025-05-18T00:00:00+08:00", "2025-05-18T23:59:59+08:00"], "expires": (NOW + DAY).isoformat(),
        "status": "planned", "precision": "day", "mark": "care", "emotion": "开心",
    }  # fmt: skip
    assert [one.id for one in details.sources] == [source(agent)]


def test_what_a_memory_does_not_have_is_not_shown(agent: Agent) -> None:
    details = agent.memories.get(put(agent, Event("用户搬了家", ("?",))))
    assert set(details.fields) == {"importance"}
    draft = FactDraft("用户怕高", (source(agent),))
    agent.store.findings.put([Fact("f1", NOW, draft)])
    assert dict(agent.memories.get("f1").fields) == {"kind": "attribute", "entity": "user", "polarity": 1}


def test_a_fact_is_shown_with_every_part_that_it_has(agent: Agent) -> None:
    draft = FactDraft(
        "小林欠用户一顿饭", (source(agent),), "relation", "小林", "欠", "一顿饭", -1, True, True, "delicate"
    )
    agent.store.findings.put([Fact("f1", NOW, draft, (), "model", True)])
    assert dict(agent.memories.get("f1").fields) == {
        "kind": "relation", "entity": "小林", "keyword": "欠", "target": "一顿饭", "polarity": -1, "single": True,
        "generic": True, "consolidated": True, "mark": "delicate",
    }  # fmt: skip


def test_an_exchange_is_shown_with_what_was_understood_of_it(agent: Agent) -> None:
    id_ = put(agent, WHOLE)
    agent.store.findings.put([Fact("f1", NOW, FactDraft("用户怕高", (source(agent),)))])
    details = agent.memories.get(source(agent))
    assert [one.id for one in details.derived] == ["f1", id_]
    assert details.fields["status"] == "done" and (details.forecast, details.forecast_text) == (None, "")
    assert (details.memory.text, details.memory.reply, details.memory.kind) == (
        "今天下雨",
        "嗯，我记住了。",
        "exchange",
    )


def test_a_memory_as_json_has_its_use_and_its_standing(agent: Agent) -> None:
    id_ = put(agent, WHOLE)
    agent.store.state.touch([id_], NOW + DAY)
    agent.memories.pin([id_])
    details = agent.memories.get(id_)
    assert as_json(details.memory) == {
        "id": id_, "kind": "event", "time": NOW.isoformat(), "text": WHOLE.text, "by": "model", "strength": 16,
        "recalls": 1, "recalled": (NOW + DAY).isoformat(), "pinned": True, "archived": False, "current": True,
    }  # fmt: skip
    row = details_as_json(details)
    assert row["place"] == "码头" and [one["id"] for one in row["sources"]] == [source(agent)]  # type: ignore[attr-defined]
    assert row["forecast"] == {"kept": "pinned", "fades": None, "retention": 1.0, "text": "已固定，不会淡忘"}
    assert (row["evidence"], row["replaced"], row["replaced_by"], row["derived"]) == ([], [], [], [])
    exchange = details_as_json(agent.memories.get(source(agent)))
    assert (exchange["forecast"], exchange["reply"]) == (None, "嗯，我记住了。")


def test_a_memory_without_a_time_is_shown_and_counts_as_the_oldest(agent: Agent) -> None:
    id_ = derived_id("用户怕高", ())
    agent.store.findings.put([Fact(id_, None, FactDraft("用户怕高", ()))])
    [one] = agent.memories.listed(["fact"]).memories
    assert (one.at, as_json(one)["time"]) == (None, "1970-01-01T00:00:00+00:00")
    forecast = agent.memories.get(id_).forecast
    assert forecast is not None and forecast.retention < 0.001


def test_a_page_knows_how_many_there_are(agent: Agent) -> None:
    for number in range(5):
        agent.memories.add_fact(f"第{number}件事")
    catalogue: Catalogue = agent.memories
    pages = {
        (limit, offset): catalogue.listed(["fact"], limit=limit, offset=offset)
        for limit in (0, 2, 5, 9)
        for offset in (0, 4)
    }
    assert {page.total for page in pages.values()} == {5}
    assert {key: len(page.memories) for key, page in pages.items()} == {
        (0, 0): 5, (0, 4): 1, (2, 0): 2, (2, 4): 1, (5, 0): 5, (5, 4): 1, (9, 0): 5, (9, 4): 1,
    }  # fmt: skip


def test_a_page_of_the_archive_counts_the_archive_alone(agent: Agent) -> None:
    ids = [agent.memories.add_fact(f"第{number}件事").id for number in range(5)]
    agent.memories.archive(ids[:2])
    assert [agent.memories.listed(["fact"], limit=1, archived=archived).total for archived in (True, False)] == [2, 3]
    assert agent.memories.listed(["fact"], limit=1, search="第1件", archived=True).total == 1


def test_what_goes_first_when_memory_is_full_is_told_so(agent: Agent) -> None:
    id_ = put(agent, WHOLE)
    limits = ForgettingSettings(cap=2, share=1.0)
    forecast = Keeper(agent.layers, lambda: limits, agent.conversation.change, lambda: None).get(id_).forecast
    assert forecast is not None and (forecast.first, forecast.fullness) == (True, 0.5)


def test_memories_come_in_the_order_asked_for_each_once(agent: Agent) -> None:
    id_ = put(agent, WHOLE)
    agent.store.findings.put([Fact("f1", NOW, FactDraft("用户怕高", ()))])
    found = agent.memories.memories([id_, "nobody", source(agent), "f1", id_])
    assert [(one.id, one.kind) for one in found] == [(id_, "event"), (source(agent), "exchange"), ("f1", "fact")]


# ---- changing


def test_a_fact_that_the_owner_writes_is_taken_without_blanks_and_replaces_what_it_contradicts(agent: Agent) -> None:
    old = agent.memories.add_fact("阿明住在杭州", keyword="住址", target="杭州", single=True)
    new = agent.memories.add_fact(" 阿明住在苏州 ", entity=" ", keyword=" 住址 ", target=" 苏州 ", single=True)
    details = agent.memories.get(new.id)
    assert (new.text, new.by, new.at) == ("阿明住在苏州", "owner", NOW)
    assert (details.fields["entity"], details.fields["keyword"], details.fields["target"]) == ("user", "住址", "苏州")
    assert [one.id for one in details.replaced] == [old.id]
    assert agent.memories.add_fact("阿明住在苏州", keyword="住址", target="苏州").id == new.id
    for text in ("", "  "):
        with pytest.raises(MoeChatError, match="a fact needs words"):
            agent.memories.add_fact(text)
        with pytest.raises(MoeChatError, match="a memory needs words; to be rid of it, archive or forget it"):
            agent.memories.edit(new.id, text)


def test_a_friends_fact_in_other_words_keeps_what_it_is_about_as_far_as_the_words_do(agent: Agent) -> None:
    known = agent.memories.add_fact("小林喜欢茶", entity="小林", keyword="喜好", target="茶")
    agent.memories.edit(known.id, " 小林最喜欢茶 ")
    fields = agent.memories.get(known.id).fields
    assert (fields["entity"], fields["target"]) == ("小林", "茶")
    agent.memories.edit(known.id, "小林喜欢咖啡")
    assert "target" not in agent.memories.get(known.id).fields


def test_a_dry_run_of_cleaning_says_why_nothing_goes(agent: Agent) -> None:
    put(agent, WHOLE)
    limits = ForgettingSettings(cap=2, share=1.0)
    keeper = Keeper(agent.layers, lambda: limits, agent.conversation.change, lambda: None)
    cleaning, memories = keeper.clean(dry_run=True)
    assert (cleaning.why, cleaning.count, memories) == ("room", 1, [])


# ---- in words


@pytest.mark.parametrize(
    ("language", "days", "more", "text"),
    [
        ("zh", 12.2, {}, "如果不再想起，大约 12 天后淡忘"),
        ("zh", 1.0, {}, "如果不再想起，大约 1 天后淡忘"),
        ("zh", 0.9, {}, "如果不再想起，一天之内就会淡忘"),
        ("zh", 0.0, {"fullness": 0.509}, "很久没想起了，但还记得；记忆满了才会先归档它（现在 50%）"),
        ("zh", -3, {"fullness": 7.0}, "很久没想起了，但还记得；记忆满了才会先归档它（现在 100%）"),
        ("zh", -3, {"first": True, "fullness": 1.0}, "很久没想起了，但还记得；记忆已满，下次清理时归档"),
        ("zh", 3, {"first": True, "fullness": 1.0}, "如果不再想起，大约 3 天后淡忘；记忆已满，下次清理时归档"),
        ("zh", 3, {"first": True, "fullness": 0.9}, "如果不再想起，大约 3 天后淡忘"),
        ("en", 3, {"first": True, "fullness": 1.2}, "fades in about 3 days unless recalled; memory is full, the next cleaning "
         "archives it"),
        ("en", 1.0, {}, "fades in about 1 day unless recalled"),
        ("fr", 0.5, {}, "如果不再想起，一天之内就会淡忘"),
    ],
)  # fmt: skip
def test_a_forecast_is_told_in_the_language_of_the_character(
    language: str, days: float, more: dict[str, Any], text: str
) -> None:
    assert forgetting.in_words(Forecast("", NOW + days * DAY, 0.5, **more), NOW, language) == text


@pytest.mark.parametrize(
    ("kept", "zh", "en"),
    [
        ("pinned", "已固定，不会淡忘", "pinned, it does not fade"),
        ("owner", "你亲手写下的，不会淡忘", "written by you, it does not fade"),
        ("author", "角色自带的，不会淡忘", "the character's own, it does not fade"),
        ("", "很牢固，几乎不会淡忘", "very firm, it hardly fades"),
    ],
)
def test_what_does_not_fade_says_why(kept: Any, zh: str, en: str) -> None:
    forecast = Forecast(kept, None, 1.0)
    assert [forgetting.in_words(forecast, NOW, language) for language in ("zh", "en")] == [zh, en]


def test_a_forecast_knows_what_is_left_and_what_is_kept() -> None:
    used = (NOW - 7 * DAY).timestamp()
    assert forgetting.forecast(Trace("a", 1, used), NOW, first=True, fullness=0.4) == Forecast(
        "", NOW, pytest.approx(0.21), True, 0.4
    )
    assert forgetting.forecast(Trace("a", 1, used, "owner"), NOW, first=True) == Forecast("owner", None, 1.0)
    assert forgetting.retention(-3, 1) == 1.0


def test_what_a_model_passed_over_goes_first_then_the_weakest_then_the_least_used() -> None:
    rows = [
        Trace("d", 1, 5.0), Trace("c", 1, 4.0), Trace("b", 2, 1.0), Trace("a", 9, 9.0, confirmed=False), Trace("e", 1, 5.0),
        Trace("k", 1, 0.0, "pinned"),
    ]  # fmt: skip
    assert [one.id for one in forgetting.weakest(rows)] == ["a", "c", "d", "e", "b"]
    assert forgetting.over_cap(rows, 6, 0.4) == ["a", "c"]
    assert forgetting.over_cap(rows, 7, 0.4) == []
    assert forgetting.over_minimum(rows, 4) == ["a", "c"]
    assert forgetting.over_minimum(rows, 9) == []
