"""Memories moved between folders and a database, an owner at a time; what is there already is compared and passed over."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import unquote

import numpy as np

from moechat.clock import Clock
from moechat.errors import MoeChatError
from moechat.house.owners import Owner
from moechat.house.stores import FolderStores, TableStores, copied
from moechat.index.shelf import shelf_at
from moechat.index.vector_rows import ROWS_AT_ONCE
from moechat.memory import core, diary_index, episodes, topic_cues
from moechat.settings.character import list_characters, list_worlds, owner_folder, safe_folder
from moechat.store import disk, transfer
from moechat.store.files import FileStore
from moechat.store.kinds import Store

if TYPE_CHECKING:
    from moechat.store.postgres.connections import Postgres
    from moechat.store.postgres.moving import RowSum

STAGE = ".moving"  # A copy is made in this folder of an owner, and takes its place file by file, the log last.
WHOLE = "whole"  # This file says that the copy is.
BY_TEXT = (episodes.TABLE, core.TABLE, topic_cues.TABLE)  # These tables of vectors lie by text.
Outcome = Literal["moved", "there already", "nothing to move"]
Summary = transfer.Contents


@dataclass(frozen=True)
class Move:
    """``database`` and the folders below ``data``. Every owner that was moved stays where it was as well."""

    data: Path
    database: Postgres
    clock: Clock
    zone: tzinfo | None

    # ---- whose

    def owners_in_folders(self) -> Iterator[Owner]:
        for character in list_characters(self.data):
            users = safe_folder(self.data, character) / "users"
            names = sorted(unquote(one.name) for one in users.iterdir() if one.is_dir()) if users.is_dir() else []
            for user in ["", *names]:
                for world in ["", *list_worlds(self.data, character, user)]:
                    yield Owner(character, user, world)

    def owners_in_tables(self) -> Iterator[Owner]:
        """Those that the role of the address may see: the owner of the tables sees them all."""
        from moechat.store.postgres.servers import Servers

        return (Owner(*names) for names in Servers.of(self.database).owners())

    # ---- there and back

    def to_tables(self, owner: Owner) -> tuple[Outcome, Summary]:
        folder = owner_folder(safe_folder(self.data, owner.character), owner.user, owner.world)
        with closing(self._folders.of(owner)()) as source, closing(self._tables.of(owner)()) as target:
            if outcome := self._needless(source, target, str(folder)):
                return outcome
            after = copied(source, target)
            new_rows, rows = _rows(target), _rows(source)
            moved = {row: new_rows[id_] for id_, row in rows.items()}
            _copy_vectors(source, target, diary_index.TABLE, lambda doc: 2 * moved.get(doc // 2, -1) + doc % 2)
            return "moved", after

    def to_folders(self, owner: Owner) -> tuple[Outcome, Summary]:
        folder = owner_folder(safe_folder(self.data, owner.character), owner.user, owner.world)
        if not safe_folder(self.data, owner.character).is_dir():
            raise MoeChatError(f"there is no character {owner.character!r} in {self.data}: put its folder there first")
        stage = folder / STAGE
        with closing(self._tables.of(owner)()) as source:
            if not (stage / WHOLE).exists():
                with closing(self._folders.of(owner)()) as target:
                    if outcome := self._needless(source, target, str(folder)):
                        return outcome
                shutil.rmtree(stage, ignore_errors=True)
                with closing(FileStore(stage, clock=self.clock, zone=self.zone)) as copy:
                    copied(source, copy)
                (stage / WHOLE).touch()
            _put_in_place(stage, folder)
            with closing(self._folders.of(owner)()) as target:
                after = transfer.contents(target)
                if after != transfer.contents(source):
                    raise MoeChatError(f"{folder}: the copy is not the same as the database; nothing there was changed")
                _copy_vectors(source, target, f"{diary_index.TABLE}.old", lambda doc: doc)
        return "moved", after

    def to_server(self, owner: Owner, name: str) -> tuple[Outcome, RowSum]:
        """From one server to another. Raises MoeChatError, and the owner stays where it was, or is told to be moved again."""
        from moechat.store.postgres.connections import OwnerName
        from moechat.store.postgres.moving import move
        from moechat.store.postgres.servers import Servers

        is_moved, rows = move(Servers.of(self.database), OwnerName(*owner).id, name)
        return "moved" if is_moved else "there already", rows

    def close(self) -> None:
        self._tables.close()

    @property
    def _folders(self) -> FolderStores:
        return FolderStores(self.data, self.clock, self.zone)

    @property
    def _tables(self) -> TableStores:
        return TableStores(self.database, self.clock, self.zone)

    @staticmethod
    def _needless(source: Store, target: Store, place: str) -> tuple[Outcome, Summary] | None:
        """Where nothing is to be copied. Raises MoeChatError where another memory is there."""
        before, there = transfer.contents(source), transfer.contents(target)
        if before.is_empty:
            return "nothing to move", before
        if before == there:
            return "there already", there
        if not there.is_empty:
            remedy = "the two went on apart: decide for one, and take the other away"
            raise MoeChatError(f"{place}: both places hold a memory, and not the same; {remedy}")
        return None


def _rows(store: Store) -> dict[str, int]:
    return {row.exchange.id: row.row for row in store.exchanges.filed()}


def _copy_vectors(source: Store, target: Store, diary: str, place: Callable[[int], int]) -> None:
    """The vectors of the model that serves, so that nothing is embedded anew. Those of exchanges go into the table ``diary``, to
    where ``place`` puts each document (from an old table they are taken by their keys); all others lie by text."""
    one, other = (shelf_at(store.vectors or store.index_folder) for store in (source, target))
    manifest = one.manifest()
    model = manifest.get("fingerprint", "")
    dim = manifest.get("dims", {}).get(model)
    if not dim:
        return
    tables = {diary_index.TABLE: diary} | {layer: layer for layer in BY_TEXT}
    for layer, new_layer in tables.items():
        before, after = (shelf.table(model, name, dim) for shelf, name in ((one, layer), (other, new_layer)))
        positions, keys = before.contents()
        for start in range(0, len(positions), ROWS_AT_ONCE):
            part = slice(start, start + ROWS_AT_ONCE)
            places = positions[part]
            if layer == diary_index.TABLE:
                places = np.array([place(doc) for doc in places.tolist()], dtype=np.int64)
            lives = places >= 0
            after.put(places[lives], keys[part][lives], before.get(positions[part][lives]))
        before.close()
        after.close()
    other.write_manifest(manifest)


def _put_in_place(stage: Path, folder: Path) -> None:
    """May be cut short and done again."""
    names = sorted((one.name for one in stage.iterdir()), key=lambda name: name == disk.LOG)
    for name in names:
        if name in (WHOLE, disk.INDEX, ".lock"):
            continue
        source, target = stage / name, folder / name
        if source.is_dir() and target.is_dir():
            for one in source.iterdir():
                one.replace(target / one.name)
        else:
            source.replace(target)
    shutil.rmtree(stage)
