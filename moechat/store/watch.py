"""Which files of an owner are not as they are known: changed, new or gone."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path

from moechat.store import paths
from moechat.store.records import Signature

FEW_FILES = 400  # A turn looks at every one of so many: a millisecond.
NEWEST = NEXT = 50  # Of more, it looks at so many of the newest, and at so many others in turn.


class FileWatch:
    """Looks at the day files, the notes and core memory of one owner.

    A diary of years has thousands of files: beyond ``FEW_FILES`` a look takes the newest, new and replaced ones, and a part
    of the others in turn.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._days_seen = Signature()
        self._names: list[str] = []
        self._turn = 0

    def changed(self, signatures: Mapping[str, Signature], *, all_files: bool) -> list[str]:
        """Names of the files that are not as in ``signatures``."""
        days = Signature.of(self._folder / paths.DAYS)
        if all_files or len(signatures) <= FEW_FILES or days != self._days_seen:
            self._days_seen = days
            return self._changed_of_all(signatures)
        if len(self._names) != len(signatures):
            self._names = sorted(signatures)
        self._turn = (self._turn + NEXT) % len(self._names)
        newest, next_ones = self._names[-NEWEST:], self._names[self._turn :][:NEXT]
        place = f"{self._folder}{os.sep}"
        names = {*newest, *next_ones, paths.CORE}
        return sorted(name for name in names if Signature.of(place + name) != signatures.get(name, Signature()))

    def _changed_of_all(self, signatures: Mapping[str, Signature]) -> list[str]:
        """Compares every file, those of the folder of days by one look at the folder."""
        current: dict[str, tuple[int, int, int]] = {paths.CORE: Signature.of(self._folder / paths.CORE)}
        with contextlib.suppress(FileNotFoundError), os.scandir(self._folder / paths.DAYS) as entries:
            for item in entries:
                if paths.is_record_file(item.name):
                    stat = item.stat()
                    current[f"{paths.DAYS}/{item.name}"] = (stat.st_size, stat.st_mtime_ns, stat.st_ino)
        gone = Signature()
        names = current.keys() | signatures.keys()
        return sorted(name for name in names if current.get(name, gone) != signatures.get(name, gone))
