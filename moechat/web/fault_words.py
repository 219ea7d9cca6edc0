"""What is wrong with a file, as the page says it: the place short, the remedy in the page's language. What went wrong behind a
talk was said in the character's, and what is stored with an exchange in the one of its time: it is told in the page's, too."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from string import Formatter

from moechat.errors import DataError, FieldError, MoeChatError, NameTaken
from moechat.sentences import LANGUAGES, Row, groups
from moechat.verbs.whole_talks import MAX_TITLE_CHARS
from moechat.web import author_room
from moechat.web.words import Words

_LINE = re.compile(r", line (\d+):")


def said(error: MoeChatError | OSError, words: Words) -> str:
    """An error of a click in words, all faults of a file at once; a file by its name alone."""
    parts = error.parts if isinstance(error, MoeChatError) else (error,)
    return " ".join(_said(part, words) for part in parts)


def _said(error: MoeChatError | OSError, words: Words) -> str:
    match error:
        case NameTaken(kind=None) if f"{error.field}_taken" in words:
            return words(f"{error.field}_taken", name=error.value)
        case FieldError(kind=None, field="title"):
            return words("title_too_long", n=MAX_TITLE_CHARS)
        case FieldError():
            return author_room.wrong(error, words) or _field(error, words)
        case MoeChatError() if error.note:
            return words(error.note)
    text = str(error)
    place = error.file if isinstance(error, DataError) else text.partition(": ")[0]
    return _translated(text.replace(place, Path(place).name, 1) if os.sep in place else text, words)


def _field(error: FieldError, words: Words) -> str:
    names = (f"{kind}_{error.field}" for kind in ("field", "key", "you"))
    field = next((words(name) for name in names if name in words), error.field)
    return words("field_wrong", field=field, remedy=_translated(error.remedy, words))


def told(problems: Iterable[str], folders: Iterable[Path], words: Words) -> list[str]:
    """Problems in words, without the ``folders`` that their files lie in."""
    return [_translated(_short(problem, folders), words) for problem in problems]


def _short(problem: str, folders: Iterable[Path]) -> str:
    for folder in folders:
        problem = problem.replace(f"{folder}{os.sep}", "")
    return problem


def _translated(problem: str, words: Words) -> str:
    problem = retold(problem, words.language)
    problem = _LINE.sub(lambda match: words("in_line", n=match[1]), problem)
    for pattern, text in words.faults:
        if match := pattern.search(problem):
            return problem[: match.start()] + match.expand(text) + problem[match.end() :]
    return problem


# ---- sentences that the program said in the other language

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
