"""Talk of other programs in JSON: lines of our own, chats of SillyTavern, the exports of ChatGPT, Open WebUI and Character.AI."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from typing import Any

from moechat.cards.book import only
from moechat.clock import moment_of
from moechat.compat.past import Line, Past, Talk, Who
from moechat.errors import DataError
from moechat.store.plain import json_of, json_value

EXAMPLE = '{"time": "2021-03-04T20:15:00", "who": "user", "text": "…"}'
Row = Mapping[str, Any]
_TAVERN_TIMES = ("%B %d, %Y %I:%M%p", "%b %d, %Y %I:%M%p", "%Y-%m-%d@%Hh%Mm%Ss", "%Y-%m-%d @%Hh %Mm %Ss")
_MILLISECONDS = re.compile(r"(@\d{1,2}h ?\d{1,2}m ?\d{1,2}s) ?\d{1,3}ms")
_ROLES: Mapping[str, Who] = {"user": "user", "assistant": "char"}


# ---- lines


def lines(text: str, past: Past) -> list[Talk]:
    return [timed(said_in(numbered(text), past, lambda line: named_line(_object(line), past)))]


def timed(messages: Iterator[Line]) -> Talk:
    """Lines in order of time."""
    return Talk("", sorted(messages, key=lambda line: line.at or datetime.min.replace(tzinfo=UTC)))


def numbered(text: str) -> Iterator[tuple[int, str]]:
    return ((number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip())


def said_in(rows: Iterator[tuple[int, Any]], past: Past, make: Callable[[Any], Line | None]) -> Iterator[Line]:
    """What ``make`` makes of the rows, None for what is no talk; those that it cannot read are told."""
    for number, row in rows:
        try:
            if (line := make(row)) is not None:
                yield line
        except ValueError as error:
            past.problems.append(DataError(past.path, str(error), line=number))


def _object(text: str) -> dict[str, Any]:
    """Raises ValueError with the reason and the remedy."""
    try:
        row = json_value(text)
    except ValueError:
        raise ValueError(f"it is no JSON; write a line such as {EXAMPLE}") from None
    if not isinstance(row, dict):
        raise ValueError(f"it is no JSON object; write a line such as {EXAMPLE}")
    return row


def named_line(row: Row, past: Past) -> Line:
    """A line of ``time``, ``who`` and ``text``. Raises ValueError with the reason and the remedy."""
    for key in ("time", "who", "text"):
        if not isinstance(row.get(key), str):
            raise ValueError(f"{key} is missing, or is no text; write a line such as {EXAMPLE}")
    try:
        at = moment_of(row["time"], past.zone)
    except ValueError:
        raise ValueError(f"time = {row['time'][:40]!r}: expects a time such as '2021-03-04T20:15:00'") from None
    if not row["text"].strip():
        raise ValueError("text is empty; write what was said, or leave the line out")
    return Line(at, row["who"].strip(), row["text"])


# ---- SillyTavern


def sillytavern(text: str, past: Past) -> list[Talk]:
    """Other replies that were swiped away are branches."""
    messages: list[Line] = []
    last = datetime.fromtimestamp(0, UTC)

    def made(line: str) -> Line | None:
        nonlocal last
        row = _object(line)
        if "mes" not in row:  # the head of the chat
            past.partner = only(row.get("character_name"), str)
            return None
        if row.get("is_system") is True:
            past.left_out["hidden or of the system"] += 1
            return None
        if not (words := only(row["mes"], str)).strip():
            raise ValueError("mes is empty")
        last = max(_tavern_time(row.get("send_date"), past.zone), last)
        who: Who = "user" if row.get("is_user") is True else "char"
        before = messages[-1].key if messages else ""
        chosen = Line(last, only(row.get("name"), str), words, who, str(len(messages)), before)
        others = [one for one in only(row.get("swipes"), list) if isinstance(one, str) and one.strip() and one != words]
        messages.extend(chosen._replace(text=one, key=f"{len(messages)}.{n}") for n, one in enumerate(others))
        messages.append(chosen := chosen._replace(key=str(len(messages))))
        return chosen

    for _ in said_in(numbered(text), past, made):
        pass
    return [Talk("", messages)]


def _tavern_time(value: Any, zone: tzinfo | None) -> datetime:
    """A time as SillyTavern has written it over the years. Raises ValueError."""
    if (at := _unix(value)) is not None:
        return at
    text = _MILLISECONDS.sub(r"\1", str(value).strip())
    if text.isdecimal() and len(text) < 15:
        return _tavern_time(int(text), zone)
    for form in _TAVERN_TIMES:
        try:
            return moment_of(datetime.strptime(text, form).isoformat(), zone)
        except ValueError:
            continue
    try:
        return moment_of(text, zone)
    except ValueError:
        raise ValueError(f"send_date = {text[:40]!r}: expects a time such as '2021-03-04T20:15:00'") from None


def _unix(value: Any) -> datetime | None:
    """The time of a number of seconds or milliseconds."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e14:
        return None
    return datetime.fromtimestamp(value / (1000 if value > 1e11 else 1), UTC)


# ---- exports of many conversations


def chatgpt(text: str, past: Past) -> list[Talk]:
    return _talks(
        text, past, "mapping", lambda one: _tree(one, past, one["mapping"], one.get("current_node"), _of_chatgpt)
    )


def open_webui(text: str, past: Past) -> list[Talk]:
    def talk(one: Row) -> Talk:
        history = only(one["chat"].get("history"), dict)
        return _tree(one, past, only(history.get("messages"), dict), history.get("currentId"), _of_open_webui)

    return _talks(text, past, "chat", talk)


