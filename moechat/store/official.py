"""What the author of a character wrote for all its users: ``events.yaml`` and ``facts.yaml`` beside character.yaml.

events.yaml, by id::

    lighthouse:
      text: {{char}} and {{user}} climbed the old lighthouse
      time: 2023-04-02T19:30                # when it was; without it the event has no date
      place: the lighthouse
      keywords: [lighthouse, stairs]
      insight: {{user}} is not afraid of heights

facts.yaml, by id::

    violin:
      text: {{char}} repairs violins
      entity: character                     # user (the default), character, or a name
      kind: attribute                       # attribute, relation or picture
      keyword: work

Talk never writes them; their author does, here or by hand. Ids are the records' keys and stay what they are. A record that
cannot be read is told with its file and line, and costs itself alone. Writing one record leaves every other byte as it is.
"""

from __future__ import annotations

import difflib
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Any, Literal

from filelock import FileLock, Timeout

from moechat.errors import DataError, MoeChatError, NotFound
from moechat.language import words
from moechat.model import Episode, Fact
from moechat.store import records
from moechat.store.formats import derived_id, episode_value, event_from, fact_from, local
from moechat.store.records import Record, Signature

Kind = Literal["event", "fact"]
Values = Mapping[str, object]
FILES: Mapping[Kind, str] = {"event": "events.yaml", "fact": "facts.yaml"}
LOCK = ".official.lock"
LOCK_TIMEOUT_S = 10
TRIES = 5  # a hand that saves the file in the same moment comes first
_NAMES = re.compile(r"\{\{\s*(user|char)\s*\}\}", re.IGNORECASE)
_ID = re.compile(r"\w[\w-]{0,63}")
_YES_NO = ("true", "false")

# What a record may have, and the form of it (``_fits``).
KEYS: Mapping[Kind, Mapping[str, str]] = {
    "event": {
        "text": "words", "time": "time", "happened": "span", "place": "text", "keywords": "list", "insight": "text",
        "scene": "text", "subject": "text", "predicate": "text", "object": "text", "importance": "share",
        "topic": "text", "related": "list", "activation": "share", "diffusion": "share", "context_independence": "share",
    },
    "fact": {
        "text": "words", "time": "time", "kind": "kind", "entity": "words", "keyword": "text", "target": "text",
        "polarity": "sign", "single": "switch", "generic": "switch",
    },
}  # fmt: skip
REMEDIES: Mapping[str, str] = {
    "words": "write it in words",
    "text": "expects text",
    "list": "expects a list of words, such as [one, two]",
    "time": "write it as 2025-05-20T15:03",
    "span": "write it as 2025-05-20T15:03/2025-05-20T16:00",
    "share": "expects a number from 0 to 1",
    "sign": "expects 1 or -1",
    "switch": "expects true or false",
    "kind": "expects attribute, relation or picture",
}


class FieldError(MoeChatError):
    """A field of a memory that somebody writes has a value that it cannot have."""

    def __init__(self, field: str, value: object, remedy: str) -> None:
        self.field, self.value, self.remedy = field, value, remedy
        shown = "" if value is None else f" = {str(value)[:60]!r}"
        super().__init__(f"{field}{shown}: {remedy}")


@dataclass(frozen=True)
class _File:
    signature: Signature
    raw: Mapping[str, Record]
    read: Mapping[str, Episode | Fact]
    problems: Sequence[DataError]


