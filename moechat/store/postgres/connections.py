"""One database for all owners of a process: a pool of connections, and a session for each owner.

Whatever reads or writes has named its owner (``SET moechat.owner``), so that row-level security shows nobody else's rows. A
writer holds the owner's row in a transaction; where it fails, nothing of it happened.
"""

from __future__ import annotations

import contextlib
import json
import logging
import secrets
import struct
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, LiteralString, TypeVar

import psycopg
from pgvector.psycopg import register_vector
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.json import Jsonb
from psycopg_pool import ConnectionPool, PoolClosed

from moechat.errors import DiskError, DiskFault, Locked, MoeChatError
from moechat.store.database import BEAT, PULSE, Pulse, StoreSession, Values

log = logging.getLogger(__name__)


class OwnedConnection(psycopg.Connection[tuple[Any, ...]]):
    """``named`` is the owner whose rows it sees outside a transaction that names another."""

    named: uuid.UUID | None = None


T = TypeVar("T")
# The one statement that names no owner, for whoever owns the tables and moves memories.
OWNERS = 'SELECT "character", "user", world FROM owners ORDER BY 1, 2, 3'
KNOW = """INSERT INTO owners (owner_id, "character", "user", world, identity)
    VALUES (%(owner)s, %(character)s, %(user)s, %(world)s, %(identity)s) ON CONFLICT (owner_id) DO NOTHING"""
LOCK = f"{PULSE} FOR UPDATE"
AWAY_POLL_S = 0.05  # How often a database that is away is asked again, until the time-out.
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
    which takes a third of the time. ``searches``: the server searches a large layer itself, see ``sql.nearest``. Raises DiskError
    (``away``) where nobody answers at the address within ``timeout_s``."""

    def __init__(
        self, address: str, *, size: int = 8, timeout_s: float = 10.0, each_time: bool = False, searches: bool = False
    ) -> None:
        self.timeout_s, self.each_time, self.searches, self._address = timeout_s, each_time, searches, address
        parts = conninfo_to_dict(address)
        self.place = f"{parts.get('host', 'localhost')}/{parts.get('dbname', '')}"
        self._pool = ConnectionPool(
            address, connection_class=OwnedConnection, min_size=1, max_size=size, timeout=timeout_s, configure=_configure,
            open=False, reconnect_timeout=CONNECT_S / 2,
            kwargs={"autocommit": True, "application_name": "moechat"},
        )  # fmt: skip
        self._pool.open()
        self.worker = secrets.randbits(62)
        """The number under which other workers know that this one lives."""
        self._life: OwnedConnection | None = None
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
        until = time.monotonic() + self.timeout_s
        while True:
            try:
                return attempt(min(max(until - time.monotonic(), 0.1), CONNECT_S))
            except (psycopg.errors.LockNotAvailable, psycopg.errors.DiskFull, PoolClosed):
                raise
            except psycopg.OperationalError:
                if time.monotonic() > until:
                    raise
            time.sleep(AWAY_POLL_S)

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
            with contextlib.suppress(psycopg.OperationalError):
                self._on_life("SELECT 1")
                return
        self._life = OwnedConnection.connect(
            self._address, autocommit=True, connect_timeout=max(2, int(self.timeout_s))
        )
        self._on_life("SELECT pg_advisory_lock(%s)", [self.worker])

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


def work_key(owner: uuid.UUID) -> tuple[int, int]:
    """The lock that stands for this owner's work."""
    first, second = struct.unpack(">ii", owner.bytes[:8])
    return first, second


