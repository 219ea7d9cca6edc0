"""What a turn and an opening cost in trips to the database and back: each is as long as the network makes it."""

from __future__ import annotations

from pathlib import Path

import pytest

from moechat.agent import Agent
from moechat.turn import Delta
from tests.houses import Home, say
from tests.pg_server import Door, fresh_name

OPENING = 10
TALK = ("今天下雨了", "我在学吉他", "晚上吃了面", "明天要开会", "有点困")


@pytest.fixture
def home(tmp_path: Path, door: Door) -> Home:
    return Home.build(tmp_path / "home", store={"kind": "postgres", "address": door.address, "connections": 2})


def told(home: Home, agent: Agent) -> None:
    for text in TALK:
        say(agent, text)
        agent.settle_indexes()
        home.clock.advance(minutes=2)


def test_a_turn_costs_ten_trips_and_seven_before_the_first_words(home: Home, door: Door) -> None:
    with home.open() as house:
        house.ready()
        agent = house.agent(user=fresh_name())
        told(home, agent)
        before, first = door.trips, 0
        for event in agent.talk("我又饿了"):
            first = first or (door.trips - before) * isinstance(event, Delta)
        assert (first, door.trips - before) == (7, 10)


def test_an_opening_costs_as_many_trips_whatever_was_said(home: Home, door: Door) -> None:
    users = [fresh_name() for _ in range(3)]
    with home.open() as house:
        for user in users:
            told(home, house.agent(user=user))
    costs = []
    with home.open(looks=True) as house:
        house.ready()
        house.agent(
            user=fresh_name()
        ).settle_indexes()  # The connections are there, and nobody else has anything to do.
        for user in users:
            before = door.trips
            agent = house.agent(user=user)
            costs.append(door.trips - before)
            assert len(agent.recent(9)) == len(TALK)
    assert min(costs) <= OPENING  # What looks for others' changes now and then may ask in between.
