"""Rolling: when talk is understood and leaves the context (``due``), and the work, by one model call for all layers or by rules.

Understanding and leaving are separate. ``due`` decides from counts alone, ``Roller`` does the work. Work that failed or was
cut short by a crash stays queued in the log.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from moechat.ai.failure import in_words, sentence
from moechat.ai.precedence import BackgroundModel, BatchSize, GaveWay, Retry
from moechat.clock import local
from moechat.containment import NamedText
from moechat.errors import DataError, ModelError
from moechat.language import words
from moechat.language.words import count_tokens
from moechat.memory.core import is_known
from moechat.model import Episode, Event, Exchange, Fact, Understanding
from moechat.recall import plans, profile
from moechat.recall.layers import Layers
from moechat.rules import boundaries, message
from moechat.rules import reading as rules
from moechat.rules import topics as topic_rules
from moechat.rules.importance import matters, rate
from moechat.rules.message import MAX_BEFORE
from moechat.settings.schema import RollSettings
from moechat.store.formats import text_hash
from moechat.understanding import extraction
from moechat.understanding.closing import closing, ending, instead, may_close
from moechat.understanding.speakers import attributed, together

log = logging.getLogger(__name__)
LARGEST_BATCH = 20
TOPIC_TOKENS = 600  # The model is shown this much of the topic tree.
RULES_BATCH = 20
LONGEST_PLAN = timedelta(days=400)
PLAY_LASTS = timedelta(hours=2)  # Play that nobody ended is over by then.
CUT = frozenset({"cut", "context_full"})
TOO_MUCH = CUT | {"timeout", "broken_off", "nonsense"}  # Fewer exchanges at once may go better.
NEWEST_EVENTS, MOST_PLANS = 200, 20  # The model is shown the plans among the newest events.
STANDING_TOKENS = 900  # The model is shown findings of this many tokens, each with a number.
NEAR_FACTS, NEAR_EVENTS = 8, 4  # The facts and events nearest to an exchange that are among them.


@dataclass(frozen=True)
class Due:
    """What is to be done now: the exchanges to be understood, oldest first, and the one after which the context is cut.

    ``must_cut``: the cut is made even if the understanding fails. ``newest`` is the last exchange of the context; if the model
    says that the scene ends with it, the whole context is cut.
    """

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
    """The work that is due. ``rounds`` are the settled exchanges of the context, ``pending`` those that wait to be understood.

    ``idle_h`` is the time since the last exchange. Golden ``rolling`` of seed 004: 19 rounds → nothing; 20 → 1–10; a change
    of scene → all.
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
    # These left the context before they were understood.
    return Due(tuple(id_ for id_ in pending if id_ not in inside))


@dataclass(frozen=True)
class _UnderstoodBatch:
    """What was understood of some exchanges, and ``learned`` from that with the facts of a ``generation``."""

    exchanges: Sequence[Exchange]
    understanding: Understanding
    generation: int
    learned: tuple[list[Fact], dict[str, list[str]]]
    model: str = ""


def _record(exchange: Exchange) -> NamedText:
    return NamedText(exchange.id, f"{exchange.user}\n{exchange.char}")


