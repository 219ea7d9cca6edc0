"""Memory over MCP, by the protocol's own client, from a process of its own."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from houses import CHARACTER, Home

pytest.importorskip("mcp")


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
