"""Where memories are kept: in folders, or in a database. The house opens a store for each owner here."""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import tzinfo
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from moechat.ai.embedding import make_embedder
from moechat.clock import Clock
from moechat.curation import upkeep
from moechat.errors import ConfigError, DiskError, MoeChatError
from moechat.house.owners import Owner
from moechat.settings.character import list_worlds, owner_folder, safe_folder
from moechat.settings.config import Config
from moechat.settings.schema import ServerSettings, StoreSettings
from moechat.store import transfer
from moechat.store.files import FileStore
from moechat.store.kinds import Store

if TYPE_CHECKING:
    from moechat.store.postgres.connections import Postgres

log = logging.getLogger(__name__)
MAX_DIMENSIONS = 2000  # pgvector's HNSW index takes no more.
EXTRA = "needs the extra `postgres`: pip install 'moechat[postgres]'"


class FolderStores:
    """The stores of all owners, a folder for each, below that of the character."""

    def __init__(self, data: Path, clock: Clock, zone: tzinfo | None) -> None:
        self._data, self._clock, self._zone = data, clock, zone

    def of(self, owner: Owner) -> Callable[..., Store]:
        """What opens an owner's store, given what it is ``contained`` by."""
        return partial(FileStore, self._folder(owner), clock=self._clock, zone=self._zone)

    def has(self, owner: Owner) -> bool:
        """Whether there is a memory of this owner."""
        return self._folder(owner).is_dir()

    def worlds(self, character: str, user: str = "") -> list[str]:
        """The worlds that a user has with a character beside the first, by name."""
        return list_worlds(self._data, character, user)

    @contextlib.contextmanager
    def folder(self, owner: Owner) -> Iterator[Path]:
        """An owner's memory as a folder of files, while the block runs. Nothing that is written there is kept."""
        yield self._folder(owner)

    def fill(self, owner: Owner, unpack: Callable[[Path], None]) -> None:
        """Take in a memory that ``unpack`` puts into a folder. Raises MoeChatError where there is one already."""
        unpack(self._folder(owner))

    def require_folders(self, what: str) -> None:
        """Raises MoeChatError where ``what`` concerns memories of all users, and those lie in a database."""

    def drop_indexes(self, owner: Owner, *, vectors: bool) -> None:
        """While the owner is closed: what can be made anew is."""
        upkeep.drop_indexes(self._folder(owner), vectors=vectors)

    def answers(self) -> bool:
        """Whether memories can be read and written at this moment."""
        return self._data.is_dir()

    def close(self) -> None:
        """Each store closes itself."""

    def _folder(self, owner: Owner) -> Path:
        return owner_folder(safe_folder(self._data, owner.character), owner.user, owner.world)


class TableStores:
    """The same for all owners in the database, and in those beside it."""

    def __init__(self, database: Postgres, clock: Clock, zone: tzinfo | None) -> None:
        from moechat.store.postgres.servers import Servers

        self._database, self._clock, self._zone = database, clock, zone
        self._servers = Servers.of(database)

    def of(self, owner: Owner) -> Callable[..., Store]:
        from moechat.store.postgres.connections import OwnerName
        from moechat.store.postgres.store import PostgresStore

        return partial(PostgresStore, self._database, OwnerName(*owner), clock=self._clock, zone=self._zone)

    def has(self, owner: Owner) -> bool:
        return bool(self.of(owner)().moment[0])

    def worlds(self, character: str, user: str = "") -> list[str]:
        from moechat.store.postgres.store import worlds

        return worlds(self._database, character, user)

    @contextlib.contextmanager
    def folder(self, owner: Owner) -> Iterator[Path]:
        with tempfile.TemporaryDirectory() as name:
            with closing(self.of(owner)()) as store, closing(self._store_at(Path(name))) as copy:
                copied(store, copy)
            yield Path(name)

    def fill(self, owner: Owner, unpack: Callable[[Path], None]) -> None:
        with tempfile.TemporaryDirectory() as name:
            unpack(Path(name))
            with closing(self._store_at(Path(name))) as brought, closing(self.of(owner)()) as store:
                copied(brought, store)

    def require_folders(self, what: str) -> None:
        raise MoeChatError(
            f"the memories are in a database, where no program sees those of all users: {what} is for folders. One "
            "memory at a time comes and goes by `moechat export memory` and `moechat import`, all of them by `moechat migrate`"
        )

    def _store_at(self, folder: Path) -> FileStore:
        return FileStore(folder, clock=self._clock, zone=self._zone)

    def drop_indexes(self, owner: Owner, *, vectors: bool) -> None:
        """Indexes are made at every opening; vectors are kept."""
        store = self.of(owner)()
        if vectors and store.vectors is not None:
            store.vectors.begin_sweep([])

    def answers(self) -> bool:
        return self._servers.is_there()

    def close(self) -> None:
        self._servers.close()


