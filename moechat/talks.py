"""The talks over one memory: a conversation for each, and those off the record."""

from __future__ import annotations

import threading
from collections.abc import Callable

from moechat.conversation import Conversation
from moechat.memory.context import Context, Contexts
from moechat.store.table_store import MemoryStore

MOST_HELD = 8  # So many talks off the record go on at once.
MOST_EXCHANGES = 1000  # One of them holds so many exchanges.


class Talks:
    """The conversations of one owner: one for each talk over the memory, and those off the record.

    ``converse`` and ``off_the_record`` make one for a context.
    """

    def __init__(
        self,
        contexts: Contexts,
        converse: Callable[[Context], Conversation],
        off_the_record: Callable[[Context], Conversation],
    ) -> None:
        self._contexts, self._converse, self._off_the_record = contexts, converse, off_the_record
        self._lock = threading.Lock()
        self._talks: dict[str, Conversation] = {}
        self._held: list[Conversation] = []

    def of(self, name: str) -> Conversation:
        """The conversation in a talk; it begins with its first message."""
        context = self._contexts.of(name)
        with self._lock:
            if name not in self._talks:
                self._talks[name] = self._converse(context)
            return self._talks[name]

    def aside(self) -> Conversation:
        """One off the record for a single turn: whoever has it ends it."""
        first = self._contexts.of("")
        store = MemoryStore(clock=first.store.clock, zone=first.store.zone, max_exchanges=MOST_EXCHANGES)
        return self._off_the_record(Context(store, first.config))

    def hold(self) -> Conversation:
        """Another one off the record. Of ``MOST_HELD``, the one that began first ends when another begins."""
        held = self.aside()
        with self._lock:
            self._held.append(held)
            ending = self._held[:-MOST_HELD]
            del self._held[:-MOST_HELD]
        for conversation in ending:
            conversation.close()
        return held

    def stop(self) -> None:
        """End every reply that is streaming."""
        for conversation in [*self._talks.values(), *self._held]:
            conversation.stop()

    def close(self) -> None:
        for conversation in [*self._talks.values(), *self._held]:
            conversation.close()
