"""The format of an owner's folder. Its number stands in the file ``format``, written when the log is first created.

A folder of a higher number is refused. One of a lower number opens as it is; the first process that may write copies it to
``backups/``, then writes the log in today's form, then the number. A kill in between changes nothing that matters: the next
start goes on. What the numbers mean:

    0  the original MoeChat's: days, facts and history, without a log
    1  a log whose replies quote the memories that they rest on
    2  a log that names them by id; talks, imports and forgetting are entries of it
    3  findings with quotes; rulings over them; boundaries. What an older one holds is read as it is.
    4  the same with pages of a daybook among its facts, which an older MoeChat would take for what is known of the user. A memory
       becomes one with its first page; without any it stays of format 3, and an older MoeChat may open it.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Collection
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock, Timeout

from moechat.errors import DataError, Locked, shown
from moechat.store import disk, plain, records
from moechat.store.journal import Journal
from moechat.store.unknown import is_memory

NUMBER, WITH_PAGES = 3, 4
MEMORY = (disk.LOG, disk.STATE, disk.REFLECTIONS, disk.CORE, disk.HISTORY, disk.DAYS)
COPIED = (*MEMORY, disk.REFUSED, disk.FORGOTTEN, disk.CALLS, disk.REPLIES, disk.IMPORTS)
LOCK = "upgrade.lock"
PATIENCE_S = 60.0
_EVER = datetime.min.replace(tzinfo=UTC)  # Nothing is older than this: nothing is shortened.


def number(folder: Path) -> int:
    """The format of a folder; today's where nothing is remembered in it. Raises DataError where the file is no number."""
    path = folder / disk.FORMAT
    if path.exists():
        text = plain.data_of(path).decode(errors="replace").strip()
        if not text.isdecimal() or len(text) > 9:
            raise DataError(path, f"{shown(text)}: expects the number of a format; of this MoeChat it is {NUMBER}")
        return int(text)
    if (folder / disk.LOG).exists():
        return 1
    return 0 if any((folder / name).exists() for name in MEMORY) else NUMBER


def require_readable(folder: Path) -> None:
    """Raises DataError where a newer MoeChat wrote the folder, or where a part of it is a link to something elsewhere."""
    for name in (*disk.OWN, ".lock", "users"):
        plain.require_inside(folder / name, folder)
    if (newer := number(folder)) > WITH_PAGES:
        raise DataError(
            folder / disk.FORMAT,
            f"a newer MoeChat wrote this memory (format {newer}, this one knows {WITH_PAGES}); update MoeChat to open it",
        )


def sign(folder: Path, own: int = NUMBER) -> None:
    """Say which format the folder has from now on."""
    records.replace(folder / disk.FORMAT, f"{own}\n".encode())


def upgrade(store: Journal) -> bool:
    """Bring an older folder to today's format; False where it has it. Raises Locked where another process takes too long."""
    if number(store.folder) >= NUMBER:
        return False
    store.index_folder.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(store.index_folder / LOCK, timeout=PATIENCE_S):
            older = number(store.folder)
            if older >= NUMBER:  # another process was quicker
                return False
            _copy(store.folder, store.folder / disk.BACKUPS / f"format-{older}")
            while older == 1 and not store.rewrite_log(_EVER):
                pass  # somebody else has rewritten it meanwhile
            sign(store.folder)
            return True
    except Timeout:
        raise Locked(store.folder, "another process is bringing it up to date; try again when that has ended") from None


def _strangers(folder: str, names: Collection[str]) -> set[str]:
    """What in a part of a memory is none of it, and the locks."""
    place = Path(folder).name
    return {name for name in names if name.endswith(".lock") or not is_memory(f"{place}/{name}")}


def _copy(folder: Path, backup: Path) -> None:
    """Copy a memory, all of it or nothing."""
    if backup.exists():
        return
    backup.parent.mkdir(exist_ok=True)
    for left in backup.parent.glob(f".{backup.name}.*"):  # by a process that was killed
        shutil.rmtree(left)
    making = Path(tempfile.mkdtemp(dir=backup.parent, prefix=f".{backup.name}."))
    for name in COPIED:
        if (folder / name).is_dir():
            shutil.copytree(folder / name, making / name, ignore=_strangers)
        elif (folder / name).exists():
            shutil.copy2(folder / name, making / name)
    if hasattr(os, "sync"):
        os.sync()
    making.rename(backup)
    records.sync_folder(backup.parent)