class OwnerSession(StoreSession):
    """PostgreSQL as one owner sees it."""

    def __init__(self, database: Postgres, owner: OwnerName) -> None:
        self.database, self.name, self.owner = database, owner, owner.id
        self.place, self.worker, self.home = database.place, database.worker, f"{database.place} {owner.id}"
        self._seen = Pulse()
        self._writer: int | None = None
        self._connection: OwnedConnection | None = None
        self._changed = self._seen

    # ---- reading

    @property
    def is_writing(self) -> bool:
        """Whether this thread holds the owner's row."""
        return self._writer == threading.get_ident()

    @property
    def pulse(self) -> Pulse:
        return self._changed if self.is_writing else self._seen

    def look(self) -> None:
        if not self.is_writing:
            rows = self.all(PULSE)
            self._seen = Pulse(*rows[0]) if rows else Pulse()

    def live(self) -> None:
        self.database.live()

    def lives(self, worker: int | None) -> bool:
        return self.database.lives(worker)

    def all(self, statement: str, values: Values = {}, *, binary: bool = False) -> list[tuple[Any, ...]]:  # noqa: B006
        return self._run(statement, values, binary=binary).fetchall()

    def do(self, statement: str, values: Values, *, durably: bool = True) -> int:
        return self._run(statement, values, durably=durably).rowcount

    def _run(
        self, statement: str, values: Values, *, durably: bool = True, binary: bool = False
    ) -> psycopg.Cursor[tuple[Any, ...]]:
        named = {**values, "owner": self.owner}

        def once(connection: OwnedConnection) -> psycopg.Cursor[tuple[Any, ...]]:
            if durably and not self.database.each_time:
                if connection.named != self.owner:
                    connection.execute(f"SET moechat.owner = '{self.owner}'".encode(), prepare=False)
                    connection.named = self.owner
                return connection.execute(statement, named, binary=binary)
            self._begin(connection, "" if durably else "; SET LOCAL synchronous_commit = off")
            try:
                cursor = connection.execute(statement, named, binary=binary)
                connection.execute("COMMIT")
                return cursor
            except BaseException:
                with contextlib.suppress(psycopg.Error):
                    connection.rollback()
                raise

        if self.is_writing and self._connection is not None:
            with self.database.in_words():
                return self._connection.execute(statement, named, binary=binary)
        return self.database.patient(once)

    def _begin(self, connection: OwnedConnection, more: str = "") -> None:
        connection.execute(f"BEGIN; SET LOCAL moechat.owner = '{self.owner}'{more}".encode(), prepare=False)

    # ---- writing

    @contextlib.contextmanager
    def writing(self, patience_s: float) -> Iterator[None]:
        """A transaction that holds the owner's row."""
        patience_ms = max(1, int(patience_s * 1000))

        def begin(connection: OwnedConnection) -> None:
            self._begin(connection, f"; SET LOCAL lock_timeout = {patience_ms}")
            name = {"owner": self.owner, **vars(self.name), "identity": uuid.uuid4().hex}
            rows = connection.execute(LOCK, name).fetchall()
            if not rows:
                connection.execute(KNOW, name)
                rows = connection.execute(LOCK, name).fetchall()
            self._seen = Pulse(*rows[0])

        connection = self.database.take(begin)
        self._changed = replace(self._seen, heads=dict(self._seen.heads))
        self._connection, self._writer = connection, threading.get_ident()
        is_done = False
        try:
            try:
                yield
            except MoeChatError as error:
                if isinstance(error, DiskError):
                    raise
                self._commit(connection)
                is_done = True
                raise
            self._commit(connection)
            is_done = True
        finally:
            self.epoch += not is_done
            self._connection = self._writer = None
            with contextlib.suppress(psycopg.Error):
                if connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
                    connection.rollback()
            self.database.give_back(connection)

    def _commit(self, connection: OwnedConnection) -> None:
        with self.database.in_words():
            if connection.info.transaction_status == psycopg.pq.TransactionStatus.INERROR:
                raise psycopg.OperationalError("a statement before this failed")
            if self._changed != self._seen:
                values = {**vars(self._changed), "heads": Jsonb(self._changed.heads), "owner": self.owner}
                connection.execute(BEAT, values)
            connection.execute("COMMIT")
        self._seen = self._changed

    def many(self, statement: str, values: Sequence[Values]) -> None:
        if self._connection is None or not self.is_writing:
            raise RuntimeError("only who holds the owner's row may write")
        if values:
            with self.database.in_words(), self._connection.cursor() as cursor:
                cursor.executemany(statement, [{**_storable(one), "owner": self.owner} for one in values])


def _storable(values: Values) -> Values:
    """PostgreSQL has no NUL in texts: it becomes U+FFFD."""
    return {name: one.replace("\0", "\ufffd") if isinstance(one, str) else one for name, one in values.items()}


def _configure(connection: OwnedConnection) -> None:
    """Its searches go on until they have as many of the owner's vectors as they want, with pgvector 0.8 or later."""
    register_vector(connection)
    connection.execute("SET hnsw.iterative_scan = strict_order")
