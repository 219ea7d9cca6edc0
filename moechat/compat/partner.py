"""Slices bound to topic paths and dates, and recalled through both: records, indexes and runtime of seed 002 (Partner).

The tree and its scores are ``index.topic``. A character recalls through ``memory.topics`` instead. Not safe for several threads
at once.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from dataclasses import astuple, dataclass
from datetime import UTC, date, datetime, tzinfo
from pathlib import Path
from typing import Any, Literal

from moechat.ai import topic_model
from moechat.clock import Clock, SystemClock, moment_at
from moechat.errors import DataError
from moechat.index.topic import LIMIT, TopicTable
from moechat.model import ActivationProfile, Message
from moechat.rules import activation
from moechat.store.plain import data_of, json_value
from moechat.store.records import replace
from moechat.topic_path import topic_path as normalised

log = logging.getLogger(__name__)


# ---- records


@dataclass(frozen=True, slots=True)
class SliceRef:
    """Where a slice stands."""

    unit_id: str
    slice_id: str


@dataclass(frozen=True, slots=True)
class MemorySlice:
    """A stretch of a unit: its messages are those from ``start`` to before ``end``, by their place, never by their text."""

    id: str
    summary: str
    timestamp: datetime
    start: int = 0
    end: int | None = None


@dataclass(frozen=True, slots=True)
class MemoryUnit:
    """A rolled conversation, word for word, and its slices."""

    id: str
    messages: tuple[Message, ...]
    slices: tuple[MemorySlice, ...] = ()

    def of(self, slice_: MemorySlice) -> tuple[Message, ...]:
        """The original messages of a slice."""
        return self.messages[slice_.start : slice_.end]


@dataclass(frozen=True, slots=True)
class TopicBinding:
    """A slice in a topic: what the index keeps of it."""

    ref: SliceRef
    timestamp: datetime
    related_topic_paths: tuple[str, ...] = ()
    profile: ActivationProfile = activation.DEFAULT


@dataclass(frozen=True, slots=True)
class ActivatedMemorySlice:
    """A slice that was brought to mind, with its words."""

    ref: SliceRef
    summary: str
    date: date
    timestamp: datetime
    messages: tuple[Message, ...] = ()


# ---- indexes


class TopicMemoryIndex:
    """Topic path → bindings, over ``tree``, which knows slices by number: by their place in ``refs``.

    ``ensured`` are the paths that stay whether or not a slice is in them.
    """

    def __init__(self) -> None:
        self.refs: list[SliceRef] = []
        self.tree = TopicTable()
        self.ensured: dict[str, None] = {}
        self._numbers: dict[SliceRef, int] = {}

    def record_binding(self, path: str, binding: TopicBinding) -> None:
        """Bind a slice to a topic; related paths get nodes. Bound again: time and profile replaced, related paths united."""
        number = self._numbers.setdefault(binding.ref, len(self.refs))
        if number == len(self.refs):
            self.refs.append(binding.ref)
        self.tree.record(number, path, binding.timestamp.timestamp(), binding.related_topic_paths, binding.profile)

    def ensure_topic_paths(self, paths: Iterable[str]) -> None:
        """Make topics of these paths that stay in the tree though no slice is in them; an empty path makes none."""
        for path in map(normalised, paths):
            if path and path not in self.ensured:
                self.ensured[path] = None
                self.tree.need(path)

    def topic_tree(self) -> list[str]:
        """The tree as a model is shown it, one topic a line."""
        return self.tree.tree()


class DateMemoryIndex:
    """Local date → slices, each once, in the order of recording."""

    def __init__(self) -> None:
        self.days: dict[date, dict[SliceRef, None]] = {}

    def record(self, ref: SliceRef, day: date) -> None:
        self.days.setdefault(day, {})[ref] = None

    def find(self, day: date) -> list[SliceRef]:
        return list(self.days.get(day, ()))


class TopicRecallScorer:
    """The score of seed 002."""

    def score(
        self, source: Literal["PRIMARY", "RELATED", "PARENT"], age_hours: float, profile: ActivationProfile | None
    ) -> float:
        return activation.score(source, age_hours, profile)


class TopicRecallCollector:
    """Collects the slices that a topic brings to mind (seed 002).

    The nearest ancestor answers for an unknown path, but with ``exact`` (*compat*) nothing does.
    """

    def __init__(self, index: TopicMemoryIndex, *, limit: int = LIMIT, exact: bool = False) -> None:
        self._index, self._limit, self._exact = index, limit, exact

    def collect(self, path: str, now: datetime) -> list[SliceRef]:
        hits = self._index.tree.collect(path, now.timestamp(), limit=self._limit, exact=self._exact)
        return [self._index.refs[hit.key] for hit in hits]


# ---- the runtime


class MemoryRuntime:
    """Both indexes over ``units``, which hold the words and are never copied. Days are in ``zone`` (None: the system's)."""

    def __init__(
        self,
        units: MutableMapping[str, MemoryUnit] | None = None,
        *,
        clock: Clock | None = None,
        zone: tzinfo | None = None,
    ) -> None:
        self.units: MutableMapping[str, MemoryUnit] = {} if units is None else units
        self.clock, self.zone = clock or SystemClock(zone), zone
        self.topics, self.dates = TopicMemoryIndex(), DateMemoryIndex()

    def record_memory(
        self,
        unit: MemoryUnit,
        slice_: MemorySlice,
        topic_path: str = "",
        related_topic_paths: Sequence[str] = (),
        profile: ActivationProfile | None = None,
    ) -> SliceRef:
        """Record a slice in the calendar, and in the tree where it has a topic. A null profile is the default."""
        self.units[unit.id] = unit
        ref = SliceRef(unit.id, slice_.id)
        self.dates.record(ref, self._day(slice_))
        profile = activation.profile_of(profile)
        self.topics.record_binding(topic_path, TopicBinding(ref, slice_.timestamp, tuple(related_topic_paths), profile))
        return ref

    def get_topic_tree(self) -> str:
        return "\n".join(self.topics.topic_tree())

    def query_by_topic_path(self, path: str) -> list[ActivatedMemorySlice]:
        """The slices that the topic brings to mind now, best first, five at most."""
        return self._activated(TopicRecallCollector(self.topics).collect(path, self.clock.now()))

    def query_by_date(self, day: date | str) -> list[ActivatedMemorySlice]:
        """All slices of a local day. Raises ValueError where ``day`` is text and no date."""
        local_day = topic_model.day_from(day) if isinstance(day, str) else day
        if local_day is None:
            raise ValueError(f"{day!r} is not a date; write it as 2025-05-20")
        return self._activated(self.dates.find(local_day))

    def _activated(self, refs: Iterable[SliceRef]) -> list[ActivatedMemorySlice]:
        """Slices whose unit is no longer there are passed over."""
        return [
            ActivatedMemorySlice(ref, slice_.summary, self._day(slice_), slice_.timestamp, unit.of(slice_))
            for ref in refs
            if (unit := self.units.get(ref.unit_id))
            for slice_ in unit.slices
            if slice_.id == ref.slice_id
        ]

    def _day(self, slice_: MemorySlice) -> date:
        return slice_.timestamp.astimezone(self.zone).date()


class MemoryRuntimeStateCodec:
    """Both indexes as plain JSON data; the units are not in it."""

    def encode(self, runtime: MemoryRuntime) -> dict[str, Any]:
        refs = runtime.topics.refs
        return {
            "topics": [
                {"path": b.path, "slice": astuple(refs[b.key]), "time": b.t, "related": b.related,
                 "profile": astuple(b.profile)}
                for b in runtime.topics.tree.bindings()
            ],
            "paths": list(runtime.topics.ensured),
            "dates": {
                day.isoformat(): [astuple(ref) for ref in slices] for day, slices in sorted(runtime.dates.days.items())
            },
        }  # fmt: skip

    def decode(self, data: Mapping[str, Any], runtime: MemoryRuntime) -> MemoryRuntime:
        """Put the indexes into a runtime, in place of what it had. Raises ValueError where the data is not ``encode``'s."""
        topics, dates = TopicMemoryIndex(), DateMemoryIndex()
        try:
            for day, slices in data["dates"].items():
                for ref in slices:
                    dates.record(SliceRef(*ref), date.fromisoformat(day))
            for saved in data["topics"]:
                time, profile = moment_at(saved["time"], UTC), ActivationProfile(*saved["profile"])
                binding = TopicBinding(SliceRef(*saved["slice"]), time, tuple(saved["related"]), profile)
                topics.record_binding(saved["path"], binding)
            topics.ensure_topic_paths(data.get("paths", ()))  # states of older versions have none
        except (KeyError, TypeError, AttributeError, OverflowError) as error:
            raise ValueError(f"this is no state of a memory runtime: {error}") from None
        runtime.topics, runtime.dates = topics, dates
        return runtime

    def save(self, runtime: MemoryRuntime, file: Path) -> None:
        replace(file, json.dumps(self.encode(runtime), ensure_ascii=False).encode())

    def restore(self, file: Path, runtime: MemoryRuntime) -> MemoryRuntime:
        """Raises DataError naming the file where it is damaged, FileNotFoundError where there is none."""
        try:
            return self.decode(json_value(data_of(file, may_lead_out=True)), runtime)
        except ValueError as error:
            raise DataError(file, f"the state of the memory indexes cannot be read: {error}") from None