def _talks(text: str, past: Past, key: str, make: Callable[[Any], Talk]) -> list[Talk]:
    """The conversations of a file: objects that have another under ``key``."""
    value = json_of(text, past.path)
    rows = value if isinstance(value, list) else [value]
    talks = [make(one) for one in rows if isinstance(one, dict) and isinstance(one.get(key), dict)]
    past.left_out["no talk"] += len(rows) - len(talks)
    return talks


def _tree(talk: Row, past: Past, nodes: Row, current: Any, read: Callable[[Row], Line | None]) -> Talk:
    """The messages of a tree, those on the way to the current one last. What is no message is passed over: what follows it
    follows the one before."""
    way: dict[str, None] = {}
    while isinstance(current, str) and current in nodes and current not in way:
        way[current] = None
        current = _parent(nodes[current])
    lines_of = {id_: line for id_, node in nodes.items() if (line := read(only(node, dict)))}
    past.left_out["tools, system, empty"] += len(nodes) - len(lines_of)
    before: dict[str, str] = {}  # the nearest message above each node

    def above(id_: str) -> str:
        passed, up = dict[str, None](), _parent(nodes[id_])
        while up in nodes and up not in lines_of and up not in before and up not in passed:
            passed[up], up = None, _parent(nodes[up])
        nearest = up if up in lines_of else before.get(up, "")
        before.update(dict.fromkeys(passed, nearest))
        return nearest

    ids = [*(id_ for id_ in lines_of if id_ not in way), *(id_ for id_ in reversed(way) if id_ in lines_of)]
    start = _time(talk.get("create_time") or talk.get("created_at"))
    return Talk(only(talk.get("title"), str), [lines_of[id_]._replace(key=id_, after=above(id_)) for id_ in ids], start)


def _parent(node: Any) -> str:
    row = only(node, dict)
    return only(row.get("parent") or row.get("parentId"), str)


def _of_chatgpt(node: Row) -> Line | None:
    message = only(node.get("message"), dict)
    role, content = only(message.get("author"), dict).get("role"), only(message.get("content"), dict)
    parts = [part if isinstance(part, str) else _part(only(part, dict)) for part in only(content.get("parts"), list)]
    files = [only(one, dict).get("name") for one in only(only(message.get("metadata"), dict).get("attachments"), list)]
    return _said(role, [*parts, *(_file(name) for name in files if name)], message.get("create_time"))


def _part(part: Row) -> str:
    """What is no text is named; what was spoken has its words."""
    if isinstance(part.get("text"), str):
        return str(part["text"])
    return _file(str(part.get("content_type", "")).removesuffix("_asset_pointer").replace("_", " ")) if part else ""


def _file(name: object) -> str:
    return f"[{str(name).strip()[:80]}]"


def _of_open_webui(node: Row) -> Line | None:
    content = node.get("content")
    parts = [only(content, str)] if not isinstance(content, list) else [_part(only(one, dict)) for one in content]
    files = [only(one, dict) for one in only(node.get("files"), list)]
    names = [_file(one.get("name") or one.get("type") or "file") for one in files]
    return _said(node.get("role"), [*parts, *names], node.get("timestamp"))


def _said(role: Any, parts: Sequence[str], at: Any) -> Line | None:
    words = "\n".join(filter(None, parts)).strip()
    who = _ROLES.get(only(role, str))
    return Line(_time(at), str(role), words, who) if who and words else None


def _time(value: Any) -> datetime | None:
    """A moment in seconds, milliseconds or ISO form, None where it is none."""
    if isinstance(value, str):
        try:
            return moment_of(value, UTC)
        except ValueError:
            return None
    return _unix(value)


# ---- Character.AI


def character_ai(text: str, past: Past) -> list[Talk]:
    """Chats are lists of ``msgs`` (before 2024) or of ``turns``, wherever they lie; of a turn all candidates are read."""
    waiting, talks = [(json_of(text, past.path), "")], list[Talk]()
    while waiting:
        value, title = waiting.pop()
        if isinstance(value, list):
            waiting += [(one, title) for one in reversed(value)]
        elif isinstance(value, dict):
            title = next((t for key in ("title", "name", "character_name") if (t := only(value.get(key), str))), title)
            rows = value.get("msgs") or value.get("turns")
            if isinstance(rows, list):
                talks.append(Talk(title, list(_turns(rows, past))))
            else:
                waiting += [(one, title) for one in reversed(value.values()) if isinstance(one, dict | list)]
    return talks


def _turns(rows: Sequence[Any], past: Past) -> Iterator[Line]:
    turns = sorted(
        (only(row, dict) for row in rows), key=lambda row: str(row.get("create_time") or row.get("created") or "")
    )
    last = ""
    for number, row in enumerate(turns):
        author = only(row.get("src") or row.get("author"), dict)
        candidates = [only(one, dict) for one in only(row.get("candidates"), list)] or [row]
        candidates.sort(key=lambda one: one.get("candidate_id") == row.get("primary_candidate_id"))
        texts = [only(one.get("raw_content") or one.get("text"), str).strip() for one in candidates]
        if not any(texts):
            past.left_out["tools, system, empty"] += 1
            continue
        name, at = only(author.get("name"), str), _time(row.get("create_time") or row.get("created"))
        who: Who = "user" if author.get("is_human") is True else "char"
        for n, words in enumerate(filter(None, texts)):
            yield Line(at, name, words, who, key := f"{number}.{n}", last)
        last = key
