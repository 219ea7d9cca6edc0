"""The measuring commands: what they ask to be measured, and how it is shown to people and to programs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from moechat.bench import recall, speed, years
from tests.shell import Shell

ASKED: dict[str, Any] = {"haystack": "h", "id": "q1", "kind": "chat", "sort": "own", "values": {"mrr": 1.0}}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What was asked of the benches, which answer at once."""
    words: dict[str, Any] = {}

    def measured(files: list[Path], **options: Any) -> None:
        words["recall"] = (files, options.pop("each"), options)
        for row in (ASKED, {"kinds": 2}):
            words["recall"][1](row)

    def lived(language: str, seed: int, **options: Any) -> Iterator[dict[str, Any]]:
        words["years"] = (language, seed, options)
        yield {"door": "python", "questions": 3}

    monkeypatch.setattr(
        speed, "speed", lambda entries: words.update(speed=entries) or {"entries": entries, "start_s": 0.5}
    )
    monkeypatch.setattr(recall, "measure", measured)
    monkeypatch.setattr(years, "measure", lived)
    monkeypatch.setattr(years, "write_file", lambda *args, **options: words.update(life=(args, options)))
    return words


def test_speed_is_measured_at_the_size_that_is_named(moechat: Shell, asked: dict[str, Any]) -> None:
    assert moechat("bench", "speed", "--entries", "30", now=None)[1] == [
        f"{'entries':>16}  30",
        f"{'start_s':>16}  0.5",
    ]
    assert moechat.json("bench", "speed", now=None) == {"entries": 10_000, "start_s": 0.5}


def test_recall_shows_all_but_single_questions_and_programs_get_those_too(
    moechat: Shell, asked: dict[str, Any]
) -> None:
    status, lines, _ = moechat("bench", "recall", "a.jsonl", "b.jsonl", "--embedding", "hash", "--keep", "k", now=None)
    assert (status, lines) == (0, ["over 2 kinds of talk: mean, and the worst"])
    files, _, options = asked["recall"]
    assert files == [Path("a.jsonl"), Path("b.jsonl")]
    assert options == {"config": moechat.home.config, "provider": "hash", "keep": Path("k")}
    _, lines, _ = moechat("bench", "recall", "a.jsonl", "--json", now=None)
    assert [json.loads(line) for line in lines] == [ASKED, {"kinds": 2}]
    moechat.home.config.unlink()
    moechat("bench", "recall", "a.jsonl", now=None)
    assert asked["recall"][2] == {"config": None, "provider": None, "keep": None}


def test_recall_is_compared_with_an_earlier_run(moechat: Shell, asked: dict[str, Any], tmp_path: Path) -> None:
    earlier = tmp_path / "run.jsonl"
    earlier.write_text(json.dumps(ASKED | {"values": {"mrr": 0.5}}), encoding="utf-8")
    _, lines, _ = moechat("bench", "recall", "a.jsonl", "--against", str(earlier), now=None)
    (line,) = lines[1:]
    assert line.split()[:3] == ["chat", "own", "mrr"] and "+0.500" in line


def test_a_life_is_measured_by_its_doors_or_written_and_not_measured(moechat: Shell, asked: dict[str, Any]) -> None:
    _, lines, _ = moechat(
        "bench", "years", "--language", "en", "--seed", "7", "--door", "all", "--wrong", "w", now=None
    )
    assert lines == [f"{'door':>18}  python", f"{'questions':>18}  3", ""]
    options = {"days": 30, "per_day": 12, "doors": years.DOORS, "embedding": "builtin", "wrong": Path("w")}
    assert asked.pop("years") == ("en", 7, options)
    assert moechat("bench", "years", "--days", "3", "--per-day", "5", "--write", "life.jsonl", now=None) == (0, [], [])
    assert asked.pop("life") == (("zh", 1), {"days": 3, "per_day": 5, "path": Path("life.jsonl")}) and not asked
