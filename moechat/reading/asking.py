"""Whether a message asks for something. By its form, and where that does not say so, by nearness to sayings that ask."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from moechat.reading.patterns import patterns
from moechat.reading.saying import saying
from moechat.when import LONGEST_READ

_FORMS = patterns(Path(__file__).with_name("asking.ini"))["asking"]
_ASKING = frozenset({"record", "advice", "question"})  # These kinds of saying ask.
_MARK = re.compile(r"[?？]")
_PART = re.compile(r"[^，。！；,.!;\n]+")
_BETWEEN = re.compile(r"(?<=[一-龥])[ \u3000]+(?=[一-龥])")  # In a short message it stands for a comma.


def asks_by_form(text: str) -> bool:
    """Whether a sentence or a message asks by a mark, or by how it begins or ends."""
    parts = (part.strip() for part in _PART.findall(_BETWEEN.sub("，", text[:LONGEST_READ])))
    return _MARK.search(text) is not None or any(
        _FORMS["asks"].search(part) and not _FORMS["nothing"].search(part) for part in parts
    )


@lru_cache(maxsize=512)
def asks(text: str) -> bool:
    """Whether a message asks for something."""
    return asks_by_form(text) or (saying(text).kind in _ASKING and not saying(text).is_faint)
