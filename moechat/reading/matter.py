"""What moves a life: a death, an illness, work lost or won, a birth and the like, heard by the examples in ``matters``, where
``everyday`` is of none of them: by nearness, and word by word (``heard.npz``, read by ``network``). And which of it is open:
told, not ended by what was told later, and not so long ago that it has faded.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

from moechat.language import words
from moechat.model import Episode
from moechat.reading import nearness
from moechat.reading.saying import EVERYDAY, LONGEST, MATTERS, MOST_READ, Kinds, log_odds, plain, sentences
from moechat.when import both_ends

LIKELY = 0.57  # From this score on a message is an event, and what it tells of matters as much as its kind does.
IN_PART = 0.9  # From this score on one clause of it is enough.
STATED = 0.85  # From this score on it is one also where it is another's, or states a fact besides.
ENDING = 0.9  # From this score on it brings others to an end.
HEARD = 0.4  # From this score on a message tells of a matter.
SURELY = 3.0  # How surely it is a matter of its kind counts this much beside its importance.
FITTED = Path(__file__).with_name("heard.npz")
READ = 0.03  # The log odds that it is one, as it is read word by word, count so much beside how near it lies.
FAR = 0.25  # What lies farther than this is not read word by word: by that alone it would hardly be one.
BY_CHANCE = 0.08  # A sentence counts so much less, times the natural logarithm of how many there are.
FAINT = 0.32  # From this score on it may be one, and matters as much less as it is unsure.


@dataclass(frozen=True)
class KindOfMatter:
    """``importance``: 0..1, of an event of this kind at least. ``open``: how long it moves a life if nothing ends it. ``ends``:
    the kinds that a later one of this kind brings to an end."""

    importance: float
    open: timedelta
    ends: Collection[str] = ()


KINDS: Mapping[str, KindOfMatter] = MappingProxyType({
    name: KindOfMatter(of["importance"], timedelta(days=of["days"]), of.get("ends", ()))
    for name, of in tomllib.loads(Path(__file__).with_name("matters.toml").read_text("utf-8")).items()
})  # fmt: skip
LEAST = round(min(kind.importance for kind in KINDS.values()) * FAINT / LIKELY, 2)
"""What may be a matter is never less important than this."""
OF_ONE = frozenset({"work_lost", "work_won", "break_up", "love"})
"""There is one of these at a time; of the others one ends another only where both name the same."""


@dataclass(frozen=True)
class Matter:
    """``kind`` is one of ``KINDS``; ``score`` is how much nearer its examples are than everyday ones, about 0..1."""

    kind: str
    score: float

    @property
    def is_heard(self) -> bool:
        return self.score >= HEARD


NO_MATTER = Matter("", 0.0)


@lru_cache(maxsize=4096)
def matter(text: str) -> Matter:
    """The matter that a text comes nearest to, as a whole or in the sentence that tells most; ``NO_MATTER`` where nothing can be
    weighed. A sentence counts less the more there are: the gravest of many is grave by chance. What tells most is read word by
    word as well, with its neighbours, which tells apart what is said in like words: my friend died, my phone died."""
    text = plain(text)
    # How loudly it is told is no part of it.
    whole, among = both_ends(text, LONGEST).strip(" \n\t.。!！~～…"), sentences(text)
    # A few sentences are embedded one by one, many at once, as what kind of saying they are asks for them.
    groups = [among] if len(among) > MOST_READ else [(one,) for one in among]
    scores = nearness.each(MATTERS, [whole], *groups) if whole else []
    if not scores:
        return NO_MATTER
    likely = [(max(of[kind] for kind in KINDS) - of[EVERYDAY] + 1) / 2 for of in scores]
    by_chance = BY_CHANCE * math.log(len(among) or 1)
    best = max(range(len(likely)), key=lambda at: likely[at] - by_chance * (at > 0))
    score = likely[best] - by_chance * (best > 0)
    if score < FAR:
        return Matter(max(KINDS, key=scores[best].__getitem__), score)
    around = "\n".join(among[max(0, best - 2) : best + 1]) if best else whole
    network = Kinds.load(FITTED)
    read = dict(zip(network.kinds, network.chances(both_ends(around, LONGEST)).tolist(), strict=True))
    kind = max(KINDS, key=lambda name: scores[best][name] + 2 * READ * log_odds(read[name]))
    return Matter(kind, score - READ * log_odds(read[EVERYDAY]))


@dataclass(frozen=True)
class OpenMatter:
    """``weight`` is how much it weighs now: how surely it is one (``SURELY``) and how important its kind is, both by
    half less as it fades, and a little for each time it was told again. ``score``: how surely it is one, about 0..1."""

    episode: Episode
    weight: float
    score: float


def still_open(tellings: Sequence[tuple[Episode, str]], now: datetime) -> list[OpenMatter]:
    """The open matters, the weightiest first. ``tellings`` are events with the words that told them ("" where there are
    none), the newest first; the same words count once, and only what surely is a matter ends another."""
    still, heard = list[OpenMatter](), set[str]()
    later: list[tuple[str, frozenset[str], bool]] = []
    for episode, spoken in tellings:
        text = spoken or episode.event.text
        about = matter(text)
        if about.score < FAINT or words.fold(text) in heard:
            continue
        heard.add(words.fold(text))
        kind, names = KINDS[about.kind], frozenset(words.keywords(f"{episode.event.text} {spoken}", 12))
        is_over = any(
            is_sure and about.kind in KINDS[other].ends and (other in OF_ONE or not names.isdisjoint(others))
            for other, others, is_sure in later
        )
        again = sum(other == about.kind and not names.isdisjoint(others) for other, others, _ in later)
        later.append((about.kind, names, about.score >= ENDING))
        age = (now - episode.since) / kind.open
        if about.kind != "well" and not is_over and age < 1:
            weight = (SURELY * about.score + kind.importance) * (1 - age / 2) + min(again, 3) / 20
            still.append(OpenMatter(episode, weight, about.score))
    return sorted(still, key=lambda one: -one.weight)
