"""The letter: what a character knows, as one would write it to the person it is about."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from moechat.ai.offline.retelling import fact_to_user
from moechat.model import Episode, Fact
from moechat.recall import profile
from moechat.recall.layers import Layers
from moechat.store.search import Kind
from moechat.when.names import has_han

MOST = 12  # Sentences of the letter.
PEOPLE = 8
OF_EACH = 3  # Memories of each of the people.
LATELY = 6

_DATE = re.compile(  # It stands before the sentence, and so does what 昨天 meant.
    r"\s*(?:[今昨前]天|[今昨]晚|今早|\b(?:today|yesterday|tonight|last night)\b)?\s*[（(]\d{4}-\d\d-\d\d[^（()）]*[)）]"
)


@dataclass(frozen=True)
class Sentence:
    """A sentence of the letter, and the memory that it says."""

    id: str
    text: str
    at: datetime | None = None


@dataclass(frozen=True)
class Letter:
    """What is known of the user, the most telling first; of others by name; what happened lately, and what was thought."""

    of_you: Sequence[Sentence] = ()
    people: Sequence[tuple[str, Sequence[Sentence]]] = ()
    happened: Sequence[Sentence] = ()
    thoughts: Sequence[Sentence] = field(default_factory=tuple)


def to_you(text: str, user_name: str) -> str:
    """A memory of the user, told to them: 用户讨厌香菜 → 你讨厌香菜; as it is where that cannot be."""
    text = fact_to_user(text, user_name, "zh" if has_han(text) else "en") or text
    return text[:1].upper() + text[1:]


def letter(layers: Layers) -> Letter:
    """The letter as memory stands now. What hurts is in none."""
    archived, character = layers.store.state.archived, layers.character()
    facts = [one for one in layers.store.search.facts() if one.id not in archived and one.draft.mark != "delicate"][
        ::-1
    ]
    mine = [fact for fact in facts if fact.draft.entity == "user"]
    care = [fact for fact in mine if fact.draft.mark == "care"]
    always = [fact for fact in profile.known(layers.core) if fact.draft.entity == "user"]
    own = [fact for fact in mine if fact.by == "owner"]
    of_you = _once([*care, *always, *own, *mine])

    def as_sentence(fact: Fact) -> Sentence:
        return Sentence(fact.id, to_you(fact.text, character.user_name), fact.at)

    people: dict[str, list[Fact]] = {}
    for fact in facts:
        name = fact.draft.entity
        if name not in ("user", "character", character.name) and not fact.draft.generic:
            people.setdefault(name, []).append(fact)

    def lately(kind: Kind) -> list[Sentence]:
        ids = layers.store.search.listed([kind], limit=2 * LATELY)
        episodes = layers.store.findings.by_ids(ids)
        fitting = [episodes[id_] for id_ in ids if id_ in episodes and episodes[id_].event.mark != "delicate"]
        return [as_told(one) for one in fitting[:LATELY]]

    def as_told(episode: Episode) -> Sentence:
        happened = episode.event.happened
        text = _DATE.sub("", episode.event.text) if happened else episode.event.text
        return Sentence(episode.id, to_you(text, character.user_name), happened[0] if happened else episode.at)

    return Letter(
        [as_sentence(fact) for fact in of_you[:MOST]],
        [(name, [as_sentence(fact) for fact in several[:OF_EACH]]) for name, several in list(people.items())[:PEOPLE]],
        lately("event"),
        lately("reflection"),
    )


def _once(facts: Iterable[Fact]) -> list[Fact]:
    return list({fact.id: fact for fact in facts}.values())
