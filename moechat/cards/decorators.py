"""Decorators of cards of version 3: lines at the head of an entry, such as ``@@depth 2``.

Four are obeyed: ``activate``, ``dont_activate``, ``depth`` and ``role``. A line ``@@@name`` is the second choice where the line
before it is not obeyed. All of them are cut from what enters the prompt, and kept in the file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import get_args

from moechat.lore import LoreRole

OBEYED = ("activate", "dont_activate", "depth", "role")
MOST_DEPTH = 10_000
_LINE = re.compile(r"(@@@?)([a-z_]+)[ \t]*(.*)", re.IGNORECASE)


@dataclass(frozen=True)
class Decorated:
    """``text`` is what follows the decorators. ``unheeded`` names those that are kept and not obeyed."""

    text: str
    activate: bool = False
    dont_activate: bool = False
    depth: int | None = None
    role: LoreRole | None = None
    unheeded: Sequence[str] = ()


def read(content: str) -> Decorated:
    """The decorators of an entry, and its text. Content without any is its own text, unchanged."""
    if not content.lstrip().startswith("@@"):
        return Decorated(content)
    lines = content.lstrip().split("\n")
    values: dict[str, object] = {}
    unheeded: list[str] = []
    heads = list(takewhile(bool, (_LINE.match(line.strip()) for line in lines)))
    is_obeyed = False
    for match in heads:
        assert match is not None
        mark, name, argument = match[1], match[2].lower(), match[3].strip()
        if mark == "@@@" and is_obeyed:
            continue
        value = _value(name, argument)
        is_obeyed = value is not None
        if is_obeyed:
            values[name] = value
        else:
            unheeded.append(name)
    return Decorated("\n".join(lines[len(heads) :]), unheeded=unheeded, **values)  # type: ignore[arg-type]


def _value(name: str, argument: str) -> object:
    """What a decorator says; None where it is not obeyed, or says nothing that can be."""
    if name in ("activate", "dont_activate"):
        return True
    if name == "depth" and argument.isdecimal() and len(argument) < 6:
        return min(int(argument), MOST_DEPTH)
    if name == "role" and argument in get_args(LoreRole):
        return argument
    return None
