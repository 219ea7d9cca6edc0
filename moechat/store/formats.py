"""How exchanges, notes and facts are written: in the YAML files of an owner, ours and MoeChat's, and as JSON in databases; and
how a record that a hand changed is told.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, astuple, fields
from datetime import datetime, time, tzinfo
from operator import attrgetter
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar, get_args

from moechat.clock import local, moment_at, moment_of
from moechat.errors import DataError, shown
from moechat.model import (
    LONG_AGO,
    ActivationProfile,
    Attachment,
    Author,
    Episode,
    Event,
    EventStatus,
    Exchange,
    Fact,
    FactDraft,
    FactKind,
    Mark,
    RefusedItem,
)
from moechat.store.disk import day_of
from moechat.store.entries import (
    Form,
    Shape,
    is_count,
    is_id,
    is_moment,
    is_number,
    is_text,
    list_of,
    maybe,
    one_of,
    row_of,
)
from moechat.store.records import Block, Parsed, Record, entry
from moechat.when import Precision

T = TypeVar("T")
Noun = TypeVar("Noun", bound=Episode | Fact)
STORED_NOTICES = (
    "（现在没有连接语言模型，我只能从记忆里找话回答。要连接：在网页的「连接模型」里填写，"
    "或在 config.yaml 写 chat.base_url 和 chat.model，密钥放在环境变量 MOECHAT_API_KEY。）",
    "(No language model is connected: I can only answer from memory. To connect one, use “Connect a model” "
    "on the page, or set chat.base_url and chat.model in config.yaml, with the key in MOECHAT_API_KEY.)",
)
"""The note that no language model is connected, as earlier versions stored it at the end of a reply. It is no word of the
character's and nothing to remember."""
OWN = "own-"  # The record of an event that no exchange tells of begins so.
PROFILE = ("activation", "diffusion", "context_independence")
_MOECHAT_MSG = re.compile(
    r"时间：(?P<at>[^\n]*)\n\s*\{\{user\}\}：(?P<user>.*?)\n\s*\{\{char\}\}：(?P<char>.*)\Z", re.DOTALL
)


def known(moment: datetime) -> datetime | None:
    """The moment, or None for the first second of 1970.

    JSON, and files of older versions, write that second for no time at all.
    """
    return None if moment == LONG_AGO else moment


def without_notice(reply: str) -> tuple[str, str]:
    """A stored reply as (the reply, the notice in it or "")."""
    for notice in STORED_NOTICES if "MOECHAT_API_KEY" in reply else ():
        if notice in reply:
            return reply.replace(notice, "").rstrip(), notice
    return reply, ""


def text_hash(exchange: Exchange) -> str:
    """The hash by which a hand edit is noticed: of the words, and of what each attachment is."""
    return hashlib.blake2b(f"{exchange.sent}\0{exchange.char}".encode(), digest_size=6).hexdigest()


class Where(NamedTuple):
    """The record that a value stands in."""

    record: Record
    file: Path
    zone: tzinfo | None

    def fault(self, why: str, what: str = "record") -> DataError:
        """An error about the record, which is a ``what``."""
        return DataError(self.file, f"{what} {shown(self.record.key)}{why}", line=self.record.line or None)


def each(
    parsed: Parsed, file: Path, zone: tzinfo | None, read: Callable[[Where], T]
) -> tuple[list[T], list[DataError]]:
    """What ``read`` makes of every record of a file, and everything in the file that cannot be read."""
    values: list[T] = []
    problems = list(parsed.problems)
    for record in parsed.records:
        try:
            values.append(read(Where(record, file, zone)))
        except DataError as problem:
            problems.append(problem)
    return values, problems


def derived_id(text: str, sources: Sequence[str]) -> str:
    """The id of a fact or an episode. It follows from the words, so a record whose id does not fit was edited by hand."""
    first = sources[0] if sources else ""
    return hashlib.blake2b(f"{text}\0{first}".encode(), digest_size=5).hexdigest()


def exchange_entry(exchange: Exchange) -> bytes:
    value: dict[str, object] = {"time": exchange.at.isoformat()}
    if exchange.status != "done":
        value["status"] = exchange.status
    named = (("talk", exchange.talk), ("speaker", exchange.speaker), ("stamp", exchange.stamp))
    value |= {key: text for key, text in named if text}
    if exchange.attachments:
        value["attachments"] = [
            {key: text for key, text in asdict(one).items() if text} for one in exchange.attachments
        ]
    value["msg"] = {"user": Block(exchange.user), "char": Block(exchange.char)}
    return entry(exchange.id, value)


