"""What a log holds: the forms of its entries, what they are about (exchanges with all their replies, talks, imports), and how
they are written; and the forms of whatever else ``.jsonl`` files of an owner hold.

Folders are shared, copied and damaged. A line that is JSON and yet no entry is set aside where it is read, so that whoever
applies an entry may rely on its fields. What the entries mean, ``log`` and ``state`` say. A field with a question mark may
be missing; fields of a newer version are ignored.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from itertools import chain
from typing import Any, Literal

from moechat.errors import shown
from moechat.model import Attachment, Exchange, Status

Entry = Mapping[str, Any]
Form = Callable[[Any], bool]
Order = Literal["natural", "list", "manual"]
PASSED_ON = frozenset({"exchange", "variant", "choose", "edit", "retract", "restore", "forget"})
"""The operations that change what a talk of several says."""
GONE = frozenset({"retract", "forget"})
HIGHEST = 10**15  # No count is greater: a float holds it exactly.
_NAME = re.compile(r"[\w-]{1,64}")
_TEXT_OR_NONE = frozenset({str, type(None)})


class UnknownEntry(ValueError):
    """An operation of a newer version: kept as it is, and passed over."""


class Shape:
    """An object by its fields and their forms. One whose name ends in a question mark may be missing."""

    def __init__(self, fields: Mapping[str, Form]) -> None:
        self._fields = [(key.removesuffix("?"), form, key.endswith("?")) for key, form in fields.items()]

    def fault(self, value: Mapping[str, Any]) -> str:
        """What is wrong with an object, "" where nothing is."""
        for key, form, may_be_missing in self._fields:
            if key in value:
                if not form(value[key]):
                    return f"{key} = {shown(value[key])} is not what it may be"
            elif not may_be_missing:
                return f"{key} is missing"
        return ""

    def fits(self, value: Any) -> bool:
        return type(value) is dict and not self.fault(value)

    def check(self, value: Any) -> None:
        """Raises ValueError where a value is no such object, saying why."""
        if fault := self.fault(value) if type(value) is dict else "it is no object":
            raise ValueError(fault)


class Entries:
    """The entries of one file, by their operation."""

    def __init__(self, forms: Mapping[str, Mapping[str, Form]]) -> None:
        self._shapes = {op: Shape(fields) for op, fields in forms.items()}

    def check(self, entry: Any) -> None:
        """Raises ValueError where a value is no entry, saying which field and why; UnknownEntry for another operation."""
        op = entry.get("op") if type(entry) is dict else None
        if type(op) is not str:
            raise ValueError("it is no object with an `op`")
        if op not in self._shapes:
            raise UnknownEntry(f"{shown(op)} is no operation that this version knows")
        if fault := self._shapes[op].fault(entry):
            raise ValueError(f"{op}: {fault}")


def is_text(value: Any) -> bool:
    return type(value) is str


def is_id(value: Any) -> bool:
    return type(value) is str and value != ""


def is_moment(value: Any) -> bool:
    """An ISO time with its offset, not so near to an end of the calendar that it could not be told in another zone."""
    try:
        moment = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return False
    return moment.tzinfo is not None and 1 < moment.year < 9999


def is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value <= HIGHEST


def is_number(value: Any) -> bool:
    return type(value) in (int, float) and -HIGHEST <= value <= HIGHEST  # NaN is not


def maybe(form: Form) -> Form:
    return lambda value: value is None or form(value)


def one_of(*values: object) -> Form:
    return lambda value: type(value) in (str, bool, type(None)) and value in values


def list_of(form: Form) -> Form:
    return lambda value: type(value) is list and all(map(form, value))


def map_of(form: Form) -> Form:
    return lambda value: type(value) is dict and all(map(form, value.values()))


def row_of(*forms: Form) -> Form:
    return lambda value: (
        type(value) is list
        and len(value) == len(forms)
        and all(form(one) for form, one in zip(forms, value, strict=True))
    )


def _is_name(value: Any) -> bool:
    """The name of a batch is that of a file, too."""
    return type(value) is str and _NAME.fullmatch(value) is not None


def _are_past(rows: Any) -> bool:
    """[id, parent, sha, (talk)] each; there are 100,000 of them."""
    if type(rows) is not list or not set(map(type, rows)) <= {list} or not set(map(len, rows)) <= {3, 4}:
        return False
    if not set(map(type, chain.from_iterable(rows))) <= _TEXT_OR_NONE:
        return False
    return not any(None in row and (None in (row[0], row[2], row[-1])) for row in rows)


def _are_imported(rows: Any) -> bool:
    """[id, sha] each, one at least; of whole talks [id, parent, sha, talk]."""
    if type(rows) is not list or not rows or not set(map(type, rows)) <= {list}:
        return False
    if set(map(len, rows)) == {4}:
        return _are_past(rows)
    return set(map(len, rows)) == {2} and set(map(type, chain.from_iterable(rows))) <= {str}


_is_hit = Shape(
    {
        "id?": is_text, "layer?": is_text, "recipe?": is_text, "side?": is_text, "dropped?": is_text, "why?": is_text,
        "score?": is_number, "features?": map_of(is_number),
    }
).fits  # fmt: skip
_is_span = row_of(is_text, is_moment, is_moment, is_text)
_is_status = one_of("done", "stopped", "failed")
_is_flag = one_of(True, False)
_is_member = Shape({"name": is_id, "character?": is_text, "muted?": _is_flag, "talkativeness?": is_number}).fits
_is_cast = Shape({
    "members": list_of(_is_member), "people?": list_of(is_id), "order?": one_of("natural", "list", "manual"),
    "edition?": is_count, "users?": map_of(is_text),
}).fits  # fmt: skip
_ID, _IDS = {"id": is_id}, {"ids": list_of(is_text)}
_WORDS: Mapping[str, Form] = {
    **_ID, "at": is_moment, "user": is_text, "speaker?": is_text, "attachments?": maybe(list_of(Shape({}).fits)),
    "stamp?": is_text,
}  # fmt: skip

LOG = Entries(
    {
        "exchange": {**_WORDS, "parent": maybe(is_text), "talk?": is_text},
        "variant": {
            **_ID, "char": is_text, "status": _is_status, "error?": is_text, "hits?": list_of(_is_hit),
            "spans?": list_of(_is_span), "notice?": is_text, "key?": is_text,
        },
        "choose": {**_ID, "variant": is_count},
        "select": {**_ID, "variant?": is_count},
        "settle": _ID,
        "filed": {**_ID, "sha": is_text},
        "edit": {**_WORDS, "char": is_text, "status?": _is_status},
        "retract": {**_ID, "unshown?": one_of(True)},
        "dropped": _IDS,
        "restore": _ID,
        "cut": _ID,
        "freeze": {**_ID, **_IDS},
        "understood": {**_IDS, "by": is_text},
        "requeue": _IDS,
        "reread": {"since": maybe(is_text), "again?": one_of(True), "until?": row_of(is_number, is_text)},
        "past": {"rows": _are_past},
        "import": {"batch": _is_name, "talk": is_text, "at": is_moment, "by?": is_text, "rows": _are_imported},
        "imported": {"batch": _is_name},
        "forget": {**_IDS, "n": is_count, "batch?": is_text},
        "forgotten": {"n": is_count},
        "talk": {
            "talk": is_text, "title?": is_text, "pinned?": _is_flag, "away?": _is_flag,
            "cast?": _is_cast, "waiting?": map_of(is_text), "passed?": list_of(is_text),
        },
    }
)  # fmt: skip

STATE = Entries(
    {
        **dict.fromkeys(("archive", "restore", "pin", "unpin", "forgotten"), _IDS),
        "touch": {**_IDS, "at": is_moment},
        "access": {"rows": map_of(row_of(is_moment, is_count))},
        "restate": {"born": map_of(is_moment), "at": is_moment},
        "gain": {"rows": map_of(row_of(is_count, is_moment))},
        "carry": {"from": is_text, "to": is_text},
        "missing": {**_IDS, "at": is_moment},
        "found": {**_IDS, "lets_in?": one_of(True)},
        "topic": {"from": is_text, "to": is_text},
        **{key: {"at": is_moment} for key in ("cleaned", "daybook")},
        "plans": {"rows": map_of(row_of(is_count, is_text, is_text))},
        "greeted": {"id": is_text, "at": is_moment, "text": is_text, "sources": list_of(is_text), "said_as": is_text},
        "returned": {**_IDS, "at": is_moment, "file": is_text},
        "trust": {"model": is_text, "quotes": row_of(is_count, is_count)},
    }
)

REFUSED = Shape({"at": is_moment, "kind": is_text, "text": is_text, "why": is_text, "sources": list_of(is_text)})


# ---- what they are about


class Rows(Collection[dict[str, Any]]):
    """Objects that are seldom looked at, as their JSON: a fraction of the memory that they take themselves."""

    __slots__ = ("_count", "_json")

    def __init__(self, rows: Collection[dict[str, Any]] = ()) -> None:
        self._json, self._count = json.dumps(list(rows)), len(rows)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(json.loads(self._json) if self._count else ())

    def __contains__(self, row: object) -> bool:
        return row in list(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Collection) and list(self) == list(other)


@dataclass(slots=True)
class Variant:
    """One reply to a message. ``hits`` are the memories it rests on, ``key`` (``tree.goes_on_with``) tells them apart."""

    char: str
    status: Status
    error: str = ""
    hits: Collection[dict[str, Any]] = ()
    spans: Sequence[Sequence[str]] = ()
    notice: str = ""
    key: str = ""

    @property
    def is_silence(self) -> bool:
        """Whether the message was heard, and not answered by this character."""
        return not self.char and self.status == "done"


@dataclass(slots=True)
class Node:
    """One exchange. ``filed`` is the text hash that stands in the day file, "" as long as it stands in the log alone.

    A ``folded`` one stands in the day file alone: the log keeps its place, not its words.
    """

    id: str
    parent: str | None
    at: str
    user: str = ""
    talk: str = ""
    speaker: str = ""
    attachments: tuple[Attachment, ...] = ()
    variants: list[Variant] = field(default_factory=list)
    chosen: int = -1
    settled: bool = False
    filed: str = ""
    understood: str = ""
    folded: bool = False
    stamp: str = ""

    @property
    def variant(self) -> Variant | None:
        return self.variants[self.chosen] if self.variants else None

    @property
    def status(self) -> Status:
        return self.variant.status if self.variant else "done" if self.settled else "streaming"

    @property
    def hits(self) -> Collection[dict[str, Any]]:
        return self.variant.hits if self.variant else ()

    def exchange(self) -> Exchange:
        at, char = datetime.fromisoformat(self.at), self.variant.char if self.variant else ""
        words = (self.id, at, self.user, char, self.status)
        return Exchange(*words, self.talk, self.speaker, self.attachments, self.stamp)


@dataclass(frozen=True, slots=True)
class Member:
    """A character in a talk of several: the name under which she speaks, and her folder ("" where only a front end knows her).
    One who is ``muted`` hears everything and speaks when she is asked to; ``talkativeness`` is how often she speaks by herself,
    0 … 1."""

    name: str
    character: str = ""
    muted: bool = False
    talkativeness: float = 0.5


@dataclass(frozen=True, slots=True)
class Cast:
    """Who is in a talk of several: characters, and people. ``order`` is how the next speaker is found; the higher ``edition`` is
    the newer. ``users`` are people with memories of their own, by name, who began it first; none: it is its owner's alone."""

    members: tuple[Member, ...] = ()
    people: tuple[str, ...] = ()
    order: Order = "natural"
    edition: int = 0
    users: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> Cast:
        members = tuple(Member(**{one.name: row[one.name] for one in fields(Member) if one.name in row})
                        for row in value["members"])  # fmt: skip
        rest = {one.name: value[one.name] for one in fields(cls) if one.name in value}
        return cls(**rest | {"members": members, "people": tuple(value.get("people", ()))})

    def others(self, *own: str) -> tuple[str, ...]:
        """The names of all but these."""
        return tuple(one for one in (*(member.name for member in self.members), *self.people) if one not in own)

    def row(self) -> dict[str, Any]:
        row = asdict(self) | {"members": [asdict(one) for one in self.members], "people": list(self.people)}
        return row if self.users else {key: value for key, value in row.items() if key != "users"}

    @property
    def is_shared(self) -> bool:
        """Whether what is said is passed on here, from memory to memory; else a front end tells each."""
        return any(one.character for one in self.members)


