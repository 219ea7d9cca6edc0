"""Two users and two characters through every address: nobody meets what another one said."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from moechat.access.keys import Keyring
from moechat.ai.scripted import ScriptedModel
from moechat.house import House
from moechat.serve import server
from moechat.settings.character import begin_character
from tests.houses import CHARACTER, Home

OTHER = "阿青"
PEOPLE = ("anne", "ben")
WORDS = {
    (CHARACTER, "anne"): "蓝莓松饼",
    (CHARACTER, "ben"): "红枣年糕",
    (OTHER, "anne"): "黑芝麻糊",
    (OTHER, "ben"): "绿豆沙冰",
}
NAMES = (
    "anne", "ben", "", "ANNE", "anne ", "../anne", "users/anne", "%61nne", "a\u0000nne", "安" * 100, "{{user}}",
    "anne,ben",
)  # fmt: skip


class Home2:
    """Two users, each with a key, and two characters; each pair has a secret of its own."""

    def __init__(self, folder: Path) -> None:
        self.home = Home.build(folder, owners={"open": 8})
        begin_character(self.home.data / "agents" / OTHER, OTHER)
        self.model = ScriptedModel(lambda _: "好的。", understands=False)
        self.house: House = self.home.open(self.model)
        ring = Keyring(self.home.data)
        self.keys = {user: ring.add(user, users=[user], per_minute=10**6)[1] for user in PEOPLE}
        self.keys["many"] = ring.add("many", many=True, per_minute=10**6, new=5)[1]
        self.keys["one"] = ring.add("one", users=["anne"], characters=[OTHER], per_minute=10**6)[1]
        self.client = TestClient(server.make_app(self.house, open_here=False), base_url="http://chat.example")
        for (character, user), secret in WORDS.items():
            self.say(f"我最爱吃{secret}", character, self.keys[user])
            self.house.agent(character, user).finish()

    def say(self, text: str, character: str, key: str, **more: Any) -> Any:
        body = {"model": character, "messages": [{"role": "user", "content": text}], **more.pop("body", {})}
        headers = {"authorization": f"Bearer {key}", **more.pop("headers", {})}
        return self.client.post("/v1/chat/completions", json=body, headers=headers)


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home2]:
    one = Home2(tmp_path_factory.mktemp("two"))
    yield one
    one.house.close()


def others(character: str, user: str) -> list[str]:
    return [secret for owner, secret in WORDS.items() if owner != (character, user)]


@pytest.mark.parametrize(("character", "user"), list(WORDS))
def test_every_address_shows_the_own_memory_alone(two: Home2, character: str, user: str) -> None:
    headers = {"authorization": f"Bearer {two.keys[user]}"}
    whose = {"character": character}
    get, post = two.client.get, two.client.post
    answers = [
        post("/query", json={"query": "最爱吃什么", **whose}, headers=headers),
        post("/query_simple", json={"query": "最爱吃什么", **whose}, headers=headers),
        post("/expand_words", json={"sentence": "松饼和年糕", **whose}, headers=headers),
        post("/recall", json={"text": "我最爱吃什么", **whose}, headers=headers),
        get("/memories", params=whose, headers=headers),
        get("/memories", params={**whose, "type": "exchange"}, headers=headers),
        get("/exchanges", params={**whose, "talk": ""}, headers=headers),
        get("/export", params=whose, headers=headers),
        get("/v1/models", headers=headers),
    ]
    assert [answer.status_code for answer in answers] == [200] * len(answers)
    text = "".join(answer.text for answer in answers)
    assert WORDS[character, user] in text and not [secret for secret in others(character, user) if secret in text]
    for model in (character, f"{character}:memory"):
        body = {"moechat_character": character}
        assert two.say("我最爱吃什么呀", model, two.keys[user], body=body).status_code == 200
        prompt = str(two.model.requests[-1].messages)
        assert WORDS[character, user] in prompt and not [
            secret for secret in others(character, user) if secret in prompt
        ]


def test_a_key_reaches_no_other_user_and_no_other_character(two: Home2) -> None:
    anne, only = ({"authorization": f"Bearer {two.keys[name]}"} for name in ("anne", "one"))
    for method, path, more in (
        ("POST", "/query", {"json": {"query": "x", "user": "ben"}}),
        ("GET", "/memories", {"params": {"user": "ben"}}),
        ("GET", "/exchanges", {"params": {"user": "ben"}}),
        ("POST", "/say", {"json": {"text": "x", "user": "ben"}}),
        (
            "POST",
            "/ingest",
            {"json": {"talk": "x", "user": "ben", "exchanges": [{"at": "2024-01-01T00:00:00", "text": "x"}]}},
        ),
        ("POST", "/memories", {"json": {"store": "official", "type": "fact", "text": "x"}}),
    ):
        answer = two.client.request(method, path, headers=anne, **more)  # type: ignore[arg-type]
        assert answer.status_code == 403, (path, answer.text)
    for way in ({"headers": {"x-moechat-user": "ben"}}, {"body": {"user": "ben"}}, {"body": {"moechat_user": "ben"}}):
        assert two.say("x", CHARACTER, two.keys["anne"], **way).status_code == 403
    assert two.client.post("/v1/u/ben/chat/completions", headers=anne, json={
        "model": CHARACTER, "messages": [{"role": "user", "content": "x"}]}).status_code == 403  # fmt: skip
    assert two.say("x", CHARACTER, two.keys["one"]).status_code == 403
    assert [model["id"] for model in two.client.get("/v1/models", headers=only).json()["data"]] == [
        OTHER, f"{OTHER}:memory", f"{OTHER}:raw",
    ]  # fmt: skip


def test_a_key_for_many_says_for_whom_and_begins_no_more_than_it_may(two: Home2) -> None:
    answer = two.say("你好", CHARACTER, two.keys["many"])
    assert answer.status_code == 200 and "X-MoeChat-User" in answer.json()["choices"][0]["message"]["content"]
    codes = [two.say("你好", CHARACTER, two.keys["many"], body={"user": f"guest{at}"}).status_code for at in range(7)]
    assert codes == [200] * 5 + [403] * 2


def test_a_fuzzer_over_names_headers_and_keys_never_meets_a_secret_of_another(two: Home2) -> None:
    chance = random.Random(1)
    app = two.client.app
    whose = {two.keys["anne"]: [(CHARACTER, "anne"), (OTHER, "anne")], two.keys["one"]: [(OTHER, "anne")]}
    met = set()
    for at in range(300):
        key = chance.choice(list(whose) if at % 4 else ["mk-wrong", "", "null", two.keys["anne"][:-1]])
        names = {name: chance.choice(NAMES) for name in ("user", "moechat_user", "moechat_character", "moechat_chat")}
        body = {name: value for name, value in names.items() if chance.random() < 0.5}
        headers = {"content-type": b"application/json"} | ({"authorization": f"Bearer {key}".encode()} if key else {})
        for name in ("x-moechat-user", "x-openwebui-user-id", "x-moechat-character"):
            if chance.random() < 0.3:
                headers[name] = chance.choice(NAMES).replace("\x00", "").encode()
        before = len(two.model.requests)
        model = chance.choice(
            [CHARACTER, OTHER, f"{CHARACTER}:memory", f"../{CHARACTER}", f"{CHARACTER}%2fusers%2fben", ""]
        )
        path = chance.choice(["chat/completions", "u/ben/chat/completions", "u/%2e%2e/c/x/chat/completions"])
        sent = {"model": model, "messages": [{"role": "user", "content": "我最爱吃什么"}], **body}
        client = TestClient(
            app, "http://chat.example", client=(f"10.0.{at}.1", 1)
        )  # Wrong keys are counted by address.
        answer = client.post(f"/v1/{path}", content=json.dumps(sent), headers=headers)
        assert answer.status_code < 500, answer.text
        seen = answer.text + str([request.messages for request in two.model.requests[before:]])
        met |= {(key, owner) for owner, secret in WORDS.items() if secret in seen}
        assert len(key) < 8 or key not in answer.text
    assert met == {(key, owner) for key, owners in whose.items() for owner in owners}
