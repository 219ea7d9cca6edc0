"""Zip files from strangers: nothing is unpacked to the disk by them, and nothing is larger than it may be."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from moechat.errors import DataError

MOST_FILES = 20_000
LARGEST = 256 << 20  # Bytes of all files of a zip together, unpacked.
_FAULTS = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError, OSError, ValueError)


def is_zip(data: bytes) -> bool:
    """Whether it is a zip, perhaps after something else (a picture, a program that unpacks itself)."""
    return zipfile.is_zipfile(io.BytesIO(data))


class ZipBytes:
    """A zip in memory, looked over before anything of it is unpacked.

    Raises DataError where it is damaged, encrypted, too large when unpacked, or has a name that would lead elsewhere.
    """

    def __init__(self, data: bytes, file: Path | str) -> None:
        self._file = file
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
            infos = [info for info in self._zip.infolist() if not info.is_dir()]
        except _FAULTS as error:
            raise self._damaged(error) from None
        if len(infos) > MOST_FILES:
            raise DataError(file, f"holds {len(infos):,} files; at most {MOST_FILES:,} are read")
        if (size := sum(info.file_size for info in infos)) > LARGEST:
            raise DataError(file, f"would unpack to {size >> 20} MB; at most {LARGEST >> 20} are read")
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
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return target.getvalue()
