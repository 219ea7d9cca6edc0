"""Where an owner's memory lies: the names of its files, relative to the owner's folder."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from datetime import date, datetime, tzinfo
from pathlib import Path

from moechat.clock import local

LOG = "log.jsonl"
STATE = "state.jsonl"
REFLECTIONS = "reflection.jsonl"
REFUSED = "refused.jsonl"
USAGE = "usage.jsonl"
HISTORY = "history.yaml"
CORE = "core_mem.yml"
DAYS = "memorys"
INDEX = ".index"
REPLIES = "replies"
IMPORTS = "imports"
BACKUPS = "backups"
EXPORTS = "exports.json"
WORLDS = "worlds"
FORMAT = "format"
OWN = (
    DAYS,
    INDEX,
    CORE,
    HISTORY,
    LOG,
    STATE,
    REFLECTIONS,
    REFUSED,
    USAGE,
    REPLIES,
    IMPORTS,
    BACKUPS,
    EXPORTS,
    WORLDS,
    FORMAT,
)
"""Everything that belongs to an owner's memory."""
_NOTES = ".notes.yaml"
_DATE = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})")
_COPY = r"\.(?:%s)\.\w{8}"  # ``records.replace`` names its copies so.
_COPY_OF_OURS = re.compile(
    _COPY % "|".join(map(re.escape, (LOG, STATE, REFLECTIONS, REFUSED, USAGE, HISTORY, CORE, FORMAT)))
)
_COPY_OF_A_DAY = re.compile(_COPY % r".*\.ya?ml")


def index_folder(folder: Path) -> Path:
    """What is made anew from the files and may be deleted: the cache, indexes, vectors and locks."""
    return folder / INDEX


def day_file(at: datetime, zone: tzinfo | None) -> str:
    return f"{DAYS}/{local(at, zone).date().isoformat()}.yaml"


def stage(folder: Path, batch: str) -> Path:
    """Where an import is kept until it is filed."""
    return folder / IMPORTS / f"{batch}.yaml"


def day_of(name: str) -> date | None:
    """The date in the name of a day file; None where it has none."""
    match = _DATE.search(name)
    try:
        return date(*map(int, match.groups())) if match else None
    except ValueError:
        return None


def notes_file(day_file: str) -> str:
    """What was understood of a day lies beside its day file."""
    return day_file.removesuffix(".yaml") + _NOTES


def is_notes(name: str) -> bool:
    return name.endswith(_NOTES)


def is_day_file(name: str) -> bool:
    return name != CORE and not is_notes(name)


def is_record_file(name: str) -> bool:
    """Whether a file of the folder of days is read: neither hidden nor of another kind."""
    return name.endswith((".yaml", ".yml")) and not name.startswith(".")


def record_files(folder: Path) -> Iterator[str]:
    """The day files and notes of an owner, by date."""
    for path in sorted((folder / DAYS).glob("*.y*ml")):
        if is_record_file(path.name):
            yield f"{DAYS}/{path.name}"


def unfinished_copies(folder: Path) -> Iterator[Path]:
    """Copies of the memory's files that were being written when a process was killed. What others write beside it is not ours."""
    for place, copy in ((folder, _COPY_OF_OURS), (folder / DAYS, _COPY_OF_A_DAY)):
        yield from (path for path in place.glob(".*") if path.is_file() and copy.fullmatch(path.name))


def is_writable(folder: Path) -> bool:
    """Whether an owner's folder, and its indexes, may be written, or made."""
    there = next(path for path in (folder, *folder.parents) if path.exists())
    index = index_folder(folder)
    return all(os.access(path, os.W_OK) for path in (there, *([index] if index.exists() else [])))
