"""A store of files and one in memory say the same, whatever happens to them; so does another process that reads the files."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.twins import walked

WALKS, SOAK_WALKS = 32, 2000


@pytest.fixture
def folder() -> Iterator[Path]:
    """In memory where the machine has such a place: each walk writes durably a hundred times."""
    fast = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=fast) as name:
        yield Path(name)


@pytest.mark.parametrize("part", range(4))
def test_files_and_memory_are_the_same_after_any_walk(folder: Path, part: int) -> None:
    for seed in range(part, WALKS, 4):
        walked(folder / str(seed), seed, is_told=seed == part)


@pytest.mark.soak
def test_files_and_memory_are_the_same_after_thousands_of_walks(folder: Path) -> None:
    begun, steps = time.monotonic(), 0
    for seed in range(1000, 1000 + SOAK_WALKS):
        steps += walked(folder / str(seed), seed, is_told=not seed % 40)
        shutil.rmtree(folder / str(seed))
    print(f"{SOAK_WALKS} walks of {steps} steps in {time.monotonic() - begun:.0f} s")
