"""One turn, and what happens around it."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from moechat.agent import Agent
from moechat.ai.offline.model import OfflineModel
from moechat.ai.scripted import Line, ScriptedModel
from moechat.errors import DataError, ModelError, MoeChatError, NotFound
from moechat.house import House
from moechat.memory import context
from moechat.model import Message
from moechat.turn import Delta, Ended, Recalled
from tests.houses import (
    CHARACTER,
    Home,
    again,
    answer,
    day_files,
    edit,
    fact,
    recalled,
    say,
    say_all,
    shown,
    silent,
    understanding,
)  # fmt: skip

PATIENCE_S = 60.0
NOTICE = OfflineModel().notice("zh")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home.build(tmp_path, character={"greeting": "你来啦。", "examples": [{"user": "在吗", "char": "在的"}]})


@pytest.fixture
def model() -> ScriptedModel:
    return silent()


@pytest.fixture
def house(home: Home, model: ScriptedModel) -> Iterator[House]:
    with home.open(model) as house:
        yield house


def said(agent: Agent) -> list[tuple[str, str, str]]:
    return [(e.user, e.char, e.status) for e in context.path(agent.store)]


def roles(messages: Any) -> list[tuple[str, str]]:
    return [(m.role, m.content) for m in messages]


# ---- the turn


def test_a_turn_recalls_streams_and_is_stored_in_that_order(agent: Agent) -> None:
    events = list(agent.talk("我住在杭州"))
    assert isinstance(events[0], Recalled)
    assert all(isinstance(event, Delta) for event in events[1:-1])
    assert isinstance(events[-1], Ended)
    assert "".join(e.text for e in events[1:-1] if isinstance(e, Delta)) == "嗯，我记住了。" == events[-1].exchange.char
    assert said(agent) == [("我住在杭州", "嗯，我记住了。", "done")]


def test_what_is_stored_is_what_was_typed_and_answered_never_the_prompt(agent: Agent, home: Home) -> None:
    typed = "  我住在杭州\r\n\t{{user}} {{char}}\x85 "
    for _ in range(6):
        say(agent, typed)
        home.clock.advance(hours=14)
    agent.finish()
    rows = [row.exchange for row in agent.store.exchanges.filed()]
    assert {(e.user, e.char) for e in rows} == {(typed, "嗯，我记住了。")}
    assert len(rows) == 6


def test_a_lone_surrogate_becomes_a_replacement_character(agent: Agent) -> None:
    assert say(agent, "坏\ud83d字").exchange.user == "坏\ufffd字"


@pytest.mark.parametrize("text", ["", " ", "\n\t", "\u3000"])
def test_an_empty_message_is_refused_in_words_and_stores_nothing(agent: Agent, text: str) -> None:
    with pytest.raises(MoeChatError, match="empty"):
        list(agent.talk(text))
    assert said(agent) == []
    say(agent, "现在有话了")


def test_the_prompt_keeps_what_never_changes_first_and_what_was_recalled_after_the_history(
    home: Home, agent: Agent, model: ScriptedModel
) -> None:
    (home.folder / "data_base").mkdir()
    (home.folder / "data_base" / "w.yaml").write_text("断桥: 西湖上的桥\n", encoding="utf-8")
    say_all(agent, "我住在西湖断桥边上")
    home.clock.advance(days=1)
    say(agent, "早上好")
    say(agent, "昨天我说我住在断桥哪里")
    first, second, third = (roles(request.messages) for request in model.requests)
    assert [role for role, _ in third] == ["system", "system", "system", "user", "assistant", "system", "user"]
    assert "你是小满，爱听人说话。" in third[0][1]
    assert "在的" in third[1][1]
    assert "住在西湖断桥" in third[2][1], "what is always known"
    assert third[3:5] == [("user", "早上好"), ("assistant", "嗯，我记住了。")]
    recalled_block = third[5][1]
    order = [
        recalled_block.index(part) for part in ("西湖上的桥", "[2025-05-20 星期二，昨天]", "【现在】2025-05-21 15:00")
    ]
    assert order == sorted(order), "lore, diary, time"
    assert third[-1] == ("user", "昨天我说我住在断桥哪里")
    assert second[:3] == third[:3], "the prefix is the same, turn after turn"
    assert first[2] == ("assistant", "你来啦。"), "a conversation seen from its start begins with the greeting"


def test_an_option_puts_what_was_recalled_before_the_history(home: Home) -> None:
    home.configure(chat={"recalled_position": "before_history"})
    model = silent()
    with home.agent(model) as agent:
        say(agent, "一")
        say(agent, "二")
    third = [role for role, _ in roles(model.requests[-1].messages)]
    assert third == ["system", "system", "system", "assistant", "user", "assistant", "user"]


def test_recalled_text_and_names_are_placed_and_never_rendered(home: Home, agent: Agent, model: ScriptedModel) -> None:
    say_all(agent, "我的暗号是{{char}}{{now}}{{persona}}")
    home.clock.advance(days=1)
    say(agent, "昨天我的暗号是什么")
    assert "我的暗号是{{char}}{{now}}{{persona}}" in model.requests[-1].messages[-2].content


def test_context_length_is_counted_in_messages_and_what_fell_out_can_be_recalled(home: Home) -> None:
    home.configure(Agent={"context_length": 4})
    model = silent()
    with home.agent(model) as agent:
        for text in ("我养了一只鹦鹉", "二", "三", "四"):
            say(agent, text)
        talk = [m.content for m in model.requests[-1].messages if m.role != "system"]
        assert talk == ["二", "嗯，我记住了。", "三", "嗯，我记住了。", "四"]
        found = recalled(agent, "我养了一只什么鹦鹉")
        assert "鹦鹉" in shown(found, "diary")


def test_what_is_in_the_context_is_not_recalled_again_but_shown_as_a_ground(agent: Agent) -> None:
    say(agent, "我讨厌香菜")
    found = recalled(agent, "我讨厌吃什么")
    assert not [hit for hit in found.hits if hit.layer == "diary"]
    assert "in_context" in {d.why for d in found.dropped}
    assert [g["dropped"] for g in agent.recent(1)[0].grounds if "dropped" in g]


# ---- stopped, failed, slow


def test_stopping_midway_stores_what_was_shown(home: Home) -> None:
    hold = threading.Event()
    model = silent([Line("说到一半就", hold=hold, then="停了"), "好的"])
    with home.agent(model) as agent:
        shown_text = ""
        for event in agent.talk("讲个故事"):
            if isinstance(event, Delta):
                shown_text += event.text
                if shown_text == "说到一半就":
                    agent.stop()
        assert isinstance(event, Ended)
        assert (event.exchange.char, event.exchange.status, event.error) == ("说到一半就", "stopped", "")
        assert model.closed == 1
        say(agent, "继续")
        assert said(agent) == [("讲个故事", "说到一半就", "stopped"), ("继续", "好的", "done")]


def test_stopping_from_another_thread_while_nothing_comes(home: Home) -> None:
    hold, begun = threading.Event(), threading.Event()

    def reply(_: Any) -> Line:
        begun.set()
        return Line("", hold=hold)

    with home.agent(silent(reply)) as agent:
        turn = agent.talk("在吗")
        assert isinstance(next(turn), Recalled)
        ended: list[Any] = []
        reader = threading.Thread(target=lambda: ended.extend(turn))
        reader.start()
        assert begun.wait(PATIENCE_S)
        agent.stop()
        reader.join(PATIENCE_S)
        assert not reader.is_alive()
        assert [type(e) for e in ended] == [Ended]
        assert said(agent) == [("在吗", "", "stopped")]


def test_closing_the_turn_stores_what_was_shown(agent: Agent) -> None:
    turn = agent.talk("在吗")
    for event in turn:
        if isinstance(event, Delta):
            break
    turn.close()  # type: ignore[attr-defined]
    assert said(agent) == [("在吗", "嗯，我记", "stopped")]
    assert not agent.store.replies.is_alive(agent.store.tree.leaf() or "")


@pytest.mark.parametrize(
    ("script", "char"),
    [
        (ModelError("no_route", "nobody there"), ""),
        (Line("说到一", fails=ModelError("broken_off", "it broke off")), "说到一"),
        (Line("", fails=ModelError("timeout", "too slow")), ""),
    ],
)
def test_a_model_that_fails_leaves_a_marked_exchange_and_the_talk_goes_on(home: Home, script: Any, char: str) -> None:
    with home.agent(silent([script, "又好了"])) as agent:
        ended = say(agent, "在吗")
        assert (ended.exchange.char, ended.exchange.status) == (char, "failed")
        assert ended.error
        assert agent.recent(1)[0].error == ended.error
        say(agent, "现在呢")
        assert said(agent) == [("在吗", char, "failed"), ("现在呢", "又好了", "done")]
        agent.finish()
        assert agent.verify()["problems"] == []


def test_a_reply_that_failed_leaves_no_empty_message_in_the_prompt(home: Home) -> None:
    model = silent([ModelError("no_route", "nobody there"), "好"])
    with home.agent(model) as agent:
        say(agent, "在吗")
        say(agent, "现在呢")
    assert [m.content for m in model.requests[-1].messages if m.role == "user"] == ["在吗", "现在呢"]
    assert all(m.content for m in model.requests[-1].messages)


def test_a_broken_prompt_file_is_named_and_the_exchange_is_marked_as_failed(home: Home) -> None:
    folder = home.config.parent / "prompts" / "zh"
    folder.mkdir(parents=True)
    (folder / "time.txt").write_text("现在 {{nonsense}}", encoding="utf-8")
    with home.agent() as agent:
        assert "time.txt" in say(agent, "在吗").error
        assert said(agent) == [("在吗", "", "failed")]
        (folder / "time.txt").unlink()
        assert say(agent, "现在呢").exchange.status == "done"


def test_a_consumer_that_fails_does_not_keep_the_house_from_closing(home: Home) -> None:
    """The page went away, the pipe was closed: the reply is stored and nothing hangs."""

    def talk() -> None:
        with home.open() as house:
            turn = house.agent().talk("在吗")
            next(turn)
            house.close()

    thread = threading.Thread(target=talk, daemon=True)
    thread.start()
    thread.join(PATIENCE_S)
    assert not thread.is_alive()
    with home.agent() as agent:
        assert [s for _, _, s in said(agent)] in (["stopped"], ["failed"])


def test_an_agent_that_cannot_settle_keeps_no_other_open(home: Home) -> None:
    with home.open() as house:
        one, two = house.agent(CHARACTER, "甲"), house.agent(CHARACTER, "乙")
        say(one, "你好")
        say(two, "你好")
        log = one.store.folder / "log.jsonl"
        log.rename(log.with_name("taken"))
        log.mkdir()
        with pytest.raises(DataError, match="folder"):
            house.close()
    threads = {thread.name for thread in threading.enumerate()}
    assert not [name for name in threads if "小满" in name]
    with home.open() as house:
        assert [s for _, _, s in said(house.agent(CHARACTER, "乙"))] == ["done"]


# ---- changes of mind, through the agent


def test_regenerating_replaces_the_reply_and_never_sees_the_old_one(home: Home) -> None:
    model = silent(["第一个回答是香菜", "第二个", "第三个", "第四个"])
    with home.agent(model) as agent:
        say(agent, "我讨厌吃什么香菜")
        for expected in ("第二个", "第三个"):
            assert again(agent).exchange.char == expected
        for request in model.requests:
            assert "第一个回答" not in "".join(m.content for m in request.messages)
            assert not [hit for hit in request.hits if "第一个" in hit.text]
        assert said(agent) == [("我讨厌吃什么香菜", "第三个", "done")]
        assert agent.recent(1)[0].variants == 3
        agent.finish()
        again(agent)
        assert "第三个" not in "".join(m.content for m in model.requests[-1].messages)
        assert said(agent) == [("我讨厌吃什么香菜", "第四个", "done")]


def test_there_is_nothing_to_regenerate_at_first(agent: Agent) -> None:
    with pytest.raises(NotFound):
        again(agent)


def test_correct_branch_and_retract_change_what_the_model_sees(home: Home, agent: Agent, model: ScriptedModel) -> None:
    first, second = say(agent, "我住在杭州").exchange.id, say(agent, "我喜欢猫").exchange.id
    agent.conversation.correct(first, user="我住在苏州")
    say(agent, "三")
    assert [m.content for m in model.requests[-1].messages if m.role == "user"] == ["我住在苏州", "我喜欢猫", "三"]
    agent.conversation.select(first)
    say(agent, "另一条路")
    assert [m.content for m in model.requests[-1].messages if m.role == "user"] == ["我住在苏州", "另一条路"]
    agent.conversation.select(second)
    agent.conversation.retract(first)
    say(agent, "四")
    assert [m.content for m in model.requests[-1].messages if m.role == "user"] == ["我喜欢猫", "四"]
    marks = {row["text"]: row["mark"] for row in agent.log()}
    assert marks == {"我住在苏州": "-", "我喜欢猫": "*", "三": " ", "另一条路": " ", "四": "*"}


def test_what_is_hidden_never_surfaces(home: Home, agent: Agent, model: ScriptedModel) -> None:
    ids = {}
    for word in ("榴莲", "蓝莓", "山竹", "荔枝"):
        ids[word] = say(agent, f"我喜欢{word}").exchange.id
        agent.finish()
        home.clock.advance(minutes=1)
    agent.conversation.retract(ids["蓝莓"])
    agent.conversation.select(ids["山竹"])
    with agent.store.writing():
        agent.store.state.write([{"op": "archive", "ids": [ids["榴莲"]]}])
    home.clock.advance(days=1)
    for question in ("昨天我说我喜欢什么水果", "我喜欢榴莲蓝莓山竹荔枝中的哪些"):
        found = recalled(agent, question)
        everything = shown(found) + "".join(d.hit.text for d in found.dropped if d.hit.text != question)
        prompt = "".join(m.content for m in model.requests[-1].messages[:-1])
        assert "山竹" in prompt
        for word in ("榴莲", "蓝莓", "荔枝"):
            assert word not in prompt, (question, word)
            assert word not in everything


def test_one_owners_memory_never_reaches_anothers(home: Home, house: House, model: ScriptedModel) -> None:
    one, two = house.agent(CHARACTER, "甲"), house.agent(CHARACTER, "乙")
    say_all(one, "我的秘密是喜欢榴莲")
    home.clock.advance(days=1)
    for agent in (two, house.agent()):
        for question in ("昨天我说了什么秘密", "我喜欢什么榴莲"):
            found = recalled(agent, question)
            assert "秘密是喜欢" not in shown(found)
            assert "秘密是喜欢" not in "".join(m.content for m in model.requests[-1].messages[:-1])
    assert "榴莲" in shown(recalled(one, "昨天我说了什么秘密"))


def test_two_programs_on_one_folder_remember_together(home: Home) -> None:
    with home.open() as first, home.open() as second:
        say(first.agent(), "我住在杭州")
        assert "我住在杭州" in [m.content for m in asked(second, "我住哪")], "the other's turn is in the context"
        say(first.agent(), "我讨厌香菜")
        first.agent().finish()
        second.agent().finish()
        home.clock.advance(days=1)
        for house in (first, second):
            found = recalled(house.agent(), "昨天我说讨厌什么")
            assert "香菜" in shown(found)
        first.agent().finish()
        second.agent().finish()
        assert first.agent().verify()["problems"] == []
        assert second.agent().verify()["problems"] == []


def asked(house: House, text: str) -> list[Message]:
    say(house.agent(), text)
    model = house.model
    assert isinstance(model, ScriptedModel)
    return list(model.requests[-1].messages)


# ---- upkeep around the turn


def test_looking_writes_and_touches_nothing(home: Home, agent: Agent, house: House) -> None:
    say_all(agent, "我住在杭州，昨天吃了火锅")
    house.close()
    before = contents(home.folder)
    home.clock.advance(days=30)
    with home.agent(looks=True) as agent:
        assert "火锅" in shown(agent.recall("上个月我吃了什么"))
        agent.recall("我住在哪")
        agent.settle_indexes()
    assert contents(home.folder) == before


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(p.relative_to(folder)): p.read_bytes()
        for p in sorted(folder.rglob("*"))
        if p.is_file() and ".index" not in p.parts and p.name != ".lock"
    }


def test_a_day_file_edited_while_the_program_was_away_leaves_the_indexes_clean(
    home: Home, agent: Agent, house: House
) -> None:
    say_all(agent, "我住在杭州")
    say_all(agent, "我喜欢猫")
    house.close()
    edit(day_files(home.folder)[0], "我住在杭州", "我住在苏州市")
    with home.agent() as agent:
        agent.settle_indexes()
        assert agent.verify()["problems"] == []
        home.clock.advance(days=1)
        assert "苏州市" in shown(recalled(agent, "昨天我说我住在哪里"))


def test_a_hand_edit_shows_at_the_next_turn_vectors_included(home: Home, agent: Agent) -> None:
    (home.folder / "data_base").mkdir()
    lore = home.folder / "data_base" / "w.yaml"
    lore.write_text("断桥: 西湖上的桥\n", encoding="utf-8")
    (home.folder / "core_mem.yml").write_text("x: 阿明喜欢猫\n", encoding="utf-8")
    say_all(agent, "我养了一只鹦鹉")
    home.clock.advance(days=1)
    assert "西湖上的桥" in shown(recalled(agent, "断桥是什么"), "lore")
    assert "喜欢猫" in shown(recalled(agent, "阿明喜欢猫吗"), "core")
    edit(lore, "西湖上的桥", "白堤东头的一座石桥")
    edit(home.folder / "core_mem.yml", "阿明喜欢猫", "阿明喜欢白色的长毛狗")
    edit(home.folder / "character.yaml", "爱听人说话", "不爱说话，也不爱听")
    edit(day_files(home.folder)[0], "鹦鹉", "会说话的乌龟")
    found = recalled(agent, "断桥是什么，阿明喜欢什么颜色的长毛狗，昨天我说养了一只什么乌龟")
    assert "白堤东头" in shown(found, "lore")
    assert "白色的长毛狗" in shown(found, "core")
    assert "会说话的乌龟" in shown(found, "diary")
    assert "不爱说话，也不爱听" in agent.character.persona
    agent.settle_indexes()
    assert agent.verify()["without_vector"] <= 1  # the open turn has none yet


@pytest.mark.parametrize(
    "name",
    ["core_mem.yml", "memorys/2025-05-20.notes.yaml", "memorys/2025-05-20.yaml", "data_base/w.yaml", "character.yaml"],
)
def test_a_broken_file_is_named_never_overwritten_and_stops_no_talk(home: Home, agent: Agent, name: str) -> None:
    say_all(agent, "我住在杭州")
    path = home.folder / name
    path.parent.mkdir(exist_ok=True)
    good = path.read_bytes() if path.exists() else b"a: b\n"
    path.write_bytes(good + b"x: [\n")
    for text in ("我喜欢猫", "我养了狗"):
        assert say(agent, text).exchange.status == "done"
    agent.finish()
    assert path.read_bytes() == good + b"x: [\n"
    assert any(str(path) in problem and "line" in problem for problem in agent.problems()), agent.problems()
    path.write_bytes(good)
    say_all(agent, "好了吗")
    assert not agent.problems()
    assert agent.verify()["problems"] == []
    assert agent.store.tree.pending() == []
    assert {"用户喜欢猫", "用户住在杭州"} <= {fact.text for fact in agent.layers.core.current()}


def test_rebuilt_indexes_equal_the_grown_ones(home: Home, house: House, agent: Agent) -> None:
    for day in range(4):
        for text in (f"第{day}天我吃了面", "我住在杭州", "昨天和室友看了电影"):
            say(agent, text)
            home.clock.advance(minutes=5)
        agent.finish()
        home.clock.advance(days=1)
    agent.conversation.correct(agent.log()[1]["id"], user="我住在苏州")  # type: ignore[arg-type]
    agent.finish()
    agent.settle_indexes()
    home.clock.advance(days=1)
    questions = ["前天我们聊了什么", "我住在哪", "看了什么电影", "上周吃了什么面"]
    grown = [[(h.layer, h.id, h.text) for h in agent.recall(q).hits] for q in questions]
    report = house.rebuild(CHARACTER, None, vectors=True, progress=lambda done, of: None)
    assert report["problems"] == []
    assert report["without_vector"] == 0
    agent = house.agent()
    assert [[(h.layer, h.id, h.text) for h in agent.recall(q).hits] for q in questions] == grown


def test_deleting_the_index_folder_between_two_runs_costs_nothing(home: Home, agent: Agent, house: House) -> None:
    say_all(agent, "我养了一只鹦鹉")
    house.close()
    shutil.rmtree(home.folder / ".index")
    home.clock.advance(days=1)
    with home.agent() as agent:
        assert "鹦鹉" in shown(recalled(agent, "昨天我说养了什么"))
        agent.settle_indexes()
        assert agent.verify()["problems"] == []


def test_without_an_embedding_model_words_and_time_serve(home: Home) -> None:
    home.configure(embedding={"provider": "off"})
    with home.connected(model=silent(), embedder=None) as house:
        agent = house.agent()
        say_all(agent, "我养了一只鹦鹉")
        home.clock.advance(days=1)
        assert "鹦鹉" in shown(recalled(agent, "昨天我们聊了什么"))
        assert "鹦鹉" in shown(recalled(agent, "鹦鹉吃什么"))


def test_the_offline_model_says_what_memory_holds(home: Home) -> None:
    with home.agent(OfflineModel()) as agent:
        say(agent, "我住在杭州，昨天和室友吃了火锅，我讨厌香菜")
        assert "火锅" in say(agent, "昨天我们吃了什么").exchange.char
        assert "香菜" in say(agent, "我讨厌吃什么").exchange.char
        agent.finish()
        home.clock.advance(days=31)
        assert "火锅" in say(agent, "5月19日我们吃了什么").exchange.char
        assert "香菜" in say(agent, "我讨厌吃什么").exchange.char


def test_how_to_connect_a_model_is_shown_once_in_a_conversation_and_is_no_part_of_what_is_said(home: Home) -> None:
    with home.agent(OfflineModel()) as agent:
        first, second = say(agent, "我住在杭州"), say(agent, "我喜欢下雨")
        assert (first.notice, second.notice) == (NOTICE, "")
        assert "chat.base_url" in first.notice
        agent.finish()
    with home.agent(OfflineModel()) as agent:
        assert [one.notice for one in agent.recent(2)] == [NOTICE, ""]
        assert say(agent, "我养了一只鹦鹉").notice == ""
        agent.finish()
        home.clock.advance(days=1)
        assert say(agent, "你好").notice == NOTICE
        agent.finish()
    assert "MOECHAT_API_KEY" not in "".join(path.read_text("utf-8") for path in day_files(home.folder))
    assert "MOECHAT_API_KEY" not in (home.folder / "history.yaml").read_text("utf-8")


def test_a_note_that_an_earlier_version_stored_with_a_reply_is_shown_beside_it_and_read_as_no_part_of_it(
    home: Home,
) -> None:
    with home.open(OfflineModel()) as house:
        store = house.agent().store
        store.log.finish(store.log.begin("我住在杭州", home.clock.now()), f"好，记下了。\n\n{NOTICE}", "done")
        agent = house.agent()
        assert say(agent, "我喜欢下雨").notice == "", "it was said in this conversation"
        agent.finish()
        (first, _) = agent.recent(2)
        assert (first.exchange.char, first.notice) == ("好，记下了。", NOTICE)
    day = day_files(home.folder)[0]
    old = day.read_text("utf-8").replace("好，记下了。", f"好，记下了。{NOTICE}")
    day.write_text(old, "utf-8")
    with home.agent() as agent:
        agent.finish()
        agent.settle_indexes()
        (exchange, _) = agent.store.exchanges.of(list(agent.store.tree.parents)).values()
        assert exchange.char == "好，记下了。"
        assert agent.verify()["problems"] == []
    assert NOTICE in day.read_text("utf-8"), "the file stays as it is"


def test_a_model_understands_and_supersedes_what_the_rules_found(home: Home) -> None:
    def understand(count: int) -> str:
        return answer(count, facts=[fact("用户住在杭州西湖区", 1, keyword="住址", target="杭州西湖区", single=True)])

    model = understanding(understand)
    with home.agent(model) as agent:
        say_all(agent, "我住在杭州西湖区")
        assert [f.by for f in agent.layers.core.current()] == ["model"]
        assert "杭州西湖区" in agent.layers.core.current()[0].text
        known = model.questions[0][0][-1].content
        assert "- 用户住在杭州" not in known, "what the rules found in these very words is not shown as known"


def test_a_known_fact_that_the_model_does_not_repeat_stays_known(home: Home) -> None:
    def understand(count: int) -> str:
        return answer(count)  # the fact was shown as known: nothing new

    first = [True]

    def once(count: int) -> str:
        if first.pop() if first else False:
            return answer(count, facts=[fact("用户讨厌香菜", 1, keyword="喜好", target="香菜", polarity=-1)])
        return understand(count)

    with home.agent(understanding(once)) as agent:
        say_all(agent, "我讨厌香菜")
        say_all(agent, "说过了，我讨厌香菜")
        assert [f.draft.target for f in agent.layers.core.current()] == ["香菜"]


def test_a_setting_of_the_character_holds_for_it_alone(home: Home) -> None:
    told = yaml.safe_load((home.folder / "character.yaml").read_text(encoding="utf-8"))
    told["overrides"] = {"Agent": {"long_memory": False}}
    (home.folder / "character.yaml").write_text(yaml.safe_dump(told, allow_unicode=True), encoding="utf-8")
    with home.agent() as agent:
        say_all(agent, "我养了一只鹦鹉")
        home.clock.advance(days=1)
        found = recalled(agent, "昨天我们聊了什么")
        assert not [h for h in found.hits if h.layer == "diary"]
        assert not found.empty_spans


def test_the_background_does_not_wait_for_a_turn_that_somebody_leaves_open(agent: Agent) -> None:
    turn = agent.talk("在吗")
    next(turn)
    background = threading.Thread(target=agent.jobs.tick, daemon=True)
    background.start()
    background.join(PATIENCE_S)
    assert not background.is_alive()
    assert isinstance([*turn][-1], Ended)
