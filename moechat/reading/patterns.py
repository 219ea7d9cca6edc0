"""Tables of patterns in files: a section a group, a name a pattern, an alternative a line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from configparser import ConfigParser
from functools import cache
from pathlib import Path

Patterns = Mapping[str, Mapping[str, re.Pattern[str]]]
"""By group, then by name, in the order of the file."""


@cache
def patterns(path: Path, language: str = "") -> Patterns:
    """The patterns of a file. English ones begin and end with words, of both languages ("") as they say; capitals do not
    matter."""
    table = ConfigParser(interpolation=None, delimiters=["="])
    table.read(path, "utf-8")
    return {group: {name: _pattern(table[group][name], language) for name in table[group]} for group in table}


def _pattern(lines: str, language: str) -> re.Pattern[str]:
    alternatives = "|".join(filter(None, lines.splitlines()))
    return re.compile(rf"(?<!\w)(?:{alternatives})(?!\w)" if language == "en" else alternatives, re.IGNORECASE)
