"""No reader of foreign text takes more than about twice as long over twice the text."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from moechat.cards.macros import Macros, unknown
from moechat.rules import foods
from moechat.serve import history
from moechat.web import drawing, markdown
from tests.fuzz.parsers import _cleaned
from tests.fuzz.sentences import NOW, READERS, Sentence

SHORT, LONG = 6_000, 24_000
MOST = 9.0  # A line takes four times as long over four times the text, a square sixteen times.
FREE_S = 0.25  # A noisy machine may take so long over anything.
PIECES = ("“", "[", "<context>", "a*", "a ", "\n", "的", "1", "，我", "{{", "*a ", "<think>", "n't ", "1\n", "milk ")


def _messages(text: str) -> None:
    sent = [{"role": role, "content": text} for role in ("user", "assistant", "system", "user", "assistant", "system")]
    history.read([*sent, {"role": "user", "content": f"### Task:{text}"}])


DOORS: dict[str, Callable[[str], object]] = {
    "messages": _messages,
    "markdown": markdown.html,
    "macros": lambda text: (Macros({"char": "a", "user": "b"}, NOW).fill(text), unknown(text)),
    "reply": lambda text: _cleaned(text, 7),
    "foods": foods.held,
    "memory": lambda text: drawing.to_person(text, "阿明"),
    **{name: lambda text, read=read: read(Sentence(text, "我住在杭州", NOW)) for name, read in READERS.items()},  # type: ignore[misc]
}


def _cpu_s(read: Callable[[str], object], text: str) -> float:
    begun = time.process_time()
    read(text)
    return time.process_time() - begun


@pytest.mark.parametrize("door", DOORS)
def test_what_comes_in_costs_no_more_than_its_length(door: str) -> None:
    read, slow = DOORS[door], {}
    read("我住在杭州, I live in Leeds")  # what it loads is loaded
    for piece in PIECES:
        short, long = (_cpu_s(read, (piece * size)[:size]) for size in (SHORT, LONG))
        if long > max(FREE_S, MOST * short):
            slow[piece] = (short, long)
    assert slow == {}
