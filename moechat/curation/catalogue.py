"""The catalogue of an owner's memories: facts, events, reflections and exchanges, listed, searched and looked at one by one.

For every face (commands, page, HTTP). It only reads; ``keeper`` changes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from moechat.clock import local
from moechat.curation import forgetting
from moechat.curation.forgetting import Forecast
from moechat.errors import NotFound
from moechat.model import LONG_AGO, Episode, Exchange, Fact
from moechat.recall.layers import Layers
from moechat.settings.schema import ForgettingSettings
from moechat.store.finding_records import NO_NOTE
from moechat.store.search import KINDS as KINDS
from moechat.store.search import Kind as Kind
from moechat.store.search import Sort as Sort

MOST_ALIKE = 300  # A search by meaning goes no further.
UNDERSTOOD: tuple[Kind, ...] = ("fact", "event", "reflection")  # Forgetting is about these.


@dataclass(frozen=True)
class Memory:
    """A memory as a list shows it. ``current`` is False for one that another one replaced."""

    id: str
    kind: Kind
    at: datetime | None
    text: str
    by: str = ""
    strength: int = 1
    recalls: int = 0
    recalled: datetime | None = None
    pinned: bool = False
    archived: bool = False
    current: bool = True
    reply: str = ""


@dataclass(frozen=True)
class Page:
    """Some of the memories that were asked for, newest first, of ``total``."""

    memories: Sequence[Memory]
    total: int


@dataclass(frozen=True)
class Details:
    """Everything that is known of one memory. ``sources`` are the exchanges that it rests on, ``evidence`` the episodes,
    ``replaced`` what it replaced, newest first, ``replaced_by`` what replaced it, ``derived`` what was understood of an
    exchange. ``fields`` are its further parts by name. ``forecast`` is None for an exchange: exchanges do not fade.
    ``weighs``: it is an event that moves the user's life now."""

    memory: Memory
    sources: Sequence[Memory] = ()
    evidence: Sequence[Memory] = ()
    replaced: Sequence[Memory] = ()
    replaced_by: Sequence[Memory] = ()
    derived: Sequence[Memory] = ()
    fields: Mapping[str, object] = field(default_factory=dict)
    forecast: Forecast | None = None
    forecast_text: str = ""
    weighs: bool = False


