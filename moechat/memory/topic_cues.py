"""Which topics a message leads to (seed 002): by their names, by the table of everyday domains, by meaning, and through slices
that the message resembles.

The names of topics are cut into words once, and their vectors are made in the background: a message waits for neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from moechat.cue import Cue
from moechat.index.dense import Dense
from moechat.index.topic import TopicTable
from moechat.index.vector_rows import Ints, text_key
from moechat.index.vectors import VectorTable, meets
from moechat.language import words
from moechat.memory.episodes import EpisodeView
from moechat.rules import topics as topic_rules
from moechat.topic_path import ARROW, is_within, moved, topic_path

TABLE = "topics"  # This table has the vectors of topic names, by text.

MOST_CUES = 3
COVERED = 0.5  # A message must have this share of a name.
BY_TABLE, BY_WORDS = 0.6, 0.5  # A cue from the table, or from a slice's keywords, is this sure.
FROM_SLICES = 3
COMMON = 100  # A word that more slices, or names, have does not distinguish them.

Moves = Sequence[tuple[str, str]]


class Led(NamedTuple):
    """A topic that a message leads to: how surely (0..1), and by which words."""

    path: str
    strength: float
    words: tuple[str, ...] = ()


class TopicNames:
    """The words of the topic names of one tree."""

    def __init__(self) -> None:
        self._followed: tuple[object, int] = (None, 0)  # the tree, and how it was
        self._cut: dict[str, tuple[str, ...]] = {}
        self._by_word: dict[str, list[str]] = {}

    def led(self, tree: TopicTable, cue: Cue) -> list[Led]:
        """Topics of whose name the message has at least half, by characters."""
        self.follow(tree)
        shared: dict[str, list[str]] = {}
        for word in set(cue.words).intersection(self._by_word):
            names = self._by_word[word]
            for name in names if len(names) <= COMMON else [word] if word in self._cut else ():
                shared.setdefault(name, []).append(word)
        led = []
        for name, hit in shared.items():
            covered = sum(map(len, hit)) / sum(map(len, self._cut[name]))
            if covered >= COVERED:
                led += [Led(path, covered, tuple(sorted(hit))) for path in tree.named(name)[:MOST_CUES]]
        return led

    def follow(self, tree: TopicTable) -> None:
        """Cut names that are new into words."""
        if self._followed == (tree, tree.version):
            return
        self._followed = (tree, tree.version)
        before, self._cut, self._by_word = self._cut, {}, {}
        for name in tree.names():
            if not (cut := before.get(name)):
                tokens = dict.fromkeys(words.tokens(name, bigrams=False))
                cut = tuple(word for word in tokens if not words.is_stop_word(word)) or tuple(tokens)
            self._cut[name] = cut
        for name, cut in self._cut.items():
            for word in cut:
                self._by_word.setdefault(word, []).append(name)


class Leads:
    """The words and the vectors of an owner's topic names. Not locked: the owner of the tree is."""

    def __init__(self, dense: Dense) -> None:
        self._dense, self.names = dense, TopicNames()
        self._placed: WeakKeyDictionary[VectorTable, tuple[tuple[object, ...], list[str], Ints]] = WeakKeyDictionary()

    def of(self, tree: TopicTable, moves: Moves, cue: Cue, view: EpisodeView) -> list[Led]:
        """The topics that a message leads to, the surest first."""
        ways = [
            *self.names.led(tree, cue), *by_table(tree, cue, moves), *_by_words(view, moves, cue),
            *self._by_meaning(tree, cue), *self._by_likeness(view, moves, cue),
        ]  # fmt: skip
        return surest(ways)

    def placed(self, tree: TopicTable, table: VectorTable) -> tuple[list[str], Ints]:
        """The topics, and where in a table the vector of each stands, -1 where it has none; looked up once either has changed."""
        key = (tree, tree.version, len(table), table.losses)
        if table not in self._placed or self._placed[table][0] != key:
            paths = list(tree)
            places = table.lookup([text_key(spoken(path)) for path in paths]) if paths else np.zeros(0, np.int64)
            self._placed[table] = key, paths, np.asarray(places, np.int64)
        return self._placed[table][1:]

    def _by_meaning(self, tree: TopicTable, cue: Cue) -> list[Led]:
        """Topics whose name is near in meaning, as far as it has a vector."""
        vector, floors, table = cue.vector, self._dense.thresholds, self._dense.table(TABLE)
        if vector is None or floors is None or table is None:
            return []
        paths, places = self.placed(tree, table)
        having, scores = places >= 0, np.full(len(paths), -np.inf)
        if having.any():
            scores[having] = table.dot(places[having], vector)
        return _nearest(paths, scores, floors.lore)

    def _by_likeness(self, view: EpisodeView, moves: Moves, cue: Cue) -> list[Led]:
        """Topics of the slices that are nearest in meaning."""
        floors, relevance = self._dense.thresholds, likeness(cue, view)
        if relevance is None or floors is None:
            return []
        best = (
            np.argpartition(-relevance, FROM_SLICES)[:FROM_SLICES] if len(view) > FROM_SLICES else np.arange(len(view))
        )
        return _nearest(_topics_of(view, best.tolist(), moves), relevance[best], floors.diary)


