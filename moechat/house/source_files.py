"""The files that an author writes, as text: shown whole, and written where a reader of theirs can read them again."""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path

from moechat.author import official, world_files
from moechat.author.world_files import FOLDER
from moechat.cards import book, card
from moechat.cards.container import CARD
from moechat.errors import DataError, NotFound, together
from moechat.settings.character import FILE, keys_in
from moechat.store import plain, records

MAX_CHARS = 100_000  # Of a file that is edited as text.


def listed(folder: Path) -> list[str]:
    """The names of a character's files, relative to its folder; character.yaml is among them before it is there."""
    beside = [name for name in (FILE, CARD, *official.FILES.values()) if (folder / name).is_file()]
    books = [f"{FOLDER}/{path.name}" for path in world_files.paths(folder / FOLDER) if path.name != CARD]
    return [*beside, *books, *([] if FILE in beside else [FILE])]


def text(folder: Path, name: str) -> str:
    """A file as it stands, "" where it is not there yet. Raises NotFound for what is none of those listed, DataError where it
    cannot be shown as text."""
    path = _path(folder, name)
    whole = plain.decoded(plain.data_of(path), path) if path.exists() else ""
    if len(whole) > MAX_CHARS:
        raise DataError(path, f"has more than {MAX_CHARS:,} characters; edit it with a program for texts")
    return whole


def edition(text: str) -> str:
    """A short mark of a text, by which a change of it is noticed."""
    return blake2b(text.encode(), digest_size=8).hexdigest()


def write(folder: Path, name: str, new: str, before: str) -> None:
    """Write a file whose text had the edition ``before``. Nothing is written where that has changed, or where the new text has a
    fault. Raises NotFound, DataError."""
    path = _path(folder, name)
    lines = new.replace("\r\n", "\n").replace("\r", "\n")
    if faults := checked(path, lines):
        raise together(faults)

    def changed(data: bytes) -> bytes:
        if edition(plain.decoded(data, path)) != before:
            raise DataError(path, "was changed elsewhere meanwhile; open it again, then change it there")
        return (lines.replace("\n", "\r\n") if b"\r\n" in data else lines).encode()

    records.rewrite(path, folder / official.LOCK, changed)


def checked(path: Path, text: str) -> list[DataError]:
    """What is wrong with the text of a file."""
    kinds = {name: kind for kind, name in official.FILES.items()}
    try:
        if path.suffix == ".json":
            value = card.decoded(text.encode(), path)
            if not card.is_card(value) and (path.name == CARD or book.dialect_of(value) is None):
                raise DataError(path, "is neither a character card nor a lorebook")
            return []
        if path.name in kinds and path.parent.name != FOLDER:
            return official.faults(kinds[path.name], text.encode(), path)
        if path.name == FILE and path.parent.name != FOLDER:
            keys_in(text, path) if text.strip() else None
            return []
        return world_files.read_text(text, path)[1]
    except DataError as fault:
        return [one for one in fault.parts if isinstance(one, DataError)]


def _path(folder: Path, name: str) -> Path:
    if name not in listed(folder):
        raise NotFound(f"{folder.name} has no file {name!r}; it has: {', '.join(listed(folder))}")
    return folder / name
