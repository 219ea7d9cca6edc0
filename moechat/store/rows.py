"""What was said and what was understood of it, as rows of a database: a cache over files, or the store itself.

Rows are append-only: a changed record becomes a new row and the old one dies. Only live ones are read. Times are epoch
seconds; words are case-folded.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Literal, Protocol

from moechat.model import Episode
from moechat.store.exchange_rows import ExchangeRow, Side
from moechat.store.fact_book import FactBook

EpisodeKind = Literal["event", "reflection"]
REPLACES = "replaces"  # What changes when an episode that replaces others comes or goes.


class Rows(Protocol):
    """What ``exchanges``, ``row_findings`` and ``search`` read. They say what its methods give."""

    def generation_of(self, what: str) -> int:
        """The generation in which that last changed."""

    # ---- exchanges

    def by_ids(self, ids: Sequence[str]) -> dict[str, ExchangeRow]: ...

    def rows(self, rows: Sequence[int]) -> list[ExchangeRow]: ...

    def before(self, moment: float, count: int) -> list[ExchangeRow]: ...

    def times(self) -> list[tuple[int, float]]: ...

    def read_by(self, readers: Sequence[str]) -> list[tuple[float, str]]: ...

    def time_said(self, word: str, before: float, *, last: bool, hidden: Collection[str] = ()) -> float | None: ...

    def sides(self, after: int = -1) -> Iterator[Side]: ...

    def sides_of(self, rows: Sequence[int]) -> list[Side]: ...

    def exchanges_with(self, words: Sequence[str]) -> list[tuple[float, str]]:
        """(when, id) of exchanges that have all these words."""

    # ---- facts

    def facts(self) -> FactBook: ...

    def facts_generation(self) -> int: ...

    # ---- notes and episodes

    def notes_of(self, ids: Sequence[str]) -> dict[str, tuple[str, tuple[str, ...], str]]:
        """Exchange id → (tag, keywords, by)."""

    def episodes_by_row(self, rows: Sequence[int]) -> dict[int, Episode]: ...

    def rows_of_episodes(self, ids: Sequence[str]) -> dict[str, int]: ...

    def rows_citing(self, ids: Sequence[str]) -> list[int]: ...

    def rows_with_evidence(self) -> list[int]:
        """Rows of the episodes that rest on other episodes, ascending."""

    def superseding(self) -> list[Episode]: ...

    def births(self) -> list[tuple[str, float, str, bool | None]]: ...

    def happened(self) -> list[tuple[int, float, float]]: ...

    def time_happened(self, word: str, before: float, *, hidden: Collection[str] = ()) -> float | None: ...

    def episodes_with(self, kinds: Sequence[str], words: Sequence[str]) -> list[tuple[float, EpisodeKind, str, int]]:
        """(when, kind, id, row) of episodes of these kinds that have all these words."""
