"""No text breaks the reader: sentences built from its own words, and every text of the sample data as it is and cut about."""

from __future__ import annotations

import json
import os
import random
import re
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from moechat.when import asks, en_times, resolve, zh
from moechat.when.en import ENGLISH
from moechat.when.expression import Language
from moechat.when.reader import PATTERNS as ANCHOR_PATTERNS
from moechat.when.zh import CHINESE

CHINA = timezone(timedelta(hours=8))
NOWS = [
    datetime(2025, 5, 21, 15, 0, tzinfo=CHINA),
    datetime(2024, 2, 29, 0, 10, tzinfo=CHINA),
    datetime(2024, 12, 31, 23, 59, 59, tzinfo=CHINA),
    datetime(1, 1, 1, tzinfo=CHINA),
    datetime(9999, 12, 31, 12, 0, tzinfo=CHINA),
]
SHARED = Path(os.environ.get("MOECHAT_SHARED", Path(__file__).resolve().parents[3] / "shared"))


def read(text: str, now: datetime) -> None:
    """Read a text in every way; what does not hold for every text fails."""
    for use in ("recall", "writing"):
        for anchors in (None, lambda anchor: (NOWS[1], NOWS[1]) if len(anchor) % 2 else None):
            spans = resolve(text, now, use=use, anchors=anchors)  # type: ignore[arg-type]
            asks(text, spans)
            for span in spans:
                assert span.start <= span.end, text
                assert text[span.at[0] : span.at[1]].strip() == span.phrase, text


@pytest.mark.parametrize(
    ("text", "phrase", "first", "last"),
    [
        ("It rained for months before Christmas.", "months before Christmas", "2024-06-25", "2024-12-24"),
        ("weeks before Christmas", "weeks before Christmas", "2024-11-13", "2024-12-24"),
        ("days after Christmas", "days after Christmas", "2024-12-26", "2025-01-01"),
        ("we met years after 2010", "years after 2010", "2011-01-01", "2016-12-31"),
        ("the week before Christmas", "the week before Christmas", "2024-12-18", "2024-12-24"),
        ("the month after Christmas", "the month after Christmas", "2025-01-01", "2025-01-31"),
        ("two months before Christmas", "two months before Christmas", "2024-10-01", "2024-10-31"),
        ("three years after 2010", "three years after 2010", "2013-01-01", "2013-12-31"),
        ("last new year’s eve", "last new year’s eve", "2024-12-31", "2024-12-31"),
        ("in the 80’s", "the 80’s", "1980-01-01", "1989-12-31"),
        ("ſunday", "ſunday", "2025-05-18", "2025-05-18"),
        ("LAST WEEK", "LAST WEEK", "2025-05-12", "2025-05-18"),
        ("五月的上旬", "五月的上旬", "2025-05-01", "2025-05-10"),
        ("四月的底", "四月的底", "2025-04-21", "2025-04-30"),
        ("3月5日那个月", "3月5日那个月", "2025-03-01", "2025-03-31"),
        ("twenty-five days ago", "twenty-five days ago", "2025-04-26", "2025-04-26"),
        ("twenty five days ago", "twenty five days ago", "2025-04-26", "2025-04-26"),
    ],
)
def test_a_form_that_the_tables_do_not_spell_out_is_read(text: str, phrase: str, first: str, last: str) -> None:
    (span,) = resolve(text, NOWS[0])
    assert span.phrase == phrase
    assert (span.start.date().isoformat(), span.end.date().isoformat()) == (first, last)


@pytest.mark.parametrize(
    "text",
    ["I waited for months before the exam.", "weeks before the wedding", "years after we met", "hours before the show"],
)
def test_a_distance_from_what_has_no_date_is_no_time(text: str) -> None:
    assert resolve(text, NOWS[0]) == []


def vocabulary() -> dict[str, list[str]]:
    """The words of every table and pattern, by language; in Chinese single characters too."""
    sources = {"zh": str(vars(zh)) + str(ANCHOR_PATTERNS), "en": str(vars(en_times)) + str(ANCHOR_PATTERNS)}
    numbers = ["0", "3", "15", "31", "99", "2023", "9999", "12:30", "1.5", "2024-02-30", "5/20", "3rd"]
    glue = {"zh": [*"，。的到和了 "], "en": [",", ".", "the", "of", "to", "and", "in", "-", "’s"]}
    runs = {"zh": r"[\u4e00-\u9fff]", "en": r"[A-Za-z][A-Za-z']+"}
    found = {language: set(re.findall(runs[language], source)) for language, source in sources.items()}
    found["zh"] |= set(re.findall(r"[\u4e00-\u9fff]{2,4}", sources["zh"]))
    found["en"] |= set(en_times.FESTIVAL_NAMES) | set(en_times.VAGUE_PAST) | set(en_times.VAGUE_TILL_NOW)
    return {language: sorted(found[language]) + 20 * (numbers + glue[language]) for language in found}


@pytest.mark.parametrize("seed", range(4))
def test_no_sentence_of_time_words_raises(seed: int) -> None:
    rng, words = random.Random(seed), vocabulary()
    for _ in range(400):
        language = rng.choice(("zh", "en"))
        between = " " if language == "en" else ""
        text = between.join(rng.choice(words[language]) for _ in range(rng.randint(1, 8)))
        if rng.random() < 0.1:
            text = text.upper()
        if rng.random() < 0.1:
            text = text.translate(str.maketrans("ski'", "ſKı’"))
        read(text, rng.choice(NOWS))


@pytest.mark.parametrize("language", [CHINESE, ENGLISH], ids=["zh", "en"])
def test_what_is_found_place_by_place_is_what_a_search_finds(language: Language) -> None:
    rng, words = random.Random(5), vocabulary()
    for _ in range(60):
        name = rng.choice(("zh", "en"))
        text = (
            rng.choice(("", " "))
            .join(rng.choice(words[name]) for _ in range(rng.randint(1, 12)))
            .translate(language.plain)
        )
        found, at = [], 0
        while match := language._any_pattern.search(text, at):
            found.append(match.span())
            at = max(match.end(), match.start() + 1)
        assert [match.span() for match in language._matches(text)] == found, text
        rest = language.unread(text)
        assert rest == "".join(" " if any(a <= at < b for a, b in found) else char for at, char in enumerate(text))


def sample_texts() -> Iterator[str]:
    for path in sorted((SHARED / "data").rglob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            yield from (row[key] for key in ("text", "question") if row.get(key))


def test_no_text_of_the_sample_data_raises_whole_or_cut_about() -> None:
    texts = list(dict.fromkeys(sample_texts()))
    if not texts:
        pytest.skip(f"the sample data is not at {SHARED / 'data'}; set MOECHAT_SHARED")
    rng = random.Random(7)
    for text in rng.sample(texts, min(len(texts), 100)):
        read(text, NOWS[0])
        head, tail = text[: rng.randint(0, len(text))], rng.choice(texts)
        read(head + tail[rng.randint(0, len(tail)) :], rng.choice(NOWS))
