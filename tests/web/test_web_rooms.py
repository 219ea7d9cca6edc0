"""The rooms beside the chat, without a browser: what a click does, and what is drawn then."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moechat.agent import Agent
from moechat.model import Episode, Event
from moechat.web import rooms, topic_charts
from moechat.web.clicks import Visit
from moechat.web.drawing import macros
from moechat.web.memory_room import MemoryLook
from moechat.web.rooms import MEMORIES, TOPICS, Look
from moechat.web.words import Words
from tests.agent.test_agent_reflection import thinker
from tests.houses import Home, moment, say, silent, understanding
from tests.rooms import INSIGHT, TALK, lived
from tests.web.test_web import Reader

ZH, EN = Words("zh"), Words("en")
EVIL = '<img src=x onerror="alert(1)"></text><script>${value}{{user}}</script>'
DRAWN = {
    "h1", "h3", "small", "article", "b", "blockquote",
    "button", "dd", "details", "div", "dl", "dt", "form", "g", "h2", "h4", "header", "i", "input",
    "label", "li", "nav", "option", "p", "rect", "section", "select", "span", "summary", "svg", "text", "textarea", "time",
    "title", "ul",
}  # fmt: skip


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    with Home.build(tmp_path).open(silent()) as house:
        yield house.agent()


def act(agent: Agent | None, look: Look, action: dict[str, str], words: Words, *, busy: bool = False) -> Look:
    """What happens in a room that asks nothing of the house."""
    return rooms.act(Visit(None, agent, words, busy=busy), look, action)  # type: ignore[arg-type]


def drawn(agent: Agent, look: Look, words: Words) -> str:
    return rooms.drawn(Visit(None, agent, words), look)  # type: ignore[arg-type]


def do(agent: Agent, look: Look, what: str, **told: str) -> Look:
    return act(agent, look, {"do": what, **told}, ZH)


class Spaced(Reader):
    """A reader that keeps the words of neighbours apart."""

    def handle_data(self, data: str) -> None:
        self.text += f" {data}"


def seen(agent: Agent, look: Look, words: Words = ZH) -> str:
    """The words of what is drawn, blanks made one."""
    return " ".join(Spaced(drawn(agent, look, words)).text.split())


def entries(agent: Agent, look: Look) -> list[str]:
    """The texts of the list."""
    heads = re.findall(r'class="memory-head".*?</button>', drawn(agent, look, ZH), re.DOTALL)
    return [re.search(r'<span class="text">(.*?)</span>', head, re.DOTALL)[1] for head in heads]  # type: ignore[index]


def id_of(agent: Agent, text: str) -> str:
    (found,) = [one.id for one in agent.memories.listed(search=text, limit=0).memories if text in one.text]
    return found


MEMORY_ROOM, TOPIC_ROOM = Look(MEMORIES, memories=MemoryLook(kind="")), Look(TOPICS)
LETTER = Look(MEMORIES)


# ---- memories


def test_the_list_is_found_through_by_words_and_by_kind(agent: Agent) -> None:
    lived(agent)
    everything = entries(agent, MEMORY_ROOM)
    assert INSIGHT in everything
    assert "毛肚涮老了" in entries(agent, do(agent, MEMORY_ROOM, "search", q="毛肚"))
    assert len(entries(agent, do(agent, MEMORY_ROOM, "search", q="毛肚"))) == 1
    assert entries(agent, do(agent, MEMORY_ROOM, "kind", value="reflection")) == [INSIGHT]
    assert entries(agent, do(agent, MEMORY_ROOM, "kind", value="exchange")) == list(reversed(TALK))
    assert any("香菜" in text for text in entries(agent, do(agent, MEMORY_ROOM, "kind", value="fact")))
    assert "没有符合的记忆" in seen(agent, do(agent, MEMORY_ROOM, "search", q="无此事"))
    assert do(agent, MEMORY_ROOM, "kind", value="nonsense") == MEMORY_ROOM


def test_what_becomes_of_a_memory_is_said_once_memory_fills(agent: Agent, tmp_path: Path) -> None:
    lived(agent)
    look = do(agent, MEMORY_ROOM, "search", q=INSIGHT)
    assert "淡忘" not in seen(agent, look)
    assert '<span class="tinker">强度 1</span>' in drawn(agent, look, ZH)
    with Home.build(tmp_path / "small", forgetting={"cap": 5, "every_days": 3000}).open(silent()) as house:
        agent = house.agent()
        lived(agent)
        assert "如果不再想起，大约 7 天后淡忘" in seen(agent, look)
        assert "fades in about 7 days unless recalled" in seen(agent, look, EN)
        with agent.store.writing():
            agent.store.state.touch([id_of(agent, INSIGHT)], agent.now())
        assert "想起过 1 次 如果不再想起，大约 112 天后淡忘" in seen(agent, look)
        pinned = do(agent, look, "pin", id=id_of(agent, INSIGHT))
        assert "已固定" in seen(agent, pinned) and "淡忘" not in seen(agent, pinned).replace(pinned.note.text, "")


def test_a_memory_in_doubt_is_confirmed(agent: Agent) -> None:
    lived(agent)
    [fact, *_] = agent.store.findings.facts()
    agent.store.findings.put([replace(fact, confirmed=False)])
    look = do(agent, MEMORY_ROOM, "open", id=fact.id)
    assert "拿不准" in seen(agent, look) and "确有其事" in seen(agent, look)
    confirmed = do(agent, look, "confirm", id=fact.id)
    assert "拿不准" not in seen(agent, confirmed)
    assert next(one.confirmed for one in agent.store.findings.facts() if one.id == fact.id)


def test_the_room_opens_as_a_letter_and_a_sentence_is_corrected_where_it_stands(agent: Agent) -> None:
    lived(agent)
    text = seen(agent, LETTER)
    assert "小满知道的你" in text and "你不喜欢香菜" in text and "你住在杭州" in text
    assert "5月19日 你和室友吃了火锅" in text
    assert INSIGHT.replace("阿明", "你") in text and "毛肚涮老了" in text
    assert "强度" not in text and "淡忘" not in text
    assert drawn(agent, LETTER, ZH).split("近来的事")[0].count('class="sentence"') <= 12
    (fact,) = [one.id for one in agent.memories.letter().of_you if "香菜" in one.text]
    editing = do(agent, LETTER, "edit", id=fact)
    assert "我不喜欢香菜</textarea>" in drawn(agent, editing, ZH)
    saved = do(agent, editing, "save", id=fact, text="我喜欢香菜")
    assert "你喜欢香菜" in seen(agent, saved) and "你不喜欢香菜" not in seen(agent, saved)
    assert "你不喜欢香菜" in seen(agent, do(agent, saved, "undo"))
    assert do(agent, LETTER, "undo").note.bad  # there is no other


def test_every_field_of_an_event_is_edited_and_the_change_undone(agent: Agent) -> None:
    lived(agent)
    id_ = id_of(agent, "编辑催稿")
    editing = do(agent, MEMORY_ROOM, "edit", id=id_)
    html = drawn(agent, editing, ZH)
    assert 'name="place"' in html and 'value="工作-&gt;编辑"' in html
    saved = do(
        agent, editing, "save", id=id_, text="编辑来家里催稿", happened="2025-05-01", place="杭州", keywords="编辑，稿子",
        topic="工作->绘本", importance="0.9",
    )  # fmt: skip
    assert not saved.note.bad
    event = agent.store.findings.by_ids([id_])[id_].event
    assert (event.place, event.topic, event.keywords, event.importance) == ("杭州", "工作->绘本", ("编辑", "稿子"), 0.9)
    assert event.happened is not None and event.happened[0].date().isoformat() == "2025-05-01"
    do(agent, saved, "undo")
    assert agent.store.findings.by_ids([id_])[id_].event.text == "编辑催稿"


def test_several_are_archived_at_once_and_come_back_with_undo(agent: Agent) -> None:
    lived(agent)
    choosing = do(agent, MEMORY_ROOM, "ticks")
    assert drawn(agent, choosing, ZH).count('name="chosen"') == len(entries(agent, choosing))
    ids = [id_of(agent, text) for text in ("编辑催稿", "改喝茶了")]
    gone = do(agent, choosing, "several", act="archive", chosen=" ".join(ids))
    assert gone.note.text == ZH("done_archive", n=2)
    assert "编辑催稿" not in entries(agent, gone)
    assert "编辑催稿" in entries(agent, do(agent, gone, "undo"))
    assert do(agent, choosing, "several", act="archive").note.bad


def test_a_list_is_of_a_time_of_a_topic_or_of_a_meaning(agent: Agent) -> None:
    lived(agent)
    hotpot = entries(agent, do(agent, MEMORY_ROOM, "of-topic", q="饮食->火锅"))
    assert hotpot == ["你和室友吃了火锅", "第一次一起吃番茄锅", "毛肚涮老了"]
    lately = do(agent, LETTER, "when", q="2025-05-17")
    assert entries(agent, lately) == ["毛肚涮老了"] and "2025年5月17日 周六" in seen(agent, lately)
    yesterday = do(agent, MEMORY_ROOM, "when", q="昨天")  # told on another day, and happened then
    assert hotpot[0] in entries(agent, yesterday)
    assert ZH("when_unread") in seen(agent, do(agent, MEMORY_ROOM, "when", q="乱写"))
    oldest = entries(agent, do(agent, MEMORY_ROOM, "sort", q="oldest"))
    assert oldest == list(reversed(entries(agent, MEMORY_ROOM)))
    agent.finish()  # with vectors
    near = entries(agent, do(agent, do(agent, MEMORY_ROOM, "search", q="毛肚太老了"), "sort", q="near"))
    assert near[0] == "毛肚涮老了" and len(near) > 1


def test_several_become_one_that_replaces_them(agent: Agent) -> None:
    lived(agent)
    choosing = do(agent, MEMORY_ROOM, "ticks")
    ids = [id_of(agent, text) for text in ("第一次一起吃番茄锅", "毛肚涮老了")]
    merging = do(agent, choosing, "several", act="merge", chosen=" ".join(ids))
    assert "第一次一起吃番茄锅；毛肚涮老了</textarea>" in drawn(agent, merging, ZH)
    made = do(agent, merging, "merge", text="吃了番茄锅，毛肚老了")
    assert made.note.text == ZH("done_merge", n=2)
    texts = entries(agent, made)
    assert "吃了番茄锅，毛肚老了" in texts and "毛肚涮老了" not in texts
    assert {one.id for one in agent.memories.get(made.memories.opened).replaced} == set(ids)
    assert {"毛肚涮老了", "第一次一起吃番茄锅"} <= set(entries(agent, do(agent, made, "undo")))
    fact = id_of(agent, "香菜")
    assert do(agent, choosing, "several", act="merge", chosen=f"{ids[0]} {fact}").note.bad
    assert do(agent, choosing, "several", act="merge", chosen=fact).note.bad


def test_the_last_twenty_changes_are_taken_back_one_by_one(agent: Agent) -> None:
    lived(agent)
    id_ = id_of(agent, "编辑催稿")
    for n in range(25):
        agent.memories.edit(id_, f"编辑催稿第 {n} 次")
    for n in reversed(range(4, 24)):
        do(agent, MEMORY_ROOM, "undo")
        assert agent.memories.get(id_).memory.text == f"编辑催稿第 {n} 次"
    assert do(agent, MEMORY_ROOM, "undo").note.bad
    fact = agent.memories.add_fact("我对芒果过敏").id
    do(agent, MEMORY_ROOM, "undo")
    assert fact not in [one.id for one in agent.memories.memories([fact])]


def test_a_long_list_comes_in_parts(agent: Agent) -> None:
    for n in range(35):
        agent.memories.add_fact(f"第{n}件小事")
    assert len(entries(agent, MEMORY_ROOM)) == 30
    assert "还有 5 条" in seen(agent, MEMORY_ROOM)
    assert len(entries(agent, do(agent, MEMORY_ROOM, "more"))) == 35


def test_archive_hides_and_restore_brings_back(agent: Agent) -> None:
    lived(agent)
    id_ = id_of(agent, "毛肚涮老了")
    gone = do(agent, do(agent, MEMORY_ROOM, "open", id=id_), "archive", id=id_)
    assert gone.note.text == "已归档 1 条，随时可以恢复。"
    assert "毛肚涮老了" not in entries(agent, gone)
    archive = do(agent, gone, "archived")
    assert entries(agent, archive) == ["毛肚涮老了"]
    back = do(agent, archive, "restore", id=id_)
    assert entries(agent, back) == []
    assert "毛肚涮老了" in entries(agent, do(agent, back, "archived"))


def test_forgetting_is_asked_twice_and_says_what_would_go(agent: Agent) -> None:
    lived(agent)
    exchange = agent.memories.listed(["exchange"], search="火锅").memories[0].id
    look = do(agent, do(agent, MEMORY_ROOM, "kind", value="exchange"), "forget", id=exchange)
    first = seen(agent, look)
    assert ZH("forget_ask") in first
    assert "香菜" in first  # what was understood of it goes along
    too_soon = do(agent, look, "forget-now", id=exchange)
    assert too_soon.memories.doing == "forget"
    sure = do(agent, look, "surely", id=exchange)
    assert ZH("forget_sure") in seen(agent, sure)
    assert do(agent, sure, "cancel").memories.doing == ""
    done = do(agent, sure, "forget-now", id=exchange)
    assert done.note.text.startswith("已彻底忘掉")
    assert "香菜" not in seen(agent, done)
    assert "火锅" not in "".join(one.text for one in agent.memories.listed(["exchange"]).memories)


def test_a_memory_opens_to_what_was_said_and_a_reflection_to_what_it_rests_on(agent: Agent) -> None:
    lived(agent)
    reflection = seen(agent, do(agent, MEMORY_ROOM, "open", id=id_of(agent, INSIGHT)))
    evidence = reflection[reflection.index(ZH("evidence")) :]
    assert "第一次一起吃番茄锅" in evidence
    assert "毛肚涮老了" in evidence
    assert TALK[0] in evidence
    assert "嗯，我记住了。" in evidence
    again = do(agent, do(agent, MEMORY_ROOM, "open", id=id_of(agent, INSIGHT)), "open", id=id_of(agent, INSIGHT))
    assert ZH("evidence") not in seen(agent, again)
    exchange = agent.memories.listed(["exchange"], search="火锅").memories[0].id
    derived = seen(agent, do(agent, MEMORY_ROOM, "show", id=exchange))
    assert "由这段话记下的" in derived
    assert "香菜" in derived


def test_a_fact_that_was_replaced_is_its_history(agent: Agent) -> None:
    say(agent, "我住在杭州")
    say(agent, "我搬家了，现在住在苏州")
    agent.finish()
    (fact,) = agent.memories.listed(["fact"], search="苏州").memories
    told = seen(agent, do(agent, MEMORY_ROOM, "open", id=fact.id))
    assert "杭州" in told[told.index(ZH("history")) :]


def test_the_owner_writes_a_fact(agent: Agent) -> None:
    writing = do(agent, MEMORY_ROOM, "new", value="new_fact")
    assert 'data-do="add"' in drawn(agent, writing, ZH)
    assert do(agent, writing, "add", text="").note.bad
    done = do(agent, writing, "add", text="室友对花生过敏", entity="室友", keyword="过敏", target="花生")
    assert "关于谁 室友" in seen(agent, done)
    mine = do(agent, writing, "add", text="我会拉大提琴", entity="我")
    assert "关于谁 我" in seen(agent, mine)
    about = {"室友": "室友", "小满": "character", **dict.fromkeys(("我", "Me", "i", "", "阿明"), "user")}
    made = {name: do(agent, writing, "add", text=f"关于{name}的事", entity=name).memories.opened for name in about}
    assert {name: agent.memories.facts([id_])[0].draft.entity for name, id_ in made.items()} == about


def test_the_owner_writes_an_event(agent: Agent) -> None:
    assert "写一个事件" in seen(agent, MEMORY_ROOM)
    writing = do(agent, MEMORY_ROOM, "new", value="new_event")
    assert 'name="happened"' in drawn(agent, writing, ZH)
    assert do(agent, writing, "add", text="").note.bad
    wrong = do(agent, writing, "add", text="放风筝", happened="很红")
    assert wrong.note.bad and "去年夏天" in wrong.note.text and wrong.memories == writing.memories
    assert "0 到 1" in do(agent, writing, "add", text="放风筝", importance="9").note.text
    done = do(
        agent, writing, "add", text="放风筝，线断了", happened="2019-07-15", place="青岛", keywords="风筝、海", topic=""
    )
    assert not done.note.bad and done.note.text == ZH("done_add")
    text = seen(agent, done)
    assert "地点 青岛" in text and "2019年7月15日 周一" in text and "来源 你写的" in text
    (made,) = agent.memories.listed(["event"]).memories
    assert agent.memories.get(made.id).fields["keywords"] == ["风筝", "海"]


def test_while_a_reply_is_on_its_way_changes_wait(agent: Agent) -> None:
    lived(agent)
    look = do(agent, MEMORY_ROOM, "edit", id=id_of(agent, INSIGHT))
    told = {"do": "save", "id": id_of(agent, INSIGHT), "text": "别的"}
    waiting = act(agent, look, told, ZH, busy=True)
    assert waiting.note.text == ZH("wait_reply")
    assert waiting.memories == look.memories
    assert act(agent, look, {"do": "confirm", "id": id_of(agent, INSIGHT)}, ZH, busy=True).note.text == ZH("wait_reply")
    assert not act(agent, look, {"do": "pin", "id": id_of(agent, INSIGHT)}, ZH, busy=True).note.bad


def test_what_is_gone_meanwhile_is_said(agent: Agent) -> None:
    assert do(agent, MEMORY_ROOM, "save", id="nothing", text="x").note.text == ZH("gone")
    assert do(agent, MEMORY_ROOM, "pin", id="nothing").note.bad
    assert seen(agent, do(agent, MEMORY_ROOM, "open", id="nothing"))
    assert do(agent, TOPIC_ROOM, "merge", value="没有->的").note.text == ZH("topic_gone")


def test_thinking_can_be_asked_for_and_says_what_is_missing(tmp_path: Path) -> None:
    home = Home.build(tmp_path, reflection={"counter": 1000})
    reflections = Look(MEMORIES, memories=MemoryLook(kind="reflection"))
    with home.open(thinker()) as house:
        for i in range(4):
            say(house.agent(), f"我今天第{i}次去跳伞了")
            home.clock.advance(minutes=5)
        house.agent().finish()
        assert "已经历 4%" in seen(house.agent(), reflections)
        too_soon = do(house.agent(), reflections, "think")
        assert (too_soon.note.text, too_soon.note.bad) == (ZH("thought_nothing"), False)
    home.configure(reflection={"counter": 20})
    with home.open(thinker(), looks=True) as house:
        assert ZH("think_ready") in seen(house.agent(), reflections)
        thought = do(house.agent(), reflections, "think")
        assert thought.note.text == "想到了 3 点。"
        assert len(entries(house.agent(), thought)) == 3
    with home.open(silent()) as house:
        assert ZH("think_needs_model") in seen(house.agent(), reflections)
        assert 'data-do="think"' not in drawn(house.agent(), reflections, ZH)


def test_the_past_is_offered_where_a_model_came_later_and_can_be_stopped(home: Home) -> None:
    with home.open(silent()) as house:
        say(house.agent(), "我住在杭州")
        house.agent().finish()
        assert "past" not in drawn(house.agent(), LETTER, ZH)
    with home.open(understanding(), looks=True) as house:
        agent = house.agent()
        assert "有 1 天的话（1 段）还没让模型读过，约 1 次调用" in seen(agent, LETTER)
        assert "1 day of talk (1 exchange) went without a model so far; about 1 call" in seen(agent, LETTER, EN)
        assert "past" not in drawn(agent, Look(MEMORIES, memories=MemoryLook(kind="fact")), ZH)
        begun = do(agent, LETTER, "past")
        assert begun.note.text == ZH("past_begun") and "还有 1 天" in seen(agent, begun)
        assert 'data-do="past-stop"' in drawn(agent, begun, ZH)
        do(agent, begun, "past-stop")
        assert agent.past.work().standing == "offered"


# ---- the author's


def test_the_authors_store_is_written_found_changed_and_deleted(agent: Agent) -> None:
    room = do(agent, MEMORY_ROOM, "store", value="author")
    assert "作者还没有写下什么" in seen(agent, room)
    writing = do(agent, room, "new", value="new_event")
    wrong = do(agent, writing, "add", text="灯塔", time="昨天")
    assert wrong.note.text == "「时间」写得不对：写成 2025-05-20T15:03"
    told = {"text": "{{char}}和{{user}}爬上了旧灯塔", "time": "2023-04-02T19:30", "keywords": "灯塔，楼梯"}
    made = do(agent, writing, "add", **told, place="海边", importance="")
    assert "地点 海边" in seen(agent, made)
    assert "{{char}}和{{user}}爬上了旧灯塔" in entries(agent, made)
    assert [e.event.text for e in agent.official.episodes()] == ["小满和阿明爬上了旧灯塔"]
    fact = do(agent, do(agent, room, "new", value="new_fact"), "add", text="{{char}}会修小提琴", entity="character")
    assert len(entries(agent, fact)) == 2
    assert entries(agent, do(agent, room, "search", q="灯塔")) == ["{{char}}和{{user}}爬上了旧灯塔"]
    assert entries(agent, do(agent, room, "kind", value="fact")) == ["{{char}}会修小提琴"]

    id_ = made.memories.opened
    form = do(agent, made, "edit", id=id_)
    changed = do(agent, form, "save", id=id_, **told, place="码头")
    assert "地点 码头" in seen(agent, changed)
    folder = agent.character.folder
    assert "{{char}}和{{user}}爬上了旧灯塔" in (folder / "events.yaml").read_text(encoding="utf-8")

    asked = do(agent, changed, "forget", id=id_)
    assert ZH("delete_ask") in seen(agent, asked)
    assert do(agent, asked, "forget-now", id=id_).memories.doing == "forget"
    deleted = do(agent, do(agent, asked, "surely", id=id_), "forget-now", id=id_)
    assert entries(agent, deleted) == ["{{char}}会修小提琴"]
    assert agent.memories.listed().total == 0  # none of it is the owner's


def test_the_world_book_and_broken_records_are_seen_too(agent: Agent) -> None:
    folder = agent.character.folder
    (folder / "data_base").mkdir()
    (folder / "data_base" / "places.yaml").write_text("半舟: 河边的茶馆\n", encoding="utf-8")
    (folder / "facts.yaml").write_text("a: {text: 好的}\nb: {txt: 坏的}\n", encoding="utf-8")
    room = do(agent, MEMORY_ROOM, "store", value="author")
    told = seen(agent, room)
    assert "facts.yaml 第 2 行" in told
    assert entries(agent, room) == ["好的", "半舟：河边的茶馆"]
    lore = do(agent, do(agent, room, "kind", value="lore"), "open", id="places.yaml#半舟")
    assert "世界书文件 places.yaml" in seen(agent, lore)


def test_the_world_book_is_written_found_changed_and_deleted(agent: Agent) -> None:
    room = do(agent, do(agent, MEMORY_ROOM, "store", value="author"), "kind", value="lore")
    writing = do(agent, room, "new", value="new_lore")
    assert "写进文件" in seen(agent, writing)
    wrong = do(agent, writing, "add", keyword="", text="河边的茶馆")
    assert wrong.note.text == "「关键词」写得不对：用一行文字写，最多 200 字"
    usual = {"constant": "false", "enabled": "true"}
    made = do(agent, writing, "add", keyword="半舟", text="河边的茶馆", keys="茶馆，茶楼", file="places.yaml", **usual)
    assert made.memories.opened == "places.yaml#半舟" and "别名 茶馆、茶楼" in seen(agent, made)
    path = agent.character.folder / "data_base" / "places.yaml"
    assert path.read_text(encoding="utf-8") == '半舟:\n  text: 河边的茶馆\n  keys: ["茶馆", "茶楼"]\n'
    again = do(agent, do(agent, room, "new", value="new_lore"), "add", keyword="半舟", text="x", file="places.yaml")
    assert again.note.bad and "已经有「半舟」" in again.note.text
    assert entries(agent, do(agent, room, "search", q="茶楼")) == ["半舟：河边的茶馆"]
    drawn(agent, room, ZH)
    assert [one.keyword for one in agent.layers.book.entries] == ["半舟"]

    form = do(agent, made, "edit", id="places.yaml#半舟")
    assert "写进文件" not in seen(agent, form)
    told = {"keyword": "半舟茶馆", "text": "河边的茶馆", "keys": "茶馆、茶楼", "constant": "false", "enabled": "false"}
    changed = do(agent, form, "save", id="places.yaml#半舟", **told)
    assert changed.memories.opened == "places.yaml#半舟茶馆" and "已停用" in seen(agent, changed)
    assert agent.layers.book.entries == ()

    id_ = changed.memories.opened
    deleted = do(agent, do(agent, do(agent, changed, "forget", id=id_), "surely", id=id_), "forget-now", id=id_)
    assert entries(agent, deleted) == [] and path.read_text(encoding="utf-8") == ""


def test_a_broken_file_of_the_world_book_is_told_in_the_page_and_left_as_it_is(agent: Agent) -> None:
    folder = agent.character.folder / "data_base"
    folder.mkdir()
    (folder / "places.yaml").write_text("半舟: 'oh\n", encoding="utf-8")
    room = do(agent, do(agent, MEMORY_ROOM, "store", value="author"), "new", value="new_lore")
    assert "places.yaml" in seen(agent, room)
    refused = do(agent, room, "add", keyword="桥", text="两座", file="places.yaml")
    assert refused.note.bad and "places.yaml" in refused.note.text
    assert (folder / "places.yaml").read_text(encoding="utf-8") == "半舟: 'oh\n"


# ---- topics


def test_the_map_is_sized_by_memories_and_leads_to_the_slices(agent: Agent) -> None:
    lived(agent)
    html = drawn(agent, TOPIC_ROOM, ZH)
    assert html.index("<title>饮食：") < html.index("<title>工作：")
    assert "饮食 › 火锅：3 条" in Reader(html).text
    chosen = do(agent, TOPIC_ROOM, "topic", topic="饮食->火锅")
    told = seen(agent, chosen)
    assert "饮食 › 火锅" in told
    slices = told[told.index("3 个片段") :]
    assert slices.index("第一次一起吃番茄锅") < slices.index("毛肚涮老了")  # the newest first
    assert TALK[0] in slices
    inside = do(agent, TOPIC_ROOM, "topic", topic="饮食", top="饮食")
    assert "全部话题" in seen(agent, inside)
    assert "4 个片段" in seen(agent, inside)


def test_a_day_of_the_calendar_is_a_page_to_read(agent: Agent) -> None:
    lived(agent)
    day = (agent.now() - timedelta(days=3)).date()
    look = do(agent, TOPIC_ROOM, "day", day=day.isoformat())
    assert "毛肚涮老了" in seen(agent, look) and ZH("nothing_said") in seen(agent, look)
    today = seen(agent, do(agent, TOPIC_ROOM, "day", day=agent.now().date().isoformat()))
    page = today[today.index(ZH.day(agent.now())) :]
    assert page.index("第一次一起吃番茄锅") < page.index(TALK[0]) < page.index(TALK[1])
    assert do(agent, look, "day", day=day.isoformat()).topics.day == ""
    assert do(agent, look, "day", day="2025-13-45").topics.day == ""


def test_topics_are_renamed_merged_and_moved_with_their_slices(agent: Agent) -> None:
    lived(agent)
    look = do(agent, TOPIC_ROOM, "topic", topic="饮食->火锅")
    renamed = do(agent, look, "rename", value="涮锅")
    assert renamed.note.text == "话题现在叫「饮食 › 涮锅」，里面的片段都跟过来了。"
    assert "3 个片段" in seen(agent, renamed)
    moved = do(agent, renamed, "move", value="旅行")
    assert moved.topics.topic == "旅行->涮锅"
    merged = do(agent, moved, "merge", value="饮食->咖啡")
    assert "4 个片段" in seen(agent, merged)
    top = do(agent, merged, "move", value="")
    assert top.topics.topic == "咖啡"
    refused = do(agent, do(agent, TOPIC_ROOM, "topic", topic="工作"), "move", value="工作->绘本")
    assert refused.note == replace(refused.note, text=ZH("topic_bad"), bad=True)
    assert do(agent, top, "rename", value=" ").note.bad


# ---- what was written stays text


@given(st.text(alphabet="<>&\"'`$\\{}[]a中 ", min_size=1))
def test_whatever_a_topic_is_called_stays_text(name: str) -> None:
    node = {"name": name, "path": name, "count": 2, "total": 2, "newest": "2025-05-20T12:00:00+08:00", "children": []}
    parent = {**node, "children": [node], "total": 4}
    canvas = topic_charts.Canvas(ZH, moment("2025-05-21T12:00:00"))
    tiles, size = topic_charts.treemap([parent, node], canvas, 900)
    reader = Reader(macros("topics", ZH).map([], tiles, size, [], 0))
    assert reader.tags <= DRAWN
    assert not {attribute for attribute in reader.attributes if attribute.startswith("on")}


def test_whatever_was_written_stays_text_in_every_room(agent: Agent) -> None:
    say(agent, EVIL)
    agent.finish()
    sources = (agent.recent(1)[0].exchange.id,)
    event = Event(EVIL, sources, topic=EVIL.replace(">", "")[:40], place=EVIL, keywords=(EVIL,), insight=EVIL)
    with agent.store.writing():
        agent.store.findings.put([Episode("evil", agent.now(), event)])
    store = agent.official.unfilled()
    store.add("fact", {"text": EVIL, "entity": EVIL, "keyword": EVIL}, "evil-too")
    entry = store.add("lore", {"text": EVIL, "keyword": EVIL, "keys": [EVIL]})
    author = do(agent, MEMORY_ROOM, "store", value="author")
    looks = [
        MEMORY_ROOM, author, do(agent, author, "open", id="evil-too"), do(agent, author, "edit", id="evil-too"),
        do(agent, author, "open", id=entry.id), do(agent, author, "edit", id=entry.id),
        do(agent, author, "forget", id=entry.id), TOPIC_ROOM,
    ]  # fmt: skip
    looks += [do(agent, MEMORY_ROOM, what, id="evil") for what in ("open", "edit", "forget")]
    looks += [
        do(agent, TOPIC_ROOM, "day", day=agent.now().date().isoformat()),
        do(agent, MEMORY_ROOM, "search", q=EVIL),
    ]
    for look in looks:
        reader = Reader(drawn(agent, look, ZH))
        assert reader.tags <= DRAWN, reader.tags - DRAWN
        assert not {name for name in reader.attributes if name.startswith("on") or name in ("src", "href")}


def test_what_is_too_long_is_refused_and_never_cut(agent: Agent) -> None:
    long_talk = "很长的话" * 10_000
    say(agent, long_talk)
    agent.finish()
    (exchange,) = agent.memories.listed(["exchange"]).memories
    editing = do(agent, MEMORY_ROOM, "edit", id=exchange.id)
    assert not do(agent, editing, "save", id=exchange.id, text=long_talk + "完").note.bad
    assert agent.memories.get(exchange.id).memory.text == long_talk + "完"
    assert do(agent, editing, "save", id=exchange.id, text=long_talk * 3).note.bad
    assert agent.memories.get(exchange.id).memory.text == long_talk + "完"


@given(st.dictionaries(st.sampled_from(["do", "room", "width", "value", "q", "id", "day", "topic", "top"]), st.text()))
def test_no_look_breaks_whatever_the_page_tells(told: dict[str, str]) -> None:
    for look in (Look(), MEMORY_ROOM, TOPIC_ROOM):
        if told.get("do") not in (
            "save",
            "add",
            "pin",
            "unpin",
            "archive",
            "restore",
            "rename",
            "merge",
            "move",
            "show",
        ):
            assert isinstance(act(None, look, told, ZH), Look)
