"""A memory, or a whole character with it, as one zip that reads back in equal.

An archive holds files by their relative names, and ``moechat.json``, which says what it is. What can be made anew (indexes),
locks and backups are left out.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Literal

from moechat.errors import DataError, MoeChatError
from moechat.store import paths, plain, records, zips
from moechat.store.records import Signature

MANIFEST = "moechat.json"
FORMAT = 1
TRIES = 5  # A memory that changes while it is read is read again.
ArchiveKind = Literal["character", "memory"]
_LEFT_OUT = (paths.INDEX, paths.BACKUPS, paths.EXPORTS)
_FORBIDDEN = set('<>:"|?*')


@dataclass(frozen=True)
class Archive:
    """What an archive says of itself; ``memory``: whether talk and findings are in it."""

    kind: ArchiveKind
    name: str
    memory: bool
    made: str
    files: int


def pack(folder: Path, kind: ArchiveKind, name: str, now: datetime, *, memory: bool) -> bytes:
    """The archive of a character's folder, or (kind ``memory``) of one owner's memory in it. Raises DataError where its
    files change all the time."""
    for _ in range(TRIES):
        chosen = list(_chosen(folder, kind, memory=memory))
        before = [Signature.of(path) for _, path in chosen]
        files = {name: plain.data_of(path) for name, path in chosen if path.exists()}
        if before == [Signature.of(path) for _, path in chosen]:
            break
    else:
        raise DataError(folder, "it changes all the time; end the other programs that use it, then try again")
    manifest = {
        "moechat": "archive",
        "format": FORMAT,
        "kind": kind,
        "name": name,
        "memory": memory,
        "made": now.isoformat(),
    }
    return zips.zipped({MANIFEST: json.dumps(manifest, ensure_ascii=False).encode(), **files})


def _chosen(folder: Path, kind: ArchiveKind, *, memory: bool) -> Iterator[tuple[str, Path]]:
    """(relative name, path) of what goes into an archive, in order."""
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        parts = PurePosixPath(name).parts
        is_hidden = any(part.startswith(".") for part in parts) or name.endswith(".lock")
        if path.is_symlink() or not path.is_file() or is_hidden or any(part in _LEFT_OUT for part in parts):
            continue
        is_memory = parts[0] in paths.OWN or parts[0] == "users"
        is_others = kind == "memory" and parts[0] in ("users", paths.WORLDS)
        if (memory and not is_others) if is_memory else kind == "character":
            yield name, path


def described(data: bytes, file: Path | str) -> Archive | None:
    """What an archive says of itself; None where a file is none. Raises DataError where it is one that cannot be read here."""
    if not zips.is_zip(data):
        return None
    archive = zips.ZipBytes(data, file)
    if MANIFEST not in archive.names:
        return None
    try:
        manifest = plain.json_value(archive.read(MANIFEST, 1 << 20))
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


def unpack(data: bytes, file: Path | str, folder: Path) -> None:
    """Put the files of an archive into a folder: all of them, or none. Files that are there stay and must not be in it.

    Raises DataError, MoeChatError.
    """
    archive = zips.ZipBytes(data, file)
    names = [name for name in archive.names if name != MANIFEST and _is_ours(name, file)]
    if taken := [name for name in names if (folder / name).exists()]:
        raise MoeChatError(f"{folder} holds {taken[0]} already; choose another place, or take that away first")
    folder.parent.mkdir(parents=True, exist_ok=True)
    making = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".unpacking-"))
    try:
        for name in names:
            target = making / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(archive.read(name, plain.LARGEST))
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
