"""What findings are made of, and how they are kept: the rows of one owner's facts, episodes and notes."""

from __future__ import annotations

import json
import threading
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, NamedTuple

from moechat.model import Episode, Fact
from moechat.store.database import StoreSession
from moechat.store.exchanges import ROWS_AT_ONCE, TOLD_AT, FoldedWords, KeptRows
from moechat.store.formats import EPISODE, FACT
from moechat.store.journal import LogBook

EpisodeKind = Literal["event", "reflection"]
NOTES = "SELECT id, tag, keywords, by FROM notes WHERE owner_id = %(owner)s AND id = ANY(%(ids)s)"
FACTS = "SELECT id, data FROM facts WHERE owner_id = %(owner)s"
DROP_FACTS = "DELETE FROM facts WHERE owner_id = %(owner)s AND id = ANY(%(ids)s)"
LIVE = "FROM episodes WHERE owner_id = %(owner)s AND alive"
BY_ROW = f"SELECT row, id, data {LIVE} AND row = ANY(%(rows)s)"
BY_ID = f"SELECT row, id, data {LIVE} AND id = ANY(%(ids)s) ORDER BY row"
ROWS = f"SELECT id, row {LIVE} AND id = ANY(%(ids)s)"
SUPERSEDING = f"SELECT id, data {LIVE} AND replaces ORDER BY row"
WITH_EVIDENCE = f"SELECT row {LIVE} AND evidence ORDER BY row"
BIRTHS = f"SELECT id, t, by, confirmed {LIVE} ORDER BY row"
CITING = "SELECT DISTINCT row FROM episode_sources WHERE owner_id = %(owner)s AND source = ANY(%(ids)s) ORDER BY row"
WORDS = "words || ' ' || keywords"
# Sorted by ``+row`` lest SQLite goes through all rows in their order.
SINCE = "SELECT row FROM episodes WHERE owner_id = %(owner)s AND gen > %(since)s ORDER BY +row"
DIED = "SELECT row FROM episodes WHERE owner_id = %(owner)s AND gen > %(since)s AND NOT alive"
CHANGED = "SELECT row, id, data, alive FROM episodes WHERE owner_id = %(owner)s AND row = ANY(%(rows)s)"
KILL = """UPDATE episodes SET alive = false, gen = %(gen)s, data = '', words = '', keywords = '', note = ''
    WHERE owner_id = %(owner)s AND row = ANY(%(rows)s)"""
DROP_SOURCES = "DELETE FROM episode_sources WHERE owner_id = %(owner)s AND row = ANY(%(rows)s)"


class ExchangeNote(NamedTuple):
    """What an exchange is about, and who read it ("": nobody)."""

    tag: str = ""
    keywords: tuple[str, ...] = ()
    by: str = ""


NO_NOTE = ExchangeNote()


@dataclass(frozen=True, slots=True)
class Noted:
    """The note of an exchange and the episodes that stand with it. ``key`` is the exchange's id, or that of an event of which
    no exchange tells. ``place`` is where it stands ("": nowhere yet). Without note and episodes it is to be removed."""

    key: str
    note: ExchangeNote = NO_NOTE
    episodes: tuple[Episode, ...] = ()
    place: str = ""

    @property
    def is_empty(self) -> bool:
        return not self.episodes and not any(self.note)


# ---- which of them hold: links decide, when they are read, and nothing is rewritten when a branch changes


def visible(facts: Sequence[Fact], hidden: AbstractSet[str]) -> list[Fact]:
    """Facts that some visible exchange states (or none is named) and that no visible fact supersedes. One that sums others
    up is visible where all are that it rests on; where not, those others are by themselves. What is in doubt takes the place of
    nothing."""
    seen = [f for f in facts if f.id not in hidden and (hidden.isdisjoint(f.draft.sources) or _borne_out(f, hidden))]
    replaced = {id_ for fact in seen if fact.confirmed is not False for id_ in fact.supersedes}
    return [fact for fact in seen if fact.id not in replaced]


def _borne_out(fact: Fact, hidden: Collection[str]) -> bool:
    stated = [source not in hidden for source in fact.draft.sources]
    return not stated or (all(stated) if fact.consolidated else any(stated))


