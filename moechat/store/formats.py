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
from pathlib import Path
from typing import Any, TypeVar, get_args

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
from moechat.store.records import Block, Parsed, Record, entry
from moechat.when import Precision

T = TypeVar("T")
STORED_NOTICES = (
    "（现在没有连接语言模型，我只能从记忆里找话回答。要连接：在网页的「连接模型」里填写，"
    "或在 config.yaml 写 chat.base_url 和 chat.model，密钥放在环境变量 MOECHAT_API_KEY。）",
    "(No language model is connected: I can only answer from memory. To connect one, use “Connect a model” "
    "on the page, or set chat.base_url and chat.model in config.yaml, with the key in MOECHAT_API_KEY.)",
)
"""The note that no language model is connected, as earlier versions stored it at the end of a reply. It is no word of the
character's and nothing to remember."""
_DRAFT_KEYS = [field.name for field in fields(FactDraft)]
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


def each(
    parsed: Parsed, file: Path, zone: tzinfo | None, read: Callable[[Record, Path, tzinfo | None], T]
) -> tuple[list[T], list[DataError]]:
    """What ``read`` makes of every record of a file, and everything in the file that cannot be read."""
    values: list[T] = []
    problems = list(parsed.problems)
    for record in parsed.records:
        try:
            values.append(read(record, file, zone))
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
    value |= {key: text for key, text in (("talk", exchange.talk), ("speaker", exchange.speaker)) if text}
    if exchange.attachments:
        value["attachments"] = [
            {key: text for key, text in asdict(one).items() if text} for one in exchange.attachments
        ]
    value["msg"] = {"user": Block(exchange.user), "char": Block(exchange.char)}
    return entry(exchange.id, value)


def exchange_from(record: Record, file: Path, zone: tzinfo | None) -> tuple[Exchange, str]:
    """(exchange, inline tag). Raises DataError where the record is not one of ours nor of MoeChat's."""
    value = record.value
    if not isinstance(value, Mapping) or "msg" not in value:
        raise DataError(file, f"record {shown(record.key)} has no `msg`", line=record.line or None)
    msg, tag = value["msg"], str(value.get("text_tag", ""))
    if isinstance(msg, str):
        return _from_moechat(record, msg, file, zone), tag
    if not isinstance(msg, Mapping):
        raise DataError(file, f"record {shown(record.key)}: `msg` needs `user:` and `char:`", line=record.line or None)
    at = _moment(value.get("time"), record, file, zone)
    status = value.get("status", "done")
    user, char = str(msg.get("user", "") or ""), str(msg.get("char", "") or "")
    exchange = Exchange(
        record.key, at, user, char, status if status in ("stopped", "failed") else "done",
        str(value.get("talk", "") or ""), str(value.get("speaker", "") or ""), attachments_from(value.get("attachments")),
    )  # fmt: skip
    return exchange, tag


def attachments_from(value: object) -> tuple[Attachment, ...]:
    """Attachments from a list of mappings; what is none is left out."""
    names = [field.name for field in fields(Attachment)]
    maps = [one for one in value if isinstance(one, Mapping)] if isinstance(value, Sequence) else []
    return tuple(Attachment(**{name: str(one.get(name, "") or "") for name in names}) for one in maps)


def is_moechat(record: Record) -> bool:
    return isinstance(record.value, Mapping) and isinstance(record.value.get("msg"), str)


def _from_moechat(record: Record, msg: str, file: Path, zone: tzinfo | None) -> Exchange:
    match = _MOECHAT_MSG.match(msg.strip("\n"))
    try:
        at = moment_at(float(record.key), zone)
    except ValueError:
        at = _moment(match["at"] if match else None, record, file, zone)
    if match is None:
        return Exchange(record.key, at, msg, "")
    return Exchange(record.key, at, match["user"], match["char"])


