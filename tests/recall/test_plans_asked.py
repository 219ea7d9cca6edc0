"""Plans are asked after once: on their day or in the first talk after it, until her reply asks, or three turns have passed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from moechat.agent import Agent
from moechat.ai.scripted import ScriptedModel
from moechat.model import Event, Message
from moechat.recall.plans import asks_after
from moechat.store.state import MAX_PLAN_TURNS
from tests.houses import Home, moment, say, say_all

HEADING = "【近来的打算】"
MATTERS = (
    "医院体检 驾校考试 公司面试 钢琴演出 牙医拔牙 公寓搬家 博物馆看展 游泳比赛 论文答辩 同学婚礼 疫苗接种 护照续签 车站接妈妈 "
    "羽毛球训练 图书馆讲座 房东签约 海边露营 小提琴独奏 银行贷款 超市盘点"
).split()
GIVEN_UP = MATTERS[6], MATTERS[12]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home.build(tmp_path, now="2026-03-01T21:00:00")


def suggested(messages: Sequence[Message]) -> list[str]:
    """The plans that a prompt suggests to ask after."""
    blocks = [block for one in messages if one.role == "system" for block in one.content.split("\n\n")]
    return [
        line for block in blocks if block.startswith(HEADING) for line in block.splitlines() if line.startswith("- ")
    ]


def curious(messages: Sequence[Message]) -> str:
    """A model that asks after whatever its prompt suggests."""
    lines = suggested(messages)
    return (
        "".join(f"{matter}怎么样了？" for matter in MATTERS if any(matter in line for line in lines)) or "嗯，我在听。"
    )


def days_of(agent: Agent) -> dict[str, Event]:
    agent.layers.sync()
    view = agent.layers.episodes.view(agent.now())
    return {m: e.event for m in MATTERS for e in view.episodes(range(len(view))) if m in e.event.text}


def test_sixty_days_with_twenty_plans(home: Home) -> None:
    model = ScriptedModel(curious, understands=False)
    start = home.clock.now()
    replies: list[str] = []
    with home.agent(model) as agent:
        for day in range(60):
            home.clock.at = start + timedelta(days=day)
            if 20 < day < 48:  # nobody talks for four weeks
                continue
            text = "今天下班早，路上看了会儿云。"
            if day < 20:
                due = start + timedelta(days=day + 3 + day % 7 * 4)
                text = f"{due.month}月{due.day}号我要去{MATTERS[day]}"
            elif day == 20:
                text = f"{GIVEN_UP[0]}不去了，{GIVEN_UP[1]}也取消了"
            say(agent, text)
            replies.append(agent.recent(1)[0].exchange.char)
            say(agent, "先这样吧，晚安。")
            replies.append(agent.recent(1)[0].exchange.char)
            agent.finish()
        events = days_of(agent)
    assert sorted(events) == sorted(set(MATTERS)), "the rules read all twenty"
    asked = {matter: sum(matter in reply for reply in replies) for matter in MATTERS}
    late = {matter for matter in GIVEN_UP if events[matter].status != "cancelled"}
    assert not late
    assert asked == {matter: int(matter not in GIVEN_UP) for matter in MATTERS}


@pytest.fixture
def planned(home: Home) -> tuple[Home, ScriptedModel]:
    return home, ScriptedModel(lambda messages: "嗯，我在听。", understands=False)


def shown(model: ScriptedModel) -> bool:
    return bool(suggested(model.requests[-1].messages))


def test_from_its_day_it_stands_in_three_prompts_and_never_again(home: Home) -> None:
    model = ScriptedModel(lambda messages: "嗯，我在听。", understands=False)
    seen = []
    with home.agent(model) as agent:
        say(agent, "3月10号我要去医院体检")
        for day, hour in ((8, 9), (10, 9), (10, 21), (11, 21), (12, 21), (13, 21)):
            agent.finish()
            home.clock.at = moment(f"2026-03-{day:02}T{hour:02}:00:00")
            say(agent, "今天也就那样。")
            seen.append(shown(model))
    assert seen == [False, True, True, True, False, False]
    assert seen.count(True) == MAX_PLAN_TURNS
    with home.agent(model) as agent:
        home.clock.advance(days=1)
        say(agent, "早上好呀。")
        assert not shown(model), "it is known after a restart"


def test_one_that_came_due_while_nobody_talked_is_asked_after_and_an_old_one_that_talk_passed_over_is_not(
    home: Home,
) -> None:
    model = ScriptedModel(curious, understands=False)
    with home.agent(model) as agent:
        say_all(agent, "3月10号我要去医院体检")
        home.clock.at = moment("2026-05-20T21:00:00")
        say(agent, "好久不见。")
        assert agent.recent(1)[0].exchange.char == "医院体检怎么样了？"
        say(agent, "体检一切都好。")
        assert not shown(model)
        agent.finish()
        [(turns, asked, answered)] = agent.store.state.plans.values()
        assert (turns, asked[:10], answered[:10]) == (1, "2026-05-20", "2026-05-20")


def test_nothing_delicate_is_asked_after(home: Home) -> None:
    model = ScriptedModel(curious, understands=False)
    with home.agent(model) as agent:
        say_all(agent, "3月10号我要去做流产手术")
        home.clock.at = moment("2026-03-10T21:00:00")
        say(agent, "今天也就那样。")
        assert not shown(model)


def test_whether_a_reply_asks_after_a_plan() -> None:
    def plan(text: str, thing: str = "", subject: str = "user") -> Event:
        return Event(text, ("x",), subject=subject, object=thing, status="planned", happened=(AT, AT))

    exam, trip = plan("用户要去医院体检"), plan("The user has a driving test", "driving test")
    promise = plan("小满答应给用户讲睡前故事", "睡前故事", "小满")
    table = [
        (exam, "体检结果怎么样？", True), (exam, "对了，今天不是去医院嘛。一切顺利吗？", True), (exam, "你今天吃了什么？", False),
        (exam, "体检加油。", False), (exam, "检查做完了吗，医生怎么说？", True), (exam, "好的，晚安。", False),
        (trip, "How did the driving test go?", True), (trip, "So you took your test today! How was it?", True),
        (trip, "What did you have for lunch?", False), (trip, "Good luck with the driving test.", False),
        (promise, "从前有只小狐狸，这是答应你的睡前故事。", True), (promise, "今天好累。", False),
    ]  # fmt: skip
    assert [(reply, asks_after(reply, event, "今天也就那样。", "小满")) for event, reply, _ in table] == [
        (reply, wanted) for _, reply, wanted in table
    ]


AT: datetime = moment("2026-03-10T21:00:00")