def superseded(newer: Iterable[Episode], rulings: Iterable[Fact], hidden: Collection[str]) -> frozenset[str]:
    """Ids of the episodes that are replaced by one of ``newer``, or ruled over by one of ``rulings``, that may be seen: not
    hidden, nor resting on what is."""
    links = [
        *((e.id, e.event.sources, e.supersedes) for e in newer if e.confirmed is not False),
        *((fact.id, fact.draft.sources, fact.supersedes) for fact in rulings),
    ]
    return frozenset(
        id_ for own, sources, ids in links if own not in hidden and not any(source in hidden for source in sources)
        for id_ in ids
    )  # fmt: skip


APART = ("ruling", "daybook")  # Facts of these kinds stand beside what is known.


class FactBook:
    """The facts of an owner in memory, in order of time, then of id. One change costs that change. Safe for several threads."""

    def __init__(self, facts: Iterable[Fact] = ()) -> None:
        self._lock = threading.Lock()
        self._order = sorted(facts, key=_place)
        self._by_id = {fact.id: fact for fact in self._order}
        self._citing: dict[str, dict[str, None]] = {}
        self._rulings: Sequence[Fact] | None = None
        for fact in self._order:
            self._cite(fact)

    def all(self) -> list[Fact]:
        with self._lock:
            return list(self._order)

    def rulings(self) -> Sequence[Fact]:
        """What says of other findings that they hold no longer, oldest first; the same object until a fact changes."""
        with self._lock:
            if self._rulings is None:
                self._rulings = [fact for fact in self._order if fact.draft.kind == "ruling"]
            return self._rulings

    def of(self, ids: Iterable[str]) -> dict[str, Fact]:
        """By id, of those that are there."""
        with self._lock:
            return {id_: self._by_id[id_] for id_ in ids if id_ in self._by_id}

    def citing(self, exchanges: Iterable[str]) -> list[Fact]:
        """The facts that rest on one of these exchanges, in order."""
        with self._lock:
            ids = {id_ for exchange in exchanges for id_ in self._citing.get(exchange, ())}
        return sorted(self.of(ids).values(), key=_place)

    def change(self, gone: Collection[str], new: Iterable[Fact]) -> None:
        """Take facts out by id; put others in, in place of those with their ids."""
        with self._lock:
            self._rulings = None
            for id_ in gone:
                self._remove(id_)
            for fact in new:
                self._remove(fact.id)
                self._order.insert(bisect_left(self._order, _place(fact), key=_place), fact)
                self._by_id[fact.id] = fact
                self._cite(fact)

    def _cite(self, fact: Fact) -> None:
        for source in fact.draft.sources:
            self._citing.setdefault(source, {})[fact.id] = None

    def _remove(self, id_: str) -> None:
        if (fact := self._by_id.pop(id_, None)) is None:
            return
        del self._order[bisect_left(self._order, _place(fact), key=_place)]
        for source in set(fact.draft.sources):
            del self._citing[source][id_]
            if not self._citing[source]:
                del self._citing[source]


def _place(fact: Fact) -> tuple[datetime, str]:
    return fact.since, fact.id


# ---- the records


