"""What was said: the rows of one owner's exchanges, and the exchanges themselves by id."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import lru_cache
from itertools import islice
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from moechat.errors import NotFound
from moechat.model import LONG_AGO, Attachment, Exchange, Status
from moechat.store.database import StoreSession, Values
from moechat.store.formats import attachments_from, text_hash, without_notice
from moechat.store.journal import LogBook

T = TypeVar("T")
ROWS_AT_ONCE = 500
MAX_KEPT_ROWS = 2048  # Of those that were read lately.
STAMP = "\x1f"  # Stands before the stamp of an exchange, behind what else there is beside its words.
LIVE = "FROM exchanges WHERE owner_id = %(owner)s AND alive"
EXCHANGE = """SELECT e.row, e.id, e.at, e.sent, e.heard, e.status, e.extra, e.sha, {tag}, {file}
    FROM exchanges e LEFT JOIN notes n ON n.owner_id = %(owner)s AND n.id = e.id
    WHERE e.owner_id = %(owner)s AND e.alive"""
TOLD_AT = f"SELECT id, at {LIVE} AND id = ANY(%(ids)s)"
BY_ID = " AND e.id = ANY(%(ids)s) ORDER BY e.row"
BY_ROW = " AND e.row = ANY(%(rows)s)"
BEFORE = ' AND e.t < %(moment)s ORDER BY e.t DESC, length(e.id) DESC, e.id COLLATE "C" DESC LIMIT %(count)s'
TIMES = f"SELECT row, t {LIVE}"
READ_BY = """SELECT e.t, e.id FROM notes n JOIN exchanges e ON e.owner_id = %(owner)s AND e.id = n.id
    WHERE n.owner_id = %(owner)s AND e.alive AND n.by = ANY(%(readers)s)"""
SAID = "sent || ' ' || lines || ' ' || heard"
# An order by ``+row`` is sorted: SQLite would go through all rows in their order instead, to find the few.
SINCE = "SELECT row, t, alive FROM exchanges WHERE owner_id = %(owner)s AND gen > %(since)s ORDER BY +row"
SIDES = f"SELECT row, id, t, sent, heard, status, extra {LIVE} AND row = ANY(%(rows)s) ORDER BY row"
DIED = "SELECT row FROM exchanges WHERE owner_id = %(owner)s AND gen > %(since)s AND NOT alive"
HASHES = f"SELECT id, sha {LIVE} ORDER BY t, row"
KILL = """UPDATE exchanges SET alive = false, gen = %(gen)s, sent = '', heard = '', lines = '', extra = '', sha = ''
    WHERE owner_id = %(owner)s AND id = ANY(%(ids)s) AND alive"""


class FoldedWords:
    """Case-folded words that a text has. SQL folds ASCII alone: whether a text has a word that needs more of Unicode, it does
    not say."""

    def __init__(self, words: Sequence[str]) -> None:
        self._words = words
        plain = [word for word in words if all(char.isascii() or char.upper() == char.lower() for char in word)]
        self._folds = len(plain) < len(words)
        self.values: Values = {f"word{number}": word for number, word in enumerate(plain)}

    def condition(self, text: str) -> str:
        return "".join(f' AND strpos(lower({text} COLLATE "C"), %({name})s) > 0' for name in self.values)

    def left(self, text: str) -> str:
        """What a row must give of the text, so that ``are_in`` can say whether it has all of them."""
        return text if self._folds else "''"

    def are_in(self, left: str) -> bool:
        folded = left.casefold() if self._folds else ""
        return not self._folds or all(word in folded for word in self._words)


@dataclass(frozen=True, slots=True)
class ExchangeRow:
    """A recorded exchange with its row number and its tag; ``file`` is where it stands, "" where there are no files."""

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


class KeptRows(Generic[T]):
    """Rows of one table that were read lately: a recall goes back to many of those that the one before it read. A row never
    changes, it only dies: so what was read stays right until then."""

    def __init__(self, session: StoreSession, died: str, read: Callable[[Sequence[int]], Mapping[int, T]]) -> None:
        """``died`` is the statement that gives the rows that died after a generation, ``read`` gives live rows by number."""
        self._session, self._died, self._read = session, died, read
        self._lock = threading.Lock()  # Nothing is read under it: whoever writes holds the database.
        self._rows: dict[int, T] = {}  # The one that was asked for longest ago comes first.
        self._moment = (-1, -1)

    def of(self, rows: Iterable[int], read: Mapping[int, T] = {}) -> dict[int, T]:
        """The live rows of these numbers, in that order; some that were ``read`` a moment ago."""
        if not (numbers := [int(number) for number in rows]):
            return {}
        before = self._moment
        moment = self._session.epoch, self._session.pulse.generation
        if moment != before:
            is_known = bool(self._rows) and moment[0] == before[0]
            dead = self._session.all(self._died, {"since": before[1]}) if is_known else None
            with self._lock:
                if self._moment == before:
                    self._moment = moment
                    self._rows = {} if dead is None else self._rows
                    for (number,) in dead or ():
                        self._rows.pop(number, None)
        with self._lock:
            there = {**read} | {number: self._rows[number] for number in numbers if number in self._rows}
        if lacking := [number for number in numbers if number not in there]:
            there |= self._read(lacking)
        with self._lock:
            if self._moment == moment:
                for number, row in there.items():
                    self._rows.pop(number, None)
                    self._rows[number] = row
                for number in list(islice(self._rows, max(0, len(self._rows) - MAX_KEPT_ROWS))):
                    del self._rows[number]
        return {number: there[number] for number in numbers if number in there}


class Exchanges:
    """The exchanges of one owner. A row is a number of the owner's, ascending and never reused; only live rows are read.

    ``get`` and ``of`` also give what still stands in the log alone; everything else is about what is filed.
    """

    _tag, _file = "coalesce(n.tag, '')", "''"

    def __init__(self, owner: LogBook, session: StoreSession) -> None:
        self._owner, self._session = owner, session
        self._select = EXCHANGE.format(tag=self._tag, file=self._file)
        self._kept = KeptRows(session, DIED, lambda rows: {row.row: row for row in self._rows(BY_ROW, {"rows": rows})})
        self._numbers: dict[str, int] = {}
        """The row that an exchange had when it was last looked up."""

    # ---- by id

    def get(self, id_: str) -> Exchange:
        """An exchange as it is filed or, before that, from the log. Raises NotFound."""
        if id_ not in (exchanges := self.of([id_])):
            self._owner.read_all()
            exchanges = self.of([id_])
        if (exchange := exchanges.get(id_)) is None:
            raise NotFound(f"there is no exchange {id_!r}")
        return exchange

    def of(self, ids: Sequence[str]) -> dict[str, Exchange]:
        """Exchanges by id, of those that are there, in the order asked for. One that is filed nowhere any more and whose words
        are no longer in the log is left out."""
        nodes = self._owner.tree.nodes
        by_id: dict[str, Exchange] = {}
        for id_ in ids:
            node = nodes.get(id_)
            if node and not node.filed:
                by_id[id_] = node.exchange()
        others = [id_ for id_ in ids if id_ not in by_id]
        numbers = [self._numbers[id_] for id_ in others if id_ in self._numbers]
        by_id |= {row.exchange.id: row.exchange for row in self.rows(numbers)} if numbers else {}
        if lacking := [id_ for id_ in others if id_ not in by_id]:
            by_id |= {id_: row.exchange for id_, row in self.by_ids(lacking).items()}
        for id_ in ids:
            node = nodes.get(id_)
            if node and not node.folded and id_ not in by_id:
                by_id[id_] = node.exchange()
        return {id_: by_id[id_] for id_ in ids if id_ in by_id}

    def foresee(self, id_: str) -> None:
        """It will be looked up."""
        for statement in (self._select + BY_ID, TOLD_AT):
            self._session.foresee(statement, {"ids": [id_]})

    def by_ids(self, ids: Sequence[str]) -> dict[str, ExchangeRow]:
        """Those that are filed, in row order."""
        rows = self._rows(BY_ID, {"ids": list(ids)}) if ids else []
        if len(self._numbers) > MAX_KEPT_ROWS:
            self._numbers = {}
        self._numbers.update((row.exchange.id, row.row) for row in rows)
        self._kept.of((row.row for row in rows), {row.row: row for row in rows})
        return {row.exchange.id: row for row in rows}

    # ---- by row and time

    def rows(self, rows: Sequence[int]) -> list[ExchangeRow]:
        """Exchanges by row number, in the order asked for. Their tags may be those of an earlier moment."""
        return list(self._kept.of(rows).values())

    def before(self, moment: float, count: int) -> list[ExchangeRow]:
        """The last ``count`` exchanges before a moment (epoch seconds), oldest first. Those of one second are in the order of
        their ids, shorter ones first."""
        return self._rows(BEFORE, {"moment": moment, "count": count})[::-1]

    def _rows(self, condition: str, values: Mapping[str, object]) -> list[ExchangeRow]:
        return [_row(*one) for one in self._session.all(self._select + condition, values)]

    def moments(self) -> NDArray[np.void]:
        """(row, epoch seconds) of all, in order of time, then of row, as ``PAIR``."""
        pairs = self._session.pairs(TIMES)
        return pairs[np.lexsort((pairs["key"], pairs["moment"]))]

    def times(self) -> list[tuple[int, float]]:
        """The same as plain numbers."""
        times: list[tuple[int, float]] = self.moments().tolist()
        return times

    def filed(self) -> list[ExchangeRow]:
        """All, in the same order."""
        return self.rows([row for row, _ in self.times()])

    def read_by(self, readers: Sequence[str]) -> list[tuple[float, str]]:
        """(epoch seconds, id) of those whose notes are by one of these (``rules``, ``model``), the newest first."""
        return sorted(self._session.all(READ_BY, {"readers": list(readers)}), reverse=True)

    def hashes(self) -> dict[str, str]:
        """Id → text hash."""
        return dict(self._session.all(HASHES))

    # ---- by words

    def time_said(self, word: str, before: float, *, last: bool, hidden: Collection[str] = ()) -> float | None:
        """When the user first or last said a word ("": anything), in epoch seconds. Reads no further than that."""
        words = FoldedWords([word.casefold()])
        condition = f"AND t <= %(before)s{words.condition('sent')} ORDER BY t {'DESC' if last else 'ASC'}"
        rows = self._session.each(
            f"SELECT id, t, {words.left('sent')} {LIVE} {condition}", {**words.values, "before": before}
        )
        return next((t for id_, t, left in rows if id_ not in hidden and words.are_in(left)), None)

    def with_words(self, words: Sequence[str]) -> list[tuple[float, str]]:
        """(epoch seconds, id) of those that have all these words (case-folded) on one of their sides."""
        folded = FoldedWords(words)
        rows = self._session.all(
            f"SELECT t, id, {folded.left(SAID)} {LIVE}{folded.condition(f'({SAID})')}", folded.values
        )
        return [(t, id_) for t, id_, left in rows if folded.are_in(left)]

    # ---- for the indexes

    def changed(self, since: int) -> list[tuple[int, float, bool]]:
        """(row, epoch seconds, whether it lives) of those that came or went after a generation, in row order."""
        return [(row, t, bool(alive)) for row, t, alive in self._session.all(SINCE, {"since": since})]

    def sides(self) -> Iterator[Side]:
        """Both sides of all, in row order, read in batches."""
        rows = [row for row, _, alive in self.changed(-1) if alive]
        for start in range(0, len(rows), ROWS_AT_ONCE):
            yield from self.sides_of(rows[start : start + ROWS_AT_ONCE])

    def sides_of(self, rows: Sequence[int]) -> list[Side]:
        """In row order."""
        sides = []
        for row, id_, t, user, char, status, extra in self._session.all(SIDES, {"rows": [int(row) for row in rows]}):
            talk, speaker, attachments = _extras_from(extra.partition(STAMP)[0])
            one = Exchange(id_, LONG_AGO, user, without_notice(char)[0], status, talk, speaker, attachments)
            sides.append(Side(row, id_, t, one.sent, one.heard, talk))
        return sides

    # ---- writing, in a transaction

    def _add(self, exchanges: Iterable[Exchange], first: int = 0, **columns: Sequence[str]) -> None:
        """Add rows, the first of them of this number (0: the next one). ``columns``: whatever else stands in each."""
        pulse, gen = self._session.pulse, self._session.next_generation()
        rows = [
            {
                "row": row, "id": e.id, "t": e.at.timestamp(), "at": e.at.isoformat(), "sent": e.user, "heard": e.char,
                "lines": " ".join(one.line for one in e.attachments), "status": e.status, "extra": _extra_of(e),
                "sha": text_hash(e), "gen": gen, **{name: values[n] for name, values in columns.items()},
            }
            for n, (row, e) in enumerate(enumerate(exchanges, first or pulse.exchange_rows + 1))
        ]  # fmt: skip
        if not first:
            pulse.exchange_rows += len(rows)
        self._session.put("exchanges", rows)

    def _kill(self, ids: Sequence[str], condition: str = "", **values: object) -> None:
        if ids:
            values |= {"ids": list(ids), "gen": self._session.next_generation()}
            self._session.do(KILL + condition, values)


class TableDays(Exchanges):
    """Exchanges that are filed in the rows alone (``protocols.Days``)."""

    def write(self, exchange: Exchange) -> bool:
        before = self.by_ids([exchange.id]).get(exchange.id)
        if not before or before.sha != text_hash(exchange) or before.exchange.status != exchange.status:
            self.remove([exchange.id])
            self.add([exchange])
        return True

    def add(self, exchanges: Sequence[Exchange]) -> None:
        if exchanges:
            self._add(exchanges)

    def remove(self, ids: Sequence[str]) -> None:
        self._kill(ids)


def _row(
    row: int, id_: str, at: str, user: str, char: str, status: Status, extra: str, sha: str, tag: str, file: str
) -> ExchangeRow:
    rest, _, stamp = extra.partition(STAMP)
    talk, speaker, attachments = _extras_from(rest)
    exchange = Exchange(
        id_, datetime.fromisoformat(at), user, without_notice(char)[0], status, talk, speaker, attachments, stamp
    )
    return ExchangeRow(row, exchange, tag, file, sha)


def _extra_of(exchange: Exchange) -> str:
    """Which talk it belongs to, who spoke and what came with it, as JSON; "" where all of that is as usual. Then its stamp."""
    parts = [exchange.talk, exchange.speaker, [asdict(one) for one in exchange.attachments]]
    return (json.dumps(parts, ensure_ascii=False) if any(parts) else "") + (exchange.stamp and STAMP + exchange.stamp)


@lru_cache(maxsize=64)  # as a rule it is the name of a talk
def _extras_from(extra: str) -> tuple[str, str, tuple[Attachment, ...]]:
    if not extra:
        return "", "", ()
    talk, speaker, attachments = json.loads(extra)
    return talk, speaker, attachments_from(attachments)