class Official:
    """The author's store of one character. ``zone`` is that of times without an offset.

    ``names`` gives what ``{{user}}`` and ``{{char}}`` stand for at this moment; they are filled in where a memory is read.
    """

    def __init__(
        self, folder: Path, *, zone: tzinfo | None = None, names: Callable[[], Mapping[str, str]] = dict
    ) -> None:
        self.folder, self._zone, self._names = folder, zone, names
        self._lock = threading.RLock()
        self._filled: Mapping[str, str] = {}
        self._files: dict[Kind, _File] = {kind: _File(Signature(), {}, {}, ()) for kind in FILES}
        self.generation = 0
        """Grows whenever what is read here changes."""
        self.refresh()

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
            fresh["fact"] = _without(fresh["fact"], fresh["event"].read, self.path("fact"))
            if fresh == self._files:
                return False
            changed = any(fresh[kind].read != self._files[kind].read for kind in FILES)
            self._files, self._filled = fresh, names
            self.generation += changed
            return changed

    def path(self, kind: Kind) -> Path:
        return self.folder / FILES[kind]

    def episodes(self) -> list[Episode]:
        return [one for one in self._files["event"].read.values() if isinstance(one, Episode)]

    def facts(self) -> list[Fact]:
        return [one for one in self._files["fact"].read.values() if isinstance(one, Fact)]

    @property
    def problems(self) -> list[DataError]:
        """Records and files that are left out, and why."""
        return [problem for file in self._files.values() for problem in file.problems]

    def listed(self, kind: Kind | None = None) -> list[Episode | Fact]:
        """All of one kind, or all, in the order of the files."""
        return [one for name, file in self._files.items() if kind in (None, name) for one in file.read.values()]

    def get(self, id_: str) -> Episode | Fact:
        """Raises NotFound."""
        for file in self._files.values():
            if id_ in file.read:
                return file.read[id_]
        raise NotFound(f"the official store of {self.folder.name} holds no {id_!r}; list it to see the ids")

    def search(self, text: str, kind: Kind | None = None, limit: int = 20) -> list[Episode | Fact]:
        """Those that have the text as it stands, then those with most of its words, the newest first of equals."""
        wanted, asked = text.casefold().strip(), {word.casefold() for word in words.keywords(text, top_k=20)}
        scored = []
        for one in self.listed(kind):
            told = _told(one).casefold()
            score = (len(asked) + 1) * (wanted in told) + sum(word in told for word in asked)
            if score:
                scored.append((score, one))
        scored.sort(key=lambda pair: (-pair[0], -pair[1].at.timestamp()))
        return [one for _, one in scored[:limit]]

    # ---- writing

    def add_event(self, values: Values, id_: str | None = None) -> Episode:
        """Append an event; ``values`` are keys of events.yaml. Raises FieldError, DataError."""
        made = self._add("event", values, id_)
        assert isinstance(made, Episode)
        return made

    def add_fact(self, values: Values, id_: str | None = None) -> Fact:
        """Append a fact; ``values`` are keys of facts.yaml. Raises FieldError, DataError."""
        made = self._add("fact", values, id_)
        assert isinstance(made, Fact)
        return made

    def update(self, id_: str, changes: Values) -> Episode | Fact:
        """Change some keys of a record; None takes one out. Raises NotFound, FieldError, DataError."""
        kind, raw = self._held(id_)
        self._put(kind, id_, written(kind, {**_mapping(raw), **changes}))
        return self.get(id_)

    def delete(self, id_: str) -> None:
        """Take a record out of its file. Raises NotFound, DataError."""
        kind, _ = self._held(id_)
        self._put(kind, id_, None)

    def _held(self, id_: str) -> tuple[Kind, Record]:
        self.refresh()
        for kind, file in self._files.items():
            if id_ in file.read:
                return kind, file.raw[id_]
        raise NotFound(f"the official store of {self.folder.name} holds no {id_!r}; list it to see the ids")

    def _add(self, kind: Kind, values: Values, id_: str | None) -> Episode | Fact:
        self.refresh()
        value = written(kind, values)
        id_ = self._new_id(kind, str(value.get("text", ""))) if id_ is None else id_
        if not _ID.fullmatch(id_):
            raise FieldError("id", id_, "expects 1 to 64 letters, digits, - or _")
        if any(id_ in file.raw for file in self._files.values()):
            raise FieldError("id", id_, "is taken; choose another, or change that record")
        self._put(kind, id_, value)
        return self.get(id_)

    def _new_id(self, kind: Kind, text: str) -> str:
        taken = {id_ for file in self._files.values() for id_ in file.raw}
        return next(id_ for n in range(len(taken) + 1) if (id_ := derived_id(text, (f"{kind}{n}",))) not in taken)

    def _put(self, kind: Kind, id_: str, value: Values | None) -> None:
        """Write one record, or take it out, under the lock; what a hand saves meanwhile is read first."""
        path = self.path(kind)
        try:
            with FileLock(self.folder / LOCK, timeout=LOCK_TIMEOUT_S):
                for _ in range(TRIES):
                    before = Signature.of(path)
                    data = _rewritten(path, id_, value)
                    if Signature.of(path) == before:
                        records.replace(path, data)
                        break
                else:
                    raise DataError(path, "it changes all the time; save it elsewhere, then try again")
        except Timeout:
            raise DataError(path, f"no lock within {LOCK_TIMEOUT_S} s: another process holds it; try again") from None
        self.refresh()

    def _read(self, kind: Kind, names: Mapping[str, str]) -> _File:
        path = self.path(kind)
        signature = Signature.of(path)
        _, parsed = records.read(path)
        made: dict[str, Episode | Fact] = {}
        problems = list(parsed.problems)
        for record in parsed.records:
            try:
                made[record.key] = _made(kind, record, path, self._zone, names)
            except FieldError as error:
                problems.append(DataError(path, f"record {record.key!r}: {error}", line=record.line or None))
            except DataError as error:
                problems.append(error)
        return _File(signature, {record.key: record for record in parsed.records}, made, problems)


