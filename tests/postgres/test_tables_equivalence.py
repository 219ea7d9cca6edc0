"""A store over tables and one in memory say the same, whatever happens to them; so does another process that reads the tables."""

from __future__ import annotations

import os
import time

import pytest

from tests.pg_server import fresh_name
from tests.table_twins import walked

STEPS, SOAK_STEPS = 240, 20_000


def test_tables_and_memory_are_the_same_after_any_walk(address: str) -> None:
    seed = steps = 0
    while steps < STEPS:
        steps += walked(address, fresh_name(), seed, compared_every=20, is_told=not seed % 12)
        seed += 1


@pytest.mark.soak
def test_tables_and_memory_are_the_same_after_thousands_of_steps(address: str) -> None:
    seed, begun, steps = int(os.environ.get("SEED", "1")) * 1000, time.monotonic(), 0
    while steps < SOAK_STEPS:
        steps += walked(address, fresh_name(), seed, compared_every=10, is_told=not seed % 40)
        seed += 1
    print(f"{steps} steps in {time.monotonic() - begun:.0f} s")
