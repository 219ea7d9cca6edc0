"""Told in one talk, asked in another at once, by every way in: what stands is known there, and what was changed is not."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from served import client_of

from moechat.access.keys import EVERYTHING, PASS
from moechat.agent import Agent
from moechat.house import House
from moechat.serve.mcp import make_server
from moechat.web.desk import Desk
from moechat.web.routes import Doings, Wish
from tests.houses import CHARACTER, Home, silent
from tests.pg_server import fresh_name
from tests.shell import Shell

PATIENCE_S = 60.0
TOLD = {"zh": "我住在杭州，养了一只叫豆豆的猫", "en": "I live in Bristol and I have a cat called Pickle"}
ASKED = {"zh": "你还记得我的猫叫什么名字吗", "en": "Do you remember what my cat is called?"}
NAME, OTHER = {"zh": "豆豆", "en": "Pickle"}, {"zh": "年糕", "en": "Mochi"}
FIRST, SECOND = {"zh": "杜鹃花开了", "en": "The azaleas bloom"}, {"zh": "石榴结果了", "en": "Pomegranates ripen"}
WAYS = ("page", "say", "v1", "mcp", "processes", "postgres")


class Way:
    """A house with a way to tell it something and to ask it: ``told`` is the exchange."""

    def __init__(self, home: Home, house: House, language: str, shell: Shell, root: Path) -> None:
        self.home, self.house, self.language, self.shell, self.root = home, house, language, shell, root
        self.asked, self.user, self.told = 0, "", ""

    def agent(self) -> Agent:
        return self.house.agent(CHARACTER, self.user)

    def tell(self) -> None:
        raise NotImplementedError

    def ask(self) -> str:
        """All that is known about it in a new talk, as the model, the program or the person there gets it."""
        raise NotImplementedError

    def row(self) -> dict[str, object]:
        """The exchange in which it was told."""
        self.agent().look()
        return next(row for row in self.agent().log() if NAME[self.language] in str(row["text"]))

    def new_talk(self) -> str:
        self.asked += 1
        return f"talk {self.asked}"

    def prompt(self) -> str:
        return "\n".join(message.content for message in self.house.model.requests[-1].messages)  # type: ignore[attr-defined]

    def change(self, **change: Any) -> None:
        """Other words, another reply, or taken back: by another door of the same house."""
        client = client_of(self.house)
        whose = {"user": self.user} if self.user else {}
        assert client.patch(f"/v1/exchanges/{self.told}", json=change | whose).status_code == 200

    def again(self) -> None:
        for _ in self.agent().in_talk("told").regenerate(self.told):
            pass


class Page(Way):
    """Two tabs."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        PASS.set(EVERYTHING)
        self.desk = Desk(self.house)

    def say(self, text: str, talk: str) -> str:
        wish = Wish(character=CHARACTER, talk=talk, language=self.language, tab=talk, text=text)
        Doings(self.desk).verbs["say"](wish)
        turn = self.desk.turns.last(self.desk.conversation(wish.place))
        assert turn is not None and turn.over.wait(PATIENCE_S)
        return self.prompt()

    def tell(self) -> None:
        self.say(TOLD[self.language], "told")

    def ask(self) -> str:
        return self.say(ASKED[self.language], self.new_talk())

    def change(self, **change: Any) -> None:
        doings = Doings(self.desk)
        verb = "delete" if change.get("action") == "retract" else "correct"
        side, words = ("char", change["reply"]) if "reply" in change else ("user", change.get("text", ""))
        wish = Wish(
            character=CHARACTER, talk="told", language=self.language, tab="t", id=self.told, side=side, text=words
        )
        doings.verbs[verb](wish)


class Say(Way):
    """``moechat say --talk``, which opens the house for itself."""

    def say(self, text: str, talk: str) -> str:
        return str(self.shell.json("say", text, "--talk", talk, now=None))

    def tell(self) -> None:
        self.say(TOLD[self.language], "told")

    def ask(self) -> str:
        talk = self.new_talk()
        known = self.say(ASKED[self.language], talk)
        self.shell("talks", "delete", talk, "--forget", "--yes", now=None)  # Its reply tells of it, too.
        return known


class V1(Way):
    """A program that sends one message a request."""

    def say(self, text: str, **more: Any) -> str:
        client = client_of(self.house)
        body = {"model": CHARACTER, "messages": [{"role": "user", "content": text}]}
        assert client.post("/v1/chat/completions", json=body, **more).status_code == 200
        return self.prompt()

    def tell(self) -> None:
        self.say(TOLD[self.language], headers={"x-moechat-chat": "told"})

    def ask(self) -> str:
        return self.say(ASKED[self.language])

    def again(self) -> None:
        self.tell()  # another reply to the first message of a chat


class Mcp(Way):
    """Told on the page, asked by an assistant."""

    def tell(self) -> None:
        for _ in self.agent().in_talk("told").talk(TOLD[self.language]):
            pass

    def ask(self) -> str:
        tools = make_server(self.house, None, None)
        return str(asyncio.run(tools.call_tool("recall", {"message": ASKED[self.language]})))


class Processes(Mcp):
    """Told in a process of its own."""

    def tell(self) -> None:
        command = [sys.executable, "-m", "moechat", "say", TOLD[self.language], "--talk", "told", "--data", str(self.home.data),
                   "--config", str(self.home.config)]  # fmt: skip
        subprocess.run(command, check=True, capture_output=True, timeout=120, cwd=self.root)

    def ask(self) -> str:
        for _ in self.agent().in_talk(self.new_talk()).talk(ASKED[self.language]):
            pass
        return self.prompt()


class Postgres(Mcp):
    """Two houses over the same tables."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.user = fresh_name()

    def ask(self) -> str:
        with self.home.open(silent(lambda _: "嗯。")) as other:
            for _ in other.agent(CHARACTER, self.user).in_talk(self.new_talk()).talk(ASKED[self.language]):
                pass
            return "\n".join(message.content for message in other.model.requests[-1].messages)  # type: ignore[attr-defined]


KINDS: dict[str, type[Way]] = dict(zip(WAYS, (Page, Say, V1, Mcp, Processes, Postgres), strict=True))


@pytest.fixture(params=WAYS)
def way(
    request: pytest.FixtureRequest, tmp_path: Path, language: str, capsys: pytest.CaptureFixture[str], root: Path
) -> Iterator[Way]:
    home = Home.build(tmp_path, character={"language": language}, embedding={"provider": "hash"})
    if request.param == "postgres":
        home.configure(store={"kind": "postgres", "address": request.getfixturevalue("address")})
    replies: Callable[[Any], str] = iter([FIRST[language], *[SECOND[language]] * 9]).__next__  # type: ignore[assignment]
    with home.open(silent(lambda _: replies())) as house:  # type: ignore[call-arg]
        made = KINDS[request.param](home, house, language, Shell(home, capsys), root)
        made.tell()
        made.told = str(made.row()["id"])
        yield made
        if isinstance(made, Page):
            made.desk.close()


def test_what_is_told_is_known_in_another_talk_at_once_and_as_it_was_changed_last(way: Way, language: str) -> None:
    assert NAME[language] in way.ask()

    first = str(way.row()["reply"])
    way.again()
    assert first and first not in way.ask()

    way.change(text=TOLD[language].replace(NAME[language], OTHER[language]))
    way.change(reply=SECOND[language])  # A reply without a model says the name as well.
    known = way.ask()
    assert OTHER[language] in known
    assert NAME[language] not in known

    way.change(action="retract")
    known = way.ask()
    assert NAME[language] not in known
    assert OTHER[language] not in known
