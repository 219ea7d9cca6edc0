"""A fault of the disk at every file operation of every verb; then it is gone, and what is there is held against what was shown.

    python -m tests.attack.faults [--verb NAME ...] [--each N --seed S] [--every N] [--list] [--json]

``full``: from the operation on no file grows and none is made. ``short``: no file grows beyond the size that this one has then,
and seven bytes. ``fails``: the operation does not happen, once. What a write meets is the system's own limit on the size of
files, so that short writes and commits of SQLite that fail are real. The verb may refuse, in words for its user. Then the same
process goes on without it, and another one opens the folder; both must see the same. Exits with 3 where a problem was found.
"""

from __future__ import annotations

import errno
import os
import resource
import sys
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Literal

from tests.attack.operations import LastWords, Operation, When

FaultKind = Literal["full", "short", "fails"]
FAULT_KINDS: tuple[FaultKind, ...] = ("full", "short", "fails")
TAKEN = 7  # So many bytes of a short write are taken.
_WRITES = ("write", "writelines", "flush", "close", "__exit__", "tofile", "truncate", "fsync", "sql COMMIT")
_MAKES = ("open", "mkdir", "link", "symlink")


USUAL, MOST = resource.getrlimit(resource.RLIMIT_FSIZE)


def limit(size: int = USUAL) -> None:
    """No file of this process grows beyond ``size`` bytes."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, MOST))


@dataclass
class Fault:
    """Of one kind, at the operation of this number. ``is_on`` from there on until it is lifted."""

    role: str
    number: int
    kind: FaultKind
    last_words: LastWords
    is_on: bool = field(default=False, init=False)
    _is_over: bool = field(default=False, init=False)

    @property
    def roles(self) -> Collection[str]:
        return (self.role,)

    def reached(self, operation: Operation, when: When, root: str) -> None:
        path = root + operation.path
        if not self._is_over and (operation.role, operation.number) == (self.role, self.number):
            if when == "before":
                self.last_words(operation)
                self._begin(operation, path)
            elif self.kind == "fails":
                self.lift()
        elif self.is_on and when == "before" and self.kind == "full":
            _refuse_to_make(operation, path)

    def _begin(self, operation: Operation, path: str) -> None:
        self.is_on = True
        if self.kind == "fails":
            if not operation.name.startswith("sql"):
                self.lift()
                raise OSError(errno.EIO, os.strerror(errno.EIO), path)
            limit(0)
        elif self.kind == "full":
            limit(0)
            _refuse_to_make(operation, path)
        elif operation.name in _WRITES:
            limit(_size(path) + TAKEN)

    def lift(self) -> None:
        self.is_on, self._is_over = False, True
        limit()


def _refuse_to_make(operation: Operation, path: str) -> None:
    if operation.name in _MAKES and not os.path.exists(path):  # noqa: PTH110 - within every call
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)


def _size(path: str) -> int:
    """Of the file that an operation is about; what SQLite writes stands in its write-ahead log."""
    try:
        return os.stat(f"{path}-wal" if path.endswith(".db") else path).st_size
    except OSError:
        return 0


if __name__ == "__main__":
    from tests.attack.kill import main

    sys.exit(main(__doc__, FAULT_KINDS))
