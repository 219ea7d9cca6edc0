"""What the program says of itself: every sentence in both languages. English may tell more of a model's own words."""

from __future__ import annotations

from string import Formatter

import pytest

from moechat.sentences import LANGUAGES, groups, sentence


def fields(text: str) -> set[str]:
    return {field for _, field, _, _ in Formatter().parse(text) if field}


@pytest.mark.parametrize("group", sorted(groups()))
def test_every_sentence_stands_in_both_languages_and_in_chinese_with_no_other_values(group: str) -> None:
    rows = groups()[group]
    assert rows
    assert {name for name, row in rows.items() if not all(row.get(language) for language in LANGUAGES)} == set()
    assert {name for name, row in rows.items() if not fields(row["zh"]) <= fields(row["en"])} == set()


def test_a_sentence_is_told_with_its_values_in_the_language_that_is_asked_for() -> None:
    assert sentence("fading", "days", "en", days=12) == "fades in about 12 days unless recalled"
    assert sentence("fading", "days", "zh", days=12) == "如果不再想起，大约 12 天后淡忘"


def test_whoever_asks_for_neither_language_is_told_in_chinese() -> None:
    assert sentence("fading", "pinned", "fr") == sentence("fading", "pinned", "zh")
