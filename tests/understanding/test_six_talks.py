"""Talks that were written by somebody who had not read the code: with a model that reads them, a prompt holds the answers a week
and a year later, states nothing that is false or over, and holds whatever it holds without a model."""

from __future__ import annotations

from pathlib import Path

import pytest
from understanding.talks import replay

QUICK = ("en2", "zh2")
LEAST = {"week": 0.95, "year": 0.85}


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in replay.names()]
)
def test_a_talk_is_remembered_a_week_and_a_year_later(name: str, tmp_path: Path) -> None:
    talk = replay.Talk.read(name)
    without, read = (replay.live(talk, kind, tmp_path / kind) for kind in ("none", "first-class"))
    assert (read.false, read.unfitting) == ([], [])
    assert without.answered <= read.answered
    for after, least in LEAST.items():
        answered, missed = ({one for one, when in asked if when == after} for asked in (read.answered, read.unanswered))
        assert len(answered) >= int(least * len(answered | missed)), missed
