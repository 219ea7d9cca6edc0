"""What belongs to what a body cannot take: cheese to dairy, 芒果糯米饭 to mango. The table is ``foods.txt``."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

_LOOKS = re.compile(
    r"(?:成|像|跟|如)(?:了|个|根|只)*\w{1,4}|\b(?:like|as)(?: an?)?(?: \w+)? \w+|\b(?:it'?s|just|only) \w+ or nothing"
)
"""What something looks like is not eaten: 肿成香肠."""


def named(text: str) -> frozenset[str]:
    """What a text names, each by the first name of its line; what is no line of its own by its word: dairy, toastie."""
    of_word = _table()[1]
    return frozenset(
        name for word in words(text) for name in ([n for n, is_name in of_word[word].items() if is_name] or [word])
    )


def held(text: str) -> frozenset[str]:
    """All that is in what a text names, and its words: toastie, dairy and gluten for a toastie."""
    return frozenset(name for word in words(text) for name in (word, *_table()[1][word]))


def words(text: str) -> list[str]:
    """The words of the table that a text has."""
    matches = _table()[0].finditer(_LOOKS.sub(" ", text.casefold().replace("’", "'")))
    return [word for match in matches if _table()[1][word := match["latin"] or match["han"]]]


@cache
def _table() -> tuple[re.Pattern[str], dict[str, dict[str, bool]]]:
    """The pattern of all words, the longest first; and the lines that each belongs to, with whether it is a name of that. A word
    that only looks as if it belonged is of no line."""
    of_word: dict[str, dict[str, bool]] = {}
    lines = re.sub(r"\n +", " ", Path(__file__).with_name("foods.txt").read_text("utf-8")).splitlines()
    for line in (line for line in lines if line and not line.startswith("#")):
        names, _, members = line.partition(":")
        first = names.partition(",")[0].strip()
        for is_name, listed in ((True, names), (False, members)):
            for word in (word.strip().casefold() for word in listed.split(",")):
                lines_of = of_word.setdefault(word.removeprefix("!"), {})
                if not word.startswith("!"):
                    lines_of.setdefault(first, is_name)
    longest_first = sorted(of_word, key=len, reverse=True)
    latin = "|".join(re.escape(word) for word in longest_first if word.isascii())
    han = "|".join(re.escape(word) for word in longest_first if not word.isascii())
    return re.compile(rf"(?<![a-z])(?P<latin>{latin})(?:e?s)?(?![a-z])|(?P<han>{han})"), of_word
