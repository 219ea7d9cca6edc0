"""What ``json_lines`` keeps in files, as rows of tables: entries that are appended and read again (``Lines``), and replies on
their way (``protocols.Replies``), each piece of which is a row of its own, written without the owner's row."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence

from moechat.errors import DataError, MoeChatError, Withheld
from moechat.store.database import StoreSession, Values
from moechat.store.entries import Entry
from moechat.store.formats import json_text
from moechat.store.json_lines import Part, Place
from moechat.store.plain import json_value

AFTER = """SELECT n, entry FROM lines
    WHERE owner_id = %(owner)s AND journal = %(journal)s AND epoch = %(epoch)s AND n > %(after)s ORDER BY n"""
DROP = "DELETE FROM lines WHERE owner_id = %(owner)s AND journal = %(journal)s"

Rewriting = tuple[list[Entry], Place]


class TableLines:
    """One journal of an owner. A place is (epoch, entries): an epoch begins when the journal is replaced as a whole."""

    def __init__(self, session: StoreSession, journal: str) -> None:
        self._session, self._journal = session, journal
        self.place = Place(0, 0)
        self.problems: list[DataError] = []

    def _head(self) -> Place:
        return Place(*self._session.pulse.heads.get(self._journal, (0, 0)))

    def unread(self) -> tuple[bool, list[Entry]]:
        """What was added as of the session's last look, and whether the journal is another one (read from its start)."""
        head = self._head()
        anew = head.inode != self.place.inode
        if anew:
            self.place = Place(head.inode, 0)
        if head.offset <= self.place.offset:
            return anew, []
        return anew, self._read(self.place)

    def behind(self) -> list[tuple[str, Values]]:
        """What ``unread`` will ask."""
        head = self._head()
        after = self.place.offset if head.inode == self.place.inode else 0
        return [(AFTER, self._values(Place(head.inode, after)))] if head.offset > after else []

    def _values(self, after: Place) -> Values:
        return {"journal": self._journal, "epoch": after.inode, "after": after.offset}

    def _read(self, after: Place) -> list[Entry]:
        rows = self._session.all(AFTER, self._values(after))
        if rows:
            self.place = Place(after.inode, rows[-1][0])
        return [json_value(entry) for _, entry in rows]

    def forget(self) -> None:
        """Begin anew with the next look: what was appended came to nothing."""
        self.place = Place(-1, 0)

    def is_replaced(self) -> bool:
        return self._head().inode != self.place.inode

    def append(self, entries: Sequence[Entry]) -> None:
        """Under the owner's row; call ``unread`` first."""
        self._add(entries, self._head())

    def _add(self, entries: Sequence[Entry], place: Place) -> None:
        lines = [
            {"journal": self._journal, "epoch": place.inode, "n": n, "entry": json_text(entry)}
            for n, entry in enumerate(entries, place.offset + 1)
        ]
        self._session.put("lines", lines)
        self.place = Place(place.inode, place.offset + len(lines))
        self._session.pulse.heads[self._journal] = list(self.place)

    def rewrite(self, entries: Iterable[Entry]) -> None:
        """Replace the journal, under the owner's row."""
        self.commit((list(entries), self._head()))

    def prepare(self, entries: Iterable[Entry], place: Place, *, keep_damaged: bool = False) -> Rewriting:
        return list(entries), place

    def commit(self, rewriting: Rewriting) -> list[Entry] | None:
        """Put a prepared version in the journal's place, with what was added meanwhile, which it returns; None where the
        journal is another one by now."""
        entries, place = rewriting
        head = self._head()
        if head.inode != place.inode:
            return None
        added = self._read(place)
        self._session.do(DROP, {"journal": self._journal})
        self._add([*entries, *added], Place(head.inode + 1, 0))
        return added

    def drop(self) -> None:
        """Under the owner's row: nothing of it stays."""
        self._session.do(DROP, {"journal": self._journal})
        self._session.pulse.heads.pop(self._journal, None)
        self.place = Place(0, 0)


# ---- replies on their way

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
