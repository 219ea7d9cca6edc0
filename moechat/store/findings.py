"""What was understood of an owner's exchanges: facts, episodes (events and reflections) and notes, and how they change.

Every finding names the exchanges it rests on. If one of those is corrected or taken back, the findings that cite it are
removed and their other sources are queued again; what the owner wrote or edited stays.
"""

from __future__ import annotations

import contextlib
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TypeVar

from moechat.errors import DataError, DiskError
from moechat.model import Episode, Event, Fact, RefusedItem, Understanding
from moechat.store import formats
from moechat.store.finding_records import NO_NOTE, ExchangeNote, FindingRecords, Noted
from moechat.store.json_lines import Lines
from moechat.store.state import restatement

log = logging.getLogger(__name__)
MAX_REFUSED_KEPT = 200
Found = TypeVar("Found", Fact, Episode)


class Findings(FindingRecords, ABC):
    """What may happen to the findings of one owner, in whatever store. Every verb takes the owner's lock.

    It has more than twenty methods because each thing that may happen is one of its own.
    """

    # ---- where they are written: this is left to a kind of store

    @abstractmethod
    def _noted(self, keys: Collection[str], episodes: Collection[str] = ()) -> list[Noted]:
        """What stands under these keys, and wherever one of these episodes stands."""

    @abstractmethod
    def _write_facts(self, changes: Mapping[str, Fact | None]) -> None:
        """Add or replace facts by id; None removes one that is there. Raises DataError."""

    @abstractmethod
    def _write_notes(self, changes: Iterable[Noted]) -> None:
        """Put each in its place; an empty one is removed. Raises DataError once all that can be written is."""

    # ---- what may happen

    def merge(
        self,
        ids: Sequence[str],
        understanding: Understanding,
        facts: Sequence[Fact],
        restated: Mapping[str, Sequence[str]],
        *,
        understood: bool = True,
    ) -> None:
        """Take in a new understanding of these exchanges, beside what was found in them before.

        What the rules read gives way to what they read now; nothing else goes. What the rules read and a trusted model passes
        over is no longer confirmed. ``facts`` are new or changed, resolved against the known; ``restated`` gives known facts
        further sources, and a model that states them again confirms them. ``understood`` False leaves the exchanges queued (the
        rules were first, the model is to follow).
        """
        owner = self._owner
        with owner.writing("merge"):
            before = self._by_text(ids)
            notes = self.notes_of(ids)
            # Nothing stands of what nobody has read: what does was to be dropped from a file that was broken then.
            unread = {id_ for id_ in ids if not notes.get(id_, NO_NOTE).by}
            self._merge_facts(ids, understanding, facts, restated, unread)
            self._merge_notes(ids, understanding, unread)
            after = self._by_text(ids)
            carried = [(before[text], new) for text, new in after.items() if text in before]
            newer = {old: one.id for one in self.with_ids(after.values()) for old in one.supersedes}
            carried += [(old, newer[old]) for ids in understanding.replaces.values() for old in ids if old in newer]
            for old, new in carried:
                owner.state.write(owner.state.carried(old, new))
            self.refuse(understanding.refused)
            if understood:
                owner.mark_understood(ids, understanding.by)

    def _by_text(self, ids: Sequence[str]) -> dict[tuple[str, str], str]:
        """(what it is, its text) → id of the facts and events that rest on these exchanges."""
        facts = {("fact", f.text): f.id for f in self.fact_book().citing(ids)}
        return facts | {(e.kind, e.event.text): e.id for e in self.citing(ids)}

    def _merge_facts(
        self,
        ids: Sequence[str],
        understanding: Understanding,
        facts: Sequence[Fact],
        restated: Mapping[str, Sequence[str]],
        unread: set[str],
    ) -> None:
        # Facts that other exchanges state as well stay as they are.
        alone = [fact for fact in self._facts_citing(ids) if set(ids).issuperset(fact.draft.sources)]
        changes: dict[str, Fact | None] = {
            fact.id: None if unread.intersection(fact.draft.sources) else _judged(fact, understanding) for fact in alone
        }
        known_facts = self.fact_book().of([*restated, *(fact.id for fact in facts)])
        owned = {id_ for id_, fact in known_facts.items() if fact.by == "owner"}
        for fact in facts:
            if fact.id not in owned | self._owner.state.forgotten:  # an edited one has the id of the words before
                judged = changes.get(fact.id)
                changes[fact.id] = replace(fact, confirmed=True) if judged and judged.confirmed else fact
        again: dict[str, datetime] = {}
        for id_, sources in restated.items():
            old = changes.get(id_) or known_facts.get(id_)
            if old and (more := [source for source in sources if source not in old.draft.sources]):
                changes[id_] = replace(
                    old, draft=replace(old.draft, sources=(*old.draft.sources, *more)),
                    confirmed=True if understanding.by == "model" and old.confirmed is False else old.confirmed,
                )  # fmt: skip
                again[id_] = old.since
        self._write_facts(changes)
        last = max(self._told_at(ids).values(), default=self._owner.clock.now())
        self._owner.state.write(restatement(again, last))

    def _merge_notes(self, ids: Sequence[str], understanding: Understanding, unread: set[str]) -> None:
        times, there = self._told_at(ids), self.citing(ids)
        changes = {
            e.id: None if unread.intersection(e.event.sources) else _judged(e, understanding)
            for e in there
            if e.by in ("rules", "model") and e.kind == "event" and set(ids).issuperset(e.event.sources)
        }
        same_ids = self.rows_of([formats.derived_id(event.text, event.sources) for event in understanding.events])
        taken = self._owner.state.forgotten | (same_ids.keys() | {e.id for e in there}) - {
            id_ for id_, changed in changes.items() if changed is None
        }
        added: dict[str, list[Episode]] = {id_: [] for id_ in times}
        for event in understanding.events:
            episode = self._episode(event, understanding, times, [e for e in there if e.id in changes])
            if episode and episode.id in changes and episode.confirmed:
                changes[episode.id] = episode
            elif episode and episode.id not in taken:
                added[next(source for source in episode.event.sources if source in times)].append(episode)
                taken.add(episode.id)  # a model may say the same twice
        before = [_replaced(noted, changes) for noted in self._noted(ids, changes)]
        places: dict[str, str] = {}
        for noted in before:
            places.setdefault(noted.key, noted.place)
        first = {noted.key: noted for noted in before if noted.place == places[noted.key]}
        new = [
            replace(
                first.get(id_, Noted(id_)),
                note=ExchangeNote(
                    understanding.tags.get(id_, ""), tuple(understanding.keywords.get(id_, ())), understanding.by
                ),
                episodes=(*(first[id_].episodes if id_ in first else ()), *added[id_]),
            )
            for id_ in ids
            if id_ in times
        ]
        others = [noted for noted in before if noted.key not in times or noted.place != places[noted.key]]
        self._write_notes([*new, *others])

    @staticmethod
    def _episode(
        event: Event, understanding: Understanding, times: Mapping[str, datetime], earlier: Sequence[Episode]
    ) -> Episode | None:
        """The episode that an event becomes: an earlier one that is confirmed by the same words, or a new one. None where
        nobody filed what it rests on."""
        first = next((source for source in event.sources if source in times), None)
        if first is None:
            return None
        same = next((e for e in earlier if e.event.text == event.text), None)
        links = tuple(id_ for id_ in understanding.replaces.get(event, ()) if not (same and same.id == id_))
        if same and understanding.by == "model":
            sources = tuple(dict.fromkeys((*same.event.sources, *event.sources)))
            links = tuple(dict.fromkeys((*same.supersedes, *links)))
            return replace(same, event=replace(event, sources=sources), by="model", confirmed=True, supersedes=links)
        id_ = formats.derived_id(event.text, event.sources)
        confirmed = False if event in understanding.doubtful else None
        return Episode(id_, times[first], event, "event", understanding.by, confirmed=confirmed, supersedes=links)

    def refuse(self, refused: Sequence[RefusedItem]) -> None:
        """Keep what was not believed, the newest ``MAX_REFUSED_KEPT``, each once."""
        if refused:
            with self._owner.writing("refuse"):
                now, again = self._owner.clock.now(), {replace(one, at=None) for one in refused}
                new = [replace(one, at=one.at or now) for one in dict.fromkeys(refused)]
                self._change_refused(
                    lambda before: [*(one for one in before if replace(one, at=None) not in again), *new][
                        -MAX_REFUSED_KEPT:
                    ]
                )

    def refused(self) -> list[RefusedItem]:
        """What was not believed of models' answers, oldest first."""
        return _refused_in(self._owner.lines("refused"))

    def _change_refused(self, change: Callable[[list[RefusedItem]], list[RefusedItem]]) -> None:
        """Keep what ``change`` makes of it, and nothing else."""
        lines = self._owner.lines("refused")
        before = _refused_in(lines)
        after = change(before)
        if before and not after:
            lines.drop()
        elif after != before:
            lines.rewrite(map(formats.refused_data, after))

    def all_notes(self, exchanges: Sequence[str]) -> list[Noted]:
        """What is noted of these exchanges, and of whatever events stand elsewhere."""
        return self._noted(list(exchanges), [id_ for id_, *_ in self.births()])

    def take_over(self, notes: Iterable[Noted], facts: Sequence[Fact], refused: Sequence[RefusedItem]) -> None:
        """Write what was noted in another store, whose places mean nothing here."""
        with self._owner.writing("take over"):
            self._write_notes([replace(noted, place="") for noted in notes])
            self._write_facts({fact.id: fact for fact in facts})
            self._change_refused(lambda _: list(refused))

    def put(self, findings: Iterable[Fact | Episode]) -> None:
        """Add or replace findings, as they are; episodes in the notes of the first exchange that each rests on.

        An episode whose exchange is not filed (or is none of ours) gets a record of notes of its own, in the file of its day.
        """
        with self._owner.writing("put"):
            findings = list(findings)
            episodes = [one for one in findings if isinstance(one, Episode)]
            self._owner.written_anew(one.id for one in findings)
            self._write_facts({one.id: one for one in findings if isinstance(one, Fact)})
            added: dict[str, list[Episode]] = {}
            for episode in episodes:
                added.setdefault(episode.sources[0], []).append(episode)
            ids = {episode.id for episode in episodes}
            before = self._noted(added, ids) if episodes else []
            new = [Noted(key) for key in added if all(noted.key != key for noted in before)]
            ordered = sorted([*before, *new], key=lambda noted: noted.key not in added)  # added first, then removed
            self._write_notes([_with(noted, added.pop(noted.key, ()), ids) for noted in ordered])

    def take_out(self, ids: Collection[str], kind: type[Fact] | type[Episode] | None = None) -> None:
        """Take findings out (of one ``kind``, or of both), whoever wrote them; what they rested on stays. What replaced one of
        them replaces what that one had replaced."""
        with self._owner.writing("take out"):
            facts = {} if kind is Episode else self.fact_book().of(ids)
            episodes = {} if kind is Fact else self.by_ids(list(ids))
            heirs = {one.id: one for one in _heirs(facts.values(), self.facts())} if facts else {}
            self._write_facts({**heirs, **dict.fromkeys(facts)})
            self.put(_heirs(episodes.values(), self.superseding()))
            self._write_notes([_with(noted, (), episodes) for noted in self._noted((), episodes)])

    def unlink(self, ids: Collection[str]) -> None:
        """No finding names these any longer as what it replaced."""
        with self._owner.writing("unlink"):
            self.put([*_unlinked(self.facts(), ids), *_unlinked(self.superseding(), ids)])

    def uncite(self, ids: Collection[str], *, anew: bool = False) -> None:
        """What the owner wrote or corrected no longer names these exchanges; it stays, by itself where none is left.

        ``anew`` gives another id to what has no source left; what is known of its use goes with it.
        """
        with self._owner.writing("uncite"):
            facts = [f for f in self.fact_book().citing(ids) if f.by == "owner"]
            episodes = [e for e in self.citing(list(ids)) if e.by == "owner"]
            new_facts = [_fact_without(fact, ids, anew) for fact in facts]
            new_episodes = [_episode_without(episode, ids, anew) for episode in episodes]
            self._write_facts({**dict.fromkeys(fact.id for fact in facts), **{fact.id: fact for fact in new_facts}})
            self.put(new_episodes)
            renamed = [old.id for old, new in zip(episodes, new_episodes, strict=True) if old.id != new.id]
            self.take_out(renamed, Episode)
            ids_before = [*(fact.id for fact in facts), *(episode.id for episode in episodes)]
            ids_after = [*(fact.id for fact in new_facts), *(episode.id for episode in new_episodes)]
            for old_id, new_id in zip(ids_before, ids_after, strict=True):
                self._owner.state.write(self._owner.state.carried(old_id, new_id))

    def drop(self, ids: Sequence[str], *, uncites: bool = True) -> None:
        """Drop whatever the rules or a model found in these exchanges, and what was refused, and queue the other sources and
        the exchanges themselves anew. What the owner wrote or edited stays, without them where it ``uncites``."""
        if not ids:
            return
        with self._owner.writing("drop"):
            others, retracted = self._told_with(ids), self._owner.tree.retracted | self._owner.tree.taken_out()
            with contextlib.suppress(DataError):  # A broken file is reported with all others.
                self._unread([id_ for id_ in sorted(others.difference(ids, retracted)) if id_ in self._owner.tree])
            self._owner.requeue(sorted(others.union(ids) - retracted))  # first: a kill must not leave them without
            steps: tuple[Callable[[Sequence[str]], None], ...] = (
                *([self.uncite] if uncites else []),
                lambda ids: self.take_out([fact.id for fact in self._facts_citing(ids)], Fact),
                lambda ids: self._change_refused(
                    lambda before: [one for one in before if set(ids).isdisjoint(one.sources)]
                ),
                self._drop_notes,  # last: they show that something is left to be dropped
            )
            for step in steps:
                try:
                    step(ids)
                except DiskError:  # it can be tried again
                    raise
                except DataError as problem:  # what is hidden or queued anew stays so; the file is mended by its owner
                    log.warning("nothing was dropped from a broken file: %s", problem)

    def _told_with(self, ids: Sequence[str]) -> set[str]:
        """All sources of the facts and events that rest on one of ``ids``; they are to be understood again.

        Reflections are not among them, since their other evidence stands (``understanding.reflection``), nor is what the
        character wrote of a day, which nothing is understood from.
        """
        facts = (fact for fact in self._facts_citing(ids) if fact.draft.kind != "daybook")
        sources = {source for fact in facts for source in fact.draft.sources}
        events = (e for e in self.citing(ids) if e.by != "owner" and e.kind == "event")
        return sources.union(*(event.event.sources for event in events))

    def _facts_citing(self, ids: Iterable[str]) -> list[Fact]:
        """Facts that rest on one of ``ids``, without the owner's own."""
        return [f for f in self.fact_book().citing(ids) if f.by != "owner"]

    def _drop_notes(self, ids: Sequence[str]) -> None:
        """Remove the notes of ``ids`` and every episode that cites one of them; what the owner wrote stays."""
        lost = [episode for episode in self.citing(ids) if episode.by != "owner"]
        self.put(_heirs(lost, self.superseding()))
        gone = {episode.id for episode in lost}
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


