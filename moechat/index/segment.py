"""Segments of the lexical index: frozen documents as memory-mapped arrays, and a tail of newer ones in memory.

A segment keeps its documents twice: as postings (term → places) to find them, and as forward lists (place → terms) to
score them. A place is where a document stands in its segment. A removed document is marked dead and leaves with the next
merge. Its number may be used again in another segment.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from math import inf
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.floating[Any]]
TermCounts = tuple[NDArray[np.int32], NDArray[np.uint8]]
"""Terms (or places) and how often each counts, as parallel arrays."""
MAPPED_BYTES = (
    1 << 20
)  # A segment of this size is mapped. Each map keeps a descriptor, and many owners are open at once.


class Segment:
    """Frozen documents in ascending order, as arrays that are memory-mapped where they come from a folder and are many."""

    PARTS = ("docs", "lengths", "terms", "starts", "places", "place_counts", "doc_starts", "doc_terms", "doc_counts")

    def __init__(self, arrays: Mapping[str, NDArray[Any]], dead: NDArray[np.bool_], name: str = "") -> None:
        self.arrays = arrays
        self.docs, self.lengths, self.terms = arrays["docs"], arrays["lengths"], arrays["terms"]
        self.starts, self._places, self._place_counts = arrays["starts"], arrays["places"], arrays["place_counts"]
        self.doc_starts, self.doc_terms, self.doc_counts = (
            arrays["doc_starts"],
            arrays["doc_terms"],
            arrays["doc_counts"],
        )
        self.name = name
        self.dead = dead
        self.living = int(len(dead) - dead.sum())
        self.dead_file = ""
        self._dead_changed = True
        if not len(self.docs) == len(self.lengths) == len(dead) == len(self.doc_starts) - 1:
            raise ValueError(f"segment {name}: its parts do not fit together")
        if len(self.starts) != len(self.terms) + 1 or len(self.doc_terms) != len(self.doc_counts):
            raise ValueError(f"segment {name}: its parts do not fit together")

    @classmethod
    def open(cls, folder: Path, name: str, dead_file: str) -> Segment:
        paths = {part: folder / name / f"{part}.npy" for part in cls.PARTS}
        is_large = sum(path.stat().st_size for path in paths.values()) >= MAPPED_BYTES
        mode: Literal["r"] | None = "r" if is_large else None
        arrays = {part: np.asarray(np.load(path, mmap_mode=mode, allow_pickle=False)) for part, path in paths.items()}
        segment = cls(arrays, np.load(folder / dead_file, allow_pickle=False), name)
        segment.dead_file, segment._dead_changed = dead_file, False
        return segment

    def save(self, folder: Path, generation: int) -> None:
        if not self.name:
            self.name = f"segment-{generation}-{int(self.docs[0]) if len(self.docs) else 0}"
            (folder / self.name).mkdir(exist_ok=True)
            for part, array in self.arrays.items():
                np.save(folder / self.name / f"{part}.npy", array)
        if self._dead_changed:
            self.dead_file = f"dead-{generation}-{self.name}.npy"
            np.save(folder / self.dead_file, self.dead)
            self._dead_changed = False

    @property
    def size(self) -> int:
        return len(self.docs)

    def place(self, doc: int) -> int:
        """Where a living document stands, or -1."""
        return int(self.places(np.array([doc], np.int64))[0])

    def places(self, docs: Ints) -> Ints:
        places = np.searchsorted(self.docs, docs)
        places[places == len(self.docs)] = 0
        missing = (self.docs[places] != docs) | self.dead[places] if len(self.docs) else np.ones(len(docs), bool)
        return np.where(missing, -1, places)

    def document(self, place: int) -> TermCounts:
        start, end = int(self.doc_starts[place]), int(self.doc_starts[place + 1])
        return self.doc_terms[start:end], self.doc_counts[start:end]

    def postings(self, term: int) -> TermCounts:
        at = int(np.searchsorted(self.terms, np.int32(term)))
        if at == len(self.terms) or self.terms[at] != term:
            return self._places[:0], self._place_counts[:0]
        start, end = int(self.starts[at]), int(self.starts[at + 1])
        places, counts = self._places[start:end], self._place_counts[start:end]
        if self.living < self.size:  # what was erased counts zero
            return places[counts > 0], counts[counts > 0]
        return places, counts

    def kill(self, place: int) -> None:
        self.dead[place] = True
        self._dead_changed = True
        self.living -= 1

    def is_lost(self, folder: Path | None) -> bool:
        """Whether its files are gone: another process has merged it with others."""
        return folder is not None and bool(self.name) and not (folder / self.name).is_dir()

    def erase_dead(self, folder: Path | None) -> None:
        """Overwrite what dead documents hold with zeros, in memory and in the files, and nothing else."""
        gone = np.flatnonzero(self.dead & (self.lengths > 0)).tolist()
        if not gone:
            return
        terms_of = {place: np.array(self.document(place)[0]) for place in gone}
        for arrays in self._writable(folder):
            for place, terms in terms_of.items():
                for at in np.searchsorted(self.terms, terms).tolist():
                    start, end = int(self.starts[at]), int(self.starts[at + 1])
                    here = start + np.flatnonzero(arrays["places"][start:end] == place)
                    arrays["places"][here] = arrays["place_counts"][here] = 0
                mine = slice(int(self.doc_starts[place]), int(self.doc_starts[place + 1]))
                arrays["doc_terms"][mine] = arrays["doc_counts"][mine] = arrays["lengths"][place] = 0
            for values in arrays.values():
                if isinstance(values, np.memmap):
                    values.flush()

    def _writable(self, folder: Path | None) -> list[Mapping[str, NDArray[Any]]]:
        """The parts that tell of words: those in memory, where they are no maps of files, and those in the files."""
        parts = ("places", "place_counts", "doc_terms", "doc_counts", "lengths")
        places = [self.arrays] if self.arrays["places"].flags.writeable else []
        if folder is not None and self.name:
            files = {part: folder / self.name / f"{part}.npy" for part in parts}
            places.append({part: np.load(file, mmap_mode="r+", allow_pickle=False) for part, file in files.items()})
        return [{part: arrays[part] for part in parts} for arrays in places]

    def flat(self, places: Ints) -> tuple[Ints, NDArray[np.int32], NDArray[np.uint8]]:
        """The forward lists of documents, end to end, as three arrays: index into ``places``, term, count."""
        starts = np.asarray(self.doc_starts[places], np.int64)
        sizes = np.asarray(self.doc_starts[places + 1], np.int64) - starts
        rows = np.repeat(np.arange(len(places)), sizes)
        at = np.arange(len(rows)) + np.repeat(starts - np.cumsum(sizes) + sizes, sizes)
        return rows, self.doc_terms[at], self.doc_counts[at]


class Tail:
    """Documents not frozen yet, in the order they came."""

    def __init__(self) -> None:
        self._docs = array("q")
        self._first: float = inf
        self._lengths = array("f")
        self._dead = bytearray()
        self._at: dict[int, int] = {}
        self._forward: list[TermCounts] = []
        self._postings: dict[int, tuple[array[int], array[int]]] = {}
        self.living = 0

    def append(self, doc: int, terms: NDArray[np.int32], counts: NDArray[np.uint8]) -> None:
        place = self._at[doc] = len(self._docs)
        self._first = min(self._first, doc)
        self._docs.append(doc)
        self._lengths.append(float(counts.sum(dtype=np.int64)))
        self._dead.append(0)
        self._forward.append((terms, counts))
        for term, count in zip(terms.tolist(), counts.tolist(), strict=True):
            places, tallies = self._postings.setdefault(term, (array("i"), array("B")))
            places.append(place)
            tallies.append(count)
        self.living += 1

    @property
    def size(self) -> int:
        return len(self._docs)

    @property
    def docs(self) -> Ints:
        return np.array(self._docs, np.int64)

    @property
    def lengths(self) -> Floats:
        return np.array(self._lengths, np.float32)

    @property
    def dead(self) -> NDArray[np.bool_]:
        return np.frombuffer(bytes(self._dead), np.bool_)

    def place(self, doc: int) -> int:
        return self._at.get(doc, -1)

    def places(self, docs: Ints) -> Ints:
        places = np.full(len(docs), -1, np.int64)
        late = np.flatnonzero(docs >= self._first)  # Most of what is asked for was frozen long ago.
        places[late] = [self._at.get(doc, -1) for doc in docs[late].tolist()]
        return places

    def document(self, place: int) -> TermCounts:
        return self._forward[place]

    def postings(self, term: int) -> TermCounts:
        places, counts = self._postings.get(term, ((), ()))
        return np.array(places, np.int32), np.array(counts, np.uint8)

    def kill(self, place: int) -> None:
        self._dead[place] = 1
        del self._at[self._docs[place]]
        self.living -= 1

    def flat(self, places: Ints) -> tuple[Ints, NDArray[np.int32], NDArray[np.uint8]]:
        lists = [self._forward[place] for place in places.tolist()]
        rows = np.repeat(np.arange(len(lists)), [len(terms) for terms, _ in lists])
        terms = np.concatenate([np.zeros(0, np.int32), *(terms for terms, _ in lists)])
        return rows, terms, np.concatenate([np.zeros(0, np.uint8), *(counts for _, counts in lists)])


def frozen_from(parts: Sequence[Segment | Tail]) -> Segment:
    """One segment of all living documents of ``parts``."""
    docs, sizes, terms, counts = [], [], [], []
    for part in parts:
        living = np.flatnonzero(~part.dead)
        rows, term, count = part.flat(living)
        docs.append(np.asarray(part.docs)[living])
        sizes.append(np.bincount(rows, minlength=len(living)))
        terms.append(np.asarray(term))
        counts.append(np.asarray(count))
    all_docs, all_sizes = np.concatenate(docs), np.concatenate(sizes)
    order = np.argsort(all_docs, kind="stable")
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    row = np.repeat(rank, all_sizes)
    by_doc = np.argsort(row, kind="stable")
    row, doc_terms, doc_counts = row[by_doc], np.concatenate(terms)[by_doc], np.concatenate(counts)[by_doc]
    by_term = np.argsort(doc_terms, kind="stable")
    distinct, firsts = np.unique(doc_terms[by_term], return_index=True)
    arrays = {
        "docs": all_docs[order],
        "lengths": np.bincount(row, doc_counts, len(order)).astype(np.float32),
        "terms": distinct,
        "starts": np.append(firsts, len(by_term)).astype(np.int64),
        "places": row[by_term],
        "place_counts": doc_counts[by_term],
        "doc_starts": np.concatenate([[0], np.cumsum(all_sizes[order])]).astype(np.int64),
        "doc_terms": doc_terms,
        "doc_counts": doc_counts,
    }
    return Segment(arrays, np.zeros(len(order), np.bool_))