@dataclass
class Roller:
    """Understands and cuts for one owner. The rules stand in for a model that does not understand.

    It has more than twenty methods because the rules and the model each have theirs.
    """

    layers: Layers
    model: Callable[[], BackgroundModel]
    retry: Retry = field(default_factory=Retry)
    pace: BatchSize = field(default_factory=lambda: BatchSize(LARGEST_BATCH))
    problem: str = ""
    _by_rules_alone: threading.Lock = field(default_factory=threading.Lock)
    _scene_end: str = ""  # The last exchange of the scene, according to the model.

    def __post_init__(self) -> None:
        self.store = self.layers.store

    @property
    def batch(self) -> int:
        """How many exchanges are understood by one call."""
        return min(self.layers.config().understanding.batch_size or LARGEST_BATCH, self.pace.size)

    def by_rules(self) -> list[Exchange]:
        """Read the settled exchanges by rules, at once, each knowing those before it: what comes of a talk must not depend on
        when it is read. One thread at a time: a reading that comes after a model's would undo it. Returns those that it read."""
        exchanges = list[Exchange]()
        with (
            self._by_rules_alone,
            contextlib.suppress(DataError),
        ):  # A broken file is reported elsewhere; it stays queued.
            pending = self.store.tree.pending()
            noted = self._noted(pending)
            for exchange in self._filed([id_ for id_ in pending if id_ not in noted]):
                self._read([exchange], understood=False)
                user, character = self._names()
                plans.keep(self.store, [exchange], character)
                # The boundaries that it lifts go into the archive, from where their owner can bring them back.
                standing = [one for one in self.layers.core.view().boundaries if exchange.id not in one.draft.sources]
                if standing and not exchange.another(user):
                    earlier = [one for one in standing if one.since <= exchange.at]
                    lifted = [one.id for one in boundaries.lifted(message.read(exchange.user), earlier)]
                    with self.store.writing("lift"):
                        self.store.state.write([{"op": "archive", "ids": lifted}] if lifted else [])
                self.layers.sync()
                exchanges.append(exchange)
        return exchanges

    def _read(self, exchanges: Sequence[Exchange], *, understood: bool) -> None:
        for reading in self.store.contained.each(
            "rules", exchanges, _record, lambda part: self._reading(part, together([self._rules(one) for one in part]))
        ):
            self._put(reading, understood=understood)

    def read_imports(self, most: int = RULES_BATCH) -> int:
        """Read ``most`` of the imported exchanges by rules, a day at a time. Returns how many wait after that.

        They count as understood then: a model is not asked about years at once.
        """
        ids = self._unread()[:most]
        exchanges = self._filed(ids)
        if gone := set(ids).difference(exchange.id for exchange in exchanges):  # a hand has deleted them
            self.store.mark_understood(sorted(gone), "rules")
        with contextlib.suppress(DataError):  # as above
            for _, day in itertools.groupby(exchanges, lambda one: local(one.at, self.store.zone).date()):
                self._read(list(day), understood=True)
        return len(self._unread())

    def _unread(self) -> list[str]:
        """The imported exchanges that wait, without those that the rules have raised over."""
        unreadable = set(self.store.contained.ids("rules"))
        return [id_ for id_ in self.store.tree.unread() if id_ not in unreadable]

    def _rules(self, exchange: Exchange) -> Understanding:
        user, character = self._names()
        another = exchange.another(user)
        if self.store.tree.is_character(exchange.talk, another):  # She is remembered word for word.
            return Understanding(by="rules")
        exchange = self._zoned(exchange)
        before, after = self._around(exchange)
        understanding = rules.understand(exchange, user_name=user, character_name=character, before=before, after=after)
        understanding = attributed(understanding, another) if another else understanding
        placed = {event: self._placed(event) for event in understanding.events}
        in_doubt = frozenset(placed[event] for event in placed if event in understanding.doubtful)
        understanding = replace(understanding, events=tuple(placed.values()), doubtful=in_doubt)
        if not another:
            understanding = ending(understanding, exchange, before, self.layers.core.current())
        if another or not may_close(understanding, exchange):
            return understanding
        plans = self.layers.episodes.view(exchange.at).plans(exchange.at - LONGEST_PLAN, exchange.at + LONGEST_PLAN)
        others = [
            e for e in plans if e.by != "author" and e.event.status == "planned" and exchange.id not in e.event.sources
        ]
        return closing(understanding, exchange, others[-NEWEST_EVENTS:])

    def _around(self, exchange: Exchange) -> tuple[list[str], str]:
        """Its speaker's messages shortly before an exchange, oldest first, and the one after it: play goes on from one to the
        next, and what is taken back was not meant."""
        tree = self.store.tree
        earlier = itertools.islice(tree.ancestors(tree.parents.get(exchange.id)), MAX_BEFORE)
        before = [
            tree.nodes[id_] for id_ in earlier if id_ in tree.nodes and tree.nodes[id_].speaker == exchange.speaker
        ]
        recent = [one.user for one in before if one.at and exchange.at - datetime.fromisoformat(one.at) < PLAY_LASTS]
        newest = itertools.islice(tree.path(tree.talk_of(exchange.id)), MAX_BEFORE)
        after = (tree.nodes[id_] for id_ in newest if tree.parents.get(id_) == exchange.id and id_ in tree.nodes)
        follows = (node.user for node in after if node.speaker == exchange.speaker)
        return recent[::-1], next(follows, "")

    def _zoned(self, exchange: Exchange) -> Exchange:
        """The exchange at the same time in the owner's zone, if it was in that: days have other bounds where clocks change."""
        at = local(exchange.at, self.store.zone)
        return replace(exchange, at=at) if at.utcoffset() == exchange.at.utcoffset() else exchange

    def _names(self) -> tuple[str, str]:
        character = self.layers.character()
        return character.user_name, character.name

    def _placed(self, event: Event) -> Event:
        """An event of the rules with its topic, and with an importance that takes its novelty into account. One that is read
        again is as new as the first time: only what other exchanges tell of is known."""
        elsewhere = {one for one in matters(event) if self.layers.episodes.told_of(one, event.sources)}
        novelty = rate(event, known_matters=elsewhere) - rate(event)
        importance = round(min(1.0, max(0.1, event.importance + novelty)), 2)
        return replace(event, topic=topic_rules.path_for(event, self.layers.topics), importance=importance)

    def scene_changed(self, rounds: Sequence[str]) -> bool:
        """Whether the newest settled exchange ends the scene (a goodbye, going to sleep), by the rules."""
        last = self._filed(rounds[-1:])
        return bool(last) and rules.changes_scene(last[0].user)

    def _noted(self, ids: Sequence[str]) -> set[str]:
        """Those that the rules or a model have read. Notes without a reader are kept only for an event of the owner's."""
        return {id_ for id_, note in self.store.findings.notes_of(ids).items() if note.by}

    def _filed(self, ids: Sequence[str]) -> list[Exchange]:
        """Those whose day file is up to date. A correction may still wait, because the file is broken or after a crash."""
        rows, nodes = self.store.exchanges.by_ids([*{*ids} - self.store.state.returned.keys()]), self.store.tree.nodes
        return [rows[id_].exchange for id_ in ids if id_ in rows and (id_ not in nodes or nodes[id_].filed)]

    def run(self, work: Due, now: datetime) -> bool:
        """Understand, then cut. False if understanding failed, or another worker is at it; what waits is tried again later."""
        with self.store.claimed() as is_ours:
            if not is_ours:
                return False
            self.store.follow()
            self.layers.sync()
            waiting = set(self.store.tree.pending())
            return self._run(replace(work, understand=tuple(id_ for id_ in work.understand if id_ in waiting)), now)

    def _run(self, work: Due, now: datetime) -> bool:
        done, left = True, work.understand
        self._scene_end = ""
        while left and done:
            size = self.batch
            done = self._understand(left[:size], now)
            if done:
                left = left[size:]
            elif self.pace.size < size and not self.retry.failures:
                done = True  # The answer was cut: the same again, in smaller parts.
        cut_after = work.cut_after or (work.newest if self._scene_end == work.newest else "")
        if cut_after and (done or work.must_cut):
            self.store.log.cut(cut_after)
        return done

    def _understand(self, ids: Sequence[str], now: datetime) -> bool:
        exchanges = self._filed(ids)
        waiting = {node.id for node in self.store.tree.unfiled()}.intersection(ids)
        if not exchanges:
            return not waiting
        model = self.model()
        if not model.understands:
            noted, unreadable = self._noted(ids), set(self.store.contained.ids("rules"))
            self.store.mark_understood([e.id for e in exchanges if e.id in noted], "rules")
            return not waiting and all(e.id in noted or e.id in unreadable for e in exchanges)
        if self.retry.waits(now):
            return False
        try:
            self.by_rules()  # where the disk was full, they did not come first
            readings = self.store.contained.each(
                "model", exchanges, _record, lambda part: self._by_model(model, part, now)
            )
            stored = [self._put(reading, understood=True) for reading in readings]
            if not all(stored):
                return False
            if readings:
                self._scene_end = readings[-1].exchanges[-1].id if readings[-1].understanding.scene_changed else ""
        except GaveWay:
            return False
        except (ModelError, DataError) as error:
            if isinstance(error, extraction.NoAnswer):
                self.store.findings.refuse(error.refused)
                if error.is_empty:  # It would say so again. What the rules read stays, for a better model to judge.
                    self.store.mark_understood([exchange.id for exchange in exchanges], "rules")
                    return not waiting
            if isinstance(error, ModelError) and error.kind in TOO_MUCH:
                self.pace.failed(len(exchanges))
                if error.kind in CUT and len(exchanges) > 1:
                    return False
            again = self.retry.failed(now, self.layers.config().roll.retry_s)
            language = self.layers.character().language
            self.problem = sentence("unread", language, detail=in_words(error, language))
            log.warning("understanding failed, tried again after %s: %s", again, error)
            return False
        self.retry.succeeded()
        self.pace.succeeded(len(exchanges))
        self.problem = ""
        return not waiting

    def _by_model(self, model: BackgroundModel, exchanges: Sequence[Exchange], now: datetime) -> _UnderstoodBatch:
        """Each speaker's words are read apart; what stands is the user's, and no one else's to change."""
        earlier, (user, character) = self._earlier(exchanges), self._names()
        understandings: list[Understanding] = []
        for another in dict.fromkeys(["", *(e.another(user) for e in exchanges)]):
            own = [replace(self._zoned(e), char=e.heard) for e in exchanges if e.another(user) == another]
            own = [e for e in own if not self.store.tree.is_character(e.talk, another)]
            standing = () if another else self._standing(own, earlier, now)
            self.store.note_calls([([e.id for e in own], {one.id for one in (*own, *standing)})] if own else [])
            understanding = extraction.understand(
                replace(model, takes_cut=len(exchanges) == 1), own, standing=standing, names=(another or user, character),
                now=now, prompts=self.layers.prompts, topics=self.layers.topics.tree_text(TOPIC_TOKENS),
                timeout_s=self.layers.config().understanding.silence_s, around=self._around,
                record=self.store.state.trust.get(model.name, (0, 0)))  # fmt: skip
            understandings.append(attributed(understanding, another) if another else understanding)
        return self._reading(exchanges, instead(together(understandings), earlier), model.name)

    def _standing(
        self, exchanges: Sequence[Exchange], earlier: Sequence[Fact | Episode], now: datetime
    ) -> list[Fact | Episode]:
        """The findings that these exchanges may touch, the surest first, as many as ``STANDING_TOKENS`` have room for: what was
        found in them before, open plans, boundaries, what is always known of the user, and what is near to their words."""
        core, batch = self.layers.core, {exchange.id for exchange in exchanges}
        window = self.layers.config().Agent.core_dedupe_window
        current = [fact for fact in core.current() if fact.by != "author"]
        facts = [fact for fact in current if fact.draft.kind == "boundary"] + profile.states(core)
        events = self._plans(exchanges, earlier, now)
        view = self.layers.episodes.view(now)
        for exchange in exchanges:
            cue = self.layers.cue(exchange.user, exchange.at, "")
            near = core.search(cue, top_k=NEAR_FACTS, threshold=self.layers.recipes.threshold("profile"))
            by_id = core.view().by_id
            facts += [by_id[hit.id] for hit in near if hit.id in by_id]
            named = view.by_keyword(words.keywords(exchange.user, 8))
            nearest = view.episodes(sorted(named, key=lambda place: (len(named[place]), place))[-NEAR_EVENTS:])
            beside = self.store.findings.citing(sorted({source for e in nearest for source in e.event.sources}))
            events += [e for e in view.having(e.id for e in beside) if e.kind == "event" and e.by in ("rules", "model")]
        facts += current[-window:][::-1] if window else []
        others = [fact for fact in facts if fact.by != "author" and is_known(fact, batch)]
        standing: dict[str, Fact | Episode] = {}
        left = STANDING_TOKENS
        for finding in (*earlier, *events, *others):
            tokens = count_tokens(extraction.line(finding)) + 3  # and its number
            if finding.id not in standing and tokens <= left:
                standing[finding.id] = finding
                left -= tokens
        return list(standing.values())

    def _earlier(self, exchanges: Sequence[Exchange]) -> list[Fact | Episode]:
        """What the rules or a model found before in exactly these exchanges, and still holds; and the facts that the rules put
        those in the place of, or ended."""
        ids, hidden = {exchange.id for exchange in exchanges}, self.store.hidden()
        facts = [fact for fact in self.layers.core.current() if fact.by != "author" and not is_known(fact, ids)]
        citing = self.store.findings.fact_book().citing(ids)
        replaced = [id_ for fact in citing if fact.by == "rules" for id_ in fact.supersedes]
        facts += self.layers.core.get(replaced).values()
        unseen = hidden | self.store.findings.superseded(hidden)
        events = [
            e for e in self.store.findings.citing(sorted(ids))
            if e.kind == "event" and e.by in ("rules", "model") and e.id not in unseen and ids.issuperset(e.event.sources)
        ]  # fmt: skip
        return [*facts, *events]

    def _plans(self, exchanges: Sequence[Exchange], earlier: Sequence[Fact | Episode], now: datetime) -> list[Episode]:
        """What other exchanges tell of as planned or begun, and nothing has closed but what the rules read in these
        (``earlier``); the newest of the newest events."""
        view, ids = self.layers.episodes.view(now), {exchange.id for exchange in exchanges}
        newest = view.episodes(range(max(0, len(view) - NEWEST_EVENTS), len(view)))
        plans = [
            e for e in newest
            if e.event.is_ahead and e.by in ("rules", "model") and not ids.issuperset(e.event.sources)
        ]  # fmt: skip
        by_rules = (one for one in earlier if isinstance(one, Episode) and one.by == "rules")
        closed_here = dict.fromkeys(id_ for one in by_rules for id_ in one.supersedes)
        return [*self.layers.episodes.get(closed_here).values(), *plans[-MOST_PLANS:]]

    def _reading(
        self, exchanges: Sequence[Exchange], understanding: Understanding, model: str = ""
    ) -> _UnderstoodBatch:
        """With what it says of the known facts, worked out before the lock is taken."""
        generation, times = self.store.findings.facts_generation(), {e.id: e.at for e in exchanges}
        learned = self.layers.core.learn(understanding, times, set(times))
        return _UnderstoodBatch(exchanges, understanding, generation, learned, model)

    def _put(self, reading: _UnderstoodBatch, *, understood: bool) -> bool:
        """Store what was understood. Where an exchange changed meanwhile (corrected, taken back, another reply chosen), a
        model's answer is thrown away whole, since it may rest on the old words anywhere: False. The rules read each exchange
        by itself: only what changed is left out. What it says of the known facts is worked out again where they changed since.
        """
        exchanges, understanding, learned = reading.exchanges, reading.understanding, reading.learned
        times = {e.id: e.at for e in exchanges}
        with self.store.writing("understand"):
            hashes = {e.id: text_hash(e) for e in self._filed([e.id for e in exchanges])}
            waiting = {*self.store.tree.pending(), *self.store.tree.unread()}
            same = {e.id: e for e in exchanges if hashes.get(e.id) == text_hash(e) and e.id in waiting}
            if understood and len(same) < len(exchanges):
                return False
            if not understood:  # Another thread or process, or a model, may have been quicker than the rules.
                noted = self._noted(list(same))
                same = {id_: exchange for id_, exchange in same.items() if id_ not in noted}
            if same:
                kept = _without(understanding, {e.id for e in exchanges} - same.keys())
                if kept != understanding or self.store.findings.facts_generation() != reading.generation:
                    learned = self.layers.core.learn(kept, times, same)
                self.store.findings.merge(list(same), kept, *learned, understood=understood)
            if any(understanding.quotes):
                self.store.state.write([{"op": "trust", "model": reading.model, "quotes": list(understanding.quotes)}])
            return True


def _without(understanding: Understanding, changed: set[str]) -> Understanding:
    """The understanding without anything that cites an exchange that has changed since."""
    return replace(
        understanding,
        tags={id_: tag for id_, tag in understanding.tags.items() if id_ not in changed},
        keywords={id_: keywords for id_, keywords in understanding.keywords.items() if id_ not in changed},
        facts=tuple(fact for fact in understanding.facts if changed.isdisjoint(fact.sources)),
        events=tuple(event for event in understanding.events if changed.isdisjoint(event.sources)),
    )
