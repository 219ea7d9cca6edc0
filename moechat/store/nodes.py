"""What a log is about: exchanges with all their replies, talks, and batches of what was imported."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from moechat.model import Attachment, Exchange, Status


class HitRows(Sequence[dict[str, Any]]):
    """Rows of JSON, kept as their text: of every reply there are some, and hardly any is looked at again. As dicts they would
    take four times the room."""

    __slots__ = ("_text",)

    def __init__(self, rows: Sequence[Mapping[str, Any]] = ()) -> None:
        self._text = json.dumps(list(rows), ensure_ascii=False, separators=(",", ":")) if rows else ""

    def _rows(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = json.loads(self._text) if self._text else []
        return rows

    def having(self, key: str) -> list[dict[str, Any]]:
        """The rows that have a key."""
        return [row for row in self._rows() if key in row] if f'"{key}":' in self._text else []

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self._rows())

    def __len__(self) -> int:
        return len(self._rows())

    def __bool__(self) -> bool:
        return bool(self._text)

    def __getitem__(self, place: Any) -> Any:
        return self._rows()[place]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._rows() == list(other)

    __hash__ = None  # type: ignore[assignment]


@dataclass(slots=True)
class Variant:
    """One reply to a message. ``hits`` are the memories that it rests on, ``key`` tells it from one that was written twice."""

    char: str
    status: Status
    error: str = ""
    hits: HitRows = field(default_factory=HitRows)
    spans: Sequence[Sequence[str]] = ()
    notice: str = ""
    key: str = ""


@dataclass(slots=True)
class Node:
    """One exchange. ``filed`` is the text hash that stands in the day file, "" as long as it stands in the log alone.

    A ``folded`` one stands in the day file alone: the log keeps its place, not its words.
    """

    id: str
    parent: str | None
    at: str
    user: str = ""
    talk: str = ""
    speaker: str = ""
    attachments: tuple[Attachment, ...] = ()
    variants: list[Variant] = field(default_factory=list)
    chosen: int = -1
    settled: bool = False
    filed: str = ""
    understood: str = ""
    folded: bool = False

    @property
    def variant(self) -> Variant | None:
        return self.variants[self.chosen] if self.variants else None

    @property
    def status(self) -> Status:
        if self.variant:
            return self.variant.status
        return "done" if self.settled else "streaming"

    def exchange(self) -> Exchange:
        at, char = datetime.fromisoformat(self.at), self.variant.char if self.variant else ""
        return Exchange(self.id, at, self.user, char, self.status, self.talk, self.speaker, self.attachments)


@dataclass(slots=True)
class Talk:
    """A root of the log with a name ("" is the first). ``leaf`` is the exchange that the next message follows."""

    name: str
    leaf: str | None = None
    newest: str | None = None
    forked: bool = False


@dataclass(frozen=True, slots=True)
class Reread:
    """The wish that a model reads old talk: since a date ("": from the beginning), and, if ``again``, also what a model has read.

    It goes from the newest back; what is left is before ``until`` (epoch seconds, exchange), None at first.
    """

    since: str = ""
    again: bool = False
    until: tuple[float, str] | None = None


@dataclass(slots=True)
class Batch:
    """Exchanges that were imported together. They are hidden until all stand in their day files (``done``)."""

    talk: str
    at: str
    by: str
    ids: list[str]
    done: bool = False
