"""Memory over MCP: by the protocol's own client from a process of its own, and over HTTP behind the keys."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from starlette.testclient import TestClient

from moechat.access.keys import Keyring
from moechat.serve import server
from tests.houses import CHARACTER, Home, say

pytest.importorskip("mcp")

ELSEWHERE = "http://chat.example"


def test_list_recall_remember_correct_and_forget(home: Home, root: Path) -> None:
    from mcp import ClientSession, StdioServerParameters, stdio_client

    home.configure(embedding={"provider": "hash"})
    command = ["-m", "moechat", "mcp", "-c", CHARACTER, "--user", "anne", "--data", str(home.data)]
    parameters = StdioServerParameters(
        command=sys.executable, args=[*command, "--config", str(home.config)], env={"PYTHONPATH": str(root)}
    )

    async def ask(session: ClientSession, tool: str, **arguments: Any) -> Any:
        answer = await session.call_tool(tool, arguments)
        text = answer.content[0].text  # type: ignore[union-attr]
        return text if answer.is_error else json.loads(text)

    async def talk() -> None:
        async with stdio_client(parameters) as streams, ClientSession(*streams) as session:
            await session.initialize()
            tools = (await session.list_tools()).tools
            assert {tool.name for tool in tools} == {"list", "recall", "remember", "correct", "confirm", "forget"}
            made = await ask(session, "remember", text="用户的猫叫团子")
            (hit,) = (await ask(session, "recall", message="我的猫叫什么"))["hits"]
            assert hit["id"] == made["id"] and hit["features"]
            await ask(session, "correct", id=made["id"], text="用户的猫叫汤圆")
            (row,) = (await ask(session, "list"))["memories"]
            assert row["text"] == "用户的猫叫汤圆"
            assert await ask(session, "confirm", id=row["id"]) == {"confirmed": []}, "it was not in doubt"
            assert (await ask(session, "forget", id=row["id"]))["gone"]
            assert (await ask(session, "list"))["total"] == 0
            assert "expects a text" in await ask(session, "remember", text=" ")
            assert "nothing" in await ask(session, "forget", id="nothing")

    anyio.run(talk)


# ---- over HTTP: one answer for each request


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