def _without(file: _File, taken: Mapping[str, object], path: Path) -> _File:
    """A file of facts without those whose id an event has."""
    twice = [id_ for id_ in file.read if id_ in taken]
    problems = [
        DataError(path, f"the id {id_!r} stands in {FILES['event']} as well; choose another", line=file.raw[id_].line)
        for id_ in twice
    ]
    kept = {id_: one for id_, one in file.read.items() if id_ not in taken}
    return replace(file, read=kept, problems=[*file.problems, *problems]) if twice else file


def _told(one: Episode | Fact) -> str:
    """All words of a memory, for the search."""
    if isinstance(one, Fact):
        return "\n".join((one.text, one.draft.entity, one.draft.keyword, one.draft.target))
    event = one.event
    return "\n".join((event.text, event.insight, event.place, event.scene, event.topic, *event.keywords))


def as_row(one: Episode | Fact) -> dict[str, Any]:
    """A memory as commands and HTTP give it; its further keys are those of its file."""
    row: dict[str, Any] = {"store": "official", "id": one.id, "by": one.by, "time": one.at.isoformat()}
    if isinstance(one, Fact):
        d = one.draft
        return row | {
            "type": "fact", "text": d.text, "kind": d.kind, "entity": d.entity, "keyword": d.keyword, "target": d.target,
            "polarity": d.polarity, "single": d.single, "generic": d.generic,
        }  # fmt: skip
    told = {key: value for key, value in episode_value(one).items() if key in KEYS["event"]}
    return row | {"type": "event"} | told | {"importance": one.event.importance}


# ---- one record


def _mapping(record: Record) -> Mapping[str, object]:
    return record.value if isinstance(record.value, Mapping) else {"text": record.value}


def _made(kind: Kind, record: Record, path: Path, zone: tzinfo | None, names: Mapping[str, str]) -> Episode | Fact:
    """The memory that a record tells. Raises FieldError, DataError."""
    value = _mapping(record)
    _check(kind, value)
    told = Record(record.key, _fill(value, names), record.start, record.end, record.line)
    assert isinstance(told.value, Mapping)
    if kind == "fact":
        return replace(fact_from(told, path, zone), by="author")
    at = (
        local(datetime.fromisoformat(str(value["time"])), zone) if value.get("time") else datetime.fromtimestamp(0, UTC)
    )
    return Episode(record.key, at, event_from(told.value, (), told, path, zone), by="author")


