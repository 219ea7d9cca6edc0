"""The agents that requests use: so many at most are open."""

from __future__ import annotations

import contextlib
import threading
from collections import OrderedDict
from collections.abc import Iterator
from datetime import datetime

from moechat.agent import Agent
from moechat.errors import EmbeddingError, MoeChatError, NotFound
from moechat.house import House
from moechat.settings.character import default_character

MOST_AGENTS = 16  # So many are open at once.
SOON = 256  # So many of the author's new events are embedded at once; the rest waits for the background.


class Busy(MoeChatError):
    """All places are taken right now."""


class Agents:
    """Agents are opened on demand, ``most`` at once; the one that was idle longest makes room."""

    def __init__(self, house: House, most: int = MOST_AGENTS) -> None:
        self._house, self._most = house, most
        self._lock, self._embedding = threading.Lock(), threading.Lock()
        self._lent: OrderedDict[tuple[str, str], int] = OrderedDict()
        self._embedded: dict[tuple[str, str], int] = {}
        """The generation of the author's store whose events have their vectors, for each agent."""

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
        key = (name, user)
        with self._lock:
            self._make_room(key)
            self._lent[key] = self._lent.pop(key, 0) + 1
        try:
            agent = self._house.agent(name, user or None)
            self._follow(key, agent)
            yield agent
        finally:
            with self._lock:
                self._lent[key] -= 1

    def now(self) -> datetime:
        return self._house.clock.now()

    def _follow(self, key: tuple[str, str], agent: Agent) -> None:
        agent.follow()
        if self._embedded.get(key) != agent.official.generation:
            with self._embedding, contextlib.suppress(EmbeddingError):  # agent.problems() tells it.
                agent.jobs.embed_events(SOON)
            self._embedded[key] = agent.official.generation

    def _character(self, character: str | None) -> str:
        name = character or default_character(self._house.data, self._house.config)
        names = self._house.characters()
        if name not in names:
            raise NotFound(f"there is no character {name[:60]!r}; there are: {', '.join(names) or 'none'}")
        return name

    def _make_room(self, key: tuple[str, str]) -> None:
        while key not in self._lent and len(self._lent) >= self._most:
            idle = next((other for other, count in self._lent.items() if not count), None)
            if idle is None:
                raise Busy(f"{self._most} memories are being asked right now; try again in a second")
            del self._lent[idle]
            self._embedded.pop(idle, None)
            self._house.release(*idle)
