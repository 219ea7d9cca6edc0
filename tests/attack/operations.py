"""File operations of this process, counted one by one, and its end, or a fault, at one of them.

``Watch`` follows every thread by ``sys.setprofile`` (which sees calls of C functions and their returns), by an audit hook
(which sees the paths that are opened, renamed and removed) and by SQLite's trace (which sees its statements). An operation is
whatever changes the bytes or names under a folder: opening for writing, write, flush, truncate and close of a file, fsync,
replace, unlink, mkdir, rmdir, a writing statement, what is stored in mapped vectors. Each has a number of its own within its
role: ``main`` is the thread of the verb, ``worker`` the thread behind it, ``pool`` are those of recall. So the numbers stay
the same from run to run although the threads run side by side.
"""

# ruff: noqa: PTH100, PTH112, PTH115, PTH117, PTH118, PTH208
# The watch runs inside of every call, on names as the system gives them.
from __future__ import annotations

import io
import mmap
import os
import re
import sqlite3
import sys
import threading
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np

from moechat.index.vector_rows import VectorRows

KILLED = 137
When = Literal["before", "after"]

_HANDLE_NAMES = ("write", "pwrite", "fsync", "fdatasync", "ftruncate", "sendfile", "copy_file_range")
_OF_HANDLES = {getattr(os, name) for name in _HANDLE_NAMES if hasattr(os, name)}
_OF_FILES = ("write", "writelines", "truncate", "flush", "close", "__exit__", "tofile")
_OF_DATABASES = ("execute", "executemany", "executescript", "commit", "rollback", "close")
_NAMES = frozenset((*_HANDLE_NAMES, *_OF_FILES, *_OF_DATABASES))
_AUDITED = {
    "os.rename": "replace", "os.remove": "unlink", "os.mkdir": "mkdir", "os.rmdir": "rmdir", "os.link": "link",
    "os.symlink": "symlink", "os.truncate": "truncate", "os.chmod": "chmod",
}  # fmt: skip
_STATEMENT = re.compile(
    r"\s*(INSERT|REPLACE|UPDATE|DELETE|CREATE|DROP|ALTER|VACUUM|COMMIT|ROLLBACK|PRAGMA (?:wal_checkpoint|user_version ?=))"
    r"(?:.*?(?:INTO|FROM|TABLE|INDEX|UPDATE)\s+(\w+))?",
    re.IGNORECASE | re.DOTALL,
)
_STORES = {VectorRows.write.__code__: "store vectors", VectorRows.clear.__code__: "clear vectors"}
_STORE_NAMES = frozenset(code.co_name for code in _STORES)


@dataclass(frozen=True)
class Operation:
    """``number`` counts within ``role``; ``path`` is relative to the folder that is watched."""

    role: str
    number: int
    name: str
    path: str

    def row(self) -> dict[str, Any]:
        return asdict(self)


class Target(Protocol):
    """What is waited for. ``roles``: the threads whose calls are followed (to follow those of recall, which compute a lot, takes
    long)."""

    @property
    def roles(self) -> Collection[str]: ...

    def reached(self, operation: Operation, when: When, root: str) -> None:
        """Just before, or just after, an operation on a file under ``root``. What it raises before one takes its place, but for
        a statement of SQL."""


LastWords = Callable[[Operation], None]


@dataclass(frozen=True)
class Kill:
    """The process ends at the operation of this number. ``last_words`` is called with the operation just before."""

    role: str
    number: int
    when: When
    last_words: LastWords

    @property
    def roles(self) -> Collection[str]:
        return (self.role,)

    def reached(self, operation: Operation, when: When, root: str) -> None:
        if (operation.role, operation.number, when) == (self.role, self.number, self.when):
            self.last_words(operation)
            os._exit(KILLED)


@dataclass(frozen=True)
class Never:
    """The process goes on to its end."""

    roles: Collection[str]

    def reached(self, operation: Operation, when: When, root: str) -> None:
        pass


@dataclass(frozen=True)
class First:
    """The process ends after the first operation of this name on such a path (``*`` stands for any part of a name)."""

    name: str
    path: str

    roles: Collection[str] = ("main", "worker")

    def reached(self, operation: Operation, when: When, root: str) -> None:
        if when == "after" and operation.name == self.name and fnmatchcase(operation.path, self.path):
            os._exit(KILLED)


