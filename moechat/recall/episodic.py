"""Recall over episodes: the memory stream, association and topics (seeds 000, 001, 002) as recipes of the house.

A hit on an event of one exchange is a hit on that exchange, so that it counts together with what the diary found word for
word; a reflection, or an event of several exchanges, stands for itself.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, NamedTuple

import numpy as np

from moechat.ai import topic_model
from moechat.ai.chat_model import ChatModel
from moechat.ai.topic_model import Cues
from moechat.cue import Cue
from moechat.errors import DataError, ModelError
from moechat.index.hybrid import happened_in
from moechat.index.vectors import meets
from moechat.language import words
from moechat.memory import stream
from moechat.memory.episodes import Episodes, EpisodeView
from moechat.memory.topic_cues import likeness, sharing
from moechat.memory.topics import RecalledSlice, Topics
from moechat.model import Candidates, Episode, Exchange, Hit
from moechat.reading.matter import LEAST, LIKELY, OpenMatter, still_open
from moechat.reading.saying import DANGER, saying
from moechat.recall import touch
from moechat.settings.prompts import Prompts
from moechat.settings.schema import StreamSettings, TopicSettings
from moechat.store.kinds import Store
from moechat.turn import exchange_text
from moechat.when import Span
from moechat.when.names import has_han

log = logging.getLogger(__name__)
CUE_TOKENS = 1200  # Of the topic tree, shown to a model that is asked for cues.
MOST_GRAVE = 200  # So many of the events that matter most are looked at.
# Of the matters that are in doubt two at most stand in the overview, and none below this score.
DOUBTED, MOST_DOUBTED = 0.45, 2
DEPTH = 30  # Candidates that a recipe hands over (n_count of seed 000).
SHARED = 2  # So many keywords of an event that a model wrote are no chance.
MOST_READ = 400  # Characters of a message in which words are looked for that associate.
LONGEST_NAME = 24
SPEAKERS = ("用户", "user", "the user", "角色", "character", "i", "you", "我", "你")
UNIT_S = {"seconds": 1.0, "hours": 3600.0, "days": 86_400.0}


@dataclass(frozen=True)
class TopicHelper:
    """A model that is asked about topics before the reply: an option, off by default, since the reply waits for it."""

    model: ChatModel
    prompts: Prompts
    options: TopicSettings

    def cues(self, tree: str, cue: Cue) -> Cues | None:
        """The cues of a message by one call; None where it fails, and words serve. ``tree``: the topics as text."""
        if not self.options.cues_by_model:
            return None
        try:
            timeout_s = self.options.timeout_s
            return topic_model.cues(
                self.model, self.prompts, tree=tree, text=cue.text, now=cue.now, timeout_s=timeout_s
            )
        except (ModelError, DataError) as error:
            log.warning("no topic cues from the model, words serve: %s", error)
            return None

    def helpful(self, slices: list[RecalledSlice], episodes: Mapping[str, Episode], cue: Cue) -> list[RecalledSlice]:
        """The slices that help to answer, by one call for all, in their order; all of them where it fails."""
        if not self.options.evaluator or not slices:
            return slices
        texts = [f"{e.since:%Y-%m-%d} {e.event.text}" if (e := episodes.get(one.id)) else "" for one in slices]
        try:
            timeout_s = self.options.timeout_s
            kept = topic_model.helpful(self.model, self.prompts, text=cue.text, slices=texts, timeout_s=timeout_s)
        except (ModelError, DataError) as error:
            log.warning("slices were not evaluated, all are kept: %s", error)
            return slices
        return [slices[i] for i in kept]


class EpisodeMatch(NamedTuple):
    """An episode that a recipe came upon. Without ``passes`` it stays in the ranking and enters no prompt."""

    episode: Episode
    score: float
    features: Mapping[str, float]
    words: Sequence[str] = ()
    passes: bool = True

    @property
    def exchange_id(self) -> str | None:
        """The exchange that this is a hit on: that of an event which one exchange alone tells of."""
        sources = self.episode.event.sources
        return sources[0] if self.episode.kind == "event" and len(sources) == 1 else None


@dataclass(frozen=True)
class Episodic:
    """``speakers`` are the names of user and character. They take part in all episodes, so they distinguish none."""

    episodes: Episodes
    store: Store
    topics: Topics
    speakers: tuple[str, str]

    def stream(self, cue: Cue, settings: StreamSettings, *, threshold: float, spans: Sequence[Span] = ()) -> Candidates:
        """All live events and reflections by recency, relevance and importance (CONTRACTS B and C); what is not near in
        meaning, or outside the ``spans`` that are asked for, stays in the ranking and enters no prompt."""
        view = self.episodes.view(cue.now)
        if not len(view):
            return []
        near = likeness(cue, view)
        relevance = np.zeros(len(view)) if near is None else near
        weights = stream.ScoreWeights(**settings.weights.model_dump())
        if settings.recency_unit == "rank":
            recency = stream.recency_by_rank(view.accessed, view.since, view.positions, settings.decay)
        else:
            unit_s = UNIT_S[settings.recency_unit]
            recency = stream.recency_by_age(view.accessed, cue.now.timestamp(), settings.decay, unit_s)
        scored = stream.scores(recency, relevance, view.importance, weights)
        matches = []
        for i, episode in view.each(stream.order(scored.score, DEPTH).tolist()):
            features = {
                "recency": float(scored.recency[i]),
                "relevance": float(scored.relevance[i]),
                "importance": float(scored.importance[i]),
                "cosine": float(relevance[i]),
            }
            passes = bool(meets(float(relevance[i]), threshold))
            matches.append(EpisodeMatch(episode, float(scored.score[i]), features, passes=passes))
        return self._candidates(spans, "stream", matches)

    def understood(self, cue: Cue, *, threshold: float, spans: Sequence[Span] = ()) -> Candidates:
        """The exchanges of which a model wrote, in words of its own, what comes near to the message or has ``SHARED`` keywords of
        it, the nearest first: their own words need not have any."""
        view = self.episodes.view(cue.now)
        near = likeness(cue, view)
        relevance = np.zeros(len(view)) if near is None else near
        shared = {place: have for place, have in view.by_keyword(cue.keywords).items() if len(have) >= SHARED}
        places = {*np.flatnonzero(meets(relevance, threshold)).tolist(), *shared}
        best = sorted(places, key=lambda i: (-relevance[i] - len(shared.get(i, ())), -i))[:DEPTH]
        matches = [
            EpisodeMatch(episode, float(relevance[i]), {"cosine": float(relevance[i])}, shared.get(i, ()))
            for i, episode in view.each(best)
            if episode.by == "model" and episode.kind == "event"
        ]
        return self._candidates(spans, "understood", matches)

    def association(self, cue: Cue, spans: Sequence[Span] = (), *, all_events: bool = False) -> Candidates:
        """Events and reflections of which keywords, subject or object stand in the message as whole words, those that share
        most first, then the newest (seed 000, retrieve). Without ``all_events``, those that no exchange tells of: the author's,
        written by hand, imported. What exchanges tell the diary finds by itself."""
        view = self.episodes.view(cue.now)
        names = {name.casefold() for name in (*self.speakers, *SPEAKERS)}
        named = cue.once("named", lambda: _whole_words(cue.query, lambda word: bool(self.episodes.with_keyword(word))))
        shared = sharing(view, [word for word in named if word not in names])
        best = list(shared)
        matches = []
        for i, episode in view.each(best if not all_events else best[:DEPTH]):
            count = float(len(shared[i]))
            matches.append(EpisodeMatch(episode, count, {"shared": count}, tuple(shared[i])))
        if not all_events:
            exchanges = self.store.exchanges.of(sorted({source for m in matches for source in m.episode.event.sources}))
            matches = [match for match in matches if exchanges.keys().isdisjoint(match.episode.event.sources)][:DEPTH]
        return self._candidates(spans, "association", matches)

    def by_topic(
        self, cue: Cue, limit: int, helper: TopicHelper | None = None, *, threshold: float, spans: Sequence[Span] = ()
    ) -> Candidates:
        """Slices of the topics and days that the message leads to (seed 002); those that it names, or that are near in
        meaning, may enter the prompt. ``helper`` is a model that is asked before the reply for the cues, for what helps,
        or both."""
        cues = helper.cues(self.topics.tree_text(CUE_TOKENS), cue) if helper else None
        slices = self.topics.recall(cue, cue.now, limit or DEPTH, model_cues=cues)
        episodes = self.episodes.get([one.id for one in slices])
        slices = helper.helpful(slices, episodes, cue) if helper else slices
        matches = []
        for one in slices:
            if one.id in episodes:
                passes = bool(one.words) or bool(meets(one.features.get("cosine", 1.0), threshold))
                matches.append(EpisodeMatch(episodes[one.id], one.score, one.features, one.words, passes))
        return self._candidates(spans, "by_topic", matches)

    def matters(self, cue: Cue) -> Candidates:
        """What moves the user's life most now, where a low mood or a question about that life calls for it, the weightiest
        first: by how surely it is such a matter, how near it is to the message, how important, and how long ago."""
        if not (touch.is_low(cue) or touch.asks_of_life(cue)):
            return []
        view = self.episodes.view(cue.now)
        near, (there, still) = likeness(cue, view), self._grave(view, cue.now)
        likely = {one.id: 0.0 if near is None else float(near[place]) for place, one in there}
        of = [(one.episode, one.weight, likely[one.episode.id]) for one in still]
        matches = [EpisodeMatch(one, open_ + nearby, {"matter": open_, "cosine": nearby}) for one, open_, nearby in of]
        best = sorted(matches, key=lambda match: -match.score)
        return self._candidates((), touch.MATTERS, best)[: touch.MOST_MATTERS]

    def _grave(self, view: EpisodeView, now: datetime) -> tuple[list[tuple[int, Episode]], list[OpenMatter]]:
        """The events that matter most with their places in a view, and those of them that are open, the weightiest first."""
        is_told = ~view.reflection & ~view.authored  # What the author wrote is of the character's life.
        places = np.flatnonzero(is_told & meets(view.importance, LEAST))[::-1]
        most = np.sort(np.argsort(-view.importance[places], kind="stable")[:MOST_GRAVE])
        there = view.each(places[most].tolist())
        exchanges = self.store.exchanges.of(list(dict.fromkeys(id_ for _, one in there for id_ in one.event.sources)))
        texts = [[exchanges[id_].user for id_ in one.event.sources if id_ in exchanges] for _, one in there]
        return there, still_open([(one, "\n".join(lines)) for (_, one), lines in zip(there, texts, strict=True)], now)

    def open_matters(self, now: datetime) -> list[Episode]:
        """What moves the user's life now and is told as that, the weightiest first: of what only may be a matter none."""
        _, still = self._grave(self.episodes.view(now), now)
        return [one.episode for one in still if one.score >= LIKELY]

    def moving(self, now: datetime) -> list[str]:
        """The ids of what stands in the overview before all else, the weightiest first: the open matters, and behind them
        ``MOST_DOUBTED`` of those that only may be some: nothing delicate, nothing that lay ahead, and nothing of exchanges that
        another event tells."""
        there, still = self._grave(self.episodes.view(now), now)
        harmless = [(one.episode, one.score) for one in still if saying(one.episode.event.text).kind != DANGER]
        sure = [one.id for one, score in harmless if one.confirmed is not False and score >= LIKELY]
        others = {source for _, one in there if one.confirmed is not False for source in one.event.sources}
        doubtful = [
            one.id for one, score in harmless
            if one.confirmed is False and one.event.mark != "delicate" and score >= DOUBTED
            and one.event.status == "done" and not (one.event.happened and one.event.happened[0] > one.since)
            and others.isdisjoint(one.event.sources)
        ]  # fmt: skip
        return [*sure, *doubtful[:MOST_DOUBTED]]

    def widen(self, hits: Sequence[Hit], in_context: Collection[str] = ()) -> list[Hit]:
        """Events of several exchanges with what was said, in three lengths: all of it, the user's words, the summary.

        An exchange that stands in the prompt anyway, in the context or as a better hit, is not repeated.
        """
        shown = {*in_context, *(hit.id for hit in hits if hit.is_exchange)}
        events = [hit for hit in hits if hit.episode == "event"]
        exchanges = self.store.exchanges.of(list(dict.fromkeys(source for hit in events for source in hit.sources)))
        wide = []
        for hit in hits:
            sources = hit.sources if hit.episode == "event" else ()
            if rest := [exchanges[source] for source in sources if source in exchanges and source not in shown]:
                shown.update(sources)
                whole = "\n".join([hit.text, *(exchange_text(one, *self.speakers) for one in rest)])
                users = "\n".join([hit.text, *(exchange_text(replace(one, char=""), *self.speakers) for one in rest)])
                hit = replace(hit, text=whole, shorter=(users, hit.text))
            wide.append(hit)
        return wide

    def _candidates(self, spans: Sequence[Span], recipe: str, matches: Sequence[EpisodeMatch]) -> Candidates:
        """The matches as hits. An exchange that several events tell of counts once, at its best."""
        exchanges = self.store.exchanges.of(sorted({match.exchange_id for match in matches if match.exchange_id}))
        candidates: dict[str, tuple[Hit, str]] = {}
        for match in matches:
            # The asked span in which an episode was told or happened. An episode of a far wider time does not count.
            at = match.episode.since
            start, end = (one.timestamp() for one in match.episode.event.happened or (at, at))
            span = next(
                (
                    one for one in spans
                    if one.covers(at) or happened_in(start, end, (one.start.timestamp(), one.end.timestamp()))
                ),
                None,
            )  # fmt: skip
            why = "outside_span" if spans and span is None else "" if match.passes else "below_threshold"
            hit = _hit(match, recipe, span, exchanges.get(match.exchange_id or ""))
            if hit.id not in candidates or (candidates[hit.id][1] and not why):
                candidates[hit.id] = (hit, why)
        return list(candidates.values())


