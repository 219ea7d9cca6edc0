"""Turns that are under way: each runs in a thread of its own, so that a page may be reloaded, closed or opened twice
while the character is speaking. Knows no Gradio.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from datetime import datetime

from moechat.agent import Agent, Delta, Recalled, TurnEvent
from moechat.errors import MoeChatError
from moechat.model import Recollection

log = logging.getLogger(__name__)


class Turn:
    """One reply on its way. ``said`` grows; ``over`` is set when it has ended.

    ``error`` says in words why the turn itself could not be had, ``crash`` names an error that nobody foresaw; what went
    wrong with the reply alone is stored with it.
    """

    def __init__(self, agent: Agent, text: str, at: datetime, events: Iterator[TurnEvent], exchange_id: str = "") -> None:
        self.text, self.at, self.exchange_id = text, at, exchange_id
        self.said = ""
        self.found: Recollection | None = None
        self.error = self.crash = ""
        self.over = threading.Event()
        self._agent, self._events = agent, events
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"turn of {agent.character.name}", daemon=True)

    @property
    def version(self) -> tuple[int, bool]:
        """Changes with everything that a page would draw anew."""
        return len(self.said), self.found is not None

    def start(self) -> Turn:
        self._thread.start()
        return self

    def stop(self) -> None:
        """End the reply; what was said is kept."""
        self._stopping.set()
        self._agent.stop()

    def join(self, timeout_s: float) -> None:
        self._thread.join(timeout_s)

    def _run(self) -> None:
        try:
            for event in self._events:
                self._take(event)
                if self._stopping.is_set():  # also where it was asked for before the reply had begun
                    self._agent.stop()
        except (MoeChatError, OSError) as failure:
            self.error = str(failure)
        except Exception as failure:  # noqa: BLE001 - the border of a background worker
            log.exception("a turn ended unexpectedly")
            self.crash = type(failure).__name__
        finally:
            self.over.set()

    def _take(self, event: TurnEvent) -> None:
        match event:
            case Recalled(exchange_id=id_, recollection=found):
                self.exchange_id, self.found = id_, found
            case Delta(text=text):
                self.said += text


class Turns:
    """At most one turn an agent: a second send while one is under way is refused, whichever tab it comes from."""

    def __init__(self) -> None:
        self._turns: dict[int, Turn] = {}
        self._lock = threading.Lock()

    def current(self, agent: Agent) -> Turn | None:
        turn = self._turns.get(id(agent))
        return turn if turn is not None and not turn.over.is_set() else None

    def talk(self, agent: Agent, text: str) -> Turn | None:
        """The turn that begins, or None where the last one is not over."""
        with self._lock:
            return None if self.current(agent) else self._begin(Turn(agent, text, agent.now(), agent.talk(text)), agent)

    def regenerate(self, agent: Agent) -> Turn | None:
        with self._lock:
            last = agent.recent(1)
            if self.current(agent) or not last:
                return None
            exchange = last[-1].exchange
            return self._begin(Turn(agent, exchange.user, exchange.at, agent.regenerate(), exchange.id), agent)

    def _begin(self, turn: Turn, agent: Agent) -> Turn:
        self._turns[id(agent)] = turn
        return turn.start()

    def stop(self, agent: Agent) -> None:
        if (turn := self.current(agent)) is not None:
            turn.stop()

    def close(self, timeout_s: float = 10.0) -> None:
        """Stop whatever is under way and wait for it to be stored."""
        with self._lock:
            turns = [turn for turn in self._turns.values() if not turn.over.is_set()]
        for turn in turns:
            turn.stop()
        for turn in turns:
            turn.join(timeout_s)
