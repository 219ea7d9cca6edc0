"""Real front ends before a real server: three turns, a swipe, an edit and a title, and what memory holds afterwards.

    make doors                      # the `openai` package, SillyTavern where Node is there, Open WebUI where it is installed
    make doors ARGS="openai"        # one of them

SillyTavern is fetched from npm into ``.doors`` (about 250 MB, once), Open WebUI has an environment of its own there, made by
hand; Chromium is driven as in the tests of the page. The language model is a script: each reply has a number, so that no two
are alike.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import openai

from moechat.ai.scripted import ScriptedModel
from moechat.house import House
from moechat.model import Message
from moechat.serve import server

ROOT = Path(__file__).resolve().parents[1]
FETCHED = ROOT / ".doors" / "node_modules" / "sillytavern"
WEBUI = ROOT / ".doors" / "open-webui" / "bin" / "open-webui"
HOW = {
    "sillytavern": f"`npm install --prefix {ROOT / '.doors'} sillytavern` fetches it (Node 20)",
    "openwebui": f"`python3 -m venv {WEBUI.parents[1]} && {WEBUI.parent / 'pip'} install open-webui` fetches it (Python 3.11)",
}
CHARACTER, CARD = "青禾", "Seraphina"
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync"]  # fmt: skip
START_S, WAIT_MS = 300, 60_000
REQUESTS = 6  # three turns, a swipe, an edit and a title, and one for each message of another chat
DUE = ["Good morning", "I have a cat called Momo", "Good night"]
TITLE = "### Task:\nGenerate a title.\n### Chat History:\n<chat_history>\nUSER: Good morning\n</chat_history>"


def replies() -> Callable[[Sequence[Message]], str]:
    numbers = itertools.count(1)
    return lambda _: f"This is reply number {next(numbers)}."


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[tuple[House, str]]:
    """A house in a new folder, served."""
    model = ScriptedModel(replies(), understands=False)
    with House(folder / "data", folder / "config.yaml", model=model) as house, server.running(house) as url:
        yield house, url


def kept(house: House, character: str, user: str) -> list[str]:
    """The messages on the paths of this owner's talks, in order of time."""
    return [str(row["text"]) for row in house.agent(character, user).log() if row["mark"] == "*"]


# ---- the doors


def through_openai(house: House, url: str, _: Path) -> tuple[list[str], list[str]]:
    """(what is to be kept, what is)."""
    client = openai.OpenAI(base_url=f"{url}/v1", api_key="none")
    talk: list[Any] = []

    def say(text: str, *, stream: bool) -> str:
        sent = [*talk, {"role": "user", "content": text}]
        if not stream:
            answer = client.chat.completions.create(model=CHARACTER, messages=sent, user="ann")
            return answer.choices[0].message.content or ""
        chunks = client.chat.completions.create(model=CHARACTER, messages=sent, user="ann", stream=True)
        return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)

    def turn(text: str, reply: str) -> None:
        talk.extend([{"role": "user", "content": text}, {"role": "assistant", "content": reply}])

    turn("Good morning", say("Good morning", stream=True))
    say("I have a cat called Momo", stream=False)
    turn("I have a cat called Momo", say("I have a cat called Momo", stream=True))  # a swipe
    client.chat.completions.create(model=CHARACTER, messages=[{"role": "user", "content": TITLE}], user="ann")
    say("Good nihgt", stream=False)
    turn("Good night", say("Good night", stream=True))  # an edit
    return DUE, kept(house, CHARACTER, "ann")


def through_sillytavern(house: House, url: str, folder: Path) -> tuple[list[str], list[str]]:
    """The same by hand, in a browser."""
    with tavern(url, folder) as address, window(address) as page:
        page.locator("#preloader").wait_for(state="detached")
        page.locator("#rightNavHolder .drawer-icon").click()
        page.locator(f'.character_select:has-text("{CARD}")').click()
        page.locator("#chat .mes").first.wait_for()

        def answered(count: int) -> None:
            page.wait_for_function(
                "n => document.querySelectorAll('#chat .mes').length >= n && !document.body.dataset.generating"
                " && getComputedStyle(document.querySelector('#mes_stop')).display === 'none'", arg=count,
            )  # fmt: skip
            page.wait_for_timeout(300)

        def say(text: str) -> None:
            count = page.locator("#chat .mes").count()
            page.locator("#send_textarea").fill(text)
            page.locator("#send_but").click()
            answered(count + 2)

        say("Good morning")
        say("I have a cat called Momo")
        page.locator("#chat .last_mes .swipe_right").click()
        page.wait_for_function(
            "/reply number 3/.test(document.querySelector('#chat .last_mes .mes_text')?.textContent)"
        )
        answered(0)
        say("Good nihgt")
        last = page.locator('#chat .mes[is_user="true"]').last
        last.locator(".mes_edit").dispatch_event("click")
        last.locator(".edit_textarea").fill("Good night")
        last.locator(".mes_edit_done").dispatch_event("click")
        page.locator("#options_button").click()
        page.locator("#option_regenerate").click()
        page.wait_for_function(
            "/reply number 5/.test(document.querySelector('#chat .last_mes .mes_text')?.textContent)"
        )
        answered(0)
        page.locator("#send_textarea").fill("/gen Write a title for this chat | /echo")
        page.locator("#send_but").click()
        page.locator(".toast", has_text="reply number 6").click()
        page.locator(".toast").wait_for(state="detached")
        page.locator("#sys-settings-button .drawer-icon").first.click()
        settings = page.locator("#rm_api_block")
        settings.evaluate("one => Promise.all(one.getAnimations().map(move => move.finished))")
        picture(settings, "sillytavern", folder)
        page.locator("#sys-settings-button .drawer-icon").first.click()
        page.locator("#options_button").click()
        page.locator("#option_start_new_chat").click()
        page.locator(".popup-button-ok").click()
        page.wait_for_function("document.querySelectorAll('#chat .mes').length === 1")
        say(DUE[0])  # another chat that begins with the same words
    named = [name for name in house.agent(CARD, "User").store.tree.talks if name.startswith("chat:")]
    assert len(named) == 2, f"the two chats have the names {named}"
    return [*DUE, DUE[0]], kept(house, CARD, "User")


