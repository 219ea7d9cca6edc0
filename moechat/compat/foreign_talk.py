"""Talk from elsewhere, made into exchanges; and memories alone. A file is recognised by what it holds: ``FORMS`` has the forms
that can be read, the first that fits is taken; ``forms.yaml`` has what each is called, how to get it, and a sample.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo
from functools import cache
from pathlib import Path
from typing import Any

from moechat.clock import SystemClock
from moechat.compat import past_json, past_text
from moechat.compat.past import Names, Past, Talk, TalkExchanges
from moechat.compat.past_text import columns, rows_of, style_of
from moechat.errors import DataError
from moechat.model import Exchange
from moechat.store.disk import BACKUPS, INDEX
from moechat.store.files import FileStore
from moechat.store.kinds import Store
from moechat.store.plain import data_of, json_of, read_yaml, storable

HEAD_BYTES = 65536
_WHATSAPP = re.compile(r"\[?\d{1,4}[/.]\d{1,2}[/.]\d{2,4},? [^\n]{4,20}?(?:\]| - )", re.M)


@dataclass(frozen=True)
class Form:
    """A form of talk: whether a file that begins so has it, and what reads it. ``is_own``: no other thing begins so."""

    fits: Callable[[str], bool]
    read: Callable[[str, Past], list[Talk]]
    is_own: bool = True


def _has(head: str, *names: str) -> bool:
    """Whether it is JSON with all these keys."""
    return head[:1] in ("[", "{") and all(f'"{name}"' in head for name in names)


def _style(head: str) -> str:
    """How headers are written in plain text."""
    is_json_list = head[:1] == "[" and head[1:].lstrip()[:1] in ("{", "[", "]", '"')
    return "" if head[:1] in ("{", "<") or is_json_list else style_of(head.split("\n"))


FORMS: Mapping[str, Form] = {
    "sillytavern": Form(
        lambda head: _has(head.split("\n", 1)[0], "user_name", "character_name"), past_json.sillytavern
    ),
    "chatgpt": Form(
        lambda head: _has(head, "mapping") and (head[0] == "[" or _has(head, "current_node")), past_json.chatgpt
    ),
    "open_webui": Form(lambda head: _has(head, "chat", "role", "content"), past_json.open_webui),
    "character_ai": Form(
        lambda head: _has(head, "is_human") and (_has(head, "msgs") or _has(head, "turns")), past_json.character_ai
    ),
    "wechat_page": Form(lambda head: "<html" in head.casefold(), past_text.page),
    "csv": Form(lambda head: {"time", "who", "text"} <= {*columns(head.split("\n", 1)[0])}, past_text.table),
    "lines": Form(lambda head: head.startswith("{"), past_json.lines, is_own=False),
    "qq": Form(lambda head: "消息对象" in head and bool(_style(head)), past_text.stamped),
    "whatsapp": Form(lambda head: _WHATSAPP.search(head) is not None and _style(head) == "inline", past_text.stamped),
    "text": Form(lambda head: _style(head) == "inline", past_text.stamped),
    "wechat": Form(lambda head: bool(_style(head)), past_text.stamped),
}


def kind_of(data: bytes) -> str | None:
    """Which form of talk a file's bytes have; None where they are none."""
    head = data[:HEAD_BYTES].decode("utf-8-sig", "replace").lstrip()
    return next((kind for kind, form in FORMS.items() if form.fits(head)), None)


@cache
def form_words() -> Mapping[str, Mapping[str, str]]:
    """Of each form what it is called (``zh``, ``en``), how to get it, and three lines of ``sample``."""
    words: Mapping[str, Mapping[str, str]] = read_yaml(Path(__file__).with_name("forms.yaml"))
    return words


def read(path: Path, zone: tzinfo | None, names: Names) -> Past:
    """The talk of a file. A time without an offset is in ``zone``. Raises DataError where the file as a whole cannot be read."""
    data = data_of(path, may_lead_out=True)
    text, kind = _text(data, path), kind_of(data) or "lines"
    past = Past(kind, path, zone, names)
    talks = FORMS[kind].read(text, past)
    past.add(talks)
    return past


