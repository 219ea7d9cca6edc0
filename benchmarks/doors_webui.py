"""Open WebUI as it is, in a browser: what its user does, and what its chat shows afterwards."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.doorframe import (
    BESIDE,
    CHARACTER,
    DOORS_FOLDER,
    Action,
    Line,
    Program,
    free_port,
    merged,
    picture,
    started,
    window,
    with_turn,
)

PROGRAM = DOORS_FOLDER / "open-webui" / "bin" / "open-webui"
HOW = f"`python3 -m venv {PROGRAM.parents[1]} && {PROGRAM.parent / 'pip'} install open-webui` fetches it (Python 3.11, 7 GB)"
CHAT = """async () => {
    const id = location.pathname.split('/c/')[1];
    if (!id) return null;
    const answer = await fetch('/api/v1/chats/' + id, { headers: { Authorization: 'Bearer ' + localStorage.token } });
    return answer.ok ? (await answer.json()).chat.history : null;
}"""
QUIET_S, LONGEST_S = 1.5, 60.0


class WebUI(Program):
    """Its window. What was sent to the server says when all is quiet."""

    def __init__(self, page: Any, bodies: list[dict[str, Any]]) -> None:
        self.page, self.bodies, self.copied = page, bodies, dict[str, int]()
        page.locator("[role=dialog] button:has-text('Okay')").click()  # It tells what is new to whoever comes first.

    def path(self) -> list[dict[str, Any]]:
        """The messages of the chat, as it stores them."""
        history = self.page.evaluate(CHAT) or {"messages": {}, "currentId": None}
        path, id_ = [], history["currentId"]
        while id_ and (one := history["messages"].get(id_)):
            path.append(one)
            id_ = one.get("parentId")
        return path[::-1]

    def shown(self, name: str) -> list[Line]:
        lines = list[Line]()
        for one in self.path()[self.copied.get(self.page.url, 0) :]:
            if one["role"] == "user":
                lines.append(("", one["content"]))
            elif one["model"] == name:
                lines.append((name, one["content"]))
            else:  # Its own reply stands beside the one that the chat goes on from.
                lines += [(name, own["content"]) for own in self.beside(one) if own["model"] == name][-1:]
        return merged(lines)

    def beside(self, reply: dict[str, Any]) -> list[dict[str, Any]]:
        """All replies to the message that this is a reply to."""
        messages = (self.page.evaluate(CHAT) or {"messages": {}})["messages"]
        return [messages[id_] for id_ in messages[reply["parentId"]]["childrenIds"]]

    def idle(self) -> None:
        """Wait until the reply is stored, and the titles that it asks for by itself have come."""
        until, quiet, sent = time.monotonic() + LONGEST_S, time.monotonic(), -1
        while time.monotonic() < until:
            self.page.wait_for_timeout(200)
            last = self.path()[-1:]
            replies = self.beside(last[0]) if last and last[0].get("parentId") else last
            is_done = bool(last) and all(
                one["role"] == "user" or bool(one.get("done") and one["content"]) for one in replies
            )
            if len(self.bodies) != sent or not is_done:
                quiet, sent = time.monotonic(), len(self.bodies)
            elif time.monotonic() - quiet > QUIET_S:
                return
        raise TimeoutError("the reply is not done")

    def say(self, text: str) -> None:
        sent = len(self.bodies)
        self.page.locator("#chat-input").click()
        self.page.keyboard.insert_text(text)
        self.page.locator("#send-message-button").click()
        while len(self.bodies) == sent:
            self.page.wait_for_timeout(50)
        self.idle()

    def press(self, at: int, label: str, **how: Any) -> None:
        """A button of a message; ``at`` counts as in Python."""
        id_ = f"message-{self.path()[at]['id']}"
        one = self.page.locator(f'[id="{id_}"]')
        self.page.evaluate(  # Messages out of sight have no buttons.
            "id => { const one = document.getElementById(id), all = document.getElementById('messages-container');"
            " one ? one.scrollIntoView({ block: 'center' }) : (all.scrollTop = 0) }", id_,
        )  # fmt: skip
        self.page.wait_for_timeout(500)
        one.locator(f'button[aria-label="{label}"]').first.dispatch_event("click", how)
        self.page.wait_for_timeout(300)

    def regenerate(self, at: int = -1) -> None:
        self.press(at, "Regenerate")
        again = self.page.locator("[role=menuitem]:has-text('Try Again'), button:has-text('Try Again')")
        if again.count():
            again.first.dispatch_event("click")
        self.page.wait_for_timeout(500)
        self.idle()

    def edit(self, at: int, text: str, button: str = "save-edit-message-button") -> None:
        """Other words for a message: kept, or (``confirm-edit-message-button`` of a user's) sent."""
        self.press(at, "Edit")
        self.page.locator(f'[id="message-{self.path()[at]["id"]}"] textarea').last.fill(text)
        self.page.locator(f"#{button}").last.dispatch_event("click")
        self.page.wait_for_timeout(500)
        self.idle()

    def recover(self) -> None:
        self.open(self.page.url)

    def delete(self, at: int) -> None:
        self.press(at, "Delete", shiftKey=True)
        self.page.wait_for_timeout(500)

    def new_chat(self) -> None:
        self.page.locator("#sidebar-new-chat-button, #new-chat-button").first.dispatch_event("click")
        self.page.wait_for_function("!location.pathname.includes('/c/')")

    def open(self, address: str) -> None:
        self.page.goto(address)
        self.page.locator(".chat-assistant").first.wait_for()
        self.page.wait_for_timeout(500)


def actions(door: WebUI, told: Callable[[], str]) -> list[Action]:
    """What its user does: (the name, how). What asks for no reply is followed by a message, since Open WebUI says nothing
    until then. ``told`` is a message with a fact."""
    chats: list[str] = []
    reply = "confirm-edit-message-button"

    then = partial(with_turn, door, told)
    turn = then()

    def leave() -> None:
        chats.append(door.page.url)
        door.new_chat()

    def copy() -> None:
        """Another chat with the same history, which stands in memory once, in the first."""
        chats.append(door.page.url)
        made = door.page.evaluate(
            """async () => { const id = location.pathname.split('/c/')[1];
            const answer = await fetch(`/api/v1/chats/${id}/clone`, { method: 'POST', body: JSON.stringify({ title: 'Another' }),
                headers: { Authorization: 'Bearer ' + localStorage.token, 'Content-Type': 'application/json' } });
            return (await answer.json()).id }"""
        )  # fmt: skip
        door.open(f"{chats[-1].rpartition('/c/')[0]}/c/{made}")
        door.copied[door.page.url] = len(door.path())

    def pair() -> None:
        """Another chat, with two models that answer each message beside each other."""
        door.page.goto(f"{door.page.url.partition('/c/')[0]}/?models={CHARACTER},{BESIDE}")
        door.page.locator("#chat-input").wait_for()

    def stop() -> None:
        door.page.locator("#chat-input").click()
        door.page.keyboard.insert_text("Tell me something slow, please")
        door.page.locator("#send-message-button").click()
        door.page.wait_for_function(
            "/slow/.test([...document.querySelectorAll('.chat-assistant')].at(-1)?.textContent)"
        )
        door.page.locator("button[aria-label='Stop']").first.dispatch_event("click")
        door.idle()

    return [
        ("a turn, and its title", turn), ("another turn", turn), ("another reply", lambda: door.regenerate()),
        ("the reply before, and a turn", then(lambda: door.press(-1, "Previous message"))),
        ("two other replies", lambda: (door.regenerate(), door.regenerate())),
        ("the reply before the last, and a turn", then(lambda: door.press(-1, "Previous message"))),
        ("the last message edited and sent", lambda: door.edit(-2, told(), reply)),
        ("the last message edited and sent again", lambda: door.edit(-2, told(), reply)),
        ("the wording before, and a turn", then(lambda: door.press(-2, "Previous message"))),
        ("the last message edited and kept, and a turn", then(lambda: door.edit(-2, told()))),
        ("the last reply edited, and a turn", then(lambda: door.edit(-1, "I say this otherwise.", reply))),
        ("an old message edited and kept, and a turn", then(lambda: door.edit(2, told()))),
        ("an old reply edited, and a turn", then(lambda: door.edit(1, "Long ago I said this otherwise.", reply))),
        ("both sides of an old turn edited, and a turn",
         then(lambda: door.edit(4, told()), lambda: door.edit(5, "Both were said otherwise.", reply))),
        ("a message deleted with its reply, and a turn", then(lambda: door.delete(-2))),
        ("a message in the middle deleted, and a turn", then(lambda: door.delete(4))),
        ("two messages deleted, and a turn", then(lambda: door.delete(2), lambda: door.delete(-2))),
        ("a turn after it", turn), ("another after it", turn),
        ("another reply to an old message, and a turn", then(lambda: door.regenerate(3))),
        ("back at the reply before it, and a turn", then(lambda: door.press(3, "Previous message"))),
        ("an old message edited and sent", lambda: door.edit(2, told(), reply)), ("a turn after that", turn),
        ("the wording before that, and a turn", then(lambda: door.press(2, "Previous message"))),
        ("a reply deleted, and a turn", then(lambda: door.regenerate(), lambda: door.delete(-1))),
        ("a reply edited into a copy, and a turn",
         then(lambda: door.edit(-1, "This is a copy of it.", "save-new-message-button"))),
        ("a continuation", lambda: (door.press(-1, "Continue Response"), door.idle())), ("a turn after the continuation", turn),
        ("a reply stopped, and a turn", then(stop)), ("a turn after the stop", turn),
        ("another chat, begun with the same words", lambda: (leave(), door.say("Good morning"))), ("a turn in it", turn),
        ("a third, begun with the same words", lambda: (leave(), door.say("Good morning"))),
        ("a turn in it that the second has as well", lambda: door.say("I slept well")),
        ("back in the second, and a turn", then(lambda: door.open(chats.pop()))),
        ("back in the first, and a turn", then(lambda: door.open(chats.pop()))),
        ("a copy of the chat, and a turn", then(copy)),
        ("the original, and a turn", then(lambda: door.open(chats.pop()))),
        ("the page loaded anew, and a turn", then(lambda: door.open(door.page.url))),
        ("a message in Chinese", lambda: door.say("今天杭州下雨了")),
        ("a message of three lines", lambda: door.say("One thing.\nAnother thing.\nA third thing.")),
        ("another reply to it", lambda: door.regenerate()),
        ("two models side by side", then(pair)), ("a turn with both", turn), ("another reply of one", lambda: door.regenerate()),
        ("a turn with both after it", turn),
        ("an old message edited and kept, and a turn with both", then(lambda: door.edit(2, told()))),
        ("a message in the middle deleted, and a turn with both", then(lambda: door.delete(2))),
    ]  # fmt: skip


@contextlib.contextmanager
def through(
    url: str, folder: Path, told: Callable[[], str], bodies: list[dict[str, Any]]
) -> Iterator[tuple[WebUI, list[Action]]]:
    """Open WebUI with our server as its connection, as docs/frontends.md says to set it; nobody has to log in."""
    settings = {
        "DATA_DIR": str(folder / "webui"), "WEBUI_AUTH": "False", "WEBUI_SECRET_KEY": "x", "OPENAI_API_BASE_URL": f"{url}/v1",
        "OPENAI_API_KEY": "none", "ENABLE_FORWARD_USER_INFO_HEADERS": "true", "ENABLE_OLLAMA_API": "False",
        "OFFLINE_MODE": "true", "RAG_EMBEDDING_ENGINE": "openai", "ANONYMIZED_TELEMETRY": "False",
    }  # fmt: skip
    (folder / "webui").mkdir()
    port = free_port()
    command = [str(PROGRAM), "serve", "--host", "127.0.0.1", "--port", str(port)]
    with started(command, folder, port, settings) as address, window(f"{address}?models={CHARACTER}") as page:
        door = WebUI(page, bodies)
        yield door, actions(door, told)
        picture(page, "open-webui", folder)
