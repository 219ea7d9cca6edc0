"""One owner's memory as plain files: all that may happen to an exchange, and what is hidden. The files are the truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any

from moechat.clock import Clock, local
from moechat.errors import NotFound
from moechat.model import Exchange, Status
from moechat.store import paths
from moechat.store.cache import Changes
from moechat.store.days import DayFiles, edit_entry
from moechat.store.exchanges import FileExchanges
from moechat.store.finding_files import FileFindings
from moechat.store.formats import text_hash
from moechat.store.journal import Journal
from moechat.store.log import Entry
from moechat.store.search import FileSearch
from moechat.store.streams import Streams
from moechat.store.watch import FileWatch


class FileStore(Journal):
    """The conversation of one owner, and the files of what was said (``days``) and understood (``findings``).

    Its methods are what may happen to an exchange: it begins, ends, settles, is filed, corrected, taken back, read.
    """

    def __init__(self, folder: Path, *, clock: Clock, zone: tzinfo | None = None) -> None:
        super().__init__(folder, clock=clock, zone=zone)
        self._hidden: tuple[object, frozenset[str], int, frozenset[str]] = (None, frozenset(), -1, frozenset())
        self._streams = Streams(self.index_folder)
        self._watch = FileWatch(folder)
        self.exchanges = FileExchanges(self)
        self.search = FileSearch(self)
        self.findings = FileFindings(self)
        self.days = DayFiles(self, self.findings)
        self.follow(all_files=True)

    def close(self) -> None:
        self._streams.end_all()
        super().close()

    def follow(self, *, all_files: bool = False) -> None:
        """Take in what other processes and hands have changed since the last call.

        ``all_files`` (at the start, and now and then) looks at every file; else some may wait for a later call.
        """
        with self._threads:
            self._follow_log()
            anew = self._follow_cache()
            changed = self._watch.changed(self.signatures, all_files=all_files or anew)
        if changed:
            with self.writing():
                self.signatures = self.cache.signatures()
                for name in self._watch.changed(self.signatures, all_files=True):
                    (self.days if paths.is_day_file(name) else self.findings).reread(name)
                self._generation = self.cache.generation()

    @property
    def identity(self) -> str:
        """A text that changes when every row gets another number: an index by row belongs to one identity."""
        return self.cache.identity()

    @property
    def generation(self) -> int:
        """It rises with every change of what is filed and understood."""
        return self.cache.generation()

    def changes(self, since: int) -> Changes:
        """All that came or went after a generation."""
        return self.cache.changes(since)

    # ---- the conversation

    def begin(self, text: str, at: datetime) -> str:
        """Record a message durably, and settle what came before. Returns the new exchange's id."""
        with self.writing():
            settled = self._settle_entries()
            id_ = self._new_id(at)
            entry = {"op": "exchange", "id": id_, "parent": self.tree.leaf, "at": at.isoformat(), "user": text}
            self._streams.start(id_)
            self.record([*settled, entry])
            self._touch(settled)
            self.file_settled()
        return id_

    def finish(
        self,
        id_: str,
        char: str,
        status: Status,
        *,
        error: str = "",
        hits: Sequence[Mapping[str, object]] = (),
        spans: Sequence[Sequence[str]] = (),
        notice: str = "",
    ) -> None:
        """A reply ended; it is durable when this returns. ``notice`` is what was shown beside it."""
        with self.writing():
            details = {"error": error, "hits": list(hits), "spans": list(spans), "notice": notice}
            entry: dict[str, Any] = {"op": "variant", "id": id_, "char": char, "status": status}
            entry |= {key: detail for key, detail in details.items() if detail}
            node = self.tree.node(id_)
            if node.settled and node.filed:
                if char:  # a reply that never came takes no other's place
                    old = self.exchanges.get(id_)
                    self.record([edit_entry(Exchange(id_, old.at, old.user, char, status), notice)])
                    self.findings.drop([id_])
                    self.file_settled()
            else:
                self.record([entry])
        self._streams.end(id_)

    def restart_stream(self, id_: str) -> None:
        """Another reply to the same message is on the way (regenerate)."""
        with self.writing():
            self._streams.start(id_)

    def is_streaming(self, id_: str) -> bool:
        """Whether some living process is writing the reply to this exchange."""
        return self._streams.is_alive(id_)

    def _settle_entries(self) -> list[Entry]:
        """Open exchanges settle; one whose process died before its reply ended is marked so."""
        entries: list[Entry] = []
        for node in self.tree.open():
            if self.is_streaming(node.id):
                continue
            if not node.variants:
                entry = {"op": "variant", "id": node.id, "char": "", "status": "failed"}
                entries.append(entry | {"error": "broken off: the program ended before the reply did"})
            entries.append({"op": "settle", "id": node.id})
        return entries

    def settle(self) -> list[str]:
        """Settle all exchanges whose reply has ended. Returns their ids."""
        with self.writing():
            entries = self._settle_entries()
            if entries:
                self.record(entries)
                self._touch(entries)
            self.file_settled()
        return [entry["id"] for entry in entries if entry["op"] == "settle"]

    def _touch(self, entries: Sequence[Entry]) -> None:
        """Count the use of the memories that settled replies rest on: every memory that entered a prompt, once per
        exchange. With an exchange, the events that cite it are counted, too.
        """
        used: dict[str, None] = {}
        for entry in entries:
            variant = self.tree.nodes[entry["id"]].variant if entry["op"] == "settle" else None
            for hit in variant.hits if variant else ():
                if "dropped" not in hit:
                    used[str(hit["id"])] = None
        episodes = (episode for episode in self.findings.citing(list(used)))
        used |= dict.fromkeys(episode.id for episode in episodes if episode.kind == "event")
        self.state.touch(list(used), self.clock.now())

    def select(self, id_: str, variant: int | None = None) -> None:
        """Make this exchange the leaf (branch here, or go back to a branch), or choose another of its replies."""
        with self.writing():
            self._require(id_)
            entry: dict[str, Any] = {"op": "select", "id": id_}
            if variant is not None:
                node = self.tree.node(id_)
                if not 0 <= variant < len(node.variants):
                    raise NotFound(f"exchange {id_} has {len(node.variants)} replies; variant {variant} is not there")
                entry["variant"] = variant
            self.record([entry])
            if (
                variant is not None
                and node.filed
                and (char := node.variants[variant].char) != self.exchanges.get(id_).char
            ):
                self.correct(id_, char=char)

    def correct(self, id_: str, *, user: str | None = None, char: str | None = None) -> None:
        """Change the words of a message or a reply; what follows stays, what was derived is dropped and queued anew."""
        with self.writing():
            old = self.exchanges.get(id_)
            new = replace(old, user=old.user if user is None else user, char=old.char if char is None else char)
            if id_ in self.tree:
                self.record([edit_entry(new)])
            self.findings.drop([id_])
            if id_ in self.tree:
                self.file_settled()
            else:
                self.days.write(self.cache.by_ids([id_])[id_].file, new)

    def retract(self, id_: str) -> None:
        """Take an exchange back: nobody recalls it, and nothing that was derived from it stays."""
        with self.writing():
            self._require(id_)
            self.record([{"op": "retract", "id": id_}])
            self.findings.drop([id_])

    def restore(self, id_: str) -> None:
        with self.writing():
            self._require(id_)
            self.record([{"op": "restore", "id": id_}])
            self.file_settled()  # it may have been corrected while it was taken back

    def cut(self, id_: str, at: datetime) -> None:
        """The context begins anew after this exchange."""
        with self.writing():
            if id_ not in self.tree.cuts:
                self.record([{"op": "cut", "id": id_, "at": at.isoformat()}])

    def _require(self, id_: str) -> None:
        if id_ not in self.tree and not self.cache.by_ids([id_]):
            raise NotFound(f"there is no exchange {id_!r}; `moechat log list` shows them")
        if id_ not in self.tree:
            raise NotFound(f"exchange {id_!r} stands in a day file without a log entry; edit the day file instead")

    def _new_id(self, at: datetime) -> str:
        base = local(at, self.zone).strftime("%Y%m%d-%H%M%S")
        id_, n = base, 1
        while id_ in self.tree or self.cache.by_ids([id_]):
            n += 1
            id_ = f"{base}-{n}"
        return id_

    # ---- day files

    def file_settled(self) -> None:
        """Append every settled exchange that stands in the log alone to its day file."""
        with self.writing():
            nodes = self.tree.unfiled()
            if not nodes:
                return
            rows = self.cache.by_ids([node.id for node in nodes])
            for node in nodes:
                exchange, row = node.exchange(), rows.get(node.id)
                if self.days.write(row.file, exchange) if row else self.days.add(exchange):
                    self.record([{"op": "filed", "id": node.id, "sha": text_hash(exchange)}])

    # ---- masks and upkeep

    def hidden(self) -> frozenset[str]:
        """What no recipe may see: other branches, retracted, archived, deleted by hand. The same object as long as it is the
        same: the archive of years is large, and a recall asks several times."""
        off, retracted, masked = self.tree.off_path(), frozenset(self.tree.retracted), self.state.masked
        if self._hidden[0] is not off or self._hidden[1:3] != (retracted, masked):
            ids = frozenset(self.tree.hidden() | self.state.archived | self.state.missing.keys())
            self._hidden = (off, retracted, masked, ids)
        return self._hidden[3]

    def resume(self) -> None:
        """Finish, at a start, a change that a kill cut short, so that nothing rests on words that were taken back."""
        with self.writing():
            waiting = {node.id: node.exchange() for node in self.tree.unfiled()}
            rows = self.cache.by_ids(list(waiting))
            corrected = [id_ for id_, row in rows.items() if row.sha != text_hash(waiting[id_])]
            self.findings.drop([*corrected, *sorted(self.tree.retracted)])
