"""What belongs to what a body cannot take: cheese to dairy, 芒果糯米饭 to mango. The table is ``foods.txt``."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from moechat.when import LONGEST_READ

LONGEST_WITHOUT = 16  # So many characters before a word may say that it is left out.
SHORTEST_MISSPELT, LONGEST_MISSPELT = 6, 24  # Of a word of fewer letters a wrong one makes another word.
_LOOKS = re.compile(
    r"(?:成|像|跟|如)(?:了|个|根|只)*\w{1,4}|\b(?:like|as)(?: an?)?(?: \w+)? \w+|\b(?:it'?s|just|only) \w+ or nothing"
)
"""What something looks like is not eaten: 肿成香肠."""
_WITHOUT = re.compile(r"(?:\b(?:without|with no|minus|hold)(?: any| the)? |[不没别免](?:放|加|含|要)|无)$")
_FREE = re.compile(r"[- ]free\b")


@dataclass(frozen=True)
class _FoodTable:
    """``parts``: what a word holds or is a kind of, one step up, and ``kinds`` the latter alone. ``names``: the lines that it
    is a name of. ``without``: what it takes away. ``states``: what is no food. ``near``: words by one letter less."""

    word: re.Pattern[str]
    parts: Mapping[str, set[str]]
    names: Mapping[str, set[str]]
    kinds: Mapping[str, set[str]]
    without: Mapping[str, set[str]]
    states: frozenset[str]
    near: Mapping[str, set[str]]


def named(text: str) -> frozenset[str]:
    """What a text names, each by the first name of its line; what is no line of its own by its word: dairy, toastie."""
    return frozenset(name for word, _ in _found(text) for name in _table().names.get(word) or [word])


def held(text: str) -> frozenset[str]:
    """All that is in what a text names, and its words: toastie, bread, gluten, cheese and dairy for a toastie. What it says to
    be without is not in it."""
    pairs = _found(text)
    without = {name for word, is_without in pairs if is_without for name in (word, *_table().names.get(word, ()))}
    without |= {name for word, _ in pairs for name in _table().without.get(word, ())}
    return _above((word for word, is_without in pairs if not is_without), _table().parts, without)


def touches(text: str, thing: str) -> bool:
    """Whether what a text names holds a thing, is it, is a kind of food that it belongs to (seafood, for prawns), or does not
    go with it (bread, for coeliac)."""
    things = named(thing)
    return not (things | (_above(things, _table().kinds, ()) & named(text))).isdisjoint(held(text))


def besides(text: str) -> str:
    """A text without the foods and drugs in it: there is no dog in a hot dog."""
    return _table().word.sub(lambda match: " " if _known(match) else match[0], text.casefold())


def words(text: str) -> list[str]:
    """The foods and drugs of the table that a text has, as it has them."""
    return [word for word, _ in _found(text) if word not in _table().states]


@lru_cache(maxsize=512)
def _found(text: str) -> tuple[tuple[str, bool], ...]:
    """Each word of the table in a text, the longest that fits, and whether the text says that it is left out. An English word of
    six letters or more may have one wrong."""
    text = _LOOKS.sub(" ", text[:LONGEST_READ].casefold().replace("’", "'"))
    return tuple(
        (word, bool(_WITHOUT.search(text, *_before(match)) or _FREE.match(text, match.end())))
        for match in _table().word.finditer(text)
        if (word := _known(match))
    )


def _before(match: re.Match[str]) -> tuple[int, int]:
    """Where the words before a match stand that may leave it out."""
    return max(0, match.start() - LONGEST_WITHOUT), match.start()


def _known(match: re.Match[str]) -> str:
    """The word of the table that a match is, or ""; what only looks like food is none."""
    word, table = match["latin"] or match["han"] or _meant(match["other"]), _table()
    return word if any(word in one for one in (table.parts, table.names, table.without)) else ""


def _above(start: Iterable[str], parts: Mapping[str, set[str]], without: Iterable[str]) -> frozenset[str]:
    """What is reached from words by what they hold, on no way through what is left out."""
    reached: set[str] = set()
    ahead, without = list(start), set(without)
    while ahead:
        if (word := ahead.pop()) not in reached and word not in without:
            reached.add(word)
            ahead += parts.get(word, ())
    return frozenset(reached)


def _meant(word: str) -> str:
    """The word of the table that a misspelt one has a letter more or less than, or, if it is long, another letter; or ""."""
    near, shorter = _table().near, _shorter(word or "")
    more = {one for key in shorter for one in near.get(key, ()) if one == key or len(word) > SHORTEST_MISSPELT}
    return min(near.get(word, set()) | more, default="")


def _shorter(word: str) -> set[str]:
    """A word with each of its letters but the first left out once."""
    return {word[:at] + word[at + 1 :] for at in range(1, len(word))} if len(word) >= SHORTEST_MISSPELT else set()


@cache
def _table() -> _FoodTable:
    parts, names, kinds, without, near = (defaultdict[str, set[str]](set) for _ in range(5))
    every, states = set[str](), set[str]()
    lines = re.sub(r"\n +", " ", Path(__file__).with_name("foods.txt").read_text("utf-8")).splitlines()
    for line in (line for line in lines if line and not line.startswith("#")):
        left, sign, right = re.split(r"\s*([:=>]|$)\s*", line, maxsplit=1)
        own, others = ([word.strip().casefold() for word in side.split(",") if word.strip()] for side in (left, right))
        every.update(own, (word.removeprefix("!") for word in others))
        if sign in (":", ">"):
            states.update(own if sign == ">" else ())
            for word in own:
                names[word].add(own[0])
            for word in (*own, *others):
                parts[word].add(own[0])
            for word in others if sign == ":" else ():
                kinds[word].add(own[0])
        elif sign == "=":
            for word in own:
                without[word].update(one[1:] for one in others if one.startswith("!"))
                parts[word].update(one for one in others if not one.startswith("!"))
    for word in every:
        for key in (word, *_shorter(word)) if re.fullmatch(rf"[a-z]{{{SHORTEST_MISSPELT},}}", word) else ():
            near[key].add(word)
    longest_first = sorted(every, key=len, reverse=True)
    latin = "|".join(re.escape(word) for word in longest_first if word.isascii())
    han = "|".join(re.escape(word) for word in longest_first if not word.isascii())
    other = rf"[a-z]{{{SHORTEST_MISSPELT},{LONGEST_MISSPELT}}}"
    pattern = rf"(?<![a-z])(?:(?P<latin>{latin})(?:e?s)?|(?P<other>{other}))(?![a-z])|(?P<han>{han})"
    return _FoodTable(re.compile(pattern), parts, names, kinds, without, frozenset(states), near)
