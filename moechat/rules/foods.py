"""What belongs to what a body cannot take: cheese to dairy, 芒果糯米饭 to mango. The table is ``foods.txt``."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from moechat.reading.nearness import is_word
from moechat.when import LONGEST_READ

LONGEST_WITHOUT = 16  # So many characters before a word may say that it is left out.
SHORTEST_MISSPELT, LONGEST_MISSPELT = 6, 24  # Of a word of fewer letters a wrong one makes another word.
_LOOKS = re.compile(
    r"(?:(?<![换改做煮切])成|像|跟|如)(?:了|个|根|只)*\w{1,4}"
    r"|\b(?:like|as)(?: an?)?(?: \w+)? \w+|\b(?:it'?s|just|only) \w+ or nothing"
)
"""What something looks like is not eaten: 肿成香肠."""
_WITHOUT = re.compile(r"(?:\b(?:without|with no|minus|hold)(?: any| the)? |[不没别免](?:放|加|含|要)|无)$")
_FREE = re.compile(r"[- ]free\b")
_LATIN = re.compile(r"[a-z]+")
_ENDING = re.compile(r"(?:e?s)?(?![a-z])")


@dataclass(frozen=True)
class _FoodTable:
    """``words``: all of them by their first two characters, the longest first. ``parts``: what a word holds or is a kind of, one
    step up, and ``kinds`` the latter alone. ``names``: the lines that it is a name of. ``without``: what it takes away.
    ``states``: what is no food, and how it is told. ``near``: words by one letter less."""

    words: Mapping[str, list[str]]
    parts: Mapping[str, set[str]]
    names: Mapping[str, set[str]]
    kinds: Mapping[str, set[str]]
    without: Mapping[str, set[str]]
    states: Mapping[str, tuple[str, str]]
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


def besides(text: str, food: str = " ", state: str = " ") -> str:
    """A text with ``food`` and ``state`` for what it names of the table: there is no dog in a hot dog."""
    text = text[:LONGEST_READ].casefold().replace("’", "'")
    likenesses = [match.span() for match in _LOOKS.finditer(text)]
    kept, last = "", 0
    for start, end, word in _spans(text):
        if not any(first <= start < behind for first, behind in likenesses):
            kept += text[last:start] + (state if word in _table().states else food)
            last = end
    return kept + text[last:]


def words(text: str) -> list[str]:
    """The foods and drugs of the table that a text has, as the table has them."""
    return [word for word, _ in _found(text) if word not in _table().states]


def states(text: str) -> dict[str, str]:
    """The illnesses, diets and medicines of the table that a text has, and how each is told: has, is, takes or does. Medicines
    are called as the text calls them, others by the first name of their line in the text's letters."""
    return dict(_table().states[word] for word, _ in _found(text) if word in _table().states)


@lru_cache(maxsize=512)
def _found(text: str) -> tuple[tuple[str, bool], ...]:
    """Each word of the table in a text, the longest that fits, and whether the text says that it is left out. An English word of
    six letters or more may have one wrong."""
    text = _LOOKS.sub(" ", text[:LONGEST_READ].casefold().replace("’", "'"))
    return tuple(
        (word, bool(_WITHOUT.search(text, max(0, start - LONGEST_WITHOUT), start) or _FREE.match(text, end)))
        for start, end, word in _spans(text)
    )


def _spans(text: str) -> Iterator[tuple[int, int, str]]:
    """Where the words of the table stand in a text; what only looks like food is passed over."""
    table, at = _table(), 0
    while at < len(text):
        latin = _LATIN.match(text, at) if not at or not text[at - 1].isascii() or not text[at - 1].isalpha() else None
        end, word = _at(text, at, is_latin=latin is not None)
        if latin and not word:
            end, word = latin.end(), _meant(latin[0])
        if word and any(word in one for one in (table.parts, table.names, table.without)):
            yield at, end, word
        at = max(end, at + 1)


def _at(text: str, at: int, *, is_latin: bool) -> tuple[int, str]:
    """The end of the longest word of the table that begins at a place, and the word; English ones are whole, maybe of several."""
    for word in (*_table().words.get(text[at : at + 2], ()), *_table().words.get(text[at], ())):
        if not text.startswith(word, at) or (word.isascii() and not is_latin):
            continue
        end = at + len(word)
        if not word.isascii():
            return end, word
        if ending := _ENDING.match(text, end):
            return ending.end(), word
    return at, ""


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
    """The word of the table that a misspelt one has a letter more or less than, or, if it is long, another letter; or "". What is
    a word of its own is not misspelt: a station is no statin."""
    near, shorter = _table().near, _shorter(word)
    if not SHORTEST_MISSPELT <= len(word) <= LONGEST_MISSPELT or is_word(word):
        return ""
    more = {one for key in shorter for one in near.get(key, ()) if one == key or len(word) > SHORTEST_MISSPELT}
    return min(near.get(word, set()) | more, default="")


def _shorter(word: str) -> set[str]:
    """A word with each of its letters but the first left out once."""
    return {word[:at] + word[at + 1 :] for at in range(1, len(word))} if len(word) >= SHORTEST_MISSPELT else set()


@cache
def _table() -> _FoodTable:
    parts, names, kinds, without, near = (defaultdict[str, set[str]](set) for _ in range(5))
    every, states = set[str](), dict[str, tuple[str, str]]()
    lines = re.sub(r"\n +", " ", Path(__file__).with_name("foods.txt").read_text("utf-8")).splitlines()
    for line in (line for line in lines if line and not line.startswith("#")):
        left, sign, right = re.split(r"\s*([:=>]|$)\s*", line, maxsplit=1)
        if sign == ">":
            how, _, left = left.partition(" ")
        own, others = ([word.strip().casefold() for word in side.split(",") if word.strip()] for side in (left, right))
        for word in own if sign == ">" else ():
            first = next(one for one in own if one.isascii() is word.isascii())
            states[word] = word if how == "takes" else first, how  # Two medicines of a line are not the same.
        every.update(own, (word.removeprefix("!") for word in others))
        if sign in (":", ">"):
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
    words = defaultdict[str, list[str]](list)
    for word in sorted(every, key=len, reverse=True):
        words[word[:2]].append(word)
    return _FoodTable(words, parts, names, kinds, without, states, near)
