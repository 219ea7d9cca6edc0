"""Append-only files of JSON lines: how the owner's log and state are written and read (fsync; a torn last line is no line)."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from moechat.errors import DataError
from moechat.store import disk
from moechat.store.records import append, put_in_place, sync_folder, unfinished

Entry = Mapping[str, Any]


def encode(entries: Iterable[Entry]) -> bytes:
    return b"".join(json.dumps(e, ensure_ascii=False, separators=(",", ":")).encode() + b"\n" for e in entries)


class Place(NamedTuple):
    """An offset in one file: another file of the same name has another inode."""

    inode: int
    offset: int


class Rewriting(NamedTuple):
    """A file's next version, and how much of the file it stands for."""

    path: Path
    place: Place


class Lines(Protocol):
    """Entries that are appended and read again, by this process and by others."""

    problems: list[DataError]

    def unread(self) -> tuple[bool, list[Entry]]: ...

    def is_replaced(self) -> bool: ...

    def append(self, entries: Sequence[Entry]) -> None: ...

    def rewrite(self, entries: Iterable[Entry]) -> None: ...

    @property
    def place(self) -> Place: ...

    def prepare(self, entries: Iterable[Entry], place: Place) -> Any: ...

    def commit(self, rewriting: Any) -> list[Entry] | None: ...


class MemoryLines:
    """Entries of this process alone."""

    def __init__(self) -> None:
        self.problems: list[DataError] = []
        self._entries: list[Entry] = []

    def unread(self) -> tuple[bool, list[Entry]]:
        """Nobody else adds any."""
        return False, []

    def is_replaced(self) -> bool:
        return False

    def append(self, entries: Sequence[Entry]) -> None:
        self._entries += entries

    def rewrite(self, entries: Iterable[Entry]) -> None:
        self._entries = list(entries)

    @property
    def place(self) -> Place:
        return Place(0, len(self._entries))

    def prepare(self, entries: Iterable[Entry], place: Place) -> tuple[list[Entry], int]:
        return list(entries), place.offset

    def commit(self, rewriting: tuple[list[Entry], int]) -> list[Entry]:
        entries, read = rewriting
        added = self._entries[read:]
        self._entries = [*entries, *added]
        return added


class JsonLines:
    """An append-only file of JSON lines, read incrementally and safe against a torn last line."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problems: list[DataError] = []
        self._damaged: list[bytes] = []
        self._offset = 0
        self._inode = 0

    def unread(self) -> tuple[bool, list[Entry]]:
        """Entries that were added since the last call, and whether the file is another one (read from its start)."""
        try:
            with open(self.path, "rb") as file:
                stat = os.fstat(file.fileno())
                anew = bool(self._inode) and (stat.st_ino != self._inode or stat.st_size < self._offset)
                if anew:
                    self._offset, self.problems, self._damaged = 0, [], []
                self._inode = stat.st_ino
                if stat.st_size == self._offset:
                    return anew, []
                file.seek(self._offset)
                data = file.read(stat.st_size - self._offset)
        except FileNotFoundError:
            anew, self._offset, self._inode = bool(self._offset), 0, 0
            return anew, []
        whole = data[: data.rfind(b"\n") + 1]
        self._offset += len(whole)
        return anew, self._decode(whole)

    def _decode(self, data: bytes) -> list[Entry]:
        lines = data.splitlines()
        try:
            entries: list[Entry] = json.loads(b"[" + b",".join(lines) + b"]")
            if all(type(entry) is dict for entry in entries) and len(entries) == len(lines):
                return entries
        except ValueError:
            pass
        entries = []
        for line in lines:
            try:
                entry = json.loads(line)
                if not isinstance(entry, dict):
                    raise ValueError("not an object")
                entries.append(entry)
            except ValueError as error:
                self._damaged.append(line)
                self.problems.append(DataError(self.path, f"a damaged line was passed over ({error})"))
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
        self._inode, self._offset = inode, self._offset + len(data)

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
        damaged = b"".join(line + b"\n" for line in self._damaged if keep_damaged)
        return Rewriting(unfinished(self.path, damaged + encode(entries)), place)

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
        return self._decode(whole)