def exchange_from(where: Where) -> tuple[Exchange, str]:
    """(exchange, inline tag). Raises DataError where the record is not one of ours nor of MoeChat's."""
    value = where.record.value
    if not isinstance(value, Mapping) or "msg" not in value:
        raise where.fault(" has no `msg`")
    msg, tag = value["msg"], str(value.get("text_tag", ""))
    if isinstance(msg, str):
        return _from_moechat(msg, where), tag
    if not isinstance(msg, Mapping):
        raise where.fault(": `msg` needs `user:` and `char:`")
    at = _moment(value.get("time"), where)
    status = value.get("status", "done")
    user, char = str(msg.get("user", "") or ""), str(msg.get("char", "") or "")
    exchange = Exchange(
        where.record.key, at, user, char, status if status in ("stopped", "failed") else "done",
        str(value.get("talk", "") or ""), str(value.get("speaker", "") or ""), attachments_from(value.get("attachments")),
        str(value.get("stamp", "") or ""),
    )  # fmt: skip
    return exchange, tag


def attachments_from(value: object) -> tuple[Attachment, ...]:
    """Attachments from a list of mappings; what is none is left out."""
    names = [field.name for field in fields(Attachment)]
    maps = [one for one in value if isinstance(one, Mapping)] if isinstance(value, Sequence) else []
    return tuple(Attachment(**{name: str(one.get(name, "") or "") for name in names}) for one in maps)


def is_moechat(record: Record) -> bool:
    return isinstance(record.value, Mapping) and isinstance(record.value.get("msg"), str)


def _from_moechat(msg: str, where: Where) -> Exchange:
    match, key = _MOECHAT_MSG.match(msg.strip("\n")), where.record.key
    try:
        at = moment_at(float(key), where.zone)
    except ValueError:
        at = _moment(match["at"] if match else None, where)
    return Exchange(key, at, match["user"], match["char"]) if match else Exchange(key, at, msg, "")


# ---- facts and episodes: one table each. A new part is a field of the noun, and a line of its table


class Kind(NamedTuple):
    """A kind of value: how files have it, and how databases do (None: as it is).

    ``read`` gets the value (None where it is missing), the usual one, and where it stands. It raises DataError, or takes what
    makes no sense for the usual. ``is_data`` is the form that databases have.
    """

    write: Callable[[Any], Any]
    read: Callable[[Any, Any, Where], Any]
    is_data: Form
    to_data: Callable[[Any], Any] | None = None
    of_data: Callable[[Any], Any] | None = None


class Column(NamedTuple):
    """A part of a noun: its key in files ("": several values, or none, beside the others), its kind, the usual value, which files
    leave out unless it is ``shown``, and its name where the key is another."""

    key: str
    kind: Kind
    usual: Any = ""
    name: str = ""
    shown: bool = False


def _moment(text: object, where: Where) -> datetime:
    """A record without a time, added by hand, happened at noon of its file's day."""
    if text is None and (day := day_of(where.file.name)):
        return local(datetime.combine(day, time(12)), where.zone)
    try:
        return moment_of(str(text), where.zone)
    except ValueError:
        remedy = "write it as 2025-05-20T15:03:12+08:00"
        raise where.fault(f": time {shown(text)} is not a time; {remedy}") from None


def author_from(value: object, _: object, where: Where) -> Author:
    """What no ``by`` says is the owner's; notes that nobody has read have an empty one."""
    by = "owner" if value is None else value
    if by not in ("", *get_args(Author)):
        raise where.fault(f": nobody is called {shown(by)}; write one of {', '.join(get_args(Author))}")
    return by  # type: ignore[return-value]


def _span(value: object, usual: None, where: Where) -> tuple[datetime, datetime] | None:
    if not value:
        return usual
    first, _, last = str(value).partition("/")
    return _moment(first, where), _moment(last.rpartition("/")[2] or first, where)


def texts_from(value: object, *_: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,) if value else ()
    return tuple(str(item) for item in value) if isinstance(value, Sequence) else ()


def _fraction(value: object, usual: float = 0.5, *_: object) -> float:
    try:
        return min(1.0, max(0.0, float(str(value))))
    except ValueError:
        return usual


def _one_of(kinds: Any) -> Kind:
    values = get_args(kinds)
    return Kind(str, lambda value, usual, _: value if value in values else usual, one_of(*values))