def _whole_words(text: str, is_known: Callable[[str], bool]) -> list[str]:
    """The known words and names that stand in a text, folded, in its order; none inside a longer one (片儿 in 片儿川).

    A Chinese one begins or ends where a word does (火锅 in 吃火锅), a single character is a word of its own (川).
    """
    folded = words.fold(text)[:MOST_READ]
    starts, ends, at = set(), set(), 0
    for word in words.words(folded):
        place = folded.find(word, at)
        if place >= 0:
            starts.add(place)
            at = place + len(word)
            ends.add(at)
    places: list[tuple[int, int]] = []
    for length in range(LONGEST_NAME, 0, -1):
        for i in range(len(folded) - length + 1):
            j = i + length
            edges = (i in starts) + (j in ends)
            if edges and (edges == 2 or (length > 1 and has_han(folded[i:j]))) and is_known(folded[i:j]):
                if not any(a <= i and j <= b for a, b in places):
                    places.append((i, j))
    return list(dict.fromkeys(folded[i:j] for i, j in sorted(places)))


def _hit(match: EpisodeMatch, recipe: str, span: Span | None, exchange: Exchange | None) -> Hit:
    """A hit on the episode, or on the one ``exchange`` that tells of it; then the event is the shorter way to tell it."""
    episode, event = match.episode, match.episode.event
    if exchange is not None:
        side: Literal["user", "char"] = "user" if exchange.user else "char"
        return Hit(
            "diary", recipe, exchange.id, exchange.user or exchange.char, match.score, exchange.at, event.sources,
            match.features, tuple(match.words), span, side=side, shorter=(event.text,),
        )  # fmt: skip
    is_by_hand = match.exchange_id is not None  # No exchange tells of it.
    return Hit(
        "diary", recipe, episode.id, event.text, match.score, episode.at, () if is_by_hand else event.sources,
        match.features, tuple(match.words), span, episode=episode.kind,
    )  # fmt: skip
