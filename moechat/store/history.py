"""history.yaml: the talk of the context, written for people to read, and what an older program left there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from moechat.errors import DataError
from moechat.model import Message
from moechat.store import paths, records, yaml_file


def read(folder: Path) -> list[Message]:
    """What history.yaml of an owner holds. Raises DataError where it is broken."""
    path = folder / paths.HISTORY
    held = yaml_file.read(path, as_text=True) if path.exists() else None
    if not held:
        return []
    if not isinstance(held, list) or not all(
        isinstance(one, dict) and {"role", "content"} <= one.keys() for one in held
    ):
        raise DataError(path, "expects a list of `- role: user` with `content: …` below it")
    return [
        Message(one["role"], one["content"])
        for one in held
        if one["role"] in ("user", "assistant") and isinstance(one["content"], str)
    ]


def stands(folder: Path, messages: Sequence[Message]) -> bool:
    """Whether history.yaml holds just that. Raises DataError where it is broken."""
    return (folder / paths.HISTORY).exists() and read(folder) == list(messages)


def write(folder: Path, messages: Sequence[Message]) -> None:
    """Raises DataError where history.yaml is broken: then it is left as it is."""
    path = folder / paths.HISTORY
    if stands(folder, messages):
        return
    text = "".join(f"- role: {one.role}\n  content: {records.scalar(one.content, 4)}\n" for one in messages)
    records.replace(path, (text or "[]\n").encode("utf-8"))
