"""What is wrong with a file, as the page says it: the place short, the remedy in the page's language."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from moechat.errors import DataError, FieldError, MoeChatError, NameTaken
from moechat.house.bilingual import retold
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