def likeness(cue: Cue, view: EpisodeView) -> NDArray[np.float64] | None:
    """(n,) cosines of the slices of a view with the message, worked out once; None without vectors."""
    vector = cue.vector
    if vector is None:
        return None
    kept = cue.once(f"likeness {id(view)}", lambda: (view, view.relevance(vector)))  # held: no other view has its id
    return kept[1]


def sharing(view: EpisodeView, telling: Sequence[str]) -> dict[int, list[str]]:
    """``by_keyword`` of a view, those that share most words first, then the newest; without a word that more than ``COMMON``
    have."""
    shared = view.by_keyword([word for word in telling if len(view.with_keyword(word)) <= COMMON])
    return {i: shared[i] for i in sorted(shared, key=lambda i: (-len(shared[i]), -view.since[i], -i))}


def surest(ways: Sequence[Led]) -> list[Led]:
    """Each topic once, the surest first; not the parent of one, which comes with it."""
    best: dict[str, Led] = {}
    for led in sorted(ways, key=lambda led: -led.strength):
        best.setdefault(led.path, led)
    ranked = sorted(best.values(), key=lambda led: (-led.strength, -led.path.count(ARROW), led.path))
    kept = [led for led in ranked if not any(one is not led and is_within(one.path, led.path) for one in ranked)]
    return kept[:MOST_CUES]


def by_table(tree: TopicTable, cue: Cue, moves: Moves = ()) -> list[Led]:
    """Topics that the table of everyday domains would choose for the message, as far as they are there."""
    paths = (tree.nearest(moved(path, moves)) for path in topic_rules.paths_in(cue.text)[:MOST_CUES])
    return [Led(path, BY_TABLE) for path in paths if path]


def _by_words(view: EpisodeView, moves: Moves, cue: Cue) -> list[Led]:
    """Topics of the slices whose keywords, subject or object the message has."""
    meeting = sharing(view, words.keywords(cue.text))
    best = list(meeting)[:FROM_SLICES]
    return [
        Led(path, BY_WORDS, tuple(meeting[i]))
        for i, path in zip(best, _topics_of(view, best, moves), strict=True)
        if path
    ]


def _nearest(paths: Sequence[str], scores: np.ndarray, floor: float) -> list[Led]:
    best = np.argsort(-scores, kind="stable")[:MOST_CUES].tolist()
    return [Led(paths[i], min(1.0, float(scores[i]))) for i in best if paths[i] and meets(float(scores[i]), floor)]


def _topics_of(view: EpisodeView, places: Sequence[int], moves: Moves) -> list[str]:
    episodes = view.episodes(places)
    if len(episodes) != len(places):  # the cache has moved on since the view was made
        return [""] * len(places)
    return [moved(topic_path(episode.event.topic), moves) for episode in episodes]


def spoken(path: str) -> str:
    """A path as an embedding model reads it."""
    return path.replace(ARROW, " ")
