"""Killed, or met by a fault of the disk, at any file operation of any verb, or damaged in any file: nothing that was shown is
lost or doubled, and nothing forgotten comes back.

The work is done by ``python -m tests.attack.kill``, ``.faults`` and ``.damage``, processes without threads, which fork. The long
tests draw their cases by the seed: ``make soak SEED=7``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs fork, and names of open files")
SEED = os.environ.get("SEED", "1")


def attacked(root: Path, harness: str, *options: str) -> list[dict[str, Any]]:
    """Every strike, with its problems."""
    environment = os.environ | {"PYTHONPATH": str(root), "PYTHONUTF8": "1"}
    run = subprocess.run(
        [sys.executable, "-m", f"tests.attack.{harness}", "--json", *options],
        cwd=root, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode in (0, 3), run.stderr
    return [json.loads(line) for line in run.stdout.splitlines()]


def problems(strikes: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    """What was struck, how, and what is wrong then."""
    return [
        (
            *(str(value) for key, value in one.items() if key not in ("reached", "refused", "problems", "is_shorter")),
            kind,
            text,
        )
        for one in strikes
        for kind, text in one["problems"]
    ]


@pytest.mark.parametrize("part", ["1/3", *(pytest.param(part, marks=pytest.mark.slow) for part in ("2/3", "3/3"))])
def test_a_kill_at_some_operations_of_some_verbs_loses_nothing(root: Path, part: str) -> None:
    kills = attacked(root, "kill", "--every", "150", "--part", part)
    assert len({one["verb"] for one in kills}) > 5
    assert {one["operation"]["role"] for one in kills} == {"main", "worker"}
    assert problems(kills) == []


def test_a_fault_of_the_disk_at_some_operations_loses_nothing(root: Path) -> None:
    verbs = ("talk", "correct", "forget an exchange")
    faults = attacked(root, "faults", "--each", "2", *(f"--verb={verb}" for verb in verbs))
    assert {one["verb"] for one in faults} == set(verbs)
    assert problems(faults) == []


def test_some_damage_to_some_files_loses_nothing_that_another_file_has(root: Path) -> None:
    assert problems(attacked(root, "damage", "--each", "15")) == []


@pytest.mark.soak
@pytest.mark.parametrize("part", ["1/2", "2/2"])
def test_hundreds_of_kills_in_every_verb_lose_nothing(root: Path, part: str) -> None:
    kills = attacked(root, "kill", "--each", "13", "--seed", SEED, "--part", part)
    print(f"{len(kills)} kills with the seed {SEED}")
    assert len(kills) > 250
    assert problems(kills) == []


@pytest.mark.soak
@pytest.mark.parametrize("part", ["1/2", "2/2"])
def test_hundreds_of_faults_in_every_verb_lose_nothing(root: Path, part: str) -> None:
    faults = attacked(root, "faults", "--each", "9", "--seed", SEED, "--part", part)
    print(f"{len(faults)} faults with the seed {SEED}")
    assert len(faults) > 150
    assert problems(faults) == []


@pytest.mark.soak
def test_damage_to_every_file_loses_nothing_that_another_file_has(root: Path) -> None:
    cases = attacked(root, "damage", "--seed", SEED)
    print(f"{len(cases)} cases of damage with the seed {SEED}")
    assert problems(cases) == []
