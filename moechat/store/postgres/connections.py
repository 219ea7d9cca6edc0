"""One database for all owners of a process: a pool of connections, and a session for each owner.

Whatever reads or writes has named its owner (``SET moechat.owner``), so that row-level security shows nobody else's rows. A
writer holds the owner's row in a transaction; where it fails, nothing of it happened.
"""

from __future__ import annotations

import contextlib
import json
import logging
import secrets
import select
import struct
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, LiteralString, TypeVar

import psycopg
from pgvector.psycopg import register_vector
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg_pool import ConnectionPool, PoolClosed

from moechat.errors import DiskError, DiskFault, Locked

log = logging.getLogger(__name__)


class OwnedConnection(psycopg.Connection[tuple[Any, ...]]):
    """``named`` is the owner whose rows it sees outside a transaction that names another."""

    named: uuid.UUID | None = None


T = TypeVar("T")
# The one statement that names no owner, for whoever owns the tables and moves memories.
OWNERS = 'SELECT "character", "user", world FROM owners ORDER BY 1, 2, 3'
AWAY_POLL_S = 0.05  # How often a database that is away is asked again, until the time-out.
PROVED_S = 10.0  # So long the connection that holds a worker's locks is taken to be there, unless it was ended.
# A server that died without a word is found while an answer is waited for, too, unless the address says otherwise.
ALIVE = {"keepalives_idle": 5, "keepalives_interval": 2, "keepalives_count": 3}
CONNECT_S = 0.5  # How long one connection may take to be made; then whoever waits asks for another one.


@dataclass(frozen=True)
class OwnerName:
    """Whose memory: a character's with a user, in a world."""

    character: str
    user: str = ""
    world: str = ""

    @property
    def id(self) -> uuid.UUID:
        """It follows from the names, so that no worker has to look it up."""
        return uuid.uuid5(uuid.NAMESPACE_OID, json.dumps([self.character, self.user, self.world], ensure_ascii=False))


