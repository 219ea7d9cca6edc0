"""The patterns of a language, read from ``zh.txt`` or ``en.txt``; the form of the files stands at their head.

A pattern is compiled when it is first asked for.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from moechat.language import words
from moechat.when.names import HAN
from moechat.worker import lazy

Language = Literal["zh", "en"]

_WORD = re.compile(r"<([A-Z]+\d?)>")


@dataclass(frozen=True)
class Row:
    """A line of a table: what its pattern says (whose a clause is or how it is meant) with an example that it fits and a
    counter-example; or the keyword of a fact, its marks and its text."""

    what: str
    marks: frozenset[str]
    text: str
    source: str
    fits: str
    fits_not: str

    @lazy
    def pattern(self) -> re.Pattern[str]:
        return re.compile(self.source, re.I)


class PatternTable:
    """The patterns of one language: ``subjects`` and ``moods`` in their order, single ones by name, and ``frames``, how facts are
    kept."""

    def __init__(self, language: Language) -> None:
        self.language = language
        self._words = {"HAN": HAN, "STOP": "|".join(sorted(words.STOP_EN - {"of"}))}
        self.rows: dict[str, list[Row]] = {"subjects": [], "moods": []}
        entries: list[tuple[str, str]] = []
        section = ""
        for line in Path(__file__).with_name(f"{language}.txt").read_text(encoding="utf-8").splitlines():
            if line.startswith("["):
                section = line.strip("[]")
            elif line.startswith(" "):
                entries[-1] = (section, entries[-1][1] + line.lstrip())
            elif line and not line.startswith("#"):
                entries.append((section, line))
        self._words |= (_split(line, " = ") for section, line in entries if section in ("words", "values"))
        self._named = dict(
            _split(line, " = ") for section, line in entries if section in ("reading", "events", "shapes")
        )
        rewrites = (_split(line, " => ") for section, line in entries if section == "rewrites")
        self.rewrites = [(re.compile(self._filled(pattern)), instead) for pattern, instead in rewrites]
        pairs = (_split(line, " = ") for section, line in entries if section == "frames")
        self.frames = {kind: self._row(line) for kind, line in pairs}
        for section, line in entries:
            if section in self.rows:
                self.rows[section].append(self._row(line))
        self._compiled: dict[str, re.Pattern[str]] = {}

    def _row(self, line: str) -> Row:
        rule, _, examples = line.partition("   + ")
        head, source = _split(rule, " := ")
        what, text = _split(head, ": ")
        what, marks = _split(what.rstrip(")"), " (")
        return Row(what, frozenset(marks.split(", ")), text, self._filled(source), *_split(examples, "  - "))

    def __getitem__(self, name: str) -> re.Pattern[str]:
        """The single pattern, or the list of words, that is called ``name``."""
        if name not in self._compiled:
            source = self._named.get(name, f"<{name}>")
            self._compiled[name] = re.compile(self._filled(source), re.I)
        return self._compiled[name]

    def _filled(self, pattern: str) -> str:
        pattern = pattern.replace("[HAN", f"[{HAN}")
        while (filled := _WORD.sub(lambda word: f"(?:{self._words[word[1]]})", pattern)) != pattern:
            pattern = filled.replace("[HAN", f"[{HAN}")
        return pattern


def _split(text: str, mark: str) -> tuple[str, str]:
    before, _, behind = text.partition(mark)
    return before, behind


@cache
def table(language: Language) -> PatternTable:
    """The table of ``language``, read once."""
    return PatternTable(language)
