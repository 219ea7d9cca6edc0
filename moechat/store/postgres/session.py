"""PostgreSQL as one owner sees it. What it costs is trips there and back: so what is written in a transaction waits until
something is read or the transaction ends, several statements go out together, and what is known is not read again."""

from __future__ import annotations

import contextlib
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import psycopg
from numpy.typing import NDArray
from psycopg.types.json import Jsonb

from moechat.errors import DiskError, MoeChatError
from moechat.store.database import BEAT, PAIR, PULSE, Pulse, StoreSession, Values
from moechat.store.postgres.connections import OwnedConnection, OwnerName, Postgres
from moechat.store.postgres.known import Known, Rows
from moechat.store.postgres.servers import ELSEWHERE, HERE, HOME, HOPS, SEND, PlaceMark, Servers
from moechat.store.table_lines import REPLIES

ARRAY_HEAD, ARRAY_STEP = 20, 12  # Bytes of an array as it is sent: before all, and of each number with its size.
KNOW = """INSERT INTO owners (owner_id, "character", "user", world, identity)
    VALUES (%(owner)s, %(character)s, %(user)s, %(world)s, %(identity)s) ON CONFLICT (owner_id) DO NOTHING
    RETURNING 1"""
# Two writers exclude each other by it, and none excludes who writes pieces of a reply without it (``STAY``). A move excludes all.
LOCK = f"{PULSE} FOR NO KEY UPDATE"
STAY = "SELECT 1 FROM owners WHERE owner_id = %(owner)s FOR KEY SHARE"
# The rows of another statement as two arrays, which take a tenth of the time.
PACKED = "SELECT array_send(array_agg(key)), array_send(array_agg(moment)) FROM ({}) AS pairs (key, moment)"
EMPTY = b"\0" * ARRAY_HEAD
LEAVE_HOME = "DELETE FROM owners WHERE owner_id = %(owner)s"
T = TypeVar("T")


@dataclass(frozen=True)
class Step:
    """A statement with its values, or with those of many rows."""

    statement: str
    values: Values | None = None
    binary: bool = False
    rows: Sequence[Values] = ()


IS_HERE, STAYS = Step(HERE, {}), Step(STAY, {})


