"""What tests of memory share: a character who listens, and what its model is shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from moechat.agent import Agent
from moechat.ai.embedding import HashEmbedder
from moechat.ai.scripted import ScriptedModel
from moechat.model import Message
from tests.houses import Home
from tests.owners import Owner


@pytest.fixture
def prompts() -> list[str]:
    """The system messages of each request, in one."""
    return []


@pytest.fixture
def agent(home: Home, prompts: list[str]) -> Iterator[Agent]:
    def reply(messages: Sequence[Message]) -> str:
        prompts.append("\n".join(message.content for message in messages if message.role == "system"))
        return "嗯，我在听。"

    with home.agent(ScriptedModel(reply, understands=False)) as agent:
        yield agent


@pytest.fixture
def owner(tmp_path: Path) -> Iterator[Owner]:
    owner = Owner(Home.build(tmp_path), HashEmbedder(32))
    yield owner
    owner.close()
