"""The letter: what a character knows and since when, as one would write it to the person it is about."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta

from moechat.ai.offline.retelling import fact_to_user
from moechat.memory import unranked
from moechat.memory.contradiction import entity
from moechat.model import Episode, Fact
from moechat.recall import plans, profile
from moechat.recall.fragments import Names
from moechat.recall.layers import Layers
from moechat.rules.message import language_of
from moechat.store.finding_records import APART
from moechat.store.search import Kind

MOST = 12  # Sentences about the user.
MOST_AHEAD, MOST_ENDED, MOST_MATTERS, MOST_PAGES = 8, 12, 6, 14
AHEAD = timedelta(days=400)  # Plans up to then are told.
PAST = timedelta(days=14)  # A plan whose day is longer ago is over.
A_DAY = timedelta(days=1)
PEOPLE = 8
OF_EACH = 3  # Memories of each of the people.
LATELY = 6

_DATE = re.compile(  # It stands before the sentence, and so does what 昨天 meant.
    r"\s*(?:[今昨前]天|[今昨]晚|今早|\b(?:today|yesterday|tonight|last night)\b)?\s*[（(]\d{4}-\d\d-\d\d[^（()）]*[)）]"
)


@dataclass(frozen=True)
class Sentence:
    """A sentence of the letter, and the memory that it says. It happened from ``at`` until ``ends``, None for that day alone.
    ``since`` and ``until`` are days, months or years (2022-05), "" where nobody knows."""

    id: str
    text: str
    at: datetime | None = None
    since: str = ""
    until: str = ""
    ends: datetime | None = None


@dataclass(frozen=True)
class Letter:
    """What is known of the user, the most telling first, and what they asked for; what is to come and what was promised; of
    others by name; what happened lately, and what was thought; what moves the user's life, and what was so and is no more; the
    days that come round, what only the two of them have, and what she wrote of her days."""

    of_you: Sequence[Sentence] = ()
    boundaries: Sequence[Sentence] = ()
    plans: Sequence[Sentence] = ()
    promises: Sequence[Sentence] = ()
    people: Sequence[tuple[str, Sequence[Sentence]]] = ()
    happened: Sequence[Sentence] = ()
    thoughts: Sequence[Sentence] = ()
    matters: Sequence[Sentence] = ()
    ended: Sequence[Sentence] = ()
    days: Sequence[Sentence] = ()
    ours: Sequence[Sentence] = ()
    daybook: Sequence[Sentence] = ()

    @property
    def is_empty(self) -> bool:
        return not any(getattr(self, one.name) for one in fields(self))


def to_you(text: str, user_name: str) -> str:
    """A memory of the user, told to them: 用户讨厌香菜 → 你讨厌香菜; as it is where that cannot be."""
    text = fact_to_user(text, user_name, language_of(text)) or text
    return text[:1].upper() + text[1:]


def letter(layers: Layers) -> Letter:
    """The letter as memory stands now. What hurts, and a day of grief, is in none, but among what moves the user's life."""
    archived, character, now = layers.store.state.archived, layers.character(), layers.now()
    called, switches = Names(character.user_name, character.name, character.language), layers.config().recall
    shared = [one for one in unranked.ours(layers.core) if one.id not in archived] if switches.ours else []
    days = [one for one in layers.days.all_of(now) if one.id not in archived] if switches.days else []
    moving = [one for one in layers.episodic.open_matters(now) if _is_own(one) and not one.event.is_ahead]
    matters = moving[:MOST_MATTERS]
    # Each memory stands in one part alone.
    elsewhere = {one.id for one in shared} | {one.id for one in days} | {one.id for one in matters}
    unseen = archived | elsewhere
    facts = [one for one in layers.store.search.facts()[::-1] if one.id not in unseen and one.draft.mark != "delicate"]
    mine = [fact for fact in facts if fact.draft.entity == "user" and fact.draft.kind not in ("boundary", *APART)]
    care = [fact for fact in mine if fact.draft.mark == "care"]
    always = [fact for fact in profile.known(layers.core) if fact.draft.entity == "user"]
    own = [fact for fact in mine if fact.by == "owner"]
    of_you = [*{one.id: one for one in (*care, *always, *own, *mine) if one.id not in elsewhere}.values()]

    def told(text: str) -> str:
        return called.line(to_you(text, character.user_name))

    def as_sentence(fact: Fact, until: str = "") -> Sentence:
        since = fact.draft.start or (f"{fact.at:%Y-%m-%d}" if fact.at else "")
        return Sentence(fact.id, told(fact.text), fact.at, since, until)

    people: dict[str, list[Fact]] = {}
    for fact in facts:
        name = fact.draft.entity
        if name not in ("user", "character", character.name) and not fact.draft.generic:
            people.setdefault(name, []).append(fact)

    def lately(kind: Kind) -> list[Sentence]:
        ids = layers.store.search.listed([kind], limit=4 * LATELY)
        episodes = layers.store.findings.by_ids(ids)
        there = [episodes[id_] for id_ in ids if id_ in episodes and id_ not in elsewhere]
        fitting = [one for one in there if one.event.mark != "delicate" and not one.event.is_ahead]
        return sorted(map(as_told, fitting), key=lambda one: one.at or now, reverse=True)[:LATELY]

    def as_told(episode: Episode) -> Sentence:
        happened = episode.event.happened
        text = _DATE.sub("", episode.event.text) if happened else episode.event.text
        ends = happened[1] if happened and happened[1] - happened[0] > A_DAY else None
        return Sentence(episode.id, told(text), happened[0] if happened else episode.at, ends=ends)

    view = layers.episodes.view(now)
    ahead = [one for one in view.plans(now - AHEAD, now + AHEAD) if _is_own(one) and one.id not in archived]
    promises = [one for one in ahead if plans.is_promise(one.event, character.name)]
    coming = [
        one for one in ahead if one not in promises and one.event.mark != "delicate"
        and (one.event.happened[1] if one.event.happened else one.since) > now - PAST
    ]  # fmt: skip
    coming.sort(key=lambda one: one.event.happened[0] if one.event.happened else one.since)
    over = sorted(layers.core.former(), key=lambda one: one.by.since, reverse=True)
    ended = [
        as_sentence(one.fact, one.until or f"{one.by.since:%Y-%m-%d}") for one in over
        if _is_own(one.fact) and entity(one.fact.draft) == "user"
        and one.fact.draft.mark != "delicate" and one.fact.id not in archived
    ]  # fmt: skip
    of_days = [Sentence(one.id, told(one.text)) for one in days if not one.is_grave]
    grave = [Sentence(one.id, told(one.text)) for one in days if one.is_grave and one.id not in {m.id for m in matters}]
    return Letter(
        [as_sentence(fact) for fact in of_you[:MOST]],
        [as_sentence(fact) for fact in layers.core.view().boundaries],
        [as_told(one) for one in coming[:MOST_AHEAD]],
        [as_told(one) for one in promises[-MOST_AHEAD:]],
        [(name, [as_sentence(fact) for fact in several[:OF_EACH]]) for name, several in list(people.items())[:PEOPLE]],
        lately("event"),
        lately("reflection"),
        [*map(as_told, matters), *grave],
        ended[:MOST_ENDED],
        of_days,
        [as_sentence(one) for one in shared],
        [Sentence(one.id, one.text, one.at) for one in unranked.pages(layers.store)[: -MOST_PAGES - 1 : -1]],
    )


def _is_own(memory: Fact | Episode) -> bool:
    return memory.by != "author"
