"""Plain values from files that strangers share: bytes, YAML and JSON, read so that no file can do more than be wrong.

Characters, memories and saved talk come from other people. A file may nest its values so deep that a parser written in C
overruns its stack, repeat them by aliases until they fill the memory, be a pipe that never ends, or a link that leads to
something else of its reader. All of that is refused here, in words.
"""

from __future__ import annotations

import codecs
import json
import os
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import yaml

from moechat.errors import DataError, shown

# PyYAML may have been built without its C part. The base loader builds text, lists and mappings only.
PLAIN = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
TEXT = getattr(yaml, "CBaseLoader", yaml.BaseLoader)

MAX_FILE_BYTES = 64 << 20  # Of a file that is read whole.
MAX_DEPTH = 100  # Of nested values, in a document that could be nested deeper than SAFE_DEPTH.
SAFE_DEPTH = 2 * MAX_DEPTH  # It fits on every stack.
MAX_REPEATED_CHARS = 100_000  # What aliases may repeat in all.
MAX_VALUES = 1_000_000  # In one YAML document: some 330 bytes of memory each.
_MAX_BYTES_UNCOUNTED = 2 * MAX_VALUES  # A value takes at least two bytes.
_INDENTED = re.compile(rb"[ \t?:-]{%d}" % (MAX_DEPTH // 2 - 2))
_TOO_DEEP = f"values are nested more than {MAX_DEPTH} deep; write them flatter"
_ANCHOR = re.compile(rb"&([\w-]+)")
_ALIAS = re.compile(rb"\*([\w-]+)")


def data_of(path: Path, *, may_lead_out: bool = False) -> bytes:
    """The bytes of a file. Raises OSError, and DataError where it is no file, is too large, or a link to elsewhere."""
    with opened(path, may_lead_out=may_lead_out) as file:
        size = os.fstat(file.fileno()).st_size
        if size > MAX_FILE_BYTES:
            raise DataError(path, f"has {size >> 20} MB; at most {MAX_FILE_BYTES >> 20} are read: split it")
        return file.read()


def opened(path: Path, *, may_lead_out: bool = False) -> BinaryIO:
    """A file, opened to be read. A link must stay in its folder unless it ``may_lead_out``.

    Raises OSError, and DataError where it is no file or such a link.
    """
    if not may_lead_out:
        require_inside(path, path.parent)
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise DataError(path, "is a folder or a device, not a file")
    return open(handle, "rb")


def require_inside(path: Path, folder: Path) -> None:
    """Raises DataError where a path is a link to something outside of a folder."""
    if path.is_symlink() and not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder)):
        raise DataError(path, "is a link that leads out of its folder; put what it leads to here instead")


def yaml_value(data: bytes, file: Path | str, loader: Any = TEXT, *, first_line: int = 1) -> Any:
    """The document in UTF-8 bytes; an empty one is None. ``first_line`` is the line of the file that they begin in.

    Raises DataError with the line where it does not parse, is nested deeper than MAX_DEPTH, or repeats itself too much.
    """
    try:
        if _may_be_hostile(data):
            _check_events(data, file, loader, first_line)
        return yaml.load(data, loader)  # noqa: S506  both build plain data only
    except yaml.reader.ReaderError as error:
        line = data[: error.position].count(b"\n") + first_line
        raise DataError(file, f"a character that YAML does not allow: {error.reason}", line=line) from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + first_line if mark else first_line
        raise DataError(file, f"not valid YAML: {error.problem or error.context}", line=line) from error
    except RecursionError as error:
        raise DataError(file, _TOO_DEEP, line=first_line) from error
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        raise DataError(file, f"not valid YAML: {error}", line=first_line) from error


def _may_be_hostile(data: bytes) -> bool:
    """Whether a look at the events is needed: False is certain, True is not, and the bytes of most files say False.

    False means that nothing is nested deeper than SAFE_DEPTH, that no alias is there, and how many values there are at most.

    Flow collections nest no deeper than there are opening brackets. Each block collection begins at a greater column than
    the one around it (but that a sequence may begin where its mapping does), and what stands before it in its line is
    indentation and the indicators ``-``, ``?`` and ``:`` alone: without a run of n such bytes, block collections nest
    at most 2·n + 2 deep. An alias needs an anchor of the same name.
    """
    return (
        data.count(b"[") + data.count(b"{") > SAFE_DEPTH - MAX_DEPTH
        or _INDENTED.search(data) is not None
        or (b"&" in data and not set(_ANCHOR.findall(data)).isdisjoint(_ALIAS.findall(data)))
        or len(data) > _MAX_BYTES_UNCOUNTED
    )