def _text(data: bytes, path: Path) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DataError(path, "it is not UTF-8; save it as UTF-8, then import it again") from None


# ---- what is there already


def there_already(store: Store, exchanges: Sequence[Exchange]) -> list[str | None]:
    """The ids of those that a memory holds: the same words at the same second are the same exchange."""
    store.read_all()
    seconds = {int(one.at.timestamp()) for one in exchanges}
    rows = [row for row, at in store.exchanges.times() if int(at) in seconds]
    there = {
        _mark(row.exchange): row.exchange.id
        for start in range(0, len(rows), 500)
        for row in store.exchanges.rows(rows[start : start + 500])
    }
    return [there.get(_mark(one)) for one in exchanges]


def _mark(exchange: Exchange) -> tuple[int, str, str]:
    return int(exchange.at.timestamp()), exchange.user.strip(), exchange.char.strip()


def of_folder(folder: Path, zone: tzinfo | None) -> Past:
    """The exchanges of a MoeChat folder. A copy of it is read, so that nothing is written there. Raises DataError."""
    past = Past("folder", folder, zone, Names("", ""))
    with tempfile.TemporaryDirectory(prefix="moechat-") as place:
        copy = Path(place) / "copy"
        shutil.copytree(
            folder, copy, ignore=shutil.ignore_patterns(INDEX, BACKUPS, "users", "worlds", "*.lock"), symlinks=True
        )
        store = FileStore(copy, clock=SystemClock(zone), zone=zone)
        try:
            store.read_all()
            hidden = store.hidden()
            rows = store.exchanges.filed()
            exchanges = [replace(r.exchange, id="") for r in rows if r.exchange.id not in hidden]
            past.problems = [problem for problem in store.problems if isinstance(problem, DataError)]
        finally:
            store.close()
    for name in dict.fromkeys(one.talk for one in exchanges):
        talk = [replace(one, talk="") for one in exchanges if one.talk == name]
        past.talks.append(TalkExchanges(name, talk, [None, *range(len(talk) - 1)]))
    past.speakers.update({"user": len(exchanges), "char": sum(bool(one.char) for one in exchanges)})
    return past


# ---- memories alone


def holds_memories(value: Any) -> bool:
    """Whether a JSON value is a list of memories: texts, or objects with ``text`` and without ``who``."""
    rows = value.get("memories") if isinstance(value, dict) else value
    return isinstance(rows, list) and bool(rows) and all(_is_memory(row) for row in rows)


def _is_memory(row: Any) -> bool:
    return isinstance(row, str) or (isinstance(row, dict) and isinstance(row.get("text"), str) and "who" not in row)


def holds_memory_columns(data: bytes) -> bool:
    """Whether a CSV has a column of texts, and none of who said them."""
    there = columns(data[:65536].decode("utf-8-sig", "replace").lstrip().split("\n", 1)[0])
    return "text" in there and "who" not in there


def memories(path: Path) -> list[dict[str, str]]:
    """The memories of a JSON or CSV file, each with ``text``, perhaps ``type`` (``fact``, ``event``) and the other keys that
    the owner may write. Raises DataError."""
    data = data_of(path, may_lead_out=True)
    text = _text(data, path)
    if text.lstrip()[:1] in ("[", "{"):
        value = json_of(text, path)
        rows = (value.get("memories") if isinstance(value, dict) else value) or []
    else:
        rows = [row for _, row in rows_of(text)]
    texts = [{"text": row} if isinstance(row, str) else row for row in rows if _is_memory(row)]
    return [_plain(row) for row in texts if str(row["text"]).strip()]


def _plain(row: Mapping[str, Any]) -> dict[str, str]:
    words = {str(key): storable(str(one)).strip() for key, one in row.items() if isinstance(one, str | int | float)}
    return {key: word for key, word in words.items() if word}
