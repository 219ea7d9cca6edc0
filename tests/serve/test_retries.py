"""What is sent again is one turn where it says so, or where its answer is known to have broken off; else it is said twice."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from pathlib import Path
from threading import Event
from typing import Any

import httpx
import openai
import patient
import pytest
from served import Served

from moechat.ai.scripted import Line
from moechat.errors import ModelError
from moechat.model import Message
from tests.houses import CHARACTER


def said(served: Served) -> list[str]:
    return [message for message, _ in served.kept()]


@pytest.mark.parametrize(
    ("more", "greeting", "times"),
    [
        ({}, [], 2),
        ({"extra_headers": {"Idempotency-Key": "a"}}, [], 2),  # only the second has one
        ({}, [{"role": "assistant", "content": "你来啦。"}], 1),  # another reply to the first message of a card
    ],
    ids=["words alone", "a key", "a swipe"],
)
def test_the_same_words_are_said_twice_unless_something_tells_otherwise(
    served: Served, more: dict[str, Any], greeting: list[dict[str, str]], times: int
) -> None:
    for extra in ({}, more):
        served.say(*greeting, {"role": "user", "content": "我养了一只叫豆豆的猫"}, **extra)
        served.house.agent().look()
    assert said(served) == ["我养了一只叫豆豆的猫"] * times


def test_a_key_tells_a_request_that_is_sent_again_from_the_same_words_said_twice(served: Served) -> None:
    for key, times in (("a", 2), ("b", 1)):
        for _ in range(times):
            served.say("在吗", extra_headers={"Idempotency-Key": key})
            served.say("我在等你", extra_headers={"Idempotency-Key": f"other {key}"})
    assert said(served).count("在吗") == 2


@pytest.mark.parametrize("named", [{}, {"x-moechat-chat": "c"}], ids=["nameless", "named"])
def test_a_key_is_known_to_the_program_that_is_started_next(tmp_path: Path, named: dict[str, str]) -> None:
    served = Served(tmp_path)
    with served:
        for number, text in enumerate(["在吗", "我在等你", "那我先去忙"]):
            served.say(text, extra_headers=named | {"Idempotency-Key": f"key {number}"})
    for key, times in (("key 2", 1), ("key 3", 2)):
        with served:
            served.say("那我先去忙", extra_headers=named | {"Idempotency-Key": key})
            assert said(served).count("那我先去忙") == times


def test_an_answer_that_broke_off_is_asked_for_again_after_a_pause(tmp_path: Path) -> None:
    replies = [ModelError("broken_off", "the line broke"), "在呢。"]
    with Served(tmp_path, replies) as served:
        with pytest.raises(openai.APIStatusError):
            served.say("在吗")
        served.home.clock.advance(minutes=10)
        assert served.say("在吗") == "在呢。"
        assert served.kept() == [("在吗", "在呢。")]


@pytest.mark.parametrize("streams", [True, False])
def test_who_gives_up_before_the_first_letter_holds_up_nobody_and_may_ask_again(tmp_path: Path, streams: bool) -> None:
    with Served(tmp_path, [Line(hold=Event()), "在呢。"]) as served:
        body = {"model": CHARACTER, "messages": [{"role": "user", "content": "在吗"}], "stream": streams}
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(served.url + "/v1/chat/completions", json=body, timeout=httpx.Timeout(60, read=1))
        assert served.say("在吗") == "在呢。"
        assert served.kept() == [("在吗", "在呢。")]


@pytest.mark.parametrize("turns", [20, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.parametrize("way", ["history", "one message", "named"])
def test_turns_that_are_broken_off_at_a_random_place_and_sent_again_stand_once(
    tmp_path: Path, way: str, turns: int
) -> None:
    chance, numbers = random.Random(7), itertools.count()

    def reply(_: Sequence[Message]) -> Line:
        number = next(numbers)
        whole = f"这是第{number // 2}次的回答，说得稍微长一点，好在中间断开"
        return Line(whole) if number % 2 else Line(whole[: chance.randint(12, len(whole))], hold=Event())

    with Served(tmp_path, reply) as served:
        history: list[dict[str, str]] = []
        due = []
        headers = {"x-moechat-chat": "c"} if way == "named" else {}
        for number in range(turns):
            served.home.clock.advance(seconds=30)
            words = {"role": "user", "content": chance.choice(["嗯", f"第{number}句话，说点别的"])}
            body = {"model": CHARACTER, "messages": [*(history if way != "one message" else []), words], "stream": True}
            with patient.stream("POST", served.url + "/v1/chat/completions", json=body, headers=headers) as answer:
                next(text for text in answer.iter_text() if '"content": "' in text.replace('"content": ""', ""))
            answered = served.say(*body["messages"], extra_headers=headers)
            history += [words, {"role": "assistant", "content": answered}]
            due.append((words["content"], answered))
        assert served.kept() == due
