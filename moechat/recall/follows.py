"""A message that leans on what it follows (后来她怎么样了？, and then?) is searched together with what that was about."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

from moechat import when
from moechat.cue import ASKING
from moechat.language import words
from moechat.reading.patterns import patterns
from moechat.reading.saying import asks_by_form
from moechat.rules.reading import is_chit_chat
from moechat.when.names import has_han

MOST_PARTS = 4
MOST_READ = 500  # A longer message tells more than it asks.
MOST_OWN = 3  # A message with more words of a matter than this says itself what it is about.
MOST_BORROWED = 4
SHORT = {"zh": 8, "en": 5}  # A question of no more characters, or words, leaves its subject out.
_FORMS = patterns(Path(__file__).with_name("follows.ini"))["follows"]


def together(
    text: str, now: datetime, before: Sequence[str], names: Sequence[str], is_heard: Callable[[str], bool]
) -> str:
    """``text``, behind the words of the matter that it leans on; as it is where it stands by itself.

    ``before`` is what was said last, the latest first. ``names`` are of those who talk, and no matter; nor is a word that memory
    never heard.
    """
    if not _leans(text, now):
        return text
    no_matter = {name.casefold() for name in names}
    borrowed: dict[str, None] = {}
    for line in before:
        for span in when.resolve(line, now):
            line = line.replace(span.phrase, " ")
        matter = (word for word in words.keywords(line) if word.casefold() not in no_matter | ASKING)
        borrowed.update(dict.fromkeys(word for word in matter if len(word) > 1 and is_heard(word)))
    chosen = [word for word in list(borrowed)[:MOST_BORROWED] if word not in text]
    # Between Chinese words stands nothing, so that what only leads on (后来她怎么样了) would be looked for as words.
    return " ".join([*chosen, *(_matter(text) if chosen and has_han(text) else [text])])


def parts(text: str) -> list[str]:
    """The questions of a message that asks several, each about something of its own; none where it asks one, or where one part
    leans on another or tells."""
    pieces = _FORMS["joins"].split(text) if len(text) <= MOST_READ else []
    pieces = [piece for part in pieces if re.search(r"\w", piece := part.strip(" ,，。."))]
    if not 2 <= len(pieces) <= MOST_PARTS or any(map(_FORMS["tells_on"].search, pieces)):
        return []
    return pieces if all(asks_by_form(piece) and _stands(piece) for piece in pieces) else []


def _stands(text: str) -> bool:
    """Whether a message says what it is about."""
    return len(_matter(text)) > (MOST_OWN if _points_back(text) else 0)


def _matter(text: str) -> list[str]:
    return [word for word in words.keywords(text) if word.casefold() not in ASKING]


def _points_back(text: str) -> bool:
    """Whether a message has a word for what went before it."""
    goes_on = any(_FORMS[name].search(text.strip()) for name in ("person", "goes_on"))
    return goes_on or (_FORMS["thing"].search(text) is not None and asks_by_form(text))


def _leans(text: str, now: datetime) -> bool:
    if is_chit_chat(text):
        return False
    matter = _matter(text)
    if _points_back(text):
        return len(matter) <= MOST_OWN
    length, most = (len(text.strip(" ?？。！")), SHORT["zh"]) if has_han(text) else (len(text.split()), SHORT["en"])
    names_something = len(matter) > 1 or re.search(r"\d", text)
    return (
        asks_by_form(text)
        and length <= most
        and not (names_something or _FORMS["to_you"].search(text) or when.resolve(text, now))
    )
