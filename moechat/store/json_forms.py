"""Exchanges, episodes and facts as JSON: how databases and the record of reflections keep them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, astuple, fields
from datetime import datetime
from typing import Any

from moechat.model import ActivationProfile, Episode, Event, Exchange, Fact, FactDraft
from moechat.store.formats import attachments_from, known

_DRAFT_KEYS = [field.name for field in fields(FactDraft)]


def exchange_data(exchange: Exchange) -> dict[str, object]:
    return asdict(exchange) | {"at": exchange.at.isoformat()}


def exchange_from(data: Mapping[str, Any]) -> Exchange:
    at, attachments = datetime.fromisoformat(data["at"]), attachments_from(data["attachments"])
    return Exchange(**{**data, "at": at, "attachments": attachments})


def episode_data(episode: Episode) -> dict[str, object]:
    event = episode.event
    return {
        "at": _text(episode.at), "kind": episode.kind, "by": episode.by, "text": event.text,
        "spo": [event.subject, event.predicate, event.object], "importance": event.importance,
        "keywords": list(event.keywords), "place": event.place, "topic": event.topic, "sources": list(event.sources),
        "happened": [moment.isoformat() for moment in event.happened] if event.happened else None,
        "insight": event.insight, "scene": event.scene, "related": list(event.related),
        "profile": list(astuple(event.profile)), "evidence": list(episode.evidence), "depth": episode.depth,
        "expires": _text(episode.expires), "status": event.status, "precision": event.precision, "mark": event.mark,
        "emotion": event.emotion, "confirmed": episode.confirmed, "supersedes": list(episode.supersedes),
    }  # fmt: skip


def episode_from(id_: str, data: dict[str, Any]) -> Episode:
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
        id_, _moment(data["at"]), event, data["kind"], data["by"], tuple(data["evidence"]), data["depth"],
        _moment(data["expires"]), data.get("confirmed"), tuple(data.get("supersedes", ())),
    )  # fmt: skip


def fact_data(fact: Fact) -> dict[str, object]:
    own = {
        "at": _text(fact.at), "by": fact.by, "supersedes": fact.supersedes, "consolidated": fact.consolidated,
        "confirmed": fact.confirmed,
    }  # fmt: skip
    return own | asdict(fact.draft)


def fact_from(id_: str, data: dict[str, Any]) -> Fact:
    draft = FactDraft(**{key: data[key] for key in _DRAFT_KEYS} | {"sources": tuple(data["sources"])})
    return Fact(
        id_, _moment(data["at"]), draft, tuple(data["supersedes"]), data["by"], data["consolidated"], data["confirmed"],
    )  # fmt: skip


def _text(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None


def _moment(text: str | None) -> datetime | None:
    return known(datetime.fromisoformat(text)) if text else None
