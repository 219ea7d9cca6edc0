"""What the offline companion says and what it listens for.

The sentences are in ``prompts/<language>/offline.yaml`` and, a character's own, in ``offline.yaml`` of its folder; where help
is, in ``prompts/<language>/help.yaml``. The patterns lie beside this module.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from moechat.errors import DataError
from moechat.model import Exchange
from moechat.reading.patterns import Patterns, patterns
from moechat.settings.home import defaults_folder
from moechat.store import plain
from moechat.when.names import has_han, tongue_of

FILE, HELP = "offline.yaml", "help.yaml"

ANYONE = frozenset({"child", "friend", "family", "pet"})  # Kin by which nobody in particular is named.
FEW_LETTERS = 4  # A message of so few (ok, haha) is of no language.
_VALUE = re.compile(r"(?:(^|(?<=[.!?] )))?\{(\w+)\}")  # The first group is there where a sentence begins.

Says = Mapping[str, Sequence[str]]
Ears = Patterns


def says(folders: Sequence[Path], language: str, character: Path | None = None) -> Says:
    """The sentences by name, and each file's entries before those of the next: the character's own, then the folders'.

    Raises DataError naming the file.
    """
    paths = [(folder / language / FILE, True) for folder in reversed(folders or [defaults_folder() / "prompts"])]
    merged: dict[str, Sequence[str]] = {}
    for path, is_ours in [*paths, *([(character / FILE, False)] if character else [])]:
        for name, lines in (_read(path, plain.stamp(path), may_lead_out=is_ours) or {}).items():
            merged[name] = [lines] if isinstance(lines, str) else lines
            if not isinstance(lines, (str, list)) or not all(isinstance(line, str) for line in merged[name]):
                raise DataError(path, f"{name} expects a line, or a list of lines")
    return merged


def numbers(folders: Sequence[Path], language: str, kinds: Sequence[str]) -> list[tuple[str, list[str]]]:
    """The regions whose help is known, each with its numbers of these kinds. Raises DataError naming the file."""
    paths = (folder / language / HELP for folder in [*folders, defaults_folder() / "prompts"])
    path = next(path for path in paths if path.exists())
    rows = _read(path, plain.stamp(path), may_lead_out=True) or []
    try:
        return [(row["region"], [row[kind] for kind in kinds if row.get(kind)]) for row in rows]
    except (KeyError, TypeError, AttributeError) as error:
        raise DataError(path, "expects a list of entries with region, crisis, emergency, source and date") from error


def ears(language: str) -> Ears:
    """The patterns of a language, in the order in which they are listened for."""
    return patterns(Path(__file__).with_name(f"{language}.ini"), language)


def kin(text: str) -> frozenset[str]:
    """What the people and animals of a text are to the user, whatever its language: mother for 我妈."""
    both = (ears(language)["kin"].items() for language in ("en", "zh"))
    return frozenset(name for groups in both for name, one in groups if one.search(text))


@lru_cache(maxsize=64)
def _read(path: Path, stamp: plain.Stamp | None, *, may_lead_out: bool) -> Any:
    return None if stamp is None else plain.read_yaml(path, as_text=True, may_lead_out=may_lead_out)


def filled(line: str, values: Mapping[str, str]) -> str:
    def value(match: re.Match[str]) -> str:
        text = values.get(match[2], "")
        return text if match[1] is None else text[:1].upper() + text[1:]

    return _VALUE.sub(value, line)


def head(line: str) -> str:
    """A sentence up to its first value."""
    return line.partition("{")[0]


def reply_language(text: str, context: Sequence[Exchange], own: str) -> str:
    """The language of a message; of a few letters that say nothing of it, that of the talk, else the character's ``own``."""
    if has_han(text):
        return "zh"
    if len(re.findall("[A-Za-z]", text)) <= FEW_LETTERS:
        before = context[-1].user if context else ""
        return tongue_of(before) if before else own
    return "en"