@dataclass(slots=True)
class Talk:
    """A root of the log with a name ("" is the first). ``leaf`` is the exchange that the next message follows.

    ``title`` is what its owner calls it. One that was put ``away`` is in no list until somebody speaks in it again. ``cast`` is
    who is in it where they are several; ``waiting`` are the exchanges of which the memories of the others are still to be told,
    with the operation that changed them last.
    """

    name: str
    leaf: str | None = None
    newest: str | None = None
    forked: bool = False
    title: str = ""
    pinned: bool = False
    away: bool = False
    cast: Cast | None = None
    waiting: dict[str, str] = field(default_factory=dict)

    def take(self, entry: Entry) -> None:
        """What an entry changes of it."""
        self.title, self.pinned = entry.get("title", self.title), entry.get("pinned", self.pinned)
        self.away = entry.get("away", self.away)
        self.cast = Cast.of(entry["cast"]) if "cast" in entry else self.cast
        self.waiting |= entry.get("waiting", {})
        for id_ in entry.get("passed", ()):
            self.waiting.pop(id_, None)

    def changed(self, op: str, id_: str) -> None:
        """An operation has changed an exchange, which is passed on to the others in it. What is new to them stays new."""
        if self.cast and self.cast.is_shared and (op in GONE or self.waiting.get(id_) != "exchange"):
            self.waiting[id_] = op

    def entry(self) -> Entry | None:
        """What the log has to say of it beside its exchanges, None for nothing."""
        entry: dict[str, Any] = {"title": self.title, "pinned": self.pinned, "away": self.away}
        entry |= {"cast": self.cast.row()} if self.cast else {}
        entry |= {"waiting": dict(self.waiting)} if self.waiting else {}
        return {"op": "talk", "talk": self.name, **entry} if any(entry.values()) else None


