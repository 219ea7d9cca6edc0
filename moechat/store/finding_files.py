"""The files of what was understood: a notes file beside each day file, and core memory; a broken one is not written."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from moechat.errors import DataError
from moechat.model import Episode, Fact
from moechat.store import damage, disk, formats, records, upgrade
from moechat.store.finding_records import FACTS, LIVE, ExchangeNote, Noted
from moechat.store.findings import Findings
from moechat.store.journal import Journal
from moechat.store.records import Parsed, Signature

IN_FILE = f"SELECT row, id, data {LIVE} AND note = %(file)s"
AMONG = f"{IN_FILE} AND id = ANY(%(ids)s)"
DROP_EVERY_FACT = "DELETE FROM facts WHERE owner_id = %(owner)s"
NOTES_OF = "SELECT id FROM notes WHERE owner_id = %(owner)s AND place = %(file)s"
DROP_NOTES = "DELETE FROM notes WHERE owner_id = %(owner)s AND place = %(file)s"
PARTS = (b"\n  by:",)  # Every fact that we write ends with this line.
Changes = dict[str, bytes | None]
"""Record → its new bytes, None to remove it."""


class FileFindings(Findings):
    """Notes files and ``core_mem.yml`` of one owner; the journal's lock guards every write."""

    def __init__(self, journal: Journal) -> None:
        super().__init__(journal, journal.cache)
        self._journal = journal

    # ---- following the files

    def reread(self, name: str) -> None:
        """Read a changed notes or facts file anew. A record that cannot be read is reported; the others serve. Facts that a cut
        has taken are put back from the cache, unless the file may be on its way to the disk: then it waits."""
        path = self._journal.folder / name
        is_mended = name != disk.CORE or self._journal.is_closed or damage.mend_end(
            path, lambda: {fact.id: formats.fact_entry(fact) for fact in self.facts()}, PARTS, self._journal.tell_mended
        )  # fmt: skip
        if not is_mended:
            return
        signature = Signature.of(path)
        _, parsed = records.read(path)
        if name == disk.CORE:
            facts, problems = formats.each(parsed, path, self._journal.zone, formats.fact_from)
            self.set_facts(facts)
        else:
            notes, problems = self._notes_of(parsed, name)
            self.set_notes(name, notes)
        self._journal.cache.sign(name, signature, problems)

    def files_of(self, exchanges: Collection[str], episodes: Collection[str]) -> set[str]:
        """The notes files in which these stand."""
        cache = self._journal.cache
        held = [*cache.files_of("notes", list(exchanges)), *cache.files_of("episodes", list(episodes))]
        return {file for _, file in held}

    def ids_in(self, name: str) -> list[str]:
        """Of the facts, or of the notes and episodes, of a file."""
        cache, values = self._journal.cache, {"file": name}
        if name == disk.CORE:
            return [id_ for id_, _ in cache.all(FACTS)]
        return [*(id_ for (id_,) in cache.all(NOTES_OF, values)), *(id_ for _, id_, _ in cache.all(IN_FILE, values))]

    # ---- the cache

    def set_facts(self, facts: Sequence[Fact]) -> None:
        """Let the cache have these facts and no others."""
        with self._journal.cache.transaction():
            self._journal.cache.do(DROP_EVERY_FACT, {})
            self._book = None
            self._change_facts((), facts)

    def set_notes(
        self,
        file: str,
        notes: Sequence[Noted],
        instead: tuple[Sequence[str], Collection[str]] | None = None,
    ) -> None:
        """Let the cache have these notes of a notes file, with their episodes: ``instead`` of the notes of some exchanges and of
        some episodes (ids), or of all. An episode that stays as it is keeps its row."""
        cache, values = self._journal.cache, {"file": file}
        with cache.transaction():
            if instead is None:
                cache.do(DROP_NOTES, values)
                live = cache.all(IN_FILE, values)
            else:
                cache.do(f"{DROP_NOTES} AND id = ANY(%(ids)s)", {**values, "ids": list(instead[0])})
                live = cache.all(AMONG, {**values, "ids": list(instead[1])})
            columns = [
                {"id": id_, "place": file, "tag": tag, "keywords": formats.json_text(words), "by": by}
                for id_, (tag, words, by) in {noted.key: noted.note for noted in notes}.items()
            ]
            cache.put("notes", columns, ("id",))
            rows = {(id_, data): row for row, id_, data in live}
            unique: dict[str, Episode] = {}
            for episode in (episode for noted in notes for episode in noted.episodes):
                unique.setdefault(episode.id, episode)  # a hand may have copied one: the first counts
            there = {id_: (id_, formats.EPISODE.json(episode)) for id_, episode in unique.items()}
            new = [(file, unique[id_]) for id_, place in there.items() if place not in rows]
            kept = set(there.values())
            dead = [(row, formats.EPISODE.of_json(id_, data)) for row, id_, data in live if (id_, data) not in kept]
            self._change_episodes(dead, new, cache.reserved_row(file, len(new)))

    # ---- writing

    def _noted(self, keys: Collection[str], episodes: Collection[str] = ()) -> list[Noted]:
        keyed = by_file(self._journal.cache.files_of("notes", list(keys)))
        held = by_file(self._journal.cache.files_of("episodes", list(episodes)))
        return [
            noted
            for file in {**keyed, **held}
            for noted in self._notes_in(file, keyed.get(file, set()), held.get(file, set()))
        ]

    def _notes_in(self, file: str, keys: set[str], episodes: set[str]) -> list[Noted]:
        """The notes of a file under these keys, or with one of these episodes. Those that cannot be read are left out.

        A file that is not as it is known is read anew, so that what is no longer in it is not taken for noted.
        """
        path = self._journal.folder / file
        if not self._journal.cache.knows(file):
            self.reread(file)
        data = records.bytes_of(path)
        by_key = [records.under(data, key) for key in keys]
        standing = {*by_key, *(place for id_ in episodes for place in records.around(data, id_.encode()))}
        if None not in standing and not self._journal.cache.problems(file):
            bounds = sorted(place for place in standing if place)
            noted, _ = self._notes_of(records.parse(b"".join(data[start:end] for start, end in bounds), path), file)
            if episodes.issubset(episode.id for one in noted for episode in one.episodes):
                return [one for one in noted if _is_meant(one, keys, episodes)]
        noted, _ = self._notes_of(records.parse(data, path), file)
        return [one for one in noted if _is_meant(one, keys, episodes)]

    def _notes_of(self, parsed: Parsed, file: str) -> tuple[list[Noted], list[DataError]]:
        """What a notes file holds, and what of it cannot be read."""
        notes, problems = formats.each(parsed, self._journal.folder / file, self._journal.zone, notes_from)
        return [replace(noted, place=file) for noted in notes], problems

    def _write_notes(self, changes: Iterable[Noted]) -> None:
        files: dict[str, Changes] = {}
        changes = list(changes)
        days = dict(self._journal.cache.files_of("exchanges", [noted.key for noted in changes if not noted.place]))
        for noted in changes:
            file = noted.place
            if not file:
                own_day = disk.day_file(noted.episodes[0].since, self._journal.zone) if noted.episodes else ""
                file = disk.notes_file(days.get(noted.key, own_day))
            block = None if noted.is_empty else notes_entry(noted)
            files.setdefault(file, {})[noted.key] = block
        broken: list[DataError] = []
        for name, blocks in files.items():
            try:
                self._write(name, blocks)
            except DataError as problem:
                broken.append(problem)
        if broken:
            raise broken[0]

    def _write_facts(self, changes: Mapping[str, Fact | None]) -> None:
        there = self.fact_book().of(changes)
        blocks: Changes = {
            id_: formats.fact_entry(fact) if fact else None for id_, fact in changes.items() if fact or id_ in there
        }
        folder = self._journal.folder
        has_page = any(fact and fact.draft.kind == "daybook" for fact in changes.values())
        if has_page and upgrade.number(folder) == upgrade.NUMBER:
            upgrade.sign(folder, upgrade.WITH_PAGES)
        self._write(disk.CORE, blocks)

    def _write(self, name: str, changes: Changes) -> None:
        """Replace, add or (None) remove records of one file, leaving every other byte as it is. Raises DataError where it is
        broken, or is being written."""
        if not changes:
            return
        path, cache = self._journal.folder / name, self._journal.cache
        if not cache.knows(name):
            self.reread(name)
            if not cache.knows(name):
                raise DataError(path, "somebody may be writing it at this moment: try again in a few seconds")
        for problem in cache.problems(name):
            raise problem
        data = records.bytes_of(path)
        if name == disk.CORE:
            there = set(self.fact_book().of(changes))
        else:
            there = {key for key, _ in cache.files_of("notes", list(changes))}
        bounds = records.bounds_of(data, changes, there, path)
        before = {key: data[start:end] for key, (start, end) in bounds.items()}
        replaced = {key: block for key, block in changes.items() if key in before and before[key] != block}
        added = [block for key, block in changes.items() if key not in before and block is not None]
        if replaced:
            data = records.spliced(data, bounds, replaced)
            if data and not data.endswith(b"\n"):
                data += b"\n"
            data += b"".join(added)
            if not data.strip() and disk.is_notes(name):
                path.unlink()
            else:
                records.replace(path, data)
        elif added:
            data += b"".join(added)
            records.append(path, b"".join(added))
        if replaced or added:
            old = b"".join(before[key] for key in replaced)
            self._take(name, data, old, b"".join([*(block for block in replaced.values() if block), *added]))

    def _take(self, name: str, data: bytes, old: bytes, new: bytes) -> None:
        """Tell the cache what has changed in a file: ``old`` records have gone, ``new`` ones came, in ``data`` as a whole."""
        path, cache = self._journal.folder / name, self._journal.cache
        gone, came = records.parse(old, path), records.parse(new, path)
        if gone.problems or b" &" in old:  # records that say more than stands in them (an alias of another's words)
            self.reread(name)
        elif name == disk.CORE:
            facts, _ = formats.each(came, path, self._journal.zone, formats.fact_from)
            with cache.transaction():
                self._change_facts([record.key for record in gone.records], facts)
                cache.sign(name)
        else:
            (before, _), (after, _) = self._notes_of(gone, name), self._notes_of(came, name)
            there = [episode for one in after for episode in one.episodes]
            ids = {episode.id for episode in (*there, *(e for one in before for e in one.episodes))}
            if any(data.count(b"id: " + id_.encode()) > sum(e.id == id_ for e in there) for id_ in ids):
                self.reread(name)  # a hand has copied an event
                return
            with cache.transaction():
                self.set_notes(name, after, ([one.key for one in before], ids))
                cache.sign(name)


