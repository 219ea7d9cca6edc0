"""The words of the page: a file for each language beside this one, with the same keys."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cache
from pathlib import Path

import yaml

from moechat.settings.character import Language
from moechat.when import names


@cache
def _file(language: Language) -> tuple[Mapping[str, str], Sequence[tuple[re.Pattern[str], str]]]:
    """The texts by name, and the faults: (pattern, text)."""
    text = Path(__file__).with_name(f"{language}.yaml").read_text(encoding="utf-8")
    whole = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506  both build plain data only
    return whole["words"], [(re.compile(pattern), text) for pattern, text in whole.get("faults", ())]


WEEKDAYS: Mapping[Language, tuple[str, ...]] = {
    "zh": tuple(f"周{name[-1]}" for name in names.WEEKDAYS["zh"]),
    "en": tuple(name[:3] for name in names.WEEKDAYS["en"]),
}
MONTHS = tuple(name[:3] for name in names.MONTHS)


@dataclass(frozen=True)
class Words:
    """The page's words in one language: ``words("memories", n=3)``. ``year`` is the present one, which no day needs beside it; 0:
    nobody knows, and none has it."""

    language: Language
    year: int = 0

    def __call__(self, name: str, /, **values: object) -> str:
        return _file(self.language)[0][name].format(**values)

    def __contains__(self, name: str) -> bool:
        return name in _file(self.language)[0]

    @property
    def faults(self) -> Sequence[tuple[re.Pattern[str], str]]:
        """What the program says of files and settings in English, as patterns, and what stands in this language instead."""
        return _file(self.language)[1]

    def count(self, name: str, n: int) -> str:
        """The text for a number of things: that of one alone, where there is such a text."""
        return self(f"{name}_one") if n == 1 and f"{name}_one" in self else self(name, n=n)

    def listed(self, words: Sequence[str]) -> str:
        """「火锅」、「香菜」 · “hotpot”, “coriander”."""
        return (
            "、".join(f"「{word}」" for word in words)
            if self.language == "zh"
            else ", ".join(f"“{word}”" for word in words)
        )

    def row(self, texts: Iterable[str]) -> str:
        """火锅、香菜 · hotpot, coriander."""
        return ("、" if self.language == "zh" else ", ").join(texts)

    def short_day(self, moment: date) -> str:
        """5月20日 · 20 May."""
        month = self.month(moment.month)
        return f"{month}{moment.day}日" if self.language == "zh" else f"{moment.day} {month}"

    def month(self, number: int) -> str:
        """5月 · May."""
        return f"{number}月" if self.language == "zh" else MONTHS[number - 1]

    def in_year(self, text: str, year: int) -> str:
        """2025年5月 · May 2025; of "" the year alone."""
        return f"{year}年{text}" if self.language == "zh" else f"{text} {year}".strip()

    def near_day(self, moment: date) -> str:
        """5月20日 · 20 May; with its year where that is another."""
        day = self.short_day(moment)
        return day if self.year in (0, moment.year) else self.in_year(day, moment.year)

    def as_exactly(self, iso: str) -> str:
        """A day, a month or a year, as it was said: 2022-05 is 2022年5月."""
        year, month, day = ([int(part) for part in iso.split("-")] + [0, 0])[:3]
        if day:
            return self.near_day(date(year, month, day))
        return self.in_year(self.month(month) if month else "", year)

    def day(self, moment: date) -> str:
        """2025年5月20日 周二 · Tue, 20 May 2025."""
        weekday = WEEKDAYS[self.language][moment.weekday()]
        day = self.in_year(self.short_day(moment), moment.year)
        return f"{day} {weekday}" if self.language == "zh" else f"{weekday}, {day}"

    def moment(self, moment: datetime) -> str:
        """2025年5月20日 15:03 · 20 May 2025, 15:03."""
        year = f"{moment.year}年" if self.language == "zh" else ""
        after = "" if self.language == "zh" else f" {moment.year},"
        return f"{year}{self.short_day(moment)}{after} {moment:%H:%M}"

    def stretch(self, start: datetime, end: datetime) -> str:
        """A stretch of time as short as it can be said: a day, days, a month, a year, or hours with their day."""
        is_whole = (start.hour, start.minute) == (0, 0) and (end.hour, end.minute) == (23, 59)
        if start.date() == end.date():
            return self.day(start) if is_whole else f"{self.day(start)} {start:%H:%M}–{end:%H:%M}"
        if not is_whole:
            return f"{self.day(start)} {start:%H:%M} – {self.day(end)} {end:%H:%M}"
        if start.day == (end + timedelta(days=1)).day == 1 and start.year == end.year:
            if (start.month, end.month) == (1, 12):
                return self.in_year("", start.year)
            if start.month == end.month:
                return self.in_year(self.month(start.month), start.year)
        if start.year == end.year:
            between = "–" if self.language == "zh" else " – "
            return self.in_year(f"{self.short_day(start)}{between}{self.short_day(end)}", end.year)
        return f"{self.day(start)} – {self.day(end)}"
