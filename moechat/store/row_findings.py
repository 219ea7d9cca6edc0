"""Findings as they are read from rows; where they are written is left to a kind of store."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from moechat.model import Episode
from moechat.store.fact_book import FactBook
from moechat.store.finding_records import ExchangeNote, OwnersLog
from moechat.store.findings import Findings
from moechat.store.rows import REPLACES, Rows


class RowFindings(Findings):
    """It has more than twenty methods because ``Findings`` leaves so many to a store."""

    def __init__(self, owner: OwnersLog, rows: Rows) -> None:
        super().__init__(owner)
        self._rows = rows
        self._superseding: tuple[int, list[Episode]] | None = None

    def fact_book(self) -> FactBook:
        return self._rows.facts()

    def facts_generation(self) -> int:
        return self._rows.facts_generation()

    def notes_of(self, ids: Sequence[str]) -> dict[str, ExchangeNote]:
        return {id_: ExchangeNote(*note) for id_, note in self._rows.notes_of(ids).items()}

    def by_row(self, rows: Sequence[int]) -> dict[int, Episode]:
        return self._rows.episodes_by_row(rows)

    def rows_of(self, ids: Sequence[str]) -> dict[str, int]:
        return self._rows.rows_of_episodes(ids)

    def rows_citing(self, ids: Sequence[str]) -> list[int]:
        return self._rows.rows_citing(ids)

    def reflections(self) -> list[Episode]:
        return self.episodes(self._rows.rows_with_evidence())

    def births(self) -> list[tuple[str, float, str, bool | None]]:
        return self._rows.births()

    def happened(self) -> list[tuple[int, float, float]]:
        return self._rows.happened()

    def superseding(self) -> list[Episode]:
        generation = self._rows.generation_of(REPLACES)
        if self._superseding is None or self._superseding[0] != generation:
            self._superseding = (generation, self._rows.superseding())
        return self._superseding[1]

    def time_happened(self, word: str, before: float, *, hidden: Collection[str] = ()) -> float | None:
        return self._rows.time_happened(word, before, hidden=hidden)

    def _told_at(self, ids: Sequence[str]) -> dict[str, datetime]:
        return {id_: row.exchange.at for id_, row in self._rows.by_ids(ids).items()}
