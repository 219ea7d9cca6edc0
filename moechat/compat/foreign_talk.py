"""Talk from elsewhere, made into exchanges: JSON lines, CSV or plain text of (time, who, text), SillyTavern's chats, ChatGPT's
export, and the day files of MoeChat.

A file is recognised by what it holds. Lines of one side in a row are one message.
"""

from __future__ import annotations

import csv
import io
import itertools
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Any, Literal

from moechat.cards.book import only
from moechat.clock import SystemClock, moment_of
from moechat.errors import DataError
from moechat.model import Exchange
from moechat.store.disk import BACKUPS, INDEX
from moechat.store.files import FileStore
from moechat.store.kinds import Store
from moechat.store.plain import data_of, json_value, storable

Who = Literal["user", "char"]
PastKind = Literal["lines", "csv", "text", "sillytavern", "chatgpt", "folder"]
EXAMPLE = '{"time": "2021-03-04T20:15:00", "who": "user", "text": "…"}'
_STAMPED = re.compile(
    r"\[?(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}[ T,]+\d{1,2}:\d{2}(?::\d{2})?)\]?\s*(?:[-–]\s*)?([^:：\n]{1,60})[:：]\s?(.*)"
)
_TAVERN_TIMES = ("%B %d, %Y %I:%M%p", "%b %d, %Y %I:%M%p", "%Y-%m-%d@%Hh%Mm%Ss", "%Y-%m-%d @%Hh %Mm %Ss")
_MILLISECONDS = re.compile(r"(@\d{1,2}h ?\d{1,2}m ?\d{1,2}s) ?\d{1,3}ms")


@dataclass(frozen=True)
class Line:
    """One message; ``at`` is aware. ``name`` is who said it, as the file has it."""

    at: datetime
    who: Who
    text: str
    name: str = ""


@dataclass
class Past:
    """What a file of talk holds. ``problems`` are lines that cannot be read, ``left_out`` those that are no talk, by reason."""

    kind: PastKind
    exchanges: list[Exchange] = field(default_factory=list)
    speakers: Counter[str] = field(default_factory=Counter)
    problems: list[DataError] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)

    def add(self, lines: Iterable[Line], *, in_order: bool = False) -> None:
        """The lines of one talk. ``in_order``: as they stand, whatever their times say."""
        lines = list(lines) if in_order else sorted(lines, key=lambda line: line.at)
        self.speakers.update(line.name or line.who for line in lines)
        self.exchanges += _exchanges(lines)


@dataclass(frozen=True)
class Names:
    """Who is who: ``me`` names the user where the file calls them otherwise; then everybody else is the character."""

    user: str
    character: str
    me: str = ""

    def who(self, name: str) -> Who | None:
        folded = name.strip().casefold()
        if self.me:
            return "user" if folded == self.me.strip().casefold() else "char"
        if folded in ("user", self.user.casefold()):
            return "user"
        return "char" if folded in ("char", "assistant", self.character.casefold()) else None


def kind_of(data: bytes) -> PastKind | None:
    """Which kind of talk a file's bytes are; None where they are none."""
    head = data[:65536].decode("utf-8-sig", "replace").lstrip()
    first = head.split("\n", 1)[0]
    if head.startswith("["):
        return "chatgpt" if '"mapping"' in head else None
    if head.startswith("{"):
        return "sillytavern" if '"user_name"' in first and '"character_name"' in first else "lines"
    columns = [name.strip().strip('"').casefold() for name in re.split(r"[,;\t]", first)]
    if {"time", "who", "text"} <= set(columns):
        return "csv"
    return "text" if any(_STAMPED.match(line) for line in head.splitlines()[:50]) else None


