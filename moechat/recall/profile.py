"""What a character always knows of its user: the stable part of the prompt, chosen when a context begins.

What is chosen is kept by id in the log (``freeze``) and drawn from the words that stand now: a restart draws the same, and
what was forgotten, corrected or replaced shows at once. Nothing delicate is in it, but that a state ended lately, since what is
not known to be over would be told as what is so, and what moves the user's life, softly.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from moechat import when
from moechat.language import words
from moechat.language.words import count_tokens
from moechat.memory.contradiction import entity, keyword_class
from moechat.memory.core import CoreMemory, Former
from moechat.memory.episodes import EpisodeView, is_held_back, overview
from moechat.model import LONG_AGO, Episode, Fact
from moechat.recall import plans, touch
from moechat.recall.layers import Layers
from moechat.rules.boundaries import concerns
from moechat.settings.character import USER_NAMES, Character

TOKENS = 150
# What one knows of a friend, the most telling first, and how much of each.
CLASSES = {
    "name": 1, "address": 1, "nickname": 1, "allergy": 4, "health": 3, "home": 1, "job": 1, "employer": 1, "school": 1,
    "partner": 1, "family": 4, "pet": 2, "friend": 2, "birthday": 1,
}  # fmt: skip
AHEAD = timedelta(days=400)  # Plans and promises that are known so long before their day.
MOST_PROMISES = 3
MOST_LOOKED_AT = 12  # The newest facts of a class that are looked at.
MOST_STATES = 3  # The facts of a class that a message may touch.
LATELY, MOST_OVER = timedelta(days=60), 3  # States that ended within this time are told, the newest of them.


@dataclass(frozen=True)
class Stable:
    """The profile and the overview of a context that began at ``since``."""

    since: datetime
    boundaries: Sequence[Fact] = ()
    facts: Sequence[Fact] = ()
    promises: Sequence[Episode] = ()
    overview: Sequence[Episode] = ()
    times: Mapping[str, int] = field(default_factory=dict)
    """By id, on how many days it was told what stands in the overview."""
    over: Sequence[Former] = ()

    @property
    def ids(self) -> list[str]:
        facts = [*(fact.id for fact in (*self.boundaries, *self.facts)), *(one.by.id for one in self.over)]
        return facts + [episode.id for episode in (*self.promises, *self.overview)]

    @property
    def name(self) -> str:
        """What the user said to be called, "" where nothing."""
        return next((f.draft.target for f in self.facts if keyword_class(f.draft) == "name"), "")

    def called(self, character: Character) -> str:
        """What the user is called: as the character's file has it, else as they said."""
        return self.name if self.name and character.user_name in USER_NAMES.values() else character.user_name


def chosen(layers: Layers, since: datetime, in_context: Collection[str], now: datetime) -> Stable:
    """What the stable part says of the memory as it is now."""
    view = layers.episodes.view(now)
    facts = known(layers.core)
    name = layers.character().name
    promises = [
        e for e in view.plans(now, now + AHEAD) if plans.is_promise(e.event, name) and not _is_over(layers, e, now)
    ]
    promises = promises[-MOST_PROMISES:]
    left = TOKENS - sum(count_tokens(fact.text) for fact in facts)
    while promises and sum(count_tokens(e.event.text) for e in promises) > left:
        promises.pop(0)
    off_limits = layers.core.off_limits("")
    config = layers.config()
    moving = layers.episodic.moving(now) if config.recall.what_matters and config.Agent.long_memory else ()
    before = overview(layers.episodes, now, in_context, config.roll.overview, moving)
    lines = by_source((fact.text, fact.draft.sources) for fact in facts)
    events = [
        e for e in before
        if not _is_over(layers, e, now) and not plans.is_promise(e.event, name)
        and not says_no_more(e.event.text, e.event.sources, lines) and not concerns(off_limits, e.event.text)
        and not (e.event.status == "planned" and any(plans.is_same(e.event, one.event) for one in promises))
    ]  # fmt: skip
    times = _times(view, events) if config.recall.what_matters else {}
    return Stable(since, layers.core.view().boundaries, facts, promises, events, times, lately_over(layers.core, now))


