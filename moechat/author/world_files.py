"""The files of the world book: read whole, written one entry at a time.

In ``data_base/*.yaml`` an entry is ``keyword: description``, or the fuller form::

    keyword:
      text: description
      keys: [other name, another]     # found literally, beside the keyword itself
      constant: true                  # always there
      enabled: false                  # never there

      secondary: [night]              # with ``logic: any``, ``all``, ``not_any`` or ``not_all``
      order: 10                       # and what else ``lore.FIELDS`` has

Its id is ``file#keyword``. Books of other programs lie beside them as JSON, and in the character's card (``card.json``).

Conversation never writes these files; their author does, here or by hand. Writing one entry leaves every other byte of a YAML
file as it is, and every other value of a JSON file, those that nobody here knows too; a plain line stays plain as long as it
can. A file that does not parse, or in which an entry cannot be told from its neighbours, is reported and never written.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from moechat.author.fields import FORMS, Values, near_or_all, written, written_as
from moechat.author.splice import rewritten, under_keys
from moechat.cards import book, card
from moechat.cards.container import CARD
from moechat.clock import SYSTEM_NOW
from moechat.errors import DataError, FieldError, NameTaken, NotFound
from moechat.lore import FIELDS, USUAL, Lore
from moechat.model import NEW_LORE_FILE
from moechat.store import plain, records
from moechat.store.records import Signature

FOLDER = "data_base"
_ENTRY_KEYS = tuple(key for key in FIELDS if key not in ("keyword", "file"))
_USUAL = {key: written_as(getattr(USUAL, key)) for key in _ENTRY_KEYS if key != "text"}
_YES = frozenset({"true", "yes", "on", "1"})
_NO = frozenset({"false", "no", "off", "0"})
_COMMAS = re.compile(r"[,，、]")
_PLAIN = re.compile(r"[^\W\d_](?:[\w -]*\w)?")
_OTHER_THAN_TEXT = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})  # YAML 1.1 reads them so.
_LINES = "expects `keyword: description` lines"
_REMEDY = (
    "give each entry a line `keyword: …` that begins at the margin, what belongs to it indented below; then try again"
)


# ---- reading


@dataclass(frozen=True)
class LoreFile:
    """A file of a world book as it was read. Where it did not parse, ``entries`` are none and ``kept`` what it last had."""

    signature: Signature
    entries: tuple[Lore, ...]
    problems: tuple[DataError, ...]
    kept: tuple[Lore, ...]


def followed(folder: Path, before: Mapping[str, LoreFile]) -> dict[str, LoreFile]:
    """The files of a world book as they are now, by name; those that are as they were before are not read again."""
    files: dict[str, LoreFile] = {}
    for path in paths(folder):
        last, signature = before.get(path.name), Signature.of(path)
        if last is not None and last.signature == signature:
            files[path.name] = last
            continue
        try:
            entries, problems = read(path)
            files[path.name] = LoreFile(signature, tuple(entries), tuple(problems), tuple(entries))
        except DataError as error:
            files[path.name] = LoreFile(signature, (), (error,), last.kept if last else ())
    return files


def paths(folder: Path) -> list[Path]:
    """The files of a world book: its card, and those of its folder."""
    held = [folder.parent / CARD] if (folder.parent / CARD).is_file() else []
    if not folder.is_dir():
        return held
    files = (path for path in folder.iterdir() if path.suffix in (".yaml", ".yml", ".json") and path.name != CARD)
    return [*held, *sorted(path for path in files if path.is_file() and not path.name.startswith("."))]


def read(path: Path) -> tuple[list[Lore], list[DataError]]:
    """Entries of one file and what is wrong with others of it. Raises DataError where the file does not parse."""
    if is_json(path):
        return book.entries_of(book_in(parsed_json(path), path), path.name), []
    plain.require_inside(path.parent, path.parent.parent)
    return read_text(plain.text(path), path)


def is_json(path: Path) -> bool:
    return path.suffix.lower() == ".json"


def parsed_json(path: Path) -> Any:
    """What a JSON file holds. Raises DataError."""
    plain.require_inside(path.parent, path.parent.parent)
    try:
        return card.decoded(plain.data_of(path), path)
    except OSError as error:
        raise DataError(path, f"cannot be read: {error.strerror}") from error


def book_in(value: Any, path: Path) -> Any:
    """The book in the value of a JSON file; that of a card may be empty. Raises DataError where it is neither."""
    if card.is_card(value):
        return card.book_of(value) or {"entries": []}
    if book.dialect_of(value) is None:
        raise DataError(path, "is no lorebook: expects the JSON of a card or of world info, with `entries`")
    return value


def read_text(source: str, path: Path) -> tuple[list[Lore], list[DataError]]:
    """The entries of the text of a YAML file, and what is wrong with others of it. Raises DataError."""
    entries, problems = [], []
    for keyword, value in under_keys(source, path, _LINES).items():
        try:
            entries.append(_entry(keyword.strip(), value, path))
        except ValueError as error:
            problems.append(DataError(path, f"{keyword}: {error}", line=_line_of(keyword, source)))
    return entries, problems


def _entry(keyword: str, value: Any, path: Path) -> Lore:
    """One entry. Raises ValueError saying what is wrong with it."""
    fields = value if isinstance(value, dict) else {"text": value}
    for key in fields:
        if key not in _ENTRY_KEYS:
            raise ValueError(f"unknown key {key}; {near_or_all(str(key), _ENTRY_KEYS)}")
    text = fields.get("text", "")
    if not keyword or not isinstance(text, str) or not text.strip():
        raise ValueError("expects a keyword and a description in words")
    values = {key: _meaning(key, item) for key, item in fields.items() if key != "text"}
    return Lore(f"{path.name}#{keyword}", keyword, text.strip(), path.name, **values)


def _meaning(key: str, item: Any) -> Any:
    """A field of ``Lore`` from what its file says. Raises ValueError that says what is expected."""
    form = FORMS[FIELDS[key]]
    if FIELDS[key] == "list":
        items = _COMMAS.split(item) if isinstance(item, str) else item
        if not isinstance(items, list) or not all(isinstance(one, str) for one in items):
            raise ValueError(f"{key} expects a list of names, such as [one, two]")
        return _names(items)
    if FIELDS[key] == "switch" and isinstance(item, str) and item.lower() in _YES | _NO:
        return item.lower() in _YES
    if not isinstance(item, str) or not form.fits(item):
        raise ValueError(f"{key} {form.remedy}")
    return form.meaning(item)


def _names(keys: Iterable[str]) -> tuple[str, ...]:
    return tuple(key.strip() for key in keys if key.strip())


def _line_of(keyword: str, source: str) -> int | None:
    lines = enumerate(source.splitlines(), start=1)
    return next((number for number, line in lines if line.lstrip("\"'").startswith(keyword)), None)


# ---- the files together


class LoreFiles:
    """The entries of a ``data_base`` folder, those that are switched off too; always as the files hold them now.

    ``lock`` is the file by which writers wait for each other; ``now`` gives the time that a changed card is dated with.
    """

    def __init__(self, folder: Path, lock: Path, now: Callable[[], datetime] = SYSTEM_NOW) -> None:
        self.folder, self._lock_file, self._now = folder, lock, now
        self._lock = threading.Lock()
        self._files: dict[str, LoreFile] = {}

    def _followed(self) -> Iterable[LoreFile]:
        with self._lock:
            self._files = followed(self.folder, self._files)
            return list(self._files.values())

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
        changes = {key: one for key, one in changes.items() if key != "file"}
        record = written("lore", {"keyword": entry.keyword, "text": entry.text, **changes})
        self._change(entry, changes)
        return self.get(id_ if entry.is_bare else f"{entry.file}#{record['keyword'].strip()}")

    def delete(self, id_: str) -> None:
        """Take an entry out of its file. Raises NotFound, DataError."""
        self._change(self.get(id_), None)

    def _change(self, entry: Lore, changes: Values | None) -> None:
        """Write changes of an entry, or (None) its end."""
        path = next(path for path in paths(self.folder) if path.name == entry.file)
        if entry.is_bare:
            own_id = entry.id.partition("#")[2]
            self._write(path, lambda data: _changed_json(data, path, own_id, changes, self._now))
        else:
            self._write(path, lambda data: _changed(data, path, entry.keyword, changes))

    def _write(self, path: Path, change: Callable[[bytes], bytes]) -> None:
        try:
            records.rewrite(path, self._lock_file, change)
        except OSError as error:
            raise DataError(path, f"cannot be written: {error.strerror}") from error


# ---- writing


def _formed(before: Any, changes: Values) -> str | dict[str, Any]:
    """What stands under a keyword after ``changes``: a plain line where it was one (``before`` is text) and can be,
    the keys that are as usual left out."""
    value = dict(before) if isinstance(before, Mapping) else {"text": before}
    for key, content in changes.items():
        new: Any = content
        if key == "text":
            new = str(content).strip()
        elif FIELDS[key] == "list" and content is not None:
            new = list(_names(_COMMAS.split(new) if isinstance(new, str) else new))
        if new is None or new == _USUAL.get(key):
            value.pop(key, None)
        else:
            value[key] = new
    return value if isinstance(before, Mapping) or len(value) > 1 else str(value["text"])


def _added(data: bytes, path: Path, keyword: str, value: str | dict[str, Any]) -> bytes:
    _check_free(keyword, _held(data, path), path)
    return _rewritten(data, path, keyword, value, keyword)


def _changed(data: bytes, path: Path, keyword: str, changes: Values | None) -> bytes:
    """The bytes of a YAML file with an entry changed, or (None) without it. Raises NotFound where a hand has taken it out."""
    before = _held(data, path)
    key = next((key for key in before if key.strip() == keyword), None)
    if key is None:
        raise NotFound(f"{path.name} no longer holds {keyword!r}")
    if changes is None:
        return _rewritten(data, path, key, None)
    # What is kept is what the file holds at this moment.
    text = before[key].get("text") if isinstance(before[key], Mapping) else before[key]
    values = written("lore", {"keyword": keyword, "text": text, **changes})
    new = str(values.pop("keyword")).strip()
    value = _formed(before[key], values | {name: None for name, one in changes.items() if one is None})
    if new == keyword:
        return _rewritten(data, path, key, value)
    _check_free(new, before, path)
    return _rewritten(data, path, key, value, new)


def _rewritten(data: bytes, path: Path, key: str, value: Any, new: str = "") -> bytes:
    """``new`` is another keyword, quoted where YAML would read something else."""
    is_plain = _PLAIN.fullmatch(new) and new.casefold() not in _OTHER_THAN_TEXT
    new_key = (new, new if is_plain else records.quoted(new)) if new else None
    return rewritten(data, path, key, value, lambda after: _held(after, path), _REMEDY, new_key=new_key)


def _held(data: bytes, path: Path) -> dict[str, Any]:
    """What stands under each keyword, without the line ends around it."""
    return {key: _trimmed(value) for key, value in under_keys(plain.decoded(data, path), path, _LINES).items()}


def _trimmed(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _trimmed(one) for key, one in value.items()}
    return value.strip() if isinstance(value, str) else value


def _check_free(keyword: str, before: Mapping[str, object], path: Path) -> None:
    if any(key.strip() == keyword for key in before):
        raise NameTaken(
            "keyword", keyword, f"stands in {path.name} already; change that entry, or choose another", "lore"
        )


def _changed_json(data: bytes, path: Path, id_: str, changes: Values | None, now: Callable[[], datetime]) -> bytes:
    """The bytes of a JSON file with one entry changed, or (None) without it. A card of version 3 says when it was changed.
    Raises NotFound, DataError."""
    value = card.decoded(data, path)
    whole = book_in(value, path)
    entry = dict(book.raw_entries(whole)).get(id_)
    if entry is None:
        raise NotFound(f"{path.name} no longer holds the entry {id_!r}")
    meant = changes and {key: None if one is None else _meaning(key, written_as(one)) for key, one in changes.items()}
    book.replace_entry(whole, entry, meant)
    if card.is_card(value) and card.form_of(value) == "v3":
        value["data"]["modification_date"] = int(now().timestamp())
    return json_bytes(value)


def json_bytes(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=2).encode()
