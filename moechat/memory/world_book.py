"""The world book: what the author of a character wrote about its world, found by meaning and by name.

The files are those of ``author.lore``. What is embedded is the whole entry, names and description as one passage: a short
keyword alone lies near to any short sentence. Of 44 questions about our two samples the built-in embedding has the right
entry among the first four for .89 by the whole entry, for .64 by the keyword.

Conversation never writes these files; people do. A changed file is read again at ``refresh``, a deleted one is
forgotten, and one that does not parse keeps the entries it last had until it parses again. A faulty entry costs itself.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from moechat.author import lore
from moechat.errors import DataError, EmbeddingError, MoeChatError
from moechat.index.cosine import meets, nearest
from moechat.index.vector_keys import Keys, text_key
from moechat.model import Hit, Lore
from moechat.store import yaml_file

Embed = Callable[[Sequence[str], str], np.ndarray]

_LETTER = re.compile(r"[a-z0-9_]")


@dataclass(frozen=True)
class _BookFile:
    stamp: yaml_file.Stamp
    entries: tuple[Lore, ...]
    problems: tuple[DataError, ...]


@dataclass(frozen=True)
class _BookState:
    """One state of the book, never changed after it is made: a search sees all of it or none.

    ``names`` are (name folded, name, row in ``entries``). ``vectors`` are (n, dim) float32, ``rows`` maps
    a row of theirs to one of ``entries``.
    """

    entries: tuple[Lore, ...] = ()
    names: tuple[tuple[str, str, int], ...] = ()
    rows: tuple[int, ...] = ()
    vectors: np.ndarray | None = None


class WorldBook:
    """The entries of one ``data_base`` folder. ``embed`` None: found literally only.

    ``embed(texts, "passage")`` gives (n, dim) float32 of unit length; asked once for each new passage, so give one that
    keeps what it computed between runs. ``problems`` are the files and entries that are left out, and why.
    """

    def __init__(self, folder: Path, embed: Embed | None = None) -> None:
        self.folder, self._embed = folder, embed
        self.problems: tuple[MoeChatError, ...] = ()
        self._files: dict[str, _BookFile] = {}
        self._vectors: dict[str, np.ndarray] = {}
        self._now = _BookState()
        self._complete = False
        self._writing = threading.Lock()
        self.refresh()

    @property
    def entries(self) -> tuple[Lore, ...]:
        return self._now.entries

    def keys(self) -> Keys:
        """Those of the vectors of all entries."""
        return [text_key(_passage(entry)) for entry in self.entries]

    def refresh(self) -> bool:
        """Look at the files again; True if entries changed. Cheap where nothing did: one stat a file."""
        with self._writing:
            files = {path.name: self._looked_at(path) for path in lore.paths(self.folder)}
            if files == self._files and self._complete:
                return False
            changed = _all_entries(files) != self.entries
            self._files = files
            self._rebuild()
            return changed

    def search(
        self,
        clauses: Sequence[str],
        clause_vectors: np.ndarray | None,
        *,
        scan_depth: int = 4,
        threshold: float = 0.5,
        text: str | None = None,
    ) -> list[Hit]:
        """The union of what the clauses find, each entry once with its best score, best first.

        ``clause_vectors`` is (len(clauses), dim) float32 of unit length, None without an embedding. Each clause takes
        its ``scan_depth`` nearest entries with a score of at least ``threshold``; an entry whose keyword or key stands
        in ``text`` (the whole message; default: the clauses) scores 1.0; constant entries are always there.
        """
        book = self._now
        best = _nearest(book, clause_vectors, scan_depth, threshold)
        words = _named(book, "\n".join(clauses) if text is None else text)
        hits = []
        for row, entry in enumerate(book.entries):
            if row in words or entry.constant:
                hits.append(
                    _hit(entry, 1.0, {"literal": 1.0} if row in words else {"constant": 1.0}, words.get(row, ()))
                )
            elif row in best:
                hits.append(_hit(entry, best[row], {"relevance": best[row]}, ()))
        return sorted(hits, key=lambda hit: -hit.score)

    def _looked_at(self, path: Path) -> _BookFile:
        """The file as it was last read, or read again where it has changed."""
        last, stamp = self._files.get(path.name), yaml_file.stamp(path) or (0, 0, 0)
        if last is not None and last.stamp == stamp:
            return last
        try:
            entries, problems = lore.read(path)
        except DataError as error:
            return _BookFile(stamp, last.entries if last else (), (error,))
        return _BookFile(stamp, tuple(entry for entry in entries if entry.enabled), tuple(problems))

    def _rebuild(self) -> None:
        entries = _all_entries(self._files)
        self.problems = tuple(problem for file in self._files.values() for problem in file.problems)
        self._complete = True
        try:
            self._embed_new(entries)
        except EmbeddingError as error:  # names still serve; the next refresh tries again
            self.problems += (error,)
            self._complete = False
        rows = tuple(row for row, entry in enumerate(entries) if _passage(entry) in self._vectors)
        names = tuple(
            (folded, name, row)
            for row, entry in enumerate(entries)
            for name in (entry.keyword, *entry.keys)
            if (folded := name.casefold())
        )
        vectors = [self._vectors[_passage(entries[row])] for row in rows]
        self._now = _BookState(entries, names, rows, np.stack(vectors) if vectors else None)

    def _embed_new(self, entries: tuple[Lore, ...]) -> None:
        """The vectors of all passages. Vectors of entries that no longer exist are dropped."""
        if self._embed is None:
            return
        passages = {_passage(entry) for entry in entries}
        new = sorted(passages - self._vectors.keys())
        fresh = dict(zip(new, self._embed(new, "passage"), strict=True)) if new else {}
        self._vectors = {text: vector for text, vector in (self._vectors | fresh).items() if text in passages}


def _passage(entry: Lore) -> str:
    return f"{'、'.join((entry.keyword, *entry.keys))}：{entry.text}"


def _all_entries(files: dict[str, _BookFile]) -> tuple[Lore, ...]:
    return tuple(entry for file in files.values() for entry in file.entries)


# --- searching -------------------------------------------------------------------------------------------------------


def _nearest(book: _BookState, vectors: np.ndarray | None, scan_depth: int, threshold: float) -> dict[int, float]:
    """{row: best score} of the entries that are near enough to a clause."""
    best: dict[int, float] = {}
    if book.vectors is None or vectors is None:
        return best
    for spoken in vectors[np.any(vectors != 0, axis=1)]:  # the vector of no text is near to nothing
        rows, scores = nearest(spoken, book.vectors, scan_depth)
        for row, score in zip(rows, scores, strict=True):
            if meets(float(score), threshold):
                best[book.rows[row]] = max(float(score), best.get(book.rows[row], -1.0))
    return best


def _named(book: _BookState, text: str) -> dict[int, tuple[str, ...]]:
    """{row: the names of that entry which stand in a clause}; letters must not go on beside a name (no in know)."""
    folded_text = text.casefold()
    names_by_row: dict[int, tuple[str, ...]] = {}
    for folded, name, row in book.names:
        if folded in folded_text and _stands_alone(folded, folded_text):
            names_by_row[row] = (*names_by_row.get(row, ()), name)
    return names_by_row


def _stands_alone(name: str, text: str) -> bool:
    left = r"(?<![a-z0-9_])" if _LETTER.match(name[0]) else ""
    right = r"(?![a-z0-9_])" if _LETTER.match(name[-1]) else ""
    return not (left or right) or re.search(left + re.escape(name) + right, text) is not None


def entry_text(entry: Lore) -> str:
    """The words of an entry. A description seldom repeats its keyword; then the keyword is put before it."""
    named = entry.keyword.casefold() in entry.text.casefold()
    return entry.text if named else f"{entry.keyword}：{entry.text}"


def _hit(entry: Lore, score: float, features: dict[str, float], words: tuple[str, ...]) -> Hit:
    return Hit("lore", "lore", entry.id, entry_text(entry), score, features=features, words=words)
