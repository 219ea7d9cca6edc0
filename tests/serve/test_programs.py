"""What the programs send that are not driven here, field by field from their public code.

Each turn is kept once, where it is known whose it is, and what is no talk leaves nothing.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from served import client_of
from starlette.testclient import TestClient

from moechat.access.keys import Keyring
from moechat.ai.scripted import ScriptedModel
from moechat.house import House
from moechat.serve import server
from moechat.serve.history import NOTICE
from tests.houses import CHARACTER, Home

Messages = Sequence[dict[str, Any]]
USAGE = {"stream_options": {"include_usage": True}}
LOOK = {"name": "look", "description": "看看屏幕", "parameters": {"type": "object", "properties": {}}}
TOOLS = {"tools": [{"type": "function", "function": LOOK}]}
TASK = """### Task:
Generate a concise, 3-5 word title with an emoji summarizing the chat history.
### Output:
JSON format: { "title": "your concise title here" }
### Chat History:
<chat_history>
USER: 早上好
</chat_history>"""


def system(text: str) -> dict[str, Any]:
    return {"role": "system", "content": text}


def user(text: object) -> dict[str, Any]:
    return {"role": "user", "content": text}


def in_words(talk: Messages) -> str:
    return "\n".join(f"{one['role']}: {one['content']}" for one in talk)


@dataclass(frozen=True)
class Program:
    """``fields`` stand in each of its bodies, ``before`` before each talk. ``asides`` make what it asks that is no talk, out of
    the talk. ``in_parts``: what is said comes as a list of parts. ``owner`` is the user whose memory it is."""

    name: str
    fields: Mapping[str, Any]
    headers: Mapping[str, str] = field(default_factory=dict)
    path: str = "/v1/chat/completions"
    before: Messages = ()
    asides: Sequence[Callable[[Messages], dict[str, Any]]] = ()
    in_parts: bool = False
    owner: str = ""

    def body(self, talk: Messages, **more: Any) -> dict[str, Any]:
        said = [
            {**one, "content": [{"type": "text", "text": one["content"]}]}
            if self.in_parts and one["role"] == "user"
            else one
            for one in talk
        ]
        return {"model": CHARACTER, "messages": [*self.before, *said], **self.fields, **more}


PROGRAMS = [
    Program(
        "Open WebUI",
        {"stream": True, "temperature": 0.8, "max_tokens": 512},
        {
            "authorization": "Bearer none",
            "x-openwebui-user-name": "%E5%AE%89%E5%A6%AE",
            "x-openwebui-user-id": "7c9e6679-7425-40de-944b-e07fc1f90ae7",
            "x-openwebui-user-email": "anne@chat.example",
            "x-openwebui-user-role": "user",
            "x-openwebui-chat-id": "c0ffee00-0000-4000-8000-000000000001",
        },
        before=[system("User Context:\n")],
        asides=[
            lambda talk: {"messages": [user(TASK)], "stream": False, "max_tokens": 1000},
            lambda talk: {"messages": [user(TASK.replace("title", "tags"))], "stream": False},
        ],
        owner="7c9e6679-7425-40de-944b-e07fc1f90ae7",
    ),
    Program(
        "LobeChat",
        {"stream": True, "user": "user_2aBc", "temperature": 1, "top_p": 1, "presence_penalty": 0, "frequency_penalty": 0,
         **USAGE},
        {"accept": "*/*", "authorization": "Bearer sk-x"},
        asides=[
            lambda talk: {
                "messages": [system("你是一名擅长会话的助理，你需要将用户的会话总结为 10 个字以内的标题"),
                             user(in_words(talk))],
            },
            lambda talk: {"store": False, "messages": [user("translate: 早上好")]},
        ],
        owner="user_2aBc",
    ),
    Program(
        "AIRI",
        {"stream": True, **USAGE, **TOOLS},
        {"authorization": "Bearer x"},
        path="/v1/u/%E4%BD%A0/chat/completions",
        before=[system("You are AIRI.")],
        asides=[lambda talk: {"messages": [user("ping")], "max_tokens": 1, "stream": False}],
        owner="你",
    ),
    Program(
        "AstrBot",
        {"stream": False, "tool_choice": "auto", **TOOLS},
        {"authorization": "Bearer x", "x-moechat-user": "%E7%BE%A4%E4%B8%80"},
        before=[system("你是群里的伙伴。")],
        in_parts=True,
        owner="群一",
    ),
    Program(
        "Open-LLM-VTuber",
        {"stream": True, "temperature": 1.0},
        {"authorization": "Bearer z", "openai-organization": "z", "openai-project": "z"},
        path="/v1/u/%E4%BD%A0/chat/completions",
        before=[system("You are a Live2D companion. Use [joy] and [anger].")],
        owner="你",
    ),
]  # fmt: skip


class Desk:
    """A server, and one program before it that holds a talk."""

    def __init__(self, house: House, program: Program) -> None:
        self.program = program
        self.client = client_of(house)

    def say(self, talk: Messages) -> str:
        return self.sent(self.program.body(talk))

    def sent(self, body: Mapping[str, Any]) -> str:
        answer = self.client.post(self.program.path, json=body, headers=dict(self.program.headers))
        assert answer.status_code == 200, answer.text
        return streamed(answer.text) if body.get("stream") else answer.json()["choices"][0]["message"]["content"]


def streamed(events: str) -> str:
    """The text of a stream, read as strictly as the strictest of them."""
    *pieces, end = [line.removeprefix("data: ") for line in events.split("\n\n") if line]
    assert end == "[DONE]"
    text = ""
    for chunk in map(json.loads, pieces):
        assert chunk["object"] == "chat.completion.chunk" and chunk["id"] and chunk["model"]
        assert chunk["choices"] or chunk["usage"]
        for choice in chunk["choices"]:
            assert choice["delta"].get("role", "assistant") == "assistant"
            assert isinstance(choice["delta"].get("content", ""), str)
            text += choice["delta"].get("content", "")
    return text


@pytest.fixture
def house(home: Home) -> Iterator[House]:
    numbers = itertools.count(1)
    with home.open(ScriptedModel(lambda _: f"这是第{next(numbers)}个回答。", understands=False)) as house:
        yield house


def kept(house: House, user: str) -> list[tuple[str, str]]:
    rows = house.agent(CHARACTER, user).log()
    return [(str(row["text"]), str(row["reply"])) for row in rows if row["mark"] == "*"]


def owners(house: House) -> set[str]:
    """The users who have a memory, by their folders."""
    return {path.parent.name for path in (house.data / "agents").rglob("log.jsonl")}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_each_turn_is_kept_once_and_nothing_else(house: House, program: Program) -> None:
    desk, talk = Desk(house, program), list[dict[str, Any]]()

    def turn(text: str, reply: str) -> None:
        talk.extend([user(text), {"role": "assistant", "content": reply}])

    turn("早上好", desk.say([user("早上好")]))
    for aside in program.asides:
        desk.sent({**program.body([]), **aside(talk)})
    desk.say([*talk, user("我养了一只猫")])
    turn("我养了一只猫", desk.say([*talk, user("我养了一只猫")]))  # another reply
    desk.say([*talk, user("晚安")])
    turn("明天见", desk.say([*talk, user("明天见")]))  # other words for the last message
    sides = [one["content"] for one in talk]
    assert kept(house, program.owner) == list(zip(sides[::2], sides[1::2], strict=True))
    assert len(owners(house)) == 1


@pytest.mark.parametrize("name", ["AIRI", "AstrBot", "Open-LLM-VTuber"])
def test_one_who_does_not_say_for_whom_is_told_how_to_and_nothing_is_kept(home: Home, house: House, name: str) -> None:
    program = next(one for one in PROGRAMS if one.name == name)
    key = Keyring(home.data).add(name, many=True)[1]
    app = TestClient(server.make_app(house, open_here=False), base_url="http://chat.example")
    answer = app.post(
        "/v1/chat/completions", json=program.body([user("我叫安妮")]), headers={"authorization": f"Bearer {key}"}
    )
    text = streamed(answer.text) if program.fields["stream"] else answer.json()["choices"][0]["message"]["content"]
    assert text.startswith(NOTICE) and "X-MoeChat-User" in text
    assert owners(house) == set()


def test_a_chat_of_a_program_that_names_it_keeps_the_talks_of_a_person_apart(house: House) -> None:
    webui = PROGRAMS[0]
    for chat in ("one", "two"):
        named = Program(webui.name, webui.fields, {**webui.headers, "x-openwebui-chat-id": chat})
        Desk(house, named).say([user("早上好")])
    assert {"chat:one", "chat:two"} <= house.agent(CHARACTER, webui.owner).store.tree.talks.keys()
    assert "7c9e6679" not in str(house.model.requests[-1].messages)  # type: ignore[union-attr]
