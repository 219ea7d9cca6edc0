"""What a model writes, made clean as it comes: thoughts apart, without the character's own label and without the blocks of
the prompt said back; and the JSON object in what it answers.

One text gives one result, however it is cut into pieces.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Collection, Iterable, Iterator
from typing import Any

import json_repair

_TAG = re.compile(r"<(/?)(?:think|thinking|thought|reasoning)>|\[(/?)THINK\]", re.IGNORECASE)
_LONGEST_TAG = len("</reasoning>")
_TAG_BEGUN = re.compile(r"[<\[]/?[a-z]*\Z", re.IGNORECASE)  # at the end of a piece
_LABELS = (
    "{0}:",
    "{0}：",
    "{0} :",
    "**{0}:**",
    "**{0}：**",
    "**{0}**:",
    "**{0}**：",
    "[{0}]",
    "[{0}]:",
    "【{0}】",
    "【{0}】：",
)
LEAST_AGAIN = 4  # As few letters as are no accident at the end of a reply and at the beginning of what follows.
_JOINED = re.compile(r"[a-zA-Z0-9.,!?;:…'\"”’)*][a-zA-Z0-9]")
_HEADING = re.compile(r"【[^】\n]+】|\[[^\]\n]+\]")


class Instead(str):
    """A piece that takes the place of all that was shown before: that was a thought."""

    __slots__ = ()


class Cleaner:
    """Cleans one reply. ``name`` is the character's; ``headings`` begin blocks of the prompt, ``lines`` are all its lines,
    ``frame`` those that say who she is.

    ``is_thinking``: the template has opened a thought, so that the reply begins in the middle of one. Afterwards ``thoughts``
    is what was thought, ``shown`` whether anything else was said, ``closed_early`` whether a thought ended that nobody saw begin.
    """

    def __init__(
        self,
        *,
        name: str = "",
        headings: Collection[str] = (),
        lines: Collection[str] = (),
        frame: Collection[str] = (),
        is_thinking: bool = False,
    ) -> None:
        self._about = (name, headings, lines, frame)
        self._held = ""
        self._thinking = self._assumed = is_thinking
        self._said: list[str] = []  # It may turn out to be a thought.
        self._opened = False  # a thought began, or ended, before the eyes of the reader
        self._thoughts: list[str] = []
        self._saying = _Speaking(*self._about)
        self.shown = self.closed_early = False

    @property
    def thoughts(self) -> str:
        return "".join(self._thoughts).strip()

    def feed(self, piece: str) -> Iterator[str]:
        """What may be shown now. The rest is held back until it is clear what it is."""
        text, at = self._held + piece, 0
        for tag in _TAG.finditer(text):
            yield from self._take(text[at : tag.start()])
            at = tag.end()
            if tag[1] or tag[2]:
                yield from self._close()
            else:
                self._thinking, self._assumed, self._opened = True, False, True
        begun = _TAG_BEGUN.search(text, max(at, len(text) - _LONGEST_TAG))
        sure = begun.start() if begun else len(text)
        self._held = text[sure:]
        yield from self._take(text[at:sure])

    def think(self, text: str) -> None:
        """A thought that comes apart from the reply."""
        if text:
            self._thoughts.append(text)

    def rest(self) -> Iterator[str]:
        """What is still held back at the end. Where a thought was expected and none ended, it was the reply."""
        held, self._held = self._held, ""
        yield from self._take(held)
        if self._assumed:
            self._thinking, thought = False, "".join(self._thoughts)
            self._thoughts = []
            yield from self._take(thought)
        yield from self._show(self._saying.rest())

    def _take(self, text: str) -> Iterator[str]:
        if self._thinking:
            self._thoughts.append(text)
        elif text:
            if not self._opened:
                self._said.append(text)
            yield from self._show(self._saying.feed(text))

    def _close(self) -> Iterator[str]:
        """A thought ends; if none had begun, all that was said before is one."""
        if self._thinking:
            self.closed_early = self.closed_early or self._assumed
        elif not self._opened:
            self._thoughts += self._said
            self._said, self.closed_early = [], True
            self._saying = _Speaking(*self._about)
            if self.shown:
                self.shown = False
                yield Instead("")
        self._thinking, self._assumed, self._opened = False, False, True

    def _show(self, text: str) -> Iterator[str]:
        if text:
            self.shown = True
            yield text


class _Speaking:
    """What is said without thoughts: leading blanks, the own label and echoed blocks are taken out of it."""

    def __init__(self, name: str, headings: Collection[str], lines: Collection[str], frame: Collection[str]) -> None:
        self._labels = [label.format(name).lower() for label in _LABELS] if name else []
        self._echoes = _Echoes(headings, lines, frame)
        self._held = ""
        self._begun = False  # anything was said
        self._labelled = not self._labels  # it is decided whether there is a label

    def feed(self, text: str) -> str:
        self._held += text
        if not self._labelled:
            self._held = self._held.lstrip()
            if not self._held or any(label.startswith(self._held.lower()) for label in self._labels):
                return ""
            self._unlabel()
        text, self._held = self._held, ""
        return self._shown(self._echoes.feed(text))

    def rest(self) -> str:
        if not self._labelled:
            self._unlabel()
        text, self._held = self._held, ""
        return self._shown(self._echoes.feed(text) + self._echoes.rest())

    def _unlabel(self) -> None:
        self._labelled = True
        head = self._held.lower()
        length = max((len(label) for label in self._labels if head.startswith(label)), default=0)
        self._held = self._held[length:]

    def _shown(self, text: str) -> str:
        """Blank lines before the first word are no part of a reply."""
        if not self._begun:
            text = text.lstrip()
            self._begun = bool(text)
        return text


class _Echoes:
    """Takes out lines that say a block of the prompt back: that of its heading, or a long one of the ``frame``, and what follows
    it word for word."""

    def __init__(self, headings: Collection[str], lines: Collection[str], frame: Collection[str]) -> None:
        self._headings, self._lines, self._frame = headings, lines, frame
        self._line = ""
        self._is_open = False  # the line has begun to be shown
        self._in_block = False

    def feed(self, text: str) -> str:
        if not (self._headings or self._frame):
            return text
        shown = ""
        for part in text.splitlines(keepends=True):
            self._line += part
            is_whole = self._line.endswith("\n")
            if self._is_open:
                shown += self._line
            elif is_whole:
                shown += self._judged()
            elif not self._may_be_echo():
                self._is_open, self._in_block = True, False
                shown += self._line
            else:
                continue
            self._line = ""
            self._is_open = self._is_open and not is_whole
        return shown

    def rest(self) -> str:
        text = self._judged() if self._line else ""
        self._line = ""
        return text

    def _may_be_echo(self) -> bool:
        line = self._line.strip()
        if any(one.startswith(line) for one in self._frame):
            return True
        if any(heading.startswith(line) or line.startswith(heading) for heading in self._headings):
            return True
        return self._in_block and any(one.startswith(line) for one in self._lines)

    def _judged(self) -> str:
        """What is shown of a whole line."""
        line = self._line.strip()
        if line in self._frame or line.startswith(tuple(self._headings)):
            self._in_block = True
            return ""
        if self._in_block and (not line or line in self._lines):
            return ""
        self._in_block = False
        return self._line


def continued(begun: str, pieces: Iterable[str]) -> Iterator[str]:
    """What goes on from ``begun``: whatever a model says again of its end, or of all of it, is left out, and a space stands
    between words that need one."""
    held, is_held = "", True
    for piece in itertools.chain(pieces, [None]):
        if isinstance(piece, Instead):
            held, is_held = "", True
            yield Instead("")
        if is_held:
            held += piece or ""
            if piece is not None and held in begun:
                continue
            again = max((n for n in range(len(held) + 1) if begun.endswith(held[:n])), default=0)
            rest = held[again:] if again >= min(LEAST_AGAIN, len(begun)) else held
            is_held = False
            if rest:
                yield f" {rest}" if _JOINED.match(begun[-1:] + rest[:1]) else rest
        elif piece:
            yield piece


def headings(templates: Iterable[str]) -> frozenset[str]:
    """The headings in brackets that these blocks of a prompt begin with."""
    lines = (line for block in templates for line in block.splitlines())
    return frozenset(match[0] for line in lines if (match := _HEADING.match(line)))


def in_whole(pieces: Iterable[str]) -> str:
    """The text that pieces of a reply make."""
    whole: list[str] = []
    for piece in pieces:
        if isinstance(piece, Instead):
            whole.clear()
        whole.append(piece)
    return "".join(whole).strip()


def without_thoughts(text: str) -> str:
    """A whole text without thoughts."""
    cleaner = Cleaner()
    return in_whole([*cleaner.feed(text), *cleaner.rest()])


DEEPEST = 50  # An answer has four levels.
REPAIRED = 8_000  # Characters of an answer that is no JSON; what is beyond them counts as cut off.
# A brace that no key follows opens no object. The repair takes the square of their number in time.
_NO_OBJECT = re.compile(r"\{(?!\s*(?:[\"'“‘}]|[A-Za-z_]\w*\s*[\"']?\s*:|$))")


def json_object(text: str) -> dict[str, Any]:
    """Raises ValueError where there is none, or where brackets stand in brackets more than ``DEEPEST`` deep."""
    bare = without_thoughts(text)
    start, end = bare.find("{"), bare.rfind("}")
    if start < 0:
        raise ValueError("no JSON object was found in the answer")
    if _depth(bare) > DEEPEST:
        raise ValueError("the answer is nested too deeply")
    # An answer that was cut off has no closing brace; the repair adds it.
    whole = bare[start : end + 1] if bare[start:].rstrip(" \n`").endswith("}") else bare[start:]
    try:
        value = json.loads(whole)
    except ValueError:
        value = json_repair.loads(_NO_OBJECT.sub("(", whole[:REPAIRED]), skip_json_loads=True)
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, dict):
        raise ValueError("the answer is not one JSON object")
    return value


def _depth(text: str) -> int:
    """How deep brackets stand in brackets, those in texts included: the repair recurses."""
    steps = (1 if char in "[{" else -1 for char in text if char in "[]{}")
    return max(itertools.accumulate(steps, lambda depth, step: max(0, depth + step)), default=0)