def _moment(text: object, record: Record, file: Path, zone: tzinfo | None) -> datetime:
    """A record without a time, added by hand, happened at noon of its file's day."""
    if text is None and (day := day_of(file.name)):
        return local(datetime.combine(day, time(12)), zone)
    try:
        return moment_of(str(text), zone)
    except ValueError:
        remedy = "write it as 2025-05-20T15:03:12+08:00"
        raise DataError(
            file, f"record {shown(record.key)}: time {shown(text)} is not a time; {remedy}", line=record.line
        ) from None


def notes_entry(id_: str, tag: str, keywords: Sequence[str], by: str, episodes: Sequence[Episode]) -> bytes:
    value: dict[str, object] = {"text_tag": tag}
    if keywords:
        value["keywords"] = list(keywords)
    value["by"] = by
    for kind in ("event", "reflection"):
        if values := [episode_value(e) for e in episodes if e.kind == kind]:
            value[f"{kind}s"] = values
    return entry(id_, value)


def episode_value(episode: Episode) -> dict[str, object]:
    """An episode as people read it; what is empty, or as it is by default, is left out."""
    event = episode.event
    value: dict[str, object] = {"id": episode.id, "text": event.text}
    if episode.at:
        value["told"] = episode.at.isoformat()
    if event.happened:
        value["happened"] = "/".join(moment.isoformat() for moment in event.happened)
    optional = {
        "subject": event.subject, "predicate": event.predicate, "object": event.object, "place": event.place,
        "scene": event.scene, "insight": event.insight, "topic": event.topic, "related": list(event.related),
        "keywords": list(event.keywords), "evidence": list(episode.evidence), "supersedes": list(episode.supersedes),
        "status": event.status if event.status != "done" else "",
        "precision": event.precision if event.precision != "unknown" else "",
        "depth": str(episode.depth) if episode.depth else "",
        "emotion": event.emotion, "expires": episode.expires.isoformat() if episode.expires else "",
        "mark": event.mark, "confirmed": _confirmed_text(episode),
    }  # fmt: skip
    value |= {key: content for key, content in optional.items() if content}
    if event.profile != ActivationProfile():
        value |= {key: f"{getattr(event.profile, key):g}" for key in PROFILE}
    return value | {"importance": f"{event.importance:g}", "sources": list(event.sources), "by": episode.by}


def _confirmed_text(finding: Fact | Episode) -> str:
    return "" if finding.confirmed is None else "true" if finding.confirmed else "false"


def _mark_of(value: Mapping[str, object]) -> Mark:
    return _one_of(value.get("mark"), get_args(Mark), "")  # type: ignore[return-value]


def _by_of(value: Mapping[str, object], record: Record, file: Path) -> Author:
    """Who a finding is by. What no ``by`` says is the owner's; notes that nobody has read have an empty one."""
    by = value.get("by", "owner")
    if by not in ("", *get_args(Author)):
        remedy = f"write one of {', '.join(get_args(Author))}"
        raise DataError(file, f"record {shown(record.key)}: nobody is called {shown(by)}; {remedy}", line=record.line)
    return by  # type: ignore[return-value]


def _confirmed_of(value: Mapping[str, object]) -> bool | None:
    return {"true": True, "false": False}.get(str(value.get("confirmed")))


def _one_of(value: object, known_values: Sequence[str], usual: str) -> str:
    return value if isinstance(value, str) and value in known_values else usual


def notes_from(
    record: Record, file: Path, zone: tzinfo | None
) -> tuple[tuple[str, str, tuple[str, ...], str], list[Episode]]:
    """((exchange id, tag, keywords, by), episodes)."""
    value = record.value
    if not isinstance(value, Mapping):
        raise DataError(file, f"notes of {shown(record.key)} need `text_tag:`", line=record.line or None)
    note = (record.key, str(value.get("text_tag", "")), _texts(value.get("keywords")), _by_of(value, record, file))
    episodes = [
        _episode_from(item, kind, record, file, zone)
        for kind in ("event", "reflection")
        for item in value.get(f"{kind}s") or []
    ]
    return note, episodes


