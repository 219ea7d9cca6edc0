"""What a store of one owner gives, whatever it is made of: files, memory, a database.

``Store`` is for everything above this room, which reaches an owner's durable truth in no other way.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from moechat.containment import Containment
from moechat.errors import DataError
from moechat.store.finding_records import Changes
from moechat.store.imports import Imports
from moechat.store.log import Log
from moechat.store.search import Search
from moechat.store.unit import Unit, Vectors
from moechat.store.usage import UsageFile


class Store(Unit, Protocol):
    """One owner's durable truth, for everything above this room.

    It has more than twenty methods because faces and jobs reach everything here. ``folder`` is where it lies and
    ``index_folder`` where indexes over it may be kept; both are None where there are no files.
    """

    @property
    def folder(self) -> Path | None: ...

    @property
    def index_folder(self) -> Path | None: ...

    @property
    def vectors(self) -> Vectors | None:
        """None where they lie in the index folder, or nowhere."""

    @property
    def log(self) -> Log: ...

    @property
    def imports(self) -> Imports: ...

    @property
    def search(self) -> Search: ...

    @property
    def usage(self) -> UsageFile: ...

    @property
    def contained(self) -> Containment:
        """Whatever reads one record of this owner is run by it."""

    @property
    def identity(self) -> str:
        """A text that changes when every row gets another number: an index by row belongs to one identity."""

    @property
    def generation(self) -> int:
        """It rises with every change of what is filed and understood."""

    @property
    def problems(self) -> list[DataError]:
        """Everything that could not be read, by file and line."""

    def changes(self, since: int) -> Changes:
        """All that came or went after a generation."""

    def hidden(self) -> frozenset[str]:
        """What no recipe may see. The same object as long as it is the same."""

    def verify(self) -> tuple[int, list[str]]:
        """(how many exchanges there are, every difference between the truth and what is kept of it, in words)."""

    def repair(self) -> list[str]:
        """Put back what was lost, where it is still kept elsewhere. Returns what was done."""

    def claimed(self) -> AbstractContextManager[bool]:
        """Whether no other worker has claimed this owner's work, while the block runs. Nobody is waited for."""

    def mark_understood(self, ids: Sequence[str], by: str) -> None: ...

    def requeue(self, ids: Sequence[str]) -> None: ...

    def upgrade(self) -> None:
        """Bring what an older program wrote up to date."""

    def resume(self) -> None:
        """Finish, at a start, what a kill cut short. All files must be read before."""

    def compact(self) -> bool:
        """Drop what the log need not keep."""

    def close(self) -> None: ...
