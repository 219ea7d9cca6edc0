"""The diary's search by meaning and by words, those in an asked time first; and whether what it found belongs to the question.

The score of a document for a question is a sum of a few features, each a number of about the same
size: how near its meaning is and that of what was said around it, which share of the question's words it has and its
surroundings have, who said it, and whether it tells something of the kind that is asked for. ``WEIGHTS`` is that sum. Words count
as far as those of the question were ever heard: who asks in other words than it was told with is answered by meaning. Of a short
talk the best document comes first, and the others make way for those of other talks.

Rank says which memory is best, never whether it is good: something is always nearest. So a hit passes a ``Floor`` where its
features add up to enough; or where its meaning is near enough by the model's own measure, which is
what finds anything in the first days, when the diary knows few words. docs/recall.md shows what the numbers cost and save.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moechat.index import traits
from moechat.index.hybrid import DAY_S, Floats, HybridIndex, Ints, Times, happened_in
from moechat.index.lexical import rarity, saturate
from moechat.index.vectors import MISSING, meets
from moechat.language import words
from moechat.reading.saying import chances
from moechat.when.names import has_han

WEIGHTS: Mapping[str, float] = {
    "dense": 0.9,  # cosine, in standard deviations above the mean of all
    "around": 0.6,  # the same of the neighbours in the talk, by NEAR
    "lexical": 1.0,  # share of the question's words, weighted by rarity, that the document has
    "window": 4.5,  # the same of the document with its neighbours in the talk, counts fading by distance
    "answers": 1.0,  # the same of the question before, where the document follows one in the talk
    "speaker": 2.5,  # said by the one whom the question names; by the side that 我 or 你 means, less
    "tells": 1.5,  # tells a time, where the question asks when
    "name": 0.6,  # tells a name or a title
    "asks": -2.25,  # is a question itself: it seldom holds the answer
    "hint": 1.5,  # told or happened in a time that is only hinted at
    "lately": 3.0,  # told lately, as far as the question tells more than it asks: who tells goes on with the last talks
}
"""Fitted by leaving one conversation out and rounded; but ``dense`` and ``lately`` were chosen by hand on nine kinds of talk that
had been looked at (docs/recall.md). benchmarks/ablate.py --features shows what each is worth."""
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
LATELY_S = 30 * DAY_S
"""After so long, counted from the last that was told, a document is told lately by 1/e."""
FULL_BELOW = 3000  # Of fewer documents all are scored; else the best, and what is near them.
SCALE_NEEDS = 3  # Vectors: of two, one lies a deviation above their mean and one below, however near either is.
BEST = 50  # Of the best by words, and of those by meaning.
ENOUGH = 4.5
"""Sum of a hit's features."""
HALF = 0.5
"""Where something belongs to a question, what is this part as relevant as the best hit does, too."""
ENOUGH_WORDS = 2.0
"""The same where a hit has no vector."""
SAID_MUCH = 1.8
"""How many words as rare as can be a question must be worth to count in full: 谢谢 alone says little."""
YOUNG = 50
"""Documents at which both count half: a diary of the first days has heard few words, which says nothing about a question."""
LITERAL_SHARE = 0.5
"""Of the question's words, by rarity: what has them was meant, however far its vector lies."""
BELONGS = {"relevance": 0.095, "share": 0.105, "meaning": 0.71, "no_memory": -0.8}
"""What counts for a question that something of the diary belongs to it, about 1 being enough: the relevance of the best hit, the
share of its words that the diary knows, the mean cosine of the three nearest over the threshold of the model, and how likely it
is of a kind that wants no memory. Fitted on nine kinds of talk against questions of other diaries and small talk
(docs/recall.md)."""
NO_MEMORY, ABOUT_NOBODY = ("greeting", "goodnight"), "question"
"""The kinds of message that want no memory; a question for knowledge, too, but none that is about the character."""
NAMED = 0.6
"""How far it counts there who said the best hit: that the one is known whom the question names says little of its matter."""
BY_CHANCE = 0.245
"""The bar, for every deviation that the nearest of so many documents lies above their mean by chance: in a larger diary something
lies near to anything."""
LATIN = 0.07  # Taken from the bar of a text without Chinese: in English what belongs together lies farther apart.
TELLS = 0.4  # Added to the bar of a message that asks nothing.
UNHEARD_NAME = 0.4  # So does one that names somebody or something that the diary never heard of.
LOOKED_AT = 30  # Top hits inspected.
NEAREST = 3


