"""One record of an author's file is written and every other byte stays, or nothing is written."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from moechat.errors import DataError
from moechat.store import records
from moechat.store.records import Record


@dataclass(frozen=True)
class RecordWriter:
    """Writes records of one file, whose bytes are ``data``.

    ``read`` gives all that a file's bytes hold, to be compared; it may raise DataError. ``remedy`` tells the author what to
    do about a file in which a record cannot be told from its neighbours.
    """

    data: bytes
    path: Path
    read: Callable[[bytes], object]
    remedy: str

    def record(self, key: str) -> Record:
        """The record as it stands in the file. Raises DataError where it cannot be told from its neighbours."""
        for record in records.parse(self.data, self.path).records:
            if record.key == key:
                return record
        raise self._refusal(key)

    def append(self, key: str, entry: bytes, content: object) -> bytes:
        """The file with an entry at its end. ``content`` is what ``read`` has to give then. Raises DataError."""
        gap = b"\n" if self.data and not self.data.endswith(b"\n") else b""
        return self._checked(key, self.data + self._with_line_ends(gap + entry), content)

    def replace(self, key: str, entry: bytes, content: object) -> bytes:
        """The file with another entry in a record's place, or (``b""``) without it. The comments and empty lines that follow
        the record are not its own and stay. ``content`` and errors as in ``append``."""
        record = self.record(key)
        lines = self.data[record.start : record.end].splitlines(keepends=True)
        while len(lines) > 1 and (not lines[-1].strip() or lines[-1].startswith(b"#")):
            lines.pop()
        own = replace(record, end=record.start + sum(map(len, lines)))
        after = records.spliced(self.data, {own.key: (own.start, own.end)}, {key: self._with_line_ends(entry)})
        return self._checked(key, after, content)

    def _with_line_ends(self, entry: bytes) -> bytes:
        return entry.replace(b"\n", b"\r\n") if b"\r\n" in self.data else entry

    def _checked(self, key: str, after: bytes, content: object) -> bytes:
        with contextlib.suppress(DataError):
            if self.read(after) == content:
                return after
        raise self._refusal(key)

    def _refusal(self, key: str) -> DataError:
        return DataError(self.path, f"{key!r} cannot be written without touching what stands around it; {self.remedy}")
