"""Copies of a memory that are made by themselves, and the exports that were made by hand.

One is made a day; of a large memory more rarely, so that a day costs no more than to pack ``MAX_BYTES_A_DAY`` bytes.

``forget`` removes all of the copies, and one is made anew. Exports lie elsewhere and are only known by name: whoever forgets is
told of them.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Sequence
from datetime import date, datetime
from functools import partial
from pathlib import Path

from moechat.store import archive, disk, plain, records
from moechat.store.kinds import Store

_OURS = re.compile(r"auto-\d{4}-\d{2}-\d{2}\.zip")
MAX_EXPORTS_KNOWN = 200
MAX_BYTES_A_DAY = 32 << 20


def back_up(store: Store, now: datetime, keep: int) -> bool:
    """Make a copy where one is due, and keep no more than ``keep``. False where none was made.

    Nothing that is being forgotten gets into it. Raises OSError, DataError.
    """
    folder = store.folder
    if folder is None:
        return False
    there = listed(folder)
    path = folder / disk.BACKUPS / f"auto-{now.date().isoformat()}.zip"
    is_made = False
    if keep and (folder / disk.LOG).exists() and _is_due(folder, there, now.date()):
        store.follow_log()
        forgettings = store.tree.forgettings
        pack = partial(
            archive.pack, folder=folder, kind="memory", name=folder.name, now=now, memory=True, alone=store.writing
        )
        copy = records.unfinished(path, pack)
        with store.writing("backup"):
            is_same = not store.tree.forgets and store.tree.forgettings == forgettings
            is_made = is_same and copy.exists()  # A process that opens meanwhile takes it for one that a crash left.
            records.put_in_place(copy, path) if is_made else copy.unlink(missing_ok=True)
        there = [*there, path] if is_made else there
    for old in there[: max(len(there) - keep, 0)]:
        old.unlink(missing_ok=True)
    return is_made


def _is_due(folder: Path, there: Sequence[Path], today: date) -> bool:
    if not there:
        return True
    since = today - date.fromisoformat(there[-1].stem.removeprefix("auto-"))
    return since.days > 0 and since.days * MAX_BYTES_A_DAY >= archive.size(folder, "memory", memory=True)


def listed(folder: Path) -> list[Path]:
    """The copies that are there, the oldest first."""
    return sorted(path for path in (folder / disk.BACKUPS).glob("auto-*.zip") if _OURS.fullmatch(path.name))


class Exports:
    """The exports of one owner, by name. ``folder`` None: there is none (a memory in no file)."""

    def __init__(self, folder: Path | None) -> None:
        self._path = folder / disk.EXPORTS if folder else None

    def note(self, export: Path | str) -> None:
        """Remember an export: the file that was written, or in words where it went, if that is not known."""
        if self._path is not None:
            new = export if isinstance(export, str) else str(export.resolve())
            kept = [*(name for name in self.listed() if name != new), new][-MAX_EXPORTS_KNOWN:]
            records.replace(self._path, json.dumps(kept, ensure_ascii=False).encode())

    def listed(self) -> list[str]:
        """Those that are still where they were written, and those of which nobody knows."""
        if self._path is None or not self._path.is_file():
            return []
        names: list[str] = []
        with contextlib.suppress(ValueError):
            value = plain.json_value(plain.data_of(self._path))
            names = [name for name in value if isinstance(name, str)] if isinstance(value, list) else []
        return [name for name in names if not Path(name).is_absolute() or Path(name).exists()]