def read(path: Path, zone: tzinfo | None, names: Names) -> Past:
    """The exchanges of a file, without ids, in order of time. A time without an offset is in ``zone``. Raises DataError where the
    file as a whole cannot be read."""
    data = data_of(path, may_lead_out=True)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DataError(path, "it is not UTF-8; save it as UTF-8, then import it again") from None
    kind = kind_of(data) or "lines"
    past = Past(kind)
    _READERS[kind](text, path, zone, names, past)
    past.exchanges.sort(key=lambda one: one.at)
    return past


# ---- the kinds


def _lines(text: str, path: Path, zone: tzinfo | None, names: Names, past: Past) -> None:
    past.add(_readable(_numbered(text), path, past, lambda line: _line(_object(line), zone, names)))


def _csv(text: str, path: Path, zone: tzinfo | None, names: Names, past: Past) -> None:
    past.add(_readable(_columns(text), path, past, lambda row: _line(row, zone, names)))


def _columns(text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line, row by column) of a CSV, which may have tabs or semicolons."""
    first = text.split("\n", 1)[0]
    mark = next((one for one in "\t;," if one in first), ",")
    for number, row in enumerate(csv.DictReader(io.StringIO(text), delimiter=mark), 2):
        yield number, {str(key).strip().casefold(): value for key, value in row.items()}


def _text(text: str, path: Path, zone: tzinfo | None, names: Names, past: Past) -> None:
    """Lines that begin with a time and a name; others go on with the line before them."""
    rows: list[tuple[int, dict[str, Any]]] = []
    for number, line in enumerate(text.split("\n"), 1):
        if match := _STAMPED.match(line):
            time = re.sub(r"[ ,T]+", "T", match[1].replace("/", "-").replace(".", "-"), count=1)
            rows.append((number, {"time": _padded(time), "who": match[2].strip(), "text": match[3]}))
        elif rows:
            rows[-1][1]["text"] += f"\n{line.rstrip()}"
        elif line.strip():
            past.left_out["before the first time"] += 1
    for _, row in rows:
        row["text"] = row["text"].strip()
    spoken = [(number, row) for number, row in rows if row["text"]]
    past.add(_readable(spoken, path, past, lambda row: _line(row, zone, names)))


def _padded(time: str) -> str:
    day, _, hour = time.partition("T")
    return f"{'-'.join(part.zfill(2) for part in day.split('-'))}T{hour.zfill(5)}"


def _tavern(text: str, path: Path, zone: tzinfo | None, names: Names, past: Past) -> None:
    own, last = "", datetime.fromtimestamp(0, UTC)

    def made(line: str) -> Line | None:
        nonlocal own, last
        row = _object(line)
        if "mes" not in row:  # the head of the chat
            own = str(row.get("character_name", ""))
            return None
        if row.get("is_system") is True:
            past.left_out["hidden or of the system"] += 1
            return None
        is_user = row.get("is_user") is True
        name = str(row.get("name", ""))
        words = row["mes"] if isinstance(row["mes"], str) else ""
        if not words.strip():
            raise ValueError("mes is empty")
        at = last = max(_tavern_time(row.get("send_date"), zone), last)
        others = not is_user and own and name and name not in (own, names.character)
        return Line(at, "user" if is_user else "char", storable(f"{name}: {words}" if others else words), name)

    past.add(_readable(_numbered(text), path, past, made), in_order=True)


def _tavern_time(value: Any, zone: tzinfo | None) -> datetime:
    """A time as SillyTavern has written it over the years. Raises ValueError."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e14:
        return datetime.fromtimestamp(value / (1000 if value > 1e11 else 1), UTC)
    text = _MILLISECONDS.sub(r"\1", str(value).strip())
    if text.isdecimal() and len(text) < 15:
        return _tavern_time(int(text), zone)
    for form in _TAVERN_TIMES:
        try:
            return datetime.strptime(text, form).replace(tzinfo=zone).astimezone(zone)
        except ValueError:
            continue
    try:
        return moment_of(text, zone)
    except ValueError:
        raise ValueError(f"send_date = {text[:40]!r}: expects a time such as '2021-03-04T20:15:00'") from None


