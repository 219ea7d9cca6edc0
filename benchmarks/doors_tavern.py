"""SillyTavern as it is, in a browser: what its user does, and what its chat shows afterwards."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.doorframe import (
    CHARACTER,
    DOORS_FOLDER,
    ROOT,
    Action,
    Line,
    Program,
    free_port,
    merged,
    started,
    window,
    with_turn,
)

FETCHED = DOORS_FOLDER / "node_modules" / "sillytavern"
CARD, SECOND = "Seraphina", "Rowan"
HOW = f"`npm install --prefix {DOORS_FOLDER} sillytavern` fetches it (Node 20)"


class Tavern(Program):
    """Its window. What slash commands do its buttons do as well."""

    def __init__(self, page: Any, folder: Path) -> None:
        self.page, self.folder = page, folder
        page.locator("#preloader").wait_for(state="detached")
        page.locator("#rightNavHolder .drawer-icon").click()
        page.locator(f'.character_select:has-text("{CARD}")').click()
        page.locator("#chat .mes").first.wait_for()

    def shown(self, _: str) -> list[Line]:
        """Who says what in the chat, without its greeting and what is hidden from the model."""
        chat = self.page.evaluate("SillyTavern.getContext().chat.map(m => [m.is_user, m.is_system, m.name, m.mes])")
        first = next((at for at, row in enumerate(chat) if row[0]), len(chat))
        return merged(("" if is_user else name, text) for is_user, hidden, name, text in chat[first:] if not hidden)

    def idle(self) -> None:
        """Wait until nothing is generated."""
        self.page.wait_for_timeout(150)
        self.page.wait_for_function(
            "() => !document.body.dataset.generating && !SillyTavern.getContext().streamingProcessor?.generating"
            " && getComputedStyle(document.querySelector('#mes_stop')).display === 'none'"
        )  # fmt: skip
        self.page.wait_for_timeout(150)

    def run(self, command: str) -> str:
        result = self.page.evaluate(
            "text => SillyTavern.getContext().executeSlashCommandsWithOptions(text).then(r => r.pipe)", command
        )
        self.idle()
        return str(result)

    def say(self, text: str) -> None:
        count = self.page.evaluate("SillyTavern.getContext().chat.length")
        self.page.locator("#send_textarea").fill(text)
        self.page.locator("#send_but").click()
        self.page.wait_for_function("n => SillyTavern.getContext().chat.length > n", arg=count)
        self.idle()

    def edit(self, text: str, at: int) -> None:
        """Write other words into a message; ``at`` counts as in Python."""
        count = self.page.evaluate("SillyTavern.getContext().chat.length")
        one = self.page.locator(f'#chat .mes[mesid="{at % count}"]')
        one.locator(".mes_edit").dispatch_event("click")
        one.locator(".edit_textarea").fill(text)
        one.locator(".mes_edit_done").dispatch_event("click")
        self.page.wait_for_timeout(200)

    def swipe(self, direction: str = "right") -> None:
        self.run(f"/swipe direction={direction} await=true")

    def recover(self) -> None:
        """Stop what hangs."""
        self.page.locator("#mes_stop").dispatch_event("click")
        self.page.keyboard.press("Escape")

    def option(self, name: str) -> None:
        self.page.locator("#options_button").click()
        self.page.locator(f"#option_{name}").click()
        self.idle()

    def set(self, code: str) -> None:
        """Change a setting, as its sliders and switches do."""
        self.page.evaluate(f"() => {{ const s = SillyTavern.getContext().chatCompletionSettings; {code} }}")

    def create(self, name: str) -> None:
        self.run(f'/char-create name="{name}" first_mes="Hello." {name}')

    def group(self, *names: str) -> None:
        """Begin a group of these characters and open it."""
        self.page.evaluate(
            """async names => {
                const c = SillyTavern.getContext();
                const members = names.map(name => c.characters.find(one => one.name === name).avatar);
                const stamp = 'group ' + Date.now();
                const made = await fetch('/api/groups/create', { method: 'POST', headers: c.getRequestHeaders(),
                    body: JSON.stringify({ name: 'Company', members, avatar_url: 'img/five.png',
                        allow_self_responses: false, activation_strategy: 1, generation_mode: 0, disabled_members: [],
                        fav: false, chat_id: stamp, chats: [stamp], auto_mode_delay: 5 }) });
                const { id } = await made.json();
                await c.getCharacters();
            }""", list(names),
        )  # fmt: skip
        self.run("/go Company")

    def member(self) -> str:
        return str(self.page.evaluate("SillyTavern.getContext().getCurrentChatId()"))


def actions(door: Tavern, told: Callable[[], str]) -> list[Action]:
    """What its user does: (the name, how). What asks for no reply is followed by a message, since SillyTavern says nothing
    until then. ``told`` is a message with a fact."""
    then = partial(with_turn, door, told)
    turn = then()

    def edit_last() -> None:
        door.edit(told(), -2)
        door.option("regenerate")

    def impersonate() -> None:
        door.option("impersonate")
        door.page.wait_for_function("document.querySelector('#send_textarea').value")
        words = door.page.locator("#send_textarea").input_value()
        door.say(words)

    chats: list[str] = []

    def branch() -> None:
        chats.append(door.member())
        door.run("/branch-create")

    def new_chat() -> None:
        chats.append(door.member())
        door.run("/newchat")
        door.page.wait_for_function("SillyTavern.getContext().chat.length === 1")

    def open_chat() -> None:
        name = chats.pop()
        door.page.evaluate("name => SillyTavern.getContext().openCharacterChat(name)", name)
        door.idle()

    def stop() -> None:
        door.page.locator("#send_textarea").fill("Tell me something slow, please")
        door.page.locator("#send_but").click()
        reply = "#chat .last_mes:not([is_user=true]) .mes_text"
        door.page.wait_for_function("one => /slow/.test(document.querySelector(one)?.textContent)", arg=reply)
        door.page.locator("#mes_stop").dispatch_event("click")
        door.idle()

    def short_context() -> None:
        door.set("s.openai_max_context = 1500; s.openai_max_tokens = 300")

    return [
        ("a turn", turn), ("another turn", turn), ("a swipe", lambda: door.swipe()),
        ("the swipe before, and a turn", then(lambda: door.swipe("left"))),
        ("two swipes", lambda: (door.swipe(), door.swipe())),
        ("another reply", lambda: door.option("regenerate")),
        ("the last message edited", edit_last),
        ("the last reply edited, and a turn", then(lambda: door.edit("I say this otherwise.", -1))),
        ("an old message edited, and a turn", then(lambda: door.edit(told(), 3))),
        ("an old reply edited, and a turn", then(lambda: door.edit("Long ago I said this otherwise.", 2))),
        ("both sides of an old turn edited, and a turn",
         then(lambda: door.edit(told(), 5), lambda: door.edit("Both were said otherwise.", 6))),
        ("the last turn deleted, and a turn", then(lambda: door.run("/del 2"))),
        ("two messages in the middle deleted, and a turn", then(lambda: door.run("/cut 3-4"))),
        ("the last two turns deleted, and a turn", then(lambda: door.run("/del 4"))),
        ("the first turn deleted, and two turns", then(lambda: door.run("/cut 1-2"), turn)),
        ("a continuation", lambda: door.option("continue")),
        ("a turn after it", turn),
        ("a continuation with a wish", lambda: door.run("/continue await=true Be brief.")),
        ("impersonation, and its words sent", impersonate),
        ("a quiet prompt", lambda: door.run("/gen Write a title for this chat")),
        ("a raw prompt", lambda: door.run("/genraw Name a colour")),
        ("a branch, and a turn", then(branch)), ("a swipe in the branch", lambda: door.swipe()),
        ("back before the branch, and a turn", then(open_chat)),
        ("a checkpoint, and a turn", then(lambda: door.run("/checkpoint-create one"))),
        ("another chat, begun with the same words", lambda: (new_chat(), door.say("Good morning"))),
        ("a turn in it", turn),
        ("a third, begun with the same words", lambda: (new_chat(), door.say("Good morning"))),
        ("a turn in it that the second has as well", lambda: door.say("I slept well")),
        ("back in the second, and a turn", then(open_chat)), ("back in the first, and a turn", then(open_chat)),
        ("the chat renamed, and a turn", then(lambda: door.run("/renamechat Another name"))),
        ("a message hidden, and a turn", then(lambda: door.run("/hide 3-4"))),
        ("the message shown again, and a turn", then(lambda: door.run("/unhide 3-4"))),
        ("a message that asks for no reply, and a turn", then(lambda: door.run(f"/send {told()}"))),
        ("a line put into her mouth, and a turn", then(lambda: door.run(f"/sendas name={CARD} I was made to say this."))),
        ("a reply stopped, and a turn", then(stop)),
        ("a swipe deleted, and a turn", then(lambda: door.swipe(), lambda: door.run("/delswipe"))),
        ("whole replies", then(lambda: door.set("s.stream_openai = false"))),
        ("a short context, and a turn", then(short_context)), ("a swipe in it", lambda: door.swipe()),
        ("a deletion in it, and a turn", then(lambda: door.run("/del 2"))),
        ("the whole context again, and a turn", then(lambda: door.set("s.openai_max_context = 8191"))),
        ("names in the messages, and a turn", then(lambda: door.set("s.names_behavior = 2"))),
        ("no names, and a turn", then(lambda: door.set("s.names_behavior = 0"))),
        ("merged messages, and a turn", then(lambda: door.set("s.custom_prompt_post_processing = 'strict'"))),
        ("plain messages, and a turn", then(lambda: door.set("s.custom_prompt_post_processing = ''"))),
        ("another user, and a turn", then(new_chat, lambda: door.run("/persona-set mode=temp Robin"))),
        ("the first user, and a turn", then(open_chat, lambda: door.run("/persona-set mode=temp User"))),
        ("a group of two", lambda: (door.create(SECOND), door.group(CARD, SECOND), turn())),
        ("a turn in the group", turn), ("a swipe in the group", lambda: door.swipe()),
        ("an old message of the group edited, and a turn", then(lambda: door.edit(told(), 2))),
        ("a member silent, and a turn", then(lambda: door.run(f"/member-disable {SECOND}"))),
        ("both, and a turn", then(lambda: door.run(f"/member-enable {SECOND}"))),
        ("the last lines of the group deleted, and a turn", then(lambda: door.run("/del 3"))),
    ]  # fmt: skip


@contextlib.contextmanager
def tavern(url: str, folder: Path) -> Iterator[str]:
    """SillyTavern with our server as its custom endpoint, as docs/frontends.md says to set it."""
    settings = json.loads((FETCHED / "default/content/settings.json").read_text(encoding="utf-8"))
    settings |= {"firstRun": False, "main_api": "openai", "username": "User"}
    settings["power_user"] |= {"auto_connect": True}
    settings["oai_settings"] |= {
        "chat_completion_source": "custom", "custom_url": f"{url}/v1", "custom_model": f"{CHARACTER}:memory",
        "custom_include_body": body_of_docs(), "stream_openai": True,
    }  # fmt: skip
    home = folder / "tavern"
    (home / "data/default-user").mkdir(parents=True)
    (home / "data/default-user/settings.json").write_text(json.dumps(settings), encoding="utf-8")
    shutil.copy(FETCHED / "default/config.yaml", home / "config.yaml")
    port = free_port()
    command = ["node", "server.js", "--port", str(port), "--dataRoot", str(home / "data"), "--configPath",
               str(home / "config.yaml"), "--listen", "false", "--browserLaunchEnabled", "false"]  # fmt: skip
    with started(command, FETCHED, port) as address:
        yield address


def body_of_docs() -> str:
    """What docs/frontends.md says to put into the body."""
    text = (ROOT / "docs" / "frontends.md").read_text(encoding="utf-8")
    return text.partition("```yaml\n")[2].partition("```")[0]


@contextlib.contextmanager
def through(
    url: str, folder: Path, told: Callable[[], str], _: list[dict[str, Any]]
) -> Iterator[tuple[Tavern, list[Action]]]:
    """SillyTavern open at its first character, and all that is done in it."""
    with tavern(url, folder) as address, window(address) as page:
        door = Tavern(page, folder)
        yield door, actions(door, told)
