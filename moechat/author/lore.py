"""The files of the world book, ``data_base/*.yaml``: read whole, written one entry at a time.

An entry is ``keyword: description``, or the fuller form::

    keyword:
      text: description
      keys: [other name, another]     # found literally, beside the keyword itself
      constant: true                  # always there
      enabled: false                  # never there

      secondary: [night]              # with ``logic: any``, ``all``, ``not_any`` or ``not_all``
      order: 10                       # and the other rules of ``moechat.lore.RULE_FIELDS``

Its id is ``file#keyword``. Conversation never writes these files; their author does, here or by hand. Writing one entry
leaves every other byte as it is, and a plain line stays plain as long as it can. A file that does not parse, or in which an
entry cannot be told from its neighbours, is reported and never written. Books of other programs lie beside them as JSON
(``books``).
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

from moechat.author import books
from moechat.author.fields import Values, fits, near_or_all, typed, written, written_as
from moechat.author.writing import RecordWriter
from moechat.cards.container import CARD
from moechat.clock import SYSTEM_NOW
from moechat.errors import DataError, FieldError, NameTaken, NotFound
from moechat.lore import RULE_FIELDS, USUAL
from moechat.model import NEW_LORE_FILE, Lore
from moechat.store import plain, records, yaml_file
from moechat.store.records import Signature

FOLDER = "data_base"
_YES = frozenset({"true", "yes", "on", "1"})
_NO = frozenset({"false", "no", "off", "0"})
_ENTRY_KEYS = ("text", "keys", "constant", "enabled", *RULE_FIELDS)
_LISTS = ("keys", "secondary")
_USUAL: Mapping[str, object] = {"keys": [], "constant": "false", "enabled": "true"} | {
    key: written_as(getattr(USUAL, key)) for key in RULE_FIELDS
}
_COMMAS = re.compile(r"[,，、]")
_PLAIN = re.compile(r"[^\W\d_](?:[\w -]*\w)?")
_OTHER_THAN_TEXT = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})  # YAML 1.1 reads them so.
_REMEDY = (
    "give each entry a line `keyword: …` that begins at the margin, what belongs to it indented below; then try again"
)


@dataclass(frozen=True)
class _LoreFile:
    signature: Signature
    entries: tuple[Lore, ...]
    problems: tuple[DataError, ...]


class LoreFiles:
    """The entries of a ``data_base`` folder, those that are switched off too; always as the files hold them now.

    ``lock`` is the file by which writers wait for each other; ``now`` gives the time that a changed card is dated with.
    """

    def __init__(self, folder: Path, lock: Path, now: Callable[[], datetime] = SYSTEM_NOW) -> None:
        self.folder, self._lock_file, self._now = folder, lock, now
        self._lock = threading.Lock()
        self._files: dict[str, _LoreFile] = {}

    def listed(self) -> list[Lore]:
        """All entries, in the order of the files' names."""
        return [entry for file in self._followed() for entry in file.entries]

    @property
    def problems(self) -> list[DataError]:
        """Entries and files that are left out, and why."""
        return [problem for file in self._followed() for problem in file.problems]

    def get(self, id_: str) -> Lore:
        """Raises NotFound."""
        if (entry := self.find(id_)) is None:
            raise NotFound(f"the world book holds no {id_!r}; list it to see the ids")
        return entry

    def find(self, id_: str) -> Lore | None:
        return next((entry for entry in self.listed() if entry.id == id_), None)

    def add(self, values: Values) -> Lore:
        """Append an entry to ``values["file"]``, ``NEW_LORE_FILE`` without one. Raises FieldError, DataError."""
        record = written("lore", values)
        path, keyword = self.folder / str(record.pop("file", NEW_LORE_FILE)), str(record.pop("keyword")).strip()
        value = _formed(record["text"], record)
        self._write(path, lambda data: _added(data, path, keyword, value))
        return self.get(f"{path.name}#{keyword}")

    def update(self, id_: str, changes: Values) -> Lore:
        """Change some keys of an entry; None takes one out, and a new keyword gives it a new id. Raises NotFound, FieldError,
        DataError."""
        entry = self.get(id_)
        if changes.get("file", entry.file) != entry.file:
            raise FieldError("file", changes["file"], "cannot be changed; add the entry there, then delete this one")
        path, changes = self._path(entry), {key: one for key, one in changes.items() if key != "file"}
        record = written("lore", {"keyword": entry.keyword, "text": entry.text, **changes})
        if entry.is_bare:
            values = {key: None if one is None else typed(key, record[key]) for key, one in changes.items()}
            self._write(path, lambda data: books.changed(data, path, _own_id(id_), values, self._now))
            return self.get(id_)
        keyword = str(record["keyword"]).strip()
        self._write(path, lambda data: _changed(data, path, entry.keyword, changes))
        return self.get(f"{path.name}#{keyword}")

    def delete(self, id_: str) -> None:
        """Take an entry out of its file. Raises NotFound, DataError."""
        entry = self.get(id_)
        path = self._path(entry)
        if entry.is_bare:
            self._write(path, lambda data: books.changed(data, path, _own_id(id_), None, self._now))
        else:
            self._write(path, lambda data: _removed(data, path, entry.keyword))

    def _path(self, entry: Lore) -> Path:
        return next(path for path in paths(self.folder) if path.name == entry.file)

    def _write(self, path: Path, change: Callable[[bytes], bytes]) -> None:
        try:
            records.rewrite(path, self._lock_file, change)
        except OSError as error:
            raise DataError(path, f"cannot be written: {error.strerror}") from error

    def _followed(self) -> list[_LoreFile]:
        with self._lock:
            self._files = {path.name: self._looked_at(path) for path in paths(self.folder)}
            return list(self._files.values())

    def _looked_at(self, path: Path) -> _LoreFile:
        before, signature = self._files.get(path.name), Signature.of(path)
        if before is not None and before.signature == signature:
            return before
        try:
            entries, problems = read(path)
        except DataError as error:
            return _LoreFile(signature, (), (error,))
        return _LoreFile(signature, tuple(entries), tuple(problems))


