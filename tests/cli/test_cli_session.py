"""A question on the terminal, who may come in, and with what a server begins."""

from __future__ import annotations

import io
import sys
from typing import Any

import pytest

from moechat.access.keys import Keyring
from moechat.access.register import Register
from moechat.cli.session import confirm
from moechat.serve import mcp, server
from tests.houses import CHARACTER
from tests.shell import Shell


@pytest.mark.parametrize(
    ("line", "agrees"), [("y\n", True), (" YES \n", True), ("是\n", True), ("n\n", False), ("\n", False), ("", False)]
)
def test_a_question_is_asked_beside_the_output_and_silence_is_no(
    line: str, agrees: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(line))
    assert confirm("Delete it?") is agrees
    assert capsys.readouterr() == ("", "Delete it? [y/N] ")


def test_a_server_begins_with_what_is_configured_or_said(moechat: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[dict[str, Any]] = []
    monkeypatch.setattr(server, "serve", lambda house, **options: begun.append(options))
    moechat.home.configure(serve={"host": "localhost", "port": 9001, "key_env": "OUR_KEY", "page": False})
    monkeypatch.setenv("OUR_KEY", "a word")
    assert moechat("serve", now=None)[0] == 0
    assert moechat("serve", "--host", "127.0.0.1", "--port", "0", now=None)[0] == 0
    own = {"key": "a word", "page": None}
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
    assert [row["name"] for row in moechat.rows("keys", "list", now=None)] == ["phone", "bot", "all"]
    assert moechat("keys", "revoke", key.id, "bot", now=None)[1] == [
        f"{key.id}  phone: revoked",
        f"{bot['id']}  bot: revoked",
    ]
    assert [one.name for one in Keyring(moechat.home.data).listed()] == ["all"]
