"""What was said, for everything above the store: whole exchanges by id, and their rows for the indexes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Protocol

from moechat.errors import NotFound
from moechat.model import Exchange
from moechat.store.exchange_rows import ExchangeRow, Side
from moechat.store.rows import Rows
from moechat.store.tree import Tree


class OwnersTree(Protocol):
    """What exchanges need of their owner: the log's tree, and that whatever waits is read."""

    tree: Tree

    def read_all(self) -> None: ...


class RowExchanges:
    """The exchanges of one owner. A row is a number of the owner's, ascending and never reused; only live rows are read.

    ``get`` and ``of`` also give what still stands in the log alone; everything else is about what is filed.
    """

    def __init__(self, owner: OwnersTree, rows: Rows) -> None:
        self._owner, self._rows = owner, rows

    # ---- by id

    def get(self, id_: str) -> Exchange:
        """An exchange from its day file or, before it is filed, from the log. Raises NotFound."""
        if id_ not in (exchanges := self.of([id_])):
            self._owner.read_all()
            exchanges = self.of([id_])
        if (exchange := exchanges.get(id_)) is None:
            raise NotFound(f"there is no exchange {id_!r}")
        return exchange

    def of(self, ids: Sequence[str]) -> dict[str, Exchange]:
        """Exchanges by id. One whose day file is gone and whose words are no longer in the log is left out."""
        nodes = self._owner.tree.nodes
        by_id: dict[str, Exchange] = {}
        for id_ in ids:
            node = nodes.get(id_)
            if node and not node.filed:
                by_id[id_] = node.exchange()
        rows = self.by_ids([id_ for id_ in ids if id_ not in by_id])
        by_id |= {id_: row.exchange for id_, row in rows.items()}
        for id_ in ids:
            node = nodes.get(id_)
            if node and not node.folded and id_ not in by_id:
                by_id[id_] = node.exchange()
        return {id_: by_id[id_] for id_ in ids if id_ in by_id}

    def by_ids(self, ids: Sequence[str]) -> dict[str, ExchangeRow]:
        """Those that are filed."""
        return self._rows.by_ids(ids)

    # ---- by row and time

    def rows(self, rows: Sequence[int]) -> list[ExchangeRow]:
        """Exchanges by row number, in the order asked for."""
        return self._rows.rows(rows)

    def before(self, moment: float, count: int) -> list[ExchangeRow]:
        """The last ``count`` exchanges before a moment (epoch seconds), oldest first."""
        return self._rows.before(moment, count)

    def times(self) -> list[tuple[int, float]]:
        """(row, epoch seconds) of all, in order of time, then of row."""
        return self._rows.times()

    def read_by(self, readers: Sequence[str]) -> list[tuple[float, str]]:
        """(epoch seconds, id) of those whose notes are by one of these (``rules``, ``model``), the newest first."""
        return self._rows.read_by(readers)

    def time_said(self, word: str, before: float, *, last: bool, hidden: Collection[str] = ()) -> float | None:
        """When the user first or last said a word ("": anything), in epoch seconds."""
        return self._rows.time_said(word, before, last=last, hidden=hidden)

    # ---- for the indexes

    def sides(self, after: int = -1) -> Iterator[Side]:
        """Both sides of what was written after a generation, in row order, read in batches."""
        return self._rows.sides(after)

    def sides_of(self, rows: Sequence[int]) -> list[Side]:
        """In row order."""
        return self._rows.sides_of(rows)
