"""What has been reflected on: one line in ``reflection.jsonl`` of an owner, replaced as a whole and machine-owned.

It holds ids and times, no words, but for the moment between a run's end and its reflections standing in their notes.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from moechat.errors import DataError
from moechat.model import Episode
from moechat.store import formats
from moechat.store.entries import Entry, Shape, is_id, is_number, is_text, list_of, map_of, maybe
from moechat.store.formats import EPISODE
from moechat.store.json_lines import Lines

_TEXTS = list_of(is_text)
_MADE = Shape({"id": is_id, "evidence": map_of(is_text), "sources": _TEXTS, "expires?": is_number})
REFLECTED = Shape(
    {
        "until": maybe(is_number), "open": _TEXTS, "made": list_of(_MADE.fits), "again": _TEXTS,
        "unstored": list_of(EPISODE.shape.fits),
    }
)  # fmt: skip


@dataclass(frozen=True)
class Made:
    """A reflection that was stored, the words (as hashes) it rests on by episode id, and the exchanges of those.

    ``expires`` in epoch seconds."""

    id: str
    evidence: Mapping[str, str]
    sources: tuple[str, ...]
    expires: float = math.inf

    @classmethod
    def of(cls, episode: Episode, evidence: Mapping[str, str]) -> Made:
        expires = episode.expires.timestamp() if episode.expires else math.inf
        return cls(episode.id, evidence, episode.event.sources, expires)


@dataclass(frozen=True)
class Reflected:
    """Events told up to ``until`` (epoch seconds) are counted, but for those of the exchanges that were ``open`` then.

    ``again`` are exchanges whose events lost a reflection. ``unstored`` are reflections on their way into the notes.
    """

    until: float = -math.inf
    open: tuple[str, ...] = ()
    made: tuple[Made, ...] = ()
    again: tuple[str, ...] = ()
    unstored: tuple[Episode, ...] = ()


class ReflectionFile:
    """The record of one owner. ``write`` needs the owner's lock."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self.value = Reflected()

    @property
    def problems(self) -> list[DataError]:
        return self._lines.problems

    def follow(self) -> None:
        """Take in what another process wrote. A file that cannot be read, or was deleted, begins anew."""
        anew, entries = self._lines.unread()
        if entries or anew:
            self.value = Reflected()
        if entries:
            self.value = _read(entries[-1])

    def without(self, ids: Collection[str]) -> None:
        """Remove what rests on these exchanges and episodes."""
        self.follow()
        rests_on = set(ids)
        value = replace(
            self.value,
            made=tuple(m for m in self.value.made if rests_on.isdisjoint([m.id, *m.evidence, *m.sources])),
            unstored=tuple(
                e for e in self.value.unstored if rests_on.isdisjoint([e.id, *e.evidence, *e.event.sources])
            ),
        )
        if value != self.value:
            self.write(value)

    def write(self, value: Reflected) -> None:
        self._lines.rewrite([written(value)])
        self.value = value


def digest(episode: Episode) -> str:
    """Changes with the words of an episode."""
    return formats.derived_id(episode.event.text, episode.event.sources)


def written(value: Reflected) -> Entry:
    """The line of the record."""
    return {
        "until": None if math.isinf(value.until) else value.until,
        "open": list(value.open),
        "made": [
            {"id": m.id, "evidence": dict(m.evidence), "sources": list(m.sources)}
            | ({} if math.isinf(m.expires) else {"expires": m.expires})
            for m in value.made
        ],
        "again": list(value.again),
        "unstored": [{"id": e.id, **EPISODE.data(e)} for e in value.unstored],
    }  # fmt: skip


def _read(entry: Entry) -> Reflected:
    return Reflected(
        -math.inf if entry["until"] is None else float(entry["until"]),
        tuple(map(str, entry["open"])),
        tuple(
            Made(
                str(m["id"]), {str(k): str(v) for k, v in m["evidence"].items()}, tuple(map(str, m["sources"])),
                float(m.get("expires", math.inf)),
            )
            for m in entry["made"]
        ),
        tuple(map(str, entry["again"])),
        tuple(EPISODE.of_data(str(e["id"]), e) for e in entry["unstored"]),
    )  # fmt: skip