def through_open_webui(house: House, url: str, folder: Path) -> tuple[list[str], list[str]]:
    """The same in Open WebUI, which asks for the title by itself."""
    with webui(url, folder) as address, window(f"{address}?models={CHARACTER}") as page:
        news = page.locator("[role=dialog] button:has-text('Okay')")  # It tells what is new to whoever comes first.
        news.click()
        replies = page.locator(".chat-assistant")

        def answered(count: int, before: str = "") -> str:
            page.wait_for_function(
                "([n, old]) => { const all = document.querySelectorAll('.chat-assistant');"
                " const text = all.length === n && all[n - 1].textContent.match(/reply number [0-9]+/)?.[0];"
                " return text && text !== old }", arg=[count, before],
            )  # fmt: skip
            page.locator(".edit-user-message-button").last.wait_for(state="attached")
            page.wait_for_timeout(2000)  # The title is asked for, and the talk is stored.
            text = replies.last.text_content() or ""
            return text[text.index("reply number") :].split(".")[0]

        def say(text: str) -> str:
            count = replies.count()
            page.locator("#chat-input").click()
            page.keyboard.type(text)
            page.locator("#send-message-button").click()
            return answered(count + 1)

        say("Good morning")
        first = say("I have a cat called Momo")
        page.locator(".regenerate-response-button").last.dispatch_event("click")
        answered(2, first)
        first = say("Good nihgt")
        page.locator(".edit-user-message-button").last.dispatch_event("click")
        page.locator("textarea[id^=message-edit-]").fill("Good night")
        page.locator("#confirm-edit-message-button").click()
        answered(3, first)
        picture(page, "open-webui", folder)
    [user] = {owner.rpartition("/")[2] for owner in owners_of(house)}
    return DUE, kept(house, CHARACTER, user)


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
def webui(url: str, folder: Path) -> Iterator[str]:
    """Open WebUI with our server as its connection, as docs/frontends.md says to set it; nobody has to log in."""
    settings = {
        "DATA_DIR": str(folder / "webui"), "WEBUI_AUTH": "False", "WEBUI_SECRET_KEY": "x", "OPENAI_API_BASE_URL": f"{url}/v1",
        "OPENAI_API_KEY": "none", "ENABLE_FORWARD_USER_INFO_HEADERS": "true", "ENABLE_OLLAMA_API": "False",
        "ENABLE_TAGS_GENERATION": "False", "ENABLE_FOLLOW_UP_GENERATION": "False", "OFFLINE_MODE": "true",
        "RAG_EMBEDDING_ENGINE": "openai", "ANONYMIZED_TELEMETRY": "False",
    }  # fmt: skip
    (folder / "webui").mkdir()
    port = free_port()
    with started([str(WEBUI), "serve", "--host", "127.0.0.1", "--port", str(port)], folder, port, settings) as address:
        yield address


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


DOORS = {"openai": through_openai, "sillytavern": through_sillytavern, "openwebui": through_open_webui}
PLACES = {"sillytavern": FETCHED, "openwebui": WEBUI}


def main() -> int:
    chosen = [name for name in sys.argv[1:] if name in DOORS] or list(DOORS)
    for name in [one for one in chosen if one in PLACES and not PLACES[one].exists()]:
        sys.stderr.write(f"{name}: not here; {HOW[name]}\n")
        chosen.remove(name)
    failed = False
    for name in chosen:
        with tempfile.TemporaryDirectory(prefix="moechat-doors-") as folder, serving(Path(folder)) as (house, url):
            due, there = DOORS[name](house, url, Path(folder))
            owners, asked = owners_of(house), len(house.model.requests) if isinstance(house.model, ScriptedModel) else 0
        is_good = due == there and len(owners) == 1 and asked == REQUESTS + len(due) - len(DUE)
        failed |= not is_good
        sys.stdout.write(f"{name}: {'good' if is_good else 'NOT GOOD'}: {asked} requests; kept {there} of {owners}\n")
    return int(failed)


def owners_of(house: House) -> list[str]:
    """Every owner whose memory holds anything."""
    agents = house.data / "agents"
    return sorted(path.parent.relative_to(agents).as_posix() for path in agents.rglob("log.jsonl"))


if __name__ == "__main__":
    raise SystemExit(main())
