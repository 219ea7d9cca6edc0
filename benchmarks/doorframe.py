"""What the doors stand in (``doors.py``): a house behind a server, a browser, and memory beside what a program shows."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from moechat.agent import Agent
from moechat.ai.scripted import Line as Reply
from moechat.ai.scripted import ScriptedModel
from moechat.house import House
from moechat.model import Message
from moechat.serve import server
from moechat.serve.additions import folded
from moechat.serve.front_ends import FrontEnds

ROOT = Path(__file__).resolve().parents[1]
DOORS_FOLDER = ROOT / ".doors"
CHARACTER, BESIDE = "青禾", "Wren"
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync"]  # fmt: skip
START_S, WAIT_MS = 300, 60_000
SLOW = (
    "This is slow to tell. Long ago a ferry crossed the bay each evening. Its captain knew every gull by name, and his daughter "
    "painted lanterns for the harbour. When winter came, snow lay on the deck, and nobody travelled except one old clockmaker. "
    # SillyTavern's server packs what it hands on, and shows nothing until there is enough of it that cannot be packed small.
    + " ".join(f"{number * 7919**3 % 999_983:06}" for number in range(600))
)
PETS = (
    "Momo",
    "Pickle",
    "Biscuit",
    "Juniper",
    "Waffle",
    "Ziggy",
    "Clover",
    "Dumpling",
    "Nimbus",
    "Pepper",
    "Quincy",
    "Rufus",
)
Line = tuple[str, str]  # (who, "" the user; what)
Action = tuple[str, Callable[[], object]]


class Program(Protocol):
    """A front end, as it stands open."""

    def shown(self, name: str) -> list[Line]:
        """What its chat shows, without a greeting and, where several answer side by side, with this character's replies alone."""

    def say(self, text: str) -> None:
        """Send a message, and wait for the reply."""

    def recover(self) -> None:
        """After an action that failed, be ready for the next."""


def with_turn(door: Program, told: Callable[[], str], *steps: Callable[[], object]) -> Callable[[], None]:
    """The action of these steps and a message after them: a front end says nothing of them until then."""

    def act() -> None:
        for step in steps:
            step()
        door.say(told())

    return act


def merged(lines: Iterable[Line]) -> list[Line]:
    """Lines of which no two of one speaker follow each other, without what is white in them."""
    return [(who, "".join(folded(text) for _, text in several))
            for who, several in itertools.groupby(lines, key=lambda line: line[0])]  # fmt: skip


def telling() -> Iterator[str]:
    """Messages of which each tells a fact of its own."""
    for number in itertools.count(1):
        for pet in PETS:
            yield f"I have a cat called {pet}{'' if number == 1 else chr(96 + number)}"


@dataclass
class Watch:
    """A house, served, and all that was sent to it. ``due`` is what each talk in memory is to hold: by (character, user,
    talk)."""

    house: House
    url: str
    bodies: list[dict[str, Any]] = field(default_factory=list)
    due: dict[tuple[str, str, str], list[Line]] = field(default_factory=dict)
    faulty: list[str] = field(default_factory=list)

    def do(self, program: Program, action: Action) -> None:
        """One action, and a look at memory."""
        name, act = action
        sent = len(self.bodies)
        try:
            act()
            asked = {one for body in self.bodies[sent:] for one in self.company(*self.asked(body))}
            wrong = [fault for whose in asked for fault in self.compared(program.shown(whose[0]), *whose)]
            wrong += self.facts()
        except Exception as error:  # noqa: BLE001  an action that fails is not as it should be
            wrong = [str(error)[:300]]
            program.recover()
        sys.stdout.write(f"  {'ok ' if not wrong else 'NOT'} {name}\n")
        self.faulty += [name] if wrong else []
        sys.stdout.writelines(f"      {one}\n" for one in wrong)
        sys.stdout.flush()

    def asked(self, body: Mapping[str, Any]) -> tuple[str, str]:
        """(character, user) of a request."""
        user = body.get("moechat_user") or body.get("user") or body["headers"].get("x-openwebui-user-id") or ""
        return body.get("moechat_character") or body["model"].partition(":")[0], user

    def company(self, character: str, user: str) -> set[tuple[str, str]]:
        """She who was asked, with all who hear her."""
        tree = self.house.agent(character, user).store.tree
        cast = tree.cast(tree.spoken)
        return {(character, user), *((one.character, user) for one in (cast.members if cast else ()) if one.character)}

    def compared(self, shown: list[Line], character: str, user: str) -> Iterator[str]:
        """What memory has otherwise than the program, whose lines are told up to the last reply."""
        agent = self.house.agent(character, user)
        talk = agent.store.tree.spoken
        if not talk:
            return
        last = max((at for at, (who, _) in enumerate(shown) if who), default=-1)
        self.due[character, user, talk] = shown[: last + 1]
        ours = lines_of(agent, talk)
        for at, (mine, theirs) in enumerate(itertools.zip_longest(ours, shown[: last + 1])):
            if mine != theirs:
                yield f"{character}: line {at} of {len(ours)} is {mine}, not {theirs} of {last + 1}"
                return

    def facts(self) -> Iterator[str]:
        """Names in what is known that no talk has, and the other way round."""
        for character, user in {key[:2] for key in self.due}:
            lines = [
                text for key, talk in self.due.items() if key[:2] == (character, user) for who, text in talk if not who
            ]
            due = {pet for text in lines for pet in re.findall("catcalled([A-Z][a-z]+)", text)}
            agent = self.house.agent(character, user)
            agent.conversation.follow(reads=True)  # as whoever asks in another talk
            listed = agent.memories.listed(("fact",)).memories
            known = {one.text.rpartition("called ")[2].rstrip(".") for one in listed if "cat" in one.text}
            if due != known:
                yield f"{character} knows {sorted(known - due)} too much, {sorted(due - known)} too little"


