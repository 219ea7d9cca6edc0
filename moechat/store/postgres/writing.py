"""How exchanges and findings are written as rows. A record that changes becomes a new row; a dead one keeps no words."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence

from moechat.model import Episode, Exchange, Fact, RefusedItem
from moechat.store import refused_file
from moechat.store.exchange_rows import extra_of
from moechat.store.finding_records import ExchangeNote, Noted, in_order
from moechat.store.formats import text_hash
from moechat.store.json_forms import episode_data, fact_data
from moechat.store.postgres import sql
from moechat.store.postgres.database import OwnerSession, storable
from moechat.store.postgres.lines import TableLines
from moechat.store.postgres.rows import TableRows
from moechat.store.protocols import Store
from moechat.store.row_findings import RowFindings


class TableDays:
    """The filed exchanges (``unit.Days``)."""

    def __init__(self, session: OwnerSession, rows: TableRows) -> None:
        self._session, self._rows = session, rows

    def write(self, exchange: Exchange) -> bool:
        before = self._rows.by_ids([exchange.id]).get(exchange.id)
        if not before or before.sha != text_hash(exchange) or before.exchange.status != exchange.status:
            self.remove([exchange.id])
            self.add([exchange])
        return True

    def add(self, exchanges: Sequence[Exchange]) -> None:
        if not exchanges:
            return
        pulse, gen = self._session.pulse, self._session.next_generation()
        rows = [
            {
                "row": row, "id": e.id, "t": e.at.timestamp(), "at": e.at.isoformat(), "sent": storable(e.user),
                "heard": storable(e.char), "lines": storable(" ".join(one.line for one in e.attachments)),
                "status": e.status, "extra": storable(extra_of(e)), "sha": text_hash(e), "gen": gen,
            }
            for row, e in enumerate(exchanges, pulse.exchange_rows + 1)
        ]  # fmt: skip
        pulse.exchange_rows += len(rows)
        self._session.many(sql.ADD_EXCHANGE, rows)

    def remove(self, ids: Sequence[str]) -> None:
        if ids:
            self._session.do(sql.KILL_EXCHANGES, {"ids": list(ids), "gen": self._session.next_generation()})


class TableFindings(RowFindings):
    """What was understood. The notes of an exchange, with the episodes beside them, have the date of its day as their place."""

    def __init__(self, owner: Store, session: OwnerSession, rows: TableRows) -> None:
        super().__init__(owner, rows)
        self._zone, self._session, self._table = owner.zone, session, rows
        self._refused = TableLines(session, "refused")

    def forget(self) -> None:
        """What was read in a transaction that came to nothing may not be."""
        self._superseding = None
        self._table.forget_facts()

    def refused(self) -> list[RefusedItem]:
        self._refused.forget()
        return [refused_file.from_entry(entry) for entry in self._refused.unread()[1]]

    def _write_refused(self, refused: Sequence[RefusedItem]) -> None:
        self._refused.rewrite(map(refused_file.entry_of, refused))

    def _write_facts(self, changes: Mapping[str, Fact | None]) -> None:
        book = self.fact_book()
        before = book.of(changes)
        gone = [id_ for id_, fact in changes.items() if fact is None and id_ in before]
        new = [fact for id_, fact in changes.items() if fact is not None and before.get(id_) != fact]
        if not (gone or new):
            return
        self._session.pulse.facts = self._session.next_generation()
        if gone:
            self._session.do(sql.DROP_FACTS, {"ids": gone})
        self._session.many(sql.PUT_FACT, [{"id": fact.id, "data": _json(fact_data(fact))} for fact in new])
        self._table.change_facts(gone, new)

    def _noted(self, keys: Collection[str], episodes: Collection[str] = ()) -> list[Noted]:
        rows = self._session.all(sql.NOTED, {"keys": list(keys), "episodes": list(episodes)})
        held = self._table.episodes_by_id([id_ for *_, ids in rows for id_ in json.loads(ids)])
        return [
            Noted(
                key, ExchangeNote(tag, tuple(json.loads(words)), by), tuple(held[id_][1] for id_ in json.loads(ids)), place
            )
            for key, tag, words, by, place, ids in rows
        ]  # fmt: skip

    def _write_notes(self, changes: Iterable[Noted]) -> None:
        changes = list(changes)
        before = {noted.key: noted for noted in self._noted([noted.key for noted in changes])}
        times = self._told_at([noted.key for noted in changes if not noted.place])
        changes = in_order(changes, times, self._zone, before)
        self._session.next_generation()
        if empty := [noted.key for noted in changes if noted.is_empty]:
            self._session.do(sql.DROP_NOTES, {"ids": empty})
        pulse, notes = self._session.pulse, []
        for noted in changes:
            if not noted.is_empty:
                pulse.note_rows += 1
                tag, keywords, by = noted.note
                notes.append({
                    "id": noted.key, "nr": pulse.note_rows, "place": noted.place, "tag": storable(tag), "by": by,
                    "keywords": _json(keywords), "episodes": _json([episode.id for episode in noted.episodes]),
                })  # fmt: skip
        self._session.many(sql.PUT_NOTE, notes)
        self._write_episodes(before.values(), changes)

    def _write_episodes(self, before: Iterable[Noted], after: Sequence[Noted]) -> None:
        """The rows of episodes follow their notes. One that moved to other notes keeps its row."""
        homes = {episode.id: noted.key for noted in after for episode in noted.episodes}
        left = {episode.id for noted in before for episode in noted.episodes} - homes.keys()
        live = self._table.episodes_by_id([*homes, *left])
        there = {id_: episode for id_, (_, episode) in live.items()}
        new = [(noted.key, e) for noted in after for e in noted.episodes if there.get(e.id) != e]
        replaced = {episode.id for _, episode in new}
        dead = [row for id_, (row, _) in live.items() if id_ in replaced | left]
        changed = [episode for id_, episode in there.items() if id_ in replaced | left] + [
            episode for _, episode in new
        ]
        if any(episode.supersedes for episode in changed):
            self._session.pulse.replaces = self._session.next_generation()
        if dead:
            self._session.do(sql.KILL_EPISODES, {"rows": dead, "gen": self._session.next_generation()})
            self._session.do(sql.DROP_SOURCES, {"rows": dead})
        moved = [{"id": id_, "note": key} for id_, key in homes.items() if id_ in live and id_ not in replaced]
        self._session.many(sql.MOVE_EPISODE, moved)
        self._add_episodes(new)

    def _add_episodes(self, new: Sequence[tuple[str, Episode]]) -> None:
        pulse, gen = self._session.pulse, self._session.next_generation()
        rows, sources = [], []
        for row, (key, e) in enumerate(new, pulse.episode_rows + 1):
            starts, ends = (one.timestamp() for one in e.event.happened) if e.event.happened else (None, None)
            rows.append({
                "row": row, "id": e.id, "note": key, "t": e.since.timestamp(), "starts": starts, "ends": ends,
                "kind": e.kind, "by": e.by, "confirmed": e.confirmed, "data": _json(episode_data(e)),
                "words": storable(e.event.text), "keywords": storable(" ".join(e.event.keywords)),
                "replaces": bool(e.supersedes), "evidence": bool(e.evidence), "gen": gen,
            })  # fmt: skip
            sources += [{"source": source, "row": row} for source in e.event.sources]
        pulse.episode_rows += len(rows)
        self._session.many(sql.ADD_EPISODE, rows)
        self._session.many(sql.ADD_SOURCE, sources)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
