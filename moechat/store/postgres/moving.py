"""An owner moves from one server to another: rows are copied as they are, compared, the old place is closed, the new one opened.

What a step has done is there when the next one begins, so that a move that was cut short is finished by another one, or by
the first worker who wants the owner.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import uuid
from dataclasses import dataclass

from moechat.errors import DiskError, Locked, MoeChatError
from moechat.store.postgres import tables
from moechat.store.postgres.connections import OwnedConnection, Postgres
from moechat.store.postgres.servers import PLACE, SEND, PlaceMark, Servers

log = logging.getLogger(__name__)
PATIENCE_MS = 10_000  # So long the owner's own writers are waited for.
OF_OWNER = tuple(table for table in tables.TABLES if table != "places")
# Whoever writes is waited for and waits, the pieces of a reply too: then they find the owner elsewhere.
OWNER_ROW = "SELECT 1 FROM owners WHERE owner_id = %(owner)s FOR UPDATE"
WORKERS = "SELECT worker FROM replies WHERE owner_id = %(owner)s"
SEND_ON = "UPDATE places SET server = %(server)s WHERE owner_id = %(owner)s AND server = %(old)s AND NOT arrives"
LEAVE = "UPDATE places SET arrives = false WHERE owner_id = %(owner)s AND arrives AND ticket = %(ticket)s"
DIGESTS = tuple(
    f"""SELECT count(*), md5(coalesce(string_agg(md5(t::text), '' ORDER BY md5(t::text)), ''))
    FROM {table} t WHERE t.owner_id = %(owner)s"""
    for table in OF_OWNER
)
ERASE = tuple(
    f"""DELETE FROM {table} WHERE owner_id = %(owner)s
    AND EXISTS (SELECT FROM places WHERE owner_id = %(owner)s AND NOT arrives)"""
    for table in OF_OWNER
)


@dataclass(frozen=True)
class RowSum:
    """How many an owner has, and a hash of all."""

    rows: int = 0
    sha: str = ""


def move(servers: Servers, owner: uuid.UUID, to: str) -> tuple[bool, RowSum]:
    """Whether it was moved, and what. The owner's own writers wait meanwhile, all others go on. Raises Locked, MoeChatError;
    nothing is lost then, and the move may be begun again."""
    target = servers.named(to)
    with servers.home.claimed(uuid.uuid5(owner, "move")) as is_ours:
        if not is_ours:
            raise Locked(servers.home.place, "it is being moved already; try again")
        there = {}
        for one in servers.by_name.values():
            with contextlib.suppress(
                DiskError
            ):  # A server that is away can be nobody's place, or the move fails there.
                there[one] = servers.mark(one, owner)
        source = servers.find(owner)
        moved = RowSum()
        if source is not target:
            moved = _hand_over(source, target, owner)
            if not moved.rows:
                return False, moved
            if servers.after(target, owner) is not target:
                raise Locked(target.place, "it is being moved by two at once; try again")
        first = servers.mark(servers.home, owner)
        if first is not None and first.server != to:
            servers.home.asked(owner, [SEND_ON], {"server": to, "old": first.server})
        for one in servers.by_name.values():
            if one is target:
                continue
            if one not in there:
                log.warning(
                    "%s is away: whether a copy of %s is left there is not known; move it again", one.place, owner
                )
                continue
            mark = there[one]
            one.asked(owner, [LEAVE, *ERASE], {"ticket": mark.ticket if mark else ""})
        return source is not target, moved


def _hand_over(source: Postgres, target: Postgres, owner: uuid.UUID) -> RowSum:
    ticket = uuid.uuid4().hex
    with source.claimed(owner) as is_ours:
        if not is_ours:
            raise Locked(source.place, "what was said is being understood; try again when it is")
        with source.owned(owner) as old:
            old.execute(f"SET LOCAL lock_timeout = {PATIENCE_MS:d}")
            if not old.execute(OWNER_ROW, {"owner": owner}).fetchone():
                return RowSum()
            if old.execute(PLACE, {"owner": owner}).fetchone():
                raise Locked(source.place, "it was moved at this moment; try again")
            if any(source.lives(worker) for (worker,) in old.execute(WORKERS, {"owner": owner}).fetchall()):
                raise Locked(source.place, "a reply is on its way; try again when it has ended")
            before = _digest(old, owner)
            with target.owned(owner) as new:
                _copy(old, new, owner, PlaceMark(source.name, ticket, arrives=True))
            with target.owned(owner) as new:
                after = _digest(new, owner)
            if before != after:
                raise MoeChatError(f"the copy at {target.place} is not the same, so nothing was moved; try again")
            old.execute(SEND, {"owner": owner, **PlaceMark(target.name, ticket)._asdict()})
    return after


def _copy(old: OwnedConnection, new: OwnedConnection, owner: uuid.UUID, mark: PlaceMark) -> None:
    new.execute(SEND, {"owner": owner, **mark._asdict()})
    for table in OF_OWNER:
        new.execute(f"DELETE FROM {table} WHERE owner_id = %(owner)s".encode(), {"owner": owner})
        rows = f"COPY (SELECT * FROM {table} WHERE owner_id = '{owner}') TO STDOUT (FORMAT binary)".encode()
        here = f"COPY {table} FROM STDIN (FORMAT binary)".encode()
        with old.cursor().copy(rows) as leaving, new.cursor().copy(here) as coming:
            for part in leaving:
                coming.write(part)


def _digest(connection: OwnedConnection, owner: uuid.UUID) -> RowSum:
    sums = [connection.execute(one.encode(), {"owner": owner}).fetchone() or (0, "") for one in DIGESTS]
    return RowSum(sum(count for count, _ in sums), hashlib.md5(repr(sums).encode(), usedforsecurity=False).hexdigest())
