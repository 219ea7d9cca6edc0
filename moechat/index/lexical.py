"""From words to documents (integers): ranked, by BM25, which is disposable, and exact however it was filled; and numbers by what
they have (``Postings``, ``Substrings``), which are held in memory.

A query reads the postings of its rare words only, and scores the documents in them exactly, common words included.
``segment`` keeps the documents. Statistics (number of documents, lengths, document frequencies) are those of the living
documents, so that adding one by one, removing, and building at once agree.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from moechat.index.segment import Segment, Tail, frozen_from
from moechat.language import words
from moechat.store.plain import json_value

Ints = NDArray[np.int64]
Floats = NDArray[np.floating[Any]]
WeightedTerm = tuple[int, float]
"""A term's number and its idf times how often it stands in the query."""

FORMAT = 3  # With the indexes of words go the traits beside them: another form of either is another format.
K1 = 1.2
B = 0.6
TAIL = 20_000
"""Documents that may gather in memory before they are frozen."""
POSTINGS_READ = 40_000
"""Postings that one query may read before its remaining, more common words only score what the rarer ones found."""


def saturate(
    counts: NDArray[Any], lengths: NDArray[Any], average_length: float, *, k1: float = K1, b: float = B
) -> Floats:
    """BM25's term weight without the idf: (n,) counts with (n,) lengths, or (n, terms) with (n,)."""
    tf = counts.astype(np.float32)
    norm = np.float32(k1 * (1 - b)) + np.float32(k1 * b / max(average_length, 1e-9)) * lengths
    return np.float32(k1 + 1) * tf / (tf + (norm if tf.ndim == 1 else norm[:, None]))


def rarity(having: NDArray[Any] | float, count: int) -> Any:
    """BM25's idf, ln(1 + (N − n + .5) / (n + .5)), of a term that ``having`` of ``count`` documents have. None and all are the
    bounds, whatever a damaged file says."""
    having = np.clip(having, 0, count)
    return np.log1p((count - having + 0.5) / (having + 0.5))


