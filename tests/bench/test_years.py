"""A few days of a life: the same for the same seed, nothing left of what was forgotten, and one memory by three doors."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from moechat.bench import recall, years
from moechat.bench.dataset import read
from moechat.bench.life import Language, Life
from moechat.model import Fact, FactDraft


def said(language: Language, seed: int) -> list[tuple[str, str, str]]:
    return [
        (one.at.isoformat(), one.kind, one.text)
        for day in Life(language, seed, 12, years.ZONE).days(120)
        for one in day
    ]


@pytest.mark.parametrize("language", ["zh", "en"])
def test_a_life_is_the_same_for_the_same_seed(language: Language) -> None:
    life = said(language, 3)
    assert life == said(language, 3) != said(language, 4)
    assert {kind for _, kind, _ in life} == {"small", "day", "tell", "ask", "forget"}


def test_three_doors_give_equal_memory_and_the_forgotten_leaves_no_byte(tmp_path: Path) -> None:
    outcomes = [
        years.lived("zh", 2, days=3, per_day=4, door=door, folder=tmp_path / door, embedding="hash", forgets_on=2)
        for door in years.DOORS
    ]
    first = outcomes[0]
    assert first.memory["exchanges"] and first.forgotten
    assert [one.memory for one in outcomes] == [first.memory] * 3
    assert [one.bytes_left for one in outcomes] == [[]] * 3
    folder = tmp_path / "python"
    kept = first.memory["exchanges"][0]
    assert years.remains(folder, [kept]), "what was not forgotten is found"


def test_a_life_as_a_file_is_read_by_the_bench_of_recall(tmp_path: Path) -> None:
    years.write_file("en", 1, days=60, per_day=8, path=tmp_path / "life.jsonl")
    (haystack,) = read(tmp_path / "life.jsonl")
    assert len(haystack.utterances) > 300 and len(haystack.questions) > 10
    assert all(question.counts for question in haystack.questions)
    assert recall.further(haystack, [haystack])["small_talk"]


@pytest.mark.parametrize(
    ("fact", "value", "is_said"),
    [
        (FactDraft("The user lives in Thornley", (), keyword="home", target="Thornley"), "thornley wharf", True),
        (
            FactDraft("The user lives in Thornley Wharf", (), keyword="home", target="Thornley Wharf"),
            "thornley wharf",
            True,
        ),
        (FactDraft("用户不住在青石里", (), keyword="住址", target="青石里", polarity=-1), "青石里", False),
        (FactDraft("用户的专业是设计", (), keyword="专业", target="设计"), "远山设计", False),
    ],
)
def test_a_value_is_told_as_so_by_its_name_or_the_beginning_of_it(fact: FactDraft, value: str, is_said: bool) -> None:
    assert years.says(Fact("x", datetime(2026, 5, 3, tzinfo=UTC), fact), value) is is_said
