"""The house: every open agent, and what they share. The one object that a face makes."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

from moechat import when
from moechat.agent import Agent, Surroundings
from moechat.ai import embedding
from moechat.ai.chat_model import ChatModel, OpenAIChatModel
from moechat.ai.diagnosis import Diagnosis, diagnose
from moechat.ai.offline.model import OfflineModel
from moechat.ai.precedence import Precedence
from moechat.ai.wire import takes_one_system
from moechat.clock import Clock, SystemClock, clock_at
from moechat.compat import persona
from moechat.containment import Containment
from moechat.curation import upkeep
from moechat.errors import ConfigError, EmbeddingError, MoeChatError, NotFound
from moechat.house import heap
from moechat.house.gallery import Gallery
from moechat.house.group import GroupTalks
from moechat.house.owners import OpenOwners, Owner
from moechat.house.stores import Stores, stores_of
from moechat.house.studio import Studio
from moechat.language import words
from moechat.language.association import shipped
from moechat.model import LONG_AGO, Embedder, Exchange
from moechat.reading.saying import saying
from moechat.rules import reading
from moechat.settings import config as settings
from moechat.settings.character import CharacterFile, Language, default_character, list_characters, safe_folder
from moechat.settings.home import defaults_folder, ensure, read_only
from moechat.settings.prompts import OwnPrompts
from moechat.settings.service_keys import ServiceKeys, origin
from moechat.store import disk
from moechat.store.database import CacheDamaged
from moechat.worker import Crew

log = logging.getLogger(__name__)
WARM_S = 60.0  # Recall waits this long for dictionaries and weights, once.
SAMPLES = ("我叫阿明，昨天和小满去吃了火锅。", "My name is Ming, and I had hotpot with Sue yesterday.")
TICK_S = 5.0
LOCAL_WINDOW = 8192  # Tokens of prompt and reply of a GGUF file, where nothing else is set.


class Connection(NamedTuple):
    """What a chat model is made from: a GGUF file, or an endpoint, or neither."""

    gguf: str
    base_url: str
    key: str | None
    model: str


class House:
    """``data`` and ``config`` are made from the packaged defaults where they are not there.

    ``model``, ``embedder`` and ``stores`` stand in for those of the configuration. ``now`` holds the clock (``--now``).
    ``looks``: nothing settles, is understood or leaves the context by itself, and neither folder nor settings are made.
    The crew looks for idle work every ``tick_s`` seconds.

    There are a few more than twenty methods because faces and programs reach everything that agents share here.
    """

    def __init__(
        self,
        data: Path | str,
        config_path: Path | str,
        *,
        clock: Clock | None = None,
        now: str | None = None,
        model: ChatModel | None = None,
        embedder: Embedder | None = None,
        stores: Stores | None = None,
        looks: bool = False,
        tick_s: float = TICK_S,
        containment: Callable[[], Containment] = Containment,
    ) -> None:
        heap.use_few_arenas()
        data = Path(data)
        self.config_path = settings_path = Path(config_path)
        self._open_until_closed = contextlib.ExitStack()
        if looks:
            data, settings_path = self._open_until_closed.enter_context(read_only(data, settings_path))
        else:
            ensure(data, settings_path)
        self.data = data.resolve()
        prompts = [Path(config_path).parent / "prompts", defaults_folder() / "prompts"]
        self.prompts = OwnPrompts(self.data / "prompts", prompts)
        self._prompt_folders = [self.data / "prompts", *prompts]
        self.settings = settings.ConfigFile(settings_path)
        zone = self.config.time.tzinfo
        self.clock = clock_at(now, zone) if now is not None else clock or SystemClock(zone)
        self.keys = ServiceKeys(self.data)
        self._looks, self._containment = looks, containment
        self.model = model
        self._lock = threading.RLock()
        self._models: dict[tuple[str, Connection], ChatModel] = {}
        self._made_of: object = None
        self._precedence = Precedence()
        self._stores = stores or stores_of(self.config.store, settings_path, self.data, self.clock, zone)
        self.answers = self._stores.answers
        self.worlds = self._stores.worlds
        owners = self.config.owners
        self._owners = OpenOwners(self._open, self.clock.now, most=owners.open, idle=timedelta(minutes=owners.idle_min))
        self.groups = GroupTalks(self.agent)
        self._crew = Crew(owners.threads, tick_s, self._owners.close_idle)
        self._pool = ThreadPoolExecutor(self.config.recall.threads, thread_name_prefix="recall")
        self.embedder = embedder or embedding.make_embedder(self.config.embedding.model_dump())
        self.gallery = Gallery(self.data, self.settings.current)
        self.studio = Studio(self.data, zone, self.clock.now, self._owners.close_character, self._stores)
        self._warm: Future[None] | None = None
        self._warm_by = 0.0

    @property
    def config(self) -> settings.Config:
        """The settings as their file has them now, or as it last had them."""
        return self.settings.current()

    def warm(self) -> Future[None]:
        """Begin to load dictionaries and weights, if that has not begun: servers do so before anybody writes."""
        with self._lock:
            if self._warm is None:
                self._warm_by = time.monotonic() + WARM_S
                self._warm = self._pool.submit(self._load_slow_things)
            return self._warm

    def _load_slow_things(self) -> None:
        """Whatever is made once and would else take its time from the deadline of the first recall."""
        for text in ("昨天小满说的", "Yesterday"):
            when.resolve(text, self.clock.now())
            words.keywords(text)
        for text in SAMPLES if not self._looks else ():  # The rules make their patterns when these are first needed.
            reading.understand(Exchange("", LONG_AGO, text, ""))
        shipped().associations("昨天")
        saying("昨天")
        if self.embedder is not None:
            with contextlib.suppress(EmbeddingError):  # It is told when it is used.
                self.embedder.embed(["我们"], "query")

    def ready(self) -> None:
        """Wait until recall can be quick. An embedding model that takes longer than ``WARM_S`` is not waited for."""
        wait([self.warm()], timeout=max(self._warm_by - time.monotonic(), 0.0))

    # ---- characters and agents

    def characters(self) -> list[str]:
        return list_characters(self.data)

    def agent(self, character: str | None = None, user: str | None = None, world: str | None = None) -> Agent:
        """The agent of a character (default: the configured one) and a user (default: the owner of the folder).

        A ``world`` is another plot with a memory of its own; it shares what the character's author wrote, and nothing else.
        """
        name = character or default_character(self.data, self.config)
        return self._owners.kept(Owner(name, user or "", world or ""))

    def lent(self, character: str, user: str) -> AbstractContextManager[Agent]:
        """The agent while it is used, for servers: of those that nobody uses, only ``owners.open`` stay open. Raises Busy."""
        return self._owners.lent(Owner(character, user, ""))

    @heap.uncollected()
    @disk.in_words()
    def _open(self, owner: Owner) -> Agent:
        folder = safe_folder(self.data, owner.character)
        if not folder.is_dir():
            raise NotFound(
                f"there is no character {owner.character!r} in {folder.parent}; there are: {', '.join(self.characters())}"
            )
        file = CharacterFile(folder, self.settings.current, owner.user)
        open_store = self._stores.of(owner)
        try:
            return Agent(file, open_store, self._around())
        except CacheDamaged:  # it is made anew
            return Agent(file, open_store, self._around())
        except (MoeChatError, OSError):
            raise
        except Exception:  # whatever an index that is damaged makes of itself
            log.exception("%s: its indexes make no sense, they are made anew", owner)
            self._stores.drop_indexes(owner, vectors=False)
            return Agent(file, open_store, self._around())

    def release(self, character: str, user: str | None = None, world: str | None = None) -> None:
        """Close one agent; it opens anew when it is asked for."""
        self._owners.close(Owner(character, user or "", world or ""))

    def has_memory_of(self, character: str, user: str) -> bool:
        """Whether this user has ever talked to the character."""
        return self._stores.has(Owner(character, user, ""))

    @disk.in_words()
    def rebuild(
        self,
        character: str | None,
        user: str | None,
        world: str | None = None,
        *,
        vectors: bool,
        progress: upkeep.Progress,
    ) -> upkeep.Report:
        """Make an owner's indexes anew from the files; ``vectors`` embeds everything anew, too."""
        name = self.agent(character, user, world).character.folder.name
        self.release(name, user, world)
        self._stores.drop_indexes(Owner(name, user or "", world or ""), vectors=vectors)
        agent = self.agent(name, user, world)
        embedded = upkeep.fill(agent.layers, progress)
        return agent.verify() | {"embedded": embedded}

    def import_persona(
        self, folder: Path, name: str, *, language: Language | None = None, expires: bool = False
    ) -> persona.ImportReport:
        """Make the character ``name`` of a saved persona of generative agents. Raises DataError, PathError."""
        return persona.import_persona(
            folder, safe_folder(self.data, name), self.config.time.tzinfo, language=language, expires=expires
        )

    def _around(self) -> Surroundings:
        return Surroundings(
            clock=self.clock,
            pool=self._pool,
            crew=self._crew,
            embedder=self.embedder,
            embedding_settings={key: str(getattr(self.config.embedding, key)) for key in embedding.KEYS},
            load_embedder=embedding.make_embedder,
            model=lambda: self.model_for("chat"),
            understanding=lambda: self.model_for("understanding"),
            precedence=self._precedence,
            ready=self.ready,
            prompt_folders=self._prompt_folders,
            looks=self._looks,
            containment=self._containment,
        )

    # ---- models

    def model_for(self, use: str) -> ChatModel:
        """The chat model as configured at this moment; equal settings share one model."""
        if self.model is not None:
            return self.model
        with self._lock:
            connection, chat, own = self._connection(use), self.config.chat, self.config.understanding
            settings = (chat.temperature, chat.extra, chat.single_system, own.temperature, own.max_tokens, own.extra)
            made_of = settings, chat.timeout_s, chat.local_timeout_s, chat.context_window, own.silence_s
            if made_of != self._made_of:
                self._models, self._made_of = {}, made_of
            if (use, connection) not in self._models:
                self._models[use, connection] = self._make(use, connection)
            return self._models[use, connection]

    def _connection(self, use: str) -> Connection:
        chat, own = self.config.chat, self.config.understanding
        if use == "understanding" and own.base_url:
            key = self.keys.of(own.base_url) or os.environ.get(own.key_env)
            return Connection("", own.base_url, key, own.model or chat.model)
        model = own.model if use == "understanding" and own.model else chat.model
        return Connection(chat.local_gguf, chat.base_url, self._kept_key(chat.base_url), model)

    def _make(self, use: str, connection: Connection) -> ChatModel:
        chat, own = self.config.chat, self.config.understanding
        wishes = {"temperature": own.temperature, "max_tokens": own.max_tokens or None}
        wishes = {name: value for name, value in wishes.items() if value is not None}
        single_system = chat.single_system
        if single_system is None:
            single_system = takes_one_system(Path(connection.gguf).stem if connection.gguf else connection.model)
        if connection.gguf:
            from moechat.ai.local import LocalChatModel

            if use == "understanding" and isinstance(local := self.model_for("chat"), LocalChatModel):
                return local.with_settings(temperature=None, extra=wishes | own.extra)
            return LocalChatModel(
                Path(connection.gguf), context_tokens=chat.context_window or LOCAL_WINDOW, timeout_s=chat.local_timeout_s,
                temperature=chat.temperature, single_system=single_system, extra=chat.extra,
            )  # fmt: skip
        if not connection.base_url:
            return OfflineModel(self._prompt_folders)
        if use == "understanding":
            return OpenAIChatModel(
                connection.base_url, connection.model, connection.key, timeout_s=own.silence_s, extra=own.extra,
                wishes=wishes, single_system=single_system,
            )  # fmt: skip
        model = OpenAIChatModel(
            connection.base_url, connection.model, connection.key, timeout_s=chat.timeout_s, extra=chat.extra,
            single_system=single_system, temperature=chat.temperature, window_tokens=chat.context_window,
        )  # fmt: skip
        self._crew.run(model.learn_window)
        return model

    @property
    def connected(self) -> bool:
        """Whether a language model is configured (else the offline model replies)."""
        return self.model is not None or bool(self.config.chat.base_url or self.config.chat.local_gguf)

    def try_connection(self, base_url: str, model: str | None, key: str = "") -> Diagnosis:
        """Try a model out (None: only ask which there are), and say what is wrong. Without ``key`` the one that is kept for the
        address is used."""
        return diagnose(base_url, model, key or self._kept_key(base_url), extra=self.config.chat.extra)

    def keeps_key_from(self, base_url: str) -> bool:
        """Whether the environment has a key that is not for this address: it is for the configured service alone."""
        return bool(os.environ.get(self.config.chat.key_env)) and not self._kept_key(base_url)

    def _kept_key(self, base_url: str) -> str | None:
        """The one for the address: of the environment for the configured one alone."""
        is_configured = origin(base_url) == origin(self.config.chat.base_url)
        return self.keys.of(base_url) or (os.environ.get(self.config.chat.key_env) if is_configured else None) or None

    def connect(self, base_url: str, model: str, key: str | None = None) -> None:
        """Save the connection, and the key for its address (``keys``).

        Raises ConfigError for a new address without a key where one is kept: it is not sent elsewhere.
        """
        if base_url and not key and self.keeps_key_from(base_url):
            remedy = "is a new address: give its key again, the known one is not sent elsewhere"
            raise ConfigError(self.config_path, "chat.base_url", None, remedy)
        settings.save_setting(self.config_path, "chat", "base_url", base_url)
        settings.save_setting(self.config_path, "chat", "model", model)
        if key:
            self.keys.keep(base_url, key)

    def close(self) -> None:
        """Close every agent: what was answered stands, every thread stops."""
        with contextlib.ExitStack() as last:  # One that fails keeps no other open.
            last.callback(self._open_until_closed.close)
            last.callback(self._owners.let_go)  # Threads hold agents until they end.
            last.callback(self._pool.shutdown, cancel_futures=True)
            last.callback(self._crew.close)
            last.callback(self._stores.close)
            last.callback(self._owners.close_all)

    def __enter__(self) -> House:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
