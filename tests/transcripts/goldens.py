"""The goldens of the long talk: a digest of each part of each step, the whole of some steps, and the documents that are made
from the code. A difference is told by step and part; ``--against`` shows it."""

from __future__ import annotations

import asyncio
import difflib
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from moechat.house import House
from moechat.serve.mcp import make_server
from moechat.serve.server import make_app
from tests.transcripts.record import Record, Recorder
from tests.transcripts.script import Step, steps
from tests.transcripts.stage import Stage

GOLDENS = Path(__file__).resolve().parents[1] / "golden" / "transcript"
DIGESTS = "steps.txt"
WHOLE_EVERY = 20
WHOLE_PARTS = ("turn", "prompt")
SHOWN_LINES = 60


def played(folder: Path, kind: str, count: int, address: str = "") -> Iterator[tuple[Step, Record]]:
    """The steps of the talk over a kind of store, with the record of each."""
    stage = Stage(folder, kind, address)
    try:
        yield from Recorder(stage).records(steps(count))
    finally:
        stage.close()


def documents(house: House) -> dict[str, str]:
    """What front ends and assistants are told of the program, by name. (docs/commands.md is held by the tests of documents.)"""
    tools = asyncio.run(make_server(house, None, None).list_tools())
    return {
        "openapi.json": _as_text(make_app(house).openapi()),
        "mcp.json": _as_text([tool.model_dump(mode="json", exclude_none=True) for tool in tools]),
    }


def _as_text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


# ---- the goldens as text


def digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=4).hexdigest() if text else "-"


def line(step: Step, record: Mapping[str, str]) -> str:
    """The record of a step, in short."""
    digests = " ".join(f"{name}={digest(text)}" for name, text in record.items())
    return f"{step.number:03} {step.kind} {step.character} {digests}"


def parts_of(golden: str) -> dict[str, str]:
    """The digests of a line, by part."""
    return dict(word.split("=") for word in golden.split() if "=" in word)


def whole(record: Mapping[str, str]) -> str:
    return "".join(f"==== {name}\n{text}\n" for name, text in record.items())


def shortened(text: str) -> str:
    """What the goldens keep of a whole record."""
    parts = re.split(r"^==== (\w+)$\n", text, flags=re.MULTILINE)
    return "".join(
        f"==== {name}\n{part}" for name, part in zip(parts[1::2], parts[2::2], strict=True) if name in WHOLE_PARTS
    )


def is_kept_whole(step: Step) -> bool:
    return step.number % WHOLE_EVERY == WHOLE_EVERY - 1


def file_of(step: Step) -> str:
    return f"{step.number:03}.txt"


# ---- comparing


def difference(expected: str, actual: str, names: tuple[str, str]) -> str:
    """A unified diff, its first lines."""
    lines = list(difflib.unified_diff(expected.splitlines(), actual.splitlines(), *names, lineterm="", n=2))
    more = [f"… and {len(lines) - SHOWN_LINES} lines more"] if len(lines) > SHOWN_LINES else []
    return "\n".join([*lines[:SHOWN_LINES], *more])


def differing(now: str, golden: str) -> list[str]:
    """The parts in which the line of a step differs from its golden one; a store without files has fewer."""
    then = parts_of(golden)
    return [name for name, text in parts_of(now).items() if text != then.get(name)]


def golden_lines() -> list[str]:
    return (GOLDENS / DIGESTS).read_text(encoding="utf-8").splitlines()
