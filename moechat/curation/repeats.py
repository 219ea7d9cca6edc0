"""Which exchanges repeat words that are about to be forgotten."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from moechat.model import Exchange
from moechat.recall.layers import Layers
from moechat.store.erasure import Gone

HAN, WORDS = 6, 4  # So many Chinese characters, or other words, in a row are a repetition.
LOOKED_AT = 60  # The exchanges that are nearest in words are looked at.
_WORD = re.compile(r"[\u4e00-\u9fff]|[^\W\u4e00-\u9fff]+")


def repeats(layers: Layers, lost: Gone) -> list[str]:
    """The ids of exchanges that stay and share a run of words, or the object of a lost fact, with what goes, oldest first.

    Looked at are those that have the most words in common with it.
    """
    exchanges = layers.store.exchanges.of(lost.exchanges)
    texts = [text for one in exchanges.values() for text in (one.sent, one.char)]
    texts += [one.event.text for one in lost.episodes] + [one.text for one in lost.facts]
    targets = {one.draft.target.casefold() for one in lost.facts if len(one.draft.target) > 1}
    phrases = set(runs(texts))
    near: dict[str, Exchange] = {}
    for text in [*texts, *targets]:
        near |= {one.id: one for one in layers.diary.with_words(text, LOOKED_AT) if one.id not in exchanges}
    repeating = [one for one in near.values() if _repeats(one, phrases, targets)]
    return [one.id for one in sorted(repeating, key=lambda one: (one.at, one.id))]


def _repeats(exchange: Exchange, phrases: set[tuple[str, ...]], targets: Iterable[str]) -> bool:
    words = f"{exchange.sent}\n{exchange.char}"
    return not phrases.isdisjoint(runs([words])) or any(target in words.casefold() for target in targets)


def runs(texts: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """Every run of words that is long enough to be a repetition."""
    for text in texts:
        words = [word.casefold() for word in _WORD.findall(text)]
        for start in range(len(words)):
            run = tuple(words[start : start + HAN])
            is_han = all("\u4e00" <= word <= "\u9fff" for word in run)
            length = HAN if is_han else WORDS
            if len(run) >= length:
                yield run[:length]
