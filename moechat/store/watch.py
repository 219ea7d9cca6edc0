"""Which files of an owner are not as they are known: changed, new or gone."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path

from moechat.store import paths
from moechat.store.records import Signature

FEW_FILES = 400  # A turn looks at every one of so many: a millisecond.


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
        self._turn = (self._turn + FEW_FILES // 2) % len(self._names)
        newest, next_ones = self._names[-FEW_FILES // 2 :], self._names[self._turn :][: FEW_FILES // 2]
        place = f"{self._folder}{os.sep}"
        names = {*newest, *next_ones, paths.CORE}
        return sorted(name for name in names if Signature.of(place + name) != signatures.get(name, Signature()))

    def _changed_of_all(self, signatures: Mapping[str, Signature]) -> list[str]:
        """Looks at many files, so it holds nothing but what that takes."""
        changed: list[str] = []
        count = 0
        with contextlib.suppress(FileNotFoundError), os.scandir(self._folder / paths.DAYS) as entries:
            for item in entries:
                if paths.is_record_file(item.name):
                    count += 1
                    name = f"{paths.DAYS}/{item.name}"
                    stat, before = item.stat(), signatures.get(name)
                    if before is None or (stat.st_size, stat.st_mtime_ns, stat.st_ino) != before:
                        changed.append(name)
        core = Signature.of(self._folder / paths.CORE)
        if core != signatures.get(paths.CORE, Signature()):
            changed.append(paths.CORE)
        if count + (core != Signature()) != len(signatures) + sum(name not in signatures for name in changed):
            changed += [name for name in signatures if not (self._folder / name).exists() and name not in changed]
        return sorted(changed)
