"""Which files of an owner's folder are MoeChat's. Every other one is named as unknown, goes into no backup, and is looked through
when something is forgotten: what an editor leaves beside a day (``…yaml~``, ``.bak``, ``.swp``) holds what the day held.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import zipfile
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote

from moechat.errors import DataError, NotFound, shown
from moechat.store import disk, plain, zips

WORLD_BOOK = "data_base"
_INSIDE = (disk.DAYS, disk.REPLIES, disk.IMPORTS, disk.BACKUPS, f"{disk.BACKUPS}/damaged", WORLD_BOOK)
_NOT_LOOKED_INTO = re.compile(rf"\{disk.INDEX}|users|{disk.WORLDS}|{disk.BACKUPS}/\.?format-\d+(\.\w+)?|\.unpacking-.*")
_MEMORY = re.compile(
    rf"{'|'.join(map(re.escape, (*disk.WHOLE, disk.EXPORTS)))}|{disk.DAYS}/[^/.][^/]*\.ya?ml"
    rf"|{disk.REPLIES}/[^/]+\.(?:jsonl|lock)|{disk.IMPORTS}/[\w-]+\.(?:yaml|lock)|{disk.INDEX}/.*"
    rf"|{disk.BACKUPS}/(?:auto-[\d-]+\.zip|damaged/[^/]+\.ya?ml|format-\d+/.*)"
)
_AUTHORS = re.compile(
    r"character\.ya?ml|events\.ya?ml|facts\.ya?ml|associations\.tsv|card\.\w+|[^/.]+\.(?:png|jpe?g|webp|gif|avif|svg)"
    rf"|{WORLD_BOOK}/[^/.][^/]*\.(?:ya?ml|json)"
)
_PASSED_OVER = re.compile(r"(?:.*/)?(?:\.lock|\.official\.lock|\.DS_Store|desktop\.ini|Thumbs\.db)")
_UNFINISHED = re.compile(r"((?:.*/)?)\.([^/]+)\.\w{8}")  # ``records.unfinished`` names copies so.
MOST_TEXTS = 200  # Of more, whatever is unknown counts as holding some of them.
SHORTEST = 4  # A line of fewer letters is nobody's in particular.
BYTES_AT_ONCE = 1 << 22
MOST_BYTES = 64 << 20  # A larger file counts as holding them.


def is_memory(name: str) -> bool:
    """Whether a file of an owner's folder, by its name below that, belongs to the memory."""
    return _MEMORY.fullmatch(name) is not None


def is_authors(name: str) -> bool:
    """Whether a file of a character's folder is one that the character's author has there."""
    return _AUTHORS.fullmatch(name) is not None


def unknown(folder: Path | None) -> list[str]:
    """What lies in an owner's folder and is none of ours, by name below it; of a folder that is none, the folder alone, with a
    slash at its end. None: there is no folder."""
    return list(_below(folder, "")) if folder and folder.is_dir() else []


def _below(folder: Path, place: str) -> Iterator[str]:
    for item in sorted(os.scandir(folder / place), key=lambda item: item.name):
        name = f"{place}{item.name}"
        if name in _INSIDE and item.is_dir():
            yield from _below(folder, f"{name}/")
        elif item.is_dir(follow_symlinks=False):
            if not _NOT_LOOKED_INTO.fullmatch(name):
                yield f"{name}/"
        elif item.is_symlink() or not (_is_ours(name) or _is_ours(_UNFINISHED.sub(r"\1\2", name))):
            yield name


def _is_ours(name: str) -> bool:
    return is_memory(name) or is_authors(name) or _PASSED_OVER.fullmatch(name) is not None


# ---- what they hold


def holding(folder: Path | None, texts: Collection[str]) -> list[str]:
    """The unknown files that hold a line of one of these texts, in whatever usual encoding, also in a zip; and those that cannot
    be looked through."""
    lines = {line.strip() for text in texts for line in text.splitlines()}
    marks = {form for line in lines if len(line) >= SHORTEST for form in forms(line)}
    names = unknown(folder)
    if not folder or not marks:
        return []
    return names if len(lines) > MOST_TEXTS else [name for name in names if _holds(folder / name, marks)]


def forms(text: str) -> set[bytes]:
    """A text as files may have it: in UTF-8 and UTF-16, and escaped as in JSON or in addresses."""
    escaped = {json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1], quote(text)}
    return {text.encode(), text.encode("utf-16-le"), text.encode("utf-16-be"), *map(str.encode, escaped)}


def _holds(path: Path, marks: Collection[bytes]) -> bool:
    try:
        if path.is_dir():
            return any(_holds(one, marks) for one in path.rglob("*") if one.is_file())
        if path.is_symlink() or path.stat().st_size > MOST_BYTES:
            return True
        with plain.opened(path) as file:
            if any(mark in path.name.encode() for mark in marks) or _are_in(file, marks):
                return True
            return zipfile.is_zipfile(file) and any(_in_zip(zips.Zip(file, path), marks))
    except (OSError, DataError):  # It cannot be looked through.
        return True


def _in_zip(archive: zips.Zip, marks: Collection[bytes]) -> Iterator[bool]:
    for name in archive.names:
        data = archive.read(name, MOST_BYTES)
        yield any(mark in data for mark in marks)


def _are_in(file: BinaryIO, marks: Collection[bytes]) -> bool:
    overlap, before = max(map(len, marks)), b""
    while piece := file.read(BYTES_AT_ONCE):
        data = before + piece
        if any(mark in data for mark in marks):
            return True
        before = data[-overlap:]
    return False


def erase(folder: Path | None, names: Sequence[str]) -> None:
    """Remove unknown files, links and folders. Raises NotFound where one of the names is none of theirs."""
    there = unknown(folder)
    for name in names:
        if not folder or name not in there:
            raise NotFound(f"there is no unknown file {shown(name)}; `moechat verify` names them")
    for name in names:
        assert folder is not None
        disk.clear(folder / name.rstrip("/"))


def erase_backups(folder: Path) -> None:
    """Remove the copies of a memory, and whatever else of ours lies beside them."""
    strangers = {folder / name.rstrip("/") for name in unknown(folder) if name.startswith(f"{disk.BACKUPS}/")}
    if (backups := folder / disk.BACKUPS).is_dir():
        for path in [*backups.glob("damaged/*"), *backups.iterdir()]:
            if path not in strangers and not any(path in one.parents for one in strangers):
                disk.clear(path)
        with contextlib.suppress(OSError):  # It is not empty.
            backups.rmdir()
