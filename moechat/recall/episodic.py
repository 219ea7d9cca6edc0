"""Recall over episodes: the memory stream, association and topics (seeds 000, 001, 002) as recipes of the house.

A hit on an event of one exchange is a hit on that exchange, so that it counts together with what the diary found word for
word; a reflection, or an event of several exchanges, stands for itself.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

import numpy as np

from moechat.ai.chat_model import ChatModel
from moechat.ai.topic_model import Cues
from moechat.cue import Cue
from moechat.index.cosine import meets
from moechat.language import words
from moechat.memory import stream
from moechat.memory.diary import asked_spans
from moechat.memory.episodes import Episodes, EpisodeView
from moechat.memory.topic_cues import likeness
from moechat.memory.topics import RecalledSlice, Topics
from moechat.model import LONG_AGO, Candidates, Episode, Exchange, Hit
from moechat.rules import reading as rules
from moechat.settings.prompts import Prompts
from moechat.settings.schema import StreamSettings, TopicSettings
from moechat.store.files import FileStore
from moechat.turn import exchange_text
from moechat.when import Span

DEPTH = 30  # candidates a recipe hands over; n_count of seed 000
COMMON = 100  # a word that more episodes than this have tells none of them from the others
MOST_PERCEIVED = 12  # words of a message that associate
SPEAKERS = ("用户", "user", "the user", "角色", "character", "i", "you", "我", "你")
UNIT_S = {"seconds": 1.0, "hours": 3600.0, "days": 86_400.0}


@dataclass(frozen=True)
class TopicHelper:
    """A model that is asked about topics before the reply: an option, off by default."""

    model: ChatModel
    prompts: Prompts
    options: TopicSettings

    def cues(self, topics: Topics, cue: Cue) -> Cues | None:
        if not self.options.cues_by_model:
            return None
        return topics.cues_by_model(self.model, self.prompts, cue, timeout_s=self.options.timeout_s)

    def evaluated(self, topics: Topics, cue: Cue, found: list[RecalledSlice]) -> list[RecalledSlice]:
        if not self.options.evaluator:
            return found
        return topics.helpful(self.model, self.prompts, cue, found, timeout_s=self.options.timeout_s)


@dataclass(frozen=True)
class Episodic:
    """``speakers`` are the names of those who talk: that they took part tells no episode from another."""

    episodes: Episodes
    store: FileStore
    topics: Topics
    speakers: tuple[str, str]

    def stream(self, cue: Cue, settings: StreamSettings, *, threshold: float) -> Candidates:
        """All live events and reflections by recency, relevance and importance (CONTRACTS B and C); what is not near in
        meaning stays in the ranking and enters no prompt."""
        view = self.episodes.view(cue.now)
        if not len(view):
            return []
        if settings.recency_unit == "rank":
            recency = stream.recency_by_rank(view.accessed, view.told, view.positions, settings.decay)
        else:
            unit = UNIT_S[settings.recency_unit]
            recency = stream.recency_by_age(view.accessed, cue.now.timestamp(), settings.decay, unit)
        near = likeness(cue, view)
        relevance = np.zeros(len(view)) if near is None else near
        w = settings.weights
        weights = stream.ScoreWeights(w.recency, w.relevance, w.importance)
        scored = stream.scores(recency, relevance, view.importance, weights)
        best = stream.order(scored.score, DEPTH).tolist()
        hits = []
        for i, episode in view.each(best):
            features = {
                "recency": float(scored.recency[i]), "relevance": float(scored.relevance[i]),
                "importance": float(scored.importance[i]), "cosine": float(relevance[i]),
            }  # fmt: skip
            hits.append((episode, float(scored.score[i]), features, (), bool(meets(float(relevance[i]), threshold))))
        return self._candidates(cue, "stream", hits)

    def association(self, cue: Cue) -> Candidates:
        """Events and reflections whose keywords, subject or object meet what the message perceives, those that meet most
        words first, then the newest (seed 000, retrieve)."""
        view = self.episodes.view(cue.now)
        perceived = cue.once("perceived", lambda: self._perceived(cue.text))
        meeting: dict[int, dict[str, None]] = {}
        for word in perceived:
            found = _met(view, word)
            for place in found if len(found) <= COMMON else ():
                meeting.setdefault(place, {}).update(dict.fromkeys(found[place]))
        best = sorted(meeting, key=lambda i: (-len(meeting[i]), -view.told[i], -i))[:DEPTH]
        hits = [
            (episode, float(len(meeting[i])), {"shared": float(len(meeting[i]))}, tuple(meeting[i]), True)
            for i, episode in view.each(best)
        ]
        return self._candidates(cue, "association", hits)

    def by_topic(self, cue: Cue, limit: int, helper: TopicHelper | None = None, *, threshold: float) -> Candidates:
        """Slices of the topics and days that the message leads to (seed 002); those that it names, or that are near in
        meaning, may enter the prompt. ``helper`` is a model that is asked before the reply for the cues, for what helps,
        or both."""
        given = helper.cues(self.topics, cue) if helper else None
        found = self.topics.recall(cue, cue.now, limit or DEPTH, given=given)
        found = helper.evaluated(self.topics, cue, found) if helper else found
        episodes = self.episodes.get([one.id for one in found])
        hits = []
        for one in found:
            if one.id in episodes:
                passes = bool(one.words) or bool(meets(one.features.get("cosine", 1.0), threshold))
                hits.append((episodes[one.id], one.score, one.features, one.words, passes))
        return self._candidates(cue, "by_topic", hits)

    def widen(self, hits: Sequence[Hit], in_context: Collection[str] = ()) -> list[Hit]:
        """Events of several exchanges with what was said, in three lengths: all of it, the user's words, the summary.

        An exchange that the model sees anyway, in the context or as a better hit, is told only once.
        """
        told = {*in_context, *(hit.id for hit in hits if hit.layer == "diary" and not hit.kind)}
        events = [hit for hit in hits if hit.kind == "event"]
        exchanges = self.store.exchanges(list(dict.fromkeys(source for hit in events for source in hit.sources)))
        return [self._told(hit, exchanges, told) if hit.kind == "event" else hit for hit in hits]

    def _told(self, hit: Hit, exchanges: Mapping[str, Exchange], told: set[str]) -> Hit:
        said = [exchanges[source] for source in hit.sources if source in exchanges and source not in told]
        if not said:
            return hit
        told.update(hit.sources)
        whole = "\n".join([hit.text, *(exchange_text(one, *self.speakers) for one in said)])
        asked = "\n".join([hit.text, *(exchange_text(replace(one, char=""), *self.speakers) for one in said)])
        return replace(hit, text=whole, shorter=(asked, hit.text))

    def _perceived(self, text: str) -> list[str]:
        """Subject, predicate and object of what the message tells, and its keywords; without those who talk."""
        told = rules.understand(Exchange("", LONG_AGO, text, "")).events
        parts = [part for event in told for part in (event.subject, event.predicate, event.object)]
        found = dict.fromkeys(part.casefold() for part in [*parts, *words.keywords(text)] if part)
        names = {name.casefold() for name in (*self.speakers, *SPEAKERS)}
        return [word for word in found if word not in names][:MOST_PERCEIVED]

    def _candidates(
        self, cue: Cue, recipe: str, found: Sequence[tuple[Episode, float, dict[str, float], Sequence[str], bool]]
    ) -> Candidates:
        spans = asked_spans(cue)
        single = {e.event.sources[0] for e, *_ in found if e.kind == "event" and len(e.event.sources) == 1}
        exchanges = self.store.exchanges(sorted(single))
        candidates: dict[str, tuple[Hit, str]] = {}
        for episode, score, features, shared, passes in found:
            inside = _inside(episode, spans)
            why = "outside_span" if spans and inside is None else "" if passes else "below_threshold"
            hit = _hit(episode, recipe, score, features, tuple(shared), inside)
            exchange = exchanges.get(hit.sources[0]) if hit.kind == "event" and len(hit.sources) == 1 else None
            if exchange is not None:
                side, text = ("user", exchange.user) if exchange.user else ("char", exchange.char)
                hit = replace(
                    hit, id=exchange.id, kind="", side=side, text=text, time=exchange.at, shorter=(hit.text,)  # type: ignore[arg-type]
                )  # fmt: skip
            elif hit.kind == "event" and len(hit.sources) == 1:
                hit = replace(hit, sources=())  # written by hand: no exchange tells of it
            if hit.id not in candidates or (candidates[hit.id][1] and not why):  # an exchange counts once, at its best
                candidates[hit.id] = (hit, why)
        return list(candidates.values())


def _met(view: EpisodeView, word: str) -> dict[int, list[str]]:
    """Places of the view that a word meets, itself or, where nothing has it, the longest end of it (吃火锅: 火锅)."""
    ends = [] if word.isascii() else [word[i:] for i in range(1, len(word) - 1)]
    return next(filter(None, (view.by_keyword([one]) for one in [word, *ends])), {})


def _inside(episode: Episode, spans: Sequence[Span]) -> Span | None:
    """The asked span that an episode was told or happened in; what is far wider answers no single day."""
    start, end = episode.event.happened or (episode.since, episode.since)
    for span in spans:
        widest = 2 * max(timedelta(days=1), span.end - span.start)
        if span.covers(episode.since) or (start <= span.end and end >= span.start and end - start <= widest):
            return span
    return None


def _hit(
    episode: Episode, recipe: str, score: float, features: dict[str, float], shared: tuple[str, ...], span: Span | None
) -> Hit:
    return Hit(
        "diary", recipe, episode.id, episode.event.text, score, episode.at, episode.event.sources, features, shared, span,
        kind=episode.kind,
    )  # fmt: skip
