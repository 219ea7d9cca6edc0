"""Forgetting: when a memory fades, by strength, and which go into the archive once memory is full (seed 004, eight).

Strength grows with use (``store.state``). It decides two things:

- **Fading**, which people are shown. Retention after t days without use is R = exp(−t / (c · S)): Ebbinghaus' curve with a
  stability proportional to the strength S. The seed's curve keeps 21% of something learned once after a week. A memory
  counts as faded there, so c = 7 / ln(1 / 0.21), and a memory of strength S fades 7 · S days after its last use (told, told
  again or recalled).
- **Cleaning**, which moves memories into the archive. Nothing goes before memory is full (``cap`` events, reflections and
  facts). Then a share of what may go is archived: first what a model passed over, then the weakest; among equals the least
  recently used first, then by id.

Some memories never go: exchanges, what the character's author wrote, what is pinned, and what the owner wrote or edited
(no exchange tells of it, so nothing could bring it back). What is archived can be restored.

``Maintenance`` does that every few days at most, if the user talked today: attributes told several times are summed up, then the
weakest memories go into the archive if memory is full. If the user has been away for long, what exceeds a minimum goes. That
waits until the memory has been open for a day without a word, so that nothing goes in the moment in which the user comes back.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from threading import Event
from typing import Literal

from moechat.ai.chat_model import ChatModel
from moechat.errors import DataError
from moechat.memory.core import CoreMemory
from moechat.sentences import sentence
from moechat.settings.character import Character
from moechat.settings.prompts import Prompts
from moechat.settings.schema import ForgettingSettings
from moechat.store.kinds import Store
from moechat.understanding.consolidation import consolidate

Kept = Literal["", "pinned", "owner", "author"]
Why = Literal["full", "inactive", "room", "not_active", "recent"]

FADED = 0.21  # What is left a week later of what was learned once: it counts as faded.
FADES_AFTER_DAYS = 7.0  # A memory of strength 1 fades in this time.
DAY_S = 86_400.0
SHORTEST_DAYS = 1 / 24  # No cleaning follows another sooner, whatever is configured: each takes a second.


@dataclass(frozen=True, slots=True)
class Trace:
    """What forgetting knows of a memory. ``confirmed`` is False where a model passed over it.

    ``used`` is when it was last told or recalled, in epoch seconds; ``kept`` says
    why it never goes."""

    id: str
    strength: int
    used: float
    kept: Kept = ""
    confirmed: bool = True


@dataclass(frozen=True)
class Cleaning:
    """The records that a cleaning moves into the archive, weakest first, the reason, and the number of all records.

    ``full``: the cap is reached; ``inactive``: the user was away; else nothing goes: there is ``room``, nobody talked today
    (``not_active``), or the last cleaning was ``recent``.
    """

    why: Why
    count: int
    goes: Sequence[str] = ()

    @property
    def is_done(self) -> bool:
        """Whether the memory was looked through, be it that nothing had to go."""
        return self.why not in ("not_active", "recent")


@dataclass(frozen=True)
class Forecast:
    """What will become of a memory if nobody uses it. It fades at ``fades`` (None: never), and ``retention`` (0..1) is left of
    it now. The ``first`` go when memory is full; ``fullness`` says how full it is."""

    kept: Kept
    fades: datetime | None
    retention: float
    first: bool = False
    fullness: float = 0.0


# ---- the arithmetic


def retention(days: float, strength: int) -> float:
    """What is left after ``days`` without use, 0..1."""
    return math.pow(FADED, max(days, 0.0) / (FADES_AFTER_DAYS * strength))


def fades_at(trace: Trace) -> float:
    """When a memory fades unless it is used, in epoch seconds."""
    return trace.used + FADES_AFTER_DAYS * trace.strength * DAY_S


def weakest(traces: Iterable[Trace]) -> list[Trace]:
    """What may go, in the order in which it goes: unconfirmed, weakest, least recently used, id."""
    return sorted((t for t in traces if not t.kept), key=lambda t: (t.confirmed, t.strength, t.used, t.id))


def over_cap(traces: Collection[Trace], cap: int, share: float) -> list[str]:
    """Ids of the weakest ``share`` of the records that may go, if there are at least ``cap`` records (golden
    ``cleanup`` of seed 004).
    """
    loose = weakest(traces)
    return [t.id for t in loose[: math.floor(share * len(loose) + 1e-9)]] if len(traces) >= cap else []


def over_minimum(traces: Collection[Trace], minimum: int) -> list[str]:
    """Ids of the weakest records beyond ``minimum``. Records that are kept never go."""
    return [t.id for t in weakest(traces)[: max(0, len(traces) - minimum)]]


def forecast(trace: Trace, now: datetime, *, first: bool = False, fullness: float = 0.0) -> Forecast:
    if trace.kept:
        return Forecast(trace.kept, None, 1.0)
    days = (now.timestamp() - trace.used) / DAY_S
    try:
        fades = datetime.fromtimestamp(fades_at(trace), UTC).astimezone(now.tzinfo)
    except (OverflowError, ValueError, OSError):  # beyond the calendar
        fades = None
    return Forecast("", fades, retention(days, trace.strength), first, fullness)


# ---- an owner's memory


def traces(store: Store) -> list[Trace]:
    """Every record that counts: the owner's facts and episodes that are not archived already."""
    state = store.state
    facts = ((fact.id, fact.since.timestamp(), fact.by, fact.confirmed) for fact in store.findings.facts())
    births = [*facts, *store.findings.births()]
    traces = {
        id_: replace(trace(store, id_, born, by), confirmed=confirmed is not False)
        for id_, born, by, confirmed in births if id_ not in state.archived
    }  # fmt: skip
    return list(traces.values())


