"""The words and patterns of a language, read from ``en.toml`` and ``zh.toml``: what people call days, parts of the day and
festivals, and how they speak of them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

_NAMED = re.compile(r"\{([a-z_]+)\}")


@cache
def read(name: str) -> Mapping[str, Any]:
    """A file of tables beside this one."""
    return tomllib.loads((Path(__file__).parent / f"{name}.toml").read_text(encoding="utf-8"))


@cache
def table(language: str) -> Mapping[str, Mapping[str, str]]:
    """The tables of a language: by name, each word and its meaning. In the file a meaning stands before its words."""
    tables = {name: lines for name, lines in read(language).items() if name != "pattern"}
    return {
        name: {word.strip(): meaning for meaning, words in lines.items() for word in words.split("|")}
        for name, lines in tables.items()
    }


def patterns(language: str, name: str, values: Mapping[str, str] = MappingProxyType({})) -> dict[str, str]:
    """The patterns of a table of the language, by name, in its order. ``{name}`` in one stands for a value, else for a
    pattern above it; a line goes on with the next."""
    made: dict[str, str] = {}
    for key, lines in read(language)["pattern"][name].items():
        made[key] = _NAMED.sub(lambda match: {**made, **values}[match[1]], lines.replace("\n", ""))
    return made


def numbered(words: Mapping[str, str]) -> dict[str, int]:
    """Words whose meaning is a number."""
    return {word: int(meaning) for word, meaning in words.items()}


def ranges(words: Mapping[str, str]) -> dict[str, tuple[int, int]]:
    """Words whose meaning is two numbers (``6-12``)."""
    return {word: (int(first), int(last)) for word, (first, last) in ((w, m.split("-")) for w, m in words.items())}


def alternatives(words: Iterable[str]) -> str:
    """A pattern that fits any of the words, the longest first; what is no letter or digit in them stands for itself.

    Words that begin alike share their beginning, since a pattern is tried at every word of a text.
    """
    tails: dict[str, list[str]] = {}
    for word in dict.fromkeys(words):
        tails.setdefault(word[:1], []).append(word[1:])
    branches = [
        _plain(first) + (alternatives(rest) if len(rest) > 1 else _plain(rest[0]))
        for first, rest in tails.items()
        if first
    ]
    return f"(?:{'|'.join(branches)}){'?' if '' in tails else ''}" if branches else ""


def _plain(text: str) -> str:
    return re.escape(text).replace("\\ ", " ")