# ---- reading


def paths(folder: Path) -> list[Path]:
    """The files of a world book: its card, and those of its folder."""
    card = books.card_beside(folder)
    if not folder.is_dir():
        return card
    files = (path for path in folder.iterdir() if path.suffix in (".yaml", ".yml", ".json") and path.name != CARD)
    return [*card, *sorted(path for path in files if path.is_file() and not path.name.startswith("."))]


def read(path: Path) -> tuple[list[Lore], list[DataError]]:
    """Entries of one file and what is wrong with others of it. Raises DataError where the file does not parse."""
    if books.is_book(path):
        return books.read(path), []
    plain.require_inside(path.parent, path.parent.parent)
    return read_text(yaml_file.text(path), path)


def read_text(source: str, path: Path) -> tuple[list[Lore], list[DataError]]:
    """The same of the text of a file, which is not a book of another program."""
    entries, problems = [], []
    for keyword, value in _parsed(source, path).items():
        try:
            entries.append(_entry(keyword.strip(), value, path))
        except ValueError as error:
            problems.append(DataError(path, f"{keyword}: {error}", line=_line_of(keyword, source)))
    return entries, problems


def _parsed(source: str, path: Path) -> dict[str, Any]:
    """What stands under each keyword. Raises DataError where the file does not parse."""
    data = yaml_file.parse(source, path, as_text=True)
    if data in (None, ""):
        return {}
    if not isinstance(data, dict):
        raise DataError(path, "expects `keyword: description` lines")
    return {str(keyword): value for keyword, value in data.items()}


def _entry(keyword: str, value: Any, path: Path) -> Lore:
    """One entry. Raises ValueError saying what is wrong with it."""
    fields = value if isinstance(value, dict) else {"text": value}
    for key in fields:
        if key not in _ENTRY_KEYS:
            raise ValueError(f"unknown key {key}; {near_or_all(str(key), _ENTRY_KEYS)}")
    text = fields.get("text", "")
    if not keyword or not isinstance(text, str) or not text.strip():
        raise ValueError("expects a keyword and a description in words")
    return Lore(
        f"{path.name}#{keyword}", keyword, text.strip(), path.name, _list(fields, "keys"), _switch(fields, "constant"),
        _switch(fields, "enabled"), **_rules(fields),
    )  # fmt: skip