def trace(store: Store, id_: str, born: float, by: str) -> Trace:
    """``born`` in epoch seconds."""
    state, used = store.state, born
    if id_ in state.access or id_ in state.gains:
        used = max([born, *(moment.timestamp() for moment in (state.recalled(id_), state.updated(id_)) if moment)])
    kept: Kept = "pinned" if id_ in state.pinned else by if by in ("owner", "author") else ""  # type: ignore[assignment]
    return Trace(id_, state.strength(id_), used, kept)


def last_talk(store: Store) -> datetime | None:
    """When the user last said something."""
    filed = [row.exchange.at for row in store.exchanges.before(math.inf, 1)]
    waiting = [datetime.fromisoformat(node.at) for node in [*store.tree.open(), *store.tree.unfiled()]]
    return max([*filed, *waiting], default=None)


def waits(store: Store, now: datetime, limits: ForgettingSettings) -> Why | None:
    """The reason not to clean now, or None.

    It is time to clean if the last time is ``every_days`` ago and the user talked today or was away for long.
    """
    cleaned, pause = store.state.cleaned, timedelta(days=max(limits.every_days, SHORTEST_DAYS))
    if cleaned is not None and timedelta(0) <= now - cleaned < pause:
        return "recent"
    last = last_talk(store)
    if is_away(last, now, limits) or (last is not None and last.astimezone(now.tzinfo).date() == now.date()):
        return None
    return "not_active"


def cleaning(store: Store, now: datetime, limits: ForgettingSettings, *, by_hand: bool = False) -> Cleaning:
    """What would go now. ``by_hand``: whether or not somebody talked today, and however recent the last cleaning was."""
    all_traces = traces(store)
    if not by_hand and (why := waits(store, now, limits)) is not None:
        return Cleaning(why, len(all_traces))
    if is_away(last_talk(store), now, limits):
        goes = over_minimum(all_traces, limits.minimum)
        return Cleaning("inactive" if goes else "room", len(all_traces), goes)
    goes = over_cap(all_traces, limits.cap, limits.share)
    return Cleaning("full" if goes else "room", len(all_traces), goes)


