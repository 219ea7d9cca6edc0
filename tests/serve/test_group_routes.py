"""Talks of several over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from moechat.access.keys import Keyring
from moechat.house import House
from moechat.serve import server
from tests.groups import NAMES, build, facts, nth
from tests.houses import silent

A, B, C = NAMES


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with build(tmp_path).open(silent(nth)) as house:
        yield house


class Caller:
    """A program with a key."""

    def __init__(self, house: House, **reach: Any) -> None:
        _, word = Keyring(house.data).add("program", per_minute=10**6, **reach)
        self.client = TestClient(server.make_app(house, open_here=False), base_url="http://chat.example")
        self.headers, self.talk = {"authorization": f"Bearer {word}"}, ""

    def ask(self, verb: str, status: int = 200, *, user: str = "", character: str = A, **values: Any) -> Any:
        talk = {"talk": self.talk} if self.talk else {}
        whose = {"character": character} | ({"user": user} if user else {})
        answer = self.client.post(f"/v1/groups/{verb}", json=talk | values, params=whose, headers=self.headers)
        assert answer.status_code == status, answer.text
        return answer.json()

    def say(self, text: str, **more: Any) -> list[str]:
        return [reply["speaker"] for reply in self.ask("say", text=text, **more)["replies"]]


def test_a_talk_is_begun_changed_spoken_in_and_shown(house: House) -> None:
    caller = Caller(house)
    begun = caller.ask("begin", characters=[B])
    caller.talk = begun["talk"]
    assert [one["name"] for one in begun["members"]] == [A, B]
    assert caller.say(f"{B}，{A}，你们好") == [B, A]
    caller.ask("change", act="add", name=C)
    caller.ask("change", act="mute", name=A)
    caller.ask("change", act="list")
    assert caller.say("我住在上海", by="安妮") == [B, C]
    assert [one["speaker"] for one in caller.ask("speak", name=A)["replies"]] == [A]
    shown = caller.ask("show", limit=4, character=C)
    assert (shown["order"], shown["people"]) == ("list", ["安妮"])
    assert (shown["lines"][0]["speaker"], shown["lines"][0]["text"]) == ("安妮", "我住在上海")
    assert ("安妮", "安妮住在上海") in facts(house.agent(C))
    assert caller.ask("speak", 409, name=A)["error"]["message"].startswith(f"{A} has said the last word")
    assert caller.ask("change", 422, act="sing")["error"]["field"] == "act"
    caller.ask("show", 404, talk="group:nothing")


def test_a_key_reaches_the_talks_of_its_own_users_and_characters_alone(house: House) -> None:
    anne, two = Caller(house, users=["anne"]), Caller(house, users=["ben"], characters=[A, B])
    anne.talk = anne.ask("begin", characters=[B])["talk"]
    two.ask("begin", 403, characters=[C])
    two.talk = anne.talk
    for verb, values in {"say": {"text": "在吗"}, "show": {}, "change": {"act": "add", "name": C}}.items():
        two.ask(verb, 404, **values)
        two.ask(verb, 403, user="anne", **values)
    assert anne.say(f"{A}，在吗") == [A]


def test_people_with_keys_speak_for_themselves_and_see_what_they_heard(house: House) -> None:
    ben, anne, owner = Caller(house, users=["ben"]), Caller(house, users=["anne"]), Caller(house)
    ben.talk = ben.ask("begin", characters=[B])["talk"]
    ben.say(f"{A}，我住在杭州")
    ben.ask("change", 403, act="user", name="anne")  # Her memories are not his to write in.
    owner.talk = anne.talk = ben.talk
    assert owner.ask("change", user="ben", act="user", name="anne")["users"] == {"ben": "ben", "anne": "anne"}
    assert anne.say(f"{B}，我住在上海") == [B]
    assert [one["speaker"] for one in anne.ask("show")["lines"]] == ["", B]
    assert [one["speaker"] for one in ben.ask("show")["lines"]] == ["", A, "anne", B]
    anne.ask("say", 409, text="我住在火星", by="ben")
    anne.ask("change", 409, act="add", name=C)
    ben.ask("say", 409, text="我住在火星", by="anne")
    assert {*facts(house.agent(A, "anne"))} == {("user", "用户住在上海")}
    assert {*facts(house.agent(B, "ben"))} == {("user", "用户住在杭州"), ("anne", "anne住在上海")}
    ben.ask("change", act="remove", name="anne")
    anne.ask("say", 404, text="还在吗")
