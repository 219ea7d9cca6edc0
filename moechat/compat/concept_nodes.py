"""Concept nodes, the memories of a persona of generative agents, and the three files that keep them (seed 000).

Reading loses nothing and writing gives back what was read: the order of the nodes, keys that we do not know, ``null``.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from moechat.errors import DataError, shown
from moechat.store import records
from moechat.store.plain import data_of, json_decoder, json_value

NodeType = Literal["event", "thought", "chat"]
Vector = Sequence[float]

NODES, STRENGTH, EMBEDDINGS = "nodes.json", "kw_strength.json", "embeddings.json"
TIME = "%Y-%m-%d %H:%M:%S"
TYPES = ("event", "thought", "chat")
# The keys of a saved node, as the original writes them.
KEYS = (
    "node_count", "type_count", "type", "depth", "created", "expiration", "subject", "predicate", "object",
    "description", "embedding_key", "poignancy", "keywords", "filling",
)  # fmt: skip
_NEEDED = ("type", "created", "subject", "predicate", "object", "description", "embedding_key", "poignancy")


@dataclass(eq=False, slots=True)
class ConceptNode:
    """One node of the stream; a node is equal to itself alone.

    ``depth`` is 0 for events and chats, for a thought 1 + that of its deepest evidence. ``poignancy`` is 1..10.
    ``filling`` is evidence (node ids), the lines of a chat as (speaker, line) pairs, a bare text, or None.
    ``last_accessed`` is ``created`` at birth.
    """

    node_id: str
    node_count: int
    type_count: int
    type: NodeType
    depth: int
    created: datetime
    expiration: datetime | None
    subject: str
    predicate: str
    object: str
    description: str
    embedding_key: str
    poignancy: float
    keywords: list[str]
    filling: Any = None
    last_accessed: datetime = None  # type: ignore[assignment]  # the original's: born when created
    saved: Mapping[str, Any] = field(default_factory=dict)
    """The node as its file had it: keys that these fields do not know are written back."""

    def __post_init__(self) -> None:
        if self.last_accessed is None:
            self.last_accessed = self.created


def read_nodes(path: Path) -> list[ConceptNode]:
    """nodes.json, oldest first. Raises DataError naming node, key, value and what to do."""
    nodes = [_node(id_, saved, path) for id_, saved in read_object(path).items()]
    return sorted(nodes, key=lambda node: node.node_count)


def write_nodes(path: Path, nodes: Iterable[ConceptNode]) -> None:
    """Newest first, as the original has it."""
    newest = sorted(nodes, key=lambda node: node.node_count, reverse=True)
    write_object(path, {node.node_id: _saved(node) for node in newest})


def read_strength(path: Path) -> tuple[dict[str, int], dict[str, int]]:
    """kw_strength.json: how often each keyword was met, in events and in thoughts."""
    strength = read_object(path)
    return _counts(strength, "kw_strength_event", path), _counts(strength, "kw_strength_thought", path)


def read_object(path: Path) -> dict[str, Any]:
    """A JSON object that has no key twice: one of the two would be lost. Raises DataError with the line."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        twice = [key for key, count in Counter(key for key, _ in pairs).items() if count > 1]
        if twice:
            raise DataError(path, f"the key {shown(twice[0])} is there twice; keep one of the two")
        return dict(pairs)

    try:
        values = json_value(data_of(path, may_lead_out=True), decoder=json_decoder(once))
    except OSError as error:
        raise DataError(path, f"cannot be read ({error.strerror}); expected a saved persona's {path.name}") from error
    except UnicodeDecodeError as error:
        raise DataError(path, "not UTF-8 text; save the file with encoding UTF-8") from error
    except ValueError as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else None
        reason = error.msg if isinstance(error, json.JSONDecodeError) else error
        raise DataError(path, f"not JSON: {reason}; restore the file from where it was saved", line=line) from error
    if not isinstance(values, dict):
        raise DataError(path, f"holds {shown(values)}; expected a JSON object as generative agents saves it")
    return values


