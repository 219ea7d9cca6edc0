"""The state of memories beyond their words: use, strength, pins, archive, renamed topics.

It is one file of JSON lines per owner. Ids are those of exchanges, episodes, facts and lore alike.

touch     ids at       these entered a prompt whose answer stood
access    rows         touches summed up: id → [last ISO, count]
restate   born at      these were told again: id → when it was first told, ISO
gain      rows         restatements summed up: id → [strength gained, last ISO]
carry     from to      a record is another one now (understood anew): what is known of it goes with it
archive   ids          hidden, kept          restore  ids    brought back
pin       ids          never archived        unpin    ids
missing   ids at       deleted by hand       found    ids [lets_in] ... and there again
topic     from to      a topic path has another name ("": it has that name no more)
cleaned   at           the memory was looked through for what may go
daybook   at           she has thought of the day up to this exchange, and wrote of it or had nothing to write
plans     rows         plans that were due: id → [turns in the prompt, asked after ISO or "", answered ISO or ""]
greeted   id at text sources said_as  she said this to somebody who came back, of a memory of these exchanges; ``said_as`` is the
          exchange that it became, "" as long as nobody has answered
returned  ids at file  forgotten at that time, and there again with a file: hidden until the owner decides
forgotten ids          facts and events that an understanding does not bring back (their words are nowhere)
trust     model quotes  so many findings of this model bore a true quote, of so many
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime, timedelta

from moechat.store.entries import Entry
from moechat.store.json_lines import Lines

Writing = Callable[[str], AbstractContextManager[None]]
"""The owner's lock, for a use that it names."""
MIN_IDS_SUMMED = 100_000  # It pays to sum the file up when its entries name this many ids.
STRENGTH_AT_BIRTH = 1
STRENGTH_PER_RECALL = 15
# Days since it was last told, at most, and what a memory gains when it is told again.
RESTATED: Sequence[tuple[float, int]] = ((1, 1), (3, 3), (7, 7), (30, 30))
STRENGTH_LONG_AFTER = 100  # It gains this when it is told again later than that.


def restated_gain(days: float) -> int:
    """The strength that a memory gains when it is told again after ``days``; it grows with them (seed 004, eight;
    golden ``strength_bonus_by_days_since_update``).
    """
    return next((gain for within, gain in RESTATED if days <= within), STRENGTH_LONG_AFTER)


MAX_PLAN_TURNS = 3  # In whose prompts a plan that is due may stand.


