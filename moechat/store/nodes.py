"""What a log is about: exchanges with all their replies, talks, and batches of what was imported."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from moechat.model import Attachment, Exchange, Status


@dataclass(slots=True)
class Variant:
    """One reply to a message. ``hits`` are the memories that it rests on, ``key`` tells it from one that was written twice."""

    char: str
    status: Status
    error: str = ""
    hits: Sequence[dict[str, Any]] = ()
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
