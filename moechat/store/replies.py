"""Replies on their way: each streams into a part file of its own, without the owner's lock.

What was shown is on disk whatever another process does. Whoever holds the owner's lock next folds what has ended into the
log. A lock beside each part file tells whether its writer lives; the system releases it when that process dies.

A part file is JSON lines: first ``{"ids": […], "key": …}``, what the reply rests on, then its pieces as JSON text (``{"instead":
true}``: those before were a thought), last the entry of the log that it becomes. If a memory that it rests on is forgotten
meanwhile, it holds ``{"withheld": true}`` alone.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from urllib.parse import quote, unquote

from filelock import FileLock, Timeout

from moechat.errors import MoeChatError, Withheld
from moechat.store import disk
from moechat.store.entries import LOG, PART_HEAD, Entry
from moechat.store.json_lines import encode
from moechat.store.plain import data_of, json_value

PART = ".jsonl"
LOCK = ".lock"
INSTEAD = encode([{"instead": True}])


@dataclass(frozen=True)
class Part:
    """What a part file holds. ``entry`` is None as long as the reply has not ended, ``ids`` are what it rests on. ``key`` is that
    of the entry: where the log has it, the reply is stored."""

    id: str
    ids: frozenset[str]
    text: str
    entry: Entry | None
    withheld: bool
    key: str = ""


class ReplyFiles:
    """The part files of one owner, in ``folder``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._locks: dict[str, FileLock] = {}
        self._files: dict[str, FileIO] = {}

    # ---- of this process

    def start(self, id_: str) -> None:
        """Raises MoeChatError where another process is answering this exchange."""
        self._folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(self._path(id_, LOCK), thread_local=False)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            raise MoeChatError("another process is answering this message right now") from None
        self._locks[id_] = lock

    def rest(self, id_: str, ids: Collection[str], key: str = "") -> None:
        """Say what the reply rests on, before it streams; it may be tried again. Raises DiskError."""
        with disk.in_words(self._folder):
            if before := self._files.pop(id_, None):
                before.close()
            file = self._files[id_] = open(self._path(id_, PART), "wb", buffering=0)  # noqa: SIM115 - until the reply ends
            disk.extend(file, encode([{"ids": sorted(ids), "key": key}]), durably=False)

    def write(self, id_: str, piece: str, *, instead: bool = False) -> None:
        """A piece of the reply that is about to be shown, ``instead`` of those before it or after them. Raises Withheld where
        what it rests on was forgotten, DiskError."""
        self.require(id_)
        line = json.dumps(piece, ensure_ascii=False).encode() + b"\n"
        with disk.in_words(self._folder):
            disk.extend(self._files[id_], INSTEAD + line if instead else line, durably=False)

    def end(self, id_: str, entry: Entry) -> None:
        """The reply has ended; it is durable when this returns. Raises Withheld, DiskError."""
        if id_ not in self._files:
            self.rest(id_, ())
        self.require(id_)
        with disk.in_words(self._folder):
            disk.extend(self._files[id_], encode([entry]))

    def require(self, id_: str) -> None:
        """Raises Withheld where a forgetting has emptied the part file, which then has another size."""
        file = self._files.get(id_)
        if file is not None and os.fstat(file.fileno()).st_size != file.tell():
            raise Withheld

    def release(self, id_: str, *, keep: bool = False) -> None:
        """The reply stands in the log now, or (``keep``) waits in its part file for whoever holds the lock next."""
        if file := self._files.pop(id_, None):
            with contextlib.suppress(OSError):  # what it holds was written before
                file.close()
        try:
            if not keep:
                self.drop(id_)
        finally:
            if lock := self._locks.pop(id_, None):
                lock.release()
                with contextlib.suppress(OSError):
                    os.unlink(lock.lock_file)

    def release_all(self) -> None:
        for id_ in list(self._locks):
            self.release(id_, keep=True)

    # ---- of all processes

    def is_alive(self, id_: str) -> bool:
        """Whether some living process is writing the reply to this exchange."""
        if id_ in self._locks:
            return True
        path = self._path(id_, LOCK)
        if not path.exists():
            return False
        lock = FileLock(path)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            return True
        lock.release()
        with contextlib.suppress(OSError):
            path.unlink()
        return False

    def alive(self) -> set[str]:
        """The exchanges whose reply some living process is writing. Locks that dead ones have left go."""
        ids = {unquote(path.name.removesuffix(LOCK)) for path in self._folder.glob(f"*{LOCK}")}
        return {id_ for id_ in ids if self.is_alive(id_)}

    def parts(self) -> Iterator[Part]:
        """What the part files hold at this moment."""
        with contextlib.suppress(FileNotFoundError):
            for path in sorted(self._folder.glob(f"*{PART}")):
                with contextlib.suppress(FileNotFoundError):
                    yield self._read(unquote(path.name.removesuffix(PART)))

    def ended(self) -> list[Part]:
        """The part files whose reply has ended, or whose writer died."""
        return [part for part in self.parts() if part.entry or not self.is_alive(part.id)]

    def _read(self, id_: str) -> Part:
        ids: frozenset[str] = frozenset()
        pieces: list[str] = []
        entry, withheld, key = None, False, ""
        for line in data_of(self._path(id_, PART)).splitlines():
            try:
                value = json_value(line)
            except ValueError:  # torn by a kill
                continue
            if isinstance(value, str):
                pieces.append(value)
            elif _is_reply(value, id_):
                entry, key = value, value.get("key", key)
            elif PART_HEAD.fits(value):
                ids, key = ids.union(value.get("ids", ())), value.get("key", key)
                withheld = withheld or "withheld" in value
                if "instead" in value:
                    pieces.clear()
        return Part(id_, ids, "".join(pieces), entry, withheld, key)

    def withhold(self, lost: frozenset[str]) -> None:
        """Empty the part files of replies to these exchanges, and of those that rest on one of these memories."""
        for part in self.parts():
            if part.id in lost or not lost.isdisjoint(part.ids):
                with open(self._path(part.id, PART), "r+b") as file:
                    file.truncate(0)
                    file.write(encode([{"withheld": True, "key": part.key}]))
                    file.flush()
                    os.fsync(file.fileno())

    def drop(self, id_: str) -> None:
        self._path(id_, PART).unlink(missing_ok=True)

    def _path(self, id_: str, suffix: str) -> Path:
        return self._folder / (quote(id_, safe="") + suffix)


def _is_reply(value: object, id_: str) -> bool:
    """Whether a line of a part file is the entry that ends a reply to this exchange."""
    if not isinstance(value, dict) or (value.get("op"), value.get("id")) != ("variant", id_):
        return False
    try:
        LOG.check(value)
    except ValueError:
        return False
    return True
