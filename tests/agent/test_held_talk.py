"""A talk off the record: it knows what is remembered, and nothing of it is kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from moechat.agent import MAX_HELD_TALKS, Agent
from moechat.ai.scripted import ScriptedModel
from moechat.errors import MoeChatError
from moechat.store.table_store import MemoryStore
from tests.houses import Home, say, say_all, told


def bytes_of(folder: Path) -> dict[Path, bytes]:
    """Everything in a folder but locks, and what SQLite keeps beside its database while it is open."""
    passing = (".lock", "-shm", "-wal")
    files = (path for path in folder.rglob("*") if path.is_file() and not path.name.endswith(passing))
    return {path: path.read_bytes() for path in files}


def test_a_talk_off_the_record_recalls_and_leaves_nothing(home: Home) -> None:
    model = ScriptedModel(["好的。"] * 20, understands=False)
    with home.agent(model=model) as agent:
        say_all(agent, "我把铜钥匙藏在灯塔下面了")
        agent.settle_indexes()
        home.clock.advance(days=2)
        before, strength = bytes_of(home.folder), dict(agent.store.state.access)
        held = agent.hold()
        assert list(held.talk("我的铜钥匙藏在哪里？"))
        assert "灯塔" in str(model.requests[-1].messages), "it recalls"
        assert list(held.talk("其实我最怕的是打雷"))
        assert list(held.talk("我刚才说怕什么？"))
        assert "打雷" in str(model.requests[-1].messages), "it has a context of its own"
        assert [shown.exchange.user for shown in held.path.recent(5)][-1] == "我刚才说怕什么？"
        agent.settle_indexes()
        assert bytes_of(home.folder) == before
        assert agent.store.state.access == strength
        assert "打雷" not in str(agent.recall("打雷").hits)
        assert agent.hold().path.recent(5) == []
    assert b"\xe6\x89\x93\xe9\x9b\xb7" not in b"".join(bytes_of(home.folder).values())


def test_another_reply_off_the_record(home: Home) -> None:
    with home.agent(model=ScriptedModel(["一", "二"], understands=False)) as agent:
        held = agent.hold()
        assert list(held.talk("说个数"))
        assert list(held.regenerate())
        assert [(shown.exchange.char, shown.variants) for shown in held.path.recent(1)] == [("二", 2)]


def test_only_so_many_talks_are_held(agent: Agent) -> None:
    held = [agent.hold() for _ in range(MAX_HELD_TALKS + 1)]
    assert list(held[-1].talk("你好"))


def test_a_bounded_store_says_when_it_is_full(home: Home) -> None:
    store = MemoryStore(clock=home.clock, max_exchanges=2)
    for text in ("一", "二"):
        told(store, home.clock, text)
    with pytest.raises(MoeChatError, match="begin another"):
        store.log.begin("三", home.clock.now())


def test_off_the_record_in_the_middle_of_a_talk_knows_what_was_just_said(home: Home) -> None:
    model = ScriptedModel(lambda messages: "嗯。", understands=False)
    with home.agent(model=model) as agent:
        first = say(agent, "我把铜钥匙藏在灯塔下面了").exchange.id
        say(agent, "它有三道齿")
        held = agent.hold()
        assert list(held.talk("你还记得我刚才说的吗"))
        said = [one.content for one in model.requests[-1].messages if one.role == "user"]
        assert said == ["我把铜钥匙藏在灯塔下面了", "它有三道齿", "你还记得我刚才说的吗"], "and nothing is told twice"
        agent.conversation.correct(first, user="我把银钥匙藏在井里了")
        assert list(held.talk("那现在呢"))
        assert "银钥匙" in str(model.requests[-1].messages) and "铜钥匙" not in str(model.requests[-1].messages)
        agent.memories.forget([first])
        agent.settle_indexes()
        assert list(held.talk("再说一遍"))
        assert "钥匙" not in str(model.requests[-1].messages), "what is forgotten is gone from there, too"
        home.clock.advance(days=1)
        assert list(held.talk("早"))
        assert "三道齿" not in str([one for one in model.requests[-1].messages if one.role == "user"])
        assert [one.exchange.user for one in agent.recent(5)] == ["它有三道齿"]
