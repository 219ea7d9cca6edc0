"""The disk: where an owner's memory lies (the names of its files, relative to the owner's folder), and what a disk may answer:
that it is full, that nothing may be written, that it fails. It is told in words, and what was appended in part is taken away.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from datetime import date, datetime, tzinfo
from functools import lru_cache
from io import FileIO
from pathlib import Path

from filelock import FileLock

from moechat.clock import local
from moechat.errors import DiskError, DiskFault, Locked

POLL_S = 0.01
LOG = "log.jsonl"
STATE = "state.jsonl"
REFLECTIONS = "reflection.jsonl"
REFUSED = "refused.jsonl"
USAGE = "usage.jsonl"
FORGOTTEN = "forgotten.jsonl"
CALLS = "calls.jsonl"
HISTORY = "history.yaml"
CORE = "core_mem.yml"
DAYS = "memorys"
INDEX = ".index"
REPLIES = "replies"
IMPORTS = "imports"
BACKUPS = "backups"
EXPORTS = "exports.json"
WORLDS = "worlds"
FORMAT = "format"
WHOLE = (LOG, STATE, REFLECTIONS, REFUSED, USAGE, FORGOTTEN, CALLS, HISTORY, CORE, FORMAT)
"""The files that are replaced as a whole, beside those of days."""
OWN = (*WHOLE, DAYS, INDEX, REPLIES, IMPORTS, BACKUPS, EXPORTS, WORLDS)
"""Everything that belongs to an owner's memory."""
_NOTES = ".notes.yaml"
_DATE = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})")
_COPY = r"\.(?:%s)\.\w{8}"  # ``records.replace`` names its copies so.
_COPY_OF_OURS = re.compile(_COPY % "|".join(map(re.escape, WHOLE)))
_COPY_OF_A_DAY = re.compile(_COPY % r".*\.ya?ml")


def index_folder(folder: Path) -> Path:
    """What is made anew from the files and may be deleted: the cache, indexes, vectors and locks."""
    return folder / INDEX


def day_file(at: datetime, zone: tzinfo | None) -> str:
    return f"{DAYS}/{local(at, zone).date().isoformat()}.yaml"


def stage(folder: Path, batch: str) -> Path:
    """Where an import is kept until it is filed."""
    return folder / IMPORTS / f"{batch}.yaml"


def day_of(name: str) -> date | None:
    """The date in the name of a day file; None where it has none."""
    match = _DATE.search(name)
    try:
        return date(*map(int, match.groups())) if match else None
    except ValueError:
        return None


def notes_file(day_file: str) -> str:
    """What was understood of a day lies beside its day file."""
    return day_file.removesuffix(".yaml") + _NOTES


def is_notes(name: str) -> bool:
    return name.endswith(_NOTES)


def is_day_file(name: str) -> bool:
    return name != CORE and not is_notes(name)


def is_record_file(name: str) -> bool:
    """Whether a file of the folder of days is read: neither hidden nor of another kind."""
    return name.endswith((".yaml", ".yml")) and not name.startswith(".")


def record_files(folder: Path) -> Iterator[str]:
    """The day files and notes of an owner, by date."""
    for path in sorted((folder / DAYS).glob("*.y*ml")):
        if is_record_file(path.name):
            yield f"{DAYS}/{path.name}"


def unfinished_copies(folder: Path) -> Iterator[Path]:
    """Copies of the memory's files that were being written when a process was killed. What others write beside it is not ours."""
    for place, copy in ((folder, _COPY_OF_OURS), (folder / DAYS, _COPY_OF_A_DAY)):
        yield from (path for path in place.glob(".*") if path.is_file() and copy.fullmatch(path.name))


def drop_unfinished(folder: Path) -> None:
    for path in unfinished_copies(folder):
        path.unlink(missing_ok=True)


def clear(path: Path) -> None:
    """Remove a file, or a folder that stands in its place; nothing happens where neither is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def make_way(path: Path) -> None:
    """Remove a folder that stands where a file belongs."""
    if path.is_dir():
        clear(path)


def is_writable(folder: Path) -> bool:
    """Whether an owner's folder, and its indexes, may be written, or made."""
    there = next(path for path in (folder, *folder.parents) if path.exists())
    index = index_folder(folder)
    return all(os.access(path, os.W_OK) for path in (there, *([index] if index.exists() else [])))


# ---- what it answers

_FAULTS: dict[int, DiskFault] = {
    errno.ENOSPC: "full", errno.EDQUOT: "full", errno.EFBIG: "full",
    errno.EISDIR: "folder", errno.EROFS: "closed", errno.EACCES: "closed", errno.EPERM: "closed",
}  # fmt: skip
_SQLITE_FAULTS: dict[int, DiskFault] = {sqlite3.SQLITE_FULL: "full", sqlite3.SQLITE_READONLY: "closed"}
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


@contextlib.contextmanager
def in_words(place: Path | None = None) -> Iterator[None]:
    """An error of the system, or of SQLite over it, becomes one that a user can act on. ``place`` is what it is about, where
    the error names no file. It may be used as a decorator. Raises DiskError, or Locked."""
    try:
        yield
    except OSError as error:
        fault = _FAULTS.get(error.errno or 0, "failing")
        raise DiskError(fault, error.filename or place or "", error.strerror or str(error)) from error
    except sqlite3.Error as error:
        if (code := primary_code(error)) in _BUSY:
            raise Locked(place or "", "another process holds it; close that one or try again") from error
        raise DiskError(_SQLITE_FAULTS.get(code, "failing"), place or "", str(error)) from error


def primary_code(error: sqlite3.Error) -> int:
    """SQLite's result code without what it adds to it."""
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF


def is_damaged(error: sqlite3.Error) -> bool:
    """Whether SQLite cannot make sense of a file."""
    return primary_code(error) in _DAMAGED


@lru_cache(maxsize=512)
def lock(path: Path) -> FileLock:
    """The lock of a file, which threads and processes take in turns. To make one costs more than to take it."""
    return FileLock(path)


def extend(file: FileIO, data: bytes, *, durably: bool = True) -> None:
    """Write at the end of an unbuffered file, where its position is: all of it, or nothing."""
    end = file.tell()
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[file.write(rest) :]
        if durably:
            os.fsync(file.fileno())
    except OSError:
        with contextlib.suppress(OSError):
            file.truncate(end)
            file.seek(end)
        raise


def patiently(is_done: Callable[[], bool], patience_s: float) -> bool:
    """Try again while another process is at it. Whether it was done in time."""
    limit = time.monotonic() + patience_s
    while not is_done():
        if time.monotonic() > limit:
            return False
        time.sleep(POLL_S)
    return True