def _rules(fields: Mapping[str, Any]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key in RULE_FIELDS:
        if key not in fields:
            continue
        if RULE_FIELDS[key] == "list":
            values[key] = _list(fields, key)
        elif RULE_FIELDS[key] == "switch":
            values[key] = _switch(fields, key)
        else:
            values[key] = typed(key, fits(key, fields[key]))
    return values


def _list(fields: Mapping[str, Any], key: str) -> tuple[str, ...]:
    items = fields.get(key, [])
    if isinstance(items, str):
        items = _COMMAS.split(items)
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        raise ValueError(f"{key} expects a list of names, such as [one, two]")
    return _names(items)


def _names(keys: Iterable[str]) -> tuple[str, ...]:
    return tuple(key.strip() for key in keys if key.strip())


def _own_id(id_: str) -> str:
    """The id of an entry in its own book."""
    return id_.partition("#")[2]


def _switch(fields: Mapping[str, Any], key: str) -> bool:
    value = fields.get(key, _USUAL[key])
    if not isinstance(value, str) or value.lower() not in _YES | _NO:
        raise ValueError(f"{key} expects true or false")
    return value.lower() in _YES


def _line_of(keyword: str, source: str) -> int | None:
    for number, line in enumerate(source.splitlines(), start=1):
        if line.lstrip("\"'").startswith(keyword):
            return number
    return None


# ---- writing


def _formed(before: Any, changes: Values) -> str | dict[str, Any]:
    """What stands under a keyword after ``changes``: a plain line where it was one (``before`` is text) and can be,
    the keys that are as usual left out."""
    value = dict(before) if isinstance(before, Mapping) else {"text": before}
    for key, content in changes.items():
        new: Any = content
        if key == "text":
            new = str(content).strip()
        elif key in _LISTS and content is not None:
            new = list(_names(_COMMAS.split(new) if isinstance(new, str) else new))
        if new is None or new == _USUAL.get(key):
            value.pop(key, None)
        else:
            value[key] = new
    return value if isinstance(before, Mapping) or len(value) > 1 else str(value["text"])


def _added(data: bytes, path: Path, keyword: str, value: str | dict[str, Any]) -> bytes:
    before = _parsed(yaml_file.decoded(data, path), path)
    _check_free(keyword, before, path)
    entry = records.entry(keyword, value, shown=_shown(keyword))
    return _writer(data, path).append(keyword, entry, _trimmed({**before, keyword: value}))


def _changed(data: bytes, path: Path, keyword: str, changes: Values) -> bytes:
    before, key = _held(data, path, keyword)
    # What is kept is what the file holds at this moment.
    values = written("lore", {"keyword": keyword, "text": _text_of(before[key]), **changes})
    new = str(values.pop("keyword")).strip()
    value = _formed(before[key], values | {name: None for name, one in changes.items() if one is None})
    writer = _writer(data, path)
    if new == keyword:
        new, record = key, writer.record(key)
        shown = _key_of(data[record.start : record.end])
    else:
        _check_free(new, before, path)
        shown = _shown(new)
    others = {name: one for name, one in before.items() if name != key}
    return writer.replace(key, records.entry(new, value, shown=shown), _trimmed({**others, new: value}))


def _removed(data: bytes, path: Path, keyword: str) -> bytes:
    before, key = _held(data, path, keyword)
    others = {name: one for name, one in before.items() if name != key}
    return _writer(data, path).replace(key, b"", _trimmed(others))


def _writer(data: bytes, path: Path) -> RecordWriter:
    return RecordWriter(data, path, lambda after: _trimmed(_parsed(yaml_file.decoded(after, path), path)), _REMEDY)


def _text_of(value: Any) -> Any:
    return value.get("text") if isinstance(value, Mapping) else value


def _held(data: bytes, path: Path, keyword: str) -> tuple[dict[str, Any], str]:
    """(what the file holds, the key as it stands there). Raises NotFound where a hand has taken it out."""
    before = _parsed(yaml_file.decoded(data, path), path)
    for key in before:
        if key.strip() == keyword:
            return before, key
    raise NotFound(f"{path.name} no longer holds {keyword!r}")


def _check_free(keyword: str, before: Mapping[str, object], path: Path) -> None:
    if any(key.strip() == keyword for key in before):
        raise NameTaken(
            "keyword", keyword, f"stands in {path.name} already; change that entry, or choose another", "lore"
        )


def _trimmed(value: Any) -> Any:
    """The text of an entry without the line ends around it."""
    if isinstance(value, Mapping):
        return {key: _trimmed(one) for key, one in value.items()}
    return value.strip() if isinstance(value, str) else value


def _shown(keyword: str) -> str:
    """A keyword as people write it, quoted where YAML would read something else."""
    plain = _PLAIN.fullmatch(keyword) and keyword.casefold() not in _OTHER_THAN_TEXT
    return keyword if plain else records.quoted(keyword)


def _key_of(record: bytes) -> str:
    """The key of a record as its file has it, "" where that cannot be told."""
    text = record.decode("utf-8")
    try:
        node = yaml.compose(text, yaml.BaseLoader)  # the plain loader: its marks count characters
    except (yaml.YAMLError, RecursionError):  # what it refers to stands elsewhere in the file
        return ""
    if not isinstance(node, yaml.MappingNode) or not isinstance(node.value[0][0], yaml.ScalarNode):
        return ""
    return text[: node.value[0][0].end_mark.index]
