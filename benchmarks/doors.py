"""Real front ends before a real server: some forty things that their users do, and what memory holds after each.

    make doors                      # the `openai` package, SillyTavern where Node is there, Open WebUI where it is installed
    make doors ARGS="openai"        # one of them; --bodies FILE keeps what it sent, a line each

SillyTavern is fetched from npm into ``.doors`` (about 430 MB, once), Open WebUI has an environment of its own there, made by
hand; Chromium is driven as in the tests of the page. The language model is a script: each reply has a number, so that no two
are alike. After every action the talk in memory has the lines that the program shows, and its facts are those of these lines.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import openai

from benchmarks import doors_tavern, doors_webui
from benchmarks.doorframe import CHARACTER, Action, Line, Program, Watch, serving, telling

TITLE = "### Task:\nGenerate a title.\n### Chat History:\n<chat_history>\nUSER: Good morning\n</chat_history>"
OPENAI, TAVERN, WEBUI = "openai", "sillytavern", "openwebui"


class Client(Program):
    """A program of a few lines over the ``openai`` package, that keeps its history itself and names its chat."""

    def __init__(self, url: str) -> None:
        self.client = openai.OpenAI(base_url=f"{url}/v1", api_key="none")
        self.talk: list[Line] = []

    def shown(self, _: str) -> list[Line]:
        return [("" if at % 2 == 0 else CHARACTER, "".join(text.split())) for at, (_, text) in enumerate(self.talk)]

    def ask(self, *, stream: bool = True) -> None:
        messages: list[Any] = [{"role": role, "content": text} for role, text in self.talk]
        more: dict[str, Any] = {"user": "ann", "extra_headers": {"X-MoeChat-Chat": "chat"}}
        if not stream:
            answer = self.client.chat.completions.create(model=CHARACTER, messages=messages, **more)
            self.talk.append(("assistant", answer.choices[0].message.content or ""))
            return
        chunks = self.client.chat.completions.create(model=CHARACTER, messages=messages, stream=True, **more)
        text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
        self.talk.append(("assistant", text))

    def say(self, text: str, *, stream: bool = True) -> None:
        self.talk.append(("user", text))
        self.ask(stream=stream)

    def recover(self) -> None:
        """Nothing of it can hang."""

    def cut(self, *places: int) -> None:
        self.talk = [line for at, line in enumerate(self.talk) if at not in places]

    def title(self) -> None:
        ask: list[Any] = [{"role": "user", "content": TITLE}]
        self.client.chat.completions.create(model=CHARACTER, messages=ask, user="ann")


@contextmanager
def through_openai(
    url: str, _: Path, told: Callable[[], str], __: list[dict[str, Any]]
) -> Iterator[tuple[Program, list[Action]]]:
    one = Client(url)
    turn = lambda: one.say(told())  # noqa: E731
    yield one, [
        ("a turn", turn), ("a whole reply", lambda: one.say(told(), stream=False)), ("a title", one.title),
        ("another reply", lambda: (one.talk.pop(), one.ask())),
        ("the last message edited", lambda: (one.cut(len(one.talk) - 1, len(one.talk) - 2), turn())),
        ("a turn before", turn),
        ("an old message edited", lambda: (one.talk.__setitem__(2, ("user", told())), turn())),
        ("an old reply edited", lambda: (one.talk.__setitem__(3, ("assistant", "I said this otherwise.")), turn())),
        ("a turn in the middle deleted", lambda: (one.cut(2, 3), turn())),
    ]  # fmt: skip


DOORS = {OPENAI: through_openai, TAVERN: doors_tavern.through, WEBUI: doors_webui.through}
PLACES = {TAVERN: doors_tavern.FETCHED, WEBUI: doors_webui.PROGRAM}
HOW = {TAVERN: doors_tavern.HOW, WEBUI: doors_webui.HOW}


def driven(name: str) -> Watch:
    """One of them, all its actions done."""
    words = telling()
    sys.stdout.write(f"{name}\n")
    with tempfile.TemporaryDirectory(prefix="moechat-doors-") as folder, serving(Path(folder)) as watch:
        with DOORS[name](watch.url, Path(folder), lambda: next(words), watch.bodies) as (program, actions):
            few = next((int(arg.partition("=")[2]) for arg in sys.argv if arg.startswith("--first=")), len(actions))
            for action in actions[:few]:
                watch.do(program, action)
        sys.stdout.write(f"{name}: {few - len(watch.faulty)} of {few} actions as they should be\n")
    return watch


def main() -> int:
    chosen = [name for name in sys.argv[1:] if name in DOORS] or (
        [] if {"openapi", "mcp", "cards", "worlds"} & set(sys.argv) else list(DOORS)
    )
    for name in [one for one in chosen if one in PLACES and not PLACES[one].exists()]:
        sys.stderr.write(f"{name}: not here; {HOW[name]}\n")
        chosen.remove(name)
    watches = [driven(name) for name in chosen]
    if "--bodies" in sys.argv:
        lines = [json.dumps(body, ensure_ascii=False) for watch in watches for body in watch.bodies]
        Path(sys.argv[sys.argv.index("--bodies") + 1]).write_text("\n".join(lines), encoding="utf-8")
    return int(any(watch.faulty for watch in watches))


if __name__ == "__main__":
    raise SystemExit(main())
