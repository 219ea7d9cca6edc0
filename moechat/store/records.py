"""YAML files of records that people may edit (day files, notes, core memory): of a broken one, the good records are read.

A file is one mapping. It is split at its top-level keys, so that a torn or broken record costs itself alone, and so that
one record can be replaced while every other byte of the file, comments included, stays as its owner left it. All scalars
are read as text (YAML 1.1 would make 12:30 a number and ``no`` a boolean).
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import tempfile
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple

from filelock import FileLock, Timeout

from moechat.errors import DataError, shown
from moechat.store import disk, plain

_BOM = b"\xef\xbb\xbf"
MOST_TOLD = 1000  # Of lines that are no records, or damaged, so many are named; the others wait until these are mended.
LOCK_TIMEOUT_S = 10
TRIES = 5  # A hand that saves the file in the same moment comes first.
KEY_LINE = re.compile(rb"(?:^|(?<=\A\xef\xbb\xbf))(?![ \t\r\n#%]|\xef\xbb\xbf|---|\.\.\.)[^\n]+", re.MULTILINE)
_KEY = re.compile(rb"""^([^\s"'#%:][^:\n]*|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')[ \t]*:(?=\s)""", re.MULTILINE)
_PLAIN_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*\Z")
_PLAIN_VALUE = re.compile(r"[\w.+][\w.+:/()，。、！？；：（）「」 -]*\Z")
Bounds = tuple[int, int]
"""The byte offsets of a record in its file, from its first line to the next record."""
_UNPRINTABLE = re.compile("[^\n\t\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class Record:
    """One top-level entry; ``start`` and ``end`` are the byte offsets of its lines in the file."""

    key: str
    value: object
    start: int
    end: int
    line: int


class Doubled(DataError):
    """A record whose key stands in the file already."""

    def __init__(self, file: Path | str, key: str, bounds: Bounds, line: int) -> None:
        self.key, self.bounds = key, bounds
        super().__init__(file, f"the id {shown(key)} is there twice; the first one is used", line=line)


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a file holds: its good records in file order, and what could not be read."""

    records: Sequence[Record] = ()
    problems: Sequence[DataError] = ()

    @property
    def bounds(self) -> dict[str, Bounds]:
        return {record.key: (record.start, record.end) for record in self.records}


class Signature(NamedTuple):
    """Size, mtime and inode: a file that has the same three is taken as unchanged."""

    size: int = -1
    mtime_ns: int = 0
    inode: int = 0

    @classmethod
    def of(cls, path: Path | str) -> Signature:
        try:
            stat = os.stat(path)
        except FileNotFoundError:
            return cls()
        return cls(stat.st_size, stat.st_mtime_ns, stat.st_ino)


def parse(data: bytes, file: Path | str) -> Parsed:
    """Read a whole file. Never raises: what is wrong is in ``problems``, by line."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        parsed = _parse_each(data, segments(data), file)
        if not parsed.records:  # in another encoding, not damaged here and there
            return Parsed(problems=[DataError(file, "not UTF-8 text; save the file with encoding UTF-8", line=line)])
        return parsed
    offset = len(_BOM) if data.startswith(_BOM) else 0
    bounds = segments(data)
    try:
        whole = plain.yaml_value(data[offset:], file)
    except DataError:
        whole = None
    if whole and isinstance(whole, dict) and len(whole) == len(bounds):
        first = data.count(b"\n", 0, bounds[0][0]) + 1
        lines = itertools.accumulate((data.count(b"\n", s, e) for s, e in bounds[:-1]), initial=first)
        return Parsed(
            [Record(k, v, s, e, line) for (k, v), (s, e), line in zip(whole.items(), bounds, lines, strict=True)]
        )
    return _parse_each(data, bounds, file)


def segments(data: bytes) -> list[Bounds]:
    """Where every record of a file stands, whether it can be read or not."""
    starts = [match.start() for match in KEY_LINE.finditer(data)]
    return list(itertools.pairwise([*starts, len(data)]))


def keys(data: bytes) -> list[str]:
    """The keys of all records of a file, whether the rest of them can be read or not."""
    return [match[1].decode("utf-8", "replace").strip("\"'") for match in _KEY.finditer(data)]


def ended(data: bytes) -> bytes:
    """A file with its last line ended."""
    return data if not data or data.endswith(b"\n") else data + b"\n"


def _parse_each(data: bytes, bounds: Iterable[tuple[int, int]], file: Path | str) -> Parsed:
    records: dict[str, Record] = {}
    problems: list[DataError] = []
    following, place = 1, 0
    for start, end in bounds:
        line = following + data.count(b"\n", place, start)
        following, place = line, start
        try:
            # Without a colon it is no record, and need not be read.
            value = plain.yaml_value(data[start:end], file, first_line=line) if b":" in data[start:end] else None
        except DataError as problem:
            problems.append(problem)
            continue
        if not isinstance(value, dict) or len(value) != 1:
            if len(problems) < MOST_TOLD:
                problems.append(DataError(file, "not a record; expected `id: …` at the start of the line", line=line))
            continue
        ((key, content),) = value.items()
        if key in records:
            problems.append(Doubled(file, key, (start, end), line))
            continue
        records[key] = Record(key, content, start, end, line)
    return Parsed(list(records.values()), problems)


def read(path: Path) -> tuple[bytes, Parsed]:
    """The bytes of a file and what they hold; a missing file is an empty one, and so is one that cannot be read."""
    try:
        data = bytes_of(path)
    except DataError as problem:
        return b"", Parsed(problems=[problem])
    return data, parse(data, path) if data else Parsed()


def under(data: bytes, key: str) -> Bounds | None:
    """Where the record of a key stands in a file that is known to be good, without reading the others.

    None if it is not there, or if a hand wrote its key in a way of its own.
    """
    for written in dict.fromkeys((key_text(key), quoted(key), f"'{key}'")):
        mark = f"{written}:".encode()
        start = 0 if data.startswith(mark) else data.find(b"\n" + mark) + 1
        if (start or data.startswith(mark)) and data[start + len(mark) : start + len(mark) + 1] in b" \r\n":
            return start, _end(data, start)
    return None


def bounds_of(data: bytes, keys: Collection[str], there: Collection[str], file: Path) -> dict[str, Bounds]:
    """Where the records of these keys stand in a good file, of those that are ``there``; the others are not read."""
    bounds = {key: place for key in keys if (place := under(data, key))}
    if bounds.keys() >= set(there):
        return bounds
    every = parse(data, file).bounds  # a hand has written a key in a way of its own
    return {key: every[key] for key in keys if key in every}


def around(data: bytes, words: bytes) -> list[Bounds]:
    """The records of a good file that have these words anywhere, without reading any."""
    bounds: list[Bounds] = []
    place = data.find(words)
    while place >= 0:
        start = data.rfind(b"\n", 0, place) + 1
        while start and not KEY_LINE.match(data, start):
            start = data.rfind(b"\n", 0, start - 1) + 1
        bounds.append((start, _end(data, start)))
        place = data.find(words, bounds[-1][1])
    return bounds


def _end(data: bytes, start: int) -> int:
    """Where the record that begins at ``start`` ends."""
    line = data.find(b"\n", start)
    following = KEY_LINE.search(data, line + 1) if line >= 0 else None
    return following.start() if following else len(data)


def key_text(key: str) -> str:
    return key if _PLAIN_KEY.match(key) else quoted(key)


def quoted(text: str) -> str:
    """A YAML double-quoted scalar on one line."""
    return _UNPRINTABLE.sub(lambda m: f"\\U{ord(m.group()):08x}", json.dumps(text, ensure_ascii=False))


def scalar(text: str, indent: int) -> str:
    """A scalar as people like to read it: plain, a literal block, or quoted where nothing else is exact."""
    if _PLAIN_VALUE.match(text) and not text.endswith((" ", ":")) and ": " not in text:
        return text
    if not text or "\n" not in text:
        return quoted(text)
    return block(text, indent)


def block(text: str, indent: int) -> str:
    """A literal block of ``text`` (`|-`), or a quoted scalar where a block would not give the same text back."""
    if not text or text[0] in " \t\n" or text[-1] == "\n" or _UNPRINTABLE.search(text):
        return quoted(text)
    pad = " " * indent
    return "|-\n" + "\n".join(pad + line if line else "" for line in text.split("\n"))


def entry(key: str, value: Mapping[str, object] | Sequence[str] | str, *, shown: str = "") -> bytes:
    """One record as the bytes that are appended to its file. Nested mappings, lists of mappings and of text are fine.
    ``shown`` is the key as the file has it, where it is to stay so."""
    text = _node(value, 2 if isinstance(value, Mapping) else 0) or " {}"
    return ((shown or key_text(key)) + ":" + text + "\n").encode("utf-8")


def _node(value: object, indent: int) -> str:
    """A value, to stand after its key: a mapping in lines of their own that begin at ``indent``, a scalar further in by two."""
    if isinstance(value, Mapping):
        pad = " " * indent
        return "".join(
            f"\n{pad}{key_text(key)}:{_node(one, indent + 2 if isinstance(one, Mapping) else indent) or ' {}'}"
            for key, one in value.items()
        )
    if isinstance(value, str):
        return " " + scalar(value, indent + 2)
    if isinstance(value, Block):
        return " " + block(value.text, indent + 2)
    if not isinstance(value, Sequence):
        return f" {json.dumps(value)}"
    if all(isinstance(item, str) for item in value):
        return " [" + ", ".join(quoted(str(item)) for item in value) + "]"
    if other := next((item for item in value if not isinstance(item, Mapping)), None):
        raise TypeError(f"a list holds text or mappings, not {type(other).__name__}")
    return "".join(f"\n{' ' * indent}- {_node(item, indent + 2).lstrip()}" for item in value)


@dataclass(frozen=True, slots=True)
class Block:
    """Text that is written as a literal block whenever a block keeps it exactly."""

    text: str


def without(data: bytes, keys: Collection[str], file: Path) -> bytes:
    """A file without the records of these keys, however often they stand there."""
    parsed = parse(data, file)
    bounds = {record.start: (record.start, record.end) for record in parsed.records if record.key in keys}
    bounds |= {p.bounds[0]: p.bounds for p in parsed.problems if isinstance(p, Doubled) and p.key in keys}
    pieces, position = [], 0
    for start, end in (bounds[start] for start in sorted(bounds)):
        pieces.append(data[position:start])
        position = end
    return b"".join([*pieces, data[position:]])


def spliced(data: bytes, bounds: Mapping[str, Bounds], changes: Mapping[str, bytes | None]) -> bytes:
    """The file with the named records replaced, or removed where the change is None."""
    pieces, position = [], 0
    for key, (start, end) in sorted(bounds.items(), key=lambda one: one[1]):
        if key in changes:
            pieces += [data[position:start], changes[key] or b""]
            position = end
    return b"".join([*pieces, data[position:]])


def append(path: Path, blocks: bytes) -> None:
    """Append and fsync, all or nothing. A last line without its newline is ended first."""
    if created := not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "ab+", buffering=0) as file:
        if file.seek(0, os.SEEK_END):
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                blocks = b"\n" + blocks
        disk.extend(file, blocks)
    if created:
        sync_folder(path.parent)


def replace(path: Path, data: bytes, mode: int | None = None) -> None:
    """Write a whole file: temporary file, fsync, ``os.replace``. ``mode``: its permissions (None: those of the file before)."""
    copy = unfinished(path, lambda file: file.write(data))
    if mode is not None:
        copy.chmod(mode)
    put_in_place(copy, path)


def unfinished(path: Path, write: Callable[[BinaryIO], object]) -> Path:
    """The next version of a file, as ``write`` makes it, durably beside it; ``disk.unfinished_copies`` finds it after a crash."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(handle, "wb") as file:
            with contextlib.suppress(
                OSError
            ):  # a temporary file is its owner's alone; the file was perhaps others' too
                Path(name).chmod(path.stat().st_mode & 0o777)
            write(file)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        raise
    return Path(name)


def put_in_place(copy: Path, path: Path) -> None:
    """Let an unfinished copy be the file, durably."""
    try:
        os.replace(copy, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(copy)
        raise
    sync_folder(path.parent)


def rewrite(path: Path, lock: Path, change: Callable[[bytes], bytes]) -> None:
    """Replace a file that people edit too by what ``change`` makes of it, under ``lock``; what a hand saves meanwhile is
    read first. Raises DataError where nothing can be written now."""
    try:
        with FileLock(lock, timeout=LOCK_TIMEOUT_S):
            for _ in range(TRIES):
                before = Signature.of(path)
                data = change(bytes_of(path))
                if Signature.of(path) == before:
                    replace(path, data)
                    return
    except Timeout:
        raise DataError(path, f"no lock within {LOCK_TIMEOUT_S} s: another process holds it; try again") from None
    raise DataError(path, "it changes all the time; save it elsewhere, then try again")


def bytes_of(path: Path) -> bytes:
    """Empty where there is no file. Raises OSError, DataError."""
    try:
        return plain.data_of(path)
    except FileNotFoundError:
        return b""


def sync_folder(folder: Path) -> None:
    """Make a new name durable; Windows has no such call and needs none."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
