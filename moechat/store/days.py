"""The day files of an owner: the exchanges, one file per local date, and what a hand changed in them. And history.yaml: the talk
of the context, written for people to read, and what an older program left there.

People may edit them while the program runs. Before a file is written, it is checked for edits. A file that does not parse is
reported and left alone. MoeChat's own files are read and never written.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path

from moechat.errors import DataError
from moechat.model import Exchange, Message
from moechat.store import damage, disk, formats, plain, records
from moechat.store.entries import edit_entry
from moechat.store.exchanges import LIVE, ExchangeRow, Exchanges
from moechat.store.finding_files import by_file
from moechat.store.findings import Findings
from moechat.store.journal import Cache, Journal
from moechat.store.records import Signature

PARTS = (b"\n    user:", b"\n    char:")  # Every record that we write has these.
IN_FILE = f"SELECT id {LIVE} AND file = %(file)s ORDER BY row"
OLDER = "is older than its log (forget what shall not be there)"
BESIDE = ".2.yaml"  # Our file of a day lies beside one that MoeChat wrote.


class FileExchanges(Exchanges):
    """The exchanges of the day files, as rows of the cache."""

    _tag, _file = "coalesce(nullif(e.tag, ''), n.tag, '')", "e.file"
    _session: Cache

    def of_file(self, file: str) -> dict[str, ExchangeRow]:
        return {row.exchange.id: row for row in self._rows(" AND e.file = %(file)s ORDER BY e.row", {"file": file})}

    def change(self, file: str, *, dead: Sequence[str], new: Sequence[tuple[Exchange, str]]) -> None:
        """``dead`` are ids that the file no longer holds so, ``new`` are (exchange, inline tag)."""
        with self._session.transaction():
            self._kill(dead, " AND file = %(file)s", file=file)
            if new:
                tags = [tag for _, tag in new]
                first = self._session.reserved_row(file, len(new))
                self._add([exchange for exchange, _ in new], first, file=[file] * len(new), tag=tags)


class DayFiles:
    """Reads and writes the day files of one owner; the journal's lock guards every write. What was found in words
    that a hand has changed goes."""

    def __init__(self, journal: Journal, exchanges: FileExchanges, findings: Findings) -> None:
        self._journal, self._exchanges, self._findings = journal, exchanges, findings

    def reread(self, name: str) -> None:
        """Read a changed file again. A difference from the known records was made by hand or by a crash of ours."""
        path = self._journal.folder / name
        if not self._mend_end(name):
            return
        signature = Signature.of(path)
        fresh, problems = formats.each(records.read(path)[1], path, self._journal.zone, formats.exchange_from)
        if not (problems or self._journal.is_closed) and (later := self._said_later(name, signature, fresh)):
            records.append(path, b"".join(map(formats.exchange_entry, later)))
            self._journal.tell_mended(path, [one.id for one in later], OLDER)
            signature, fresh = Signature.of(path), [*fresh, *((one, "") for one in later)]
        self._compare(name, fresh, broken=bool(problems))
        self._journal.cache.sign(name, signature, problems)

    def _said_later(self, name: str, signature: Signature, fresh: Sequence[tuple[Exchange, str]]) -> list[Exchange]:
        """What the log filed and a file lacks that was last written before that was said: no hand has deleted it there."""
        tree, there = self._journal.tree, {one.id for one, _ in fresh}
        out = there | tree.retracted | tree.taken_out() | self._journal.state.missing.keys()
        rows = self._exchanges.of_file(name) if signature != Signature() else {}
        lacking = [row.exchange for id_, row in rows.items() if id_ in tree and id_ not in out]
        return [one for one in lacking if one.at.timestamp() > signature.mtime_ns / 1e9]

    def _compare(self, name: str, fresh: Sequence[tuple[Exchange, str]], *, broken: bool) -> None:
        """Takes in what changed, into the cache alone where nothing else may be written. The cache follows last: what a kill
        leaves undone is seen anew at the next look."""
        rows = self._exchanges.of_file(name)
        changed = [(e, tag) for e, tag in fresh if not _same(rows.get(e.id), e, tag)]
        corrected = [e for e, _ in changed if self._by_hand(e, rows.get(e.id))]
        lost = [] if broken else sorted(rows.keys() - {e.id for e, _ in fresh})
        if self._journal.is_closed:
            self._exchanges.change(name, dead=[e.id for e, _ in changed] + lost, new=changed)
            return
        alive = self._exchanges.by_ids(lost)
        missing = [
            id_ for id_ in lost if id_ not in alive or alive[id_].file == name
        ]  # else moved to a file read before
        back = [e.id for e, _ in fresh if e.id in self._journal.state.missing]
        at = self._journal.clock.now().isoformat()
        self._journal.state.write([{"op": "missing", "ids": missing, "at": at}] if missing else [])
        self._journal.state.write([{"op": "found", "ids": back}] if back else [])
        # Also where the log has the words already and the cache has not: an edit that was cut short there may have been
        # understood by the old words since.
        outdated = [e for e, _ in changed if e.id in rows and rows[e.id].sha != formats.text_hash(e)]
        self._findings.drop(list(dict.fromkeys(exchange.id for exchange in [*corrected, *outdated])))
        for exchange in corrected:
            if exchange.id in self._journal.tree:
                filed = {"op": "filed", "id": exchange.id, "sha": formats.text_hash(exchange)}
                self._journal.record([edit_entry(exchange), filed])
        self._exchanges.change(name, dead=[e.id for e, _ in changed] + lost, new=changed)

    def _by_hand(self, exchange: Exchange, row: ExchangeRow | None) -> bool:
        """Whether a record was edited by hand: its text is not what we filed (what we knew, if it has no log entry)."""
        tree = self._journal.tree
        before = tree.filed_hash(exchange.id) if exchange.id in tree else row.sha if row else ""
        return bool(before) and before != formats.text_hash(exchange)

    def write(self, exchange: Exchange) -> bool:
        """Put an exchange into the file of its day, or replace it where it stands; every other byte stays.

        False where that file is broken and must be left alone.
        """
        row = self._exchanges.by_ids([exchange.id]).get(exchange.id)
        name = row.file if row else self._name(exchange.at)
        if not self.current(name):
            return False
        row = self._exchanges.by_ids([exchange.id]).get(exchange.id)  # a hand may have put it there
        if row is None:
            self._append(name, [exchange])
        elif row.sha != formats.text_hash(exchange) or row.exchange.status != exchange.status:
            self._replace(row, exchange)
        return True

    def add(self, exchanges: Sequence[Exchange]) -> None:
        """Put exchanges that are not filed yet into the files of their days. Raises DataError where one is broken."""
        by_file: dict[str, list[Exchange]] = {}
        for exchange in exchanges:
            by_file.setdefault(self._name(exchange.at), []).append(exchange)
        for name, day in by_file.items():
            if not self.current(name):
                raise DataError(
                    self._journal.folder / name, "cannot be read: mend it, then this goes on at the next start"
                )
            self._append(name, day)

    def _append(self, name: str, exchanges: Sequence[Exchange]) -> None:
        records.append(self._journal.folder / name, b"".join(map(formats.exchange_entry, exchanges)))
        with self._journal.cache.transaction():
            self._exchanges.change(name, dead=(), new=[(exchange, "") for exchange in exchanges])
            self._journal.cache.sign(name)

    def _replace(self, row: ExchangeRow, exchange: Exchange) -> None:
        path = self._journal.folder / row.file
        data = records.bytes_of(path)
        bounds = records.bounds_of(data, [exchange.id], [exchange.id], path)
        for start, end in bounds.values():
            if any(formats.is_moechat(record) for record in records.parse(data[start:end], path).records):
                remedy = "this day file was written by MoeChat and is never written by us; edit it by hand"
                raise DataError(path, f"record {exchange.id!r}: {remedy}")
        records.replace(path, records.spliced(data, bounds, {exchange.id: formats.exchange_entry(exchange)}))
        with self._journal.cache.transaction():
            self._exchanges.change(row.file, dead=[exchange.id], new=[(exchange, "")])
            self._journal.cache.sign(row.file)

    def check_writable(self, ids: Collection[str]) -> None:
        """Raises DataError where the file of one of these is broken or was written by MoeChat. A record that stands there twice
        is no hindrance: both go."""
        broken = {problem.file for problem in self._journal.problems}
        for name, of_file in by_file(self._journal.cache.files_of("exchanges", list(ids))).items():
            path = self._journal.folder / name
            is_by_hand = any(id_ not in self._journal.tree for id_ in of_file)
            if str(path) not in broken and not is_by_hand:
                continue
            _, parsed = records.read(path)
            _, problems = formats.each(parsed, path, self._journal.zone, formats.exchange_from)
            for problem in problems:
                if not isinstance(problem, records.Doubled):
                    raise problem
            if is_by_hand and any(record.key in of_file and formats.is_moechat(record) for record in parsed.records):
                remedy = (
                    "it was written by MoeChat and is never written by us; take the record out by hand, then forget it"
                )
                raise DataError(path, remedy)

    def remove(self, ids: Sequence[str]) -> None:
        """Take exchanges out of their day files, wherever they stand."""
        for name, gone in by_file(self._journal.cache.files_of("exchanges", ids)).items():
            path = self._journal.folder / name
            data = records.bytes_of(path)
            is_broken = bool(self._journal.cache.problems(name))
            if is_broken:
                left = records.without(data, gone, path)
            else:
                left = records.spliced(data, records.bounds_of(data, gone, gone, path), dict.fromkeys(gone))
            if left.strip():
                records.replace(path, left)
            else:
                path.unlink(missing_ok=True)
            with self._journal.cache.transaction():
                self._exchanges.change(name, dead=list(gone), new=())
                if not is_broken:  # else it is read anew
                    self._journal.cache.sign(name)

    def _name(self, at: datetime) -> str:
        """The name of our file for that day. A file that MoeChat wrote under the usual name is left alone."""
        name = disk.day_file(at, self._journal.zone)
        if name not in self._journal.cache.signatures():
            return name
        there = (id_ for (id_,) in self._journal.cache.each(IN_FILE, {"file": name}))
        first = next(there, None)
        if first is None or first in self._journal.tree or any(id_ in self._journal.tree for id_ in there):
            return name
        _, parsed = records.read(self._journal.folder / name)
        return name.removesuffix(".yaml") + BESIDE if any(map(formats.is_moechat, parsed.records)) else name

    def current(self, name: str) -> bool:
        """Read the file again before it is written, if it has changed. False if it is broken and must be left alone."""
        if not self._journal.cache.knows(name):
            self.reread(name)
        return self._journal.cache.knows(name) and not self._journal.cache.problems(name)

    def _mend_end(self, name: str) -> bool:
        """Put back what a file that was cut has lost. False where somebody may be writing it at this moment."""
        if self._journal.is_closed:
            return True
        unfiled = [node.id for node in self._journal.tree.unfiled()]
        path = self._journal.folder / name
        blocks = partial(self._blocks, name, missing=False)
        return damage.mend_end(path, blocks, PARTS, self._journal.tell_mended, unfiled)

    def _blocks(self, name: str, *, missing: bool) -> dict[str, bytes]:
        """The records of a day file as they were written, of those exchanges whose words the log or the cache still has;
        ``missing``: also those that a hand took out."""
        tree, rows, state = self._journal.tree, self._exchanges.of_file(name), self._journal.state
        out = tree.retracted | tree.taken_out() | (state.returned if missing else state.missing).keys()
        held = {id_: row.exchange for id_, row in rows.items() if tree.filed_hash(id_) in ("", row.sha)}
        logged = {id_: node.exchange() for id_, node in tree.nodes.items() if node.settled and not node.folded}
        elsewhere = self._exchanges.by_ids([id_ for id_ in logged if id_ not in rows])
        day = name.replace(BESIDE, ".yaml")
        held |= {
            id_: exchange
            for id_, exchange in logged.items()
            if id_ in rows or (id_ not in elsewhere and disk.day_file(exchange.at, self._journal.zone) == day)
        }
        ordered = sorted((one for id_, one in held.items() if id_ not in out), key=lambda one: (one.at, one.id))
        return {one.id: formats.exchange_entry(one) for one in ordered}

    def repair(self, name: str) -> list[str]:
        """Put back the records of a day file that are gone or cannot be read, where the log or the cache still has them. The
        file as it was is kept among the backups. Returns their ids."""
        path = self._journal.folder / name
        data = records.bytes_of(path)
        mended, back = damage.repaired(data, path, self._blocks(name, missing=True))
        if mended != data:
            if data.strip(b"\0"):
                records.replace(self._journal.folder / disk.BACKUPS / "damaged" / path.name, data)
            records.replace(path, mended)
            self.reread(name)
        return back

    def names(self) -> list[str]:
        """The day files that are known, by name relative to the folder."""
        return sorted(filter(disk.is_day_file, self._journal.cache.signatures()))


def _same(row: ExchangeRow | None, exchange: Exchange, tag: str) -> bool:
    if row is None or (tag and row.tag != tag):
        return False
    return row.sha == formats.text_hash(exchange) and row.exchange.at == exchange.at


# ---- history.yaml


class HistoryFile:
    """That of an owner, written again and again. It is read only where somebody else wrote it, rendered only to be written."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / disk.HISTORY
        self._known: tuple[plain.Stamp | None, Sequence[Message]] = (None, ())
        """The file as it was when we last looked, and what it holds."""

    def read(self) -> list[Message]:
        """What it holds. Raises DataError where it is broken."""
        path = self._path
        held = plain.read_yaml(path, as_text=True) if path.exists() else None
        if not held:
            return []
        if not isinstance(held, list) or not all(
            isinstance(one, dict) and {"role", "content"} <= one.keys() for one in held
        ):
            raise DataError(path, "expects a list of `- role: user` with `content: …` below it")
        return [
            Message(one["role"], one["content"])
            for one in held
            if one["role"] in ("user", "assistant") and isinstance(one["content"], str)
        ]

    def stands(self, messages: Sequence[Message]) -> bool:
        """Whether history.yaml holds just that. Raises DataError where it is broken."""
        stamp = plain.stamp(self._path)
        if stamp is None:
            return False
        if stamp != self._known[0]:
            is_ours = self._path.read_bytes() == _written(messages)
            self._known = (stamp, messages if is_ours else self.read())
        return list(self._known[1]) == list(messages)

    def write(self, messages: Sequence[Message]) -> None:
        """Raises DataError where history.yaml is broken: then it is left as it is."""
        if self.stands(messages):
            return
        records.replace(self._path, _written(messages))
        self._known = (plain.stamp(self._path), messages)


def _written(messages: Sequence[Message]) -> bytes:
    text = "".join(f"- role: {one.role}\n  content: {records.scalar(one.content, 4)}\n" for one in messages)
    return (text or "[]\n").encode("utf-8")
