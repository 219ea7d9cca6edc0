"""What a program adds to the words of its user and changes in what was said, told from the texts alone. Pure functions."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from os.path import commonprefix

from moechat.when import LONGEST_READ

LEAST_WEIGHT = 16  # Of a line that tells which talk it is from: letters, those of Chinese and Japanese twice.
MAX_LABEL_CHARS = 40
_LIMITS = re.compile(r"[\n。！？!?.,，、；;:：\"“”()（）\[\]【】〔〕*<>《》「」…—~|]+")
_TAIL = re.compile(r"(?<=\S)[ \t]*(?=[\[【][^\[\]【】\n]*[\]】]\s*\Z)")
_HEAD = re.compile(r"(?<=\A\[)([^\[\]\n]*\])[ \t]*(?=\S)")
_MARKED = re.compile(r"[\[【(（<*#].*|.*[\]】)）>]|(?:system|note|ooc)\s*[:：].*", re.I | re.S)
_LABEL = re.compile(rf"\s*([^\n:：]{{1,{MAX_LABEL_CHARS}}})[:：]\s*(?=\S)")


def folded(text: str) -> str:
    """A text without what front ends change in passing: spaces, and forms of letters."""
    return "".join(unicodedata.normalize("NFC", text).split())


def weight(text: str) -> int:
    return sum(2 if letter > "\u2e80" else 1 for letter in folded(text))


def telling_lines(text: str) -> frozenset[str]:
    """A text, its lines and the parts of its sentences, where they are long enough to tell where they are from; folded. Of a
    pasted text its beginning tells enough."""
    return _telling_lines(text[:LONGEST_READ])


@lru_cache(4096)
def _telling_lines(text: str) -> frozenset[str]:
    lines = (text, *text.splitlines(), *_LIMITS.split(text))
    return frozenset(folded(line) for line in lines if weight(line) >= LEAST_WEIGHT)


def rare(texts: Iterable[Iterable[str]]) -> dict[str, int]:
    """The telling lines that only one of the texts has, each given as its parts, with that one's place."""
    lines = [frozenset().union(*map(telling_lines, parts)) for parts in texts]
    counts = Counter(line for of_one in lines for line in of_one)
    return {line: at for at, of_one in enumerate(lines) for line in of_one if counts[line] == 1}


def without_frame(texts: Sequence[str]) -> list[str]:
    """Texts without what all of them begin and end with; as they are where that leaves nothing of one."""
    some = [text for text in texts if text]
    if len(some) < 2:
        return list(texts)
    begins, ends = commonprefix(some), commonprefix([text[::-1] for text in some])  # noqa: RUF071  no paths
    if any(len(text) <= len(begins) + len(ends) for text in some):
        return list(texts)
    return [text[len(begins) : len(text) - len(ends)] for text in texts]


# ---- what is put around a message


@dataclass(frozen=True)
class Additions:
    """What a program is known to put around the messages of its user: whole ``lines`` (folded), and names before them."""

    lines: frozenset[str] = frozenset()
    labels: frozenset[str] = frozenset()

    def learnt(self, message: str, turns: Sequence[tuple[str, str]], ours: Sequence[str]) -> Additions:
        """What is known after another message, its history of (message, reply), and messages as we have them."""
        users, replies = (
            {label(text) for text in (message, *(user for user, _ in turns))},
            {label(one) for _, one in turns},
        )
        # Both sides of a talk of two have their names before them.
        names = users if len(users) == len(replies) == 1 and users != replies and "" not in users | replies else set()
        return Additions(self.lines | added_lines(message, [*(user for user, _ in turns), *ours]), self.labels | names)

    def without(self, text: str) -> str:
        """A message without them."""
        text = _without_lines(text, self.lines)
        return _LABEL.sub("", text, count=1) if self.labels and label(text) in self.labels else text


def added_lines(message: str, others: Sequence[str]) -> frozenset[str]:
    """The long lines around a message that its program puts there; folded. ``others`` are messages of its user's beside
    it: one with the same line tells it where the line is marked as no talk, else two do, or one that is also there without."""
    if len(_parts(message)) < 2:
        return frozenset()
    around: set[str] = set()
    rest = [text for text in dict.fromkeys(others) if folded(text) != folded(message)]
    bare = {folded(text) for text in rest}
    for side in (-1, 0):
        lines = _parts(message)
        kept = [_parts(text) for text in rest]
        while len(lines) > 1 and weight(lines[side]) >= LEAST_WEIGHT:
            line = folded(lines.pop(side))
            kept = [parts for parts in kept if len(parts) > 1 and folded(parts.pop(side)) == line]
            is_there_without = any(folded("".join(parts)) in bare for parts in kept)
            if not (is_there_without or len(kept) > (0 if _MARKED.fullmatch(line) else 1)):
                break
            around.add(line)
    return frozenset(around)


def _without_lines(text: str, added: Collection[str]) -> str:
    """A message without these lines around it; as it is where nothing else is in it."""
    lines = _parts(text) if added else []
    own = [at for at, line in enumerate(lines) if folded(line) not in added]
    return "\n".join(lines[own[0] : own[-1] + 1]).strip() if own and own[-1] - own[0] + 1 < len(lines) else text


def _parts(text: str) -> list[str]:
    """The lines of a message that are not empty, and what stands in brackets at its beginning and its end."""
    return [line for line in _HEAD.sub(r"\1\n", _TAIL.sub("\n", text)).splitlines() if line.strip()]


def label(text: str) -> str:
    """The name that a program puts before a message, "" where there is none."""
    name = _LABEL.match(text)
    return name[1].strip() if name else ""