def _chatgpt(text: str, path: Path, zone: tzinfo | None, names: Names, past: Past) -> None:
    try:
        talks = json_value(text)
    except ValueError as error:
        raise DataError(path, f"is no JSON that can be read: {error}") from None
    for talk in talks if isinstance(talks, list) else [talks]:
        if isinstance(talk, dict) and isinstance(talk.get("mapping"), dict):
            past.add(_of_chatgpt(talk, past), in_order=True)
        else:
            past.left_out["no talk"] += 1


def _of_chatgpt(talk: Mapping[str, Any], past: Past) -> list[Line]:
    """The path from the current node up: other children are variants and branches."""
    nodes, id_ = talk["mapping"], talk.get("current_node")
    way: list[Mapping[str, Any]] = []
    passed: set[str] = set()
    while isinstance(id_, str) and id_ in nodes and id_ not in passed:
        passed.add(id_)
        way.append(only(nodes[id_], dict))
        id_ = way[-1].get("parent")
    past.left_out["other branches"] += len(nodes) - len(way)
    at = _unix(talk.get("create_time")) or datetime.fromtimestamp(0, UTC)
    lines = []
    for node in reversed(way):
        message = node.get("message")
        if not isinstance(message, dict):
            continue
        role = only(message.get("author"), dict).get("role")
        parts = only(only(message.get("content"), dict).get("parts"), list)
        words = "\n".join(part for part in parts if isinstance(part, str)).strip()
        if role not in ("user", "assistant") or not words:
            past.left_out["tools, system, empty"] += 1
            continue
        at = max(_unix(message.get("create_time")) or at, at)
        lines.append(Line(at, "user" if role == "user" else "char", storable(words), role))
    return lines


def _unix(value: Any) -> datetime | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e11:
        return None
    return datetime.fromtimestamp(value, UTC)


_READERS: Mapping[PastKind, Callable[[str, Path, tzinfo | None, Names, Past], None]] = {
    "lines": _lines, "csv": _csv, "text": _text, "sillytavern": _tavern, "chatgpt": _chatgpt,
}  # fmt: skip


# ---- lines


