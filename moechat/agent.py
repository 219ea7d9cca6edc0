"""An agent: one character with one user. A short front over the conversation and the jobs behind it.

Faces (web, commands, HTTP) speak to an agent and never touch a file or an index.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path

from moechat.ai.chat_model import ChatModel
from moechat.ai.failure import in_words
from moechat.ai.precedence import BackgroundModel, Precedence
from moechat.clock import Clock
from moechat.compat import query as seed_query
from moechat.containment import Containment
from moechat.conversation import Conversation
from moechat.curation import upkeep
from moechat.curation.brought import MemoryBatches, came_back
from moechat.curation.forgetting import Maintenance
from moechat.curation.keeper import Keeper
from moechat.curation.upkeep import Eraser
from moechat.index.dense import Dense
from moechat.jobs import Jobs
from moechat.memory import world_book
from moechat.memory.context import Context, Contexts
from moechat.model import Embedder, Message, Usage
from moechat.recall import greeting
from moechat.recall.layers import Layers
from moechat.settings.character import Character, CharacterFile
from moechat.settings.config import Config
from moechat.settings.prompts import Prompts
from moechat.store import disk
from moechat.store.kinds import Store
from moechat.store.table_store import MemoryStore
from moechat.store.unknown import unknown
from moechat.store.usage import TurnCost, Use
from moechat.turn import cost_of
from moechat.understanding.diarist import Diarist
from moechat.understanding.past import Past
from moechat.understanding.reflection import Reflector
from moechat.understanding.roll import Roller
from moechat.worker import Crew

MAX_HELD_TALKS = 8  # how many talks off the record go on at once
MAX_HELD_EXCHANGES = 1000  # how many exchanges one of them holds


@dataclass(frozen=True)
class Surroundings:
    """The parts that an agent shares with others: the threads, the models, the clock and the folders of prompts.

    ``model`` and ``understanding`` are asked anew each time, so that a connection made in the page holds from the next turn.
    ``ready`` waits until recall can be quick. ``looks``: nothing settles, is understood or leaves the context by itself
    (commands that only show).
    """

    clock: Clock
    pool: Executor
    crew: Crew
    embedder: Embedder | None
    embedding_settings: dict[str, str]
    load_embedder: Callable[..., Embedder | None]
    model: Callable[[], ChatModel]
    understanding: Callable[[], ChatModel]
    precedence: Precedence
    ready: Callable[[], None]
    prompt_folders: Sequence[Path]
    looks: bool = False
    containment: Callable[[], Containment] = Containment

    def warm_pool(self) -> Executor:
        self.ready()
        return self.pool


class Talks:
    """The conversations of one owner: one for each talk over the memory, and those off the record.

    ``converse`` and ``off_the_record`` make one for a context.
    """

    def __init__(
        self,
        contexts: Contexts,
        converse: Callable[[Context], Conversation],
        off_the_record: Callable[[Context], Conversation],
    ) -> None:
        self._contexts, self._converse, self._off_the_record = contexts, converse, off_the_record
        self._lock = threading.Lock()
        self._talks: dict[str, Conversation] = {}
        self._held: list[Conversation] = []

    def of(self, name: str) -> Conversation:
        """One of the talks over this memory; it begins with its first message. "" is the first."""
        context = self._contexts.of(name)
        with self._lock:
            if name not in self._talks:
                self._talks[name] = self._converse(context)
            return self._talks[name]

    def aside(self, after: str | None = None) -> Conversation:
        """One off the record for a single turn, ``after`` what was said in a talk: whoever has it ends it."""
        like = self._contexts.of("").store
        store = MemoryStore(clock=like.clock, zone=like.zone, max_exchanges=MAX_HELD_EXCHANGES)
        return self._off_the_record(self._contexts.aside(store, after, like.clock.now()))

    def hold(self, after: str | None = "") -> Conversation:
        """A talk off the record: it recalls this memory and leaves nothing in it. It goes on from the talk ``after`` as that
        stands (None: from none), is in no file and ends with the program, or when ``MAX_HELD_TALKS`` others have begun."""
        held = self.aside(after)
        with self._lock:
            self._held.append(held)
            ending = self._held[:-MAX_HELD_TALKS]
            del self._held[:-MAX_HELD_TALKS]
        for conversation in ending:
            conversation.close()
        return held

    def stop(self) -> None:
        """End every reply that is streaming, from any thread."""
        for conversation in [*self._talks.values(), *self._held]:
            conversation.stop()

    def close(self) -> None:
        for conversation in [*self._talks.values(), *self._held]:
            conversation.close()


class Agent:
    """One character with one user, opened. ``open_store`` opens the owner's store, given what it is ``contained`` by.

    ``store`` holds the records, ``layers`` the memory and ``dense`` its vectors; ``conversation`` and ``jobs`` do the work.
    ``talk``, ``recall``, ``recent`` and ``log`` are those of the first talk, ``in_talk`` gives any, ``hold`` one off the record,
    ``aside`` one off the record for a single turn, and ``stop`` ends every reply that is streaming. A command ends with
    ``finish``; ``settle_indexes`` waits for what is made in the background. ``memories`` is for looking after memories by hand.
    ``query`` and ``expand_words`` answer as seed 004 does.
    """

    def __init__(self, file: CharacterFile, open_store: Callable[..., Store], around: Surroundings) -> None:
        self._file, self.now = file, around.clock.now
        prompts = Prompts(around.prompt_folders, file.character.language)
        self.store: Store = open_store(contained=around.containment())
        self.dense = Dense(
            self.store.vectors or self.store.index_folder,
            around.embedder,
            settings=around.embedding_settings,
            load=around.load_embedder,
        )
        self.layers = Layers(
            self.store, self.dense, lambda: self.character, lambda: self.config, model=around.understanding,
            prompts=prompts, pool=around.warm_pool,
        )  # fmt: skip
        self.topics, self.official = self.layers.topics, self.layers.official
        self._contexts = Contexts(self.store, lambda: self.config)
        self._leave = partial(around.precedence.leave, closed := threading.Event())

        def spend(use: Use, cost: TurnCost) -> None:
            self.store.usage.count(self.now().date(), use, cost)

        def asked_behind(messages: Sequence[Message], answer: str, usage: Usage | None) -> None:
            spend("understanding", cost_of(messages, (), answer, usage))

        def behind() -> BackgroundModel:
            return BackgroundModel(around.understanding(), around.precedence, asked_behind, closed)

        roller = Roller(self.layers, behind)
        self.past = Past(roller)
        self.reflection = Reflector(
            self.store, self.layers.episodes, self.dense, prompts, behind, lambda: self.config.reflection,
            lambda: prompts.fill(
                "people", char=self.character.name, user=self.character.user_name, persona=self.character.persona
            ),
        )  # fmt: skip
        eraser = Eraser(self.layers, self._contexts.save, lambda: self.config.backups.keep)
        self.back_up = eraser.back_up
        maintenance = Maintenance(
            self.store, self.layers.core, prompts, lambda: self.character, behind,
            lambda: self.config.forgetting, self.config.understanding.silence_s,
        )  # fmt: skip
        self.jobs = Jobs(
            self.layers, self._contexts, roller, self.past, self.reflection, Diarist(self.layers, behind), maintenance, eraser,
            crew=around.crew, config=lambda: self.config, now=self.now, looks=around.looks,
        )  # fmt: skip
        converse = partial(
            Conversation, file, self.layers, now=self.now, model=around.model, first=around.precedence.turn
        )
        self._talks = talks = Talks(
            self._contexts,
            partial(
                converse,
                read=self.jobs.read,
                behind=self.jobs.after_turn,
                spend=partial(spend, "reply"),
            ),
            partial(converse, read=self.jobs.read, behind=lambda: None, spend=lambda _: None),
        )
        self.in_talk, self.hold, self.aside, self.stop = talks.of, talks.hold, talks.aside, talks.stop
        self.conversation = self.in_talk("")
        self.talk, self.recall = self.conversation.talk, self.conversation.recall
        self.recent, self.log = self.conversation.path.recent, self.conversation.path.log
        self.finish, self.settle_indexes = self.jobs.finish, self.jobs.worker.wait
        self.memories = Keeper(self.layers, lambda: self.config.forgetting, self.conversation.change, eraser.run)
        self.brought = MemoryBatches(self.store, self.memories)
        self.greeting, self.her_word = partial(greeting.greeting, self.layers), partial(greeting.standing, self.layers)
        self.unknown_files = partial(unknown, self.store.folder)
        self.fired = partial(world_book.fires, self.store)
        self.query = partial(seed_query.query, self.layers)
        self.expand_words = partial(seed_query.expand_words, self.layers.entities)
        try:
            self.jobs.start()
        except BaseException:  # A memory that cannot be opened keeps no file open.
            self.close()
            raise

    @property
    def character(self) -> Character:
        return self._file.character

    @property
    def config(self) -> Config:
        """The settings with the character's overrides in place."""
        return self._file.config

    def problems(self) -> list[str]:
        """The problems of files and models, in words, each with its file."""
        problems = [str(problem) for problem in self.store.problems]
        problems += map(str, self._file.problem.parts if self._file.problem else ())
        problems += [
            f"{text} (moechat memories let-in / erase-again)" for text in came_back(self.store, self.character.language)
        ]
        problems += self.layers.problems()
        problems += self._contexts.problems()
        problems += self.store.contained.problems(self.character.language)
        if embedding := self.dense.problem:
            problems.append(in_words(embedding, self.character.language))
        return problems + self.jobs.problems()

    def verify(self) -> upkeep.Report:
        """The files against the indexes; every difference in words. Reads all files and changes nothing."""
        return upkeep.verify(self.store, self.layers, self.problems())

    def look(self) -> None:
        """Take in what hands, other processes and all talks have brought so far: whoever looks at this memory sees it."""
        self.conversation.follow()
        self.jobs.read(None)

    def record(self, text: str, reply: str, at: datetime) -> str:
        """Write an exchange of another time, answered; ``finish`` understands it. Returns its id."""
        id_ = self.store.log.begin(text, at)
        self.store.log.finish(id_, reply, "done")
        return id_

    def close(self) -> None:
        """Settle, and stop every thread of this agent. What is not understood yet stays queued."""
        self._talks.close()
        self._leave()
        with (
            disk.in_words(),
            contextlib.ExitStack() as last,
        ):  # a file that cannot be written keeps no thread and no file open
            for close in (self.store.close, self.layers.close, self.jobs.close):
                last.callback(close)
