"""Whole turns against an OpenAI-compatible server over HTTP: streaming, every failure, and understanding what was said."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from moechat.agent import Agent
from moechat.turn import Delta, Ended
from tests.houses import Home, answer, fact, say
from tests.model_server import (
    GARBAGE,
    RATE_LIMIT,
    WEB_PAGE,
    Act,
    BreakOff,
    Hang,
    ModelServer,
    Raw,
    Refuse,
    Say,
    closed_port,
)  # fmt: skip

KEY = "sk-very-secret"
PATIENCE_S = 60.0
LIVES_IN_HANGZHOU = answer(
    1, facts=[fact("用户住在杭州", 1, keyword="住址", target="杭州", single=True)], tag="用户说了住处"
)


def is_extraction(body: dict[str, Any]) -> bool:
    return "scene_changed" in body["messages"][-1]["content"]


def last_asked(server: ModelServer) -> list[dict[str, str]]:
    """The messages of the last request for a reply; the background may have asked for something else since."""
    return [body["messages"] for body in server.chats if not is_extraction(body)][-1]


def script(replies: list[Act], understands: Callable[[int], Act]) -> Callable[[dict[str, Any]], Act]:
    """Replies in order, then 好的。; ``understands`` answers the n-th request to understand, from 0."""
    left, asked = iter(replies), iter(range(1_000_000))
    return lambda body: understands(next(asked)) if is_extraction(body) else next(left, "好的。")


@contextmanager
def opened(home: Home, url: str, *, timeout_s: float = 30.0, **sections: Any) -> Iterator[Agent]:
    chat = {"base_url": url, "model": "tiny", "timeout_s": timeout_s} | sections.pop("chat", {})
    home.configure(chat=chat, roll={"retry_s": 60.0}, **sections)
    with home.connected() as house:
        yield house.agent()


def stored(home: Home, id_: str) -> tuple[str, str, str]:
    """(user, char, status) as a new start reads it from the disk."""
    store = home.store()
    try:
        exchange = store.exchanges.get(id_)
        return exchange.user, exchange.char, exchange.status
    finally:
        store.close()


# ---- a turn


def test_a_turn_streams_and_what_is_shown_is_what_is_stored(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOECHAT_API_KEY", KEY)
    with ModelServer([Say("杭州是个好地方，湖边的桂花开了。", thoughts="想一想")], key=KEY) as server:
        with opened(home, server.url) as agent:
            events = list(agent.talk("我住在杭州"))
        pieces = [event.text for event in events if isinstance(event, Delta)]
        ended = events[-1]
    assert len(pieces) > 1 and isinstance(ended, Ended)
    assert "".join(pieces) == ended.exchange.char == "杭州是个好地方，湖边的桂花开了。"
    assert stored(home, ended.exchange.id) == ("我住在杭州", ended.exchange.char, "done")
    roles = [message["role"] for message in server.chats[0]["messages"]]
    assert roles[0] == "system" and server.chats[0]["messages"][-1]["content"].endswith("我住在杭州")
    assert server.chats[0]["stream"] is True


# ---- failures

FAILURES: dict[str, tuple[Act, str]] = {  # what happens, and what of the reply was shown
    "the server has a fault": (Refuse(500, "boom"), ""),
    "too many requests": (RATE_LIMIT, ""),
    "nonsense instead of events": (GARBAGE, ""),
    "a web page": (WEB_PAGE, ""),
    "nothing at all": (Say(""), ""),
    "JSON without a reply": (Raw("{}", "application/json"), ""),
    "the line breaks midway": (BreakOff("说到一半"), "说到一半"),
    "silence midway": (Hang("先说一句"), "先说一句"),
    "silence from the start": (Hang(headers=False), ""),
    "comments and no reply": (Hang(comments=True), ""),
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_failed_turn_is_stored_marked_and_told_in_words(home: Home, name: str) -> None:
    act, kept = FAILURES[name]
    replies = [act, "现在好了。"] if kept else [act, act, "现在好了。"]  # what failed before it began is tried twice
    patience_s = 2.0 if isinstance(act, Hang) else 30.0  # what hangs is what runs into the limit
    with ModelServer(replies) as server, opened(home, server.url, timeout_s=patience_s) as agent:
        failed = say(agent, "我养了一只猫")
        assert (failed.exchange.status, failed.exchange.char) == ("failed", kept)
        assert len(failed.error) > 5
        until_it_works = (say(agent, "还在吗") for _ in range(2))
        good = next(ended for ended in until_it_works if ended.exchange.status == "done")
        assert good.exchange.char == "现在好了。"
        prompt = "\n".join(message["content"] for message in last_asked(server))
        assert "我养了一只猫" in prompt
        assert agent.verify()["problems"] == []
    assert stored(home, failed.exchange.id) == ("我养了一只猫", kept, "failed")


def test_a_failed_reply_can_be_had_again(home: Home) -> None:
    with ModelServer([BreakOff("说到一半"), "说完了。"]) as server, opened(home, server.url) as agent:
        failed = say(agent, "讲个故事")
        *_, ended = agent.conversation.regenerate()
        assert isinstance(ended, Ended) and ended.exchange.id == failed.exchange.id
    assert stored(home, failed.exchange.id) == ("讲个故事", "说完了。", "done")


def test_stopping_hangs_up_and_keeps_what_was_shown(home: Home) -> None:
    with ModelServer([Hang("正要说"), "好。"]) as server, opened(home, server.url, timeout_s=10 * PATIENCE_S) as agent:
        events = []
        for event in agent.talk("慢慢说"):
            events.append(event)
            if isinstance(event, Delta):
                threading.Thread(target=agent.stop).start()
        ended = events[-1]
        assert isinstance(ended, Ended)
        assert (ended.exchange.status, ended.exchange.char) == ("stopped", "正要说")
        assert server.hung_up.wait(PATIENCE_S)
        assert say(agent, "继续").exchange.status == "done"
    assert stored(home, ended.exchange.id) == ("慢慢说", "正要说", "stopped")


def test_closing_while_a_reply_hangs_ends_at_once(home: Home) -> None:
    with ModelServer([Hang("正要说")]) as server:
        with opened(home, server.url, timeout_s=10 * PATIENCE_S) as agent:
            turn = agent.talk("慢慢说")
            reader = threading.Thread(target=lambda: list(turn))
            reader.start()
            assert server.arrived.wait(PATIENCE_S)
        reader.join(PATIENCE_S)
        assert not reader.is_alive()
    store = home.store()
    assert [node.status for node in store.tree.nodes.values()] == ["stopped"]
    store.close()


# ---- understanding


@pytest.mark.parametrize("formats", [("json_schema", "json_object"), ("json_object",), ()], ids=str)
def test_understanding_takes_the_best_form_that_the_endpoint_knows(home: Home, formats: tuple[str, ...]) -> None:
    fenced = f"好的，结果如下：\n```json\n{LIVES_IN_HANGZHOU}\n```"
    with ModelServer(script([], lambda _: fenced), formats=formats) as server, opened(home, server.url) as agent:
        say(agent, "我住在杭州")
        agent.finish()
        assert [f.draft.text for f in agent.layers.core.current()] == ["用户住在杭州"]
        assert agent.store.tree.pending() == [] and agent.layers.core.current()[0].by == "model"
        refused = len([body for body in server.chats if is_extraction(body)]) - 1
        assert refused == 2 - len(formats)
        say(agent, "你好呀")
        agent.finish()
        asked = [body.get("response_format", {}).get("type") for body in server.chats if is_extraction(body)]
    assert asked[-1] == (formats[0] if formats else None) and len(asked) == refused + 2, "what is refused once is left"


UNUSABLE: dict[str, Act] = {
    "a fault": Refuse(500, "boom"),
    "nonsense": Say("我不会写 JSON。"),
    "silence": Hang(headers=False),
    "the wrong form": Say('{"exchanges": [], "facts": "none"}'),
    "the line breaks": BreakOff(LIVES_IN_HANGZHOU[:40]),
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_understanding_that_failed_stays_queued_and_is_done_later(home: Home, name: str) -> None:
    working: list[bool] = []
    server = ModelServer(script([], lambda _: LIVES_IN_HANGZHOU if working else UNUSABLE[name]))
    silence_s = 1.0 if isinstance(UNUSABLE[name], Hang) else PATIENCE_S  # what hangs is what runs into the limit
    with server, opened(home, server.url, understanding={"silence_s": silence_s}) as agent:
        said = say(agent, "我住在杭州")
        agent.finish()
        assert agent.store.tree.pending() == [said.exchange.id]
        assert agent.problems() != []
        assert [f.draft.text for f in agent.layers.core.current()] == ["用户住在杭州"]  # by the rules, at once
        asked = len(server.chats)
        agent.finish()
        assert len(server.chats) == asked, "not tried again before its time"
        home.config.write_text(
            home.config.read_text("utf-8").replace("silence_s: 1.0", f"silence_s: {PATIENCE_S}"), "utf-8"
        )
        assert say(agent, "你好").exchange.status == "done"
        working.append(True)
        home.clock.advance(minutes=10)
        agent.finish()
        assert agent.problems() == [] and agent.store.tree.pending() == []
        assert agent.store.tree.node(said.exchange.id).understood == "model"
        assert [f.draft.text for f in agent.layers.core.current()] == ["用户住在杭州"]


def test_work_that_was_left_is_done_after_a_restart(home: Home) -> None:
    with ModelServer(script([], lambda _: Refuse(503))) as server, opened(home, server.url) as agent:
        id_ = say(agent, "我住在杭州").exchange.id
        agent.finish()
        assert agent.store.tree.pending() == [id_]
    home.clock.advance(hours=2)
    with ModelServer(script([], lambda _: LIVES_IN_HANGZHOU)) as server, opened(home, server.url) as agent:
        agent.settle_indexes()
        assert agent.store.tree.pending() == []
        assert [(f.draft.text, f.by) for f in agent.layers.core.current()] == [("用户住在杭州", "model")]


def test_a_server_of_its_own_understands_while_the_chat_is_down(home: Home) -> None:
    with ModelServer(script([], lambda _: LIVES_IN_HANGZHOU)) as server, closed_port() as url:
        own = {"base_url": server.url, "model": "tiny"}
        with opened(home, url, understanding=own) as agent:
            failed = say(agent, "我住在杭州")
            agent.finish()
            assert failed.exchange.status == "failed" and agent.store.tree.pending() == []
            assert [f.draft.text for f in agent.layers.core.current()] == ["用户住在杭州"]
