"""Years of everyday talk, made of a grammar (``years.LANGUAGE.toml``): the same for the same seed.

Matters are planted in it: what is so until it changes, more than once; what was begun and given up; what happened on a day; what
is so of other people, of like names too; what is grave. Of what happened and of other people's, a tenth is forgotten by its owner
later on. Questions about them come days or months after, and lie among small talk that needs nothing.
"""

from __future__ import annotations

import itertools
import random
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta, tzinfo
from pathlib import Path
from typing import Any, Literal

Language = Literal["zh", "en"]
Kind = Literal["small", "day", "tell", "ask", "forget"]
FIRST = date(2021, 1, 4)
SITTINGS = ((time(8), 0.25), (time(12, 30), 0.25), (time(20, 30), 0.5))  # begins at, share of the day's messages
PAUSE = timedelta(minutes=70)
MATTERS = {"given_up": 0.05, "event": 0.5, "other": 0.12, "like": 0.03, "grave": 0.03}
"""How many are told a day, for those who say a dozen things a day or more."""
FULL_DAY = 12
CHANGES = (45, 160)  # days between two changes of what is so
ASKED = ((3, 30), (40, 200))  # days until it is asked about
FORGOTTEN, FORGOTTEN_AFTER = 0.1, (40, 90)
SMALL = 0.55  # of what is said beside the matters
NIGHT = time(23, 40)
LOWER = {"zh": 0.0, "en": 0.5}


@dataclass(frozen=True)
class PlantedValue:
    """What was told of a matter: ``value`` is asked for later, ``happened`` the day that the words mean."""

    day: date
    text: str
    value: str
    happened: date


@dataclass
class PlantedMatter:
    """One matter, ``about`` whom it is ("": the user), and who has nearly that name (``twin``)."""

    kind: str
    about: str = ""
    twin: str = ""
    tellings: list[PlantedValue] = field(default_factory=list)
    is_over: bool = False  # It was forgotten.


@dataclass(frozen=True)
class LifeLine:
    """A message, or (``forget``) that the owner forgets a matter. ``ends``: a pause follows."""

    at: datetime
    text: str
    kind: Kind
    matter: PlantedMatter | None = None
    ends: bool = False


