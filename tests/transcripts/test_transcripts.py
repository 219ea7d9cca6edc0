"""A long talk goes as it went when it was recorded, and the same over every kind of store: here its beginning, in which every
kind of step comes; ``make transcripts`` holds all of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.transcripts import goldens
from tests.transcripts.__main__ import database
from tests.transcripts.script import FIRST, WEIGHTS
from tests.transcripts.stage import Stage

COUNT = len(FIRST) + 2


@pytest.mark.parametrize("kind", ["files", "memory", "tables"])
def test_a_talk_goes_as_it_was_recorded(tmp_path: Path, kind: str) -> None:
    with database(kind) as address:
        played = list(goldens.played(tmp_path, kind, COUNT, address))
    parted = []
    for (step, record), golden in zip(played, goldens.golden_lines(), strict=False):
        if parts := goldens.differing(goldens.line(step, record), golden):
            parted.append(f"step {step.number} ({step.kind}, {step.character}): {', '.join(parts)}")
            if not set(parts).isdisjoint(goldens.WHOLE_PARTS) and goldens.is_kept_whole(step):
                kept = (goldens.GOLDENS / goldens.file_of(step)).read_text(encoding="utf-8")
                parted.append(goldens.difference(kept, goldens.shortened(goldens.whole(record)), ("golden", "now")))
    assert not parted, "\n".join([*parted, "python -m tests.transcripts --against origin/main shows it"])


def test_the_documents_for_programs_are_as_they_were_recorded(tmp_path: Path) -> None:
    stage = Stage(tmp_path, "files")
    try:
        now = goldens.documents(stage.house)
    finally:
        stage.close()
    assert now == {name: (goldens.GOLDENS / name).read_text(encoding="utf-8") for name in now}


def test_every_kind_of_step_comes_at_the_beginning() -> None:
    assert set(FIRST) == set(WEIGHTS)
