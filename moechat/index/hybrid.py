"""The diary's search by meaning and by words, over the sides of exchanges: what each scores, those in an asked time first.

A document is one side of an exchange (2 × row + side; side 0 is the user's). A talk is a run of documents without a
pause of an hour. The score of a document for a question is a sum of a few features, each a number of about the same
size: how near its meaning is and that of what was said around it, which share of the question's words it has and its
surroundings have, who said it, and whether it tells something of the kind that is asked for. ``WEIGHTS`` is that sum. Of a short
talk the best document comes first, and the others make way for those of other talks.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from moechat.index import place, traits
from moechat.index.lexical import LexicalIndex, saturate
from moechat.index.ranked import Ranked
from moechat.index.time import Order
from moechat.index.vectors import MISSING, VectorTable
from moechat.language import words

log = logging.getLogger(__name__)
Ints = NDArray[np.int64]
Floats = NDArray[np.floating[Any]]
Times = tuple[float, float]

WEIGHTS: Mapping[str, float] = {
    "dense": 0.6,  # cosine, in standard deviations above the mean of all
    "around": 0.6,  # the same of the neighbours in the talk, by NEAR
    "lexical": 1.0,  # share of the question's words, weighted by rarity, that the document has
    "window": 4.5,  # the same of the document with its neighbours in the talk, counts fading by distance
    "answers": 1.0,  # the same of the question before, where the document follows one in the talk
    "speaker": 2.5,  # said by the one whom the question names; by the side that 我 or 你 means, less
    "tells": 1.5,  # tells a time, where the question asks when
    "name": 0.6,  # tells a name or a title
    "asks": -2.25,  # is a question itself: it seldom holds the answer
    "hint": 1.5,  # told or happened in a time that is only hinted at
}
"""Fitted by leaving one conversation out and rounded; benchmarks/ablate.py --features shows what each is worth."""
REPEATS = -1.0
"""What each better document of the same short talk takes from a document: one of them says what the talk is about."""
SHORT = 8  # Documents of a short talk; in a longer one, about many things, the share falls by the square.
FIRST = 1000.0
"""Added to what lies in an asked time, so that it comes first."""
NEAR = {-1: 0.5, 1: 0.2, -2: 0.2, 2: 0.2}
"""How much a neighbour in the talk says about a document, by distance: what went before says most."""
FADING = {0: 1.0, **{sign * distance: 0.6**distance for distance in (1, 2, 3) for sign in (-1, 1)}}
"""How much a word of a neighbour counts in a document's window, by distance."""
MOST_WORDS = 64
"""Words of a question that are looked for, the rarest: somebody may paste a page."""
PRONOUN = 0.8
"""How much of a name it is to say 我 or 你."""
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

