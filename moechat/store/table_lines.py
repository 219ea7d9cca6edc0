"""Entries that are appended and read again, as rows of a table (``json_lines.Lines``)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from moechat.errors import DataError
from moechat.store.database import StoreSession, Values
from moechat.store.entries import Entry
from moechat.store.formats import json_text
from moechat.store.json_lines import Place
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
