"""character.yaml, written one key at a time: every other byte stays, comments too."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from moechat.author.fields import written_as
from moechat.author.official import LOCK
from moechat.author.splice import rewritten
from moechat.errors import DataError, FieldError
from moechat.settings.character import FILE, KEYS, keys_in
from moechat.store import plain, records

LISTS = ("greetings", "tags")
FIXED = ("overrides",)


def change(folder: Path, changes: Mapping[str, Any]) -> None:
    """Write some keys; None takes one out. Raises FieldError, DataError."""
    for key, value in changes.items():
        _check(key, value)
    path = folder / FILE
    records.rewrite(path, folder / LOCK, lambda data: _changed(data, path, changes))


def _check(key: str, value: Any) -> None:
    if key not in KEYS or key in FIXED:
        raise FieldError(
            key, None, f"cannot be written here; known: {', '.join(one for one in KEYS if one not in FIXED)}"
        )
    if key in LISTS:
        if not (value is None or (isinstance(value, list) and all(isinstance(one, str) for one in value))):
            raise FieldError(key, value, "expects a list of texts")
    elif not (value is None or isinstance(value, str)):
        raise FieldError(key, value, "expects text")


def _changed(data: bytes, path: Path, changes: Mapping[str, Any]) -> bytes:
    remedy = "mend the file by hand, then try again"
    for key, value in changes.items():
        clean = written_as(value.strip() if isinstance(value, str) else value)
        data = rewritten(data, path, key, clean, lambda after: _held(after, path), remedy)
    if data.strip():
        keys_in(plain.decoded(data, path), path)
    return data


def _held(data: bytes, path: Path) -> dict[str, Any]:
    value = plain.parse_yaml(plain.decoded(data, path), path, as_text=True)
    if value in (None, ""):
        return {}
    if not isinstance(value, dict):
        raise DataError(path, "expects `key: value` lines such as `name:` and `persona:`")
    return {key: one.strip() if isinstance(one, str) else one for key, one in value.items()}
