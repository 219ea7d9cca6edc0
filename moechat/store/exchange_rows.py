"""The exchanges of the day files, as rows of the cache."""

from __future__ import annotations

import itertools
import json
from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import lru_cache, partial
from pathlib import Path

from moechat.model import LONG_AGO, Attachment, Exchange, Status
from moechat.store import notice, row_numbers
from moechat.store.database import MOST_VALUES, Database, has
from moechat.store.formats import attachments_from, text_hash
from moechat.store.kept_rows import KeptRows

_COLUMNS = "e.row, e.id, e.at, e.user, e.char, e.status, coalesce(nullif(e.tag, ''), n.tag, ''), e.file, e.sha, e.extra"
_SELECT = f"SELECT {_COLUMNS} FROM exchanges e LEFT JOIN notes n ON n.id = e.id WHERE e.alive = 1"
_LINES = "(SELECT coalesce(group_concat(json_extract(value, '$.line'), ' '), '') FROM json_each(extra, '$[2]'))"
_TEXT = f"user || ' ' || CASE extra WHEN '' THEN '' ELSE {_LINES} END || ' ' || char"


@dataclass(frozen=True, slots=True)
class ExchangeRow:
    """A recorded exchange with its row number and its tag."""

    row: int
    exchange: Exchange
    tag: str
    file: str
    sha: str


@dataclass(frozen=True, slots=True)
class Side:
    """Both sides of an exchange as the indexes take them; ``t`` in epoch seconds, ``talk`` the name of its talk."""

    row: int
    id: str
    t: float
    user: str
    char: str
    talk: str


