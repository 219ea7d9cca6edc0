"""What commands share, and those of servers: how far a work is, a question on the terminal, who may come in, and with what a
server begins."""

from __future__ import annotations

import io
import json
import sys
import webbrowser
from typing import Any

import pytest

from moechat.access.keys import Keyring
from moechat.access.register import Register
from moechat.cli.serve_commands import announce_page, has_screen
from moechat.cli.session import confirm, progress
from moechat.serve import mcp, server
from tests.houses import CHARACTER
from tests.shell import Shell


def test_how_far_a_work_is_stands_on_one_line_that_ends_with_it(capsys: pytest.CaptureFixture[str]) -> None:
    show = progress(quiet=False)
    for done in (1, 2, 3):
        show(done, 3)
    assert capsys.readouterr() == ("", "\r1 of 3\r2 of 3\r3 of 3\n")
    progress(quiet=True)(1, 3)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("line", "agrees"), [("y\n", True), (" YES \n", True), ("是\n", True), ("n\n", False), ("\n", False), ("", False)]
)
def test_a_question_is_asked_beside_the_output_and_silence_is_no(
    line: str, agrees: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(line))
    assert confirm("Delete it?") is agrees
    assert capsys.readouterr() == ("", "Delete it? [y/N] ")


SCREENS = [
    ("win32", {}, True, True), ("darwin", {}, True, True), ("linux", {}, True, False), ("linux", {"DISPLAY": ":0"}, True, True),
    ("linux", {"WAYLAND_DISPLAY": "wayland-0"}, True, True), ("linux", {"DISPLAY": ":0"}, False, False),
    ("darwin", {"SSH_CONNECTION": "192.168.1.7"}, True, False),
]  # fmt: skip


@pytest.mark.parametrize(("platform", "environment", "is_terminal", "sees"), SCREENS)
def test_a_browser_is_opened_where_somebody_sits_who_sees_it(
    platform: str, environment: dict[str, str], is_terminal: bool, sees: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SSH_CONNECTION"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: is_terminal, raising=False)
    assert has_screen() is sees


def test_a_browser_opens_the_page_where_it_is_wished(
    moechat: Shell, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pages: list[str] = []
    monkeypatch.setattr(webbrowser, "open", pages.append)
    with moechat.home.open() as house:
        for opens in (False, True):
            announce_page(house, "http://127.0.0.1:7860", opens=opens)
    assert pages == ["http://127.0.0.1:7860"]
    assert capsys.readouterr().out == "MoeChat: http://127.0.0.1:7860 (Ctrl+C ends it)\n" * 2


def test_a_server_begins_with_what_is_configured_or_said(moechat: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[dict[str, Any]] = []
    monkeypatch.setattr(server, "serve", lambda house, **options: begun.append(options))
    moechat.home.configure(serve={"host": "localhost", "port": 9001, "key_env": "OUR_KEY", "page": False})
    monkeypatch.setenv("OUR_KEY", "a word")
    assert moechat("serve", now=None)[0] == 0
    assert moechat("serve", "--host", "127.0.0.1", "--port", "0", now=None)[0] == 0
    own = {"key": "a word", "key_env": "OUR_KEY", "page": None}
    assert begun == [{"host": "localhost", "port": 9001, **own}, {"host": "127.0.0.1", "port": 0, **own}]
    moechat.home.configure(serve={"page": True})
    moechat("serve", now=None)
    assert callable(begun[-1]["page"]) and begun[-1]["key"] == ""
    assert moechat("serve", "--port", "65536", now=None)[0] == moechat("serve", "--port", "x", now=None)[0] == 2


def test_assistants_get_the_memory_that_is_named(moechat: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[Any] = []

    class Runs:
        def __init__(self, house: object, character: str, user: str) -> None:
            begun.extend((character, user))

        def run(self, way: str) -> None:
            begun.append(way)

    monkeypatch.setattr(mcp, "make_server", Runs)
    assert moechat("mcp", "-c", CHARACTER, "--user", "anne", now=None)[0] == 0
    assert begun == [CHARACTER, "anne", "stdio"]


@pytest.mark.parametrize(("typed", "status"), [(["correct horse"] * 2, 0), (["correct horse", "correct house"], 1)])
def test_a_password_is_typed_twice_at_a_terminal(
    typed: list[str], status: int, moechat: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys, "stdin", terminal)
    monkeypatch.setattr("getpass.getpass", lambda prompt: asked.append(prompt) or typed[len(asked) - 1])
    left, lines, errors = moechat("access", "password", now=None)
    assert (left, asked) == (status, ["New password: ", "Once more: "])
    assert Register(moechat.home.data).has_password is (status == 0)
    assert (lines, errors) == ((["password set; all sessions ended"], []) if status == 0 else ([], errors))
    assert status == 0 or "two different passwords" in errors[0]


def test_keys_are_shown_once_listed_by_what_they_reach_and_taken_back_by_name(moechat: Shell) -> None:
    _, (word, shown), _ = moechat(
        "keys", "add", "phone", "--user", "甲", "--user", "乙", "--character", CHARACTER, now=None
    )
    key = Keyring(moechat.home.data).of(word)
    assert key is not None and shown == f"{key.id}  phone  users 甲, 乙, characters {CHARACTER}  (shown once: keep it)"
    bot = moechat.json("keys", "add", "bot", "--many", "--rate", "7", "--new", "3", now=None)
    assert bot["many"] and (bot["per_minute"], bot["new"]) == (7, 3) and "mark" not in bot
    moechat("keys", "add", "all", now=None)
    first, second, third = moechat("keys", "list", now=None)[1]
    assert first.startswith(
        f"{key.id}  phone  users 甲, 乙, characters {CHARACTER}  120/min  0 of 50 memories  since 20"
    )
    assert "  bot  many users  7/min  0 of 3 memories" in second and "  all  all users  120/min" in third
    rows = [json.loads(line) for line in moechat("keys", "list", "--json", now=None)[1]]
    assert [row["name"] for row in rows] == ["phone", "bot", "all"]
    assert moechat("keys", "revoke", key.id, "bot", now=None)[1] == [
        f"{key.id}  phone: revoked",
        f"{bot['id']}  bot: revoked",
    ]
    assert [one.name for one in Keyring(moechat.home.data).listed()] == ["all"]
