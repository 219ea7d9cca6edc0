"""Zip files from strangers: nothing is unpacked to the disk by them, and nothing is larger than it may be."""

from __future__ import annotations

import contextlib
import io
import shutil
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO

from moechat.errors import DataError
from moechat.store import plain

MAX_FILES = 20_000
MAX_BYTES = 256 << 20  # Of all files of a zip together, unpacked.
BYTES_AT_ONCE = 1 << 20
_FAULTS = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError, OSError, ValueError)


def is_zip(data: bytes) -> bool:
    """Whether it is a zip, perhaps after something else (a picture, a program that unpacks itself)."""
    return zipfile.is_zipfile(io.BytesIO(data))


class Zip:
    """A zip, looked over before anything of it is unpacked: its bytes, or an open file, which stays the caller's.

    Raises DataError where it is damaged, encrypted, has a name that would lead elsewhere, or holds more than ``most_files`` or
    than ``largest`` bytes when unpacked.
    """

    def __init__(
        self, source: bytes | BinaryIO, file: Path | str, *, most_files: int = MAX_FILES, largest: int = MAX_BYTES
    ) -> None:
        self._file = file
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(source) if isinstance(source, bytes) else source)
            infos = [info for info in self._zip.infolist() if not info.is_dir()]
        except _FAULTS as error:
            raise self._damaged(error) from None
        if len(infos) > most_files:
            raise DataError(file, f"holds {len(infos):,} files; at most {most_files:,} are read")
        if (size := sum(info.file_size for info in infos)) > largest:
            raise DataError(file, f"would unpack to {size >> 20} MB; at most {largest >> 20} are read")
        for info in infos:
            if info.flag_bits & 1:
                raise DataError(file, "is encrypted; save it without a password")
            if not is_inside(info.orig_filename):
                raise DataError(file, f"holds a file {info.orig_filename[:80]!r}, whose name leads out of it; refused")
        self._infos = {info.filename: info for info in infos}
        self.names = tuple(self._infos)

    def read(self, name: str, most: int) -> bytes:
        """One file of it, of ``most`` bytes. Raises DataError."""
        info = self._infos[name]
        if info.file_size > most:
            raise DataError(self._file, f"{name} has {info.file_size >> 20} MB; at most {most >> 20} are read")
        try:
            return self._zip.read(info)
        except _FAULTS as error:
            raise self._damaged(error) from None

    def copy(self, name: str, target: Path) -> None:
        """Unpack one file of it into a new one. Raises DataError, and OSError of the disk."""
        with self._zip.open(self._infos[name]) as source, target.open("xb") as written:
            while piece := self._piece(source):
                written.write(piece)

    def _piece(self, source: IO[bytes]) -> bytes:
        try:
            return source.read(BYTES_AT_ONCE)
        except _FAULTS as error:
            raise self._damaged(error) from None

    def _damaged(self, error: Exception) -> DataError:
        return DataError(self._file, f"is damaged, or no zip ({error}); get the file again")


def is_inside(name: str) -> bool:
    """Whether the name of a file in a zip is a plain relative path."""
    path = PurePosixPath(name)
    bad = set("\\:\0") & set(name)
    return bool(name) and not bad and not path.is_absolute() and ".." not in path.parts


def zipped(files: Mapping[str, bytes]) -> bytes:
    """A zip of these files; the same files give the same bytes."""
    target = io.BytesIO()
    write(target, {name: io.BytesIO(content) for name, content in files.items()})
    return target.getvalue()


def write(target: BinaryIO, files: Mapping[str, BinaryIO | Path]) -> None:
    """Write a zip of open files, and of files by their path; the same files give the same bytes."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        add(archive, files)


def add(archive: zipfile.ZipFile, files: Mapping[str, BinaryIO | Path]) -> None:
    """Add files to a zip, a piece at a time. A file that is gone is left out. Raises DataError, OSError."""
    for name, content in files.items():
        with contextlib.suppress(FileNotFoundError):
            source = plain.opened(content) if isinstance(content, Path) else content
            info = zipfile.ZipInfo(name)
            info.compress_type = zipfile.ZIP_DEFLATED
            with source, archive.open(info, "w", force_zip64=True) as written:
                shutil.copyfileobj(source, written, BYTES_AT_ONCE)
