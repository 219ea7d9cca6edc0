"""What the rules make of sentences by somebody who had not seen them.

``MOECHAT_SHOW_BLIND=1 pytest -s tests/rules/test_blind.py`` prints what is wrong and what is missed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
import yaml

from moechat.memory import contradiction
from moechat.model import Exchange, FactDraft
from moechat.rules import reading
from moechat.when.names import chinese_number, english_number

HERE = Path(__file__).with_name("blind")
AT = datetime(2025, 5, 21, 15, 0, tzinfo=timezone(timedelta(hours=8)))

# The kinds of the sentences, by the classes of keywords that a fact may have.
KINDS = {
    "name": {"name"}, "age": {"age"}, "birthday": {"birthday"}, "home": {"home"}, "work": {"job", "employer"},
    "study": {"school", "major", "grade"}, "family": {"family", "partner"}, "pet": {"pet"}, "allergy": {"allergy"},
    "illness": {"health"}, "like": {"taste", "favourite"}, "dislike": {"taste", "favourite"},
}  # fmt: skip
_ORDINALS = re.compile(r"\b(\d+)(?:st|nd|rd|th)\b")
_NUMBERS = re.compile(r"[零一二两三四五六七八九十百]+|\b(?:[a-z]+-)?[a-z]+\b")


@dataclass
class Score:
    """What was found of what should be, and what should not."""

    right: int = 0
    wrong: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)

    @property
    def precision(self) -> float:
        return self.right / max(1, self.right + len(self.wrong))

    @property
    def recall(self) -> float:
        return self.right / max(1, self.right + len(self.missed))

    def __str__(self) -> str:
        counts = f"{self.right} right, {len(self.wrong)} wrong, {len(self.missed)} missed"
        return f"{counts}, precision {self.precision:.3f}, recall {self.recall:.3f}"


LATER = ("hometown", "language", "learning")  # These sets were made before such facts were read.


def score(file: str) -> Score:
    total = Score()
    for entry in yaml.safe_load((HERE / f"{file}.yaml").read_text(encoding="utf-8")):
        at = datetime.fromisoformat(entry["at"]) if "at" in entry else AT
        facts = list(
            reading.understand(Exchange("x", at.replace(tzinfo=at.tzinfo or AT.tzinfo), entry["say"], "")).facts
        )
        store, may = list(entry["store"] or ()), list(entry.get("may") or ())
        for fact in (one for one in facts if one.kind != "boundary"):  # those have tests of their own
            if (fitting := next((one for one in store if fits(fact, one)), None)) is not None:
                store.remove(fitting)
                total.right += 1
            elif contradiction.keyword_class(fact) not in LATER and not any(
                fits(fact, one) for one in [*(entry["store"] or ()), *may]
            ):
                total.wrong.append(f"{entry['say']} → {fact.entity}: {fact.text} ({fact.polarity:+})")
        total.missed.extend(f"{entry['say']} → {one}" for one in store)
    return total


def fits(fact: FactDraft, one: dict[str, Any]) -> bool:
    """Whether a fact is the finding ``one``: its kind, its words, whose it is and its sign."""
    name = contradiction.keyword_class(fact).partition(":")[0]
    classes = set().union(*KINDS.values()) if one["kind"] == "correction" else KINDS[one["kind"]]
    if one["kind"] == "study" and re.search("student|生$", fact.target):
        classes = {*classes, "job"}
    text = {form for text in (fact.text, fact.target) for form in forms(text)}
    words = all(any(one_form in form for form in text for one_form in forms(str(word))) for word in one["words"])
    return name in classes and words and _whose(fact, str(one["entity"])) and _sign(fact, name) == one["polarity"]


def _whose(fact: FactDraft, entity: str) -> bool:
    if "user" in (entity, fact.entity):
        return entity == fact.entity
    return entity.casefold() in f"{fact.entity} {fact.text}".casefold()


def _sign(fact: FactDraft, name: str) -> int:
    return contradiction.polarity(fact) if name in ("taste", "favourite") else fact.polarity


def forms(text: str) -> Iterator[str]:
    """A text as it stands, and with its numbers in digits, in lower case."""
    text = _ORDINALS.sub(r"\1", text)
    yield text.casefold()
    yield _NUMBERS.sub(lambda match: f"{_value(match[0]):g}" if _value(match[0]) else match[0], text.casefold())


def _value(text: str) -> float:
    return (chinese_number(text) if not text.isascii() else english_number(text)) or 0


# What is reached, in two decimals downwards. At its first run, unseen, each file had (precision / recall): first.zh .887 / .416,
# first.en .846 / .383; then, what was wrong in these mended, second.zh .861 / .287, second.en .767 / .209; then, the rules
# written anew, third.zh .912 / .477, third.en .936 / .407; then, those mended, fourth.zh .917 / .379, fourth.en .962 / .439.
# The reading of all of them was made more general with the fourth before the eyes; then fifth.zh .961 / .698, fifth.en
# .910 / .570; then, those mended, sixth.zh .928 / .604, sixth.en .968 / .598; then, those mended, seventh.zh .976 / .755,
# seventh.en .989 / .840: together 169 right of 172, of 212 wanted. Since then the frames have learned from all of them
# (reading/frames/heard_before), so that what is reached here says nothing about words that nobody has seen. When the patterns
# that had been written with these files before the eyes went, most fell, from .98 … .99 right and .63 … .90 found. Since a value
# must be told as a fact and not in a story, .02 more in the mean is right and .02 less found.
FLOORS = {
    "first.zh": (0.95, 0.85), "first.en": (0.95, 0.85), "second.zh": (0.94, 0.76), "second.en": (0.97, 0.72),
    "third.zh": (0.92, 0.78), "third.en": (0.94, 0.82), "fourth.zh": (0.97, 0.64), "fourth.en": (0.93, 0.76),
    "fifth.zh": (0.90, 0.75), "fifth.en": (0.94, 0.74), "sixth.zh": (0.90, 0.67), "sixth.en": (0.89, 0.77),
    "seventh.zh": (1.00, 0.83), "seventh.en": (0.97, 0.86),
}  # fmt: skip


QUICK = ("seventh.zh", "seventh.en")


@pytest.mark.parametrize(
    ("file", "floors"),
    [pytest.param(*one, marks=() if one[0] in QUICK else pytest.mark.slow) for one in FLOORS.items()],
)
def test_what_was_reached_is_kept(file: str, floors: tuple[float, float]) -> None:
    reached = score(file)
    if os.environ.get("MOECHAT_SHOW_BLIND"):
        print(f"\n{file}: {reached}", *(f"wrong  {line}" for line in reached.wrong), sep="\n")
        print(*(f"missed {line}" for line in reached.missed), sep="\n")

    assert reached.precision >= floors[0]
    assert reached.recall >= floors[1]