def _times(view: EpisodeView, events: Sequence[Episode]) -> dict[str, int]:
    """By id, on how many days each was told, its own the last of them; plans aside."""
    done = [(one, view.since[view.repeats(one)].tolist()) for one in events if one.event.status == "done"]
    moments = [(one, [datetime.fromtimestamp(at, one.since.tzinfo) for at in several]) for one, several in done]
    return {one.id: len({at.date() for at in several if at <= one.since}) for one, several in moments}


def by_source(lines: Iterable[tuple[str, Sequence[str]]]) -> dict[str, str]:
    """What lines of the prompt, each with the exchanges that it rests on, tell of each exchange."""
    told_of: dict[str, str] = {}
    for text, sources in lines:
        told_of |= {source: f"{told_of.get(source, '')} {words.fold(text)}" for source in sources}
    return told_of


def says_no_more(text: str, sources: Sequence[str], lines: Mapping[str, str]) -> bool:
    """Whether all telling words of a text stand in the lines about an exchange of its, which have its time beside them."""
    for span in when.resolve(text, LONG_AGO, use="writing"):
        text = text.replace(span.phrase, " ") if span.phrase else text
    content = words.keywords(text, 50)
    return any(all(word in lines[source] for word in content) for source in sources if source in lines)


def drawn(layers: Layers, ids: Sequence[str], since: datetime, now: datetime) -> Stable:
    """The stable part with these ids in present words, as far as they hold."""
    by_id, off_limits = layers.core.view().by_id, layers.core.off_limits("")
    held = [by_id[id_] for id_ in dict.fromkeys(ids) if id_ in by_id]
    facts = [f for f in held if f.draft.mark != "delicate" and _is_fit(f, off_limits)]
    view: EpisodeView = layers.episodes.view(now)
    moves = layers.config().recall.what_matters
    events = [
        e for e in view.having(ids)
        if (moves or not is_held_back(e)) and not _is_over(layers, e, now) and not concerns(off_limits, e.event.text)
    ]  # fmt: skip
    name = layers.character().name
    promises = [episode for episode in events if plans.is_promise(episode.event, name)]
    others = [episode for episode in events if not plans.is_promise(episode.event, name)]
    boundaries = [fact for fact in held if fact.draft.kind == "boundary"]
    over = [one for one in layers.core.former() if one.by.id in ids]
    return Stable(since, boundaries, facts, promises, others, _times(view, others) if moves else {}, over)


def lately_over(core: CoreMemory, now: datetime) -> list[Former]:
    """The states of the user's that ended lately, the oldest first."""
    return [
        one for one in core.former()
        if one.is_over and now - LATELY < one.by.since <= now and one.by is not one.fact
        and entity(one.fact.draft) == "user" and keyword_class(one.fact.draft) in touch.STATES
    ][-MOST_OVER:]  # fmt: skip


def states(core: CoreMemory) -> list[Fact]:
    """What is known of the user in the classes of a profile, delicate or not, the newest of each."""
    view = core.view()
    return [fact for name in CLASSES for fact in view.newest(name, MOST_STATES)]


def known(core: CoreMemory) -> list[Fact]:
    """The facts of a profile: of the user, none delicate, over or in doubt (care excepted), the most telling first, the newest of
    each class, ``TOKENS`` at most."""
    left, profile, off_limits = TOKENS, list[Fact](), core.off_limits("")
    view = core.view()
    fitting = (
        [fact for fact in view.newest(name, MOST_LOOKED_AT) if _belongs(fact) and _is_fit(fact, off_limits)][:most]
        for name, most in CLASSES.items()
    )
    for fact in itertools.chain.from_iterable(fitting):
        if (tokens := count_tokens(fact.text)) <= left:
            profile.append(fact)
            left -= tokens
    return profile


def _belongs(fact: Fact) -> bool:
    draft = fact.draft
    if fact.by == "author" or draft.mark == "delicate" or draft.polarity < 0 or draft.until:
        return False
    return fact.confirmed is not False or draft.mark == "care"


def _is_fit(fact: Fact, off_limits: Sequence[str]) -> bool:
    """Whether a fact may stand in the profile: no boundary, which stands above it, and nothing that is off limits."""
    return fact.draft.kind != "boundary" and not concerns(off_limits, fact.text)


def _is_over(layers: Layers, episode: Episode, now: datetime) -> bool:
    """Whether it is a plan whose day has come: while it is asked after, it has a place of its own, and then none."""
    return episode.event.status == "planned" and plans.is_due(episode.event, now, layers.character().name)