def _episode_from(value: object, kind: str, record: Record, file: Path, zone: tzinfo | None) -> Episode:
    if not isinstance(value, Mapping) or not value.get("text"):
        raise DataError(file, f"an event of {shown(record.key)} has no `text`", line=record.line or None)
    sources = _texts(value.get("sources")) or (record.key,)
    event = event_from(value, sources, record, file, zone)
    id_ = str(value.get("id") or derived_id(event.text, sources))
    by = _by_of(value, record, file)
    expires = _moment(value["expires"], record, file, zone) if value.get("expires") else None
    return Episode(
        id_, _moment(value.get("told"), record, file, zone), event, kind,  # type: ignore[arg-type]
        by if id_ == derived_id(event.text, sources) else "owner",
        _texts(value.get("evidence")), _count(value.get("depth")), expires, _confirmed_of(value),
        _texts(value.get("supersedes")),
    )  # fmt: skip


def event_from(
    value: Mapping[str, object], sources: tuple[str, ...], record: Record, file: Path, zone: tzinfo | None
) -> Event:
    """What happened, from the keys of ``episode_value``; all but ``text`` may be missing."""
    happened = None
    if span := value.get("happened"):
        ends = str(span).split("/")
        happened = (_moment(ends[0], record, file, zone), _moment(ends[-1], record, file, zone))
    usual = ActivationProfile()
    profile = ActivationProfile(*(_fraction(value.get(key), getattr(usual, key)) for key in PROFILE))
    return Event(
        str(value["text"]), sources, str(value.get("subject", "")), str(value.get("predicate", "")),
        str(value.get("object", "")), _fraction(value.get("importance")), _texts(value.get("keywords")),
        str(value.get("place", "")), str(value.get("topic", "")), happened, str(value.get("insight", "")),
        str(value.get("scene", "")), _texts(value.get("related")), profile,
        _one_of(value.get("status"), get_args(EventStatus), "done"),  # type: ignore[arg-type]
        _one_of(value.get("precision"), get_args(Precision), "unknown"),  # type: ignore[arg-type]
        _mark_of(value), str(value.get("emotion", "")),
    )  # fmt: skip


def fact_entry(fact: Fact) -> bytes:
    d = fact.draft
    value: dict[str, object] = {"text": d.text}
    if fact.at:
        value["time"] = fact.at.isoformat()
    value |= {"kind": d.kind, "entity": d.entity}
    optional = {
        "keyword": d.keyword,
        "target": d.target,
        "source": list(d.sources),
        "supersedes": list(fact.supersedes),
    }
    value |= {key: content for key, content in optional.items() if content}
    if d.polarity < 0:
        value["polarity"] = "-1"
    value |= {key: "true" for key, holds in (
        ("single", d.single), ("generic", d.generic), ("consolidated", fact.consolidated)
    ) if holds}  # fmt: skip
    standing = {"mark": d.mark, "confirmed": _confirmed_text(fact)}
    value |= {key: content for key, content in standing.items() if content}
    return entry(fact.id, value | {"by": fact.by})


def fact_from(record: Record, file: Path, zone: tzinfo | None) -> Fact:
    """A fact of ours, of MoeChat's ({text, time}), or one written by hand as `id: text`."""
    value = record.value if isinstance(record.value, Mapping) else {"text": record.value}
    text = str(value.get("text") or "").strip()
    if not text:
        raise DataError(file, f"fact {shown(record.key)} has no `text`", line=record.line or None)
    sources = _texts(value.get("source"))
    draft = FactDraft(
        text, sources, _one_of(value.get("kind"), get_args(FactKind), "attribute"),  # type: ignore[arg-type]
        str(value.get("entity", "user")), str(value.get("keyword", "")), str(value.get("target", "")),
        -1 if value.get("polarity") == "-1" else 1, value.get("single") == "true", value.get("generic") == "true",
        _mark_of(value),
    )  # fmt: skip
    at = known(_moment(value["time"], record, file, zone)) if value.get("time") else None
    by = _by_of(value, record, file)
    if record.key != derived_id(text, sources):
        by = "owner"
    consolidated = value.get("consolidated") == "true"
    links = _texts(value.get("supersedes"))
    return Fact(record.key, at, draft, links, by, consolidated, _confirmed_of(value))


