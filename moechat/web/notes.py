"""What the page reports of a click in a room, and what a room says of what became of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Action = Mapping[str, str]
"""What the page reports of a click or a form: ``do``, what it is done to, and the fields of the form."""


@dataclass(frozen=True)
class Note:
    """The outcome of an action, in words."""

    text: str = ""
    bad: bool = False
