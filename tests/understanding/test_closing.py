"""Plans that later talk closes, by the rules alone and with a model."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import timedelta
from zoneinfo import ZoneInfo

import pytest

from moechat.ai.scripted import ScriptedModel
from moechat.clock import moment_of
from moechat.model import Episode, Event, Exchange, Message, Understanding
from moechat.understanding.closing import closing
from tests.houses import Home, polite, quoted, say, silent

AT = moment_of("2026-05-03T20:00+08:00", ZoneInfo("Asia/Shanghai"))
SATURDAY = (AT.replace(day=9, hour=0), AT.replace(day=9, hour=23))
MAY = (AT.replace(day=1, hour=0), AT.replace(day=31, hour=23))
PLANS = {
    "云南": Event("用户五月打算去云南玩", ("p",), "用户", "去", "云南玩", happened=MAY, status="planned"),
    "展": Event("用户周六要和林晓去看展", ("p",), "用户", "去", "看展", happened=SATURDAY, status="planned"),
    "Lisbon": Event(
        "The user is going to Lisbon", ("p",), "user", "go", "trip to Lisbon", happened=MAY, status="planned"
    ),
    "体检": Event("用户要体检", ("p",), "用户", "", "", keywords=("体检", "周三"), status="planned"),
    "林晓": Event("林晓要去成都", ("p",), "林晓", "去", "成都", happened=MAY, status="planned"),
}


def closed(text: str, *read: Event, at: timedelta = timedelta()) -> dict[str, str]:
    """How each plan is closed, by its name."""
    plans = [Episode(name, AT - timedelta(days=20), event) for name, event in PLANS.items()]
    understanding = closing(Understanding(events=read, by="rules"), Exchange("x", AT + at, text, ""), plans)
    assert all(event in understanding.events for event in understanding.replaces)
    return {
        plan: event.status for event, ids in understanding.replaces.items() if isinstance(event, Event) for plan in ids
    }


@pytest.mark.parametrize(
    ("text", "plans"),
    [
        ("云南不去了", {"云南": "cancelled"}),
        ("云南我不去了，酒店退了", {"云南": "cancelled"}),
        ("云南那趟泡汤了", {"云南": "cancelled"}),
        ("最后云南没去成", {"云南": "cancelled"}),
        ("云南和看展都取消了", {"云南": "cancelled", "展": "cancelled"}),
        ("周六的展取消了", {"展": "cancelled"}),
        ("展没看成", {"展": "cancelled"}),
        ("体检取消了", {"体检": "cancelled"}),
        ("We cancelled the trip to Lisbon", {"Lisbon": "cancelled"}),
        ("Lisbon is off", {"Lisbon": "cancelled"}),
        ("I'm not going to Lisbon after all", {"Lisbon": "cancelled"}),
        ("Lisbon fell through. Pity", {"Lisbon": "cancelled"}),
        ("我终于去了云南", {"云南": "done"}),
        ("went to Lisbon at last, it was lovely", {"Lisbon": "done"}),
        # what closes nothing
        ("云南不去了吗？", {}),
        ("要是云南不去了怎么办", {}),
        ("云南没取消", {}),
        ("云南白药买不到了", {}),
        ("今天不去公司了", {}),
        ("上周六的展取消了", {}),
        ("他云南不去了", {}),
        ("我妈云南不去了", {}),
        ("成都不去了", {}),
        ("云南真美", {}),
        ("the trip to work was cancelled", {}),
        ("Lisbon isn't cancelled", {}),
        ("maybe we cancel Lisbon", {}),
        ("she cancelled Lisbon", {}),
        ("啊" * 20_000, {}),
        ("", {}),
    ],
)
def test_a_plan_is_closed_by_words_of_its_matter(text: str, plans: dict[str, str]) -> None:
    assert closed(text) == plans


def test_what_is_done_on_its_day_carries_a_plan_out_and_before_it_does_not() -> None:
    event = Event("用户和林晓看展去了", ("x",), "用户", "看", "展", happened=SATURDAY)
    assert closed("昨天和林晓看展去了", event, at=timedelta(days=7)) == {"展": "done"}
    earlier = Event("用户和林晓看展去了", ("x",), "用户", "看", "展", happened=(AT - timedelta(days=1), AT))
    assert closed("昨天和林晓看展去了", earlier) == {}
    assert closed("终于看展了", at=timedelta(days=1)) == {}, "its day has not come"
    assert closed("终于看展了", at=timedelta(days=8)) == {"展": "done"}


# ---- from the talk to the prompt


def months(home: Home, model: ScriptedModel) -> str:
    """Yunnan is planned in April and given up in May; what stands in the prompt when it is asked for in July."""
    home.configure(recall={"deadline_ms": 20_000})
    home.clock.at = moment_of("2026-04-12T20:00+08:00", home.clock.at.tzinfo)
    for words, days in (("五一我打算去云南", 21), ("云南我不去了", 60), ("我那次去云南怎么样来着", 0)):
        with home.open(model) as house:
            agent = house.agent()
            say(agent, words)
            if days:
                agent.finish()
        home.clock.advance(days=days)
    return "\n".join(message.content for message in model.requests[-1].messages[:-1])


def test_a_trip_that_was_given_up_is_recalled_as_that_by_rules(home: Home) -> None:
    prompt = months(home, silent())
    assert "说“云南我不去了”（取消了）" in prompt and "打算）" not in prompt


def test_a_trip_that_was_given_up_is_recalled_in_the_words_of_a_model_alone(home: Home) -> None:
    def reads(messages: Sequence[Message]) -> str:
        numbered = re.findall(r"^\((\d+)\) (.*)$", messages[-1].content, re.MULTILINE)
        plans = [int(number) for number, text in numbered if "打算" in text]
        given_up = {"text": "用户把五一的云南之行取消了", "object": "云南", "status": "cancelled", "sources": [1]}
        events = [given_up | {"refines": plans[0]}] if plans and "云南我不去了" in messages[-1].content else []
        keep = [{"number": int(number), "verb": "keep"} for number, _ in numbered if not events]
        return json.dumps({"facts": [], "events": events, "verbs": keep}, ensure_ascii=False)

    prompt = months(home, ScriptedModel(polite, quoted(reads)))
    assert "云南之行取消了（取消了）" in prompt
    assert "说“云南我不去了”" not in prompt and "打算）" not in prompt
