"""Rolling: what leaves the context is understood, by one model call for all layers.

Understanding and leaving are separate. ``due`` decides, from counts alone; ``Roller`` does the work. Work that failed stays
queued in the log, and a crash resumes there.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from moechat.ai.chat_model import ChatModel
from moechat.errors import DataError, ModelError
from moechat.memory.core import CoreMemory
from moechat.memory.episodes import Episodes
from moechat.memory.topics import Topics
from moechat.model import Event, Exchange, FactDraft, Understanding
from moechat.rules import reading as rules
from moechat.rules import topics as topic_rules
from moechat.rules.importance import rate
from moechat.settings.character import Character
from moechat.settings.prompts import Prompts
from moechat.settings.schema import RollSettings
from moechat.store.files import FileStore
from moechat.store.formats import text_hash

log = logging.getLogger(__name__)
LARGEST_BATCH = 20
TOPIC_TOKENS = 600  # of the topic tree that the model is shown
RULES_BATCH = 200


@dataclass(frozen=True)
class Due:
    """What is to be understood now, oldest first, and after which exchange the context is cut. ``must_cut``: the cut is made
    even if the understanding fails. ``newest`` is the last exchange of the context: where the model finds that the scene
    ends with it, all of the context is cut."""

    understand: tuple[str, ...] = ()
    cut_after: str | None = None
    must_cut: bool = False
    newest: str = ""


def due(
    rounds: Sequence[str],
    pending: Sequence[str],
    settings: RollSettings,
    *,
    idle_h: float = 0.0,
    scene_changed: bool = False,
    closing: bool = False,
    batch_size: int = 0,
) -> Due:
    """``rounds`` are the settled exchanges of the context, ``pending`` those that nobody has understood.

    Idle hours are judged at now. Golden ``rolling`` of seed 004: 19 rounds → nothing; 20 → 1–10; a change of scene → all.
    """
    if rounds and (scene_changed or idle_h >= settings.idle_cut_h):
        return Due(tuple(pending), rounds[-1], must_cut=idle_h >= settings.idle_cut_h)
    if len(rounds) >= settings.understand_at_rounds:
        leaving = rounds[: settings.oldest]
        waiting = set(pending)
        work = tuple(id_ for id_ in leaving if id_ in waiting)
        return Due(work, leaving[-1], must_cut=len(rounds) >= settings.cut_at_rounds)
    if pending and (closing or idle_h >= settings.idle_understand_h or (batch_size and len(pending) >= batch_size)):
        return Due(tuple(pending), newest=rounds[-1] if rounds else "")
    inside = set(rounds)
    return Due(tuple(id_ for id_ in pending if id_ not in inside))  # it left the context before it was understood


@dataclass(frozen=True)
class _Elsewhere:
    """What a memory tells of in other exchanges: an event that is found again is as new as it was."""

    known: Episodes
    sources: Sequence[str]

    def __contains__(self, matter: object) -> bool:
        return self.known.told_of(str(matter), self.sources)


@dataclass
class Roller:
    """Understands and cuts for one owner. ``model`` None, or one that does not understand: the rules stand in."""

    store: FileStore
    core: CoreMemory
    prompts: Prompts
    timeout_s: float
    retry_s: float
    character: Callable[[], Character]
    model: Callable[[], ChatModel]
    topics: Topics | None = None
    known: Episodes | None = None
    dedupe_window: int = 100
    batch_size: int = 0
    failures: int = 0
    not_before: datetime | None = None
    problem: str = ""
    _ended: str = ""  # the exchange that, by the model, the scene ends with

    def by_rules(self) -> list[str]:
        """Find the plain facts of settled exchanges at once. Returns the exchanges that were read."""
        pending = self.store.tree.pending()
        noted = self._noted(pending)
        found = [id_ for id_ in pending if id_ not in noted]
        exchanges = self._filed(found)
        with contextlib.suppress(DataError):  # a broken file, told with all others: what it is to hold stays queued
            for start in range(0, len(exchanges), RULES_BATCH):
                batch = exchanges[start : start + RULES_BATCH]
                self._put(batch, _together([self._rules(exchange) for exchange in batch]), understood=False)
        return found

    def _rules(self, exchange: Exchange) -> Understanding:
        character = self.character()
        found = rules.understand(exchange, language=None, user_name=character.user_name, character_name=character.name)
        return replace(found, events=tuple(map(self._placed, found.events)))

    def _placed(self, event: Event) -> Event:
        """An event that the rules found, with its topic, and what being new here adds to its importance."""
        known = None if self.known is None else _Elsewhere(self.known, event.sources)
        novelty = rate(event, known=known) - rate(event)
        importance = round(min(1.0, max(0.1, event.importance + novelty)), 2)
        return replace(event, topic=topic_rules.path_for(event, self.topics), importance=importance)

    def scene_changed(self, rounds: Sequence[str]) -> bool:
        """Whether the newest settled exchange ends the scene (a good night, another topic), by the rules."""
        last = self._filed(rounds[-1:])
        return bool(last) and self._rules(last[0]).scene_changed

    def _noted(self, ids: Sequence[str]) -> set[str]:
        """Those that somebody has read (what is left of dropped notes for an event of the owner's is nobody's)."""
        return {id_ for id_, (_, _, by) in self.store.cache.notes_of(ids).items() if by}

    def _filed(self, ids: Sequence[str]) -> list[Exchange]:
        """Those that stand in their day files as they are meant (a broken file, or a kill, keeps a correction waiting)."""
        rows, nodes = self.store.cache.by_ids(ids), self.store.tree.nodes
        return [rows[id_].exchange for id_ in ids if id_ in rows and (id_ not in nodes or nodes[id_].filed)]

    def run(self, work: Due, now: datetime) -> bool:
        """Understand, then cut. False where understanding failed: it stays queued, and is tried again later."""
        done = True
        size = self.batch_size or LARGEST_BATCH
        self._ended = ""
        for start in range(0, len(work.understand), size):
            done = done and self._understand(work.understand[start : start + size], now)
        cut_after = work.cut_after or (work.newest if self._ended == work.newest else "")
        if cut_after and (done or work.must_cut):
            self.store.cut(cut_after, now)
        return done

    def _understand(self, ids: Sequence[str], now: datetime) -> bool:
        exchanges = self._filed(ids)
        waiting = {node.id for node in self.store.tree.unfiled()}.intersection(ids)
        if not exchanges:
            return not waiting
        model = self.model()
        if not model.understands:
            noted = self._noted(ids)
            self.store.mark_understood([e.id for e in exchanges if e.id in noted], "rules")
            return not waiting and all(e.id in noted for e in exchanges)
        if self.not_before and now < self.not_before:
            return False
        try:
            understanding = self._extract(model, exchanges, now)
            self._put(exchanges, understanding, understood=True)
            self._ended = exchanges[-1].id if understanding.scene_changed else ""
        except (ModelError, DataError) as error:
            self.failures += 1
            self.not_before = now + timedelta(seconds=self.retry_s * 2 ** min(self.failures - 1, 8))
            self.problem = f"what was said waits to be understood: {error}"
            log.warning("understanding failed, tried again after %s: %s", self.not_before, error)
            return False
        self.failures, self.not_before, self.problem = 0, None, ""
        return not waiting

    def _extract(self, model: ChatModel, exchanges: Sequence[Exchange], now: datetime) -> Understanding:
        from moechat.understanding import extraction

        known = self.core.current()[-self.dedupe_window :] if self.dedupe_window else []
        again = {e.id for e in exchanges}
        near = self.core.near("\n".join(e.user for e in exchanges), 20)
        # What the rules found in these very words is not known yet: a model that is shown it would leave it out.
        known = [f for f in [*near, *known] if f.by == "owner" or not f.draft.sources or set(f.draft.sources) - again]
        known = list({fact.id: fact for fact in known}.values())
        character = self.character()
        return extraction.understand(
            model, exchanges, known_facts=known, character_name=character.name, user_name=character.user_name,
            now=now, language=character.language, prompts=self.prompts, timeout_s=self.timeout_s,
            topics=self.topics.tree_text(TOPIC_TOKENS) if self.topics else "",
        )  # fmt: skip

    def _put(self, exchanges: Sequence[Exchange], understanding: Understanding, *, understood: bool) -> None:
        """Store it, unless an exchange was corrected or taken back while the model was thinking: that one stays queued."""
        with self.store.writing():
            standing = {e.id: text_hash(e.user, e.char) for e in self._filed([e.id for e in exchanges])}
            same = {
                e.id: e for e in exchanges
                if standing.get(e.id) == text_hash(e.user, e.char) and e.id not in self.store.tree.retracted
            }  # fmt: skip
            if not understood:  # another thread or process, or a model, was quicker
                waiting = set(self.store.tree.pending()) - self._noted(list(same))
                same = {id_: e for id_, e in same.items() if id_ in waiting}
            if not same:
                return
            told = _without(understanding, {e.id for e in exchanges} - same.keys())
            at = {e.id: e.at for e in exchanges}
            learned = self.core.learn(told.facts, at, told.by, same)
            self.store.derived.put(list(same), told, learned.facts, learned.restated or {}, understood=understood)


def _together(found: Sequence[Understanding]) -> Understanding:
    """What the rules made of several exchanges, as one, so that a day's notes are written once."""
    return Understanding(
        {id_: tag for one in found for id_, tag in one.tags.items()},
        {id_: words for one in found for id_, words in one.keywords.items()},
        tuple(fact for one in found for fact in one.facts),
        tuple(event for one in found for event in one.events),
        any(one.scene_changed for one in found),
        "rules",
    )


def _without(understanding: Understanding, gone: set[str]) -> Understanding:
    """What is left when some exchanges no longer say what was understood: nothing may cite them."""
    if not gone:
        return understanding

    def rests(item: FactDraft | Event) -> bool:
        return not gone.intersection(item.sources)

    return Understanding(
        {id_: tag for id_, tag in understanding.tags.items() if id_ not in gone},
        {id_: found for id_, found in understanding.keywords.items() if id_ not in gone},
        tuple(filter(rests, understanding.facts)),
        tuple(filter(rests, understanding.events)),
        understanding.scene_changed,
        understanding.by,
    )
