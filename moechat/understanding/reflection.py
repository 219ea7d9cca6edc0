"""Reflection: once enough has happened it is thought about, in the background (seeds 000 and 001, CONTRACTS.md B).

A counter starts at 150 and falls by the poignancy (ten times the importance) of each new event. At zero a model names three
questions about the memories that were used last. For each question it is shown the best memories of the stream and infers
insights from them. These are stored as reflections: episodes that cite the episodes they rest on, are one deeper than the
deepest of them, and expire.

- Only events of understood exchanges count, each once: those told after ``until``, and those of exchanges that were
  ``open`` at the last run (told before ``until``, understood later). A run moves ``until``; no event is marked.
- A run stores all its reflections or none. They are written into the record of reflection first and from there into the
  notes; after a crash the second step is repeated. If an answer cannot be used, the counter stays as it is and the run is
  repeated later.
- A reflection whose evidence was taken back, corrected or edited is dropped, and so are those that rest on it. One call
  makes new insights from the rest of the evidence.

Reflection does not count as use of a memory. The original's retrieval touches what it reads; this one does not, because
strength would grow although nobody has talked about the memory.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import numpy as np
from filelock import FileLock, Timeout
from numpy.typing import NDArray

from moechat.ai.chat_model import ChatModel
from moechat.ai.failure import Failure, Language, in_words, sentence
from moechat.ai.precedence import GaveWay, Retry
from moechat.errors import DataError, ModelError, MoeChatError
from moechat.index.dense import Dense
from moechat.language import words
from moechat.memory import stream
from moechat.memory.episodes import Episodes, EpisodeView
from moechat.model import Episode, Event
from moechat.settings.prompts import Prompts
from moechat.settings.schema import ReflectionSettings
from moechat.store import formats
from moechat.store.kinds import Store
from moechat.store.reflections import Made, Reflected, digest
from moechat.understanding.consultation import INSIGHTS, Consultation, Cost, Statement, parse_insights

log = logging.getLogger(__name__)

DECAY = 0.99  # Recency falls by this factor per rank of use (seed 000, 3.3).
TOLERANCE = 1e-6
UNRATED = 0.5
KEYWORDS = 6
NEEDS_MODEL = "reflection needs a language model; connect one (chat.base_url and chat.model), the memory itself is kept"


@dataclass(frozen=True, slots=True)
class ReflectionRun:
    """One run: its questions, the reflections that it made, and its cost.

    ``questions`` is empty if the run only replaced reflections that had lost evidence.
    """

    at: datetime
    questions: tuple[str, ...]
    made: tuple[Episode, ...]
    cost: Cost


@dataclass
class Thought:
    """An insight on its way to be stored."""

    text: str
    evidence: tuple[Episode, ...]
    importance: float = UNRATED


@dataclass
class Reflector:
    """Reflects for one owner. ``model``, ``settings`` and ``people`` (who the two are, for the model) are called anew each
    time. ``problem`` is "" while all is well."""

    store: Store
    episodes: Episodes
    dense: Dense
    prompts: Prompts
    model: Callable[[], ChatModel]
    settings: Callable[[], ReflectionSettings] = ReflectionSettings
    people: Callable[[], str] = str
    problem: str = ""
    spent: Cost = field(default_factory=Cost)
    retry: Retry = field(default_factory=Retry)

    def __post_init__(self) -> None:
        self._record = self.store.reflected
        self._running = threading.Lock()
        folder = self.store.index_folder
        self._file_lock: AbstractContextManager[object] = (
            FileLock(folder / "reflection.lock", timeout=0, thread_local=False) if folder else nullcontext()
        )
        self._tidied: object = None

    # ---- when it is due

    def counter(self, now: datetime) -> float:
        """The poignancy that is missing until the next reflection; it is due at zero or less."""
        self._record.follow()
        return self.settings().counter - _poignancy(self._new(self.episodes.view(now)))

    def due(self, now: datetime) -> bool:
        """Whether enough has happened and a model can be asked. If only the model is missing, ``problem`` says so."""
        if not self.settings().enabled:
            self.problem = ""
            return False
        if self.retry.waits(now):
            return False
        self._record.follow()
        view = self.episodes.view(now)
        if not self.model().understands:  # Thousands of events may wait then; their texts are not read at every turn.
            waiting = 10 * view.importance[self._since(view)].sum()
            self.problem = NEEDS_MODEL if waiting >= self.settings().counter else ""
            return False
        self.problem = ""
        return self._enough(self._new(view)) or bool(self._remaining(view))

    def _enough(self, new: Sequence[Episode]) -> bool:
        return bool(new) and _poignancy(new) >= self.settings().counter - TOLERANCE

    def _new(self, view: EpisodeView) -> list[Episode]:
        """The visible events that no run has counted yet, of exchanges that are understood."""
        mark = self._record.value
        since = view.episodes(self._since(view).tolist())
        before = [e for e in self._citing(mark.open, view) if e.since.timestamp() <= mark.until]
        return self._understood_events([*since, *before])

    def _citing(self, exchanges: Sequence[str], view: EpisodeView) -> list[Episode]:
        """The visible episodes that cite one of the exchanges."""
        if not exchanges:
            return []
        visible = set(view.ids)
        return [episode for episode in self.store.findings.citing(exchanges) if episode.id in visible]

    def _understood_events(self, episodes: Iterable[Episode]) -> list[Episode]:
        return [episode for episode in self.understood(episodes) if episode.kind == "event"]

    def _since(self, view: EpisodeView) -> NDArray[np.intp]:
        """Places of the events that were told after the last run."""
        return np.flatnonzero(~view.reflection & (view.since > self._record.value.until))

    def _remaining(self, view: EpisodeView) -> list[Episode]:
        """The rest of the evidence of reflections that were dropped, once all of it is understood (again)."""
        again = self._record.value.again
        if not set(again).isdisjoint(self.store.tree.pending()):
            return []
        return self._understood_events(self._citing(again, view))

    def understood(self, episodes: Iterable[Episode]) -> list[Episode]:
        """The episodes of this talk that no model will replace.

        A model confirms, refines or passes over what the rules read in an exchange; what it passed over is left out.
        Episodes by the author are left out, too; they did not happen in this talk.
        """
        waiting = set(self.store.tree.pending())
        return [
            e for e in episodes
            if e.by != "author" and e.confirmed is not False and e.event.sources and waiting.isdisjoint(e.event.sources)
        ]  # fmt: skip

    # ---- reflections that lost evidence

    def tidy(self, now: datetime) -> list[str]:
        """Drop reflections whose evidence is gone or has changed, and queue the rest of the evidence for new insights.

        Reflections that a crash kept from being stored are stored first. Returns the ids that were dropped. Asks no model.
        """
        self._record.follow()
        seen = (self.episodes.changes, self._record.value)
        if seen == self._tidied or not (self._record.value.made or self._record.value.unstored):
            return []
        with self.store.writing("tidy reflections"):
            self._record.follow()
            self._store()
            mark, gone = self._sound(self._record.value, now)
            if gone:
                self.store.findings.take_out(gone, Episode)
                self.episodes.sync()
            if mark != self._record.value:
                self._record.write(mark)
        self._tidied = (self.episodes.changes, self._record.value)
        return gone

    def _sound(self, mark: Reflected, now: datetime) -> tuple[Reflected, list[str]]:
        """The record without reflections that expired, were lost or belong to the owner now, and the ids to be dropped."""
        made = {reflection.id: reflection for reflection in mark.made if reflection.expires > now.timestamp()}
        live = self.episodes.get({*made, *(id_ for reflection in made.values() for id_ in reflection.evidence)})
        again = dict.fromkeys(mark.again)
        gone: list[str] = []
        while True:
            changed = [
                reflection
                for id_, reflection in made.items()
                if id_ not in live or live[id_].by != "model" or not _holds(reflection.evidence, live)
            ]
            if not changed:
                return replace(mark, made=tuple(made.values()), again=tuple(again)), gone
            for reflection in changed:
                id_ = reflection.id
                del made[id_]
                mine = id_ in live and live[id_].by == "model"
                if mine:
                    gone.append(id_)
                    del live[id_]
                if not _holds(reflection.evidence, live) and (mine or id_ not in live):
                    again |= dict.fromkeys(reflection.sources)

    # ---- a run

    def run(self, now: datetime, stopping: threading.Event | None = None) -> ReflectionRun | None:
        """Reflect, if it is due.

        None if it is not due, another thread or process is at it, or it failed: then ``problem`` says why, and a later run
        tries again. ``stopping`` ends it between two calls; then nothing is stored.
        """
        if not self._running.acquire(blocking=False):
            return None
        try:
            with self._file_lock:
                self.tidy(now)
                return self._run(now, stopping) if self.due(now) else None
        except Timeout:
            return None
        except DataError as error:
            self._failed(now, error)
            return None
        finally:
            self._running.release()

    def _run(self, now: datetime, stopping: threading.Event | None) -> ReflectionRun | None:
        settings = self.settings()
        before = self._record.value
        view = self.episodes.view(now)
        new = self._new(view)
        remaining = self._remaining(view)
        asking = Consultation(self.model(), self.prompts, settings.llm_timeout_s, self.people())
        thinking = _Thinking(self, asking, view, stopping or threading.Event())
        questions: list[str] = []
        try:
            if self._enough(new):
                questions = thinking.questions()
                for question in questions:
                    thinking.about(question)
            if remaining:
                thinking.anew(remaining)
            thoughts = thinking.rated()
        except GaveWay:
            return None
        except ModelError as error:
            self._failed(now, error)
            return None
        finally:
            self.spent = self.spent + asking.cost
        if thinking.stopping.is_set():
            return None
        if not thinking.understood:
            self._failed(now, Failure("no_insight", self._language, model=self.model().name))
            return None
        made = [episode_of(thought, now, settings.expires_days) for thought in thoughts]
        stored = self._commit(before, self._mark(new), made, thinking.shown)
        self.retry.succeeded()
        self.problem = ""
        if stored is None:
            return None
        log.info("reflected: %d insights, %s", len(stored), asking.cost)
        return ReflectionRun(now, tuple(questions), tuple(stored), asking.cost)

    def _mark(self, counted: Sequence[Episode]) -> Reflected:
        """The record after a run that counted these events; without any, only lost reflections were replaced."""
        mark = self._record.value
        if not self._enough(counted):
            return replace(mark, again=())
        until = max(mark.until, max(episode.since.timestamp() for episode in counted))
        waiting = self.store.exchanges.of(self.store.tree.pending())  # The log knows no time of the old ones.
        earlier = tuple(id_ for id_, exchange in waiting.items() if exchange.at.timestamp() <= until)
        return replace(mark, until=until, open=earlier, again=())

    def _commit(
        self, before: Reflected, mark: Reflected, made: Sequence[Episode], shown: Collection[str]
    ) -> list[Episode] | None:
        """Store the reflections and the record, as one. Returns those that were stored.

        Known reflections are left out, and so are those that lost evidence while the model was thinking. None if all of them
        did, or if another process was quicker; then nothing is stored.
        """
        with self.store.writing("reflect"):
            self._record.follow()
            self.episodes.sync()
            live = self.episodes.get({id_ for episode in made for id_ in episode.evidence} | {e.id for e in made})
            waiting = set(self.store.tree.pending())
            sound = [
                episode for episode in made
                if live.keys() >= set(episode.evidence) and waiting.isdisjoint(episode.event.sources)
            ]  # fmt: skip
            if (made and not sound) or self._record.value != before:
                return None
            kept = [episode for episode in sound if episode.id not in live]
            added = (Made.of(episode, {id_: digest(live[id_]) for id_ in episode.evidence}) for episode in kept)
            self.store.note_calls([([episode.id for episode in kept], shown)] if kept else [])
            self._record.write(replace(mark, made=(*mark.made, *added), unstored=tuple(kept)))
            self._store()
        return kept

    def _store(self) -> None:
        """Move the reflections that wait in the record into the notes. It can be repeated."""
        if waiting := self._record.value.unstored:
            self.store.findings.put(waiting)
            self._record.write(replace(self._record.value, unstored=()))
            self.episodes.sync()

    @property
    def _language(self) -> Language:
        return "en" if self.prompts.language == "en" else "zh"

    def _failed(self, now: datetime, error: MoeChatError) -> None:
        again, why = self.retry.failed(now, self.settings().retry_s), in_words(error, self._language)
        self.problem = sentence("unreflected", self._language, until=f"{again:%Y-%m-%d %H:%M}", detail=why)
        log.warning("%s", self.problem)


class _Thinking:
    """The calls of one run: what is asked of the model, about which episodes, and the thoughts that result."""

    def __init__(
        self, reflector: Reflector, asking: Consultation, view: EpisodeView, stopping: threading.Event
    ) -> None:
        self._reflector = reflector
        self._asking = asking
        self._view = view
        self.stopping = stopping
        self._thoughts: dict[str, Thought] = {}
        reflections = view.episodes(np.flatnonzero(view.reflection).tolist())
        self._known_texts = {episode.event.text.casefold() for episode in reflections}
        self.shown: set[str] = set()
        self.understood = False  # Whether any answer held an insight, new or not.

    def questions(self) -> list[str]:
        """Three questions about the episodes that were used last."""
        view = self._view
        order = stream.access_order(view.accessed, view.since, view.positions)[: self._reflector.settings().recent]
        recent = self._reflector.understood(view.episodes(sorted(order.tolist())))
        self.shown.update(episode.id for episode in recent)
        return self._asking.questions(_statements(recent)) if recent else []

    def about(self, question: str) -> None:
        """Insights from the stream's best episodes about a question (``new_retrieve`` of seed 000, without its touch)."""
        view = self._view
        vectors = self._reflector.dense.query([question])
        scored = stream.scores(
            stream.recency_by_rank(view.accessed, view.since, view.positions, DECAY),
            view.relevance(None if vectors is None else vectors[0]),
            view.importance,
            stream.GENERATIVE_AGENTS,
        )
        best = stream.order(scored.score, self._reflector.settings().retrieved).tolist()
        self._infer(self._reflector.understood(view.episodes(best)), question)

    def anew(self, remaining: Sequence[Episode]) -> None:
        """Insights from the evidence that dropped reflections leave behind."""
        self._infer(sorted(remaining, key=lambda episode: episode.since)[-self._reflector.settings().retrieved :], "")

    def _infer(self, episodes: Sequence[Episode], question: str) -> None:
        if not episodes or self.stopping.is_set():
            return
        self.shown.update(episode.id for episode in episodes)
        answer = self._asking.insights(_statements(episodes), question)
        insights = parse_insights(answer)
        if len(insights) > INSIGHTS:
            insights = parse_insights(self._asking.condensed(answer)) or insights
        for text, numbers in insights[:INSIGHTS]:
            evidence = tuple(episodes[number - 1] for number in numbers if 1 <= number <= len(episodes))
            self.understood = self.understood or bool(evidence)
            if evidence and text.casefold() not in self._known_texts:
                self._thoughts.setdefault(text.casefold(), Thought(text, evidence))

    def rated(self) -> list[Thought]:
        """The thoughts with their importance, by one call. If it fails, they keep the importance of an unrated one."""
        thoughts = list(self._thoughts.values())
        if not thoughts or self.stopping.is_set():
            return []
        try:
            ratings = self._asking.ratings([thought.text for thought in thoughts])
        except ModelError as error:
            log.warning("the importance of reflections is taken as %s: %s", UNRATED, error)
            return thoughts
        return [
            replace(thought, importance=UNRATED if rating is None else round(rating, 2))
            for thought, rating in zip(thoughts, ratings, strict=True)
        ]


def episode_of(thought: Thought, now: datetime, expires_days: float) -> Episode:
    """A thought as an episode: it rests on all exchanges of its evidence and is one deeper than the deepest of it."""
    sources = tuple(dict.fromkeys(source for episode in thought.evidence for source in episode.event.sources))
    return Episode(
        formats.derived_id(thought.text, sources),
        now,
        Event(
            thought.text, sources, importance=thought.importance, keywords=tuple(words.keywords(thought.text, KEYWORDS))
        ),
        "reflection",
        "model",
        tuple(episode.id for episode in thought.evidence),
        1 + max(episode.depth for episode in thought.evidence),
        now + timedelta(days=expires_days),
    )


def _statements(episodes: Sequence[Episode]) -> list[Statement]:
    """Numbered from 1, each with the day on which it was told."""
    return [(number, f"{e.since:%Y-%m-%d} {e.event.text}") for number, e in enumerate(episodes, 1)]


def _poignancy(events: Collection[Episode]) -> float:
    return 10 * sum(episode.event.importance for episode in events)


def _holds(evidence: Mapping[str, str], live: Mapping[str, Episode]) -> bool:
    return all(id_ in live and digest(live[id_]) == hash_ for id_, hash_ in evidence.items())
