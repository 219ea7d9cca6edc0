"""What all commands share: how far a work is, a question on the terminal, and whether a browser can be seen."""

from __future__ import annotations

import io
import sys

import pytest

from moechat.cli.serve_commands import has_screen
from moechat.cli.session import confirm, progress


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
