"""Talk that was held in another program, imported: one entry in the log for all of it, and one to take it back.

What is imported is staged first, then named in the log, then filed a slice at a time. It is hidden until all of it stands in
its day files. Where that is cut short, by a kill or a full disk, it goes on by itself, in any process that has the memory open.
"""

from __future__ import annotations

import hashlib
import itertools
import secrets
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from moechat.clock import local
from moechat.errors import DataError, MoeChatError
from moechat.model import Exchange
from moechat.store.formats import text_hash
from moechat.store.protocols import Unit

SLICE_S = 0.01  # The owner's lock is let go after this long, so that a turn need not wait.


class Imports:
    """What may happen to imported talk, in every kind of store."""

    def __init__(self, unit: Unit) -> None:
        self._unit = unit
        self._lock = threading.Lock()

    def add(self, exchanges: Iterable[Exchange], *, talk: str, by: str = "") -> str:
        """Import exchanges, in order of time, as a talk of that name. Returns the name of the batch.

        One without an id gets one. ``by`` says who has understood them already; "" queues them for the rules. Raises
        MoeChatError where the same was imported before, DataError where a day file is broken.
        """
        rows = [replace(one, talk=talk) for one in sorted(exchanges, key=lambda one: one.at)]
        return self._add(rows, lambda named: [[row.id, text_hash(row)] for row in named], by)

    def add_talks(self, exchanges: Sequence[Exchange], follows: Sequence[int | str | None]) -> str:
        """Import whole talks, which are gone on with from where they end: exchanges by ``talk``, each after what it follows and
        those of the chosen branch last. That is another of them by its place, or one that is there by its id; None: the newest
        of its talk. Returns the name of the batch. Raises as ``add``."""

        def rows(named: Sequence[Exchange]) -> list[list[str | None]]:
            tree = self._unit.tree
            parents = (
                tree.leaf(row.talk) if one is None else named[one].id if isinstance(one, int) else one
                for row, one in zip(named, follows, strict=True)
            )
            return [[row.id, parent, text_hash(row), row.talk] for row, parent in zip(named, parents, strict=True)]

        return self._add(exchanges, rows, "")

    def _add(
        self, exchanges: Sequence[Exchange], rows: Callable[[Sequence[Exchange]], list[list[str | None]]], by: str
    ) -> str:
        unit = self._unit
        if not exchanges:
            raise MoeChatError("there is nothing to import")
        batch, named = self._named(exchanges)
        unit.follow()
        self._require_new(batch)
        unit.stage(batch, sorted(named, key=lambda one: one.at))
        entry = {
            "op": "import", "batch": batch, "talk": named[0].talk, "at": unit.clock.now().isoformat(), "by": by,
            "rows": rows(named),
        }  # fmt: skip
        try:
            with unit.writing("import"):
                self._require_new(batch)
                if any(row.id in unit.tree for row in named):
                    raise MoeChatError("some of this is there already")
                unit.record([entry])
        except BaseException:
            unit.unstage(batch)
            raise
        self.finish()
        return batch

    def require_new(self, exchanges: Sequence[Exchange]) -> None:
        """Raises MoeChatError where exactly these were imported before."""
        self._require_new(self._named(exchanges)[0])

    def _require_new(self, batch: str) -> None:
        if batch in self._unit.tree.batches:
            raise MoeChatError(f"this was imported already, as {batch}; take that back first")

    def _named(self, exchanges: Sequence[Exchange]) -> tuple[str, list[Exchange]]:
        """(batch, exchanges with ids, in the same order): the same talk gets the same names."""
        in_time = sorted(exchanges, key=lambda one: one.at)
        words = "\0".join(f"{one.at.isoformat()}\0{one.user}\0{one.char}" for one in in_time)
        batch = hashlib.blake2b(words.encode(), digest_size=4).hexdigest()
        seconds: Counter[str] = Counter()
        rows = []
        for exchange in exchanges:
            base = f"{local(exchange.at, self._unit.zone):%Y%m%d-%H%M%S}-{batch}"
            seconds[base] += 1
            number = seconds[base]
            id_ = exchange.id or (f"{base}-{number}" if number > 1 else base)
            rows.append(replace(exchange, id=id_, stamp=exchange.stamp or secrets.token_hex(8)))
        return batch, rows

    def finish(self) -> None:
        """File what is staged, and show it when all of it is there.

        Raises DataError where a day file is broken or cannot be written; what is left waits for the next call.
        """
        with self._lock:
            for name in [name for name in self._unit.tree.batches if self._waits(name)]:
                self._finish(name)

    def _finish(self, name: str) -> None:
        unit = self._unit
        try:
            exchanges = unit.staged(name)
        except DataError:
            unit.follow()
            if not self._waits(name):  # another process was quicker
                return
            raise
        self._file(name, exchanges)
        with unit.writing("imported"):
            if self._waits(name):
                unit.recognise((replace(one, stamp="") for one in exchanges), file=name)  # a new one
                unit.record([{"op": "imported", "batch": name}])
        unit.unstage(name)

    def _waits(self, name: str) -> bool:
        """Whether a batch is not shown yet, and nobody has taken it back."""
        tree = self._unit.tree
        return name in tree.batches and not tree.batches[name].done and not tree.is_forgotten(name)

    def _file(self, name: str, exchanges: Sequence[Exchange]) -> None:
        """A day at a time, as many days as fit into a slice, as long as nobody takes it back."""
        unit = self._unit
        days = deque(list(day) for _, day in itertools.groupby(exchanges, lambda one: local(one.at, unit.zone).date()))
        while days:
            with unit.writing("import a slice"):
                if not self._waits(name):
                    return
                begun = time.monotonic()
                while days and time.monotonic() - begun < SLICE_S:
                    day = days.popleft()
                    filed = unit.exchanges.by_ids([exchange.id for exchange in day])
                    unit.days.add([exchange for exchange in day if exchange.id not in filed])