class Watch:
    """Of one process, from ``begin`` on; what a process watches it watches to its end."""

    def __init__(self, root: Path, target: Target) -> None:
        self.root, self.target = f"{root}{os.sep}", target
        self.active = False
        self.operations: list[Operation] = []
        self._counts: Counter[str] = Counter()
        self._threads: dict[int, _Thread] = {}
        self._databases: dict[int, tuple[sqlite3.Connection, str]] = {}

    def begin(self) -> None:
        """Follow the threads that begin from now on; nothing counts before ``start``."""
        sys.addaudithook(self._audited)
        threading.setprofile(lambda *event: self._follow())

    def start(self) -> None:
        """Count from here on, in this thread, too."""
        self.active = True
        self._follow()

    def _follow(self) -> None:
        thread = self._of_thread()
        sys.setprofile(thread if thread.role in self.target.roles else None)

    def _of_thread(self) -> _Thread:
        ident = threading.get_ident()
        if ident not in self._threads:
            self._threads[ident] = _Thread(self)
        return self._threads[ident]

    def reach(self, role: str, name: str, path: str) -> Operation | None:
        """Before an operation: its number, None where it is of no interest."""
        if not f"{path}{os.sep}".startswith(self.root):
            return None
        number = self._counts[role]
        self._counts[role] += 1
        operation = Operation(role, number, name, path[len(self.root) :])
        self.operations.append(operation)
        self.target.reached(operation, "before", self.root)
        return operation

    def database(self, connection: sqlite3.Connection) -> str:
        """The file of a connection, whose statements are seen from now on."""
        if id(connection) not in self._databases:
            connection.set_trace_callback(self.stated)
            path = next((path for path in _open_files() if path.endswith(".db")), "")
            self._databases[id(connection)] = (connection, path)
        return self._databases[id(connection)][1]

    def leave(self, operation: Operation) -> None:
        self.target.reached(operation, "after", self.root)

    def _audited(self, event: str, values: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = values
            if isinstance(path, (str, bytes, os.PathLike)):
                thread = self._of_thread()
                thread.path = os.path.abspath(os.fsdecode(path))
                if self.active and _changes(thread.path, flags):
                    thread.reach("open", thread.path)
        elif self.active and event in _AUDITED and not isinstance(values[0], int):
            path = _whole(event, values)
            if event != "os.mkdir" or not os.path.isdir(path):
                self._of_thread().reach(_AUDITED[event], path)

    def stated(self, statement: str) -> None:
        """SQLite is about to run a statement."""
        if self.active and (match := _STATEMENT.match(statement)):
            thread = self._of_thread()
            if not thread.is_counted():  # one of many rows of the same call
                thread.reach(" ".join(filter(None, ("sql", match[1].upper(), match[2]))), thread.database)


class _Thread:
    """The calls of one thread: those that are under way, and the file that it opened last."""

    def __init__(self, watch: Watch) -> None:
        name = threading.current_thread().name
        self.role = (
            "main" if threading.current_thread() is threading.main_thread()
            else "worker" if name.startswith("memory_") else "pool" if name.startswith("recall") else "other"
        )  # fmt: skip
        self.path = self.database = ""
        self._watch, self._depth = watch, 0
        self._running: list[tuple[object, Operation]] = []

    def reach(self, name: str, path: str, mark: object = None) -> None:
        if operation := self._watch.reach(self.role, name, path):
            self._running.append((self._depth if mark is None else mark, operation))

    def is_counted(self) -> bool:
        """Whether the call that runs is an operation already."""
        return bool(self._running) and self._running[-1][0] == self._depth

    def _left(self, mark: object) -> None:
        while self._running and self._running[-1][0] == mark:
            self._watch.leave(self._running.pop()[1])

    def __call__(self, frame: Any, event: str, function: Any) -> None:
        if event == "c_call":
            self._depth += 1
            if function.__name__ in _NAMES and self._watch.active:
                self._called(function, function.__name__, function.__self__)
        elif event == "c_return" or event == "c_exception":
            if self._running:
                self._left(self._depth)
            self._depth -= 1
        elif frame.f_code.co_name in _STORE_NAMES and self._watch.active and frame.f_code in _STORES:
            if event == "call":
                self.reach(_STORES[frame.f_code], str(frame.f_locals["self"].folder), frame)
            else:
                self._left(frame)

    def _called(self, function: Any, name: str, owner: Any) -> None:
        if isinstance(owner, io.IOBase):
            if not owner.closed and owner.writable():
                self.reach(name, _path_of(owner))
        elif isinstance(owner, (sqlite3.Connection, sqlite3.Cursor)):
            connection = owner if isinstance(owner, sqlite3.Connection) else owner.connection
            self.database = self._watch.database(connection)
            if name == "close" and isinstance(owner, sqlite3.Connection):
                self.reach("sql close", self.database)
        elif isinstance(owner, mmap.mmap):
            self.reach("flush mapped", self.path) if name == "flush" else None
        elif isinstance(owner, np.ndarray):
            self.reach("tofile", self.path) if name == "tofile" else None
        elif function in _OF_HANDLES:
            self.reach(name, self.path)


def _changes(path: str, flags: int) -> bool:
    """Whether to open a file like this makes it, or empties it."""
    try:
        size = os.stat(path).st_size
    except OSError:
        return bool(flags & os.O_CREAT)
    return bool(size and flags & os.O_TRUNC)


def _open_files() -> list[str]:
    paths = []
    for handle in os.listdir("/proc/self/fd"):
        try:
            paths.append(os.readlink(f"/proc/self/fd/{handle}"))
        except OSError:
            continue
    return paths


def _path_of(file: Any) -> str:
    name = getattr(file, "name", "")
    if isinstance(name, int):
        try:
            return os.readlink(f"/proc/self/fd/{name}")
        except OSError:
            return ""
    return os.path.abspath(os.fsdecode(name)) if name else ""


def _whole(event: str, values: tuple[Any, ...]) -> str:
    """The whole path of what an audited call changes; of two names the new one."""
    path = os.fsdecode(values[1] if event in ("os.rename", "os.link", "os.symlink") else values[0])
    handle = values[-1] if event not in ("os.chmod",) else -1
    if not os.path.isabs(path) and isinstance(handle, int) and handle >= 0:
        return os.path.join(os.readlink(f"/proc/self/fd/{handle}"), path)
    return os.path.abspath(path)
