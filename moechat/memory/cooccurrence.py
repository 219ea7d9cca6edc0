"""Words that go together in this owner's memory, because the same records have them (失恋 → 火锅, for this user).

Strength is pointwise mutual information, normalised by Bouma 2009 ("Normalized (pointwise) mutual information in collocation
extraction") to 1 for words that never come apart, and discounted where it rests on few records (c / (c + 1)). Nothing is
worked out before a word is asked for: a record that comes or goes costs its own words only.
"""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import chain, islice
from typing import Any

import numpy as np

from moechat.containment import Containment, NamedText
from moechat.language import words
from moechat.language.association import LEVELS, Association
from moechat.memory.episodes import Episodes, EpisodeView
from moechat.model import Fact

RECORDS = 25_000  # At most this many events and facts; the oldest go first. An owner keeps 20,000 (seed 004).
AT_ONCE = 500  # Episodes that are read at a time.
SAMPLE = 512  # Only this many records of a word are read, the newest.
CHANCE = 1e-9  # Words that meet only by chance have less information than this.
WEIGHED = 128  # Only this many words are weighed for a word, the most frequent.
WORDS = 16  # At most this many words of a record count.
MOST = 24  # A word has at most this many associations.


Difference = tuple[Sequence[Hashable], Sequence[Hashable]]
"""Keys that went, keys that came."""


class Cooccurrence:
    """A source of associations over records, each a few words. Left out are ``names`` (the user's, the character's), which go
    with everything, and single characters (住, 日), which are in everything. Safe for several threads."""

    def __init__(
        self, *, names: Iterable[str] = (), records: int = RECORDS, contained: Containment | None = None
    ) -> None:
        self._contained = contained or Containment()
        self._limit = records
        self._names = frozenset(words.fold(name) for name in (*names, "user", "character", "用户", "角色"))
        self._records: dict[Hashable, tuple[str, ...]] = {}
        self._having: dict[str, dict[Hashable, None]] = {}  # word → its records, in the order of coming
        self._seen: tuple[object] | None = None
        self._lock, self._following = threading.Lock(), threading.Lock()

    def __len__(self) -> int:
        return len(self._records)

    def follow(
        self,
        state: object,
        keys: Callable[[], Iterable[Hashable]],
        words_of: Callable[[Sequence[Hashable]], Iterable[Sequence[str]]],
        since: Callable[[Any], Difference] | None = None,
    ) -> None:
        """Take over all records, oldest first, unless ``state`` equals that of the last time. Only the words of keys that are
        not known yet are asked for; a record that was edited needs another key. ``since`` says what has changed since a state,
        so that not all keys are gone through."""
        with self._following:
            if self._seen is not None and state == self._seen[0]:
                return
            dropped, new = since(self._seen[0]) if since and self._seen else self._difference(keys())
            if len(self._records) == self._limit or len(self._records) - len(dropped) + len(new) > self._limit:
                dropped, new = self._difference(keys())  # some are beyond the limit, or come back from there
            # Slow, and nobody else need wait for it.
            records = [self._filed(*one) for one in zip(new, words_of(new), strict=True)]
            with self._lock:
                for key in dropped:
                    for word in self._records.pop(key):
                        having = self._having[word]
                        del having[key]
                        if not having:
                            del self._having[word]
                for key, record in zip(new, records, strict=True):
                    self._records[key] = record
                    for word in record:
                        self._having.setdefault(word, {})[key] = None
            self._seen = (state,)

    def _difference(self, keys: Iterable[Hashable]) -> Difference:
        current = dict.fromkeys(list(keys)[-self._limit :])
        return [key for key in self._records if key not in current], [
            key for key in current if key not in self._records
        ]

    def associations(self, word: str) -> Sequence[Association]:
        """Words that share records with ``word``, best first.

        Ties go by the number of shared records, then by the word.
        """
        word = words.fold(word)
        with self._lock:
            having = self._having.get(word)
            if not having:
                return []
            newest = list(islice(reversed(having), SAMPLE))
            counted = Counter(chain.from_iterable(map(self._records.__getitem__, newest)))
            together = dict(counted.most_common(WEIGHED))
            often = {other: len(self._having[other]) for other in together}
            total = len(self._records)
        together.pop(word, None)
        # Levels of the words that come up more often with this one than by chance; ``scale`` undoes the sampling.
        levels, scale = dict[str, int](), len(having) / len(newest)
        all_, of_word = math.log(total + 1), math.log(len(having))
        for other, seen in together.items():
            of_both = math.log(min(seen * scale, often[other]))
            information = of_both + all_ - of_word - math.log(often[other])
            if information > CHANCE:
                levels[other] = max(1, round(LEVELS * information / (all_ - of_both) * seen / (seen + 1)))
        ranked = sorted(levels, key=lambda other: (-levels[other], -together[other], other))
        return [(other, levels[other]) for other in ranked[:MOST]]

    def _filed(self, key: Hashable, record: Sequence[str]) -> tuple[str, ...]:
        """The words that a record is filed under."""

        def folded() -> tuple[str, ...]:
            cleaned = (words.fold(word.strip()) for word in record)
            kept = dict.fromkeys(word for word in cleaned if len(word) > 1 and word not in self._names)
            return tuple(kept)[:WORDS]

        id_ = str(key.id if isinstance(key, Fact) else key[0] if isinstance(key, tuple) else key)
        return self._contained.run("links", NamedText(id_, " ".join(record)), folded, ())


def follow(source: Cooccurrence, episodes: Episodes, view: EpisodeView, facts: Sequence[Fact]) -> None:
    """Bring ``source`` up to what may be recalled now. Reading 20,000 new episodes takes a second or so, following a few some
    milliseconds, and nothing new a fraction of one: in the background first."""

    def keys() -> Iterable[Hashable]:
        yield from facts
        yield from zip(view.ids, view.positions.tolist(), strict=True)  # an edited episode has a new position

    def words_of(new: Sequence[Any]) -> Iterable[Sequence[str]]:
        for start in range(0, len(new), AT_ONCE):
            part = new[start : start + AT_ONCE]
            there = episodes.by_position([key[1] for key in part if isinstance(key, tuple)])
            for key in part:
                if isinstance(key, Fact):
                    yield key.draft.keyword, key.draft.target, key.draft.entity
                elif episode := there.get(key[1]):
                    event = episode.event
                    yield *event.keywords, event.subject, event.object, event.place
                else:
                    yield ()

    def since(before: tuple[bytes, list[Fact]]) -> Difference:
        positions = np.frombuffer(before[0], dtype=view.positions.dtype)
        gone = [(episodes.ids[p], p) for p in positions[~np.isin(positions, view.positions)].tolist()]
        new = [(episodes.ids[p], p) for p in view.positions[~np.isin(view.positions, positions)].tolist()]
        if before[1] == facts:
            return gone, new
        earlier, later = ({fact.id: fact for fact in each} for each in (before[1], facts))
        gone_facts = [fact for fact in before[1] if later.get(fact.id) is not fact]
        return [*gone_facts, *gone], [*(fact for fact in facts if earlier.get(fact.id) is not fact), *new]

    source.follow((view.positions.tobytes(), list(facts)), keys, words_of, since)
