"""What was understood of an owner's exchanges: facts, episodes (events and reflections) and notes, and how they change.

Every finding names the exchanges it rests on. If one of those is corrected or taken back, the findings that cite it are
removed and their other sources are queued again; what the owner wrote or edited stays.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from moechat.errors import DataError
from moechat.model import Episode, Fact, Understanding
from moechat.store import formats
from moechat.store.finding_records import NO_NOTE, ExchangeNote, FindingRecords, Noted
from moechat.store.state import restatement

log = logging.getLogger(__name__)


class Findings(FindingRecords):
    """What may happen to the findings of one owner, in whatever store. Every verb takes the owner's lock."""

    def merge(
        self,
        ids: Sequence[str],
        understanding: Understanding,
        facts: Sequence[Fact],
        restated: Mapping[str, Sequence[str]],
        *,
        understood: bool = True,
    ) -> None:
        """Replace all that was found in these exchanges by a new understanding of them.

        ``facts`` are the new ones, resolved against the known; ``restated`` gives known facts further sources.
        ``understood`` False leaves the exchanges queued (the rules were first, the model is to follow).
        """
        owner = self._owner
        with owner.writing():
            kept = owner.state.forgotten | {fact.id for fact in self.facts() if fact.by == "owner"}
            facts = [fact for fact in facts if fact.id not in kept]  # an edited one has the id of the words before
            before = self._by_text(ids)
            keep = {fact.id for fact in facts} | restated.keys()
            last = max(self._told_at(ids).values(), default=owner.clock.now())
            self._add_facts(facts, restated, last)  # first: a kill leaves too much rather than too little
            # Facts that other exchanges state as well stay, because a model does not repeat what it knows.
            alone = [fact.id for fact in self._facts_citing(ids) if set(ids).issuperset(fact.draft.sources)]
            self.drop_facts([id_ for id_ in alone if id_ not in keep])
            self._put_notes(ids, understanding)
            for text, new in self._by_text(ids).items():
                if text in before:
                    owner.state.write(owner.state.carried(before[text], new))
            if understood:
                owner.mark_understood(ids, understanding.by)

    def _by_text(self, ids: Sequence[str]) -> dict[tuple[str, str], str]:
        """(what it is, its text) → id of the facts and events that rest on these exchanges."""
        cited = set(ids)
        facts = {("fact", f.text): f.id for f in self.facts() if cited.intersection(f.draft.sources)}
        return facts | {(e.kind, e.event.text): e.id for e in self.citing(ids)}

    def _add_facts(self, facts: Sequence[Fact], restated: Mapping[str, Sequence[str]], at: datetime) -> None:
        told_again: dict[str, datetime] = {}
        changes: dict[str, Fact | None] = {fact.id: fact for fact in facts}
        for fact in self.facts():
            if more := [s for s in restated.get(fact.id, ()) if s not in fact.draft.sources]:
                changes[fact.id] = replace(fact, draft=replace(fact.draft, sources=(*fact.draft.sources, *more)))
                told_again[fact.id] = fact.since
        self._write_facts(changes)
        self._owner.state.write(restatement(told_again, at))

    def _put_notes(self, ids: Sequence[str], understanding: Understanding) -> None:
        times = self._told_at(ids)
        gone = {e.id for e in self.citing(ids) if e.by != "owner" and e.kind == "event"}
        before = self._noted(ids, gone)
        # Reflections stay as long as their evidence does.
        owned = {n.key: [e for e in n.episodes if e.by == "owner" or e.kind == "reflection"] for n in before}
        taken = self._owner.state.forgotten | {e.id for id_ in ids for e in owned.get(id_, ())}
        added: dict[str, list[Episode]] = {id_: [] for id_ in ids}
        for event in understanding.events:
            first = next((source for source in event.sources if source in times), None)
            id_ = formats.derived_id(event.text, event.sources)
            if first is not None and id_ not in taken:
                added[first].append(Episode(id_, times[first], event, "event", understanding.by))
                taken.add(id_)  # a model may say the same twice
        places: dict[str, str] = {}
        for noted in before:
            places.setdefault(noted.key, noted.place)
        new = [
            Noted(
                id_,
                ExchangeNote(
                    understanding.tags.get(id_, ""), tuple(understanding.keywords.get(id_, ())), understanding.by
                ),
                (*owned.get(id_, ()), *added[id_]),
                places.get(id_, ""),
            )
            for id_ in times
        ]
        others = [_with(n, (), gone) for n in before if n.key not in times or n.place != places[n.key]]
        self._write_notes([*others, *new])

    def put_facts(self, facts: Sequence[Fact]) -> None:
        """Add or replace facts, as they are."""
        with self._owner.writing():
            self._write_facts({fact.id: fact for fact in facts})

    def put_episodes(self, episodes: Sequence[Episode]) -> None:
        """Add or replace episodes, as they are, in the notes of the first exchange that each rests on.

        An episode whose exchange is not filed (or is none of ours) gets a record of notes of its own, in the file of its day.
        """
        with self._owner.writing():
            added: dict[str, list[Episode]] = {}
            for episode in episodes:
                added.setdefault(episode.event.sources[0], []).append(episode)
            ids = {episode.id for episode in episodes}
            before = self._noted(added, ids)
            new = [Noted(key) for key in added if all(noted.key != key for noted in before)]
            self._write_notes([_with(noted, added.pop(noted.key, ()), ids) for noted in [*before, *new]])

    def drop_episodes(self, ids: Sequence[str]) -> None:
        """Take episodes out of their notes, whoever wrote them; what they rested on stays."""
        with self._owner.writing():
            self._write_notes([_with(noted, (), ids) for noted in self._noted((), ids)])

    def drop_facts(self, ids: Sequence[str]) -> None:
        """Take facts out of core memory, whoever wrote them; what they rested on stays."""
        with self._owner.writing():
            self._write_facts(dict.fromkeys(ids))

    def uncite(self, ids: Collection[str]) -> None:
        """What the owner wrote or corrected no longer names these exchanges. Without any source it gets a new id."""
        with self._owner.writing("uncite"):
            facts = [f for f in self.facts() if f.by == "owner" and not set(ids).isdisjoint(f.draft.sources)]
            episodes = [e for e in self.citing(list(ids)) if e.by == "owner"]
            new_facts = [_fact_without(fact, ids) for fact in facts]
            new_episodes = [_episode_without(episode, ids) for episode in episodes]
            self.put_facts(new_facts)
            self.drop_episodes([episode.id for episode in episodes])
            self.put_episodes(new_episodes)
            self.drop_facts([old.id for old, new in zip(facts, new_facts, strict=True) if old.id != new.id])
            ids_before = [*(fact.id for fact in facts), *(episode.id for episode in episodes)]
            ids_after = [*(fact.id for fact in new_facts), *(episode.id for episode in new_episodes)]
            for old_id, new_id in zip(ids_before, ids_after, strict=True):
                self._owner.state.write(self._owner.state.carried(old_id, new_id))

    def drop(self, ids: Sequence[str]) -> None:
        """Drop whatever cites one of these exchanges, and queue the other sources and the exchanges themselves anew."""
        if not ids:
            return
        with self._owner.writing():
            others, retracted = self._told_with(ids), self._owner.tree.retracted | self._owner.tree.taken_out()
            with contextlib.suppress(DataError):  # A broken file is reported with all others.
                self._unread([id_ for id_ in sorted(others.difference(ids, retracted)) if id_ in self._owner.tree])
            self._owner.requeue(sorted(others.union(ids) - retracted))  # first: a kill must not leave them without
            steps: tuple[Callable[[Sequence[str]], None], ...] = (self._drop_facts, self._drop_notes)
            for step in steps:
                try:
                    step(ids)
                except DataError as problem:  # what is hidden or queued anew stays so; the file is mended by its owner
                    log.warning("nothing was dropped from a broken file: %s", problem)

    def _told_with(self, ids: Sequence[str]) -> set[str]:
        """All sources of the facts and events that rest on one of ``ids``; they are to be understood again.

        Reflections are not among them, since their other evidence stands (``understanding.reflection``).
        """
        sources = {source for fact in self._facts_citing(ids) for source in fact.draft.sources}
        events = (e for e in self.citing(ids) if e.by != "owner" and e.kind == "event")
        return sources.union(*(event.event.sources for event in events))

    def _facts_citing(self, ids: Iterable[str]) -> list[Fact]:
        """Facts that rest on one of ``ids``, without the owner's own."""
        cited = set(ids)
        return [f for f in self.facts() if f.by != "owner" and cited.intersection(f.draft.sources)]

    def _drop_facts(self, ids: Sequence[str]) -> None:
        self.drop_facts([fact.id for fact in self._facts_citing(ids)])

    def _drop_notes(self, ids: Sequence[str]) -> None:
        """Remove the notes of ``ids`` and every episode that cites one of them; what the owner wrote stays."""
        gone = {episode.id for episode in self.citing(ids) if episode.by != "owner"}
        changes = []
        for noted in self._noted(ids, gone):
            if noted.key in ids:
                owned = tuple(episode for episode in noted.episodes if episode.by == "owner")
                changes.append(replace(noted, note=NO_NOTE, episodes=owned))
            else:
                changes.append(_with(noted, (), gone))
        self._write_notes(changes)

    def _unread(self, ids: Sequence[str]) -> None:
        """Queue these exchanges for the rules, because facts from them were removed along with another exchange.

        Their tags and events stay. What a model noted is its own to read again.
        """
        noted = [one for one in self._noted(ids) if one.note.by == "rules"]
        self._write_notes([replace(one, note=one.note._replace(by="")) for one in noted])


def _fact_without(fact: Fact, ids: Collection[str]) -> Fact:
    sources = tuple(source for source in fact.draft.sources if source not in ids)
    id_ = fact.id if sources else formats.derived_id(fact.text, ())
    return replace(fact, id=id_, draft=replace(fact.draft, sources=sources))


def _episode_without(episode: Episode, ids: Collection[str]) -> Episode:
    """An event of which no exchange tells is named by a key of its own."""
    sources = tuple(source for source in episode.event.sources if source not in ids)
    key = formats.OWN + formats.derived_id(episode.event.text, (episode.since.isoformat(),))
    id_ = episode.id if sources else formats.derived_id(episode.event.text, (key,))
    return replace(episode, id=id_, event=replace(episode.event, sources=sources or (key,)))


def _with(noted: Noted, added: Sequence[Episode], dropped: Collection[str]) -> Noted:
    """The notes without the dropped episodes, and with others at their end."""
    left = [episode for episode in noted.episodes if episode.id not in dropped]
    return replace(noted, episodes=(*left, *added))
