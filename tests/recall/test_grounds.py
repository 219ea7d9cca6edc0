"""What a reply rested on: kept by id and reason, shown in the words of now."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from moechat.agent import Agent
from moechat.model import Dropped, Hit, Recollection
from moechat.turn import hit_rows
from moechat.when import Span
from tests.houses import Home, moment, recalled, say

KEPT = {"id", "layer", "recipe", "score", "features", "kind", "side", "span", "dropped"}
SHOWN = {"layer", "recipe", "id", "time", "text", "score", "words", "features", "span", "sources", "kind"}
GONE = {
    "recipe": "", "id": "", "time": "", "text": "", "score": 0.0, "words": [], "features": {}, "span": "", "sources": [],
    "kind": "", "gone": True,
}  # fmt: skip


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home.build(tmp_path, Agent={"context_length": 2})
    (home.folder / "data_base").mkdir()
    (home.folder / "data_base" / "book.yaml").write_text("半舟: 一家河边的茶馆\n", encoding="utf-8")
    official = {"pier": {"text": "小满在码头捡到一只旧船铃", "keywords": ["船铃", "码头"], "time": "2024-03-02"}}
    (home.folder / "events.yaml").write_text(yaml.safe_dump(official, allow_unicode=True), encoding="utf-8")
    return home


def talked(home: Home, agent: Agent, *texts: str) -> list[str]:
    """Messages of one day, understood; gives the ids of their exchanges."""
    ids = []
    for text in texts:
        ids.append(say(agent, text).exchange.id)
        home.clock.advance(minutes=2)
    agent.finish()
    home.clock.advance(days=1)
    agent.jobs.tick()
    return ids


def logged_hits(home: Home) -> list[dict[str, Any]]:
    lines = (home.folder / "log.jsonl").read_text(encoding="utf-8").splitlines()
    return [hit for line in lines for hit in json.loads(line).get("hits", ())]


def grounds(agent: Agent, id_: str) -> list[dict[str, object]]:
    """What the last reply rested on under this id, as a face shows it."""
    return [one for one in agent.recent(1)[0].grounds if one["id"] == id_]


def test_the_log_keeps_ids_and_reasons_and_no_words(home: Home, agent: Agent) -> None:
    first, *_ = talked(home, agent, "昨天和小林在码头放了风筝", "今天天气不错", "我讨厌香菜")
    say(agent, "还记得在码头放风筝的事吗")
    hits = logged_hits(home)
    assert first in {hit["id"] for hit in hits}
    assert {key for hit in hits for key in hit} <= KEPT
    written = json.dumps(hits, ensure_ascii=False)
    assert not [word for word in ("风筝", "码头", "小林", "香菜") if word in written]


def test_a_row_has_few_digits_the_greatest_parts_and_the_place_of_its_time() -> None:
    spans = [Span(name, moment("2025-05-20T00:00"), moment("2025-05-20T23:59")) for name in ("今天", "昨天")]
    parts = {"window": 3.14159, "cosine": 0.123456, "asks": -2.25, "hint": 0.0, "tells": 0.001}
    talk = Hit("diary", "events", "a", "放风筝", 4.123456, features=parts, words=("风筝",), span=spans[1], side="user")
    fact = Hit("core", "profile", "f", "讨厌香菜", 0.22134, features={"relevance": 0.22134})
    thought = Hit("diary", "stream", "r", "爱吃辣", 1.0, episode="reflection")
    out = Recollection(spans, [talk, fact, thought], [Dropped(talk, "in_context"), Dropped(fact, "budget")])
    row = {"id": "a", "score": 4.123, "features": {"window": 3.14, "asks": -2.25}, "span": 1}
    assert hit_rows(out) == [
        row, {"id": "f", "layer": "core", "recipe": "profile", "score": 0.2213},
        {"id": "r", "recipe": "stream", "score": 1.0, "kind": "reflection"},
        row | {"side": "user", "dropped": "in_context"},
    ]  # fmt: skip


def test_a_ground_has_the_words_the_time_and_the_sources_of_its_exchange(home: Home, agent: Agent) -> None:
    first, *_ = talked(home, agent, "昨天和小林在码头放了风筝", "今天天气不错", "我讨厌香菜")
    say(agent, "昨天我们在码头放了什么？")
    (ground,) = grounds(agent, first)
    assert set(ground) == SHOWN
    assert ground["text"] == "阿明：昨天和小林在码头放了风筝\n小满：嗯，我记住了。"
    assert (ground["time"], ground["sources"], ground["kind"]) == ("2025-05-20T15:00:00+08:00", [first], "")
    assert {"码头"} <= set(ground["words"])  # type: ignore[call-overload]
    assert "昨天" in {one["span"] for one in agent.recent(1)[0].grounds}


def test_what_stood_in_the_context_is_told_by_the_side_that_was_meant(agent: Agent) -> None:
    id_ = say(agent, "我讨厌香菜").exchange.id
    say(agent, "我讨厌吃什么")
    (ground,) = [one for one in grounds(agent, id_) if one["words"]]
    assert (ground["text"], ground["dropped"]) == ("我讨厌香菜", "in_context")


def test_facts_lore_and_official_events_are_shown_as_they_stand(home: Home, agent: Agent) -> None:
    talked(home, agent, "我讨厌香菜", "今天天气不错", "早点睡")
    say(agent, "我讨厌吃什么？半舟的码头上，船铃是谁捡到的？")
    texts = {(one["layer"], one["text"]): one for one in agent.recent(1)[0].grounds}
    assert ("lore", "半舟：一家河边的茶馆") in texts
    assert texts["diary", "小满在码头捡到一只旧船铃"]["kind"] == "event"
    fact = next(one for (layer, text), one in texts.items() if layer == "core" and "香菜" in str(text))
    assert fact["time"] and fact["sources"]


def test_a_fact_that_was_replaced_is_still_shown(home: Home, agent: Agent) -> None:
    talked(home, agent, "我住在杭州", "今天天气不错", "早点睡")
    say(agent, "我住在哪里")
    (home_then,) = [one["text"] for one in agent.recent(1)[0].grounds if one["layer"] == "core"]
    talked(home, agent, "我搬到青岛了，我住在青岛")
    before = agent.recent(1)[0].exchange.id
    assert home_then in [one["text"] for one in agent.recent(1, before)[0].grounds]


def test_a_correction_shows_at_once(home: Home, agent: Agent) -> None:
    first, *_ = talked(home, agent, "昨天和小林在码头放了风筝", "今天天气不错", "我讨厌香菜")
    say(agent, "还记得在码头放风筝的事吗")
    agent.conversation.correct(first, user="昨天和小林在码头放了花灯")
    (ground,) = grounds(agent, first)
    assert "花灯" in str(ground["text"])
    assert "风筝" not in list(ground["words"])  # type: ignore[call-overload]


@pytest.mark.parametrize("how", ["retract", "archive", "forget"])
def test_what_is_no_longer_there_says_that_and_nothing_else(home: Home, agent: Agent, how: str) -> None:
    first, *_ = talked(home, agent, "昨天和小林在码头放了风筝", "今天天气不错", "我讨厌香菜")
    say(agent, "还记得在码头放风筝的事吗")
    assert grounds(agent, first)
    if how == "retract":
        agent.conversation.retract(first)
    else:
        getattr(agent.memories, how)([first])
    after = agent.recent(1)[0].grounds
    assert "风筝" not in json.dumps(after, ensure_ascii=False)
    if how != "forget":  # then the log does not name it any more either
        assert {"layer": "diary"} | GONE in after


def test_an_older_log_that_quotes_is_read_without_its_quotations(home: Home) -> None:
    with home.agent() as agent:
        first, *_ = talked(home, agent, "昨天和小林在码头放了风筝", "今天天气不错", "早点睡")
        say(agent, "昨天在码头放的是什么")
    older = {
        "layer": "diary", "recipe": "by_time", "id": first, "time": "2020-01-01T00:00:00+08:00", "text": "另一些话",
        "score": 0.5, "words": ["别的"], "features": {"cosine": 0.5}, "span": "昨天", "sources": [first], "kind": "",
    }  # fmt: skip
    lost = older | {"id": "nobody", "text": "不在了的话"}
    log = home.folder / "log.jsonl"
    *lines, last = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    place = max(i for i, entry in enumerate([*lines, last]) if entry["op"] == "variant")
    entries = [*lines, last]
    entries[place]["hits"] = [older, lost]
    log.write_text("".join(json.dumps(e, ensure_ascii=False) + "\n" for e in entries), encoding="utf-8")
    with home.agent() as agent:
        one, other = agent.recent(1)[0].grounds
    assert one["text"] == "阿明：昨天和小林在码头放了风筝\n小满：嗯，我记住了。"
    assert (one["time"], one["span"], one["features"]) == ("2025-05-20T15:00:00+08:00", "昨天", {"cosine": 0.5})
    assert other == {"layer": "diary"} | GONE


def test_the_last_turns_can_be_looked_at_as_they_went(home: Home, agent: Agent) -> None:
    found = recalled(agent, "我养了一只鹦鹉")
    id_ = agent.recent(1)[0].exchange.id
    trace = agent.conversation.trace(id_)
    assert trace is not None
    assert (trace.exchange_id, trace.recollection) == (id_, found)
    assert trace.messages[-1].content == "我养了一只鹦鹉"
    for number in range(50):
        home.clock.advance(seconds=1)
        say(agent, f"第{number}句")
    assert agent.conversation.trace(id_) is None


def test_after_a_change_of_mind_no_prompt_is_kept(home: Home, agent: Agent) -> None:
    first, second = say(agent, "我养了一只鹦鹉").exchange.id, say(agent, "早").exchange.id
    agent.memories.forget([first])
    assert agent.conversation.trace(first) is None and agent.conversation.trace(second) is None


def test_an_ordinary_talk_takes_little_in_the_log(home: Home, agent: Agent) -> None:
    texts = [
        "昨天和小林在码头放了红风筝，好开心",
        "今天和老周在旧书店买了一个木头书签",
        "我喜欢玻璃风铃",
        "嗯嗯",
        "小林喜欢什么",
    ]
    for day in range(8):
        talked(home, agent, *(f"{text}，第{day}次" for text in texts))
        home.clock.advance(hours=5)
    size = (home.folder / "log.jsonl").stat().st_size
    assert len(logged_hits(home)) > 100
    assert size / 40 <= 2000


def test_latin_words_are_shown_in_any_of_their_forms_and_next_to_any_mark(home: Home, agent: Agent) -> None:
    first, *_ = talked(home, agent, "I flew two red kites(at the pier)", "nothing else today", "good night")
    say(agent, "Do you remember the kite at the PIER?")
    words = {word for one in grounds(agent, first) for word in one["words"]}  # type: ignore[attr-defined]
    assert {"kite", "pier"} <= words
    assert not {word for word in words if word.startswith("remember")}


def test_the_words_of_a_long_memory_are_shown_up_to_four_hundred_characters(home: Home, agent: Agent) -> None:
    first, *_ = talked(home, agent, "昨天和小林在码头放了风筝，" + "线很长，" * 200, "今天天气不错", "早")
    say(agent, "还记得在码头放风筝的事吗")
    assert {len(str(one["text"])) for one in grounds(agent, first)} == {400}


def test_each_kind_of_ground_says_by_which_recipe_it_came_and_what_it_rests_on(home: Home, agent: Agent) -> None:
    said, *_ = talked(home, agent, "我讨厌香菜", "今天天气不错", "早点睡")
    say(agent, "我讨厌吃什么？半舟的码头上，船铃是谁捡到的？")
    by_text = {str(one["text"]): one for one in agent.recent(1)[0].grounds if "dropped" not in one}
    bell = by_text["小满在码头捡到一只旧船铃"]
    assert (bell["id"], bell["sources"], bell["time"]) == ("pier", [], "2024-03-02T00:00:00+08:00")
    assert "船铃" in list(bell["words"]) and float(str(bell["score"])) > 0  # type: ignore[call-overload]
    lore = by_text["半舟：一家河边的茶馆"]
    assert (lore["recipe"], lore["time"], lore["sources"], lore["kind"]) == ("lore", "", [], "")
    fact = next(one for one in by_text.values() if one["layer"] == "core")
    assert fact["recipe"] in ("profile", "entities", "about_user") and fact["sources"] == [said]
