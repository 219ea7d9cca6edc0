"""Memory over MCP, spoken over HTTP: behind the keys, one answer for each request."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from houses import CHARACTER, Home, say
from starlette.testclient import TestClient

from moechat.access.keys import Keyring
from moechat.serve import server

pytest.importorskip("mcp")

ELSEWHERE = "http://chat.example"


class Caller:
    """A program that speaks MCP to a server that others reach."""

    def __init__(self, home: Home) -> None:
        self.house, self.ring = home.open(), Keyring(home.data)
        self.client = TestClient(server.make_app(self.house, self.ring, open_here=False), ELSEWHERE)

    def ask(self, method: str, key: str = "", headers: dict[str, str] | None = None, **parameters: Any) -> Any:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}
        sent = {"accept": "application/json, text/event-stream", "authorization": f"Bearer {key}", **(headers or {})}
        return self.client.post("/mcp", json=body, headers=sent)

    def tool(self, key: str, name: str, headers: dict[str, str] | None = None, **values: Any) -> Any:
        result = self.ask("tools/call", key, headers, name=name, arguments=values).json()["result"]
        text = result["content"][0]["text"]
        return text if result["isError"] else json.loads(text)


@pytest.fixture
def caller(home: Home) -> Iterator[Caller]:
    caller = Caller(home)
    yield caller
    caller.client.close()


def test_a_program_lists_the_tools_remembers_and_recalls(caller: Caller) -> None:
    key = caller.ring.add("editor", users=["anne"])[1]
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    assert caller.ask("initialize", key, **hello).json()["result"]["serverInfo"]["name"] == "moechat"
    assert {tool["name"] for tool in caller.ask("tools/list", key).json()["result"]["tools"]} >= {
        "list",
        "recall",
        "forget",
    }
    made = caller.tool(key, "remember", text="用户的猫叫团子")
    assert [hit["id"] for hit in caller.tool(key, "recall", message="我的猫叫什么")["hits"]] == [made["id"]]


def test_a_key_reaches_its_own_memory_alone(caller: Caller) -> None:
    for user, food in (("anne", "红枣年糕"), ("ben", "黑芝麻糊")):
        say(caller.house.agent(CHARACTER, user), f"我最爱吃{food}")
    anne = caller.ring.add("anne", users=["anne"])[1]
    assert "黑芝麻糊" not in json.dumps(caller.tool(anne, "list"), ensure_ascii=False)
    refusal = caller.tool(anne, "list", {"x-moechat-user": "ben"})
    assert isinstance(refusal, str) and "黑芝麻糊" not in refusal
    many = caller.ring.add("front end", many=True)[1]
    found = caller.tool(many, "recall", {"x-moechat-user": "ben"}, message="我爱吃什么")
    assert "黑芝麻糊" in json.dumps(found, ensure_ascii=False)


def test_nobody_comes_in_without_a_key_and_no_stream_is_held_open(caller: Caller) -> None:
    assert caller.client.post("/mcp", json={}).status_code == 401
    assert caller.ask("ping", "mk-nothing").status_code == 401
    key = caller.ring.add("editor", users=["anne"])[1]
    assert caller.client.get("/mcp", headers={"authorization": f"Bearer {key}"}).status_code == 405