class Life:
    """One life. ``days`` is drawn as it is gone through, once; the ``matters`` of it grow with that."""

    def __init__(self, language: Language, seed: int, per_day: int, zone: tzinfo) -> None:
        self.of: Mapping[str, Any] = tomllib.loads(
            Path(__file__).with_name(f"years.{language}.toml").read_text("utf-8")
        )
        self.matters: list[PlantedMatter] = []
        self._language, self._per_day, self._zone = language, per_day, zone
        self._chance = random.Random(f"{language} {seed}")
        self._few: Mapping[str, Sequence[str]] = {**self.of["words"], **self.of["more"]}
        self._used: set[tuple[str, ...]] = set()
        self._due: list[tuple[date, int, str, PlantedMatter, Mapping[str, Any], dict[str, str]]] = []
        self._numbers = itertools.count()

    def days(self, count: int) -> Iterator[list[LifeLine]]:
        for number in range(count):
            yield self._day(FIRST + timedelta(days=number), number)

    def _day(self, today: date, number: int) -> list[LifeLine]:
        due: list[list[Any]] = [one for day, _, *one in sorted(self._due, key=lambda due: due[:2]) if day <= today]
        self._due = [due for due in self._due if due[0] > today]
        if number < 2 * len(self.of["state"]) and number % 2 == 0:  # One after the other, in the first days.
            due.append(["first", PlantedMatter("state"), self.of["state"][number // 2], {}])
        for name, share in MATTERS.items():
            if self._chance.random() < share * min(1, self._per_day / FULL_DAY):
                due += self._begun(name)
        lines = [line for one in due for line in self._line(today, *one)]
        messages = [line for line in lines if line.kind != "forget"]
        while len(messages) < self._per_day:
            kind: Kind = "small" if self._chance.random() < SMALL else "day"
            sentence = self._chance.choice(self.of["small" if kind == "small" else "days"])
            messages.append(LifeLine(datetime.min, self._spoken(sentence, self._words(today)[0]), kind))
        self._chance.shuffle(messages)
        return [*self._timed(today, messages), *(line for line in lines if line.kind == "forget")]

    def _timed(self, today: date, lines: Sequence[LifeLine]) -> Iterator[LifeLine]:
        """Spread over the sittings of a day; a telling keeps the moment that it gets."""
        left = list(lines)
        for begins, share in SITTINGS:
            is_last = begins == SITTINGS[-1][0]
            part = left if is_last else left[: max(1, round(share * len(lines)))]
            left = left[len(part) :]
            at = datetime.combine(today, begins, self._zone) + timedelta(minutes=self._chance.randrange(20))
            for number, line in enumerate(part, 1):
                at += timedelta(seconds=self._chance.randrange(40, 200))
                yield LifeLine(at, line.text, line.kind, line.matter, ends=number == len(part))

    def _begun(self, kind: str) -> Iterator[list[Any]]:
        """A new matter of this kind, or one each of two people of like names; what was told already is not told again."""
        of = self._chance.choice(self.of["other" if kind == "like" else kind])
        people = self._chance.choice(
            self.of["like"]["pairs"] if kind == "like" else [[who] for who in self.of["words"]["who"]]
        )
        key = {of["key"]: self._chance.choice(self.of["words"][of["key"]])} if "key" in of else {}
        for who in people:
            blanks = {} if kind in ("given_up", "grave") else {"who": who, **key}
            mark = (kind, of["value"], *blanks.values())
            if kind != "given_up":
                if mark in self._used:
                    continue
                self._used.add(mark)
            elif not self._unused(of["value"]):
                continue
            about = who if kind in ("other", "like") else ""
            twin = next((other for other in people if other != who), "")
            yield ["first" if kind == "given_up" else "tell", PlantedMatter(kind, about, twin), of, blanks]

    def _line(
        self, today: date, what: str, matter: PlantedMatter, of: Mapping[str, Any], blanks: dict[str, str]
    ) -> Iterator[LifeLine]:
        """What is said of a matter today; what is to be said of it later is put down."""
        at, last = datetime.combine(today, NIGHT, self._zone), matter.tellings[-1].value if matter.tellings else ""
        if what == "forget":
            matter.is_over = True
            yield LifeLine(at, "", "forget", matter)
        elif what == "ask":
            if not matter.is_over:
                yield LifeLine(at, self._spoken(self._chance.choice(of["ask"]), {**blanks, "v": last}), "ask", matter)
        else:
            words, happened = self._words(today)
            value = last if what == "over" else self._value(of["value"], last)
            text = self._spoken(self._chance.choice(of[what]), {**words, **blanks, "v": value, "old": last})
            matter.tellings.append(PlantedValue(today, text, value, happened if matter.kind == "event" else today))
            if len(matter.tellings) == 1:
                self.matters.append(matter)
            yield LifeLine(at, text, "tell", matter)
            later = [("ask", span) for span in ASKED] + [("change", CHANGES)] * ("change" in of)
            later += [("over", CHANGES)] * (what == "first" and "over" in of)
            if matter.kind in ("event", "other") and self._chance.random() < FORGOTTEN:
                later.append(("forget", FORGOTTEN_AFTER))
            for then, span in later:
                day = today + timedelta(days=self._chance.randint(*span))
                self._due.append((day, next(self._numbers), then, matter, of, blanks))

    def _unused(self, name: str) -> list[str]:
        coined = self.of["coined"].get(name)
        values = (
            ["".join(parts) for parts in itertools.product(*(part.split("|") for part in coined))] if coined else None
        )
        return [value for value in values or self._few[name] if (name, value) not in self._used]

    def _value(self, name: str, last: str) -> str:
        """A value that nothing has had; where there are few, one that is not the ``last``."""
        unused = self._unused(name) or [value for value in self._few[name] if value != last]
        value = self._chance.choice(unused)
        self._used.add((name, value))
        return value

    def _words(self, today: date) -> tuple[dict[str, str], date]:
        """A word for each blank, and the day that its ``when`` means."""
        times, weekday = self.of["time"], today.weekday()
        ago = self._chance.randint(weekday + 1, weekday + 7) if self._language == "zh" else self._chance.randint(2, 6)
        named = times["weekday"].format(day=times["weekdays"][(weekday - ago) % 7])
        when, back = self._chance.choice([*times["days"].items(), (named, ago)])
        words = {name: self._chance.choice(values) for name, values in self._few.items()}
        return words | {"when": when}, today - timedelta(days=back)

    def _spoken(self, sentence: str, words: Mapping[str, str]) -> str:
        text = sentence.format(**words)
        return text.lower() if self._chance.random() < LOWER[self._language] else text[0].upper() + text[1:]
