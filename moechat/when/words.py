"""The words of a language, read from ``en.toml`` and ``zh.toml``: what people call days, parts of the day and festivals."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path


@cache
def table(language: str) -> Mapping[str, Mapping[str, str]]:
    """The tables of a language: by name, each word and its meaning. In the file a meaning stands before its words."""
    tables = tomllib.loads((Path(__file__).parent / f"{language}.toml").read_text(encoding="utf-8"))
    return {
        name: {word.strip(): meaning for meaning, words in lines.items() for word in words.split("|")}
        for name, lines in tables.items()
        if name not in ("tense", "not_times", "moved")
    }


@cache
def patterns(language: str, name: str) -> Mapping[str, str]:
    """The parts of a table that holds patterns, by their name, as alternatives of one pattern."""
    tables = tomllib.loads((Path(__file__).parent / f"{language}.toml").read_text(encoding="utf-8"))
    return {part: "|".join(lines.split("\n")).strip("|") for part, lines in tables[name].items()}


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
