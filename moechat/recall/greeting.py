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
from moechat.model import LONG_AGO, Episode, Exchange
from moechat.reading.saying import HARM, mark, saying
from moechat.recall import plans
from moechat.recall.layers import Layers
from moechat.rules.boundaries import concerns
from moechat.settings.character import USER_NAMES
from moechat.store.entries import Entry
from moechat.store.kinds import Store
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
    store, now, last = layers.store, layers.now(), latest(layers.store, LOOKED_AT)
    if not layers.config().greeting.enabled or not last or not _is_time(layers, last[-1], now):
        return None
    is_pain = any(not HARM.isdisjoint(saying(one.user).kinds) for one in last)
    is_pain = is_pain or any(day.is_grave for day in layers.days.of(now))
    if word := None if is_pain else next(_words(layers, now), None):
        at, of = now.isoformat(), {"text": word.text, "sources": list(word.sources)}
        with store.writing("greeting"):
            turns = store.state.plans.get(word.id, (0, "", ""))[0]
            plan = [{"op": "plans", "rows": {word.id: [turns, at, ""]}}] * (word.kind == "plan")
            store.state.write([{"op": "greeted", "id": word.id, "at": at, **of, "said_as": ""}, *plan])
    return word


def standing(layers: Layers) -> str:
    """Her word that waits for an answer, handed out now if it is time for one; "" where there is none."""
    greeting(layers)
    return next((one["text"] for one in _waiting(layers.store)), "")


def record(store: Store) -> None:
    """Her word that waits for an answer enters the record of the first talk, which goes on."""
    for word in _waiting(store):
        own = store.log.begin("", datetime.fromisoformat(word["at"]))
        store.log.rest(own, [word["id"], *word["sources"]])
        store.log.finish(own, word["text"], "done", hits=[{"id": word["id"], "recipe": RECIPE, "score": 1.0}])
        with store.writing("greeting"):
            store.state.write([{**word, "said_as": own}])


def _waiting(store: Store) -> list[Entry]:
    """Her last word, as the state has it, if nobody has said anything since it was handed out."""
    last = sorted(store.state.greeted.values(), key=lambda one: str(one["at"]), reverse=True)[:1]
    spoken = max((one.at for one in latest(store, LOOKED_AT)), default=LONG_AGO) if last else LONG_AGO
    return [one for one in last if not one["said_as"] and spoken < datetime.fromisoformat(one["at"])]


def _is_time(layers: Layers, last: Exchange, now: datetime) -> bool:
    """Whether the absence is long enough, no hour is quiet, and nothing was said in it yet."""
    settings, at = layers.config().greeting, last.at.astimezone(now.tzinfo)
    start, end = settings.quiet_from, settings.quiet_until
    is_quiet = (start <= now.hour < end) if start <= end else (now.hour >= start or now.hour < end)
    is_absent = now - at >= timedelta(hours=settings.after_h) and now.date() > at.date()
    moments = [datetime.fromisoformat(one["at"]) for one in layers.store.state.greeted.values()]
    return is_absent and not is_quiet and max(moments, default=LONG_AGO) <= last.at


def _words(layers: Layers, now: datetime) -> Iterator[Greeting]:
    store, who = layers.store, layers.character()
    view, off_limits = layers.episodes.view(now), layers.core.off_limits("")
    due = plans.due(view, store, now, (), who.name)
    for plan in view.having([hit.id for hit in due]):
        is_over = plan.event.happened is not None and plan.event.happened[1] < now
        if is_over and not plans.is_promise(plan.event, who.name):
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
        shared = {one: len(matter.intersection(words.keywords(one, 50))) for one in sentences}
        quote = max(sentences, key=shared.__getitem__, default="")
        is_bearing = 0 < len(quote) <= LONGEST_QUOTE and shared[quote] and not exchange.another(own)
        if is_bearing and not mark(quote) and HARM.isdisjoint(saying(quote).kinds):
            day = away(exchange.at, now, layers.character().language)
            text = _line(layers, f"back_{kind}", episode.id, said=quote, day=day)
            yield Greeting(kind, text, episode.id, episode.event.sources)
            return


def _line(layers: Layers, name: str, id_: str, **values: str) -> str:
    who = layers.character()
    comma = "，" if who.language == "zh" else ", "
    sentences = lines.says(layers.prompts.folders, who.language, who.folder)[name]
    values |= {"name": who.name, "user": f"{comma}{who.user_name}" if who.user_name not in USER_NAMES.values() else ""}
    return lines.filled(sentences[crc32(id_.encode()) % len(sentences)], values)