class Catalogue:
    """The memories of one owner; it has more than twenty methods because each kind of memory is looked up in its own way.
    Before every look, changes by people and other processes are taken in.

    ``limits`` says when and how much goes into the archive. It is asked anew each time: the settings may change while this
    is open.
    """

    def __init__(self, layers: Layers, limits: Callable[[], ForgettingSettings]) -> None:
        self._layers, self._store, self.now, self.limits = layers, layers.store, layers.now, limits
        self._standing: tuple[object, Collection[str], float] | None = None

    def listed(
        self,
        kinds: Collection[Kind] = UNDERSTOOD,
        *,
        search: str = "",
        limit: int = 50,
        offset: int = 0,
        archived: bool = False,
        sort: Sort = "newest",
        span: tuple[datetime, datetime] | None = None,
        topic: str = "",
    ) -> Page:
        """Memories of these kinds, in the order of time, that have all words of ``search`` (case aside), that were told in
        ``span`` or happened then, and are of ``topic`` or one below it. ``limit`` 0: all."""
        self._store.follow()
        words = search.casefold().split()
        lists = self._store.search
        if span or topic:
            every = lists.listed(kinds, words, archived=archived, sort=sort)
            inside = self._within(every, span, topic)
            fitting = [id_ for id_ in every if id_ in inside]
            return Page(self.memories(fitting[offset : offset + limit if limit else None]), len(fitting))
        ids = lists.listed(kinds, words, limit=limit, offset=offset, archived=archived, sort=sort)
        whole = not offset and not (limit and len(ids) == limit)
        return Page(self.memories(ids), len(ids) if whole else lists.count(kinds, words, archived=archived))

    def _within(self, ids: Sequence[str], span: tuple[datetime, datetime] | None, topic: str) -> set[str]:
        """Those of the ids that are of a time and of a topic."""
        fitting = set(ids)
        if topic:
            fitting &= {one.id for one in self._layers.topics.slices(topic, self.now())}
        if span is None:
            return fitting
        start, end = span
        happened = {one.id: one.event.happened for one in self._store.findings.by_ids(ids).values()}
        return {
            one.id for one in self.memories(fitting)
            if (one.at and start <= one.at <= end)
            or ((when := happened.get(one.id)) and when[0] <= end and start <= when[1])
        }  # fmt: skip

    def alike(self, text: str, kinds: Collection[Kind] = UNDERSTOOD, *, limit: int = 50) -> Page:
        """Memories of these kinds whose meaning is near a text, the nearest first."""
        self._store.follow()
        self._layers.sync()
        cue = self._layers.cue(text, self.now(), "")
        view = self._layers.episodes.view(self.now())
        scores = dict(zip(view.ids, view.relevance(cue.vector).tolist(), strict=True))
        scores |= {hit.id: hit.score for hit in self._layers.core.search(cue, top_k=MOST_ALIKE, threshold=-1.0)}
        if "exchange" in kinds:
            for hit in self._layers.recall(cue, ()).ranked:
                scores[hit.id] = max(hit.features.get("cosine", 0.0), scores.get(hit.id, -1.0))
        nearest = sorted(scores, key=lambda id_: (-scores[id_], id_))[:MOST_ALIKE]
        fitting = [one for one in self.memories(nearest) if one.kind in kinds and not one.archived]
        return Page(fitting[:limit], len(fitting))

    def days(self) -> dict[str, int]:
        """{ISO date: exchanges} of the days on which something was said that may be seen."""
        zone, counts = self._store.zone, Counter[str]()
        for _, said_at in self._store.exchanges.times():
            counts[datetime.fromtimestamp(said_at, zone).date().isoformat()] += 1
        for exchange in self._store.exchanges.of(list(self._store.hidden())).values():
            counts[local(exchange.at, zone).date().isoformat()] -= 1
        return {day: count for day, count in sorted(counts.items()) if count > 0}

    def get(self, id_: str) -> Details:
        """Raises NotFound."""
        self._store.follow()
        if findings := self._store.findings.with_ids([id_]):
            first = findings[0]
            return self._of_fact(first) if isinstance(first, Fact) else self._of_episode(first)
        if exchange := self._store.exchanges.of([id_]).get(id_):
            return self._of_exchange(exchange)
        raise NotFound(f"there is no memory {id_!r}; `moechat memories list` shows them")

    def memories(self, ids: Iterable[str]) -> list[Memory]:
        """Those that are there, in the order asked for."""
        unique_ids = list(dict.fromkeys(ids))
        findings = {one.id: one for one in reversed(self._store.findings.with_ids(unique_ids))}
        exchanges = self._store.exchanges.of([id_ for id_ in unique_ids if id_ not in findings])
        current = {fact.id for fact in self._store.search.facts()}
        replaced = self._store.search.replaced()
        memories = []
        for id_ in unique_ids:
            if one := findings.get(id_):
                kind: Kind = "fact" if isinstance(one, Fact) else one.kind
                holds = id_ in current if kind == "fact" else id_ not in replaced
                memories.append(self._memory(id_, kind, one.at, one.text, one.by, holds))
            elif id_ in exchanges:
                exchange = exchanges[id_]
                memories.append(replace(self._memory(id_, "exchange", exchange.at, exchange.sent), reply=exchange.char))
        return memories

    def _memory(
        self, id_: str, kind: Kind, at: datetime | None, text: str, by: str = "", current: bool = True
    ) -> Memory:
        state = self._store.state
        return Memory(
            id_, kind, at and local(at, self._store.zone), text, by, state.strength(id_), state.recalls(id_),
            state.recalled(id_), id_ in state.pinned, id_ in state.archived, current,
        )  # fmt: skip

    # ---- one of them

    def facts(self, ids: Sequence[str]) -> list[Fact]:
        """Those of the ids that are facts."""
        return list(self._store.findings.fact_book().of(ids).values())

    def events(self, ids: Sequence[str]) -> list[Episode]:
        """Those of the ids that are events."""
        episodes = self._store.findings.by_ids(ids)
        return [episodes[id_] for id_ in ids if id_ in episodes and episodes[id_].kind == "event"]

    def _of_fact(self, fact: Fact) -> Details:
        d = fact.draft
        parts: dict[str, object] = {
            "kind": d.kind, "entity": d.entity, "keyword": d.keyword, "target": d.target, "polarity": d.polarity,
            "single": d.single, "generic": d.generic, "consolidated": fact.consolidated,
            "mark": d.mark, "doubtful": fact.confirmed is False,
        }  # fmt: skip
        return self._detailed(
            fact.id, fact.at, fact.by, fields=parts, links={"sources": d.sources, **self._replacing(fact.id)}
        )

    def _replacing(self, id_: str) -> dict[str, Sequence[str]]:
        """What a memory replaced, and what replaced it."""
        links = self._store.findings.links()
        newer = [other for other, replaced in links.items() if id_ in replaced]
        return {"replaced": forgetting.with_replaced([id_], links)[1:], "replaced_by": newer}

    def _of_episode(self, episode: Episode) -> Details:
        event = episode.event
        parts: dict[str, object] = {
            "subject": event.subject, "predicate": event.predicate, "object": event.object, "place": event.place,
            "scene": event.scene, "insight": event.insight, "topic": event.topic, "related": list(event.related),
            "keywords": list(event.keywords), "importance": event.importance, "depth": episode.depth,
            "happened": [moment.isoformat() for moment in event.happened or ()],
            "expires": episode.expires.isoformat() if episode.expires else "",
            "status": event.status if event.status != "done" else "",
            "precision": event.precision if event.precision != "unknown" else "", "mark": event.mark,
            "emotion": event.emotion, "doubtful": episode.confirmed is False,
        }  # fmt: skip
        return self._detailed(
            episode.id, episode.at, episode.by, fields=parts,
            links={"sources": event.sources, "evidence": episode.evidence, **self._replacing(episode.id)},
            weighs=any(one.id == episode.id for one in self._layers.episodic.open_matters(self.now())),
        )  # fmt: skip

    def _of_exchange(self, exchange: Exchange) -> Details:
        tag, words, by = self._store.findings.notes_of([exchange.id]).get(exchange.id, NO_NOTE)
        facts = [fact.id for fact in self._store.findings.fact_book().citing([exchange.id])]
        episodes = [episode.id for episode in self._store.findings.citing([exchange.id])]
        parts: dict[str, object] = {"status": exchange.status, "tag": tag, "keywords": list(words), "by": by}
        return self._detailed(
            exchange.id, exchange.at, "", fields=parts, links={"derived": [*facts, *episodes]}, fades=False
        )

    def _detailed(
        self,
        id_: str,
        at: datetime | None,
        by: str,
        *,
        fields: Mapping[str, object],
        links: Mapping[str, Sequence[str]],
        fades: bool = True,
        weighs: bool = False,
    ) -> Details:
        loaded = {one.id: one for one in self.memories([id_, *(one for ids in links.values() for one in ids)])}
        linked = {name: [loaded[one] for one in dict.fromkeys(ids) if one in loaded] for name, ids in links.items()}
        forecast, text = None, ""
        if fades:
            forecast = self._forecast(id_, at, by)
            text = forgetting.in_words(forecast, self.now(), self._layers.character().language)
        parts = {name: value for name, value in fields.items() if value not in ("", [], False)}
        return Details(loaded[id_], **linked, fields=parts, forecast=forecast, forecast_text=text, weighs=weighs)

    def forecasts(self, memories: Iterable[Memory]) -> dict[str, Forecast]:
        """The forecasts of facts and episodes, by id. Exchanges do not fade."""
        return {one.id: self._forecast(one.id, one.at, one.by) for one in memories if one.kind != "exchange"}

    def _forecast(self, id_: str, at: datetime | None, by: str) -> Forecast:
        first, fullness = self._stand()
        trace = forgetting.trace(self._store, id_, (at or LONG_AGO).timestamp(), by)
        return forgetting.forecast(trace, self.now(), first=id_ in first, fullness=fullness)

    def _stand(self) -> tuple[Collection[str], float]:
        """The ids of those that go first, and how full memory is; worked out again only after a memory or its use changed."""
        store, state, limits = self._store, self._store.state, self.limits()
        key = (store.moment, state, state.changes, limits.cap, limits.share)
        if self._standing is None or self._standing[0] != key:
            traces = forgetting.traces(store)
            goes = frozenset(forgetting.over_cap(traces, 0, limits.share))
            self._standing = (key, goes, len(traces) / max(limits.cap, 1))
        return self._standing[1:]


# ---- as JSON


def as_json(memory: Memory) -> dict[str, object]:
    """A memory as commands and HTTP give it."""
    row: dict[str, object] = {
        "id": memory.id, "kind": memory.kind, "time": (memory.at or LONG_AGO).isoformat(), "text": memory.text, "by": memory.by,
        "strength": memory.strength, "recalls": memory.recalls,
        "recalled": memory.recalled.isoformat() if memory.recalled else None, "pinned": memory.pinned,
        "archived": memory.archived, "current": memory.current,
    }  # fmt: skip
    return row | ({"reply": memory.reply} if memory.kind == "exchange" else {})


def details_as_json(details: Details) -> dict[str, object]:
    links = ("sources", "evidence", "replaced", "replaced_by", "derived")
    forecast = details.forecast
    return as_json(details.memory) | dict(details.fields) | {
        **{name: [as_json(one) for one in getattr(details, name)] for name in links},
        "forecast": None if forecast is None else {
            "kept": forecast.kept, "fades": forecast.fades.isoformat() if forecast.fades else None,
            "retention": round(forecast.retention, 4), "text": details.forecast_text,
        },
    }  # fmt: skip
