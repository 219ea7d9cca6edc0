"""Talk from elsewhere, as a file of JSON lines: ``{"time": "2021-03-04T20:15:00", "who": "user", "text": "…"}``."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Literal

from moechat.clock import moment_of
from moechat.errors import DataError
from moechat.model import Exchange
from moechat.store.plain import data_of, json_value, storable

Who = Literal["user", "char"]
EXAMPLE = '{"time": "2021-03-04T20:15:00", "who": "user", "text": "…"}'


@dataclass(frozen=True)
class Line:
    """One message; ``at`` is aware."""

    at: datetime
    who: Who
    text: str


def read(
    path: Path, zone: tzinfo | None, *, user_name: str, character_name: str
) -> tuple[list[Exchange], list[DataError]]:
    """(exchanges without ids, in order of time; what cannot be read, by line).

    ``who`` is ``user``, ``char`` or one of the two names. A time without an offset is in ``zone``. Raises DataError where the
    file as a whole cannot be read.
    """
    names: dict[str, Who] = {
        user_name.casefold(): "user",
        character_name.casefold(): "char",
        "user": "user",
        "char": "char",
    }
    try:
        texts = data_of(path, may_lead_out=True).decode("utf-8-sig").split("\n")
    except UnicodeDecodeError:
        raise DataError(path, "it is not UTF-8; save it as UTF-8, then import it again") from None
    lines: list[Line] = []
    problems: list[DataError] = []
    for number, text in enumerate(texts, 1):
        if text.strip():
            try:
                lines.append(_line(text, names, zone))
            except ValueError as error:
                problems.append(DataError(path, str(error), line=number))
    return list(_exchanges(sorted(lines, key=lambda line: line.at))), problems


def _line(text: str, names: Mapping[str, Who], zone: tzinfo | None) -> Line:
    """Raises ValueError with the reason and the remedy."""
    try:
        row = json_value(text)
    except ValueError:
        raise ValueError(f"it is no JSON; write a line such as {EXAMPLE}") from None
    if not isinstance(row, dict):
        raise ValueError(f"it is no JSON object; write a line such as {EXAMPLE}")
    for key in ("time", "who", "text"):
        if not isinstance(row.get(key), str):
            raise ValueError(f"{key} is missing, or is no text; write a line such as {EXAMPLE}")
    who = names.get(row["who"].strip().casefold())
    if who is None:
        raise ValueError(f"who = {row['who'][:40]!r}: expects {', '.join(map(repr, sorted(names)))}")
    try:
        at = moment_of(row["time"], zone)
    except ValueError:
        raise ValueError(f"time = {row['time'][:40]!r}: expects a time such as '2021-03-04T20:15:00'") from None
    if not row["text"].strip():
        raise ValueError("text is empty; write what was said, or leave the line out")
    return Line(at, who, storable(row["text"]))


def _exchanges(lines: Sequence[Line]) -> Iterator[Exchange]:
    """Lines of one side in a row are one message. A reply before any message answers nothing."""
    message: list[Line] = []
    for who, run in itertools.groupby(lines, lambda line: line.who):
        if who == "user":
            message = list(run)
            continue
        yield _exchange(message, list(run))
        message = []
    if message:
        yield _exchange(message, [])


def _exchange(message: Sequence[Line], reply: Sequence[Line]) -> Exchange:
    return Exchange("", [*message, *reply][0].at, _joined(message), _joined(reply))


def _joined(lines: Iterable[Line]) -> str:
    return "\n".join(line.text for line in lines)