def _refused_in(lines: Lines) -> list[RefusedItem]:
    """A line that cannot be read is passed over."""
    _, entries = lines.unread()
    for problem in lines.problems:
        log.warning("%s", problem)
    return [formats.refused_from_json(entry) for entry in entries]


def _heirs(lost: Iterable[Found], there: Iterable[Found]) -> list[Found]:
    """The findings that replaced a lost one, with its links beside their own: what it replaced must not hold again.

    A sum that is lost hands on none; what it summed up holds by itself.
    """
    links = {old.id: () if isinstance(old, Fact) and old.consolidated else old.supersedes for old in lost}
    heirs = []
    for finding in there:
        if finding.id not in links and links.keys() & set(finding.supersedes):
            chain = list(finding.supersedes)
            for link in chain:  # it grows
                chain += [older for older in links.get(link, ()) if older not in chain and older != finding.id]
            heirs.append(replace(finding, supersedes=tuple(chain)))
    return heirs


def _unlinked(findings: Iterable[Found], ids: Collection[str]) -> list[Found]:
    """Those that name one of ``ids``, without it."""
    return [
        replace(finding, supersedes=tuple(link for link in finding.supersedes if link not in ids))
        for finding in findings
        if not set(ids).isdisjoint(finding.supersedes)
    ]


