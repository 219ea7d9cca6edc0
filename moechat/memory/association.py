"""What goes together in this owner's memory: words that were told of together (失恋 → 火锅, for this user).

Strength is pointwise mutual information, normalised by Bouma 2009 ("Normalized (pointwise) mutual information in collocation
extraction") to 1 for words that never come apart, and discounted where it rests on few records (c / (c + 1)). Nothing is
worked out before a word is asked for: a record that comes or goes costs its own words only.
"""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import islice

from moechat.language import words
from moechat.language.association import LEVELS, Association
from moechat.model import Episode, FactDraft

RECORDS = 20_000  # as many as an owner keeps (seed 004); beyond, the oldest go
SAMPLE = 512  # of a word's records, the newest
WORDS = 16  # of a record
MOST = 24  # associations of a word


def episode_words(episode: Episode) -> tuple[str, ...]:
    """What an event or reflection is filed under."""
    event = episode.event
    return (*event.keywords, event.subject, event.object, event.place)


def fact_words(draft: FactDraft) -> tuple[str, ...]:
    """What a fact is filed under."""
    return (draft.keyword, draft.target, draft.entity)


class Cooccurrence:
    """A source of associations over records, each a few words. ``names`` (the user's, the character's) are left out: they go
    with everything. Safe for several threads."""

    def __init__(self, *, names: Iterable[str] = (), records: int = RECORDS) -> None:
        self.generation = 0
        self._limit = records
        self._names = frozenset(words.fold(name) for name in (*names, "user", "character", "用户", "角色"))
        self._records: dict[str, tuple[str, ...]] = {}
        self._having: dict[str, dict[str, None]] = {}  # word → ids of its records, in the order of coming
        self._seen: Hashable = None
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._records)

    def follow(self, state: Hashable, records: Iterable[tuple[str, Sequence[str]]]) -> None:
        """Take over (id, words) of all records, oldest first, unless ``state`` is that of the last time. A record is known by
        its id and words; new ones count as the newest."""
        with self._lock:
            if state is not None and state == self._seen:
                return
            wanted = dict(records)
            gone = [id_ for id_ in self._records if id_ not in wanted]
            changed = self._drop(gone)
            for id_, told in wanted.items():
                changed |= self._put(id_, told)
            self._seen = state
            self.generation += changed

    def add(self, id_: str, told: Sequence[str]) -> None:
        """Take in one record, in place of the one with this id."""
        with self._lock:
            self.generation += self._put(id_, told)

    def remove(self, ids: Iterable[str]) -> None:
        with self._lock:
            self.generation += self._drop(ids)

    def associations(self, word: str) -> Sequence[Association]:
        """Words told of together with ``word``, best first; ties by how often, then by the word."""
        word = words.fold(word)
        with self._lock:
            having = self._having.get(word)
            if not having:
                return []
            newest = list(islice(reversed(having), SAMPLE))
            together = Counter(other for id_ in newest for other in self._records[id_])
            often = {other: len(self._having[other]) for other in together}
            total = len(self._records)
        del together[word]
        levels = _levels(together, often, len(having) / len(newest), len(having), total)
        ranked = sorted(levels, key=lambda other: (-levels[other], -together[other], other))
        return [(other, levels[other]) for other in ranked[:MOST]]

    def _put(self, id_: str, told: Sequence[str]) -> bool:
        cleaned = (words.fold(word.strip()) for word in told)
        kept = tuple(dict.fromkeys(word for word in cleaned if word and word not in self._names))[:WORDS]
        if self._records.get(id_) == kept:
            return False
        self._drop([id_])
        self._records[id_] = kept
        for word in kept:
            self._having.setdefault(word, {})[id_] = None
        if len(self._records) > self._limit:
            self._drop([next(iter(self._records))])
        return True

    def _drop(self, ids: Iterable[str]) -> bool:
        dropped = False
        for id_ in ids:
            for word in self._records.pop(id_, ()):
                dropped = True
                having = self._having[word]
                del having[id_]
                if not having:
                    del self._having[word]
        return dropped


def _levels(
    together: Mapping[str, int], often: Mapping[str, int], scale: float, count: int, total: int
) -> dict[str, int]:
    """Levels of the words that come up more often with this one than by chance. ``scale`` undoes the sampling."""
    levels = {}
    for other, seen in together.items():
        both = min(seen * scale, often[other])
        information = math.log(both * (total + 1) / (count * often[other]))
        if information > 0:
            normal = information / -math.log(both / (total + 1))
            levels[other] = max(1, round(LEVELS * normal * seen / (seen + 1)))
    return levels
