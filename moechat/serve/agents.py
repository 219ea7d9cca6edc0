"""The agents that requests use: whose memory is there or may begin, up to date with what hands and other processes changed."""

from __future__ import annotations

import contextlib
import functools
import threading
import time
from collections.abc import Iterator
from datetime import datetime
from urllib.parse import unquote
from weakref import WeakKeyDictionary, WeakValueDictionary

from moechat.access.keys import PASS, Keyring
from moechat.agent import Agent
from moechat.errors import EmbeddingError, MoeChatError, NotFound
from moechat.house import House
from moechat.house.group import PREFIX, GroupTalk, GroupTalks
from moechat.settings.character import begin_character, default_character, folder_for, safe_folder
from moechat.verbs.groups import Company

MAX_HEARD = 20  # Lines of a front end's group that a character hears at once.
SHORT_S = 2.0  # Two who wait for each other's talks wait no longer.
EMBEDDED_AT_ONCE = 256  # New events of the author; the rest waits for the background.


class Agents:
    """Lends the agents of a house by the names that requests give."""

    def __init__(self, house: House, keyring: Keyring | None = None) -> None:
        self._house, self._keyring = house, keyring or Keyring(house.data, house.clock)
        self._embedding, self._beginning = threading.Lock(), threading.Lock()
        self._turns: WeakValueDictionary[str, threading.RLock] = WeakValueDictionary()  # By talk of several.
        self._embedded: WeakKeyDictionary[Agent, int] = WeakKeyDictionary()
        """The generation of the author's store whose events have their vectors, for each open agent."""

    @contextlib.contextmanager
    def lent(
        self, character: str | None, user: str | None, *, new: bool = False, talks: bool = False
    ) -> Iterator[Agent]:
        """The agent of a character and a user, while it is used. It has taken in what hands and other processes changed; one that
        ``talks`` may still answer the last message of its talk anew. What was changed in talks of several reaches the others.

        The default character is the configured one, else the first by name.
        Whose they are, the pass of the request limits. Raises NotFound for a user without memory unless ``new``, PathError for an
        impossible name, Denied, Nameless, Busy.
        """
        passed = PASS.get()
        name, user = self.character(character), passed.user(user or "")
        passed.require_character(name)
        if user and not self._house.has_memory_of(name, user):
            if not new:
                raise NotFound(f"user {user[:60]!r} has no memory with {name}; talk first, or leave user out")
            if passed.key:
                self._keyring.begin_memory(passed.key)
        with self._house.lent(name, user) as agent:
            self._follow(agent, talks=talks)
            begun = time.thread_time()
            try:
                yield agent
            finally:
                self._pass_on(agent, name, user or "")
                self._keyring.spend(passed.key, cpu_s=time.thread_time() - begun)

    def _pass_on(self, agent: Agent, character: str, user: str) -> None:
        """Bring the others what was changed in talks of several. What cannot reach them waits until this memory is used again;
        while somebody speaks there, they do it in the end."""
        for talk in list(agent.store.tree.talks.values()):
            members = talk.cast.members if talk.cast and talk.waiting else ()
            is_hers = any(one.character == character for one in members)
            if not is_hers or not (turn := self._turn(talk.name, user)).acquire(timeout=SHORT_S):
                continue
            with contextlib.ExitStack() as stack, contextlib.suppress(MoeChatError):
                stack.callback(turn.release)
                lent = functools.cache(lambda *whose: stack.enter_context(self._house.lent(*whose[:2])))
                GroupTalks(lent).of(talk.name, character, user)

    def _turn(self, talk: str, user: str) -> threading.RLock:
        """What is held while something is done in a talk of several."""
        with self._beginning:
            return self._turns.setdefault(talk if talk.startswith(PREFIX) else f"{talk} {user}", threading.RLock())

    @contextlib.contextmanager
    def joined(self, character: str, user: str, talk: str, text: str) -> Iterator[tuple[Agent, GroupTalk | None]]:
        """As ``lent``, with the talk of several that a front end's group is: characters who are named in the
        ``text`` of a request may be in it. A ``talk`` "" is none."""
        if not talk:
            with self.lent(character, user, new=True, talks=True) as agent:
                yield agent, None
            return
        named = [one for one in PASS.get().among(self._house.characters()) if unquote(one) in text and one != character]
        others = [one for one in named if self._house.has_memory_of(one, user)]
        with (
            self.company(character, user, talk, new=True) as company,
            self._house.lent(character, user) as agent,
        ):
            yield agent, company.talks.joined(talk, character, user, others, MAX_HEARD)

    @contextlib.contextmanager
    def company(self, character: str | None, user: str | None, talk: str, *, new: bool = False) -> Iterator[Company]:
        """Who does something in a talk of several ("": in a new one), one after another. Every memory of it is lent meanwhile.
        Raises as ``lent`` does."""
        own = PASS.get().user(user or "")
        with self._turn(talk, own), contextlib.ExitStack() as stack:
            opened: dict[tuple[str, str], Agent] = {}

            def agent(name: str, whose: str, *_: str) -> Agent:
                if (name, whose) not in opened:
                    is_in_talk = whose != own and (not whose or self._house.has_memory_of(name, whose))
                    lent = self._house.lent(name, whose) if is_in_talk else self.lent(name, whose, new=True, talks=True)
                    opened[name, whose] = stack.enter_context(lent)
                return opened[name, whose]

            name = self.character(character)
            if talk:
                opened[name, own] = stack.enter_context(self.lent(name, own, new=new, talks=True))
            yield Company(GroupTalks(agent), self.folder_of, name, own, passed=PASS.get())

    def folder_of(self, name: str) -> str:
        """The folder of the character that a program calls by this name, whether it is there or not. Raises PathError."""
        return folder_for(self._house.characters(), name)

    def begin_character(self, name: str) -> str:
        """The folder of the character that a card is of; it is made where there is none. Raises Denied, PathError."""
        passed = PASS.get()
        with self._beginning:
            folder = self.folder_of(name)
            passed.require_character(folder)
            if folder not in self._house.characters():
                if passed.key:
                    self._keyring.begin_memory(passed.key)
                begin_character(safe_folder(self._house.data, folder), name)
        return folder

    def now(self) -> datetime:
        return self._house.clock.now()

    def _follow(self, agent: Agent, *, talks: bool) -> None:
        if talks:
            agent.conversation.follow()
        else:
            agent.look()
        if self._embedded.get(agent) != agent.official.generation:
            with self._embedding, contextlib.suppress(EmbeddingError):  # agent.problems() tells it.
                agent.jobs.embed_events(EMBEDDED_AT_ONCE)
            self._embedded[agent] = agent.official.generation

    def character(self, character: str | None) -> str:
        """The name of a character that is there. Raises NotFound."""
        name = character or default_character(self._house.data, self._house.config)
        names = self._house.characters()
        if name not in names:
            raise NotFound(f"there is no character {name[:60]!r}; there are: {', '.join(names) or 'none'}")
        return name
