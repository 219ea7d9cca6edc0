"""The agents that requests use, within bounds."""

from __future__ import annotations

import contextlib
import threading
from collections import OrderedDict
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from moechat.errors import EmbeddingError, MoeChatError, NotFound
from moechat.memory import context
from moechat.settings.character import default_character

if TYPE_CHECKING:
    from moechat.agent import Agent
    from moechat.house import House

MOST_AGENTS = 16  # open at once
SOON = 256  # of the author's new events, that are embedded at once; the rest waits for the background


class Busy(MoeChatError):
    """All places are taken right now."""


class Agents:
    """Agents are opened on demand, ``most`` at once; the one that was idle longest makes room."""

    def __init__(self, house: House, most: int = MOST_AGENTS) -> None:
        self._house, self._most = house, most
        self._lock, self._embedding = threading.Lock(), threading.Lock()
        self._lent: OrderedDict[tuple[str, str], int] = OrderedDict()
        self._embedded: dict[tuple[str, str], int] = {}  # the generation of the author's store whose vectors are made

    @contextlib.contextmanager
    def lent(self, character: str | None, user: str | None, *, new: bool = False) -> Iterator[Agent]:
        """The agent of a character (default: the configured one, else the first by name) and a user, while it is used. It
        has taken in what hands, the talk and other processes changed.

        Raises NotFound for a user without memory unless ``new``, PathError for an impossible name, Busy.
        """
        name, user = self._known(character), user or ""
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
        agent.store.follow()
        agent.layers.refresh()
        agent.layers.sync()
        if self._embedded.get(key) != agent.official.generation:
            with self._embedding, contextlib.suppress(EmbeddingError):  # told by agent.problems()
                agent.layers.episodes.embed_missing(threading.Event(), SOON)
            self._embedded[key] = agent.official.generation

    def _known(self, character: str | None) -> str:
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


def last_reply(agent: Agent) -> str:
    """What the character said last in the talk that is still in the context, "" where there is none."""
    exchanges = context.path(agent.store)
    idle_h = (agent.now() - exchanges[-1].at).total_seconds() / 3600 if exchanges else 0.0
    return exchanges[-1].char if exchanges and idle_h < agent.config.roll.idle_cut_h else ""
