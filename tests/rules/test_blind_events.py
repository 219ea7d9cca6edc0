"""Which events the rules find in sentences by somebody who had not seen them: what happened, what is planned, and on which day.

``MOECHAT_SHOW_BLIND=1 pytest -s tests/rules/test_blind_events.py`` prints what is wrong and what is missed.
"""

from __future__ import annotations

import os
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
import yaml
from test_blind import Score

from moechat.model import Event, Exchange
from moechat.rules import reading
from moechat.rules.table import Language

HERE = Path(__file__).with_name("blind")
AT = datetime(2025, 5, 21, 15, 0, tzinfo=timezone(timedelta(hours=8)))


def score(file: str, language: Language) -> Score:
    total = Score()
    for entry in yaml.safe_load((HERE / f"{file}.{language}.yaml").read_text(encoding="utf-8")):
        text, expected = entry["text"], list(entry["events"])
        understanding = reading.understand(Exchange("x1", AT, text, ""), language=language)
        for event in [one for one in understanding.events if one not in understanding.doubtful]:
            fit = next((one for one in expected if _is(event, one)), None)
            if fit is None:
                day = event.happened[0].date().isoformat() if event.happened else None
                total.wrong.append(f"{text} -> {event.text} ({event.status}, {day}), not {entry['events']}")
            else:
                expected.remove(fit)
                total.right += 1
        total.missed += [f"{text} -> {one}" for one in expected]
    return total


def _is(event: Event, expected: dict[str, Any]) -> bool:
    day = event.happened[0].date().isoformat() if event.happened else None
    words = all(word.lower() in event.text.lower() for word in expected["has"])
    return words and (event.status, day) == (expected["status"], expected["day"])


@pytest.mark.parametrize(
    ("file", "language", "precision", "recall"),
    [
        ("events", "zh", 0.96, 0.94),
        ("events", "en", 0.95, 0.93),
        pytest.param("events2", "zh", 0.92, 0.79, marks=pytest.mark.slow),
        pytest.param("events2", "en", 0.92, 0.76, marks=pytest.mark.slow),
    ],
)
def test_events_are_found_with_their_days(file: str, language: Language, precision: float, recall: float) -> None:
    found = score(file, language)
    if os.environ.get("MOECHAT_SHOW_BLIND"):
        print(f"\n{file} {language}: {found}", *("  wrong: " + one for one in found.wrong), sep="\n")
        print(*("  missed: " + one for one in found.missed), sep="\n")
    assert found.precision >= precision and found.recall >= recall, str(found)
