"""Word association (seed 004, section 十一): it expands a few words of a talk into many, under which a memory may be
filed.

A source is any object with ``associations(word)``. Ours are tables (the character's own, the shipped one) and words told
together (``memory.cooccurrence``). A resource of one's own takes three lines:

    class Thesaurus:
        def associations(self, word):
            return [(near, 9) for near in my_thesaurus.synonyms(word)]
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Container, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Literal, Protocol

from moechat.errors import DataError, shown
from moechat.language import words
from moechat.store import plain

Association = tuple[str, int]  # an associated word and its level: 1 (far) to 12 (at once)
Strategy = Literal["first", "second"]

LEVELS = 12
_LEVELS = {str(level): level for level in range(1, LEVELS + 1)}
COUNT = 100  # An expansion has this many words unless asked otherwise; the seed has 100 to 500.
BASE_WORDS = 10
PIECES = 4  # A known word may have been cut into this many pieces.
AGAIN = 2  # A word gains this many levels each time it comes up again (strategy ``second``).
BACK = 2  # An association is this many levels weaker when it is followed backwards.


class Source(Protocol):
    """Where associations come from."""

    def associations(self, word: str) -> Sequence[Association]:
        """What the word brings to mind, best first; empty for an unknown word. Called from several threads."""
        ...


def base_words(
    sentence: str, *, names: Iterable[str] = (), vocabulary: Container[str] = frozenset()
) -> tuple[list[str], list[str]]:
    """(the sentence's words, the base words of an expansion): its ten best keywords without the user's and the
    character's name. Neighbours that are one word of ``vocabulary`` (a friend's name that no dictionary has) come first.
    Of a long text the beginning is looked at."""
    sentence = kept = sentence[: words.SEGMENTED]
    single = set()
    for name in filter(None, map(str.strip, names)):
        if len(name) == 1:  # 禾 is a name, the 禾 of 禾苗 is none
            single.add(words.fold(name))
        else:
            kept = re.sub(name_pattern(name), " ", kept, flags=re.IGNORECASE)
    segments = words.words(sentence)
    folded, gaps = words.fold(sentence), [" " if one.isascii() else "" for one in segments]
    joined = [
        word
        for start in range(len(segments) if vocabulary else 0)
        for end in range(start + 2, min(start + PIECES, len(segments)) + 1)
        if (word := gaps[start].join(segments[start:end])) in vocabulary and word in folded
    ]
    pieces = single | {char for word in joined for char in word}
    ranked = words.keywords(kept, BASE_WORDS + len(pieces))
    base = dict.fromkeys([*joined, *(word for word in ranked if word not in pieces)])
    return segments, list(base)[:BASE_WORDS]


def name_pattern(name: str) -> str:
    """A regular expression that finds a name: a Latin one as a whole word only."""
    edge = r"\b" if name.isascii() else ""
    return edge + re.escape(name) + edge


def expand(
    base: Sequence[str],
    sources: Sequence[Source],
    *,
    count: int = COUNT,
    strategy: Strategy = "first",
    filter_values: Sequence[int] = (),
) -> list[Association]:
    """At most ``count`` words that the base words bring to mind, best first.

    ``first``: the words take turns, each giving its next best association; one that was given already uses up the turn.
    ``second``: all are pooled; a word that comes up k times gets its best level + 2(k - 1). ``filter_values`` leaves out
    associations stored with these levels, before anything is counted; [0] leaves out none. An association that is itself
    a base word stays.
    """
    unwanted = frozenset(filter_values) - {0}
    lists = [
        [(near, level) for near, level in merged(word, sources) if level not in unwanted]
        for word in dict.fromkeys(base)
    ]
    return (_pooled(lists) if strategy == "second" else _in_turns(lists, count))[: max(count, 0)]


def merged(word: str, sources: Sequence[Source]) -> list[Association]:
    """The associations of all sources, each word once at its best level, best first; ties in the order of the sources."""
    best: dict[str, int] = {}
    for source in sources:
        for near, level in source.associations(word):
            if level > best.get(near, 0):
                best[near] = level
    return _best_first(best.items())


def _best_first(associations: Iterable[Association]) -> list[Association]:
    return sorted(associations, key=lambda association: -association[1])


def _in_turns(lists: Sequence[Sequence[Association]], count: int) -> list[Association]:
    levels: dict[str, int] = {}
    for turn in range(max(map(len, lists), default=0)):
        for associations in lists:
            if turn < len(associations):
                levels.setdefault(*associations[turn])
        if len(levels) >= count:
            break
    return list(levels.items())


def _pooled(lists: Sequence[Sequence[Association]]) -> list[Association]:
    pool: dict[str, int] = {}
    best: dict[str, int] = {}
    for near, level in (association for associations in lists for association in associations):
        pool[near] = pool.get(near, -AGAIN) + AGAIN
        best[near] = max(best.get(near, 0), level)
    return _best_first((near, best[near] + gained) for near, gained in pool.items())


class Table:
    """An editable file, ``word TAB association TAB level`` a line; ``#`` begins a comment line.

    It is read again when it has changed. A line that cannot be read is left out and told in ``problems``; without the file
    the table is empty. An English word is found by its stem as well, an unknown Chinese one by its end, which is what it is
    about (吃海鲜, 毕业论文), and which is its first association then. ``both_ways``: a word without a line of its own is
    associated with those that lead to it, BACK levels less.
    """

    def __init__(self, path: Path, *, both_ways: bool = False) -> None:
        self.path, self._both_ways = path, both_ways
        self.problems: Sequence[DataError] = ()
        self._stamp: plain.Stamp | None = None
        self._entries: Mapping[str, Sequence[Association]] = {}
        self._lock = threading.Lock()

    def associations(self, word: str) -> Sequence[Association]:
        self._refresh()
        entries, folded = self._entries, words.fold(word)
        if associations := entries.get(folded) or entries.get(words.stem(folded)):
            return associations
        if not folded.isascii():
            for head in (folded[i:] for i in range(1, len(folded) - 1)):
                if head in entries:
                    return [(head, LEVELS), *entries[head]]
        return ()

    def _refresh(self) -> None:
        stamp = plain.stamp(self.path)
        if stamp == self._stamp:
            return
        with self._lock:
            try:
                source = plain.text(self.path) if stamp else ""
            except DataError as problem:  # what was read before serves on
                self.problems, self._stamp = (problem,), stamp
                return
            entries, self.problems = read_table(source, self.path)
            entries = {**_backwards(entries), **entries} if self._both_ways else entries
            self._entries = {**{words.stem(word): associations for word, associations in entries.items()}, **entries}
            self._stamp = stamp


def read_table(source: str, path: Path) -> tuple[Mapping[str, Sequence[Association]], Sequence[DataError]]:
    """(word → its associations, best first; what is wrong, by line)."""
    best: dict[str, dict[str, int]] = {}
    problems: list[DataError] = []
    for number, line in enumerate(source.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        fields = [unicodedata.normalize("NFKC", part).strip() for part in line.split("\t")]
        if len(fields) != 3 or not all(fields):
            problems.append(DataError(path, "a line is: word, tab, association, tab, level", line=number))
        elif fields[2] not in _LEVELS:
            message = f"the level is a whole number from 1 to {LEVELS}: {shown(fields[2])}"
            problems.append(DataError(path, message, line=number))
        else:
            word, near, level = words.fold(fields[0]), words.fold(fields[1]), _LEVELS[fields[2]]
            levels = best.setdefault(word, {})
            levels[near] = max(levels.get(near, 0), level)
    return {word: _best_first(levels.items()) for word, levels in best.items()}, tuple(problems)


def _backwards(entries: Mapping[str, Sequence[Association]]) -> Mapping[str, Sequence[Association]]:
    back: dict[str, list[Association]] = {}
    for word, associations in entries.items():
        for near, level in associations:
            if level > BACK and near != word:
                back.setdefault(near, []).append((word, level - BACK))
    return {near: _best_first(associations) for near, associations in back.items()}


@cache
def shipped() -> Table:
    """MoeChat's own small table, in both languages."""
    return Table(Path(__file__).with_name("associations.tsv"), both_ways=True)
