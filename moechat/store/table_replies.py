"""Replies on their way, as rows: each piece is a row of its own, written without the owner's row (``protocols.Replies``)."""

from __future__ import annotations

import json
from collections.abc import Collection

from moechat.errors import MoeChatError, Withheld
from moechat.store.database import StoreSession
from moechat.store.entries import Entry
from moechat.store.formats import json_text
from moechat.store.json_lines import Part

REPLIES = "SELECT id, worker, ids, key, entry, withheld FROM replies WHERE owner_id = %(owner)s ORDER BY id"
START = """INSERT INTO replies (owner_id, id, worker, ids) VALUES (%(owner)s, %(id)s, %(worker)s, '')
    ON CONFLICT (owner_id, id) DO UPDATE SET worker = excluded.worker"""
REST = """INSERT INTO replies (owner_id, id, worker, ids, key) VALUES (%(owner)s, %(id)s, %(worker)s, %(ids)s, %(key)s)
    ON CONFLICT (owner_id, id) DO UPDATE SET ids = excluded.ids, key = excluded.key, entry = NULL, withheld = false"""
END = "UPDATE replies SET entry = %(entry)s WHERE owner_id = %(owner)s AND id = %(id)s"
RELEASE = "UPDATE replies SET worker = NULL WHERE owner_id = %(owner)s AND id = %(id)s"
WITHHOLD = "UPDATE replies SET withheld = true, ids = '[]', entry = NULL WHERE owner_id = %(owner)s AND id = %(id)s"
DROP_REPLY = "DELETE FROM replies WHERE owner_id = %(owner)s AND id = %(id)s"
PIECES = "SELECT piece FROM pieces WHERE owner_id = %(owner)s AND id = %(id)s ORDER BY n"
ADD_PIECE = """INSERT INTO pieces (owner_id, id, n, piece)
    SELECT owner_id, id, %(n)s, %(piece)s FROM replies WHERE owner_id = %(owner)s AND id = %(id)s AND NOT withheld
    ON CONFLICT (owner_id, id, n) DO UPDATE SET piece = excluded.piece"""
DROP_PIECES = "DELETE FROM pieces WHERE owner_id = %(owner)s AND id = %(id)s"
INSTEAD = "instead"
Resting = tuple[Collection[str], str]


class TableReplies:
    """Those of one owner. A worker lives as long as the server holds its lock."""

    def __init__(self, session: StoreSession) -> None:
        self._session = session
        self._mine: dict[str, int] = {}
        """How many pieces of each of this store's own were written."""
        self._resting: dict[str, Resting] = {}
        self._gone: set[str] = set()
        """These were dropped in the transaction that recorded them."""
        self._left: set[str] = set()
        """Nobody answers these here any more, and the database, which was away, does not know it yet."""

    def start(self, id_: str) -> None:
        if self.is_alive(id_):
            raise MoeChatError("another process is answering this message right now")
        self._session.live()
        self._session.do(START, {"id": id_, "worker": self._session.worker})
        self._mine[id_] = 0

    def rest(self, id_: str, ids: Collection[str], key: str = "") -> None:
        worker = self._session.worker if id_ in self._mine else None
        values = {"id": id_, "ids": json.dumps(sorted(ids)), "key": key, "worker": worker}
        self._session.do_all((DROP_PIECES, REST), values)
        self._resting[id_] = (tuple(ids), key)
        self._mine[id_] = 0

    def write(self, id_: str, piece: str, *, instead: bool = False) -> None:
        self._mine[id_] += 1
        line = json_text([INSTEAD, piece] if instead else [piece])
        values = {"id": id_, "n": self._mine[id_], "piece": line}
        if not self._session.do(ADD_PIECE, values, durably=False):
            self._session.look()
            self.require(id_)
            self._session.do(ADD_PIECE, values, durably=False)

    def require(self, id_: str) -> None:
        """A reply that another worker folded, because the server had forgotten that this one lives, begins again."""
        if id_ not in self._resting:
            return
        mine = [withheld for other, *_, withheld in self._session.all(REPLIES) if other == id_]
        if any(mine):
            raise Withheld
        if not mine:
            self._session.live()
            self.rest(id_, *self._resting[id_])

    def end(self, id_: str, entry: Entry) -> None:
        if id_ not in self._resting:
            self.rest(id_, ())
        self._session.look()
        self.require(id_)
        self._session.do(END, {"id": id_, "entry": json_text(entry)})

    def release(self, id_: str, *, keep: bool = False) -> None:
        self._mine.pop(id_, None)
        self._resting.pop(id_, None)
        is_gone = id_ in self._gone
        self._gone.discard(id_)
        if keep:
            self._left.add(id_)
            self._let_go()
        elif not is_gone:
            self.drop(id_)

    def lose(self) -> None:
        """A transaction came to nothing, or nobody knows: what is not said to rest on anything was begun in it."""
        self._left |= self._mine.keys() - self._resting.keys()
        self._mine = {id_: count for id_, count in self._mine.items() if id_ in self._resting}

    def _let_go(self) -> None:
        for id_ in list(self._left):
            self._session.do(RELEASE, {"id": id_})
            self._left.discard(id_)

    def release_all(self) -> None:
        for id_ in list(self._mine):
            self.release(id_, keep=True)

    def is_alive(self, id_: str) -> bool:
        """As of the session's last look."""
        if id_ in self._mine:
            return True
        self._let_go()
        rows = self._session.all(REPLIES)
        return any(self._session.lives(worker) for other, worker, *_ in rows if other == id_)

    def alive(self) -> set[str]:
        self._let_go()
        rows = self._session.all(REPLIES)
        return {id_ for id_, worker, *_ in rows if id_ in self._mine or self._session.lives(worker)}

    def ended(self) -> list[Part]:
        self._let_go()
        parts = []
        for id_, worker, ids, key, entry, withheld in self._session.all(REPLIES):
            is_alive = id_ in self._mine or self._session.lives(worker)
            if not (ids or is_alive):  # It never began: settling tells so.
                self.drop(id_)
            elif entry or not is_alive:
                value = json.loads(entry) if entry else None
                text = "" if withheld else self._text(id_)
                parts.append(Part(id_, frozenset(json.loads(ids)), text, value, withheld, key))
        return parts

    def _text(self, id_: str) -> str:
        pieces: list[str] = []
        for (line,) in self._session.all(PIECES, {"id": id_}):
            *instead, piece = json.loads(line)
            pieces = [piece] if instead else [*pieces, piece]
        return "".join(pieces)

    def withhold(self, lost: frozenset[str]) -> None:
        for id_, _, ids, *_ in self._session.all(REPLIES):
            if id_ in lost or not lost.isdisjoint(json.loads(ids or "[]")):
                self._session.do_all((DROP_PIECES, WITHHOLD), {"id": id_})

    def drop(self, id_: str) -> None:
        self._session.do_all((DROP_PIECES, DROP_REPLY), {"id": id_})
        if id_ in self._mine:
            self._gone.add(id_)
