"""A reply that is heard: without Markdown and without what the character does, as it comes.

One text gives one result, however it is cut into pieces.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from moechat.ai.cleaner import Instead

MOST_ASIDE = 120  # An aside that is longer than this is taken for what is said.
_ASIDES = {"*": "*", "（": "）", "(": ")"}
_LINE_MARK = re.compile(r"[ \t]*(?:#{1,6}[ \t]+|>[ \t]*|[-*+•][ \t]+)")
_MAYBE_MARK = re.compile(r"[ \t]*[#>*+•-]{0,6}[ \t]*")


class _Voice:
    """What is said of a reply. Only an aside that is not closed yet is held back."""

    def __init__(self) -> None:
        self._held = ""
        self._begins_line = True

    def feed(self, piece: str, *, is_last: bool = False) -> str:
        self._held += piece
        words: list[str] = []
        while self._held:
            step = self._step(is_last)
            if step is None:
                break
            text, length = step
            self._begins_line = self._held[length - 1] == "\n"
            self._held = self._held[length:]
            words.append(text)
        return "".join(words)

    def _step(self, is_last: bool) -> tuple[str, int] | None:
        """(what is said, how much of what is held that takes); None: it depends on what comes."""
        held = self._held
        if self._begins_line and held[0] in " \t#>-*+•":
            if _MAYBE_MARK.fullmatch(held) and not is_last:
                return None
            if mark := _LINE_MARK.match(held):
                return "", mark.end()
        if held == "*" and not is_last:
            return None
        if held.startswith("**"):
            return "", 2
        if held[0] in _ASIDES:
            return self._aside(_ASIDES[held[0]], is_last)
        return ("" if held[0] == "`" else held[0]), 1

    def _aside(self, closing: str, is_last: bool) -> tuple[str, int] | None:
        line = self._held[1:].partition("\n")[0][:MOST_ASIDE]
        end = line.find(closing)
        if end >= 0:
            return "", end + 2
        if is_last or len(line) < len(self._held) - 1 or len(line) == MOST_ASIDE:
            return ("" if closing == "*" else self._held[0]), 1
        return None


def spoken(pieces: Iterable[str]) -> Iterator[str]:
    """The pieces of a reply as they are to be heard."""
    voice = _Voice()
    for piece in pieces:
        if isinstance(piece, Instead):
            voice = _Voice()
            yield Instead(voice.feed(piece))
        elif text := voice.feed(piece):
            yield text
    if text := voice.feed("", is_last=True):
        yield text
