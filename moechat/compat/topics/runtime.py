"""Slices bound to topic paths and dates, and recalled through both: records, indexes and runtime of seed 002."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from dataclasses import astuple, dataclass
from datetime import UTC, date, datetime, tzinfo
from pathlib import Path
from typing import Any, Literal

from moechat.ai import topic_model
from moechat.clock import Clock, SystemClock
from moechat.errors import DataError
from moechat.index.time import DateIndex
from moechat.index.topic import LIMIT, TopicIndex
from moechat.model import ActivationProfile, Message
from moechat.rules import activation
from moechat.rules.activation import topic_path as normalised
from moechat.store.records import replace

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


class _Refs:
    """A number for every slice, as the house's indexes count."""

    def __init__(self) -> None:
        self.known: list[SliceRef] = []
        self._numbers: dict[SliceRef, int] = {}

    def number(self, ref: SliceRef) -> int:
        if ref not in self._numbers:
            self._numbers[ref] = len(self.known)
            self.known.append(ref)
        return self._numbers[ref]


# ---- indexes


class TopicMemoryIndex:
    """Topic path → bindings. ``tree`` is the house's own index."""

    def __init__(self, refs: _Refs | None = None) -> None:
        self.refs = refs or _Refs()
        self.tree = TopicIndex()

    def record_binding(self, path: str, binding: TopicBinding) -> None:
        """Bind a slice to a topic; related paths get nodes. Bound again: time and profile replaced, related paths united."""
        moment, related = binding.timestamp.timestamp(), binding.related_topic_paths
        self.tree.record(self.refs.number(binding.ref), path, moment, related, binding.profile)

    def find(self, path: str) -> list[TopicBinding]:
        """The bindings of one topic, in the order of recording; [] for an unknown one."""
        path = normalised(path)
        return [
            TopicBinding(self.refs.known[one.key], datetime.fromtimestamp(one.t, UTC), one.related, one.profile)
            for one in self.tree.bindings()
            if one.path == path
        ]

    def move(self, old: str, new: str) -> None:
        """Rename, merge or move a topic with all that belongs to it. Raises NotFound and ValueError."""
        self.tree.move(old, new)

    def remove(self, refs: Iterable[SliceRef]) -> None:
        self.tree.remove([self.refs.number(ref) for ref in refs])

    def topic_tree(self) -> list[str]:
        """The tree as a model is shown it, one topic a line."""
        return self.tree.tree()


class DateMemoryIndex:
    """Local date → slices, each once."""

    def __init__(self, refs: _Refs | None = None) -> None:
        self.refs = refs or _Refs()
        self.days = DateIndex()

    def record(self, ref: SliceRef, day: date) -> None:
        self.days.record(self.refs.number(ref), day)

    def find(self, day: date) -> list[SliceRef]:
        return [self.refs.known[number] for number in self.days.find(day)]

    def remove(self, refs: Iterable[SliceRef]) -> None:
        self.days.remove([self.refs.number(ref) for ref in refs])


class TopicRecallScorer:
    """The score of seed 002."""

    def score(
        self, source: Literal["PRIMARY", "RELATED", "PARENT"], age_hours: float, profile: ActivationProfile | None
    ) -> float:
        return activation.score(source, age_hours, profile)


class TopicRecallCollector:
    """What a topic brings to mind, by the rules of contract D. ``exact`` (*compat*): an unknown path brings nothing; else its
    nearest ancestor answers."""

    def __init__(self, index: TopicMemoryIndex, *, limit: int = LIMIT, exact: bool = False) -> None:
        self._index, self._limit, self._exact = index, limit, exact

    def collect(self, path: str, now: datetime) -> list[SliceRef]:
        found = self._index.tree.collect(path, now.timestamp(), limit=self._limit, exact=self._exact)
        return [self._index.refs.known[one.key] for one in found]


# ---- the runtime


