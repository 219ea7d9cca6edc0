"""What was said and understood, as rows of the database (``rows.Rows``)."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from moechat.model import Episode, Exchange, Fact
from moechat.store.cache import Changes
from moechat.store.database import is_plain
from moechat.store.exchange_rows import ExchangeRow, Side, extras_from
from moechat.store.fact_book import FactBook
from moechat.store.json_forms import episode_from, fact_from
from moechat.store.postgres import sql
from moechat.store.postgres.database import OwnerSession
from moechat.store.rows import REPLACES, EpisodeKind

AT_ONCE = 500


class ExchangeTable:
    """What was said."""

    def __init__(self, session: OwnerSession) -> None:
        self._session = session

    def by_ids(self, ids: Sequence[str]) -> dict[str, ExchangeRow]:
        if not ids:
            return {}
        rows = self._exchanges(sql.EXCHANGES_BY_ID, {"ids": list(ids)})
        return {row.exchange.id: row for row in rows}

    def rows(self, rows: Sequence[int]) -> list[ExchangeRow]:
        numbers = [int(row) for row in rows]
        if not numbers:
            return []
        by_row = {row.row: row for row in self._exchanges(sql.EXCHANGES_BY_ROW, {"rows": numbers})}
        return [by_row[row] for row in numbers if row in by_row]

    def before(self, moment: float, count: int) -> list[ExchangeRow]:
        return self._exchanges(sql.EXCHANGES_BEFORE, {"moment": moment, "count": count})[::-1]

    def _exchanges(self, statement: str, values: Mapping[str, object]) -> list[ExchangeRow]:
        return [_row(*one) for one in self._session.all(statement, values)]

    def times(self) -> list[tuple[int, float]]:
        return self._session.all(sql.TIMES, {})

    def read_by(self, readers: Sequence[str]) -> list[tuple[float, str]]:
        return sorted(self._session.all(sql.READ_BY, {"readers": list(readers)}), reverse=True)

    def sides(self, after: int = -1) -> Iterator[Side]:
        rows = [row for (row,) in self._session.all(sql.ROWS_SINCE, {"after": after})]
        for start in range(0, len(rows), AT_ONCE):
            yield from self.sides_of(rows[start : start + AT_ONCE])

    def sides_of(self, rows: Sequence[int]) -> list[Side]:
        one_by_one = ((row.row, row.exchange) for row in self.rows(sorted(int(row) for row in rows)))
        return [Side(row, e.id, e.at.timestamp(), e.sent, e.heard, e.talk) for row, e in one_by_one]

    def time_said(self, word: str, before: float, *, last: bool, hidden: Collection[str] = ()) -> float | None:
        words, folds = _looked_for([word.casefold()])
        values = {
            "words": words,
            "folds": folds,
            "before": before,
            "hidden": list(hidden),
            "limit": None if folds else 1,
        }
        rows = self._session.all(sql.LAST_SAID if last else sql.FIRST_SAID, values)
        return next((t for t, text in rows if not folds or word.casefold() in text.casefold()), None)

    def exchanges_with(self, words: Sequence[str]) -> list[tuple[float, str]]:
        plain, folds = _looked_for(words)
        rows = self._session.all(sql.EXCHANGES_WITH, {"words": plain, "folds": folds})
        return [(t, id_) for t, id_, text in rows if not folds or _has(text, words)]


class FactTable:
    """Facts are kept in memory until they change."""

    def __init__(self, session: OwnerSession) -> None:
        self._session = session
        self._facts: tuple[int, FactBook] | None = None

    def facts(self) -> FactBook:
        """Read again only when another worker has changed some."""
        generation, book = self.facts_generation(), self._facts
        if book is None or book[0] != generation:
            rows = self._session.all(sql.FACTS, {})
            book = self._facts = generation, FactBook(fact_from(id_, json.loads(data)) for id_, data in rows)
        return book[1]

    def change_facts(self, gone: Collection[str], new: Sequence[Fact]) -> None:
        """Let the book in memory follow what this thread has written."""
        if self._facts is not None:
            self._facts[1].change(gone, new)
            self._facts = self.facts_generation(), self._facts[1]

    def forget_facts(self) -> None:
        """What was written came to nothing."""
        self._facts = None

    def facts_generation(self) -> int:
        return self._session.pulse.facts


class EpisodeTable:
    """What was understood of exchanges."""

    def __init__(self, session: OwnerSession) -> None:
        self._session = session

    def notes_of(self, ids: Sequence[str]) -> dict[str, tuple[str, tuple[str, ...], str]]:
        rows = self._session.all(sql.NOTES, {"ids": list(ids)}) if ids else []
        return {id_: (tag, tuple(json.loads(words)), by) for id_, tag, words, by, *_ in rows}

    def episodes_by_row(self, rows: Sequence[int]) -> dict[int, Episode]:
        numbers = [int(row) for row in rows]
        selected = self._session.all(sql.EPISODES_BY_ROW, {"rows": numbers}) if numbers else []
        return {row: _episode(id_, data) for row, id_, data in selected}

    def episodes_by_id(self, ids: Sequence[str]) -> dict[str, tuple[int, Episode]]:
        """Id → (row, the episode), of live ones."""
        selected = self._session.all(sql.EPISODES_BY_ID, {"ids": list(ids)}) if ids else []
        return {id_: (row, _episode(id_, data)) for row, id_, data in selected}

    def rows_of_episodes(self, ids: Sequence[str]) -> dict[str, int]:
        return dict(self._session.all(sql.EPISODE_ROWS, {"ids": list(ids)})) if ids else {}

    def rows_citing(self, ids: Sequence[str]) -> list[int]:
        return [row for (row,) in self._session.all(sql.CITING, {"ids": list(ids)})] if ids else []

    def rows_with_evidence(self) -> list[int]:
        return [row for (row,) in self._session.all(sql.WITH_EVIDENCE, {})]

    def superseding(self) -> list[Episode]:
        return [_episode(id_, data) for _, id_, data in self._session.all(sql.SUPERSEDING, {})]

    def births(self) -> list[tuple[str, float, str, bool | None]]:
        return self._session.all(sql.BIRTHS, {})

    def happened(self) -> list[tuple[int, float, float]]:
        return self._session.all(sql.HAPPENED, {})

    def time_happened(self, word: str, before: float, *, hidden: Collection[str] = ()) -> float | None:
        words, folds = _looked_for([word.casefold()])
        for id_, starts, data in self._session.all(sql.TIME_HAPPENED, {"words": words, "before": before}):
            event = _episode(id_, data).event
            if id_ not in hidden and not any(source in hidden for source in event.sources):
                if not folds or word.casefold() in event.text.casefold():
                    return float(starts)
        return None

    def episodes_with(self, kinds: Sequence[str], words: Sequence[str]) -> list[tuple[float, EpisodeKind, str, int]]:
        plain, folds = _looked_for(words)
        rows = self._session.all(sql.EPISODES_WITH, {"kinds": list(kinds), "words": plain, "folds": folds})
        return [(t, kind, id_, row) for t, kind, id_, row, text in rows if not folds or _has(text, words)]


class TableRows(ExchangeTable, FactTable, EpisodeTable):
    """The tables of one owner."""

    def __init__(self, session: OwnerSession) -> None:
        FactTable.__init__(self, session)

    def generation_of(self, what: str) -> int:
        pulse = self._session.pulse
        return pulse.replaces if what == REPLACES else pulse.facts

    def changes(self, since: int) -> Changes:
        """Complete up to the generation of the last look; it may hold some of what came later."""
        generation = self._session.pulse.generation
        episodes = self._session.all(sql.CHANGED_EPISODES, {"since": since})
        return Changes(
            generation,
            self._session.all(sql.CHANGED_EXCHANGES, {"since": since}),
            [(row, id_, _episode(id_, data) if data else None) for row, id_, data in episodes],
        )


def _looked_for(words: Sequence[str]) -> tuple[list[str], bool]:
    """The words that the database can look for, and whether some are left that need the whole of Unicode's case folding."""
    plain = [word for word in words if is_plain(word)]
    return plain, len(plain) < len(words)


def _has(text: str, words: Sequence[str]) -> bool:
    folded = text.casefold()
    return all(word in folded for word in words)


def _row(
    row: int, id_: str, at: str, sent: str, heard: str, status: Any, extra: str, sha: str, tag: str
) -> ExchangeRow:
    talk, speaker, attachments = extras_from(extra)
    exchange = Exchange(id_, datetime.fromisoformat(at), sent, heard, status, talk, speaker, attachments)
    return ExchangeRow(row, exchange, tag, "", sha)


def _episode(id_: str, data: str) -> Episode:
    return episode_from(id_, json.loads(data))