def notes_entry(noted: Noted) -> bytes:
    tag, keywords, by = noted.note
    value: dict[str, object] = {"text_tag": tag}
    if keywords:
        value["keywords"] = list(keywords)
    value["by"] = by
    for kind in ("event", "reflection"):
        if values := [{"id": e.id, **formats.EPISODE.written(e)} for e in noted.episodes if e.kind == kind]:
            value[f"{kind}s"] = values
    return records.entry(noted.key, value)


def notes_from(where: formats.Where) -> Noted:
    """Raises DataError."""
    value, key = where.record.value, where.record.key
    if not isinstance(value, Mapping):
        raise where.fault(" need `text_tag:`", "notes of")
    by = formats.author_from(value.get("by"), "", where)
    note = ExchangeNote(str(value.get("text_tag", "")), formats.texts_from(value.get("keywords")), by)
    episodes = []
    for kind in ("event", "reflection"):
        for item in value.get(f"{kind}s") or []:
            if not isinstance(item, Mapping) or not item.get("text"):
                raise where.fault(" has no `text`", "an event of")
            event = formats.event_from(item, formats.texts_from(item.get("sources")) or (key,), where)
            derived, own = formats.derived_id(event.text, event.sources), formats.EPISODE.parts(item, where, own=True)
            id_ = str(item.get("id") or derived)
            own |= {"kind": kind} if id_ == derived else {"kind": kind, "by": "owner"}
            episodes.append(Episode(id_, event=event, **own))
    return Noted(key, note, tuple(episodes))


def _is_meant(noted: Noted, keys: Collection[str], episodes: Collection[str]) -> bool:
    return noted.key in keys or any(episode.id in episodes for episode in noted.episodes)


def by_file(files: Iterable[tuple[str, str]]) -> dict[str, set[str]]:
    """File → ids, from (id, file)."""
    ids: dict[str, set[str]] = {}
    for id_, file in files:
        ids.setdefault(file, set()).add(id_)
    return ids