def _node(id_: str, saved: Any, path: Path) -> ConceptNode:
    if not isinstance(saved, Mapping):
        raise DataError(path, f"{id_} = {shown(saved)}: a node is an object with {', '.join(KEYS)}")
    if missing := [key for key in _NEEDED if key not in saved]:
        raise DataError(path, f"{id_} has no {missing[0]}; a node needs {', '.join(_NEEDED)}")
    values = {"node_count": id_.removeprefix("node_"), **saved}
    for keys, fits, remedy in _EXPECTED:
        for key in keys:
            if key in values and not fits(values[key]):
                raise DataError(path, f"{id_}: {key} = {shown(values[key])}: expects {remedy}")
    created = _time(saved["created"])
    return ConceptNode(
        id_, int(values["node_count"]), int(values.get("type_count", 0)), saved["type"], int(values.get("depth", 0)),
        created, _time(values.get("expiration")), saved["subject"], saved["predicate"], saved["object"],
        saved["description"], saved["embedding_key"], saved["poignancy"], values.get("keywords") or [], values.get("filling"),
        _time(values.get("last_accessed")) or created, saved,
    )  # fmt: skip


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_count(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, int | str) and bool(re.fullmatch(r"\d{1,15}", str(value)))


def is_number(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, int | float) and abs(value) <= 1e9


def _is_time(value: Any) -> bool:
    try:
        return 1 < datetime.strptime(value, TIME).year < 9999  # so that any zone can be applied
    except (TypeError, ValueError):
        return False


# (keys, what fits, in words)
_EXPECTED: tuple[tuple[tuple[str, ...], Callable[[Any], bool], str], ...] = (
    (("type",), lambda value: value in TYPES, f"one of {', '.join(TYPES)}"),
    (("description", "embedding_key"), _is_text, "text"),
    (("subject", "predicate", "object"), lambda value: value is None or _is_text(value), "text or null"),
    (("poignancy",), is_number, "a number from 1 to 10"),
    (
        ("keywords",),
        lambda value: value is None or (isinstance(value, list) and all(map(_is_text, value))),
        'a list of text such as ["bed", "sleep"]',
    ),
    (("node_count", "type_count", "depth"), _is_count, "a whole number"),
    (("created",), _is_time, "a time such as 2023-02-13 09:02:10"),
    (
        ("expiration", "last_accessed"),
        lambda value: value is None or _is_time(value),
        "a time such as 2023-02-13 09:02:10, or null",
    ),
)


def _time(text: str | None) -> Any:
    """In the persona's own world, which has no zone."""
    return datetime.strptime(text, TIME) if text else None


def _saved(node: ConceptNode) -> dict[str, Any]:
    values = {key: getattr(node, key) for key in KEYS}
    values["created"] = node.created.strftime(TIME)
    values["expiration"] = node.expiration.strftime(TIME) if node.expiration else None
    if node.last_accessed != node.created or "last_accessed" in node.saved:  # the original forgets it
        values["last_accessed"] = node.last_accessed.strftime(TIME)
    further = {key: value for key, value in node.saved.items() if key not in values}
    absent = {key for key, value in values.items() if not value and node.saved and key not in node.saved}
    return {key: value for key, value in values.items() if key not in absent} | further


def _counts(values: Mapping[str, Any], key: str, path: Path) -> dict[str, int]:
    counts = values.get(key) or {}
    if not isinstance(counts, dict):
        raise DataError(path, f"{key} = {shown(counts)}: expects an object of keyword: number")
    for word, count in counts.items():
        if not is_number(count):
            raise DataError(path, f"{key}: {word} = {shown(count)}: expects a number")
    return counts


def read_vectors(path: Path) -> dict[str, Vector]:
    """embeddings.json: {embedding key: vector}, all of one size."""
    vectors = read_object(path)
    size = None
    for key, vector in vectors.items():
        if not isinstance(vector, list) or not all(map(is_number, vector)):
            raise DataError(path, f"{shown(key)} = {shown(vector)}: expects a list of numbers")
        size = size or len(vector)
        if len(vector) != size:
            remedy = f"the others have {size}; remove it, it is then embedded anew"
            raise DataError(path, f"{shown(key)} has {len(vector)} numbers: {remedy}")
    return vectors


def write_object(path: Path, values: Mapping[str, Any]) -> None:
    """The whole file or none of it, byte for byte as the original writes."""
    records.replace(path, json.dumps(values).encode())
