"""The diary's documents: the sides of exchanges, with their words, their speakers, their talks and their times.

A document is one side of an exchange (2 × row + side; side 0 is the user's). A talk is a run of documents without a
pause of an hour. How they are searched, ``ranking`` says.
"""

from __future__ import annotations

import logging
import threading
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from moechat.index import traits
from moechat.index.lexical import LexicalIndex
from moechat.index.vectors import VectorTable
from moechat.language import words
from moechat.store import disk
from moechat.store.database import PAIR
from moechat.when import both_ends

log = logging.getLogger(__name__)
Ints = NDArray[np.int64]
Floats = NDArray[np.floating[Any]]
Times = tuple[float, float]
COLUMNS = {
    "alive": np.bool_,
    "time": np.float64,
    "speaker": np.int32,
    "talk": np.int32,
    "traits": np.uint8,
    "asking": np.float32,
    "start": np.float64,
    "end": np.float64,
}

TALK_GAP_S = 3600.0  # A longer pause ends a talk.
DAY_S = 86_400.0


@dataclass(frozen=True, slots=True)
class Doc:
    """One side of an exchange of a talk. Times are epoch seconds; ``happened`` is the time that the text tells of, inclusive.
    ``unread``: not all of it could be read."""

    doc: int
    time: float
    speaker: str
    text: str
    happened: Times | None = None
    talk: str = ""
    unread: bool = False


