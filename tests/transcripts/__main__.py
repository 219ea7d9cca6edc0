"""The referee of every rebuilding: ``python -m tests.transcripts`` holds a long talk over files, in memory and over PostgreSQL.

Each step must be as the goldens have it, and the same over all three. ``--record`` makes the goldens anew; read the difference
before that: ``--against origin/main`` plays the talk with the code of that commit, too, and shows where the two part.
"""

from __future__ import annotations

import argparse
import logging
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")

from moechat.store.tombstones import ACCOUNT
from tests.pg_server import served
from tests.transcripts import goldens
from tests.transcripts.script import TURNS, steps
from tests.transcripts.stage import Stage

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "transcripts"
KINDS = ("files", "memory", "tables")
SHOWN_STEPS = 5


@contextmanager
def database(kind: str) -> Iterator[str]:
    base = Path("/dev/shm") if os.access("/dev/shm", os.W_OK) else Path(tempfile.gettempdir())
    with served(base / f"moechat-pg-{os.getpid()}") if kind == "tables" else nullcontext(("", None)) as (address, _):
        yield address


def write(kind: str, count: int, folder: Path) -> list[str]:
    """Play the talk, write each record into a folder, and return the lines of the goldens."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    lines = []
    with tempfile.TemporaryDirectory(prefix="transcript-") as name, database(kind) as address:
        os.environ[ACCOUNT] = f"{name}/account"
        for step, record in goldens.played(Path(name), kind, count, address):
            (folder / goldens.file_of(step)).write_text(goldens.whole(record), encoding="utf-8")
            lines.append(goldens.line(step, record))
    return lines


def documents() -> dict[str, str]:
    with tempfile.TemporaryDirectory(prefix="transcript-") as name:
        stage = Stage(Path(name), "files")
        try:
            return goldens.documents(stage.house)
        finally:
            stage.close()


def record(count: int) -> None:
    lines = write("files", count, BUILD / "files")
    shutil.rmtree(goldens.GOLDENS, ignore_errors=True)
    goldens.GOLDENS.mkdir(parents=True)
    (goldens.GOLDENS / goldens.DIGESTS).write_text("\n".join(lines) + "\n", encoding="utf-8")
    for step in filter(goldens.is_kept_whole, steps(count)):
        text = (BUILD / "files" / goldens.file_of(step)).read_text(encoding="utf-8")
        (goldens.GOLDENS / goldens.file_of(step)).write_text(goldens.shortened(text), encoding="utf-8")
    for name, text in documents().items():
        (goldens.GOLDENS / name).write_text(text, encoding="utf-8")


def check(count: int, kinds: list[str]) -> list[str]:
    """What differs from the goldens, or between the kinds of store."""
    faults = [
        f"{name}\n{goldens.difference((goldens.GOLDENS / name).read_text(encoding='utf-8'), text, ('golden', 'now'))}"
        for name, text in documents().items()
        if (goldens.GOLDENS / name).read_text(encoding="utf-8") != text
    ]
    for kind in kinds:
        lines = write(kind, count, BUILD / kind)
        for step, now, golden in zip(steps(count), lines, goldens.golden_lines(), strict=False):
            if differing := goldens.differing(now, golden):
                faults.append(f"{kind}: step {step.number} ({step.kind}, {step.character}): {', '.join(differing)}")
        print(f"{kind}: {len(lines)} steps", file=sys.stderr, flush=True)
    return faults


def against(revision: str, count: int) -> None:
    """Play the talk with the code of another commit, and show where the two part."""
    with tempfile.TemporaryDirectory(prefix="transcript-") as name:
        tree, there = Path(name) / "tree", Path(name) / "records"
        subprocess.run(
            ["git", "worktree", "add", "--detach", str(tree), revision], cwd=ROOT, check=True, capture_output=True
        )
        try:
            command = [sys.executable, "-m", "tests.transcripts", "--write", str(there), "--turns", str(count)]
            subprocess.run(command, cwd=tree, env={**os.environ, "PYTHONPATH": str(tree)}, check=True)
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(tree)], cwd=ROOT, check=True)
        write("files", count, BUILD / "files")
        differing = [
            path.name
            for path in sorted((BUILD / "files").iterdir())
            if path.read_text(encoding="utf-8") != (there / path.name).read_text(encoding="utf-8")
        ]
        for file in differing[:SHOWN_STEPS]:
            texts = [(folder / file).read_text(encoding="utf-8") for folder in (there, BUILD / "files")]
            print(goldens.difference(*texts, (f"{revision}/{file}", f"now/{file}")))
        print(f"{len(differing)} of {count} steps differ: {' '.join(differing)}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.transcripts", description=__doc__)
    parser.add_argument("--turns", type=int, default=TURNS, help="only so many steps, from the first on")
    parser.add_argument("--kind", choices=KINDS, action="append", help="over this kind of store alone")
    parser.add_argument("--record", action="store_true", help="make the goldens anew")
    parser.add_argument("--against", metavar="REVISION", help="show where this code and that of a commit part")
    parser.add_argument("--write", metavar="FOLDER", help="only write the records there")
    options = parser.parse_args()
    logging.disable(logging.INFO)  # what the server of tools would print of every request
    if options.record:
        record(options.turns)
    elif options.against:
        against(options.against, options.turns)
    elif options.write:
        write((options.kind or ["files"])[0], options.turns, Path(options.write))
    else:
        faults = check(options.turns, options.kind or list(KINDS))
        print("\n".join(faults) or "as recorded")
        if faults:
            print("\nWhat differs is shown by: python -m tests.transcripts --against origin/main", file=sys.stderr)
        return bool(faults)
    return 0


if __name__ == "__main__":
    sys.exit(main())
