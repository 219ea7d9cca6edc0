"""Four processes at once on one owner lose nothing that was shown."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.soak
def test_two_talkers_an_importer_and_a_forgetter_lose_nothing(root: Path) -> None:
    run = subprocess.run(
        [sys.executable, str(root / "benchmarks" / "lock.py"), "--seconds", "15", "--json"],
        env=os.environ | {"PYTHONUTF8": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode in (0, 1), run.stderr
    result = json.loads(run.stdout)
    print({name: result[name] for name in ("held", "done", "refused", "load_before", "others_running")})
    assert result["problems"] == []
    assert result["done"].keys() == {"turns", "imports", "forgotten"}
