"""The owner's log: every kind of entry, and how they are appended and read (JSON lines, fsync).

An entry is an object with ``op``:

    exchange  id parent at user            a message has entered; its reply is on the way
    variant   id char status               a reply ended (done, stopped, failed); regenerating adds another
              [error hits spans]           ... what went wrong, what it rested on, which times were understood
    select    id [variant]                 this exchange is the leaf now, with this variant
    settle    id                           its answer stands
    filed     id sha                       it stands in its day file, with this text hash
    edit      id at user char              its words were corrected
    retract   id                           its words were taken back
    restore   id                           ... and given back
    cut       id at                        the context begins anew after this exchange
    understood ids by                      the roll has understood these (``model`` or ``rules``)
    requeue   ids                          ... and these have to be understood again
    past      rows                         settled exchanges folded together: [id, parent, sha] each, without text
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from moechat.errors import DataError
from moechat.store.records import replace, sync_folder

Entry = Mapping[str, Any]


def encode(entries: Iterable[Entry]) -> bytes:
    return b"".join(json.dumps(e, ensure_ascii=False, separators=(",", ":")).encode() + b"\n" for e in entries)


class JsonLines:
    """An append-only file of JSON lines, read incrementally and safe against a torn last line."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problems: list[DataError] = []
        self._offset = 0
        self._inode = 0

    def unread(self) -> tuple[bool, list[Entry]]:
        """Entries that were added since the last call, and whether the file is another one (read from its start)."""
        try:
            with open(self.path, "rb") as file:
                stat = os.fstat(file.fileno())
                anew = bool(self._inode) and (stat.st_ino != self._inode or stat.st_size < self._offset)
                if anew:
                    self._offset, self.problems = 0, []
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
                self.problems.append(DataError(self.path, f"a damaged line was passed over ({error})"))
        return entries

    def append(self, entries: Sequence[Entry]) -> None:
        """Append and fsync, under the owner's lock; call ``unread`` first. A torn line before it is cut off."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        created = not self.path.exists()
        data = encode(entries)
        with open(self.path, "ab") as file:
            if file.tell() > self._offset:
                file.truncate(self._offset)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            self._inode = os.fstat(file.fileno()).st_ino
        self._offset += len(data)
        if created:
            sync_folder(self.path.parent)

    def rewrite(self, entries: Iterable[Entry]) -> None:
        """Replace the file; other readers notice by its inode."""
        data = encode(entries)
        replace(self.path, data)
        stat = self.path.stat()
        self._offset, self._inode = len(data), stat.st_ino