class LexicalIndex:
    """BM25 (Robertson & Zaragoza 2009) with the idf of ``rarity``, k1 = 1.2, b = .6.

    ``folder`` None keeps everything in memory. A folder that is missing, damaged or of another format opens empty with
    ``stale`` true: the caller compares ``count`` with the truth and adds again what is missing. One writer at a time.

    It has more than twenty methods because to fill it, to ask it and to keep its files are several steps each.
    """

    def __init__(self, folder: Path | None = None, *, postings_read: int = POSTINGS_READ) -> None:
        self.folder, self.postings_read = folder, postings_read
        self.stale = False
        self._terms: dict[str, int] = {}
        self._names: list[str] = []
        self._df = np.zeros(1024, np.int32)
        self._length = 0
        self._frozen: list[Segment] = []
        self._tail = Tail()
        self._generation = 0
        if folder is not None:
            try:
                self._open(folder)
            except Exception:  # noqa: BLE001 - NumPy raises what it likes over a damaged header
                self.stale = True

    @property
    def count(self) -> int:
        """How many living documents there are."""
        return sum(segment.living for segment in self._segments())

    def __contains__(self, doc: int) -> bool:
        return any(segment.place(doc) >= 0 for segment in self._segments())

    def documents(self) -> Ints:
        """The living documents, ascending."""
        return np.sort(np.concatenate([np.zeros(0, np.int64), *(s.docs[~s.dead] for s in self._segments())]))

    def add(self, doc: int, tokens: Iterable[str]) -> None:
        """Add one document. ``ValueError`` when it is there already (remove it first)."""
        if doc in self:
            raise ValueError(f"document {doc} is in the index already; remove it first")
        counted: dict[int, int] = {}
        for token in tokens:
            term = self._terms.get(token)
            if term is None:
                term = len(self._names)
                if term >= len(self._df):
                    self._df = np.concatenate([self._df, np.zeros(len(self._df), np.int32)])
                self._names.append(token)
                self._terms[token] = term  # At last: another thread may ask meanwhile how rare it is.
            counted[term] = counted.get(term, 0) + 1
        terms = np.fromiter(counted, np.int32, len(counted))
        order = np.argsort(terms)
        counts = np.fromiter(counted.values(), np.int64, len(counted)).clip(max=255).astype(np.uint8)
        self._tail.append(doc, terms[order], counts[order])
        self._df[terms] += 1
        self._length += int(counts.sum(dtype=np.int64))
        if self._tail.size >= TAIL:
            self._freeze()

    def remove(self, docs: Iterable[int]) -> None:
        """Take documents out; those not there are passed over."""
        for doc in docs:
            for segment in self._segments():
                if (place := segment.place(doc)) >= 0:
                    terms, counts = segment.document(place)
                    self._df[terms] -= 1
                    self._length -= int(counts.sum(dtype=np.int64))
                    segment.kill(place)

    def idf(self, tokens: Sequence[str]) -> Floats:
        """How rare each token is, 0 for one that no document has."""
        count = self.count
        terms = np.array([self._terms.get(token, -1) for token in tokens], np.int64)
        df = np.where(terms >= 0, self._df[terms], 0).astype(np.float64)
        return np.where(df > 0, rarity(df, count), 0).astype(np.float32)

    @property
    def average_length(self) -> float:
        return self._length / max(self.count, 1)

    def candidates(
        self, query: Sequence[str], limit: int, allowed: NDArray[np.bool_] | None = None
    ) -> tuple[Ints, Floats]:
        """The ``limit`` best documents and their exact scores, best first (ties: the newer document).

        ``allowed`` is a mask by document; documents beyond its end are not allowed.

        Words are read from the rarest on, until ``postings_read``: a document that shares nothing but very common words
        with a long query may be missed in a large index, never in a small one.
        """
        tallies = Counter(query)
        names = list(tallies)
        idf = self.idf(names) * np.fromiter(tallies.values(), np.float32, len(tallies))
        terms = [(self._terms[names[i]], float(idf[i])) for i in np.argsort(-idf, kind="stable") if idf[i] > 0]
        read, rest = self._within_budget(terms)
        hits = [self._score_segment(segment, read, rest, limit, allowed) for segment in self._segments()]
        docs = np.concatenate([np.zeros(0, np.int64), *(docs for docs, _ in hits)])
        scores = np.concatenate([np.zeros(0, np.float32), *(scores for _, scores in hits)])
        order = np.lexsort((-docs, -scores))[:limit]
        return docs[order], scores[order]

    def made_of(self, tokens: Collection[str]) -> Ints:
        """The documents that have words, and none but these."""
        terms = [self._terms[token] for token in set(tokens) if token in self._terms]
        docs = [np.zeros(0, np.int64)]
        for segment in self._segments():
            own = np.zeros(segment.size, np.int64)
            for places, counts in map(segment.postings, terms):
                own[places] += counts
            docs.append(segment.docs[(own > 0) & (own >= segment.lengths) & ~segment.dead])
        return np.concatenate(docs)

    def counts(self, docs: Ints, tokens: Sequence[str]) -> tuple[Floats, Floats]:
        """How often each token stands in each document, (documents, tokens), and the lengths; zeros if unknown."""
        table = np.zeros((len(docs), len(tokens)), np.float32)
        lengths = np.zeros(len(docs), np.float32)
        column = np.full(len(self._names) + 1, -1, np.int16)
        for place, token in enumerate(tokens):
            if token in self._terms:
                column[self._terms[token]] = place
        for segment in self._segments():
            places = segment.places(docs)
            rows = np.flatnonzero(places >= 0)
            at, terms, tallies = segment.flat(places[rows])
            counted = np.flatnonzero(column[terms] >= 0)
            table[rows[at[counted]], column[terms[counted]]] = tallies[counted]
            lengths[rows] = segment.lengths[places[rows]]
        return table, lengths

    def flush(self) -> None:
        """Write what is new. The manifest is replaced last, so that a crash leaves the former state."""
        self._freeze()
        if self.folder is None:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        self._generation += 1
        names = []
        for segment in self._frozen:
            segment.save(self.folder, self._generation)
            names.append(segment.name)
        vocabulary = "".join(f"{name}\n" for name in self._names)
        (self.folder / f"terms-{self._generation}.txt").write_text(vocabulary, encoding="utf-8", newline="\n")
        np.save(self.folder / f"df-{self._generation}.npy", self._df[: len(self._names)])
        manifest = {
            "format": FORMAT,
            "generation": self._generation,
            "segments": names,
            "dead": [segment.dead_file for segment in self._frozen],
            "terms": len(self._names),
            "length": self._length,
        }
        temporary = self.folder / "manifest.json.new"
        temporary.write_text(json.dumps(manifest), encoding="utf-8")
        temporary.replace(self.folder / "manifest.json")
        _sweep(self.folder, manifest)

    def compact(self) -> None:
        """Leave nothing of what was removed. What stays is not touched, unless most of its segment has gone."""
        self._freeze()
        for i, segment in enumerate(self._frozen):
            if segment.living * 2 < segment.size or segment.is_lost(self.folder):
                self._frozen[i] = frozen_from([segment])
            else:
                segment.erase_dead(self.folder)
        self._frozen = [segment for segment in self._frozen if segment.size]
        for term in np.flatnonzero(self._df[: len(self._names)] == 0).tolist():
            self._terms.pop(self._names[term], None)
            self._names[term] = ""
        if self.folder is not None:  # another process may have files of a later generation open
            with suppress(OSError, ValueError, KeyError, TypeError):
                manifest = json_value((self.folder / "manifest.json").read_text(encoding="utf-8"))
                self._generation = max(self._generation, int(manifest["generation"]))

    def _freeze(self) -> None:
        if self._tail.size:
            self._frozen.append(frozen_from([self._tail]))
            self._tail = Tail()
        while len(self._frozen) > 1 and self._frozen[-1].size * 2 > self._frozen[-2].size:
            newer, older = self._frozen.pop(), self._frozen.pop()
            self._frozen.append(frozen_from([older, newer]))

    def _segments(self) -> list[Segment | Tail]:
        return [*self._frozen, self._tail] if self._tail.size else [*self._frozen]

    def _within_budget(self, terms: list[WeightedTerm]) -> tuple[list[WeightedTerm], list[WeightedTerm]]:
        """The terms whose postings are read, and the rest, which only score what those found."""
        spent = 0
        for place, (term, _) in enumerate(terms):
            spent += int(self._df[term])
            if spent > self.postings_read and place:
                return terms[:place], terms[place:]
        return terms, []

    def _score_segment(
        self,
        segment: Segment | Tail,
        read: list[WeightedTerm],
        rest: list[WeightedTerm],
        limit: int,
        allowed: NDArray[np.bool_] | None,
    ) -> tuple[Ints, Floats]:
        score, all_lengths, average = np.zeros(segment.size, np.float32), segment.lengths, self.average_length
        for term, idf in read:
            places, counts = segment.postings(term)
            score[places] += idf * saturate(counts, all_lengths[places], average)
        hits = np.flatnonzero((score > 0) & ~segment.dead)
        if allowed is not None:
            docs = segment.docs[hits]
            hits = hits[(docs < len(allowed)) & allowed[np.minimum(docs, len(allowed) - 1)]]
        if len(hits) > 3 * limit:
            hits = hits[np.argpartition(-score[hits], 3 * limit)[: 3 * limit]]
        if rest and len(hits):
            docs = segment.docs[hits]
            table, lengths = self.counts(docs, [self._names[term] for term, _ in rest])
            extra = saturate(table, lengths, average) @ np.array([idf for _, idf in rest], np.float32)
            score[hits] += extra
        if len(hits) > limit:
            hits = hits[np.argpartition(-score[hits], limit)[:limit]] if limit else hits[:0]
        return segment.docs[hits], score[hits]

    def _open(self, folder: Path) -> None:
        """Read what was flushed: all of it, or nothing."""
        manifest = json_value((folder / "manifest.json").read_text(encoding="utf-8"))
        if manifest["format"] != FORMAT:
            raise ValueError("another format")
        generation, count, length = (int(manifest[name]) for name in ("generation", "terms", "length"))
        names = (folder / f"terms-{generation}.txt").read_text(encoding="utf-8").split("\n")[:-1][:count]
        df = np.concatenate([np.load(folder / f"df-{generation}.npy", allow_pickle=False), self._df])
        segments = [
            Segment.open(folder, name, dead) for name, dead in zip(manifest["segments"], manifest["dead"], strict=True)
        ]
        if len(names) != count or len(df) != count + len(self._df):
            raise ValueError("the vocabulary is damaged")
        self._names, self._terms = names, {name: term for term, name in enumerate(names) if name}
        self._df, self._length, self._frozen, self._generation = df, length, segments, generation


