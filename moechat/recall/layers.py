"""The memory of one owner: the four layers, what is understood of them, and the indexes of all of it, held together.

``sync`` follows the files, ``embed`` makes the vectors that are missing; the recipes search what the last ``sync`` saw.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from concurrent.futures import Executor, wait
from dataclasses import replace
from datetime import datetime
from threading import Event as Signal

from moechat import when
from moechat.ai.chat_model import ChatModel
from moechat.author.official import Official
from moechat.cards.macros import Macros
from moechat.cue import Cue, Scene
from moechat.index import traits
from moechat.index.dense import Dense, Space
from moechat.index.vectors import VectorTable, having
from moechat.language import words
from moechat.language.association import Table, shipped
from moechat.memory import cooccurrence, core, days, diary_index, episodes, topic_cues, unranked
from moechat.memory.cooccurrence import Cooccurrence
from moechat.memory.core import CoreMemory
from moechat.memory.diary import Diary
from moechat.memory.entities import Entities
from moechat.memory.episodes import Episodes
from moechat.memory.topics import Topics
from moechat.memory.world_book import WorldBook
from moechat.model import Hit, Recollection
from moechat.reading.saying import mark, saying
from moechat.recall import plans, touch
from moechat.recall.episodic import Episodic
from moechat.recall.pipeline import Budget, recall
from moechat.recall.recipes import ConfiguredRecipes
from moechat.rules.boundaries import concerns
from moechat.rules.reading import is_small_talk
from moechat.sentences import sentence
from moechat.settings.character import Character
from moechat.settings.config import DIAL, Config
from moechat.settings.prompts import Prompts
from moechat.store.disk import index_folder, is_writable
from moechat.store.kinds import Store

LORE = "lore"  # This table has the vectors of the world book, by text, in the character's folder.
FEWEST = 300  # Tokens of memory that are recalled however slowly a model reads.
SHARE = 0.25  # Recalled memory takes no more than this part of what the model can read at once.
LOADING_S = 20.0  # Added to the deadline of the first recall, which also reads what the recipes need.
ASSOCIATIONS = "associations.tsv"  # It lies in the character's folder, for the author to edit.


class Layers:
    """``character`` and ``config`` are asked anew each time: both may change while this is open. ``pool`` gives the threads
    that recipes run in, once recall can be quick."""

    def __init__(
        self,
        store: Store,
        dense: Dense,
        character: Callable[[], Character],
        config: Callable[[], Config],
        *,
        model: Callable[[], ChatModel],
        prompts: Prompts,
        pool: Callable[[], Executor],
    ) -> None:
        self.store, self.dense, self.prompts = store, dense, prompts
        self.character, self.config = character, config
        self.now = store.clock.now
        self._pool, self._model = pool, model
        self._has_recalled = False
        self._lock = threading.RLock()
        self._lore_tables: dict[str, VectorTable] = {}
        self._book: tuple[str, WorldBook] | None = None
        who = character()
        names = (who.user_name, who.name)
        self.official = Official(
            who.folder, zone=config().time.tzinfo,
            names=lambda: character().names, now=self.now,
        )  # fmt: skip
        self.episodes = Episodes(store, dense, lambda: (self.official.generation, self.official.episodes()))
        self.diary = Diary(store, dense, self.episodes, user_name=who.user_name, character_name=who.name)
        self.topics = Topics(store, self.episodes, dense)
        self.core = CoreMemory(store, dense, self.official.facts, names)
        self.together = Cooccurrence(names=names, contained=store.contained)
        self._table = Table(who.folder / ASSOCIATIONS)
        # What goes with a word: the author's table, ours, and what this owner told together.
        sources = (self._table, shipped(), self.together)
        self.entities = Entities(self.core.view, sources)
        self.days = days.DaysThatComeRound(self.core, self.episodes, store, who.language)
        self._anchors = days.Anchors(self.core, store)
        self.episodic = Episodic(self.episodes, store, self.topics, names)
        parts = (self.diary, self.episodic, self.core, self.entities, lambda: self.book)
        self.recipes = ConfiguredRecipes(config, dense, *parts, model, prompts)

    @property
    def book(self) -> WorldBook:
        """The world book under the embedding model that serves."""
        serving = self.dense.serving
        name = serving.fingerprint if serving else ""
        with self._lock:
            if self._book is None or self._book[0] != name:
                own = self.character().folder
                if serving and name not in self._lore_tables:
                    folder = index_folder(own) / f"vectors-{name}" / LORE if is_writable(own) else None
                    self._lore_tables[name] = VectorTable(folder, serving.dim)
                self._book = (name, WorldBook(own / "data_base", serving, self._lore_tables.get(name)))
            return self._book[1]

    # ---- recall

    def cue(
        self,
        text: str,
        now: datetime,
        previous_reply: str,
        talk: str = "",
        scene: Scene | None = None,
    ) -> Cue:
        """What leans on what was said before it in the ``scene`` is searched together with that. Of a text that was pasted, its
        beginning and its end are what is asked."""
        scene = scene or Scene()
        before = [words for _, words in scene.before[:2]]
        text = when.both_ends(text)
        who = self.character()
        idf = self.diary.index.words.lexical.idf
        sought = touch.together(
            text, now, before or [previous_reply], (who.user_name, who.name),
            lambda word: bool(idf(words.tokens(word)).any() or len(self.episodes.view(self.now()).with_keyword(word))),
        )  # fmt: skip
        embed = self.dense.query if self.dense.serving else None
        widths, contained = self.config().time.widths, self.store.contained
        return Cue(
            text, now, previous_reply, embed, widths, self._anchors.resolve, talk, contained, scene, sought,
            touch.parts(text), when.second_reader(self.config().time.second_reader),
        )  # fmt: skip

    def recall(self, cue: Cue, in_context: Collection[str], brings_up: str = "") -> Recollection:
        """Recall for a message. The exchanges ``in_context`` are left out, because they stand in the prompt anyway.
        ``brings_up`` tries that setting out."""
        config, recipes, unread = self.config(), self.recipes, self.unread_until
        if brings_up:
            tried = config.model_copy(update={"recall": config.recall.model_copy(update={"brings_up": brings_up})})
            config, recipes = tried, replace(recipes, config=lambda: tried)
        loading_s = 0.0 if self._has_recalled else LOADING_S
        self._has_recalled = True
        # What is understood that is delicate, by id of the finding and of the exchanges that it rests on.
        delicate: dict[str, str] = {}
        for id_, sources, marked in [*self.episodes.delicate(), *self.core.view().delicate]:
            delicate |= {one: f"{delicate.get(one, '')} {words.fold(marked)}" for one in (id_, *sources)}
        off_limits, is_low = self.core.off_limits(cue.text), touch.is_low(cue)
        shared = unranked.ours(self.core) if config.recall.ours else []
        is_pain = is_low or bool(mark(cue.text))
        kept_back = {id_ for one in shared for id_ in (one.id, *(one.draft.sources if is_pain else ()))}
        who = self.character()
        names = (who.user_name, who.name)
        # Small talk that names no time asks for nothing of the past.
        is_small = not cue.asks_time and is_small_talk(cue.query, names)
        is_fixed, several = touch.asks_all(cue.text) or is_small, traits.asks_several(cue.text)

        def is_withheld(hit: Hit) -> bool:
            """By what would be told: of an exchange both sides, whichever was found."""
            row = self.store.exchanges.by_ids([hit.id]).get(hit.id) if hit.is_exchange else None
            sent, heard = (row.exchange.sent, row.exchange.heard) if row else (hit.text, "")
            if hit.id in kept_back or touch.is_withheld(cue, hit, sent, delicate):
                return True
            return hit.layer != "lore" and concerns(off_limits, f"{sent}\n{heard}")

        recollection = recall(
            cue,
            recipes.whatever_ranks(low=is_low) if is_fixed else recipes.active(several=several, low=is_low),
            pool=self._pool(),
            deadline_s=config.recall.deadline_ms / 1000 + recipes.patience_s + loading_s,
            budget=Budget(
                self._tokens(round(config.recall.token_budget * DIAL[config.recall.brings_up][1]), config.recall.reading_s),
                dict(config.recall.min_share.model_dump()), book=self._tokens(config.recall.book_tokens),
            ),
            widen=lambda hits: self.episodic.widen(self.diary.widen(hits), in_context), in_context=in_context,
            unanswered=recipes.unanswered, empty_spans=self.diary.empty_spans if config.Agent.long_memory else lambda _: (),
            withheld=is_withheld,
        )  # fmt: skip
        macros = Macros(who.names, cue.now, who.language, cue.talk)
        hits = [replace(one, text=macros.fill(one.text)) if one.layer == "lore" else one for one in recollection.hits]
        recollection = replace(recollection, hits=hits)
        if config.Agent.long_memory and not saying(cue.text).is_danger:
            view = self.episodes.view(cue.now)
            due = plans.due(view, self.store, cue.now, in_context, who.name)
            if config.recall.mood:
                due += unranked.last_mood(view, self.store, names, who.language, cue.now, in_context)
            if not is_pain:
                due += unranked.ours_for(shared, self.store, cue.text, cue.talk)
            if config.recall.days:
                due += self.days.hits(cue, in_context, low=is_low)
            if config.daybook.enabled:
                due += unranked.daybook_for(self.store, cue)
            recollection = replace(recollection, plans=[hit for hit in due if not concerns(off_limits, hit.text)])
        if unread is None:
            return recollection
        empty = [span for span in recollection.empty_spans if span.start > unread]
        return replace(recollection, empty_spans=empty, unread_until=unread)

    def _tokens(self, budget: int, reading_s: float = 0.0) -> int:
        """How many tokens that part may take: what is configured, no more than a share of what the model reads, and where it
        reads slowly, what it reads in that time, but never none."""
        window = self._model().window
        tokens = min(budget, int(window.room * SHARE)) if window.room else budget
        readable = window.reads(reading_s) if reading_s else 0
        return min(tokens, max(FEWEST, readable)) if readable else tokens

    # ---- following

    def refresh(self) -> None:
        """Look at what the author writes."""
        self.official.refresh()
        self.book.refresh()

    def sync(self) -> None:
        """Take in what the store has learned since the last call."""
        self.diary.index.sync()
        self.episodes.sync()
        self.topics.sync()

    @property
    def unread_until(self) -> datetime | None:
        """Up to when the diary may hold more than can be recalled yet: till then nothing is understood or tidied up. None where
        all is read."""
        moment = self.diary.index.unread_until
        if moment is None:
            return None
        return datetime.fromtimestamp(min(moment, self.now().timestamp()), self.now().tzinfo)

    def read_on(self) -> bool:
        """Read and index some of what waits, the newest first. False where nothing waits any more."""
        if self.diary.index.waiting:
            self.diary.index.read_on()
        elif self.store.unread[0]:
            self.store.read_on()
            self.diary.index.sync()
            self.diary.index.read_on()
        if self.unread_until:
            return True
        self.topics.anew()  # Its topics stand in the order in which they were first named.
        self.sync()
        return False

    def read_all(self) -> None:
        """Read and index everything, before this returns."""
        self.store.read_all()
        self.diary.index.sync()
        while self.read_on():
            pass

    def progress(self) -> list[str]:
        """How far reading is, in words for people; nothing where all is read."""
        if (unread := self.unread_until) is None:
            return []
        files, exchanges = self.store.unread[0], self.diary.index.waiting
        language, until = self.character().language, f"{unread:%Y-%m-%d}"
        return [sentence("memory", "reading", language, until=until, files=files, exchanges=exchanges)]

    def associate(self, now: datetime) -> None:
        """Learn which words go together, and prepare whatever a first recall would wait for. Call it in the background."""
        cooccurrence.follow(self.together, self.episodes, self.episodes.view(now), self.core.current())
        self.entities.index()
        self.topics.ready()

    def embed(self, stop: Signal, limit: int = 0) -> int:
        """Make vectors that are missing, of ``limit`` texts of each kind at most (0: all). Returns how many were made.

        What a first search in them would wait for is prepared. Raises EmbeddingError.
        """
        made = sum(part.vectors.embed_missing(stop, limit) for part in (self.diary, self.episodes, self.topics))
        if (table := self.dense.table(diary_index.TABLE)) is not None:
            table.prepare()
        return made

    def embed_in_time(self, stop: Signal, limit: int) -> None:
        """The same for what was said a moment ago, waiting no longer than a recall waits: an endpoint may take its time."""
        if self.dense.failure is None:  # the background tries again, and tells it
            wait([self._pool().submit(self.embed, stop, limit)], timeout=self.config().recall.deadline_ms / 1000)

    def sweep(self) -> int:
        """Overwrite the vectors of all that is no longer there, see ``Dense.sweep``. Returns how many were."""
        self.sync()
        book = self.book
        return self.dense.sweep({
            diary_index.TABLE: self.diary.vectors.alive, episodes.TABLE: having(self.episodes.keys),
            core.TABLE: having(self.core.keys), topic_cues.TABLE: having(self.topics.keys), LORE: having(book.keys),
        })  # fmt: skip

    def missing(self, space: Space) -> int:
        """How many texts have no vector in this space."""
        return sum(part.vectors.missing(space) for part in (self.diary, self.episodes, self.topics))

    def problems(self) -> list[str]:
        files = (*self.official.problems, *self.book.problems, *self._table.problems)
        name = self.config().time.second_reader
        has_reader = name == "none" or when.second_reader(name) is not None
        missing = [] if has_reader else [f"time.second_reader: {name} is not installed: pip install 'moechat[{name}]'"]
        return [*map(str, files), *self.book.pattern_problems(), *missing]

    def close(self) -> None:
        for table in self._lore_tables.values():
            table.close()
        self.diary.index.close()
        self.dense.close()