class OwnerSession(StoreSession):
    """It has more than twenty methods because each way in which a statement goes out is one of its own."""

    def __init__(self, database: Postgres, owner: OwnerName) -> None:
        self._servers = Servers.of(database)
        self.name, self.owner = owner, owner.id
        self.database = self._servers.first_guess(self.owner)
        self.place, self.worker = self.database.place, database.worker
        self.home = f"{self._servers.home.place} {owner.id}"
        self._seen = Pulse()
        self._writer: int | None = None
        self._connection: OwnedConnection | None = None
        self._changed = self._seen
        self._known = Known()
        self._waiting: list[Step] = []
        """What is to be written before anything is read or the transaction ends."""
        self._foreseen: list[tuple[str, Values]] = []
        self._since: dict[str, int] = {}
        """The generation in which a statement was last asked what has changed since another one: the next time it will be
        asked what has changed since this one."""

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
            version = self._known.version
            foreseen, self._foreseen = ([], self._foreseen) if self._writer else (self._foreseen, [])
            questions = [(PULSE, {}), (REPLIES, {}), *foreseen]
            rows, replies, *answers = self._asked(questions)
            seen = Pulse(*rows[0]) if rows else Pulse()
            if seen != self._seen:
                self._seen = seen
                self._known.clear()
                version = self._known.version
            self._keep(REPLIES, {}, replies, version)
            for (statement, values), answer in zip(foreseen, answers, strict=True):
                self._known.put(statement, values, answer, version, once=True)

    def live(self) -> None:
        self.database.live()

    def lives(self, worker: int | None) -> bool:
        if worker is None or worker == self.worker or not self.is_writing:
            return self.database.lives(worker)
        # Whoever holds the owner's row waits for no other connection.
        [(is_free,)] = self._flush([Step(f"SELECT pg_try_advisory_xact_lock_shared({worker:d})")])[-1]
        return not is_free

    def all(self, statement: str, values: Values = {}, *, binary: bool = False) -> Rows:  # type: ignore[override]  # noqa: B006
        if values.keys() == {"since"}:
            self._since[statement] = self.pulse.generation
        version = self._known.version
        lacking = self._known.lacking(statement, values)
        if lacking is not None:
            step = Step(statement, lacking, binary)
            if self.is_writing:
                rows = self._flush([step])[-1]
            else:
                rows = self._asked([(statement, lacking)], binary=binary)[0]
            self._keep(statement, lacking, rows, version)
            if lacking is values or lacking == values:
                return list(rows)
        if (answer := self._known.get(statement, values)) is None:
            return self.all(statement, values, binary=binary)
        return list(answer)

    def pairs(self, statement: str) -> NDArray[np.void]:
        [columns] = self.all(self.packing(statement))
        keys, moments = (column or EMPTY for column in columns)
        pairs = np.zeros((len(keys) - ARRAY_HEAD) // ARRAY_STEP, PAIR)
        for name, column, kind in (("key", keys, ">i8"), ("moment", moments, ">f8")):
            pairs[name] = np.frombuffer(column, [("size", ">i4"), ("value", kind)], offset=ARRAY_HEAD)["value"]
        return pairs

    def packing(self, statement: str) -> str:
        return PACKED.format(statement)

    def gather(self, questions: Sequence[tuple[str, Values]]) -> None:
        if len(questions) > 1:
            version = self._known.version
            for (statement, values), rows in zip(questions, self._asked(questions), strict=True):
                self._known.put(statement, values, rows, version, once=True)

    def _asked(self, questions: Sequence[tuple[str, Values]], *, binary: bool = False) -> list[Rows]:
        steps = [Step(statement, values, binary) for statement, values in questions]
        version, foreseen = self._known.version, self._foreseen
        if self.is_writing:
            return self._flush(steps)[-len(steps) :]
        if self._writer is None and foreseen:
            self._foreseen = []
            steps += [Step(statement, values) for statement, values in foreseen]
        rows = self._at_once(steps)
        for (statement, values), answer in zip(foreseen, rows[len(questions) :], strict=False):
            self._known.put(statement, values, answer, version, once=True)
        return rows[: len(questions)]

    def _keep(self, statement: str, values: Values, rows: Rows, version: int) -> None:
        if self._writer is None or self.is_writing:
            self._known.put(statement, values, rows, version)

    def foresee(self, statement: str, values: Values) -> None:
        if self.is_writing or self._writer is None:
            self._foreseen.append((statement, values))

    def do(self, statement: str, values: Values, *, durably: bool = True) -> int:
        self._known.forget(statement, [values])
        if self.is_writing:
            self._waiting.append(Step(statement, dict(values)))
            return 1
        _, count = self._at_once([STAYS, Step(statement, values)], durably=durably, counts=True)
        self._known.forget(statement, [values])
        return int(count[0][0])

    def do_all(self, statements: Sequence[str], values: Values) -> None:
        if self.is_writing:
            super().do_all(statements, values)
            return
        self._at_once([STAYS, *(Step(statement, values) for statement in statements)])
        for statement in statements:
            self._known.forget(statement, [values])

    def _there(self, attempt: Callable[[Postgres], T]) -> T:
        """What ``attempt`` gives at the server where the owner is. Rows are the same on each, so all that is known stays."""
        for _ in range(HOPS):
            try:
                return attempt(self.database)
            except ELSEWHERE:
                self.database = self._servers.after(self.database, self.owner)
                self.place = self.database.place
        self.database = self._servers.find(self.owner)
        return attempt(self.database)

    def _at_once(self, steps: Sequence[Step], *, durably: bool = True, counts: bool = False) -> list[Rows]:
        steps = [*steps, IS_HERE]

        def once(connection: OwnedConnection) -> list[Rows]:
            return self._once(connection, steps, durably=durably, counts=counts)[:-1]

        return self._there(lambda database: database.patient(once))

    def _once(
        self, connection: OwnedConnection, steps: Sequence[Step], *, durably: bool = True, counts: bool = False
    ) -> list[Rows]:
        """What each gives, outside a transaction of this session: all of it happens, or nothing, in one trip."""
        if durably and not self.database.each_time:
            named = connection.named == self.owner
            before = [] if named else [Step(f"SET moechat.owner = '{self.owner}'")]
            connection.named = None
            rows = self._sent(connection, [*before, *steps], counts=counts)
            connection.named = self.owner
            return rows[len(before) :]
        more = [] if durably else [Step("SET LOCAL synchronous_commit = off")]
        try:
            rows = self._sent(connection, [*self._beginning(), *more, *steps, Step("COMMIT")], counts=counts)
            return rows[2 + len(more) : -1]
        except BaseException:
            with contextlib.suppress(psycopg.Error):
                connection.rollback()
            raise

    def _beginning(self) -> list[Step]:
        return [Step("BEGIN"), Step(f"SET LOCAL moechat.owner = '{self.owner}'")]

    def _sent(self, connection: OwnedConnection, steps: Sequence[Step], *, counts: bool = False) -> list[Rows]:
        """The rows of each (or their number, as a row), all in one trip."""
        cursors = []
        with connection.pipeline():
            for step in steps:
                cursor = connection.cursor()
                statement, owner = step.statement.encode(), {"owner": self.owner}
                if step.rows:
                    cursor.executemany(statement, [{**one, **owner} for one in step.rows])
                else:
                    named = None if step.values is None else {**step.values, **owner}
                    cursor.execute(statement, named, binary=step.binary)
                cursors.append(cursor)
        if counts:
            return [[(cursor.rowcount,)] for cursor in cursors]
        return [cursor.fetchall() if cursor.description else [] for cursor in cursors]

    # ---- writing

    @contextlib.contextmanager
    def writing(self, patience_s: float) -> Iterator[None]:
        """A transaction that holds the owner's row."""
        begin = [*self._beginning(), Step(f"SET LOCAL lock_timeout = {max(1, int(patience_s * 1000))}")]
        locked: list[Rows] = []
        foreseen, self._foreseen = self._foreseen, []

        def take(connection: OwnedConnection) -> None:
            more = [Step(statement, values) for statement, values in foreseen]
            answers = self._sent(connection, [*begin, Step(LOCK, {}), Step(REPLIES, {}), *more, IS_HERE])
            locked[:] = answers[len(begin) : -1]
            if not locked[0]:
                name = {**vars(self.name), "identity": uuid.uuid4().hex}
                is_new, locked[0], _ = self._sent(connection, [Step(KNOW, name), Step(LOCK, {}), IS_HERE])
                if is_new and new_at.name != self.database.name == HOME:
                    away = Step(SEND, PlaceMark(new_at.name)._asdict())
                    self._sent(connection, [away, Step(LEAVE_HOME, {}), Step("COMMIT")])
                    raise ELSEWHERE

        is_unknown = not self._seen.identity and self.database is self._servers.home
        new_at = self._servers.for_new() if is_unknown else self._servers.home
        database, connection = self._there(lambda database: (database, database.take(take)))
        seen = Pulse(*locked[0][0])
        if seen != self._seen:
            self._known.clear()
        self._known.renew()
        self._seen = seen
        self._changed = replace(seen, heads=dict(seen.heads))
        self._connection, self._writer = connection, threading.get_ident()
        for (statement, values), answer in zip([(REPLIES, {}), *foreseen], locked[1:], strict=True):
            self._known.put(statement, values, answer, self._known.version, once=True)
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
            if is_done:
                self._known.renew()
            else:
                self._known.clear()
            self._waiting, self._foreseen = [], []
            self._connection = self._writer = None
            with contextlib.suppress(psycopg.Error):
                if connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
                    connection.rollback()
            database.give_back(connection)

    def _flush(self, steps: Sequence[Step] = ()) -> list[Rows]:
        """What waits to be written goes out, and what is foreseen to be read, before ``steps``; what the last of them give."""
        assert self._connection is not None
        before, questions, self._waiting, self._foreseen = self._waiting, self._foreseen, [], []
        with self.database.in_words():
            if self._connection.info.transaction_status == psycopg.pq.TransactionStatus.INERROR:
                raise psycopg.OperationalError("a statement before this failed")
            reads = [Step(statement, values) for statement, values in questions]
            rows = self._sent(self._connection, [*before, *reads, *steps])
        for (statement, values), answer in zip(questions, rows[len(before) :], strict=False):
            self._known.put(statement, values, answer, self._known.version, once=True)
        return rows

    def _commit(self, connection: OwnedConnection) -> None:
        end = [Step("COMMIT")]
        if self._changed != self._seen:
            end.insert(0, Step(BEAT, {**vars(self._changed), "heads": Jsonb(self._changed.heads)}))
        if self._changed.generation != self._seen.generation:
            for statement, generation in self._since.items():
                self.foresee(statement, {"since": generation})
        for statement, values in self._known.to_ask_again():
            self.foresee(statement, values)
        self._flush(end)
        self._seen = self._changed

    def many(self, statement: str, values: Sequence[Values]) -> None:
        if self._connection is None or not self.is_writing:
            raise RuntimeError("only who holds the owner's row may write")
        if values:
            rows = [_storable(one) for one in values]
            self._known.forget(statement, rows)
            self._waiting.append(Step(statement, rows=rows))


def _storable(values: Values) -> Values:
    """PostgreSQL has no NUL in texts: it becomes U+FFFD."""
    return {name: one.replace("\0", "\ufffd") if isinstance(one, str) else one for name, one in values.items()}