def _check(kind: Kind, value: Values) -> None:
    """Raises FieldError for the first key that is unknown or has an impossible value."""
    forms = KEYS[kind]
    for key, given in value.items():
        if key not in forms:
            near = difflib.get_close_matches(str(key), forms, n=1)
            known = f"did you mean {near[0]}?" if near else f"known: {', '.join(forms)}"
            raise FieldError(str(key), None, f"unknown key; {known}")
        form = forms[key]
        if not (_listed(given) if form == "list" else isinstance(given, str) and _fits_form(form, given)):
            raise FieldError(key, given, REMEDIES[form])
    if "text" not in value:
        raise FieldError("text", None, "is missing; write what is to be remembered, in words")


def _listed(given: object) -> bool:
    return isinstance(given, str) or (isinstance(given, list) and all(isinstance(one, str) for one in given))


def _fits_form(form: str, text: str) -> bool:
    match form:
        case "words":
            return bool(text.strip())
        case "time":
            return _is_time(text)
        case "span":
            return text.count("/") <= 1 and all(_is_time(end) for end in text.split("/"))
        case "share":
            return bool(re.fullmatch(r"0|1|1\.0*|0?\.\d+|\d(\.\d+)?e-\d+", text))
        case "sign":
            return text in ("1", "-1")
        case "switch":
            return text in _YES_NO
        case "kind":
            return text in ("attribute", "relation", "picture")
    return True


def _is_time(text: str) -> bool:
    try:
        return 1 < datetime.fromisoformat(text.strip()).year < 9999
    except ValueError:
        return False


def _fill(value: object, names: Mapping[str, str]) -> object:
    """The names in place of their placeholders, once."""
    if isinstance(value, Mapping):
        return {key: _fill(one, names) for key, one in value.items()}
    if isinstance(value, list):
        return [_fill(one, names) for one in value]
    return _NAMES.sub(lambda match: names.get(match[1].lower(), match[0]), str(value))


def written(kind: Kind, values: Values) -> dict[str, Any]:
    """A record's values as its file holds them, text and lists of text, without those that are None. Raises FieldError where
    it could not be read again."""
    told = {key: _text(given) for key, given in values.items() if given is not None}
    _check(kind, told)
    return told


def _text(given: object) -> object:
    if isinstance(given, bool):
        return _YES_NO[not given]
    if isinstance(given, int | float):
        return str(given)
    if isinstance(given, list | tuple):
        return [_clean(one) for one in given]
    return _clean(given)


def _clean(given: object) -> object:
    """Text that UTF-8 can hold: a lone surrogate becomes U+FFFD."""
    return (
        given.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace") if isinstance(given, str) else given
    )


# ---- one file


def _rewritten(path: Path, id_: str, value: Values | None) -> bytes:
    """The file with one record replaced, appended, or (``value`` None) taken out. Raises DataError where that would touch
    others."""
    data, parsed = records.read(path)
    end = b"\r\n" if b"\r\n" in data else b"\n"
    entry = (records.entry(id_, dict(value)) if value is not None else b"").replace(b"\n", end)
    before = {record.key: record.value for record in parsed.records}
    if id_ in before:
        own = [replace(record, end=_end(data, record)) for record in parsed.records]
        written = records.spliced(data, records.Parsed(own), {id_: entry})
    else:
        written = data + (end if data and not data.endswith(b"\n") else b"") + entry
    after = records.parse(written, path)
    wanted = before | ({id_: value} if value is not None else {})
    if value is None:
        wanted.pop(id_, None)
    if {record.key: record.value for record in after.records} != wanted or len(after.problems) != len(parsed.problems):
        raise DataError(path, f"{id_!r} cannot be written without touching what stands around it; mend the file first")
    return written


def _end(data: bytes, record: Record) -> int:
    """Where a record ends without the comments and empty lines between it and the next, which are not its own."""
    lines = data[record.start : record.end].splitlines(keepends=True)
    while len(lines) > 1 and (not lines[-1].strip() or lines[-1].startswith(b"#")):
        lines.pop()
    return record.start + sum(map(len, lines))
