"""One record of an author's file is written and every other byte stays, or nothing is written."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

from moechat.errors import DataError
from moechat.store import plain, records


def under_keys(source: str, path: Path, expected: str) -> dict[str, Any]:
    """What stands under each key of the text of a YAML file, every value as text. Raises DataError, with what is ``expected``
    where it holds something else."""
    data = plain.parse_yaml(source, path, as_text=True)
    if data in (None, ""):
        return {}
    if not isinstance(data, dict):
        raise DataError(path, expected)
    return {str(key): value for key, value in data.items()}


def rewritten(
    data: bytes,
    path: Path,
    key: str,
    value: Any,
    read: Callable[[bytes], Mapping[Any, Any]],
    remedy: str,
    *,
    new_key: tuple[str, str] | None = None,
) -> bytes:
    """The file with another value under a key; at its end, where the key is not there; without it, where ``value`` is None.

    ``read`` gives what a file's bytes hold, by key, to be compared; it may raise DataError. ``new_key`` takes the place of the
    key: (it, as the file is to have it). The comments and empty lines that follow a record are not its own and stay. Raises
    DataError with ``remedy`` where a record cannot be told from its neighbours.
    """
    before = read(data)
    if value is None and key not in before:
        return data
    with contextlib.suppress(DataError):
        name, shown = new_key or (key, "")
        content = {one: held for one, held in before.items() if one != key}
        record = next((one for one in records.parse(data, path).records if one.key == key), None)
        if record is not None:
            lines = data[record.start : record.end].splitlines(keepends=True)
            while len(lines) > 1 and (not lines[-1].strip() or lines[-1].startswith(b"#")):
                lines.pop()
            start, end = record.start, record.start + sum(map(len, lines))
            gap, shown = b"", shown or _key_as_written(data[record.start : record.end])
        else:
            start = end = len(data)
            gap = b"\n" if data and not data.endswith(b"\n") else b""
        entry = b""
        if value is not None:
            entry, content[name] = gap + records.entry(name, value, shown=shown), value
        if b"\r\n" in data:
            entry = entry.replace(b"\n", b"\r\n")
        after = data[:start] + entry + data[end:]
        if (record is not None) == (key in before) and read(after) == content:
            return after
    raise DataError(path, f"{key!r} cannot be written without touching what stands around it; {remedy}")


def _key_as_written(record: bytes) -> str:
    """The key of a record as its file has it, "" where that cannot be told."""
    text = record.decode("utf-8")
    try:
        node = yaml.compose(text, yaml.BaseLoader)  # the plain loader: its marks count characters
    except (yaml.YAMLError, RecursionError):  # what it refers to stands elsewhere in the file
        return ""
    if not isinstance(node, yaml.MappingNode) or not isinstance(node.value[0][0], yaml.ScalarNode):
        return ""
    return text[: node.value[0][0].end_mark.index]
