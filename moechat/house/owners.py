"""The owners whose memory is open: an agent for each, up to a limit, and none that nobody has used for long."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple

from moechat.agent import Agent
from moechat.errors import MoeChatError
from moechat.house import heap
from moechat.worker import lazy

log = logging.getLogger(__name__)
FILES_PER_OWNER = 16  # An open owner takes 11 files and maps, one with years of talk some more.
FILES_RESERVED = 256  # Descriptors for connections and all else.


class Busy(MoeChatError):
    """All places are taken right now."""

    status = 503


class Owner(NamedTuple):
    """Whose memory: a character's with a user ("": the owner of its folder), in a world ("": the first)."""

    character: str
    user: str
    world: str


@dataclass
class Seat:
    """``turn`` is held while the agent opens or closes, so that an owner is never open twice. ``users`` use it now."""

    last_use: datetime
    turn: threading.Lock = field(default_factory=threading.Lock)
    agent: Agent | None = None
    users: int = 0
    is_kept: bool = False
    is_leaving: bool = False

    @property
    def is_idle(self) -> bool:
        return not (self.users or self.is_kept or self.is_leaving)


class OpenOwners:
    """Opens an agent with ``open_agent`` when it is first used.

    Beyond ``most`` the one that was idle longest makes room; one that was idle for ``idle`` is closed by ``close_idle``.
    Opening and closing hold up nobody but those who want the same owner. Safe to use from several threads.
    """

    def __init__(
        self, open_agent: Callable[[Owner], Agent], now: Callable[[], datetime], *, most: int, idle: timedelta
    ) -> None:
        self._open_agent, self._now, self._most, self._idle = open_agent, now, most, idle
        self._lock = threading.Lock()
        self._seats: OrderedDict[Owner, Seat] = OrderedDict()  # the one that was used last comes last
        self._has_closed = False

    def __len__(self) -> int:
        """How many are open, or on the way."""
        return len(self._seats)

    def kept(self, owner: Owner) -> Agent:
        """The agent of an owner, open until it is closed by ``close``."""
        with self.lent(owner, keep=True) as agent:
            return agent

    @contextlib.contextmanager
    def lent(self, owner: Owner, *, keep: bool = False) -> Iterator[Agent]:
        """The agent of an owner, which stays open while the block runs, and (``keep``) after it. Raises Busy."""
        with self._lock:
            leaving = [] if keep else self._make_room(owner)
            seat = self._seats.setdefault(owner, Seat(self._now()))
            self._seats.move_to_end(owner)
            seat.users += 1
        try:
            for other in leaving:
                self._leave(*other)
            with seat.turn:
                if seat.agent is None:
                    seat.agent = self._open_agent(owner)
                seat.is_kept |= keep
                agent = seat.agent
            yield agent
        finally:
            with self._lock:
                seat.users -= 1
                seat.last_use = self._now()
                self._forget_if_empty(owner, seat)

    def _make_room(self, owner: Owner) -> list[tuple[Owner, Seat]]:
        """Those that are to leave before this owner comes in. Raises Busy."""
        is_new = owner not in self._seats
        if len(self._seats) + is_new <= self._room:
            return []
        staying = sum(not seat.is_leaving for seat in self._seats.values())
        too_many = max(staying + is_new - self._room, 0)
        idle = [pair for pair in self._seats.items() if pair[1].is_idle and pair[0] != owner]
        if is_new and too_many > len(idle):
            raise Busy(f"{self._room} memories are being asked right now; try again in a second")
        return _sent_away(idle[:too_many])

    @lazy
    def _room(self) -> int:
        return min(self._most, room_in_files(self._most))

    def _leave(self, owner: Owner, seat: Seat) -> None:
        """Close an idle owner, unless somebody came meanwhile."""
        with seat.turn:
            agent = None
            with self._lock:
                if not (seat.users or seat.is_kept):
                    agent, seat.agent = seat.agent, None
            if agent is not None:
                self._has_closed = True
                try:
                    agent.close()
                except Exception:  # Nobody who waits for the seat has to do with it.
                    log.exception("the memory of %s did not close well", owner)
        with self._lock:
            seat.is_leaving = False
            self._forget_if_empty(owner, seat)

    def _forget_if_empty(self, owner: Owner, seat: Seat) -> None:
        if seat.agent is None and not seat.users and self._seats.get(owner) is seat:
            del self._seats[owner]

    def close_idle(self) -> None:
        """Close those that nobody has used for long."""
        with self._lock:
            before = self._now() - self._idle
            idle = [pair for pair in self._seats.items() if pair[1].is_idle and pair[1].last_use <= before]
            leaving = _sent_away(idle)
        for owner, seat in leaving:
            self._leave(owner, seat)
        self.let_go()

    def let_go(self) -> None:
        """Give back the memory of those that were closed since the last call."""
        if self._has_closed:
            self._has_closed = False
            heap.give_back()

    def close(self, owner: Owner) -> None:
        """Close one, whoever uses it; it opens anew when it is asked for."""
        with self._lock:
            seat = self._seats.get(owner)
        if seat is None:
            return
        with seat.turn:
            agent, seat.agent, seat.is_kept = seat.agent, None, False
            try:
                if agent is not None:
                    self._has_closed = True
                    agent.close()
            finally:
                with self._lock:
                    self._forget_if_empty(owner, seat)

    def close_character(self, character: str) -> None:
        """Close all owners of a character."""
        for owner in [one for one in list(self._seats) if one.character == character]:
            self.close(owner)

    def close_all(self) -> None:
        """Close every agent. One that fails keeps no other open. Their memory comes back with ``let_go``."""
        with contextlib.ExitStack() as last:
            for owner in list(self._seats):
                last.callback(self.close, owner)


def _sent_away(seats: list[tuple[Owner, Seat]]) -> list[tuple[Owner, Seat]]:
    for _, seat in seats:
        seat.is_leaving = True
    return seats


def room_in_files(most: int) -> int:
    """How many owners the system's limit on open files has room for; the limit is raised for ``most`` as far as it may be."""
    try:
        import resource
    except ImportError:  # Windows has no such limit.
        return most
    limit, highest = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = most * FILES_PER_OWNER + FILES_RESERVED
    if limit != resource.RLIM_INFINITY and limit < needed:
        raised = needed if highest == resource.RLIM_INFINITY else min(needed, highest)
        with contextlib.suppress(OSError, ValueError):  # macOS allows less than it says.
            resource.setrlimit(resource.RLIMIT_NOFILE, (raised, highest))
            limit = raised
    if limit == resource.RLIM_INFINITY or limit >= needed:
        return most
    log.warning("only %d files may be open, so fewer than %d memories are; see ulimit -n", limit, most)
    return max((limit - FILES_RESERVED) // FILES_PER_OWNER, 1)