class ExchangeRows(Database):
    """What was said, by row, by id, by file and in order of time."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._kept_exchanges: KeptRows[ExchangeRow] = KeptRows()

    def _rolled_back(self) -> None:
        super()._rolled_back()
        self._kept_exchanges.clear()

    def change_exchanges(self, file: str, *, dead: Iterable[str], new: Iterable[tuple[Exchange, str]]) -> None:
        """``dead`` are ids that the file no longer holds so, ``new`` are (exchange, inline tag)."""
        new = list(new)
        with self.transaction() as db:
            gen = self.next_generation(db)
            first = row_numbers.first(db, "exchanges", file, len(new)) if new else 0
            db.executemany(
                "UPDATE exchanges SET alive = 0, gen = ? WHERE file = ? AND id = ? AND alive = 1",
                [(gen, file, id_) for id_ in dead],
            )
            db.executemany(
                "INSERT INTO exchanges (row, id, file, t, at, user, char, status, tag, sha, extra, gen, alive)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1)",
                [
                    (
                        row,
                        e.id,
                        file,
                        e.at.timestamp(),
                        e.at.isoformat(),
                        e.user,
                        e.char,
                        e.status,
                        tag,
                        text_hash(e),
                        extra_of(e),
                        gen,
                    )
                    for row, (e, tag) in enumerate(new, first)
                ],
            )

    # ---- whole exchanges

    def rows(self, rows: Sequence[int]) -> list[ExchangeRow]:
        """Live exchanges by row number, in the order asked for. Their tags may be those of an earlier moment."""
        with self._lock:
            there = self._kept_exchanges.of(
                [int(row) for row in rows], self.generation(), died=partial(self.died, "exchanges"),
                read=lambda lacking: {row.row: row for row in self._selected("e.row", lacking)},
            )  # fmt: skip
        return list(there.values())

    def by_ids(self, ids: Sequence[str]) -> dict[str, ExchangeRow]:
        return {row.exchange.id: row for row in self._selected("e.id", ids)}

    def places_of(self, ids: Sequence[str]) -> list[tuple[str, str]]:
        """(id, a day file that it stands in); a hand may have copied it."""
        return self.among("SELECT id, file FROM exchanges WHERE alive = 1 AND id IN", ids)

    def is_any_among(self, file: str, ids: Container[str]) -> bool | None:
        """Whether one of the file's exchanges has one of these ids; None where it holds none. Reads no further than that."""
        with self._lock:
            there = self._db.execute("SELECT id FROM exchanges WHERE file = ? AND alive = 1", (file,))
            first = next(there, None)
            return None if first is None else any(id_ in ids for (id_,) in itertools.chain([first], there))

    def of_file(self, file: str) -> dict[str, ExchangeRow]:
        return {row.exchange.id: row for row in self._selected("e.file", [file])}

    def _selected(self, column: str, values: Sequence[object]) -> list[ExchangeRow]:
        return [_row(*values) for values in self.among(f"{_SELECT} AND {column} IN", values)]

    def before(self, moment: float, count: int) -> list[ExchangeRow]:
        """The last ``count`` exchanges before a moment, oldest first."""
        rows = self.all(
            f"{_SELECT} AND e.t < ? ORDER BY e.t DESC, length(e.id) DESC, e.id DESC LIMIT ?", (moment, count)
        )
        return [_row(*values) for values in reversed(rows)]

    # ---- for the indexes

    def times(self) -> list[tuple[int, float]]:
        """(row, epoch seconds) of all live exchanges in order of time."""
        return self.all("SELECT row, t FROM exchanges WHERE alive = 1 ORDER BY t, row")

    def read_by(self, readers: Sequence[str]) -> list[tuple[float, str]]:
        """(epoch seconds, id) of live exchanges whose notes are by one of these readers, the newest first."""
        sql = "SELECT e.t, e.id FROM notes n JOIN exchanges e ON e.id = n.id WHERE e.alive = 1 AND n.by IN"
        return sorted(self.among(sql, readers), reverse=True)

    def sides(self, after: int = -1) -> Iterator[Side]:
        """Live exchanges written after a generation, in row order, read in batches."""
        rows = [row for (row,) in self.all("SELECT row FROM exchanges WHERE gen > ? ORDER BY +row", (after,))]
        for start in range(0, len(rows), MOST_VALUES):
            yield from self.sides_of(rows[start : start + MOST_VALUES])

    def sides_of(self, rows: Sequence[int]) -> list[Side]:
        """In row order."""
        sql = "SELECT row, id, t, user, char, status, extra FROM exchanges WHERE alive = 1 AND row IN"
        return [_side(*values) for values in sorted(self.among(sql, rows))]

    # ---- by words

    def time_said(self, word: str, before: float, *, last: bool, hidden: Collection[str] = ()) -> float | None:
        """When the user first or last said a word ("": anything), in epoch seconds. Reads no further than that."""
        order = "DESC" if last else "ASC"
        word = word.casefold()
        sql = f"SELECT id, t FROM exchanges WHERE alive = 1 AND t <= ? AND {has('user', word)} ORDER BY t {order}"
        with self._lock:
            return next((t for id_, t in self._db.execute(sql, (before, word)) if id_ not in hidden), None)

    def exchanges_with(self, words: Sequence[str]) -> list[tuple[float, str]]:
        """(epoch seconds, id) of live exchanges that have all these words (case-folded)."""
        conditions = [f" AND {has(_TEXT, word)}" for word in words]
        return self.all(f"SELECT t, id FROM exchanges WHERE alive = 1{''.join(conditions)}", words)


@lru_cache(maxsize=512)  # A talk goes back to the same exchanges, and its context is read several times a turn.
def _row(
    row: int, id_: str, at: str, user: str, char: str, status: Status, tag: str, file: str, sha: str, extra: str
) -> ExchangeRow:
    reply, _ = notice.split(char)
    talk, speaker, attachments = extras_from(extra)
    exchange = Exchange(id_, datetime.fromisoformat(at), user, reply, status, talk, speaker, attachments)
    return ExchangeRow(row, exchange, tag, file, sha)


def extra_of(exchange: Exchange) -> str:
    """Which talk it belongs to, who spoke and what came with it, as JSON; "" where all of that is as usual."""
    if not (exchange.talk or exchange.speaker or exchange.attachments):
        return ""
    return json.dumps(
        [exchange.talk, exchange.speaker, [asdict(one) for one in exchange.attachments]], ensure_ascii=False
    )


@lru_cache(maxsize=64)  # as a rule it is the name of a talk
def extras_from(extra: str) -> tuple[str, str, tuple[Attachment, ...]]:
    if not extra:
        return "", "", ()
    talk, speaker, attachments = json.loads(extra)
    return talk, speaker, attachments_from(attachments)


def _side(row: int, id_: str, t: float, user: str, char: str, status: Status, extra: str) -> Side:
    talk, speaker, attachments = extras_from(extra)
    exchange = Exchange(id_, LONG_AGO, user, notice.split(char)[0], status, talk, speaker, attachments)
    return Side(row, id_, t, exchange.sent, exchange.heard, talk)
