"""Reflection: once enough has happened it is thought about, in the background (seeds 000 and 001, CONTRACTS.md B).

A counter starts at 150 and falls by the poignancy (ten times the importance) of each new event. At zero a model names three
questions about what was last used, the memory stream is asked each of them, and what a model infers from the answers is
stored as reflections: episodes that cite the episodes they rest on, one deeper than the deepest of them, and that expire.

- Only events of exchanges that are understood count, each once: those told after ``until``, and those of exchanges that
  were still ``open`` (told before it, understood after it). A run moves the mark; nothing is kept for each event.
- A run either stores all it found or nothing: what is to be stored is written into the record of reflection first, and
  from there into the notes, again after a crash. An answer that cannot be used leaves the counter as it is, for another
  try later.
- A reflection that lost evidence (taken back, corrected, edited) goes, with those that rest on it; what is left of the
  evidence is thought about anew, by one call.

Being thought about is no use of a memory: retrieval touches nothing here, as the original's does, since strength would
grow without anybody having talked about it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import numpy as np
from filelock import FileLock, Timeout

from moechat.ai.chat_model import ChatModel
from moechat.errors import DataError, ModelError
from moechat.index.dense import Dense
from moechat.language import words
from moechat.memory import stream
from moechat.memory.episodes import Episodes, View
from moechat.model import Episode, Event
from moechat.settings.prompts import Prompts
from moechat.settings.schema import ReflectionSettings
from moechat.store import formats
from moechat.store.files import FileStore
from moechat.understanding import reflecting
from moechat.understanding.reflected import Made, Record, Reflected, digest
from moechat.understanding.reflecting import Consultation, Cost, Statement

log = logging.getLogger(__name__)

DECAY = 0.99  # per rank of use (seed 000, 3.3)
TOLERANCE = 1e-6
UNRATED = 0.5
KEYWORDS = 6
NEEDS_MODEL = "reflection needs a language model; connect one (chat.base_url and chat.model), the memory itself is kept"


@dataclass(frozen=True, slots=True)
class Report:
    """One run: what was asked and found, and what it cost. ``questions`` is empty where only a loss was made good."""

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
    """Reflects for one owner. ``model`` and ``settings`` are asked anew each time. ``problem`` says what is wrong."""

    store: FileStore
    episodes: Episodes
    dense: Dense
    prompts: Prompts
    model: Callable[[], ChatModel]
    settings: Callable[[], ReflectionSettings] = ReflectionSettings
    problem: str = ""
    spent: Cost = field(default_factory=Cost)
    failures: int = 0
    not_before: datetime | None = None

    def __post_init__(self) -> None:
        self._record = Record(self.store.folder)
        self._running = threading.Lock()
        self._file_lock = FileLock(self.store.folder / ".index" / "reflection.lock", timeout=0, thread_local=False)
        self._tidied: object = None

    # ---- when

    def counter(self, now: datetime) -> float:
        """What has to happen yet until the next reflection, in poignancy; zero or less: it is due."""
        self._record.follow()
        return self.settings().counter - _poignancy(self._new(self.episodes.view(now)))

    def due(self, now: datetime) -> bool:
        """Whether there is something to think about and somebody to ask. ``problem`` says why not, where that is wrong."""
        if not self.settings().enabled:
            self.problem = ""
            return False
        if self.not_before is not None and now < self.not_before:
            return False
        self._record.follow()
        view = self.episodes.view(now)
        if not self.model().understands:  # nobody reads the thousands of events that wait then, at every turn
            waiting = 10 * view.importance[self._told(view)].sum()
            self.problem = NEEDS_MODEL if waiting >= self.settings().counter else ""
            return False
        self.problem = ""
        return self._enough(self._new(view)) or bool(self._remaining(view))

    def _enough(self, new: Sequence[Episode]) -> bool:
        return bool(new) and _poignancy(new) >= self.settings().counter - TOLERANCE

    def _new(self, view: View) -> list[Episode]:
        """The visible events that no run has counted yet, of exchanges that are understood."""
        mark, found = self._record.value, view.episodes(self._told(view).tolist())
        if mark.open:
            visible = set(view.ids)
            citing = (episode for _, episode in self.store.cache.episodes_citing(mark.open))
            found += [e for e in citing if e.id in visible and e.since.timestamp() <= mark.until]
        return [episode for episode in self.understood(found) if episode.kind == "event"]

    def _told(self, view: View) -> np.ndarray:
        """Places of the events that were told after the mark."""
        return np.flatnonzero(~view.reflection & (view.told > self._record.value.until))

    def _remaining(self, view: View) -> list[Episode]:
        """What is left of the evidence of reflections that were lost, once all of it is understood (again)."""
        again = self._record.value.again
        if not again or not set(again).isdisjoint(self.store.tree.pending()):
            return []
        visible = set(view.ids)
        found = [episode for _, episode in self.store.cache.episodes_citing(again) if episode.id in visible]
        return [episode for episode in self.understood(found) if episode.kind == "event"]

    def understood(self, episodes: Iterable[Episode]) -> list[Episode]:
        """Those that nobody will replace: the rules' finds of an exchange go when a model understands it. What the author
        wrote did not happen in this talk."""
        waiting = set(self.store.tree.pending())
        return [
            e for e in episodes if e.by != "author" and e.event.sources and waiting.isdisjoint(e.event.sources)
        ]  # fmt: skip

    # ---- what was lost

    def tidy(self, now: datetime) -> list[str]:
        """Drop reflections whose evidence is gone or says something else now; what is left of it is thought about anew.

        Whatever a crash kept from being stored is stored first. Returns the ids that were dropped; costs no call.
        """
        self._record.follow()
        seen = (self.episodes.changes, self._record.value)
        if seen == self._tidied or not (self._record.value.made or self._record.value.unstored):
            return []
        with self.store.writing():
            self._record.follow()
            self._store()
            mark, gone = self._sound(self._record.value, now)
            if gone:
                self.store.derived.drop_episodes(gone)
                self.episodes.sync()
            if mark != self._record.value:
                self._record.write(mark)
        self._tidied = (self.episodes.changes, self._record.value)
        return gone

    def _sound(self, mark: Reflected, now: datetime) -> tuple[Reflected, list[str]]:
        """The mark without what expired, was lost or is the owner's now, and what must go from the notes."""
        made = {one.id: one for one in mark.made if one.expires > now.timestamp()}
        live = self.episodes.get({*made, *(id_ for one in made.values() for id_ in one.evidence)})
        again, gone = dict.fromkeys(mark.again), list[str]()
        while True:
            changed = [
                one for one in made.values()
                if one.id not in live or live[one.id].by != "model" or not _holds(one.evidence, live)
            ]  # fmt: skip
            if not changed:
                return replace(mark, made=tuple(made.values()), again=tuple(again)), gone
            for one in changed:
                del made[one.id]
                mine = one.id in live and live[one.id].by == "model"
                if mine:
                    gone.append(one.id)
                    del live[one.id]
                if not _holds(one.evidence, live) and (mine or one.id not in live):
                    again |= dict.fromkeys(one.sources)

    # ---- a run

    def run(self, now: datetime, stopping: threading.Event | None = None) -> Report | None:
        """Reflect, if it is due. None where it is not, somebody else is at it, or it failed (``problem``, tried again later).

        ``stopping`` ends it between two calls; then nothing is stored.
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
            self._failed(now, str(error))
            return None
        finally:
            self._running.release()

    def _run(self, now: datetime, stopping: threading.Event | None) -> Report | None:
        settings, before, view = self.settings(), self._record.value, self.episodes.view(now)
        new, remaining = self._new(view), self._remaining(view)
        asking = Consultation(self.model(), self.prompts, settings.llm_timeout_s)
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
        except ModelError as error:
            self._failed(now, str(error))
            return None
        finally:
            self.spent = self.spent + asking.cost
        if thinking.stopping.is_set():
            return None
        if not thinking.understood:
            self._failed(now, "nothing in the answers of the model is an insight that cites what it rests on")
            return None
        made = [reflection(thought, now, settings.expires_days) for thought in thoughts]
        stored = self._commit(before, self._mark(new), made)
        self.failures, self.not_before, self.problem = 0, None, ""
        if stored is None:
            return None
        log.info("reflected: %d insights, %s", len(stored), asking.cost)
        return Report(now, tuple(questions), tuple(stored), asking.cost)

    def _mark(self, counted: Sequence[Episode]) -> Reflected:
        """The record after a run that counted these events (none: only a loss was made good)."""
        mark = self._record.value
        if not self._enough(counted):
            return replace(mark, again=())
        until = max(mark.until, max(episode.since.timestamp() for episode in counted))
        waiting = self.store.exchanges(self.store.tree.pending())  # of an old one the log knows no time
        earlier = tuple(id_ for id_, exchange in waiting.items() if exchange.at.timestamp() <= until)
        return replace(mark, until=until, open=earlier, again=())

    def _commit(self, before: Reflected, mark: Reflected, made: Sequence[Episode]) -> list[Episode] | None:
        """Store what was found and move the mark, as one. What is known already is left out, and so is what lost its
        evidence while the model was thinking; None where that was all, or another process was quicker."""
        with self.store.writing():
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
            self._record.write(replace(mark, made=(*mark.made, *added), unstored=tuple(kept)))
            self._store()
        return kept

    def _store(self) -> None:
        """What is to be stored into the notes (as often as it takes), then out of the record."""
        if waiting := self._record.value.unstored:
            self.store.derived.put_episodes(waiting)
            self._record.write(replace(self._record.value, unstored=()))
            self.episodes.sync()

    def _failed(self, now: datetime, why: str) -> None:
        self.failures += 1
        self.not_before = now + timedelta(seconds=self.settings().retry_s * 2 ** min(self.failures - 1, 8))
        self.problem = f"reflection waits until {self.not_before:%Y-%m-%d %H:%M}: {why}"
        log.warning("%s", self.problem)


class _Thinking:
    """One run's calls: what is asked of the model, about which episodes, and what came of it."""

    def __init__(self, reflector: Reflector, asking: Consultation, view: View, stopping: threading.Event) -> None:
        self._reflector, self._asking, self._view, self.stopping = reflector, asking, view, stopping
        self._thoughts: dict[str, Thought] = {}
        known = view.episodes(np.flatnonzero(view.reflection).tolist())
        self._known = {episode.event.text.casefold() for episode in known}
        self.understood = False  # whether any answer held an insight, new or not

    def questions(self) -> list[str]:
        """Three questions about what was used last, oldest first."""
        view, settings = self._view, self._reflector.settings()
        order = stream.access_order(view.accessed, view.told, view.positions)[: settings.recent]
        recent = self._reflector.understood(view.episodes(sorted(order.tolist())))
        return self._asking.questions(_statements(recent)) if recent else []

    def about(self, question: str) -> None:
        """Insights from what the stream holds about a question (new_retrieve of seed 000, without its touch)."""
        view = self._view
        vectors = self._reflector.dense.query([question])
        scored = stream.scores(
            stream.recency_by_rank(view.accessed, view.told, view.positions, DECAY),
            view.relevance(None if vectors is None else vectors[0]),
            view.importance,
            stream.GENERATIVE_AGENTS,
        )
        best = stream.order(scored.score, self._reflector.settings().retrieved).tolist()
        self._infer(self._reflector.understood(view.episodes(best)), question)

    def anew(self, remaining: Sequence[Episode]) -> None:
        """Insights from what a lost reflection leaves behind."""
        self._infer(sorted(remaining, key=lambda episode: episode.since)[-self._reflector.settings().retrieved :], "")

    def _infer(self, episodes: Sequence[Episode], question: str) -> None:
        if not episodes or self.stopping.is_set():
            return
        said = self._asking.insights(_statements(episodes), question)
        found = reflecting.parse_insights(said)
        if len(found) > reflecting.INSIGHTS:
            found = reflecting.parse_insights(self._asking.condensed(said)) or found
        for text, numbers in found[: reflecting.INSIGHTS]:
            evidence = tuple(episodes[number - 1] for number in numbers if 1 <= number <= len(episodes))
            self.understood = self.understood or bool(evidence)
            if evidence and text.casefold() not in self._known:
                self._thoughts.setdefault(text.casefold(), Thought(text, evidence))

    def rated(self) -> list[Thought]:
        """What was found, each rated by the model, all by one call; a rating that fails costs no insight."""
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


def reflection(thought: Thought, now: datetime, expires_days: float) -> Episode:
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
    return all(id_ in live and digest(live[id_]) == told for id_, told in evidence.items())
