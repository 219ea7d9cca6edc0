"""The day files of an owner: the exchanges, one file per local date, and what a hand changed in them.

People may edit them while the program runs. Before a file is written, it is checked for edits. A file that does not parse is
reported and left alone. MoeChat's own files are read and never written.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path

from moechat.errors import DataError
from moechat.model import Exchange
from moechat.store import formats, paths, records
from moechat.store.exchange_rows import ExchangeRow
from moechat.store.findings import Findings
from moechat.store.journal import Journal
from moechat.store.log import Entry
from moechat.store.records import Signature

BESIDE = ".2.yaml"  # Our file of a day lies beside one that MoeChat wrote.


class DayFiles:
    """Reads and writes the day files of one owner; the journal's lock guards every write. What was found in words
    that a hand has changed goes."""

    def __init__(self, journal: Journal, findings: Findings) -> None:
        self._journal, self._findings = journal, findings

    def reread(self, name: str) -> None:
        """Read a changed file again. A difference from the known records was made by hand or by a crash of ours."""
        path = self._journal.folder / name
        self._mend_torn_tail(path)
        signature = Signature.of(path)
        fresh, problems = formats.each(records.read(path)[1], path, self._journal.zone, formats.exchange_from)
        self._compare(name, fresh, broken=bool(problems))
        self._journal.sign(name, signature, problems)

    def _compare(self, name: str, fresh: Sequence[tuple[Exchange, str]], *, broken: bool) -> None:
        rows = self._journal.cache.of_file(name)
        changed = [(e, tag) for e, tag in fresh if not _same(rows.get(e.id), e, tag)]
        corrected = [e for e, _ in changed if self._by_hand(e, rows.get(e.id))]
        lost = [] if broken else sorted(rows.keys() - {e.id for e, _ in fresh})
        self._journal.cache.change_exchanges(name, dead=[e.id for e, _ in changed] + lost, new=changed)
        elsewhere = self._journal.cache.by_ids(lost)  # moved by hand to a file that was read first
        missing = [id_ for id_ in lost if id_ not in elsewhere]
        back = [e.id for e, _ in fresh if e.id in self._journal.state.missing]
        at = self._journal.clock.now().isoformat()
        self._journal.state.write([{"op": "missing", "ids": missing, "at": at}] if missing else [])
        self._journal.state.write([{"op": "found", "ids": back}] if back else [])
        for exchange in corrected:
            if exchange.id in self._journal.tree:
                filed = {"op": "filed", "id": exchange.id, "sha": formats.text_hash(exchange)}
                self._journal.record([edit_entry(exchange), filed])
        self._findings.drop([exchange.id for exchange in corrected])

    def _by_hand(self, exchange: Exchange, row: ExchangeRow | None) -> bool:
        """Whether a record was edited by hand: its text is not what we filed (what we knew, if it has no log entry)."""
        tree = self._journal.tree
        before = tree.filed_hash(exchange.id) if exchange.id in tree else row.sha if row else ""
        return bool(before) and before != formats.text_hash(exchange)

    def add(self, exchange: Exchange) -> bool:
        """False where the file of its day is broken and must be left alone."""
        name = self._name(exchange.at)
        if is_current := self.current(name):
            self._append(name, [exchange])
        return is_current

    def _append(self, name: str, exchanges: Iterable[Exchange]) -> None:
        """Add those that the file does not hold yet."""
        rows, path = self._journal.cache.of_file(name), self._journal.folder / name
        if new := [exchange for exchange in exchanges if exchange.id not in rows]:
            records.append(path, b"".join(map(formats.exchange_entry, new)))
            with self._journal.cache.transaction():
                self._journal.cache.change_exchanges(name, dead=(), new=[(exchange, "") for exchange in new])
                self._journal.sign(name, Signature.of(path))

    def write(self, name: str, exchange: Exchange) -> bool:
        """Replace one record of a day file; every other byte stays."""
        if not self.current(name):
            return False
        path = self._journal.folder / name
        row = self._journal.cache.of_file(name).get(exchange.id)
        if row and row.sha == formats.text_hash(exchange) and row.exchange.status == exchange.status:
            return True
        data, parsed = records.read(path)
        old = next((r for r in parsed.records if r.key == exchange.id), None)
        if old is not None and formats.is_moechat(old):
            remedy = "this day file was written by MoeChat and is never written by us; edit it by hand"
            raise DataError(path, f"record {exchange.id!r}: {remedy}")
        records.replace(path, records.spliced(data, parsed.bounds, {exchange.id: formats.exchange_entry(exchange)}))
        with self._journal.cache.transaction():
            new = [(exchange, row.tag if row else "")]
            self._journal.cache.change_exchanges(name, dead=[exchange.id], new=new)
            self._journal.sign(name, Signature.of(path))
        return True

    def _name(self, at: datetime) -> str:
        """The name of our file for that day. A file that MoeChat wrote under the usual name is left alone."""
        name = paths.day_file(at, self._journal.zone)
        if name in self._journal.signatures and self._is_moechats(name):
            return name.removesuffix(".yaml") + BESIDE
        return name

    def _is_moechats(self, name: str) -> bool:
        rows = self._journal.cache.of_file(name)
        if not rows or any(id_ in self._journal.tree for id_ in rows):
            return False
        _, parsed = records.read(self._journal.folder / name)
        return any(formats.is_moechat(record) for record in parsed.records)

    def current(self, name: str) -> bool:
        """Read the file again before it is written, if it has changed. False if it is broken and must be left alone."""
        if Signature.of(self._journal.folder / name) != self._journal.signature(name):
            self.reread(name)
        return not self._journal.problems_of(name)

    def _mend_torn_tail(self, path: Path) -> None:
        """Remove a record that a crash left incomplete. The log has all of it and appends it again."""
        name = path.name.replace(BESIDE, ".yaml")
        unfiled = [node.exchange() for node in self._journal.tree.unfiled()]
        unfiled = [e for e in unfiled if Path(paths.day_file(e.at, self._journal.zone)).name == name]
        if not unfiled or not path.exists():
            return
        data = path.read_bytes()
        starts = [match.start() for match in records.KEY_LINE.finditer(data)]
        tail = data[starts[-1] :] if starts else b""
        for exchange in unfiled:
            block = formats.exchange_entry(exchange)
            if tail and tail != block and block.startswith(tail):
                records.replace(path, data[: starts[-1]])
                return

    def names(self) -> list[str]:
        """The day files that are known, by name relative to the folder."""
        return sorted(filter(paths.is_day_file, self._journal.signatures))

    def add_all(self, exchanges: Iterable[Exchange]) -> None:
        """Write settled exchanges straight to their day files, without log entries: they are on every path."""
        by_file: dict[str, list[Exchange]] = {}
        with self._journal.writing():
            for exchange in exchanges:
                by_file.setdefault(self._name(exchange.at), []).append(exchange)
            for name, day in by_file.items():
                if not self.current(name):
                    raise DataError(self._journal.folder / name, "cannot be read; mend it, then import again")
                self._append(name, day)


def _same(row: ExchangeRow | None, exchange: Exchange, tag: str) -> bool:
    if row is None or (tag and row.tag != tag):
        return False
    return row.sha == formats.text_hash(exchange) and row.exchange.at == exchange.at


def edit_entry(exchange: Exchange, notice: str = "") -> Entry:
    """The log entry of corrected words."""
    entry: dict[str, str] = {
        "op": "edit",
        "id": exchange.id,
        "at": exchange.at.isoformat(),
        "user": exchange.user,
        "char": exchange.char,
        "status": "done" if exchange.status == "streaming" else exchange.status,
    }
    return entry | ({"notice": notice} if notice else {})
