"""An owner's memory, copied from one kind of store into another, and compared by count and hash."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from moechat.clock import local
from moechat.errors import MoeChatError
from moechat.store import reflections
from moechat.store.formats import EPISODE, FACT, exchange_data, refused_data
from moechat.store.kinds import Store
from moechat.store.short_log import written

LONG_BEFORE = datetime(1, 1, 2, tzinfo=UTC)  # Nothing of a log is older: all its words are kept.


class NotTheSame(Exception):
    """A copy is not what was copied. It is no error on purpose: a transaction that it ends is rolled back."""


@dataclass(frozen=True)
class Contents:
    """How much a store holds, and a hash of all that a caller can see of it: rows' numbers are no part of it, nor vectors."""

    exchanges: int
    facts: int
    episodes: int
    sha: str

    @property
    def is_empty(self) -> bool:
        return not (self.exchanges or self.facts or self.episodes)


def contents(store: Store) -> Contents:
    """Reads everything."""
    store.read_all()
    findings, tree = store.findings, store.tree
    rows = store.exchanges.filed()
    notes = findings.all_notes([row.exchange.id for row in rows])
    facts = findings.facts()
    parts: Iterable[object] = itertools.chain(
        ([exchange_data(row.exchange), row.tag] for row in sorted(rows, key=lambda row: row.exchange.id)),
        ([n.key, *n.note, *([e.id, EPISODE.data(e)] for e in n.episodes)] for n in sorted(notes, key=lambda n: n.key)),
        ([fact.id, FACT.data(fact)] for fact in sorted(facts, key=lambda fact: fact.id)),
        written(tree, LONG_BEFORE),
        store.state.entries(),
        map(refused_data, findings.refused()),
        [reflections.written(store.reflected.value)],
        map(asdict, store.usage.days()),
    )
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        digest.update(json.dumps(part, ensure_ascii=False, sort_keys=True).encode() + b"\n")
    episodes = sum(len(noted.episodes) for noted in notes)
    return Contents(max(len(rows), len(tree.parents)), len(facts), episodes, digest.hexdigest())


def copy(source: Store, target: Store) -> Contents:
    """Copy all of it into an empty store, while nobody writes to the source. Raises NotTheSame, MoeChatError where a reply is
    being written or an import is on its way."""
    with source.writing("copy"), target.writing("copy"):
        source.read_all()
        if source.replies.alive() or any(not batch.done for batch in source.tree.batches.values()):
            raise MoeChatError("a reply or an import is on its way: wait for its end, then try again")
        if target.tree.parents or target.exchanges.times() or target.findings.facts():
            raise MoeChatError("there is another memory already")
        target.record(written(source.tree, LONG_BEFORE))
        exchanges = [row.exchange for row in sorted(source.exchanges.filed(), key=lambda row: row.row)]
        for _, day in itertools.groupby(exchanges, lambda one: local(one.at, target.zone).date()):
            target.days.add(list(day))
        notes = source.findings.all_notes([one.id for one in exchanges])
        target.findings.take_over(notes, source.findings.facts(), source.findings.refused())
        target.state.write(source.state.entries())
        target.note_calls([(call["cites"], call["shown"]) for call in source.calls()])
        target.tombstones.take(list(source.tombstones.entries()))
        target.reflected.write(source.reflected.value)
        for spent in source.usage.days():
            target.usage.add(spent)
        target.usage.write()
        before, after = contents(source), contents(target)
        if before != after:
            raise NotTheSame(f"{before} became {after}")
        findings = [*(fact.id for fact in source.findings.facts()), *(id_ for id_, *_ in source.findings.births())]
        target.recognise(exchanges, findings, source.folder.name if source.folder else "")
    return after
