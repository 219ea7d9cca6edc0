"""The studio: characters come, are made, changed, copied, renamed, go to the bin and come back.

Files that strangers share are looked at first (``look``) and written only when their reader says so.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any, BinaryIO, Literal

from moechat.agent import Agent
from moechat.author import character_folder, world_files
from moechat.author.character_folder import CardPreview as CardPreview
from moechat.author.character_folder import as_text as as_text
from moechat.author.character_folder import folder_name as folder_name
from moechat.author.world_files import FOLDER
from moechat.cards import book, card, container, png
from moechat.cards.container import CardFile, Kind
from moechat.compat import foreign_talk, persona
from moechat.compat.concept_nodes import NODES
from moechat.cue import Scene, SoFar
from moechat.errors import DataError, FieldError, MoeChatError, NameTaken, NotFound
from moechat.house.bundle import Bundle
from moechat.house.owners import Owner
from moechat.house.stores import Stores
from moechat.memory.firing import Judgement, Patterns, judged
from moechat.model import Hit, Lore, Message
from moechat.settings import you
from moechat.settings.character import FILE, PICTURE, alike, list_characters, owner_folder, safe_folder, said_of
from moechat.settings.home import grown
from moechat.store import archive, disk, plain, records
from moechat.store.archive import Archive
from moechat.store.plain import MAX_FILE_BYTES as MAX_FILE_BYTES
from moechat.turn import Delta, Ended, Recalled

BIN = ".bin"
KINDS = "a card (PNG, JSON, CHARX), a lorebook, memories (JSON, CSV), an archive, a zip or folder of these, or talk"
FileKind = Literal["card", "lorebook", "talk", "memories", "archive", "persona", "folder", "bundle"]


@dataclass(frozen=True)
class Arrival:
    """A file that somebody brings, recognised. What was read of it is in one of the others."""

    kind: FileKind
    path: Path
    card: CardFile | None = None
    preview: CardPreview | None = None
    entries: Sequence[Lore] = ()
    unheeded: Mapping[str, int] | None = None
    archive: Archive | None = None
    data: bytes = b""


def look(path: Path) -> Arrival:
    """What a file or a folder is. Writes nothing. Raises DataError where it is nothing that is known here."""
    if path.is_dir():
        return Arrival(_folder_kind(path), path)
    if (described := archive.described(path)) is not None:
        return Arrival("archive", path, archive=described)
    with plain.opened(path, may_lead_out=True) as start:
        is_zip = start.read(2) == b"PK"
    if is_zip:
        with Bundle(path) as bundle:
            if container.CARD not in bundle.names:
                return Arrival("bundle", path)
    data = plain.data_of(path, may_lead_out=True)
    talk = None if data.startswith(b"\x89PNG") else foreign_talk.kind_of(data)
    if talk and foreign_talk.FORMS[talk].is_own:
        return Arrival("talk", path)
    if path.suffix.lower() in (".jsonl", ".ndjson"):
        return Arrival("talk", path)
    if talk == "lines" and b"\n{" in data.strip():
        return Arrival("talk", path)
    if (file := container.read(data, path)) is not None:
        return Arrival("card", path, card=file, preview=character_folder.preview(file), data=data)
    if data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"["):
        value = card.decoded(data, path)
        if book.dialect_of(value) is not None:
            entries, kept = book.entries_of(value, path.name), book.unheeded(value)
            return Arrival("lorebook", path, entries=entries, unheeded=kept, data=data)
        if foreign_talk.holds_memories(value):
            return Arrival("memories", path)
    if foreign_talk.holds_memory_columns(data):
        return Arrival("memories", path)
    raise UnknownForm(path, f"is none of what can be imported: {KINDS}")


def _folder_kind(path: Path) -> FileKind:
    if any((path / place / NODES).is_file() for place in persona.PLACES):
        return "persona"
    if any((path / name).exists() for name in ("memorys", FILE, container.CARD)):
        return "folder"
    with Bundle(path) as bundle:
        if bundle.takes:
            return "bundle"
    raise DataError(
        path, "is no folder that can be imported: neither a character, nor a persona, nor one with cards, books or talk"
    )


class UnknownForm(DataError):
    """A file that is nothing that is known here: whoever brings it is told how talk may look (``foreign_talk.form_words``)."""


class Studio:
    """``release`` closes whoever has a character open; ``now`` gives the time. It has more than twenty methods because each
    change of a character is one of its own."""

    def __init__(
        self,
        data: Path,
        zone: tzinfo | None,
        now: Callable[[], datetime],
        release: Callable[[str], None],
        stores: Stores,
    ) -> None:
        self._data, self._zone, self._now, self._release, self._stores = data, zone, now, release, stores
        self._bin = data / "agents" / BIN

    # ---- coming

    def take_card(self, file: CardFile, name: str = "") -> str:
        """Make the character of a card. Returns its name. Raises NameTaken, PathError."""
        name = name or character_folder.folder_name(str(card.field(file.card, "name") or ""))
        folder = self._free(name)
        character_folder.write(folder, file)
        return name

    def take_book(self, path: Path, data: bytes, character: str) -> str:
        """Put a lorebook beside the world book of a character, as it is. Returns the name of its file."""
        folder = self.folder(character) / FOLDER
        target = folder / f"{character_folder.folder_name(path.stem)}.json"
        if target.exists() or target.name == container.CARD:
            raise NameTaken("file", target.name, f"is there already; delete {target} first, or rename the file")
        folder.mkdir(exist_ok=True)
        records.replace(target, data)
        return target.name

    def take_folder(self, path: Path, name: str) -> str:
        """Copy a MoeChat folder, memory and all, to be a character."""
        if any((path / one).exists() for one in (*disk.OWN, "users")):
            self._stores.require_folders("a folder with its memory")
        folder = self._free(name)
        making = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".importing-"))
        try:
            links = [one for one in path.rglob("*") if one.is_symlink()]
            if links:
                raise DataError(links[0], "is a link; put what it leads to in its place, then import the folder again")
            shutil.copytree(path, making / "copy", ignore=shutil.ignore_patterns(".index", "*.lock"))
            (making / "copy").rename(folder)
        finally:
            shutil.rmtree(making, ignore_errors=True)
        return name

    def take_archive(self, arrival: Arrival, name: str = "", user: str = "") -> str:
        """Unpack an archive: a new character, or the memory of one that has none yet."""
        assert arrival.archive is not None
        if arrival.archive.kind == "character":
            if arrival.archive.memory:
                self._stores.require_folders("a character that comes with its memories")
            name = name or character_folder.folder_name(arrival.archive.name)
            archive.unpack(arrival.path, self._free(name))
            return name
        character = self.folder(name or arrival.archive.name)
        self._release(character.name)
        self._stores.fill(Owner(character.name, user, ""), lambda folder: archive.unpack(arrival.path, folder))
        return character.name

    # ---- going

    def export_card(self, name: str, kind: Kind) -> bytes:
        return character_folder.exported(self.folder(name), kind, self._now)

    def export_book(self, name: str) -> bytes:
        return json.dumps(character_folder.exported_book(self.folder(name)), ensure_ascii=False, indent=2).encode()

    def export_archive(self, name: str, target: BinaryIO, *, memory: bool) -> None:
        """Write the whole character; with ``memory``, that of all its users."""
        folder = self.folder(name)
        if memory:
            self._stores.require_folders("a character with the memories of all its users")
        self._release(name)
        archive.pack(target, folder, "character", name, self._now(), memory=memory)

    def export_memory(self, name: str, target: BinaryIO, user: str = "", world: str = "") -> None:
        """Write the memory of one user alone."""
        self.folder(name)
        self._release(name)
        with self._stores.folder(Owner(name, user, world)) as folder:
            archive.pack(target, folder, "memory", name, self._now(), memory=True)

    # ---- making and changing

    def create(self, name: str, keys: Mapping[str, Any]) -> str:
        """A new character; ``keys`` are those of character.yaml."""
        folder = self._free(name)
        folder.mkdir(parents=True)
        try:
            character_folder.change(folder, {"name": name, **keys})
        except BaseException:
            shutil.rmtree(folder)
            raise
        return name

    def duplicate(self, name: str, new: str) -> str:
        """A copy of a character without its memory."""
        source, target = self.folder(name), self._free(new)
        shutil.copytree(source, target, ignore=grown, symlinks=True)
        return self._called(name, new)

    def rename(self, name: str, new: str) -> str:
        """Give a character another name, its folder too; its memory goes along."""
        source, target = self.folder(name), self._free(new)
        self._stores.require_folders("another name of a character's folder")
        self._release(name)
        source.rename(target)
        return self._called(name, new)

    def _called(self, before: str, name: str) -> str:
        """Call a character as its folder is called now, where it was called as that was before."""
        if self.values(name).get("name") == before:
            self.change(name, {"name": name})
        return name

    def change(self, name: str, changes: Mapping[str, Any]) -> None:
        """Write keys of character.yaml; None takes one out, so that the card's holds again. Raises FieldError, DataError."""
        character_folder.change(self.folder(name), changes)

    def choose_greeting(self, name: str, number: int) -> None:
        """Let another of its greetings be the first words of a new talk; the one that it replaces stays among the others."""
        now = self.values(name)
        others = list(now.get("greetings", ()))
        if not 1 <= number <= len(others):
            raise FieldError("greeting", number, f"expects a number from 1 to {len(others)}")
        chosen = others.pop(number - 1)
        if before := now.get("greeting", ""):
            others.insert(number - 1, before)
        self.change(name, {"greeting": chosen, "greetings": others or None})

    def values(self, name: str) -> dict[str, Any]:
        """What file and card say of a character, its names not filled in."""
        return said_of(self.folder(name))

    def set_picture(self, name: str, path: Path) -> None:
        """Raises DataError where it is no PNG."""
        picture = png.without(plain.data_of(path, may_lead_out=True), (container.OLD, container.NEW), path)
        records.replace(self.folder(name) / PICTURE, picture)

    # ---- the bin

    def delete(self, name: str) -> str:
        """Put a character with its memory into the bin. Returns its name there."""
        folder = self.folder(name)
        self._release(name)
        kept = f"{name}@{self._now():%Y%m%d-%H%M%S}"
        target = self._bin / kept
        self._bin.mkdir(parents=True, exist_ok=True)
        if target.exists():
            raise NameTaken("name", kept, "is in the bin already; try again in a second")
        folder.rename(target)
        return kept

    def binned(self) -> list[str]:
        """What is in the bin."""
        return sorted(path.name for path in self._bin.iterdir() if path.is_dir()) if self._bin.is_dir() else []

    def restore(self, kept: str, name: str = "") -> str:
        """Bring a character back from the bin."""
        folder, name = self._in_bin(kept), name or kept.rpartition("@")[0]
        folder.rename(self._free(name))
        return name

    def empty_bin(self, kept: Sequence[str]) -> None:
        """Erase characters in the bin for good."""
        for one in kept:
            shutil.rmtree(self._in_bin(one))

    def _in_bin(self, kept: str) -> Path:
        if kept not in self.binned():
            raise NotFound(f"the bin holds no {kept!r}; it has: {', '.join(self.binned()) or 'nothing'}")
        return self._bin / kept

    # ---- you

    def you(self, character: str = "", user: str = "", changes: Mapping[str, str] | None = None) -> dict[str, str]:
        """What you.yaml says of the user, for all characters or for one, after ``changes``."""
        path = self._data / you.FILE if not character else owner_folder(self.folder(character), user) / you.FILE
        path.parent.mkdir(parents=True, exist_ok=True)
        return you.write(path, changes) if changes else you.values(path)

    # ---- folders

    def folder(self, name: str) -> Path:
        """Where a character lies. Raises NotFound, PathError."""
        folder = safe_folder(self._data, name)
        if not folder.is_dir():
            there = ", ".join(list_characters(self._data)) or "nothing"
            raise NotFound(f"there is no character {name!r}; there are: {there}")
        return folder

    def _free(self, name: str) -> Path:
        """The folder of a name that nobody has. Raises NameTaken, PathError."""
        folder = safe_folder(self._data, name)
        taken = next((one for one in list_characters(self._data) if alike(one) == alike(name)), None)
        if taken is not None or folder.exists():
            raise NameTaken(
                "name", taken or name, "there is a character of that name already; choose another (-c NAME)"
            )
        return folder


