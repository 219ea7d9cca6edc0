"""``moechat group``: a talk of several characters and people, by command."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.groups import NAMES, build
from tests.houses import Home
from tests.shell import Shell

A, B, C = NAMES


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return build(tmp_path)


def answers(moechat: Shell, *args: str) -> list[str]:
    return [str(row["speaker"]) for row in moechat.rows("group", *args)]


def test_a_talk_is_begun_and_who_is_named_answers(moechat: Shell) -> None:
    _, lines, _ = moechat("group", "begin", B, C, "-c", A)
    there = ("--talk", lines[0], "-c", A)
    assert answers(moechat, "say", f"{C}，{A}，你们好", *there) == [C, A]
    assert moechat("group", "change", "mute", C, *there)[0] == 0
    assert moechat("group", "change", "list", *there)[0] == 0
    assert answers(moechat, "say", "我住在苏州", "--by", "安妮", *there) == [A, B]
    assert answers(moechat, "speak", C, *there) == [C]
    status, lines, _ = moechat("group", "show", "--talk", there[1], "-c", B)  # whichever of them opens it
    assert status == 0 and lines[0] == f"{A}, {B}, {C} (silent), 安妮 (list)"
    assert "安妮: 我住在苏州" in lines


def test_what_is_not_there_is_told(moechat: Shell) -> None:
    _, lines, _ = moechat("group", "begin", B, "-c", A)
    assert moechat("group", "show", "--talk", "nothing", "-c", A)[0] == 1
    status, _, errors = moechat("group", "change", "mute", "谁", "--talk", lines[0], "-c", A)
    assert status == 1 and errors == [f"moechat: '谁' is not in this talk; there are: {A}, {B}"]