def _texts(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,) if value else ()
    return tuple(str(item) for item in value) if isinstance(value, Sequence) else ()


def _fraction(value: object, usual: float = 0.5) -> float:
    try:
        return min(1.0, max(0.0, float(str(value))))
    except ValueError:
        return usual


def _count(value: object) -> int:
    return int(text) if (text := str(value)).isdecimal() and len(text) < 5 else 0


# ---- as JSON


def json_text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def exchange_data(exchange: Exchange) -> dict[str, object]:
    return asdict(exchange) | {"at": exchange.at.isoformat()}


def exchange_from_json(data: Mapping[str, Any]) -> Exchange:
    at, attachments = datetime.fromisoformat(data["at"]), attachments_from(data["attachments"])
    return Exchange(**{**data, "at": at, "attachments": attachments})


def episode_data(episode: Episode) -> dict[str, object]:
    event = episode.event
    return {
        "at": _iso(episode.at), "kind": episode.kind, "by": episode.by, "text": event.text,
        "spo": [event.subject, event.predicate, event.object], "importance": event.importance,
        "keywords": list(event.keywords), "place": event.place, "topic": event.topic, "sources": list(event.sources),
        "happened": [moment.isoformat() for moment in event.happened] if event.happened else None,
        "insight": event.insight, "scene": event.scene, "related": list(event.related),
        "profile": list(astuple(event.profile)), "evidence": list(episode.evidence), "depth": episode.depth,
        "expires": _iso(episode.expires), "status": event.status, "precision": event.precision, "mark": event.mark,
        "emotion": event.emotion, "confirmed": episode.confirmed, "supersedes": list(episode.supersedes),
    }  # fmt: skip


def episode_from_json(id_: str, data: dict[str, Any]) -> Episode:
    """The inverse of ``episode_data``, also of an earlier version's."""
    happened = data["happened"]
    subject, predicate, object_ = data["spo"]
    event = Event(
        data["text"], tuple(data["sources"]), subject, predicate, object_, importance=data["importance"],
        keywords=tuple(data["keywords"]), place=data["place"], topic=data["topic"],
        happened=(datetime.fromisoformat(happened[0]), datetime.fromisoformat(happened[1])) if happened else None,
        insight=data["insight"], scene=data["scene"], related=tuple(data["related"]),
        profile=ActivationProfile(*data["profile"]),
        status=data.get("status", "done"), precision=data.get("precision", "unknown"),
        mark=data.get("mark", ""), emotion=data.get("emotion", ""),
    )  # fmt: skip
    return Episode(
        id_, _known(data["at"]), event, data["kind"], data["by"], tuple(data["evidence"]), data["depth"],
        _known(data["expires"]), data.get("confirmed"), tuple(data.get("supersedes", ())),
    )  # fmt: skip


def fact_data(fact: Fact) -> dict[str, object]:
    own = {
        "at": _iso(fact.at), "by": fact.by, "supersedes": fact.supersedes, "consolidated": fact.consolidated,
        "confirmed": fact.confirmed,
    }  # fmt: skip
    return own | asdict(fact.draft)


def fact_from_json(id_: str, data: dict[str, Any]) -> Fact:
    draft = FactDraft(**{key: data[key] for key in _DRAFT_KEYS} | {"sources": tuple(data["sources"])})
    return Fact(
        id_, _known(data["at"]), draft, tuple(data["supersedes"]), data["by"], data["consolidated"], data["confirmed"],
    )  # fmt: skip


def _iso(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None


def _known(text: str | None) -> datetime | None:
    return known(datetime.fromisoformat(text)) if text else None


def refused_data(one: RefusedItem) -> dict[str, object]:
    return {"at": _iso(one.at), "kind": one.kind, "text": one.text, "why": one.why, "sources": one.sources}


def refused_from_json(data: Mapping[str, Any]) -> RefusedItem:
    at, sources = datetime.fromisoformat(data["at"]), tuple(data["sources"])
    return RefusedItem(data["kind"], data["text"], data["why"], sources, at)
