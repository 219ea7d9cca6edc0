"""Turns that are under way. Each runs in a thread of its own, so that the page may be reloaded, closed or opened twice
while the character is speaking. Knows no Gradio.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Sequence
from datetime import datetime

from moechat.agent import Agent
from moechat.errors import MoeChatError
from moechat.model import Recollection
from moechat.turn import Delta, Ended, Recalled, Shown, TurnEvent

ASK_S = 0.05  # The pause between two attempts to stop a reply.

log = logging.getLogger(__name__)


class Turn:
    """One reply on its way. ``reply`` grows; ``over`` is set when it has ended. ``after`` is the day of the exchange before.

    ``error`` says in words why the turn failed as a whole, ``crash`` names the type of an error that nobody foresaw,
    ``failure`` says what went wrong with the reply alone.
    """

    def __init__(
        self,
        agent: Agent,
        text: str,
        at: datetime,
        events: Iterator[TurnEvent],
        *,
        after: Sequence[Shown] = (),
        exchange_id: str = "",
    ) -> None:
        self.text, self.at, self.exchange_id = text, at, exchange_id
        self.after = after[-1].exchange.at.date() if after else None
        self.reply = ""
        self.recollection = Recollection()
        self._has_recalled = False
        self.error = self.crash = self.failure = ""
        self.over = threading.Event()
        self._agent, self._events = agent, events
        self._thread = threading.Thread(target=self._run, name=f"turn of {agent.character.name}", daemon=True)

    @property
    def version(self) -> tuple[int, bool]:
        """Changes with everything that a page would draw anew."""
        return len(self.reply), self._has_recalled

    def start(self) -> Turn:
        self._thread.start()
        return self

    def stop(self, timeout_s: float = 5.0) -> None:
        """End the reply and wait until it has ended; what was said is kept.

        It asks again and again, because a reply that is only about to begin cannot be stopped yet.
        """
        for _ in range(max(1, round(timeout_s / ASK_S))):
            self._agent.stop()
            if self.over.wait(ASK_S):
                return

    def _run(self) -> None:
        try:
            for event in self._events:
                self._take(event)
        except (MoeChatError, OSError) as failure:
            self.error = str(failure)
        except Exception as failure:  # This is the border of a background worker.
            log.exception("a turn ended unexpectedly")
            self.crash = type(failure).__name__
        finally:
            self.over.set()

    def _take(self, event: TurnEvent) -> None:
        match event:
            case Recalled(exchange_id=id_, recollection=recollection):
                self.exchange_id = id_
                self.recollection = recollection
                self._has_recalled = True
            case Delta(text=text):
                self.reply += text
            case Ended(error=error):
                self.failure = error


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
            if self.current(agent):
                return None
            return self._begin(Turn(agent, text, agent.now(), agent.talk(text), after=agent.recent(1)), agent)

    def regenerate(self, agent: Agent) -> Turn | None:
        with self._lock:
            last = agent.recent(2)
            if self.current(agent) or not last:
                return None
            exchange = last[-1].exchange
            turn = Turn(agent, exchange.user, exchange.at, agent.regenerate(), after=last[:-1], exchange_id=exchange.id)
            return self._begin(turn, agent)

    def _begin(self, turn: Turn, agent: Agent) -> Turn:
        self._turns[id(agent)] = turn
        return turn.start()

    def stop(self, agent: Agent) -> None:
        if (turn := self.current(agent)) is not None:
            turn.stop()

    def close(self) -> None:
        """Stop all turns and wait until they are stored."""
        with self._lock:
            turns = [turn for turn in self._turns.values() if not turn.over.is_set()]
        for turn in turns:
            turn.stop()
