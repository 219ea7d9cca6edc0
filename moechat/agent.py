"""An agent: one character with one user. The turn, told in numbered steps, and what happens around it.

Faces (web, commands, server) speak to an agent and never touch a file or an index.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
import weakref
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from moechat.ai.chat_model import ChatModel, ChatRequest
from moechat.ai.failure import Failure
from moechat.author.official import Official
from moechat.clock import Clock
from moechat.cue import Cue
from moechat.curation import upkeep
from moechat.curation.forgetting import Limits
from moechat.curation.keeper import Keeper
from moechat.curation.maintenance import Maintenance
from moechat.errors import DataError, EmbeddingError, MoeChatError, NotFound
from moechat.index.dense import Dense
from moechat.memory import context
from moechat.memory.anchors import Anchors
from moechat.memory.core import CoreMemory
from moechat.memory.diary import Diary
from moechat.memory.entities import Entities
from moechat.memory.episodes import Episodes
from moechat.memory.overview import overview
from moechat.memory.topics import Topics
from moechat.memory.world_book import WorldBook
from moechat.model import Embedder, Exchange, Message, Recollection, Status
from moechat.recall import assembly
from moechat.recall.assembly import Background
from moechat.recall.layers import Layers
from moechat.recall.pipeline import Budget, recall
from moechat.settings.character import Character, CharacterFile
from moechat.settings.config import Config
from moechat.settings.prompts import Prompts
from moechat.store.files import FileStore
from moechat.turn import Delta, Ended, Recalled, Shown, TurnEvent, ground, shown, told
from moechat.understanding.reflection import NEEDS_MODEL, Reflector, Report
from moechat.understanding.roll import Due, Roller, due
from moechat.when import Span
from moechat.worker import Worker

log = logging.getLogger(__name__)
TICK_S = 5.0
SLICE = 256  # exchanges that are embedded before other background work has its turn


@dataclass(frozen=True)
class Surroundings:
    """What an agent shares with others: the pool, the models, the clock and where the prompts are.

    ``model`` and ``understanding`` are asked anew each time, so that a connection made in the page holds from the next turn.
    ``looks``: nothing settles, is understood or leaves the context by itself (commands that only show).
    """

    clock: Clock
    pool: Executor
    embedder: Embedder | None
    embedding_settings: dict[str, str]
    load_embedder: Callable[..., Embedder | None]
    model: Callable[[], ChatModel]
    understanding: Callable[[], ChatModel]
    ready: Callable[[], None]
    prompt_folders: Sequence[Path]
    looks: bool = False


class Agent:
    """One character with one user, opened. ``folder`` is the owner's; the character's own folder is in ``character``."""

    def __init__(self, file: CharacterFile, folder: Path, around: Surroundings) -> None:
        self._file, self._around = file, around
        self._turn, self._rolling, self._lock = threading.Lock(), threading.Lock(), threading.RLock()
        self._embedding = (0, 0.0)
        self._turns: weakref.WeakSet[Generator[TurnEvent, None, None]] = weakref.WeakSet()
        self._stop = threading.Event()
        self._stream: Iterator[str] | None = None
        character = file.character
        self.store = FileStore(folder, clock=around.clock, zone=self.config.time.tzinfo)
        self.dense = Dense(
            folder / ".index", around.embedder, settings=around.embedding_settings, load=around.load_embedder
        )
        self._prompts = Prompts(around.prompt_folders, character.language)
        self.layers = Layers(
            self.store, self.dense, lambda: self.character, lambda: self.config, model=around.understanding,
            prompts=self._prompts,
        )  # fmt: skip
        self._roller = Roller(
            self.store, self.layers.core, self._prompts, timeout_s=self.config.understanding.llm_timeout_s,
            retry_s=self.config.roll.retry_s, character=lambda: self.character, model=around.understanding,
            dedupe_window=self.config.Agent.core_dedupe_window,
            batch_size=self.config.understanding.batch_size, topics=self.layers.topics, known=self.layers.episodes,
        )  # fmt: skip
        self._reflector = Reflector(
            self.store, self.episodes, self.dense, self._prompts, around.understanding,
            lambda: self.config.reflection,
        )  # fmt: skip
        self.keeping = Keeper(
            self.store, self.layers, change=self.change, now=self.now, language=lambda: self.character.language,
            limits=self._limits,
        )  # fmt: skip
        self._maintenance = Maintenance(
            self.store, self.core, self._prompts, lambda: self.character, around.understanding, self._limits,
            timeout_s=self.config.understanding.llm_timeout_s, merges=self.config.forgetting.merges,
        )  # fmt: skip
        self._anchors = Anchors(self.layers.core, self.store, around.clock)
        self._before: list[Message] = []
        self._history_problem = ""
        if not self.store.tree.parents:  # the talk that an older program left seeds the first context
            self._history(lambda: self._before.extend(context.saved(folder)))
        self._worker = Worker(f"memory of {character.name}", self.tick, TICK_S)
        if around.looks:
            self._worker.submit(self._embed_some)
        else:
            self.store.resume()
            self.store.compact()
            self._worker.submit(self._catch_up)

    # ---- what it is

    @property
    def character(self) -> Character:
        return self._file.character

    @property
    def config(self) -> Config:
        """The settings with the character's overrides in place."""
        return self._file.config

    def now(self) -> datetime:
        return self._around.clock.now()

    def problems(self) -> list[str]:
        """What is wrong with files and models, in words, each with its file."""
        found = [str(problem) for problem in self.store.problems]
        found += [str(self._file.problem)] if self._file.problem else []
        found += self.layers.problems()
        found += [text for text in (self._history_problem, self.dense.notice, self._roller.problem) if text]
        if (waits := self._reflector.problem) and waits != NEEDS_MODEL:  # without a model the page says so already
            found.append(waits)
        left, seconds = self._embedding
        if left > SLICE:
            found.append(f"vectors are being made: {left} exchanges to go, about {max(1, round(seconds / 60))} min")
        return found

    def _limits(self) -> Limits:
        return Limits(**self.config.forgetting.model_dump(exclude={"merges"}))

    def verify(self) -> upkeep.Report:
        """The files against the indexes; every difference in words. Reads all files and changes nothing."""
        return upkeep.verify(self.store, self.layers, self.problems())

    @property
    def diary(self) -> Diary:
        return self.layers.diary

    @property
    def core(self) -> CoreMemory:
        return self.layers.core

    @property
    def episodes(self) -> Episodes:
        return self.layers.episodes

    @property
    def topics(self) -> Topics:
        return self.layers.topics

    @property
    def official(self) -> Official:
        return self.layers.official

    @property
    def entities(self) -> Entities:
        return self.layers.entities

    @property
    def book(self) -> WorldBook:
        return self.layers.book

    # ---- one turn

    def talk(self, text: str) -> Iterator[TurnEvent]:
        """One turn. Closing the iterator, or ``stop``, ends the reply; what was shown is what is stored."""
        return self._kept(self._talk(text))

    def regenerate(self) -> Iterator[TurnEvent]:
        """Another reply to the last message. Raises NotFound where there is none."""
        return self._kept(self._regenerate())

    def _kept(self, turn: Generator[TurnEvent, None, None]) -> Iterator[TurnEvent]:
        """Remember a turn as long as somebody holds it: one that is left in the middle is ended by ``close``."""
        self._turns.add(turn)
        return turn

    def _talk(self, text: str) -> Generator[TurnEvent, None, None]:
        text = clean(text)
        if not text.strip():
            raise MoeChatError("the message is empty; write something first")
        with self._turn:
            self._follow()
            now = self.now()
            self._cut_if_idle(now)
            id_ = self.store.begin(text, now)  # 1. the message is in the log; what came before has settled
            self._roller.by_rules()
            yield from self._reply(id_, text, now)

    def _regenerate(self) -> Generator[TurnEvent, None, None]:
        with self._turn:
            self._follow()
            leaf = self.store.tree.leaf
            if leaf is None or leaf in self.store.tree.retracted:
                raise NotFound("there is no message to answer again")
            if self.store.is_streaming(leaf):
                raise MoeChatError("the last message is being answered right now")
            exchange = self.store.get(leaf)
            self.store.restart_stream(leaf)
            yield from self._reply(leaf, exchange.user, exchange.at)

    def _reply(self, id_: str, text: str, now: datetime) -> Iterator[TurnEvent]:
        said: list[str] = []
        status: Status = "stopped"
        error = ""
        grounds: list[dict[str, object]] = []
        spans: list[list[str]] = []
        self._stop.clear()
        try:
            self.layers.sync()
            before = [e for e in self._context(now) if e.id != id_]
            previous = before[-1].char if before else ""
            cue = self._cue(text, now, previous)  # 2. the cue, and all recipes side by side
            found = self._recall(cue, before, own=id_)  # 3. merged, fused, within the budget
            grounds = [ground(hit) for hit in found.hits] + [
                ground(d.hit) | {"dropped": d.why} for d in found.dropped if d.why == "in_context"
            ][:3]
            spans = [told(span) for span in found.spans]
            yield Recalled(id_, found)
            request = self._request(text, now, before, found, own=id_)  # 4. the prompt
            for piece in self._pieces(request):  # 5. the reply streams
                said.append(piece)
                yield Delta(piece)
            status = "stopped" if self._stop.is_set() else "done"
        except MoeChatError as failure:
            status, error = "failed", self._in_words(failure)
        finally:
            self._stream = None
            reply = clean("".join(said))
            self.store.finish(id_, reply, status, error=error, hits=grounds, spans=spans)  # 6. stored; it settles later
            self._worker.submit(self._after_turn)  # 7. the roll, in the background
        yield Ended(self.store.get(id_), error)

    def _in_words(self, failure: MoeChatError) -> str:
        return failure.in_words(self.character.language) if isinstance(failure, Failure) else str(failure)

    def _request(
        self, text: str, now: datetime, before: Sequence[Exchange], found: Recollection, *, own: str
    ) -> ChatRequest:
        character, chat = self.character, self.config.chat
        kept = context.newest(before, length=max(0, self.config.Agent.context_length), tokens=chat.context_tokens)
        start = self._sees_the_start(kept)
        talk = self._seeded(
            assembly.history(kept, "" if self._before else character.greeting, from_the_start=start), start
        )
        messages = assembly.assemble(
            character, self._prompts, talk, found, text, now, recalled_position=chat.recalled_position,
            background=self._background(found, {own, *(e.id for e in kept)}, now),
        )  # fmt: skip
        in_view = [
            d.hit for d in found.dropped if d.why == "in_context" and d.hit.side != "char"
        ]  # the user's words alone
        hits = [*found.hits, *in_view]
        return ChatRequest(messages, character, text, now, found.spans, found.empty_spans, hits, kept)

    def _background(self, found: Recollection, in_context: set[str], now: datetime) -> Background:
        """What the hits stand for, and the overview: without what the context or the recalled exchanges tell in full."""
        facts = {fact.id: fact for fact in self.core.current()}
        hits = [hit for hit in found.hits if hit.layer == "diary"]
        episodes = self.episodes.get([hit.id for hit in hits if hit.kind])
        recalled = {hit.id for hit in hits}
        for hit in hits:
            if hit.kind == "event" and hit.id in episodes and hit.text != episodes[hit.id].event.text:
                recalled.update(hit.sources)  # word for word, below the event
        capacity = self.config.roll.overview
        return Background(facts, episodes, overview(self.episodes, now, in_context, capacity, recalled))

    def _seeded(self, talk: list[Message], start: bool) -> list[Message]:
        """The first context begins with what history.yaml held; ``context_length`` counts it."""
        said = [*self._before, *talk] if start else talk
        length = self.config.Agent.context_length
        return said[-max(length, len(talk)) :] if length else said

    def _save_history(self) -> None:
        """The settled talk of the context, in history.yaml."""
        if self.store.tree.parents:
            opened = {node.id for node in self.store.tree.open()}
            settled = [exchange for exchange in context.path(self.store) if exchange.id not in opened]
            said = self._seeded(context.messages(settled), self._sees_the_start(settled))
            self._history(lambda: context.save(self.store.folder, said))

    def _history(self, work: Callable[[], None]) -> None:
        try:
            work()
            self._history_problem = ""
        except DataError as problem:
            self._history_problem = str(problem)

    def _sees_the_start(self, kept: Sequence[Exchange]) -> bool:
        if not kept:
            return self.store.tree.leaf is None or self.store.tree.parents.get(self.store.tree.leaf) is None
        return kept[0].id in self.store.tree and self.store.tree.parents[kept[0].id] is None

    def _pieces(self, request: ChatRequest) -> Iterator[str]:
        stream = self._stream = self._around.model().stream(request)
        try:
            if self._stop.is_set():
                return
            for piece in stream:
                if self._stop.is_set():
                    return
                yield piece
        finally:
            _close(stream)

    def stop(self) -> None:
        """End the reply that is streaming, from any thread."""
        self._stop.set()
        if self._stream is not None:
            _close(self._stream)

    # ---- recall

    def recall(self, text: str) -> Recollection:
        """What would be recalled for this message, and why. Writes and touches nothing."""
        self._follow()
        now = self.now()
        before = self._context(now)
        return self._recall(self._cue(clean(text), now, before[-1].char if before else ""), before)

    def _cue(self, text: str, now: datetime, previous: str) -> Cue:
        embed = self.dense.query if self.dense.serving else None
        return Cue(text, now, previous, embed, self.config.time.widths, self._anchors.resolve)

    def _recall(self, cue: Cue, before: Sequence[Exchange], *, own: str = "") -> Recollection:
        """``own`` is the exchange that is being answered (again): it is not a memory of itself."""
        self._around.ready()
        settings = self.config.recall
        kept = context.newest(before, length=self.config.Agent.context_length, tokens=self.config.chat.context_tokens)
        seen, recipes = {own, *(e.id for e in kept)}, self.layers.recipes
        found = recall(
            cue, recipes.active(), pool=self._around.pool,
            deadline_s=settings.deadline_ms / 1000 + recipes.patience_s,
            budget=Budget(settings.token_budget, dict(settings.min_share.model_dump())),
            widen=lambda hits: self.layers.widen(hits, seen), in_context=seen, empty_spans=self._empty_spans,
        )  # fmt: skip
        return replace(found, dropped=[one for one in found.dropped if one.hit.id != own])

    def _empty_spans(self, cue: Cue) -> Sequence[Span]:
        return self.diary.empty_spans(cue) if self.config.Agent.long_memory else []

    # ---- the context and what follows it

    def _context(self, now: datetime) -> list[Exchange]:
        """The talk in the context at ``now``: none after the idle hours, whether or not that cut is written already."""
        exchanges = context.path(self.store)
        return [] if exchanges and self._idle_h(exchanges, now) >= self.config.roll.idle_cut_h else exchanges

    @staticmethod
    def _idle_h(exchanges: Sequence[Exchange], now: datetime) -> float:
        return (now - exchanges[-1].at).total_seconds() / 3600 if exchanges else 0.0

    def _cut_if_idle(self, now: datetime) -> None:
        exchanges = context.path(self.store)
        if exchanges and self._idle_h(exchanges, now) >= self.config.roll.idle_cut_h:
            self.store.settle()
            self.store.cut(exchanges[-1].id, now)

    def _follow(self) -> None:
        """Take in what hands and other processes changed."""
        self._file.refresh()
        self.store.follow()
        if not self._around.looks:
            self._roller.by_rules()
        self.layers.refresh()
        self.layers.sync()

    def _after_turn(self) -> None:
        self._save_history()
        self._embed_some()
        self._roll()
        self._tend()

    def _embed_some(self) -> None:
        """A slice of the vectors that are missing; the rest goes behind what else is waiting. Half the time is left free."""
        begun = time.monotonic()
        try:
            done = self.layers.embed(self._worker.stopping, SLICE)
        except EmbeddingError as error:
            log.warning("embedding stopped until the next turn: %s", error)
            self.dense.notice = str(error)
            return
        taken_s = time.monotonic() - begun
        space = self.dense.spaces[-1] if self.dense.spaces else None
        left = self.layers.missing(space) if space else 0
        self._embedding = (left, taken_s / max(done, 1) * 2 * left)
        if done and left:
            self._worker.stopping.wait(taken_s)
            self._worker.submit(self._embed_some)
        elif not left and self.dense.changing():
            self.layers.switch()

    def progress(self) -> tuple[int, float]:
        """(exchanges that wait for a vector, about how many seconds that will take)."""
        return self._embedding

    def _due(self, *, closing: bool = False) -> Due:
        now = self.now()
        exchanges = context.path(self.store)
        rounds = [e.id for e in exchanges if e.id in self.store.tree and self.store.tree.node(e.id).settled]
        return due(
            rounds, self.store.tree.pending(), self.config.roll, idle_h=self._idle_h(exchanges, now),
            scene_changed=self._roller.scene_changed(rounds), closing=closing,
            batch_size=self.config.understanding.batch_size,
        )  # fmt: skip

    def _roll(self, *, closing: bool = False) -> None:
        """One batch at a time: what is due is decided when the one before is done. ``closing``: until nothing waits."""
        with self._rolling:
            before: Due | None = None
            while (work := self._due(closing=closing)) != before and self._roller.run(work, self.now()):
                self.store.follow()
                self.layers.sync()
                if not closing:
                    return
                before = work

    def _catch_up(self) -> None:
        """At the start: work that was left, and vectors that are missing."""
        self._roller.by_rules()
        self._roll()
        self._embed_some()

    def tick(self) -> None:
        """Now and then, in the background: a pause settles, an idle hour understands."""
        with self._turn:
            self.store.follow(all_files=True)
            if self._around.looks:
                return
            opened = self.store.tree.open()
            pause = self.config.roll.pause_s
            if opened and all((self.now() - datetime.fromisoformat(n.at)).total_seconds() >= pause for n in opened):
                self.settle()
        self._roll()
        self._tend()

    def _tend(self) -> None:
        """What a memory does by itself: what goes together, thinking about what happened, and forgetting; each by itself."""
        for step in (lambda: self.layers.associate(self.now()), self.reflect, self._forget):
            self._worker.guarded(step)

    def _forget(self) -> None:
        if self._maintenance.run(self.now(), self._worker.stopping).goes:
            self.layers.sync()

    def reflect(self) -> Report | None:
        """Think about what happened now, if enough has; None where not, and ``reflection.problem`` may say why."""
        report = self._reflector.run(self.now(), self._worker.stopping)
        if report is not None:
            self.layers.sync()
        return report

    @property
    def reflection(self) -> Reflector:
        return self._reflector

    # ---- changes of mind

    def select(self, id_: str, variant: int | None = None) -> None:
        """Branch here, go back to a branch, or choose another reply."""
        self.change(lambda: self.store.select(id_, variant))

    def correct(self, id_: str, **words: str) -> None:
        """Change the ``user`` or ``char`` words of an exchange; what follows stays, what was derived is understood anew."""
        self.change(lambda: self.store.correct(id_, **{side: clean(text) for side, text in words.items()}))

    def retract(self, id_: str) -> None:
        self.change(lambda: self.store.retract(id_))

    def restore(self, id_: str) -> None:
        self.change(lambda: self.store.restore(id_))

    def change(self, change: Callable[[], None]) -> None:
        """Run a change of the files that this memory rests on, and follow it."""
        with self._turn:
            self._follow()
            change()
            self._roller.by_rules()
            self.layers.sync()
            if len(self.layers.together):  # else nothing of it is known yet
                self.layers.associate(self.now())
        self._worker.submit(self._after_turn)

    def log(self) -> list[dict[str, object]]:
        """Every logged exchange in the order of the log. ``mark``: * on the selected path, - retracted, else another branch."""
        tree, off = self.store.tree, self.store.tree.off_path()
        texts = self.store.exchanges([id_ for id_ in list(tree.parents) if id_ not in self.store.state.missing])
        rows: list[dict[str, object]] = []
        for id_, exchange in texts.items():
            node = tree.nodes.get(id_)
            mark = "-" if id_ in tree.retracted else " " if id_ in off else "*"
            status = "retracted" if id_ in tree.retracted else exchange.status
            rows.append({
                "id": id_, "parent": tree.parents[id_], "status": status, "text": exchange.user, "reply": exchange.char,
                "mark": mark, "settled": node is None or node.settled, "variants": len(node.variants) if node else 1,
            })  # fmt: skip
        return rows

    def settle(self) -> None:
        """What was answered stands; the plain facts in it are found at once."""
        self.store.settle()
        self._save_history()
        self._roller.by_rules()
        self.layers.sync()

    def finish(self) -> None:
        """A command's end: settled, understood, and what was just said embedded, before this returns."""
        self.settle()
        self._roll(closing=True)
        self._tend()
        with contextlib.suppress(EmbeddingError):  # said when it was used
            self.layers.embed(self._worker.stopping, SLICE)

    def settle_indexes(self) -> None:
        """Wait until what is made in the background (vectors, a trained index) is made."""
        self._worker.wait()
        self.layers.settle_indexes()

    def close(self) -> None:
        """Settle, and stop every thread of this agent. What is not understood yet stays queued."""
        self.stop()
        for turn in list(self._turns):
            with contextlib.suppress(ValueError):  # it runs in another thread, and has been told to stop
                turn.close()
        with contextlib.ExitStack() as last:  # a file that cannot be written keeps no thread and no file open
            for close in (self.store.close, self.layers.close, self._worker.close):
                last.callback(close)
            if not self._around.looks:
                with self._turn:
                    self.settle()

    # ---- what faces show

    def recent(self, count: int, before: str | None = None) -> list[Shown]:
        """The newest ``count`` exchanges on the path, or those before an exchange, oldest first; cuts hide nothing here."""
        tree = self.store.tree
        start = tree.leaf if before is None else tree.parents.get(before)
        ids: list[str] = []
        for id_ in tree.ancestors(start):
            if len(ids) >= count:
                break
            if id_ not in tree.retracted and id_ not in self.store.state.missing:
                ids.append(id_)
        ids.reverse()
        found = [shown(exchange, tree.nodes.get(exchange.id)) for exchange in self.store.exchanges(ids).values()]
        if len(found) < count:
            first = found[0].exchange.at if found else (self.store.get(before).at if before else None)
            found = [Shown(e, ()) for e in self.diary.unlogged(first, count - len(found))] + found
        return found


def clean(text: str) -> str:
    """Text that UTF-8 can hold: a lone surrogate becomes U+FFFD. Nothing else of what was said is changed."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _close(stream: Iterator[str]) -> None:
    """Hang up. A plain generator that is running in another thread ends at its next piece instead."""
    close = getattr(stream, "close", None)
    if close is not None:
        with contextlib.suppress(ValueError):
            close()
