"""The patterns of a language, read from ``zh.txt`` or ``en.txt``; the form of the files stands at their head.

A pattern is compiled when it is first asked for.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal

from moechat.language import words
from moechat.when.names import HAN
from moechat.worker import lazy

Language = Literal["zh", "en"]

ANYTHING = re.compile("")
_WORD = re.compile(r"<([A-Z]+\d?)>")


@dataclass(frozen=True)
class Row:
    """A line of a table: what its pattern says (whose a clause is, how it is meant, or a keyword), its marks, and for a fact
    its text, what the text is where it is denied, the number of its group and what a clause must hold for it. ``fits`` is its
    example, ``fits_not`` its counter-example."""

    what: str
    marks: frozenset[str]
    text: str
    denied: str
    source: str
    group: int = 0
    cue: re.Pattern[str] = ANYTHING
    fits: str = ""
    fits_not: str = ""

    @lazy
    def pattern(self) -> re.Pattern[str]:
        return re.compile(self.source, re.I)


class PatternTable:
    """The patterns of one language: ``subjects``, ``moods`` and ``facts`` in their order, and single ones by name."""

    def __init__(self, language: Language) -> None:
        self.language = language
        self._words = {"HAN": HAN, "STOP": "|".join(sorted(words.STOP_EN - {"of"}))}
        self.rows: dict[str, list[Row]] = {"subjects": [], "moods": [], "facts": []}
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
        self.small_names = [re.compile(self._filled(line)) for section, line in entries if section == "names"]
        pairs = (_split(line, " = ") for section, line in entries if section == "frames")
        self.frames = {kind: self._row(line, "frames") for kind, line in pairs}
        group, cue = 0, ANYTHING
        for section, line in entries:
            if line.startswith("@"):
                group, cue = group + 1, re.compile(line[1:].strip(), re.I)
            elif section in self.rows:
                self.rows[section].append(replace(self._row(line, section), group=group, cue=cue))
        self._compiled: dict[str, re.Pattern[str]] = {}

    def _row(self, line: str, section: str) -> Row:
        rule, _, examples = line.partition("   + ")
        head, source = _split(rule, " := ")
        what, text = _split(head, ": ")
        what, marks = _split(what.rstrip(")"), " (")
        stated, denied = _split(text, " / ")
        fits, fits_not = _split(examples, "  - ")
        source = f"(?:{source})<TAIL>" if section == "facts" else source
        return Row(
            what, frozenset(marks.split(", ")), stated, denied, self._filled(source), fits=fits, fits_not=fits_not
        )

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