class State:
    """Fed from its file by ``follow``. Writing needs the owner's lock.

    It has more than twenty methods because each kind of entry is read, and most are written, by one of its own.
    """

    def __init__(self, lines: Lines) -> None:
        self.lines = lines
        self.masked = 0
        """Grows whenever what is hidden (archived or missing) may have changed."""
        self.changes = 0
        """Grows with whatever changes here."""
        self._clear()

    def _clear(self) -> None:
        self.masked += 1
        self.changes += 1
        self.access: dict[str, tuple[str, int]] = {}
        self.gains: dict[str, tuple[int, str]] = {}
        self.archived: set[str] = set()
        self.pinned: set[str] = set()
        self.missing: dict[str, datetime] = {}
        self.returned: dict[str, tuple[str, str]] = {}
        """Those of the missing that were forgotten, when (ISO), and with which file they came back."""
        self.topics: list[tuple[str, str]] = []
        self.cleaned: datetime | None = None
        self.daybook: datetime | None = None
        """The last exchange of the last day that is done in her daybook."""
        self.plans: dict[str, tuple[int, str, str]] = {}
        self.spent: set[str] = set()
        """The plans that no prompt asks after any more."""
        self.greeted: dict[str, Entry] = {}
        """What was said of each memory to somebody who came back."""
        self.forgotten: set[str] = set()
        self.trust: dict[str, tuple[int, int]] = {}
        """Model → (findings of its that bore a true quote, of so many)."""
        self.uses: list[str] = []
        """Ids in the order in which they were used, for those who follow; a list anew where all is read or summed up anew."""
        self._listed = 0  # How many ids the entries of the file name.

    # ---- what is known

    def strength(self, id_: str) -> int:
        """How well a memory is kept (not how much it matters): 1 at birth, more with every recall and restatement."""
        return STRENGTH_AT_BIRTH + STRENGTH_PER_RECALL * self.recalls(id_) + self.gains.get(id_, (0, ""))[0]

    def recalls(self, id_: str) -> int:
        return self.access.get(id_, ("", 0))[1]

    def recalled(self, id_: str) -> datetime | None:
        """When it was last recalled."""
        return datetime.fromisoformat(self.access[id_][0]) if id_ in self.access else None

    def updated(self, id_: str) -> datetime | None:
        """When it was last told again; None where it was told once."""
        return datetime.fromisoformat(self.gains[id_][1]) if id_ in self.gains else None

    # ---- following the file

    def follow(self) -> None:
        anew, entries = self.lines.unread()
        if anew:
            self._clear()
        self._apply(entries)

    def _apply(self, entries: Sequence[Entry]) -> None:
        self._listed += _ids_in(entries)
        self.changes += len(entries)
        for entry in entries:
            _STEPS[entry["op"]](self, entry)
            self.masked += entry["op"] in _MASKING

    def _touch(self, entry: Entry) -> None:
        for id_ in entry["ids"]:
            self.access[id_] = (entry["at"], self.recalls(id_) + 1)
            self.uses.append(id_)

    def _access(self, entry: Entry) -> None:
        self.access.update({id_: (at, count) for id_, (at, count) in entry["rows"].items()})
        self.uses += entry["rows"]

    def _restate(self, entry: Entry) -> None:
        at = datetime.fromisoformat(entry["at"])
        born = {id_: datetime.fromisoformat(first) for id_, first in entry["born"].items()}
        for id_, first in born.items():
            last = self.updated(id_) or first
            gained = self.gains.get(id_, (0, ""))[0] + restated_gain((at - last) / timedelta(days=1))
            self.gains[id_] = (gained, max(at, last).isoformat())

    def _carry(self, entry: Entry) -> None:
        old, new = entry["from"], entry["to"]
        if old == new:
            return
        if old in self.access:
            at, count = self.access.pop(old)
            self.access[new] = (_later(at, self.access.get(new, ("", 0))[0]), count + self.recalls(new))
            self.uses.append(new)
        if old in self.gains:
            gained, last = self.gains.pop(old)
            gained_too, last_too = self.gains.get(new, (0, ""))
            self.gains[new] = (gained + gained_too, _later(last, last_too))
        if old in self.plans:
            self._plans({"rows": {new: self.plans.pop(old)}})
        for marked in (self.archived, self.pinned):
            if old in marked:
                marked.remove(old)
                marked.add(new)

    def _plans(self, entry: Entry) -> None:
        for id_, (turns, asked_at, answered) in entry["rows"].items():
            self.plans[id_] = (turns, asked_at, answered)
            if asked_at or turns >= MAX_PLAN_TURNS:
                self.spent.add(id_)

    def _found(self, entry: Entry) -> None:
        for id_ in entry["ids"]:
            if entry.get("lets_in") or id_ not in self.returned:
                self.returned.pop(id_, None)
                self.missing.pop(id_, None)

    def _returned(self, entry: Entry) -> None:
        for id_ in entry["ids"]:
            self.returned[id_] = entry["at"], entry["file"]
            self.missing[id_] = datetime.fromisoformat(entry["at"])

    def _trust(self, entry: Entry) -> None:
        (true, count), (more, counted) = self.trust.get(entry["model"], (0, 0)), entry["quotes"]
        self.trust[entry["model"]] = (true + more, count + counted)

    # ---- writing

    def write(self, entries: Sequence[Entry]) -> None:
        """Append, under the owner's lock."""
        if entries:
            self.follow()
            self.lines.append(entries)
            self._apply(entries)

    def touch(self, ids: Sequence[str], at: datetime) -> None:
        self.write([{"op": "touch", "ids": list(ids), "at": at.isoformat()}] if ids else [])

    def carried(self, old: str, new: str) -> list[Entry]:
        """The entry that gives the record ``new`` the strength, the pin and the archive mark of ``old``, if it has any."""
        is_known = any(old in marks for marks in (self.access, self.gains, self.plans, self.archived, self.pinned))
        return [{"op": "carry", "from": old, "to": new}] if old != new and is_known else []

    def rename_topic(self, old: str, new: str) -> None:
        self.write([{"op": "topic", "from": old, "to": new}])

    def compact(self, writing: Writing) -> None:
        """Sum up what is there, once the file has grown long."""
        if self._listed >= MIN_IDS_SUMMED and self._listed >= 3 * len(self.access.keys() | self.gains.keys()):
            self._rewrite(writing, keep_damaged=True)

    def forget(self, ids: Collection[str], writing: Writing) -> None:
        """Remove everything about these ids from the file and from memory."""
        gone = set(ids)
        with writing("forget use"):
            for rows in (self.access, self.gains, self.plans, self.missing, self.returned):
                for id_ in gone.intersection(rows):
                    del rows[id_]
            self.greeted = {id_: one for id_, one in self.greeted.items() if gone.isdisjoint((id_, *one["sources"]))}
            self.archived -= gone
            self.spent -= gone
            self.masked += 1
            self.changes += 1
            self.pinned -= gone
            self.uses = [id_ for id_ in self.uses if id_ not in gone]
        while self.lines.place.offset and not self._rewrite(writing):
            self.follow()

    def _rewrite(self, writing: Writing, *, keep_damaged: bool = False) -> bool:
        """The file is written before the lock is taken. False where another process did the same meanwhile."""
        with writing("sum up the state"):
            entries, place = self.entries(), self.lines.place
        rewriting = self.lines.prepare(entries, place, keep_damaged=keep_damaged)
        with writing("rewrite the state"):
            added = self.lines.commit(rewriting)
            if added is not None:
                self._listed = _ids_in(entries) + _ids_in(added)
                self.uses = list(self.access)
        return added is not None

    def entries(self) -> list[Entry]:
        """All that is known, summed up."""
        return [
            {"op": "access", "rows": {id_: list(row) for id_, row in self.access.items()}},
            {"op": "gain", "rows": {id_: list(row) for id_, row in self.gains.items()}},
            {"op": "plans", "rows": {id_: list(row) for id_, row in self.plans.items()}},
            *self.greeted.values(),
            {"op": "archive", "ids": sorted(self.archived)},
            {"op": "pin", "ids": sorted(self.pinned)},
            *({"op": "missing", "ids": [id_], "at": at.isoformat()} for id_, at in self.missing.items()),
            *({"op": "returned", "ids": [id_], "at": at, "file": file} for id_, (at, file) in self.returned.items()),
            *({"op": "topic", "from": old, "to": new} for old, new in self.topics),
            *({"op": op, "at": at.isoformat()} for op in ("cleaned", "daybook") if (at := getattr(self, op))),
            {"op": "forgotten", "ids": sorted(self.forgotten)},
            *({"op": "trust", "model": model, "quotes": list(row)} for model, row in sorted(self.trust.items())),
        ]