def _fact_without(fact: Fact, ids: Collection[str], anew: bool) -> Fact:
    sources = tuple(source for source in fact.draft.sources if source not in ids)
    id_ = formats.derived_id(fact.text, ()) if anew and not sources else fact.id
    return replace(
        fact, id=id_, draft=replace(fact.draft, sources=sources, quote="")
    )  # They may be the words of that one.


def _episode_without(episode: Episode, ids: Collection[str], anew: bool) -> Episode:
    """An event of which no exchange tells is named by a key of its own."""
    sources = tuple(source for source in episode.event.sources if source not in ids)
    key = formats.OWN + formats.derived_id(episode.event.text, (episode.since.isoformat(),))
    id_ = formats.derived_id(episode.event.text, (key,)) if anew and not sources else episode.id
    return replace(episode, id=id_, event=replace(episode.event, sources=sources or (key,), quote=""))


def _with(noted: Noted, added: Sequence[Episode], dropped: Collection[str]) -> Noted:
    """The notes without the dropped episodes, and with others at their end."""
    left = [episode for episode in noted.episodes if episode.id not in dropped]
    return replace(noted, episodes=(*left, *added))


def _replaced(noted: Noted, changes: Mapping[str, Episode | None]) -> Noted:
    """The notes with changed episodes; those that are None go."""
    episodes = (changes.get(episode.id, episode) for episode in noted.episodes)
    return replace(noted, episodes=tuple(episode for episode in episodes if episode))


def _judged(finding: Found, understanding: Understanding) -> Found | None:
    """An earlier finding once all exchanges that it rests on were understood anew; None where it goes."""
    if understanding.by == "rules":
        return None if finding.by == "rules" else finding
    if finding.id in understanding.kept:
        return replace(finding, confirmed=True)
    passed_over = understanding.trusted and finding.by == "rules" and finding.confirmed is None
    replaced = any(finding.id in ids for ids in understanding.replaces.values())
    return replace(finding, confirmed=False) if passed_over and not replaced else finding