class MemoryRuntime:
    """Both indexes over the units. ``units`` holds what was said; the runtime never copies it. Days are in ``zone`` (None: the
    system's)."""

    def __init__(
        self,
        units: MutableMapping[str, MemoryUnit] | None = None,
        *,
        clock: Clock | None = None,
        zone: tzinfo | None = None,
        limit: int = LIMIT,
        exact: bool = False,
    ) -> None:
        self.units: MutableMapping[str, MemoryUnit] = {} if units is None else units
        self.clock, self.zone = clock or SystemClock(zone), zone
        refs = _Refs()
        self.topics, self.dates = TopicMemoryIndex(refs), DateMemoryIndex(refs)
        self._limit, self._exact = limit, exact

    def record_memory(
        self,
        unit: MemoryUnit,
        slice_: MemorySlice,
        topic_path: str = "",
        related_topic_paths: Sequence[str] = (),
        profile: ActivationProfile | None = None,
    ) -> SliceRef:
        """Take a slice into the calendar, and into the tree where it has a topic. A null profile is the default."""
        self.units[unit.id] = unit
        ref = SliceRef(unit.id, slice_.id)
        self.dates.record(ref, self._day(slice_))
        profile = activation.profile_of(profile)
        self.topics.record_binding(topic_path, TopicBinding(ref, slice_.timestamp, tuple(related_topic_paths), profile))
        return ref

    def remove_memory(self, refs: Iterable[SliceRef]) -> None:
        refs = list(refs)
        self.topics.remove(refs)
        self.dates.remove(refs)

    def get_topic_tree(self) -> str:
        return "\n".join(self.topics.topic_tree())

    def query_by_topic_path(self, path: str) -> list[ActivatedMemorySlice]:
        """What the topic brings to mind now, best first, five at most."""
        collector = TopicRecallCollector(self.topics, limit=self._limit, exact=self._exact)
        return self._activated(collector.collect(path, self.clock.now()))

    def query_by_date(self, day: date | str) -> list[ActivatedMemorySlice]:
        """All slices of a local day. Raises ValueError where ``day`` is text and no date."""
        if isinstance(day, str):
            found = topic_model.day_from(day)
            if found is None:
                raise ValueError(f"{day!r} is not a date; write it as 2025-05-20")
            day = found
        return self._activated(self.dates.find(day))

    def _activated(self, refs: Iterable[SliceRef]) -> list[ActivatedMemorySlice]:
        found = []
        for ref in refs:
            unit = self.units.get(ref.unit_id)
            slice_ = next((one for one in unit.slices if one.id == ref.slice_id), None) if unit else None
            if unit is None or slice_ is None:
                log.warning("slice %s of unit %s is in the index and nowhere else", ref.slice_id, ref.unit_id)
                continue
            day, words = self._day(slice_), unit.of(slice_)
            found.append(ActivatedMemorySlice(ref, slice_.summary, day, slice_.timestamp, words))
        return found

    def _day(self, slice_: MemorySlice) -> date:
        return slice_.timestamp.astimezone(self.zone).date()


class MemoryRuntimeStateCodec:
    """Both indexes as plain JSON data; the units are not in it."""

    def encode(self, runtime: MemoryRuntime) -> dict[str, Any]:
        refs = runtime.topics.refs.known
        return {
            "topics": [
                {"path": one.path, "slice": astuple(refs[one.key]), "time": one.t, "related": one.related,
                 "profile": astuple(one.profile)}
                for one in runtime.topics.tree.bindings()
            ],
            "dates": {
                day.isoformat(): [astuple(ref) for ref in runtime.dates.find(day)] for day in runtime.dates.days.days()
            },
        }  # fmt: skip

    def decode(self, data: Mapping[str, Any], runtime: MemoryRuntime) -> MemoryRuntime:
        """Put the indexes into a runtime, in place of what it had. Raises ValueError where the data is not ``encode``'s."""
        refs = _Refs()
        topics, dates = TopicMemoryIndex(refs), DateMemoryIndex(refs)
        try:
            for day, slices in data["dates"].items():
                for ref in slices:
                    dates.record(SliceRef(*ref), date.fromisoformat(day))
            for one in data["topics"]:
                number, profile = refs.number(SliceRef(*one["slice"])), ActivationProfile(*one["profile"])
                topics.tree.record(number, one["path"], one["time"], one["related"], profile)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"this is no state of a memory runtime: {error}") from None
        runtime.topics, runtime.dates = topics, dates
        return runtime

    def save(self, runtime: MemoryRuntime, file: Path) -> None:
        replace(file, json.dumps(self.encode(runtime), ensure_ascii=False).encode())

    def restore(self, file: Path, runtime: MemoryRuntime) -> MemoryRuntime:
        """Raises DataError naming the file where it is damaged, FileNotFoundError where there is none."""
        try:
            return self.decode(json.loads(file.read_bytes()), runtime)
        except ValueError as error:
            raise DataError(file, f"the state of the memory indexes cannot be read: {error}") from None
