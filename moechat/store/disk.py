"""What a disk may answer: that it is full, that nothing may be written, that it fails. It is told in words, and what was
appended in part is taken away again.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
from collections.abc import Iterator
from io import FileIO
from pathlib import Path

from moechat.errors import DiskError, DiskFault, Locked

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
