"""Understanding beside the talk: whoever writes comes first, and what a model cannot answer at once it is asked in parts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from threading import Event, Thread
from typing import Any

import pytest

from moechat.agent import Agent
from moechat.ai.chat_model import is_near
from moechat.ai.scripted import Line, ScriptedModel
from moechat.model import Message
from tests.houses import Home, answer, fact, say
from tests.model_server import BreakOff, Hang, ModelServer, Raw, Refuse, Say

LATE_S = 60.0


def is_extraction(body: dict[str, Any]) -> bool:
    return "scene_changed" in body["messages"][-1]["content"]


def understanding(agent: Agent) -> Thread:
    """Understands what waits, in another thread, as after a pause."""
    agent.jobs.settle()
    thread = Thread(target=agent.jobs.roll, kwargs={"closing": True}, daemon=True)
    thread.start()
    return thread


def shown_exchanges(messages: Sequence[Message]) -> int:
    """How many exchanges a request for understanding shows."""
    return len(re.findall(r"^\[\d+\] 20", messages[-1].content, re.MULTILINE))


def home_of(count: int) -> str:
    """An answer about so many exchanges."""
    return answer(count, facts=[fact("用户住在杭州", 1, keyword="住址", target="杭州")])


TROUBLE = {
    "silent": Hang(), "silent from the start": Hang(headers=False), "begins and stops": Hang('{"exchanges": ['),
    "only thinks": Hang("<think>"), "broken": BreakOff("{"), "down": Refuse(503), "no JSON": Raw("data: {nonsense\n\n"),
}  # fmt: skip


@pytest.mark.parametrize("trouble", TROUBLE)
def test_no_turn_waits_for_a_model_that_understands_badly(home: Home, trouble: str) -> None:
    script = lambda body: TROUBLE[trouble] if is_extraction(body) else Say("好的。")  # noqa: E731
    with ModelServer(script) as server:
        home.configure(chat={"base_url": server.url, "model": "tiny"}, understanding={"silence_s": 3600})
        with home.connected() as house:
            agent = house.agent()
            first = say(agent, "我住在杭州")
            thread = understanding(agent)
            while not any(map(is_extraction, server.chats)):
                assert thread.is_alive() or any(map(is_extraction, server.chats))
            assert say(agent, "你好").exchange.char == "好的。"
            thread.join(LATE_S)
            assert not thread.is_alive()
            assert first.exchange.id in agent.store.tree.pending()
            if isinstance(TROUBLE[trouble], Hang):
                assert server.hung_up.wait(LATE_S)
                assert agent.problems() == []  # it gave way, which is no failure


def test_a_memory_closes_while_a_model_is_silent(home: Home) -> None:
    hold = Event()
    model = ScriptedModel(lambda _: "好的。", [Line(hold=hold)])
    with home.open(model) as house:
        agent = house.agent()
        id_ = say(agent, "我住在杭州").exchange.id
        thread = understanding(agent)
        while not model.questions:
            assert thread.is_alive()
        house.close()
        thread.join(LATE_S)
        assert not thread.is_alive() and not hold.is_set()
    assert home.store().tree.pending() == [id_]


def test_a_model_with_many_slots_goes_on_while_somebody_writes(home: Home) -> None:
    hold = Event()
    model = ScriptedModel(lambda _: "好的。", [Line(home_of(1), hold=hold)])
    with home.agent(model) as agent:
        id_ = say(agent, "我住在杭州").exchange.id
        thread = understanding(agent)
        while not model.questions:
            assert thread.is_alive()
        say(agent, "你好")
        hold.set()
        thread.join(LATE_S)
        assert id_ not in agent.store.tree.pending()
        assert len(model.questions) == 1 and model.closed == 0


def test_a_model_with_one_slot_is_asked_in_a_pause(home: Home) -> None:
    model = ScriptedModel(lambda _: "好的。", lambda messages: home_of(shown_exchanges(messages)), has_one_slot=True)
    home.configure(understanding={"batch_size": 1})
    with home.agent(model) as agent:
        say(agent, "我住在杭州")
        agent.jobs.settle()
        agent.settle_indexes()
        agent.jobs.roll()
        assert model.questions == []
        home.clock.advance(seconds=11)
        agent.jobs.roll()
        assert len(model.questions) == 1


def test_the_batch_shrinks_to_what_the_model_can_answer_and_grows_again(home: Home) -> None:
    limit = [5]

    def answered(messages: Sequence[Message]) -> Line:
        count = shown_exchanges(messages)
        whole = home_of(count)
        return Line(whole) if count <= limit[0] else Line(whole[: len(whole) // 2], finish="length")

    model = ScriptedModel(lambda _: "好的。", answered)
    with home.agent(model) as agent:
        for number in range(12):
            say(agent, f"今天是第{number}天")
        agent.finish()
        assert agent.store.tree.pending() == [] and agent.problems() == []
        assert [shown_exchanges(messages) for messages, _ in model.questions] == [12, 6, 3, 4, 5]
        limit[0] = 100
        for number in range(12):
            say(agent, f"这是第{number}句")
        model.questions.clear()
        agent.finish()
        assert [shown_exchanges(messages) for messages, _ in model.questions] == [6, 6]


def test_an_answer_about_one_exchange_that_was_cut_is_read_as_far_as_it_goes(home: Home) -> None:
    model = ScriptedModel(lambda _: "好的。", lambda _: Line(home_of(1)[:-30], finish="length"))
    with home.agent(model) as agent:
        id_ = say(agent, "我住在杭州").exchange.id
        agent.finish()
        assert agent.store.tree.node(id_).understood == "model" and len(model.questions) == 1


def test_understanding_has_settings_of_its_own(home: Home) -> None:
    server = ModelServer(lambda body: Say(home_of(1) if is_extraction(body) else "好的。"))
    with server:
        chat = {"base_url": server.url, "model": "tiny", "temperature": 1.2, "extra": {"top_p": 0.5, "max_tokens": 30}}
        home.configure(chat=chat, understanding={"max_tokens": 900, "extra": {"seed": 7}})
        with home.connected() as house:
            say(house.agent(), "我住在杭州")
            house.agent().finish()
        reply = next(body for body in server.chats if not is_extraction(body))
        asked = next(body for body in server.chats if is_extraction(body))
    assert (reply["temperature"], reply["top_p"], reply["max_tokens"]) == (1.2, 0.5, 30)
    assert (asked["temperature"], asked["max_tokens"], asked["seed"], asked["stream"]) == (0.0, 900, 7, True)
    assert "top_p" not in asked


@pytest.mark.parametrize(
    ("url", "near"),
    [
        ("http://127.0.0.1:11434/v1", True), ("http://localhost/v1", True), ("http://192.168.1.5:8080/v1", True),
        ("http://[::1]:8080/v1", True), ("http://studio.local/v1", True), ("http://tower:8080/v1", True),
        ("https://api.example.com/v1", False), ("http://8.8.8.8/v1", False),
    ],
)  # fmt: skip
def test_a_server_nearby_answers_one_request_at_a_time(url: str, near: bool) -> None:
    assert is_near(url) == near
