"""A short part of ``make fuzz``, and that it finds what it looks for."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and bounds for a process")
ROOT = Path(__file__).parents[2]


def test_no_parser_does_more_than_refuse() -> None:
    command = [sys.executable, "-m", "tests.fuzz", "--inputs", "80", "--sentences", "0", "--json"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, encoding="utf-8", check=False)
    outcomes = [json.loads(line) for line in done.stdout.splitlines()]
    assert [fault for outcome in outcomes for fault in outcome["faults"]] == [], done.stderr
    assert len(outcomes) > 30, done.stderr


def _raise(data: bytes, folder: Path) -> None:
    raise KeyError("months before")


def _die(data: bytes, folder: Path) -> None:
    ctypes.string_at(0)


def _hang(data: bytes, folder: Path) -> None:
    while True:
        pass


def _flood(data: bytes, folder: Path) -> None:
    bytearray(1 << 30)


def _refuse(data: bytes, folder: Path) -> None:
    from moechat.errors import DataError

    raise DataError("a.yaml", "is wrong")


@pytest.mark.parametrize(
    ("read", "fault"),
    [(_raise, "KeyError"), (_die, "killed by SIGSEGV"), (_hang, "hangs"), (_flood, "MemoryError"), (_refuse, "")],
)
def test_what_a_parser_may_not_do_is_found(
    read: Callable[[bytes, Path], None], fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.fuzz import batches, parsers

    monkeypatch.setattr(batches, "LONGEST_S", 0.5)
    parser = parsers.Parser("a parser", read, [b"x"], "text")
    outcome = batches.run(parser, 3, 1, warm=False)
    assert [one.what.split(":")[0] for one in outcome.faults.values()] == ([fault] if fault else [])
    assert outcome.inputs == 3


def test_the_same_seed_gives_the_same_inputs() -> None:
    from tests.fuzz import mutations, parsers

    for parser in parsers.PARSERS:
        assert [mutations.mutated(parser, 1, n) for n in range(20)] == [
            mutations.mutated(parser, 1, n) for n in range(20)
        ]
