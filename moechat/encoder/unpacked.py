"""Arrays that take long to make, kept unpacked in the user's cache folder and mapped into memory by each process.

The copy is disposable: whatever is missing, damaged, of another version or not the user's own is made anew, and where
nothing can be kept the arrays live in memory alone.
"""

from __future__ import annotations

import json
import logging
import math
import os
import zlib
from collections.abc import Callable, Mapping
from mmap import ACCESS_READ, mmap
from pathlib import Path
from stat import S_IWGRP, S_IWOTH
from typing import Any

import numpy as np
from filelock import FileLock, Timeout
from numpy.typing import NDArray

log = logging.getLogger(__name__)
Arrays = Mapping[str, NDArray[Any]]
ALIGNMENT = 64  # Every array begins at a multiple of this many bytes.
NUMBER = 8  # A copy begins with two numbers: where its arrays begin, and the checksum of all that follows the numbers.


def arrays(path: Path, version: str, make: Callable[[], Arrays]) -> Arrays:
    """The arrays that ``make`` makes, read-only, from the copy at ``path`` where that is of this ``version``.

    What had to be made is kept there, unless another process is doing so.
    """
    try:
        return _mapped(path, version)
    except (OSError, ValueError) as reason:
        log.debug("%s is made anew: %s", path, reason)
    made = make()
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _check_own(path.parent.stat())
        with FileLock(path.with_suffix(".lock"), blocking=False):
            copy = path.with_suffix(".tmp")
            _write(copy, version, made)
            os.replace(copy, path)
    except (OSError, Timeout) as reason:
        log.debug("%s is not kept: %s", path, reason)
    return made


def _mapped(path: Path, version: str) -> Arrays:
    """Raises OSError or ValueError where the copy is not there or not good."""
    with path.open("rb") as file:
        _check_own(os.fstat(file.fileno()))
        whole = memoryview(mmap(file.fileno(), 0, access=ACCESS_READ))
    begin, checksum = (int.from_bytes(whole[at : at + NUMBER], "little") for at in (0, NUMBER))
    if zlib.crc32(whole[2 * NUMBER :]) != checksum:
        raise ValueError("it is damaged")
    contents = json.loads(bytes(whole[2 * NUMBER : begin]))
    if contents["version"] != version:
        raise ValueError(f"it is of {contents['version']}")
    return {
        name: np.frombuffer(whole, dtype, math.prod(shape), begin + at).reshape(shape)
        for name, dtype, shape, at in contents["arrays"]
    }


def _write(path: Path, version: str, made: Arrays) -> None:
    rows, at = [], 0
    for name, array in made.items():
        rows.append((name, array.dtype.str, array.shape, at))
        at += _padded(array.nbytes)
    contents = json.dumps({"version": version, "arrays": rows}).encode()
    begin = _padded(2 * NUMBER + len(contents))
    parts = [contents.ljust(begin - 2 * NUMBER)]
    parts += [array.tobytes().ljust(_padded(array.nbytes), b"\0") for array in made.values()]
    checksum = 0
    for part in parts:
        checksum = zlib.crc32(part, checksum)
    path.unlink(missing_ok=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600), "wb") as file:
        file.write(begin.to_bytes(NUMBER, "little") + checksum.to_bytes(NUMBER, "little"))
        file.writelines(parts)


def _padded(size: int) -> int:
    return -size % ALIGNMENT + size


def _check_own(status: os.stat_result) -> None:
    """Raises PermissionError for what others could have written."""
    if os.name == "posix" and (status.st_uid != os.geteuid() or status.st_mode & (S_IWGRP | S_IWOTH)):
        raise PermissionError("others can write there")