def _check_events(data: bytes, file: Path | str, loader: Any, first_line: int) -> None:
    """Look at a document without building it. The parser of events keeps its own stack, so that depth costs nothing here."""

    def refuse(why: str) -> NoReturn:
        mark = event.start_mark
        raise DataError(file, why, line=mark.line + first_line if mark else first_line)

    size = repeated = 0
    around: list[tuple[str | None, int]] = []
    sizes: dict[str, int] = {}
    for values, event in enumerate(yaml.parse(data, loader)):
        if values > 2 * MAX_VALUES:  # a collection has a beginning and an end
            refuse(f"more than {MAX_VALUES:,} values; split the file")
        if isinstance(event, yaml.CollectionStartEvent):
            around.append((event.anchor, size))
            if len(around) > MAX_DEPTH:
                refuse(_TOO_DEEP)
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before = around.pop()
            if anchor:
                sizes[anchor] = size - before
        elif isinstance(event, yaml.ScalarEvent):
            size += 1 + len(event.value)
            if event.anchor:
                sizes[event.anchor] = 1 + len(event.value)
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor not in sizes:
                refuse(
                    f"*{shown(event.anchor)[1:-1]} refers to nothing that has ended above it; write out what is meant"
                )
            repeated += sizes[event.anchor]
            size += sizes[event.anchor]
            if repeated > MAX_REPEATED_CHARS:
                refuse(f"aliases (*name) repeat more than {MAX_REPEATED_CHARS:,} characters; write out what is meant")


def _nothing(_: str) -> None:
    """For NaN and Infinity, which JSON does not know and Python writes all the same."""


_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_JSON = json.JSONDecoder(parse_constant=_nothing)


def json_value(text: str | bytes, *, decoder: json.JSONDecoder = _JSON) -> Any:
    """The value of a JSON text (UTF-8). NaN is null, and half a character (a lone surrogate) U+FFFD.

    Raises ValueError, and nothing else, where it is no JSON, has a number too long, or values nested too deep.
    """
    if isinstance(text, bytes):
        text = text.removeprefix(codecs.BOM_UTF8).decode()
    try:
        value = decoder.decode(text.strip())
        return _JSON.decode(storable(json.dumps(value, ensure_ascii=False))) if _SURROGATE.search(text) else value
    except RecursionError:
        raise ValueError("values are nested too deep") from None


def json_of(text: str | bytes, file: Path | str) -> Any:
    """The value of a JSON file of a stranger's. Raises DataError where it is none."""
    try:
        return json_value(text)
    except ValueError as error:
        raise DataError(file, f"is no JSON that can be read: {error}") from None


def json_decoder(object_of: Callable[[list[tuple[str, Any]]], Any]) -> json.JSONDecoder:
    """A decoder for ``json_value`` that makes objects of their pairs."""
    return json.JSONDecoder(object_pairs_hook=object_of, parse_constant=_nothing)


def storable(text: str) -> str:
    """Text that UTF-8 can hold: a lone surrogate becomes U+FFFD. Everything else stays as it is."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


# ---- YAML files that people write: read whole, with the file and the line in every error. The plain reading is YAML 1.1 as
# PyYAML has it (settings); the text one keeps every scalar as it is written, so that the keyword ``no``, ``12:30`` or
# ``2025-05-20`` stays text (world book, characters). Neither builds objects.

Stamp = tuple[int, int, int]


def stamp(path: Path) -> Stamp | None:
    """(mtime in ns, size, inode): tells an edited file from the one that was read. None where there is no file."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size, stat.st_ino


def text(path: Path, *, may_lead_out: bool = False) -> str:
    """The whole of a UTF-8 file, without a byte order mark. Raises DataError where it is not there or cannot be read.

    ``may_lead_out``: a file of the user's own may be a link to another place.
    """
    try:
        return decoded(data_of(path, may_lead_out=may_lead_out), path)
    except OSError as error:
        raise DataError(path, f"cannot be read: {error.strerror}") from error


def decoded(data: bytes, path: Path) -> str:
    """The text of a file's bytes, without a byte order mark, its lines ended by newlines. Raises DataError."""
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise DataError(path, "this is not UTF-8 text; save the file as UTF-8", line=line) from error


def read_yaml(path: Path, *, as_text: bool = False, may_lead_out: bool = False) -> Any:
    """The document in ``path``; an empty file is None. Raises DataError with the line where it does not parse."""
    return parse_yaml(text(path, may_lead_out=may_lead_out), path, as_text=as_text)


def parse_yaml(source: str, path: Path, *, as_text: bool = False) -> Any:
    """The document in ``source``, which came from ``path``. Raises DataError with the line where it does not parse."""
    return yaml_value(storable(source).encode(), path, TEXT if as_text else PLAIN)
