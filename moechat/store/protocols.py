"""What the verbs that all stores share (``log``, ``imports``, ``findings``, ``erasure``) need of each store."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import date
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from moechat.model import Exchange
from moechat.store.entries import Entry
from moechat.store.exchanges import Exchanges
from moechat.store.findings import Findings
from moechat.store.journal import LogBook
from moechat.store.json_lines import Part

Ints = NDArray[np.int64]
PackedKeys = NDArray[np.uint64]
Floats = NDArray[np.float32]


class Replies(Protocol):
    """Replies on their way, each by the id of its exchange."""

    def start(self, id_: str) -> None:
        """Raises MoeChatError where another process is answering this exchange."""

    def rest(self, id_: str, ids: Collection[str], key: str = "") -> None:
        """Say what the reply rests on, before it streams. ``key`` is that of the reply in the log."""

    def write(self, id_: str, piece: str, *, instead: bool = False) -> None:
        """A piece of the reply that is about to be shown, after those before it or ``instead`` of them. Raises Withheld."""

    def require(self, id_: str) -> None:
        """Raises Withheld where something that the reply rests on was forgotten."""

    def end(self, id_: str, entry: Entry) -> None:
        """The reply has ended; it is durable when this returns. Raises Withheld."""

    def release(self, id_: str, *, keep: bool = False) -> None:
        """Nobody writes it any more; with ``keep`` it waits for whoever takes the owner's lock next."""

    def release_all(self) -> None:
        """Whatever this store writes waits for whoever takes the owner's lock next."""

    def is_alive(self, id_: str) -> bool:
        """Whether somebody is writing the reply to this exchange."""

    def alive(self) -> set[str]:
        """The exchanges whose reply somebody is writing."""

    def ended(self) -> Sequence[Part]:
        """Those that have ended, or whose writer died."""

    def withhold(self, lost: frozenset[str]) -> None:
        """Nothing of a reply that rests on one of these stays."""

    def drop(self, id_: str) -> None: ...


class Days(Protocol):
    """The filed exchanges. Who writes holds the owner's lock."""

    def write(self, exchange: Exchange) -> bool:
        """Add or replace. False where it cannot be written now."""

    def add(self, exchanges: Sequence[Exchange]) -> None:
        """Add those, of which none is filed. Raises DataError."""

    def remove(self, ids: Sequence[str]) -> None:
        """Raises DataError."""


class Vectors(Protocol):
    """Vectors that are kept where the records are: by space (an embedding model), layer and position. ``keys`` are (n, 2)
    uint64, all zero where nothing is stored; vectors are (n, dim) float32."""

    @property
    def searched_layer(self) -> str:
        """The layer that is searched where it lies, "" where none is."""

    @property
    def generation(self) -> int:
        """It rises with every change of them; what other processes changed shows with the next ``Unit.follow``."""

    def alone(self) -> AbstractContextManager[None]:
        """No other process writes any."""

    def since(self, space: str, layer: str, generation: int, dim: int) -> tuple[int, Ints, PackedKeys, Floats]:
        """(generation, positions, keys, vectors) of all that was written after a generation; with ``dim`` 0 no vectors."""

    def get(self, space: str, layer: str, positions: Ints, dim: int) -> Floats:
        """Rows of zeros where there is nothing."""

    def dot(self, space: str, layer: str, positions: Ints, query: Floats) -> tuple[Ints, Floats]:
        """Those of the positions that hold a vector, ascending, and their inner products with ``query`` (dim,)."""

    def nearest(self, space: str, query: Floats, k: int, without: Ints) -> tuple[Ints, Floats]:
        """The ``k`` positions of the searched layer with the largest inner products, best first, by an approximate index."""

    def put(self, space: str, layer: str, positions: Ints, keys: PackedKeys, vectors: Floats) -> int:
        """Returns the generation in which they were written."""

    def clear(self, space: str, layer: str, positions: Ints) -> None: ...

    def spaces(self) -> list[str]:
        """Those that hold vectors."""

    def manifest(self) -> dict[str, Any]: ...

    def write_manifest(self, manifest: Mapping[str, Any]) -> None: ...

    def last_sweep(self) -> bytes: ...

    def begin_sweep(self, spaces: Sequence[str]) -> None:
        """From now on another one is the last; other spaces than these go."""


class Unit(LogBook):
    """One owner's durable truth, to be changed under its lock: what the verbs that all stores share need beside the log. Where
    there are no files, nothing is left to be read, and dead records leave no words."""

    exchanges: Exchanges
    findings: Findings
    days: Days
    replies: Replies

    @property
    def unread(self) -> tuple[int, date | None]:
        """How many files are still to be read, and up to which date their records may be."""
        return 0, None

    @abstractmethod
    def follow(self, *, all_files: bool = False) -> None:
        """Take in what other processes and hands have changed. Of much, the rest is ``unread``."""

    def read_on(self) -> None:
        """Read some of them, the newest first."""
        return

    def scrub(self) -> None:
        """Remove what the store keeps beside its records, and what is left of dead ones."""
        return

    def check_writable(self, exchanges: Collection[str], episodes: Collection[str], *, has_facts: bool) -> None:
        """Raises DataError where what holds one of these cannot be written."""
        return

    @abstractmethod
    def stage(self, batch: str, exchanges: Sequence[Exchange]) -> None:
        """Keep what is to be imported until it is filed."""

    @abstractmethod
    def staged(self, batch: str) -> list[Exchange]:
        """Raises DataError where it is gone."""

    @abstractmethod
    def unstage(self, batch: str) -> None: ...