_TEXT = Kind(str, lambda value, usual, _: usual if value is None else str(value), is_text)
_TEXTS = Kind(list, texts_from, list_of(is_text), list, tuple)
_MOMENT = Kind(
    datetime.isoformat, lambda value, usual, where: known(_moment(value, where)) if value else usual, maybe(is_moment),
    lambda moment: moment.isoformat() if moment else None, lambda text: known(datetime.fromisoformat(text)) if text else None,
)  # fmt: skip
_TOLD = _MOMENT._replace(read=lambda value, _, where: known(_moment(value, where)))
_SPAN = Kind(
    lambda span: "/".join(map(datetime.isoformat, span)), _span, maybe(row_of(is_moment, is_moment)),
    lambda span: [moment.isoformat() for moment in span] if span else None,
    lambda ends: (datetime.fromisoformat(ends[0]), datetime.fromisoformat(ends[1])) if ends else None,
)  # fmt: skip
_FRACTION = Kind("{:g}".format, _fraction, is_number)
_COUNT = Kind(
    str, lambda value, usual, _: int(text) if (text := str(value)).isdecimal() and len(text) < 5 else usual, is_count
)
_FLAG = Kind(
    lambda flag: str(flag).lower(), lambda value, usual, _: {"true": True, "false": False}.get(str(value), usual),
    one_of(True, False, None),
)  # fmt: skip
_POLARITY = Kind(str, lambda value, usual, _: -1 if value == "-1" else usual, is_number)
_AUTHOR = Kind(str, author_from, is_text)
_PROFILE = Kind(
    lambda profile: {key: f"{getattr(profile, key):g}" for key in PROFILE},
    lambda values, usual, _: ActivationProfile(*(_fraction(values.get(key), getattr(usual, key)) for key in PROFILE)),
    row_of(*[is_number] * len(PROFILE)),
    lambda profile: list(astuple(profile)), lambda values: ActivationProfile(*values),
)  # fmt: skip
_MARK = _one_of(Mark)
_KIND = Kind(lambda _: {}, lambda _, usual, __: usual, one_of("event", "reflection"))  # The list that it is in says it.


class Codec(Generic[Noun]):
    """The parts of a noun, in the order in which files have them. Some are its own, the others those of its draft, which is its
    part ``place``. Databases have them in the order of ``data``, some together in one of ``lists``, and whatever is new last."""

    def __init__(
        self, noun: type[Noun], draft: type, place: str, parts: Sequence[Column], data: str, **lists: Sequence[str]
    ) -> None:
        self._noun, self._draft, self._place, self._lists = noun, draft, place, lists
        own = {one.name for one in fields(noun)}
        named = {part.name or part.key: part for part in parts}
        path = {name: name if name in own else f"{place}.{name}" for name in named}
        listed = [one for names in lists.values() for one in names]
        kinds = {name: part.kind for name, part in named.items()}
        columns = list(dict.fromkeys([*data.split(), *(name for name in named if name not in listed)]))
        self._written = [(part, attrgetter(path[name])) for name, part in named.items()]
        self._read = {is_own: [one for one in named.items() if (one[0] in own) == is_own] for is_own in (True, False)}
        self._of_data = [(name, part.kind.of_data, part.usual, name in own) for name, part in named.items()]
        self._to_data = [
            (
                name,
                attrgetter(*(path[one] for one in lists.get(name, [name]))),
                list if name in lists else kinds[name].to_data,
            )
            for name in columns
        ]
        forms = {name: row_of(*(kinds[one].is_data for one in names)) for name, names in lists.items()}
        forms |= {f"{name}?" * (not part.shown) or name: part.kind.is_data for name, part in named.items()}
        self.shape = Shape({"id": is_id, **forms})
        """What databases have, and the id."""

    def written(self, one: Noun) -> dict[str, object]:
        """As people read it; what is usual is left out."""
        value: dict[str, object] = {}
        for part, of in self._written:
            held = of(one)
            if part.shown or held != part.usual:
                value |= {part.key: part.kind.write(held)} if part.key else part.kind.write(held)
        return value

    def parts(self, value: Mapping[str, object], where: Where, *, own: bool) -> dict[str, Any]:
        """Its ``own`` parts, or those of its draft, from the keys of ``written``; any may be missing. Raises DataError."""
        return {
            name: part.kind.read(value.get(part.key) if part.key else value, part.usual, where)
            for name, part in self._read[own]
        }

    def data(self, one: Noun) -> dict[str, object]:
        """As databases have it."""
        return {name: turn(of(one)) if turn else of(one) for name, of, turn in self._to_data}

    def of_data(self, id_: str, data: Mapping[str, Any]) -> Noun:
        """The inverse of ``data``, also of an earlier version's."""
        for name, names in self._lists.items():
            data = {**data, **dict(zip(names, data[name], strict=True))}
        own: dict[str, Any] = {"id": id_}
        draft: dict[str, Any] = {}
        for name, turn, usual, is_own in self._of_data:
            value = data.get(name, usual)
            (own if is_own else draft)[name] = turn(value) if turn and value is not usual else value
        own[self._place] = self._draft(**draft)
        return self._noun(**own)

    def json(self, one: Noun) -> str:
        """``data`` as text."""
        return json_text(self.data(one))

    def of_json(self, id_: str, text: str) -> Noun:
        return self.of_data(id_, json.loads(text))


