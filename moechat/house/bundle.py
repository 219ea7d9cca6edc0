"""Folders and zips of several files: which of them can be taken in, one by one, and why the others cannot."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Self

from moechat.errors import DataError
from moechat.store import plain, zips

MAX_BYTES = 4 << 30  # Of all files of a zip unpacked; each that is taken has MAX_FILE_BYTES at most.
WHY: Mapping[str, str] = {
    "group": "a group of SillyTavern's is not made by itself; its chats come as talks",
    "persona": "who you are is written under “you” (you.yaml), for all characters or for one",
    "zip": "a zip within it: bring that by itself",
    "other": "no card, world book, talk or memories",
}
_TAVERN = re.compile(
    r"(^|/)(characters/[^/]+\.(png|json|charx)|worlds/[^/]+\.json|chats/[^/]+/[^/]+\.jsonl|group chats/[^/]+\.jsonl)$",
    re.I,
)
_IS_TAVERN = re.compile(r"(^|/)(characters/[^/]+\.(png|json|charx)|(group )?chats/.+\.jsonl)$", re.I)
_CHATGPT = re.compile(r"(^|/)conversations[-_\d]*\.json$")
_READ = re.compile(r"\.(png|json|charx|jsonl|ndjson|csv|txt|html?)$", re.I)
_LEFT: Mapping[str, re.Pattern[str]] = {
    "group": re.compile(r"(^|/)groups/[^/]+\.json$", re.I),
    "persona": re.compile(r"(^|/)(User Avatars/[^/]+|settings\.json)$", re.I),
    "zip": re.compile(r"\.zip$", re.I),
}


def sorted_out(names: Iterable[str]) -> tuple[list[str], dict[str, list[str]]]:
    """(the names of files that may be taken in, cards first; the others by the reason why not, as ``WHY`` has it)."""
    names = sorted(names)
    forms = ((_IS_TAVERN, _TAVERN), (_CHATGPT, _CHATGPT))
    wanted_by = next((takes for sign, takes in forms if any(map(sign.search, names))), _READ)
    takes = [name for name in names if wanted_by.search(name)]
    left: dict[str, list[str]] = {}
    for name in sorted(set(names).difference(takes)):
        left.setdefault(next((why for why, form in _LEFT.items() if form.search(name)), "other"), []).append(name)
    return sorted(takes, key=lambda name: "characters/" not in name), left


class Bundle:
    """A folder or a zip. ``takes`` are names in it that may be taken in, ``left`` the others by reason. Raises DataError where
    it is damaged or too much, or leads elsewhere."""

    def __init__(self, path: Path) -> None:
        self._path, self._file = path, None if path.is_dir() else plain.opened(path, may_lead_out=True)
        self._zip = zips.Zip(self._file, path, largest=MAX_BYTES) if self._file else None
        self.names = list(self._zip.names) if self._zip else self._files()
        self.takes, self.left = sorted_out(self.names)

    def _files(self) -> list[str]:
        names = []
        for folder, _, files in os.walk(self._path):
            names += [(Path(folder) / name).relative_to(self._path).as_posix() for name in files]
            if len(names) > zips.MAX_FILES:
                raise DataError(self._path, f"holds more than {zips.MAX_FILES:,} files; bring its parts")
        return names

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file:
            self._file.close()

    def read(self, name: str) -> bytes:
        """Raises DataError, OSError."""
        return self._zip.read(name, plain.MAX_FILE_BYTES) if self._zip else plain.data_of(self._path / name)

    def name_of(self, name: str) -> str:
        """What a file of it is called outside: WhatsApp calls the chat in its zip by no name."""
        return f"{self._path.stem}.txt" if PurePosixPath(name).name == "_chat.txt" else name
