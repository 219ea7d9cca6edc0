"""The memories that the author of a character wrote for all its users: ``events.yaml`` and ``facts.yaml`` beside
character.yaml.

events.yaml, by id::

    lighthouse:
      text: {{char}} and {{user}} climbed the old lighthouse
      time: 2023-04-02T19:30                # when it was, a day alone is the whole day; without it the event has no date
      place: the lighthouse
      keywords: [lighthouse, stairs]
      insight: {{user}} is not afraid of heights

facts.yaml, by id::

    violin:
      text: {{char}} repairs violins
      entity: character                     # user (the default), character, or a name
      kind: attribute                       # attribute, relation or picture
      keyword: work

The world book is the author's too (``world_files``), and is listed, searched and written here beside them.

Talk never writes them; their author does, here or by hand. Ids are the records' keys and do not change. A record that cannot
be read is reported with its file and line; the others serve. Writing one record leaves every other byte as it is.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any

from moechat.author.fields import Values, check, written
from moechat.author.splice import rewritten
from moechat.author.world_files import FOLDER, LoreFiles
from moechat.clock import SYSTEM_NOW, moment_of
from moechat.errors import DataError, FieldError, NameTaken, NotFound, shown
from moechat.language import words
from moechat.lore import USUAL
from moechat.model import OFFICIAL_FIELDS, Episode, Fact, Lore, OfficialKind, OfficialMemory, official_kind
from moechat.store import plain, records
from moechat.store.formats import EPISODE, Where, derived_id, event_from, fact_from, known
from moechat.store.records import Record, Signature

FILES: Mapping[OfficialKind, str] = {"event": "events.yaml", "fact": "facts.yaml"}
LOCK = ".official.lock"
_NAMES = re.compile(r"\{\{\s*(user|char)\s*\}\}", re.IGNORECASE)
_A_DAY = re.compile(r"\s*\d{4}-?\d\d-?\d\d\s*")
WHOLE_DAY = timedelta(days=1, seconds=-1)
_ID = re.compile(r"\w[\w-]{0,63}")


@dataclass(frozen=True)
class _RecordFile:
    signature: Signature
    raw: Mapping[str, Record]
    read: Mapping[str, Episode | Fact]
    problems: Sequence[DataError]


class Official:
    """The author's store of one character. ``zone`` is that of times without an offset.

    ``names`` gives what ``{{user}}`` and ``{{char}}`` stand for at this moment; they are filled in where a memory is read.
    """

    def __init__(
        self,
        folder: Path,
        *,
        zone: tzinfo | None = None,
        names: Callable[[], Mapping[str, str]] = dict,
        now: Callable[[], datetime] = SYSTEM_NOW,
    ) -> None:
        self.folder, self._zone, self._names, self._now = folder, zone, names, now
        self._lock = threading.RLock()
        self._filled: Mapping[str, str] = {}
        self.lore = LoreFiles(folder / FOLDER, folder / LOCK, now)
        self._files: dict[OfficialKind, _RecordFile] = {kind: _RecordFile(Signature(), {}, {}, ()) for kind in FILES}
        self.generation = 0
        """Grows whenever what is read here changes."""
        self.refresh()

    def unfilled(self) -> Official:
        """The same store with the placeholders of names as the files have them, so that they outlive an edit."""
        return Official(self.folder, zone=self._zone, now=self._now)

    # ---- reading

    def refresh(self) -> bool:
        """Look at the files again; True where something changed. Two looks at file entries where nothing did."""
        with self._lock:
            names = dict(self._names())
            fresh = {
                kind: file if names == self._filled and file.signature == Signature.of(self.path(kind))
                else self._read(kind, names)
                for kind, file in self._files.items()
            }  # fmt: skip
            facts, events, path = fresh["fact"], fresh["event"].read, self.path("fact")
            problems = [
                DataError(
                    path, f"the id {id_!r} stands in {FILES['event']} as well; choose another", line=facts.raw[id_].line
                )
                for id_ in facts.read
                if id_ in events
            ]
            if problems:
                kept = {id_: one for id_, one in facts.read.items() if id_ not in events}
                fresh["fact"] = replace(facts, read=kept, problems=[*facts.problems, *problems])
            if fresh == self._files:
                return False
            changed = any(fresh[kind].read != self._files[kind].read for kind in FILES)
            self._files, self._filled = fresh, names
            self.generation += changed
            return changed

    def path(self, kind: OfficialKind) -> Path:
        return self.folder / FILES[kind]

    def episodes(self) -> list[Episode]:
        return [one for one in self._files["event"].read.values() if isinstance(one, Episode)]

    def facts(self) -> list[Fact]:
        return [one for one in self._files["fact"].read.values() if isinstance(one, Fact)]

    @property
    def problems(self) -> list[DataError]:
        """Records and files of events and facts that are left out, and why; ``lore`` has those of the world book."""
        return [problem for file in self._files.values() for problem in file.problems]

    def listed(self, kind: OfficialKind | None = None) -> list[OfficialMemory]:
        """All of one kind, or all, in the order of the files; the world book last."""
        held: list[OfficialMemory] = [
            one for name, file in self._files.items() if kind in (None, name) for one in file.read.values()
        ]
        return [*held, *self.lore.listed()] if kind in (None, "lore") else held

    def get(self, id_: str) -> OfficialMemory:
        """Raises NotFound."""
        for one in (*(file.read.get(id_) for file in self._files.values()), self.lore.find(id_)):
            if one is not None:
                return one
        raise NotFound(f"the official store of {self.folder.name} holds no {id_!r}; list it to see the ids")

    def search(self, text: str, kind: OfficialKind | None = None, limit: int = 20) -> list[OfficialMemory]:
        """Those that have the text as it stands, then those with most of its words, the newest first of equals."""
        phrase, asked_words = text.casefold().strip(), {word.casefold() for word in words.keywords(text, top_k=20)}
        scored = []
        for one in self.listed(kind):
            own_text = _told(one).casefold()
            score = (len(asked_words) + 1) * (phrase in own_text) + sum(word in own_text for word in asked_words)
            if score:
                scored.append((score, one))
        scored.sort(key=lambda pair: (-pair[0], -_at(pair[1])))
        return [one for _, one in scored[:limit]]

    @staticmethod
    def as_row(memory: OfficialMemory) -> dict[str, Any]:
        """A memory as commands and HTTP give it; its further keys are those of its file."""
        if isinstance(memory, Lore):
            own = {
                "keyword": memory.keyword, "text": memory.text, "keys": list(memory.keys), "constant": memory.constant,
                "enabled": memory.enabled, "file": memory.file,
            }  # fmt: skip
            rules = {key: getattr(memory, key) for key in OFFICIAL_FIELDS["lore"] if key not in own}
            unusual = {key: value for key, value in rules.items() if value != getattr(USUAL, key)}
            unusual |= {"secondary": list(memory.secondary)} if memory.secondary else {}
            return {"store": "official", "id": memory.id, "by": "author", "type": "lore", **own, **unusual}
        row: dict[str, Any] = {"store": "official", "id": memory.id, "by": memory.by, "time": memory.since.isoformat()}
        if isinstance(memory, Fact):
            d = memory.draft
            return row | {
                "type": "fact", "text": d.text, "kind": d.kind, "entity": d.entity, "keyword": d.keyword, "target": d.target,
                "polarity": d.polarity, "single": d.single, "generic": d.generic,
            }  # fmt: skip
        fields = {key: value for key, value in EPISODE.written(memory).items() if key in OFFICIAL_FIELDS["event"]}
        return row | {"type": "event"} | fields | {"importance": memory.event.importance}

    # ---- writing

    def add(self, kind: OfficialKind, values: Values, id_: str | None = None) -> OfficialMemory:
        """Append a memory; ``values`` are keys of its file. Raises FieldError, DataError."""
        if kind == "lore":
            if id_ is not None:
                raise FieldError("id", id_, "is made of file and keyword; leave it out")
            return self.lore.add(values)
        self.refresh()
        value = written(kind, values)
        id_ = self._new_id(kind, str(value.get("text", ""))) if id_ is None else id_
        if not _ID.fullmatch(id_):
            raise FieldError("id", id_, "expects 1 to 64 letters, digits, - or _")
        if any(id_ in file.raw for file in self._files.values()):
            raise NameTaken("id", id_, "is taken; choose another, or change that record")
        self._put(kind, id_, value)
        return self.get(id_)

    def update(self, id_: str, changes: Values) -> OfficialMemory:
        """Change some keys of a record; None takes one out. Raises NotFound, FieldError, DataError."""
        kind = self._kind_of(id_)
        if kind == "lore":
            return self.lore.update(id_, changes)
        self._put(kind, id_, written(kind, {**_mapping(self._files[kind].raw[id_]), **changes}))
        return self.get(id_)

    def delete(self, id_: str) -> None:
        """Take a record out of its file. Raises NotFound, DataError."""
        kind = self._kind_of(id_)
        if kind == "lore":
            self.lore.delete(id_)
        else:
            self._put(kind, id_, None)

    def _kind_of(self, id_: str) -> OfficialKind:
        self.refresh()
        return official_kind(self.get(id_))

    def _new_id(self, kind: OfficialKind, text: str) -> str:
        taken = {id_ for file in self._files.values() for id_ in file.raw}
        return next(id_ for n in range(len(taken) + 1) if (id_ := derived_id(text, (f"{kind}{n}",))) not in taken)

    def _put(self, kind: OfficialKind, id_: str, value: Values | None) -> None:
        """Write one record, or take it out, under the lock; what a hand saves meanwhile is read first."""
        path = self.path(kind)

        def change(data: bytes) -> bytes:
            return rewritten(data, path, id_, value, lambda after: _held(after, path), "mend the file first")

        records.rewrite(path, self.folder / LOCK, change)
        self.refresh()

    def _read(self, kind: OfficialKind, names: Mapping[str, str]) -> _RecordFile:
        path = self.path(kind)
        signature = Signature.of(path)
        _, parsed = records.read(path)
        made, problems = _of_records(kind, parsed, path, self._zone, names)
        return _RecordFile(signature, {record.key: record for record in parsed.records}, made, problems)


def faults(kind: OfficialKind, data: bytes, path: Path) -> list[DataError]:
    """What is wrong with the bytes of a file of events or facts."""
    return _of_records(kind, records.parse(data, path), path, None, {})[1]


def _of_records(
    kind: OfficialKind, parsed: records.Parsed, path: Path, zone: tzinfo | None, names: Mapping[str, str]
) -> tuple[dict[str, Episode | Fact], list[DataError]]:
    """The memories that records tell, and what is wrong with the others."""
    made: dict[str, Episode | Fact] = {}
    problems = list(parsed.problems)
    for record in parsed.records:
        try:
            made[record.key] = _made(kind, record, path, zone, names)
        except FieldError as error:
            problems.append(DataError(path, f"record {shown(record.key)}: {error}", line=record.line or None))
        except DataError as error:
            problems.append(error)
    return made, problems


def _at(one: OfficialMemory) -> float:
    return 0.0 if isinstance(one, Lore) else one.since.timestamp()


def _told(one: OfficialMemory) -> str:
    """All words of a memory, for the search."""
    if isinstance(one, Lore):
        return "\n".join((one.keyword, *one.keys, one.text))
    if isinstance(one, Fact):
        return "\n".join((one.text, one.draft.entity, one.draft.keyword, one.draft.target))
    event = one.event
    return "\n".join((event.text, event.insight, event.place, event.scene, event.topic, *event.keywords))


# ---- one record


def _mapping(record: Record) -> Mapping[str, object]:
    return record.value if isinstance(record.value, Mapping) else {"text": record.value}


def _made(
    kind: OfficialKind, record: Record, path: Path, zone: tzinfo | None, names: Mapping[str, str]
) -> Episode | Fact:
    """The memory that a record tells. Raises FieldError, DataError."""
    value = _mapping(record)
    check(kind, value)
    filled = Record(record.key, _fill(value, names), record.start, record.end, record.line)
    assert isinstance(filled.value, Mapping)
    where = Where(filled, path, zone)
    if kind == "fact":
        return replace(fact_from(where), by="author")
    time = str(value.get("time") or "")
    at = known(moment_of(time, zone)) if time else None
    event = event_from(filled.value, (), where)
    if at and event.happened is None and _A_DAY.fullmatch(time):
        event = replace(event, happened=(at, at + WHOLE_DAY), precision="day")
    return Episode(record.key, at, event, by="author")


def _fill(value: object, names: Mapping[str, str]) -> object:
    """The names in place of their placeholders, once."""
    if isinstance(value, Mapping):
        return {key: _fill(one, names) for key, one in value.items()}
    if isinstance(value, list):
        return [_fill(one, names) for one in value]
    return _NAMES.sub(lambda match: names.get(match[1].lower(), match[0]), str(value))


def _held(data: bytes, path: Path) -> dict[str | None, object]:
    """Every record's value by id; by None, how many cannot be read."""
    plain.decoded(data, path)
    parsed = records.parse(data, "")
    return {None: len(parsed.problems), **{record.key: record.value for record in parsed.records}}
