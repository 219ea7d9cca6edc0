"""The memories that requests use, within bounds."""

from __future__ import annotations

import contextlib
import threading
from collections import OrderedDict
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from moechat.character import default_character
from moechat.errors import EmbeddingError, MoeChatError, NotFound
from moechat.language.association import Associations, Table, shipped
from moechat.memory import context
from moechat.memory.entities import Entities
from moechat.memory.episodes import Episodes
from moechat.store.official import Official

if TYPE_CHECKING:
    from moechat.agent import Agent
    from moechat.house import House

MOST_AGENTS = 16  # open at once


class Busy(MoeChatError):
    """All places are taken right now."""


class Seat:
    """One agent's memory as requests ask it, with the author's beside the owner's."""

    def __init__(self, agent: Agent) -> None:
        character = agent.character
        self.agent, self.dense = agent, agent.dense
        self.official = Official(
            character.folder,
            zone=agent.config.time.tzinfo,
            names=lambda: {"user": agent.character.user_name, "char": agent.character.name},
        )
        self.episodes = Episodes(agent.store, agent.dense, lambda: (self.official.generation, self.official.episodes()))
        self.entities = Entities(
            lambda: [*agent.core.current(), *self.official.facts()],
            Associations([Table(character.folder / "associations.tsv"), shipped()]),
            user_name=character.user_name,
            character_name=character.name,
        )
        self._stop, self._following = threading.Event(), threading.Lock()
        self._embedded = 0

    def now(self) -> datetime:
        return self.agent.now()

    def follow(self) -> None:
        """Take in what hands, the talk and other processes changed."""
        with self._following:
            self.agent.store.follow()
            self.official.refresh()
            self.episodes.sync()
            if self.episodes.changes != self._embedded:
                with contextlib.suppress(EmbeddingError):  # told by agent.problems()
                    self.episodes.embed_missing(self._stop)
                self._embedded = self.episodes.changes

    def last_reply(self) -> str:
        """What the character said last in the talk that is still in the context, "" where there is none."""
        exchanges = context.path(self.agent.store)
        idle_h = (self.now() - exchanges[-1].at).total_seconds() / 3600 if exchanges else 0.0
        return exchanges[-1].char if exchanges and idle_h < self.agent.config.roll.idle_cut_h else ""


class Agents:
    """Agents are opened on demand, ``most`` at once; the one that was idle longest makes room."""

    def __init__(self, house: House, most: int = MOST_AGENTS) -> None:
        self._house, self._most = house, most
        self._lock = threading.Lock()
        self._lent: OrderedDict[tuple[str, str], int] = OrderedDict()
        self._seats: dict[tuple[str, str], Seat] = {}

    @contextlib.contextmanager
    def lent(self, character: str | None, user: str | None, *, new: bool = False) -> Iterator[Seat]:
        """The memory of a character (default: the configured one, else the first by name) and a user, while it is used.

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
            yield self._seat(key)
        finally:
            with self._lock:
                self._lent[key] -= 1

    def _seat(self, key: tuple[str, str]) -> Seat:
        agent = self._house.agent(key[0], key[1] or None)
        seat = self._seats.get(key)
        if seat is None or seat.agent is not agent:
            seat = self._seats[key] = Seat(agent)
        return seat

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
            self._seats.pop(idle, None)
            self._house.release(*idle)
