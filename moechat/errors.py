"""Every error that MoeChat raises on purpose.

MoeChatError
├── ConfigError      a setting, by file, key, value and remedy
├── DataError        a memory, character or prompt file, by file and line
│   ├── DiskError      the disk is full, closed to writing, or fails; the database is away
│   └── Locked         somebody else writes to it and did not end in time
├── PathError        a name or path that would leave the data folder
├── ModelError       a chat model: what happened, in words (``kind``)
├── EmbeddingError   an embedding model that cannot be loaded or used
│   ├── StillLoading it will be: ask again later
│   └── TextRefused  it serves, but not for this text
├── FilterError      a filter that is no comparison of columns (a ValueError, too)
├── FieldError       a field of a memory that somebody writes, by field, value and remedy
│   └── NameTaken    another memory has that name already
├── Withheld         a reply that rests on what was forgotten while it was written
└── NotFound         a character, an exchange or a memory that is not there
"""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

from moechat.sentences import sentence

DiskFault = Literal["full", "closed", "folder", "failing", "away"]
MESSAGE_CHARS = 2000


class _ShortRepr(reprlib.Repr):
    """Values as errors show them: built short, so that what repeats itself a million times costs nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel, self.maxdict, self.maxlist, self.maxtuple, self.maxset = 2, 3, 3, 3, 3
        self.maxstring = self.maxother = self.maxlong = 60

    def repr_int(self, value: int, level: int) -> str:
        """Python writes no number of more than 4,300 digits."""
        return repr(value) if value.bit_length() < 200 else f"a number of {value.bit_length() * 301 // 1000} digits"

    def repr_str(self, value: str, level: int) -> str:
        return repr(value if len(value) <= self.maxstring else value[: self.maxstring - 1] + "…")


def shown(value: Any) -> str:
    """A value as an error shows it, in less than a thousand characters whatever it is."""
    return _SHORT.repr(value)


_SHORT = _ShortRepr()


class MoeChatError(Exception):
    """Root of all errors raised on purpose; its text is one line that a user can act on, and never a long one. ``others`` are
    further faults of the same file.

    What the faces make of it is said here and in its children: the ``exit_code`` of a command, the ``status`` of an answer over
    HTTP, and the ``note`` of the page, a name in its words ("": the text itself)."""

    others: Sequence[MoeChatError] = ()
    exit_code, status, note = 1, 409, ""

    def __init__(self, message: str = "") -> None:
        super().__init__(message if len(message) <= MESSAGE_CHARS else message[: MESSAGE_CHARS - 1] + "…")

    @property
    def parts(self) -> Sequence[MoeChatError]:
        """All faults, each by itself."""
        return (self, *self.others)


_Fault = TypeVar("_Fault", bound=MoeChatError)


def together(faults: Sequence[_Fault]) -> _Fault:
    """The first of the faults of a file, with the others."""
    first, *others = faults
    first.others = others
    return first


class ConfigError(MoeChatError):
    """A setting is unknown or has a bad value."""

    def __init__(self, file: Path | str, key: str, value: object, remedy: str) -> None:
        self.file, self.key, self.value, self.remedy = str(file), key, value, remedy
        value_shown = "" if value is None else f" = {shown(value)}"
        super().__init__(f"{file}: {key}{value_shown}: {remedy}")


class DataError(MoeChatError):
    """A file of the data folder cannot be read; it is named and left as it is."""

    def __init__(self, file: Path | str, reason: str, *, line: int | None = None) -> None:
        self.file, self.reason, self.line = str(file), reason, line
        place = f"{self.file}, line {line}" if line else self.file
        super().__init__(f"{place}: {reason}")


class DiskError(DataError):
    """The disk is full, a file may not be written, or the disk fails. Nothing that was stored before is lost by it.

    Its text is English; ``words`` has it in each language.
    """

    def __init__(self, fault: DiskFault, file: Path | str, detail: str) -> None:
        self.fault, self.detail = fault, detail
        self.status = 503 if fault == "away" else self.status
        super().__init__(file, self._reason("en"))

    def _reason(self, language: str) -> str:
        return sentence("disk", self.fault, language, detail=self.detail)

    def words(self, language: str) -> str:
        """What is wrong and what to do, in ``zh`` or ``en``."""
        return f"{self.file}: {self._reason(language)}"


class Locked(DataError):
    """Another process, or another thread of this one, writes to the same memory and did not end in time."""


class PathError(MoeChatError):
    """A name or a path from outside the data folder."""

    status, note = 422, "name_bad"


class ModelError(MoeChatError):
    """A chat model did not answer as it should.

    ``kind`` is one of ``no_route``, ``bad_key``, ``unknown_model``, ``no_streaming``, ``timeout``, ``rate_limit``,
    ``broken_off`` (ended midway), ``cut`` (at the limit of its length), ``context_full`` (the prompt is too long), ``nonsense``
    (not the asked-for form) or ``other``.
    """

    def __init__(self, kind: str, message: str) -> None:
        self.kind = kind
        super().__init__(message)


class EmbeddingError(MoeChatError):
    """An embedding model cannot be loaded or used."""


class StillLoading(EmbeddingError):
    """An embedding model is on its way; asked again later, it may be there."""


class TextRefused(EmbeddingError):
    """An embedding model fails over this text, and not over others."""


class FilterError(MoeChatError, ValueError):
    """A filter statement is not what it may be: comparisons of columns with numbers, joined by and, or, not and brackets."""


class FieldError(MoeChatError):
    """A field of a memory that somebody writes has a value that it cannot have.

    ``kind`` is the sort of memory of the author's (``event``, ``fact`` or ``lore``), None where it is none of theirs.
    """

    status = 422

    def __init__(self, field: str, value: object, remedy: str, kind: str | None = None) -> None:
        self.field, self.value, self.remedy, self.kind = field, value, remedy, kind
        value_shown = "" if value is None else f" = {shown(value)}"
        super().__init__(f"{field}{value_shown}: {remedy}")


class NameTaken(FieldError):
    """Another memory has that name already."""


class NotFound(MoeChatError):
    """A character, an exchange or a memory that is not there."""

    status, note = 404, "gone"


class Withheld(MoeChatError):
    """A reply is not stored, because something that it rests on was forgotten while it was written."""

    def __init__(self) -> None:
        super().__init__("something that this reply rests on was forgotten meanwhile: ask again")
