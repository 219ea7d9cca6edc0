"""The agents that requests use, each up to date with what hands and other processes changed."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from datetime import datetime
from weakref import WeakKeyDictionary

from moechat.agent import Agent
from moechat.errors import EmbeddingError, NotFound
from moechat.house import House
from moechat.settings.character import default_character

SOON = 256  # So many of the author's new events are embedded at once; the rest waits for the background.


class Agents:
    """Lends the agents of a house by the names that requests give."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._embedding = threading.Lock()
        self._embedded: WeakKeyDictionary[Agent, int] = WeakKeyDictionary()
        """The generation of the author's store whose events have their vectors, for each open agent."""

    @contextlib.contextmanager
    def lent(self, character: str | None, user: str | None, *, new: bool = False) -> Iterator[Agent]:
        """The agent of a character and a user, while it is used. It has taken in what hands and other processes changed.

        The default character is the configured one, else the first by name.
        Raises NotFound for a user without memory unless ``new``, PathError for an impossible name, Busy.
        """
        name = self._character(character)
        user = user or ""
        if user and not new and not self._house.has_memory_of(name, user):
            raise NotFound(f"user {user[:60]!r} has no memory with {name}; talk first, or leave user out")
        with self._house.lent(name, user) as agent:
            self._follow(agent)
            yield agent

    def now(self) -> datetime:
        return self._house.clock.now()

    def _follow(self, agent: Agent) -> None:
        agent.follow()
        if self._embedded.get(agent) != agent.official.generation:
            with self._embedding, contextlib.suppress(EmbeddingError):  # agent.problems() tells it.
                agent.jobs.embed_events(SOON)
            self._embedded[agent] = agent.official.generation

    def _character(self, character: str | None) -> str:
        name = character or default_character(self._house.data, self._house.config)
        names = self._house.characters()
        if name not in names:
            raise NotFound(f"there is no character {name[:60]!r}; there are: {', '.join(names) or 'none'}")
        return name