@dataclass(frozen=True)
class Ranked:
    """The outcome of a search, best first. ``features`` are the weighted parts of the score; ``inside`` is 1 where the
    document was told or happened in an asked span; ``literal``, the share of the question's words that it has, and ``cosine`` are
    not weighted (nan where there is no vector). ``present``
    (documents, names) says which words of the question each has."""

    docs: Ints
    scores: Floats
    features: Mapping[str, Floats]
    names: list[str]
    present: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.docs)

    def reasons(self, i: int) -> tuple[float, dict[str, float], list[str]]:
        """(score, features that count, words of the question: stems, character pairs) of the i-th document."""
        values = {name: float(column[i]) for name, column in self.features.items()}
        features = {name: value for name, value in values.items() if value and value == value}
        return float(self.scores[i]), features, [self.names[j] for j in self.present[i].nonzero()[0].tolist()]


def in_turns(rankings: Sequence[Ranked], count: int) -> tuple[Ranked, Ints]:
    """The first of each, then the second of each, and so on, a document once, ``count`` at most; and where each of them stands
    in the rankings laid end to end."""
    docs = np.concatenate([ranked.docs for ranked in rankings])
    turns = np.concatenate([np.arange(len(ranked)) for ranked in rankings])
    order = np.argsort(turns, kind="stable")
    _, first = np.unique(docs[order], return_index=True)
    places = order[np.sort(first)][:count]
    names = [name for ranked in rankings for name in ranked.names]
    present = np.zeros((len(docs), len(names)), np.bool_)
    row = column = 0
    for ranked in rankings:
        present[row : row + len(ranked), column : column + len(ranked.names)] = ranked.present
        row, column = row + len(ranked), column + len(ranked.names)
    features = {
        name: np.concatenate([ranked.features[name] for ranked in rankings])[places]
        for name in rankings[0].features
        if all(name in ranked.features for ranked in rankings)
    }
    scores = np.concatenate([ranked.scores for ranked in rankings])[places]
    return Ranked(docs[places], scores, features, names, present[places]), places


def search(
    index: HybridIndex,
    text: str,
    vector: NDArray[np.float32] | None,
    *,
    k: int = 200,
    spans: Sequence[Times] = (),
    hints: Sequence[Times] = (),
    hidden: Collection[int] = (),
    full_below: int = FULL_BELOW,
) -> Ranked:
    """The best ``k`` documents for ``text``.

    ``vector`` is that of the question, (dim,) float32 at unit length; None: words and time serve. With ``spans``
    (epoch seconds, inclusive) what was told or happened in them comes first.
    ``hints`` are times that the text names without asking for them, or vaguely (最近): there, a document gains a little.
    ``hidden`` documents are neither found nor looked at as neighbours.
    """
    with index.lock:
        return _Ranking(index, text, vector, spans, hints, hidden, full_below).ranked(k)


