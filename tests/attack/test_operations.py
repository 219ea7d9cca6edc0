"""The watch over file operations: it numbers them, and ends a process before or after one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs the names of open files")

SCRIPT = """
import json, sys
from pathlib import Path
from moechat.store import records
from tests.attack.operations import Kill, Never, Watch

folder, target = Path(sys.argv[1]), json.loads(sys.argv[2])
last_words = lambda operation: print(json.dumps(operation.row()), flush=True)
watch = Watch(folder, Kill(*target, last_words) if target else Never(("main",)))
watch.begin()
watch.start()
records.append(folder / "lines", b"one")
(folder / "lines").read_bytes()
records.replace(folder / "lines", b"two")
(folder / "lines").unlink()
watch.active = False
print(json.dumps([[one.name, one.path.rpartition(".")[0] or one.path] for one in watch.operations]))
"""


def run(root: Path, folder: Path, target: list[object] | None) -> tuple[int, object]:
    """(exit status, what was printed last)."""
    folder.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(folder), json.dumps(target)],
        env=os.environ | {"PYTHONPATH": str(root)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def test_every_operation_that_changes_a_folder_is_numbered(root: Path, tmp_path: Path) -> None:
    status, operations = run(root, tmp_path / "whole", None)
    assert status == 0
    appended, written = ["write", "fsync", "__exit__"], ["write", "flush", "fsync", "__exit__"]
    assert operations == [
        *([name, "lines"] for name in ("open", *appended)), ["fsync", ""],
        *([name, ".lines"] for name in ("open", "chmod", *written)), ["replace", "lines"], ["fsync", ""],
        ["unlink", "lines"],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("number", "when", "left"), [(1, "before", b""), (1, "after", b"one"), (0, "before", None), (0, "after", b"")]
)
def test_a_process_ends_at_an_operation(root: Path, tmp_path: Path, number: int, when: str, left: bytes | None) -> None:
    status, operation = run(root, tmp_path / "cut", ["main", number, when])
    assert (status, operation["number"]) == (137, number)  # type: ignore[index, call-overload]
    path = tmp_path / "cut" / "lines"
    assert (path.read_bytes() if path.exists() else None) == left
