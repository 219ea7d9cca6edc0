"""Macros of cards, ``{{user}}`` and its like: replaced in one pass. No template engine ever runs over a card's text.

What a macro gives is not read for macros again, so that a name or a word of the talk cannot become one. One that is not known
here gives nothing: no model is shown its bare name.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import blake2b

from moechat.when.names import WEEKDAYS

NAMES = ("char", "user")
DEEPEST = 5  # Macros inside of macros.
MOST_SIDES = 1_000_000
_BRACKETS = re.compile(r"\{\{|\}\}")
_ANGLED = re.compile(r"<(user|bot|char)>", re.IGNORECASE)
_PARTS = re.compile(r"(?<!\\),")
_DICE = re.compile(r"[dD]?(\d{1,7})|(\d{1,3})[dD](\d{1,7})")
_MACRO_NAME = re.compile(r"[#/!?~>.$]*[^\W\d][\w-]*(?:\s.*)?", re.DOTALL)
FIXED: Mapping[str, str] = {"//": "", "comment": "", "hidden_key": "", "newline": "\n", "space": " "}
_OF_ANGLES: Mapping[str, str] = {"user": "user", "bot": "char", "char": "char"}


@dataclass(frozen=True)
class Macros:
    """What macros stand for at one moment.

    ``values`` has what is replaced by name (``char``, ``user``, ``original`` …). With ``now``, the macros of time and chance are
    filled, too; without it they stay, to be filled when a prompt is made. ``pick`` chooses the same for the same ``seed`` and
    place, ``random`` and ``roll`` anew by ``chance``. ``outlets`` has the words of
    entries of a world book, by the name of their place.
    """

    values: Mapping[str, str] = field(default_factory=dict)
    now: datetime | None = None
    language: str = "en"
    seed: str = ""
    chance: random.Random = field(default_factory=random.Random)
    outlets: Mapping[str, str] = field(default_factory=dict)

    def fill(self, text: str) -> str:
        """The text with every macro replaced."""
        return self._filled(text, 0) if "{{" in text or "<" in text else text

    def _filled(self, text: str, depth: int) -> str:
        pieces = []
        for is_macro, piece, place in _pieces(text):
            value = self._value(piece[2:-2], place, depth) if is_macro and depth < DEEPEST else None
            if not is_macro:
                piece = _ANGLED.sub(lambda match: self.values.get(_OF_ANGLES[match[1].lower()], match[0]), piece)
            pieces.append(piece if value is None else value)
        return "".join(pieces)

    def _value(self, inside: str, place: int, depth: int) -> str | None:
        """What a macro stands for; None where it is none, or waits for its moment."""
        name, argument = _named(inside)
        if name in self.values or name in FIXED:
            return self.values.get(name, FIXED.get(name))
        if self.now is None and name in OBEYED:
            return None
        value = _WITH_NOW[name](self, self._filled(argument, depth + 1), place) if name in _WITH_NOW else None
        return "" if value is None and _MACRO_NAME.fullmatch(name) else value

    def _chosen(self, argument: str, place: int) -> str:
        parts = _parts(argument)
        return self.chance.choice(parts) if parts else ""

    def _picked(self, argument: str, place: int) -> str:
        parts = _parts(argument)
        number = int.from_bytes(blake2b(f"{self.seed}\0{place}\0{argument}".encode(), digest_size=8).digest())
        return parts[number % len(parts)] if parts else ""

    def _rolled(self, argument: str, place: int) -> str | None:
        match = _DICE.fullmatch(argument.strip())
        if match is None:
            return None
        sides, dice = int(match[1] or match[3]), int(match[2] or 1)
        return str(sum(self.chance.randint(1, min(sides, MOST_SIDES)) for _ in range(dice))) if sides else None

    def _weekday(self, argument: str, place: int) -> str:
        assert self.now is not None
        return WEEKDAYS[self.language][self.now.weekday()]


_WITH_NOW: Mapping[str, Callable[[Macros, str, int], str | None]] = {
    "outlet": lambda macros, argument, place: macros.outlets.get(argument.strip(), ""),
    "random": Macros._chosen, "pick": Macros._picked, "roll": Macros._rolled, "weekday": Macros._weekday,
    "time": lambda macros, argument, place: f"{macros.now:%H:%M}",
    "date": lambda macros, argument, place: f"{macros.now:%Y-%m-%d}",
}  # fmt: skip
OBEYED = frozenset({*NAMES, "original", *FIXED, *_WITH_NOW})


def unknown(text: str) -> list[str]:
    """The names of the macros in a text that are not replaced here, each once."""
    names: dict[str, None] = {}
    for is_macro, piece, _ in _pieces(text):
        name, _ = _named(piece[2:-2]) if is_macro else ("", "")
        if name and name not in OBEYED:
            names[name[:40]] = None
    return list(names)


def _named(inside: str) -> tuple[str, str]:
    """(the name of a macro in lower case, what stands behind it)."""
    inside = inside.strip()
    if inside.startswith("//"):
        return "//", inside[2:]
    name, _, argument = inside.partition(":")
    return name.strip().lower(), argument.removeprefix(":")


def _parts(argument: str) -> list[str]:
    """The choices of a macro, at its commas (or ``::``); ``\\,`` is a comma of a choice."""
    parts = argument.split("::") if "::" in argument else _PARTS.split(argument)
    return [part.replace("\\,", ",").strip() for part in parts]


def _pieces(text: str) -> Iterator[tuple[bool, str, int]]:
    """(whether it is a macro, the piece, where it begins); macros inside of a macro are part of it."""
    place = 0
    for start, end in _outermost(text):
        if start > place:
            yield False, text[place:start], place
        yield True, text[start:end], start
        place = end
    if place < len(text):
        yield False, text[place:], place


def _outermost(text: str) -> list[tuple[int, int]]:
    """Where the macros of a text stand that lie in no other one. Brackets without a partner are text."""
    waiting: list[int] = []
    pairs: list[tuple[int, int]] = []
    for match in _BRACKETS.finditer(text):
        if match[0] == "{{":
            waiting.append(match.start())
        elif waiting:
            start = waiting.pop()
            while pairs and pairs[-1][0] > start:
                pairs.pop()
            pairs.append((start, match.end()))
    return pairs
