"""history.yaml: the talk of the context, written for people to read, and what an older program left there."""

from __future__ import annotations

import hashlib
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


class HistoryFile:
    """history.yaml of an owner, written again and again. It is parsed only where somebody else wrote it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._sound = b""  # the digest of a file that is known to be no broken one

    def stands(self, messages: Sequence[Message]) -> bool:
        """Whether history.yaml holds just that. Raises DataError where it is broken."""
        path = self._folder / paths.HISTORY
        if not path.exists():
            return False
        data = path.read_bytes()
        if data == _written(messages):
            return True
        if _digest(data) == self._sound:
            return False
        stands = read(self._folder) == list(messages)
        self._sound = _digest(data)
        return stands

    def write(self, messages: Sequence[Message]) -> None:
        """Raises DataError where history.yaml is broken: then it is left as it is."""
        if self.stands(messages):
            return
        data = _written(messages)
        records.replace(self._folder / paths.HISTORY, data)
        self._sound = _digest(data)


def _written(messages: Sequence[Message]) -> bytes:
    text = "".join(f"- role: {one.role}\n  content: {records.scalar(one.content, 4)}\n" for one in messages)
    return (text or "[]\n").encode("utf-8")


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()