def lore_test(path: Path, messages: Sequence[str]) -> tuple[list[Judgement], dict[str, str]]:
    """(which entries of a lorebook, a card or a file of ``data_base`` fire in a talk, and why or why not; patterns that are wrong
    or take too long). ``messages`` are the newest last."""
    data = plain.data_of(path, may_lead_out=True)
    if path.suffix.lower() in (".yaml", ".yml"):
        entries, problems = world_files.read(path)
        if problems:
            raise problems[0]
    elif (file := container.read(data, path)) is not None:
        entries = book.entries_of(card.book_of(file.card) or {"entries": []}, path.name)
    else:
        entries = book.entries_of(card.decoded(data, path), path.name)
        if not entries:
            raise MoeChatError(f"{path}: holds no entries of a lorebook")
    patterns = Patterns()
    *before, text = messages
    scene = Scene([("", one) for one in reversed(before)], so_far=lambda: SoFar(len(messages)))
    return judged(entries, text, scene, patterns), patterns.problems


@dataclass(frozen=True)
class Trial:
    """The exact ``prompt``, the world book entries that ``fired``, and the reply; ``error`` says what went wrong with it."""

    prompt: Sequence[Message]
    fired: Sequence[Hit]
    reply: str
    error: str


def tried(agent: Agent, text: str) -> Trial:
    """One turn that leaves nothing behind. Raises MoeChatError."""
    conversation = agent.aside()
    fired: Sequence[Hit] = ()
    id_ = reply = error = ""
    for event in conversation.talk(text):
        match event:
            case Recalled():
                id_, fired = event.exchange_id, [hit for hit in event.recollection.hits if hit.layer == "lore"]
            case Delta():
                reply = event.text if event.instead else reply + event.text
            case Ended():
                error = event.error
    trace = conversation.trace(id_)
    return Trial(trace.messages if trace else (), fired, reply, error)
