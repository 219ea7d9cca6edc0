"""What the program says in two languages, told in the one that somebody reads: what went wrong behind a talk was said in the
character's, and what is stored with an exchange in the one of its time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from string import Formatter

from moechat.sentences import LANGUAGES, Row, groups

RETOLD = ("model", "known", "disk", "lost", "memory")
DEEPEST = 3  # A sentence may hold others: why something was not read, and what there is instead.


def retold(text: str, language: str, depth: int = DEEPEST) -> str:
    """The text with a sentence of the other language in this one; as it is where it holds none."""
    for literal, pattern, row in _sentences(language) if depth else ():
        if literal in text and (match := pattern.search(text)):
            values = {name: retold(value, language, depth - 1) for name, value in match.groupdict("").items()}
            sentence = _SPEC.sub("}", row[language]).format(**dict.fromkeys(_fields(row[language]), "") | values)
            return text[: match.start()] + sentence + text[match.end() :]
    return text


_SPEC = re.compile(r":[^{}]*\}")


@cache
def _sentences(language: str) -> list[tuple[str, re.Pattern[str], Row]]:
    """(its longest stretch without a value, its pattern, its row), the longest first: one may be a part of another."""
    rows = [row for name in RETOLD for row in groups()[name].values()]
    [other] = set(LANGUAGES) - {language}
    rows.sort(key=lambda row: -len(row[other]))
    return [
        (max((part for part, *_ in Formatter().parse(row[other].strip())), key=len),
         re.compile("".join(_pattern(row[other])), re.DOTALL), row)
        for row in rows
    ]  # fmt: skip


def _pattern(template: str) -> Iterator[str]:
    seen, last = set[str](), ""
    for literal, name, *_ in Formatter().parse(template.strip()):
        yield re.escape(literal)
        last = name or ""
        if name:
            yield f"(?P={name})" if name in seen else f"(?P<{name}>.*?)"
            seen.add(name)
    yield r"\Z" if last else ""  # One that ends with a value goes to the end.


def _fields(template: str) -> Iterator[str]:
    return (name for _, name, *_ in Formatter().parse(template) if name)