@dataclass(frozen=True, slots=True)
class Reread:
    """The wish that a model reads old talk: since a date ("": from the beginning), and, if ``again``, also what a model has read.

    It goes from the newest back; what is left is before ``until`` (epoch seconds, exchange), None at first.
    """

    since: str = ""
    again: bool = False
    until: tuple[float, str] | None = None


@dataclass(slots=True)
class Batch:
    """Exchanges that were imported together. They are hidden until all stand in their day files (``done``). Whole talks
    (``goes_on``) are gone on with from where they ended; what else was imported is memory alone."""

    talk: str
    at: str
    by: str
    ids: list[str]
    done: bool = False
    goes_on: bool = False


# ---- how they are written


def exchange_entry(node: Node) -> Entry:
    """The entry with which an exchange begins; what is as usual is left out."""
    entry = {"op": "exchange", "id": node.id, "parent": node.parent, "at": node.at, "user": node.user}
    return entry | ({"talk": node.talk} if node.talk else {}) | _beside_words(node)


def _beside_words(one: Node | Exchange) -> dict[str, Any]:
    parts = {"speaker": one.speaker, "attachments": list(map(asdict, one.attachments)), "stamp": one.stamp}
    return {key: value for key, value in parts.items() if value}


def variant_entry(id_: str, variant: Variant) -> Entry:
    """The entry of a reply; what is empty is left out."""
    entry = {"op": "variant", "id": id_, "char": variant.char, "status": variant.status}
    names = (one.name for one in fields(variant))
    return entry | {name: value for name in names if name not in entry and (value := getattr(variant, name))}


def reread_entry(wish: Reread | None) -> Entry:
    """The entry of a wish, or of its end."""
    return {"op": "reread", "since": wish.since if wish else None} | (
        {key: value for key, value in (("again", wish.again), ("until", wish.until)) if value} if wish else {}
    )


def edit_entry(exchange: Exchange) -> Entry:
    """The log entry of corrected words. It holds the whole exchange, whose other parts may be folded."""
    return {
        "op": "edit", "id": exchange.id, "at": exchange.at.isoformat(), "user": exchange.user, "char": exchange.char,
        "status": "done" if exchange.status == "streaming" else exchange.status, **_beside_words(exchange),
    }  # fmt: skip