EPISODE = Codec(Episode, Event, "event", (
    Column("text", _TEXT, shown=True), Column("told", _TOLD, None, "at"), Column("happened", _SPAN, None),
    Column("subject", _TEXT), Column("predicate", _TEXT), Column("object", _TEXT), Column("place", _TEXT), Column("scene", _TEXT),
    Column("insight", _TEXT), Column("topic", _TEXT), Column("related", _TEXTS, ()), Column("keywords", _TEXTS, ()),
    Column("evidence", _TEXTS, ()), Column("supersedes", _TEXTS, ()), Column("status", _one_of(EventStatus), "done"),
    Column("precision", _one_of(Precision), "unknown"), Column("depth", _COUNT, 0), Column("emotion", _TEXT),
    Column("expires", _MOMENT, None), Column("mark", _MARK), Column("quote", _TEXT), Column("confirmed", _FLAG, None),
    Column("", _PROFILE, ActivationProfile(), "profile"), Column("importance", _FRACTION, 0.5, shown=True),
    Column("sources", _TEXTS, (), shown=True), Column("by", _AUTHOR, shown=True), Column("", _KIND, "event", "kind"),
), "at kind by text spo importance keywords place topic sources happened insight scene related profile evidence depth expires "
    "status precision mark emotion confirmed supersedes", spo=("subject", "predicate", "object"))  # fmt: skip
FACT = Codec(Fact, FactDraft, "draft", (
    Column("text", _TEXT, shown=True), Column("time", _MOMENT, None, "at"),
    Column("kind", _one_of(FactKind), "attribute", shown=True), Column("entity", _TEXT, "user", shown=True),
    Column("keyword", _TEXT), Column("target", _TEXT), Column("source", _TEXTS, (), "sources"), Column("supersedes", _TEXTS, ()),
    Column("polarity", _POLARITY, 1), Column("single", _FLAG, False), Column("generic", _FLAG, False),
    Column("consolidated", _FLAG, False), Column("mark", _MARK), Column("quote", _TEXT), Column("start", _TEXT),
    Column("until", _TEXT), Column("confirmed", _FLAG, None),
    Column("by", _AUTHOR, shown=True),
), "at by supersedes consolidated confirmed text sources kind entity keyword target polarity single generic mark")  # fmt: skip


def event_from(value: Mapping[str, object], sources: tuple[str, ...], where: Where) -> Event:
    """What happened, from the keys of a record; all but ``text`` may be missing."""
    return Event(**EPISODE.parts(value, where, own=False) | {"sources": sources})


def fact_entry(fact: Fact) -> bytes:
    return entry(fact.id, FACT.written(fact))


def fact_from(where: Where) -> Fact:
    """A fact of ours, of MoeChat's ({text, time}), or one written by hand as `id: text`."""
    record = where.record
    value = record.value if isinstance(record.value, Mapping) else {"text": record.value}
    if not (text := str(value.get("text") or "").strip()):
        raise where.fault(" has no `text`", "fact")
    draft, own = FactDraft(**FACT.parts(value, where, own=False) | {"text": text}), FACT.parts(value, where, own=True)
    own |= {} if record.key == derived_id(text, draft.sources) else {"by": "owner"}
    return Fact(record.key, draft=draft, **own)


# ---- as JSON


def json_text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def exchange_data(exchange: Exchange) -> dict[str, object]:
    return asdict(exchange) | {"at": exchange.at.isoformat()}


def exchange_from_json(data: Mapping[str, Any]) -> Exchange:
    at, attachments = datetime.fromisoformat(data["at"]), attachments_from(data["attachments"])
    return Exchange(**{**data, "at": at, "attachments": attachments})


def refused_data(one: RefusedItem) -> dict[str, object]:
    return {
        "at": one.at.isoformat() if one.at else None,
        "kind": one.kind,
        "text": one.text,
        "why": one.why,
        "sources": one.sources,
    }


def refused_from_json(data: Mapping[str, Any]) -> RefusedItem:
    at, sources = datetime.fromisoformat(data["at"]), tuple(data["sources"])
    return RefusedItem(data["kind"], data["text"], data["why"], sources, at)
