"""The rows of a vector table in two files, and their keys: mapped into memory, grown in chunks, shared with other processes.

A key tells whether a stored vector belongs to a text, and where the vector of a text stands.

In ``<owner>/.index/vectors-<fingerprint>/<layer>/`` (little endian; nothing for FAISS to parse: it
searches the rows where they lie):

    vectors.f32      rows of ``dim`` float32, position i at byte i * dim * 4
    keys.bin         16 bytes of header (b"MOEVEC1\\0", dim as uint32, 0 as uint32), then position i at byte
                     16 + i * 16: blake2b-128 of the text, all zero where nothing is stored
    lock             taken while the files grow

Both files grow in chunks of zeros. A vector is written before its key, and a key is zeroed before its vector changes, so
a process that is killed at any moment leaves rows that are right or missing. After a power failure only what was flushed
is certain: nothing is synced per row.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moechat.store import disk

Ints = NDArray[np.int64]
Vectors = NDArray[np.float32]
PackedKeys = NDArray[np.uint64]
Keys = Sequence[bytes] | PackedKeys

_HEADER = struct.Struct("<8sII")
_MAGIC = b"MOEVEC1\0"
KEY_BYTES = 16
ROWS_AT_ONCE = 4096


def text_key(text: str) -> bytes:
    """16 bytes that stand for this text."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=KEY_BYTES).digest()


def pack_keys(keys: Keys) -> PackedKeys:
    """``(n, 2)`` uint64 from keys as bytes; what is packed already is passed through."""
    if isinstance(keys, np.ndarray):
        return keys
    return np.frombuffer(b"".join(keys), dtype="<u8").reshape(-1, 2)


