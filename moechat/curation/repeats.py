"""Which exchanges repeat words that are about to be forgotten.

What many exchanges have is how people talk; what few have is what was told. So an exchange repeats another if it has a good part
of its rare words, or a run of its words that few others have. It repeats a fact that has the fact's object in it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from moechat.language import words
from moechat.model import Exchange
from moechat.recall.layers import Layers
from moechat.store.erasure import Gone

HAN, WORDS = 6, 4  # Chinese characters, or other words, in a row that make a run.
LOOKED_AT = 60  # The exchanges that are nearest in words are looked at.
SAYING = 6  # A run that more of them have is a way of speaking.
ENOUGH = (
    0.2  # An exchange repeats what it has this part of, by rarity: in a month of talk it finds what a reader would.
)
MOST = 12
_WORD = re.compile(r"[\u4e00-\u9fff]|[^\W\u4e00-\u9fff]+")

Run = tuple[str, ...]


def repeats(layers: Layers, lost: Gone) -> list[str]:
    """The ids of exchanges that stay and repeat some of what goes, oldest first. Of many, the ``MOST`` that repeat most of it."""
    exchanges = layers.store.exchanges.of(lost.exchanges)
    texts = [f"{one.sent}\n{one.char}" for one in exchanges.values()]
    texts += [] if texts else [*(one.event.text for one in lost.episodes), *(one.text for one in lost.facts)]
    targets = {one.draft.target.casefold() for one in lost.facts if len(one.draft.target) > 1}
    matters = [layers.diary.rare_words(_words(text)) for text in texts]
    near: dict[str, Exchange] = {}
    sides = [side for text in texts for side in text.split("\n")]  # of each, those that say it the same way are near
    for text in [*sides, *targets, *map(" ".join, matters)]:
        near |= {one.id: one for one in layers.diary.with_words(text, LOOKED_AT) if one.id not in exchanges}
    weights = _weights(near.values(), matters, targets, set(runs(texts)))
    best = sorted((one for one in near.values() if weights[one.id]), key=lambda one: (-weights[one.id], one.at, one.id))
    return [one.id for one in sorted(best[:MOST], key=lambda one: (one.at, one.id))]


def _weights(
    near: Collection[Exchange],
    matters: Sequence[Mapping[str, float]],
    targets: Collection[str],
    phrases: Collection[Run],
) -> dict[str, float]:
    """How much of what goes each exchange repeats, 0 where it is too little: the greatest part of one matter that it has, by
    the rarity of its words; a target or a run counts as a whole."""
    texts = {one.id: f"{one.sent}\n{one.char}" for one in near}
    shared = {id_: set(runs([text])).intersection(phrases) for id_, text in texts.items()}
    having = Counter(run for of_one in shared.values() for run in of_one)
    weights = {}
    for id_, text in texts.items():
        spoken, folded = _words(text), text.casefold()
        part = max((_part(matter, spoken) for matter in matters), default=0.0)
        telling = sum(target in folded for target in targets) + any(having[run] <= SAYING for run in shared[id_])
        weights[id_] = telling + (part if part >= ENOUGH else 0.0)
    return weights


def _part(matter: Mapping[str, float], spoken: Collection[str]) -> float:
    return sum(worth for word, worth in matter.items() if word in spoken) / (sum(matter.values()) or 1.0)


def _words(text: str) -> set[str]:
    return {word for word in words.tokens(text, bigrams=False) if not words.is_stop_word(word)}


def runs(texts: Iterable[str]) -> Iterator[Run]:
    """Every run of words that is long enough."""
    for text in texts:
        spoken = [word.casefold() for word in _WORD.findall(text)]
        for start in range(len(spoken)):
            run = tuple(spoken[start : start + HAN])
            is_han = all("\u4e00" <= word <= "\u9fff" for word in run)
            length = HAN if is_han else WORDS
            if len(run) >= length:
                yield run[:length]
