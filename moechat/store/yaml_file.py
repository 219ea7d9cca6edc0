"""YAML files that people write: read whole, with the file and the line in every error.

Two readings. The plain one is YAML 1.1 as PyYAML has it (settings). The *text* one keeps every scalar as it is written,
so that the keyword ``no``, ``12:30`` or ``2025-05-20`` stays text (world book, characters). Neither builds objects.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from moechat.errors import DataError
from moechat.store import plain

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
        return decoded(plain.data_of(path, may_lead_out=may_lead_out), path)
    except OSError as error:
        raise DataError(path, f"cannot be read: {error.strerror}") from error


def decoded(data: bytes, path: Path) -> str:
    """The text of a file's bytes, without a byte order mark, its lines ended by newlines. Raises DataError."""
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise DataError(path, "this is not UTF-8 text; save the file as UTF-8", line=line) from error


def read(path: Path, *, as_text: bool = False, may_lead_out: bool = False) -> Any:
    """The document in ``path``; an empty file is None. Raises DataError with the line where it does not parse."""
    return parse(text(path, may_lead_out=may_lead_out), path, as_text=as_text)


def parse(source: str, path: Path, *, as_text: bool = False) -> Any:
    """The document in ``source``, which came from ``path``. Raises DataError with the line where it does not parse."""
    return plain.yaml_value(plain.storable(source).encode(), path, plain.TEXT if as_text else plain.PLAIN)
