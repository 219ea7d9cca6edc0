"""Erasure: the bytes of what the owner wants forgotten go from everything that is theirs.

``gone`` says what goes along: what was understood of an exchange, what rests on an event, what sums up a fact. ``forget``
hides it at once, and from then on ``erase`` works it off in steps that can be repeated: any process does so that opens the
memory, also after a crash. The owner's lock is held for one short step at a time. Last of all the log is replaced by one
without the exchanges and without the entry of the forgetting.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from moechat.clock import local
from moechat.errors import MoeChatError, NotFound
from moechat.model import Episode, Fact
from moechat.store.protocols import Unit
from moechat.store.short_log import KEEP_WORDS

T = TypeVar("T")
RECORDS_AT_ONCE = 50  # Taken out under one hold of the lock.


@dataclass(frozen=True)
class Gone:
    """What is erased together. ``kept`` is what the owner wrote or corrected, and stays without its source. ``anew`` are
    exchanges that stay and are understood anew, since what was made of them holds words of what goes; ``beside`` stands too, and
    was made by a model that was shown some of it. ``names`` of talks and topics hold words of it, and are taken off."""

    exchanges: Sequence[str] = ()
    episodes: Sequence[Episode] = ()
    facts: Sequence[Fact] = ()
    kept: Sequence[str] = ()
    anew: Sequence[str] = ()
    beside: Sequence[str] = ()
    names: Sequence[str] = ()

    @property
    def ids(self) -> list[str]:
        return [*self.exchanges, *(one.id for one in self.episodes), *(one.id for one in self.facts)]


# ---- what goes


def gone(unit: Unit, *, exchanges: Collection[str], episodes: Collection[str], facts: Collection[str]) -> Gone:
    """These, and all that was made from them.

    What the owner wrote or edited goes only where it is among these. ``facts`` are taken as they are: their history is the
    caller's to name.
    """
    unit.read_all()
    kept: list[str] = []
    lost_facts = _lost_facts(unit, set(facts), exchanges, kept)
    lost_episodes = _lost_episodes(unit, set(episodes), exchanges, kept)
    ids = {*exchanges, *(one.id for one in lost_episodes), *(one.id for one in lost_facts)}
    rows = [one for one in unit.state.greeted.values() if not ids.isdisjoint((one["id"], *one["sources"]))]
    words = [one["said_as"] for one in rows if one["said_as"]]
    return Gone(list(dict.fromkeys([*exchanges, *words])), lost_episodes, lost_facts, kept)


def _lost_facts(unit: Unit, ids: Collection[str], exchanges: Collection[str], kept: list[str]) -> list[Fact]:
    """These, those that rest on the exchanges, and the sums of lost ones."""
    facts, lost_exchanges = unit.findings.facts(), set(exchanges)
    resting = {fact.id for fact in facts if not lost_exchanges.isdisjoint(fact.draft.sources)}
    lost = {fact.id for fact in facts if fact.id in ids or (fact.id in resting and fact.by != "owner")}
    while sums := {f.id for f in facts if f.consolidated and f.id not in lost and lost.intersection(f.supersedes)}:
        lost |= sums
    kept += [fact.id for fact in facts if fact.id in resting and fact.id not in lost]
    return [fact for fact in facts if fact.id in lost]


def _lost_episodes(unit: Unit, ids: Collection[str], exchanges: Collection[str], kept: list[str]) -> list[Episode]:
    """These, those that rest on the exchanges, and what was thought of lost ones."""
    findings = unit.findings
    citing = findings.citing(list(exchanges))
    lost = {e.id: e for e in [*findings.by_ids(list(ids)).values(), *citing] if e.id in ids or e.by != "owner"}
    thoughts = findings.reflections()
    while more := {t.id: t for t in thoughts if t.id not in lost and t.by != "owner" and lost.keys() & set(t.evidence)}:
        lost |= more
    kept += [episode.id for episode in citing if episode.id not in lost]
    return list(lost.values())


def could_come_back(lost: Gone) -> list[str]:
    """The facts and events that exchanges which stay would give again."""
    ids = set(lost.exchanges)
    facts = [fact.id for fact in lost.facts if not ids.issuperset(fact.draft.sources)]
    return facts + [episode.id for episode in lost.episodes if not ids.issuperset(episode.event.sources)]


def words_of(unit: Unit, lost: Gone) -> list[str]:
    """The texts of what goes, with all replies, and the ids by which files name it."""
    nodes = [unit.tree.nodes[id_] for id_ in lost.exchanges if id_ in unit.tree.nodes]
    texts = [side for one in unit.exchanges.of(lost.exchanges).values() for side in (one.sent, one.char)]
    texts += [text for node in nodes for text in (node.user, *(variant.char for variant in node.variants))]
    texts += [*(one.event.text for one in lost.episodes), *(one.text for one in lost.facts)]
    return list(dict.fromkeys([*texts, *lost.ids]))


# ---- how it goes


def imported(unit: Unit, batch: str) -> Gone:
    """An import as a whole. Raises NotFound."""
    tree = unit.tree
    if batch not in tree.batches or tree.is_forgotten(batch):
        raise NotFound(f"nothing was imported as {batch!r}; `moechat talks list` shows what was")
    return gone(unit, exchanges=tree.batches[batch].ids, episodes=(), facts=())


def take_back(unit: Unit, batch: str) -> Gone:
    """Forget an import as a whole. Returns what goes. Raises NotFound."""
    unit.follow()
    lost = imported(unit, batch)
    forget(unit, lost, batch=batch)
    return lost


def forget(unit: Unit, lost: Gone, *, batch: str = "") -> None:
    """Hide all of it at once; ``erase`` removes it. Raises MoeChatError, before anything is written, where an exchange is
    being answered or a file that holds some of it cannot be written."""
    unit.check_writable([*lost.exchanges, *lost.anew], [one.id for one in lost.episodes], has_facts=bool(lost.facts))
    refuse, named = could_come_back(lost), set(unit.tree.batches[batch].ids) if batch else set()
    ids = [id_ for id_ in lost.ids if id_ not in named]
    with unit.writing("forget"):
        for id_ in unit.replies.alive().intersection(lost.exchanges):
            raise MoeChatError(f"exchange {id_} is being answered right now; wait for its end, then forget it")
        unit.findings.drop(lost.anew, uncites=False)
        if refuse:
            unit.state.write([{"op": "forgotten", "ids": sorted(refuse)}])
        unit.state.write([{"op": "topic", "from": name, "to": ""} for name in lost.names])
        unit.record([
            {"op": "talk", "talk": talk.name, "title": ""} for talk in unit.tree.talks.values() if talk.title in lost.names
        ])  # fmt: skip
        entry = {"op": "forget", "n": unit.tree.forgettings + 1, "ids": sorted(ids)}
        unit.record([entry | ({"batch": batch} if batch else {})])
        unit.replies.withhold(unit.tree.forgets[unit.tree.forgettings])


def erase(unit: Unit, sweep: Callable[[], None]) -> bool:
    """Work off whatever is being forgotten. ``sweep`` removes what indexes hold of it. False where nothing was to be done."""
    forgets = list(unit.tree.forgets.values())
    if forgets:
        unit.read_all()
    for ids in forgets:
        # An import that is taken back as a whole gets no tombstones: its owner may import it again.
        if not any(ids.issuperset(batch.ids) for batch in unit.tree.batches.values()):
            unit.bury(unit.exchanges.of(sorted(ids)).values(), ids)
        _erase(unit, ids)
    if forgets:
        unit.scrub()
        sweep()
        ids = frozenset().union(*forgets)
        while not unit.rewrite_log(unit.clock.now() - KEEP_WORDS, ids):
            unit.follow()
    return bool(forgets)


def _erase(unit: Unit, ids: frozenset[str]) -> None:
    findings = unit.findings
    rows = unit.exchanges.by_ids(sorted(ids))
    unfiled = [id_ for id_ in sorted(ids) if id_ not in rows]
    by_day = itertools.groupby(rows.values(), lambda row: local(row.exchange.at, unit.zone).date())
    days = [[row.exchange.id for row in day] for _, day in by_day]
    own_facts = [fact.id for fact in findings.facts() if fact.by == "owner" and fact.id in ids]
    findings.take_out(own_facts, Fact)  # Before its sources go: by itself it would get another id, and stay.
    findings.take_out([one.id for one in findings.by_ids(list(ids)).values() if one.by == "owner"], Episode)
    for part in _slices(_cited_by_owner(unit, [*rows, *unfiled])):
        findings.uncite(part, anew=True)
    for part in [*(part for day in days for part in _slices(day)), *_slices(unfiled)]:
        findings.drop(part)
        with unit.writing("forget words"):
            unit.days.remove(part)
    for part in _slices(
        [*sorted(findings.rows_of(list(ids))), *(fact.id for fact in findings.facts() if fact.id in ids)]
    ):
        findings.take_out(part)
    findings.unlink(ids)
    with unit.writing("forget reflections"):
        unit.reflected.without(ids)
    unit.state.forget(ids, unit.writing)
    unit.forget_calls(ids)


def _cited_by_owner(unit: Unit, ids: Sequence[str]) -> list[str]:
    """Those of the exchanges on which something rests that the owner wrote or corrected."""
    facts = [fact.draft.sources for fact in unit.findings.facts() if fact.by == "owner"]
    episodes = [episode.event.sources for episode in unit.findings.citing(ids) if episode.by == "owner"]
    return sorted({source for sources in (*facts, *episodes) for source in sources}.intersection(ids))


def _slices(items: Sequence[T]) -> Iterator[Sequence[T]]:
    return (items[start : start + RECORDS_AT_ONCE] for start in range(0, len(items), RECORDS_AT_ONCE))
