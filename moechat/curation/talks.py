"""The talks of a memory: how faces list them, what they are called, and a whole one as a text."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from moechat.clock import local
from moechat.language.words import keywords
from moechat.store.kinds import Store
from moechat.turn import Shown

Form = Literal["markdown", "text", "sillytavern", "json"]
ENDINGS: Mapping[Form, str] = {"markdown": "md", "text": "txt", "sillytavern": "jsonl", "json": "jsonl"}
UNNAMED = ("chat ", "chat:", "page ", "group:")
"""How the name of a talk begins that no person gave it: those of front ends, of the page, and of several."""
MAX_OWN_TITLE_CHARS = 24
MAX_FIRST_MESSAGES = 3  # A talk is called after one of these: who begins says hello.
MAX_REASONS = 3  # Memories that an export tells of a reply.


@dataclass(frozen=True)
class ImportedBatch:
    """What was imported together, and when (in the owner's zone)."""

    batch: str
    at: datetime


@dataclass(frozen=True)
class TalkSummary:
    """A talk: what it is called, the first line of it, how many exchanges are on its path, and the time of the last (None: there
    is none)."""

    name: str
    title: str
    first: str
    exchanges: int
    last: datetime | None
    imports: Sequence[ImportedBatch]
    pinned: bool = False


def talks(store: Store) -> list[TalkSummary]:
    """All talks by the time of their last exchange, those that are pinned at the end. Left out are talks that were put away, and
    those of which all was taken back, except the first."""
    hidden, imports = store.hidden(), imports_by_talk(store)
    shown_talks = [talk for talk in list(store.tree.talks.values()) if not talk.away]
    summaries = [_summary(store, talk.name, hidden, imports.get(talk.name, ())) for talk in shown_talks]
    shown = [one for one in summaries if one.exchanges or not one.name]
    return sorted(shown, key=lambda one: (one.pinned, one.last.timestamp() if one.last else -math.inf, one.name))


def imports_by_talk(store: Store) -> dict[str, list[ImportedBatch]]:
    """What was imported to each talk and not taken back."""
    tree, taken_out = store.tree, store.tree.taken_out()
    imports: dict[str, list[ImportedBatch]] = {}
    for key, batch in list(tree.batches.items()):
        if taken_out.isdisjoint(batch.ids):
            one = ImportedBatch(key, local(datetime.fromisoformat(batch.at), store.zone))
            for name in dict.fromkeys(map(tree.talk_of, batch.ids)):
                imports.setdefault(name, []).append(one)
    return imports


def _summary(store: Store, name: str, hidden: Collection[str], imports: Sequence[ImportedBatch]) -> TalkSummary:
    tree = store.tree
    ids = [id_ for id_ in tree.path(name) if id_ not in hidden]
    ends = list(store.exchanges.of([*ids[-1:], *ids[:1]]).values())
    lines = f"{ends[0].sent}\n{ends[0].char}".split("\n") if ends else []
    text = next((line.strip() for line in lines if line.strip()), "")
    last = local(ends[-1].at, store.zone) if ends else None
    return TalkSummary(name, title(store, name), text, len(ids), last, imports, tree.talks[name].pinned)


def title(store: Store, name: str) -> str:
    """What a talk is called: as its owner calls it, by the name that a person gave it, else after what was said first in it; ""
    for the first talk, as long as nobody called it anything."""
    talk = store.tree.talks.get(name)
    if talk and talk.title:
        return talk.title
    if not name.startswith(UNNAMED):
        return name
    hidden = store.hidden()
    ids = [id_ for id_ in store.tree.path(name) if id_ not in hidden][-MAX_FIRST_MESSAGES:]
    messages = [" ".join(one.sent.split()) for one in store.exchanges.of(ids[::-1]).values()]
    text = next((one for one in messages if len(keywords(one)) > 1), next(iter(messages), ""))
    return text if len(text) <= MAX_OWN_TITLE_CHARS else f"{text[:MAX_OWN_TITLE_CHARS].rstrip(' ,.;，。；、')}…"


def talk_as_json(talk: TalkSummary) -> dict[str, object]:
    """``name`` is "" for the first talk; times are ISO."""
    return {
        "name": talk.name, "title": talk.title, "pinned": talk.pinned, "first": talk.first, "exchanges": talk.exchanges,
        "last": talk.last.isoformat() if talk.last else None,
        "imports": [{"batch": one.batch, "at": one.at.isoformat()} for one in talk.imports],
    }  # fmt: skip


# ---- a talk as a text


def written(rows: Sequence[Shown], heading: str, user: str, char: str, form: Form, *, reasons: bool = False) -> str:
    """A talk as ``markdown`` or plain ``text`` to read, as a chat of SillyTavern's, or as lines of ``json`` that ``import talk``
    reads (``time``, ``who``, ``text``). ``reasons``: what a reply rests on stands below it, where people read."""
    if form == "sillytavern":
        return _tavern(rows, user, char)
    if form == "json":
        return "".join(
            _line({"time": one.exchange.at.isoformat(), "who": who, "text": text})
            for one in rows
            for who, text in _sides(one, user, char)
        )
    return _readable(rows, user, char, heading, form, reasons=reasons)


def _readable(rows: Sequence[Shown], user: str, char: str, heading: str, form: Form, *, reasons: bool) -> str:
    is_markdown = form == "markdown"
    parts = [f"# {heading}" if is_markdown else heading]
    for row in rows:
        for who, text in _sides(row, user, char):
            at = f"{row.exchange.at:%Y-%m-%d %H:%M}"
            parts.append(f"**{who}** · {at}\n\n{text}" if is_markdown else f"[{at}] {who}: {text}")
        grounds = [str(ground["text"]) for ground in row.grounds if ground.get("text")] if reasons else []
        parts += [f"{'> ' if is_markdown else '    ← '}{' '.join(text.split())}" for text in grounds[:MAX_REASONS]]
    return "\n\n".join(parts) + "\n"


def _tavern(rows: Sequence[Shown], user: str, char: str) -> str:
    began = rows[0].exchange.at.isoformat() if rows else ""
    lines: list[object] = [{"user_name": user, "character_name": char, "create_date": began, "chat_metadata": {}}]
    lines += [
        {"name": who, "is_user": who != char, "is_system": False, "send_date": row.exchange.at.isoformat(), "mes": text}
        for row in rows
        for who, text in _sides(row, user, char)
    ]
    return "".join(map(_line, lines))


def _sides(row: Shown, user: str, char: str) -> list[tuple[str, str]]:
    exchange = row.exchange
    sides = [(exchange.speaker or user, exchange.sent), (char, exchange.heard)]
    return [(who, text) for who, text in sides if text.strip()]


def _line(value: object) -> str:
    return json.dumps(value, ensure_ascii=False) + "\n"
