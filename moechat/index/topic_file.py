"""The file that keeps the topic tree and the calendar of slices. It is derived and can be deleted."""

from __future__ import annotations

import io
import json
import zipfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moechat.index import place
from moechat.index.time import DateIndex
from moechat.index.topic import TopicIndex
from moechat.index.topic_rows import ROW
from moechat.store.plain import json_value
from moechat.store.records import replace

FORMAT = 2

Columns = dict[str, NDArray[Any]]


def save(file: Path, topics: TopicIndex, dates: DateIndex, about: dict[str, str]) -> None:
    """Write both indexes; ``about`` says what they were made from."""
    header = np.frombuffer(json.dumps({"format": FORMAT, **about}).encode(), np.uint8)
    columns: dict[str, Any] = {"about": header, **columns_of(topics), **dates.columns()}
    buffer = io.BytesIO()
    np.savez(buffer, **columns)
    place.make_way(file)
    replace(file, buffer.getvalue())


def load(file: Path) -> tuple[TopicIndex, DateIndex, dict[str, str]] | None:
    """What ``save`` wrote; None where it is missing, damaged or of another format."""
    try:
        with open(file, "rb") as opened, np.load(opened, allow_pickle=False) as kept:
            columns = dict(kept)
        about = json_value(columns.pop("about").tobytes())
        if about.pop("format") != FORMAT:
            return None
        return index_of(columns), DateIndex.of_columns(columns), about
    except (OSError, EOFError, ValueError, KeyError, IndexError, TypeError, zipfile.BadZipFile):
        return None


def columns_of(index: TopicIndex) -> Columns:
    """The index as arrays, for ``np.savez``."""
    bindings = index.rows
    alive = np.array([row for row, node in enumerate(bindings.homes) if node is not None], np.int64)
    number = {path: i for i, path in enumerate(index.topics)}
    place = {int(row): i for i, row in enumerate(alive)}
    links = [(place[row], number[path]) for row, related in bindings.related.items() for path in related]
    return {
        "rows": bindings.values[alive],
        "homes": np.array([number[bindings.home(row).path] for row in alive.tolist()], np.int32),
        "links": np.array(links, np.int64).reshape(-1, 2),
        "paths": np.frombuffer(json.dumps(list(number), ensure_ascii=False).encode(), np.uint8),
        "order": np.array([index.order]),
    }


def index_of(columns: Columns) -> TopicIndex:
    """The index that ``columns`` were taken from. Raises ValueError or KeyError where they do not fit together."""
    index = TopicIndex()
    paths = json_value(columns["paths"].tobytes())
    nodes = [index.topics.make(path) for path in paths]
    rows, homes = columns["rows"], columns["homes"]
    known_homes = not homes.size or 0 <= homes.min() <= homes.max() < len(nodes)
    if rows.dtype != ROW or rows.shape != homes.shape or not known_homes:
        raise ValueError("the columns of the topic index do not fit together")
    index.rows.values = np.concatenate([rows, np.zeros(max(64, rows.size // 8), ROW)])
    index.rows.homes = [nodes[i] for i in homes.tolist()]
    order = np.lexsort((-rows["order"], rows["t"], homes))
    cuts = np.searchsorted(homes[order], np.arange(len(nodes) + 1))
    for node, (start, end) in zip(nodes, pairwise(cuts.tolist()), strict=True):
        node.members = order[start:end]
    related: dict[int, list[str]] = {}
    for row, to in columns["links"].tolist():
        related.setdefault(row, []).append(paths[to])
        nodes[to].mentions += 1
    index.rows.related = {row: tuple(sorted(linked)) for row, linked in related.items()}
    index.order = int(columns["order"][0])
    return index
