"""Naming the topic of an event without a model: an existing topic that its words name, else a path of our own table.

The table (``topics.zh.txt``, ``topics.en.txt``) has everyday domains in Chinese and English. A path is ``domain->leaf`` if
the text holds a cue of a leaf, else the domain alone. The result is deterministic and takes about a tenth of a millisecond.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Protocol

from moechat.language import words
from moechat.model import Event
from moechat.rules.table import Language
from moechat.topic_path import ARROW, EVERYDAY, parent_of
from moechat.when.names import has_han, tongue_of


class Named(Protocol):
    """The topics there are; an ``index.topic.TopicTable`` is one."""

    def named(self, word: str) -> Sequence[str]:
        """The paths whose last segment is this word, the most used first; case does not count."""
        ...


_QUOTED = re.compile(r'"([^"]+)"|(\S+)')
_LONGEST_CUE = 5
OF_LEAF, OF_DOMAIN = 2, 1
IN_ACTION = 2  # A cue in predicate or object counts this many times as much as one elsewhere in the text.
NO_CUE = ("", "")
_LOOKED_AT = 400  # Only this many characters of a text are read.


def path_for(event: Event, tree: Named | None = None) -> str:
    """The topic of an event, ``EVERYDAY`` where nothing fits.

    A topic of ``tree`` that the event's object, a keyword or a word of its text names is preferred to the table's.
    """
    language: Language = tongue_of(event.text)
    action = f"{event.predicate} {event.object}"
    own = _table_path(_counted(((action, IN_ACTION), (event.text, 1), (" ".join(event.keywords), 1)), language))
    return (_existing(event, tree, own) if tree is not None else "") or own or EVERYDAY[language]


def paths_in(text: str) -> list[str]:
    """The paths of the table that a message may be a cue for, the one with the most cues first."""
    language: Language = tongue_of(text)
    counts = _counted(((text, 1),), language)
    return [_path(domain, leaf) for (domain, leaf), _ in sorted(counts.items(), key=lambda item: -item[1])]


def _existing(event: Event, tree: Named, own: str) -> str:
    """The path of the tree that names what the event is about, "" for none.

    ``own`` is the table's path; where the tree has it too, it is returned. Otherwise the longest name wins. A name that
    stands in the text alone, not in object or keywords, gives way to a leaf of the table.
    """
    about = {name.strip().casefold() for name in (event.object, *event.keywords)}
    single = words.words(f"{event.object} {' '.join(event.keywords)} {event.text[:_LOOKED_AT]}")
    names = {name for name in [*about, *single] if len(name) > 1 or has_han(name[:1])}
    candidates = []
    for name in sorted(names):
        if words.is_stop_word(name) or not (paths := tree.named(name)):
            continue
        if own in paths:
            return own
        candidates.append((name in about, len(name), name, paths[0]))
    broader = (*EVERYDAY.values(), own, parent_of(own))
    fits = [
        (is_about, length, name, path)
        for is_about, length, name, path in candidates
        if path not in broader and (is_about or ARROW not in own)
    ]
    return max(fits)[3] if fits else ""


def _table_path(counts: Mapping[tuple[str, str], int]) -> str:
    """The best leaf of the domain with the most cues. Of equal ones, the first in the table is best."""
    if not counts:
        return ""
    domains: Counter[str] = Counter()
    for (domain, _), count in counts.items():
        domains[domain] += count
    best = max(domains, key=lambda domain: domains[domain])
    leaves = [(count, leaf) for (domain, leaf), count in counts.items() if domain == best and leaf]
    return _path(best, max(leaves, key=lambda item: item[0])[1] if leaves else "")


def _path(domain: str, leaf: str) -> str:
    return f"{domain}{ARROW}{leaf}" if leaf else domain


def _counted(texts: Iterable[tuple[str, int]], language: Language) -> dict[tuple[str, str], int]:
    """(domain, leaf) → weight of the cues found in weighted texts, in the order of the table."""
    cues, find = _cues(language), _in_chinese if language == "zh" else _in_english
    counts: Counter[tuple[str, str]] = Counter()
    for text, weight in texts:
        for place in find(words.fold(text[:_LOOKED_AT]), cues):
            counts[place] += weight * (OF_LEAF if place[1] else OF_DOMAIN)
    order = _order(language)
    return dict(sorted(counts.items(), key=lambda item: order[item[0]]))


def _in_chinese(text: str, cues: Mapping[str, tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """The topics of the cues in ``text``, read from the left, at each place the longest. A Latin cue must be a whole word."""
    at = 0
    while at < len(text):
        for length in range(min(8 if text[at].isascii() else _LONGEST_CUE, len(text) - at), 0, -1):
            cue = text[at : at + length]
            if cue in cues and (not cue.isascii() or _alone(text, at, at + length)):
                if (place := cues[cue]) != NO_CUE:
                    yield place
                at += length
                break
        else:
            at += 1


def _alone(text: str, start: int, end: int) -> bool:
    around = text[max(0, start - 1) : start] + text[end : end + 1]
    return not any(char.isascii() and char.isalnum() for char in around)


def _in_english(text: str, cues: Mapping[str, tuple[str, str]]) -> Iterator[tuple[str, str]]:
    stems = words.tokens(text)
    for at, stem in enumerate(stems):
        pair = " ".join(stems[at : at + 2])
        if (place := cues.get(pair) or cues.get(stem)) is not None:
            yield place


@cache
def _cues(language: Language) -> dict[str, tuple[str, str]]:
    """cue → (domain, leaf or ""). A cue that stands twice in the table belongs to the first place."""
    cues: dict[str, tuple[str, str]] = {}
    for domain, leaf, cue in _rows(language):
        key = cue.lstrip("!") if language == "zh" else " ".join(words.tokens(cue))
        cues.setdefault(key, NO_CUE if cue.startswith("!") else (domain, leaf))
    return cues


@cache
def _order(language: Language) -> dict[tuple[str, str], int]:
    places = dict.fromkeys((domain, leaf) for domain, leaf, _ in _rows(language))
    return {place: i for i, place in enumerate(places)}


def _rows(language: Language) -> Iterator[tuple[str, str, str]]:
    """(domain, leaf, cue) for every cue of the table, the names of domains and leaves included."""
    table = Path(__file__).with_suffix(f".{language}.txt").read_text("utf-8")
    for line in table.replace("\n  ", " ").strip().splitlines():
        if line.startswith("#"):
            continue
        domain, *parts = (part.strip() for part in line.split("|"))
        yield domain, "", domain
        for i, part in enumerate(parts):
            head, colon, rest = part.partition(":")
            leaf = head.strip().strip('"') if i else ""
            if leaf:
                yield domain, leaf, leaf
            for quoted, cue in _QUOTED.findall(rest if i and colon else "" if i else part):
                yield domain, leaf, quoted or cue
