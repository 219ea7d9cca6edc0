"""The talks of a memory: how faces list them, what they are called, where something was said in them, and a whole one as a
text."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, Literal

from moechat.clock import local
from moechat.language.words import clauses, keywords
from moechat.model import Exchange
from moechat.store.kinds import Store
from moechat.turn import Shown
from moechat.when.names import has_han

Form = Literal["markdown", "text", "sillytavern", "json"]
ENDINGS: Mapping[Form, str] = {"markdown": "md", "text": "txt", "sillytavern": "jsonl", "json": "jsonl"}
UNNAMED = ("chat ", "chat:", "page ", "group:")
"""How the name of a talk begins that no person gave it: those of front ends, of the page, and of several."""
MAX_OWN_TITLE_WIDTH, TITLE_FROM = 32, 1_000
"""As long as a title gets by itself; a Chinese character is as wide as two letters."""
MAX_FIRST_MESSAGES = 3  # A talk is called after one of these: who begins says hello.
MAX_REASONS = 3  # Memories that an export tells of a reply.
SNIPPET_CHARS = 60  # Before and after what a search found.
_QUESTION = re.compile(r"[^。！？!?\n]*[？?]")


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
    there = [talk.name for talk in list(store.tree.talks.values()) if not talk.away]
    called = titles(store, there)
    summaries = [_summary(store, name, called[name], hidden, imports.get(name, ())) for name in there]
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


def _summary(
    store: Store, name: str, called: str, hidden: Collection[str], imports: Sequence[ImportedBatch]
) -> TalkSummary:
    tree = store.tree
    ids = [id_ for id_ in tree.path(name) if id_ not in hidden]
    ends = list(store.exchanges.of([*ids[-1:], *ids[:1]]).values())
    lines = f"{ends[0].sent}\n{ends[0].char}".split("\n") if ends else []
    text = next((line.strip() for line in lines if line.strip()), "")
    last = local(ends[-1].at, store.zone) if ends else None
    return TalkSummary(name, called, text, len(ids), last, imports, tree.talks[name].pinned)


def title(store: Store, name: str) -> str:
    """What a talk is called, as ``titles`` has it."""
    return titles(store, [name])[name]


def titles(store: Store, names: Iterable[str]) -> dict[str, str]:
    """What talks are called: as their owner calls them, by the name that a person gave them, else after what was said first in
    them; "" for the first talk, as long as nobody called it anything."""
    talks = store.tree.talks
    called = {name: (name in talks and talks[name].title) or name for name in names}
    return called | own_titles(store, [name for name in called if name.startswith(UNNAMED) and called[name] == name])


def own_titles(store: Store, names: Iterable[str]) -> dict[str, str]:
    """What talks are called after what was said first in them."""
    hidden = store.hidden()
    paths = {name: [id_ for id_ in store.tree.path(name) if id_ not in hidden] for name in names}
    firsts = {name: ids[: -MAX_FIRST_MESSAGES - 1 : -1] for name, ids in paths.items()}
    exchanges = store.exchanges.of([id_ for ids in firsts.values() for id_ in ids])
    return {
        name: own_title(tuple(exchanges[id_].sent for id_ in ids if id_ in exchanges)) for name, ids in firsts.items()
    }


@lru_cache(maxsize=1024)  # A list of talks is drawn with every turn.
def own_title(messages: Sequence[str]) -> str:
    """What a talk is called after the first messages of it, oldest first: by the first short question in the first one that
    tells anything, else by the clause of it with the most telling words. "" where nothing was said."""
    messages = [one[:TITLE_FROM] for one in messages]
    message = next((one for one in messages if len(keywords(one)) > 1), next(iter(messages), ""))
    questions = [one for text in _QUESTION.findall(message) if len(keywords(one := text.strip())) > 1]
    text = next(iter(questions), message)
    if not questions or _width(text) > MAX_OWN_TITLE_WIDTH:
        text = max(clauses(text), key=lambda one: len(keywords(one)), default=text)
    return _shortened(" ".join(text.split()))


def _width(text: str) -> int:
    return sum(1 + has_han(char) for char in text)


def _shortened(text: str) -> str:
    """As much of it as a title may have, Latin words whole."""
    if _width(text) <= MAX_OWN_TITLE_WIDTH:
        return text
    text = text[:MAX_OWN_TITLE_WIDTH]
    while _width(text) >= MAX_OWN_TITLE_WIDTH:
        text = text[:-1]
    whole = re.sub(r"\s+[a-zA-Z]*$", "", text) if text[-1:].isascii() else text
    return f"{whole or text}…"


# ---- where something was said


@dataclass(frozen=True)
class SaidPlace:
    """Where words were said: in which talk, by which ``side`` (``user`` or ``char``), and ``text`` around them. ``on_path``: the
    talk shows it as it stands; else it is on another branch."""

    talk: str
    title: str
    id: str
    at: datetime
    side: str
    text: str
    on_path: bool


@dataclass(frozen=True)
class FoundWords:
    """``total`` places, of which ``places`` are the newest."""

    total: int
    places: Sequence[SaidPlace]

    def as_json(self) -> dict[str, Any]:
        """Times are ISO."""
        return {"total": self.total, "places": [asdict(one) | {"at": one.at.isoformat()} for one in self.places]}


def found(store: Store, text: str, limit: int) -> FoundWords:
    """Where all these words (case aside) were said, in every talk that is in a list and on all branches, the newest first."""
    words, tree = text.casefold().split(), store.tree
    away = {talk.name for talk in list(tree.talks.values()) if talk.away}
    ids = [id_ for id_ in (store.search.said(words) if words else ()) if tree.talk_of(id_) not in away]
    exchanges = store.exchanges.of(ids[: limit or None])
    off, called = tree.off_path(), titles(store, {tree.talk_of(id_) for id_ in exchanges})
    places = [
        SaidPlace(
            (talk := tree.talk_of(id_)),
            called[talk],
            id_,
            local(one.at, store.zone),
            *_snippet(one, words),
            id_ not in off,
        )
        for id_, one in exchanges.items()
    ]
    return FoundWords(len(ids), places)


def _snippet(exchange: Exchange, words: Sequence[str]) -> tuple[str, str]:
    """(which side said it, the words around what was looked for)."""
    sides = (("user", exchange.sent), ("char", exchange.char))
    side, text = max(sides, key=lambda pair: sum(word in pair[1].casefold() for word in words))
    at = max(text.casefold().find(words[0]), 0)
    return side, text[max(0, at - SNIPPET_CHARS) : at + SNIPPET_CHARS]


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
