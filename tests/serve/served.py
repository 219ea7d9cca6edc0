"""A house behind a server, for the tests of what front ends send."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import openai
from starlette.testclient import TestClient

from moechat.ai.scripted import ScriptedModel
from moechat.house import House
from moechat.serve import server
from tests.houses import CHARACTER, Home


def client_of(house: House) -> TestClient:
    """What asks a house as a program on this machine does."""
    return TestClient(server.make_app(house), base_url="http://127.0.0.1:8012")


class Served:
    """A house behind a server, with a model whose replies are numbered."""

    def __init__(self, folder: Path, replies: Any = None, **sections: Any) -> None:
        numbers = itertools.count(1)
        self.model = ScriptedModel(replies or (lambda _: f"这是第{next(numbers)}个回答。"), understands=False)
        self.home = Home.build(folder, **sections)

    def __enter__(self) -> Served:
        self.house: House = self.home.open(self.model)
        self._running = server.running(self.house)
        self.url = self._running.__enter__()
        http = openai.DefaultHttpxClient(verify=False)  # It reads nobody's certificates.
        self.client = openai.OpenAI(
            base_url=self.url + "/v1", api_key="none", max_retries=0, timeout=60, http_client=http
        )
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()
        self._running.__exit__(None, None, None)
        self.house.close()

    def say(self, *messages: Any, model: str = CHARACTER, **more: Any) -> str:
        """The reply to messages, user and assistant in turn."""
        roles = itertools.cycle(("user", "assistant"))
        sent = [one if isinstance(one, dict) else {"role": next(roles), "content": one} for one in messages]
        answer = self.client.chat.completions.create(model=model, messages=sent, **more)
        return answer.choices[0].message.content or ""

    def kept(self, user: str = "", character: str = CHARACTER) -> list[tuple[str, str]]:
        """(message, reply) of every exchange on some talk's path, in order of time."""
        rows = self.house.agent(character, user).log()
        return [(str(row["text"]), str(row["reply"])) for row in rows if row["mark"] == "*"]
