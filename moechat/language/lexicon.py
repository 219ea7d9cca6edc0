"""jieba's dictionary, read a character at a time: a text is cut by the words that begin with one of its characters.

The whole of it as jieba holds it takes half a second and 80 MB, and a short talk needs a hundredth.
"""

from __future__ import annotations

import importlib.resources
import logging
import threading
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
LONGEST_COUNT = 9  # No count of a word has more digits.


class Lexicon:
    """Cuts a text into words as jieba does with all of its dictionary. Safe to use from several threads."""

    def __init__(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import jieba
        jieba.setLogLevel(logging.ERROR)
        self._text = importlib.resources.files("jieba").joinpath("dict.txt").read_bytes().rstrip(b"\n") + b"\n"
        table = np.frombuffer(self._text, np.uint8)
        self._runs = _runs(table)
        self._segmenter: Any = jieba.Tokenizer()
        # Not initialize(): that trusts a marshal file in the shared temporary folder.
        self._segmenter.total = self.total = _sum_of_counts(table)
        self._segmenter.initialized = True
        self._lock = threading.Lock()
        self._read: set[str] = set()

    def cut(self, text: str) -> list[str]:
        for char in set(text) - self._read:
            self._take_in(char)
        words: list[str] = self._segmenter.lcut(text)
        return words

    def count(self, word: str) -> int:
        """How often the dictionary counts a word, 0 where it does not know it."""
        if word[:1] not in self._read:
            self._take_in(word[:1])
        count: int = self._segmenter.FREQ.get(word, 0)
        return count

    def kind(self, word: str) -> str:
        """What the dictionary takes a word for (n noun, v verb, r pronoun, ns place …), "" where it does not know it."""
        key = int.from_bytes(word[:1].encode("utf-8", "replace"), "little")
        line = f"{word} ".encode("utf-8", "replace")
        for start, end in self._runs.get(key, ()):
            at = start if self._text.startswith(line, start, end) else self._text.find(b"\n" + line, start, end) + 1
            if at:
                return self._text[at : self._text.index(b"\n", at)].rsplit(b" ", 1)[1].decode()
        return ""

    def _take_in(self, char: str) -> None:
        """Add the words that begin with a character, and their beginnings, to those that jieba looks at."""
        counts: dict[str, int] = {}
        for start, end in self._runs.get(int.from_bytes(char.encode("utf-8", "replace"), "little"), ()):
            for line in self._text[start:end].decode("utf-8").splitlines():
                word, count, *_ = line.split(" ")
                counts[word] = int(count)
                for i in range(1, len(word)):
                    counts.setdefault(word[:i], 0)
        with self._lock:
            self._segmenter.FREQ.update(counts)
            self._read.add(char)


def _runs(table: Bytes) -> dict[int, list[tuple[int, int]]]:
    """Where the lines (word, count, kind) stand that begin with a character, by its UTF-8 bytes as a number."""
    starts = np.concatenate([[0], np.flatnonzero(table == ord("\n"))[:-1] + 1])
    lead = table[starts]
    sizes = np.select([lead < 0x80, lead < 0xE0, lead < 0xF0], [1, 2, 3], 4)
    chars = np.zeros(len(starts), np.uint32)
    for i in range(4):
        chars += np.where(i < sizes, table[np.minimum(starts + i, len(table) - 1)].astype(np.uint32) << 8 * i, 0)
    first = np.concatenate([[0], np.flatnonzero(np.diff(chars)) + 1])
    begins = starts[first].tolist()
    runs: dict[int, list[tuple[int, int]]] = {}
    for char, start, end in zip(chars[first].tolist(), begins, [*begins[1:], len(table)], strict=True):
        runs.setdefault(char, []).append((start, end))
    return runs


def _sum_of_counts(table: Bytes) -> int:
    """All the counts that stand between the two blanks of each line."""
    blanks = np.flatnonzero(table == ord(" "))
    before, after = blanks[0::2], blanks[1::2]
    total = 0
    for i in range(1, LONGEST_COUNT + 1):
        places = (after - i)[after - i > before]
        total += int((table[places] - np.uint8(ord("0"))).sum(dtype=np.int64)) * 10 ** (i - 1)
    return total
