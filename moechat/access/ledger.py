"""A file of the data folder that says who may come in, for its owner's eyes alone. Several processes read and change it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Generic, TypeVar

from filelock import FileLock, Timeout
from pydantic import BaseModel, ConfigDict, ValidationError

from moechat.errors import DataError
from moechat.store import records


class Kept(BaseModel):
    """Something that such a file holds. It never changes; another one takes its place."""

    model_config = ConfigDict(frozen=True, extra="forbid")


T = TypeVar("T", bound=Kept)


class LedgerFile(Generic[T]):
    """The file at ``path`` as a ``kind``, whose fields all have defaults: a file that is not there is an empty one.

    ``without`` says what becomes of things without it. Raises DataError where it is damaged.
    """

    def __init__(self, path: Path, kind: type[T], without: str) -> None:
        self._path, self._kind, self._without = path, kind, without
        self._lock = threading.Lock()
        self._state = (records.Signature(), kind())

    def entries(self) -> T:
        """The file as it is now; it is read only where it has changed."""
        signature = records.Signature.of(self._path)
        before, entries = self._state
        if signature != before:
            entries = self._read()
            self._state = (signature, entries)
        return entries

    @contextlib.contextmanager
    def changing(self) -> Iterator[T]:
        """The file, for one change at a time."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with self._lock, FileLock(f"{self._path}.lock", timeout=records.LOCK_TIMEOUT_S):
                yield self._read()
        except Timeout:
            raise DataError(self._path, "another process holds it; try again") from None

    def keep(self, entries: T, **changes: object) -> None:
        """Write the file anew, for its owner's eyes alone whoever could read it before."""
        records.replace(self._path, entries.model_copy(update=changes).model_dump_json(indent=1).encode(), 0o600)

    def _read(self) -> T:
        try:
            return self._kind.model_validate_json(self._path.read_bytes())
        except FileNotFoundError:
            return self._kind()
        except ValidationError:
            remedy = f"is damaged, or of a newer MoeChat; without it, {self._without}"
            raise DataError(self._path, remedy) from None  # The cause would quote what it holds.
