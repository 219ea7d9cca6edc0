"""Plans that are moved in words, read without a model; and where the day of an event stands."""

from __future__ import annotations

import re
from pathlib import Path

from moechat.model import Event
from moechat.understanding.drafts import days_of
from tests.houses import Home, moment, say, silent

INSIDE = re.compile(r"\w[（(]\s*\d{4}-\d\d-\d\d")


def events(home: Home, *said: str) -> list[Event]:
    """What the rules read in a talk, an hour between its messages."""
    with home.open(silent()) as house:
        agent = house.agent()
        for text in said:
            say(agent, text)
            home.clock.advance(hours=1)
        agent.finish()
        agent.layers.sync()
        view = agent.layers.episodes.view(agent.now())
        return [one.event for one in view.episodes(range(len(view)))]


def test_a_plan_moved_in_words_is_one_plan_at_its_new_time(tmp_path: Path) -> None:
    table = [
        (("下周五我要去医院体检", "体检改到二十二号了"), ["2025-06-22"]),
        (("我后天要去面试", "面试推迟一周"), ["2025-05-29"]),
        (("3号我要搬家", "搬家提前到一号了"), ["2025-06-01"]),
        (("下周五我要去医院体检", "改到下下周三了"), ["2025-06-04"]),
        (("下周五我要去医院体检", "下周六和妈妈去爬山", "爬山改到周日"), ["2025-05-30", "2025-06-01"]),
        (("I have a dentist appointment on Friday", "The dentist appointment got pushed to the 30th"), ["2025-05-30"]),
        (("下周五我要去医院体检", "体检要不要改到二十二号呢？"), ["2025-05-30"]),
    ]
    wrong = []
    for number, (said, wanted) in enumerate(table):
        plans = [one for one in events(Home.build(tmp_path / str(number)), *said) if one.status == "planned"]
        found = sorted(f"{plan.happened[0]:%Y-%m-%d}" for plan in plans if plan.happened)
        wrong += [(said, found)] if found != wanted else []
    assert not wrong


def test_the_day_stands_beside_the_words_of_every_record(home: Home) -> None:
    read = events(
        home,
        "昨天夜班送走了一位老人",
        "昨晚和室友吃了火锅",
        "上周末的考试没过",
        "明天下午三点要开会",
        "I flew home last Friday",
        "Tomorrow I teach a class",
    )
    assert len(read) >= 5 and all(event.happened for event in read)
    texts = [event.text for event in read]
    assert [one for one in texts if INSIDE.search(one) or re.search(r"昨|明天|[Tt]omorrow|Friday", one)] == []
    assert [path for path in home.folder.rglob("*.yaml") if INSIDE.search(path.read_text("utf-8"))] == []


def test_a_range_that_a_model_gives_stays_a_range() -> None:
    at = moment("2026-11-24T12:00:00")
    table = {
        "2027-03/2027-05": ("2027-03-01", "2027-05-31"), "2025-05-20": ("2025-05-20", "2025-05-20"),
        "2025/05/20": ("2025-05-20", "2025-05-20"), "2025": ("2025-01-01", "2025-12-31"),
        "2019/2020": ("2019-01-01", "2020-12-31"),
        "2025-05-20/2025-05-22": ("2025-05-20", "2025-05-22"), "9999-01-01": None, "soon": None, "": None,
    }  # fmt: skip
    found = {text: days_of(text, at) for text in table}
    assert {text: span and tuple(f"{one:%Y-%m-%d}" for one in span) for text, span in found.items()} == table
