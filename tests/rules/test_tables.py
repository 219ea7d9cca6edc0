"""The examples and counter-examples that stand in the tables of the rules."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from moechat.rules import clause, facts
from moechat.rules.table import Language, table

NOW = datetime(2025, 5, 21, 15, 0, tzinfo=timezone(timedelta(hours=8)))
LANGUAGES: tuple[Language, ...] = ("zh", "en")


def keywords(text: str, language: Language) -> list[str]:
    drafts = facts.stated(text, clause.read_clauses(text, language), "x", NOW, language)
    return [fact.keyword for _, fact in drafts]


def moods(text: str, language: Language) -> list[str]:
    return [part.mood for part in clause.read_clauses(text, language)]


def test_a_clause_is_meant_as_its_line_says() -> None:
    wrong = []
    for language, row in ((of, row) for of in LANGUAGES for row in table(of).rows["moods"]):
        mood = row.what.split()[0]
        is_right = mood in moods(row.fits, language) and mood not in moods(row.fits_not, language)
        wrong += [] if is_right else [row]
    assert wrong == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_line_has_an_example_and_a_counter_example(language: Language) -> None:
    bare = [row.source for row in table(language).rows["moods"] if not (row.fits and row.fits_not)]
    assert bare == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_pattern_can_be_compiled(language: Language) -> None:
    for section in table(language).rows.values():
        for row in section:
            assert row.pattern


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("face", ["👩\u200d👧", ":(", "-:", "。"])
def test_a_face_that_does_not_end_keeps_nothing_else_from_being_read(face: str, language: Language) -> None:
    words = {"zh": "我对花生过敏。", "en": "I am allergic to peanuts. "}[language]
    assert keywords(f"{words}{face * 2_000}x", language) == keywords(words, language) != []