class Postgres:
    """``each_time``: an owner is named in every transaction, as poolers between need it, and Citus; else once for a connection,
    which takes a third of the time; nothing is prepared then. ``direct`` is an address past such a pooler, for the locks that
    last as long as this worker. ``searches``: the server searches a large layer itself, see ``sql.nearest``. Raises DiskError
    (``away``) where nobody answers at the address within ``timeout_s``; where that went on for longer, much sooner."""

    name = ""
    servers: object = None
    """It is the server ``name`` of these ``servers.Servers``."""

    def __init__(
        self,
        address: str,
        *,
        size: int = 8,
        timeout_s: float = 10.0,
        each_time: bool = False,
        searches: bool = False,
        direct: str = "",
    ) -> None:
        self.timeout_s, self.each_time, self.searches = timeout_s, each_time, searches
        parts = conninfo_to_dict(address)
        silence: dict[str, Any] = {
            **ALIVE,
            "tcp_user_timeout": int(1000 * timeout_s),
            "connect_timeout": max(2, int(timeout_s)),
        }
        self.address, self._direct = (
            make_conninfo(**silence | conninfo_to_dict(one)) for one in (address, direct or address)
        )
        self.place = f"{parts.get('host', 'localhost')}/{parts.get('dbname', '')}"
        self._pool = ConnectionPool(
            self.address, connection_class=OwnedConnection, min_size=1, max_size=size, timeout=timeout_s, configure=_configure,
            open=False, reconnect_timeout=CONNECT_S / 2,
            kwargs={"autocommit": True, "application_name": "moechat"} | ({"prepare_threshold": None} if each_time else {}),
        )  # fmt: skip
        self._pool.open()
        self.worker = secrets.randbits(62)
        """The number under which other workers know that this one lives."""
        self._life: OwnedConnection | None = None
        self._proved = 0.0
        self._away_since: float | None = None
        self._lock = threading.Lock()

    def close(self) -> None:
        self._pool.close()
        if self._life is not None:
            self._life.close()

    @contextlib.contextmanager
    def in_words(self) -> Iterator[None]:
        """Raises DiskError, or Locked."""
        try:
            yield
        except psycopg.errors.LockNotAvailable as error:
            raise Locked(self.place, "another worker holds it; try again") from error
        except psycopg.OperationalError as error:
            fault: DiskFault = "full" if isinstance(error, psycopg.errors.DiskFull) else "away"
            raise DiskError(fault, self.place, str(error).splitlines()[0] if str(error) else "") from error

    def patient(self, work: Callable[[OwnedConnection], T]) -> T:
        """What ``work`` gives for a connection. It may be done twice: see ``_again``."""

        def lent(timeout_s: float) -> T:
            with self._pool.connection(timeout=timeout_s) as connection:
                return work(connection)

        with self.in_words():
            return self._again(lent)

    def take(self, begin: Callable[[OwnedConnection], None]) -> OwnedConnection:
        """A connection on which ``begin`` was done; ``give_back`` is the caller's duty."""

        def begun(timeout_s: float) -> OwnedConnection:
            connection = self._pool.getconn(timeout=timeout_s)
            try:
                begin(connection)
            except BaseException:
                with contextlib.suppress(psycopg.Error):
                    connection.rollback()
                self._pool.putconn(connection)
                raise
            return connection

        with self.in_words():
            return self._again(begun)

    def _again(self, attempt: Callable[[float], T]) -> T:
        """What ``attempt`` gives, which is told how many seconds it may wait. While the database is away it is tried again, as
        long as the time-out."""
        now = time.monotonic()
        until = max((self._away_since or now) + self.timeout_s, now + CONNECT_S)
        while True:
            try:
                value = attempt(min(max(until - time.monotonic(), 0.1), CONNECT_S))
                self._away_since = None
                return value
            except (psycopg.errors.LockNotAvailable, psycopg.errors.DiskFull, PoolClosed):
                raise
            except psycopg.OperationalError:
                self._away_since = self._away_since or now
                if time.monotonic() > until:
                    raise
            time.sleep(AWAY_POLL_S)

    @contextlib.contextmanager
    def owned(self, owner: uuid.UUID) -> Iterator[OwnedConnection]:
        """A transaction that has named an owner."""
        with self.in_words(), self._pool.connection(timeout=self.timeout_s) as connection, named(connection, owner):
            yield connection

    def asked(
        self, owner: uuid.UUID, statements: Sequence[str], values: Mapping[str, object] = MappingProxyType({})
    ) -> list[tuple[Any, ...]]:
        """What the last of these gives, which may be done twice; all of them happen, or nothing."""

        def ask(connection: OwnedConnection) -> list[tuple[Any, ...]]:
            with named(connection, owner):
                for statement in statements:
                    cursor = connection.execute(statement.encode(), {**values, "owner": owner})
                return cursor.fetchall() if cursor.description else []

        return self.patient(ask)

    def give_back(self, connection: OwnedConnection) -> None:
        self._pool.putconn(connection)

    def is_there(self) -> bool:
        """Whether it answers at this moment."""
        try:
            with self._pool.connection(timeout=1.0) as connection:
                connection.execute("SELECT 1")
            return True
        except psycopg.OperationalError:
            return False

    def owners(self) -> list[tuple[str, str, str]]:
        """(character, user, world) of all owners that the role may see."""
        return self.patient(lambda connection: connection.execute(OWNERS).fetchall())

    # ---- who lives

    def live(self) -> None:
        """Show to other workers that this one lives: a lock that the server drops when the process is gone."""
        with self._lock, self.in_words():
            self._again(self._live)

    def _live(self, _: float) -> None:
        if self._life is not None:
            # A server that is gone, or let go of the connection, has ended it: there is something to be read from it.
            if time.monotonic() < self._proved + PROVED_S and not select.select([self._life], [], [], 0)[0]:
                return
            with contextlib.suppress(psycopg.OperationalError):
                self._on_life("SELECT 1")
                self._proved = time.monotonic()
                return
        self._life = OwnedConnection.connect(self._direct, autocommit=True)
        self._on_life("SELECT pg_advisory_lock(%s)", [self.worker])
        self._proved = time.monotonic()

    @contextlib.contextmanager
    def claimed(self, owner: uuid.UUID) -> Iterator[bool]:
        """Whether no other worker has claimed this owner's work, while the block runs. One that dies lets go of it."""
        self.live()
        key = work_key(owner)
        with self.in_words():
            (is_ours,) = self._on_life("SELECT pg_try_advisory_lock(%s, %s)", key)
        try:
            yield is_ours
        finally:
            if is_ours:
                with contextlib.suppress(psycopg.OperationalError):
                    self._on_life("SELECT pg_advisory_unlock(%s, %s)", key)

    def _on_life(self, statement: LiteralString, values: Sequence[int] = ()) -> tuple[Any, ...]:
        """On the connection that lasts as long as this worker."""
        assert self._life is not None
        return self._life.execute(statement, values).fetchone() or ()

    def lives(self, worker: int | None) -> bool:
        """Whether a worker lives."""
        if worker is None:
            return False
        if worker == self.worker:
            return True
        statement = "SELECT pg_try_advisory_xact_lock_shared(%s)"
        [(is_free,)] = self.patient(lambda connection: connection.execute(statement, (worker,)).fetchall())
        return not is_free


@contextlib.contextmanager
def named(connection: OwnedConnection, owner: uuid.UUID) -> Iterator[None]:
    with connection.transaction():
        connection.execute("SELECT set_config('moechat.owner', %s, true)", (str(owner),))
        yield


def work_key(owner: uuid.UUID) -> tuple[int, int]:
    """The lock that stands for this owner's work."""
    first, second = struct.unpack(">ii", owner.bytes[:8])
    return first, second


def _configure(connection: OwnedConnection) -> None:
    """Its searches go on until they have as many of the owner's vectors as they want, with pgvector 0.8 or later."""
    register_vector(connection)
    connection.execute("SET hnsw.iterative_scan = strict_order")