class VectorRows:
    """Parallel arrays by position: ``vectors`` (n, dim) float32, ``keys`` (n, 2) uint64 and ``filled`` (n,) bool.

    ``count`` is one more than the last filled position. ``folder`` None keeps all in memory. Not locked: its table is.
    """

    def __init__(self, folder: Path | None, dim: int) -> None:
        self.folder = folder
        self.dim = dim
        self.filled: NDArray[np.bool_] = np.zeros(0, dtype=bool)
        self.count = 0
        self.losses = 0
        """Rises whenever a row may have lost its vector."""
        self._identity: tuple[tuple[int, int], ...] = ()
        self._unmap()

    def _unmap(self) -> None:
        self.vectors: NDArray[np.float32] = np.zeros((0, self.dim), dtype=np.float32)
        self.keys: PackedKeys = np.zeros((0, 2), dtype=np.uint64)
        self._maps: tuple[mmap.mmap, ...] = ()

    @property
    def _paths(self) -> tuple[Path, Path]:
        assert self.folder is not None
        return self.folder / "vectors.f32", self.folder / "keys.bin"

    @contextmanager
    def alone(self) -> Iterator[None]:
        """No other process appends or sweeps in here."""
        if self.folder is None:
            yield
            return
        with disk.lock(self.folder / "append.lock"):
            yield

    def changed(self) -> bool:
        """Whether another process grew the files, or somebody deleted or cut them."""
        return self.folder is not None and self._look() != self._identity

    def _look(self) -> tuple[tuple[int, int], ...]:
        try:
            return tuple((stat.st_ino, stat.st_size) for stat in map(os.stat, self._paths))
        except OSError:
            return ()

    def open(self) -> bool:
        """Map the rows that both files hold; a wrong header or size makes rows missing, never an error.

        False where these are no longer the files from before: what was derived from their rows is void.
        """
        before, self._identity = self._identity, self._look()
        self._unmap()
        grown = [now[0] == then[0] and now[1] >= then[1] for now, then in zip(self._identity, before, strict=False)]
        same_files = len(grown) == 2 and all(grown)
        if not self._identity or not self._is_ours():
            return same_files
        (_, vector_bytes), (_, key_bytes) = self._identity
        key_rows = (key_bytes - _HEADER.size) // KEY_BYTES
        rows = min(vector_bytes // (self.dim * 4), key_rows)
        if rows <= 0:
            return same_files
        sizes = (rows * self.dim * 4, _HEADER.size + key_rows * KEY_BYTES)
        try:
            self._maps = tuple(_mapped(path, size) for path, size in zip(self._paths, sizes, strict=True))
        except OSError:  # a folder stands there; it goes when the files grow
            return same_files
        self.vectors = np.frombuffer(self._maps[0], dtype="<f4").reshape(rows, self.dim)
        keys = np.frombuffer(self._maps[1], dtype="<u8").reshape(-1, 2)[1:]
        if key_rows > rows:
            keys[rows:] = 0  # their vectors were cut off: they would come back as zeros with the next growth
        self.keys = keys[:rows]
        return same_files

    def _is_ours(self) -> bool:
        try:
            with self._paths[1].open("rb") as file:
                return file.read(_HEADER.size) == _HEADER.pack(_MAGIC, self.dim, 0)
        except OSError:
            return False

    def recount(self) -> bool:
        """Bring ``filled`` and ``count`` up to date with the keys; True where rows came or went."""
        before, self.filled = self.filled, self.keys[:, 0] != 0
        kept = self.filled[: len(before)]
        self.losses += bool(before[len(kept) :].any() or (before[: len(kept)] & ~kept).any())
        last = np.flatnonzero(self.filled)[-1:]
        self.count = int(last[0]) + 1 if len(last) else 0
        return self.count > len(before) or not np.array_equal(self.filled[: len(before)], before)

    def grow(self, rows: int) -> bool:
        """Make room for ``rows`` positions and a quarter more, in chunks of 256 rows. Returns what ``open`` does."""
        room = -(-max(rows, len(self.keys) * 5 // 4) // 256) * 256
        if self.folder is None:
            more = room - len(self.keys)
            self.vectors = np.concatenate([self.vectors, np.zeros((more, self.dim), np.float32)])
            self.keys = np.concatenate([self.keys, np.zeros((more, 2), np.uint64)])
            return True
        with disk.lock(self.folder / "lock"):
            for path in self._paths:
                disk.make_way(path)
            if not self._look() or not self._is_ours():
                for path in self._paths:  # another process may have them mapped: new files, not cut ones
                    path.unlink(missing_ok=True)
            _extend(self._paths[0], b"", room * self.dim * 4, self.dim * 4)
            header = _HEADER.pack(_MAGIC, self.dim, 0)
            _extend(self._paths[1], header, len(header) + room * KEY_BYTES, KEY_BYTES)
        return self.open()

    def write(self, positions: Ints, keys: PackedKeys, vectors: NDArray[Any]) -> None:
        """Store rows at positions that there is room for."""
        if self.filled[positions].any():
            self.keys[positions] = 0
        self.vectors[positions] = vectors
        self.keys[positions] = keys
        self.filled[positions] = True
        self.count = max(self.count, int(positions.max()) + 1)

    def clear(self, positions: Ints) -> None:
        """Overwrite rows with zeros, the vectors first: whoever is cut short finds the keys again.

        What stands in rows without a key (a killed process leaves it) is overwritten as well.
        """
        self.vectors[positions] = 0
        for start in range(0, len(self.filled), ROWS_AT_ONCE):
            empty = start + np.flatnonzero(~self.filled[start : start + ROWS_AT_ONCE])
            if self.vectors[empty].any():
                self.vectors[empty] = 0
        self.flush()
        self.keys[positions] = 0

    def require_readable(self) -> None:
        """Open files without a readable row once more, and delete them if that is in vain: what is to go might stand there."""
        if self.folder is None or self._maps or not any(path.exists() for path in self._paths):
            return
        with disk.lock(self.folder / "lock"):
            self.open()
            if not self._maps:
                for path in self._paths:
                    disk.clear(path)

    def flush(self) -> None:
        """Wait until all is on the disk, vectors before keys."""
        for mapped in self._maps:
            mapped.flush()

    def close(self) -> None:
        """Let go of the files."""
        self._unmap()
        self._identity = ()

    def release_pages(self) -> None:
        """Let the system take back the memory of vectors that were all walked over."""
        if self._maps and hasattr(mmap, "MADV_DONTNEED"):
            self._maps[0].madvise(mmap.MADV_DONTNEED)


def dim_of(keys_file: Path) -> int | None:
    """The dimension that the header of a ``keys.bin`` names, None where there is no such file of ours."""
    try:
        with keys_file.open("rb") as file:
            head = file.read(_HEADER.size)
    except OSError:
        return None
    if len(head) < _HEADER.size or not head.startswith(_MAGIC):
        return None
    dim: int = _HEADER.unpack(head)[1]
    return dim


def _mapped(path: Path, size: int) -> mmap.mmap:
    with path.open("rb+") as file:
        return mmap.mmap(file.fileno(), size)


def _extend(path: Path, header: bytes, size: int, row: int) -> None:
    """Fill the file with zeros from its last whole row to ``size``.

    Written, not skipped over: a hole that a full disk cannot fill kills the process that maps it.
    """
    path.touch()
    with path.open("rb+") as file:
        end = file.seek(0, os.SEEK_END)
        if end < len(header):
            file.seek(0)
            file.write(header)
            end = len(header)
        end = file.seek(len(header) + (end - len(header)) // row * row)
        while end < size:
            end += file.write(bytes(min(size - end, 1 << 20)))


class KeyOrder:
    """Positions by key: a sorted array of first halves, and a dict of what was added since."""

    def __init__(self, keys: PackedKeys) -> None:
        self._order = np.argsort(keys[:, 0], kind="stable")
        self._sorted = keys[self._order, 0]
        self._since: dict[bytes, int] = {}

    def add(self, keys: PackedKeys, positions: Ints) -> None:
        self._since.update((key.tobytes(), int(position)) for key, position in zip(keys, positions, strict=True))

    def find(self, queries: PackedKeys, keys: PackedKeys) -> Ints:
        """``(n,)`` a position of each key of ``queries``, or -1. A hit counts only if the row of ``keys`` still has the key."""
        places = np.full(len(queries), -1, dtype=np.int64)
        starts = np.searchsorted(self._sorted, queries[:, 0])
        rows = np.flatnonzero((starts < len(self._sorted)) & (len(keys) > 0))
        rows = rows[self._sorted[starts[rows]] == queries[rows, 0]]
        while len(rows):  # as a rule once: two keys seldom share their first half, nor does one stand in many rows
            positions = self._order[starts[rows]]
            inside = positions < len(keys)
            same = inside & (keys[np.where(inside, positions, 0)] == queries[rows]).all(axis=1)
            places[rows[same]] = positions[same]
            rows = rows[~same]
            starts[rows] += 1
            rows = rows[starts[rows] < len(self._sorted)]
            rows = rows[self._sorted[starts[rows]] == queries[rows, 0]]
        if self._since:
            packed = np.ascontiguousarray(queries).tobytes()
            for row in range(len(queries)):
                recent = self._since.get(packed[row * KEY_BYTES : (row + 1) * KEY_BYTES], -1)
                if 0 <= recent < len(keys) and (keys[recent] == queries[row]).all():
                    places[row] = recent
        return places