def _sweep(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Delete what the manifest no longer names (another process may hold it mapped, which is harmless)."""
    number = manifest["generation"]
    keep = {*manifest["segments"], *manifest["dead"], f"df-{number}.npy", f"terms-{number}.txt", "manifest.json"}
    for path in folder.iterdir():
        if path.name not in keep:
            with suppress(PermissionError):  # in use elsewhere: it goes with a later flush
                shutil.rmtree(path) if path.is_dir() else path.unlink()


# ---- numbers by what they have: by keys, which a record joins and leaves by itself, and texts by the words in them

K = TypeVar("K", bound=Hashable)

_FIRST = "\u3040"  # from here on: kana, Chinese, Korean, emoji - scripts that are read by the character
_OTHER = re.compile(r"[^\W_\u3040-\U0010ffff々〇]+")


class Postings(Generic[K]):
    """Key → the numbers that have it, in the order in which they joined. One thread changes it at a time; readers need no
    lock: a list only grows at its end, and one that loses a number is replaced."""

    def __init__(self) -> None:
        self._numbers: dict[K, list[int]] = {}

    def add(self, number: int, keys: Iterable[K]) -> None:
        """A number that has these keys, each named once."""
        for key in keys:
            numbers = self._numbers.get(key)
            if numbers is None:
                self._numbers[key] = [number]
            else:
                numbers.append(number)

    def remove(self, number: int, keys: Iterable[K]) -> None:
        """Take out a number that has these keys. Nothing is left of a key that no number has."""
        for key in keys:
            if left := [one for one in self._numbers[key] if one != number]:
                self._numbers[key] = left
            else:
                del self._numbers[key]

    def of(self, key: K) -> Sequence[int]:
        return self._numbers.get(key, ())

    def __contains__(self, key: object) -> bool:
        return key in self._numbers

    def __len__(self) -> int:
        return len(self._numbers)


@dataclass(frozen=True, slots=True)
class _Read:
    """A text, folded, with the stems of its words and everything that it is listed under."""

    folded: str
    stems: tuple[str, ...]
    parts: tuple[str, ...]


class Substrings:
    """The numbers of the texts that a word is in. A word of one or two Chinese characters is a single look-up; longer ones
    and phrases are checked where their rarest part is. One thread changes it at a time; readers need no lock."""

    def __init__(self) -> None:
        self._texts: dict[int, _Read] = {}
        self._parts: Postings[str] = Postings()

    def add(self, number: int, text: str) -> None:
        """A text under a number above all before it."""
        folded = words.fold(text)
        stems = _stems(folded)
        self._texts[number] = read = _Read(folded, stems, tuple(map(sys.intern, _grams(folded).union(stems))))
        self._parts.add(number, read.parts)

    def remove(self, number: int) -> None:
        self._parts.remove(number, self._texts.pop(number).parts)

    def numbers(self, word: str) -> Sequence[int]:
        """Those of the texts with a folded word, ascending."""
        if max(word) >= _FIRST:
            if len(word) <= 2:
                return self._parts.of(word)
            near = self._rarest(_grams(word))
            return [number for number in near if (text := self._texts.get(number)) and word in text.folded]
        stems = _stems(word)
        near = self._rarest(stems)
        if len(stems) < 2:
            return near
        return [number for number in near if (text := self._texts.get(number)) and _within(stems, text.stems)]

    def _rarest(self, parts: Iterable[str]) -> Sequence[int]:
        return min((self._parts.of(part) for part in parts), key=len, default=())


def _grams(text: str) -> set[str]:
    grams = {char for char in text if char >= _FIRST}
    if grams:
        grams |= {first + second for first, second in pairwise(text) if first >= _FIRST or second >= _FIRST}
    return grams


def _stems(text: str) -> tuple[str, ...]:
    return tuple(words.stem(word) for word in _OTHER.findall(text))


def _within(part: tuple[str, ...], whole: tuple[str, ...]) -> bool:
    return any(whole[i : i + len(part)] == part for i in range(len(whole) - len(part) + 1))
