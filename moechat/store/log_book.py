"""The log of one owner over lines of whatever kind, with the tree that it makes, and the state beside it."""

from __future__ import annotations

import contextlib
import threading
from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from datetime import datetime

from moechat.clock import Clock
from moechat.store.json_lines import Entry, Lines
from moechat.store.short_log import KEEP_WORDS, shortened, written
from moechat.store.state import State
from moechat.store.tree import Tree

LOCK_TIMEOUT_S = 30.0
MANY = 500  # It pays to shorten the log when so many exchanges become shorter.


class LogBook(ABC):
    """What is done with the log. ``writing`` is the owner's lock, which a kind of store gives."""

    clock: Clock
    tree: Tree
    state: State

    def __init__(self, clock: Clock, log: Lines, state: Lines) -> None:
        self.clock = clock
        self._threads = threading.RLock()
        self._log = log
        self.tree = Tree()
        self.state = State(state)
        self._hidden: tuple[object, int, frozenset[str]] = (None, -1, frozenset())

    @abstractmethod
    def writing(self, what: str = "", *, patience_s: float = LOCK_TIMEOUT_S) -> AbstractContextManager[None]:
        """The owner's lock, with everything that others wrote read first. Reentrant. Raises Locked."""

    @abstractmethod
    def read_all(self) -> None:
        """Read whatever is still to be read: whoever changes or erases what is past must know it."""

    def claimed(self) -> AbstractContextManager[bool]:
        """Whether no other worker has claimed this owner's work, while the block runs. Over files there is no other, as a rule;
        where there is, the work may be done twice, and the second time comes to nothing."""
        return contextlib.nullcontext(True)

    def follow_log(self) -> None:
        """Take in what other processes have written to log and state."""
        with self._threads:
            anew, entries = self._log.unread()
            if anew:
                self.tree = Tree()
            self.tree.apply(entries)
            self.state.follow()

    def hidden(self) -> frozenset[str]:
        """What no recipe may see: other branches, retracted, archived, deleted by hand, being imported or forgotten.

        The same object as long as it is the same: the archive of years is large, and a recall asks several times.
        """
        masked, state = self.tree.hidden(), self.state.masked
        if self._hidden[0] is not masked or self._hidden[1] != state:
            self._hidden = (masked, state, masked.union(self.state.archived, self.state.missing))
        return self._hidden[2]

    def record(self, entries: Sequence[Entry]) -> None:
        """Into the log, durably, and into the tree; under the lock."""
        self._log.append(entries)
        self.tree.apply(entries)

    def mark_understood(self, ids: Sequence[str], by: str) -> None:
        with self.writing("understood"):
            self.record([{"op": "understood", "ids": list(ids), "by": by}])

    def requeue(self, ids: Sequence[str]) -> None:
        with self.writing("requeue"):
            if logged := [id_ for id_ in ids if id_ in self.tree]:
                self.record([{"op": "requeue", "ids": logged}])

    def compact(self) -> bool:
        """Drop from the log what it need not keep, and sum up the state (once in a while, at a start)."""
        self.state.compact(self.writing)
        before = self.clock.now() - KEEP_WORDS
        if len(shortened(self.tree, before)) < MANY:
            return False
        return self.rewrite_log(before)

    def rewrite_log(self, before: datetime, without: Collection[str] = ()) -> bool:
        """Replace the log by a shorter one that says the same, without some exchanges. False where another did so meanwhile.

        It is written before the lock is taken; what is added meanwhile stays.
        """
        with self._threads:
            self.follow_log()
            entries, place = written(self.tree, before, without), self._log.place
        rewriting = self._log.prepare(entries, place, keep_damaged=not without)
        tree = Tree()
        tree.apply(entries)
        with self.writing("rewrite the log"):
            added = self._log.commit(rewriting)
            if added is None:
                return False
            tree.apply(added)
            self.tree = tree
        return True