class FindingRecords:
    """Facts, episodes and notes of one owner. Who writes holds the owner's lock.

    It has more than twenty methods because each order in which findings are read is one of its own.
    """

    def __init__(self, owner: LogBook, session: StoreSession) -> None:
        self._owner, self._session = owner, session
        self._kept: KeptRows[Episode] = KeptRows(session, DIED, lambda rows: {
            row: EPISODE.of_json(id_, data) for row, id_, data in session.all(BY_ROW, {"rows": list(rows)})
        })  # fmt: skip
        self._book: tuple[tuple[int, int], FactBook] | None = None
        self._superseding: tuple[tuple[int, int], list[Episode]] | None = None
        self._superseded: tuple[Sequence[object], frozenset[str]] = ((None, None, None), frozenset())

    # ---- facts

    def fact_book(self) -> FactBook:
        """The facts as they are, to be looked up. They are read again only when another worker has changed some."""
        moment, book = (self._session.epoch, self._session.pulse.facts), self._book
        if book is None or book[0] != moment:
            rows = self._session.all(FACTS)
            book = self._book = moment, FactBook(FACT.of_json(id_, data) for id_, data in rows)
        return book[1]

    def facts(self) -> list[Fact]:
        """All facts, oldest first, then by id."""
        return self.fact_book().all()

    def facts_generation(self) -> int:
        """The generation in which facts last changed."""
        return self._session.pulse.facts

    def with_ids(self, ids: Collection[str]) -> list[Fact | Episode]:
        """Facts, then live episodes. A fact and an event of the same words have one id."""
        return [*self.fact_book().of(ids).values(), *self.by_ids(list(ids)).values()]

    # ---- notes

    def notes_of(self, ids: Sequence[str]) -> dict[str, ExchangeNote]:
        """By exchange, of those that have a note."""
        rows = self._session.all(NOTES, {"ids": list(ids)}) if ids else []
        return {id_: ExchangeNote(tag, tuple(json.loads(words)), by) for id_, tag, words, by in rows}

    # ---- episodes

    def by_row(self, rows: Sequence[int]) -> dict[int, Episode]:
        """Live episodes by row number."""
        return self._kept.of(rows)

    def episodes(self, rows: Sequence[int]) -> list[Episode]:
        """Live episodes by row number, in the order asked for."""
        by_row = self.by_row(rows)
        return [by_row[row] for row in rows if row in by_row]

    def rows_of(self, ids: Sequence[str]) -> dict[str, int]:
        """Episode id → its row, of live ones."""
        return dict(self._session.all(ROWS, {"ids": list(ids)})) if ids else {}

    def by_ids(self, ids: Sequence[str]) -> dict[str, Episode]:
        """Live episodes by id, in row order."""
        return {episode.id: episode for episode in self.episodes(sorted(self.rows_of(ids).values()))}

    def rows_citing(self, ids: Sequence[str]) -> list[int]:
        """Rows of the live episodes that cite one of these exchanges, ascending."""
        return [row for (row,) in self._session.all(CITING, {"ids": list(ids)})] if ids else []

    def citing(self, ids: Sequence[str]) -> list[Episode]:
        """Every live episode that cites one of these exchanges, in row order."""
        return self.episodes(self.rows_citing(ids))

    def reflections(self) -> list[Episode]:
        """The live episodes that rest on others, in row order."""
        return self.episodes([row for (row,) in self._session.all(WITH_EVIDENCE)])

    def births(self) -> list[tuple[str, float, str, bool | None]]:
        """(id, epoch seconds, by, confirmed) of every live episode, in row order."""
        rows = self._session.all(BIRTHS)
        return [(id_, t, by, None if confirmed is None else bool(confirmed)) for id_, t, by, confirmed in rows]

    def time_happened(self, word: str, before: float, *, hidden: Collection[str] = ()) -> float | None:
        """When the last event happened that a word is part of; epoch seconds."""
        words = FoldedWords([word.casefold()])
        condition = f"AND starts <= %(before)s{words.condition('words')} ORDER BY starts DESC"
        statement = f"SELECT id, starts, data, {words.left('words')} {LIVE} {condition}"
        for id_, starts, data, left in self._session.each(statement, {**words.values, "before": before}):
            if id_ not in hidden and words.are_in(left):
                if not any(source in hidden for source in json.loads(data)["sources"]):
                    return float(starts)
        return None

    def with_words(self, kinds: Sequence[str], words: Sequence[str]) -> list[tuple[float, EpisodeKind, str, int]]:
        """(epoch seconds, kind, id, row) of live episodes of these kinds that have all these words (case-folded)."""
        folded = FoldedWords(words)
        statement = f"SELECT t, kind, id, row, {folded.left(WORDS)} {LIVE} AND kind = ANY(%(kinds)s)"
        rows = self._session.all(statement + folded.condition(f"({WORDS})"), {**folded.values, "kinds": list(kinds)})
        return [(t, kind, id_, row) for t, kind, id_, row, left in rows if folded.are_in(left)]

    def changed(self, since: int) -> Iterator[tuple[int, str, Episode | None]]:
        """(row, id, the episode or None for a dead one) of those that came or went after a generation, in row order. They are
        read some at a time: those of years need not all be in memory at once."""
        rows = [row for (row,) in self._session.all(SINCE, {"since": since})]
        for start in range(0, len(rows), ROWS_AT_ONCE):
            part = rows[start : start + ROWS_AT_ONCE]
            read = {row: rest for row, *rest in self._session.all(CHANGED, {"rows": part})}
            for row in filter(read.__contains__, part):  # all are there, unless a cache was made anew meanwhile
                id_, data, alive = read[row]
                yield row, id_, EPISODE.of_json(id_, data) if alive else None

    # ---- links

    def superseding(self) -> list[Episode]:
        """Live episodes that replace others, in row order."""
        moment = self._session.epoch, self._session.pulse.replaces
        if self._superseding is None or self._superseding[0] != moment:
            self._superseding = moment, [EPISODE.of_json(id_, data) for id_, data in self._session.all(SUPERSEDING)]
        return self._superseding[1]

    def superseded(self, hidden: Collection[str]) -> frozenset[str]:
        """Ids of the episodes that are replaced by one that may be seen."""
        of = self.superseding(), self.fact_book().rulings(), frozenset(hidden)
        if any(one is not other for one, other in zip(of, self._superseded[0], strict=True)):
            self._superseded = of, superseded(*of)
        return self._superseded[1]

    def links(self) -> dict[str, tuple[str, ...]]:
        """Id → what it replaced: of all facts, and of the episodes that replace others or are replaced."""
        newer = self.superseding()
        older = self.by_ids([id_ for episode in newer for id_ in episode.supersedes])
        episodes = {one.id: one.supersedes for one in (*older.values(), *newer)}
        return {fact.id: fact.supersedes for fact in self.facts()} | episodes

    # ---- writing, in a transaction

    def _told_at(self, ids: Sequence[str]) -> dict[str, datetime]:
        """When these exchanges were told, of those that are filed."""
        rows = self._session.all(TOLD_AT, {"ids": list(ids)}) if ids else []
        return {id_: datetime.fromisoformat(at) for id_, at in rows}

    def _change_facts(self, gone: Collection[str], new: Sequence[Fact]) -> None:
        """``gone`` are ids."""
        before, pulse = self._book, self._session.pulse
        is_current = before is not None and before[0] == (self._session.epoch, pulse.facts)
        pulse.facts = self._session.next_generation()
        dropped = before[1].of(gone).values() if before is not None and is_current else ()
        if any(fact.draft.kind == "ruling" for fact in (*new, *dropped)) or not is_current:  # It may be about events.
            pulse.replaces = pulse.facts
        if gone:
            self._session.do(DROP_FACTS, {"ids": list(gone)})
        self._session.put("facts", [{"id": fact.id, "data": FACT.json(fact)} for fact in new], ("id",))
        if before is not None and is_current:
            before[1].change(gone, new)
            self._book = (self._session.epoch, pulse.facts), before[1]

    def _change_episodes(
        self, dead: Sequence[tuple[int, Episode]], new: Sequence[tuple[str, Episode]], first: int = 0
    ) -> None:
        """``dead`` are (row, episode), ``new`` (where it stands, episode); the first of these gets the row ``first`` (0: the
        next one)."""
        pulse, gen = self._session.pulse, self._session.next_generation()
        if any(episode.supersedes for _, episode in (*dead, *new)):
            pulse.replaces = gen
        if dead:
            self._session.do(KILL, {"rows": [row for row, _ in dead], "gen": gen})
            self._session.do(DROP_SOURCES, {"rows": [row for row, _ in dead]})
        numbered = list(enumerate(new, first or pulse.episode_rows + 1))
        if not first:
            pulse.episode_rows += len(new)
        self._session.put("episodes", [_columns(row, note, episode, gen) for row, (note, episode) in numbered])
        sources = [
            {"source": source, "row": row} for row, (_, e) in numbered for source in dict.fromkeys(e.event.sources)
        ]
        self._session.put("episode_sources", sources)


def _columns(row: int, note: str, episode: Episode, gen: int) -> dict[str, Any]:
    event = episode.event
    starts, ends = (moment.timestamp() for moment in event.happened) if event.happened else (None, None)
    return {
        "row": row, "id": episode.id, "note": note, "t": episode.since.timestamp(), "starts": starts, "ends": ends,
        "kind": episode.kind, "by": episode.by, "confirmed": episode.confirmed, "data": EPISODE.json(episode),
        "words": event.text, "keywords": " ".join(event.keywords), "replaces": bool(episode.supersedes),
        "evidence": bool(episode.evidence), "gen": gen,
    }  # fmt: skip
