"""Traits of a text that its form alone shows: names, questions, times.

Patterns are Chinese and English. A wrong guess costs little: each is one small part of a score.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from moechat.language import words
from moechat.reading.patterns import patterns
from moechat.when import LONGEST_READ
from moechat.when.names import has_han

USER_SIDE, CHARACTER_SIDE = 0, 1
NO_NAMES = frozenset({"我", "你", "您", "i", "me", "you", "user", "用户", "ai", "assistant"})
"""What a speaker may be called without being named by it."""

ASKS, TELLS_TIME, NAMES, NOTHING, BARE = 1, 2, 4, 8, 16
UNREAD = 128  # No trait: a reader raised over the text.
_SENTENCE = re.compile(r"[^.!?。！？\n]+[.!?。！？\n]*")
_CLAUSE = re.compile(r"[^.,!?。，！？\n]+[.,!?。，！？\n]*")
_FORMS = patterns(Path(__file__).with_name("traits.ini"))["traits"]
_FEW = 3  # Words of a matter that say little.
_BRACKET = re.compile(r"[\[【]")
_CAPITAL = r"(?<=[a-z,;] )[A-Z][a-z]+"
_CAPITALISED, _NAME_TOLD = re.compile(_CAPITAL), re.compile(_CAPITAL + r"|[《“\"「][^》”\"」]+[》”\"」]")


def without_names(text: str, names: Iterable[str]) -> str:
    """``text`` without ``names``: English keeps its grammar by "they", Chinese does without."""
    longest_first = sorted(filter(_is_name, names), key=len, reverse=True)
    if not longest_first:
        return text
    instead = "" if has_han(text) else "they"
    rest = re.sub("|".join(_name_pattern(name) for name in longest_first), instead, text, flags=re.IGNORECASE).strip()
    return rest if re.sub(r"\W", "", rest) not in ("", instead) else text


def names(text: str, name: str) -> bool:
    """Whether ``text`` calls somebody by this name."""
    return _is_name(name) and re.search(_name_pattern(name.casefold()), text.casefold()) is not None


def _is_name(name: str) -> bool:
    return bool(name.strip()) and name.strip().casefold() not in NO_NAMES


def _name_pattern(name: str) -> str:
    return rf"(?<![a-zA-Z]){re.escape(name)}(?![a-zA-Z])" if name.isascii() else re.escape(name)


def asked_words(text: str) -> list[str]:
    """The tokens of a question that say something about the matter; all where none does."""
    return words.content_tokens(text) or words.tokens(text)


def side_meant(text: str) -> int | None:
    """The side whose words a question in the first or second person is about: the character's for 你推荐过, the user's for
    我喜欢.

    The first person in it decides, as its subject mostly; where it is spoken to (跟你说的), the other one spoke.
    """
    person = _FORMS["person"].search(_FORMS["preamble"].sub("", text))
    if person is None:
        return None
    user = bool(person["me"]) or person["zh"] == "我"
    return USER_SIDE if user != bool(person["to"]) else CHARACTER_SIDE


def asks(text: str) -> bool:
    """Whether a message asks for something, anywhere in it, or bids to tell."""
    return _FORMS["asks"].search(text) is not None


def says_little(text: str) -> bool:
    """Whether a message asks for nothing, and tells in a few words."""
    return not asks(text) and len(words.keywords(text)) <= _FEW


def names_told(text: str) -> list[str]:
    """The words and titles in a text that are written as names."""
    end = (
        max(map(text.rfind, '》”"」')) + 1
    )  # No title goes on after it; to look for one from each sign would be quadratic.
    return _NAME_TOLD.findall(text, 0, end) + _CAPITALISED.findall(text, end)


def asks_several(text: str) -> bool:
    """Whether a question asks for a list, or for all of something: its answer was told a piece here and a piece there."""
    return _FORMS["asks_several"].search(text) is not None


def asks_when(text: str) -> bool:
    """Whether a question asks for a time."""
    return _FORMS["asks_when"].search(text) is not None


def of(text: str) -> int:
    """The bits ``ASKS`` (it ends with a question), ``BARE`` (it is a question and tells nothing beside it), ``TELLS_TIME``,
    ``NAMES`` (a name or a title) and ``NOTHING`` (it says that one does not know, and little else)."""
    body = _without_caption(text)
    is_question = _asks_at_end(body)
    rest, unknown = _FORMS["unknown"].subn(" ", text)
    return (
        ASKS * is_question
        | BARE
        * (
            is_question
            and not _FORMS["tells_in_asking"].search(body)
            and all(_asks_at_end(part) for part in _CLAUSE.findall(body) if part.strip())
        )
        | TELLS_TIME * bool(_FORMS["time_told"].search(text))
        | NAMES * bool(names_told(text))
        | NOTHING * (unknown > 0 and len(words.keywords(rest)) <= _FEW)
    )


@lru_cache(maxsize=512)
def telling_of(text: str) -> str:
    """What two tellings of the same everyday thing share: the letters of a text without its words of time; of a long one behind
    its beginning all."""
    begin, rest = text[:LONGEST_READ], text[LONGEST_READ:]
    return re.sub(r"\W", "", _FORMS["time_told"].sub("", words.fold(begin))) + rest


def asking(text: str) -> float:
    """How far a text is a question, 0..1: two thirds for the share of it that asks, one third for ending so."""
    body = _without_caption(text)
    sentences = _SENTENCE.findall(body)
    share = sum(len(sentence) for sentence in sentences if _asks_at_end(sentence)) / max(len(body), 1)
    return 2 / 3 * min(share, 1.0) + _asks_at_end(body) / 3


def _asks_at_end(text: str) -> bool:
    return _FORMS["asks_at_end"].search(text) is not None


def telling(text: str) -> float:
    """How far a message tells, 0..1: as far as it asks nothing; not at all where its one sentence asks by its words."""
    return 0.0 if asks(text) and len(_SENTENCE.findall(text)) == 1 else 1.0 - asking(text)


def _without_caption(text: str) -> str:
    """``text`` without what stands in brackets at its end, the line under a picture."""
    bare = text.rstrip()
    if not bare.endswith(("]", "】")):
        return text
    opened = max(bare.rfind("]", 0, -1), bare.rfind("】", 0, -1)) + 1  # behind the bracket that closed before
    start = _BRACKET.search(bare, opened)
    return bare[: start.start()].rstrip() if start else text
