"""JSON lines that are appended, durably and safe against a torn last one: an owner's log and state, and replies on their way.

A reply streams into a part file of its own, without the owner's lock. What was shown is on disk whatever another process does.
Whoever holds the owner's lock next folds what has ended into the log. A lock beside each part file tells whether its writer
lives; the system releases it when that process dies.

A part file first says ``{"ids": […], "key": …}``, what the reply rests on, then its pieces as JSON text (``{"instead": true}``:
those before were a thought), last the entry of the log that it becomes. If a memory that it rests on is forgotten meanwhile, it
holds ``{"withheld": true}`` alone.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import FileIO
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Protocol
from urllib.parse import quote, unquote

from filelock import FileLock, Timeout

from moechat.errors import DataError, MoeChatError, Withheld
from moechat.store import disk
from moechat.store.entries import LOG, Entry, Shape, UnknownEntry, is_text, list_of, one_of
from moechat.store.plain import data_of, json_value, opened
from moechat.store.records import MOST_TOLD, append, put_in_place, sync_folder, unfinished

END_BYTES = 64


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

    def drop(self) -> None: ...

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
        self._end = b""  # The last bytes that were read: another file may have been copied into this one.

    @property
    def problems(self) -> list[DataError]:
        damaged = islice((one for one in self._aside if one.why), MOST_TOLD)
        return [DataError(self.path, f"a damaged line is passed over: {one.why}", line=one.number) for one in damaged]

    def unread(self) -> tuple[bool, list[Entry]]:
        """Entries that were added since the last call, and whether the file is another one (read from its start)."""
        try:
            stat = os.stat(self.path)
            if stat.st_ino == self._inode and stat.st_size == self._offset:  # as a rule, many times a turn
                return False, []
            with opened(self.path) as file:
                stat = os.fstat(file.fileno())
                anew = bool(self._inode) and (stat.st_ino != self._inode or stat.st_size < self._offset)
                if not anew:
                    file.seek(self._offset - len(self._end))
                    anew = file.read(len(self._end)) != self._end
                if anew:
                    self._offset, self._lines, self._aside, self._end = 0, 0, [], b""
                self._inode = stat.st_ino
                if stat.st_size == self._offset:
                    return anew, []
                file.seek(self._offset)
                data = file.read(stat.st_size - self._offset)
        except FileNotFoundError:
            anew, self._offset, self._inode, self._lines, self._aside = bool(self._offset), 0, 0, 0, []
            self._end = b""
            return anew, []
        whole = data[: data.rfind(b"\n") + 1]
        self._offset += len(whole)
        self._end = (self._end + whole)[-END_BYTES:]
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
        data, created = encode(entries), not self._inode
        if created:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        with open(self.path, "ab", buffering=0) as file:
            if file.tell() > self._offset:
                file.seek(file.truncate(self._offset))
            disk.extend(file, data)
            inode = os.fstat(file.fileno()).st_ino
        if created:
            sync_folder(self.path.parent)
        self._inode, self._offset, self._lines = inode, self._offset + len(data), self._lines + len(entries)
        self._end = (self._end + data)[-END_BYTES:]

    def rewrite(self, entries: Iterable[Entry]) -> None:
        """Replace the file; other readers notice by its inode."""
        self.commit(self.prepare(entries, self.place))

    def drop(self) -> None:
        """Under the owner's lock: nothing of it stays."""
        self.path.unlink(missing_ok=True)

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
        return Rewriting(unfinished(self.path, lambda file: file.write(data)), place, data.count(b"\n"), aside)

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
        with open(self.path, "rb") as file:
            file.seek(max(self._offset - END_BYTES, 0))
            self._end = file.read()
        self._lines, self._aside = rewriting.lines, list(rewriting.aside)
        return self._decode(whole)


def _values(lines: Sequence[bytes]) -> Sequence[Any]:
    """What the lines hold, read at once, which is much quicker; None for each where one of them is no object."""
    with contextlib.suppress(ValueError):
        values = json_value(b"[" + b",".join(lines) + b"]")
        if len(values) == len(lines) and set(map(type, values)) <= {dict}:
            return values  # type: ignore[no-any-return]
    return [None] * len(lines)


PART = ".jsonl"
LOCK = ".lock"
INSTEAD = encode([{"instead": True}])
PART_HEAD = Shape({"ids?": list_of(is_text), "key?": is_text, "withheld?": one_of(True), "instead?": one_of(True)})
"""The first line of a reply on its way, or what stands between its pieces where those before were a thought."""


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
    """The part files of one owner, in ``folder`` (``protocols.Replies``). Whatever writes raises DiskError."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._locks: dict[str, FileLock] = {}
        self._files: dict[str, FileIO] = {}

    # ---- of this process

    def start(self, id_: str) -> None:
        lock = FileLock(self._path(id_, LOCK), thread_local=False)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            raise MoeChatError("another process is answering this message right now") from None
        self._locks[id_] = lock

    def rest(self, id_: str, ids: Collection[str], key: str = "") -> None:
        with disk.in_words(self._folder):
            if before := self._files.pop(id_, None):
                before.close()
            file = self._files[id_] = open(self._path(id_, PART), "wb", buffering=0)  # noqa: SIM115 - until the reply ends
            disk.extend(file, encode([{"ids": sorted(ids), "key": key}]), durably=False)

    def write(self, id_: str, piece: str, *, instead: bool = False) -> None:
        self.require(id_)
        line = json.dumps(piece, ensure_ascii=False).encode() + b"\n"
        with disk.in_words(self._folder):
            disk.extend(self._files[id_], INSTEAD + line if instead else line, durably=False)

    def end(self, id_: str, entry: Entry) -> None:
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