class HybridIndex:
    """Disposable: when ``documents()`` lacks some, add what is missing from the record.

    ``vectors`` holds at position doc the vector of the document's text alone; the question's vector is best made of its text
    without the names of the ``speakers``: who is meant is matched here, and a name in a short text drowns its meaning. ``folder``
    None keeps everything in memory; a folder of another version opens empty. ``weights`` replace ``ranking.WEIGHTS``.
    Safe to use from several threads.
    """

    def __init__(self, folder: Path | None, vectors: VectorTable | None) -> None:
        self.vectors, self.folder = vectors, folder
        self.weights: Mapping[str, float] | None = None
        self.lexical = LexicalIndex(folder / "words" if folder else None)
        self.lock = threading.RLock()
        self.speakers: list[str] = []
        """Everybody who said something."""
        self._talks: list[str] = []
        self.columns: dict[str, NDArray[Any]] = {name: np.zeros(0, kind) for name, kind in COLUMNS.items()}
        self._order: Order | None = None
        self._dated: Ints | None = None
        if folder is not None and folder.exists():
            self._open(folder)

    def documents(self) -> Ints:
        """The documents here, ascending."""
        return np.flatnonzero(self.columns["alive"])

    def unread(self) -> Ints:
        """The documents that could not be read in full when they were added, ascending."""
        return np.flatnonzero(self.columns["alive"] & (self.columns["traits"] & traits.UNREAD > 0))

    def add(self, docs: Sequence[Doc]) -> None:
        """Index documents; one that is here already is replaced."""
        with self.lock:
            if not docs:
                return
            have, need = len(self.columns["alive"]), max(doc.doc for doc in docs) + 1
            for name, column in self.columns.items() if need > have else ():
                self.columns[name] = np.concatenate([column, np.zeros(max(need - have, have // 4), column.dtype)])
            self._dated = None
            for doc in docs:
                part = both_ends(doc.text)
                tokens, bits, asking = words.tokens(doc.text), traits.of(part), traits.asking(part)
                bits |= traits.UNREAD * doc.unread
                if self.columns["alive"][doc.doc]:
                    self.remove([doc.doc])
                self.lexical.add(doc.doc, tokens)
                start, end = doc.happened or (np.nan, np.nan)
                speaker, talk = _number(self.speakers, doc.speaker), _number(self._talks, doc.talk)
                values = (True, doc.time, speaker, talk, bits, asking, start, end)
                for name, value in zip(COLUMNS, values, strict=True):
                    self.columns[name][doc.doc] = value
                if self._order is not None and not self._order.append(doc.doc, doc.time, talk):
                    self._order = None

    def remove(self, docs: Iterable[int]) -> None:
        """Take documents out; those not there are passed over. Their vectors are the caller's."""
        with self.lock:
            alive = self.columns["alive"]
            gone = [doc for doc in docs if 0 <= doc < len(alive) and alive[doc]]
            self.lexical.remove(gone)
            alive[gone] = False
            if gone:
                self._order = self._dated = None

    def compact(self) -> None:
        """Leave nothing of what was removed."""
        with self.lock:
            self.lexical.compact()
            dead = ~self.columns["alive"]
            for name, column in self.columns.items():
                column[dead] = np.nan if name in ("start", "end") else 0

    def flush(self) -> None:
        """Write what is new; vectors are the caller's."""
        with self.lock:
            if self.folder is None:
                return
            self.lexical.flush()
            names = {"speakers": np.array(self.speakers, np.str_), "talks": np.array(self._talks, np.str_)}
            np.savez(self.folder / "columns.new.npz", allow_pickle=False, **names, **self.columns)
            (self.folder / "columns.new.npz").replace(self.folder / "columns.npz")

    def order(self) -> Order:
        """The documents in the order of time."""
        order = self._order
        if order is None:
            order = self._order = Order(self.documents(), self.columns["time"], self.columns["talk"], TALK_GAP_S)
        return order

    def dated(self) -> Ints:
        """The documents that tell of a time."""
        dated = self._dated
        if dated is None:
            dated = self._dated = np.flatnonzero(self.columns["alive"] & ~np.isnan(self.columns["start"]))
        return dated

    def _open(self, folder: Path) -> None:
        """Keep what both files hold: words and columns are written one after the other, and a crash may part them. What is
        damaged, or another version's, is made anew."""
        try:
            if self.lexical.stale:
                raise ValueError("its words cannot be read")
            self._load(folder)
        except (ArithmeticError, LookupError, OSError, TypeError, ValueError, EOFError, BadZipFile) as damage:
            log.warning("%s is made anew: %s", folder, damage)
            disk.clear(folder)
            self.lexical = LexicalIndex(folder / "words")
            self.columns = {name: np.zeros(0, kind) for name, kind in COLUMNS.items()}
            self.speakers, self._talks = [], []

    def _load(self, folder: Path) -> None:
        with (folder / "columns.npz").open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            speakers, talks = ([str(name) for name in file[key]] for key in ("speakers", "talks"))
            columns = {name: file[name].astype(kind, copy=False) for name, kind in COLUMNS.items()}
        alive, docs = columns["alive"], self.lexical.documents()
        is_in_both = docs < len(alive)
        is_in_both[is_in_both] = alive[docs[is_in_both]]
        self.lexical.remove(docs[~is_in_both].tolist())
        columns["alive"] = np.zeros(len(alive), np.bool_)
        columns["alive"][self.lexical.documents()] = True
        self.columns, self.speakers, self._talks = columns, speakers, talks


def _number(names: list[str], name: str) -> int:
    """The place of a name in a list, to which it is added."""
    if name not in names:
        names.append(name)
    return names.index(name)


# ---- times


class TimeIndex:
    """Keys by moment (epoch seconds). Moments may repeat; equal ones keep the order in which they were added."""

    def __init__(self, items: Sequence[tuple[int, float]] | NDArray[np.void] = ()) -> None:
        pairs = np.array(items, PAIR)
        pairs = pairs[np.argsort(pairs["moment"], kind="stable")]
        self._keys = array("q", pairs["key"].tobytes())
        self._times = array("d", pairs["moment"].tobytes())

    def __len__(self) -> int:
        return len(self._keys)

    def add(self, key: int, moment: float) -> None:
        at = bisect_right(self._times, moment)
        self._times.insert(at, moment)
        self._keys.insert(at, key)

    def remove(self, key: int, moment: float) -> None:
        """Take one away; nothing happens where it is not there."""
        for at in range(bisect_left(self._times, moment), bisect_right(self._times, moment)):
            if self._keys[at] == key:
                del self._times[at], self._keys[at]
                return

    def between(self, start: float, end: float) -> NDArray[np.int64]:
        """Keys with start ≤ moment ≤ end, in order of time (seed 003, golden ``range_search``)."""
        keys = self._keys[bisect_left(self._times, start) : bisect_right(self._times, end)]
        return np.frombuffer(keys, dtype=np.int64)

    def keys(self) -> NDArray[np.int64]:
        """(n,) all keys, in order of time."""
        return np.array(self._keys, np.int64)

    def moments(self) -> NDArray[np.float64]:
        """(n,) the moments of ``keys``."""
        return np.array(self._times, np.float64)


def happened_in(first: Any, last: Any, time: Times, however_wide: Any = False) -> Any:
    """Whether what happened from ``first`` to ``last`` (epoch seconds, or arrays of them) meets a time and is not far wider than
    it, or may be ``however_wide``: a vague 最近 answers no single day."""
    start, end = time
    is_narrow = last - first <= 2 * max(DAY_S, end - start)
    return (first <= end) & (last >= start) & (is_narrow | however_wide)


class Order:
    """Documents in the order of time, and what stands beside each in its talk, up to a long pause.

    ``docs`` by time, with their ``times`` (epoch seconds). ``times`` and ``talks`` are given by document."""

    def __init__(self, docs: Ints, times: Floats, talks: NDArray[np.int32], gap_s: float) -> None:
        self._gap_s = gap_s
        order = docs[np.argsort(times[docs], kind="stable")]
        self._docs, self._times = _Growing(order), _Growing(times[order])
        self._before = np.full(int(docs.max()) + 1 if len(docs) else 0, -1, np.int64)
        self._after = self._before.copy()
        by_talk = order[np.argsort(talks[order], kind="stable")]
        same_talk = talks[by_talk[1:]] == talks[by_talk[:-1]]
        follows = same_talk & (np.diff(times[by_talk]) <= gap_s)
        self._join(by_talk[:-1][follows], by_talk[1:][follows])
        self._run = np.full(len(self._before), -1, np.int64)
        self._run[by_talk] = np.cumsum(~np.append(False, follows)) - 1 if len(by_talk) else 0
        self._sizes = _Growing(np.bincount(self._run[by_talk]))
        ends = by_talk[np.append(~same_talk, True)] if len(by_talk) else by_talk
        self._last = {int(talks[doc]): (int(doc), float(times[doc])) for doc in ends}
        """The last document of each talk, and its time."""

    @property
    def docs(self) -> Ints:
        return self._docs.values

    @property
    def times(self) -> Floats:
        return self._times.values

    def beside(self, docs: Ints, distance: int) -> Ints:
        """What stands so far away in the same talk, -1 where that has ended."""
        neighbours = self._after if distance > 0 else self._before
        for _ in range(abs(distance)):
            docs = np.where(docs >= 0, neighbours[docs], -1)
        return docs

    def runs(self, docs: Ints) -> tuple[Ints, Ints]:
        """The number of the run without a long pause that each document stands in, and how many documents that run has."""
        numbers = self._run[docs]
        return numbers, self._sizes.values[numbers]

    def append(self, doc: int, time: float, talk: int) -> bool:
        """Put a document at the end; False where it belongs elsewhere."""
        if len(self.docs) and (time, doc) < (self.times[-1], self.docs[-1]):
            return False
        if doc >= len(self._before):
            more = np.full(max(doc + 1 - len(self._before), len(self._before) // 4), -1, np.int64)
            self._before, self._after, self._run = (
                np.concatenate([column, more]) for column in (self._before, self._after, self._run)
            )
        last, last_time = self._last.get(talk, (-1, 0.0))
        if last >= 0 and time - last_time <= self._gap_s:
            self._join(np.array([last]), np.array([doc]))
            self._run[doc] = self._run[last]
            self._sizes.values[self._run[doc]] += 1
        else:
            self._run[doc] = len(self._sizes.values)
            self._sizes.append(1)
        self._last[talk] = (doc, time)
        self._docs.append(doc)
        self._times.append(time)
        return True

    def _join(self, before: Ints, after: Ints) -> None:
        self._before[after] = before
        self._after[before] = after


class _Growing:
    """An array with room at its end."""

    def __init__(self, values: NDArray[Any]) -> None:
        self._room, self._size = values, len(values)

    @property
    def values(self) -> NDArray[Any]:
        return self._room[: self._size]

    def append(self, value: float) -> None:
        if self._size == len(self._room):
            self._room = np.concatenate([self._room, np.zeros(self._size // 4 + 64, self._room.dtype)])
        self._room[self._size] = value
        self._size += 1
