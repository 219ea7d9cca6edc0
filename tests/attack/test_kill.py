"""Killed at any file operation of any verb, nothing that was shown is lost or doubled, and nothing forgotten comes back.

The work is done by ``python -m tests.attack.kill``, a process without threads, which forks.
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


def killed(root: Path, *options: str) -> list[dict[str, Any]]:
    """Every kill, with its problems."""
    environment = os.environ | {"PYTHONPATH": str(root), "PYTHONUTF8": "1"}
    run = subprocess.run(
        [sys.executable, "-m", "tests.attack.kill", "--json", *options],
        cwd=root, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode in (0, 3), run.stderr
    return [json.loads(line) for line in run.stdout.splitlines()]


def problems(kills: list[dict[str, Any]]) -> list[tuple[str, str, str, str, str]]:
    """(verb, when, operation, kind, words) of each."""
    return [
        (one["verb"], one["when"], " ".join(map(str, one["operation"].values())), kind, text)
        for one in kills
        for kind, text in one["problems"]
    ]


@pytest.mark.parametrize("part", ["1/2", "2/2"])
def test_a_kill_at_some_operations_of_each_verb_loses_nothing(root: Path, part: str) -> None:
    kills = killed(root, "--every", "80", "--part", part)
    assert len({one["verb"] for one in kills}) > 5
    assert problems(kills) == []


@pytest.mark.soak
@pytest.mark.parametrize("part", ["1/2", "2/2"])
def test_a_kill_before_and_after_every_operation_loses_nothing(root: Path, part: str) -> None:
    kills = killed(root, "--part", part)
    assert problems(kills) == []
    print(f"{len(kills)} kills of {len({one['verb'] for one in kills})} verbs")