Stores = FolderStores | TableStores


def copied(source: Store, target: Store) -> transfer.Contents:
    """Copy a memory into an empty store. Raises MoeChatError, and nothing is kept then."""
    try:
        return transfer.copy(source, target)
    except transfer.NotTheSame as error:
        raise MoeChatError(f"the copy is not the same, so it was not kept: {error}") from error


def require_address(settings: StoreSettings, config: Path | str) -> None:
    """Raises ConfigError where no address is set, or the extra is missing."""
    if not settings.address:
        raise ConfigError(
            config, "store.address", None, "expects where PostgreSQL is, e.g. postgresql://moechat@localhost/moechat"
        )
    if not all(map(importlib.util.find_spec, ("psycopg", "psycopg_pool", "pgvector", "yoyo"))):
        raise ConfigError(config, "store.kind", settings.kind, EXTRA)


def update_tables(config: Config, file: Path | str) -> list[str]:
    """Bring the tables of each server up to date; with ``store.nearest: hnsw`` also the index over the vectors of the configured
    model. Returns the names of what was applied. Raises ConfigError, DiskError, EmbeddingError."""
    require_address(config.store, file)
    from moechat.store.postgres import tables

    dim = 0
    if config.store.nearest == "hnsw" and (embedder := make_embedder(config.embedding.model_dump())):
        dim = embedder.embed(["dim"]).shape[1]
        if dim > MAX_DIMENSIONS:
            remedy = f"pgvector indexes at most {MAX_DIMENSIONS} dimensions, the embedding model has {dim}: leave it at exact"
            raise ConfigError(file, "store.nearest", "hnsw", remedy)
    each: list[StoreSettings | ServerSettings] = [config.store, *config.store.servers.values()]
    return [name for one in each for name in tables.apply(one.direct or one.address, dim)]


def database_of(settings: StoreSettings, config: Path | str) -> Postgres:
    """The first of the servers. Raises ConfigError where no address is set or the extra is missing, DiskError where nobody
    answers there (a further server that is away is told to those whose memory it has), MoeChatError where the tables of one are
    not those of this program."""
    require_address(settings, config)
    from moechat.store.postgres import tables
    from moechat.store.postgres.connections import Postgres
    from moechat.store.postgres.servers import HOME, Servers

    each: dict[str, StoreSettings | ServerSettings] = {HOME: settings, **settings.servers}
    by_name = {
        name: Postgres(
            one.address,
            size=settings.connections,
            timeout_s=settings.timeout_s,
            each_time=settings.name_each_time,
            searches=settings.nearest == "hnsw",
            direct=one.direct,
        )
        for name, one in each.items()
    }
    servers = Servers(by_name, settings.new_owners)
    try:
        for name, one in by_name.items():
            try:
                with one.in_words():
                    tables.require_current(one.address)
            except DiskError as error:
                if name == HOME:
                    raise
                log.warning("%s", error)
    except BaseException:
        servers.close()
        raise
    return servers.home


def stores_of(settings: StoreSettings, config: Path | str, data: Path, clock: Clock, zone: tzinfo | None) -> Stores:
    """As the settings say. Raises what ``database_of`` does."""
    if settings.kind == "files":
        return FolderStores(data, clock, zone)
    return TableStores(database_of(settings, config), clock, zone)
