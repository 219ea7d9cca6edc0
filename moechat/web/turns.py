"""Turns that are under way. Each runs in a thread of its own, so that the page may be reloaded, closed or opened twice
while the character is speaking. Knows no Gradio.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator

from moechat.conversation import Conversation
from moechat.errors import MoeChatError
from moechat.house.group import GroupTalk
from moechat.model import Recollection
from moechat.turn import Delta, Ended, Recalled, TurnEvent

ASK_S = 0.05  # The pause between two attempts to stop a reply.

log = logging.getLogger(__name__)
AnyTalk = Conversation | GroupTalk


class Turn:
    """One reply on its way. ``reply`` grows, from what was ``begun`` before; ``over`` is set when it has ended. ``grown`` is
    called after every change.

    ``exchange_id`` is "" until the message is recorded. ``error`` says in words why the turn failed as a whole, ``crash``
    names the type of an error that nobody foresaw, ``failure`` says what went wrong with the reply alone.
    """

    def __init__(
        self,
        conversation: AnyTalk,
        events: Iterator[TurnEvent],
        grown: Callable[[], None],
        exchange_id: str,
        begun: str,
    ) -> None:
        self.conversation, self.exchange_id = conversation, exchange_id
        self.reply = self._begun = begun
        self.recollection = Recollection()
        self.has_recalled = False
        self.error = self.crash = self.failure = ""
        self.over = threading.Event()
        self._events, self._grown = events, grown
        self._thread = threading.Thread(target=self._run, name="turn", daemon=True)

    @property
    def version(self) -> tuple[int, bool]:
        """Changes with everything that a page would draw anew."""
        return len(self.reply), self.has_recalled

    def start(self) -> Turn:
        self._thread.start()
        return self

    def stop(self, timeout_s: float = 5.0) -> None:
        """End the reply and wait until it has ended; what was said is kept.

        It asks again and again, because a reply that is only about to begin cannot be stopped yet.
        """
        for _ in range(max(1, round(timeout_s / ASK_S))):
            self.conversation.stop()
            if self.over.wait(ASK_S):
                return

    def _run(self) -> None:
        try:
            for event in self._events:
                self._take(event)
                self._grown()
        except (MoeChatError, OSError) as failure:
            self.error = str(failure)
        except Exception as failure:  # This is the border of a background worker.
            log.exception("a turn ended unexpectedly")
            self.crash = type(failure).__name__
        finally:
            self.over.set()
            self._grown()

    def _take(self, event: TurnEvent) -> None:
        match event:
            case Recalled(exchange_id=id_, recollection=recollection):
                self.reply = self.reply if self.exchange_id == id_ else ""  # another's, where several answer
                self.exchange_id = id_
                self.recollection = recollection
                self.has_recalled = True
            case Delta(text=text, instead=instead):
                self.reply = (self._begun if instead else self.reply) + text
            case Ended(error=error):
                self.failure = error


class Turns:
    """At most one turn a talk: a second send while one is under way is refused, whichever tab it comes from.

    ``grown`` is called after every change of any of them.
    """

    def __init__(self, grown: Callable[[], None] = lambda: None) -> None:
        self._turns: dict[AnyTalk, Turn] = {}
        self._lock = threading.Lock()
        self._grown = grown

    def last(self, conversation: AnyTalk) -> Turn | None:
        """The newest turn, be it over or not."""
        return self._turns.get(conversation)

    def current(self, conversation: AnyTalk) -> Turn | None:
        turn = self.last(conversation)
        return turn if turn is not None and not turn.over.is_set() else None

    def talk(self, conversation: AnyTalk, text: str) -> Turn | None:
        """The turn that begins, or None where the last one is not over."""
        return self.begin(conversation, lambda: conversation.talk(text))

    def again(self, conversation: AnyTalk, id_: str = "") -> Turn | None:
        """Another reply to an exchange, "": to the last one."""
        return self.begin(conversation, lambda: conversation.regenerate(id_), id_)

    def go_on(self, conversation: AnyTalk, id_: str) -> Turn | None:
        """A reply goes on, in a talk of two."""
        if not isinstance(conversation, Conversation):
            raise MoeChatError("there is no reply to go on with; ask for another")
        begun = "".join(row.exchange.char for row in conversation.path.shown([id_]))
        return self.begin(conversation, lambda: conversation.regenerate(id_, goes_on=True), id_, begun)

    def begin(
        self, conversation: AnyTalk, events: Callable[[], Iterator[TurnEvent]], id_: str = "", begun: str = ""
    ) -> Turn | None:
        """The turn that ``events`` are of; None where the last one is not over."""
        with self._lock:
            if self.current(conversation):
                return None
            turn = self._turns[conversation] = Turn(conversation, events(), self._grown, id_, begun)
            return turn.start()

    def stop(self, conversation: AnyTalk) -> None:
        if (turn := self.current(conversation)) is not None:
            turn.stop()

    def close(self) -> None:
        """Stop all turns and wait until they are stored."""
        with self._lock:
            turns = [turn for turn in self._turns.values() if not turn.over.is_set()]
        for turn in turns:
            turn.stop()
