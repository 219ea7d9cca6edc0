"""The regular expressions of world books, which are JavaScript's: told in the notation of `regex`, and run under a time limit."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

import regex

PATTERN_S = 0.05  # Time limit of one pattern over the talk.
ALL_PATTERNS_S = 0.3  # Time limit of all of them together.
MAX_PATTERN = 2000  # Characters of a pattern.
_FLAGS: Mapping[str, int] = {"i": regex.IGNORECASE, "m": regex.MULTILINE, "s": regex.DOTALL}
_SLASHED = re.compile(r"/([\w\W]+?)/([gimsuy]*)")
_BARE_SLASH = re.compile(r"(?:^|[^\\])/")
_TOKEN = re.compile(r"\\u\{[0-9a-fA-F]{1,6}\}|\\k<\w+>|\\.|\[\^?\]?|[\]$]", re.DOTALL)
_LETTERS, _OTHERS = "A-Za-z0-9_", r"\x00-/:-@\[-\^`{-\U0010ffff"
_EDGE = f"(?:(?<=[{_LETTERS}])(?![{_LETTERS}])|(?<![{_LETTERS}])(?=[{_LETTERS}]))"
_ALONE: Mapping[str, str] = {
    r"\w": f"[{_LETTERS}]", r"\W": f"[^{_LETTERS}]", r"\d": "[0-9]", r"\D": "[^0-9]", r"\b": _EDGE, r"\B": f"(?!{_EDGE})",
    "[]": "(?!)", "[^]": "(?s:.)",
}  # fmt: skip
_IN_SET: Mapping[str, str] = {
    r"\w": _LETTERS, r"\W": _OTHERS, r"\d": "0-9", r"\D": r"\x00-/:-\U0010ffff", r"\b": r"\x08", "[": r"\[",
    "[^": r"\[\^", "[^]": r"\[\^]", "[]": r"\[]", "$": "$",
}  # fmt: skip


def slashed(key: str) -> tuple[str, str] | None:
    """(the pattern, its flags) of a key that is written ``/…/flags``; None for one that only has slashes in it."""
    match = _SLASHED.fullmatch(key) if key.startswith("/") else None
    if match is None or _BARE_SLASH.search(match[1]) or len(set(match[2])) < len(match[2]):
        return None
    return match[1], match[2]


@dataclass
class Patterns:
    """Compiles and runs patterns, until their time is up. ``problems`` has those that are wrong or took too long; one that finds
    no time left has its turn with a later message, when those before it are compiled."""

    problems: dict[str, str] = field(default_factory=dict)
    left_s: float = ALL_PATTERNS_S

    def stands(self, pattern: str, flags: str, text: str) -> bool | None:
        """Whether it is found in the text; None where it is no pattern."""
        if self.left_s <= 0:
            return False
        begun = time.monotonic()
        try:
            compiled = _compiled(pattern, flags)
            if isinstance(compiled, str):
                self.problems[pattern] = compiled
                return None
            find = compiled.match if "y" in flags else compiled.search
            return find(text, timeout=PATTERN_S) is not None
        except TimeoutError:
            self.problems[pattern] = "takes too long; write it more simply"
            return False
        finally:
            self.left_s -= time.monotonic() - begun


@lru_cache(maxsize=4096)
def _compiled(pattern: str, flags: str) -> regex.Pattern[str] | str:
    """The pattern, or what is wrong with it."""
    if len(pattern) > MAX_PATTERN:
        return f"has more than {MAX_PATTERN} characters; write it more simply"
    try:
        return regex.compile(_told(pattern, flags), sum(_FLAGS.get(flag, 0) for flag in flags))
    except (regex.error, RecursionError, OverflowError, MemoryError, ValueError) as error:
        return f"is no pattern: {error}"


def _told(pattern: str, flags: str) -> str:
    """A pattern of JavaScript in Python's notation: letters and digits are Latin there, and ``$`` is the very end."""
    in_set = False

    def piece(match: re.Match[str]) -> str:
        nonlocal in_set
        token = match[0]
        if token.startswith(r"\u{"):
            return f"\\U{int(token[3:-1], 16):08x}" if "u" in flags else token
        if token.startswith(r"\k<"):
            return f"(?P={token[3:-1]})"
        if token == "$" and not in_set:
            return r"(?=\n|\Z)" if "m" in flags else r"\Z"
        notation = (_IN_SET if in_set else _ALONE).get(token, token)
        in_set = token not in ("]", "[]", "[^]") and (in_set or token in ("[", "[^"))
        return notation

    return _TOKEN.sub(piece, pattern)