def lines_of(agent: Agent, talk: str) -> list[Line]:
    """What stands in a talk of ours."""
    rows = [row.exchange for row in agent.in_talk(talk).recent(500)]
    name = agent.character.name
    lines = [line for one in rows for line in ((one.speaker, one.user), (name, one.char)) if line[1]]
    return merged(itertools.dropwhile(lambda line: line[0], lines))  # others greet before anybody speaks


def script() -> Callable[[Sequence[Message]], str | Reply]:
    """Replies with numbers. To a message that asks for something slow it does not end."""
    numbers = itertools.count(1)
    hold = threading.Event()

    def reply(messages: Sequence[Message]) -> str | Reply:
        text = f"This is reply number {next(numbers)}."
        is_slow = "something slow" in next((one.content for one in reversed(messages) if one.role == "user"), "")
        return Reply(SLOW, hold=hold) if is_slow else text

    return reply


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[Watch]:
    """A house in a new folder, served."""
    model = ScriptedModel(script(), understands=False)
    with House(folder / "data", folder / "config.yaml", model=model) as house, server.running(house) as url:
        watch = Watch(house, url)
        answer = FrontEnds.answer

        async def watched(front_ends: FrontEnds, http: Any, body: dict[str, Any]) -> Any:
            headers = {
                name: value for name, value in http.headers.items() if name.startswith(("x-moechat", "x-openwebui"))
            }
            watch.bodies.append(body | {"headers": headers})
            return await answer(front_ends, http, body)

        FrontEnds.answer = watched  # type: ignore[method-assign]
        try:
            yield watch
        finally:
            FrontEnds.answer = answer  # type: ignore[method-assign]


# ---- programs and browsers


@contextlib.contextmanager
def window(address: str) -> Iterator[Any]:
    """A page of a browser, at an address."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        page = browser.new_page()
        page.set_default_timeout(WAIT_MS)
        page.goto(address)
        yield page
        browser.close()


def picture(part: Any, name: str, folder: Path) -> None:
    """A picture of a page or a part of it; with ``--pictures`` it is that of docs/frontends.md."""
    shot = ROOT / "docs" / f"frontends-{name}.png"
    part.screenshot(path=str(shot if "--pictures" in sys.argv else folder / shot.name))


@contextlib.contextmanager
def started(
    command: Sequence[str], folder: Path, port: int, settings: Mapping[str, str] | None = None
) -> Iterator[str]:
    """A program that listens at a port, while the block runs; gives its address."""
    with tempfile.TemporaryFile() as log:
        running = subprocess.Popen(
            command, cwd=folder, stdout=log, stderr=subprocess.STDOUT, env={**os.environ, **(settings or {})}
        )
        try:
            address = f"http://127.0.0.1:{port}/"
            wait_for(address)
            yield address
        finally:
            running.terminate()
            running.wait(20)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def wait_for(address: str) -> None:
    until = time.monotonic() + START_S
    while time.monotonic() < until:
        with contextlib.suppress(OSError), urllib.request.urlopen(address, timeout=5):
            return
        time.sleep(0.5)
    raise SystemExit(f"{address} did not answer within {START_S} s")


def chromium() -> str:
    return shutil.which("chromium") or shutil.which("google-chrome") or "chromium"
