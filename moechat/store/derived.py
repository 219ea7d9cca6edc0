"""The files of what was understood: a notes file beside each day file, and core memory; a broken one is not written.

Every derived record names the exchanges it rests on. If one of those is corrected or taken back, the records that cite
it are removed and their other sources are queued again; what the owner wrote or edited stays.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from moechat.errors import DataError
from moechat.model import Episode, Fact, Understanding
from moechat.store import formats, paths, records
from moechat.store.episode_rows import Note
from moechat.store.journal import Journal
from moechat.store.records import Signature
from moechat.store.state import restatement

log = logging.getLogger(__name__)
Changes = dict[str, bytes | None]
"""Record → its new bytes, None to remove it."""


class Derived:
    """Notes files and ``core_mem.yml`` of one owner; the journal's lock guards every write.

    It has more than twenty methods because a change of mind reaches facts, episodes and notes, each in a step of its own.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    # ---- reading

    def reread(self, name: str) -> None:
        """Read a changed notes or facts file anew. A record that cannot be read is reported; the others serve."""
        path = self._journal.folder / name
        signature = Signature.of(path)
        _, parsed = records.read(path)
        zone = self._journal.zone
        if name == paths.CORE:
            facts, problems = formats.each(parsed, path, zone, formats.fact_from)
            self._journal.cache.set_facts(name, facts)
        else:
            noted, problems = formats.each(parsed, path, zone, formats.notes_from)
            episodes = [episode for _, of_exchange in noted for episode in of_exchange]
            self._journal.cache.set_notes(name, [note for note, _ in noted], episodes)
        self._journal.sign(name, signature, problems)

    def _follow(self, name: str) -> None:
        """Read the file anew if it changed. Raises DataError where it is broken: it is left alone."""
        if Signature.of(self._journal.folder / name) != self._journal.signature(name):
            self.reread(name)
        for problem in self._journal.problems_of(name):
            raise problem

    # ---- writing

    def put(
        self,
        ids: Sequence[str],
        understanding: Understanding,
        facts: Sequence[Fact],
        restated: Mapping[str, Sequence[str]],
        *,
        understood: bool = True,
    ) -> None:
        """Replace all that was derived from these exchanges by a new understanding of them.

        ``facts`` are the new ones, resolved against the known; ``restated`` gives known facts further sources.
        ``understood`` False leaves the exchanges queued (the rules were first, the model is to follow).
        """
        journal = self._journal
        with journal.writing():
            kept = journal.state.forgotten | {fact.id for fact in journal.cache.facts() if fact.by == "owner"}
            facts = [fact for fact in facts if fact.id not in kept]  # an edited one has the id of the words before
            before = self._by_text(ids)
            keep = {fact.id for fact in facts} | restated.keys()
            self._add_facts(facts, restated, self._told(ids))  # first: a kill leaves too much rather than too little
            # Facts that other exchanges state as well stay, because a model does not repeat what it knows.
            alone = [fact.id for fact in self._citing(ids) if set(ids).issuperset(fact.draft.sources)]
            self.drop_facts([id_ for id_ in alone if id_ not in keep])
            self._put_notes(ids, understanding)
            for text, new in self._by_text(ids).items():
                if text in before:
                    journal.state.write(journal.state.carried(before[text], new))
            if understood:
                journal.mark_understood(ids, understanding.by)

    def _told(self, ids: Sequence[str]) -> datetime:
        """When the last of these exchanges was told."""
        return max(
            (row.exchange.at for row in self._journal.cache.by_ids(ids).values()), default=self._journal.clock.now()
        )

    def _by_text(self, ids: Sequence[str]) -> dict[tuple[str, str], str]:
        """(what it is, its text) → id of the facts and events that rest on these exchanges."""
        cited = set(ids)
        facts = {("fact", f.text): f.id for f in self._journal.cache.facts() if cited.intersection(f.draft.sources)}
        return facts | {(e.kind, e.event.text): e.id for _, e in self._journal.cache.episodes_citing(ids)}

    def _put_notes(self, ids: Sequence[str], understanding: Understanding) -> None:
        rows = self._journal.cache.by_ids(ids)
        by_exchange: dict[str, list[Episode]] = {id_: [] for id_ in ids}
        owned = self._owned_episodes(ids, ("reflection",))  # those stay as long as their evidence does
        taken = self._journal.state.forgotten | {episode.id for more in owned.values() for episode in more}
        for event in understanding.events:
            first = next((source for source in event.sources if source in rows), None)
            id_ = formats.derived_id(event.text, event.sources)
            if first is not None and id_ not in taken:
                by_exchange[first].append(Episode(id_, rows[first].exchange.at, event, "event", understanding.by))
                taken.add(id_)  # a model may say the same twice
        files: dict[str, Changes] = {}
        for id_, row in rows.items():
            words, tag = understanding.keywords.get(id_, ()), understanding.tags.get(id_, "")
            episodes = [*owned.get(id_, []), *by_exchange[id_]]
            block = formats.notes_entry(id_, tag, words, understanding.by, episodes)
            files.setdefault(paths.notes_file(row.file), {})[id_] = block
        self._drop_episodes(ids, ("event",))
        self._write_all(files)

    def _owned_episodes(self, ids: Sequence[str], kinds: Collection[str] = ()) -> dict[str, list[Episode]]:
        """By exchange: the episodes in its notes that the owner wrote or edited, or that are of ``kinds``."""
        owned: dict[str, list[Episode]] = {}
        for file, keys in by_file(self._journal.cache.notes_files(ids).items()).items():
            for (id_, *_), episodes in self._notes_in(file):
                if id_ in keys and (kept := [one for one in episodes if one.by == "owner" or one.kind in kinds]):
                    owned[id_] = kept
        return owned

    def _notes_in(self, file: str) -> list[tuple[Note, list[Episode]]]:
        """All notes of a file, each with its episodes. Raises DataError."""
        path = self._journal.folder / file
        return [formats.notes_from(record, path, self._journal.zone) for record in records.read(path)[1].records]

    def _add_facts(self, facts: Sequence[Fact], restated: Mapping[str, Sequence[str]], at: datetime) -> None:
        told_again: dict[str, datetime] = {}
        changes: Changes = {fact.id: formats.fact_entry(fact) for fact in facts}
        for fact in self._journal.cache.facts():
            if more := [s for s in restated.get(fact.id, ()) if s not in fact.draft.sources]:
                draft = replace(fact.draft, sources=(*fact.draft.sources, *more))
                changes[fact.id] = formats.fact_entry(replace(fact, draft=draft))
                told_again[fact.id] = fact.since
        self._write(paths.CORE, changes)
        self._journal.state.write(restatement(told_again, at))

    def put_facts(self, facts: Sequence[Fact]) -> None:
        """Add or replace facts, as they are."""
        with self._journal.writing():
            self._write(paths.CORE, {fact.id: formats.fact_entry(fact) for fact in facts})

    def put_episodes(self, episodes: Sequence[Episode]) -> None:
        """Add or replace episodes, as they are, in the notes of the first exchange that each rests on.

        An episode whose exchange is not filed (or is none of ours) gets a record of notes of its own, in the file of its day.
        """
        with self._journal.writing():
            holders = self._journal.cache.by_ids([episode.event.sources[0] for episode in episodes])
            noted = self._journal.cache.notes_files([episode.event.sources[0] for episode in episodes])
            added: dict[str, dict[str, list[Episode]]] = {}
            for episode in episodes:
                first = episode.event.sources[0]
                day = holders[first].file if first in holders else paths.day_file(episode.since, self._journal.zone)
                added.setdefault(noted.get(first) or paths.notes_file(day), {}).setdefault(first, []).append(episode)
            for file, by_exchange in added.items():
                self._rewrite(file, by_exchange, {e.id for more in by_exchange.values() for e in more})

    def drop_episodes(self, ids: Sequence[str]) -> None:
        """Take episodes out of their notes, whoever wrote them; what they rested on stays."""
        with self._journal.writing():
            for file, dropped in by_file(self._journal.cache.files_of_episodes(ids)).items():
                self._rewrite(file, {}, dropped)

    def drop_facts(self, ids: Sequence[str]) -> None:
        """Take facts out of core memory, whoever wrote them; what they rested on stays."""
        with self._journal.writing():
            known_ids = {fact.id for fact in self._journal.cache.facts()}
            self._write(paths.CORE, {id_: None for id_ in ids if id_ in known_ids})

    def drop(self, ids: Sequence[str]) -> None:
        """Drop whatever cites one of these exchanges, and queue the other sources and the exchanges themselves anew."""
        if not ids:
            return
        with self._journal.writing():
            others, retracted = self._told_with(ids), self._journal.tree.retracted
            self._unread([id_ for id_ in sorted(others.difference(ids, retracted)) if id_ in self._journal.tree])
            self._journal.requeue(sorted(others.union(ids) - retracted))  # first: a kill must not leave them without
            for step in (self._drop_facts, self._drop_episodes, self._drop_notes):
                try:
                    step(ids)
                except DataError as problem:  # what is hidden or queued anew stays so; the file is mended by its owner
                    log.warning("nothing was dropped from a broken file: %s", problem)

    def _told_with(self, ids: Sequence[str]) -> set[str]:
        """All sources of the facts and events that rest on one of ``ids``; they are to be understood again.

        Reflections are not among them, since their other evidence stands (``understanding.reflection``).
        """
        sources = {source for fact in self._citing(ids) for source in fact.draft.sources}
        events = (e for _, e in self._journal.cache.episodes_citing(ids) if e.by != "owner" and e.kind == "event")
        return sources.union(*(event.event.sources for event in events))

    def _citing(self, ids: Iterable[str]) -> list[Fact]:
        """Facts that rest on one of ``ids``, without the owner's own."""
        cited = set(ids)
        return [f for f in self._journal.cache.facts() if f.by != "owner" and cited.intersection(f.draft.sources)]

    def _drop_facts(self, ids: Iterable[str]) -> None:
        """Remove whatever cites one of ``ids``."""
        self.drop_facts([fact.id for fact in self._citing(ids)])

    def _drop_episodes(self, ids: Sequence[str], kinds: Collection[str] = ("event", "reflection")) -> None:
        """Remove episodes that cite ``ids`` from notes of other exchanges (their own notes are replaced as a whole)."""
        citing = (episode for _, episode in self._journal.cache.episodes_citing(ids))
        self.drop_episodes([episode.id for episode in citing if episode.by != "owner" and episode.kind in kinds])

    def _rewrite(self, file: str, added: Mapping[str, Sequence[Episode]], dropped: set[str]) -> None:
        """Take episodes out of a notes file, and put others into the notes of the exchanges that ``added`` names."""
        changes: Changes = {}
        for (id_, tag, words, by), episodes in self._notes_in(file):
            left = [episode for episode in episodes if episode.id not in dropped]
            if id_ in added or len(left) < len(episodes):
                left += added.get(id_, ())
                holds = left or tag or words or by  # else it was there for an event that no exchange tells of
                changes[id_] = formats.notes_entry(id_, tag, words, by, left) if holds else None
        new = {id_: formats.notes_entry(id_, "", (), "", episodes) for id_, episodes in added.items()}
        self._write(file, {**new, **changes})

    def _drop_notes(self, ids: Sequence[str]) -> None:
        """Remove the notes of ``ids``; where the owner wrote an event into them, that alone stays."""
        files: dict[str, Changes] = {}
        owned = self._owned_episodes(ids)
        for id_, file in self._journal.cache.notes_files(ids).items():
            left = formats.notes_entry(id_, "", (), "", owned[id_]) if id_ in owned else None
            files.setdefault(file, {})[id_] = left
        self._write_all(files)

    def _unread(self, ids: Sequence[str]) -> None:
        """Queue these exchanges for the rules, because facts from them were removed along with another exchange.

        Their tags and events stay.
        """
        for file, keys in by_file(self._journal.cache.notes_files(ids).items()).items():
            with contextlib.suppress(DataError):  # A broken file is reported with all others.
                changes: Changes = {}
                for (id_, tag, words, by), episodes in self._notes_in(file):
                    if id_ in keys and by == "rules":  # What a model noted is its own to read again.
                        changes[id_] = formats.notes_entry(id_, tag, words, "", episodes)
                self._write(file, changes)

    def _write_all(self, files: Mapping[str, Changes]) -> None:
        for name, changes in files.items():
            self._write(name, changes)

    def _write(self, name: str, changes: Changes) -> None:
        """Replace, add or (None) remove records of one file, leaving every other byte as it is."""
        if not changes:
            return
        path = self._journal.folder / name
        self._follow(name)
        if name == paths.CORE and self._append_facts(path, changes):
            return
        data, parsed = records.read(path)
        by_key = {record.key: record for record in parsed.records}
        replaced = {
            key: block for key, block in changes.items()
            if (record := by_key.get(key)) is not None and data[record.start : record.end] != block
        }  # fmt: skip
        added = [block for key, block in changes.items() if key not in by_key and block is not None]
        if replaced:
            data = records.spliced(data, parsed, replaced)
            if data and not data.endswith(b"\n"):
                data += b"\n"
            data += b"".join(added)
            if not data.strip() and paths.is_notes(name):
                path.unlink()
            else:
                records.replace(path, data)
        elif added:
            records.append(path, b"".join(added))
        if replaced or added:
            self.reread(name)

    def _append_facts(self, path: Path, changes: Changes) -> bool:
        """Append the facts without reading the thousands that are there. False if some of them are not new."""
        blocks = [block for block in changes.values() if block is not None]
        known_ids = {fact.id for fact in self._journal.cache.facts()}
        if len(blocks) < len(changes) or not known_ids.isdisjoint(changes):
            return False
        added = b"".join(blocks)
        records.append(path, added)
        new, _ = formats.each(records.parse(added, path), path, self._journal.zone, formats.fact_from)
        self._journal.cache.add_facts(paths.CORE, new)
        self._journal.sign(paths.CORE, Signature.of(path))
        return True


def by_file(files: Iterable[tuple[str, str]]) -> dict[str, set[str]]:
    """File → ids, from (id, file)."""
    ids: dict[str, set[str]] = {}
    for id_, file in files:
        ids.setdefault(file, set()).add(id_)
    return ids
