"""Reads a text word by word: small networks (gated recurrent units, Cho et al. 2014, forward and backward) over what the built-in
embedding makes of each word in its place, and over how it is written. Readers that are learned from examples share it.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from moechat.encoder.builtin import builtin
from moechat.language import words
from moechat.reading.nearness import Scores
from moechat.when.names import HAN_CHARACTER, has_han

SLOTS = 1 << 12
LATEST = 32  # A message is read by several readers.
_TOKEN = re.compile(r"[a-z]+(?:['’-][a-z]+)*|\d+(?:st|nd|rd|th)?|[^\W\d_a-z]+|\S", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Token:
    """A Latin word, a number, a mark or a Chinese character. ``whole`` is the Chinese word that it is part of, ``sort`` that
    word's kind in a dictionary; ``begins`` and ``ends`` say whether the word does so with it."""

    start: int
    end: int
    text: str
    whole: str
    sort: str = ""
    begins: bool = True
    ends: bool = True


@lru_cache(maxsize=256)
def tokens(text: str) -> tuple[Token, ...]:
    spans: list[tuple[int, int, str]] = []
    folded, at = text.lower(), 0
    for word, sort in words.kinds(text) if has_han(text) else ():
        if (place := folded.find(word.lower(), at)) >= 0:
            at = place + len(word)
            spans.append((place, at, sort))
    row: list[Token] = []
    place = 0
    for match in _TOKEN.finditer(text):
        is_han = HAN_CHARACTER.match(match[0]) is not None
        for start in range(match.start(), match.end()) if is_han else (match.start(),):
            end = start + 1 if is_han else match.end()
            while place < len(spans) and spans[place][1] <= start:
                place += 1
            own = folded[start:end].replace("’", "'").replace("'", "") or "'"
            if is_han and place < len(spans) and spans[place][0] <= start:
                first, last, sort = spans[place]
                row.append(Token(start, end, own, folded[first:last], sort, start == first, end == last))
            else:
                row.append(Token(start, end, own, own))
    return tuple(row)


@lru_cache(maxsize=LATEST)
def in_context(text: str) -> Scores:
    """(tokens, 1,280) float32: what the built-in embedding makes of each token. Raises EmbeddingError without it."""
    row = tokens(text)
    return builtin().in_context(
        [(text[one.start : one.end], one.start == 0 or text[one.start - 1].isspace()) for one in row]
    )


def forms(text: str) -> NDArray[np.int64]:
    """(tokens, 4): the slots of a token itself, of the word that it is part of, of that word's kind, and of how it is written;
    the first two name a word that may not be among the examples."""
    rows = [
        (f"o {one.text}", f"w {one.whole}", f"s {one.sort}{one.begins}{one.ends}", f"f {_form(text, one)}")
        for one in tokens(text)
    ]
    return np.array([[zlib.crc32(name.encode()) % SLOTS for name in names] for names in rows], np.int64).reshape(-1, 4)


def _form(text: str, one: Token) -> str:
    if one.text[0].isdigit():
        return f"0{min(len(one.text), 5)}"
    if one.text[0].isascii() and one.text[0].isalpha():
        return "A" if text[one.start].isupper() else "a"
    return "h" if one.text.isalnum() else "."


@dataclass(frozen=True)
class Network:
    """Networks whose chances are averaged, and the ``kinds`` that they tell apart; ``examples`` is the digest of what they were
    learned from.

    ``arrays``: ``projection`` (networks, 1,280, n) of what the embedding makes of a token, ``forms`` (networks, SLOTS, m); of the
    two readings ``entering`` (networks, 2, n + m, 3 h) and ``staying`` (networks, 2, h, 3 h), their gates in the order reset,
    update, new; what a reader has besides; and a bias to each, named after it.
    """

    kinds: tuple[str, ...]
    arrays: Mapping[str, Scores]
    examples: str

    def read(self, text: str) -> Scores:
        """(networks, tokens, 2 h) float32: each token after what stands before it and behind it. Raises EmbeddingError."""
        of = self.arrays
        inner = np.tanh(in_context(text) @ of["projection"] + of["projection_bias"][:, None])
        row = np.concatenate([inner, of["forms"][:, forms(text)].sum(axis=2)], axis=2)
        both = np.stack([row, row[:, ::-1]], axis=1)  # forward and backward
        entering = both @ of["entering"] + of["entering_bias"][:, :, None]
        count, size = len(inner), of["staying"].shape[2]
        state = np.zeros((count, 2, 1, size), np.float32)
        seen = np.empty((count, 2, row.shape[1], size), np.float32)
        for at in range(row.shape[1]):
            staying = state @ of["staying"] + of["staying_bias"][:, :, None]
            gates = 1 / (1 + np.exp(-(entering[:, :, at : at + 1, : 2 * size] + staying[..., : 2 * size])))
            new = np.tanh(entering[:, :, at : at + 1, 2 * size :] + gates[..., :size] * staying[..., 2 * size :])
            state = new + gates[..., size:] * (state - new)
            seen[:, :, at] = state[:, :, 0]
        return np.concatenate([seen[:, 0], seen[:, 1, ::-1]], axis=2)

    def scores(self, seen: Scores, head: str) -> Scores:
        """(networks, n, m) float32: what a layer of the networks makes of (networks, n, k)."""
        return seen @ self.arrays[head] + self.arrays[f"{head}_bias"][:, None]

    def save(self, path: Path) -> None:
        half = {name: array.astype(np.float16) for name, array in self.arrays.items()}
        np.savez_compressed(path, names=np.array(self.kinds), examples=np.array(self.examples), **half)  # type: ignore[arg-type]

    @classmethod
    @cache
    def load(cls, path: Path) -> Self:
        """What ``save`` stored, loaded once."""
        with np.load(path) as stored:
            arrays = {
                name: stored[name].astype(np.float32) for name in stored.files if name not in ("names", "examples")
            }
            return cls(tuple(stored["names"].tolist()), arrays, str(stored["examples"]))
