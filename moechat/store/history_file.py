"""history.yaml: the talk of the context, written for people to read, and what an older program left there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from moechat.errors import DataError
from moechat.model import Message
from moechat.store import disk, plain, records


def read(folder: Path) -> list[Message]:
    """What history.yaml of an owner holds. Raises DataError where it is broken."""
    path = folder / disk.HISTORY
    held = plain.read_yaml(path, as_text=True) if path.exists() else None
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
    """history.yaml of an owner, written again and again. It is read only where somebody else wrote it, and rendered only to be
    written."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: tuple[plain.Stamp | None, Sequence[Message]] = (None, ())
        """The file as it was when we last looked, and what it holds."""

    def stands(self, messages: Sequence[Message]) -> bool:
        """Whether history.yaml holds just that. Raises DataError where it is broken."""
        path = self._folder / disk.HISTORY
        stamp = plain.stamp(path)
        if stamp is None:
            return False
        if stamp != self._known[0]:
            is_ours = path.read_bytes() == _written(messages)
            self._known = (stamp, messages if is_ours else read(self._folder))
        return list(self._known[1]) == list(messages)

    def write(self, messages: Sequence[Message]) -> None:
        """Raises DataError where history.yaml is broken: then it is left as it is."""
        if self.stands(messages):
            return
        path = self._folder / disk.HISTORY
        records.replace(path, _written(messages))
        self._known = (plain.stamp(path), messages)


def _written(messages: Sequence[Message]) -> bytes:
    text = "".join(f"- role: {one.role}\n  content: {records.scalar(one.content, 4)}\n" for one in messages)
    return (text or "[]\n").encode("utf-8")
