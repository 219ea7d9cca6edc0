"""A long memory in fewer words, so that others find room beside it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence

from moechat.language.words import count_tokens, fold

LEAST = 100
"""No memory is cut to fewer tokens than these so that another finds room."""
ELLIPSIS = 2  # Tokens of the marks for what is left out before and after a sentence.
_SENTENCE = re.compile(r"[^.!?。！？；]+(?:[.!?。！？；]+[”」』\"')）]*\s*)?|[.!?。！？；]+\s*")
_LABEL = re.compile(r"[^:：\n]{1,40}(?:: |：)")  # who says a line, see moechat.turn.exchange_text


def fair_length(tokens: Iterable[int], room: int) -> int:
    """The length to cut longer memories to, so that all of them fit into ``room`` tokens; at least ``LEAST``."""
    ordered = sorted(tokens)
    for i, length in enumerate(ordered):
        if length * (len(ordered) - i) > room:
            return max(LEAST, room // (len(ordered) - i))
        room -= length
    return max(ordered, default=LEAST)


def passage(text: str, tokens: int, words: Sequence[str]) -> str:
    """``text`` in at most ``tokens``: the sentences with most of ``words``, in their order, and as many of the first as fit.

    Every line keeps the name before it. Where something is left out stands an ellipsis.
    """
    lines = [_sentences(line) for line in text.splitlines()]
    places = [(i, j) for i, (_, sentences) in enumerate(lines) for j in range(len(sentences))]
    worth = {(i, j): sum(word in fold(lines[i][1][j]) for word in words) for i, j in places}
    chosen: set[tuple[int, int]] = set()
    room = tokens
    for i, j in sorted(places, key=lambda place: (-worth[place], place)):
        label, sentences = lines[i]
        size = count_tokens(sentences[j]) + ELLIPSIS
        size += 0 if any((i, other) in chosen for other in range(len(sentences))) else count_tokens(label)
        if size <= room:
            chosen.add((i, j))
            room -= size
    if chosen:
        return _joined(lines, chosen)
    end = bisect_right(range(1, len(text)), tokens, key=lambda end: count_tokens(text[:end] + "…"))
    return text[: max(1, end)] + "…"


def _sentences(line: str) -> tuple[str, list[str]]:
    """The name before a line, and its sentences."""
    label = match[0] if (match := _LABEL.match(line)) else ""
    return label, _SENTENCE.findall(line[len(label) :])


def _joined(lines: Sequence[tuple[str, list[str]]], chosen: set[tuple[int, int]]) -> str:
    shown = []
    for i, (label, sentences) in enumerate(lines):
        kept = [j for j in range(len(sentences)) if (i, j) in chosen]
        if kept:
            parts = [("…" if j and j - 1 not in kept else "") + sentences[j] for j in kept]
            end = "" if kept[-1] == len(sentences) - 1 else "…"
            shown.append(label + "".join(parts).rstrip() + end)
    return "\n".join(shown)
