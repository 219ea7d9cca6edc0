"""Her word to somebody who comes back: the question of a plan that came due, a birthday of today, or a statement that rests on
one memory which is not delicate. At most one an absence, nothing by itself, and nothing where nothing is worth saying.

A word that was handed out counts as asked. It stands in the owner's state until the user answers, and is of the record from then.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal
from zlib import crc32

import numpy as np

from moechat.ai.offline import lines
from moechat.ai.offline.retelling import ENDS, fact_to_user
from moechat.language import words
from moechat.memory.days import WORTH, is_light
from moechat.memory.unranked import latest
from moechat.model import Episode, Exchange
from moechat.reading.saying import HARM, mark, saying
from moechat.recall import plans
from moechat.recall.layers import Layers
from moechat.rules.boundaries import concerns
from moechat.settings.character import USER_NAMES
from moechat.store.kinds import Store
from moechat.store.state import Greeted
from moechat.when.names import tongue_of
from moechat.when.span import away

RECIPE = "greeting"
LATELY = timedelta(days=30)  # What she speaks of was told within this time.
LOOKED_AT = 3  # The exchanges before an absence that are looked at for pain.
LONGEST_QUOTE = 60  # in characters
_SENTENCE = re.compile(r"[^。！？!?\n]+")


@dataclass(frozen=True)
class Greeting:
    """What she says, ``kind`` why, ``id`` the memory that it rests on, and ``sources`` the exchanges of that."""

    kind: Literal["plan", "day", "memory"]
    text: str
    id: str
    sources: Sequence[str]


def greeting(layers: Layers) -> Greeting | None:
    """Her word for now, which counts as asked from here on; None where there is none to say."""
    store, now = layers.store, layers.now()
    if not layers.config().greeting.enabled:
        return None
    last = latest(store, LOOKED_AT)
    if not last or not _is_time(layers, last[-1], now):
        return None
    if any(not HARM.isdisjoint(saying(one.user).kinds) for one in last):
        return None
    if any(day.is_grave for day in layers.days.of(now)):
        return None
    word = next(_words(layers, now), None)
    if word is not None:
        row = Greeted(now.isoformat(), word.text, list(word.sources))._asdict()
        with store.writing("greeting"):
            turns = store.state.plans.get(word.id, (0, "", ""))[0]
            plan = [{"op": "plans", "rows": {word.id: [turns, now.isoformat(), ""]}}] * (word.kind == "plan")
            store.state.write([{"op": "greeted", "id": word.id, **row}, *plan])
    return word


def standing(layers: Layers) -> str:
    """Her word that waits for an answer, handed out now if it is time for one; "" where there is none."""
    greeting(layers)
    waiting = _waiting(layers.store)
    return waiting[1].text if waiting else ""


def record(store: Store) -> None:
    """Her word that waits for an answer enters the record of the first talk, which goes on."""
    if (waiting := _waiting(store)) is None:
        return
    id_, row = waiting
    own = store.log.begin("", datetime.fromisoformat(row.at))
    store.log.rest(own, [id_, *row.sources])
    store.log.finish(own, row.text, "done", hits=[{"id": id_, "recipe": RECIPE, "score": 1.0}])
    with store.writing("greeting"):
        store.state.write([{"op": "greeted", "id": id_, **row._replace(said_as=own)._asdict()}])


def _waiting(store: Store) -> tuple[str, Greeted] | None:
    """The memory of her last word and the word, if nobody has said anything since it was handed out."""
    last = max(store.state.greeted.items(), key=lambda one: one[1].at, default=None)
    if (
        last is None
        or last[1].said_as
        or any(one.at >= datetime.fromisoformat(last[1].at) for one in latest(store, LOOKED_AT))
    ):
        return None
    return last


def _is_time(layers: Layers, last: Exchange, now: datetime) -> bool:
    """Whether the absence is long enough, no hour is quiet, and nothing was said in it yet."""
    settings, at = layers.config().greeting, last.at.astimezone(now.tzinfo)
    if now - at < timedelta(hours=settings.after_h) or now.date() <= at.date():
        return False
    start, end = settings.quiet_from, settings.quiet_until
    if (start <= now.hour < end) if start <= end else (now.hour >= start or now.hour < end):
        return False
    return all(datetime.fromisoformat(row.at) <= last.at for row in layers.store.state.greeted.values())


def _words(layers: Layers, now: datetime) -> Iterator[Greeting]:
    store, who = layers.store, layers.character()
    view, off_limits = layers.episodes.view(now), layers.core.off_limits("")
    due = plans.due(view, store, now, (), who.name)
    coming = [one for one in view.having([hit.id for hit in due]) if not plans.is_promise(one.event, who.name)]
    for plan in coming:
        if plan.event.happened and plan.event.happened[1] < now:
            yield from _quoting(layers, "plan", plan, now)
    for day in layers.days.of(now):
        if day.kind == "birthday" and not day.is_eve and day.sources:
            if text := fact_to_user(day.text, who.user_name, tongue_of(day.text)):
                yield Greeting("day", _line(layers, "greet_day", day.id, said=text), day.id, day.sources)
    recent = np.flatnonzero(~view.reflection & (view.since >= (now - LATELY).timestamp()))
    light = [
        one for one in view.episodes(recent.tolist())
        if is_light(one, WORTH) and one.event.status == "done" and one.id not in store.state.greeted
        and (one.event.happened is None or now - one.event.happened[1] < LATELY)
        and not concerns(off_limits, one.event.text)
    ]  # fmt: skip
    for episode in sorted(light, key=lambda one: -one.event.importance):
        yield from _quoting(layers, "memory", episode, now)


def _quoting(layers: Layers, kind: Literal["plan", "memory"], episode: Episode, now: datetime) -> Iterator[Greeting]:
    """A word in the user's own words, where these bear it and are of no pain."""
    own, matter = layers.character().user_name, set(words.keywords(f"{episode.event.text} {episode.event.object}", 20))
    for exchange in layers.store.exchanges.of(episode.event.sources).values():
        sentences = [one.strip(ENDS) for one in _SENTENCE.findall(exchange.user)]
        words_said = max(sentences, key=lambda one: len(matter.intersection(words.keywords(one, 50))), default="")
        is_light_said = mark(words_said) == "" and HARM.isdisjoint(saying(words_said).kinds)
        if exchange.another(own) or not words_said or len(words_said) > LONGEST_QUOTE or not is_light_said:
            continue
        if not matter.isdisjoint(words.keywords(words_said, 50)):
            day = away(exchange.at, now, layers.character().language)
            text = _line(layers, f"back_{kind}", episode.id, said=words_said, day=day)
            yield Greeting(kind, text, episode.id, episode.event.sources)
            return


def _line(layers: Layers, name: str, id_: str, **values: str) -> str:
    who = layers.character()
    comma = "，" if who.language == "zh" else ", "
    sentences = lines.says(layers.prompts.folders, who.language, who.folder)[name]
    values |= {"name": who.name, "user": f"{comma}{who.user_name}" if who.user_name not in USER_NAMES.values() else ""}
    return lines.filled(sentences[crc32(id_.encode()) % len(sentences)], values)