def _numbered(text: str) -> Iterator[tuple[int, str]]:
    return ((number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip())


def _readable(
    rows: Iterable[tuple[int, Any]], path: Path, past: Past, make: Callable[[Any], Line | None]
) -> Iterator[Line]:
    """What ``make`` makes of the rows, None for what is no talk; those that it cannot read are told."""
    for number, row in rows:
        try:
            if (line := make(row)) is not None:
                yield line
        except ValueError as error:
            past.problems.append(DataError(path, str(error), line=number))


def _object(text: str) -> dict[str, Any]:
    """Raises ValueError with the reason and the remedy."""
    try:
        row = json_value(text)
    except ValueError:
        raise ValueError(f"it is no JSON; write a line such as {EXAMPLE}") from None
    if not isinstance(row, dict):
        raise ValueError(f"it is no JSON object; write a line such as {EXAMPLE}")
    return row


def _line(row: Mapping[str, Any], zone: tzinfo | None, names: Names) -> Line:
    """Raises ValueError with the reason and the remedy."""
    for key in ("time", "who", "text"):
        if not isinstance(row.get(key), str):
            raise ValueError(f"{key} is missing, or is no text; write a line such as {EXAMPLE}")
    who = names.who(row["who"])
    if who is None:
        raise ValueError(
            f"who = {row['who'][:40]!r}: expects user, char, {names.user!r} or {names.character!r}; say which is you (--me NAME)"
        )
    try:
        at = moment_of(row["time"], zone)
    except ValueError:
        raise ValueError(f"time = {row['time'][:40]!r}: expects a time such as '2021-03-04T20:15:00'") from None
    if not row["text"].strip():
        raise ValueError("text is empty; write what was said, or leave the line out")
    return Line(at, who, storable(row["text"]), row["who"].strip())


def _exchanges(lines: Sequence[Line]) -> Iterator[Exchange]:
    """Lines of one side in a row are one message. A reply before any message answers nothing."""
    message: list[Line] = []
    for who, run in itertools.groupby(lines, lambda line: line.who):
        if who == "user":
            message = list(run)
            continue
        yield _exchange(message, list(run))
        message = []
    if message:
        yield _exchange(message, [])


def _exchange(message: Sequence[Line], reply: Sequence[Line]) -> Exchange:
    return Exchange("", [*message, *reply][0].at, _joined(message), _joined(reply))


def _joined(lines: Iterable[Line]) -> str:
    return "\n".join(line.text for line in lines)


# ---- what is there already


def not_there_yet(store: Store, exchanges: Sequence[Exchange]) -> list[Exchange]:
    """Those of the exchanges that a memory does not hold yet: the same words at the same second are the same exchange."""
    store.read_all()
    seconds = {int(one.at.timestamp()) for one in exchanges}
    rows = [row for row, at in store.exchanges.times() if int(at) in seconds]
    there = {
        _mark(row.exchange)
        for start in range(0, len(rows), 500)
        for row in store.exchanges.rows(rows[start : start + 500])
    }
    return [one for one in exchanges if _mark(one) not in there]


def _mark(exchange: Exchange) -> tuple[int, str, str]:
    return int(exchange.at.timestamp()), exchange.user.strip(), exchange.char.strip()


def of_folder(folder: Path, zone: tzinfo | None) -> Past:
    """The exchanges of a MoeChat folder. A copy of it is read, so that nothing is written there. Raises DataError."""
    past = Past("folder")
    with tempfile.TemporaryDirectory(prefix="moechat-") as place:
        copy = Path(place) / "copy"
        shutil.copytree(
            folder, copy, ignore=shutil.ignore_patterns(INDEX, BACKUPS, "users", "worlds", "*.lock"), symlinks=True
        )
        store = FileStore(copy, clock=SystemClock(zone), zone=zone)
        try:
            store.read_all()
            hidden = store.hidden()
            rows = store.exchanges.rows([row for row, _ in store.exchanges.times()])
            past.exchanges = [replace(r.exchange, id="", talk="") for r in rows if r.exchange.id not in hidden]
            past.problems = [problem for problem in store.problems if isinstance(problem, DataError)]
        finally:
            store.close()
    past.speakers.update({"user": len(past.exchanges), "char": sum(bool(one.char) for one in past.exchanges)})
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
    first = data[:65536].decode("utf-8-sig", "replace").lstrip().split("\n", 1)[0]
    columns = {name.strip().strip('"').casefold() for name in re.split(r"[,;\t]", first)}
    return "text" in columns and "who" not in columns


def memories(path: Path) -> list[dict[str, str]]:
    """The memories of a JSON or CSV file, each with ``text``, perhaps ``type`` (``fact``, ``event``) and the other keys that
    the owner may write. Raises DataError."""
    data = data_of(path, may_lead_out=True)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DataError(path, "it is not UTF-8; save it as UTF-8, then import it again") from None
    if text.lstrip()[:1] in ("[", "{"):
        try:
            value = json_value(text)
        except ValueError as error:
            raise DataError(path, f"is no JSON that can be read: {error}") from None
        rows = (value.get("memories") if isinstance(value, dict) else value) or []
    else:
        rows = [row for _, row in _columns(text)]
    texts = [{"text": row} if isinstance(row, str) else row for row in rows if _is_memory(row)]
    return [_plain(row) for row in texts if str(row["text"]).strip()]


def _plain(row: Mapping[str, Any]) -> dict[str, str]:
    words = {str(key): storable(str(one)).strip() for key, one in row.items() if isinstance(one, str | int | float)}
    return {key: word for key, word in words.items() if word}
