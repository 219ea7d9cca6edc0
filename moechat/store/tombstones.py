"""Tombstones: what was forgotten is known again when it comes back with a file, and is hidden until its owner decides.

A tombstone holds no word: it is the random id (``stamp``) that an exchange carries, and keyed hashes of its time and text, and of
the ids of what goes with it, for records without a stamp. The key never leaves this machine's account; where another one wrote a
hash, the stamp alone counts. Tombstones lie with the memory and, for memories that are restored whole, beside the key: those have
the memory's place in their hashes, since another memory may have the same times and ids.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from pathlib import Path

from filelock import FileLock
from platformdirs import user_config_path

from moechat.model import Exchange
from moechat.store.entries import Entries, Entry, Form, is_moment, is_text, list_of
from moechat.store.json_lines import JsonLines, Lines

_FORM: Mapping[str, Form] = {"at": is_moment, "marks": list_of(is_text)}
TOMBSTONES = Entries({"forgotten": _FORM, "lifted": _FORM})
KEY, REGISTER = "forgetting.key", "forgotten.jsonl"
ACCOUNT = "MOECHAT_ACCOUNT"
"""The environment variable that names another folder than the account's own for key and register."""


class Tombstones:
    """Of one owner, in ``lines``, whose memory lies at ``place``; "" is a memory that ends with its process, and stands in no
    register. The account's own folder has key and register."""

    def __init__(self, lines: Lines, place: str) -> None:
        named = os.environ.get(ACCOUNT)
        self._folder, self._place = Path(named) if named else user_config_path("moechat", appauthor=False), place
        self._lines, self._register = lines, JsonLines(self._folder / REGISTER, TOMBSTONES.check)
        self._own: dict[str, str] = {}
        self._marks: dict[str, str] = {}

    def follow(self) -> bool:
        """Take in what other processes wrote. Whether there are any tombstones."""
        own = self._lines.unread()[1]
        for marks, entries in ((self._own, own), (self._marks, [*own, *self._register.unread()[1]])):
            for entry in entries:
                _apply(marks, entry)
        return bool(self._marks)

    def put(self, exchanges: Iterable[Exchange], ids: Iterable[str], at: datetime) -> None:
        """Remember that these were forgotten, under the owner's lock. ``ids`` are those of all records."""
        self._write("forgotten", list(exchanges), list(ids), at)

    def lift(self, exchanges: Iterable[Exchange], ids: Iterable[str], at: datetime) -> None:
        """These are let in again, or were written anew."""
        if self.follow():
            self._write("lifted", list(exchanges), list(ids), at)

    def of(self, exchange: Exchange) -> str:
        """When an exchange was forgotten, "" where it was not."""
        if exchange.stamp:
            return self._marks.get(exchange.stamp, "")
        return self._first(_said(exchange)) or self.of_id(exchange.id)

    def of_id(self, id_: str) -> str:
        return self._first(_named(id_))

    def _first(self, record: str) -> str:
        return self._marks.get(self._hash(record)) or self._marks.get(self._hash(record, self._place), "")

    def entries(self) -> Iterator[Entry]:
        """What goes along to another kind of store."""
        self.follow()
        yield from ({"op": "forgotten", "at": at, "marks": [mark]} for mark, at in self._own.items())

    def take(self, entries: Sequence[Entry]) -> None:
        if entries:
            self.follow()
            self._lines.append(entries)
            for entry in entries:
                _apply(self._own, entry)
                _apply(self._marks, entry)

    def _write(self, op: str, exchanges: Sequence[Exchange], ids: Sequence[str], at: datetime) -> None:
        stamps = [one.stamp for one in exchanges if one.stamp]
        records = [*map(_said, exchanges), *map(_named, ids)]

        def entry(place: str) -> list[Entry]:
            marks = dict.fromkeys([*stamps, *(self._hash(record, place) for record in records)])
            there = [mark for mark in marks if op == "forgotten" or mark in self._marks]
            return [{"op": op, "at": at.isoformat(), "marks": there}] if there else []

        own, of_place = entry(""), entry(self._place) if self._place else []
        self.take(own)
        if of_place:
            with FileLock(self._folder / f"{REGISTER}.lock"):
                self.follow()
                self._register.append(of_place)
            _apply(self._marks, of_place[0])

    def _hash(self, record: str, place: str = "") -> str:
        return hashlib.blake2b(f"{place}\0{record}".encode(), digest_size=12, key=_key(self._folder / KEY)).hexdigest()


def _said(exchange: Exchange) -> str:
    """When and what, for records without a stamp."""
    return f"{int(exchange.at.timestamp())}\0{exchange.sent or exchange.char}"


def _named(id_: str) -> str:
    return f"\0{id_}"


def _apply(marks: dict[str, str], entry: Entry) -> None:
    if entry["op"] == "forgotten":
        marks.update(dict.fromkeys(entry["marks"], entry["at"]))
        return
    for mark in entry["marks"]:
        marks.pop(mark, None)


@cache
def _key(path: Path) -> bytes:
    """The account's key, which is made when it is first needed and nobody else may read."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{path}.lock"):
        if not path.exists():
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(secrets.token_bytes(32))
                file.flush()
                os.fsync(file.fileno())
        return path.read_bytes()
