"""Inputs for a parser: its examples, taken apart and put together wrong. The same seed and number give the same bytes."""

from __future__ import annotations

import contextlib
import copy
import json
import random
from collections.abc import Callable, Sequence
from typing import Any

import yaml
from hypothesis import strategies as st

from tests.fuzz.parsers import Parser

# What has broken parsers before: depth, aliases, numbers, times, half characters, marks, tags, merges, names of files.
PIECES: Sequence[bytes] = (
    b"[" * 150, b"{a: " * 120, b"- " * 150, b"? " * 80, b"[" * 5000, b"]" * 50, b"\n" + b" " * 200 + b"a:", b"&a ", b"*a",
    b"&a [*a, *a]", b"<<: *a", b"a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\n", b"!!python/object/apply:os.system [x]",
    b"!!int ", b"!!binary ", b"!<x> ", b"%YAML 9.9\n", b"---\n", b"...\n", b"\x00", b"\xef\xbb\xbf", b"\xff\xfe", b"\r\n",
    b"\r", b"\x85", "\u2028".encode(), b"\xed\xa0\x80", b"\\ud800", b"\\u0000", b"NaN", b"Infinity", b"-Infinity", b"1e999",
    b"-0", b"9" * 400, b"9" * 5000, b"0x" + b"f" * 5000, b"1:" * 200 + b"0", b"1_000", b".inf", b".nan", b"null", b"~",
    b"true", b"no", b"99999-01-01", b"0001-01-01T00:00:00+14:00", b"9999-12-31T23:59:59-12:00", b"2025-02-30", b'"', b"'",
    b"|-\n", b">\n", b"#", b": ", b",", b"\t", b"../../x", b"{{user}}", b"{{nobody}}", "１２".encode(), "٣".encode(), b"\\",
)  # fmt: skip
VALUES: Sequence[Any] = (
    None, True, False, 0, -1, 1.5, 10**400, 1e308, "", "x", "x" * 5000, "\ud800", "\x00", [], {}, [[]], [None], {"": None},
    "99999-01-01T00:00:00", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00", "2025-05-20T15:00:00", "../../x", "nan",
    "a", "b", ["a"], "9" * 400, 2**63, -(2**63) - 1, "inf", {"a": {"a": {"a": []}}}, "true", "-1", 1e-320,
)  # fmt: skip


def mutated(parser: Parser, seed: int, number: int) -> bytes:
    """Input ``number`` of a parser."""
    chance = random.Random(f"{seed} {parser.name} {number}")
    data = chance.choice(parser.examples)
    if parser.form != "text" and chance.random() < 0.5:
        with contextlib.suppress(yaml.YAMLError, ValueError, RecursionError):
            data = _restructured(parser, data, chance)
            if chance.random() < 0.7:
                return data
    for _ in range(chance.choice((1, 1, 2, 4, 16))):
        data = chance.choice(_BYTES)(data, parser, chance)
    return data


# ---- bytes


def _place(data: bytes, chance: random.Random) -> int:
    return chance.randrange(len(data) + 1)


def _flip(data: bytes, parser: Parser, chance: random.Random) -> bytes:
    place = _place(data, chance)
    return data[:place] + bytes([chance.randrange(256)]) + data[place + 1 :]


def _insert(data: bytes, parser: Parser, chance: random.Random) -> bytes:
    place = _place(data, chance)
    return data[:place] + chance.choice(PIECES) + data[place:]


def _replace(data: bytes, parser: Parser, chance: random.Random) -> bytes:
    start, end = sorted((_place(data, chance), _place(data, chance)))
    return data[:start] + chance.choice(PIECES) + data[min(end, start + 30) :]


def _remove(data: bytes, parser: Parser, chance: random.Random) -> bytes:
    start, end = sorted((_place(data, chance), _place(data, chance)))
    return data[:start] + data[end:]


def _repeat(data: bytes, parser: Parser, chance: random.Random) -> bytes:
    start, end = sorted((_place(data, chance), _place(data, chance)))
    return data[:end] + data[start:end][:2000] * chance.choice((1, 2, 20)) + data[end:]


def _splice(data: bytes, parser: Parser, chance: random.Random) -> bytes:
    other = chance.choice(parser.examples)
    return data[: _place(data, chance)] + other[_place(other, chance) :]


def _shuffle(data: bytes, parser: Parser, chance: random.Random) -> bytes:
    lines = data.splitlines(keepends=True)
    chance.shuffle(lines)
    return b"".join(lines)


_BYTES: Sequence[Callable[[bytes, Parser, random.Random], bytes]] = (
    _flip, _flip, _insert, _insert, _replace, _remove, _repeat, _splice, _shuffle,
)  # fmt: skip


# ---- values


def _restructured(parser: Parser, data: bytes, chance: random.Random) -> bytes:
    value = _taken_apart(parser.form, data)
    for _ in range(chance.choice((1, 1, 2, 5))):
        value = _changed(copy.deepcopy(value), chance)
    return put_together(parser.form, value)


def _taken_apart(form: str, data: bytes) -> Any:
    if form == "lines":
        return [json.loads(line) for line in data.splitlines()]
    return json.loads(data) if form == "json" else yaml.load(data, yaml.CSafeLoader)


def put_together(form: str, value: Any) -> bytes:
    """A value in the form of a file: JSON is YAML, too."""
    lines = value if form == "lines" and isinstance(value, list) else [value]
    return b"".join(json.dumps(one, default=str).encode() + b"\n" for one in lines)


def _changed(value: Any, chance: random.Random) -> Any:
    """One value somewhere inside is another one, gone, doubled, or in the place of its neighbour."""
    if not isinstance(value, dict | list) or not value or chance.random() < 0.02:
        return copy.deepcopy(chance.choice(VALUES))
    keys = list(value) if isinstance(value, dict) else range(len(value))
    key = chance.choice(keys)
    what = chance.randrange(10)
    if isinstance(value[key], dict | list) and what < 7:
        value[key] = _changed(value[key], chance)
    elif what < 7:
        value[key] = copy.deepcopy(chance.choice(VALUES))
    elif what == 7:
        del value[key]
    elif what == 8:
        value[chance.choice(keys)] = copy.deepcopy(value[key])
    elif isinstance(value, dict):
        value[chance.choice([str(one) for one in VALUES if not isinstance(one, int)])] = value[key]
    else:
        value.insert(chance.choice(keys), copy.deepcopy(value[key]))
    return value


def shaped(parser: Parser) -> st.SearchStrategy[bytes]:
    """Values of any shape under the keys, and with the words, that the parser knows."""
    words: set[str] = set()
    for example in parser.examples:
        with contextlib.suppress(yaml.YAMLError, ValueError):
            _collect(_taken_apart(parser.form, example), words)
    known = st.sampled_from(sorted(words) or ["a"])
    leaves = (
        known | st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.sampled_from(VALUES)
    )
    values = st.recursive(
        leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(known, inner, max_size=8), max_leaves=12
    )
    records = st.dictionaries(known, values, max_size=10)
    files = (
        st.lists(records, max_size=5)
        if parser.form == "lines"
        else st.dictionaries(known, records | values, max_size=5)
    )
    return files.map(lambda value: put_together(parser.form, value))


def _collect(value: Any, words: set[str]) -> None:
    if isinstance(value, dict):
        for key, one in value.items():
            words.add(str(key))
            _collect(one, words)
    elif isinstance(value, list):
        for one in value:
            _collect(one, words)
    elif isinstance(value, str) and len(value) < 40:
        words.add(value)
