"""A memory, or a whole character with it, as one zip that reads back in equal.

An archive holds files by their relative names, and ``moechat.json``, which says what it is. What can be made anew (indexes),
locks, backups and files that are none of ours (``unknown``) are left out.
"""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Literal

from moechat.errors import DataError, MoeChatError
from moechat.store import disk, plain, records, unknown, zips
from moechat.store.records import Signature

MANIFEST = "moechat.json"
FORMAT = 1
TRIES = 5  # A memory that changes while it is read is read again.
MOST_FILES = 200_000
MOST_SHRUNK = 100
ArchiveKind = Literal["character", "memory"]
_LEFT_OUT = (disk.INDEX, disk.BACKUPS, disk.EXPORTS)
_FORBIDDEN = set('<>:"|?*')
_WHOSE = re.compile(rf"(?:users/[^/]+/)?(?:{disk.WORLDS}/[^/]+/)?")


@dataclass(frozen=True)
class Archive:
    """What an archive says of itself; ``memory``: whether talk and findings are in it."""

    kind: ArchiveKind
    name: str
    memory: bool
    made: str
    files: int


def pack(
    target: BinaryIO,
    folder: Path,
    kind: ArchiveKind,
    name: str,
    now: datetime,
    *,
    memory: bool,
    alone: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> None:
    """Write the archive of a character's folder, or (kind ``memory``) of one owner's memory in it.

    ``alone`` is the owner's lock. It is taken for a short time, at the end of each try: under it, what changed during an earlier
    try is packed, and the last try is made under it as a whole. Raises DataError where files change all the time nevertheless.
    """
    manifest = {
        "moechat": "archive",
        "format": FORMAT,
        "kind": kind,
        "name": name,
        "memory": memory,
        "made": now.isoformat(),
    }
    head = json.dumps(manifest, ensure_ascii=False).encode()

    def there() -> dict[Path, tuple[str, Signature]]:
        return {path: (name, _signed(path)) for name, path in _chosen(folder, kind, memory=memory)}

    restless: set[Path] = set()
    for tries_left in reversed(range(TRIES)):
        target.seek(0)
        target.truncate()
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as into:
            zips.add(into, {MANIFEST: io.BytesIO(head)})
            first = {path: one for path, one in there().items() if tries_left and path not in restless}
            zips.add(into, {name: path for path, (name, _) in first.items()})
            with alone():
                now_there = there()
                other = {path for path, one in first.items() if now_there.get(path) != one}
                rest = {path: one for path, one in now_there.items() if path not in first}
                if not other:
                    zips.add(into, {name: path for path, (name, _) in rest.items()})
                    if all(_signed(path) == signature for path, (_, signature) in rest.items()):
                        return
                restless |= other
    raise DataError(folder, "it changes all the time; end the other programs that use it, then try again")


def _signed(path: Path) -> Signature:
    """A reply that streams is written under no lock, and any beginning of it is one."""
    return Signature() if path.parent.name == disk.REPLIES else Signature.of(path)


def size(folder: Path, kind: ArchiveKind, *, memory: bool) -> int:
    """The bytes that would go into an archive, before they are packed."""
    return sum(max(Signature.of(path).size, 0) for _, path in _chosen(folder, kind, memory=memory))


def _chosen(folder: Path, kind: ArchiveKind, *, memory: bool) -> Iterator[tuple[str, Path]]:
    """(relative name, path) of what goes into an archive, in order."""
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        parts = PurePosixPath(name).parts
        is_hidden = any(part.startswith(".") for part in parts) or name.endswith(".lock")
        if path.is_symlink() or not path.is_file() or is_hidden or any(part in _LEFT_OUT for part in parts):
            continue
        own = _WHOSE.sub("", name, count=1) if kind == "character" else name
        if (memory and unknown.is_memory(own)) or (kind == "character" and unknown.is_authors(name)):
            yield name, path


def described(file: Path) -> Archive | None:
    """What an archive says of itself; None where a file is none. Raises DataError where it is one that cannot be read here."""
    with plain.opened(file, may_lead_out=True) as opened:
        if not zipfile.is_zipfile(opened):
            return None
        archive = _looked_over(opened, file)
        if MANIFEST not in archive.names:
            return None
        head = archive.read(MANIFEST, 1 << 20)
    try:
        manifest = plain.json_value(head)
    except ValueError as error:
        raise DataError(file, f"{MANIFEST} in it is no JSON: {error}") from None
    if (
        not isinstance(manifest, dict)
        or manifest.get("moechat") != "archive"
        or manifest.get("kind") not in ("character", "memory")
    ):
        raise DataError(file, f"{MANIFEST} in it does not say what it holds")
    if not isinstance(manifest.get("format"), int) or manifest["format"] > FORMAT:
        raise DataError(file, "a newer MoeChat made this archive; update MoeChat to read it")
    return Archive(
        manifest["kind"], str(manifest.get("name", ""))[:200], manifest.get("memory") is True, str(manifest.get("made", ""))[:40],
        len(archive.names) - 1,
    )  # fmt: skip


def _looked_over(opened: BinaryIO, file: Path) -> zips.Zip:
    """An archive may be as large as a life of talk; its text never shrinks to less than a hundredth."""
    packed = os.fstat(opened.fileno()).st_size
    return zips.Zip(opened, file, most_files=MOST_FILES, largest=max(zips.MAX_BYTES, MOST_SHRUNK * packed))


def unpack(file: Path, folder: Path) -> None:
    """Put the files of an archive into a folder: all of them, or none. Files that are there stay and must not be in it.

    Raises DataError, MoeChatError.
    """
    with plain.opened(file, may_lead_out=True) as opened:
        _unpack(_looked_over(opened, file), file, folder)


def _unpack(archive: zips.Zip, file: Path, folder: Path) -> None:
    names = [name for name in archive.names if name != MANIFEST and _is_ours(name, file)]
    if taken := [name for name in names if (folder / name).exists()]:
        raise MoeChatError(f"{folder} holds {taken[0]} already; choose another place, or take that away first")
    folder.parent.mkdir(parents=True, exist_ok=True)
    making = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".unpacking-"))
    try:
        for name in names:
            target = making / name
            target.parent.mkdir(parents=True, exist_ok=True)
            archive.copy(name, target)
        if not folder.exists():
            making.rename(folder)
        else:
            for top in sorted(making.iterdir()):
                top.rename(folder / top.name)
        records.sync_folder(folder.parent)
    finally:
        shutil.rmtree(making, ignore_errors=True)


def _is_ours(name: str, file: Path | str) -> bool:
    """Whether a file of an archive is taken. Raises DataError for a name that no archive of ours has."""
    parts = PurePosixPath(name).parts
    if (
        _FORBIDDEN & set(name)
        or not name.isprintable()
        or any(part != part.strip(" ") or part.endswith(".") for part in parts)
    ):
        raise DataError(file, f"holds a file {name[:80]!r}, which no archive of ours has; refused")
    return not any(part.startswith(".") or part in _LEFT_OUT for part in parts)