def _renamed(topics: Sequence[tuple[str, str]], old: str, new: str) -> list[tuple[str, str]]:
    return [*topics, (old, new)] if new else [one for one in topics if one[1] != old]


def restatement(born: Mapping[str, datetime], at: datetime) -> list[Entry]:
    """The entry that says that memories were told again at ``at``; ``born`` says when each was first told.

    The gain depends on the days since then, or since the last restatement.
    """
    rows = {id_: first.isoformat() for id_, first in born.items()}
    return [{"op": "restate", "born": rows, "at": at.isoformat()}] if rows else []


def _ids_in(entries: Sequence[Entry]) -> int:
    return sum(len(value) for entry in entries for value in entry.values() if isinstance(value, list | dict))


def _later(one: str, other: str) -> str:
    return max(filter(None, (one, other)), key=datetime.fromisoformat)


_MASKING = ("archive", "restore", "missing", "found", "carry", "returned")
_STEPS: Mapping[str, Callable[[State, Entry], None]] = {
    "touch": State._touch,
    "access": State._access,
    "restate": State._restate,
    "gain": lambda state, entry: state.gains.update({id_: (gained, at) for id_, (gained, at) in entry["rows"].items()}),
    "carry": State._carry,
    "archive": lambda state, entry: state.archived.update(entry["ids"]),
    "restore": lambda state, entry: state.archived.difference_update(entry["ids"]),
    "pin": lambda state, entry: state.pinned.update(entry["ids"]),
    "unpin": lambda state, entry: state.pinned.difference_update(entry["ids"]),
    "missing": lambda state, entry: state.missing.update(
        dict.fromkeys(entry["ids"], datetime.fromisoformat(entry["at"]))
    ),
    "found": State._found,
    "returned": State._returned,
    "topic": lambda state, entry: setattr(state, "topics", _renamed(state.topics, entry["from"], entry["to"])),
    **dict.fromkeys(
        ("cleaned", "daybook"), lambda state, entry: setattr(state, entry["op"], datetime.fromisoformat(entry["at"]))
    ),
    "plans": State._plans,
    "greeted": lambda state, entry: state.greeted.update({entry["id"]: entry}),
    "forgotten": lambda state, entry: state.forgotten.update(entry["ids"]),
    "trust": State._trust,
}