class _Ranking:
    """One search: the question, the candidate documents and their scores."""

    def __init__(
        self,
        index: HybridIndex,
        text: str,
        vector: NDArray[np.float32] | None,
        spans: Sequence[Times],
        hints: Sequence[Times],
        hidden: Collection[int],
        full_below: int,
    ) -> None:
        self.index, self.text, self.full_below = index, text, full_below
        self.vector = vector if index.vectors is not None else None
        self.order = index.order()
        self.meant = {i for i, name in enumerate(index.speakers) if traits.names(text, name)}
        is_of_character = self.meant or traits.side_meant(text) == traits.CHARACTER_SIDE
        self.bare = 0 if is_of_character else traits.BARE
        _, tokens, worth, self.heard = _asked(index, text)
        rarest = np.sort(np.argsort(-worth, kind="stable")[:MOST_WORDS])
        self.names, self.worth = [tokens[i] for i in rarest], worth[rarest]
        self.visible = index.columns["alive"].copy()
        concealed = np.fromiter(hidden, np.int64, len(hidden))
        self.visible[concealed[(concealed >= 0) & (concealed < len(self.visible))]] = False
        if not spans:
            # What says no more than the text is no memory for it. What answers a question may have no other words than it has:
            # there, only a question is a repeat.
            repeats = index.lexical.made_of(words.tokens(text))
            asking = index.columns["traits"][repeats] & traits.ASKS > 0
            self.visible[repeats[asking] if traits.asks(text) else repeats] = False
        self.inside, self.hinted = self._inside(spans), self._inside(hints)

    def ranked(self, k: int) -> Ranked:
        docs = self._candidates(k)
        if not len(docs) or k <= 0:
            return Ranked(np.zeros(0, np.int64), np.zeros(0), {"inside": np.zeros(0)}, [], np.zeros((0, 0), np.bool_))
        features, literal, present = self._features(docs)
        inside = self.inside[docs].astype(np.float64)
        scores = sum(features.values()) + FIRST * inside
        features["repeats"] = repeats(*self.order.runs(docs), np.lexsort((-docs, -scores)))
        scores += features["repeats"]
        best = np.lexsort((-docs, -scores))[:k]
        features |= {"inside": inside, "literal": literal, "cosine": self.cosine}
        chosen = {name: values[best] for name, values in features.items()}
        return Ranked(docs[best], scores[best], chosen, self.names, present[best])

    def _inside(self, spans: Sequence[Times]) -> NDArray[np.bool_]:
        """Which documents were told, or tell of what happened, in a span."""
        inside = np.zeros(len(self.visible), np.bool_)
        dated = self.index.dated() if spans else np.zeros(0, np.int64)
        start, end = self.index.columns["start"][dated], self.index.columns["end"][dated]
        for first, last in spans:
            low, high = np.searchsorted(self.order.times, first), np.searchsorted(self.order.times, last, "right")
            inside[self.order.docs[low:high]] = True
            inside[dated[happened_in(start, end, (first, last))]] = True
        visible: NDArray[np.bool_] = inside & self.visible
        return visible

    def _candidates(self, k: int) -> Ints:
        """Ascending: all that may be found where they are few, else the best by words and meaning, and neighbours."""
        inside = np.flatnonzero(self.inside)
        pool = self.inside if len(inside) >= k else self.visible
        if np.count_nonzero(pool) <= self.full_below:
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

    def _features(self, docs: Ints) -> tuple[dict[str, Floats], Floats, NDArray[np.bool_]]:
        weights = self.index.weights or WEIGHTS
        beside = {distance: self.order.beside(docs, distance) for distance in FADING}
        reached = _distinct(np.concatenate(list(beside.values())))
        reached = reached[reached >= 0]
        at = {distance: np.searchsorted(reached, moved) for distance, moved in beside.items()}
        at = {distance: np.where(beside[distance] >= 0, place, len(reached)) for distance, place in at.items()}
        # Bare questions of the user's, where the text is not about the character's own words. What they ask for was told
        # elsewhere: they stand below all that tells, and lend the reply behind them nothing as its surroundings; that it
        # answers them still counts.
        bare = self.index.columns["traits"][reached] & self.bare > 0
        only_asks = np.append((reached % 2 == traits.USER_SIDE) & bare, False)
        side = None if self.meant else traits.side_meant(self.text)
        if self.meant and len(self.meant) < len(self.index.speakers):
            speaker = np.isin(self.index.columns["speaker"][docs], list(self.meant)) * 1.0
        else:
            speaker = np.zeros(len(docs)) if side is None else PRONOUN * (docs % 2 == side)
        is_reply = docs % 2 == traits.CHARACTER_SIDE
        lends = {distance: ~(is_reply & only_asks[place]) for distance, place in at.items()}
        lexical, window, answers, present = self._word_features(reached, at, lends)
        dense, around = self._dense_features(reached, at, lends)
        bits = self.index.columns["traits"][docs]
        values = {
            "dense": dense,
            "around": around,
            "lexical": lexical * self.heard,
            "window": window * self.heard,
            "answers": answers * self.heard,
            "speaker": speaker,
            "tells": (bits & traits.TELLS_TIME > 0) * float(traits.asks_when(self.text)),
            "name": bits & traits.NAMES > 0,
            "asks": self.index.columns["asking"][docs] * (1.0 + only_asks[at[0]]),
            "hint": self.hinted[docs],
            "lately": np.exp(-(self.order.times[-1] - self.index.columns["time"][docs]) / LATELY_S)
            * traits.telling(self.text),
        }
        tells = bits & traits.NOTHING == 0  # A reply that one does not know is no evidence, whatever was asked.
        features = {
            name: np.asarray(value, np.float64) * weights.get(name, 0.0) * tells for name, value in values.items()
        }
        return features, lexical * tells, present

    def _word_features(
        self, docs: Ints, at: Mapping[int, Ints], lends: Mapping[int, NDArray[np.bool_]]
    ) -> tuple[Floats, Floats, Floats, NDArray[np.bool_]]:
        """Shares of the question's words: in each document, its window, and the question it answers; which words."""
        lexical = self.index.lexical
        table, lengths = lexical.counts(docs, self.names)
        table[~self.visible[docs]] = 0
        table = np.vstack([table, np.zeros((1, len(self.names)), np.float32)])
        lengths = np.append(lengths, np.float32(0))
        share = self.worth / max(float(self.worth.sum()), 1e-9)
        counts, sizes = np.zeros((len(at[0]), len(self.names)), np.float32), np.zeros(len(at[0]), np.float32)
        for distance, fading in FADING.items():
            counts += np.float32(fading) * table[at[distance]] * lends[distance][:, None]
            sizes += np.float32(fading) * lengths[at[distance]]
        usual = lexical.average_length * sum(FADING.values())
        # Not by ``@``: of few columns OpenBLAS now and then warns of an invalid value, though all are finite and it is right.
        window = np.einsum("dw,w->d", saturate(counts, sizes, usual, k1=0.5, b=0.5), share)
        shares = np.einsum("dw,w->d", (table > 0).astype(np.float32), share)
        questions = np.append(self.index.columns["traits"][docs] & traits.ASKS > 0, False)
        return shares[at[0]], window, (shares * questions)[at[-1]], table[at[0]] > 0

    def _dense_features(
        self, docs: Ints, at: Mapping[int, Ints], lends: Mapping[int, NDArray[np.bool_]]
    ) -> tuple[Floats, Floats]:
        if self.vector is None:
            self.cosine = np.full(len(at[0]), np.nan)
            return np.zeros(len(at[0])), np.zeros(len(at[0]))
        assert self.index.vectors is not None
        cosine = np.asarray(self.index.vectors.dot(docs, self.vector), np.float64)
        # The model's own scale: mean and standard deviation over about five hundred documents spread evenly.
        every = self.order.docs
        sample = self.index.vectors.dot(every[:: max(1, len(every) // 500)], self.vector)
        sample = sample[sample != MISSING].astype(np.float64)
        has_scale = len(sample) >= SCALE_NEEDS
        mean, deviation = (float(sample.mean()), float(sample.std()) or 1.0) if has_scale else (0.0, math.inf)
        above = np.where((cosine == MISSING) | ~self.visible[docs], 0.0, (cosine - mean) / deviation)
        above = np.append(above, 0.0)
        cosine = np.append(np.where(cosine == MISSING, np.nan, cosine), np.nan)
        self.cosine = cosine[at[0]]
        beside = [weight * above[at[distance]] * lends[distance] for distance, weight in NEAR.items()]
        return above[at[0]], np.sum(beside, axis=0)


def repeats(runs: Ints, sizes: Ints, order: Ints) -> Floats:
    """What documents lose to better ones of the same short talk: ``runs`` and ``sizes`` are of each, ``order`` its places."""
    by_run = np.argsort(runs[order], kind="stable")
    ordered = runs[order][by_run]
    better = np.zeros(len(runs))
    better[order[by_run]] = np.arange(len(runs)) - np.searchsorted(ordered, ordered)
    share: Floats = np.minimum(1.0, SHORT / sizes) ** 2
    return REPEATS * better * share


def _asked(index: HybridIndex, text: str) -> tuple[str, list[str], Floats, float]:
    """A question without the names of those who speak here, its words, what each is worth to the diary, and how far they are
    known to it: their weight within that of all, 0 … 1. A word that it never heard counts as the rarest; of two characters beside
    each other that says nothing."""
    bare = traits.without_names(text, index.speakers)
    tokens = list(dict.fromkeys(traits.asked_words(bare)))
    worth = index.lexical.idf(tokens)
    rarest = float(rarity(0, index.lexical.count)) * index.lexical.count / (index.lexical.count + YOUNG)
    weight = float(worth.sum())
    whole = [word for word in dict.fromkeys(words.tokens(bare, bigrams=False)) if not words.is_stop_word(word)]
    unheard = np.count_nonzero(index.lexical.idf(whole) == 0) * rarest
    return bare, tokens, worth, weight / max(weight + unheard, SAID_MUCH * rarest, 1e-9)


def _distinct(values: Ints) -> Ints:
    """Ascending, without repeats (np.unique costs five times as much on so few)."""
    ordered = np.sort(values)
    return ordered[np.append(True, ordered[1:] != ordered[:-1])] if len(ordered) else ordered


@dataclass(frozen=True, slots=True)
class Floor:
    """The floor of one question. ``threshold`` is the cosine that suffices, ``share`` how far its words count (0..1), ``bar``
    what its signs must add up to, ``no_memory`` how likely it is of a kind that wants no memory; a ``young`` diary has too little
    in it to say that nothing belongs to a question. Of what ``says_little`` only what it names can be meant: there a memory has
    its words, and nothing is brought by meaning alone."""

    threshold: float
    share: float
    young: bool = False
    bar: float = 1.0
    says_little: bool = False
    no_memory: float = 0.0

    @classmethod
    def of(cls, text: str, index: HybridIndex, threshold: float) -> Floor:
        """The floor of a message for what an index holds, by the cosine that suffices."""
        bare, _, _, share = _asked(index, text)
        count = index.lexical.count
        bar = BY_CHANCE * (1 + math.sqrt(2 * math.log(max(count, 1)))) + TELLS * (not traits.asks(text))
        if not has_han(text):
            bar -= LATIN
            names = (name for name in traits.names_told(bare) if not traits.of(name) & traits.TELLS_TIME)
            named = [words.tokens(name) for name in names]
            bar += UNHEARD_NAME * any(not index.lexical.idf(tokens).any() for tokens in named)
        young = count < YOUNG
        likely = chances(text)
        kinds = NO_MEMORY if traits.side_meant(bare) == traits.CHARACTER_SIDE else (*NO_MEMORY, ABOUT_NOBODY)
        return cls(
            threshold,
            share,
            young,
            bar,
            says_little=not young and traits.says_little(bare),
            no_memory=sum(likely.get(kind, 0.0) for kind in kinds),
        )

    def belongs(self, features: Mapping[str, Any]) -> bool:
        """Whether anything of the diary belongs to the question, by its hits (arrays, the best hit first)."""
        cosine = np.nan_to_num(np.asarray(features.get("cosine", ()), np.float64))[:LOOKED_AT]
        if self.says_little and not np.any(self._has_words(features)):
            return False
        if self.young or not cosine.any():
            return True
        signs = {
            "relevance": float(np.max(self._relevance(features, NAMED)[:LOOKED_AT])),
            "share": self.share,
            "meaning": float(np.sort(cosine)[-NEAREST:].mean()) / self.threshold if self.threshold > 0 else 1.0,
            "no_memory": self.no_memory,
        }
        return sum(weight * signs[name] for name, weight in BELONGS.items()) >= self.bar

    def passes(self, features: Mapping[str, Any]) -> Any:
        """Which of all hits with these features (arrays, weighted, as the index gives them) are relevant, if anything belongs."""
        cosine, relevance = np.nan_to_num(features.get("cosine", 0.0)), np.asarray(self._relevance(features))
        enough = np.where(cosine == 0.0, ENOUGH_WORDS, ENOUGH)
        if not self.young:  # In a young diary anything might belong.
            enough = np.minimum(enough, HALF * np.max(relevance, initial=0.0))
        passes = (relevance >= enough) | self._has_meaning(features)
        return passes & self._has_words(features) if self.says_little else passes

    def _relevance(self, features: Mapping[str, Any], named: float = 1.0) -> Any:
        """The sum of a hit's features; who said it counts as far as ``named``."""
        counted = WEIGHTS.keys() - {"lately"}  # That something was told lately makes no answer of it.
        signs = sum(value for name, value in features.items() if name in counted)
        said_by = np.asarray(features.get("speaker", 0.0))
        # 我 and 你 rank the sides; half of the diary is told by each.
        return signs - said_by * np.where(said_by < WEIGHTS["speaker"], 1.0, 1.0 - named)

    def near(self, features: Mapping[str, Any]) -> Any:
        """Whether a hit is about the same by meaning alone, or has the words (seed 003's filter on a named time); of arrays,
        which are."""
        return self._has_words(features) | self._has_meaning(features)

    def _has_words(self, features: Mapping[str, Any]) -> Any:
        return np.asarray(features.get("literal", 0.0)) >= LITERAL_SHARE

    def _has_meaning(self, features: Mapping[str, Any]) -> Any:
        return meets(features.get("cosine", -1.0), self.threshold)
