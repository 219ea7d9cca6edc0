"""Which grave matters of a life are open: told, not ended by what was told later, and not so long ago that they have faded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from moechat.language import words
from moechat.model import Episode
from moechat.reading.matter import ENDING, FAINT, KINDS, OF_ONE, matter

SURE = 3.0  # How surely it is a matter of its kind counts this much beside its importance.


@dataclass(frozen=True)
class OpenMatter:
    """``weight`` is how much it weighs now: how surely it is one, counted ``SURE`` times, and how important its kind is, both by
    half less as it fades, and a little for each time it was told again. ``score``: how surely it is one, about 0..1."""

    weight: float
    score: float


def still_open(tellings: Sequence[tuple[Episode, str]], now: datetime) -> Mapping[str, OpenMatter]:
    """The open matters, by the ids of their episodes. ``tellings`` are events with the words that told them ("" where there are
    none), the newest first; the same words count once, and only what surely is a matter ends another."""
    open_: dict[str, OpenMatter] = {}
    heard = set[str]()
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
            weight = (SURE * about.score + kind.importance) * (1 - age / 2) + min(again, 3) / 20
            open_[episode.id] = OpenMatter(weight, about.score)
    return open_