DAY_S = 86_400.0
TALK_GAP_S = 3600.0  # A longer pause ends a talk.
FULL_BELOW = 3000  # Of fewer documents all are scored; else the best, and what is near them.
BEST = 50  # Of the best by words, and of those by meaning.


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
    """Disposable: when ``stale`` or when ``documents()`` lacks some, add what is missing from the record.

    ``vectors`` holds at position doc the vector of the document's text alone; the question's vector is best made of
    ``without_names(text)``: who is meant is matched here, and a name in a short text drowns its meaning. ``folder``
    None keeps everything in memory; a folder of another version opens empty. ``weights`` may be changed, to try others.
    Safe to use from several threads.
    """

    def __init__(self, folder: Path | None, vectors: VectorTable | None, *, full_below: int = FULL_BELOW) -> None:
        self.vectors, self.folder, self.full_below = vectors, folder, full_below
        self.weights = WEIGHTS
        self.lexical = LexicalIndex(folder / "words" if folder else None)
        self.stale = self.lexical.stale
        self._lock = threading.RLock()
        self._speakers: list[str] = []
        self._talks: list[str] = []
        self._columns: dict[str, NDArray[Any]] = {name: np.zeros(0, kind) for name, kind in COLUMNS.items()}
        self._order: Order | None = None
        self._dated: Ints | None = None
        if folder is not None:
            self._open(folder)

    @property
    def count(self) -> int:
        return self.lexical.count

    @property
    def speakers(self) -> Sequence[str]:
        """Everybody who said something."""
        return tuple(self._speakers)

    def documents(self) -> Ints:
        """The documents here, ascending."""
        return np.flatnonzero(self._columns["alive"])

    def unread(self) -> Ints:
        """The documents that could not be read in full when they were added, ascending."""
        return np.flatnonzero(self._columns["alive"] & (self._columns["traits"] & traits.UNREAD > 0))

    def without_names(self, text: str) -> str:
        """``text`` without the names of those who speak here: what its vector should be made of."""
        return traits.without_names(text, self._speakers)

    def add(self, docs: Sequence[Doc]) -> None:
        """Index documents; one that is here already is replaced."""
        with self._lock:
            if not docs:
                return
            self._make_room(max(doc.doc for doc in docs) + 1)
            self._dated = None
            for doc in docs:
                tokens, bits, asking = words.tokens(doc.text), traits.of(doc.text), traits.asking(doc.text)
                bits |= traits.UNREAD * doc.unread
                if self._columns["alive"][doc.doc]:
                    self.remove([doc.doc])
                self.lexical.add(doc.doc, tokens)
                start, end = doc.happened or (np.nan, np.nan)
                speaker, talk = _number(self._speakers, doc.speaker), _number(self._talks, doc.talk)
                values = (True, doc.time, speaker, talk, bits, asking, start, end)
                for name, value in zip(COLUMNS, values, strict=True):
                    self._columns[name][doc.doc] = value
                if self._order is not None and not self._order.append(doc.doc, doc.time, talk):
                    self._order = None

    def remove(self, docs: Iterable[int]) -> None:
        """Take documents out; those not there are passed over. Their vectors are the caller's."""
        with self._lock:
            alive = self._columns["alive"]
            gone = [doc for doc in docs if 0 <= doc < len(alive) and alive[doc]]
            self.lexical.remove(gone)
            alive[gone] = False
            if gone:
                self._order = self._dated = None

    def search(
        self,
        text: str,
        vector: NDArray[np.float32] | None,
        *,
        k: int = 200,
        spans: Sequence[Times] = (),
        hints: Sequence[Times] = (),
        restrict: bool = False,
        hidden: Collection[int] = (),
        speakers: Collection[str] = (),
    ) -> Ranked:
        """The best ``k`` documents for ``text``.

        ``vector`` is that of the question, (dim,) float32 at unit length; None: words and time serve. With ``spans``
        (epoch seconds, inclusive) what was told or happened in them comes first, with ``restrict`` nothing else comes.
        ``hints`` are times that the text names without asking for them, or vaguely (最近): there, a document gains a little.
        ``hidden`` documents are neither found nor looked at as neighbours. ``speakers`` are meant beside those named.
        """
        with self._lock:
            return _Ranking(self, text, vector, spans, hints, restrict, hidden, speakers).ranked(k)

    def compact(self) -> None:
        """Leave nothing of what was removed."""
        with self._lock:
            self.lexical.compact()
            dead = ~self._columns["alive"]
            for name, column in self._columns.items():
                column[dead] = np.nan if name in ("start", "end") else 0

    def flush(self) -> None:
        """Write what is new; vectors are the caller's."""
        with self._lock:
            if self.folder is None:
                return
            self.lexical.flush()
            names = {"speakers": np.array(self._speakers, np.str_), "talks": np.array(self._talks, np.str_)}
            np.savez(self.folder / "columns.new.npz", allow_pickle=False, **names, **self._columns)
            (self.folder / "columns.new.npz").replace(self.folder / "columns.npz")
            self.stale = False

    def order(self) -> Order:
        """The documents in the order of time."""
        order = self._order
        if order is None:
            order = self._order = Order(self.documents(), self._columns["time"], self._columns["talk"], TALK_GAP_S)
        return order

    def dated(self) -> Ints:
        """The documents that tell of a time."""
        dated = self._dated
        if dated is None:
            dated = self._dated = np.flatnonzero(self._columns["alive"] & ~np.isnan(self._columns["start"]))
        return dated

    def column(self, name: str) -> NDArray[Any]:
        return self._columns[name]

    def _open(self, folder: Path) -> None:
        """Keep what both files hold: words and columns are written one after the other, and a crash may part them. What is
        damaged, or another version's, is made anew."""
        if not folder.exists():
            self.stale = True
            return
        try:
            if self.lexical.stale:
                raise ValueError("its words cannot be read")
            self._load(folder)
        except (ArithmeticError, LookupError, OSError, TypeError, ValueError, EOFError, BadZipFile) as damage:
            log.warning("%s is made anew: %s", folder, damage)
            place.clear(folder)
            self.lexical = LexicalIndex(folder / "words")
            self._columns = {name: np.zeros(0, kind) for name, kind in COLUMNS.items()}
            self._speakers, self._talks, self.stale = [], [], True

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
        self._columns, self._speakers, self._talks = columns, speakers, talks

    def _make_room(self, docs: int) -> None:
        have = len(self._columns["alive"])
        if docs > have:
            for name, column in self._columns.items():
                self._columns[name] = np.concatenate([column, np.zeros(max(docs - have, have // 4), column.dtype)])


class _Ranking:
    """One search: the question, the candidate documents and their scores."""

    def __init__(
        self,
        index: HybridIndex,
        text: str,
        vector: NDArray[np.float32] | None,
        spans: Sequence[Times],
        hints: Sequence[Times],
        restrict: bool,
        hidden: Collection[int],
        speakers: Collection[str],
    ) -> None:
        self.index, self.text = index, text
        self.vector = vector if index.vectors is not None else None
        self.restrict = restrict and bool(spans)
        self.order = index.order()
        self.meant = {i for i, name in enumerate(index.speakers) if name in speakers or traits.names(text, name)}
        tokens = list(dict.fromkeys(traits.asked_words(index.without_names(text))))
        worth = index.lexical.idf(tokens)
        rarest = np.sort(np.argsort(-worth, kind="stable")[:MOST_WORDS])
        self.names, self.worth = [tokens[i] for i in rarest], worth[rarest]
        self.visible = index.column("alive").copy()
        concealed = np.fromiter(hidden, np.int64, len(hidden))
        self.visible[concealed[(concealed >= 0) & (concealed < len(self.visible))]] = False
        self.inside, self.hinted = self._inside(spans), self._inside(hints)

    def ranked(self, k: int) -> Ranked:
        docs = self._candidates(k)
        if not len(docs) or k <= 0:
            return Ranked(np.zeros(0, np.int64), np.zeros(0), {"inside": np.zeros(0)}, [], np.zeros((0, 0), np.bool_))
        features, present = self._features(docs)
        inside = self.inside[docs].astype(np.float64)
        scores = sum(features.values()) + FIRST * inside
        features["repeats"] = repeats(*self.order.runs(docs), np.lexsort((-docs, -scores)))
        scores += features["repeats"]
        best = np.lexsort((-docs, -scores))[:k]
        features["inside"], features["cosine"] = inside, self.cosine
        chosen = {name: values[best] for name, values in features.items()}
        return Ranked(docs[best], scores[best], chosen, self.names, present[best])

    def _inside(self, spans: Sequence[Times]) -> NDArray[np.bool_]:
        """Which documents were told, or tell of what happened, in a span."""
        inside = np.zeros(len(self.visible), np.bool_)
        dated = self.index.dated() if spans else np.zeros(0, np.int64)
        start, end = self.index.column("start")[dated], self.index.column("end")[dated]
        for first, last in spans:
            low, high = np.searchsorted(self.order.times, first), np.searchsorted(self.order.times, last, "right")
            inside[self.order.docs[low:high]] = True
            widest = 2 * max(last - first, DAY_S)
            inside[dated[(start <= last) & (end >= first) & (end - start <= widest)]] = True
        visible: NDArray[np.bool_] = inside & self.visible
        return visible

    def _candidates(self, k: int) -> Ints:
        """Ascending: all that may be found where they are few, else the best by words and meaning, and neighbours."""
        inside = np.flatnonzero(self.inside)
        pool = self.inside if self.restrict or len(inside) >= k else self.visible
        if np.count_nonzero(pool) <= self.index.full_below:
            return np.flatnonzero(pool)
        docs = _distinct(np.concatenate([self._best(pool, k), inside if pool is self.visible else inside[:0]]))
        return docs[pool[docs]]

    def _best(self, pool: NDArray[np.bool_], k: int) -> Ints:
        docs, _ = self.index.lexical.candidates(self.names, BEST, allowed=pool)
        if self.vector is not None:
            assert self.index.vectors is not None
            near, _ = self.index.vectors.top(self.vector, BEST, pool)
            docs = np.concatenate([docs, near])
        docs = _distinct(docs)
        around = _distinct(np.concatenate([self.order.beside(docs, distance) for distance in range(-2, 3)]))
        around = around[around >= 0]
        return around if len(around) >= k else np.concatenate([around, np.flatnonzero(pool)[-k:]])

    def _features(self, docs: Ints) -> tuple[dict[str, Floats], NDArray[np.bool_]]:
        weights = self.index.weights
        beside = {distance: self.order.beside(docs, distance) for distance in FADING}
        reached = _distinct(np.concatenate(list(beside.values())))
        reached = reached[reached >= 0]
        at = {distance: np.searchsorted(reached, moved) for distance, moved in beside.items()}
        at = {distance: np.where(beside[distance] >= 0, place, len(reached)) for distance, place in at.items()}
        lexical, window, answers, present = self._word_features(reached, at)
        dense, around = self._dense_features(reached, at)
        bits = self.index.column("traits")[docs]
        values = {
            "dense": dense,
            "around": around,
            "lexical": lexical,
            "window": window,
            "answers": answers,
            "speaker": self._said_by_meant(docs),
            "tells": (bits & traits.TELLS_TIME > 0) * float(traits.asks_when(self.text)),
            "name": bits & traits.NAMES > 0,
            "asks": self.index.column("asking")[docs],
            "hint": self.hinted[docs],
        }
        return {name: np.asarray(value, np.float64) * weights.get(name, 0.0) for name, value in values.items()}, present

    def _word_features(self, docs: Ints, at: Mapping[int, Ints]) -> tuple[Floats, Floats, Floats, NDArray[np.bool_]]:
        """Shares of the question's words: in each document, its window, and the question it answers; which words."""
        lexical = self.index.lexical
        table, lengths = lexical.counts(docs, self.names)
        table[~self.visible[docs]] = 0
        table = np.vstack([table, np.zeros((1, len(self.names)), np.float32)])
        lengths = np.append(lengths, np.float32(0))
        share = self.worth / max(float(self.worth.sum()), 1e-9)
        counts, sizes = np.zeros((len(at[0]), len(self.names)), np.float32), np.zeros(len(at[0]), np.float32)
        for distance, fading in FADING.items():
            counts += np.float32(fading) * table[at[distance]]
            sizes += np.float32(fading) * lengths[at[distance]]
        usual = lexical.average_length * sum(FADING.values())
        window = saturate(counts, sizes, usual, k1=0.5, b=0.5) @ share
        shares = (table > 0) @ share
        questions = np.append(self.index.column("traits")[docs] & traits.ASKS > 0, False)
        return shares[at[0]], window, (shares * questions)[at[-1]], table[at[0]] > 0

    def _dense_features(self, docs: Ints, at: Mapping[int, Ints]) -> tuple[Floats, Floats]:
        if self.vector is None:
            self.cosine = np.full(len(at[0]), np.nan)
            return np.zeros(len(at[0])), np.zeros(len(at[0]))
        assert self.index.vectors is not None
        cosine = np.asarray(self.index.vectors.dot(docs, self.vector), np.float64)
        mean, deviation = self._usual_cosine()
        above = np.where((cosine == MISSING) | ~self.visible[docs], 0.0, (cosine - mean) / deviation)
        above = np.append(above, 0.0)
        cosine = np.append(np.where(cosine == MISSING, np.nan, cosine), np.nan)
        self.cosine = cosine[at[0]]
        return above[at[0]], np.sum([weight * above[at[distance]] for distance, weight in NEAR.items()], axis=0)

    def _usual_cosine(self) -> tuple[float, float]:
        """Mean and standard deviation over about five hundred documents spread evenly: the model's own scale."""
        assert self.index.vectors is not None
        assert self.vector is not None
        docs = self.order.docs
        sample = self.index.vectors.dot(docs[:: max(1, len(docs) // 500)], self.vector)
        sample = sample[sample != MISSING].astype(np.float64)
        return (float(sample.mean()), float(sample.std()) or 1.0) if len(sample) else (0.0, 1.0)

    def _said_by_meant(self, docs: Ints) -> Floats:
        if self.meant and len(self.meant) < len(self.index.speakers):
            return np.isin(self.index.column("speaker")[docs], list(self.meant)) * 1.0
        side = None if self.meant else traits.side_meant(self.text)
        return np.zeros(len(docs)) if side is None else PRONOUN * (docs % 2 == side)


def repeats(runs: Ints, sizes: Ints, order: Ints) -> Floats:
    """What documents lose to better ones of the same short talk: ``runs`` and ``sizes`` are of each, ``order`` its places."""
    by_run = np.argsort(runs[order], kind="stable")
    ordered = runs[order][by_run]
    better = np.zeros(len(runs))
    better[order[by_run]] = np.arange(len(runs)) - np.searchsorted(ordered, ordered)
    share: Floats = np.minimum(1.0, SHORT / sizes) ** 2
    return REPEATS * better * share


def _distinct(values: Ints) -> Ints:
    """Ascending, without repeats (np.unique costs five times as much on so few)."""
    ordered = np.sort(values)
    return ordered[np.append(True, ordered[1:] != ordered[:-1])] if len(ordered) else ordered


def _number(names: list[str], name: str) -> int:
    """The place of a name in a list, to which it is added."""
    if name not in names:
        names.append(name)
    return names.index(name)
