"""The world book: what the author of a character wrote about its world, found by meaning and by name.

The files are those of ``author.world_files``. What is embedded is the whole entry, names and description as one passage: a short
keyword alone lies near to any short sentence. Of 44 questions about our two samples the built-in embedding has the right
entry among the first four for .89 by the whole entry, for .64 by the keyword.

Conversation never writes these files; people do. A changed file is read again at ``refresh``, a deleted one is
forgotten, and one that does not parse keeps the entries it last had until it parses again. A faulty entry costs itself.
By name, an entry fires as its author's rules say (``firing``).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from moechat.author import world_files
from moechat.author.world_files import LoreFile
from moechat.cue import SoFar
from moechat.errors import DataError, EmbeddingError, MoeChatError, shown
from moechat.index.cosine import meets, nearest
from moechat.index.vector_keys import Keys, text_key
from moechat.memory import firing
from moechat.memory.firing import Judgement, Patterns
from moechat.model import Candidates, Hit, Lore
from moechat.when.names import has_han

Embed = Callable[[Sequence[str], str], np.ndarray]


@dataclass(frozen=True)
class _BookState:
    """One state of the book, never changed after it is made: a search sees all of it or none.

    ``vectors`` are (n, dim) float32, ``rows`` maps a row of theirs to one of ``entries``.
    """

    entries: tuple[Lore, ...] = ()
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
        self.faulty_patterns: dict[str, str] = {}
        self._files: dict[str, LoreFile] = {}
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
            files = world_files.followed(self.folder, self._files)
            if files == self._files and self._complete:
                return False
            changed = _all_entries(files) != self.entries
            self._files, self.faulty_patterns = files, {}
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
        judgements = self.judged(["\n".join(clauses) if text is None else text])
        near = self.near(judgements, clauses, clause_vectors, scan_depth=scan_depth, threshold=threshold)
        return [*(hit.whole() for hit, _ in self.fired(judgements)), *near]

    def judged(self, messages: Sequence[str], so_far: Callable[[], SoFar] = SoFar) -> list[Judgement]:
        """Whether each entry fires by its rules; ``messages`` are the newest first."""
        patterns = Patterns()
        judgements = firing.judged(self.entries, messages, so_far, patterns)
        self.faulty_patterns = {**self.faulty_patterns, **patterns.problems}
        return judgements

    def fired(self, judgements: Sequence[Judgement]) -> Candidates:
        """Those that fire, the highest priority first; one for which its book has no room is dropped."""
        fires = firing.by_priority(one for one in judgements if one.fires)
        over = firing.over_budget(fires)
        return [(_fired(one), "budget" if one.entry.id in over else "") for one in fires]

    def pattern_problems(self) -> list[str]:
        """Patterns that are none or take too long, in words."""
        return [f"{self.folder}: the key {shown(key)} {why}" for key, why in self.faulty_patterns.items()]

    def near(
        self,
        judgements: Sequence[Judgement],
        clauses: Sequence[str],
        clause_vectors: np.ndarray | None,
        *,
        scan_depth: int,
        threshold: float,
    ) -> list[Hit]:
        """Those that are near in meaning to a clause and need no key, best first."""
        book = self._now
        may = {one.entry.id for one in judgements if one.may_be_near}
        best = _nearest(book, clause_vectors, scan_depth, threshold)
        entries = ((book.entries[row], score) for row, score in best.items())
        hits = [_hit(entry, score, {"relevance": score}, ()) for entry, score in entries if entry.id in may]
        return sorted(hits, key=lambda hit: -hit.score)

    def _rebuild(self) -> None:
        entries = _all_entries(self._files)
        self.problems = tuple(problem for file in self._files.values() for problem in file.problems)
        self.problems += tuple(_repeats(self.folder, self._files, entries))
        self._complete = True
        try:
            self._embed_new(entries)
        except EmbeddingError as error:  # names still serve; the next refresh tries again
            self.problems += (error,)
            self._complete = False
        rows = tuple(row for row, entry in enumerate(entries) if _passage(entry) in self._vectors)
        vectors = [self._vectors[_passage(entries[row])] for row in rows]
        self._now = _BookState(entries, rows, np.stack(vectors) if vectors else None)

    def _embed_new(self, entries: tuple[Lore, ...]) -> None:
        """The vectors of all passages. Vectors of entries that no longer exist are dropped."""
        if self._embed is None:
            return
        passages = {_passage(entry) for entry in entries}
        new = sorted(passages - self._vectors.keys())
        fresh = dict(zip(new, self._embed(new, "passage"), strict=True)) if new else {}
        self._vectors = {text: vector for text, vector in (self._vectors | fresh).items() if text in passages}


def _passage(entry: Lore) -> str:
    names = entry.keys if entry.is_bare and entry.keys else (entry.keyword, *entry.keys)
    return f"{'、'.join(names)}：{entry.text}"


def _all_entries(files: dict[str, LoreFile]) -> tuple[Lore, ...]:
    """Those that say the same under the same keys count once, in the file that comes first: a card often embeds the book that
    lies beside it."""
    first: dict[object, str] = {}
    enabled = ((name, entry) for name, file in files.items() for entry in file.kept if entry.enabled)
    return tuple(entry for name, entry in enabled if first.setdefault(_said(entry), name) == name)


def _said(entry: Lore) -> tuple[object, ...]:
    return frozenset(entry.keys), entry.text.strip(), not entry.keys and entry.keyword


def _repeats(folder: Path, files: dict[str, LoreFile], entries: Collection[Lore]) -> Iterator[DataError]:
    """The files of which entries are left out because another has the same."""
    taken = {entry.id for entry in entries}
    for name, file in files.items():
        if repeated := sum(entry.enabled and entry.id not in taken for entry in file.kept):
            yield DataError(
                folder / name, f"{repeated} of its entries stand in another file of this character too; once is enough"
            )


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


def entry_text(entry: Lore) -> str:
    """The words of an entry. A description seldom repeats its keyword; then the keyword is put before it, but in a book of
    another program, whose titles are for its author's eyes."""
    if entry.is_bare:
        return entry.text
    named = entry.keyword.casefold() in entry.text.casefold()
    colon = "：" if has_han(entry.text) else ": "
    return entry.text if named else f"{entry.keyword}{colon}{entry.text}"


def _hit(entry: Lore, score: float, features: dict[str, float], words: tuple[str, ...]) -> Hit:
    return Hit("lore", "lore", entry.id, entry_text(entry), score, features=features, words=words)


def _fired(judgement: Judgement) -> Hit:
    literal = {"literal": 1.0} if judgement.words else {"constant": 1.0}
    return replace(_hit(judgement.entry, 1.0, literal, judgement.words), why=judgement.why)
