"""Append-only files of JSON lines: how the owner's log and state are written and read (fsync; a torn last line is no line)."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from moechat.errors import DataError
from moechat.store import disk
from moechat.store.entries import Entry, UnknownEntry
from moechat.store.plain import json_value, opened
from moechat.store.records import append, put_in_place, sync_folder, unfinished


def encode(entries: Iterable[Entry]) -> bytes:
    return b"".join(json.dumps(e, ensure_ascii=False, separators=(",", ":")).encode() + b"\n" for e in entries)


class Place(NamedTuple):
    """An offset in one file: another file of the same name has another inode."""

    inode: int
    offset: int


class Aside(NamedTuple):
    """A line that is kept as it is and passed over. ``why`` is empty where a newer version wrote it, which is no damage."""

    number: int
    line: bytes
    why: str


class Rewriting(NamedTuple):
    """A file's next version, how much of the file it stands for, how many lines it has, and which of them are set aside."""

    path: Path
    place: Place
    lines: int
    aside: Sequence[Aside]


class Lines(Protocol):
    """Entries that are appended and read again, by this process and by others."""

    @property
    def problems(self) -> list[DataError]: ...

    def unread(self) -> tuple[bool, list[Entry]]: ...

    def is_replaced(self) -> bool: ...

    def append(self, entries: Sequence[Entry]) -> None: ...

    def rewrite(self, entries: Iterable[Entry]) -> None: ...

    @property
    def place(self) -> Place: ...

    def prepare(self, entries: Iterable[Entry], place: Place, *, keep_damaged: bool = False) -> Any: ...

    def commit(self, rewriting: Any) -> list[Entry] | None: ...


class JsonLines:
    """An append-only file of JSON lines, read incrementally and safe against a torn last line.

    ``check`` raises ValueError for what is no entry of this file: that line is set aside, and the others are read.
    """

    def __init__(self, path: Path, check: Callable[[Any], None]) -> None:
        self.path = path
        self._check = check
        self._aside: list[Aside] = []
        self._lines = 0
        self._offset = 0
        self._inode = 0

    @property
    def problems(self) -> list[DataError]:
        return [
            DataError(self.path, f"a damaged line is passed over: {one.why}", line=one.number)
            for one in self._aside
            if one.why
        ]

    def unread(self) -> tuple[bool, list[Entry]]:
        """Entries that were added since the last call, and whether the file is another one (read from its start)."""
        try:
            stat = os.stat(self.path)
            if stat.st_ino == self._inode and stat.st_size == self._offset:  # as a rule, many times a turn
                return False, []
            with opened(self.path) as file:
                stat = os.fstat(file.fileno())
                anew = bool(self._inode) and (stat.st_ino != self._inode or stat.st_size < self._offset)
                if anew:
                    self._offset, self._lines, self._aside = 0, 0, []
                self._inode = stat.st_ino
                if stat.st_size == self._offset:
                    return anew, []
                file.seek(self._offset)
                data = file.read(stat.st_size - self._offset)
        except FileNotFoundError:
            anew, self._offset, self._inode, self._lines, self._aside = bool(self._offset), 0, 0, 0, []
            return anew, []
        whole = data[: data.rfind(b"\n") + 1]
        self._offset += len(whole)
        return anew, self._decode(whole)

    def _decode(self, data: bytes) -> list[Entry]:
        lines = data.split(b"\n")[:-1]
        first, self._lines = self._lines + 1, self._lines + len(lines)
        entries = []
        for number, (line, value) in enumerate(zip(lines, _values(lines), strict=True), first):
            if value is None and not line.strip():
                continue
            try:
                entry = json_value(line) if value is None else value
                self._check(entry)
                entries.append(entry)
            except UnknownEntry:
                self._aside.append(Aside(number, line, ""))
            except ValueError as error:
                self._aside.append(Aside(number, line, str(error)))
        return entries

    def is_replaced(self) -> bool:
        """Whether the file is another one than was read."""
        try:
            return bool(self._inode) and self.path.stat().st_ino != self._inode
        except FileNotFoundError:
            return False

    def append(self, entries: Sequence[Entry]) -> None:
        """Append and fsync, all or nothing, under the owner's lock; call ``unread`` first. A torn line before it is cut off."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        created = not self.path.exists()
        data = encode(entries)
        with open(self.path, "ab", buffering=0) as file:
            if file.tell() > self._offset:
                file.seek(file.truncate(self._offset))
            disk.extend(file, data)
            inode = os.fstat(file.fileno()).st_ino
        if created:
            sync_folder(self.path.parent)
        self._inode, self._offset, self._lines = inode, self._offset + len(data), self._lines + len(entries)

    def rewrite(self, entries: Iterable[Entry]) -> None:
        """Replace the file; other readers notice by its inode."""
        self.commit(self.prepare(entries, self.place))

    @property
    def place(self) -> Place:
        """How much of the file has been read."""
        return Place(self._inode, self._offset)

    def prepare(self, entries: Iterable[Entry], place: Place, *, keep_damaged: bool = False) -> Rewriting:
        """Write the file's next version, which says what it said up to a place; that takes long and needs no lock.

        What is appended before ``commit`` stays. ``keep_damaged``: lines that cannot be read stay as they are, at its start.
        """
        aside = [one._replace(number=number) for number, one in enumerate(self._aside if keep_damaged else (), 1)]
        data = b"".join(one.line + b"\n" for one in aside) + encode(entries)
        return Rewriting(unfinished(self.path, data), place, data.count(b"\n"), aside)

    def commit(self, rewriting: Rewriting) -> list[Entry] | None:
        """Put a prepared version in the file's place, under the owner's lock. Returns what was added meanwhile.

        None where the file is another one by now, or the prepared one is gone: then nothing has changed.
        """
        if not rewriting.path.exists():  # swept away by another process as the leftover of a crash
            return None
        added = b""
        with contextlib.suppress(FileNotFoundError), open(self.path, "rb") as file:
            if self._inode and os.fstat(file.fileno()).st_ino != rewriting.place.inode:
                rewriting.path.unlink()
                return None
            file.seek(rewriting.place.offset)
            added = file.read()
        whole = added[: added.rfind(b"\n") + 1]
        if whole:
            append(rewriting.path, whole)
        stat = rewriting.path.stat()
        put_in_place(rewriting.path, self.path)
        self._offset, self._inode = stat.st_size, stat.st_ino
        self._lines, self._aside = rewriting.lines, list(rewriting.aside)
        return self._decode(whole)


def _values(lines: Sequence[bytes]) -> Sequence[Any]:
    """What the lines hold, read at once, which is much quicker; None for each where one of them is no object."""
    with contextlib.suppress(ValueError):
        values = json_value(b"[" + b",".join(lines) + b"]")
        if len(values) == len(lines) and set(map(type, values)) <= {dict}:
            return values  # type: ignore[no-any-return]
    return [None] * len(lines)