def clean(store: Store, now: datetime, limits: ForgettingSettings, *, by_hand: bool = False) -> Cleaning:
    """Move what goes into the archive."""
    with store.writing("clean"):
        done = cleaning(store, now, limits, by_hand=by_hand)
        if done.is_done:
            store.state.write([{"op": "cleaned", "at": now.isoformat()}])
            archive(store, done.goes)
    return done


def is_away(last: datetime | None, now: datetime, limits: ForgettingSettings) -> bool:
    """Whether somebody who last talked then has been away for long."""
    return last is not None and (now - last) / timedelta(days=1) >= limits.inactive_days


def archive(store: Store, ids: Collection[str]) -> list[str]:
    """Hide memories without erasing them.

    What a memory replaced goes with it, because it would hold again otherwise. Returns the ids that are hidden
    now.
    """
    with store.writing("archive"):
        hides = [id_ for id_ in with_replaced(ids, store.findings.links()) if id_ not in store.state.archived]
        if hides:
            store.state.write([{"op": "archive", "ids": hides}])
    return hides


def restore(store: Store, ids: Collection[str]) -> list[str]:
    """Bring archived memories back, each with what it replaced. Returns what came back."""
    with store.writing("bring back"):
        back = [id_ for id_ in with_replaced(ids, store.findings.links()) if id_ in store.state.archived]
        if back:
            store.state.write([{"op": "restore", "ids": back}])
    return back


def with_replaced(ids: Collection[str], replaced: Mapping[str, Sequence[str]]) -> list[str]:
    """``ids`` and what they replaced, and what that replaced, each once. ``replaced`` are the links of all that is there."""
    chain: dict[str, None] = {}
    left = list(reversed(list(ids)))
    while left:
        id_ = left.pop()
        if id_ not in chain:
            chain[id_] = None
            left += reversed([old for old in replaced.get(id_, ()) if old in replaced])
    return list(chain)


# ---- in words


def in_words(forecast: Forecast, now: datetime, language: str) -> str:
    """A forecast as people read it: "fades in about 12 days unless recalled"."""
    words = partial(sentence, "fading", language=language)
    if forecast.kept or forecast.fades is None:
        return words(forecast.kept or "never")
    days = (forecast.fades - now) / timedelta(days=1)
    name = "faded" if days <= 0 else "today" if days < 1 else "day" if round(days) == 1 else "days"
    text = words(name, days=round(days))
    if forecast.first and forecast.fullness >= 1:
        return text + words("first")
    return text + words("later", percent=min(100, math.floor(100 * forecast.fullness))) if days <= 0 else text


# ---- maintenance


log = logging.getLogger(__name__)
PATIENCE = timedelta(days=1)


@dataclass
class Maintenance:
    """Of one owner. ``model`` sums facts up, None or one that does not understand: by rules."""

    store: Store
    core: CoreMemory
    prompts: Prompts
    character: Callable[[], Character]
    model: Callable[[], ChatModel | None]
    settings: Callable[[], ForgettingSettings]
    timeout_s: float = 15
    opened: datetime | None = None

    def run(self, now: datetime, stopping: Event | None = None) -> Cleaning:
        """Cheap where nothing is due: it may be called every few seconds. ``stopping`` ends it between two calls of a model."""
        self.opened = self.opened or now
        settings = self.settings()
        if (why := waits(self.store, now, settings)) is not None:
            return Cleaning(why, 0)
        if now - self.opened < PATIENCE and is_away(last_talk(self.store), now, settings):
            return Cleaning("not_active", 0)
        if settings.merges:
            character = self.character()
            names = (character.user_name, character.name)
            try:
                consolidate(
                    self.store,
                    self.core,
                    model=self.model(),
                    prompts=self.prompts,
                    names=names,
                    timeout_s=self.timeout_s,
                    stopping=stopping,
                )
            except DataError as problem:  # a broken file, told with all others; it waits for the next time
                log.warning("facts are not summed up: %s", problem)
        if stopping is not None and stopping.is_set():
            return Cleaning("not_active", 0)
        return clean(self.store, now, settings)
